/* SPDX-License-Identifier: Apache-2.0 */
/* Is a host of the job this machine? Its name is resolved if need be, which may block.
 *
 * A name that the resolver does not know may be an alias of ssh's configuration, and that of a
 * remote shell may mean anything: about both nothing is known. */
#ifndef SRC_HVDRUN_HOST_PLACE_H
#define SRC_HVDRUN_HOST_PLACE_H

#include "launcher/hosts/local_host.h"

#include <stdbool.h>

struct host_place {
    enum { HOST_UNKNOWN, HOST_HERE, HOST_ELSEWHERE } where;
    struct ip_address address; /* of a host elsewhere */
};

/* Of hosts elsewhere, one address is one machine, and two addresses are two machines. */
bool host_place_is_apart(const struct host_place *a, const struct host_place *b);
bool host_place_may_be_apart(const struct host_place *a, const struct host_place *b);

/* `resolve`: names mean what the resolver says. */
struct host_place host_place_find(struct local_host *self, const char *host, bool resolve);

#endif
