/* SPDX-License-Identifier: Apache-2.0 */
/* Messages from node to node; see scale_net.h. */
#include "tests/simulator/scale_net.h"

#include "launcher/tree/host_tree.h"
#include "lib/base/frame.h"

#include <err.h>
#include <stdlib.h>

enum { TUNNEL_HEAD = FRAME_HEADER_SIZE + 4 }; /* around what is passed on: a frame, and a number */

struct scale_frame {
    scale_deliver_fn *deliver;
    void *context;
    struct scale_frame *next;
};

struct scale_message {
    struct packet packet;
    struct scale_net *net;
    int from, at, next, to;
    size_t nbytes;
    int nframes;
    struct scale_frame *frames, **end_of_frames;
    struct scale_message **open; /* in the net's table, until the message leaves */
};

static void *scale_net_alloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        errx(1, "out of memory for a network");
    return memory;
}

void scale_net_init(struct scale_net *net, int nhosts, int width, const struct cluster_speed *speed,
                    double message_ns, double frame_ns)
{
    *net = (struct scale_net){
        .nhosts = nhosts, .width = width, .message_ns = message_ns, .frame_ns = frame_ns
    };
    cluster_init(&net->cluster, &net->queue, nhosts + 1, speed);
    net->lost = scale_net_alloc((size_t)nhosts + 1, sizeof *net->lost);
    net->down = scale_net_alloc((size_t)nhosts + 1, sizeof *net->down);
    net->up = scale_net_alloc((size_t)nhosts + 1, sizeof *net->up);
}

void scale_net_fini(struct scale_net *net)
{
    cluster_fini(&net->cluster);
    event_queue_fini(&net->queue);
    free(net->lost);
    free(net->down);
    free(net->up);
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

/* What a node works for a message: it looks into the frames at both ends only. */
static double message_work(const struct scale_message *message, int node)
{
    bool at_end = node == message->from || node == message->to;
    return message->net->message_ns + (at_end ? message->nframes * message->net->frame_ns : 0);
}

static void message_end(struct scale_message *message, bool delivered)
{
    for (struct scale_frame *frame = message->frames, *next; frame; frame = next) {
        next = frame->next;
        if (delivered)
            frame->deliver(frame->context, message->to);
        free(frame);
    }
    free(message);
}

/* The node has handled the message: it was for it, or it is passed on. */
static void on_message_handled(void *arg)
{
    struct scale_message *message = arg;
    message->at = message->next;
    if (message->at != message->to) {
        message_hop(message);
        return;
    }
    message_end(message, true);
}

static void on_message_comes(void *arg)
{
    struct scale_message *message = arg;
    struct scale_net *net = message->net;
    if (net->lost[message->next] || net->lost[message->at]) {
        message_end(message, false);
        return;
    }
    double ns = message_work(message, message->next);
    event_queue_add(&net->queue, cluster_work(&net->cluster, message->next, ns), on_message_handled,
                    message);
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
    double ns = message_work(message, message->at);
    event_queue_add(&net->queue, cluster_work(&net->cluster, message->at, ns), on_message_leaves,
                    message);
}

/* The end of the turn in which the message was begun. */
static void on_message_turn(void *arg)
{
    struct scale_message *message = arg;
    if (*message->open == message)
        *message->open = NULL;
    message_hop(message);
}

/* The message from one node to the other in this turn. */
static struct scale_message *message_of_turn(struct scale_net *net, int from, int to)
{
    struct scale_message **open = from < to ? &net->down[to] : &net->up[from];
    if (*open && (*open)->from == from && (*open)->to == to)
        return *open;
    struct scale_message *message = scale_net_alloc(1, sizeof *message);
    *message = (struct scale_message){ .net = net, .from = from, .at = from, .to = to };
    message->end_of_frames = &message->frames;
    message->open = open;
    message->packet.deliver = on_message_comes;
    message->packet.arg = message;
    *open = message;
    event_queue_add(&net->queue, net->queue.now_ns, on_message_turn, message);
    return message;
}

void scale_net_send(struct scale_net *net, int from, int to, size_t nbytes,
                    scale_deliver_fn *deliver, void *context)
{
    if (net->lost[from])
        return;
    struct scale_message *message = message_of_turn(net, from, to);
    struct scale_frame *frame = scale_net_alloc(1, sizeof *frame);
    *frame = (struct scale_frame){ .deliver = deliver, .context = context };
    *message->end_of_frames = frame;
    message->end_of_frames = &frame->next;
    message->nbytes += nbytes;
    message->nframes++;
}

uint64_t scale_net_run(struct scale_net *net)
{
    while (event_queue_run_next(&net->queue))
        ;
    return net->queue.now_ns;
}
