/* SPDX-License-Identifier: Apache-2.0 */
/* A process set in virtual time; see steady_world.h. */
#include "tests/support/steady_world.h"

#include "lib/negotiation/negotiation.h"
#include "lib/negotiation/steady.h"
#include "lib/negotiation/steady_round.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUE = 512, KEPT_MAX = 16, BATCHES = 4000, LOG = 8000 };

#define PATIENCE_US 1000000u
#define POLLED_US 1000u
#define NEVER UINT64_MAX

/* As in lib/engine/tree_link.h. */
enum message_kind { MESSAGE_REPORT, MESSAGE_DECISION, MESSAGE_LEFT, MESSAGE_COMMIT, MESSAGE_LEAVE };

struct sim_message {
    enum message_kind kind;
    uint64_t at_us; /* arrival */
    uint32_t epoch, number, digest;
    int who;                /* LEFT */
    int64_t data[KEPT_MAX]; /* COMMIT: of the tensors of an operation */
    struct wire_writer body;
};

struct sim_link {
    struct sim_message queue[QUEUE];
    unsigned first, end;
};

struct sim_tensor {
    int name, instance;
    bool in_flight, awaited, odd;
    uint64_t since_us;
};

struct sim_kept {
    uint32_t digest;
    int64_t data[KEPT_MAX];
};

struct sim_rank {
    int rank;
    struct negotiation *negotiation;
    struct steady steady;
    struct steady_round round;
    uint32_t digests[SCHEDULE_MAX];
    struct sim_kept kept[WORLD_RANKS][STEADY_KEPT];
    struct sim_tensor tensors[WORLD_NAMES], join;
    int next; /* action */
    uint64_t wake_us;
    bool gone, ended, has_end, wants_join, is_done;
    int who; /* of the end */
    int batches;
    uint64_t log[LOG]; /* what was done, in order */
    int nlog;
};

/* What batch number n has. */
struct sim_batch {
    int algorithm, count;
    int names[WORLD_NAMES];
};

static struct sim {
    struct steady_world *world;
    struct sim_rank ranks[WORLD_RANKS];
    struct sim_link links[WORLD_RANKS][WORLD_RANKS];
    struct sim_batch batches[BATCHES];
    int nbatches;
    bool has_joined[WORLD_RANKS]; /* at any time */
    uint64_t random, now_us, seed;
} sim;

#define SIM_CHECK(condition, ...)                                                                  \
    do {                                                                                           \
        char text[700];                                                                            \
        if (condition)                                                                             \
            break;                                                                                 \
        snprintf(text, sizeof text, __VA_ARGS__);                                                  \
        ck_abort_msg("seed %llu, %llu us: %s", (unsigned long long)sim.seed,                       \
                     (unsigned long long)sim.now_us, text);                                        \
    } while (0)

uint32_t steady_world_random(uint64_t *state, uint32_t bound)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return bound ? (uint32_t)((*state * 0x2545f4914f6cdd1dull) >> 33) % bound : 0;
}

/* ---- tensors ---- */

static const char *name_of(int name)
{
    static const char names[WORLD_NAMES][4] = { "t0", "t1", "t2", "t3", "t4",  "t5",
                                                "t6", "t7", "t8", "t9", "t10", "bar" };
    return names[name];
}

static int64_t length_of(int name)
{
    return name >= WORLD_LARGE ? 20000 : name >= WORLD_MEDIUM ? 1000 : 1;
}

/* A byte for each rank: which instance it takes part with. */
static int64_t value_of(const struct sim_rank *rank, const struct sim_tensor *tensor)
{
    return (int64_t)tensor->instance << 8 * rank->rank;
}

static struct offer offer_of(struct sim_rank *rank, struct sim_tensor *tensor, int64_t *data)
{
    bool is_barrier = tensor->name == WORLD_BARRIER;
    struct offer offer = { .name = name_of(tensor->name),
                           .description = { .kind = is_barrier ? COLLECTIVE_BARRIER
                                                               : COLLECTIVE_ALLREDUCE,
                                            .dtype = HVD_INT64,
                                            .op = HVD_SUM,
                                            .prescale = 1,
                                            .postscale = 1 },
                           .complete = true,
                           .owner = tensor };
    if (is_barrier)
        return offer;
    offer.description.shape.ndims = 1;
    offer.description.shape.dims[0] = length_of(tensor->name) + tensor->odd;
    offer.complete = negotiation_is_inline(rank->negotiation, &offer.description);
    data[0] = data[1] = value_of(rank, tensor);
    if (offer.complete) {
        offer.data = data;
        offer.nbytes = description_bytes(&offer.description);
    }
    return offer;
}

