/* SPDX-License-Identifier: Apache-2.0 */
/* What people read about the members of a world: one line each. Those that are written into `text`
 * take at most MEMBERSHIP_TEXT_MAX bytes, whatever the ranks and hosts are. */
#ifndef RENDEZVOUS_WORLD_MEMBERSHIP_TEXT_H
#define RENDEZVOUS_WORLD_MEMBERSHIP_TEXT_H

#include "lib/base/join_protocol.h"
#include "rendezvous/base/text_line.h"
#include "rendezvous/world/membership.h"

#include <stdbool.h>

enum { MEMBERSHIP_TEXT_MAX = TEXT_LINE_MAX };

/* Why a rank cannot say itself what it is doing: "has not called hvd_init", "was killed by
 * signal 9 (SIGKILL)". Returns false, and no text, if the rank can answer because its world is
 * complete. */
bool membership_text_absent(char text[MEMBERSHIP_TEXT_MAX + 1], const struct membership *membership,
                            int rank);

/* "ranks 1-3, 7 on localhost, rank 8 on node1 and 5 others have not called hvd_init within 30 s",
 * or without the time and with Horovod's hvd.init(). False, and no text, if none are missing. */
bool membership_text_missing(char text[JOIN_TEXT_MAX], const struct membership *membership,
                             bool timed_out);

/* "ranks 1-3, 7 on localhost, rank 8 on node1"; if there are more than a few, "60 of 64 ranks", for
 * every HELLO asks. */
void membership_text_awaited(char text[JOIN_TEXT_MAX], const struct membership *membership);

#endif
