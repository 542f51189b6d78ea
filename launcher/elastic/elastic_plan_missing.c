/* SPDX-License-Identifier: Apache-2.0 */
/* When people hear for which ranks the next world of an elastic job waits:
 *   a rank is missing for `warning_ms` -> WARN
 *   the same ranks are missing for ELASTIC_WARN_AGAIN times as long, or others for as long -> WARN
 *   all ranks have come, or slots are missing, which has a line of its own -> nothing, no timer
 * Many ranks that come one after another are not a line each, since at least `warning_ms` lies
 * between two lines. */
#include "launcher/base/xalloc.h"
#include "launcher/elastic/elastic_plan_impl.h"

#include <stdlib.h>
#include <string.h>

/* The workers of the next world that have not come, in order of rank; the caller frees them. */
static int *elastic_plan_missing(const struct elastic_plan *plan, int *count)
{
    int *missing = xcalloc((size_t)plan->intended_count + 1, sizeof *missing);
    *count = 0;
    for (int rank = 0; rank < plan->intended_count; rank++)
        if (!plan->workers[plan->intended[rank]].waiting)
            missing[(*count)++] = plan->intended[rank];
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
static uint64_t elastic_plan_warns_at(const struct elastic_plan *plan, const int *missing,
                                      int count)
{
    uint64_t wait_ms = plan->options.warning_ms;
    if (plan->warned_ms == ELASTIC_NEVER)
        return plan->forming_since + wait_ms;
    if (elastic_plan_has_warned_of(plan, missing, count))
        wait_ms *= ELASTIC_WARN_AGAIN;
    return plan->warned_ms + wait_ms;
}

void elastic_check_missing(struct elastic_plan *plan, uint64_t now_ms)
{
    bool waits = plan->options.warning_ms > 0 && plan->forming_since != ELASTIC_NEVER &&
                 plan->short_since == ELASTIC_NEVER;
    int count = 0, *missing = waits ? elastic_plan_missing(plan, &count) : NULL;
    if (count == 0) {
        free(missing);
        elastic_plan_forget_warning(plan);
        return;
    }
    if (now_ms >= elastic_plan_warns_at(plan, missing, count)) {
        elastic_warn_missing(plan, now_ms);
        free(plan->warned);
        plan->warned = missing;
        plan->warned_count = count;
        plan->warned_ms = now_ms;
    }
    plan->warn_ms = elastic_plan_warns_at(plan, missing, count);
    if (missing != plan->warned)
        free(missing);
}
