/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes: allgather and reduce-scatter of unequal parts, alltoall with splits, groups, and tensors
 * of one to three dimensions of 17. The values are those of Horovod's own tests where it has
 * such. */
#include "tests/support/collectives.h"
#include "tests/support/elements.h"
#include "tests/support/reduce_reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW = 3 }; /* elements in a row of a tensor of two dimensions */

static void put_all(enum hvd_dtype dtype, void *data, size_t count, double value)
{
    for (size_t i = 0; i < count; i++)
        element_put(dtype, data, i, value);
}

static void require_all(enum hvd_dtype dtype, const void *data, size_t count, double value,
                        const char *what)
{
    for (size_t i = 0; i < count; i++) {
        double got = element_get(dtype, data, i);
        require(got == value, "%s of %s: element %zu of %zu is %g, not %g", what, type_name(dtype),
                i, count, got, value);
    }
}

/* Values that fit in every type. */
static double mark(int rank, enum hvd_dtype dtype)
{
    return dtype == HVD_BOOL ? rank % 2 : rank + 1;
}

static int64_t rows_of(int rank, int variant)
{
    return variant == 0 ? rank + 1 : variant == 1 ? (rank * 2 + 1) % 3 : rank == 1 ? 5 : 0;
}

/* As `gathered`: rows of each rank, in order. */
static void check_gathered(const struct hvd_result *gathered, enum hvd_dtype dtype, int variant)
{
    size_t row_size = ROW * hvd_dtype_size(dtype);
    const unsigned char *at = gathered->data;
    int64_t total = 0;
    require(gathered->nrows == world_size, "allgather tells rows of %d ranks", gathered->nrows);
    for (int rank = 0; rank < world_size; rank++) {
        int64_t rows = rows_of(rank, variant);
        require(gathered->rows[rank] == rows, "allgather: %lld rows of rank %d, not %lld",
                (long long)gathered->rows[rank], rank, (long long)rows);
        require_all(dtype, at, (size_t)rows * ROW, mark(rank, dtype), "allgather");
        at += (size_t)rows * row_size;
        total += rows;
    }
    require(gathered->dim0 == total && gathered->size == (size_t)total * row_size,
            "allgather: %lld rows in %zu bytes, not %lld", (long long)gathered->dim0,
            gathered->size, (long long)total);
}

static void check_allgather(enum hvd_dtype dtype, int variant, bool own_memory)
{
    enum { ROWS_MAX = 64 };
    unsigned char input[ROWS_MAX * ROW * 8], output[ROWS_MAX * ROW * 8];
    int64_t dims[] = { rows_of(my_rank, variant), ROW }, handle;
    struct hvd_tensor tensor = { .name = "shapes.allgather",
                                 .input = input,
                                 .output = own_memory ? output : NULL,
                                 .output_size = sizeof output,
                                 .dtype = dtype,
                                 .ndims = 2,
                                 .dims = dims };
    struct hvd_result result;
    put_all(dtype, input, (size_t)dims[0] * ROW, mark(my_rank, dtype));
    int rc = hvd_allgather_async(&tensor, NULL, &handle);
    require(rc == HVD_OK, "allgather: %s", hvd_strstatus(rc));
    finish(handle, &result, "allgather");
    require(!own_memory || result.data == output, "allgather left the given output");
    check_gathered(&result, dtype, variant);
    hvd_result_free(&result);
}

static void check_grouped_allgather(void)
{
    enum { GROUP = 3 };
    float data[GROUP][64 * ROW];
    int64_t dims[GROUP][2], handle;
    struct hvd_tensor tensors[GROUP];
    struct hvd_result results[GROUP];
    static const char *const names[] = { "group.a", "group.b", "group.c" };
    for (int i = 0; i < GROUP; i++) {
        dims[i][0] = rows_of(my_rank, i);
        dims[i][1] = ROW;
        put_all(HVD_FLOAT32, data[i], (size_t)dims[i][0] * ROW, mark(my_rank, HVD_FLOAT32));
        tensors[i] = (struct hvd_tensor){
            .name = names[i], .input = data[i], .dtype = HVD_FLOAT32, .ndims = 2, .dims = dims[i]
        };
    }
    int rc = hvd_grouped_allgather_async(tensors, GROUP, NULL, &handle);
    require(rc == HVD_OK, "grouped allgather: %s", hvd_strstatus(rc));
    finish(handle, results, "grouped allgather");
    for (int i = 0; i < GROUP; i++) {
        check_gathered(&results[i], HVD_FLOAT32, i);
        hvd_result_free(&results[i]);
    }
}

