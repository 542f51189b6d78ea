/* SPDX-License-Identifier: Apache-2.0 */
/* Names, not the order of calls, tell what belongs together: every rank submits the same
 * collectives of all kinds in an order of its own, from one thread and from several, waits for them
 * in another order, and checks each. The seed of the orders is printed. */
#include "tests/support/collectives.h"
#include "tests/support/elements.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS = 120, THREADS = 4, STEPS = 4, SMALL = 10000, SMALL_COUNT = 4 };

static uint64_t seed;

enum kind { SUM, MAX, AVERAGE, BROADCAST, ALLGATHER, ALLTOALL, REDUCESCATTER, ADASUM, KINDS };

/* Of int64, but averages and Adasum of float64. Element i of rank r is i + 1000 * r + index; of
 * Adasum all ranks have the same, which must come back to the bit. */
struct job {
    enum kind kind;
    int index;
    size_t count; /* elements, a multiple of the size */
    char name[32];
    int64_t *input, *output;
    int64_t handle;
};

static int64_t element(const struct job *job, int rank, size_t i)
{
    return (int64_t)i + (job->kind == ADASUM ? 0 : 1000 * rank) + job->index;
}

static enum hvd_dtype dtype_of(const struct job *job)
{
    return job->kind == AVERAGE || job->kind == ADASUM ? HVD_FLOAT64 : HVD_INT64;
}

static void job_init(struct job *job, int index)
{
    size_t count = index % 29 == 7 ? 60000 : (size_t)(index * 37 % 700);
    *job = (struct job){ .kind = (enum kind)(index % KINDS), .index = index };
    job->count = (count / (size_t)world_size + (size_t)index % 2) * (size_t)world_size;
    snprintf(job->name, sizeof job->name, "order.%d", index);
    job->input = room(job->count * sizeof *job->input);
    job->output = room(job->count * (size_t)world_size * sizeof *job->output);
}

static void job_fini(struct job *job)
{
    free(job->input);
    free(job->output);
}

static void fill(struct job *job)
{
    for (size_t i = 0; i < job->count; i++)
        element_put(dtype_of(job), job->input, i, (double)element(job, my_rank, i));
    if (job->kind == BROADCAST)
        memcpy(job->output, job->input, job->count * sizeof *job->input);
}

static int submit_kind(struct job *job, const struct hvd_tensor *tensor)
{
    switch (job->kind) {
    case BROADCAST:
        return hvd_broadcast_async(tensor, job->index % world_size, NULL, &job->handle);
    case ALLGATHER:
        return hvd_allgather_async(tensor, NULL, &job->handle);
    case ALLTOALL:
        return hvd_alltoall_async(tensor, NULL, 0, NULL, &job->handle);
    case REDUCESCATTER:
        return hvd_reducescatter_async(tensor, HVD_SUM, NULL, &job->handle);
    case MAX:
        return hvd_allreduce_async(tensor, HVD_MAX, NULL, &job->handle);
    case AVERAGE:
        return hvd_allreduce_async(tensor, HVD_AVERAGE, NULL, &job->handle);
    case ADASUM:
        return hvd_allreduce_async(tensor, HVD_ADASUM, NULL, &job->handle);
    default:
        return hvd_allreduce_async(tensor, HVD_SUM, NULL, &job->handle);
    }
}

static void submit(struct job *job)
{
    int64_t dims[] = { (int64_t)job->count };
    struct hvd_tensor tensor = { .name = job->name,
                                 .input = job->input,
                                 .output = job->output,
                                 .output_size =
                                     job->count * (size_t)world_size * sizeof *job->output,
                                 .dtype = dtype_of(job),
                                 .ndims = 1,
                                 .dims = dims };
    fill(job);
    int rc = submit_kind(job, &tensor);
    require(rc == HVD_OK, "%s: %s", job->name, hvd_strstatus(rc));
}

/* Of all ranks. */
static int64_t sum_of(const struct job *job, size_t i)
{
    return element(job, 0, i) * world_size + 500 * (int64_t)world_size * (world_size - 1);
}

/* How many elements the output has, and which value each. */
static size_t expected_count(const struct job *job)
{
    size_t size = (size_t)world_size;
    return job->kind == ALLGATHER       ? job->count * size
           : job->kind == REDUCESCATTER ? job->count / size
                                        : job->count;
}

static int64_t expected(const struct job *job, size_t i)
{
    size_t part = job->count / (size_t)world_size;
    switch (job->kind) {
    case MAX:
    case ADASUM:
        return element(job, world_size - 1, i);
    case BROADCAST:
        return element(job, job->index % world_size, i);
    case ALLGATHER:
        return element(job, (int)(i / job->count), i % job->count);
    case ALLTOALL:
        return element(job, (int)(i / part), (size_t)my_rank * part + i % part);
    case REDUCESCATTER:
        return sum_of(job, (size_t)my_rank * part + i);
    default:
        return sum_of(job, i);
    }
}

