/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs in virtual time (tests/support/steady_world.h): ranks repeat rounds of tensors,
 * deviate, come late, wait, ask, join and leave. A seed is a world, its programs and all delays.
 *
 *     STEADY_SEEDS=100000 STEADY_FIRST=1 build/tests/unit/lib/negotiation/steady_simulation_test */
#include "tests/support/steady_world.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the check does. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SEEDS = 200 };
#else
enum { SEEDS = 3000 };
#endif

enum { ROUNDS = 32, LATE_US = 1500000 };

static struct steady_world world;
static uint64_t state;
static int next_instance;

static uint32_t dice(uint32_t bound)
{
    return steady_world_random(&state, bound);
}

static void act(int rank, struct action action)
{
    struct steady_world_program *program = &world.programs[rank];
    ck_assert_int_lt(program->count, WORLD_ACTIONS);
    program->actions[program->count++] = action;
}

/* ---- a round ---- */

enum deviation {
    NOTHING,
    WAIT_FOR_EACH, /* a rank waits for each tensor before it submits the next */
    POLL_FOR_ONE,  /* a rank asks for one tensor until it is done, before it submits the rest */
    ODD_SHAPE,     /* a rank submits another shape */
    ONE_MORE,      /* all ranks submit one more tensor, anywhere */
    ONE_LESS,      /* all ranks leave one out */
    LATE,          /* a rank sleeps in between */
    BARRIER,       /* all ranks meet afterwards */
    LEAVE,         /* a rank leaves in between */
    DEVIATIONS
};

struct phase {
    int count;
    int names[WORLD_NAMES];
    bool is_blocking; /* each rank waits for each tensor */
};

struct style {
    int shuffles; /* of the order, in each round and rank */
    uint32_t deviates_in;
    bool may_leave;
};

static void shuffle(int *names, int count, int times)
{
    for (int i = 0; i < times && count > 1; i++) {
        int a = (int)dice((uint32_t)count),
            b = times == 1 ? (a + 1) % count : (int)dice((uint32_t)count);
        int name = names[a];
        names[a] = names[b];
        names[b] = name;
    }
}

static int spare_name(const struct phase *phase)
{
    int name = (int)dice(WORLD_BARRIER);
    for (int i = 0; i < phase->count; i++)
        if (phase->names[i] == name)
            return -1;
    return name;
}

/* What a rank does in a round; `extra`: one more name, or -1. */
static void put_round(int rank, const struct phase *phase, enum deviation deviation,
                      bool is_odd_one, int extra, int instance, const struct style *style)
{
    struct phase own = *phase;
    bool is_eager = phase->is_blocking || (is_odd_one && deviation == WAIT_FOR_EACH);
    int at = (int)dice((uint32_t)own.count);
    if (!phase->is_blocking)
        shuffle(own.names, own.count, style->shuffles);
    if (extra >= 0) {
        own.names[own.count++] = extra;
        if (!phase->is_blocking)
            shuffle(own.names, own.count, 1);
    }
    for (int i = 0; i < own.count; i++) {
        int name = own.names[i];
        bool is_odd = is_odd_one && deviation == ODD_SHAPE && name == phase->names[0];
        if (is_odd_one && deviation == LATE && i == at)
            act(rank, (struct action){ .kind = ACTION_SLEEP, .us = LATE_US });
        if (is_odd_one && deviation == LEAVE && i == at)
            act(rank, (struct action){ .kind = ACTION_LEAVE });
        act(rank, (struct action){
                      .kind = ACTION_SUBMIT, .name = name, .instance = instance, .odd = is_odd });
        if (is_eager)
            act(rank, (struct action){ .kind = ACTION_WAIT, .name = name });
        else if (is_odd_one && deviation == POLL_FOR_ONE && i == at)
            act(rank, (struct action){ .kind = ACTION_POLL, .name = name });
    }
    for (int i = 0; i < own.count && !is_eager; i++)
        act(rank, (struct action){ .kind = ACTION_WAIT, .name = own.names[i] });
    if (deviation == BARRIER) {
        act(rank,
            (struct action){ .kind = ACTION_SUBMIT, .name = WORLD_BARRIER, .instance = instance });
        act(rank, (struct action){ .kind = ACTION_WAIT, .name = WORLD_BARRIER });
    }
}

/* True if a rank leaves in this round. */
static bool make_round(const struct phase *phase, const struct style *style)
{
    struct phase changed = *phase;
    enum deviation deviation =
        dice(style->deviates_in) == 0 ? (enum deviation)dice(DEVIATIONS) : NOTHING;
    if (deviation == LEAVE && !style->may_leave)
        deviation = LATE;
    int odd = (int)dice((uint32_t)world.size), instance = next_instance++;
    int extra = deviation == ONE_MORE ? spare_name(phase) : -1;
    world.may_be_late |= deviation == LATE;
    if (deviation == ONE_LESS && changed.count > 1)
        changed.count--;
    for (int rank = 0; rank < world.size; rank++)
        put_round(rank, &changed, deviation, rank == odd, extra, instance, style);
    return deviation == LEAVE;
}

