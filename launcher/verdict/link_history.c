/* SPDX-License-Identifier: Apache-2.0 */
/* The history of a link; see link_history.h. */
#include "launcher/verdict/link_history.h"

static void link_history_add(struct link_history *history, uint64_t worth_ms, uint64_t until_ms,
                             uint64_t now_ms)
{
    if (history->heard_ms == 0 || now_ms - history->heard_ms < worth_ms)
        return;
    if (history->ngaps < HEARTBEAT_GAPS)
        history->gaps[history->ngaps] = (struct heartbeat_gap){ history->heard_ms, until_ms };
    history->ngaps++;
}

void link_history_reached(struct link_history *history, uint64_t now_ms)
{
    history->reached_ms = history->heard_ms = now_ms;
}

void link_history_heard(struct link_history *history, uint64_t worth_ms, uint64_t now_ms)
{
    link_history_add(history, worth_ms, now_ms, now_ms);
    history->heard_ms = now_ms;
}

void link_history_lost(struct link_history *history, uint64_t worth_ms, uint64_t now_ms)
{
    link_history_add(history, worth_ms, 0, now_ms);
    history->lost_ms = now_ms;
}
