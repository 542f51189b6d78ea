/* SPDX-License-Identifier: Apache-2.0 */
/* From the times of synthetic_benchmark to what it says about them. */
#include "tests/support/unit.h"

#include "examples/synthetic_summary.h"

static const struct iteration steady[] = {
    { .step = 0.12, .alone = 0.10, .communication = 0.05 },
    { .step = 0.12, .alone = 0.10, .communication = 0.05 },
};
enum { STEADY = sizeof steady / sizeof *steady };

START_TEST(images_are_counted_for_each_rank)
{
    struct summary summary;
    summarize(&summary, steady, STEADY, 36, 4);
    ck_assert_double_eq_tol(summary.images_per_s, 300, 1e-9);
    ck_assert_double_eq_tol(summary.margin, 0, 1e-9);
}
END_TEST

START_TEST(the_margin_is_that_of_horovod)
{
    /* 100 and 300 images/s: mean 200, standard deviation 100 */
    static const struct iteration two[] = { { .step = 0.30, .alone = 0.1 },
                                            { .step = 0.10, .alone = 0.1 } };
    struct summary summary;
    summarize(&summary, two, 2, 30, 2);
    ck_assert_double_eq_tol(summary.images_per_s, 200, 1e-9);
    ck_assert_double_eq_tol(summary.margin, 196, 1e-9);
}
END_TEST

static const struct hidden_row {
    struct iteration iteration;
    int ranks;
    double hidden_s, hidden, efficiency;
} rows[] = {
    { { 0.12, 0.10, 0.05 }, 2, 0.03, 0.6, 10.0 / 12 },
    { { 0.15, 0.10, 0.05 }, 2, 0, 0, 10.0 / 15 },   /* one after the other */
    { { 0.20, 0.10, 0.05 }, 2, 0, 0, 0.5 },         /* and worse */
    { { 0.10, 0.10, 0.05 }, 2, 0.05, 1, 1 },        /* side by side */
    { { 0.09, 0.10, 0.05 }, 2, 0.06, 1, 10.0 / 9 }, /* chance */
    { { 0.10, 0.10, 0.0001 }, 1, 0, 0, 1 },         /* nothing to hide */
    { { 0.10, 0.10, 0 }, 2, 0, 0, 1 },
};

START_TEST(what_overlaps_is_hidden)
{
    struct summary summary;
    summarize(&summary, &rows[_i].iteration, 1, 32, rows[_i].ranks);
    ck_assert_double_eq_tol(summary.hidden_s, rows[_i].hidden_s, 1e-9);
    ck_assert_double_eq_tol(summary.hidden, rows[_i].hidden, 1e-9);
    ck_assert_double_eq_tol(summary.efficiency, rows[_i].efficiency, 1e-9);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("synthetic_summary");
    TCase *all = tcase_create("all");
    tcase_add_test(all, images_are_counted_for_each_rank);
    tcase_add_test(all, the_margin_is_that_of_horovod);
    tcase_add_loop_test(all, what_overlaps_is_hidden, 0, sizeof rows / sizeof *rows);
    suite_add_tcase(suite, all);
    return unit_run(suite);
}
