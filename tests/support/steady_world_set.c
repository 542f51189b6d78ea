/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's part in the negotiation in virtual time, and what comes over its links; see
 * steady_world.h. What lib/engine/set.c and set_tree.c do is done here without data links. */
#include "tests/support/steady_world_impl.h"

#include <string.h>

/* ---- the set, as in set.c ---- */

/* Rank `who` has left: everything that is not decided fails. */
static void sim_end(struct sim_rank *rank, int who)
{
    if (rank->ended || rank->gone)
        return;
    sim_leave(rank);
    rank->steady.phase = STEADY_OFF;
    rank->ended = true;
    rank->who = who;
    for (int i = 0; i < WORLD_NAMES; i++)
        if (rank->tensors[i].in_flight)
            sim_finish_tensor(rank, &rank->tensors[i]);
    rank->join.in_flight = rank->wants_join = false;
    rank->is_done = true;
}

static void sim_rank_left(struct sim_rank *rank, int who)
{
    if (rank->steady.phase == STEADY_OFF)
        sim_end(rank, who);
    else if (!rank->has_end) {
        rank->has_end = true;
        rank->who = who;
    }
}

static void sim_steady_ended(struct sim_rank *rank)
{
    struct sim_tensor *own;
    negotiation_steady_ended(rank->negotiation,
                             steady_round_tensors(&rank->round, rank->steady.done));
    rank->steady.committed = rank->steady.done;
    while ((own = steady_round_take(&rank->round)))
        sim_submit(rank, own);
    if (rank->has_end)
        sim_end(rank, rank->who);
}

static void take_failure(struct sim_rank *rank, const struct decision *decision)
{
    struct sim_tensor *tensor = decision->tensors->owner;
    char quoted[20];
    snprintf(quoted, sizeof quoted, "'%s'", decision->tensors->name);
    SIM_CHECK(strstr(decision->text, quoted) && strstr(decision->text, "rank"), "%s",
              decision->text);
    sim_note(rank, 1u << 21 | (unsigned)tensor->name);
    sim_finish_tensor(rank, tensor);
}

static void take_batch(struct sim_rank *rank, const struct decision *decision)
{
    int names[WORLD_NAMES];
    for (int i = 0; i < decision->count; i++)
        names[i] = atoi(decision->tensors[i].name + 1);
    struct schedule_choice choice = { (int)decision->choice.algorithm, decision->choice.piece };
    sim_finish_batch(rank, choice, decision->count, names);
    for (int i = 0; i < decision->count; i++) {
        struct sim_tensor *tensor = decision->tensors[i].owner;
        if (!tensor)
            continue;
        sim_note(rank, (uint64_t)tensor->name << 8 | (uint64_t)tensor->instance);
        sim_finish_tensor(rank, tensor);
    }
}

static void take_decision(struct sim_rank *rank, const struct decision *decision)
{
    const struct agreed *agreed = decision->tensors;
    int64_t sum = 0;
    switch (decision->kind) {
    case DECISION_STEADY:
        sim_begin(rank, decision->schedule);
        return;
    case DECISION_FAILED:
        take_failure(rank, decision);
        return;
    case DECISION_BATCH:
        take_batch(rank, decision);
        return;
    case DECISION_DONE:
        break;
    }
    if (agreed->owner == &rank->join) {
        sim_finish_tensor(rank, &rank->join);
        return;
    }
    if (agreed->nbytes >= sizeof sum)
        memcpy(&sum, agreed->data, sizeof sum);
    sim_finish_done(rank, agreed->owner, sum);
}

static void sim_apply(struct sim_rank *rank, const struct wire_writer *body)
{
    struct err err;
    struct decision decision;
    int rc = negotiation_apply(rank->negotiation, body->data, body->length, &err);
    while (rc >= 0 && (rc = negotiation_next(rank->negotiation, &decision, &err)) > 0)
        take_decision(rank, &decision);
    SIM_CHECK(rc == HVD_OK, "rank %d: %s", rank->rank, err.text);
}

static bool sim_is_awaited(const struct sim_rank *rank)
{
    bool is_awaited = false;
    for (int i = 0; i < WORLD_NAMES; i++)
        is_awaited |= rank->tensors[i].in_flight && rank->tensors[i].awaited;
    return is_awaited;
}

