/* SPDX-License-Identifier: Apache-2.0 */
/* Data that travels with the agreement is reduced as if one rank came after the other. */
#include "lib/reduce/reduce.h"
#include "tests/support/negotiation_net.h"
#include "tests/support/reduce_reference.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct net net;
static struct net_seen *seen; /* by its ranks */

static void start(int size)
{
    net_init(&net, size, &net_defaults, (uint64_t)size);
    seen = net.seen;
}

/* Elements 1 or 2, so that no order of combining them matters. */
static void fill(enum hvd_dtype dtype, unsigned char *out, int rank, int count)
{
    size_t size = dtype_size((int)dtype);
    memset(out, 0, size * (size_t)count);
    for (int i = 0; i < count; i++) {
        int value = dtype == HVD_BOOL ? (rank + i) % 2 : 1 + (rank + i) % 2;
        uint16_t half = (uint16_t)(dtype == HVD_FLOAT16 ? (value == 1 ? 0x3c00 : 0x4000)
                                                        : (value == 1 ? 0x3f80 : 0x4000));
        float single = (float)value;
        double twice = value;
        int64_t whole = value;
        if (dtype == HVD_FLOAT16 || dtype == HVD_BFLOAT16)
            memcpy(out + size * (size_t)i, &half, size);
        else if (dtype == HVD_FLOAT32)
            memcpy(out + size * (size_t)i, &single, size);
        else if (dtype == HVD_FLOAT64)
            memcpy(out + size * (size_t)i, &twice, size);
        else
            memcpy(out + size * (size_t)i, &whole, size);
    }
}

/* Sums first, and the last one divides. */
static void reference(enum hvd_dtype dtype, enum hvd_op op, unsigned char *out, int size, int count)
{
    unsigned char one[8 * 17];
    enum hvd_op step = op == HVD_AVERAGE ? HVD_SUM : op;
    fill(dtype, out, 0, count);
    for (int i = 1; i < size; i++) {
        fill(dtype, one, i, count);
        reference_reduce(dtype, i == size - 1 ? op : step, size, out, out, one, (size_t)count);
    }
}

START_TEST(results_are_those_of_reducing_one_rank_after_the_other)
{
    start(_i);
    for (int row = 0; row < 2 * REFERENCE_DTYPES * REFERENCE_OPS; row++) {
        enum hvd_dtype dtype = reference_dtypes[row / 2 % REFERENCE_DTYPES];
        enum hvd_op op = reference_ops[row / 2 / REFERENCE_DTYPES];
        unsigned char data[8 * 17], expected[8 * 17];
        char name[40];
        if (dtype == HVD_BOOL && op == HVD_AVERAGE)
            continue;
        snprintf(name, sizeof name, "t%d.%d", (int)dtype, (int)op);
        for (int i = 0; i < net.size; i++) {
            fill(dtype, data, i, 17);
            struct offer offer = { .name = name,
                                   .description = net_description(COLLECTIVE_ALLREDUCE, 17),
                                   .data = data,
                                   .nbytes = dtype_size((int)dtype) * 17,
                                   .complete = true };
            offer.description.dtype = dtype;
            offer.description.op = op;
            net_submit(&net, i, &offer);
        }
        net_complete(&net);
        net_check_one(&net, DECISION_DONE, name);
        reference(dtype, op, expected, net.size, 17);
        ck_assert_uint_eq(seen[0].nbytes, dtype_size((int)dtype) * 17);
        ck_assert_msg(memcmp(seen[0].data, expected, seen[0].nbytes) == 0, "%s of %s, %d ranks",
                      op_name((int)op), dtype_name((int)dtype), net.size);
    }
    net_fini(&net);
}
END_TEST

START_TEST(an_average_of_one_rank_is_what_it_gave)
{
    start(1);
    float data[1000];
    for (int i = 0; i < 1000; i++)
        data[i] = (float)i;
    struct offer offer = net_allreduce(&net, "loss", 1000, data);
    offer.description.op = HVD_AVERAGE;
    net_submit(&net, 0, &offer);
    net_complete(&net);
    net_check_one(&net, DECISION_DONE, "loss");
    ck_assert_mem_eq(seen[0].data, data, sizeof data);
    net_fini(&net);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("reduce");
    tcase_add_loop_test(tcase, results_are_those_of_reducing_one_rank_after_the_other, 1, 8);
    tcase_add_test(tcase, an_average_of_one_rank_is_what_it_gave);
    Suite *all = suite_create("negotiation_reduce");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
