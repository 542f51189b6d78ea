/* SPDX-License-Identifier: Apache-2.0 */
/* Data to move: decisions become batches, which wait in the queue and then are operations in the
 * window.
 *
 *   batch_queue.c    a decision becomes a batch, or several on devices, at the end of the queue
 *   batch.c          the queue, the window, and the end of an operation
 *   batch_prepare.c  the memory that a batch works in
 *   stage*.c         batches on devices (stage_impl.h) */
#ifndef LIB_ENGINE_BATCH_IMPL_H
#define LIB_ENGINE_BATCH_IMPL_H

#include "lib/collective/algorithm.h"
#include "lib/collective/operation.h"
#include "lib/engine/channel.h"
#include "lib/engine/fusion_limits.h"
#include "lib/engine/stage_impl.h"
#include "lib/negotiation/negotiation.h"

/* A tensor, or a part of one, in a batch. */
struct batch_tensor {
    struct tensor *own;   /* NULL: this rank has joined and contributes zeros */
    size_t offset, count; /* in elements: the beginning of the part, and its length */
};

/* One decision whose data has to be moved, or on devices a chunk of it: waits in the set's queue,
 * then is under way. */
struct batch {
    struct batch *next;
    struct process_set *set;
    struct description description; /* of the first tensor */
    struct algorithm_choice choice;
    struct batch_tensor *tensors; /* `count` of them; room for `capacity` */
    int count, capacity;
    size_t total;  /* elements of all tensors */
    int64_t *rows; /* allgather: of each rank; alltoall: that come from each rank. Room for the
                      set's size */
    bool has_rows; /* alltoall: the decision has brought them */
    void *output;  /* where the result is made */
    void *memory;  /* if it is neither the caller's nor the set's buffer: to be freed, or given
                        to the caller */
    int place;     /* in the window */
    struct operation *operation;
    struct stage stage;
};

struct set_memory {
    void *staging;
    unsigned char *buffer; /* for fused tensors and broadcasts; NULL until then */
    size_t buffer_size;
};

/* The batches of a process set. */
struct set_batches {
    struct batch *queue, **queue_end; /* decided, not started */
    int queued;
    struct operation_window window;
    struct batch *running[WINDOW_SIZE];
    struct set_memory memory[WINDOW_SIZE];
    struct operation_store *store;
    struct batch *free;
    unsigned wanted; /* all links of these algorithms, a bit each, have been wanted */
    int *others;     /* room for all but this rank */
};

/* batch_queue.c */
int batch_queue(struct process_set *set, const struct decision *decision, struct err *err);
void batch_release(struct process_set *set, struct batch *batch);

/* batch_prepare.c: fills in the source and the destination of the data; false when out of memory */
bool batch_prepare(struct process_set *set, struct batch *batch, struct operation_task *task,
                   struct set_memory *memory);
/* Gives the root of a broadcast memory that its peers read in place, if this saves copies. */
void batch_share(struct process_set *set, struct operation_task *task, struct set_memory *memory);
size_t batch_element_size(const struct batch *batch);
void *batch_place_rows(void *batch, const int64_t *rows); /* operation_task.place */

/* batch.c. Stores the ranks that a batch exchanges data with in set->batches.others, and returns
 * how many. */
int batch_find_others(const struct process_set *set, const struct batch *batch);
int batches_start(struct process_set *set, struct err *err); /* 1 if something was started */
int batches_finish(struct process_set *set);                 /* 1 if something was finished */
void batches_fail(struct process_set *set, const struct err *reason);
/* Fails the first batch in the queue that waits for links that will not come, and the batches
 * behind it. */
void batches_fail_unlinked(struct process_set *set, const struct err *reason);
int batches_init(struct process_set *set, struct err *err);
void batches_fini(struct process_set *set);
int batches_under_way(const struct process_set *set);
bool batches_can_start(struct process_set *set);

#endif
