/* SPDX-License-Identifier: Apache-2.0 */
/* Autotuning against made-up costs of a step: it finds what is cheap, and what it ends with is
 * never dearer than what there was. */
#include "lib/autotune/tuner.h"

#include "lib/autotune/gaussian_process.h"
#include "lib/autotune/step_meter.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct err err;

static const struct tuning start = {
    .fusion_threshold = 4 << 20,
    .fused_max = 64 << 10,
    .cycle_time_us = 0,
    .small = 32 << 10,
    .large = 64 << 10,
};

/* ---- the cube ---- */

START_TEST(every_tuning_has_a_point_and_every_point_a_tuning)
{
    static const struct tuning tunings[] = {
        start,
        { 64 << 10, 4 << 10, 0, 1 << 10, 4 << 10 },
        { 4 << 20, 1 << 20, 5000, 1 << 20, 4 << 20 },
        { 300000, 12345, 17, 5432, 98765 },
    };
    for (size_t i = 0; i < COUNT(tunings); i++) {
        double point[TUNING_DIMENSIONS];
        tuning_point(point, &tunings[i], TUNE_ALL);
        for (int axis = 0; axis < TUNING_DIMENSIONS; axis++)
            ck_assert(point[axis] >= 0 && point[axis] <= 1);
        struct tuning back = tuning_at(point, &start, TUNE_ALL);
        ck_assert_uint_eq(back.fusion_threshold, tunings[i].fusion_threshold);
        ck_assert_uint_eq(back.fused_max, tunings[i].fused_max);
        ck_assert_uint_eq(back.cycle_time_us, tunings[i].cycle_time_us);
        ck_assert_uint_eq(back.small, tunings[i].small);
        ck_assert_uint_eq(back.large, tunings[i].large);
    }
}
END_TEST

START_TEST(what_may_not_vary_stays)
{
    static const double point[] = { 1, 1 };
    struct tuning tuning = tuning_at(point, &start, TUNE_CYCLE_TIME | TUNE_SMALL);
    ck_assert_int_eq(tuning_dimensions(TUNE_CYCLE_TIME | TUNE_SMALL), 2);
    ck_assert_uint_eq(tuning.cycle_time_us, 5000);
    ck_assert_uint_eq(tuning.small, 1 << 20);
    ck_assert_uint_eq(tuning.fusion_threshold, start.fusion_threshold);
    ck_assert_uint_eq(tuning.large, start.large);
}
END_TEST

START_TEST(what_lies_outside_is_at_the_end)
{
    struct tuning tuning = { 0, 1 << 30, 1 << 30, 0, 1 << 30 };
    double point[TUNING_DIMENSIONS], ends[] = { 0, 1, 1, 0, 1 };
    tuning_point(point, &tuning, TUNE_ALL);
    for (int axis = 0; axis < TUNING_DIMENSIONS; axis++)
        ck_assert(point[axis] == ends[axis]);
}
END_TEST

/* ---- the process ---- */

static struct gaussian_process process;

static void make_process(int ndims, double noise)
{
    ck_assert_int_eq(gaussian_process_init(&process, ndims, 16, noise, &err), HVD_OK);
}

static void release_process(void)
{
    gaussian_process_fini(&process);
}

START_TEST(without_noise_what_was_seen_is_believed)
{
    static const double points[] = { 0, 0.3, 0.7, 1 }, values[] = { 5, 1, -3, 2 };
    make_process(1, 0);
    for (size_t i = 0; i < COUNT(points); i++)
        gaussian_process_add(&process, &points[i], values[i]);
    for (size_t i = 0; i < COUNT(points); i++) {
        struct belief belief = gaussian_process_believe(&process, &points[i]);
        ck_assert_double_eq_tol(belief.mean, values[i], 1e-3);
        ck_assert_double_lt(belief.deviation, 0.05);
    }
}
END_TEST

START_TEST(noise_makes_equal_points_one_of_their_mean)
{
    double point[] = { 0.5, 0.5 }, far[] = { 0, 1 };
    make_process(2, 0.5);
    for (int i = 0; i < 8; i++)
        gaussian_process_add(&process, point, i % 2 ? 11 : 9);
    struct belief belief = gaussian_process_believe(&process, point);
    ck_assert_double_eq_tol(belief.mean, 10, 0.01);
    ck_assert_double_lt(belief.deviation, gaussian_process_believe(&process, far).deviation);
}
END_TEST

START_TEST(improvement_is_expected_where_little_is_known_or_much_was_seen)
{
    double low = 0, high = 1, beside = 0.95, middle = 0.5;
    make_process(1, 0.1);
    gaussian_process_add(&process, &low, 1);
    gaussian_process_add(&process, &high, 3);
    double at_low = gaussian_process_improvement(&process, &low, 3);
    ck_assert_double_lt(at_low, gaussian_process_improvement(&process, &beside, 3));
    ck_assert_double_lt(at_low, gaussian_process_improvement(&process, &middle, 3));
    ck_assert_double_ge(at_low, 0);
}
END_TEST

