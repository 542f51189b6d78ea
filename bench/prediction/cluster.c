/* SPDX-License-Identifier: Apache-2.0 */
/* Adapters and processors in virtual time; see cluster.h. */
#include "bench/prediction/cluster.h"

#include <err.h>
#include <stdlib.h>

static uint64_t *cluster_times(size_t count)
{
    uint64_t *times = calloc(count + 1, sizeof *times);
    if (!times)
        errx(1, "out of memory for %zu adapters or processors", count);
    return times;
}

void cluster_init(struct cluster *cluster, struct event_queue *queue, int nhosts,
                  const struct cluster_speed *speed)
{
    size_t hosts = (size_t)nhosts;
    *cluster = (struct cluster){ .queue = queue, .nhosts = nhosts, .speed = *speed };
    cluster->sends_until = cluster_times(hosts);
    cluster->receives_until = cluster_times(hosts);
    cluster->works_until = cluster_times(hosts * (size_t)speed->processors);
}

void cluster_fini(struct cluster *cluster)
{
    free(cluster->sends_until);
    free(cluster->receives_until);
    free(cluster->works_until);
}

const struct link_speed *cluster_link(const struct cluster *cluster, int from_host, int to_host)
{
    return from_host == to_host ? &cluster->speed.local : &cluster->speed.network;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t adapter_ns(const struct cluster *cluster, const struct packet *packet)
{
    return (uint64_t)((double)packet->nbytes / cluster->speed.adapter);
}

/* The packet has reached the receiving host. If its adapter was idle, the bytes came in while the
 * sender sent them. */
static void on_packet_reaches_host(void *arg)
{
    const struct packet *packet = arg;
    struct cluster *cluster = packet->cluster;
    uint64_t now = cluster->queue->now_ns, *until = &cluster->receives_until[packet->to_host];
    *until = later(now, *until + adapter_ns(cluster, packet));
    if (*until == now)
        packet->deliver(packet->arg);
    else
        event_queue_add(cluster->queue, *until, packet->deliver, packet->arg);
}

void cluster_send(struct cluster *cluster, struct packet *packet)
{
    uint64_t now = cluster->queue->now_ns;
    packet->cluster = cluster;
    if (packet->from_host == packet->to_host) {
        event_queue_add(cluster->queue, now + (uint64_t)cluster->speed.local.latency,
                        packet->deliver, packet->arg);
        return;
    }
    uint64_t *until = &cluster->sends_until[packet->from_host];
    *until = later(now, *until) + adapter_ns(cluster, packet);
    cluster->bytes_between_hosts += packet->nbytes;
    event_queue_add(cluster->queue, *until + (uint64_t)cluster->speed.network.latency,
                    on_packet_reaches_host, packet);
}

uint64_t cluster_work(struct cluster *cluster, int host, double ns)
{
    uint64_t now = cluster->queue->now_ns, duration = (uint64_t)ns;
    int count = cluster->speed.processors;
    if (count == 0)
        return now + duration;
    uint64_t *first = &cluster->works_until[(size_t)host * (size_t)count], *best = first;
    for (int i = 1; i < count; i++)
        if (first[i] < *best)
            best = &first[i];
    *best = later(now, *best) + duration;
    return *best;
}
