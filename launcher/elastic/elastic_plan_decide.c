/* SPDX-License-Identifier: Apache-2.0 */
/* What an elastic job does next, decided anew after every event from the state of its plan:
 *   give up workers that do not join or come, bring hosts back, remove workers without a slot or
 *   with a wrong place, see whether all is over, start workers, intend the next world, stop removed
 *   workers that stay, look at the time limits.
 * Fails as elastic_plan.h says. */
#include "launcher/base/xalloc.h"
#include "launcher/elastic/elastic_plan_impl.h"

#include <stdlib.h>
#include <string.h>

struct plan_count elastic_plan_count(const struct elastic_plan *plan)
{
    struct plan_count count = { 0 };
    for (int i = plan->first_living; i < plan->worker_count; i++) {
        const struct plan_worker *at = &plan->workers[i];
        if (at->state != PLAN_ALIVE)
            continue;
        if (at->member || plan->epoch < 0)
            count.members++;
        else
            count.fresh++, count.ready += at->waiting && !at->intended,
                count.coming += !at->waiting;
    }
    return count;
}

/* Workers that have finished count, because others cannot replace them. */
static bool elastic_is_enough(const struct elastic_plan *plan, int workers)
{
    return workers > 0 && workers + plan->finished >= plan->options.min;
}

static bool elastic_limit_reached(const struct elastic_plan *plan)
{
    return plan->options.reset_limit > 0 && plan->epoch >= plan->options.reset_limit;
}

/* ---- removal ---- */

/* Alive workers on a host beyond its slots, and how many of them are members. */
static int elastic_excess(const struct elastic_plan *plan, int host, int *members)
{
    int here = 0, capacity = elastic_host_capacity(plan->hosts.hosts[host]);
    *members = 0;
    for (int i = plan->first_living; i < plan->worker_count; i++) {
        const struct plan_worker *at = &plan->workers[i];
        if (at->state != PLAN_ALIVE || at->host != host)
            continue;
        if (++here > capacity)
            *members += at->member || plan->epoch < 0;
    }
    return here > capacity ? here - capacity : 0;
}

static void elastic_remove_youngest(struct elastic_plan *plan, int host, int count, bool members,
                                    uint64_t now_ms)
{
    for (int i = plan->worker_count - 1; i >= plan->first_living && count > 0; i--) {
        const struct plan_worker *at = &plan->workers[i];
        if (at->state != PLAN_ALIVE || at->host != host)
            continue;
        count--;
        if (members || !(at->member || plan->epoch < 0))
            elastic_plan_remove(plan, i, now_ms);
    }
}

/* Members stay on a host that is gone as long as the others are no world without them. */
static void elastic_remove_excess(struct elastic_plan *plan, uint64_t now_ms)
{
    bool *has_workers = xcalloc((size_t)plan->hosts.count + 1, sizeof *has_workers);
    for (int i = plan->first_living; i < plan->worker_count; i++)
        has_workers[plan->workers[i].host] |= plan->workers[i].state == PLAN_ALIVE;
    for (int host = 0; host < plan->hosts.count; host++) {
        int members, excess = has_workers[host] ? elastic_excess(plan, host, &members) : 0;
        if (excess > 0) {
            int others = elastic_plan_count(plan).members - members;
            elastic_remove_youngest(plan, host, excess, elastic_is_enough(plan, others), now_ms);
        }
    }
    free(has_workers);
}

/* Some workers have finished: those that were to join will not. */
static void elastic_remove_fresh(struct elastic_plan *plan, uint64_t now_ms)
{
    for (int i = plan->first_living; i < plan->worker_count; i++)
        if (plan->workers[i].state == PLAN_ALIVE && !plan->workers[i].member)
            elastic_plan_remove(plan, i, now_ms);
}

