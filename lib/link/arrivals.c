/* SPDX-License-Identifier: Apache-2.0 */
/* Links that have arrived; see arrivals.h. */
#include "lib/link/arrivals.h"

#include "lib/base/env_names.h"
#include "lib/base/log.h"

#include <stdio.h>
#include <stdlib.h>

void arrivals_fini(struct arrivals *arrivals)
{
    while (arrivals->count > 0)
        link_close(arrivals->at[--arrivals->count].link);
    free(arrivals->at);
    arrivals->at = NULL;
    arrivals->capacity = 0;
}

struct arrival *arrivals_find(const struct arrivals *arrivals, int rank, uint32_t channel)
{
    for (int i = 0; i < arrivals->count; i++)
        if (arrivals->at[i].rank == rank && arrivals->at[i].channel == channel)
            return &arrivals->at[i];
    return NULL;
}

static struct arrival *arrivals_add(struct arrivals *arrivals)
{
    if (arrivals->count == arrivals->capacity) {
        int capacity = arrivals->capacity ? 2 * arrivals->capacity : 8;
        struct arrival *at = realloc(arrivals->at, (size_t)capacity * sizeof *at);
        if (!at)
            return NULL;
        arrivals->at = at;
        arrivals->capacity = capacity;
    }
    return &arrivals->at[arrivals->count++];
}

static void remove_arrival(struct arrivals *arrivals, struct arrival *arrival)
{
    *arrival = arrivals->at[--arrivals->count];
}

const struct arrival *arrivals_keep(struct arrivals *arrivals, int rank, uint32_t channel,
                                    struct link *link, const char *why, struct err *err)
{
    struct arrival *arrival = arrivals_find(arrivals, rank, channel);
    if (arrival)
        link_close(arrival->link);
    else
        arrival = arrivals_add(arrivals);
    if (!arrival) {
        link_close(link);
        fail(err, HVD_ERR_NOMEM, "out of memory");
        return NULL;
    }
    *arrival = (struct arrival){ .rank = rank, .channel = channel, .link = link };
    snprintf(arrival->why, sizeof arrival->why, "%s", why);
    return arrival;
}

static void complain(struct arrivals *arrivals, const struct arrival *arrival)
{
    const struct network *network = arrivals->network;
    const char *missed = network->transport == TRANSPORT_UNIX ? "unix socket" : "shared memory";
    if (!arrivals->has_complained)
        log_line(LOG_INFO, arrivals->rank, "rank %d on %s: no %s with rank %d: %s; using %s",
                 arrivals->rank, network->host, missed, arrival->rank, arrival->why,
                 transport_name(arrival->link->type->transport));
    arrivals->has_complained = true;
}

int arrivals_judge(struct arrivals *arrivals, const struct join_peer *peer,
                   const struct arrival *arrival, struct err *err)
{
    const struct network *network = arrivals->network;
    if (!network || !network_is_same_host(network, peer))
        return HVD_OK;
    enum transport_verdict verdict =
        transport_judge(network->transport, arrival->link->type->transport);
    if (verdict == TRANSPORT_REFUSED)
        return fail(err, HVD_ERR_ENVIRONMENT, "%s is shm: no shared memory with rank %d on %s: %s",
                    ENV_TRANSPORT, peer->rank, peer->host, arrival->why);
    if (verdict == TRANSPORT_LESSER)
        complain(arrivals, arrival);
    return HVD_OK;
}

struct link *arrivals_take(struct arrivals *arrivals, int rank, uint32_t channel)
{
    struct arrival *arrival = arrivals_find(arrivals, rank, channel);
    if (!arrival)
        return NULL;
    struct link *link = arrival->link;
    remove_arrival(arrivals, arrival);
    return link;
}

void arrivals_forget(struct arrivals *arrivals, uint32_t channel)
{
    for (int i = arrivals->count - 1; i >= 0; i--) {
        if (arrivals->at[i].channel != channel)
            continue;
        link_close(arrivals->at[i].link);
        remove_arrival(arrivals, &arrivals->at[i]);
    }
}
