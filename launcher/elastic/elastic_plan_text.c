/* SPDX-License-Identifier: Apache-2.0 */
/* The failures of an elastic plan, one line each, and what the job waits for; see elastic_plan.h. A
 * line that would become too long counts ranks instead of naming them. */
#include "launcher/base/rank_names.h"
#include "launcher/elastic/elastic_plan_impl.h"

#include <stdio.h>
#include <string.h>

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

static int elastic_seconds(uint64_t ms)
{
    return (int)(ms / 1000);
}

static struct elastic_action *elastic_plan_fail(struct elastic_plan *plan,
                                                enum elastic_failure failure)
{
    struct elastic_action *action = &elastic_plan_queue(plan, ELASTIC_FAIL, plan->failed)->action;
    action->failure = failure;
    return action;
}

/* ---- slots ---- */

int elastic_needed(const struct elastic_plan *plan)
{
    return plan->started ? plan->options.min - plan->finished : plan->options.np;
}

static void elastic_describe_slots(const struct elastic_plan *plan, char *text, size_t size)
{
    int slots = 0, hosts = 0, avoided = 0;
    for (int i = 0; i < plan->hosts.count; i++) {
        const struct elastic_host *host = plan->hosts.hosts[i];
        if (host->found.slots == 0)
            continue;
        slots += elastic_host_capacity(host);
        if (elastic_host_capacity(host) > 0)
            hosts++;
        avoided += host->avoided_until > 0;
    }
    int length =
        snprintf(text, size, "%d slot%s on %d host%s", slots, plural(slots), hosts, plural(hosts));
    if (avoided > 0)
        snprintf(text + length, size - (size_t)length, ", %d host%s avoided after a failure",
                 avoided, plural(avoided));
}

/* The option that says how many ranks are the least, as the user has given it. */
static const char *elastic_min_source(const struct elastic_plan *plan)
{
    return plan->options.min_is_np ? "-np" : "--min-np";
}

static const char *elastic_need_source(const struct elastic_plan *plan)
{
    return plan->started || plan->options.np_is_min ? elastic_min_source(plan) : "-np";
}

/* "1 slot on 1 host, and 2 are needed (-np)" */
static void elastic_describe_need(const struct elastic_plan *plan, char *text, size_t size)
{
    char slots[120];
    int needed = elastic_needed(plan);
    elastic_describe_slots(plan, slots, sizeof slots);
    snprintf(text, size, "%s, and %d %s needed (%s)", slots, needed, needed == 1 ? "is" : "are",
             elastic_need_source(plan));
}

void elastic_fail_short(struct elastic_plan *plan, bool for_ever)
{
    char need[180];
    elastic_describe_need(plan, need, sizeof need);
    struct elastic_action *action =
        elastic_plan_fail(plan, for_ever ? ELASTIC_NO_MORE_SLOTS : ELASTIC_TOO_FEW_SLOTS);
    if (for_ever)
        snprintf(action->text, sizeof action->text, "too few slots are left: %s", need);
    else
        snprintf(action->text, sizeof action->text,
                 "too few slots for %d s (--elastic-timeout): %s",
                 elastic_seconds(plan->options.timeout_ms), need);
}

bool elastic_plan_ranks_stay(const struct elastic_plan *plan)
{
    return plan->whole && plan->finished == 0 &&
           elastic_hosts_capacity(&plan->hosts) < elastic_needed(plan);
}

const char *elastic_plan_waits_for(struct elastic_plan *plan)
{
    char slots[120];
    bool stay = elastic_plan_ranks_stay(plan);
    if (plan->over || (plan->short_since == ELASTIC_NEVER && !stay))
        return NULL;
    elastic_describe_slots(plan, slots, sizeof slots);
    snprintf(plan->waits_for, sizeof plan->waits_for, "waiting for slots: %s, %d needed (%s)%s",
             slots, elastic_needed(plan), elastic_need_source(plan),
             stay ? "; the ranks go on where they are" : "");
    return plan->waits_for;
}

/* ---- worlds ---- */

void elastic_fail_resets(struct elastic_plan *plan)
{
    snprintf(elastic_plan_fail(plan, ELASTIC_RESET_LIMIT)->text, ELASTIC_TEXT_SIZE,
             "a further world is needed after %d reset%s (--reset-limit)", plan->epoch,
             plural(plan->epoch));
}

