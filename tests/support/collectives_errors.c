/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that disagree: HVD_ERR_MISMATCH on every rank, with a text that names the tensor and the
 * values of the ranks; then the world goes on. The mistakes of one rank alone are in
 * collectives_refused.c. */
#include "tests/support/collectives.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = 512 };

/* The tensor that a rank submits, and the collective. */
struct request {
    int kind; /* 0 allreduce, 1 allgather, 2 broadcast, 3 alltoall, 4 reduce-scatter */
    enum hvd_dtype dtype;
    int ndims;
    int64_t dims[3];
    enum hvd_op op;
    int root;
    double prescale, postscale;
};

/* Rank 0's, or the last rank's, is `odd`, all others' are `usual`. The text has both `words`. */
static const struct {
    const char *what;
    struct request usual, odd;
    const char *words[2];
} rows[] = {
    { "element types",
      { 0, HVD_FLOAT32, 1, { 17 }, HVD_SUM, 0, 0, 0 },
      { 0, HVD_INT32, 1, { 17 }, HVD_SUM, 0, 0, 0 },
      { "float32", "int32" } },
    { "collectives",
      { 0, HVD_FLOAT32, 1, { 17 }, HVD_SUM, 0, 0, 0 },
      { 1, HVD_FLOAT32, 1, { 17 }, HVD_SUM, 0, 0, 0 },
      { "allreduce", "allgather" } },
    { "sizes",
      { 0, HVD_FLOAT32, 1, { 17 }, HVD_SUM, 0, 0, 0 },
      { 0, HVD_FLOAT32, 1, { 18 }, HVD_SUM, 0, 0, 0 },
      { "[17]", "[18]" } },
    { "shapes of the same size",
      { 0, HVD_FLOAT32, 2, { 2, 6 }, HVD_SUM, 0, 0, 0 },
      { 0, HVD_FLOAT32, 2, { 3, 4 }, HVD_SUM, 0, 0, 0 },
      { "[2, 6]", "[3, 4]" } },
    { "numbers of dimensions",
      { 0, HVD_FLOAT32, 1, { 12 }, HVD_SUM, 0, 0, 0 },
      { 0, HVD_FLOAT32, 2, { 12, 1 }, HVD_SUM, 0, 0, 0 },
      { "[12]", "[12, 1]" } },
    { "something and nothing",
      { 0, HVD_FLOAT32, 1, { 17 }, HVD_SUM, 0, 0, 0 },
      { 0, HVD_FLOAT32, 1, { 0 }, HVD_SUM, 0, 0, 0 },
      { "[17]", "[0]" } },
    { "prescale factors",
      { 0, HVD_FLOAT32, 1, { 17 }, HVD_SUM, 0, 2, 0 },
      { 0, HVD_FLOAT32, 1, { 17 }, HVD_SUM, 0, 3, 0 },
      { "2", "3" } },
    { "postscale factors",
      { 0, HVD_FLOAT32, 1, { 17 }, HVD_SUM, 0, 0, 0.5 },
      { 0, HVD_FLOAT32, 1, { 17 }, HVD_SUM, 0, 0, 0.25 },
      { "0.5", "0.25" } },
    { "operations",
      { 0, HVD_FLOAT32, 1, { 17 }, HVD_SUM, 0, 0, 0 },
      { 0, HVD_FLOAT32, 1, { 17 }, HVD_MAX, 0, 0, 0 },
      { "sum", "max" } },
    { "sum and average",
      { 0, HVD_FLOAT32, 1, { 17 }, HVD_SUM, 0, 0, 0 },
      { 0, HVD_FLOAT32, 1, { 17 }, HVD_AVERAGE, 0, 0, 0 },
      { "sum", "average" } },
    { "sum and Adasum",
      { 0, HVD_FLOAT32, 1, { 17 }, HVD_SUM, 0, 0, 0 },
      { 0, HVD_FLOAT32, 1, { 17 }, HVD_ADASUM, 0, 0, 0 },
      { "sum", "adasum" } },
    { "allgather's later dimensions",
      { 1, HVD_FLOAT32, 2, { 2, 3 }, HVD_SUM, 0, 0, 0 },
      { 1, HVD_FLOAT32, 2, { 2, 4 }, HVD_SUM, 0, 0, 0 },
      { "3]", "4]" } },
    { "allgather's numbers of dimensions",
      { 1, HVD_FLOAT32, 2, { 2, 3 }, HVD_SUM, 0, 0, 0 },
      { 1, HVD_FLOAT32, 3, { 2, 3, 1 }, HVD_SUM, 0, 0, 0 },
      { "3]", "3, 1]" } },
    { "roots",
      { 2, HVD_FLOAT32, 1, { 17 }, HVD_SUM, 0, 0, 0 },
      { 2, HVD_FLOAT32, 1, { 17 }, HVD_SUM, 1, 0, 0 },
      { "0", "1" } },
    { "shapes of a broadcast",
      { 2, HVD_FLOAT32, 1, { 17 }, HVD_SUM, 0, 0, 0 },
      { 2, HVD_FLOAT32, 1, { 16 }, HVD_SUM, 0, 0, 0 },
      { "[17]", "[16]" } },
    { "element types of a broadcast",
      { 2, HVD_FLOAT32, 1, { 17 }, HVD_SUM, 0, 0, 0 },
      { 2, HVD_FLOAT64, 1, { 17 }, HVD_SUM, 0, 0, 0 },
      { "float32", "float64" } },
    { "alltoall's later dimensions",
      { 3, HVD_FLOAT32, 2, { 0, 3 }, HVD_SUM, 0, 0, 0 },
      { 3, HVD_FLOAT32, 2, { 0, 4 }, HVD_SUM, 0, 0, 0 },
      { "3]", "4]" } },
    { "element types of an alltoall",
      { 3, HVD_INT16, 1, { 0 }, HVD_SUM, 0, 0, 0 },
      { 3, HVD_UINT16, 1, { 0 }, HVD_SUM, 0, 0, 0 },
      { "int16", "uint16" } },
    { "shapes of a reduce-scatter",
      { 4, HVD_FLOAT32, 2, { 8, 2 }, HVD_SUM, 0, 0, 0 },
      { 4, HVD_FLOAT32, 2, { 9, 2 }, HVD_SUM, 0, 0, 0 },
      { "[8, 2]", "[9, 2]" } },
    { "operations of a reduce-scatter",
      { 4, HVD_FLOAT32, 2, { 8, 2 }, HVD_SUM, 0, 0, 0 },
      { 4, HVD_FLOAT32, 2, { 8, 2 }, HVD_AVERAGE, 0, 0, 0 },
      { "sum", "average" } },
};