/* Removes Horovod's own workers that were started for a place which they cannot have any more. */
static void elastic_remove_misplaced(struct elastic_plan *plan, uint64_t now_ms)
{
    int count;
    int *order = elastic_plan_order(plan, NULL, &count);
    for (int rank = 0; rank < count; rank++) {
        struct plan_worker *at = &plan->workers[order[rank]];
        if (!at->placed || (at->rank == rank && at->size == count))
            continue;
        elastic_plan_remove(plan, order[rank], now_ms);
        at->misplaced = true;
        plan->starts_again = plan->epoch < 0;
        at->stop_ms = now_ms;
    }
    free(order);
}

/* Are misplaced workers still to end, before others are started in their slots? */
static bool elastic_plan_replaces(const struct elastic_plan *plan)
{
    for (int i = plan->first_living; i < plan->worker_count; i++)
        if (plan->workers[i].state == PLAN_REMOVED && plan->workers[i].misplaced)
            return true;
    return false;
}

/* ---- the end ---- */

/* True: FINISH or FAIL was queued. */
static bool elastic_plan_end(struct elastic_plan *plan)
{
    if (!plan->started || elastic_plan_count(plan).members > 0)
        return false;
    if (plan->starts_again)
        return false;
    if (plan->finished >= plan->options.min) {
        elastic_plan_queue(plan, ELASTIC_FINISH, -1);
        return true;
    }
    elastic_fail_over(plan);
    return true;
}

/* ---- the next world ---- */

static bool worker_is_member(const struct plan_worker *worker)
{
    return worker->member;
}

static bool worker_is_intended(const struct plan_worker *worker)
{
    return worker->member || (worker->waiting && worker->intended);
}

static bool worker_has_come(const struct plan_worker *worker)
{
    return worker->member || worker->waiting;
}

static bool worker_is_any(const struct plan_worker *worker)
{
    (void)worker;
    return true;
}

/* Of the first world: not one that replaces others and has not come. */
static bool worker_is_on_time(const struct plan_worker *worker)
{
    return !worker->late || worker->waiting;
}

/* Can the first world do without those that replace failed ones, and may never come? It is known
 * when the first worker has come, because that tells whether their places are fixed. */
static bool elastic_first_are_enough(const struct elastic_plan *plan)
{
    int first = 0;
    bool come = false;
    for (int i = plan->first_living; i < plan->worker_count; i++) {
        const struct plan_worker *at = &plan->workers[i];
        first += at->state == PLAN_ALIVE && worker_is_on_time(at);
        come |= at->state == PLAN_ALIVE && at->waiting;
    }
    return come && !plan->places_fixed && elastic_is_enough(plan, first);
}

/* New workers are taken together, but not for ever. */
static bool elastic_may_grow(struct elastic_plan *plan, const struct plan_count *alive,
                             uint64_t now_ms)
{
    if (alive->ready == 0 || alive->coming == 0 || elastic_limit_reached(plan)) {
        plan->gather_since = ELASTIC_NEVER;
        return alive->ready > 0 && !elastic_limit_reached(plan);
    }
    if (plan->places_fixed) /* they have places among all of them */
        return false;
    if (plan->gather_since == ELASTIC_NEVER)
        plan->gather_since = now_ms;
    return now_ms - plan->gather_since >= ELASTIC_GATHER_MS;
}

/* Some members of the world are not to be in the next one, though it runs. */
static bool elastic_world_shrinks(const struct elastic_plan *plan)
{
    for (int i = 0; i < plan->world_size; i++) {
        enum plan_worker_state state = plan->workers[plan->world[i]].state;
        if (state == PLAN_REMOVED || state == PLAN_ENDED)
            return true;
    }
    return false;
}

/* Members leave their world when another has failed. They may be heard first. */
static bool elastic_members_have_left(const struct elastic_plan *plan, uint64_t now_ms)
{
    return plan->left_since != ELASTIC_NEVER && now_ms - plan->left_since >= ELASTIC_HEAR_MS;
}

/* Who is in the next world while this one runs; NULL: it stays as it is. */
static plan_worker_fn *elastic_choose_running(struct elastic_plan *plan,
                                              const struct plan_count *alive, uint64_t now_ms)
{
    bool grows = elastic_may_grow(plan, alive, now_ms);
    bool left = elastic_members_have_left(plan, now_ms);
    if (plan->finished > 0)
        return plan->open || left ? worker_is_member : NULL;
    if (!grows && !plan->open && !left && !elastic_world_shrinks(plan))
        return NULL;
    return grows ? worker_has_come : worker_is_intended;
}

