/* SPDX-License-Identifier: Apache-2.0 */
/* Whether TCP links between ranks are encrypted (HVD_ENCRYPT). Each rank has a setting of its own;
 * both settings decide about a link, in the same way on both sides. Unix sockets and shared memory
 * stay within a host and are not encrypted. Pure. */
#ifndef LIB_BASE_ENCRYPTION_H
#define LIB_BASE_ENCRYPTION_H

#include <stdbool.h>

enum encryption {
    ENCRYPTION_OFF,
    ENCRYPTION_AUTO,   /* links between hosts, unless the other rank has turned it off */
    ENCRYPTION_REQUIRE /* every TCP link, or the world fails */
};

/* "off", "auto", "require", in any case; false if it is none of them. */
bool encryption_parse(const char *text, enum encryption *encryption);

/* "require" */
const char *encryption_name(enum encryption encryption);

/* The verdict on a TCP link between ranks with these settings. */
enum encryption_verdict { LINK_PLAIN, LINK_ENCRYPTED, LINK_REFUSED };

enum encryption_verdict encryption_judge(enum encryption one, enum encryption other,
                                         bool between_hosts);

#endif
