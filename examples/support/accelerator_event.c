/* SPDX-License-Identifier: Apache-2.0 */
/* An event counts how often it has been recorded, and a mark on a queue knows which time it was;
 * when the queue comes to the mark, the event has got so far. It has passed when the last one has
 * been reached: recorded again, it no longer stands for what it stood for, even on another queue.
 * Marks hold on to their event, so that it can be destroyed while they are on their way.
 *
 * Fails for want of memory only. */
#include "examples/support/accelerator_event.h"

#include <stdlib.h>

struct accelerator_event {
    pthread_mutex_t lock;
    uint64_t recorded, reached;
    int status;     /* of the queue there; 0 or negative */
    int references; /* its owner, and the marks */
};

struct mark {
    struct accelerator_task task;
    struct accelerator_event *event;
    uint64_t number;
};

struct accelerator_event *accelerator_event_create(void)
{
    struct accelerator_event *event = calloc(1, sizeof *event);
    if (event == NULL)
        return NULL;
    pthread_mutex_init(&event->lock, NULL);
    event->references = 1;
    return event;
}

void accelerator_event_destroy(struct accelerator_event *event)
{
    pthread_mutex_lock(&event->lock);
    int left = --event->references;
    pthread_mutex_unlock(&event->lock);
    if (left > 0)
        return;
    pthread_mutex_destroy(&event->lock);
    free(event);
}

/* Takes the queue's failure with it. */
static void reach(struct accelerator_task *task, int *status)
{
    struct mark *mark = (struct mark *)task;
    struct accelerator_event *event = mark->event;
    pthread_mutex_lock(&event->lock);
    if (mark->number > event->reached) {
        event->reached = mark->number;
        event->status = *status;
    }
    pthread_mutex_unlock(&event->lock);
    *status = 0;
    accelerator_event_destroy(event);
}

int accelerator_event_record(struct accelerator_event *event, struct accelerator_queue *queue)
{
    struct mark *mark = malloc(sizeof *mark);
    if (mark == NULL)
        return -1;
    *mark = (struct mark){ .task = { .run = reach, .owned = true }, .event = event };
    pthread_mutex_lock(&event->lock);
    mark->number = ++event->recorded;
    event->references++;
    pthread_mutex_unlock(&event->lock);
    accelerator_queue_put(queue, &mark->task);
    return 0;
}

int accelerator_event_query(struct accelerator_event *event)
{
    pthread_mutex_lock(&event->lock);
    int passed = event->reached < event->recorded ? 0 : event->status < 0 ? event->status : 1;
    pthread_mutex_unlock(&event->lock);
    return passed;
}