/* Rank r sends the value i, r + 1 times, to each rank i; every rank receives its own number, rank
 * r's r + 1 times. */
static void check_alltoall(enum hvd_dtype dtype)
{
    size_t own = (size_t)my_rank + 1, size = hvd_dtype_size(dtype);
    size_t count = own * (size_t)world_size, total = 0;
    unsigned char *input = room(count * size);
    int64_t *splits = room((size_t)world_size * sizeof *splits), dims[] = { (int64_t)count },
            handle;
    for (size_t i = 0; i < (size_t)world_size; i++) {
        splits[i] = (int64_t)own;
        put_all(dtype, input + i * own * size, own, mark((int)i, dtype));
    }
    struct hvd_tensor tensor = {
        .name = "shapes.alltoall", .input = input, .dtype = dtype, .ndims = 1, .dims = dims
    };
    struct hvd_result result;
    int rc = hvd_alltoall_async(&tensor, splits, world_size, NULL, &handle);
    require(rc == HVD_OK, "alltoall: %s", hvd_strstatus(rc));
    finish(handle, &result, "alltoall");
    require(result.nrows == world_size, "alltoall tells rows of %d ranks", result.nrows);
    for (int rank = 0; rank < world_size; total += (size_t)++rank)
        require(result.rows[rank] == rank + 1, "alltoall: %lld rows from rank %d",
                (long long)result.rows[rank], rank);
    require(result.dim0 == (int64_t)total && result.size == total * size,
            "alltoall: %lld rows, not %zu", (long long)result.dim0, total);
    require_all(dtype, result.data, total, mark(my_rank, dtype), "alltoall");
    hvd_result_free(&result);
    free(splits);
    free(input);
}

/* Rank r sends r rows to rank 0 and nothing to the others, or nothing at all; two more are left. */
static void check_zero_splits(bool nothing, bool own_memory)
{
    int32_t input[64 * ROW], output[64 * 64];
    int64_t splits[64] = { nothing ? 0 : my_rank }, dims[] = { my_rank + 2, ROW }, handle;
    int64_t expected = nothing || my_rank != 0 ? 0 : (int64_t)world_size * (world_size - 1) / 2;
    struct hvd_tensor tensor = { .name = "shapes.zero",
                                 .input = input,
                                 .output = own_memory ? output : NULL,
                                 .output_size = sizeof output,
                                 .dtype = HVD_INT32,
                                 .ndims = 2,
                                 .dims = dims };
    struct hvd_result result;
    put_all(HVD_INT32, input, (size_t)dims[0] * ROW, my_rank);
    int rc = hvd_alltoall_async(&tensor, splits, world_size, NULL, &handle);
    require(rc == HVD_OK, "alltoall of nothing: %s", hvd_strstatus(rc));
    finish(handle, &result, "alltoall of nothing");
    require(result.dim0 == expected, "alltoall of nothing: %lld rows", (long long)result.dim0);
    const int32_t *at = result.data;
    for (int rank = 0; rank < world_size && my_rank == 0 && !nothing; at += rank++ * ROW)
        require_all(HVD_INT32, at, (size_t)rank * ROW, rank, "alltoall to one rank");
    hvd_result_free(&result);
}

/* Without splits everybody gets the same share. */
static void check_equal_splits(void)
{
    int16_t input[64 * 2 * ROW];
    int64_t dims[] = { 2 * world_size, ROW }, handle;
    struct hvd_tensor tensor = {
        .name = "shapes.equal", .input = input, .dtype = HVD_INT16, .ndims = 2, .dims = dims
    };
    struct hvd_result result;
    put_all(HVD_INT16, input, (size_t)dims[0] * ROW, my_rank);
    int rc = hvd_alltoall_async(&tensor, NULL, 0, NULL, &handle);
    require(rc == HVD_OK, "alltoall without splits: %s", hvd_strstatus(rc));
    finish(handle, &result, "alltoall without splits");
    require(result.dim0 == 2 * world_size, "alltoall without splits");
    for (int rank = 0; rank < world_size; rank++)
        require_all(HVD_INT16, (int16_t *)result.data + (size_t)rank * 2 * ROW, 2 * ROW, rank,
                    "alltoall without splits");
    hvd_result_free(&result);
}

