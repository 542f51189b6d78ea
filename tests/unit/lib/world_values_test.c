/* SPDX-License-Identifier: Apache-2.0 */
/* What allreduce makes of NaN, infinities, subnormal numbers, both zeros and integers that
 * overflow: to the bit what the documented order gives (hvd_allreduce(3)), small and large. Of NaN
 * it only matters that it is one. And of bool, whose results are 0 or 1 for any number of ranks. */
#include "lib/hvd.h"
#include "tests/support/elements.h"
#include "tests/support/ranks.h"
#include "tests/support/reduce_reference.h"
#include "tests/support/unit.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, SMALL = 100, LARGE = 9001 };

/* Where larger tensors begin: with rank 0, or block r of them with rank r + 1. */
static const struct way {
    const char *transport, *algorithm;
    bool around;
} ways[] = {
    { "shm", "direct", false },
    { "tcp", "direct", false },
    { "shm", "ring", true },
    { "unix", "ring", true },
};
enum { WAYS = sizeof ways / sizeof *ways };
static const struct way *way;
static const size_t counts[] = { SMALL, LARGE };

static const double specials[] = { 0.0,     -0.0,     NAN,   INFINITY,     -INFINITY,
                                   1,       -1,       1e-5,  FLT_MIN / 4,  -FLT_MIN / 4,
                                   FLT_MAX, -FLT_MAX, 3e4,   FLT_TRUE_MIN, -6e-8,
                                   1.0 / 3, 1e38,     65504, DBL_TRUE_MIN, DBL_MAX };
enum { SPECIALS = sizeof specials / sizeof *specials };

static bool is_floating(enum hvd_dtype dtype)
{
    return dtype == HVD_FLOAT16 || dtype == HVD_FLOAT32 || dtype == HVD_FLOAT64 ||
           dtype == HVD_BFLOAT16;
}

/* Every pair of specials meets somewhere; integers are any bits. */
static void fill(enum hvd_dtype dtype, void *data, size_t count, int rank)
{
    uint64_t state = (uint64_t)rank + 1;
    for (size_t i = 0; i < count; i++) {
        size_t step = rank == 0 ? i : rank == 1 ? i / SPECIALS : i / 7;
        if (is_floating(dtype))
            element_put(dtype, data, i, specials[(step + (size_t)rank) % SPECIALS]);
    }
    if (!is_floating(dtype))
        for (size_t i = 0; i < count * hvd_dtype_size(dtype); i++)
            ((unsigned char *)data)[i] = (unsigned char)next_random(&state);
}

/* `count` elements from `at` on, combined beginning with rank `first`. */
static void combine(enum hvd_dtype dtype, enum hvd_op op, void *out, void *const *inputs, size_t at,
                    size_t count, int first)
{
    size_t skip = at * hvd_dtype_size(dtype);
    char *result = (char *)out + skip;
    memcpy(result, (char *)inputs[first] + skip, count * hvd_dtype_size(dtype));
    for (int i = 1; i < RANKS; i++) {
        enum hvd_op step = op == HVD_AVERAGE && i < RANKS - 1 ? HVD_SUM : op;
        reference_reduce(dtype, step, RANKS, result, result,
                         (char *)inputs[(first + i) % RANKS] + skip, count);
    }
}

/* Up to 4 KiB in order of rank. */
static void expect(enum hvd_dtype dtype, enum hvd_op op, void *out, size_t count)
{
    void *inputs[RANKS];
    bool around = way->around && count * hvd_dtype_size(dtype) > 4096;
    for (int rank = 0; rank < RANKS; rank++) {
        inputs[rank] = malloc(count * hvd_dtype_size(dtype));
        fill(dtype, inputs[rank], count, rank);
    }
    for (int block = 0; block < RANKS && around; block++) {
        size_t at = 0, share = (size_t)hvd_share((int64_t)count, RANKS, block);
        for (int before = 0; before < block; before++)
            at += (size_t)hvd_share((int64_t)count, RANKS, before);
        combine(dtype, op, out, inputs, at, share, (block + 1) % RANKS);
    }
    if (!around)
        combine(dtype, op, out, inputs, 0, count, 0);
    for (int rank = 0; rank < RANKS; rank++)
        free(inputs[rank]);
}

