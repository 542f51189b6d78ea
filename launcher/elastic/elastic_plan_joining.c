/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that are started while a world runs, and do not call hvd_init. The world does not wait
 * for them, so that nothing but the time from their start tells that they never come:
 *   `warning_ms`, and each ELASTIC_WARN_AGAIN times as long -> WARN, one line for each START
 *   `timeout_ms`                                            -> GIVE_UP, REMOVE, STOP
 * One that is given up counts as a failure of its host. While ranks wait for the next world, that
 * world has the limit, and all of this is put off until it is there. */
#include "launcher/elastic/elastic_plan_impl.h"

static bool elastic_world_runs(const struct elastic_plan *plan)
{
    return plan->whole && plan->left_since == ELASTIC_NEVER;
}

static bool worker_is_coming(const struct plan_worker *worker)
{
    return worker->state == PLAN_ALIVE && worker->since == PLAN_NO_WORLD && !worker->waiting;
}

static uint64_t worker_is_late_at(const struct elastic_plan *plan, const struct plan_worker *worker)
{
    return worker->started_ms + plan->options.timeout_ms;
}

void elastic_give_up_late(struct elastic_plan *plan, uint64_t now_ms)
{
    int first = plan->queue_count;
    for (int i = plan->first_living; elastic_world_runs(plan) && i < plan->worker_count; i++) {
        const struct plan_worker *at = &plan->workers[i];
        if (!worker_is_coming(at) || now_ms < worker_is_late_at(plan, at))
            continue;
        elastic_say_given_up(plan, i);
        elastic_plan_give_up(plan, i, now_ms);
    }
    elastic_plan_blame_hosts(plan, first, now_ms);
}

/* Was it started together with `other`? */
static bool worker_is_beside(const struct plan_worker *worker, const struct plan_worker *other)
{
    return worker->host == other->host && worker->started_ms == other->started_ms;
}

void elastic_warn_late(struct elastic_plan *plan, uint64_t now_ms)
{
    if (plan->options.warning_ms == 0 || !elastic_world_runs(plan))
        return;
    for (int i = plan->first_living; i < plan->worker_count; i++) {
        struct plan_worker *at = &plan->workers[i];
        if (!worker_is_coming(at) || now_ms < at->warn_ms)
            continue;
        int end = i;
        for (; end < plan->worker_count && worker_is_beside(&plan->workers[end], at); end++)
            plan->workers[end].warn_ms = now_ms + ELASTIC_WARN_AGAIN * plan->options.warning_ms;
        elastic_say_late(plan, i, end, worker_is_coming, now_ms);
        i = end - 1;
    }
}

uint64_t elastic_late_next_ms(const struct elastic_plan *plan)
{
    uint64_t next = ELASTIC_NEVER;
    for (int i = plan->first_living; elastic_world_runs(plan) && i < plan->worker_count; i++) {
        const struct plan_worker *at = &plan->workers[i];
        if (!worker_is_coming(at))
            continue;
        uint64_t late_ms = worker_is_late_at(plan, at);
        uint64_t due_ms =
            plan->options.warning_ms > 0 && at->warn_ms < late_ms ? at->warn_ms : late_ms;
        next = due_ms < next ? due_ms : next;
    }
    return next;
}
