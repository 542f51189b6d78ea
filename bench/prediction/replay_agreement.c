/* SPDX-License-Identifier: Apache-2.0 */
/* Reports up and decisions down the tree, as lib/engine/set.c sends them; see replay.h. */
#include "bench/prediction/replay_impl.h"

#include "bench/prediction/counted_reduce.h"
#include "lib/base/frame.h"

#include <stdlib.h>
#include <string.h>

static struct message *message_create(const struct wire_writer *body)
{
    struct message *message = replay_alloc(sizeof *message + body->length);
    message->length = body->length;
    memcpy(message->bytes, body->data, body->length);
    return message;
}

static double send_message(struct replay_rank *from, int to, enum replay_frame_kind kind,
                           struct message *message)
{
    struct replay_frame *frame = replay_alloc(sizeof *frame);
    frame->from = from;
    frame->to = &from->replay->ranks[to];
    frame->kind = kind;
    frame->message = message;
    frame->packet.nbytes = message->length + FRAME_HEADER_SIZE + FRAME_SUM_SIZE;
    message->references++;
    return replay_send(frame);
}

static void message_release(struct message *message)
{
    if (--message->references == 0)
        free(message);
}

/* ---- decisions ---- */

static void take_batch(struct replay_rank *rank, const struct decision *decision)
{
    size_t count = 0;
    for (int i = 0; i < decision->count; i++)
        count += shape_count(&decision->tensors[i].description.shape);
    if (rank->number == 0) {
        struct replay_step *step = &rank->replay->step;
        step->operations++;
        step->fused_tensors += decision->count > 1 ? decision->count : 0;
        step->used |= 1u << decision->choice.algorithm;
    }
    if (rank->replay->dry)
        replay_tensors_done(rank, decision->count);
    else
        replay_queue(rank, decision->choice, count, decision->count);
}

/* Returns the work of combining what came with the messages. */
static double apply(struct replay_rank *rank, const struct message *message)
{
    struct decision decision;
    struct err err;
    int rc;
    replay_must(negotiation_apply(rank->negotiation, message->bytes, message->length, &err), &err);
    while ((rc = negotiation_next(rank->negotiation, &decision, &err)) > 0) {
        if (decision.kind == DECISION_BATCH) {
            take_batch(rank, &decision);
        } else if (decision.kind == DECISION_DONE) {
            rank->replay->step.inline_tensors += rank->number == 0;
            replay_tensors_done(rank, 1);
        } else {
            replay_must(HVD_ERR_PROTOCOL, &(struct err){ .text = "a decision that is none" });
        }
    }
    replay_must(rc, &err);
    return rank->replay->cluster.speed.reduce * (double)counted_reduce_take();
}

/* Passes a decision on to the ranks below, and applies it. */
static double pass_down(struct replay_rank *rank, struct message *message)
{
    double ns = 0;
    message->references++;
    for (int i = 0; i < rank->tree.nchildren; i++)
        ns += send_message(rank, rank->tree.children[i], REPLAY_DECISION, message);
    ns += apply(rank, message);
    message_release(message);
    return ns;
}

static double decide(struct replay_rank *root)
{
    struct wire_writer body = { 0 };
    int under_way = root->queued + (int)(root->window.end - root->window.first);
    bool data = under_way < RUNS_AHEAD && negotiation_has_data(root->negotiation);
    double ns = -1;
    if (negotiation_has_decision(root->negotiation) &&
        negotiation_decide(root->negotiation, data, &body))
        ns = pass_down(root, message_create(&body));
    wire_writer_fini(&body);
    return ns;
}

/* ---- reports ---- */

static double report(struct replay_rank *rank)
{
    double ns = 0;
    if (!negotiation_has_report(rank->negotiation))
        return -1;
    struct wire_writer body = { 0 };
    while (negotiation_report(rank->negotiation, &body)) {
        ns += send_message(rank, rank->tree.parent, REPLAY_REPORT, message_create(&body));
        body.length = 0;
    }
    wire_writer_fini(&body);
    return ns;
}

static double receive_message(struct replay_rank *rank, struct replay_frame *frame)
{
    struct replay *replay = rank->replay;
    const struct link_speed *link = cluster_link(&replay->cluster, frame->from->host, rank->host);
    double ns = link->per_call + link->per_byte * (double)frame->packet.nbytes;
    struct err err;
    if (frame->kind == REPLAY_DECISION) {
        ns += pass_down(rank, frame->message);
    } else {
        replay_must(negotiation_receive(rank->negotiation, frame->from->child_index,
                                        frame->message->bytes, frame->message->length,
                                        replay->queue.now_ns, &err),
                    &err);
        ns += replay->cluster.speed.reduce * (double)counted_reduce_take();
    }
    message_release(frame->message);
    free(frame);
    return ns;
}

double replay_agree(struct replay_rank *rank)
{
    struct replay_frame *frame = frame_list_take(&rank->agreement);
    if (frame)
        return receive_message(rank, frame);
    return rank->tree.parent < 0 ? decide(rank) : report(rank);
}
