/* SPDX-License-Identifier: Apache-2.0 */
/* Why a rank gave up, told to its left neighbour against the direction of the data, so that who
 * waits for it learns the reason and passes it on.
 *
 *   0 magic "HVDX"   4 status i32   8 first collective that fails u64   16 text, 496, padded with 0
 *
 * A notice is the last thing on its link. */
#ifndef LIB_NOTICE_H
#define LIB_NOTICE_H

#include "lib/base/status.h"
#include "lib/join/failure.h"
#include "lib/link/link.h"

enum { NOTICE_SIZE = 512, NOTICE_TEXT = 496 };

/* Sends it if the link takes it at once, as it does when nothing was sent on it before. */
void notice_send(struct link *link, uint64_t from, const struct err *reason);

struct notice_reader {
    unsigned char bytes[NOTICE_SIZE];
    size_t received;
};

/* Receives what is there; a complete notice is recorded as a failure. 0, or -1 when nothing more
 * will come from this link (the notice has come, the link has ended, or it sent something else). */
int notice_receive(struct notice_reader *reader, struct link *link, struct failure *failure);

#endif
