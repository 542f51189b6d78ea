/* SPDX-License-Identifier: Apache-2.0 */
/* Programs and time of a process set in virtual time; see steady_world.h. */
#include "lib/collective/piece.h"
#include "tests/support/steady_world_impl.h"

#include <string.h>

struct sim sim;

uint32_t steady_world_random(uint64_t *state, uint32_t bound)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return bound ? (uint32_t)((*state * 0x2545f4914f6cdd1dull) >> 33) % bound : 0;
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
        sim_deliver(from, to);
    } else if (deadline_of(rank) <= sim.now_us) {
        SIM_CHECK(sim.world->may_be_late, "rank %d loses patience", rank->rank);
        sim_leave(rank);
        sim_move(rank);
    } else {
        program_step(rank);
    }
    return true;
}

/* Other pieces for each decision, as if the memory of the program changed. */
static struct algorithm_choice choose(void *arg, const struct negotiation_work *work)
{
    const struct sim_rank *root = arg;
    const struct algorithm_case what = { .kind = description_operation(work->first),
                                         .nbytes = work->nbytes,
                                         .size = sim.world->size };
    SIM_CHECK(root->rank == 0, "rank %d is asked", root->rank);
    return (struct algorithm_choice){ algorithm_choose(&what, &algorithm_defaults, -1),
                                      (size_t)PIECE_LEAST << sim.nchoices++ % 5 };
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
    sim.nbatches = sim.nchoices = 0;
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
        negotiation_choose_with(rank->negotiation, choose, rank);
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
