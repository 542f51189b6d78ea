/* SPDX-License-Identifier: Apache-2.0 */
/* Estimating another machine's clock; see clock_offset.h. */
#include "launcher/protocol/clock_offset.h"

/* The drift bound: quartz is right within 100 millionths, on either side. */
enum { DRIFT_ONE_IN = 5000 };

static uint64_t slack_at(const struct clock_offset *clock, uint64_t at_us)
{
    uint64_t age_us = at_us > clock->taken_us ? at_us - clock->taken_us : clock->taken_us - at_us;
    return clock->slack_us + age_us / DRIFT_ONE_IN;
}

static uint64_t difference(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

void clock_offset_compare(struct clock_offset *clock, uint64_t sent_us, uint64_t their_us,
                          uint64_t now_us)
{
    uint64_t half_us = (now_us - sent_us) / 2, slack_us = slack_at(clock, now_us);
    int64_t ahead_us = (int64_t)(sent_us + half_us) - (int64_t)their_us;
    bool agrees = difference(ahead_us, clock->ahead_us) <= slack_us + half_us;
    if (clock->known && agrees && half_us > slack_us)
        return;
    *clock = (struct clock_offset){
        .known = true, .ahead_us = ahead_us, .slack_us = half_us, .taken_us = now_us
    };
}

uint64_t clock_offset_time(const struct clock_offset *clock, uint64_t their_us, uint64_t now_us,
                           uint64_t *at_us)
{
    int64_t mapped_us = (int64_t)their_us + clock->ahead_us;
    *at_us = now_us;
    if (!clock->known)
        return now_us;
    if (mapped_us < (int64_t)now_us)
        *at_us = mapped_us > 0 ? (uint64_t)mapped_us : 0;
    return slack_at(clock, *at_us);
}
