/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives and steps in virtual time: what can be worked out by hand, and what must not happen.
 */
#include "bench/prediction/measured.h"
#include "bench/prediction/replay.h"
#include "lib/base/algorithm_names.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* 1 byte a nanosecond, and nothing else takes time. */
static const struct cluster_speed wire_alone = { .adapter = 1,
                                                 .segment = 64 << 10,
                                                 .buffered = 4 << 20 };

static struct replay_options options_of(int ranks, int ranks_per_host, int algorithm)
{
    return (struct replay_options){ .ranks = ranks,
                                    .ranks_per_host = ranks_per_host,
                                    .algorithm = algorithm,
                                    .fusion_threshold = 128 << 20,
                                    .speed = wire_alone };
}

static double allreduce_ns(const struct replay_options *options, size_t count)
{
    struct replay *replay = replay_create(options);
    double ns = replay_allreduce_ns(replay, count);
    replay_destroy(replay);
    return ns;
}

static void run(const struct replay_options *options, const struct replay_tensor *tensors,
                int count, double compute_ns, struct replay_step *step)
{
    struct replay *replay = replay_create(options);
    replay_run(replay, tensors, count, compute_ns, true, step);
    replay_run(replay, tensors, count, compute_ns, false, step);
    replay_destroy(replay);
}

/* ---- the cluster ---- */

static void note_time(void *arg)
{
    *(bool *)arg = true;
}

static uint64_t delivered_at(struct event_queue *queue, const bool *delivered)
{
    while (!*delivered && event_queue_run_next(queue))
        ;
    return queue->now_ns;
}

START_TEST(events_of_one_time_happen_in_the_order_in_which_they_were_added)
{
    struct event_queue queue = { 0 };
    bool seen[100] = { false };
    for (int i = 0; i < 100; i++)
        event_queue_add(&queue, (uint64_t)(i % 3), note_time, &seen[i]);
    for (int happened = 0; event_queue_run_next(&queue); happened++) {
        int order = happened < 34   ? 3 * happened
                    : happened < 67 ? 3 * (happened - 34) + 1
                                    : 3 * (happened - 67) + 2;
        ck_assert_msg(seen[order], "event %d is not number %d", order, happened);
    }
    event_queue_fini(&queue);
}
END_TEST

START_TEST(ranks_of_a_host_share_its_adapter_in_both_directions)
{
    struct event_queue queue = { 0 };
    struct cluster cluster;
    bool seen[4] = { false };
    cluster_init(&cluster, &queue, 3, &wire_alone);
    struct packet packets[] = {
        { .from_host = 0, .to_host = 1, .nbytes = 1000, .deliver = note_time, .arg = &seen[0] },
        { .from_host = 0, .to_host = 2, .nbytes = 1000, .deliver = note_time, .arg = &seen[1] },
        { .from_host = 1, .to_host = 2, .nbytes = 1500, .deliver = note_time, .arg = &seen[2] },
        { .from_host = 2, .to_host = 0, .nbytes = 4000, .deliver = note_time, .arg = &seen[3] },
    };
    for (int i = 0; i < 4; i++)
        cluster_send(&cluster, &packets[i]);
    ck_assert_uint_eq(delivered_at(&queue, &seen[0]), 1000);
    ck_assert_uint_eq(delivered_at(&queue, &seen[2]), 1500);
    /* It was sent by 2000, but the receiver's adapter was busy until 1500. */
    ck_assert_uint_eq(delivered_at(&queue, &seen[1]), 2500);
    ck_assert_uint_eq(delivered_at(&queue, &seen[3]), 4000);
    cluster_fini(&cluster);
    event_queue_fini(&queue);
}
END_TEST

START_TEST(ranks_that_outnumber_the_processors_work_one_after_the_other)
{
    struct event_queue queue = { 0 };
    struct cluster cluster;
    struct cluster_speed speed = wire_alone;
    speed.processors = 2;
    cluster_init(&cluster, &queue, 2, &speed);
    ck_assert_uint_eq(cluster_work(&cluster, 1, 100), 100);
    ck_assert_uint_eq(cluster_work(&cluster, 1, 30), 30);
    ck_assert_uint_eq(cluster_work(&cluster, 1, 50), 80);
    ck_assert_uint_eq(cluster_work(&cluster, 0, 50), 50);
    cluster_fini(&cluster);
}
END_TEST

/* ---- collectives ---- */

START_TEST(a_ring_of_hosts_takes_the_time_of_its_bytes)
{
    const struct replay_options options = options_of(4, 1, ALGORITHM_RING);
    size_t nbytes = 64 << 20;
    double ideal = 2 * 3.0 / 4 * (double)nbytes, ns = allreduce_ns(&options, nbytes / 4);
    ck_assert_double_ge(ns, ideal);
    ck_assert_double_le(ns, 1.01 * ideal);
}
END_TEST

