/* SPDX-License-Identifier: Apache-2.0 */
/* Batches become operations in the window, which all ranks number alike, and operations become
 * frames, as in lib/engine/batch.c and lib/engine/channel.c; see replay.h. */
#include "bench/prediction/replay_impl.h"

#include "bench/prediction/counted_reduce.h"
#include "lib/base/min.h"

#include <stdlib.h>

/* ---- batches ---- */

void replay_queue(struct replay_rank *rank, struct algorithm_choice choice, size_t count,
                  int tensors)
{
    struct replay_batch *batch = replay_alloc(sizeof *batch);
    batch->choice = choice;
    batch->count = count;
    batch->tensors = tensors;
    *rank->queue_end = batch;
    rank->queue_end = &batch->next;
    rank->queued++;
}

/* Fused tensors are copied into a buffer, and out of it. */
static double copy_ns(const struct replay_rank *rank, const struct replay_batch *batch)
{
    double nbytes = (double)(batch->count * sizeof(float));
    return batch->tensors > 1 ? rank->replay->cluster.speed.copy * nbytes : 0;
}

static struct operation_task describe(const struct replay_rank *rank,
                                      const struct replay_batch *batch)
{
    const struct replay *replay = rank->replay;
    return (struct operation_task){
        .kind = OPERATION_ALLREDUCE,
        .rank = rank->number,
        .size = replay->options.ranks,
        .dtype = HVD_FLOAT32,
        .op = HVD_AVERAGE,
        .input = replay->memory + OPERATION_STAGING,
        .output = replay->memory + OPERATION_STAGING,
        .count = batch->count,
        .algorithm = (int)batch->choice.algorithm,
        .piece = batch->choice.piece,
        .placing = replay->placing,
        .staging = replay->memory,
    };
}

static bool has_started(const struct replay_rank *rank, uint32_t number)
{
    return (int32_t)(number - rank->window.end) < 0;
}

/* Data of an operation that has been started come before all other data: they came first. */
static void release_held(struct replay_rank *rank)
{
    struct frame_list held = rank->held, started = { 0 };
    struct replay_frame *frame;
    rank->held = (struct frame_list){ 0 };
    while ((frame = frame_list_take(&held)))
        frame_list_add(has_started(rank, frame->number) ? &started : &rank->held, frame);
    if (!started.first)
        return;
    started.last->next = rank->data.first;
    rank->data.first = started.first;
    if (!rank->data.last)
        rank->data.last = started.last;
}

double replay_start_batch(struct replay_rank *rank)
{
    struct operation_window *window = &rank->window;
    struct replay_batch *batch = rank->queue;
    struct err err;
    if (!batch || window->end - window->first == WINDOW_SIZE)
        return -1;
    rank->queue = batch->next;
    if (!rank->queue)
        rank->queue_end = &rank->queue;
    rank->queued--;
    const struct operation_task task = describe(rank, batch);
    unsigned place = window->end % WINDOW_SIZE;
    struct replay_slot *slot = &rank->slots[place];
    if (!slot->peers)
        slot->peers = replay_alloc((size_t)task.size * sizeof *slot->peers);
    slot->batch = batch;
    slot->npeers = operation_peers(&task, slot->peers);
    slot->turn = 0;
    window->at[place] = operation_start(rank->replay->store, &task, &err);
    if (!window->at[place])
        replay_must(HVD_ERR_NOMEM, &err);
    window->end++;
    release_held(rank);
    return copy_ns(rank, batch);
}

void replay_finish_operations(struct replay_rank *rank)
{
    struct operation_window *window = &rank->window;
    for (uint32_t n = window->first; n != window->end; n++) {
        struct operation *operation = window->at[n % WINDOW_SIZE];
        struct replay_batch *batch = rank->slots[n % WINDOW_SIZE].batch;
        if (!operation || !operation->type->done(operation))
            continue;
        operation_fini(rank->replay->store, operation);
        window->at[n % WINDOW_SIZE] = NULL;
        rank->extra_ns += copy_ns(rank, batch);
        replay_tensors_done(rank, batch->tensors);
        free(batch);
    }
    while (window->first != window->end && !window->at[window->first % WINDOW_SIZE])
        window->first++;
}

/* ---- receiving ---- */

static double reduce_ns(const struct replay_rank *rank)
{
    return rank->replay->cluster.speed.reduce * (double)counted_reduce_take();
}

