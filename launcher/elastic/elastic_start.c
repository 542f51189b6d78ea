/* SPDX-License-Identifier: Apache-2.0 */
/* Where new workers of an elastic job are started, and the order of ranks. A removed worker that
 * has not ended yet keeps its slot, since it may hold an accelerator. */
#include "launcher/base/xalloc.h"
#include "launcher/elastic/elastic_plan_impl.h"

#include <stdlib.h>

/* Numbers that the rendezvous accepts; a host that comes and goes each second takes hours for so
 * many. */
enum { ELASTIC_WORKERS_MAX = 1 << 20 };

/* ---- the order of ranks ---- */

/* `first`: of the workers of the same host, the one that has been in worlds for the longest
 * time. */
struct ranked_worker {
    const struct plan_worker *first, *worker;
};

/* Workers lie in one array, in order of age. */
static int compare_seniority(const struct plan_worker *left, const struct plan_worker *right)
{
    if (left->since != right->since)
        return left->since < right->since ? -1 : 1;
    return (left > right) - (left < right);
}

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked_worker *left = a, *right = b;
    int hosts = compare_seniority(left->first, right->first);
    return hosts ? hosts : compare_seniority(left->worker, right->worker);
}

int *elastic_plan_order(const struct elastic_plan *plan, plan_worker_fn *wanted, int *count)
{
    const struct plan_worker **first = xcalloc((size_t)plan->hosts.count + 1, sizeof *first);
    size_t room = (size_t)(plan->worker_count - plan->first_living) + 1;
    struct ranked_worker *ranked = xcalloc(room, sizeof *ranked);
    int n = 0;
    for (int i = plan->first_living; i < plan->worker_count; i++) {
        const struct plan_worker *at = &plan->workers[i];
        if (at->state != PLAN_ALIVE || (wanted && !wanted(at)))
            continue;
        if (!first[at->host] || compare_seniority(at, first[at->host]) < 0)
            first[at->host] = at;
        ranked[n++].worker = at;
    }
    for (int i = 0; i < n; i++)
        ranked[i].first = first[ranked[i].worker->host];
    qsort(ranked, (size_t)n, sizeof *ranked, compare_ranked);
    int *order = xcalloc((size_t)n + 1, sizeof *order);
    for (int i = 0; i < n; i++)
        order[i] = (int)(ranked[i].worker - plan->workers);
    free(ranked);
    free(first);
    *count = n;
    return order;
}

/* ---- new workers ---- */

/* Slots of each host that no process has, by index of the host. */
static int *elastic_free_slots(const struct elastic_plan *plan)
{
    int *slots = xcalloc((size_t)plan->hosts.count + 1, sizeof *slots);
    for (int i = 0; i < plan->hosts.count; i++)
        slots[i] = elastic_host_capacity(plan->hosts.hosts[i]);
    for (int i = plan->first_living; i < plan->worker_count; i++)
        if (plan->workers[i].state <= PLAN_REMOVED)
            slots[plan->workers[i].host]--;
    return slots;
}

static void elastic_plan_add_worker(struct elastic_plan *plan, int host)
{
    if (plan->worker_count == plan->worker_capacity) {
        plan->worker_capacity = plan->worker_capacity ? 2 * plan->worker_capacity : 16;
        plan->workers =
            xreallocarray(plan->workers, (size_t)plan->worker_capacity, sizeof *plan->workers);
    }
    plan->workers[plan->worker_count++] =
        (struct plan_worker){ .host = host,
                              .since = PLAN_NO_WORLD,
                              .stop_ms = ELASTIC_NEVER,
                              .late = plan->epoch < 0 && plan->failed >= 0 };
}

/* Fills the free slots of a host. Returns the number of workers that may still be started. */
static int elastic_plan_fill_host(struct elastic_plan *plan, int host, int slots, int wanted)
{
    int count = slots < wanted ? slots : wanted, first = plan->worker_count;
    if (count <= 0)
        return wanted;
    for (int i = 0; i < count; i++)
        elastic_plan_add_worker(plan, host);
    struct elastic_action *start = &elastic_plan_queue(plan, ELASTIC_START, first)->action;
    start->count = count;
    start->host = &plan->hosts.hosts[host]->found;
    return wanted - count;
}

/* Hosts that have workers come first, in order of rank. */
static void elastic_plan_fill(struct elastic_plan *plan, int wanted)
{
    int *slots = elastic_free_slots(plan), count;
    int *order = elastic_plan_order(plan, NULL, &count);
    for (int i = 0; i < count && wanted > 0; i++) {
        int host = plan->workers[order[i]].host;
        wanted = elastic_plan_fill_host(plan, host, slots[host], wanted);
        slots[host] = 0;
    }
    for (int host = 0; host < plan->hosts.count && wanted > 0; host++)
        wanted = elastic_plan_fill_host(plan, host, slots[host], wanted);
    free(order);
    free(slots);
}

/* ---- their places ---- */

/* The place of each worker in `order`, which has the workers of a host in a row. */
static struct rank_info *elastic_places(const struct elastic_plan *plan, const int *order,
                                        int count)
{
    struct rank_info *places = xcalloc((size_t)count + 1, sizeof *places);
    int *across = xcalloc((size_t)count + 1, sizeof *across); /* hosts with this local rank */
    for (int first = 0, last; first < count; first = last) {
        int host = plan->workers[order[first]].host;
        for (last = first; last < count && plan->workers[order[last]].host == host;)
            last++;
        for (int i = first; i < last; i++)
            places[i] = (struct rank_info){ .rank = i,
                                            .size = count,
                                            .local_rank = i - first,
                                            .local_size = last - first,
                                            .cross_rank = across[i - first]++ };
    }
    for (int i = 0; i < count; i++)
        places[i].cross_size = across[places[i].local_rank];
    free(across);
    return places;
}

/* Gives each START that was queued from `first_action` on the places of its workers. */
static void elastic_plan_place(struct elastic_plan *plan, int first_action, int first_worker)
{
    int count;
    int *order = elastic_plan_order(plan, NULL, &count);
    struct rank_info *places = elastic_places(plan, order, count);
    int *index = xcalloc((size_t)(plan->worker_count - first_worker) + 1, sizeof *index);
    for (int i = 0; i < count; i++)
        if (order[i] >= first_worker)
            index[order[i] - first_worker] = i;
    for (int i = first_action; i < plan->queue_count; i++) {
        struct plan_action *start = &plan->queue[i];
        start->places = xcalloc((size_t)start->action.count, sizeof *start->places);
        for (int j = 0; j < start->action.count; j++) {
            int worker = start->action.worker + j;
            start->places[j] = places[index[worker - first_worker]];
            plan->workers[worker].placed = true;
            plan->workers[worker].rank = start->places[j].rank;
            plan->workers[worker].size = start->places[j].size;
        }
    }
    free(index);
    free(places);
    free(order);
}

void elastic_plan_start(struct elastic_plan *plan, uint64_t now_ms)
{
    struct plan_count alive = elastic_plan_count(plan);
    int wanted = plan->options.max - alive.members - alive.fresh;
    int left = ELASTIC_WORKERS_MAX - plan->worker_count;
    int first_action = plan->queue_count, first_worker = plan->worker_count;
    elastic_plan_fill(plan, wanted < left ? wanted : left);
    if (plan->worker_count == first_worker)
        return;
    for (int i = first_worker; i < plan->worker_count; i++) {
        plan->workers[i].started_ms = now_ms;
        plan->workers[i].warn_ms = now_ms + plan->options.warning_ms;
    }
    plan->starts_again = false;
    elastic_plan_place(plan, first_action, first_worker);
}
