/* SPDX-License-Identifier: Apache-2.0 */
/* When people hear for which ranks the next world of an elastic job waits:
 *   a rank is missing for `warning_ms` -> WARN
 *   the same ranks are missing for ELASTIC_WARN_AGAIN times as long, or others for as long -> WARN
 *   all ranks have come -> nothing, no timer
 * While slots are missing, which has a line of its own, there is no next world. Then the ranks that
 * are missing are those of the last world that are given up if they do not come
 * (elastic_plan_absent.c).
 * Many ranks that come one after another are not a line each, since at least `warning_ms` lies
 * between two lines. */
#include "launcher/base/xalloc.h"
#include "launcher/elastic/elastic_plan_impl.h"

#include <stdlib.h>
#include <string.h>

static bool elastic_next_world_waits(const struct elastic_plan *plan)
{
    return plan->forming_since != ELASTIC_NEVER && plan->short_since == ELASTIC_NEVER;
}

/* Slots are missing, and members are given up before the job ends for that. */
static bool elastic_members_are_due(const struct elastic_plan *plan)
{
    return plan->short_since != ELASTIC_NEVER &&
           elastic_absent_next_ms(plan) < plan->short_since + plan->options.timeout_ms;
}

struct elastic_missing elastic_plan_missing(const struct elastic_plan *plan)
{
    if (plan->options.warning_ms > 0 && elastic_next_world_waits(plan))
        return (struct elastic_missing){ plan->intended, plan->intended_count, false,
                                         plan->forming_since };
    if (plan->options.warning_ms > 0 && elastic_members_are_due(plan))
        return (struct elastic_missing){ plan->world, plan->world_size, true,
                                         elastic_waited_since(plan) };
    return (struct elastic_missing){ NULL, 0, false, ELASTIC_NEVER };
}

bool elastic_is_missing(const struct elastic_missing *of, const struct plan_worker *worker)
{
    return of->members ? worker_is_absent(worker) : !worker->waiting;
}

/* The workers that are missing, in order of rank; the caller frees them. */
static int *elastic_list_missing(const struct elastic_plan *plan, const struct elastic_missing *of,
                                 int *count)
{
    int *missing = xcalloc((size_t)of->count + 1, sizeof *missing);
    *count = 0;
    for (int rank = 0; rank < of->count; rank++)
        if (elastic_is_missing(of, &plan->workers[of->workers[rank]]))
            missing[(*count)++] = of->workers[rank];
    return missing;
}

static bool elastic_plan_has_warned_of(const struct elastic_plan *plan, const int *missing,
                                       int count)
{
    return count == plan->warned_count &&
           memcmp(missing, plan->warned, (size_t)count * sizeof *missing) == 0;
}

static void elastic_plan_forget_warning(struct elastic_plan *plan)
{
    free(plan->warned);
    plan->warned = NULL;
    plan->warned_count = 0;
    plan->warned_ms = plan->warn_ms = ELASTIC_NEVER;
}

/* When the next line is due. */
static uint64_t elastic_plan_warns_at(const struct elastic_plan *plan, uint64_t since_ms,
                                      const int *missing, int count)
{
    uint64_t wait_ms = plan->options.warning_ms;
    if (plan->warned_ms == ELASTIC_NEVER)
        return since_ms + wait_ms;
    if (elastic_plan_has_warned_of(plan, missing, count))
        wait_ms *= ELASTIC_WARN_AGAIN;
    return plan->warned_ms + wait_ms;
}

void elastic_check_missing(struct elastic_plan *plan, uint64_t now_ms)
{
    const struct elastic_missing of = elastic_plan_missing(plan);
    int count, *missing = elastic_list_missing(plan, &of, &count);
    if (count == 0) {
        free(missing);
        elastic_plan_forget_warning(plan);
        return;
    }
    if (now_ms >= elastic_plan_warns_at(plan, of.since_ms, missing, count)) {
        elastic_warn_missing(plan, &of, now_ms);
        free(plan->warned);
        plan->warned = missing;
        plan->warned_count = count;
        plan->warned_ms = now_ms;
    }
    plan->warn_ms = elastic_plan_warns_at(plan, of.since_ms, missing, count);
    if (missing != plan->warned)
        free(missing);
}