/* The same point again and again, all of one value. */
START_TEST(values_without_a_spread_are_no_trouble)
{
    double point = 0.5;
    make_process(1, 0);
    for (int i = 0; i < 16; i++)
        gaussian_process_add(&process, &point, i < 8 ? 0 : 7);
    ck_assert(isfinite(gaussian_process_believe(&process, &point).mean));
    ck_assert(isfinite(gaussian_process_improvement(&process, &point, 0)));
}
END_TEST

/* ---- steps ---- */

static struct step_meter meter;
static uint64_t clock_ns;

static void make_meter(int steps)
{
    clock_ns = 1000;
    ck_assert_int_eq(step_meter_init(&meter, steps, &err), HVD_OK);
}

static void release_meter(void)
{
    step_meter_fini(&meter);
}

/* A step of three tensors, 1000 bytes each, in any order; true if a sample was over at its
 * beginning. */
static bool step(uint64_t took_ns, double *rate)
{
    static uint64_t number;
    bool over = false;
    number++;
    for (uint64_t i = 0; i < 3; i++) {
        over |= step_meter_done(&meter, 100 + (number + i) % 3, 1000, clock_ns, rate);
        clock_ns += took_ns / 3;
    }
    return over;
}

START_TEST(a_step_ends_when_a_name_is_there_again)
{
    double rate = 0;
    make_meter(2);
    ck_assert(!step(30, &rate)); /* does not count */
    ck_assert(!step(300, &rate));
    ck_assert(!step(300, &rate));
    ck_assert(step(3, &rate));
    ck_assert_double_eq_tol(rate, 3000 * 1e9 / 300, 1);
    ck_assert(!step(150, &rate)); /* the next sample; the step before does not count */
    ck_assert(!step(150, &rate));
    ck_assert(step(3, &rate));
    ck_assert_double_eq_tol(rate, 3000 * 1e9 / 150, 1);
}
END_TEST

START_TEST(a_pause_between_steps_does_not_count)
{
    double rate = 0;
    make_meter(5);
    for (int i = 0; i < 6; i++) {
        ck_assert(!step(300, &rate));
        clock_ns += i == 3 ? 1000000000 : 0;
    }
    ck_assert(step(300, &rate));
    ck_assert_double_eq_tol(rate, 3000 * 1e9 / 300, 1);
}
END_TEST

START_TEST(a_name_that_is_rare_ends_no_step)
{
    double rate = 0;
    make_meter(4);
    for (int i = 0; i < 5; i++) {
        ck_assert(!step(300, &rate));
        ck_assert(!step_meter_done(&meter, 5000 + (uint64_t)i, 8, clock_ns, &rate));
    }
    ck_assert(step(300, &rate));
    ck_assert_double_eq_tol(rate, 3008 * 1e9 / 300, 1);
}
END_TEST

START_TEST(more_names_than_are_remembered_are_steps_too)
{
    double rate = 0;
    make_meter(1);
    for (int i = 0; i < 2; i++)
        for (uint64_t name = 1; name <= 20000; name++)
            ck_assert(!step_meter_done(&meter, name * 16384, 1, clock_ns++, &rate));
    ck_assert(step_meter_done(&meter, 16384, 1, clock_ns, &rate));
    ck_assert_double_eq_tol(rate, 1e9, 1);
}
END_TEST

/* ---- the search ---- */

/* How long a step takes, in microseconds. */
typedef double cost_fn(const struct tuning *tuning);

static double distance(double value, double best)
{
    return fabs(log2(value / best));
}

static double flat(const struct tuning *tuning)
{
    (void)tuning;
    return 1000;
}

/* Best where it starts. */
static double best_at_start(const struct tuning *tuning)
{
    return 1000 + 50 * distance((double)tuning->fusion_threshold, 4 << 20) +
           50 * distance((double)tuning->small, 32 << 10) + (double)tuning->cycle_time_us;
}

/* Waiting pays, and so does fusing little. */
static double likes_to_wait(const struct tuning *tuning)
{
    return 1000 + 0.3 * fabs((double)tuning->cycle_time_us - 1000) +
           60 * distance((double)tuning->fusion_threshold, 512 << 10);
}

/* Fusing larger tensors halves it. */
static double likes_to_fuse(const struct tuning *tuning)
{
    return 500 + 150 * distance((double)tuning->fused_max, 512 << 10);
}

/* A cliff behind a threshold. */
static double has_a_cliff(const struct tuning *tuning)
{
    return tuning->small > 200 << 10 ? 600 : tuning->small > 16 << 10 ? 1000 : 3000;
}

static unsigned dice;

