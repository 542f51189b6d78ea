/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of an elastic job: what happens to hosts and workers is noted here, and
 * elastic_plan_decide.c makes actions from it; see elastic_plan.h. An event about a worker that the
 * plan has not started, or that has ended already, changes nothing. Neither does the end of a
 * worker after the last action. */
#include "launcher/elastic/elastic_plan.h"

#include "launcher/base/xalloc.h"
#include "launcher/elastic/elastic_plan_impl.h"

#include <stdlib.h>
#include <string.h>

struct elastic_plan *elastic_plan_create(const struct elastic_options *options, uint64_t now_ms)
{
    struct elastic_plan *plan = xcalloc(1, sizeof *plan);
    plan->options = *options;
    plan->hosts.cooldown_low_ms = options->cooldown_low_ms;
    plan->hosts.cooldown_high_ms = options->cooldown_high_ms;
    plan->epoch = plan->failed = -1;
    plan->short_since = now_ms;
    plan->left_since = plan->forming_since = ELASTIC_NEVER;
    plan->gather_since = plan->cool_ms = ELASTIC_NEVER;
    plan->warned_ms = plan->warn_ms = ELASTIC_NEVER;
    return plan;
}

static void plan_action_fini(struct plan_action *action)
{
    free(action->places);
    free(action->members);
}

void elastic_plan_destroy(struct elastic_plan *plan)
{
    if (!plan)
        return;
    for (int i = 0; i < plan->queue_count; i++)
        plan_action_fini(&plan->queue[i]);
    free(plan->queue);
    free(plan->world);
    free(plan->intended);
    free(plan->warned);
    free(plan->workers);
    elastic_hosts_fini(&plan->hosts);
    free(plan);
}

/* ---- the queue ---- */

struct plan_action *elastic_plan_queue(struct elastic_plan *plan, enum elastic_action_kind kind,
                                       int worker)
{
    if (plan->queue_count == plan->queue_capacity) {
        plan->queue_capacity = plan->queue_capacity ? 2 * plan->queue_capacity : 8;
        plan->queue = xreallocarray(plan->queue, (size_t)plan->queue_capacity, sizeof *plan->queue);
    }
    struct plan_action *action = &plan->queue[plan->queue_count++];
    *action = (struct plan_action){ .action = { .kind = kind, .worker = worker } };
    plan->over |= kind == ELASTIC_FINISH || kind == ELASTIC_FAIL;
    return action;
}

/* Actions that were taken are kept until the next event, because the caller reads them. */
static void elastic_plan_forget_taken(struct elastic_plan *plan)
{
    if (plan->queue_first < plan->queue_count)
        return;
    for (int i = 0; i < plan->queue_count; i++)
        plan_action_fini(&plan->queue[i]);
    plan->queue_first = plan->queue_count = 0;
}

bool elastic_plan_next(struct elastic_plan *plan, struct elastic_action *action)
{
    if (plan->queue_first == plan->queue_count) {
        elastic_plan_forget_taken(plan);
        return false;
    }
    const struct plan_action *next = &plan->queue[plan->queue_first++];
    *action = next->action;
    action->places = next->places;
    action->members = next->members;
    return true;
}

/* ---- workers ---- */

void elastic_plan_remove(struct elastic_plan *plan, int worker, uint64_t now_ms)
{
    struct plan_worker *at = &plan->workers[worker];
    at->state = PLAN_REMOVED;
    at->stop_ms = at->member && plan->whole ? ELASTIC_NEVER : now_ms + ELASTIC_LEAVE_MS;
    elastic_plan_queue(plan, ELASTIC_REMOVE, worker);
}

/* Removed workers that still had a world leave it now. */
static void elastic_plan_let_go(struct elastic_plan *plan, uint64_t now_ms)
{
    for (int i = plan->first_living; i < plan->worker_count; i++) {
        struct plan_worker *at = &plan->workers[i];
        if (at->state == PLAN_REMOVED && at->stop_ms == ELASTIC_NEVER)
            at->stop_ms = now_ms + ELASTIC_LEAVE_MS;
    }
}

