/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank counts: collectives, bytes, latencies, and the time that it waits. */
#include "lib/engine/counters.h"

#include "lib/base/clock.h"
#include "tests/support/unit.h"

#include <string.h>

#define MS 1000000ull
#define TICK_NS (4 * MS)

static struct counters counters;
static struct rank_stats stats;

static void setup(void)
{
    counters_start(&counters, 100 * MS);
}

static struct tensor make(enum collective_kind kind, int count, uint64_t tick_ns)
{
    struct tensor tensor = { .since_ns = tick_ns };
    tensor.description.kind = kind;
    tensor.description.dtype = HVD_FLOAT32;
    tensor.description.shape = (struct shape){ .ndims = 1, .dims = { count } };
    return tensor;
}

static void finish(struct tensor tensor, uint64_t tick_ns)
{
    counters_submitted(&counters, &tensor);
    counters_done(&counters, &tensor, tick_ns);
}

static uint64_t in_buckets(enum stats_operation operation)
{
    uint64_t sum = 0;
    for (int i = 0; i <= STATS_BUCKETS; i++)
        sum += counters.operations[operation].buckets[i];
    return sum;
}

START_TEST(collectives_are_counted_by_operation_with_their_bytes)
{
    setup();
    for (int i = 0; i < 3; i++)
        finish(make(COLLECTIVE_ALLREDUCE, 10, 200 * MS), 200 * MS);
    finish(make(COLLECTIVE_BARRIER, 0, 200 * MS), 200 * MS);
    finish(make(COLLECTIVE_ADD_SET, 0, 200 * MS), 200 * MS);
    counters_read(&counters, 300 * MS, &stats);
    ck_assert_uint_eq(stats.operations[STATS_ALLREDUCE].count, 3);
    ck_assert_uint_eq(stats.operations[STATS_ALLREDUCE].bytes, 120);
    ck_assert_uint_eq(stats.operations[STATS_BARRIER].count, 1);
    ck_assert_uint_eq(stats.operations[STATS_BARRIER].bytes, 0);
    ck_assert_uint_eq(stats_total(&stats).count, 4);
    ck_assert_uint_eq(stats.uptime_ns, 200 * MS);
    ck_assert_uint_eq(stats.waiting_ns, 0);
}
END_TEST

START_TEST(the_latency_of_each_collective_is_in_a_bucket_while_they_are_few)
{
    setup();
    for (int i = 0; i < COUNTERS_EXACT; i++)
        finish(make(COLLECTIVE_BROADCAST, 1, 200 * MS), 200 * MS);
    ck_assert_uint_eq(in_buckets(STATS_BROADCAST), COUNTERS_EXACT);
    finish(make(COLLECTIVE_BROADCAST, 1, 204 * MS), 204 * MS);
    ck_assert_uint_eq(in_buckets(STATS_BROADCAST), COUNTERS_EXACT + 1);
}
END_TEST

/* The latency is taken from the moment of the submission. */
START_TEST(a_collective_is_timed_from_its_submission_unless_another_stands_for_it)
{
    setup();
    uint64_t before_ns = monotonic_ns();
    for (int i = 0; i < COUNTERS_EXACT + 1; i++) {
        struct tensor tensor = make(COLLECTIVE_ALLREDUCE, 1, 200 * MS);
        counters_submitted(&counters, &tensor);
        bool is_timed = i < COUNTERS_EXACT;
        ck_assert_int_eq(tensor.timed, is_timed);
        ck_assert(is_timed == (tensor.timed_ns >= before_ns));
        ck_assert_uint_le(tensor.timed_ns, monotonic_ns());
    }
}
END_TEST

START_TEST(of_many_within_a_tick_some_stand_for_the_others)
{
    setup();
    for (int i = 0; i < 1000; i++)
        finish(make(COLLECTIVE_ALLREDUCE, 1, 200 * MS), 200 * MS);
    ck_assert_uint_eq(counters.operations[STATS_ALLREDUCE].count, 1000);
    ck_assert_uint_le(in_buckets(STATS_ALLREDUCE), 1000);
    ck_assert_uint_gt(in_buckets(STATS_ALLREDUCE), 1000 - COUNTERS_SAMPLE);
}
END_TEST

