/* SPDX-License-Identifier: Apache-2.0 */
/* Which way of moving bytes costs less, by what was measured. */
#include "lib/link/shm_costs.h"
#include "tests/support/unit.h"

enum { KIB = 1024 };

/* How many of the next bytes system calls read, when pieces of 512 KiB are moved. */
static size_t count_fetched(struct shm_costs *costs, size_t nbytes)
{
    const size_t piece = 512 * KIB;
    size_t fetched = 0;
    for (size_t moved = 0; moved < nbytes; moved += piece) {
        fetched += shm_costs_choose_fetch(costs) ? piece : 0;
        costs->moved += piece;
    }
    return fetched;
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

START_TEST(both_methods_are_tried_first)
{
    struct shm_costs costs = { 0 };
    ck_assert_uint_eq(count_fetched(&costs, SHM_COST_TRIAL), 0);
    costs.put = costs.get = 50;
    ck_assert_uint_eq(count_fetched(&costs, SHM_COST_TRIAL), SHM_COST_TRIAL);
}
END_TEST

static const struct shm_costs unknown[] = {
    { 0 },
    { .put = 50, .fetch = 10 },
    { .get = 50, .fetch = 10 },
};

START_TEST(bytes_are_copied_while_the_cost_of_copies_is_not_known)
{
    struct shm_costs costs = unknown[_i];
    ck_assert_uint_eq(count_fetched(&costs, 2 * (size_t)SHM_COST_PERIOD), 0);
}
END_TEST

START_TEST(bytes_are_copied_while_the_cost_of_system_calls_is_not_known)
{
    struct shm_costs costs = { .put = 50, .get = 50, .moved = 2 * SHM_COST_TRIAL };
    ck_assert(!shm_costs_choose_fetch(&costs));
}
END_TEST

START_TEST(a_choice_stands_until_bytes_have_moved)
{
    struct shm_costs costs = { .put = 1, .get = 1, .fetch = 9, .moved = SHM_COST_TRIAL };
    for (int i = 0; i < 1000; i++)
        ck_assert(shm_costs_choose_fetch(&costs));
    costs.moved += SHM_COST_TRIAL;
    for (int i = 0; i < 1000; i++)
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
    size_t decided = SHM_COST_PERIOD - 2 * SHM_COST_TRIAL;
    count_fetched(&costs, 2 * (size_t)SHM_COST_TRIAL);
    ck_assert_uint_eq(count_fetched(&costs, decided), cases[_i].is_fetched ? decided : 0);
}
END_TEST

START_TEST(what_goes_one_way_is_fetched_if_that_costs_less_than_the_dearer_copy)
{
    struct shm_costs costs = { .put = 50, .get = 60, .fetch = 59, .moved = 2 * SHM_COST_TRIAL };
    ck_assert(shm_costs_choose_one_way(&costs));
    costs.fetch = 60;
    ck_assert(!shm_costs_choose_one_way(&costs));
    ck_assert(shm_costs_choose_fetch(&costs));
    costs.put = 61;
    ck_assert(shm_costs_choose_one_way(&costs));
    costs.moved = SHM_COST_PERIOD;
    ck_assert(!shm_costs_choose_one_way(&costs));
}
END_TEST

START_TEST(both_methods_are_tried_again)
{
    struct shm_costs costs = { .put = 1, .get = 1, .fetch = 9, .moved = SHM_COST_PERIOD };
    ck_assert_uint_eq(count_fetched(&costs, SHM_COST_PERIOD), SHM_COST_TRIAL);
    costs.fetch = 1;
    ck_assert_uint_eq(count_fetched(&costs, SHM_COST_PERIOD), SHM_COST_PERIOD - SHM_COST_TRIAL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shm_costs");
    TCase *tcase = tcase_create("shm_costs");
    tcase_add_test(tcase, a_cost_is_picoseconds_for_a_byte);
    tcase_add_test(tcase, a_lower_sample_counts_at_once_and_a_higher_one_by_a_quarter);
    tcase_add_test(tcase, a_cost_has_a_bound_however_long_it_took);
    tcase_add_test(tcase, both_methods_are_tried_first);
    tcase_add_loop_test(tcase, bytes_are_copied_while_the_cost_of_copies_is_not_known, 0,
                        sizeof unknown / sizeof *unknown);
    tcase_add_test(tcase, bytes_are_copied_while_the_cost_of_system_calls_is_not_known);
    tcase_add_test(tcase, a_choice_stands_until_bytes_have_moved);
    tcase_add_loop_test(tcase, a_system_call_is_made_if_it_costs_less_than_both_copies, 0,
                        sizeof cases / sizeof *cases);
    tcase_add_test(tcase, what_goes_one_way_is_fetched_if_that_costs_less_than_the_dearer_copy);
    tcase_add_test(tcase, both_methods_are_tried_again);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