/* About a normal distribution, deviation 1. */
static double noise(void)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        dice = dice * 1664525 + 1013904223;
        sum += (double)(dice >> 8) / (1 << 24);
    }
    return sum - 6;
}

/* Trains until tuning is done. Returns how many samples there were that count. */
static int train(struct tuner *tuner, cost_fn *cost, double noisy, struct tuner_report *report)
{
    uint64_t now_ns = 1;
    bool done = false;
    int samples = 0;
    for (int steps = 0; !done && steps < 100000; steps++) {
        double us = cost(tuner_tuning(tuner)) * (1 + noisy * noise());
        for (uint64_t name = 1; name <= 4; name++) {
            enum tuner_event event = tuner_tensor_done(tuner, name, 250000, now_ns, report);
            samples += event == TUNER_SAMPLED || event == TUNER_DONE;
            done |= event == TUNER_DONE;
        }
        now_ns += (uint64_t)(us * 1000);
    }
    ck_assert(done);
    return samples;
}

static const struct tuner_options usual = { .start = start,
                                            .varying = TUNE_ALL,
                                            .warmup_samples = 3,
                                            .steps_per_sample = 10,
                                            .max_samples = 20,
                                            .noise = 0.8 };

/* `enough`: what the cost must be at most in the end, of what it was. */
static const struct {
    cost_fn *cost;
    double noisy, enough;
} searches[] = {
    { flat, 0, 1 },
    { flat, 0.05, 1 },
    { best_at_start, 0, 1 },
    { best_at_start, 0.02, 1.02 },
    { likes_to_wait, 0, 0.85 },
    { likes_to_wait, 0.02, 0.9 },
    { likes_to_fuse, 0, 0.8 },
    { likes_to_fuse, 0.05, 0.8 },
    { has_a_cliff, 0, 0.6 },
    { has_a_cliff, 0.05, 0.6 },
};

START_TEST(the_search_ends_with_what_is_cheap)
{
    cost_fn *cost = searches[_i].cost;
    struct tuner_report report;
    struct tuner *tuner = tuner_create(&usual, &err);
    ck_assert_ptr_nonnull(tuner);
    dice = 12345;
    int samples = train(tuner, cost, searches[_i].noisy, &report);
    report = tuner_result(tuner);
    ck_assert_int_le(samples, 20 + 9);
    double ratio = cost(tuner_tuning(tuner)) / cost(&start);
    ck_assert_msg(ratio <= searches[_i].enough, "%.3f of what it was", ratio);
    ck_assert_mem_eq(&report.tuning, tuner_tuning(tuner), sizeof report.tuning);
    tuner_destroy(tuner);
}
END_TEST

/* With samples of one step, and noise as large as what there is to win. */
START_TEST(it_never_ends_with_what_is_much_dearer)
{
    struct tuner_options options = usual;
    int dearer = 0;
    options.steps_per_sample = 3;
    for (unsigned seed = 1; seed <= 60; seed++) {
        struct tuner_report report;
        options.noise = seed % 3 / 2.0;
        struct tuner *tuner = tuner_create(&options, &err);
        cost_fn *cost = searches[seed % COUNT(searches)].cost;
        dice = seed * 7919;
        train(tuner, cost, 0.1, &report);
        double ratio = cost(tuner_tuning(tuner)) / cost(&start);
        ck_assert_msg(ratio < 1.2, "seed %u: %.3f of what it was", seed, ratio);
        dearer += ratio > 1.05;
        tuner_destroy(tuner);
    }
    ck_assert_int_le(dearer, 6);
}
END_TEST

/* Where all is noise, the fastest sample is seldom the one that the process estimates best. */
START_TEST(the_fastest_sample_is_measured_again)
{
    struct tuner_options options = usual;
    options.warmup_samples = 0;
    options.steps_per_sample = 1;
    dice = (unsigned)_i;
    struct tuner *tuner = tuner_create(&options, &err);
    struct tuner_report report, fastest = { 0 };
    int samples = 0, again = 0;
    enum tuner_event event = TUNER_NOTHING;
    for (uint64_t now_ns = 1; event != TUNER_DONE; now_ns += (uint64_t)(1e6 + 1e5 * noise())) {
        event = tuner_tensor_done(tuner, 1, 1000000, now_ns, &report);
        if (event == TUNER_NOTHING)
            continue;
        if (samples++ >= options.max_samples)
            again += memcmp(&report.tuning, &fastest.tuning, sizeof report.tuning) == 0;
        else if (report.rate > fastest.rate)
            fastest = report;
    }
    ck_assert_int_eq(again, 3);
    tuner_destroy(tuner);
}
END_TEST

