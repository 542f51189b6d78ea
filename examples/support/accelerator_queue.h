/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of a simulated accelerator: a thread that does one task after the other, copies no faster
 * than its bandwidth allows. */
#ifndef EXAMPLES_SUPPORT_ACCELERATOR_QUEUE_H
#define EXAMPLES_SUPPORT_ACCELERATOR_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Something to do. It is part of a larger struct of whoever puts it on a queue. */
struct accelerator_task {
    /* On the queue's thread. `status` is the queue's: the first failure since somebody took it, 0
     * if there is none. */
    void (*run)(struct accelerator_task *task, int *status);
    size_t nbytes; /* of a copy; 0 for what takes no bandwidth */
    bool owned;    /* by the queue, which frees it afterwards */

    struct accelerator_task *next; /* the queue's own, as what follows */
    uint64_t put_ns;
};

struct accelerator_queue {
    double bytes_per_second; /* 0: as fast as it goes */
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct accelerator_task *first, **last;
    uint64_t put, done; /* tasks so far */
    bool stopping;
};

/* Returns 0, or an errno. `name` is at most 15 bytes. */
int accelerator_queue_start(struct accelerator_queue *queue, const char *name,
                            double bytes_per_second);

/* Waits until it is empty. */
void accelerator_queue_stop(struct accelerator_queue *queue);

/* Puts a task on the queue, and returns its number, for accelerator_queue_wait(), which waits until
 * it is done. */
uint64_t accelerator_queue_put(struct accelerator_queue *queue, struct accelerator_task *task);
void accelerator_queue_wait(struct accelerator_queue *queue, uint64_t number);

/* When a copy that was put on a queue at `put_ns` is finished, if the one before it was finished at
 * `previous_ns`. */
uint64_t accelerator_copy_end(uint64_t put_ns, uint64_t previous_ns, size_t nbytes,
                              double bytes_per_second);

#endif