START_TEST(a_ring_carries_no_more_with_several_ranks_on_a_host)
{
    const struct replay_options options = options_of(16, 4, ALGORITHM_RING);
    size_t nbytes = 64 << 20;
    double ideal = 2 * 15.0 / 16 * (double)nbytes, ns = allreduce_ns(&options, nbytes / 4);
    ck_assert_double_ge(ns, ideal);
    ck_assert_double_le(ns, 1.02 * ideal);
}
END_TEST

START_TEST(recursive_doubling_takes_a_latency_for_each_level)
{
    struct replay_options options = options_of(16, 1, ALGORITHM_RECURSIVE_DOUBLING);
    options.speed.network.latency = 5000;
    double ns = allreduce_ns(&options, 1);
    ck_assert_double_ge(ns, 4 * 5000);
    ck_assert_double_le(ns, 4 * 5000 + 4 * 20);
}
END_TEST

START_TEST(a_frame_and_its_reduction_take_a_rank_time)
{
    struct replay_options options = options_of(2, 1, ALGORITHM_RECURSIVE_DOUBLING);
    options.speed.network = (struct link_speed){ .per_call = 1000, .per_byte = 2 };
    options.speed.reduce = 3;
    /* A call and 400 bytes to send, 408 ns on the wire, the same to receive, and the reduction. */
    ck_assert_double_eq_tol(allreduce_ns(&options, 100),
                            (1000 + 2 * 400) + 408 + (1000 + 2 * 400) + 3 * 400, 20);
}
END_TEST

START_TEST(every_algorithm_ends_with_any_number_of_ranks)
{
    static const enum algorithm algorithms[] = { ALGORITHM_RING,
                                                 ALGORITHM_DIRECT,
                                                 ALGORITHM_RECURSIVE_DOUBLING,
                                                 ALGORITHM_HALVING_DOUBLING,
                                                 ALGORITHM_TREE,
                                                 ALGORITHM_TWO_LEVEL };
    for (int ranks = 2; ranks <= 13; ranks++)
        for (int each = 1; each <= 4; each++) {
            const struct replay_options options = options_of(ranks, each, (int)algorithms[_i]);
            ck_assert_double_ge(allreduce_ns(&options, 100001), 0);
        }
}
END_TEST

START_TEST(a_collective_takes_the_same_time_each_time)
{
    struct replay_options options = options_of(12, 4, -1);
    options.speed.network =
        (struct link_speed){ .latency = 9000, .per_call = 700, .per_byte = 0.1 };
    ck_assert(allreduce_ns(&options, 300000) == allreduce_ns(&options, 300000));
}
END_TEST

/* ---- steps ---- */

static const struct replay_tensor layers[] = {
    { "last", 1000000, 100e3 }, { "norm", 64, 200e3 },    { "middle", 8000, 300e3 },
    { "beside", 8000, 300e3 },  { "first", 2000, 400e3 },
};
enum { LAYERS = sizeof layers / sizeof *layers };

START_TEST(a_step_takes_as_long_as_computing_if_all_is_hidden)
{
    struct replay_options options = options_of(8, 2, -1);
    struct replay_step step;
    run(&options, layers, LAYERS, 100e6, &step);
    ck_assert_double_eq_tol(step.ns, 100e6, 1);
}
END_TEST

START_TEST(a_step_takes_as_long_as_the_network_if_nothing_can_be_hidden)
{
    struct replay_options options = options_of(4, 1, ALGORITHM_RING);
    struct replay_step step;
    run(&options, layers, LAYERS, 400e3, &step);
    double ideal = 100e3 + 2 * 3.0 / 4 * 4e6;
    ck_assert_double_ge(step.ns, ideal);
    ck_assert_double_le(step.ns, 1.1 * ideal);
}
END_TEST

START_TEST(small_gradients_go_with_the_agreement_and_middle_ones_together)
{
    struct replay_options options = options_of(4, 1, -1);
    struct replay_step step;
    run(&options, layers, LAYERS, 400e3, &step);
    ck_assert_int_eq(step.inline_tensors, 1);
    ck_assert_int_ge(step.fused_tensors, 2);
    ck_assert_int_le(step.operations, LAYERS - 2);
    ck_assert(step.used & 1u << ALGORITHM_RING);
}
END_TEST

START_TEST(a_host_sends_what_the_algorithm_needs)
{
    struct replay_options options = options_of(4, 2, ALGORITHM_RING);
    const struct replay_tensor one = { "one", 1 << 20, 0 };
    struct replay_step step;
    run(&options, &one, 1, 1, &step);
    double ideal = 2 * (2 * 3.0 / 4 * 4 * (1 << 20));
    ck_assert_double_ge((double)step.host_bytes, ideal);
    ck_assert_double_le((double)step.host_bytes, 1.01 * ideal);
}
END_TEST

