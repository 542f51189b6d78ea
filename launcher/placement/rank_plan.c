/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank runs where:
 *   deal the ranks out to the hosts, gather those of each host, count the hosts per local_rank.
 * Fails when there are fewer slots than requested ranks, naming the slots that would do, and when
 * there are more slots than a job may have ranks and no number of ranks was given. */
#include "launcher/placement/rank_plan.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"

#include <stdlib.h>
#include <string.h>

void rank_plan_fini(struct rank_plan *plan)
{
    free(plan->ranks);
    free(plan->by_host);
    free(plan->hosts);
    *plan = (struct rank_plan){ 0 };
}

enum { HOSTS_LISTED = 4 }; /* enough of a list to recognise it */

/* "user@a:2" or "[::1]:2", in the form of -H and a hostfile. */
static void rank_plan_put_host(struct text_buffer *text, const struct host_slots *host, int slots)
{
    struct shown user, name;
    bool brackets = strchr(host->name, ':');
    if (host->user)
        text_buffer_printf(text, "%s@", show_token(&user, host->user, strlen(host->user)));
    show_token(&name, host->name, strlen(host->name));
    text_buffer_printf(text, brackets ? "[%s]:%d" : "%s:%d", name.text, slots);
}

/* "a:2, b:2, ...", each with `least` slots if it has fewer. */
static void list_hosts(struct text_buffer *text, const struct host_list *hosts, int least,
                       const char *comma)
{
    for (int i = 0; i < hosts->count && i < HOSTS_LISTED; i++) {
        int slots = hosts->hosts[i].slots;
        text_buffer_put_string(text, i ? comma : "");
        rank_plan_put_host(text, &hosts->hosts[i], slots > least ? slots : least);
    }
    if (hosts->count > HOSTS_LISTED)
        text_buffer_printf(text, "%s...", comma);
}

/* The slots that each host needs at least, so that all hosts together have `np`. */
static int least_slots(const struct host_list *hosts, int np)
{
    for (int least = 1;; least++) {
        int missing = np;
        for (int i = 0; i < hosts->count && missing > 0; i++) {
            int slots = hosts->hosts[i].slots;
            missing -= slots > least ? slots : least;
        }
        if (missing <= 0)
            return least;
    }
}

int rank_plan_too_few_slots(const struct host_list *hosts, const char *option, int np,
                            struct err *err)
{
    struct text_buffer text = { 0 };
    struct shown source;
    int slots = host_list_slots(hosts);
    text_buffer_printf(&text, "%d ranks asked for, but ", np);
    if (hosts->source)
        text_buffer_printf(&text, "%s has ", show_source(&source, hosts->source));
    text_buffer_printf(&text, "%d slot%s on %d host%s (", slots, slots == 1 ? "" : "s",
                       hosts->count, hosts->count == 1 ? "" : "s");
    list_hosts(&text, hosts, 1, ", ");
    text_buffer_printf(&text, "); write %s", hosts->is_allocation ? "-H " : "");
    list_hosts(&text, hosts, least_slots(hosts, np), ",");
    char *problem = text_buffer_take(&text);
    int rc = bad_input(err, option, "%s", problem);
    free(problem);
    return rc;
}

/* Without -np every slot gets a rank, so the slots alone may be too many. */
static int too_many_slots(const struct host_list *hosts, struct err *err)
{
    return bad_input(
        err, hosts->source, "%d slots on %d host%s, and a job has at most %d ranks (-np)",
        host_list_slots(hosts), hosts->count, hosts->count == 1 ? "" : "s", WORLD_SIZE_MAX);
}

static void deal_rank(struct rank_plan *plan, int host)
{
    plan->ranks[plan->size++].host = host;
    plan->hosts[host].local_size++;
}

static void deal_by_slot(struct rank_plan *plan, int np)
{
    for (int host = 0; plan->size < np; host++)
        while (plan->size < np && plan->hosts[host].local_size < plan->hosts[host].host->slots)
            deal_rank(plan, host);
}

/* Goes round the hosts that still have a slot. */
static void deal_by_node(struct rank_plan *plan, int np, int nhosts)
{
    int *open = xcalloc((size_t)nhosts, sizeof *open);
    for (int host = 0; host < nhosts; host++)
        open[host] = host;
    for (int nopen = nhosts; plan->size < np;) {
        int kept = 0;
        for (int i = 0; i < nopen && plan->size < np; i++) {
            int host = open[i];
            deal_rank(plan, host);
            if (plan->hosts[host].local_size < plan->hosts[host].host->slots)
                open[kept++] = host;
        }
        nopen = kept;
    }
    free(open);
}

