/* SPDX-License-Identifier: Apache-2.0 */
/* Learning rates while they warm up and under a schedule, and the momentum that goes with them. */
#include "lib/hvd_training.h"
#include "tests/support/unit.h"

#include <math.h>

#define ROWS(table) (int)(sizeof(table) / sizeof *(table))

static const struct {
    double target, warmup_epochs;
    int size;
    struct hvd_batch batch;
    double rate;
} warmups[] = {
    /* target x (progress x (size - 1) + 1) / size */
    { 0.4, 5, 4, { 0, 0, 100 }, 0.4 * (1.0 / 500 * 3 + 1) / 4 },
    { 0.4, 5, 4, { 0, 49, 100 }, 0.4 * (0.1 * 3 + 1) / 4 },
    { 0.4, 5, 4, { 0, 99, 100 }, 0.4 * (0.2 * 3 + 1) / 4 },
    { 0.4, 5, 4, { 2, 49, 100 }, 0.4 * (0.5 * 3 + 1) / 4 },
    { 0.4, 5, 4, { 4, 98, 100 }, 0.4 * (499.0 / 500 * 3 + 1) / 4 },
    { 0.3, 1, 3, { 0, 0, 2 }, 0.2 },
};

START_TEST(the_rate_rises_with_every_batch)
{
    double rate = hvd_warmup_rate(warmups[_i].target, warmups[_i].warmup_epochs, warmups[_i].size,
                                  warmups[_i].batch);
    ck_assert_double_eq_tol(rate, warmups[_i].rate, 1e-15);
}
END_TEST

START_TEST(it_begins_near_the_rate_of_one_rank)
{
    double rate = hvd_warmup_rate(0.8, 5, 8, (struct hvd_batch){ 0, 0, 10000 });
    ck_assert(rate > 0.1 && rate < 0.10002);
}
END_TEST

static const struct {
    double target, warmup_epochs;
    int size;
    struct hvd_batch batch;
} warm[] = {
    { 0.7, 5, 7, { 4, 99, 100 } },      /* the last batch of the warm-up */
    { 0.7, 0.3, 7, { 0, 2, 10 } },      /* likewise */
    { 0.7, 1, 7, { 0, 0, 1 } },         /* likewise */
    { 0.7, 5, 7, { 5, 0, 100 } },       /* afterwards */
    { 0.7, 5, 7, { 1000000, 3, 100 } }, /* long afterwards */
    { 0.7, 0, 7, { 0, 0, 100 } },       /* there is none */
    { 0.7, -1, 7, { 0, 0, 100 } },      /* likewise */
    { 0.7, NAN, 7, { 0, 0, 100 } },     /* likewise */
    { 0.7, 5, 1, { 0, 0, 100 } },       /* alone */
    { 0.7, 5, 1, { 3, 33, 100 } },      /* likewise */
    { 0.7, 5, 0, { 3, 33, 100 } },      /* not a size */
    { 0.7, 5, 7, { 4, 0, 0 } },         /* an epoch of no batch has one */
};

START_TEST(it_ends_at_the_target_to_the_bit)
{
    double rate =
        hvd_warmup_rate(warm[_i].target, warm[_i].warmup_epochs, warm[_i].size, warm[_i].batch);
    ck_assert(rate == warm[_i].target);
}
END_TEST

START_TEST(it_never_falls)
{
    double last = 0;
    for (int64_t epoch = 0; epoch < 4; epoch++)
        for (int64_t batch = 0; batch < 37; batch++) {
            double rate = hvd_warmup_rate(1, 3, 16, (struct hvd_batch){ epoch, batch, 37 });
            ck_assert(rate >= last && rate <= 1);
            last = rate;
        }
}
END_TEST

static double half_of_epoch(double epoch, void *arg)
{
    return epoch / *(double *)arg;
}

static double two = 2;

static const struct {
    struct hvd_rate_schedule schedule;
    struct hvd_batch batch;
    double rate;
} schedules[] = {
    { { .initial = 0.1, .decay = 0.5 }, { 0, 99, 100 }, 0.1 },
    { { .initial = 0.1, .decay = 0.5 }, { 3, 99, 100 }, 0.0125 },
    { { .initial = 0.1, .decay = 0.5, .smooth = 1 }, { 0, 0, 100 }, 0.1 },
    { { .initial = 0.1, .decay = 0.25, .smooth = 1 }, { 1, 50, 100 }, 0.0125 },
    { { .initial = 0.1, .decay = 0.25, .smooth = 1 }, { 1, 0, 0 }, 0.025 },
    { { .initial = 0.1, .decay = 1 }, { 7, 3, 100 }, 0.1 },
    { { .initial = 0.1 }, { 7, 3, 100 }, 0.1 },
    { { .initial = 0.1, .decay = 0.5, .start_epoch = 2 }, { 1, 99, 100 }, 0.1 },
    { { .initial = 0.1, .decay = 0.5, .start_epoch = 2 }, { 2, 0, 100 }, 0.1 },
    { { .initial = 0.1, .decay = 0.5, .start_epoch = 2 }, { 3, 0, 100 }, 0.05 },
    { { .initial = 0.1, .decay = 0.5, .start_epoch = 2, .end_epoch = 4 }, { 3, 99, 100 }, 0.05 },
    { { .initial = 0.1, .decay = 0.5, .start_epoch = 2, .end_epoch = 4 }, { 4, 0, 100 }, 0.1 },
    { { .initial = 0.1, .multiplier = half_of_epoch, .arg = &two }, { 3, 50, 100 }, 0.15 },
    { { .initial = 0.1, .multiplier = half_of_epoch, .arg = &two, .smooth = 1 },
      { 3, 50, 100 },
      0.175 },
};

START_TEST(the_rate_follows_its_schedule)
{
    double rate = hvd_scheduled_rate(&schedules[_i].schedule, schedules[_i].batch);
    ck_assert_double_eq_tol(rate, schedules[_i].rate, 1e-15);
}
END_TEST

START_TEST(the_momentum_grows_with_the_rate)
{
    ck_assert_double_eq_tol(hvd_corrected_momentum(0.9, 0.1, 0.05), 0.45, 1e-15);
    ck_assert(hvd_corrected_momentum(0.9, 0.1, 0.1) == 0.9);
    ck_assert(hvd_corrected_momentum(0.9, 0, 0.1) == 0.9);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rates");
    TCase *tcase = tcase_create("rates");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, the_rate_rises_with_every_batch, 0, ROWS(warmups));
    tcase_add_test(tcase, it_begins_near_the_rate_of_one_rank);
    tcase_add_loop_test(tcase, it_ends_at_the_target_to_the_bit, 0, ROWS(warm));
    tcase_add_test(tcase, it_never_falls);
    tcase_add_loop_test(tcase, the_rate_follows_its_schedule, 0, ROWS(schedules));
    tcase_add_test(tcase, the_momentum_grows_with_the_rate);
    return unit_run(suite);
}
