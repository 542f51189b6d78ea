/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing; see plan.h. */
#include "tests/chaos/plan.h"

#include <stdio.h>
#include <string.h>

/* How far into the phase: a local job has started after 10 ms, one on hosts after 500. */
enum { BEGIN_LOCAL_US = 25000, BEGIN_HOSTS_US = 400000, RUNNING_US = 60000, END_US = 60000 };

/* From the first victim to the second one: within the reset that the first one leads to, or after
 * it; or while workers are started on the host of the first one again, and join the others. */
enum { AGAIN_US = 40000, COME_BACK_US = 950000, JOIN_US = 200000 };

/* Splitmix64. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static int below(uint64_t *state, int limit)
{
    return (int)(next(state) % (uint64_t)limit);
}

static bool fits(const struct fault *fault, const struct plan_choices *choices)
{
    return (choices->hosts || !fault->hosts_only) && (choices->slow || !fault->slow) &&
           choices->elastic == fault->elastic;
}

static const struct fault *draw_fault(uint64_t *state, const struct plan_choices *choices)
{
    const struct fault *fault;
    if (choices->fault >= 0)
        return &faults[choices->fault];
    do
        fault = &faults[below(state, fault_count)];
    while (!fits(fault, choices));
    return fault;
}

/* What takes the machine from others only when it is asked for: bombs, and comets that a stopped
 * agent does not wait for. */
static bool is_noisy(const struct worker_kind *kind, const struct fault *fault)
{
    return strcmp(kind->name, "bomb") == 0 || (fault->slow && strcmp(kind->name, "comet") == 0);
}

static const struct worker_kind *draw_kind(uint64_t *state, const struct plan_choices *choices,
                                           const struct fault *fault)
{
    const struct worker_kind *kind;
    if (fault->elastic)
        return &worker_kinds[worker_kind_find("elastic")];
    if (choices->kind >= 0)
        return &worker_kinds[choices->kind];
    do
        kind = &worker_kinds[below(state, worker_kind_count)];
    while (is_noisy(kind, fault) || kind->elastic || (fault->direct_only && kind->descends));
    return kind;
}

/* A bomb does not end by itself. */
static enum phase draw_phase(uint64_t *state, const struct plan_choices *choices,
                             const struct plan *plan)
{
    if (plan->fault->victim == MEMBER_OTHER)
        return PHASE_END;
    if (plan->fault->running_only)
        return PHASE_RUNNING;
    if (choices->phase >= 0)
        return (enum phase)choices->phase;
    bool ends = plan->kind != &worker_kinds[worker_kind_find("bomb")];
    return (enum phase)below(state, ends ? PHASES : PHASE_END);
}

static int draw_delay(uint64_t *state, const struct plan *plan, bool hosts)
{
    switch (plan->phase) {
    case PHASE_BEGIN:
        return below(state, hosts ? BEGIN_HOSTS_US : BEGIN_LOCAL_US);
    case PHASE_RUNNING:
        return below(state, RUNNING_US);
    default:
        return PLAN_LIFE_MS * 1000 - END_US / 2 + below(state, END_US);
    }
}

struct plan plan_draw(uint64_t seed, const struct plan_choices *choices)
{
    uint64_t state = seed;
    struct plan plan = { .seed = seed };
    plan.fault = draw_fault(&state, choices);
    plan.kind = draw_kind(&state, choices, plan.fault);
    plan.phase = draw_phase(&state, choices, &plan);
    plan.remote_shell =
        choices->hosts && (plan.fault->victim == MEMBER_CLIENT || below(&state, 4) == 0);
    plan.delay_us = draw_delay(&state, &plan, choices->hosts);
    plan.pick = (uint32_t)next(&state);
    plan.again_us =
        plan.fault->comes_back ? COME_BACK_US + below(&state, JOIN_US) : below(&state, AGAIN_US);
    return plan;
}

int plan_life_ms(const struct plan *plan)
{
    if (plan->fault->comes_back)
        return PLAN_COME_BACK_LIFE_MS;
    if (plan->phase == PHASE_END)
        return PLAN_LIFE_MS;
    return plan->fault->elastic && plan->fault->exit_status == 0 ? PLAN_ELASTIC_LIFE_MS : -1;
}

void plan_text(const struct plan *plan, char *text, size_t size)
{
    snprintf(text, size, "%-21s %-10s %-7s +%6.1f ms%s", plan->fault->name, plan->kind->name,
             phase_name(plan->phase), plan->delay_us / 1000.0, plan->remote_shell ? " ssh" : "");
}
