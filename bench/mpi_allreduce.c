/* SPDX-License-Identifier: Apache-2.0 */
/* The peer of bench/allreduce and, given "resnet50" for a size, of bench/gradients: MPI_Allreduce of
 * float32, sum, in place, measured and checked in the same way. Of a gradient set each tensor is
 * reduced by a call of its own, in order. Not part of the build; bench/compare.sh compiles it.
 *
 *     mpicc -O2 -I. bench/mpi_allreduce.c bench/support/[a-z]*.c -o mpi_allreduce
 *     mpirun -np 2 mpi_allreduce PEER ROUNDS BYTES|resnet50... */
#include "bench/support/resnet50.h"
#include "bench/support/sample.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUND_US = 100000, WARM_UP_CALLS = 10 };

/* What is reduced in one step: tensors that lie one after the other. */
struct job {
    const char *operation;
    float *data;
    const size_t *counts;
    int ntensors;
    size_t count; /* of all of them */
};

static void step(const struct job *job)
{
    float *data = job->data;
    for (int i = 0; i < job->ntensors; data += job->counts[i++])
        MPI_Allreduce(MPI_IN_PLACE, data, (int)job->counts[i], MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void check(const struct job *job, int rank, int size)
{
    for (size_t i = 0; i < job->count; i++)
        job->data[i] = (float)(rank + 1) * (float)(i % 1000);
    step(job);
    for (size_t i = 0; i < job->count; i++) {
        if (job->data[i] == (float)(size * (size + 1) / 2) * (float)(i % 1000))
            continue;
        fprintf(stderr, "mpi_allreduce: rank %d: element %zu is %g\n", rank, i, job->data[i]);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(job->data, 0, job->count * sizeof(float));
}

static double time_steps(const struct job *job, int steps)
{
    double slowest;
    MPI_Barrier(MPI_COMM_WORLD);
    double start_us = now_us();
    for (int i = 0; i < steps; i++)
        step(job);
    double mine = (now_us() - start_us) / steps;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static void measure(const char *peer, const struct job *job, int rounds)
{
    double round_us[ROUNDS_MAX];
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(job, rank, size);
    time_steps(job, job->ntensors > 1 ? 1 : WARM_UP_CALLS);
    int steps = calls_per_round(time_steps(job, job->ntensors > 1 ? 1 : WARM_UP_CALLS), ROUND_US);
    for (int round = 0; round < rounds; round++)
        round_us[round] = time_steps(job, steps);
    check(job, rank, size);
    if (rank == 0)
        print_sample(peer, job->operation, size, (long)(job->count * sizeof(float)), round_us,
                     rounds);
}

static void measure_argument(const char *peer, const char *argument, int rounds)
{
    size_t counts[RESNET50_TENSORS];
    struct job job = { .operation = "allreduce", .counts = counts, .ntensors = 1 };
    if (strcmp(argument, "resnet50") == 0) {
        resnet50_counts(counts);
        job.operation = "resnet50";
        job.ntensors = RESNET50_TENSORS;
        job.count = RESNET50_ELEMENTS;
    } else {
        job.count = counts[0] = (size_t)number_argument("BYTES", argument, 0, 1L << 32) / 4;
    }
    job.data = malloc(job.count * sizeof(float) + 1);
    if (!job.data)
        MPI_Abort(MPI_COMM_WORLD, 1);
    measure(peer, &job, rounds);
    free(job.data);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return fprintf(stderr, "usage: mpi_allreduce PEER ROUNDS BYTES|resnet50...\n"), 2;
    int rank, rounds = (int)number_argument("ROUNDS", argv[2], 1, ROUNDS_MAX);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        print_header();
    for (int i = 3; i < argc; i++)
        measure_argument(argv[1], argv[i], rounds);
    MPI_Finalize();
    return 0;
}