/* The rule for shares: the first ranks have one more. */
static int64_t first_row(int64_t rows, int rank)
{
    int64_t more = rows % world_size;
    return rows / world_size * rank + (rank < more ? rank : more);
}

/* Element i of a rank is i + rank, so that sums are size * i + size (size - 1) / 2. */
static void check_share(const float *share, int64_t rows, enum hvd_op op, const char *what)
{
    int64_t first = first_row(rows, my_rank), end = first_row(rows, my_rank + 1);
    require(hvd_share(rows, world_size, my_rank) == end - first, "hvd_share(%lld, %d, %d)",
            (long long)rows, world_size, my_rank);
    for (int64_t i = 0; i < (end - first) * ROW; i++) {
        float sum = (float)(world_size * (first * ROW + i) + world_size * (world_size - 1) / 2);
        float want = op == HVD_AVERAGE ? sum / (float)world_size : sum;
        require(share[i] == want, "%s of %lld rows: element %lld is %g, not %g", what,
                (long long)rows, (long long)i, (double)share[i], (double)want);
    }
}

static void check_reducescatter(int64_t rows, enum hvd_op op, bool in_place)
{
    float *input = room((size_t)rows * ROW * sizeof *input),
          *separate = room((size_t)(rows / world_size + 1) * ROW * sizeof *separate);
    int64_t dims[] = { rows, ROW }, handle, share = first_row(rows, my_rank + 1);
    share -= first_row(rows, my_rank);
    struct hvd_tensor tensor = { .name = "shapes.reducescatter",
                                 .input = input,
                                 .output = in_place ? input : separate,
                                 .output_size = (size_t)share * ROW * sizeof *input,
                                 .dtype = HVD_FLOAT32,
                                 .ndims = 2,
                                 .dims = dims };
    struct hvd_result result;
    if (in_place)
        tensor.output_size = (size_t)rows * ROW * sizeof *input;
    for (int64_t i = 0; i < rows * ROW; i++)
        input[i] = (float)(i + my_rank);
    int rc = hvd_reducescatter_async(&tensor, op, NULL, &handle);
    require(rc == HVD_OK, "reduce-scatter of %lld rows: %s", (long long)rows, hvd_strstatus(rc));
    finish(handle, &result, "reduce-scatter");
    require(result.dim0 == share, "reduce-scatter of %lld rows gave %lld, not %lld",
            (long long)rows, (long long)result.dim0, (long long)share);
    check_share(tensor.output, rows, op, "reduce-scatter");
    hvd_result_free(&result);
    free(input);
    free(separate);
}

static void check_grouped_reducescatter(void)
{
    enum { GROUP = 3, ROWS_MAX = 40 };
    float data[GROUP][ROWS_MAX * ROW], shares[GROUP][ROWS_MAX * ROW];
    int64_t dims[GROUP][2], handle;
    struct hvd_tensor tensors[GROUP];
    static const char *const names[] = { "group.x", "group.y", "group.z" };
    for (int i = 0; i < GROUP; i++) {
        dims[i][0] = i * world_size + i;
        dims[i][1] = ROW;
        for (int64_t k = 0; k < dims[i][0] * ROW; k++)
            data[i][k] = (float)(k + my_rank);
        tensors[i] = (struct hvd_tensor){ .name = names[i],
                                          .input = data[i],
                                          .output = shares[i],
                                          .output_size = sizeof shares[i],
                                          .dtype = HVD_FLOAT32,
                                          .ndims = 2,
                                          .dims = dims[i] };
    }
    int rc = hvd_grouped_reducescatter_async(tensors, GROUP, HVD_SUM, NULL, &handle);
    require(rc == HVD_OK, "grouped reduce-scatter: %s", hvd_strstatus(rc));
    finish(handle, NULL, "grouped reduce-scatter");
    for (int i = 0; i < GROUP; i++)
        check_share(shares[i], dims[i][0], HVD_SUM, "grouped reduce-scatter");
}

/* Whole numbers from -100 to 99, the same on all ranks. */
static void fill_cube(enum hvd_dtype dtype, void *data, size_t count)
{
    uint64_t state = 1234;
    for (size_t i = 0; i < count; i++)
        element_put(dtype, data, i, (double)random_less_than(&state, 200) - 100);
}

static const int64_t cube[] = { 17, 17, 17 };

static size_t cube_count(int ndims)
{
    return ndims == 0 ? 1 : ndims == 1 ? 17 : ndims == 2 ? 289 : 4913;
}