/* The rank has taken the data: a sender that had to wait may send more. */
static void give_room(const struct replay_rank *rank, struct replay_rank *from, size_t nbytes)
{
    uint32_t *in_flight = &from->in_flight[rank->number];
    bool waits = *in_flight >= rank->replay->cluster.speed.buffered;
    *in_flight -= (uint32_t)nbytes;
    if (waits)
        replay_rank_wake(from);
}

static void take_data(struct operation *operation, const struct replay_frame *frame)
{
    struct err err;
    for (size_t left = frame->nbytes, room; left > 0; left -= room) {
        operation->type->space(operation, frame->from->number, &room);
        room = size_min(room, left);
        if (room == 0)
            replay_must(HVD_ERR_PROTOCOL, &(struct err){ .text = "no space for data" });
        replay_must(operation->type->received(operation, frame->from->number, room, &err), &err);
    }
}

/* The next frame, and those behind it that the same system call would bring. */
double replay_receive_data(struct replay_rank *rank)
{
    struct replay_frame *frame;
    while ((frame = rank->data.first) && !has_started(rank, frame->number))
        frame_list_add(&rank->held, frame_list_take(&rank->data));
    if (!frame)
        return -1;
    struct replay_rank *from = frame->from;
    const struct link_speed *link = cluster_link(&rank->replay->cluster, from->host, rank->host);
    struct operation *operation = rank->window.at[frame->number % WINDOW_SIZE];
    uint32_t number = frame->number;
    size_t nbytes = 0;
    while (frame && frame->from == from && frame->number == number &&
           nbytes + frame->nbytes <= CHANNEL_FRAME_MAX) {
        frame_list_take(&rank->data);
        take_data(operation, frame);
        nbytes += frame->nbytes;
        free(frame);
        frame = rank->data.first;
    }
    double ns = link->per_call + link->per_byte * (double)nbytes + reduce_ns(rank);
    give_room(rank, from, nbytes);
    return ns;
}

/* ---- sending ---- */

static struct replay_frame *data_frame(struct replay_rank *from, int to, uint32_t number,
                                       size_t nbytes)
{
    struct replay_frame *frame = replay_alloc(sizeof *frame);
    frame->from = from;
    frame->to = &from->replay->ranks[to];
    frame->kind = REPLAY_DATA;
    frame->number = number;
    frame->nbytes = nbytes;
    frame->packet.nbytes = nbytes;
    return frame;
}

/* One frame, cut into segments. */
static double send_segments(struct replay_rank *rank, int peer, uint32_t number, size_t nbytes)
{
    const struct cluster *cluster = &rank->replay->cluster;
    const struct link_speed *link =
        cluster_link(cluster, rank->host, rank->replay->ranks[peer].host);
    double ns = link->per_call;
    rank->in_flight[peer] += (uint32_t)nbytes;
    for (size_t left = nbytes, part; left > 0; left -= part) {
        part = size_min(left, cluster->speed.segment);
        struct replay_frame *frame = data_frame(rank, peer, number, part);
        frame->packet.nbytes += left == nbytes ? CHANNEL_HEADER : 0;
        ns += replay_send(frame) - link->per_call;
    }
    return ns;
}

/* Sends a frame of an operation to the next peer for which there is something. */
static double send_frame(struct replay_rank *rank, uint32_t number)
{
    struct replay_slot *slot = &rank->slots[number % WINDOW_SIZE];
    struct operation *operation = rank->window.at[number % WINDOW_SIZE];
    size_t most = rank->replay->cluster.speed.buffered, nbytes;
    for (int i = 0; operation && i < slot->npeers; i++) {
        int at = (slot->turn + i) % slot->npeers, peer = slot->peers[at];
        if (rank->in_flight[peer] >= most)
            continue;
        operation->type->output(operation, peer, 0, &nbytes);
        if (nbytes == 0)
            continue;
        nbytes = size_min(nbytes, CHANNEL_FRAME_MAX);
        slot->turn = at + 1;
        operation->type->sent(operation, peer, nbytes);
        return send_segments(rank, peer, number, nbytes) + reduce_ns(rank);
    }
    return -1;
}

double replay_send_data(struct replay_rank *rank)
{
    double ns = -1;
    for (uint32_t n = rank->window.first; n != rank->window.end && ns < 0; n++)
        ns = send_frame(rank, n);
    return ns;
}