static void sim_agree(struct sim_rank *rank)
{
    if (rank->rank != 0) {
        while (rank->steady.phase == STEADY_OFF && negotiation_has_report(rank->negotiation)) {
            struct sim_message *message = sim_send(rank->rank, 0, MESSAGE_REPORT);
            SIM_CHECK(negotiation_report(rank->negotiation, &message->body), "nothing is reported");
        }
        return;
    }
    struct wire_writer body = { 0 };
    negotiation_awaited(rank->negotiation, sim_is_awaited(rank));
    while (rank->steady.phase == STEADY_OFF && !rank->ended &&
           negotiation_decide(rank->negotiation, true, &body)) {
        for (int to = 1; to < sim.world->size; to++) {
            struct sim_message *message = sim_send(0, to, MESSAGE_DECISION);
            wire_put_bytes(&message->body, body.data, body.length);
        }
        sim_apply(rank, &body);
        body.length = 0;
    }
    wire_writer_fini(&body);
}

void sim_move(struct sim_rank *rank)
{
    struct err err;
    bool moved = !rank->gone;
    while (moved && !rank->ended) {
        moved = false;
        if (rank->wants_join && rank->steady.phase == STEADY_OFF) {
            struct offer offer = { .name = "join",
                                   .description = { .kind = COLLECTIVE_JOIN,
                                                    .prescale = 1,
                                                    .postscale = 1,
                                                    .nameless = true },
                                   .complete = true,
                                   .owner = &rank->join };
            rank->wants_join = false;
            sim.has_joined[rank->rank] = true;
            int rc = negotiation_submit(rank->negotiation, &offer, sim.now_us, &err);
            SIM_CHECK(rc == HVD_OK, "rank %d: %s", rank->rank, err.text);
        }
        sim_agree(rank);
        while (steady_next(&rank->steady)) {
            sim_complete(rank, rank->steady.done - 1);
            moved = true;
        }
        if (moved)
            sim_commit_complete(rank);
        if (steady_finish(&rank->steady)) {
            sim_steady_ended(rank);
            moved = true;
        }
    }
}

/* ---- what comes ---- */

static void on_commit(struct sim_rank *rank, int from, const struct sim_message *message)
{
    struct err err;
    int rc = steady_receive(&rank->steady, from, message->epoch, message->number, &err);
    SIM_CHECK(rc == HVD_OK, "rank %d from %d: %s", rank->rank, from, err.text);
    struct sim_kept *kept = &rank->kept[from][message->number % STEADY_KEPT];
    kept->digest = message->digest;
    memcpy(kept->data, message->data, sizeof kept->data);
}

static void on_leave(struct sim_rank *rank, int from, const struct sim_message *message)
{
    struct err err;
    int rc = steady_receive_leave(&rank->steady, from, message->epoch, message->number, &err);
    SIM_CHECK(rc >= 0, "rank %d from %d: %s", rank->rank, from, err.text);
    if (rc > 0)
        sim_leave(rank);
}

static void on_left(struct sim_rank *rank, int who)
{
    for (int to = 1; rank->rank == 0 && to < sim.world->size; to++)
        sim_send(0, to, MESSAGE_LEFT)->who = who;
    sim_rank_left(rank, who);
}

void sim_deliver(int from, int to)
{
    struct err err;
    struct sim_link *link = &sim.links[from][to];
    struct sim_message *message = &link->queue[link->first++ % QUEUE];
    struct sim_rank *rank = &sim.ranks[to];
    if (rank->gone || (rank->ended && message->kind != MESSAGE_LEFT))
        return;
    switch (message->kind) {
    case MESSAGE_REPORT: {
        int rc = negotiation_receive(rank->negotiation, from - 1, message->body.data,
                                     message->body.length, sim.now_us, &err);
        SIM_CHECK(rc == HVD_OK, "report of %d: %s", from, err.text);
        break;
    }
    case MESSAGE_DECISION:
        SIM_CHECK(rank->steady.phase != STEADY_ON, "a decision comes in a steady state");
        sim_apply(rank, &message->body);
        break;
    case MESSAGE_LEFT:
        on_left(rank, message->who);
        break;
    case MESSAGE_COMMIT:
        on_commit(rank, from, message);
        break;
    case MESSAGE_LEAVE:
        on_leave(rank, from, message);
        break;
    }
    sim_move(rank);
}