/* The same tensor on every rank: the sum is the tensor times the size. */
static void check_cube(enum hvd_dtype dtype, int ndims)
{
    size_t count = cube_count(ndims), nbytes = count * hvd_dtype_size(dtype);
    unsigned char *input = room(nbytes), *output = room(nbytes);
    struct hvd_tensor tensor = { .name = "shapes.cube",
                                 .input = input,
                                 .output = output,
                                 .dtype = dtype,
                                 .ndims = ndims,
                                 .dims = cube };
    int64_t handle;
    fill_cube(dtype, input, count);
    int rc = hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle);
    require(rc == HVD_OK, "allreduce of %d dimensions: %s", ndims, hvd_strstatus(rc));
    finish(handle, NULL, "allreduce of a cube");
    for (size_t i = 0; i < count; i++)
        require(element_get(dtype, output, i) == element_get(dtype, input, i) * world_size,
                "sum of %d dimensions of %s: element %zu is %g", ndims, type_name(dtype), i,
                element_get(dtype, output, i));
    free(input);
    free(output);
}

/* Tensors of every size and type in one group. */
static void check_grouped_allreduce(int count)
{
    enum { GROUP = 12 };
    static const enum hvd_dtype dtypes[] = { HVD_FLOAT32, HVD_FLOAT64, HVD_INT32, HVD_FLOAT16 };
    unsigned char data[GROUP][4913 * 8];
    struct hvd_tensor tensors[GROUP] = { { 0 } };
    char names[GROUP][64];
    int64_t handle;
    for (int i = 0; i < count; i++) {
        enum hvd_dtype dtype = dtypes[i % 4];
        snprintf(names[i], sizeof names[i], "shapes.group.%dof%d", i, count);
        put_all(dtype, data[i], cube_count(i % 4), i + my_rank);
        tensors[i] = (struct hvd_tensor){ .name = names[i],
                                          .input = data[i],
                                          .output = data[i],
                                          .dtype = dtype,
                                          .ndims = i % 4,
                                          .dims = cube };
    }
    int rc = hvd_grouped_allreduce_async(tensors, count, HVD_AVERAGE, NULL, &handle);
    require(rc == HVD_OK, "grouped allreduce of %d: %s", count, hvd_strstatus(rc));
    finish(handle, NULL, "grouped allreduce");
    for (int i = 0; i < count; i++) {
        double sum = i * world_size + world_size * (world_size - 1) / 2.0;
        unsigned char want[8];
        bool is_integer = dtypes[i % 4] == HVD_INT32;
        double average = dtypes[i % 4] == HVD_FLOAT64 ? sum / world_size
                                                      : (double)((float)sum / (float)world_size);
        element_put(dtypes[i % 4], want, 0, is_integer ? trunc(sum / world_size) : average);
        require_all(dtypes[i % 4], data[i], cube_count(i % 4), element_get(dtypes[i % 4], want, 0),
                    "grouped allreduce");
    }
}

static void check_all_reducescatters(void)
{
    for (int64_t rows = 0; rows <= 2 * world_size + 1; rows++)
        for (int in_place = 0; in_place < 2; in_place++) {
            check_reducescatter(rows, HVD_SUM, in_place);
            check_reducescatter(rows, HVD_AVERAGE, in_place);
        }
    check_reducescatter(10007, HVD_SUM, false);
    check_reducescatter(10007, HVD_SUM, true);
    check_grouped_reducescatter();
}

void test_shapes(int argc, char **argv)
{
    static const enum hvd_dtype cubes[] = { HVD_INT32, HVD_INT64, HVD_FLOAT16, HVD_FLOAT32,
                                            HVD_FLOAT64 };
    (void)argc;
    (void)argv;
    join_world();
    for (int d = 0; d < REFERENCE_DTYPES; d++) {
        for (int variant = 0; variant < 3; variant++) {
            check_allgather(reference_dtypes[d], variant, false);
            check_allgather(reference_dtypes[d], variant, true);
        }
        check_alltoall(reference_dtypes[d]);
    }
    check_grouped_allgather();
    for (int i = 0; i < 4; i++)
        check_zero_splits(i & 1, i & 2);
    check_equal_splits();
    check_all_reducescatters();
    for (size_t d = 0; d < LENGTH(cubes); d++)
        for (int ndims = 0; ndims <= 3; ndims++)
            check_cube(cubes[d], ndims);
    check_grouped_allreduce(1);
    check_grouped_allreduce(2);
    check_grouped_allreduce(12);
}
