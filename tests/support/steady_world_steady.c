/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors, links and the steady state of a rank in virtual time; see steady_world.h. What
 * lib/engine/set_steady*.c do is done here without data links. */
#include "tests/support/steady_world_impl.h"

#include <string.h>

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

void sim_note(struct sim_rank *rank, uint64_t what)
{
    SIM_CHECK(rank->nlog < LOG, "there is no room");
    rank->log[rank->nlog++] = what;
}

void sim_finish_tensor(struct sim_rank *rank, struct sim_tensor *tensor)
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

void sim_finish_done(struct sim_rank *rank, struct sim_tensor *tensor, int64_t sum)
{
    if (tensor->name != WORLD_BARRIER)
        check_sum(rank, tensor, sum);
    sim_note(rank, (uint64_t)tensor->name << 8 | (uint64_t)tensor->instance);
    sim_finish_tensor(rank, tensor);
}

void sim_finish_batch(struct sim_rank *rank, struct schedule_choice choice, int count,
                      const int *names)
{
    struct sim_batch batch = { .algorithm = choice.algorithm,
                               .piece = (int)choice.piece,
                               .count = count };
    memcpy(batch.names, names, (size_t)count * sizeof *names);
    int number = rank->batches++;
    SIM_CHECK(number < BATCHES, "there is no room");
    if (number == sim.nbatches)
        sim.batches[sim.nbatches++] = batch;
    SIM_CHECK(memcmp(&batch, &sim.batches[number], sizeof batch) == 0,
              "batch %d has other tensors, or other pieces, on rank %d", number, rank->rank);
    sim_note(rank, 1u << 20 | (unsigned)number);
}

/* ---- links ---- */

struct sim_message *sim_send(int from, int to, enum message_kind kind)
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

void sim_send_leave(struct sim_rank *rank, uint32_t epoch, uint32_t number)
{
    for (int to = 0; to < sim.world->size; to++) {
        if (to == rank->rank)
            continue;
        struct sim_message *message = sim_send(rank->rank, to, MESSAGE_LEAVE);
        message->epoch = epoch;
        message->number = number;
    }
}

void sim_leave(struct sim_rank *rank)
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

bool sim_is_stuck(const struct sim_rank *rank, const struct sim_tensor *polled)
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

void sim_commit_complete(struct sim_rank *rank)
{
    struct steady *steady = &rank->steady;
    while (steady_may_commit(steady) &&
           steady_round_is_complete(&rank->round, steady->committed, steady->done))
        sim_commit(rank);
    if (sim_is_stuck(rank, NULL))
        sim_leave(rank);
}

void sim_submit(struct sim_rank *rank, struct sim_tensor *tensor)
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

void sim_complete(struct sim_rank *rank, uint32_t number)
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
    if (operation->choice.algorithm >= 0)
        sim_finish_batch(rank, operation->choice, operation->count, names);
    for (int i = 0; i < operation->count; i++) {
        int64_t sum = 0;
        for (int from = 0; from < sim.world->size; from++) {
            const struct sim_kept *kept = &rank->kept[from][number % STEADY_KEPT];
            SIM_CHECK(kept->digest == rank->digests[number % (uint32_t)rank->round.schedule.count],
                      "rank %d takes operation %u for another one", from, number);
            sum += kept->data[i];
        }
        sim_finish_done(rank, owners[i], sum);
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

void sim_begin(struct sim_rank *rank, const struct schedule *schedule)
{
    SIM_CHECK(rank->steady.phase == STEADY_OFF, "a steady state begins in another");
    for (int i = 0; i < schedule->count; i++) {
        const struct schedule_operation *operation = &schedule->operations[i];
        uint32_t digest = 17 + (uint32_t)operation->choice.algorithm;
        digest = digest * 31 + (uint32_t)operation->choice.piece;
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