/* Who is in the next world when there is none; NULL: too few. */
static plan_worker_fn *elastic_choose_broken(const struct elastic_plan *plan,
                                             const struct plan_count *alive)
{
    if (plan->epoch >= 0 && elastic_is_enough(plan, alive->members))
        return plan->places_fixed && alive->coming > 0 ? worker_is_member : worker_has_come;
    if (plan->epoch < 0 && elastic_first_are_enough(plan))
        return worker_is_on_time;
    return elastic_is_enough(plan, alive->members + alive->fresh) ? worker_is_any : NULL;
}

static void elastic_plan_intend(struct elastic_plan *plan, int *order, int count)
{
    struct plan_action *action = elastic_plan_queue(plan, ELASTIC_INTEND, -1);
    action->members = xcalloc((size_t)count, sizeof *action->members);
    action->action.count = count;
    for (int i = plan->first_living; i < plan->worker_count; i++)
        plan->workers[i].intended = false;
    for (int i = 0; i < count; i++) {
        plan->workers[order[i]].intended = true;
        action->members[i] =
            (struct elastic_member){ order[i], elastic_plan_host(plan, order[i])->found.name };
    }
    free(plan->intended);
    plan->intended = order;
    plan->intended_count = count;
    plan->open = true;
    plan->gather_since = ELASTIC_NEVER;
}

static bool elastic_plan_same_intention(const struct elastic_plan *plan, const int *order,
                                        int count)
{
    return plan->open && count == plan->intended_count &&
           memcmp(order, plan->intended, (size_t)count * sizeof *order) == 0;
}

static void elastic_plan_choose(struct elastic_plan *plan, uint64_t now_ms)
{
    struct plan_count alive = elastic_plan_count(plan);
    if (!plan->whole)
        plan->gather_since = ELASTIC_NEVER;
    plan_worker_fn *chosen = plan->whole ? elastic_choose_running(plan, &alive, now_ms)
                                         : elastic_choose_broken(plan, &alive);
    if (!chosen)
        return;
    int count;
    int *order = elastic_plan_order(plan, chosen, &count);
    bool nothing_new =
        !elastic_is_enough(plan, count) || elastic_plan_same_intention(plan, order, count);
    if (nothing_new || elastic_limit_reached(plan)) {
        free(order);
        if (!nothing_new)
            elastic_fail_resets(plan);
        return;
    }
    elastic_plan_intend(plan, order, count);
}

/* ---- times ---- */

static void elastic_stop_removed(struct elastic_plan *plan, uint64_t now_ms)
{
    for (int i = plan->first_living; i < plan->worker_count; i++) {
        struct plan_worker *at = &plan->workers[i];
        if (at->state != PLAN_REMOVED || at->stopped || now_ms < at->stop_ms)
            continue;
        at->stopped = true;
        elastic_plan_queue(plan, ELASTIC_STOP, i);
    }
}

/* Nothing runs, and too few workers live or can be started. */
static bool elastic_is_short(const struct elastic_plan *plan)
{
    struct plan_count alive = elastic_plan_count(plan);
    if (!plan->started)
        return true;
    return !plan->whole && !elastic_is_enough(plan, alive.members + alive.fresh);
}

/* No slot can come any more. */
static bool elastic_is_hopeless(const struct elastic_plan *plan)
{
    if (plan->finished > 0)
        return true;
    return plan->options.hosts_are_fixed && plan->hosts.count > 0 &&
           plan->cool_ms == ELASTIC_NEVER &&
           elastic_hosts_capacity(&plan->hosts) < elastic_needed(plan);
}