static bool is_same(enum hvd_dtype dtype, const void *a, const void *b, size_t i)
{
    size_t size = hvd_dtype_size(dtype);
    if (memcmp((const char *)a + i * size, (const char *)b + i * size, size) == 0)
        return true;
    return is_floating(dtype) && isnan(element_get(dtype, a, i)) && isnan(element_get(dtype, b, i));
}

static void check_reduction(enum hvd_dtype dtype, enum hvd_op op, size_t count)
{
    size_t nbytes = count * hvd_dtype_size(dtype);
    void *data = count == LARGE ? hvd_alloc(nbytes) : malloc(nbytes), *expected = malloc(nbytes);
    fill(dtype, data, count, hvd_rank());
    REQUIRE_STATUS(hvd_allreduce("values", data, data, count, dtype, op), HVD_OK);
    expect(dtype, op, expected, count);
    for (size_t i = 0; i < count; i++)
        REQUIRE(is_same(dtype, data, expected, i));
    count == LARGE ? hvd_free(data) : free(data);
    free(expected);
}

static int reduce_specials(int rank)
{
    (void)rank;
    setenv("HVD_TRANSPORT", way->transport, 1);
    setenv("HVD_ALGORITHM", way->algorithm, 1);
    setenv("HOROVOD_FUSION_THRESHOLD", "0", 1);
    init_world();
    for (int d = 0; d < REFERENCE_DTYPES; d++)
        for (int o = 0; o < REFERENCE_OPS; o++)
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
                if (reference_dtypes[d] != HVD_BOOL)
                    check_reduction(reference_dtypes[d], reference_ops[o], counts[c]);
    return leave_world();
}

/* F98 */
START_TEST(odd_values_are_combined_in_the_documented_order)
{
    way = &ways[_i];
    ranks_run(&(struct mini_options){ .size = RANKS }, reduce_specials);
}
END_TEST

/* ---- bool: any value but 0 is true, and what comes out is 0 or 1 ---- */

static const enum hvd_op bool_ops[] = { HVD_SUM, HVD_MIN, HVD_MAX, HVD_PRODUCT };
enum { BOOL_OPS = sizeof bool_ops / sizeof *bool_ops, BOOLS_MAX = 100000 };

/* The same on all ranks, so that every operation gives whether the input is not 0. */
static void fill_bools(unsigned char *data, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        data[i] = (unsigned char)(i % 3 == 0 ? 0 : i % 256);
}

static void require_bools(const unsigned char *data, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        REQUIRE(data[i] == (i % 3 != 0 && i % 256 != 0));
}

static struct hvd_tensor bools_of(const char *name, void *input, void *output, const int64_t *count)
{
    return (struct hvd_tensor){ .name = name,
                                .input = input,
                                .output = output,
                                .output_size = (size_t)*count,
                                .dtype = HVD_BOOL,
                                .ndims = 1,
                                .dims = count };
}

/* In place, and elsewhere, as a group of both. */
static void reduce_bools(int set, enum hvd_op op, int64_t count)
{
    static unsigned char input[BOOLS_MAX], output[BOOLS_MAX], in_place[BOOLS_MAX];
    struct hvd_options options = { .process_set = set };
    struct hvd_tensor tensors[] = { bools_of("bools", input, output, &count),
                                    bools_of("in place", in_place, in_place, &count) };
    int64_t handle, handles[2];
    for (int grouped = 0; grouped < 2; grouped++) {
        fill_bools(input, count);
        fill_bools(in_place, count);
        for (int i = 0; i < 2 && !grouped; i++)
            REQUIRE_STATUS(hvd_allreduce_async(&tensors[i], op, &options, &handles[i]), HVD_OK);
        if (grouped)
            REQUIRE_STATUS(hvd_grouped_allreduce_async(tensors, 2, op, &options, &handle), HVD_OK);
        for (int i = 0; i < 2 && !grouped; i++)
            REQUIRE_STATUS(hvd_wait(handles[i]), HVD_OK);
        if (grouped)
            REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
        require_bools(output, count);
        require_bools(in_place, count);
    }
}