void elastic_plan_break(struct elastic_plan *plan, uint64_t now_ms)
{
    plan->whole = false;
    elastic_plan_let_go(plan, now_ms);
}

static void elastic_plan_skip_ended(struct elastic_plan *plan)
{
    while (plan->first_living < plan->worker_count &&
           plan->workers[plan->first_living].state >= PLAN_FINISHED)
        plan->first_living++;
}

/* Counts what lives on `host`: all workers, and those elsewhere that can be a world without it. */
static void elastic_plan_look_around(const struct elastic_plan *plan, int host, int *here,
                                     int *elsewhere)
{
    *here = *elsewhere = 0;
    for (int i = plan->first_living; i < plan->worker_count; i++) {
        const struct plan_worker *at = &plan->workers[i];
        if (at->state != PLAN_ALIVE || (plan->epoch >= 0 && !at->member))
            continue;
        if (at->host == host)
            ++*here;
        else
            ++*elsewhere;
    }
}

/* A host is avoided if the job can do without it, and its other workers do not show that it works;
 * see elastic_plan.h. */
static void elastic_plan_blame_host(struct elastic_plan *plan, int worker, uint64_t now_ms)
{
    const struct plan_worker *failed = &plan->workers[worker];
    bool belongs = failed->member || plan->epoch < 0, given_up = failed->state == PLAN_REMOVED;
    int here, elsewhere, host = failed->host;
    elastic_plan_look_around(plan, host, &here, &elsewhere);
    bool spared = plan->finished == 0 && elsewhere > 0 && elsewhere >= plan->options.min;
    if (!spared || (here > 0 && (given_up || !belongs))) {
        elastic_host_give_up_slot(&plan->hosts, host, now_ms);
        return;
    }
    elastic_host_avoid(&plan->hosts, host, now_ms);
    for (int i = plan->first_living; i < plan->worker_count; i++)
        if (plan->workers[i].state == PLAN_ALIVE && plan->workers[i].host == host)
            elastic_plan_remove(plan, i, now_ms);
}

void elastic_plan_give_up(struct elastic_plan *plan, int worker, uint64_t now_ms)
{
    elastic_plan_remove(plan, worker, now_ms);
    plan->workers[worker].stop_ms = now_ms;
    plan->failed = worker;
}

/* All of them have been taken out before, because this may remove others. */
void elastic_plan_blame_hosts(struct elastic_plan *plan, int first, uint64_t now_ms)
{
    for (int i = first, end = plan->queue_count; i < end; i++)
        if (plan->queue[i].action.kind == ELASTIC_GIVE_UP)
            elastic_plan_blame_host(plan, plan->queue[i].action.worker, now_ms);
}

/* A worker that was to join a running world has not finished anything when it exits before. */
static void elastic_plan_end_worker(struct elastic_plan *plan, int worker, bool finished,
                                    uint64_t now_ms)
{
    struct plan_worker *at = &plan->workers[worker];
    bool belongs = at->member || plan->epoch < 0;
    if (finished && belongs) {
        at->state = PLAN_FINISHED;
        plan->finished++;
        return;
    }
    at->state = PLAN_ENDED;
    plan->failed = worker;
    if (at->member)
        elastic_plan_break(plan, now_ms);
    elastic_plan_blame_host(plan, worker, now_ms);
}

/* ---- events ---- */

static bool elastic_plan_knows(const struct elastic_plan *plan, int worker)
{
    return worker >= 0 && worker < plan->worker_count;
}

void elastic_plan_on_hosts(struct elastic_plan *plan, const struct host_list *hosts,
                           uint64_t now_ms)
{
    elastic_hosts_update(&plan->hosts, hosts);
    elastic_plan_decide(plan, now_ms);
}

void elastic_plan_on_fixed_place(struct elastic_plan *plan, int worker)
{
    if (elastic_plan_knows(plan, worker))
        plan->places_fixed = true;
}

