/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives made of exchanges, direct, doubling and allreduce by tree, of several ranks in one
 * thread, against a plain reference in the order that each promises. How bytes move is random; the
 * seed is printed. */
#include "lib/collective/allreduce_tree.h"
#include "lib/collective/direct.h"
#include "lib/collective/doubling.h"
#include "lib/collective/piece.h"
#include "lib/collective/ring_schedule.h"
#include "lib/memory/copy.h"
#include "tests/support/elements.h"
#include "tests/support/operation_net.h"
#include "tests/support/reduce_reference.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SIZE_LEAST = 2, SIZE_MOST = 9, LARGE = 900011 };

static uint64_t seed;
static struct operation_net net;

static void setup(void)
{
    operation_net_init(&net, seed);
}

static void teardown(void)
{
    operation_net_fini(&net);
}

/* How this run moves bytes: a few at a time, or many. */
static void choose_pace(size_t nbytes)
{
    static const size_t paces[] = { 1, 5, 64, 3000, 100000, 1000000 };
    size_t first = nbytes > 100000 ? 4 : nbytes > 1000 ? 2 : 0;
    net.step = paces[first + random_less_than(&net.random, sizeof paces / sizeof *paces - first)];
}

/* Memory of exactly so many bytes, so that a step beyond is seen. */
static unsigned char *random_bytes(size_t nbytes)
{
    unsigned char *data = malloc(nbytes);
    for (size_t i = 0; i < nbytes; i++)
        data[i] = (unsigned char)next_random(&net.random);
    return data;
}

static unsigned char *copy_of(const unsigned char *data, size_t nbytes)
{
    unsigned char *copy = malloc(nbytes);
    if (nbytes > 0)
        memcpy(copy, data, nbytes);
    return copy;
}

struct reduction {
    int size;
    enum hvd_dtype dtype;
    enum hvd_op op;
    size_t count, nbytes;
    size_t piece; /* as in struct operation_task */
    unsigned char *inputs[SIZE_MOST], *expected;
};

/* out = left op right; only the last is divided. */
static void combine(const struct reduction *reduction, unsigned char *out,
                    const unsigned char *left, const unsigned char *right, bool last)
{
    enum hvd_op op = reduction->op == HVD_AVERAGE && !last ? HVD_SUM : reduction->op;
    reference_reduce(reduction->dtype, op, reduction->size, out, left, right, reduction->count);
}

/* ((0 + 1) + 2) + 3 */
static void expect_in_order_of_rank(struct reduction *reduction)
{
    reduction->expected = copy_of(reduction->inputs[0], reduction->nbytes);
    for (int rank = 1; rank < reduction->size; rank++)
        combine(reduction, reduction->expected, reduction->expected, reduction->inputs[rank],
                rank == reduction->size - 1);
}

/* The block of `places` places from the rank `*rank` on, which goes to the one behind it: the first
 * ranks come in twos if there are more than places. */
static unsigned char *expect_block(const struct reduction *reduction, int places, int *rank,
                                   int *extras, bool last)
{
    unsigned char *left, *right;
    if (places > 1) {
        left = expect_block(reduction, places / 2, rank, extras, false);
        right = expect_block(reduction, places / 2, rank, extras, false);
    } else {
        left = copy_of(reduction->inputs[(*rank)++], reduction->nbytes);
        if (*extras == 0)
            return left;
        right = copy_of(reduction->inputs[(*rank)++], reduction->nbytes);
        (*extras)--;
    }
    combine(reduction, left, left, right, last);
    free(right);
    return left;
}

/* ((0 + 1) + (2 + 3)) + ((4 + 5) + 6) */
static void expect_in_blocks(struct reduction *reduction)
{
    int places = 1, rank = 0;
    while (2 * places <= reduction->size)
        places *= 2;
    int extras = reduction->size - places;
    reduction->expected = expect_block(reduction, places, &rank, &extras, true);
}