void elastic_fail_over(struct elastic_plan *plan)
{
    struct elastic_action *action =
        elastic_plan_fail(plan, plan->finished ? ELASTIC_UNFINISHED : ELASTIC_STATE_LOST);
    if (plan->finished)
        snprintf(action->text, sizeof action->text,
                 "only %d rank%s finished, and %d are needed (%s)", plan->finished,
                 plural(plan->finished), plan->options.min, elastic_min_source(plan));
    else
        snprintf(action->text, sizeof action->text, "no rank is left that could go on");
}

/* ---- ranks that do not come ---- */

/* The missing ranks on one host. */
struct forming_host {
    const struct elastic_plan *plan;
    const struct elastic_missing *missing;
    int host;
};

static bool is_missing(const void *context, int rank)
{
    const struct forming_host *of = context;
    const struct plan_worker *worker = &of->plan->workers[of->missing->workers[rank]];
    return worker->host == of->host && elastic_is_missing(of->missing, worker);
}

/* A worker that has ended may still stand in the intended world, until the next one is intended. */
static bool is_missing_worker(const void *context, int number)
{
    const struct forming_host *of = context;
    const struct plan_worker *worker = &of->plan->workers[number];
    return worker->state == PLAN_ALIVE && (of->missing->members || worker->intended) &&
           worker->host == of->host && elastic_is_missing(of->missing, worker);
}

/* "ranks 3, 5 on b (workers 3, 7)"; returns the number of ranks, and the length in `*length`. */
static int elastic_name_missing(const struct forming_host *of, char *text, size_t size, int *length)
{
    char names[RANK_NAMES_SIZE], numbers[RANK_NAMES_SIZE];
    const struct elastic_plan *plan = of->plan;
    int count = rank_names_text(names, sizeof names, of->missing->count, is_missing, of);
    int workers =
        rank_names_numbers(numbers, sizeof numbers, plan->worker_count, is_missing_worker, of);
    *length = snprintf(text, size, "%s on %s", names, plan->hosts.hosts[of->host]->found.name);
    if (workers > 0 && *length >= 0 && (size_t)*length < size)
        *length += snprintf(text + *length, size - (size_t)*length, " (worker%s %s)",
                            plural(workers), numbers);
    return count;
}

/* "ranks 3, 5 on b (workers 3, 7), rank 6 on c (worker 8) and 2 others have not called hvd_init",
 * or their number if the first host does not fit. The number of others always fits. */
static void elastic_describe_missing(const struct elastic_plan *plan,
                                     const struct elastic_missing *of_whom, char *text, size_t size)
{
    int missing = 0, named = 0, before = -1;
    size_t used = 0, room = size - sizeof " and 131071 others have not called hvd_init";
    for (int rank = 0; rank < of_whom->count; rank++) {
        char piece[900];
        const struct forming_host of = { plan, of_whom,
                                         plan->workers[of_whom->workers[rank]].host };
        if (of.host == before) /* the ranks of a host stand together */
            continue;
        before = of.host;
        int length, count = elastic_name_missing(&of, piece, sizeof piece, &length);
        size_t comma = used > 0 ? sizeof ", " - 1 : 0;
        bool fits = count > 0 && missing == named && used + comma + (size_t)length < room;
        if (fits) {
            memcpy(text + used, ", ", comma);
            memcpy(text + used + comma, piece, (size_t)length + 1);
            used += comma + (size_t)length;
            named += count;
        }
        missing += count;
    }
    if (named == 0)
        used += (size_t)snprintf(text, size, "%d rank%s", missing, plural(missing));
    else if (missing > named)
        used += (size_t)snprintf(text + used, size - used, " and %d other%s", missing - named,
                                 plural(missing - named));
    snprintf(text + used, size - used, " %s not called hvd_init", missing == 1 ? "has" : "have");
}

/* Slots may have been lost a moment ago, and a worker been started again: the text tells how long
 * the world has been waited for, and what is missing now. */
void elastic_fail_forming(struct elastic_plan *plan)
{
    char why[ELASTIC_TEXT_SIZE - 52];
    const struct elastic_missing next = { plan->intended, plan->intended_count, false, 0 };
    if (plan->short_since != ELASTIC_NEVER)
        elastic_describe_need(plan, why, sizeof why);
    else
        elastic_describe_missing(plan, &next, why, sizeof why);
    snprintf(elastic_plan_fail(plan, ELASTIC_NO_WORLD)->text, ELASTIC_TEXT_SIZE,
             "no world within %d s (--elastic-timeout): %s",
             elastic_seconds(plan->options.timeout_ms), why);
}

