/* SPDX-License-Identifier: Apache-2.0 */
/* Asking every rank what it is doing, without I/O: answers and time go in, a text for each rank comes
 * out, in order of rank.
 *
 * Happy path: start, an answer from each rank that is in a complete world, and the texts are all
 * taken. For a rank that cannot answer (it has not called hvd_init, waits in it, has left or is
 * lost) the text says so at once, for one that does not, after ROLL_CALL_MS. Only one roll call is
 * under way at a time. All answers together take ROLL_CALL_MEMORY at most, and none of it is kept
 * afterwards: the larger the world, the shorter the answers. */
#ifndef RENDEZVOUS_WORLD_ROLL_CALL_H
#define RENDEZVOUS_WORLD_ROLL_CALL_H

#include "lib/base/status.h"
#include "rendezvous/world/membership.h"
#include "rendezvous/world/membership_text.h"

#include <stdbool.h>
#include <stdint.h>

enum { ROLL_CALL_MS = 2000, ROLL_CALL_MEMORY = 16 << 20, ROLL_CALL_TEXT_MIN = 256 };

struct roll_call {
    char **answers; /* of each rank, owned; NULL while no roll call is under way */
    int size;       /* of the world */
    int next;       /* the rank whose text is taken next */
    uint64_t deadline_ms;
    bool expired;
    char *taken;                          /* the answer that was given out last; owned */
    char absent[MEMBERSHIP_TEXT_MAX + 1]; /* or why there is none */
};

/* HVD_ERR_NOMEM when out of memory. Not while another is under way. */
int roll_call_start(struct roll_call *roll_call, int size, uint64_t now_ms, struct err *err);

/* Ends what is under way, if anything is. A zeroed struct is fine. */
void roll_call_fini(struct roll_call *roll_call);

bool roll_call_is_open(const struct roll_call *roll_call);

/* How long an answer may be, in a world of `size`, with its terminating NUL. */
int roll_call_text_size(int size);

/* Is it `rank`'s to answer? */
bool roll_call_wants(const struct roll_call *roll_call, const struct membership *membership,
                     int rank);

/* What a rank has answered; only the first counts. Cut after a line if it is too long. */
void roll_call_answer(struct roll_call *roll_call, int rank, const char *text);

/* Time has passed; when that is wanted, or MEMBERSHIP_NEVER. */
void roll_call_tick(struct roll_call *roll_call, uint64_t now_ms);
uint64_t roll_call_deadline(const struct roll_call *roll_call);

/* The next rank whose text is known, and the text, borrowed until the next call; false if there is
 * none now. To be called until then after every event. After the last rank nothing is under way. */
bool roll_call_next(struct roll_call *roll_call, const struct membership *membership, int *rank,
                    const char **text);

#endif
