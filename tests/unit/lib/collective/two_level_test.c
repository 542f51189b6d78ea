/* SPDX-License-Identifier: Apache-2.0 */
/* Allreduce in two levels, of every layout of a few hosts, against sums in the order that is
 * promised. How bytes move is random; the seed is printed. */
#include "lib/collective/two_level.h"
#include "tests/support/elements.h"
#include "tests/support/layouts.h"
#include "tests/support/operation_net.h"
#include "tests/support/reduce_reference.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

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

struct reduction {
    struct layout layout;
    struct placing *placing;
    enum hvd_dtype dtype;
    enum hvd_op op;
    size_t count, nbytes;
    unsigned char *inputs[LAYOUT_RANKS], *expected;
};

static unsigned char *copy_of(const unsigned char *data, size_t nbytes)
{
    unsigned char *copy = malloc(nbytes);
    if (nbytes > 0)
        memcpy(copy, data, nbytes);
    return copy;
}

static void combine(const struct reduction *reduction, unsigned char *out,
                    const unsigned char *right, bool last)
{
    enum hvd_op op = reduction->op == HVD_AVERAGE && !last ? HVD_SUM : reduction->op;
    reference_reduce(reduction->dtype, op, reduction->layout.size, out, out, right,
                     reduction->count);
}

/* The sum of a host, in the order of its ranks. */
static unsigned char *sum_of(const struct reduction *reduction, int host)
{
    const struct placing *placing = reduction->placing;
    const int *members = placing->members + placing->first[host];
    unsigned char *sum = copy_of(reduction->inputs[members[0]], reduction->nbytes);
    int count = placing_count(placing, host);
    for (int i = 1; i < count; i++)
        combine(reduction, sum, reduction->inputs[members[i]],
                placing->nhosts == 1 && i == count - 1);
    return sum;
}

static void expect(struct reduction *reduction)
{
    reduction->expected = sum_of(reduction, 0);
    for (int host = 1; host < reduction->placing->nhosts; host++) {
        unsigned char *sum = sum_of(reduction, host);
        combine(reduction, reduction->expected, sum, host == reduction->placing->nhosts - 1);
        free(sum);
    }
}

static void begin(struct reduction *reduction, int number)
{
    reduction->layout = layout_of(number);
    reduction->nbytes = reduction->count * hvd_dtype_size(reduction->dtype);
    reduction->placing =
        placing_create(reduction->layout.places, reduction->layout.size, LAYOUT_HOSTS);
    for (int rank = 0; rank < reduction->layout.size; rank++) {
        reduction->inputs[rank] = malloc(reduction->nbytes);
        for (size_t i = 0; i < reduction->nbytes; i++)
            reduction->inputs[rank][i] = (unsigned char)next_random(&net.random);
    }
    expect(reduction);
}

static void end(struct reduction *reduction)
{
    for (int rank = 0; rank < reduction->layout.size; rank++)
        free(reduction->inputs[rank]);
    free(reduction->expected);
    placing_destroy(reduction->placing);
}

static void run(const struct reduction *reduction, bool in_place)
{
    unsigned char *inputs[LAYOUT_RANKS], *outputs[LAYOUT_RANKS];
    size_t nbytes = reduction->nbytes;
    int size = reduction->layout.size;
    for (int rank = 0; rank < size; rank++) {
        inputs[rank] = copy_of(reduction->inputs[rank], nbytes);
        outputs[rank] = in_place ? inputs[rank] : malloc(nbytes);
        net.tasks[rank] = (struct operation_task){ .kind = OPERATION_ALLREDUCE,
                                                   .placing = reduction->placing,
                                                   .dtype = reduction->dtype,
                                                   .op = reduction->op,
                                                   .input = inputs[rank],
                                                   .output = outputs[rank],
                                                   .count = reduction->count };
    }
    net.step = nbytes / 5 + 1 + random_less_than(&net.random, nbytes + 1);
    operation_net_run(&net, size, allreduce_two_level_start);
    for (int rank = 0; rank < size; rank++) {
        ck_assert_msg(nbytes == 0 || memcmp(outputs[rank], reduction->expected, nbytes) == 0,
                      "the output of rank %d of %d is wrong", rank, size);
        if (!in_place) {
            ck_assert(nbytes == 0 || memcmp(inputs[rank], reduction->inputs[rank], nbytes) == 0);
            free(outputs[rank]);
        }
        free(inputs[rank]);
    }
}

static void check(int number, enum hvd_dtype dtype, enum hvd_op op, size_t count)
{
    struct reduction reduction = { .dtype = dtype, .op = op, .count = count };
    begin(&reduction, number);
    run(&reduction, false);
    run(&reduction, true);
    end(&reduction);
}

enum { PARTS = 10 };

/* A part of them for each count in turn. */
START_TEST(every_layout_is_right_to_the_bit)
{
    static const size_t counts[] = { 0, 1, 2, 3, 5, 12, 17, 289, 1000, 4099 };
    for (int number = _i; number < LAYOUTS; number += PARTS)
        if (layout_of(number).size > 1)
            check(number, number % 2 ? HVD_FLOAT32 : HVD_FLOAT64,
                  number % 3 ? HVD_SUM : HVD_AVERAGE, counts[(number / PARTS + _i) % 10]);
}
END_TEST

START_TEST(large_vectors_are_right_to_the_bit)
{
    static const int numbers[] = { 13, 200, 555, 900, 1000, LAYOUTS - 1 };
    check(numbers[_i], HVD_FLOAT32, HVD_SUM, 200003);
}
END_TEST

/* On hosts of three ranks and one: several pieces either way. */
START_TEST(a_rank_alone_on_its_host_keeps_the_order_of_the_others)
{
    int number = 0;
    struct layout layout;
    do
        layout = layout_of(number++);
    while (layout.size != 4 || layout.places[1] != 0 || layout.places[2] != 0 ||
           layout.places[3] != 1);
    check(number - 1, HVD_FLOAT32, HVD_AVERAGE, 2000003);
}
END_TEST

int main(void)
{
    seed = (uint64_t)time(NULL);
    printf("# TWO_LEVEL_TEST_SEED=%llu\n", (unsigned long long)seed);
    Suite *suite = suite_create("two_level");
    TCase *tests = tcase_create("two_level");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, every_layout_is_right_to_the_bit, 0, PARTS);
    tcase_add_loop_test(tests, large_vectors_are_right_to_the_bit, 0, 6);
    tcase_add_test(tests, a_rank_alone_on_its_host_keeps_the_order_of_the_others);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