static void note(struct sim_rank *rank, uint64_t what)
{
    SIM_CHECK(rank->nlog < LOG, "there is no room");
    rank->log[rank->nlog++] = what;
}

static void finish_tensor(struct sim_rank *rank, struct sim_tensor *tensor)
{
    SIM_CHECK(tensor->in_flight, "'%s' is done twice on rank %d", name_of(tensor->name),
              rank->rank);
    tensor->in_flight = false;
    if (rank->wake_us == NEVER)
        rank->wake_us = sim.now_us;
}

/* Each rank has taken part with the same instance, unless it has joined. */
static void check_sum(const struct sim_rank *rank, const struct sim_tensor *tensor, int64_t sum)
{
    for (int other = 0; other < sim.world->size; other++) {
        int instance = (int)(sum >> 8 * other & 0xff);
        bool is_absent = instance == 0 && sim.has_joined[other] && other != rank->rank;
        SIM_CHECK(instance == tensor->instance || is_absent,
                  "'%s': instance %d of rank %d meets %d of rank %d", name_of(tensor->name),
                  tensor->instance, rank->rank, instance, other);
    }
}

static void finish_done(struct sim_rank *rank, struct sim_tensor *tensor, int64_t sum)
{
    if (tensor->name != WORLD_BARRIER)
        check_sum(rank, tensor, sum);
    note(rank, (uint64_t)tensor->name << 8 | (uint64_t)tensor->instance);
    finish_tensor(rank, tensor);
}

/* Batch number `rank->batches` moves these tensors. */
static void finish_batch(struct sim_rank *rank, int algorithm, int count, const int *names)
{
    struct sim_batch batch = { .algorithm = algorithm, .count = count };
    memcpy(batch.names, names, (size_t)count * sizeof *names);
    int number = rank->batches++;
    SIM_CHECK(number < BATCHES, "there is no room");
    if (number == sim.nbatches)
        sim.batches[sim.nbatches++] = batch;
    SIM_CHECK(memcmp(&batch, &sim.batches[number], sizeof batch) == 0,
              "batch %d has other tensors on rank %d", number, rank->rank);
    note(rank, 1u << 20 | (unsigned)number);
}

/* ---- links ---- */

static struct sim_message *sim_send(int from, int to, enum message_kind kind)
{
    struct sim_link *link = &sim.links[from][to];
    struct sim_message *last = &link->queue[(link->end - 1) % QUEUE];
    uint64_t after_us = link->end != link->first ? last->at_us : 0;
    SIM_CHECK(link->end - link->first < QUEUE, "there is no room");
    struct sim_message *message = &link->queue[link->end++ % QUEUE];
    message->kind = kind;
    message->at_us = sim.now_us + 1 + steady_world_random(&sim.random, sim.world->delay_us);
    if (message->at_us < after_us)
        message->at_us = after_us;
    message->body.length = 0;
    return message;
}

/* ---- the steady state, as in set_steady.c ---- */

static void sim_send_leave(struct sim_rank *rank, uint32_t epoch, uint32_t number)
{
    for (int to = 0; to < sim.world->size; to++) {
        if (to == rank->rank)
            continue;
        struct sim_message *message = sim_send(rank->rank, to, MESSAGE_LEAVE);
        message->epoch = epoch;
        message->number = number;
    }
}

static void sim_leave(struct sim_rank *rank)
{
    if (rank->steady.phase != STEADY_ON)
        return;
    steady_leave(&rank->steady);
    sim_send_leave(rank, rank->steady.epoch, rank->steady.committed);
}

static void sim_commit(struct sim_rank *rank)
{
    uint32_t number = steady_commit(&rank->steady);
    const struct schedule_operation *operation = steady_round_operation(&rank->round, number);
    struct sim_kept *own = &rank->kept[rank->rank][number % STEADY_KEPT];
    own->digest = rank->digests[number % (uint32_t)rank->round.schedule.count];
    for (int i = 0; i < operation->count; i++)
        own->data[i] = value_of(rank, rank->round.owners[operation->first + i]);
    steady_round_commit(&rank->round, number);
    for (int to = 0; to < sim.world->size; to++) {
        if (to == rank->rank)
            continue;
        struct sim_message *message = sim_send(rank->rank, to, MESSAGE_COMMIT);
        message->epoch = rank->steady.epoch;
        message->number = number;
        message->digest = own->digest;
        memcpy(message->data, own->data, sizeof own->data);
    }
}