static void elastic_check_slots(struct elastic_plan *plan, uint64_t now_ms)
{
    if (!elastic_is_short(plan)) {
        plan->short_since = ELASTIC_NEVER;
        return;
    }
    if (plan->short_since == ELASTIC_NEVER)
        plan->short_since = now_ms;
    bool hopeless = elastic_is_hopeless(plan);
    if (hopeless || now_ms - plan->short_since >= plan->options.timeout_ms)
        elastic_fail_short(plan, hopeless);
}

/* Members of a running world may take their time; members that wait may not wait for ever, whoever
 * else is started meanwhile. */
static void elastic_check_forming(struct elastic_plan *plan, uint64_t now_ms)
{
    if (!plan->open || (plan->whole && plan->left_since == ELASTIC_NEVER)) {
        plan->forming_since = ELASTIC_NEVER;
        return;
    }
    if (plan->forming_since == ELASTIC_NEVER)
        plan->forming_since = now_ms;
    if (now_ms - plan->forming_since >= plan->options.timeout_ms)
        elastic_fail_forming(plan);
}

/* ---- all of it ---- */

/* Whether the workers have fixed places is known when the first has come: until the first world is
 * made, no others join those that it is started with. */
static bool elastic_may_start(const struct elastic_plan *plan)
{
    struct plan_count alive = elastic_plan_count(plan);
    bool first_world = plan->epoch < 0 && plan->failed < 0 && alive.members > 0;
    bool wait = plan->places_fixed && (alive.fresh > 0 || elastic_plan_replaces(plan));
    return plan->started && plan->finished == 0 && !first_world && !wait &&
           !(plan->whole && elastic_limit_reached(plan));
}

void elastic_plan_decide(struct elastic_plan *plan, uint64_t now_ms)
{
    if (plan->over)
        return;
    elastic_give_up_late(plan, now_ms);
    elastic_give_up_absent(plan, now_ms);
    plan->cool_ms = elastic_hosts_cool(&plan->hosts, now_ms);
    elastic_remove_excess(plan, now_ms);
    if (plan->finished > 0 && plan->epoch >= 0)
        elastic_remove_fresh(plan, now_ms);
    if (plan->places_fixed)
        elastic_remove_misplaced(plan, now_ms);
    if (elastic_plan_end(plan))
        return;
    if (elastic_hosts_capacity(&plan->hosts) >= plan->options.np)
        plan->started = true;
    if (elastic_may_start(plan))
        elastic_plan_start(plan, now_ms);
    elastic_plan_choose(plan, now_ms);
    if (plan->over)
        return;
    elastic_stop_removed(plan, now_ms);
    elastic_check_slots(plan, now_ms);
    if (!plan->over)
        elastic_check_forming(plan, now_ms);
    if (plan->over)
        return;
    elastic_check_missing(plan, now_ms);
    elastic_warn_late(plan, now_ms);
}

static uint64_t elastic_deadline(uint64_t since_ms, uint64_t limit_ms)
{
    return since_ms == ELASTIC_NEVER ? ELASTIC_NEVER : since_ms + limit_ms;
}

static uint64_t elastic_earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t elastic_plan_next_ms(const struct elastic_plan *plan)
{
    uint64_t next = plan->cool_ms;
    if (plan->over)
        return ELASTIC_NEVER;
    next = elastic_earlier(next, elastic_deadline(plan->short_since, plan->options.timeout_ms));
    next = elastic_earlier(next, elastic_deadline(plan->forming_since, plan->options.timeout_ms));
    next = elastic_earlier(next, plan->warn_ms);
    next = elastic_earlier(next, elastic_late_next_ms(plan));
    next = elastic_earlier(next, elastic_absent_next_ms(plan));
    next = elastic_earlier(next, elastic_deadline(plan->gather_since, ELASTIC_GATHER_MS));
    if (plan->whole && !plan->open)
        next = elastic_earlier(next, elastic_deadline(plan->left_since, ELASTIC_HEAR_MS));
    for (int i = plan->first_living; i < plan->worker_count; i++) {
        const struct plan_worker *at = &plan->workers[i];
        if (at->state == PLAN_REMOVED && !at->stopped)
            next = elastic_earlier(next, at->stop_ms);
    }
    return next;
}
