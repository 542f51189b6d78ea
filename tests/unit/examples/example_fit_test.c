/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs that fit networks decide before they train: which rank has which points, how
 * many of them, how large its steps are, and which command lines make no sense. */
#include "tests/support/unit.h"

#include <string.h>

#include "examples/fit_options.h"
#include "examples/fit_place.h"

START_TEST(data_parallel_ranks_together_have_the_points_of_one)
{
    enum { TOTAL = 48 };
    double all[TOTAL], part[TOTAL];
    struct fit_place alone = fit_place_for(FIT_DATA_PARALLEL, true, 0, 1);
    fit_place_points(&alone, TOTAL, all);
    ck_assert(all[0] == -1 && all[TOTAL - 1] == 1);
    for (int size = 1; size <= 4; size++) {
        size_t count = (size_t)(TOTAL / size);
        for (int rank = 0; rank < size; rank++) {
            struct fit_place place = fit_place_for(FIT_DATA_PARALLEL, true, rank, size);
            fit_place_points(&place, count, part);
            ck_assert_mem_eq(part, all + (size_t)rank * count, count * sizeof *part);
            ck_assert(part[0] >= place.points.low && part[count - 1] <= place.points.high);
            ck_assert(place.domain.low == -1 && place.domain.high == 1);
        }
    }
}
END_TEST

START_TEST(ranks_of_an_ensemble_have_their_parts_from_end_to_end)
{
    double x[16];
    for (int rank = 0; rank < 4; rank++) {
        struct fit_place place = fit_place_for(FIT_ENSEMBLE, true, rank, 4);
        fit_place_points(&place, 16, x);
        ck_assert_double_eq(x[0], -1 + 0.5 * rank);
        ck_assert_double_eq(x[15], -0.5 + 0.5 * rank);
        ck_assert(place.domain.low == x[0] && place.domain.high == x[15]);
        ck_assert(place.points.low == x[0] && place.points.high == x[15]);
    }
}
END_TEST

START_TEST(or_all_of_them_the_whole)
{
    double x[3];
    struct fit_place place = fit_place_for(FIT_ENSEMBLE, false, 2, 3);
    fit_place_points(&place, 3, x);
    ck_assert(x[0] == -1 && x[1] == 0 && x[2] == 1);
}
END_TEST

START_TEST(one_point_is_in_the_middle)
{
    double x;
    interval_spread(&(struct interval){ 1, 2 }, 1, &x);
    ck_assert_double_eq(x, 1.5);
}
END_TEST

static const struct fit_equation equation = {
    .program = "test",
    .points = { [FIT_DATA_PARALLEL] = 16, [FIT_ENSEMBLE] = 20 },
    .least = 33,
    .steps = 70,
    .learning_rate = 0.5,
};

/* What is asked for, and what each rank gets. */
static const struct {
    const char *mode;
    long points;
    double learning_rate;
    int size;
    long wanted_points;
    double wanted_rate;
} rows[] = {
    { "data-parallel", 0, 0, 1, 33, 0.5 }, { "data-parallel", 0, 0, 2, 17, 1 },
    { "data-parallel", 0, 0, 3, 16, 1.5 }, { "data-parallel", 5, 0.25, 3, 5, 0.25 },
    { "ensemble", 0, 0, 1, 33, 0.5 },      { "ensemble", 0, 0, 2, 20, 0.5 },
    { "ensemble", 2, 0.25, 4, 2, 0.25 },
};

START_TEST(points_and_learning_rate_follow_from_mode_and_ranks)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct problem problem = { 0 };
        struct fit_options options = fit_options_defaults(&equation);
        options.mode_name = rows[i].mode;
        options.points = rows[i].points;
        options.learning_rate = rows[i].learning_rate;
        ck_assert_int_eq(fit_options_check(&options, &problem), 0);
        ck_assert_str_eq(fit_mode_name(options.mode), rows[i].mode);
        ck_assert_int_eq(fit_points(&options, rows[i].size), rows[i].wanted_points);
        ck_assert_double_eq(fit_learning_rate(&options, rows[i].size), rows[i].wanted_rate);
    }
}
END_TEST

static const struct {
    const char *mode, *checkpoint, *text;
} refused[] = {
    { "", NULL, "--mode wants data-parallel or ensemble, not ''" },
    { "Ensemble", NULL, "--mode wants data-parallel or ensemble, not 'Ensemble'" },
    { "ensemble", "x",
      "--checkpoint 'x' wants --mode data-parallel: an ensemble has as many models as ranks" },
};

START_TEST(what_makes_no_sense_is_refused)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct problem problem = { 0 };
        struct fit_options options = fit_options_defaults(&equation);
        options.mode_name = refused[i].mode;
        options.checkpoint = refused[i].checkpoint;
        ck_assert_int_eq(fit_options_check(&options, &problem), -1);
        ck_assert_int_eq(problem.exit_status, EXIT_STATUS_USAGE);
        ck_assert_str_eq(problem.text, refused[i].text);
    }
}
END_TEST

START_TEST(help_tells_the_defaults_of_the_equation)
{
    struct fit_option_table table;
    const char *wanted[] = { "of Adam (70)",
                             "used as given (0.5, data-parallel x the number of ranks)",
                             "of each rank (16, ensemble 20; all together at least 33)",
                             "of all random numbers (42)" };
    fit_options_table(&table, &equation);
    size_t found = 0;
    for (int i = 0; i < FIT_OPTION_ROWS; i++)
        for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++)
            found += strcmp(table.rows[i].help, wanted[k]) == 0;
    ck_assert_uint_eq(found, sizeof wanted / sizeof *wanted);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        data_parallel_ranks_together_have_the_points_of_one,
        ranks_of_an_ensemble_have_their_parts_from_end_to_end,
        or_all_of_them_the_whole,
        one_point_is_in_the_middle,
        points_and_learning_rate_follow_from_mode_and_ranks,
        what_makes_no_sense_is_refused,
        help_tells_the_defaults_of_the_equation,
    };
    Suite *suite = suite_create("example_fit");
    TCase *cases = tcase_create("fit");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(cases, tests[i]);
    suite_add_tcase(suite, cases);
    return unit_run(suite);
}
