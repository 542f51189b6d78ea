/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of several ranks over the ring, against a plain reference that adds in the same order:
 * right to the bit. */
#include "lib/collective/ring_schedule.h"
#include "tests/support/operation_world.h"
#include "tests/support/reduce_reference.h"
#include "tests/support/unit.h"

#include <string.h>

/* The reduction of all ranks' inputs, in the order of the ring: chunk c begins with rank c + 1. */
static unsigned char *reduce_all(unsigned char *const *inputs, size_t things, size_t row,
                                 enum hvd_dtype dtype, enum hvd_op op)
{
    size_t size = hvd_dtype_size(dtype);
    unsigned char *result = world_bytes(things * row * size);
    for (int chunk = 0; chunk < world_size; chunk++) {
        size_t start = chunk_start(things, world_size, chunk) * row;
        size_t count = chunk_count(things, world_size, chunk) * row;
        if (count == 0)
            continue;
        memcpy(result + start * size, inputs[(chunk + 1) % world_size] + start * size,
               count * size);
        for (int next = 2; next <= world_size; next++) {
            bool last = next == world_size;
            reference_reduce(dtype, op == HVD_AVERAGE && !last ? HVD_SUM : op, world_size,
                             result + start * size, result + start * size,
                             inputs[(chunk + next) % world_size] + start * size, count);
        }
    }
    return result;
}

struct reduction {
    enum hvd_dtype dtype;
    enum hvd_op op;
    size_t rows, row;
    unsigned char *inputs[WORLD_RANKS_MAX], *expected;
};

static void reduction_init(struct reduction *reduction)
{
    size_t nbytes = reduction->rows * reduction->row * hvd_dtype_size(reduction->dtype);
    for (int rank = 0; rank < world_size; rank++)
        reduction->inputs[rank] = world_random_bytes(nbytes);
    reduction->expected = reduce_all(reduction->inputs, reduction->rows, reduction->row,
                                     reduction->dtype, reduction->op);
    world_choose_pace(nbytes);
}

static void reduction_fini(struct reduction *reduction)
{
    for (int rank = 0; rank < world_size; rank++)
        free(reduction->inputs[rank]);
    free(reduction->expected);
}

static void check_allreduce(const struct reduction *reduction, bool in_place)
{
    size_t nbytes = reduction->rows * reduction->row * hvd_dtype_size(reduction->dtype);
    unsigned char *copies[WORLD_RANKS_MAX], *outputs[WORLD_RANKS_MAX];
    for (int rank = 0; rank < world_size; rank++) {
        copies[rank] = world_bytes(nbytes);
        memcpy(copies[rank], reduction->inputs[rank], nbytes);
        outputs[rank] = in_place ? copies[rank] : world_bytes(nbytes);
        world_tasks[rank] = (struct operation_task){
            .kind = OPERATION_ALLREDUCE,
            .dtype = reduction->dtype,
            .op = reduction->op,
            .input = copies[rank],
            .output = outputs[rank],
            .count = reduction->rows * reduction->row,
        };
    }
    world_check();
    for (int rank = 0; rank < world_size; rank++) {
        world_check_bytes(outputs[rank], reduction->expected, nbytes, "allreduce", rank);
        if (!in_place) {
            world_check_bytes(copies[rank], reduction->inputs[rank], nbytes, "input", rank);
            free(outputs[rank]);
        }
        free(copies[rank]);
    }
}

static void check_reduce_scatter(const struct reduction *reduction, bool in_place)
{
    size_t row_size = reduction->row * hvd_dtype_size(reduction->dtype);
    unsigned char *copies[WORLD_RANKS_MAX], *outputs[WORLD_RANKS_MAX];
    for (int rank = 0; rank < world_size; rank++) {
        size_t own = chunk_count(reduction->rows, world_size, rank) * row_size;
        copies[rank] = world_bytes(reduction->rows * row_size);
        memcpy(copies[rank], reduction->inputs[rank], reduction->rows * row_size);
        outputs[rank] = in_place ? copies[rank] : world_bytes(own);
        world_tasks[rank] = (struct operation_task){
            .kind = OPERATION_REDUCESCATTER,
            .dtype = reduction->dtype,
            .op = reduction->op,
            .input = copies[rank],
            .output = outputs[rank],
            .rows = (int64_t)reduction->rows,
            .row_count = reduction->row,
        };
    }
    world_check();
    for (int rank = 0; rank < world_size; rank++) {
        size_t start = chunk_start(reduction->rows, world_size, rank) * row_size;
        size_t own = chunk_count(reduction->rows, world_size, rank) * row_size;
        world_check_bytes(outputs[rank], reduction->expected + start, own, "reduce-scatter", rank);
        if (!in_place) {
            world_check_bytes(copies[rank], reduction->inputs[rank], reduction->rows * row_size,
                              "input", rank);
            free(outputs[rank]);
        }
        free(copies[rank]);
    }
}

