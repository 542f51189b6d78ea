/* SPDX-License-Identifier: Apache-2.0 */
/* Adasum of few halves in process sets of 3 and 4 ranks, amid other collectives that each rank
 * submits in an order of its own: to the bit what hvd_allreduce(3) documents, whatever is
 * remembered, fused, or in flight besides. */
#include "lib/hvd.h"
#include "tests/support/elements.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, PROGRAMS = 12, STEPS = 30, FEW = 40, MANY = 9000 };

static const char *const settings[][2] = {
    { "HOROVOD_CACHE_CAPACITY", "1024" },
    { "HOROVOD_CACHE_CAPACITY", "0" },
    { "HOROVOD_FUSION_THRESHOLD", "1000" },
    { "HOROVOD_FUSION_THRESHOLD", "0" },
    { "HVD_TRANSPORT", "tcp" },
};
enum { SETTINGS = sizeof settings / sizeof *settings };
static const char *const *setting;

struct step {
    bool adasum; /* of halves; else a sum of floats, which is only to be in the way */
    int first;   /* of the ranks, which go to the last */
    int64_t count;
    enum hvd_dtype dtype;
    uint64_t seed;
    char name[16];
    int64_t handle;
    uint16_t halves[FEW];
    float floats[MANY];
};

/* Multiples of 1/64 up to 32, which both halves have or round to; so sums of their products are
 * exact. */
static double value(const struct step *step, int rank, int64_t i)
{
    uint64_t state = step->seed + (uint64_t)rank * 977 + (uint64_t)i * 31 + 1;
    for (int k = 0; k < 4; k++)
        next_random(&state);
    return ((double)random_less_than(&state, 4096) - 2048) / 64;
}

/* ---- the reference ---- */

/* a = a + b, for which hvd_allreduce(3) says: factors in double, then in float. */
static void add(enum hvd_dtype dtype, uint16_t *a, const uint16_t *b, int64_t count)
{
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < (size_t)count; i++) {
        double x = element_get(dtype, a, i), y = element_get(dtype, b, i);
        ab += x * y, aa += x * x, bb += y * y;
    }
    float of_a = (float)(aa < DBL_MIN ? 1 : 1 - ab / aa / 2);
    float of_b = (float)(bb < DBL_MIN ? 1 : 1 - ab / bb / 2);
    for (size_t i = 0; i < (size_t)count; i++) {
        volatile float x = (float)element_get(dtype, a, i) * of_a; /* not fused with the sum */
        volatile float y = (float)element_get(dtype, b, i) * of_b;
        volatile float sum = x + y;
        element_put(dtype, a, i, sum);
    }
}

/* 4 ranks: (0 + 1) + (2 + 3); 3: (0 + 2) + 1 */
static void require_adasum(const struct step *step)
{
    uint16_t vectors[RANKS][FEW];
    int size = RANKS - step->first;
    for (int r = 0; r < size; r++)
        for (size_t i = 0; i < (size_t)step->count; i++)
            element_put(step->dtype, vectors[r], i, value(step, step->first + r, (int64_t)i));
    if (size == 4)
        add(step->dtype, vectors[2], vectors[3], step->count);
    else
        add(step->dtype, vectors[0], vectors[2], step->count);
    add(step->dtype, vectors[0], vectors[1], step->count);
    if (size == 4)
        add(step->dtype, vectors[0], vectors[2], step->count);
    REQUIRE(memcmp(step->halves, vectors[0], (size_t)step->count * sizeof(uint16_t)) == 0);
}

/* ---- programs ---- */

static void make_step(struct step *step, int number, uint64_t *state)
{
    step->adasum = random_less_than(state, 2) == 0;
    step->first = (int)random_less_than(state, 2);
    step->count = (int64_t)(random_less_than(state, 2) == 0 ? 1 : 1 + random_less_than(state, FEW));
    if (!step->adasum)
        step->count = (int64_t)random_less_than(state, MANY);
    step->dtype = random_less_than(state, 2) == 0 ? HVD_FLOAT16 : HVD_BFLOAT16;
    step->seed = next_random(state);
    snprintf(step->name, sizeof step->name, "step.%d", number);
}

static void submit(struct step *step, int rank, int set)
{
    struct hvd_options options = { .process_set = step->first == 0 ? 0 : set };
    struct hvd_tensor tensor = { .name = step->name,
                                 .input = step->adasum ? (void *)step->halves : step->floats,
                                 .output = step->adasum ? (void *)step->halves : step->floats,
                                 .dtype = step->adasum ? step->dtype : HVD_FLOAT32,
                                 .ndims = 1,
                                 .dims = &step->count };
    for (size_t i = 0; i < (size_t)step->count; i++)
        element_put(tensor.dtype, tensor.output, i,
                    step->adasum ? value(step, rank, (int64_t)i) : 1);
    REQUIRE_STATUS(
        hvd_allreduce_async(&tensor, step->adasum ? HVD_ADASUM : HVD_SUM, &options, &step->handle),
        HVD_OK);
}

static void finish(const struct step *step)
{
    REQUIRE_STATUS(hvd_wait(step->handle), HVD_OK);
    if (step->adasum)
        require_adasum(step);
    for (int64_t i = 0; i < step->count && !step->adasum; i++)
        REQUIRE(step->floats[i] == (float)(RANKS - step->first));
}

static void run_program(uint64_t seed, int rank, int set)
{
    static struct step steps[STEPS];
    uint64_t state = seed;
    for (int i = 0; i < STEPS; i++)
        make_step(&steps[i], i, &state);
    for (int i = 0; i < STEPS; i++) {
        struct step *step = &steps[(i * 7 + rank * 11) % STEPS]; /* 7 and STEPS have no factor */
        if (rank >= step->first)
            submit(step, rank, set);
    }
    for (int i = 0; i < STEPS; i++)
        if (rank >= steps[i].first)
            finish(&steps[i]);
}

static int run_programs(int rank)
{
    static const int all_but_the_first[] = { 1, 2, 3 };
    setenv(setting[0], setting[1], 1);
    init_world();
    int set = hvd_add_process_set(all_but_the_first, 3);
    REQUIRE(set > 0);
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++)
        run_program(seed * 7919, rank, set);
    return leave_world();
}

START_TEST(adasum_of_halves_is_what_is_documented_whatever_else_is_in_flight)
{
    setting = settings[_i];
    ranks_run(&(struct mini_options){ .size = RANKS }, run_programs);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_adasum");
    TCase *tcase = tcase_create("world_adasum");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, adasum_of_halves_is_what_is_documented_whatever_else_is_in_flight, 0,
                        SETTINGS);
    return unit_run(suite);
}
