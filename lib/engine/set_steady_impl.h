/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the steady state share (set_steady.c, set_steady_*.c). */
#ifndef LIB_ENGINE_SET_STEADY_IMPL_H
#define LIB_ENGINE_SET_STEADY_IMPL_H

#include "lib/engine/engine_impl.h"

#include <stdalign.h>

/* What a rank has committed to. Its size is no power of 2, so that equal places of two of them do
 * not share a place in a cache. */
struct steady_kept {
    uint32_t digest, nbytes;
    bool is_sent; /* a TREE_SENT, with `rows` and its data in `sent`, which has `room` */
    uint64_t rows;
    unsigned char *sent; /* owned; NULL: none yet */
    size_t room;
    alignas(64) unsigned char data[STEADY_DATA_MAX];
};

static inline const struct steady_operation *steady_operation_at(const struct process_set *set,
                                                                 uint32_t number)
{
    return &set->steady.schedule[number % (uint32_t)set->steady.count];
}

static inline struct steady_kept *steady_kept_at(const struct process_set *set, int rank,
                                                 uint32_t number)
{
    return &set->steady.kept[(size_t)rank * STEADY_KEPT + number % STEADY_KEPT];
}

/* The head of a TREE_STEADY, and all of a TREE_UNSTEADY. */
static inline void steady_put_head(struct wire_writer *out, uint32_t epoch, uint32_t number)
{
    wire_put_u32(out, epoch);
    wire_put_u32(out, number);
}

/* set_steady_kept.c: room for what all ranks commit to. */
int set_steady_make_kept(struct process_set *set, struct err *err);
void set_steady_free_kept(struct process_set *set);

/* Frees what came as TREE_SENT, up to SENT_GREATEST for each of STEADY_KEPT operations of each
 * rank: no frame of a next steady state comes before this rank has left this one. */
void set_steady_forget_sent(struct process_set *set);

/* set_steady_commit.c: commits to all operations that are complete, as far as a rank may be ahead;
 * leaves if this rank can commit to no more. */
void set_steady_commit_complete(struct process_set *set);

/* set_steady_done.c: operation `number` is done on this rank. */
int set_steady_complete(struct process_set *set, uint32_t number, struct err *err);

/* set_steady_wait.c: true if the program waits for a tensor of `ticket`, of any ticket if NULL,
 * that is held until the program submits others, and that came before `since_ns`. */
bool set_steady_is_stuck(const struct process_set *set, const struct ticket *ticket,
                         uint64_t since_ns);

#endif