static void check_reduction(size_t rows, size_t row, enum hvd_dtype dtype, enum hvd_op op)
{
    struct reduction reduction = { .dtype = dtype, .op = op, .rows = rows, .row = row };
    if (dtype == HVD_BOOL && op == HVD_AVERAGE)
        return;
    reduction_init(&reduction);
    for (int in_place = 0; in_place < 2; in_place++) {
        check_allreduce(&reduction, in_place);
        check_reduce_scatter(&reduction, in_place);
    }
    reduction_fini(&reduction);
}

START_TEST(reductions_are_right_to_the_bit_for_every_type_operation_size_and_count)
{
    enum hvd_dtype dtype = reference_dtypes[_i];
    for (int s = 0; s < WORLD_SIZES; s++)
        for (int c = 0; c < WORLD_COUNTS - 1; c++)
            for (int o = 0; o < REFERENCE_OPS; o++) {
                world_size = world_sizes[s];
                check_reduction(world_counts[c], 1, dtype, reference_ops[o]);
            }
}
END_TEST

/* Large ones, each type with one operation and size. */
START_TEST(large_reductions_are_right_to_the_bit)
{
    world_size = world_sizes[_i % WORLD_SIZES];
    check_reduction(100003, 1, reference_dtypes[_i], reference_ops[_i % 2]);
}
END_TEST

START_TEST(rows_are_not_cut)
{
    static const size_t rows[] = { 0, 1, 2, 4, 7, 8, 9, 1000 }, widths[] = { 0, 1, 3, 100 };
    for (int s = 0; s < WORLD_SIZES; s++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
                struct reduction reduction = {
                    .dtype = HVD_FLOAT32, .op = HVD_AVERAGE, .rows = rows[r], .row = widths[w]
                };
                world_size = world_sizes[s];
                reduction_init(&reduction);
                check_reduce_scatter(&reduction, false);
                check_reduce_scatter(&reduction, true);
                reduction_fini(&reduction);
            }
}
END_TEST

/* A sum that no float16 can hold, and a share of the work that rounds it after the division. */
START_TEST(an_average_of_halves_is_rounded_after_the_division)
{
    uint16_t data[3][7];
    world_size = 3;
    world_choose_pace(0);
    for (int rank = 0; rank < 3; rank++) {
        for (int i = 0; i < 7; i++)
            data[rank][i] = (uint16_t)(rank == 0 ? 0x0001 : 0x7bff); /* 2^-24 and 65504 */
        world_tasks[rank] = (struct operation_task){ .kind = OPERATION_ALLREDUCE,
                                                     .dtype = HVD_FLOAT16,
                                                     .op = HVD_AVERAGE,
                                                     .input = data[rank],
                                                     .output = data[rank],
                                                     .count = 7 };
    }
    world_check();
    /* Of the chunks, of 3, 2 and 2, the one that begins with both large ones is infinite. */
    for (int rank = 0; rank < 3; rank++)
        for (int i = 0; i < 7; i++)
            ck_assert_uint_eq(data[rank][i], i < 3 ? 0x7c00 : 0x7955); /* 43669.33 */
}
END_TEST

int main(void)
{
    world_choose_seed();
    Suite *suite = suite_create("operation_reduction");
    TCase *tcase = tcase_create("operation_reduction");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, world_set_up, world_tear_down);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase,
                        reductions_are_right_to_the_bit_for_every_type_operation_size_and_count, 0,
                        REFERENCE_DTYPES);
    tcase_add_loop_test(tcase, large_reductions_are_right_to_the_bit, 0, REFERENCE_DTYPES);
    tcase_add_test(tcase, rows_are_not_cut);
    tcase_add_test(tcase, an_average_of_halves_is_rounded_after_the_division);
    return unit_run(suite);
}
