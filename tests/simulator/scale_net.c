/* SPDX-License-Identifier: Apache-2.0 */
/* Messages from node to node; see scale_net.h. */
#include "tests/simulator/scale_net.h"

#include "launcher/tree/host_tree.h"
#include "lib/base/frame.h"

#include <err.h>
#include <stdlib.h>

enum { TUNNEL_HEAD = FRAME_HEADER_SIZE + 4 }; /* around what is passed on: a frame, and a number */

struct scale_message {
    struct packet packet;
    struct scale_net *net;
    int at, next, to;
    size_t nbytes;
    scale_deliver_fn *deliver;
    void *context;
};

void scale_net_init(struct scale_net *net, int nhosts, int width, const struct cluster_speed *speed,
                    double message_ns)
{
    *net = (struct scale_net){ .nhosts = nhosts, .width = width, .message_ns = message_ns };
    cluster_init(&net->cluster, &net->queue, nhosts + 1, speed);
    net->lost = calloc((size_t)nhosts + 1, sizeof *net->lost);
    if (!net->lost)
        errx(1, "out of memory for %d hosts", nhosts);
}

void scale_net_fini(struct scale_net *net)
{
    cluster_fini(&net->cluster);
    event_queue_fini(&net->queue);
    free(net->lost);
}

int scale_net_parent(const struct scale_net *net, int node)
{
    return host_tree_parent_place(node - 1, net->width) + 1;
}

int scale_net_children(const struct scale_net *net, int node, int *first)
{
    int64_t begin = (int64_t)node * net->width + 1, left = net->nhosts + 1 - begin;
    *first = (int)begin;
    return left <= 0 ? 0 : left < net->width ? (int)left : net->width;
}

int scale_net_depth(const struct scale_net *net, int node)
{
    int depth = 0;
    for (; node > 0; node = scale_net_parent(net, node))
        depth++;
    return depth;
}

/* The neighbour of `from` on the way to `to`, which is above it or below it. */
static int neighbour_towards(const struct scale_net *net, int from, int to)
{
    if (to < from)
        return scale_net_parent(net, from);
    while (scale_net_parent(net, to) != from)
        to = scale_net_parent(net, to);
    return to;
}

static void message_hop(struct scale_message *message);

/* The node has handled the message: it was for it, or it is passed on. */
static void on_message_handled(void *arg)
{
    struct scale_message *message = arg;
    message->at = message->next;
    if (message->at != message->to) {
        message_hop(message);
        return;
    }
    message->deliver(message->context, message->at);
    free(message);
}

static void on_message_comes(void *arg)
{
    struct scale_message *message = arg;
    struct scale_net *net = message->net;
    if (net->lost[message->next] || net->lost[message->at]) {
        free(message);
        return;
    }
    event_queue_add(&net->queue, cluster_work(&net->cluster, message->next, net->message_ns),
                    on_message_handled, message);
}

static void on_message_leaves(void *arg)
{
    struct scale_message *message = arg;
    cluster_send(&message->net->cluster, &message->packet);
}

static void message_hop(struct scale_message *message)
{
    struct scale_net *net = message->net;
    message->next = neighbour_towards(net, message->at, message->to);
    int end = message->to > message->at ? message->to : message->at;
    int begin = message->to > message->at ? message->next : message->at;
    int above = scale_net_depth(net, end) - scale_net_depth(net, begin);
    message->packet.from_host = message->at;
    message->packet.to_host = message->next;
    message->packet.nbytes = message->nbytes + (size_t)above * TUNNEL_HEAD;
    net->messages++;
    net->root_messages += message->at == 0 || message->next == 0;
    event_queue_add(&net->queue, cluster_work(&net->cluster, message->at, net->message_ns),
                    on_message_leaves, message);
}

void scale_net_send(struct scale_net *net, int from, int to, size_t nbytes,
                    scale_deliver_fn *deliver, void *context)
{
    struct scale_message *message = calloc(1, sizeof *message);
    if (!message)
        errx(1, "out of memory for a message");
    if (net->lost[from]) {
        free(message);
        return;
    }
    *message = (struct scale_message){
        .net = net, .at = from, .to = to, .nbytes = nbytes, .deliver = deliver, .context = context
    };
    message->packet.deliver = on_message_comes;
    message->packet.arg = message;
    message_hop(message);
}

uint64_t scale_net_run(struct scale_net *net)
{
    while (event_queue_run_next(&net->queue))
        ;
    return net->queue.now_ns;
}
