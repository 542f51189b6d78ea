/* SPDX-License-Identifier: Apache-2.0 */
/* Data to move: decisions become runs, which wait in line and then are operations in the window.
 *
 *   run_queue.c    a decision becomes a run, or on devices several, at the end of the line
 *   run.c          the line, the window, and what is done when an operation is over
 *   run_prepare.c  the memory that a run works in
 *   stage*.c       runs on devices (stage_impl.h) */
#ifndef LIB_ENGINE_RUN_IMPL_H
#define LIB_ENGINE_RUN_IMPL_H

#include "lib/collective/algorithm.h"
#include "lib/collective/operation.h"
#include "lib/engine/channel.h"
#include "lib/engine/stage_impl.h"
#include "lib/negotiation/negotiation.h"

enum { FUSION_BUFFER_MAX = 4 << 20 }; /* bytes */

/* A tensor, or a part of one, in a run. */
struct run_tensor {
    struct tensor *own;   /* NULL: this rank has joined and gives zeros */
    size_t offset, count; /* elements: where the part begins, how many it has */
};

/* One decision whose data has to be moved, or on devices a chunk of it: waits in the set's queue,
 * then is under way. */
struct run {
    struct run *next;
    struct process_set *set;
    struct description description; /* of the first tensor */
    enum algorithm algorithm;
    struct run_tensor *tensors; /* `count` of them; room for `capacity` */
    int count, capacity;
    size_t total;  /* elements of all tensors */
    int64_t *rows; /* allgather: of each rank; alltoall: splits. Room for the set's size */
    void *output;  /* where the result is made */
    void *memory;  /* if it is neither the caller's nor the set's buffer: to be freed, or given
                        to the caller */
    int place;     /* in the window */
    struct operation *operation;
    struct stage stage;
};

struct set_memory {
    void *staging;
    unsigned char *buffer; /* for what is fused; none until then */
    size_t buffer_size;
};

/* Of a process set. */
struct set_runs {
    struct run *queue, **queue_end; /* decided, not started */
    int queued;
    struct operation_window window;
    struct run *running[WINDOW_SIZE];
    struct set_memory memory[WINDOW_SIZE];
    struct operation_store *store;
    struct run *free;
    unsigned wanted; /* all links of these algorithms, a bit each, have been wanted */
    int *others;     /* room for all but this rank */
};

/* run_queue.c */
int run_queue(struct process_set *set, const struct decision *decision, struct err *err);
void run_release(struct process_set *set, struct run *run);

/* run_prepare.c: fills in where the data comes from and goes to; false when out of memory */
bool run_prepare(struct process_set *set, struct run *run, struct operation_task *task,
                 struct set_memory *memory);
size_t run_element_size(const struct run *run);
void *run_place_rows(void *run, const int64_t *rows); /* operation_task.place */

/* run.c. The ranks that a run exchanges data with, into set->runs.others: how many. */
int run_find_others(const struct process_set *set, const struct run *run);
int runs_start(struct process_set *set, struct err *err); /* 1 if something was started */
int runs_finish(struct process_set *set);                 /* likewise */
void runs_fail(struct process_set *set, const struct err *reason);
/* The first in line that waits for links, which will not come, and those behind it. */
void runs_fail_unlinked(struct process_set *set, const struct err *reason);
int runs_init(struct process_set *set, struct err *err);
void runs_fini(struct process_set *set);
int runs_under_way(const struct process_set *set);
bool runs_can_start(struct process_set *set);

#endif
