/* SPDX-License-Identifier: Apache-2.0 */
/* Which worker has which rank, once all have come; see pending_workers.h.
 *
 *   hosts      sorted by name and arrival, each host is known by the first worker that came from it
 *   ranks      those that were asked for; then the free ones, to the others, by host and arrival
 *   local      counted on each host in order of rank, which makes a chain of the host's ranks
 *   cross      the chains are walked in order of their first rank: each link is the next of those
 *              with its local rank */
#include "rendezvous/world/pending_workers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct arrival {
    const char *name; /* of the host */
    int host;         /* its first worker */
    int worker;
};

/* All have an element for each pending worker, host (by its first worker), rank or local rank. */
struct plan {
    int size;
    struct arrival *arrivals;
    int *host_of;   /* of a worker */
    int *worker_at; /* a rank; -1: free */
    int *next;      /* rank of the same host, after a rank; -1: none */
    int *last;      /* rank so far, of a host */
    int *on_host;   /* ranks so far, of a host */
    int *on_others; /* hosts so far, with a local rank */
};

static int pending_workers_assign_by_name(const void *a, const void *b)
{
    const struct arrival *one = a, *other = b;
    int order = strcmp(one->name, other->name);
    return order ? order : one->worker - other->worker;
}

static int by_host(const void *a, const void *b)
{
    const struct arrival *one = a, *other = b;
    return one->host != other->host ? one->host - other->host : one->worker - other->worker;
}

static bool plan_init(struct plan *plan, int size)
{
    size_t count = (size_t)size;
    int *numbers = calloc(6 * count, sizeof *numbers);
    *plan = (struct plan){ .size = size, .host_of = numbers };
    plan->arrivals = calloc(count, sizeof *plan->arrivals);
    if (!numbers || !plan->arrivals)
        return false;
    plan->worker_at = numbers + count;
    plan->next = numbers + 2 * count;
    plan->last = numbers + 3 * count;
    plan->on_host = numbers + 4 * count;
    plan->on_others = numbers + 5 * count;
    return true;
}

static void plan_fini(struct plan *plan)
{
    free(plan->arrivals);
    free(plan->host_of);
}

/* Leaves the arrivals in order of host and, on each, of arrival. */
static void find_hosts(struct plan *plan, const struct pending_workers *pending)
{
    struct arrival *at = plan->arrivals;
    for (int i = 0; i < plan->size; i++)
        at[i] = (struct arrival){ .name = pending->workers[i].host, .worker = i };
    qsort(at, (size_t)plan->size, sizeof *at, pending_workers_assign_by_name);
    for (int i = 0; i < plan->size; i++) {
        bool first = i == 0 || strcmp(at[i - 1].name, at[i].name) != 0;
        at[i].host = first ? at[i].worker : at[i - 1].host;
        plan->host_of[at[i].worker] = at[i].host;
    }
    qsort(at, (size_t)plan->size, sizeof *at, by_host);
}

static void choose_ranks(struct plan *plan, const struct pending_workers *pending)
{
    int free_rank = 0;
    for (int rank = 0; rank < plan->size; rank++)
        plan->worker_at[rank] = pending_workers_find(pending, rank);
    for (int i = 0; i < plan->size; i++) {
        int worker = plan->arrivals[i].worker;
        if (pending->workers[worker].wanted >= 0)
            continue;
        while (plan->worker_at[free_rank] >= 0)
            free_rank++;
        plan->worker_at[free_rank] = worker;
    }
}

static void count_local(struct plan *plan, struct rendezvous_slot *slots)
{
    for (int rank = 0; rank < plan->size; rank++) {
        int host = plan->host_of[plan->worker_at[rank]];
        slots[rank].rank_info.local_rank = plan->on_host[host]++;
        if (slots[rank].rank_info.local_rank > 0)
            plan->next[plan->last[host]] = rank;
        plan->next[rank] = -1;
        plan->last[host] = rank;
    }
}

static void count_cross(struct plan *plan, struct rendezvous_slot *slots)
{
    for (int first = 0; first < plan->size; first++)
        for (int rank = slots[first].rank_info.local_rank == 0 ? first : -1; rank >= 0;
             rank = plan->next[rank])
            slots[rank].rank_info.cross_rank = plan->on_others[slots[rank].rank_info.local_rank]++;
}

static void write_down(const struct plan *plan, struct pending_workers *pending,
                       struct rendezvous_slot *slots)
{
    for (int rank = 0; rank < plan->size; rank++) {
        int worker = plan->worker_at[rank], host = plan->host_of[worker];
        struct rank_info *rank_info = &slots[rank].rank_info;
        rank_info->rank = rank;
        rank_info->size = plan->size;
        rank_info->local_size = plan->on_host[host];
        rank_info->cross_size = plan->on_others[rank_info->local_rank];
        slots[rank].host = pending->workers[host].host;
        pending->workers[worker].rank = rank;
    }
}

int pending_workers_assign(struct pending_workers *pending, struct rendezvous_slot *slots,
                           struct err *err)
{
    struct plan plan;
    assert(pending->state == PENDING_WORKERS_FULL);
    int rc = HVD_ERR_NOMEM;
    if (plan_init(&plan, pending->size)) {
        find_hosts(&plan, pending);
        choose_ranks(&plan, pending);
        count_local(&plan, slots);
        count_cross(&plan, slots);
        write_down(&plan, pending, slots);
        rc = HVD_OK;
    }
    plan_fini(&plan);
    return rc < 0 ? fail(err, rc, "out of memory for the places of job %s", pending->job) : rc;
}