static int submit(const struct request *request, const char *name, int64_t *handle)
{
    static double input[ROOM], output[ROOM * 16];
    struct hvd_options options = { .prescale = request->prescale, .postscale = request->postscale };
    struct hvd_tensor tensor = { .name = name,
                                 .input = input,
                                 .output = output,
                                 .output_size = sizeof output,
                                 .dtype = request->dtype,
                                 .ndims = request->ndims,
                                 .dims = request->dims };
    switch (request->kind) {
    case 0:
        return hvd_allreduce_async(&tensor, request->op, &options, handle);
    case 1:
        return hvd_allgather_async(&tensor, &options, handle);
    case 2:
        return hvd_broadcast_async(&tensor, request->root, &options, handle);
    case 3:
        return hvd_alltoall_async(&tensor, NULL, 0, &options, handle);
    default:
        return hvd_reducescatter_async(&tensor, request->op, &options, handle);
    }
}

/* "rank 3" if it is named alone, whatever the numbers of the others are joined to. */
static void require_text(const char *what, const char *name, int odd_rank, const char *const *words)
{
    char rank[32];
    const char *text = hvd_last_error();
    snprintf(rank, sizeof rank, "rank %d", odd_rank);
    require(strstr(text, name), "%s: the text does not name '%s'", what, name);
    require(strstr(text, rank), "%s: the text does not name %s", what, rank);
    for (int i = 0; i < 2; i++)
        require(strstr(text, words[i]), "%s: the text does not say '%s'", what, words[i]);
}

