/* SPDX-License-Identifier: Apache-2.0 */
/* What people read about the members of a world: one line each. Those that are written into `text`
 * take at most MEMBERSHIP_TEXT_MAX bytes, whatever the ranks and hosts are. */
#ifndef RENDEZVOUS_MEMBERSHIP_TEXT_H
#define RENDEZVOUS_MEMBERSHIP_TEXT_H

#include "lib/base/join_protocol.h"
#include "rendezvous/membership.h"
#include "rendezvous/text_line.h"

#include <stdbool.h>

enum { MEMBERSHIP_TEXT_MAX = TEXT_LINE_MAX };

/* "rank 2 on node1 was killed by signal 9 (SIGKILL)", "rank 1 on localhost exited with status 3
 * before hvd_init", "the connection to rank 1 on node1 broke" (nobody said how it ended). */
void membership_text_lost(char text[JOIN_TEXT_MAX], const struct membership *membership, int rank,
                          bool had_joined);

/* "rank 2 on node1 left (hvd_shutdown or exit)" */
void membership_text_left(char text[JOIN_TEXT_MAX], const struct membership *membership, int rank);

/* Why a rank cannot say itself what it is doing: "has not called hvd_init", "was killed by signal 9
 * (SIGKILL)". NULL if it can, being in a complete world. Borrowed from the membership. */
const char *membership_text_absent(const struct membership *membership, int rank);

/* "ranks 1-3, 7 on localhost, rank 8 on node1 and 5 others have not called hvd_init within 30 s",
 * or without the time and with Horovod's hvd.init(). False, and no text, if none are missing. */
bool membership_text_missing(char text[JOIN_TEXT_MAX], const struct membership *membership,
                             bool timed_out);

/* "ranks 1-3, 7 on localhost, rank 8 on node1"; if there are more than a few, "60 of 64 ranks", for
 * every HELLO asks. */
void membership_text_awaited(char text[JOIN_TEXT_MAX], const struct membership *membership);

#endif
