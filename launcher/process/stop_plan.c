/* SPDX-License-Identifier: Apache-2.0 */
/* Asking, insisting, killing; see stop_plan.h. */
#include "launcher/process/stop_plan.h"

#include <signal.h>

static int enter(struct stop_plan *plan, enum stop_phase phase, uint64_t ends_ms, int signum)
{
    plan->phase = phase;
    plan->phase_ends_ms = ends_ms;
    return signum;
}

static int kill_now(struct stop_plan *plan, uint64_t now_ms)
{
    return enter(plan, STOP_KILLING, now_ms + STOP_KILL_MS, SIGKILL);
}

int stop_plan_ask(struct stop_plan *plan, int signum, uint64_t grace_ms, uint64_t now_ms)
{
    if (plan->phase >= STOP_KILLING)
        return 0;
    if (signum == SIGKILL)
        return kill_now(plan, now_ms);
    if (plan->phase == STOP_IDLE) {
        plan->asked_with = signum;
        return enter(plan, STOP_ASKING, now_ms + grace_ms, signum);
    }
    if (now_ms + grace_ms < plan->phase_ends_ms)
        plan->phase_ends_ms = now_ms + grace_ms;
    if (signum == plan->asked_with || plan->phase == STOP_INSISTING)
        return 0;
    plan->asked_with = signum;
    return signum;
}

int stop_plan_advance(struct stop_plan *plan, uint64_t now_ms)
{
    if (plan->phase == STOP_IDLE || plan->phase == STOP_GIVEN_UP)
        return 0;
    if (plan->phase == STOP_KILLING && now_ms < plan->phase_ends_ms)
        return SIGKILL;
    if (now_ms < plan->phase_ends_ms)
        return 0;
    if (plan->phase == STOP_ASKING && plan->asked_with != SIGTERM)
        return enter(plan, STOP_INSISTING, now_ms + STOP_INSIST_MS, SIGTERM);
    if (plan->phase == STOP_KILLING)
        return enter(plan, STOP_GIVEN_UP, 0, 0);
    return kill_now(plan, now_ms);
}
