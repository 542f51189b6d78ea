/* SPDX-License-Identifier: Apache-2.0 */
/* Which way of moving bytes costs less, by what was measured. */
#include "lib/link/shm_costs.h"
#include "tests/support/unit.h"

enum { KIB = 1024, MIB = 1024 * KIB };

/* What is exchanged, and what goes one way: messages of 256 KiB to 512 KiB. */
enum { EXCHANGE = 4, ONE_WAY = EXCHANGE + SHM_COST_SIZES };

/* How many of the next bytes system calls read, when pieces of 128 KiB are moved. */
static size_t count_fetched(struct shm_costs *costs, unsigned cost_class, size_t nbytes)
{
    const size_t piece = 128 * KIB;
    size_t fetched = 0;
    for (size_t moved = 0; moved < nbytes; moved += piece) {
        fetched += shm_costs_choose_fetch(costs, cost_class) ? piece : 0;
        costs->moved += piece;
    }
    return fetched;
}

static const struct {
    size_t nbytes;
    unsigned exchanged, one_way;
} classes[] = {
    { 0, SHM_COST_NONE, SHM_COST_NONE },
    { 32 * KIB - 1, SHM_COST_NONE, SHM_COST_NONE },
    { 32 * KIB, 1, 11 },
    { 64 * KIB - 1, 1, 11 },
    { 64 * KIB, 2, 12 },
    { 256 * KIB, EXCHANGE, ONE_WAY },
    { 512 * KIB - 1, EXCHANGE, ONE_WAY },
    { 1 * MIB - 1, 5, SHM_COST_CLASSES - 1 },
    { 1 * MIB, 6, SHM_COST_NONE },
    { 16 * MIB - 1, 9, SHM_COST_NONE },
    { 16 * MIB, 10, SHM_COST_NONE },
    { SIZE_MAX, 10, SHM_COST_NONE },
};

START_TEST(each_power_of_two_is_a_class_and_large_messages_that_go_one_way_have_none)
{
    ck_assert_uint_eq(shm_cost_class(classes[_i].nbytes, true), classes[_i].exchanged);
    ck_assert_uint_eq(shm_cost_class(classes[_i].nbytes, false), classes[_i].one_way);
    ck_assert(shm_cost_is_exchange(classes[_i].exchanged) == (classes[_i].exchanged > 0));
    ck_assert(!shm_cost_is_exchange(classes[_i].one_way));
}
END_TEST

static const struct {
    size_t nbytes, trial, first;
} trials[] = {
    { 32 * KIB, 128 * KIB, 1 * MIB },  { 64 * KIB, 256 * KIB, 2 * MIB },
    { 128 * KIB, 512 * KIB, 4 * MIB }, { 256 * KIB, 1 * MIB, 8 * MIB },
    { 512 * KIB, 1 * MIB, 8 * MIB },
};

START_TEST(a_trial_is_some_messages_but_not_many_bytes)
{
    for (int exchanged = 0; exchanged < 2; exchanged++) {
        unsigned cost_class = shm_cost_class(trials[_i].nbytes, exchanged);
        ck_assert_uint_eq(shm_cost_trial(cost_class), trials[_i].trial);
        ck_assert_uint_eq(shm_cost_first(cost_class), trials[_i].first);
    }
    ck_assert_uint_eq(shm_cost_trial(shm_cost_class(4 * MIB, true)), 1 * MIB);
    ck_assert_uint_eq(shm_cost_first(shm_cost_class(4 * MIB, true)), 8 * MIB);
    ck_assert_uint_eq(shm_cost_trial(shm_cost_class(16 * MIB, true)), 1 * MIB);
    ck_assert_uint_eq(shm_cost_first(shm_cost_class(16 * MIB, true)), 32 * MIB);
}
END_TEST

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

START_TEST(a_cost_differs_if_it_does_by_more_than_a_sixteenth)
{
    ck_assert(shm_cost_differs(0, 1));
    ck_assert(!shm_cost_differs(160, 160));
    ck_assert(!shm_cost_differs(160, 170));
    ck_assert(!shm_cost_differs(160, 150));
    ck_assert(shm_cost_differs(160, 171));
    ck_assert(shm_cost_differs(160, 149));
    ck_assert(shm_cost_differs(1, UINT32_MAX));
}
END_TEST

START_TEST(both_methods_are_tried_first)
{
    struct shm_costs costs = { 0 };
    const size_t trial = shm_cost_trial(EXCHANGE);
    ck_assert_uint_eq(count_fetched(&costs, EXCHANGE, trial), 0);
    costs.put = costs.get = 50;
    ck_assert_uint_eq(count_fetched(&costs, EXCHANGE, trial), trial);
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
    ck_assert_uint_eq(count_fetched(&costs, EXCHANGE, 128 * (size_t)MIB), 0);
}
END_TEST

START_TEST(bytes_are_copied_while_the_cost_of_system_calls_is_not_known)
{
    struct shm_costs costs = { .put = 50, .get = 50, .moved = 2 * shm_cost_trial(EXCHANGE) };
    ck_assert(!shm_costs_choose_fetch(&costs, EXCHANGE));
}
END_TEST

START_TEST(a_choice_stands_until_bytes_have_moved)
{
    const size_t trial = shm_cost_trial(EXCHANGE);
    struct shm_costs costs = { .put = 1, .get = 1, .fetch = 9, .moved = trial };
    for (int i = 0; i < 1000; i++)
        ck_assert(shm_costs_choose_fetch(&costs, EXCHANGE));
    costs.moved += trial;
    for (int i = 0; i < 1000; i++)
        ck_assert(!shm_costs_choose_fetch(&costs, EXCHANGE));
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
    size_t tried = 2 * shm_cost_trial(EXCHANGE), decided = shm_cost_first(EXCHANGE) - tried;
    count_fetched(&costs, EXCHANGE, tried);
    ck_assert_uint_eq(count_fetched(&costs, EXCHANGE, decided), cases[_i].is_fetched ? decided : 0);
}
END_TEST

