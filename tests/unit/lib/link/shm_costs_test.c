/* SPDX-License-Identifier: Apache-2.0 */
/* Which way of moving bytes costs less, by what was measured. */
#include "lib/link/shm_costs.h"
#include "tests/support/unit.h"

enum { KIB = 1024 };

/* How many of the next choices are system calls. */
static int count_fetches(struct shm_costs *costs, int choices)
{
    int fetches = 0;
    for (int i = 0; i < choices; i++)
        fetches += shm_costs_choose_fetch(costs);
    return fetches;
}

START_TEST(a_cost_is_picoseconds_for_a_byte)
{
    ck_assert_uint_eq(shm_cost_sample(0, 4000, 40000), 100);
    ck_assert_uint_eq(shm_cost_sample(0, 0, 64 * KIB), 1);
    ck_assert_uint_eq(shm_cost_sample(0, 16000000, 1 << 20), 15258); /* 2^32 ps and more */
}
END_TEST

START_TEST(a_lower_sample_counts_at_once_and_a_higher_one_by_a_quarter)
{
    ck_assert_uint_eq(shm_cost_sample(400, 100, 1000), 100);
    ck_assert_uint_eq(shm_cost_sample(400, 450, 1000), 450);
    ck_assert_uint_eq(shm_cost_sample(400, 1000000, 1000), 501);
}
END_TEST

START_TEST(a_cost_has_a_bound_however_long_it_took)
{
    uint32_t cost = shm_cost_sample(0, UINT64_MAX, 1);
    for (int i = 0; i < 100; i++)
        cost = shm_cost_sample(cost, UINT64_MAX, 1);
    ck_assert_uint_eq(cost, 1 << 24);
    ck_assert_uint_eq(shm_cost_sample(UINT32_MAX, UINT64_MAX, 1), 1 << 24);
}
END_TEST

START_TEST(both_methods_are_tried_first_and_then_bytes_are_copied_while_a_cost_is_not_known)
{
    struct shm_costs costs = { 0 };
    ck_assert_int_eq(count_fetches(&costs, SHM_COST_TRIALS), SHM_COST_TRIALS);
    ck_assert_int_eq(count_fetches(&costs, SHM_COST_PERIOD - SHM_COST_TRIALS), 0);
    costs = (struct shm_costs){ .put = 50, .get = 50, .choices = 2 * SHM_COST_TRIALS };
    ck_assert(!shm_costs_choose_fetch(&costs));
    costs = (struct shm_costs){ .fetch = 50, .get = 100, .choices = 2 * SHM_COST_TRIALS };
    ck_assert(!shm_costs_choose_fetch(&costs));
    costs = (struct shm_costs){ .fetch = 50, .put = 100, .choices = 2 * SHM_COST_TRIALS };
    ck_assert(!shm_costs_choose_fetch(&costs));
}
END_TEST

static const struct {
    struct shm_costs costs;
    bool is_fetched;
} cases[] = {
    { { .put = 50, .get = 50, .fetch = 99 }, true },
    { { .put = 50, .get = 50, .fetch = 100 }, false },
    { { .put = 10, .get = 90, .fetch = 60 }, true },
    { { .put = UINT32_MAX, .get = UINT32_MAX, .fetch = UINT32_MAX }, true },
};

START_TEST(a_system_call_is_made_if_it_costs_less_than_both_copies)
{
    struct shm_costs costs = cases[_i].costs;
    int decided = SHM_COST_PERIOD - 2 * SHM_COST_TRIALS;
    count_fetches(&costs, 2 * SHM_COST_TRIALS);
    ck_assert_int_eq(count_fetches(&costs, decided), cases[_i].is_fetched ? decided : 0);
}
END_TEST

START_TEST(both_methods_are_tried_again)
{
    struct shm_costs costs = { .put = 1, .get = 1, .fetch = 9, .choices = SHM_COST_PERIOD };
    ck_assert_int_eq(count_fetches(&costs, SHM_COST_PERIOD), SHM_COST_TRIALS);
    costs.fetch = 1;
    ck_assert_int_eq(count_fetches(&costs, SHM_COST_PERIOD), SHM_COST_PERIOD - SHM_COST_TRIALS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shm_costs");
    TCase *tcase = tcase_create("shm_costs");
    tcase_add_test(tcase, a_cost_is_picoseconds_for_a_byte);
    tcase_add_test(tcase, a_lower_sample_counts_at_once_and_a_higher_one_by_a_quarter);
    tcase_add_test(tcase, a_cost_has_a_bound_however_long_it_took);
    tcase_add_test(
        tcase, both_methods_are_tried_first_and_then_bytes_are_copied_while_a_cost_is_not_known);
    tcase_add_loop_test(tcase, a_system_call_is_made_if_it_costs_less_than_both_copies, 0,
                        sizeof cases / sizeof *cases);
    tcase_add_test(tcase, both_methods_are_tried_again);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