/* The sum of the ranks below the end of `rank`'s range, in which its children come in order. */
static unsigned char *expect_range(const struct reduction *reduction, int rank, int end)
{
    unsigned char *sum = copy_of(reduction->inputs[rank], reduction->nbytes);
    for (int step = 1; rank + step < end; step *= 2) {
        int child = rank + step, child_end = rank + 2 * step < end ? rank + 2 * step : end;
        unsigned char *below = expect_range(reduction, child, child_end);
        combine(reduction, sum, sum, below, rank == 0 && child_end == reduction->size);
        free(below);
    }
    return sum;
}

/* ((0 + 1) + (2 + 3)) + (4 + 5) */
static void expect_up_the_tree(struct reduction *reduction)
{
    reduction->expected = expect_range(reduction, 0, reduction->size);
}

static const struct algorithm_case {
    const char *name;
    operation_start_fn *start;
    void (*expect)(struct reduction *reduction);
} algorithms[] = {
    { "direct", allreduce_direct_start, expect_in_order_of_rank },
    { "recursive-doubling", allreduce_recursive_doubling_start, expect_in_blocks },
    { "halving-doubling", allreduce_halving_doubling_start, expect_in_blocks },
    { "tree", allreduce_tree_start, expect_up_the_tree },
};
enum { ALGORITHM_CASES = sizeof algorithms / sizeof *algorithms };

static void reduction_init(struct reduction *reduction, int size, enum hvd_dtype dtype,
                           enum hvd_op op, size_t count)
{
    *reduction = (struct reduction){ .size = size, .dtype = dtype, .op = op, .count = count };
    reduction->nbytes = count * dtype_size((int)dtype);
    for (int rank = 0; rank < size; rank++)
        reduction->inputs[rank] = random_bytes(reduction->nbytes);
}

static void reduction_fini(struct reduction *reduction)
{
    for (int rank = 0; rank < reduction->size; rank++)
        free(reduction->inputs[rank]);
    free(reduction->expected);
}

static void check_bytes(const void *data, const void *expected, size_t nbytes, const char *what,
                        int rank)
{
    if (nbytes > 0 && memcmp(data, expected, nbytes) != 0)
        ck_abort_msg("%s: the output of rank %d of %d is wrong", what, rank, net.size);
}

static void check_allreduce(const struct algorithm_case *algorithm,
                            const struct reduction *reduction, bool in_place)
{
    unsigned char *inputs[SIZE_MOST], *outputs[SIZE_MOST];
    size_t nbytes = reduction->nbytes;
    for (int rank = 0; rank < reduction->size; rank++) {
        inputs[rank] = copy_of(reduction->inputs[rank], nbytes);
        outputs[rank] = in_place ? inputs[rank] : random_bytes(nbytes);
        net.tasks[rank] = (struct operation_task){ .kind = OPERATION_ALLREDUCE,
                                                   .dtype = reduction->dtype,
                                                   .op = reduction->op,
                                                   .input = inputs[rank],
                                                   .output = outputs[rank],
                                                   .count = reduction->count,
                                                   .piece = reduction->piece };
    }
    choose_pace(nbytes);
    operation_net_run(&net, reduction->size, algorithm->start);
    for (int rank = 0; rank < reduction->size; rank++) {
        check_bytes(outputs[rank], reduction->expected, nbytes, algorithm->name, rank);
        if (!in_place) {
            check_bytes(inputs[rank], reduction->inputs[rank], nbytes, "input", rank);
            free(outputs[rank]);
        }
        free(inputs[rank]);
    }
}

static void check_reduction(const struct algorithm_case *algorithm, int size, enum hvd_dtype dtype,
                            enum hvd_op op, size_t count)
{
    struct reduction reduction;
    if (dtype == HVD_BOOL && op == HVD_AVERAGE)
        return;
    reduction_init(&reduction, size, dtype, op, count);
    algorithm->expect(&reduction);
    for (int in_place = 0; in_place < 2; in_place++)
        check_allreduce(algorithm, &reduction, in_place);
    reduction_fini(&reduction);
}