/* Shares are multiples of 768 elements, so that each begins as the whole does. */
static void scatter_bools(int set, int64_t share)
{
    static unsigned char input[3 * BOOLS_MAX], output[BOOLS_MAX];
    struct hvd_options options = { .process_set = set };
    int64_t count = share * hvd_process_set_size(set);
    struct hvd_tensor tensor = bools_of("shares", input, output, &count);
    for (int i = 0; i < 2; i++) {
        tensor.output = i == 0 ? output : input;
        fill_bools(input, count);
        REQUIRE_STATUS(hvd_grouped_reducescatter(&tensor, 1, HVD_SUM, &options), HVD_OK);
        require_bools(tensor.output, share);
    }
}

static void check_bools(int set)
{
    static const int64_t bool_counts[] = { 1, 7, 9000, BOOLS_MAX };
    for (int o = 0; o < BOOL_OPS; o++)
        for (size_t c = 0; c < sizeof bool_counts / sizeof *bool_counts; c++)
            reduce_bools(set, bool_ops[o], bool_counts[c]);
    scatter_bools(set, 768);
    scatter_bools(set, 768 * 100);
}

/* In the world, and, if that has others, in a set of this rank alone. */
static int reduce_all_bools(int rank)
{
    init_world();
    check_bools(0);
    for (int alone = 0; alone < hvd_size() && hvd_size() > 1; alone++) {
        int set = hvd_add_process_set(&alone, 1);
        REQUIRE(set > 0);
        if (alone == rank)
            check_bools(set);
    }
    return leave_world();
}

START_TEST(a_reduction_of_bool_gives_0_or_1_for_any_number_of_ranks)
{
    ranks_run(&(struct mini_options){ .size = _i }, reduce_all_bools);
}
END_TEST

/* The zeros of the ranks that have joined are no part of what is reduced with the agreement. */
static int reduce_alone(int rank)
{
    unsigned char sums[] = { 7, 0, 1 }, products[] = { 7, 0, 1 };
    init_world();
    if (rank == 0) {
        REQUIRE_STATUS(hvd_allreduce("or", sums, sums, 3, HVD_BOOL, HVD_SUM), HVD_OK);
        REQUIRE_STATUS(hvd_allreduce("and", products, products, 3, HVD_BOOL, HVD_PRODUCT), HVD_OK);
        REQUIRE(sums[0] == 1 && sums[1] == 0 && sums[2] == 1);
        REQUIRE(products[0] == 0 && products[1] == 0 && products[2] == 0);
    }
    REQUIRE_STATUS(hvd_join(NULL), HVD_OK);
    return leave_world();
}

START_TEST(a_bool_of_the_only_rank_that_has_not_joined_becomes_0_or_1)
{
    ranks_run(&(struct mini_options){ .size = 2 }, reduce_alone);
}
END_TEST

/* In each round one rank joins at once, and the others submit tensors without a name before. */
static int reduce_nameless_after_join(int rank)
{
    init_world();
    for (int round = 0; round < 3; round++) {
        float data[2] = { 1, 2 }, gathered[6];
        if (rank != round) {
            REQUIRE(hvd_allgather(NULL, data, gathered, 2, HVD_FLOAT32) < 0);
            REQUIRE_STATUS(hvd_allreduce(NULL, data, data, 2, HVD_FLOAT32, HVD_SUM), HVD_OK);
            REQUIRE(data[0] == 2 && data[1] == 4);
        }
        REQUIRE_STATUS(hvd_join(NULL), HVD_OK);
        float sum = 1;
        REQUIRE_STATUS(hvd_allreduce(NULL, &sum, &sum, 1, HVD_FLOAT32, HVD_SUM), HVD_OK);
        REQUIRE(sum == 3);
    }
    return leave_world();
}

START_TEST(tensors_without_a_name_are_counted_anew_after_a_join)
{
    ranks_run(&(struct mini_options){ .size = 3 }, reduce_nameless_after_join);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_values");
    TCase *tcase = tcase_create("world_values");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, odd_values_are_combined_in_the_documented_order, 0, WAYS);
    tcase_add_loop_test(tcase, a_reduction_of_bool_gives_0_or_1_for_any_number_of_ranks, 1, 4);
    tcase_add_test(tcase, a_bool_of_the_only_rank_that_has_not_joined_becomes_0_or_1);
    tcase_add_test(tcase, tensors_without_a_name_are_counted_anew_after_a_join);
    return unit_run(suite);
}
