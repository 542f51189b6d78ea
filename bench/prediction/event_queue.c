/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap of events; see event_queue.h. */
#include "bench/prediction/event_queue.h"

#include <assert.h>
#include <err.h>
#include <stdlib.h>

static bool event_is_before(const struct event *a, const struct event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->number < b->number;
}

void event_queue_add(struct event_queue *queue, uint64_t at_ns, event_fn *run, void *arg)
{
    assert(at_ns >= queue->now_ns);
    if (queue->count == queue->capacity) {
        queue->capacity = queue->capacity ? 2 * queue->capacity : 1024;
        queue->events = reallocarray(queue->events, queue->capacity, sizeof *queue->events);
        if (!queue->events)
            errx(1, "out of memory for %zu events", queue->capacity);
    }
    struct event event = { at_ns, queue->added++, run, arg };
    size_t at = queue->count++;
    for (; at > 0 && event_is_before(&event, &queue->events[(at - 1) / 2]); at = (at - 1) / 2)
        queue->events[at] = queue->events[(at - 1) / 2];
    queue->events[at] = event;
}

/* The last event takes the place of the first one, and sinks. */
static void event_queue_remove_first(struct event_queue *queue)
{
    struct event last = queue->events[--queue->count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < queue->count) {
        if (child + 1 < queue->count &&
            event_is_before(&queue->events[child + 1], &queue->events[child]))
            child++;
        if (!event_is_before(&queue->events[child], &last))
            break;
        queue->events[at] = queue->events[child];
        at = child;
    }
    queue->events[at] = last;
}

bool event_queue_run_next(struct event_queue *queue)
{
    if (queue->count == 0)
        return false;
    struct event first = queue->events[0];
    event_queue_remove_first(queue);
    queue->now_ns = first.at_ns;
    first.run(first.arg);
    return true;
}

void event_queue_fini(struct event_queue *queue)
{
    free(queue->events);
    *queue = (struct event_queue){ 0 };
}
