/* SPDX-License-Identifier: Apache-2.0 */
/* The least period of the last operations; see schedule.h. */
#include "lib/negotiation/schedule.h"

_Static_assert(SCHEDULE_REPEATS *SCHEDULE_MAX <= SCHEDULE_HISTORY, "the history is long enough");

/* A steady state of so many operations was worth the search. */
enum { SCHEDULE_LONG = 8 * SCHEDULE_LEAST };

void schedule_search_init(struct schedule_search *search)
{
    search->seen = search->searched = 0;
    search->pause = SCHEDULE_LEAST;
}

/* The operation that was carried out `back` operations ago; 0 is the last one. */
static struct scheduled schedule_past(const struct schedule_search *search, uint32_t back)
{
    return search->history[(search->seen - 1 - back) % SCHEDULE_HISTORY];
}

void schedule_add(struct schedule_search *search, struct scheduled operation)
{
    search->history[search->seen++ % SCHEDULE_HISTORY] = operation;
}

void schedule_interrupt(struct schedule_search *search)
{
    search->seen = search->searched = 0;
}

static void schedule_pause_longer(struct schedule_search *search)
{
    if (search->pause < SCHEDULE_PAUSE_MAX)
        search->pause *= 2;
}

void schedule_ended(struct schedule_search *search, uint32_t done)
{
    schedule_interrupt(search);
    if (done >= SCHEDULE_LONG)
        search->pause = SCHEDULE_LEAST;
    else
        schedule_pause_longer(search);
}

static bool schedule_is_same(struct scheduled a, struct scheduled b)
{
    return a.slot == b.slot && a.algorithm == b.algorithm;
}

static bool schedule_repeats(const struct schedule_search *search, uint32_t period)
{
    uint32_t rounds = SCHEDULE_REPEATS * period;
    uint32_t needed = rounds > SCHEDULE_LEAST ? rounds : SCHEDULE_LEAST;
    if (needed > search->seen)
        return false;
    for (uint32_t back = 0; back + period < needed; back++)
        if (!schedule_is_same(schedule_past(search, back), schedule_past(search, back + period)))
            return false;
    return true;
}

bool schedule_find(struct schedule_search *search, struct schedule *schedule)
{
    if (search->seen - search->searched < search->pause)
        return false;
    search->searched = search->seen;
    for (uint32_t period = 1; period <= SCHEDULE_MAX; period++) {
        if (!schedule_repeats(search, period))
            continue;
        schedule->count = (int)period;
        for (uint32_t i = 0; i < period; i++)
            schedule->operations[i] = schedule_past(search, period - 1 - i);
        return true;
    }
    schedule_pause_longer(search);
    return false;
}
