/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts in virtual time: their processors, and the network between them.
 *
 * A packet between hosts waits for the sending host's network adapter, which all ranks of that host
 * share, takes nbytes / bandwidth there, then the latency, and waits for the receiving host's
 * adapter likewise, which it passes while it comes in. Packets pass an adapter in the order in
 * which they reach it, and both directions are independent. The switches in between are never full:
 * the network is non-blocking. A packet between ranks of one host takes the latency alone. What the
 * ranks' processors do for a packet is on top of that (replay.h).
 *
 * Without a limit each rank has a processor of its own. With fewer processors the ranks of a host
 * get one in the order in which they ask, for one piece of work at a time. */
#ifndef BENCH_PREDICTION_CLUSTER_H
#define BENCH_PREDICTION_CLUSTER_H

#include "bench/prediction/event_queue.h"

#include <stddef.h>
#include <stdint.h>

/* Times in nanoseconds. */
struct link_speed {
    double latency;  /* one way, besides the work of both processors */
    double per_call; /* of a processor, for each frame that it sends or receives */
    double per_byte; /* of a processor on each side */
};

struct cluster_speed {
    struct link_speed local, network;
    double adapter;  /* bytes per nanosecond, each way; all ranks of a host share it */
    double reduce;   /* nanoseconds for each byte that is combined */
    double copy;     /* nanoseconds for each byte that is packed or unpacked */
    int processors;  /* of a host, for its ranks; 0: one for each */
    size_t segment;  /* bytes that travel together; a frame is cut into these */
    size_t buffered; /* bytes between two ranks that were sent and have not been delivered */
};

/* `deliver` gets `arg` when the last byte has come. */
struct packet {
    struct cluster *cluster;
    int from_host, to_host;
    size_t nbytes;
    event_fn *deliver;
    void *arg;
};

struct cluster {
    struct event_queue *queue; /* borrowed */
    struct cluster_speed speed;
    int nhosts;
    uint64_t *sends_until, *receives_until; /* the adapter of each host */
    uint64_t *works_until;                  /* `processors` of each host */
    uint64_t bytes_between_hosts;           /* all that has been sent */
};

void cluster_init(struct cluster *cluster, struct event_queue *queue, int nhosts,
                  const struct cluster_speed *speed);
void cluster_fini(struct cluster *cluster);

const struct link_speed *cluster_link(const struct cluster *cluster, int from_host, int to_host);

/* `packet` is borrowed until it has been delivered. */
void cluster_send(struct cluster *cluster, struct packet *packet);

/* Gives a rank of `host` a processor for `ns`, now or as soon as one is free. Returns when the work
 * is done. */
uint64_t cluster_work(struct cluster *cluster, int host, double ns);

#endif
