/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: what happens when. Events of the same time happen in the order in which they were
 * added, so that a simulation repeats exactly. Ends the program when out of memory. */
#ifndef BENCH_PREDICTION_EVENT_QUEUE_H
#define BENCH_PREDICTION_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void event_fn(void *arg);

struct event {
    uint64_t at_ns, number;
    event_fn *run;
    void *arg;
};

/* A heap, the earliest event in front. All zero is an empty queue at time 0. */
struct event_queue {
    uint64_t now_ns, added;
    struct event *events;
    size_t count, capacity;
};

/* `at_ns` is not before now_ns. `arg` is borrowed until the event runs. */
void event_queue_add(struct event_queue *queue, uint64_t at_ns, event_fn *run, void *arg);

/* Runs the earliest event at its time; false if there is none. */
bool event_queue_run_next(struct event_queue *queue);

void event_queue_fini(struct event_queue *queue);

#endif