static void elastic_warn_given_up(struct elastic_plan *plan, const struct elastic_missing *of,
                                  uint64_t at_ms, uint64_t now_ms)
{
    char missing[ELASTIC_TEXT_SIZE - 136];
    elastic_describe_missing(plan, of, missing, sizeof missing);
    snprintf(elastic_plan_queue(plan, ELASTIC_WARN, -1)->action.text, ELASTIC_TEXT_SIZE,
             "no world for %d s: %s; ranks of the last world are given up in %d s "
             "(--stall-check-shutdown-time-seconds)",
             elastic_seconds(now_ms - of->since_ms), missing,
             elastic_seconds(at_ms - now_ms + 999));
}

/* Rounds up what is left, so that the two times add up to the limit. */
void elastic_warn_missing(struct elastic_plan *plan, const struct elastic_missing *of,
                          uint64_t now_ms)
{
    char missing[ELASTIC_TEXT_SIZE - 96];
    uint64_t waited_ms = now_ms - of->since_ms, given_up_ms = elastic_absent_next_ms(plan);
    if (of->members || given_up_ms < of->since_ms + plan->options.timeout_ms) {
        elastic_warn_given_up(plan, of, given_up_ms, now_ms);
        return;
    }
    elastic_describe_missing(plan, of, missing, sizeof missing);
    snprintf(elastic_plan_queue(plan, ELASTIC_WARN, -1)->action.text, ELASTIC_TEXT_SIZE,
             "no world for %d s: %s; the job ends in %d s (--elastic-timeout)",
             elastic_seconds(waited_ms), missing,
             elastic_seconds(plan->options.timeout_ms - waited_ms + 999));
}

/* ---- workers that do not join ---- */

void elastic_say_given_up(struct elastic_plan *plan, int worker)
{
    snprintf(elastic_plan_queue(plan, ELASTIC_GIVE_UP, worker)->action.text, ELASTIC_TEXT_SIZE,
             "has not called hvd_init within %d s (--elastic-timeout)",
             elastic_seconds(plan->options.timeout_ms));
}

void elastic_say_absent(struct elastic_plan *plan, int worker, uint64_t waited_ms)
{
    snprintf(elastic_plan_queue(plan, ELASTIC_GIVE_UP, worker)->action.text, ELASTIC_TEXT_SIZE,
             "has not come to the next world, where others have waited %d s "
             "(--stall-check-shutdown-time-seconds)",
             elastic_seconds(waited_ms));
}

void elastic_say_too_late(struct elastic_plan *plan, int worker, const char *why)
{
    snprintf(elastic_plan_queue(plan, ELASTIC_GIVE_UP, worker)->action.text, ELASTIC_LINE_SIZE,
             "%s", why);
}

/* Some of the workers that were started together. */
struct started_workers {
    const struct elastic_plan *plan;
    int first, end;
    plan_worker_fn *wanted;
};

static bool is_among_joining(const void *context, int worker)
{
    const struct started_workers *of = context;
    return worker >= of->first && worker < of->end && of->wanted(&of->plan->workers[worker]);
}

/* "workers 2, 3 on b", or their number if the names do not fit. */
static int elastic_name_workers(const struct started_workers *of, char *text, size_t size)
{
    char numbers[RANK_NAMES_SIZE];
    int count = rank_names_numbers(numbers, sizeof numbers, of->end, is_among_joining, of);
    int length = snprintf(text, size, "worker%s %s on %s", plural(count), numbers,
                          elastic_plan_host(of->plan, of->first)->found.name);
    if (length < 0 || (size_t)length >= size)
        snprintf(text, size, "%d worker%s", count, plural(count));
    return count;
}

/* Rounds up what is left, so that the two times add up to the limit. */
void elastic_say_late(struct elastic_plan *plan, int first, int end, plan_worker_fn *wanted,
                      uint64_t now_ms)
{
    const struct started_workers of = { plan, first, end, wanted };
    uint64_t waited_ms = now_ms - plan->workers[first].started_ms;
    char names[ELASTIC_TEXT_SIZE - 120];
    int count = elastic_name_workers(&of, names, sizeof names);
    snprintf(elastic_plan_queue(plan, ELASTIC_WARN, -1)->action.text, ELASTIC_TEXT_SIZE,
             "no sign of %s for %d s: %s not called hvd_init; %s given up in %d s "
             "(--elastic-timeout)",
             names, elastic_seconds(waited_ms), count == 1 ? "it has" : "they have",
             count == 1 ? "it is" : "they are",
             elastic_seconds(plan->options.timeout_ms - waited_ms + 999));
}
