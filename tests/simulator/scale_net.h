/* SPDX-License-Identifier: Apache-2.0 */
/* hvdrun, its agents and their links in virtual time: messages of known sizes, without bytes.
 *
 * Node 0 is hvdrun, on a machine of its own; node 1 + h is the agent of host h. Agents are a tree:
 * each has at most `width` agents below it, level by level, and hvdrun likewise. Flat is a width of
 * all hosts. Each node is one event loop, which works on one message at a time, and each host has
 * one adapter (bench/prediction/cluster.h). A message between nodes that have no link of their own
 * passes every node in between, and is a frame more there.
 *
 * Frames that a node sends to the same node at the same time are one message, as a frame_link
 * (launcher/protocol/frame_link.h) writes all frames of a turn at once. */
#ifndef TESTS_SIMULATOR_SCALE_NET_H
#define TESTS_SIMULATOR_SCALE_NET_H

#include "bench/prediction/cluster.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scale_message;

struct scale_net {
    struct event_queue queue;
    struct cluster cluster;
    int nhosts, width;
    double message_ns;      /* of a node, for each message that it sends or receives */
    double frame_ns;        /* of the first and the last node, for each frame in a message */
    bool *lost;             /* by node: it takes and gives nothing any more */
    uint64_t messages;      /* hops of all messages */
    uint64_t root_messages; /* those that hvdrun has sent or received */
    struct scale_message **down, **up; /* by the lower node: what is sent at this time */
};

/* `node` is the receiver. */
typedef void scale_deliver_fn(void *context, int node);

void scale_net_init(struct scale_net *net, int nhosts, int width, const struct cluster_speed *speed,
                    double message_ns, double frame_ns);
void scale_net_fini(struct scale_net *net);

/* The node above; its children are [first, first + count). Levels below hvdrun. */
int scale_net_parent(const struct scale_net *net, int node);
int scale_net_children(const struct scale_net *net, int node, int *first);
int scale_net_depth(const struct scale_net *net, int node);

/* Sends a frame of `nbytes` between hvdrun and an agent in either direction, or between neighbours.
 * When its message has been handled, calls `deliver`; never if it meets a node that is lost. */
void scale_net_send(struct scale_net *net, int from, int to, size_t nbytes,
                    scale_deliver_fn *deliver, void *context);

/* Runs until nothing happens any more; returns the time in nanoseconds. */
uint64_t scale_net_run(struct scale_net *net);

#endif
