/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank in a steady state tells about a tensor that waits. */
#include "lib/engine/set_steady_impl.h"
#include "tests/support/unit.h"

enum { SIZE = 3 };

/* Two operations of one tensor each. */
static const struct schedule schedule = { .count = 2,
                                          .ntensors = 2,
                                          .operations = { { 0, 1, { SCHEDULED_INLINE, 0 } },
                                                          { 1, 1, { SCHEDULED_INLINE, 0 } } },
                                          .slots = { 10, 11 } };
static struct steady_operation operations[2];
static struct steady_round round_of;
static struct process_set set = { .size = SIZE, .rank = 0 };
static struct tensor tensor = { .name = "x" };

/* Rank 0 of three has submitted the tensor at that place; rank 2 has committed to an operation. */
static void set_up(int place)
{
    struct err err;
    for (int i = 0; i < schedule.count; i++)
        operations[i].what = schedule.operations[i];
    set.steady.schedule = operations;
    set.steady.count = schedule.count;
    set.steady.round = &round_of;
    steady_round_begin(&round_of, &schedule);
    steady_init(&set.steady.state, set.rank, SIZE);
    steady_begin(&set.steady.state);
    ck_assert_int_eq(steady_receive(&set.steady.state, 2, 1, 0, &err), HVD_OK);
    steady_round_put(&round_of, place, &tensor);
}

static void check_ranges(const struct rank_ranges *ranges, const char *expected)
{
    char text[40];
    ck_assert_str_eq(rank_ranges_text(text, sizeof text, ranges, NULL), expected);
}

START_TEST(a_rank_that_has_not_committed_is_missing)
{
    struct waiting waiting;
    set_up(0);
    steady_round_commit(&round_of, steady_commit(&set.steady.state));
    ck_assert_int_eq(set_steady_waiting(&set, 0, &waiting), 1);
    ck_assert_str_eq(waiting.name, "x");
    check_ranges(&waiting.missing, "rank 1");
    ck_assert_int_eq(waiting.unheard.count, 0);
    ck_assert_int_eq(set_steady_waiting(&set, 1, &waiting), 0);
}
END_TEST

START_TEST(nothing_is_known_of_others_about_a_tensor_that_is_held)
{
    struct waiting waiting;
    set_up(1);
    ck_assert_int_eq(set_steady_waiting(&set, 0, &waiting), 1);
    ck_assert_int_eq(waiting.missing.count, 0);
    check_ranges(&waiting.unheard, "ranks 1-2");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("set_steady_wait");
    TCase *tcase = tcase_create("set_steady_wait");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, a_rank_that_has_not_committed_is_missing);
    tcase_add_test(tcase, nothing_is_known_of_others_about_a_tensor_that_is_held);
    return unit_run(suite);
}
