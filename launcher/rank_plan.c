/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank runs where:
 *   count how many ranks each host gets, then number them, then count the hosts per local_rank.
 * Fails when there are fewer slots than ranks asked for. */
#include "launcher/rank_plan.h"

#include "launcher/bad_input.h"
#include "launcher/text_buffer.h"
#include "launcher/xalloc.h"

#include <stdlib.h>
#include <string.h>

void rank_plan_fini(struct rank_plan *plan)
{
    free(plan->ranks);
    free(plan->hosts);
    *plan = (struct rank_plan){ 0 };
}

/* "(a:2, b:2, ...)": enough of the list to recognise it. */
static void list_hosts(struct text_buffer *text, const struct host_list *hosts)
{
    enum { LISTED = 4 };
    struct shown name;
    for (int i = 0; i < hosts->count && i < LISTED; i++)
        text_buffer_printf(text, "%s%s:%d", i ? ", " : "",
                           show_token(&name, hosts->hosts[i].name, strlen(hosts->hosts[i].name)),
                           hosts->hosts[i].slots);
    text_buffer_put_string(text, hosts->count > LISTED ? ", ..." : "");
}

static int too_few_slots(const struct host_list *hosts, int np, struct err *err)
{
    struct text_buffer text = { 0 };
    list_hosts(&text, hosts);
    char *list = text_buffer_take(&text);
    int slots = host_list_slots(hosts);
    int rc = bad_input(err, "-np", "%d ranks asked for, but %d slot%s on %d host%s (%s)", np, slots,
                       slots == 1 ? "" : "s", hosts->count, hosts->count == 1 ? "" : "s", list);
    free(list);
    return rc;
}

/* Fills the hosts in order until `np` ranks are placed. */
static void fill_hosts(struct rank_plan *plan, const struct host_list *hosts, int np)
{
    plan->hosts = xcalloc((size_t)hosts->count, sizeof *plan->hosts);
    plan->homogeneous = true;
    for (int i = 0; plan->size < np; i++) {
        int left = np - plan->size, slots = hosts->hosts[i].slots;
        struct rank_host *host = &plan->hosts[plan->host_count++];
        host->host = &hosts->hosts[i];
        host->first_rank = plan->size;
        host->local_size = slots < left ? slots : left;
        plan->size += host->local_size;
        if (host->local_size != plan->hosts[0].local_size)
            plan->homogeneous = false;
    }
}

/* Numbers the ranks of a host. `owners[l]` counts the hosts so far that have local rank l. */
static void number_ranks(struct rank_plan *plan, int host, int *owners)
{
    const struct rank_host *at = &plan->hosts[host];
    for (int local = 0; local < at->local_size; local++) {
        struct rank_slot *rank = &plan->ranks[at->first_rank + local];
        rank->host = host;
        rank->place = (struct place){
            .rank = at->first_rank + local,
            .size = plan->size,
            .local_rank = local,
            .local_size = at->local_size,
            .cross_rank = owners[local]++,
        };
    }
}

int rank_plan_make(struct rank_plan *plan, const struct host_list *hosts, int np, struct err *err)
{
    *plan = (struct rank_plan){ 0 };
    if (np < 1 || np > WORLD_SIZE_MAX)
        return bad_input(err, "-np", "out of range (1 to %d): '%d'", WORLD_SIZE_MAX, np);
    if (np > host_list_slots(hosts))
        return too_few_slots(hosts, np, err);
    fill_hosts(plan, hosts, np);
    plan->ranks = xcalloc((size_t)np, sizeof *plan->ranks);
    int *owners = xcalloc((size_t)np, sizeof *owners);
    for (int host = 0; host < plan->host_count; host++)
        number_ranks(plan, host, owners);
    for (int rank = 0; rank < np; rank++)
        plan->ranks[rank].place.cross_size = owners[plan->ranks[rank].place.local_rank];
    free(owners);
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
        const struct place *place = &plan->ranks[rank].place;
        text_buffer_printf(&table, "%5d  %-*s  %10d  %10d  %10d  %10d\n", place->rank, width,
                           plan->hosts[plan->ranks[rank].host].host->name, place->local_rank,
                           place->local_size, place->cross_rank, place->cross_size);
    }
    return text_buffer_take(&table);
}