START_TEST(every_size_and_count_is_right_to_the_bit)
{
    const struct algorithm_case *algorithm = &algorithms[_i];
    for (int size = SIZE_LEAST; size <= SIZE_MOST; size++) {
        const size_t counts[] = { 0,   1,    (size_t)size - 1,   (size_t)size, (size_t)size + 1,
                                  289, 4099, 4096 * (size_t)size };
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            check_reduction(algorithm, size, c % 2 ? HVD_FLOAT32 : HVD_BFLOAT16,
                            c % 4 < 2 ? HVD_SUM : HVD_AVERAGE, counts[c]);
    }
}
END_TEST

START_TEST(every_type_and_operation_is_right_to_the_bit)
{
    for (int i = 0; i < REFERENCE_DTYPES * REFERENCE_OPS; i++) {
        int size = SIZE_LEAST + i % (SIZE_MOST - SIZE_LEAST + 1);
        check_reduction(&algorithms[_i], size, reference_dtypes[i % REFERENCE_DTYPES],
                        reference_ops[i / REFERENCE_DTYPES], 61);
    }
}
END_TEST

START_TEST(large_vectors_are_right_to_the_bit)
{
    check_reduction(&algorithms[_i], 2, HVD_FLOAT32, HVD_AVERAGE, LARGE);
    check_reduction(&algorithms[_i], 3, HVD_FLOAT16, HVD_SUM, LARGE);
}
END_TEST

START_TEST(pieces_of_any_size_give_the_same_bits)
{
    for (int size = 2; size <= 4; size++) {
        struct reduction reduction;
        reduction_init(&reduction, size, HVD_BFLOAT16, HVD_SUM, LARGE);
        expect_in_order_of_rank(&reduction);
        for (reduction.piece = PIECE_LEAST; reduction.piece <= PIECE_MOST; reduction.piece *= 2)
            check_allreduce(&algorithms[0], &reduction, size % 2);
        reduction_fini(&reduction);
    }
}
END_TEST

START_TEST(all_algorithms_give_the_same_bits)
{
    struct reduction reduction;
    reduction_init(&reduction, 7, HVD_FLOAT64, HVD_SUM, 101);
    algorithms[_i].expect(&reduction);
    for (int i = 0; i < 60; i++)
        check_allreduce(&algorithms[_i], &reduction, i % 2);
    ck_assert_uint_gt(net.used_in_place, 0);
    ck_assert_uint_gt(net.copied, 0);
    reduction_fini(&reduction);
}
END_TEST

/* Rows are not cut; the result is that of rank r's rows. */
static void check_reduce_scatter(int size, size_t rows, size_t row, bool in_place)
{
    struct reduction reduction;
    unsigned char *inputs[SIZE_MOST], *outputs[SIZE_MOST];
    size_t row_size = row * sizeof(float);
    reduction_init(&reduction, size, HVD_FLOAT32, HVD_AVERAGE, rows * row);
    expect_in_order_of_rank(&reduction);
    for (int rank = 0; rank < size; rank++) {
        inputs[rank] = copy_of(reduction.inputs[rank], reduction.nbytes);
        outputs[rank] =
            in_place ? inputs[rank] : random_bytes(chunk_count(rows, size, rank) * row_size);
        net.tasks[rank] = (struct operation_task){ .kind = OPERATION_REDUCESCATTER,
                                                   .dtype = HVD_FLOAT32,
                                                   .op = HVD_AVERAGE,
                                                   .input = inputs[rank],
                                                   .output = outputs[rank],
                                                   .rows = (int64_t)rows,
                                                   .row_count = row };
    }
    choose_pace(reduction.nbytes);
    operation_net_run(&net, size, reduce_scatter_direct_start);
    for (int rank = 0; rank < size; rank++) {
        check_bytes(outputs[rank], reduction.expected + chunk_start(rows, size, rank) * row_size,
                    chunk_count(rows, size, rank) * row_size, "reduce-scatter", rank);
        if (!in_place) {
            check_bytes(inputs[rank], reduction.inputs[rank], reduction.nbytes, "input", rank);
            free(outputs[rank]);
        }
        free(inputs[rank]);
    }
    reduction_fini(&reduction);
}

