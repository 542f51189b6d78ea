/* SPDX-License-Identifier: Apache-2.0 */
/* How long a blocking allreduce by name takes: float32, sum, in place, for each size in bytes.
 *
 *     hvdrun -np 2 bench/allreduce ROUNDS BYTES...
 *
 * A round is as many calls as make about 100 ms; of its ranks the slowest counts. Rank 0 prints, for
 * each size, the median and the least of the rounds in microseconds per call. Before and after the
 * rounds a result is checked in every element. Fails when a call fails or a result is wrong. */
#include "hvd.h"

#include "bench/support/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUND_US = 100000, WARM_UP_CALLS = 10 };

static void must(int rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "allreduce: %s\n", hvd_last_error());
    exit(1);
}

static void reduce(float *data, size_t count)
{
    must(hvd_allreduce("data", data, data, count, HVD_FLOAT32, HVD_SUM));
}

/* Small whole numbers, so that sums are exact whatever their order. */
static void check(float *data, size_t count, int rank, int size)
{
    for (size_t i = 0; i < count; i++)
        data[i] = (float)(rank + 1) * (float)(i % 1000);
    reduce(data, count);
    for (size_t i = 0; i < count; i++) {
        if (data[i] == (float)(size * (size + 1) / 2) * (float)(i % 1000))
            continue;
        fprintf(stderr, "allreduce: rank %d: element %zu of %zu is %g\n", rank, i, count, data[i]);
        exit(1);
    }
    memset(data, 0, count * sizeof *data); /* stays as it is, however often it is summed */
}

/* Microseconds per call on the slowest rank. */
static double time_calls(float *data, size_t count, int calls)
{
    double slowest = 0;
    must(hvd_barrier());
    double start_us = now_us();
    for (int i = 0; i < calls; i++)
        reduce(data, count);
    double mine = (now_us() - start_us) / calls;
    must(hvd_allreduce("time", &mine, &slowest, 1, HVD_FLOAT64, HVD_MAX));
    return slowest;
}

static void measure(size_t nbytes, int rounds, int rank, int size)
{
    size_t count = nbytes / sizeof(float);
    float *data = malloc(nbytes ? nbytes : 1);
    double round_us[ROUNDS_MAX];
    if (!data)
        must(HVD_ERR_NOMEM);
    check(data, count, rank, size);
    time_calls(data, count, WARM_UP_CALLS);
    int calls = calls_per_round(time_calls(data, count, WARM_UP_CALLS), ROUND_US);
    for (int round = 0; round < rounds; round++)
        round_us[round] = time_calls(data, count, calls);
    check(data, count, rank, size);
    if (rank == 0)
        print_sample("hvdrun", "allreduce", size, (long)nbytes, round_us, rounds);
    free(data);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return fprintf(stderr, "usage: allreduce ROUNDS BYTES...\n"), 2;
    int rounds = (int)number_argument("ROUNDS", argv[1], 1, ROUNDS_MAX);
    must(hvd_init());
    if (hvd_rank() == 0)
        print_header();
    for (int i = 2; i < argc; i++)
        measure((size_t)number_argument("BYTES", argv[i], 0, 1L << 32), rounds, hvd_rank(),
                hvd_size());
    must(hvd_shutdown());
    return 0;
}