static void check_row(size_t row, int odd_rank)
{
    char name[64];
    int64_t handle;
    const char *what = rows[row].what;
    snprintf(name, sizeof name, "errors.%zu", row);
    int rc = submit(my_rank == odd_rank ? &rows[row].odd : &rows[row].usual, name, &handle);
    require(rc == HVD_OK, "different %s are not seen by one rank alone: %s", what,
            hvd_strstatus(rc));
    rc = hvd_wait(handle);
    require(rc == HVD_ERR_MISMATCH, "different %s: %s", what, hvd_strstatus(rc));
    require_text(what, name, odd_rank, rows[row].words);
    require(hvd_wait(handle) == HVD_ERR_INVALID, "a handle that failed has ended");
}

/* After the mismatch, a collective of the same name on which all ranks agree must work. */
static void check_agreement(size_t row)
{
    char name[64];
    int64_t handle;
    snprintf(name, sizeof name, "errors.%zu", row);
    int rc = submit(&rows[row].usual, name, &handle);
    require(rc == HVD_OK, "agreed %s: %s", rows[row].what, hvd_strstatus(rc));
    finish(handle, NULL, rows[row].what);
    check_world_works(rows[row].what);
}

/* One rank's group has a tensor less, or a tensor of another shape: no member of it is reduced. */
static void check_group(int odd_rank, bool other_shape)
{
    float data[3][20] = { { 0 } };
    int64_t usual[] = { 20 }, other[] = { 19 }, handle;
    struct hvd_tensor tensors[3];
    static const char *const names[] = { "errors.a", "errors.b", "errors.c" };
    bool odd = my_rank == odd_rank;
    for (int i = 0; i < 3; i++)
        tensors[i] = (struct hvd_tensor){ .name = names[i],
                                          .input = data[i],
                                          .output = data[i],
                                          .dtype = HVD_FLOAT32,
                                          .ndims = 1,
                                          .dims = odd && other_shape && i == 1 ? other : usual };
    int count = odd && !other_shape ? 2 : 3;
    int rc = hvd_grouped_allreduce_async(tensors, count, HVD_SUM, NULL, &handle);
    require(rc == HVD_OK, "a group: %s", hvd_strstatus(rc));
    if (odd && !other_shape) { /* its third tensor comes alone */
        int64_t single;
        require(hvd_allreduce_async(&tensors[2], HVD_SUM, NULL, &single) == HVD_OK, "a tensor");
        rc = hvd_wait(single);
        require(rc == HVD_ERR_MISMATCH, "a tensor of a group: %s", hvd_strstatus(rc));
    }
    rc = hvd_wait(handle);
    require(rc == HVD_ERR_MISMATCH, "groups that differ: %s", hvd_strstatus(rc));
    require(strstr(hvd_last_error(), "errors."), "the text names a tensor");
    check_world_works("groups that differ");
}

/* The rank that differs is the root of the tree, a leaf, or a rank between. */
void test_errors(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    test_refused();
    for (size_t row = 0; row < LENGTH(rows) && world_size > 1; row++) {
        check_row(row, world_size - 1);
        check_agreement(row);
        check_row(row, 0);
        check_row(row, world_size / 2);
        check_agreement(row);
    }
    for (int odd = 0; odd < world_size && world_size > 1; odd++) {
        check_group(odd, true);
        check_group(odd, false);
    }
    check_world_works("every mismatch");
    require(hvd_shutdown() == HVD_OK, "hvd_shutdown");
    float one = 1;
    require(hvd_allreduce("late", &one, &one, 1, HVD_FLOAT32, HVD_SUM) == HVD_ERR_SHUT_DOWN,
            "an allreduce after hvd_shutdown");
    require(hvd_barrier() == HVD_ERR_SHUT_DOWN, "a barrier after hvd_shutdown");
    require(hvd_rank() == HVD_ERR_SHUT_DOWN, "hvd_rank after hvd_shutdown");
}