/* True if the program waits for a held tensor, or for `polled`. */
static bool sim_is_stuck(const struct sim_rank *rank, const struct sim_tensor *polled)
{
    const struct steady *steady = &rank->steady;
    const struct sim_tensor *own;
    struct steady_cursor cursor = { 0 };
    uint32_t number;
    if (steady->phase != STEADY_ON ||
        !steady_round_is_stuck(&rank->round, steady->committed, steady->done))
        return false;
    while ((own = steady_round_next(&rank->round, &cursor, steady->done, &number)))
        if (number >= steady->committed && (polled ? own == polled : own->awaited))
            return true;
    return false;
}

static void sim_commit_complete(struct sim_rank *rank)
{
    struct steady *steady = &rank->steady;
    while (steady_may_commit(steady) &&
           steady_round_is_complete(&rank->round, steady->committed, steady->done))
        sim_commit(rank);
    if (sim_is_stuck(rank, NULL))
        sim_leave(rank);
}

static void sim_submit(struct sim_rank *rank, struct sim_tensor *tensor)
{
    struct err err;
    int64_t data[2];
    struct offer offer = offer_of(rank, tensor, data);
    if (rank->steady.phase == STEADY_ON) {
        int slot = negotiation_slot(rank->negotiation, offer.name), place = -1;
        if (slot >= 0 &&
            negotiation_repeats(rank->negotiation, slot, offer.name, &offer.description))
            place = steady_round_find(&rank->round, slot, rank->steady.committed);
        if (place >= 0) {
            steady_round_put(&rank->round, place, tensor);
            sim_commit_complete(rank);
            return;
        }
        sim_leave(rank);
    }
    int rc = negotiation_submit(rank->negotiation, &offer, sim.now_us, &err);
    SIM_CHECK(rc == HVD_OK, "rank %d: %s", rank->rank, err.text);
}

static void sim_complete(struct sim_rank *rank, uint32_t number)
{
    const struct schedule_operation *operation = steady_round_operation(&rank->round, number);
    struct sim_tensor *owners[SCHEDULE_MAX];
    int names[WORLD_NAMES];
    for (int i = 0; i < operation->count; i++) {
        owners[i] = rank->round.owners[operation->first + i];
        SIM_CHECK(owners[i], "operation %u lacks a tensor", number);
        names[i] = owners[i]->name;
    }
    steady_round_done(&rank->round, number);
    if (operation->algorithm >= 0)
        finish_batch(rank, operation->algorithm, operation->count, names);
    for (int i = 0; i < operation->count; i++) {
        int64_t sum = 0;
        for (int from = 0; from < sim.world->size; from++) {
            const struct sim_kept *kept = &rank->kept[from][number % STEADY_KEPT];
            SIM_CHECK(kept->digest == rank->digests[number % (uint32_t)rank->round.schedule.count],
                      "rank %d takes operation %u for another one", from, number);
            sum += kept->data[i];
        }
        finish_done(rank, owners[i], sum);
    }
    if (rank->rank == 0) {
        sim.world->operations++;
        sim.world->fused += operation->count > 1;
    }
}

static bool has_undecided(const struct sim_rank *rank)
{
    bool has = rank->join.in_flight;
    for (int i = 0; i < WORLD_NAMES; i++)
        has |= rank->tensors[i].in_flight;
    return has;
}

static void sim_begin(struct sim_rank *rank, const struct schedule *schedule)
{
    SIM_CHECK(rank->steady.phase == STEADY_OFF, "a steady state begins in another");
    for (int i = 0; i < schedule->count; i++) {
        const struct schedule_operation *operation = &schedule->operations[i];
        uint32_t digest = 17 + (uint32_t)operation->algorithm;
        for (int k = 0; k < operation->count; k++) {
            struct remembered remembered =
                negotiation_remembered(rank->negotiation, schedule->slots[operation->first + k]);
            for (const char *at = remembered.name; *at; at++)
                digest = digest * 31 + (unsigned char)*at;
            digest = digest * 31 + (uint32_t)remembered.description->shape.dims[0];
        }
        rank->digests[i] = digest;
    }
    steady_round_begin(&rank->round, schedule);
    bool must_leave = steady_begin(&rank->steady);
    sim.world->steady_states += rank->rank == 0;
    if (must_leave || has_undecided(rank))
        sim_leave(rank);
}

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
            finish_tensor(rank, &rank->tensors[i]);
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
    note(rank, 1u << 21 | (unsigned)tensor->name);
    finish_tensor(rank, tensor);
}