START_TEST(the_slowest_rank_decides_when_compute_times_are_spread)
{
    struct replay_options options = options_of(64, 8, -1);
    struct replay_step step;
    options.spread = 0.05;
    run(&options, layers, LAYERS, 100e6, &step);
    ck_assert_double_ge(step.ns, 105e6); /* more than one deviation: there are 64 */
    ck_assert_double_le(step.ns, 130e6); /* six deviations is what there is at most */
}
END_TEST

/* ---- measured links ---- */

static int read_text(struct measured *measured, const char *text, struct err *err)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    int rc = measured_read(measured, file, "times", err);
    fclose(file);
    return rc;
}

#define ROW(place, size, us)                                                                       \
    "[0]<stdout>:allreduce\t" place "\t" size "\t2\tfloat\tsum\t-1\t20\t" us "\t1\t1\t1\t1\tN/A\n"

START_TEST(in_place_allreduces_of_the_extreme_sizes_are_read)
{
    struct measured measured;
    struct err err;
    ck_assert_int_eq(read_text(&measured,
                               ROW("in-place", "8", "40.5") ROW("out-of-place", "8000000", "1.0")
                                   ROW("in-place", "1000", "60") ROW("in-place", "8000", "90"),
                               &err),
                     HVD_OK);
    ck_assert_uint_eq(measured.small, 8);
    ck_assert_uint_eq(measured.large, 8000);
    ck_assert_double_eq_tol(measured.small_ns, 40500, 1);
    ck_assert_double_eq_tol(measured.large_ns, 90000, 1);
}
END_TEST

START_TEST(times_that_say_too_little_are_refused)
{
    static const char *const texts[] = { "", "nonsense\n", ROW("out-of-place", "8", "1"),
                                         ROW("in-place", "8", "1") ROW("in-place", "7999", "2"),
                                         ROW("in-place", "8", "-1") };
    struct measured measured;
    struct err err;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_int_eq(read_text(&measured, texts[i], &err), HVD_ERR_INVALID);
}
END_TEST

static void check_fit(bool local, double large_ns)
{
    const struct measured measured = { 8, 8000000, 40000, large_ns };
    struct replay_options options = options_of(2, local ? 2 : 1, -1);
    struct err err;
    options.speed.reduce = 0.1;
    ck_assert_int_eq(measured_apply(&measured, local, &options.speed, &err), HVD_OK);
    ck_assert_double_eq_tol(allreduce_ns(&options, measured.large / 4), large_ns, 1e-3 * large_ns);
}

START_TEST(a_fitted_link_takes_the_measured_time)
{
    check_fit(false, 68e6);
    check_fit(true, 5e6);
    check_fit(true, 0.5e6); /* faster than reductions were taken to be */
}
END_TEST

START_TEST(a_time_that_no_network_explains_is_refused)
{
    const struct measured measured = { 8, 8000000, 40000, 50000 };
    struct cluster_speed speed = wire_alone;
    struct err err;
    speed.reduce = 0.1;
    ck_assert_int_eq(measured_apply(&measured, false, &speed, &err), HVD_ERR_INVALID);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prediction");
    TCase *cluster = tcase_create("cluster"), *collectives = tcase_create("collectives"),
          *steps = tcase_create("steps"), *measured = tcase_create("measured");
    tcase_add_test(cluster, events_of_one_time_happen_in_the_order_in_which_they_were_added);
    tcase_add_test(cluster, ranks_of_a_host_share_its_adapter_in_both_directions);
    tcase_add_test(cluster, ranks_that_outnumber_the_processors_work_one_after_the_other);
    suite_add_tcase(suite, cluster);
    tcase_add_test(collectives, a_ring_of_hosts_takes_the_time_of_its_bytes);
    tcase_add_test(collectives, a_ring_carries_no_more_with_several_ranks_on_a_host);
    tcase_add_test(collectives, recursive_doubling_takes_a_latency_for_each_level);
    tcase_add_test(collectives, a_frame_and_its_reduction_take_a_rank_time);
    tcase_add_loop_test(collectives, every_algorithm_ends_with_any_number_of_ranks, 0, 6);
    tcase_add_test(collectives, a_collective_takes_the_same_time_each_time);
    suite_add_tcase(suite, collectives);
    tcase_add_test(steps, a_step_takes_as_long_as_computing_if_all_is_hidden);
    tcase_add_test(steps, a_step_takes_as_long_as_the_network_if_nothing_can_be_hidden);
    tcase_add_test(steps, small_gradients_go_with_the_agreement_and_middle_ones_together);
    tcase_add_test(steps, a_host_sends_what_the_algorithm_needs);
    tcase_add_test(steps, the_slowest_rank_decides_when_compute_times_are_spread);
    suite_add_tcase(suite, steps);
    tcase_add_test(measured, in_place_allreduces_of_the_extreme_sizes_are_read);
    tcase_add_test(measured, times_that_say_too_little_are_refused);
    tcase_add_test(measured, a_fitted_link_takes_the_measured_time);
    tcase_add_test(measured, a_time_that_no_network_explains_is_refused);
    suite_add_tcase(suite, measured);
    return unit_run(suite);
}