/* One rank joins, the others go on for some rounds and join as well. */
static void make_join(const struct phase *phase, const struct style *style)
{
    int absent = (int)dice((uint32_t)world.size), rounds = 1 + (int)dice(4);
    for (int i = 0; i < rounds; i++, next_instance++)
        for (int rank = 0; rank < world.size; rank++)
            if (rank != absent)
                put_round(rank, phase, NOTHING, false, -1, next_instance, style);
    for (int rank = 0; rank < world.size; rank++)
        act(rank, (struct action){ .kind = ACTION_JOIN });
}

/* ---- a world ---- */

static struct phase make_phase(void)
{
    struct phase phase = { .is_blocking = dice(3) == 0 };
    int names[WORLD_BARRIER];
    for (int i = 0; i < WORLD_BARRIER; i++)
        names[i] = i;
    shuffle(names, WORLD_BARRIER, 3 * WORLD_BARRIER);
    phase.count = 1 + (int)dice(8);
    memcpy(phase.names, names, (size_t)phase.count * sizeof *names);
    return phase;
}

static void make_world(uint64_t seed)
{
    static const uint32_t delays[] = { 2, 20, 2000 }, pauses[] = { 2, 30, 3000 };
    static const int shuffles[] = { 0, 1, 20 };
    struct phase phases[2];
    state = seed * 0x9e3779b97f4a7c15ull | 1;
    for (int i = 0; i < 8; i++)
        dice(2);
    world.size = 2 + (int)dice(WORLD_RANKS - 1);
    world.cache_capacity = dice(8) == 0 ? 6 : 1024;
    world.delay_us = delays[dice(3)];
    world.pause_us = pauses[dice(3)];
    world.may_be_late = false;
    struct style style = { .shuffles = shuffles[dice(3)],
                           .deviates_in = dice(2) ? 6 : 20,
                           .may_leave = dice(4) == 0 };
    int nphases = 1 + (int)dice(2), joins_at = dice(4) == 0 ? (int)dice(ROUNDS) : -1;
    bool has_left = false;
    for (int i = 0; i < nphases; i++)
        phases[i] = make_phase();
    for (int rank = 0; rank < world.size; rank++)
        world.programs[rank].count = 0;
    next_instance = 1;
    for (int round = 0; round < ROUNDS && !has_left; round++) {
        if (round == joins_at)
            make_join(&phases[0], &style);
        for (int i = 0; i < nphases && !has_left; i++)
            has_left = make_round(&phases[i], &style);
    }
}

/* ---- tests ---- */

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static uint64_t steady_states, operations, fused;

static void run_seed(uint64_t seed)
{
    make_world(seed);
    steady_world_run(&world, seed);
    steady_states += world.steady_states;
    operations += world.operations;
    fused += world.fused;
}

START_TEST(every_tensor_is_done_once_with_its_partners_in_one_order_and_nobody_waits_for_ever)
{
    uint64_t first = number_from("STEADY_FIRST", 1), count = number_from("STEADY_SEEDS", SEEDS);
    for (uint64_t seed = first; seed < first + count; seed++)
        run_seed(seed);
    ck_assert_msg(count < SEEDS || steady_states > count / 2, "%llu steady states",
                  (unsigned long long)steady_states);
    ck_assert_msg(count < SEEDS || (operations > 20 * count && fused > 2 * count),
                  "%llu operations in steady states, %llu of them of many tensors",
                  (unsigned long long)operations, (unsigned long long)fused);
}
END_TEST

/* All ranks wait for each tensor; but one of them leaves after so many, when it has submitted the
 * last one. The root may decide on that one, and that a steady state begins. */
static void make_departure(int rounds)
{
    world.size = 2 + (int)dice(WORLD_RANKS - 1);
    world.cache_capacity = 1024;
    world.delay_us = 200;
    world.pause_us = 20;
    world.may_be_late = false;
    int leaver = (int)dice((uint32_t)world.size);
    for (int rank = 0; rank < world.size; rank++) {
        world.programs[rank].count = 0;
        for (int i = 1; i <= rounds + 2; i++) {
            act(rank, (struct action){ .kind = ACTION_SUBMIT, .instance = i });
            if (rank == leaver && i == rounds) {
                act(rank, (struct action){ .kind = ACTION_LEAVE });
                break;
            }
            act(rank, (struct action){ .kind = ACTION_WAIT });
        }
    }
}

START_TEST(a_rank_that_leaves_before_it_hears_of_a_steady_state_holds_up_nobody)
{
    state = 12345;
    for (int i = 0; i < 1000; i++) {
        make_departure(1 + i % 50);
        steady_world_run(&world, (uint64_t)i + 1);
    }
}
END_TEST

START_TEST(a_seed_repeats)
{
    run_seed(7);
    struct steady_world before = world;
    run_seed(7);
    ck_assert_uint_eq(world.operations, before.operations);
    ck_assert_uint_eq(world.steady_states, before.steady_states);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("steady_simulation");
    TCase *tcase = tcase_create("steady_simulation");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 0);
    tcase_add_test(
        tcase, every_tensor_is_done_once_with_its_partners_in_one_order_and_nobody_waits_for_ever);
    tcase_add_test(tcase, a_rank_that_leaves_before_it_hears_of_a_steady_state_holds_up_nobody);
    tcase_add_test(tcase, a_seed_repeats);
    return unit_run(suite);
}