/* The hosts that get a rank are the first ones. */
static void deal_ranks(struct rank_plan *plan, const struct host_list *hosts, int np,
                       enum rank_order order)
{
    plan->ranks = xcalloc((size_t)np, sizeof *plan->ranks);
    plan->hosts = xcalloc((size_t)hosts->count, sizeof *plan->hosts);
    for (int i = 0; i < hosts->count; i++)
        plan->hosts[i].host = &hosts->hosts[i];
    if (order == RANKS_BY_NODE)
        deal_by_node(plan, np, hosts->count);
    else
        deal_by_slot(plan, np);
    while (plan->host_count < hosts->count && plan->hosts[plan->host_count].local_size > 0)
        plan->host_count++;
}

/* Fills `by_host`, and sets the part of each host. */
static void gather_ranks(struct rank_plan *plan)
{
    plan->by_host = xcalloc((size_t)plan->size, sizeof *plan->by_host);
    int *next = xcalloc((size_t)plan->host_count, sizeof *next), at = 0;
    plan->homogeneous = true;
    for (int host = 0; host < plan->host_count; host++) {
        next[host] = at;
        plan->hosts[host].ranks = plan->by_host + at;
        at += plan->hosts[host].local_size;
        if (plan->hosts[host].local_size != plan->hosts[0].local_size)
            plan->homogeneous = false;
    }
    for (int rank = 0; rank < plan->size; rank++)
        plan->by_host[next[plan->ranks[rank].host]++] = rank;
    free(next);
}

/* Numbers the ranks of a host. `owners[l]` counts the hosts so far that have local rank l. */
static void number_ranks(struct rank_plan *plan, int host, int *owners)
{
    const struct rank_host *at = &plan->hosts[host];
    for (int local = 0; local < at->local_size; local++)
        plan->ranks[at->ranks[local]].rank_info = (struct rank_info){
            .rank = at->ranks[local],
            .size = plan->size,
            .local_rank = local,
            .local_size = at->local_size,
            .cross_rank = owners[local]++,
        };
}

static void place_ranks(struct rank_plan *plan)
{
    int *owners = xcalloc((size_t)plan->size, sizeof *owners);
    for (int host = 0; host < plan->host_count; host++)
        number_ranks(plan, host, owners);
    for (int rank = 0; rank < plan->size; rank++)
        plan->ranks[rank].rank_info.cross_size = owners[plan->ranks[rank].rank_info.local_rank];
    free(owners);
}

int rank_plan_make(struct rank_plan *plan, const struct host_list *hosts, int np,
                   enum rank_order order, struct err *err)
{
    *plan = (struct rank_plan){ 0 };
    if (np == 0)
        np = host_list_slots(hosts);
    else if (np < 1 || np > WORLD_SIZE_MAX)
        return bad_input(err, "-np", "out of range (1 to %d): '%d'", WORLD_SIZE_MAX, np);
    if (np > WORLD_SIZE_MAX)
        return too_many_slots(hosts, err);
    if (np > host_list_slots(hosts))
        return rank_plan_too_few_slots(hosts, "-np", np, err);
    deal_ranks(plan, hosts, np, order);
    gather_ranks(plan);
    place_ranks(plan);
    return HVD_OK;
}

static int longest_name(const struct rank_plan *plan)
{
    size_t longest = strlen("host");
    for (int i = 0; i < plan->host_count; i++) {
        size_t length = strlen(plan->hosts[i].host->name);
        longest = length > longest ? length : longest;
    }
    return (int)longest;
}

char *rank_plan_table(const struct rank_plan *plan)
{
    struct text_buffer table = { 0 };
    int width = longest_name(plan);
    text_buffer_printf(&table, "%5s  %-*s  %10s  %10s  %10s  %10s\n", "rank", width, "host",
                       "local_rank", "local_size", "cross_rank", "cross_size");
    for (int rank = 0; rank < plan->size; rank++) {
        const struct rank_info *rank_info = &plan->ranks[rank].rank_info;
        text_buffer_printf(&table, "%5d  %-*s  %10d  %10d  %10d  %10d\n", rank_info->rank, width,
                           plan->hosts[plan->ranks[rank].host].host->name, rank_info->local_rank,
                           rank_info->local_size, rank_info->cross_rank, rank_info->cross_size);
    }
    return text_buffer_take(&table);
}
