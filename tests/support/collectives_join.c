/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that run out of data join, and take part in the allreduces of the others with zeros. */
#include "tests/support/collectives.h"

#include <stdio.h>
#include <string.h>

enum { COUNT = 17, BATCHES = 3 };

/* How many batches a rank has, and what is in them. */
typedef int batches_fn(int rank);

static int more_for_the_last(int rank)
{
    return BATCHES + rank;
}

static int more_for_the_first(int rank)
{
    return BATCHES + 2 * (world_size - rank);
}

static float sample(int rank, int batch, int i)
{
    return (float)((rank + 1) * 4 + batch + i);
}

/* The sum over the ranks that still have data in this batch. */
static float expected_sum(batches_fn *batches, int batch, int i)
{
    float sum = 0;
    for (int rank = 0; rank < world_size; rank++)
        if (batch < batches(rank))
            sum += sample(rank, batch, i);
    return sum;
}

static void reduce_batch(const char *name, float *data, int batch, enum hvd_op op)
{
    for (int i = 0; i < COUNT; i++)
        data[i] = sample(my_rank, batch, i);
    int rc = hvd_allreduce(name, data, data, COUNT, HVD_FLOAT32, op);
    require(rc == HVD_OK, "batch %d of %s: %s", batch, name, hvd_strstatus(rc));
}

/* Averages divide by the size, however many have joined. */
static void check_batch(batches_fn *batches, int batch)
{
    float data[COUNT];
    reduce_batch("join.average", data, batch, HVD_AVERAGE);
    for (int i = 0; i < COUNT; i++) {
        float want = expected_sum(batches, batch, i) / (float)world_size;
        require(data[i] == want, "average of batch %d: element %d is %g, not %g", batch, i,
                (double)data[i], (double)want);
    }
    reduce_batch("join.sum", data, batch, HVD_SUM);
    for (int i = 0; i < COUNT; i++)
        require(data[i] == expected_sum(batches, batch, i), "sum of batch %d: element %d is %g",
                batch, i, (double)data[i]);
}

/* All values are above zero. */
static void check_least(batches_fn *batches, int batch)
{
    float data[COUNT];
    bool somebody_joined = false;
    for (int rank = 0; rank < world_size; rank++)
        somebody_joined |= batch >= batches(rank);
    reduce_batch("join.min", data, batch, HVD_MIN);
    for (int i = 0; i < COUNT; i++)
        require(data[i] == (somebody_joined ? 0 : sample(0, batch, i)),
                "least of batch %d: element %d is %g", batch, i, (double)data[i]);
}

static void train(batches_fn *batches, int last)
{
    int last_rank = -7;
    for (int batch = 0; batch < batches(my_rank); batch++) {
        check_batch(batches, batch);
        check_least(batches, batch);
    }
    int rc = hvd_join(&last_rank);
    require(rc == HVD_OK, "hvd_join: %s", hvd_strstatus(rc));
    require(last_rank == last, "the last to join is %d, not %d", last_rank, last);
    check_world_works("a join");
}

/* One rank joins, the others reduce once more: Horovod's tensor * (size - 1) / size. */
static void check_one_joined(int joined)
{
    float data[COUNT];
    int last_rank;
    for (int i = 0; i < COUNT; i++)
        data[i] = (float)(i * world_size);
    int rc = my_rank == joined
                 ? HVD_OK
                 : hvd_allreduce("join.one", data, data, COUNT, HVD_FLOAT32, HVD_AVERAGE);
    require(rc == HVD_OK, "an allreduce while rank %d has joined: %s", joined, hvd_strstatus(rc));
    require(hvd_join(&last_rank) == HVD_OK, "hvd_join");
    for (int i = 0; i < COUNT && my_rank != joined; i++)
        require(data[i] == (float)(i * (world_size - 1)),
                "element %d is %g while rank %d has joined", i, (double)data[i], joined);
    require(world_size == 1 || last_rank != joined, "the last to join is %d", last_rank);
}

/* Barriers go on without those who have joined; so do groups. */
static void check_others(void)
{
    float data[2][COUNT];
    int64_t dims[] = { COUNT }, handle;
    struct hvd_tensor tensors[] = {
        { .name = "join.a",
          .input = data[0],
          .output = data[0],
          .dtype = HVD_FLOAT32,
          .ndims = 1,
          .dims = dims },
        { .name = "join.b",
          .input = data[1],
          .output = data[1],
          .dtype = HVD_FLOAT32,
          .ndims = 1,
          .dims = dims },
    };
    for (int i = 0; i < COUNT; i++)
        data[0][i] = data[1][i] = 1;
    if (my_rank > 0) {
        require(hvd_barrier() == HVD_OK, "a barrier while rank 0 has joined");
        int rc = hvd_grouped_allreduce_async(tensors, 2, HVD_SUM, NULL, &handle);
        require(rc == HVD_OK, "a group while rank 0 has joined: %s", hvd_strstatus(rc));
        finish(handle, NULL, "a group while rank 0 has joined");
        for (int i = 0; i < COUNT; i++)
            require(data[0][i] == (float)(world_size - 1) && data[1][i] == data[0][i],
                    "a group while rank 0 has joined: element %d is %g", i, (double)data[0][i]);
    }
    require(hvd_join(NULL) == HVD_OK, "hvd_join without a result");
    check_world_works("joins and barriers");
}

/* Collectives without zeros to give fail meanwhile, on those who asked for them. */
static void check_refused(void)
{
    int32_t one = my_rank, all[64] = { 0 };
    if (my_rank > 0) {
        int rc = hvd_allgather("join.gather", &one, all, 1, HVD_INT32);
        require(rc == HVD_ERR_MISMATCH, "allgather while rank 0 has joined: %s", hvd_strstatus(rc));
        require(strstr(hvd_last_error(), "join.gather") && strstr(hvd_last_error(), "rank 0"),
                "the text names tensor and rank");
        rc = hvd_broadcast("join.broadcast", &one, 1, HVD_INT32, world_size - 1);
        require(rc == HVD_ERR_MISMATCH, "broadcast while rank 0 has joined: %s", hvd_strstatus(rc));
    }
    require(hvd_join(NULL) == HVD_OK, "hvd_join after refusals");
    int rc = hvd_allgather("join.gather", &one, all, 1, HVD_INT32);
    require(rc == HVD_OK && all[world_size - 1] == world_size - 1, "allgather after a join");
}

void test_join(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    join_world();
    train(more_for_the_last, world_size - 1);
    train(more_for_the_first, 0);
    train(more_for_the_last, world_size - 1);
    for (int joined = 0; joined < world_size; joined++)
        check_one_joined(joined);
    check_others();
    check_refused();
}
