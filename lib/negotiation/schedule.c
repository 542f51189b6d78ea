/* SPDX-License-Identifier: Apache-2.0 */
/* The least period of the last tensors, in the same order or in any; see schedule.h. */
#include "lib/negotiation/schedule.h"

_Static_assert(SCHEDULE_REPEATS *SCHEDULE_MAX <= SCHEDULE_HISTORY, "the history is long enough");

/* A steady state of so many tensors was worth the search. */
enum { SCHEDULE_LONG = 8 * SCHEDULE_LEAST };

void schedule_search_init(struct schedule_search *search)
{
    search->seen = search->since = 0;
    search->pause = SCHEDULE_LEAST;
    search->has_waited = false;
    search->may_fuse = true;
}

/* The tensor that was carried out `back` tensors ago; 0 is the last one. */
static const struct scheduled *schedule_past(const struct schedule_search *search, uint32_t back)
{
    return &search->history[(search->seen - 1 - back) % SCHEDULE_HISTORY];
}

void schedule_add(struct schedule_search *search, int slot, struct schedule_choice choice)
{
    search->history[search->seen++ % SCHEDULE_HISTORY] =
        (struct scheduled){ slot, choice, search->has_waited };
    search->has_waited = false;
    search->since++;
}

void schedule_waited(struct schedule_search *search)
{
    search->has_waited = true;
}

void schedule_interrupt(struct schedule_search *search)
{
    search->seen = 0;
}

static void schedule_pause_longer(struct schedule_search *search)
{
    if (search->pause < SCHEDULE_PAUSE_MAX)
        search->pause *= 2;
}

void schedule_ended(struct schedule_search *search, uint64_t done)
{
    schedule_interrupt(search);
    search->since = 0;
    if (done >= SCHEDULE_LONG) {
        search->pause = SCHEDULE_LEAST;
        return;
    }
    search->may_fuse = !search->may_fuse;
    schedule_pause_longer(search);
}

/* Data may be moved together with those of other tensors in one round, and alone in another. The
 * size of pieces may change from round to round, as the program's memory does. */
static bool schedule_is_same(const struct scheduled *a, const struct scheduled *b)
{
    int of_a = a->choice.algorithm, of_b = b->choice.algorithm;
    bool is_fused = of_a == SCHEDULED_FUSED || of_b == SCHEDULED_FUSED;
    bool are_moved = of_a != SCHEDULED_INLINE && of_b != SCHEDULED_INLINE;
    return a->slot == b->slot && (of_a == of_b || (is_fused && are_moved));
}

/* Tensors that make enough rounds of `period`. */
static uint32_t schedule_needed(uint32_t period)
{
    uint32_t rounds = SCHEDULE_REPEATS * period;
    return rounds > SCHEDULE_LEAST ? rounds : SCHEDULE_LEAST;
}

static bool schedule_repeats(const struct schedule_search *search, uint32_t period)
{
    uint32_t needed = schedule_needed(period);
    if (needed > search->seen)
        return false;
    for (uint32_t back = 0; back + period < needed; back++)
        if (!schedule_is_same(schedule_past(search, back), schedule_past(search, back + period)))
            return false;
    return true;
}

/* The last tensors [back, back + count) contain one that is the same as `tensor`. */
static bool schedule_has(const struct schedule_search *search, uint32_t back, uint32_t count,
                         const struct scheduled *tensor)
{
    for (uint32_t i = 0; i < count; i++)
        if (schedule_is_same(schedule_past(search, back + i), tensor))
            return true;
    return false;
}

/* How many of the last tensors are all different; SCHEDULE_MAX + 1: too many. */
static uint32_t schedule_count_different(const struct schedule_search *search)
{
    uint32_t count = 0;
    while (count <= SCHEDULE_MAX && count < search->seen &&
           !schedule_has(search, 0, count, schedule_past(search, count)))
        count++;
    return count;
}

/* True if each round has the same tensors as the last one, once each. */
static bool schedule_repeats_in_any_order(const struct schedule_search *search, uint32_t period)
{
    uint32_t needed = schedule_needed(period);
    if (period == 0 || period > SCHEDULE_MAX || needed > search->seen)
        return false;
    for (uint32_t begin = period; begin + period <= needed; begin += period)
        for (uint32_t i = 0; i < period; i++) {
            const struct scheduled *tensor = schedule_past(search, begin + i);
            if (!schedule_has(search, 0, period, tensor) || schedule_has(search, begin, i, tensor))
                return false;
        }
    return true;
}

static bool schedule_is_alone(const struct schedule_search *search, uint32_t back, uint32_t period)
{
    bool is_alone = false;
    for (uint32_t round = 0; round < SCHEDULE_REPEATS; round++)
        is_alone |= schedule_past(search, back + round * period)->is_alone;
    return is_alone;
}

static void schedule_take(const struct schedule_search *search, uint32_t period,
                          struct schedule_round *round)
{
    round->count = (int)period;
    round->may_fuse = search->may_fuse;
    for (uint32_t i = 0; i < period; i++) {
        uint32_t back = period - 1 - i;
        round->tensors[i] = *schedule_past(search, back);
        round->tensors[i].is_alone = schedule_is_alone(search, back, period);
    }
}

bool schedule_find(struct schedule_search *search, struct schedule_round *round)
{
    if (search->since < search->pause || search->seen < SCHEDULE_LEAST)
        return false;
    search->since = 0;
    uint32_t period = 1;
    while (period <= SCHEDULE_PERIOD_MAX && !schedule_repeats(search, period))
        period++;
    if (period > SCHEDULE_PERIOD_MAX) {
        period = schedule_count_different(search);
        if (!schedule_repeats_in_any_order(search, period)) {
            schedule_pause_longer(search);
            return false;
        }
    }
    schedule_take(search, period, round);
    return true;
}