void elastic_plan_on_waiting(struct elastic_plan *plan, int worker, uint64_t now_ms)
{
    if (!elastic_plan_knows(plan, worker))
        return;
    struct plan_worker *at = &plan->workers[worker];
    at->waiting = true;
    at->waiting_ms = now_ms;
    if (at->member && at->state == PLAN_ALIVE && plan->left_since == ELASTIC_NEVER)
        plan->left_since = now_ms;
    elastic_plan_decide(plan, now_ms);
}

static bool elastic_plan_is_intended(const struct elastic_plan *plan, const int *workers, int size)
{
    return size == plan->intended_count &&
           memcmp(workers, plan->intended, (size_t)size * sizeof *workers) == 0;
}

/* A member may have failed before this news came. */
void elastic_plan_on_world(struct elastic_plan *plan, int epoch, const int *workers, int size,
                           uint64_t now_ms)
{
    for (int i = 0; i < plan->world_size; i++)
        plan->workers[plan->world[i]].member = false;
    plan->world = xreallocarray(plan->world, (size_t)size + 1, sizeof *plan->world);
    plan->world_size = 0;
    plan->whole = true;
    plan->left_since = ELASTIC_NEVER;
    plan->epoch = epoch;
    for (int i = 0; i < size; i++) {
        if (!elastic_plan_knows(plan, workers[i]))
            continue;
        struct plan_worker *at = &plan->workers[workers[i]];
        plan->world[plan->world_size++] = workers[i];
        at->member = true;
        at->waiting = at->placed = false;
        at->since = at->since == PLAN_NO_WORLD ? epoch : at->since;
        plan->whole = plan->whole && at->state != PLAN_ENDED;
    }
    if (elastic_plan_is_intended(plan, workers, size))
        plan->open = false;
    plan->forming_since = ELASTIC_NEVER;
    elastic_plan_let_go(plan, now_ms);
    elastic_plan_decide(plan, now_ms);
}

void elastic_plan_on_ended(struct elastic_plan *plan, int worker, bool finished, uint64_t now_ms)
{
    if (plan->over || !elastic_plan_knows(plan, worker))
        return;
    struct plan_worker *at = &plan->workers[worker];
    if (at->state == PLAN_ALIVE) {
        elastic_plan_end_worker(plan, worker, finished, now_ms);
    } else if (at->state == PLAN_REMOVED) {
        at->state = PLAN_ENDED;
        if (at->member && plan->whole && !finished)
            elastic_plan_break(plan, now_ms);
    }
    elastic_plan_skip_ended(plan);
    elastic_plan_decide(plan, now_ms);
}

void elastic_plan_on_late(struct elastic_plan *plan, const int *workers, int count, const char *why,
                          uint64_t now_ms)
{
    int first = plan->queue_count;
    if (plan->over || !plan->whole)
        return;
    for (int i = 0; i < count; i++) {
        if (!elastic_plan_knows(plan, workers[i]))
            continue;
        const struct plan_worker *at = &plan->workers[workers[i]];
        if (at->state != PLAN_ALIVE || !at->member || at->waiting)
            continue;
        elastic_say_too_late(plan, workers[i], why);
        elastic_plan_give_up(plan, workers[i], now_ms);
    }
    if (plan->queue_count == first)
        return;
    elastic_plan_break(plan, now_ms);
    elastic_plan_blame_hosts(plan, first, now_ms);
    elastic_plan_decide(plan, now_ms);
}

void elastic_plan_on_drained(struct elastic_plan *plan, int worker, uint64_t now_ms)
{
    if (plan->over || !elastic_plan_knows(plan, worker))
        return;
    elastic_host_avoid(&plan->hosts, plan->workers[worker].host, now_ms);
    elastic_plan_decide(plan, now_ms);
}

void elastic_plan_on_time(struct elastic_plan *plan, uint64_t now_ms)
{
    elastic_plan_decide(plan, now_ms);
}