START_TEST(what_may_not_vary_is_never_touched)
{
    struct tuner_options options = usual;
    struct tuner_report report;
    options.varying = TUNE_SMALL;
    struct tuner *tuner = tuner_create(&options, &err);
    train(tuner, likes_to_fuse, 0, &report);
    report = tuner_result(tuner);
    ck_assert_uint_eq(report.tuning.fused_max, start.fused_max);
    ck_assert_uint_eq(report.tuning.cycle_time_us, start.cycle_time_us);
    tuner_destroy(tuner);
}
END_TEST

START_TEST(a_search_may_be_as_short_or_long_as_is_allowed)
{
    static const int lengths[] = { 1, 2, 5, 6, TUNER_SAMPLES_MAX };
    struct tuner_options options = usual;
    options.warmup_samples = 0;
    options.steps_per_sample = 1;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct tuner_report report;
        options.max_samples = lengths[i];
        struct tuner *tuner = tuner_create(&options, &err);
        int samples = train(tuner, likes_to_wait, 0, &report);
        ck_assert_int_ge(samples, lengths[i] + 3);
        ck_assert_int_le(samples, lengths[i] + 9);
        tuner_destroy(tuner);
    }
}
END_TEST

START_TEST(while_warming_up_nothing_is_changed)
{
    struct tuner_report report;
    struct tuner *tuner = tuner_create(&usual, &err);
    int warmed = 0;
    for (uint64_t now_ns = 0; warmed < 3; now_ns += 1000) {
        warmed += tuner_tensor_done(tuner, 1, 1000, now_ns, &report) == TUNER_WARMED;
        ck_assert_mem_eq(tuner_tuning(tuner), &start, sizeof start);
    }
    tuner_destroy(tuner);
}
END_TEST

START_TEST(when_it_is_done_nothing_is_changed_any_more)
{
    struct tuner_report report, last;
    struct tuner *tuner = tuner_create(&usual, &err);
    train(tuner, likes_to_wait, 0, &report);
    last = report;
    for (uint64_t i = 0; i < 1000; i++)
        ck_assert_int_eq(tuner_tensor_done(tuner, 1, 1, i, &report), TUNER_NOTHING);
    ck_assert_mem_eq(&report, &last, sizeof last);
    report = tuner_result(tuner);
    ck_assert_mem_eq(tuner_tuning(tuner), &report.tuning, sizeof report.tuning);
    tuner_destroy(tuner);
}
END_TEST

START_TEST(the_same_run_is_tuned_alike)
{
    struct tuner_report reports[2];
    memset(reports, 0, sizeof reports);
    for (int i = 0; i < 2; i++) {
        struct tuner *tuner = tuner_create(&usual, &err);
        dice = 99;
        train(tuner, likes_to_fuse, 0.05, &reports[i]);
        reports[i] = tuner_result(tuner);
        tuner_destroy(tuner);
    }
    ck_assert_mem_eq(&reports[0], &reports[1], sizeof reports[0]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tuner");
    TCase *cube = tcase_create("cube"), *beliefs = tcase_create("beliefs"),
          *steps = tcase_create("steps"), *search = tcase_create("search");
    tcase_add_test(cube, every_tuning_has_a_point_and_every_point_a_tuning);
    tcase_add_test(cube, what_may_not_vary_stays);
    tcase_add_test(cube, what_lies_outside_is_at_the_end);
    suite_add_tcase(suite, cube);
    tcase_add_checked_fixture(beliefs, NULL, release_process);
    tcase_add_test(beliefs, without_noise_what_was_seen_is_believed);
    tcase_add_test(beliefs, noise_makes_equal_points_one_of_their_mean);
    tcase_add_test(beliefs, improvement_is_expected_where_little_is_known_or_much_was_seen);
    tcase_add_test(beliefs, values_without_a_spread_are_no_trouble);
    suite_add_tcase(suite, beliefs);
    tcase_add_checked_fixture(steps, NULL, release_meter);
    tcase_add_test(steps, a_step_ends_when_a_name_is_there_again);
    tcase_add_test(steps, a_pause_between_steps_does_not_count);
    tcase_add_test(steps, a_name_that_is_rare_ends_no_step);
    tcase_add_test(steps, more_names_than_are_remembered_are_steps_too);
    suite_add_tcase(suite, steps);
    tcase_add_loop_test(search, the_search_ends_with_what_is_cheap, 0, COUNT(searches));
    tcase_add_test(search, it_never_ends_with_what_is_much_dearer);
    tcase_add_loop_test(search, the_fastest_sample_is_measured_again, 0, 10);
    tcase_add_test(search, what_may_not_vary_is_never_touched);
    tcase_add_test(search, a_search_may_be_as_short_or_long_as_is_allowed);
    tcase_add_test(search, while_warming_up_nothing_is_changed);
    tcase_add_test(search, when_it_is_done_nothing_is_changed_any_more);
    tcase_add_test(search, the_same_run_is_tuned_alike);
    suite_add_tcase(suite, search);
    return unit_run(suite);
}