START_TEST(one_of_less_than_the_limit_is_not_long)
{
    enum { COUNT = 1000 };
    setup();
    for (int i = 0; i < COUNT; i++)
        finish(make(COLLECTIVE_ALLREDUCE, 1, 200 * MS), 200 * MS + COUNTERS_LONG_NS);
    ck_assert_uint_eq(in_buckets(STATS_ALLREDUCE), COUNT / COUNTERS_SAMPLE * COUNTERS_SAMPLE);
}
END_TEST

START_TEST(a_long_one_is_never_left_out_and_stands_for_itself)
{
    setup();
    for (int i = 0; i < 1000; i++)
        finish(make(COLLECTIVE_ALLREDUCE, 1, 200 * MS), 700 * MS);
    ck_assert_uint_eq(in_buckets(STATS_ALLREDUCE), 1000);
}
END_TEST

START_TEST(latencies_fall_into_the_buckets_with_the_bounds_that_are_told)
{
    struct operation_stats operation = { 0 };
    for (int i = 0; i < STATS_BUCKETS; i++) {
        stats_add_latency(&operation, stats_bucket_ns(i), 1);
        stats_add_latency(&operation, stats_bucket_ns(i) + 1, 16);
        ck_assert_uint_eq(operation.buckets[i], i == 0 ? 1 : 17);
        ck_assert(i == 0 || stats_bucket_ns(i) > stats_bucket_ns(i - 1));
    }
    ck_assert_uint_eq(operation.buckets[STATS_BUCKETS], 16);
}
END_TEST

START_TEST(threads_that_wait_at_the_same_time_count_once)
{
    setup();
    counters_wait(&counters, 200 * MS);
    counters_wait(&counters, 210 * MS);
    counters_waited(&counters, 220 * MS);
    counters_waited(&counters, 240 * MS);
    counters_read(&counters, 400 * MS, &stats);
    ck_assert_uint_eq(stats.waiting_ns, 40 * MS);
}
END_TEST

START_TEST(a_wait_that_goes_on_counts)
{
    setup();
    counters_wait(&counters, 200 * MS);
    counters_read(&counters, 900 * MS, &stats);
    ck_assert_uint_eq(stats.waiting_ns, 700 * MS);
    counters_read(&counters, 1000 * MS, &stats);
    ck_assert_uint_eq(stats.waiting_ns, 800 * MS);
}
END_TEST

/* Waits of a seventh of a tick, half of the time: one in seven sees the clock move. */
START_TEST(short_waits_add_up_on_average)
{
    setup();
    for (uint64_t now = 200 * MS; now < 1600 * MS; now += 2 * (TICK_NS / 7) + 1) {
        counters_wait(&counters, now / TICK_NS * TICK_NS);
        counters_waited(&counters, (now + TICK_NS / 7) / TICK_NS * TICK_NS);
    }
    counters_read(&counters, 1600 * MS, &stats);
    ck_assert_uint_ge(stats.waiting_ns, 690 * MS);
    ck_assert_uint_le(stats.waiting_ns, 710 * MS);
}
END_TEST

START_TEST(before_the_start_nothing_is_told)
{
    memset(&counters, 0, sizeof counters);
    counters_wait(&counters, 100 * MS);
    counters_read(&counters, 200 * MS, &stats);
    ck_assert_uint_eq(stats.uptime_ns, 0);
    ck_assert_uint_eq(stats.waiting_ns, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counters");
    TCase *tcase = tcase_create("counters");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, collectives_are_counted_by_operation_with_their_bytes);
    tcase_add_test(tcase, the_latency_of_each_collective_is_in_a_bucket_while_they_are_few);
    tcase_add_test(tcase, a_collective_is_timed_from_its_submission_unless_another_stands_for_it);
    tcase_add_test(tcase, of_many_within_a_tick_some_stand_for_the_others);
    tcase_add_test(tcase, one_of_less_than_the_limit_is_not_long);
    tcase_add_test(tcase, a_long_one_is_never_left_out_and_stands_for_itself);
    tcase_add_test(tcase, latencies_fall_into_the_buckets_with_the_bounds_that_are_told);
    tcase_add_test(tcase, threads_that_wait_at_the_same_time_count_once);
    tcase_add_test(tcase, a_wait_that_goes_on_counts);
    tcase_add_test(tcase, short_waits_add_up_on_average);
    tcase_add_test(tcase, before_the_start_nothing_is_told);
    return unit_run(suite);
}
