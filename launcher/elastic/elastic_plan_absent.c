/* SPDX-License-Identifier: Apache-2.0 */
/* Members of the last world that do not come to the next one, because they hang: nobody has named
 * them as late, for example because another rank failed first, or because more ranks hung than one
 * message names.
 *   another member has waited for them for `shutdown_ms` -> GIVE_UP, REMOVE, STOP, all at once
 * The rule holds, too, while the ranks that are left are too few for a world. The stall inspector
 * gives a rank as much time while a world runs. New workers, which may have much to load before
 * they come, have the limit of the world (elastic_plan_decide.c). */
#include "launcher/elastic/elastic_plan_impl.h"

bool worker_is_absent(const struct plan_worker *worker)
{
    return worker->state == PLAN_ALIVE && worker->member && !worker->waiting;
}

uint64_t elastic_waited_since(const struct elastic_plan *plan)
{
    uint64_t since = ELASTIC_NEVER;
    for (int i = plan->first_living; i < plan->worker_count; i++) {
        const struct plan_worker *at = &plan->workers[i];
        if (at->state == PLAN_ALIVE && at->member && at->waiting && at->waiting_ms < since)
            since = at->waiting_ms;
    }
    return since;
}

static bool elastic_somebody_is_absent(const struct elastic_plan *plan)
{
    for (int i = plan->first_living; i < plan->worker_count; i++)
        if (worker_is_absent(&plan->workers[i]))
            return true;
    return false;
}

uint64_t elastic_absent_next_ms(const struct elastic_plan *plan)
{
    if (plan->options.shutdown_ms == 0 || !elastic_somebody_is_absent(plan))
        return ELASTIC_NEVER;
    uint64_t since = elastic_waited_since(plan);
    return since == ELASTIC_NEVER ? since : since + plan->options.shutdown_ms;
}

void elastic_give_up_absent(struct elastic_plan *plan, uint64_t now_ms)
{
    int first = plan->queue_count;
    if (now_ms < elastic_absent_next_ms(plan))
        return;
    uint64_t waited_ms = now_ms - elastic_waited_since(plan);
    for (int i = plan->first_living; i < plan->worker_count; i++)
        if (worker_is_absent(&plan->workers[i])) {
            elastic_say_absent(plan, i, waited_ms);
            elastic_plan_give_up(plan, i, now_ms);
        }
    elastic_plan_break(plan, now_ms);
    elastic_plan_blame_hosts(plan, first, now_ms);
}