START_TEST(reduce_scatter_gives_every_rank_its_rows)
{
    static const size_t rows[] = { 0, 1, 2, 7, 8, 9, 100 }, widths[] = { 0, 1, 3, 50 };
    for (int size = SIZE_LEAST; size <= SIZE_MOST; size++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
                check_reduce_scatter(size, rows[r], widths[w], _i);
}
END_TEST

/* Rows of a rank: `most` of the last one, fewer of those before, none of some. */
static void check_allgather(int size, int64_t most, size_t row, bool in_place)
{
    size_t row_size = row * sizeof(int64_t), starts[SIZE_MOST + 1] = { 0 };
    int64_t splits[SIZE_MOST];
    unsigned char *outputs[SIZE_MOST], *inputs[SIZE_MOST];
    for (int rank = 0; rank < size; rank++) {
        splits[rank] = rank % 3 == 1 ? 0 : most * (rank + 1) / size;
        starts[rank + 1] = starts[rank] + (size_t)splits[rank] * row_size;
    }
    unsigned char *expected = random_bytes(starts[size]);
    for (int rank = 0; rank < size; rank++) {
        size_t own = starts[rank + 1] - starts[rank];
        outputs[rank] = random_bytes(starts[size]);
        inputs[rank] = in_place ? outputs[rank] + starts[rank] : malloc(own);
        memcpy(inputs[rank], expected + starts[rank], own);
        net.tasks[rank] = (struct operation_task){ .kind = OPERATION_ALLGATHER,
                                                   .dtype = HVD_INT64,
                                                   .input = inputs[rank],
                                                   .output = outputs[rank],
                                                   .row_count = row,
                                                   .splits = splits };
    }
    choose_pace(starts[size]);
    operation_net_run(&net, size, allgather_direct_start);
    for (int rank = 0; rank < size; rank++) {
        check_bytes(outputs[rank], expected, starts[size], "allgather", rank);
        if (!in_place)
            free(inputs[rank]);
        free(outputs[rank]);
    }
    free(expected);
}

START_TEST(allgather_puts_rows_in_order_of_rank)
{
    static const int64_t rows[] = { 0, 1, 3, 500 };
    for (int size = SIZE_LEAST; size <= SIZE_MOST; size++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            for (size_t width = 0; width < 3; width++)
                check_allgather(size, rows[r], width, _i);
}
END_TEST

/* The last rank's bypass the caches, and are sent from the input. */
START_TEST(allgather_puts_many_own_rows_where_they_belong)
{
    check_allgather(3, COPY_RESULT_STREAMED / sizeof(int64_t) + 1, 1, _i);
}
END_TEST

static void choose_seed(void)
{
    const char *given = getenv("EXCHANGE_TEST_SEED");
    seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    printf("# EXCHANGE_TEST_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
}

int main(void)
{
    choose_seed();
    Suite *suite = suite_create("exchange");
    TCase *tcase = tcase_create("exchange");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, every_size_and_count_is_right_to_the_bit, 0, ALGORITHM_CASES);
    tcase_add_loop_test(tcase, every_type_and_operation_is_right_to_the_bit, 0, ALGORITHM_CASES);
    tcase_add_loop_test(tcase, large_vectors_are_right_to_the_bit, 0, ALGORITHM_CASES);
    tcase_add_test(tcase, pieces_of_any_size_give_the_same_bits);
    tcase_add_loop_test(tcase, all_algorithms_give_the_same_bits, 0, ALGORITHM_CASES);
    tcase_add_loop_test(tcase, reduce_scatter_gives_every_rank_its_rows, 0, 2);
    tcase_add_loop_test(tcase, allgather_puts_rows_in_order_of_rank, 0, 2);
    tcase_add_loop_test(tcase, allgather_puts_many_own_rows_where_they_belong, 0, 2);
    return unit_run(suite);
}