static void check(struct job *job)
{
    finish(job->handle, NULL, job->name);
    for (size_t i = 0; i < expected_count(job); i++) {
        double want = (double)expected(job, i);
        double got = element_get(dtype_of(job), job->output, i);
        want = job->kind == AVERAGE ? want / world_size : want;
        require(got == want, "%s (kind %d): element %zu of %zu is %.17g, not %.17g", job->name,
                (int)job->kind, i, expected_count(job), got, want);
    }
}

static void shuffle(size_t *order, size_t count, uint64_t *random)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t other = random_less_than(random, i), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

/* Each rank and thread has orders of its own. */
static uint64_t random_of(int step, int thread)
{
    uint64_t random = (seed + 1) * 0x9e3779b97f4a7c15 + (uint64_t)my_rank * 0xd1b54a32d192ed03 +
                      (uint64_t)(step * THREADS + thread + 1) * 0x2545f4914f6cdd1d;
    for (int i = 0; i < 4; i++)
        next_random(&random);
    return random;
}

struct part {
    struct job *jobs;
    size_t count;
    uint64_t random;
};

static void *run_part(void *argument)
{
    struct part *part = argument;
    size_t order[JOBS];
    shuffle(order, part->count, &part->random);
    for (size_t i = 0; i < part->count; i++)
        submit(&part->jobs[order[i]]);
    shuffle(order, part->count, &part->random);
    for (size_t i = 0; i < part->count; i++)
        check(&part->jobs[order[i]]);
    return NULL;
}

static void run_step(struct job *jobs, int step, int threads)
{
    pthread_t running[THREADS];
    struct part parts[THREADS];
    for (int t = 0; t < threads; t++) {
        size_t first = (size_t)(JOBS * t / threads), end = (size_t)(JOBS * (t + 1) / threads);
        parts[t] = (struct part){ jobs + first, end - first, random_of(step, t) };
        require(pthread_create(&running[t], NULL, run_part, &parts[t]) == 0, "pthread_create");
    }
    for (int t = 0; t < threads; t++)
        pthread_join(running[t], NULL);
}

/* The second step finds every name known. */
static void check_many_small(void)
{
    int32_t(*data)[SMALL_COUNT] = room(SMALL * sizeof *data);
    int64_t *handles = room(SMALL * sizeof *handles), dims[] = { SMALL_COUNT };
    size_t *order = room(SMALL * sizeof *order);
    for (int step = 0; step < 2; step++) {
        uint64_t random = random_of(100 + step, 0);
        shuffle(order, SMALL, &random);
        for (size_t i = 0; i < SMALL; i++) {
            size_t at = order[i];
            char name[32];
            snprintf(name, sizeof name, "small.%zu", at);
            for (int k = 0; k < SMALL_COUNT; k++)
                data[at][k] = (int32_t)at + k + my_rank;
            struct hvd_tensor tensor = { .name = name,
                                         .input = data[at],
                                         .output = data[at],
                                         .dtype = HVD_INT32,
                                         .ndims = 1,
                                         .dims = dims };
            int rc = hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handles[at]);
            require(rc == HVD_OK, "%s: %s", name, hvd_strstatus(rc));
        }
        for (size_t at = 0; at < SMALL; at++)
            finish(handles[at], NULL, "one of many small tensors");
        for (size_t at = 0; at < SMALL; at++)
            for (int k = 0; k < SMALL_COUNT; k++)
                require(data[at][k] ==
                            ((int32_t)at + k) * world_size + world_size * (world_size - 1) / 2,
                        "small tensor %zu: element %d is %d", at, k, data[at][k]);
    }
    free(order);
    free(handles);
    free(data);
}

/* Nameless tensors are matched by their order. */
static void check_nameless(void)
{
    enum { COUNT = 50 };
    int32_t data[COUNT];
    int64_t handles[COUNT], dims[] = { 1 };
    for (int i = 0; i < COUNT; i++) {
        data[i] = i + my_rank;
        struct hvd_tensor tensor = {
            .input = &data[i], .output = &data[i], .dtype = HVD_INT32, .ndims = 1, .dims = dims
        };
        int rc = hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handles[i]);
        require(rc == HVD_OK, "nameless tensor %d: %s", i, hvd_strstatus(rc));
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        finish(handles[i], NULL, "a nameless tensor");
        require(data[i] == i * world_size + world_size * (world_size - 1) / 2,
                "nameless tensor %d is %d", i, data[i]);
    }
}

void test_order(int argc, char **argv)
{
    static struct job jobs[JOBS];
    seed = argc > 0 ? strtoull(argv[0], NULL, 10) : 1;
    join_world();
    if (my_rank == 0)
        printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < JOBS; i++)
        job_init(&jobs[i], i);
    for (int step = 0; step < STEPS; step++)
        run_step(jobs, step, step % 2 == 0 ? 1 : THREADS);
    check_many_small();
    check_nameless();
    for (int i = 0; i < JOBS; i++)
        job_fini(&jobs[i]);
}
