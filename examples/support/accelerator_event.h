/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a simulated accelerator: a mark on a queue, and whether the queue has come there. */
#ifndef EXAMPLES_SUPPORT_ACCELERATOR_EVENT_H
#define EXAMPLES_SUPPORT_ACCELERATOR_EVENT_H

#include "examples/support/accelerator_queue.h"

struct accelerator_event;

struct accelerator_event *accelerator_event_create(void); /* NULL when out of memory */

/* Marks of it may still be on queues. */
void accelerator_event_destroy(struct accelerator_event *event);

/* From now on it stands for what is on `queue`. Returns 0, or -1 when out of memory. */
int accelerator_event_record(struct accelerator_event *event, struct accelerator_queue *queue);

/* 1 when it has passed or was never recorded, 0 when not yet, or the queue's failure. */
int accelerator_event_query(struct accelerator_event *event);

#endif