START_TEST(what_goes_one_way_is_fetched_if_that_costs_less_than_the_dearer_copy)
{
    struct shm_costs costs = {
        .put = 50, .get = 60, .fetch = 59, .moved = 2 * shm_cost_trial(ONE_WAY)
    };
    ck_assert(shm_costs_choose_fetch(&costs, ONE_WAY));
    costs.fetch = 60;
    ck_assert(!shm_costs_choose_fetch(&costs, ONE_WAY));
    ck_assert(shm_costs_choose_fetch(&costs, EXCHANGE));
    costs.put = 61;
    ck_assert(shm_costs_choose_fetch(&costs, ONE_WAY));
    costs.moved = shm_cost_first(ONE_WAY);
    ck_assert(!shm_costs_choose_fetch(&costs, ONE_WAY));
}
END_TEST

START_TEST(both_methods_are_tried_again_the_first_time_sooner)
{
    const size_t trial = shm_cost_trial(EXCHANGE), period = SHM_COST_PERIOD;
    struct shm_costs costs = { .put = 1, .get = 1, .fetch = 9 };
    ck_assert_uint_eq(count_fetched(&costs, EXCHANGE, shm_cost_first(EXCHANGE)), trial);
    ck_assert_uint_eq(count_fetched(&costs, EXCHANGE, 2 * trial), trial);
    ck_assert_uint_eq(count_fetched(&costs, EXCHANGE, period - 2 * trial), 0);
    costs.fetch = 1;
    ck_assert_uint_eq(count_fetched(&costs, EXCHANGE, period), period - trial);
}
END_TEST

START_TEST(a_choice_is_published_and_read_whatever_has_moved)
{
    static const uint64_t moved[] = { 0, MIB - 1, 64 * MIB, UINT64_MAX };
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
        struct shm_costs costs = { .moved = moved[i] };
        ck_assert_uint_ne(shm_costs_publish(&costs, false), 0);
        ck_assert(shm_choice_is_fetch(shm_costs_publish(&costs, true)));
        ck_assert(!shm_choice_is_fetch(shm_costs_publish(&costs, false)));
    }
    ck_assert(!shm_choice_is_fetch(3)); /* nobody publishes it */
}
END_TEST

START_TEST(a_side_follows_a_choice_while_the_deciding_side_moves_bytes)
{
    struct shm_costs decides = { .moved = 0 }, follows = { .moved = 5 };
    ck_assert(!shm_costs_follow(&follows, 0));
    for (int i = 0; i < 100; i++) {
        ck_assert(shm_costs_follow(&follows, shm_costs_publish(&decides, true)));
        decides.moved += SHM_COST_UNIT;
        follows.moved += SHM_COST_UNIT;
    }
}
END_TEST

START_TEST(a_choice_that_does_not_change_any_more_is_left_and_taken_up_again)
{
    struct shm_costs decides = { .moved = 0 }, follows = { .moved = 5 };
    ck_assert(shm_costs_follow(&follows, shm_costs_publish(&decides, true)));
    follows.moved += SHM_COST_FOLLOWED - 1;
    ck_assert(shm_costs_follow(&follows, shm_costs_publish(&decides, true)));
    follows.moved++;
    ck_assert(!shm_costs_follow(&follows, shm_costs_publish(&decides, true)));
    ck_assert(shm_costs_follow(&follows, shm_costs_publish(&decides, false)));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shm_costs");
    TCase *tcase = tcase_create("shm_costs");
    tcase_add_loop_test(tcase,
                        each_power_of_two_is_a_class_and_large_messages_that_go_one_way_have_none,
                        0, sizeof classes / sizeof *classes);
    tcase_add_loop_test(tcase, a_trial_is_some_messages_but_not_many_bytes, 0,
                        sizeof trials / sizeof *trials);
    tcase_add_test(tcase, a_cost_is_picoseconds_for_a_byte);
    tcase_add_test(tcase, a_lower_sample_counts_at_once_and_a_higher_one_by_a_quarter);
    tcase_add_test(tcase, a_cost_has_a_bound_however_long_it_took);
    tcase_add_test(tcase, a_cost_differs_if_it_does_by_more_than_a_sixteenth);
    tcase_add_test(tcase, both_methods_are_tried_first);
    tcase_add_loop_test(tcase, bytes_are_copied_while_the_cost_of_copies_is_not_known, 0,
                        sizeof unknown / sizeof *unknown);
    tcase_add_test(tcase, bytes_are_copied_while_the_cost_of_system_calls_is_not_known);
    tcase_add_test(tcase, a_choice_stands_until_bytes_have_moved);
    tcase_add_loop_test(tcase, a_system_call_is_made_if_it_costs_less_than_both_copies, 0,
                        sizeof cases / sizeof *cases);
    tcase_add_test(tcase, what_goes_one_way_is_fetched_if_that_costs_less_than_the_dearer_copy);
    tcase_add_test(tcase, both_methods_are_tried_again_the_first_time_sooner);
    tcase_add_test(tcase, a_choice_is_published_and_read_whatever_has_moved);
    tcase_add_test(tcase, a_side_follows_a_choice_while_the_deciding_side_moves_bytes);
    tcase_add_test(tcase, a_choice_that_does_not_change_any_more_is_left_and_taken_up_again);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
