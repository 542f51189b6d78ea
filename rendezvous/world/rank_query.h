/* SPDX-License-Identifier: Apache-2.0 */
/* Asking every rank what it is doing, without I/O: answers and time go in, a text for each rank
 * comes out, in order of rank.
 *
 * Happy path: start, an answer from each rank that is in a complete world, and the texts are all
 * taken. For a rank that cannot answer (it has not called hvd_init, waits in it, has left or is
 * lost) the text says so at once, for one that does not, after RANK_QUERY_MS. Only one rank query
 * is under way at a time. All answers together take RANK_QUERY_MEMORY at most, and none of it is
 * kept afterwards: the larger the world, the shorter the answers. */
#ifndef RENDEZVOUS_WORLD_RANK_QUERY_H
#define RENDEZVOUS_WORLD_RANK_QUERY_H

#include "lib/base/rank_waits.h"
#include "lib/base/status.h"
#include "rendezvous/world/membership.h"
#include "rendezvous/world/membership_text.h"

#include <stdbool.h>
#include <stdint.h>

enum { RANK_QUERY_MS = 2000, RANK_QUERY_MEMORY = 16 << 20, RANK_QUERY_TEXT_MIN = 128 };

struct rank_answer {
    char *text; /* owned; NULL: none yet */
    enum rank_waits_for waits_for;
};

struct rank_query {
    struct rank_answer *answers; /* of each rank; NULL while no rank query is under way */
    int size;                    /* of the world */
    int next;                    /* the rank whose text is taken next */
    uint64_t deadline_ms;
    bool expired;
    char *taken;                          /* the answer that was given out last; owned */
    char absent[MEMBERSHIP_TEXT_MAX + 1]; /* or why there is none */
};

/* HVD_ERR_NOMEM when out of memory. Not while another is under way. */
int rank_query_start(struct rank_query *rank_query, int size, uint64_t now_ms, struct err *err);

/* Ends what is under way, if anything is. A zeroed struct is fine. */
void rank_query_fini(struct rank_query *rank_query);

bool rank_query_is_open(const struct rank_query *rank_query);

/* How long an answer may be, in a world of `size`, with its terminating NUL. */
int rank_query_text_size(int size);

/* Is an answer of `rank` missing? */
bool rank_query_wants(const struct rank_query *rank_query, const struct membership *membership,
                      int rank);

/* The answer of a rank; only the first one counts. A text that is too long is cut at the end of
 * a line. */
void rank_query_answer(struct rank_query *rank_query, int rank, enum rank_waits_for waits_for,
                       const char *text);

/* Time has passed. The deadline is when this call is needed, or MEMBERSHIP_NEVER. */
void rank_query_tick(struct rank_query *rank_query, uint64_t now_ms);
uint64_t rank_query_deadline(const struct rank_query *rank_query);

/* The next rank whose text is known, what that rank waits for, and the text, borrowed until the
 * next call; false if there is none now. To be called until then after every event. After the last
 * rank nothing is under way. */
bool rank_query_next(struct rank_query *rank_query, const struct membership *membership, int *rank,
                     enum rank_waits_for *waits_for, const char **text);

#endif
