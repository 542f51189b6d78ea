/* SPDX-License-Identifier: Apache-2.0 */
/* How long a step takes that averages the 161 gradients of ResNet-50, by name: all are submitted in
 * random order with hvd_allreduce_async(), then waited for.
 *
 *     hvdrun -np 2 bench/gradients ROUNDS same|different [SEED]
 *
 * Each step has another order, the same on all ranks or a different one on each. A round is one step
 * of a few; of its ranks the slowest counts. Rank 0 prints the median and the least of the rounds in
 * microseconds. Averages are checked in every element after each round. HOROVOD_FUSION_THRESHOLD=0
 * shows it without fusion. Fails when a call fails or a result is wrong. */
#include "hvd.h"

#include "bench/support/resnet50.h"
#include "bench/support/sample.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP_STEPS = 3, STEPS = 3 };

static struct hvd_tensor tensors[RESNET50_TENSORS];
static char names[RESNET50_TENSORS][32];
static int64_t dims[RESNET50_TENSORS];
static float *data;

static void must(int rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "gradients: %s\n", hvd_last_error());
    exit(1);
}

static void prepare(void)
{
    size_t counts[RESNET50_TENSORS];
    resnet50_counts(counts);
    data = malloc(RESNET50_ELEMENTS * sizeof *data);
    if (!data)
        must(HVD_ERR_NOMEM);
    float *next = data;
    for (int i = 0; i < RESNET50_TENSORS; next += counts[i++]) {
        snprintf(names[i], sizeof names[i], "layer%d.gradient", i);
        dims[i] = (int64_t)counts[i];
        tensors[i] = (struct hvd_tensor){ .name = names[i],
                                          .input = next,
                                          .output = next,
                                          .dtype = HVD_FLOAT32,
                                          .ndims = 1,
                                          .dims = &dims[i] };
    }
}

/* Splitmix64 (Steele, Lea and Flood, 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static void shuffle(int order[RESNET50_TENSORS], uint64_t *state)
{
    for (int i = RESNET50_TENSORS - 1; i > 0; i--) {
        int j = (int)(next_random(state) % (uint64_t)(i + 1)), swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
}

static void step(const int order[RESNET50_TENSORS])
{
    int64_t handles[RESNET50_TENSORS];
    for (int i = 0; i < RESNET50_TENSORS; i++)
        must(hvd_allreduce_async(&tensors[order[i]], HVD_AVERAGE, NULL, &handles[i]));
    for (int i = 0; i < RESNET50_TENSORS; i++)
        must(hvd_wait(handles[i]));
}

/* Averages of these are exact, and averages of the averages are the same. */
static float expected(size_t i, int size)
{
    return (float)(size + 1) / 2 + (float)(i % 1000);
}

static void fill(int rank)
{
    for (size_t i = 0; i < RESNET50_ELEMENTS; i++)
        data[i] = (float)(rank + 1) + (float)(i % 1000);
}

static void check(int rank, int size)
{
    for (size_t i = 0; i < RESNET50_ELEMENTS; i++) {
        if (data[i] == expected(i, size))
            continue;
        fprintf(stderr, "gradients: rank %d: element %zu is %g\n", rank, i, data[i]);
        exit(1);
    }
}

/* Microseconds per step on the slowest rank. */
static double time_steps(int steps, int order[RESNET50_TENSORS], uint64_t *state)
{
    double mine = 0, slowest = 0;
    for (int i = 0; i < steps; i++) {
        shuffle(order, state);
        must(hvd_barrier());
        double start_us = now_us();
        step(order);
        mine += (now_us() - start_us) / steps;
    }
    must(hvd_allreduce("time", &mine, &slowest, 1, HVD_FLOAT64, HVD_MAX));
    return slowest;
}

static void measure(int rounds, uint64_t state, const char *operation)
{
    double round_us[ROUNDS_MAX];
    int order[RESNET50_TENSORS], rank = hvd_rank(), size = hvd_size();
    for (int i = 0; i < RESNET50_TENSORS; i++)
        order[i] = i;
    fill(rank);
    time_steps(WARM_UP_STEPS, order, &state);
    for (int round = 0; round < rounds; round++) {
        fill(rank);
        round_us[round] = time_steps(STEPS, order, &state);
        check(rank, size);
    }
    if (rank == 0) {
        print_header();
        print_sample("hvdrun", operation, size, RESNET50_ELEMENTS * (long)sizeof *data, round_us,
                     rounds);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3 || (strcmp(argv[2], "same") != 0 && strcmp(argv[2], "different") != 0))
        return fprintf(stderr, "usage: gradients ROUNDS same|different [SEED]\n"), 2;
    int rounds = (int)number_argument("ROUNDS", argv[1], 1, ROUNDS_MAX);
    uint64_t seed = argc > 3 ? (uint64_t)number_argument("SEED", argv[3], 0, INT32_MAX) : 1;
    must(hvd_init());
    prepare();
    if (strcmp(argv[2], "different") == 0)
        seed += (uint64_t)hvd_rank() << 32;
    measure(rounds, seed, "resnet50");
    free(data);
    must(hvd_shutdown());
    return 0;
}