static void take_batch(struct sim_rank *rank, const struct decision *decision)
{
    int names[WORLD_NAMES];
    for (int i = 0; i < decision->count; i++)
        names[i] = atoi(decision->tensors[i].name + 1);
    finish_batch(rank, (int)decision->algorithm, decision->count, names);
    for (int i = 0; i < decision->count; i++) {
        struct sim_tensor *tensor = decision->tensors[i].owner;
        if (!tensor)
            continue;
        note(rank, (uint64_t)tensor->name << 8 | (uint64_t)tensor->instance);
        finish_tensor(rank, tensor);
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
        finish_tensor(rank, &rank->join);
        return;
    }
    if (agreed->nbytes >= sizeof sum)
        memcpy(&sum, agreed->data, sizeof sum);
    finish_done(rank, agreed->owner, sum);
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

/* One pass, until nothing moves. */
static void sim_move(struct sim_rank *rank)
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

static void deliver(int from, int to)
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

/* ---- programs ---- */

static void program_leave(struct sim_rank *rank)
{
    if (rank->steady.phase == STEADY_OFF && !rank->ended)
        sim_send_leave(rank, steady_decline(&rank->steady), 0);
    sim_leave(rank);
    rank->gone = rank->is_done = true;
    for (int to = 0; to < sim.world->size; to++)
        if (to != rank->rank && (to == 0 || rank->rank == 0))
            sim_send(rank->rank, to, MESSAGE_LEFT)->who = rank->rank;
}

static void program_submit(struct sim_rank *rank, const struct action *action)
{
    struct sim_tensor *tensor = &rank->tensors[action->name];
    SIM_CHECK(!tensor->in_flight, "the program is wrong");
    *tensor = (struct sim_tensor){ .name = action->name,
                                   .instance = action->instance,
                                   .in_flight = true,
                                   .odd = action->odd,
                                   .since_us = sim.now_us };
    sim_submit(rank, tensor);
}

/* False if the program goes on with this action later. */
static bool program_wait(struct sim_rank *rank, struct sim_tensor *tensor)
{
    if (!tensor->in_flight)
        return true;
    tensor->awaited = true;
    rank->wake_us = NEVER;
    if (sim_is_stuck(rank, NULL))
        sim_leave(rank);
    return false;
}

static bool program_poll(struct sim_rank *rank, struct sim_tensor *tensor)
{
    if (!tensor->in_flight)
        return true;
    rank->wake_us = sim.now_us + 100;
    if (sim.now_us - tensor->since_us > POLLED_US && sim_is_stuck(rank, tensor))
        sim_leave(rank);
    return false;
}

static bool program_act(struct sim_rank *rank, const struct action *action)
{
    switch (action->kind) {
    case ACTION_SUBMIT:
        program_submit(rank, action);
        return true;
    case ACTION_WAIT:
        return program_wait(rank, &rank->tensors[action->name]);
    case ACTION_POLL:
        return program_poll(rank, &rank->tensors[action->name]);
    case ACTION_SLEEP:
        rank->wake_us += action->us;
        return true;
    case ACTION_JOIN:
        if (rank->join.instance == rank->next + 1)
            return program_wait(rank, &rank->join);
        rank->join = (struct sim_tensor){ .in_flight = true, .instance = rank->next + 1 };
        rank->wants_join = true;
        sim_leave(rank);
        rank->wake_us = NEVER;
        return false;
    case ACTION_LEAVE:
        program_leave(rank);
        return true;
    }
    return true;
}

static void program_step(struct sim_rank *rank)
{
    const struct steady_world_program *program = &sim.world->programs[rank->rank];
    if (rank->next == program->count) {
        rank->is_done = true;
        rank->wake_us = NEVER;
        return;
    }
    rank->wake_us = sim.now_us + steady_world_random(&sim.random, sim.world->pause_us);
    if (program_act(rank, &program->actions[rank->next]))
        rank->next++;
    sim_move(rank);
}

/* ---- time ---- */

/* As set_steady_deadline(). */
static uint64_t deadline_of(const struct sim_rank *rank)
{
    const struct steady *steady = &rank->steady;
    const struct sim_tensor *own;
    struct steady_cursor cursor = { 0 };
    uint64_t since_us = 0;
    uint32_t number;
    if (rank->gone || steady->phase != STEADY_ON ||
        (steady->committed == steady->done && rank->round.held == 0))
        return NEVER;
    while ((own = steady_round_next(&rank->round, &cursor, steady->done, &number)))
        if ((number == steady->done || steady->committed == steady->done) &&
            own->since_us > since_us)
            since_us = own->since_us;
    return since_us + PATIENCE_US;
}

/* The next thing that happens: a message, the step of a program, or the end of patience. False if
 * nothing does. */
static bool happen(void)
{
    uint64_t at_us = NEVER;
    int from = 0, to = -1;
    bool is_message = false;
    for (int a = 0; a < sim.world->size; a++) {
        const struct sim_rank *rank = &sim.ranks[a];
        uint64_t own_us = rank->is_done ? NEVER : rank->wake_us, late_us = deadline_of(rank);
        own_us = own_us < late_us ? own_us : late_us;
        if (own_us < at_us) {
            at_us = own_us;
            to = a;
            is_message = false;
        }
        for (int b = 0; b < sim.world->size; b++) {
            const struct sim_link *link = &sim.links[a][b];
            if (link->first == link->end || link->queue[link->first % QUEUE].at_us >= at_us)
                continue;
            at_us = link->queue[link->first % QUEUE].at_us;
            from = a;
            to = b;
            is_message = true;
        }
    }
    if (to < 0)
        return false;
    sim.now_us = at_us > sim.now_us ? at_us : sim.now_us;
    struct sim_rank *rank = &sim.ranks[to];
    if (is_message) {
        deliver(from, to);
    } else if (deadline_of(rank) <= sim.now_us) {
        SIM_CHECK(sim.world->may_be_late, "rank %d loses patience", rank->rank);
        sim_leave(rank);
        sim_move(rank);
    } else {
        program_step(rank);
    }
    return true;
}

/* ---- all of it ---- */

static void sim_set_up(struct steady_world *world, uint64_t seed)
{
    int numbers[WORLD_RANKS] = { 0, 1, 2, 3, 4 };
    struct err err;
    const struct negotiation_settings settings = { .fusion = { 64 << 20, 64 << 10 },
                                                   .inline_max = 4096,
                                                   .cache_capacity = world->cache_capacity,
                                                   .group_fusion = true };
    sim.world = world;
    sim.random = seed * 0x9e3779b97f4a7c15ull | 1;
    sim.now_us = 0;
    sim.seed = seed;
    sim.nbatches = 0;
    memset(sim.has_joined, 0, sizeof sim.has_joined);
    memset(sim.ranks, 0, sizeof sim.ranks);
    world->steady_states = world->operations = world->fused = 0;
    for (int i = 0; i < world->size; i++) {
        struct sim_rank *rank = &sim.ranks[i];
        rank->rank = i;
        rank->negotiation = negotiation_create(i, world->size, numbers, &settings, &err);
        ck_assert_ptr_nonnull(rank->negotiation);
        steady_init(&rank->steady, i, world->size);
        negotiation_learn(rank->negotiation, true);
    }
}

static void sim_tear_down(void)
{
    for (int from = 0; from < sim.world->size; from++) {
        negotiation_destroy(sim.ranks[from].negotiation);
        for (int to = 0; to < sim.world->size; to++)
            sim.links[from][to].first = sim.links[from][to].end = 0;
    }
}

static void check_ends(void)
{
    const struct sim_rank *first = NULL;
    bool any_joined = false;
    for (int i = 0; i < sim.world->size; i++)
        any_joined |= sim.has_joined[i];
    for (int i = 0; i < sim.world->size; i++) {
        const struct sim_rank *rank = &sim.ranks[i];
        SIM_CHECK(rank->is_done, "rank %d waits for ever, at action %d of its program", i,
                  rank->next);
        if (rank->gone || any_joined)
            continue;
        first = first ? first : rank;
        SIM_CHECK(rank->nlog == first->nlog &&
                      memcmp(rank->log, first->log, (size_t)rank->nlog * sizeof *rank->log) == 0,
                  "ranks %d and %d have done other things", first->rank, i);
        if (rank->ended)
            SIM_CHECK(sim.ranks[rank->who].gone, "rank %d has not left", rank->who);
    }
}

void steady_world_run(struct steady_world *world, uint64_t seed)
{
    sim_set_up(world, seed);
    while (happen())
        ;
    check_ends();
    sim_tear_down();
}
