/* SPDX-License-Identifier: Apache-2.0 */
/* A heap of events; see clock.h. */
#include "tests/simulator/clock.h"

#include "tests/simulator/pool.h"
#include "tests/simulator/process.h"

#include <stdlib.h>

static struct {
    uint64_t now_us, number;
    struct sim_event **heap;
    size_t count, room;
} timeline;

void sim_clock_reset(void)
{
    timeline.now_us = SIM_MS(5 * 3600 * 1000);
    timeline.number = 0;
    timeline.count = 0;
}

uint64_t sim_now_us(void)
{
    return timeline.now_us;
}

uint64_t sim_now_ms(void)
{
    return timeline.now_us / 1000;
}

static bool before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->number < b->number;
}

static void push(struct sim_event *event)
{
    if (timeline.count == timeline.room) {
        timeline.room = timeline.room ? 2 * timeline.room : 1024;
        timeline.heap = sim_grow(timeline.heap, timeline.room * sizeof *timeline.heap);
    }
    size_t at = timeline.count++;
    for (; at > 0 && before(event, timeline.heap[(at - 1) / 2]); at = (at - 1) / 2)
        timeline.heap[at] = timeline.heap[(at - 1) / 2];
    timeline.heap[at] = event;
}

static struct sim_event *pop(void)
{
    struct sim_event *first = timeline.heap[0], *last = timeline.heap[--timeline.count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= timeline.count)
            break;
        if (child + 1 < timeline.count && before(timeline.heap[child + 1], timeline.heap[child]))
            child++;
        if (!before(timeline.heap[child], last))
            break;
        timeline.heap[at] = timeline.heap[child];
        at = child;
    }
    timeline.heap[at] = last;
    return first;
}

static struct sim_event *add(struct sim_process *process, uint64_t delay_us, bool timer,
                             sim_event_fn *fn, void *context)
{
    struct sim_event *event = sim_new(sizeof *event);
    *event = (struct sim_event){ .at_us = timeline.now_us + delay_us,
                                 .number = timeline.number++,
                                 .process = process,
                                 .timer = timer,
                                 .fn = fn,
                                 .context = context };
    push(event);
    return event;
}

struct sim_event *sim_after(struct sim_process *process, uint64_t delay_us, sim_event_fn *fn,
                            void *context)
{
    return add(process, delay_us, false, fn, context);
}

struct sim_event *sim_timer(struct sim_process *process, uint64_t delay_us, sim_event_fn *fn,
                            void *context)
{
    return add(process, delay_us, true, fn, context);
}

void sim_cancel(struct sim_event *event)
{
    if (event)
        event->cancelled = true;
}

static void hold(struct sim_event *event)
{
    struct sim_event **at = &event->process->held;
    while (*at)
        at = &(*at)->next_held;
    *at = event;
    event->next_held = NULL;
}

static void happen(struct sim_event *event)
{
    struct sim_process *process = event->process;
    if (event->cancelled || (process && !process->alive))
        return;
    if (process && (process->stopped || process->frozen)) {
        hold(event);
        return;
    }
    struct sim_process *before_it = sim_enter(process);
    event->fn(event->context);
    sim_leave(before_it);
}

bool sim_step(uint64_t until_us)
{
    if (timeline.count == 0 || timeline.heap[0]->at_us > until_us)
        return false;
    struct sim_event *event = pop();
    timeline.now_us = event->at_us;
    happen(event);
    return true;
}

static void again(struct sim_event *list, bool timers)
{
    for (struct sim_event *event = list, *next; event; event = next) {
        next = event->next_held;
        if (event->timer != timers)
            continue;
        event->at_us = timeline.now_us;
        event->number = timeline.number++;
        push(event);
    }
}

void sim_release_held(struct sim_process *process)
{
    struct sim_event *list = process->held;
    process->held = NULL;
    for (int pass = 0; pass < 2; pass++)
        again(list, pass == 0);
}
