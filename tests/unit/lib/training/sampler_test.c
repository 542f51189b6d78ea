/* SPDX-License-Identifier: Apache-2.0 */
/* Who gets which sample: all of them, in equal shares, the same whatever the number of ranks, anew
 * in each epoch, and on from where a checkpoint was. */
#include "lib/hvd.h"
#include "lib/hvd_training.h"
#include "tests/support/unit.h"

#include <string.h>

enum { SIZE_MAX_TRIED = 5, MOST = 2000 };

#define ROWS(table) (int)(sizeof(table) / sizeof *(table))

static struct hvd_sampler *make(uint64_t count, uint64_t seed, int rank, int size)
{
    struct hvd_sampler *sampler;
    const struct hvd_sampler_options options = {
        .count = count, .seed = seed, .rank = rank, .size = size
    };
    ck_assert_int_eq(hvd_sampler_create(&options, &sampler), HVD_OK);
    return sampler;
}

/* A world's samplers, and what they have dealt: in turn, a batch for each rank. */
struct deal {
    int size;
    struct hvd_sampler *samplers[SIZE_MAX_TRIED];
    uint64_t dealt[MOST];
    size_t count;
};

static void deal_init(struct deal *deal, uint64_t count, int size)
{
    memset(deal, 0, sizeof *deal);
    deal->size = size;
    for (int rank = 0; rank < size; rank++)
        deal->samplers[rank] = make(count, 42, rank, size);
}

static void deal_fini(struct deal *deal)
{
    for (int rank = 0; rank < deal->size; rank++)
        hvd_sampler_destroy(deal->samplers[rank]);
}

/* All ranks get as many, and know before how many are left. */
static size_t deal_batches(struct deal *deal, size_t batch)
{
    size_t got = 0;
    for (int rank = 0; rank < deal->size; rank++) {
        struct hvd_sampler *sampler = deal->samplers[rank];
        uint64_t left = hvd_sampler_left(sampler);
        size_t n = hvd_sampler_next(sampler, deal->dealt + deal->count, batch);
        ck_assert_uint_eq(n, batch < left ? batch : left);
        ck_assert_uint_eq(hvd_sampler_left(sampler), left - n);
        ck_assert(rank == 0 || n == got);
        deal->count += got = n;
    }
    for (int rank = 1; rank < deal->size; rank++)
        ck_assert_uint_eq(hvd_sampler_processed(deal->samplers[rank]),
                          hvd_sampler_processed(deal->samplers[0]));
    return got;
}

static int compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Each sample is among the `dealt` ones, and `twice` of them are there once more. */
static void require_all(const struct deal *deal, uint64_t count, uint64_t twice)
{
    uint64_t sorted[MOST], seen = 0;
    memcpy(sorted, deal->dealt, sizeof sorted);
    qsort(sorted, deal->count, sizeof *sorted, compare_numbers);
    for (size_t i = 0; i < deal->count; i++)
        seen += i == 0 || sorted[i] != sorted[i - 1];
    ck_assert_uint_eq(seen, count);
    ck_assert_uint_eq(deal->count, count + twice);
    ck_assert(count == 0 || sorted[deal->count - 1] == count - 1);
}

static const uint64_t counts[] = { 0, 1, 2, 3, 7, 12, 100, 101, 103, 999 };
static const size_t batches[] = { 1, 4, 7, 64 };

START_TEST(every_sample_is_dealt_in_equal_shares)
{
    static struct deal deal;
    uint64_t count = counts[_i];
    for (int size = 1; size <= SIZE_MAX_TRIED; size++)
        for (int b = 0; b < ROWS(batches); b++) {
            uint64_t ranks = (uint64_t)size;
            deal_init(&deal, count, size);
            while (deal_batches(&deal, batches[b]) > 0)
                continue;
            require_all(&deal, count, (ranks - count % ranks) % ranks);
            ck_assert_uint_eq(hvd_sampler_processed(deal.samplers[0]), count);
            deal_fini(&deal);
        }
}
END_TEST

START_TEST(one_sample_is_dealt_to_each_of_three_ranks)
{
    for (int rank = 0; rank < 3; rank++) {
        uint64_t samples[2] = { 7, 7 };
        struct hvd_sampler *sampler = make(1, 0, rank, 3);
        ck_assert_uint_eq(hvd_sampler_next(sampler, samples, 2), 1);
        ck_assert_uint_eq(samples[0], 0);
        ck_assert_uint_eq(samples[1], 7);
        hvd_sampler_destroy(sampler);
    }
}
END_TEST

/* The batches of 24 / size of all ranks, as a set. */
START_TEST(a_step_sees_the_same_samples_with_any_number_of_ranks)
{
    static struct deal alone, together;
    static const int sizes[] = { 1, 2, 3, 4 };
    int size = sizes[_i];
    deal_init(&alone, 240, 1);
    deal_init(&together, 240, size);
    for (int step = 0; step < 10; step++) {
        uint64_t *one = alone.dealt + alone.count, *all = together.dealt + together.count;
        deal_batches(&alone, 24);
        deal_batches(&together, 24 / (size_t)size);
        qsort(one, 24, sizeof *one, compare_numbers);
        qsort(all, 24, sizeof *all, compare_numbers);
        ck_assert_mem_eq(one, all, 24 * sizeof *one);
    }
    deal_fini(&alone);
    deal_fini(&together);
}
END_TEST

static void take_all(struct hvd_sampler *sampler, uint64_t *samples, uint64_t count)
{
    ck_assert_uint_eq(hvd_sampler_next(sampler, samples, count), count);
    ck_assert_uint_eq(hvd_sampler_left(sampler), 0);
    ck_assert_uint_eq(hvd_sampler_next(sampler, samples, count), 0);
}

/* What others must be able to rely on: a checkpoint is gone on with on another machine. */
START_TEST(the_order_of_an_epoch_is_known)
{
    static const uint64_t expected[] = { 6, 2, 0, 7, 8, 3, 9, 5, 4, 1 };
    uint64_t samples[10];
    struct hvd_sampler *sampler = make(10, 42, 0, 1);
    hvd_sampler_start_epoch(sampler, 3);
    take_all(sampler, samples, 10);
    ck_assert_mem_eq(samples, expected, sizeof expected);
    hvd_sampler_destroy(sampler);
}
END_TEST

START_TEST(the_order_depends_on_seed_and_epoch_alone)
{
    uint64_t first[100], again[100], other[100];
    struct hvd_sampler *sampler = make(100, 1, 0, 1), *second = make(100, 2, 0, 1);
    take_all(sampler, first, 100);
    take_all(second, other, 100);
    ck_assert_mem_ne(first, other, sizeof first);
    for (uint64_t epoch = 1; epoch < 5; epoch++) {
        hvd_sampler_start_epoch(sampler, epoch);
        take_all(sampler, other, 100);
        ck_assert_mem_ne(first, other, sizeof first);
    }
    hvd_sampler_start_epoch(sampler, 0);
    take_all(sampler, again, 100);
    ck_assert_mem_eq(first, again, sizeof first);
    hvd_sampler_destroy(sampler);
    hvd_sampler_destroy(second);
}
END_TEST

/* Of 24 orders of 4 samples each comes up in about 1000 of 24000 epochs: the sum of squared
 * deviations over 1000 has 23 degrees of freedom, and exceeds 60 once in 40000 such seeds. */
START_TEST(every_order_is_as_likely)
{
    int seen[256] = { 0 }, orders = 0;
    double deviation = 0;
    struct hvd_sampler *sampler = make(4, 7, 0, 1);
    for (uint64_t epoch = 0; epoch < 24000; epoch++) {
        uint64_t s[4];
        hvd_sampler_start_epoch(sampler, epoch);
        take_all(sampler, s, 4);
        seen[s[0] * 64 + s[1] * 16 + s[2] * 4 + s[3]]++;
    }
    for (int i = 0; i < 256; i++)
        if (seen[i] > 0) {
            deviation += (seen[i] - 1000.0) * (seen[i] - 1000.0) / 1000.0;
            orders++;
        }
    ck_assert_int_eq(orders, 24);
    ck_assert_double_lt(deviation, 60);
    hvd_sampler_destroy(sampler);
}
END_TEST

START_TEST(unshuffled_samples_come_in_order)
{
    uint64_t samples[4];
    struct hvd_sampler *sampler;
    const struct hvd_sampler_options options = { .count = 7, .in_order = 1, .rank = 1, .size = 2 };
    ck_assert_int_eq(hvd_sampler_create(&options, &sampler), HVD_OK);
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        hvd_sampler_start_epoch(sampler, epoch);
        take_all(sampler, samples, 4);
        ck_assert(samples[0] == 1 && samples[1] == 3 && samples[2] == 5 && samples[3] == 0);
    }
    hvd_sampler_destroy(sampler);
}
END_TEST

static const struct {
    uint64_t count;
    int before, after; /* ranks */
    size_t batch, steps;
} resumptions[] = {
    { 100, 2, 2, 8, 3 }, { 100, 3, 2, 7, 4 }, { 101, 2, 5, 10, 5 }, { 101, 5, 1, 3, 6 },
    { 100, 4, 3, 8, 0 }, { 10, 3, 4, 3, 1 },  { 10, 3, 4, 3, 2 },   { 7, 2, 5, 3, 1 },
};

START_TEST(an_epoch_is_gone_on_with_by_other_ranks_and_nothing_is_lost)
{
    static struct deal before, after;
    uint64_t count = resumptions[_i].count;
    deal_init(&before, count, resumptions[_i].before);
    deal_init(&after, count, resumptions[_i].after);
    for (size_t step = 0; step < resumptions[_i].steps; step++)
        deal_batches(&before, resumptions[_i].batch);
    uint64_t processed = hvd_sampler_processed(before.samplers[0]);
    uint64_t ranks = (uint64_t)after.size, rest = count - processed;
    ck_assert_uint_eq(processed, before.count < count ? before.count : count);
    for (int rank = 0; rank < after.size; rank++) {
        ck_assert_int_eq(hvd_sampler_resume(after.samplers[rank], 0, processed), HVD_OK);
        ck_assert_uint_eq(hvd_sampler_processed(after.samplers[rank]), processed);
    }
    memcpy(after.dealt, before.dealt, sizeof before.dealt);
    after.count = processed;
    while (deal_batches(&after, 4) > 0)
        continue;
    require_all(&after, count, (ranks - rest % ranks) % ranks);
    deal_fini(&before);
    deal_fini(&after);
}
END_TEST

/* Whoever was interrupted trains on the same samples, also on those that are dealt twice. */
START_TEST(an_epoch_that_is_gone_on_with_by_as_many_ranks_is_the_same)
{
    static struct deal whole, parts;
    deal_init(&whole, 505, 4);
    deal_init(&parts, 505, 4);
    for (int step = 0; step < 16; step++) {
        for (int rank = 0; rank < 4; rank++)
            hvd_sampler_resume(parts.samplers[rank], 0, (uint64_t)step * 4 * 8);
        deal_batches(&whole, 8);
        deal_batches(&parts, 8);
    }
    ck_assert_uint_eq(whole.count, 508);
    ck_assert_uint_eq(parts.count, 508);
    ck_assert_mem_eq(whole.dealt, parts.dealt, sizeof whole.dealt);
    deal_fini(&whole);
    deal_fini(&parts);
}
END_TEST

START_TEST(what_is_behind_the_end_of_an_epoch_cannot_be_resumed)
{
    uint64_t sample;
    struct hvd_sampler *sampler = make(10, 0, 0, 1);
    ck_assert_uint_eq(hvd_sampler_next(sampler, &sample, 1), 1);
    ck_assert_int_eq(hvd_sampler_resume(sampler, 1, 11), HVD_ERR_INVALID);
    ck_assert_str_eq(hvd_last_error(), "sampler: 11 of 10 samples processed");
    ck_assert_uint_eq(hvd_sampler_processed(sampler), 1);
    ck_assert_int_eq(hvd_sampler_resume(sampler, 1, 10), HVD_OK);
    ck_assert_uint_eq(hvd_sampler_left(sampler), 0);
    hvd_sampler_destroy(sampler);
}
END_TEST

START_TEST(distinct_samples_are_dealt_once_in_equally_many_steps)
{
    uint64_t seen[10] = { 0 };
    for (int rank = 0; rank < 3; rank++) {
        uint64_t samples[3];
        size_t expected[] = { 3, rank == 0 ? 1 : 0, 0 };
        struct hvd_sampler *sampler;
        const struct hvd_sampler_options options = {
            .count = 10, .seed = 7, .rank = rank, .size = 3, .distinct = 1
        };
        ck_assert_int_eq(hvd_sampler_create(&options, &sampler), HVD_OK);
        ck_assert_uint_eq(hvd_sampler_left(sampler), 4);
        for (int step = 0; step < 3; step++) {
            size_t got = hvd_sampler_next(sampler, samples, 3);
            ck_assert_uint_eq(got, expected[step]);
            for (size_t i = 0; i < got; i++)
                seen[samples[i]]++;
        }
        ck_assert_uint_eq(hvd_sampler_left(sampler), 0);
        ck_assert_uint_eq(hvd_sampler_processed(sampler), 10);
        hvd_sampler_destroy(sampler);
    }
    for (int i = 0; i < 10; i++)
        ck_assert_uint_eq(seen[i], 1);
}
END_TEST

/* Two batches are taken ahead, one is finished; the other is dealt again when the ranks change. */
START_TEST(samples_that_are_taken_ahead_are_processed_when_they_are_finished)
{
    uint64_t samples[20], again[20];
    struct hvd_sampler *sampler;
    const struct hvd_sampler_options options = {
        .count = 20, .in_order = 1, .rank = 0, .size = 2, .ahead = 1
    };
    ck_assert_int_eq(hvd_sampler_create(&options, &sampler), HVD_OK);
    ck_assert_uint_eq(hvd_sampler_next(sampler, samples, 6), 6);
    ck_assert_uint_eq(hvd_sampler_processed(sampler), 0);
    ck_assert_int_eq(hvd_sampler_finish(sampler, 7), HVD_ERR_INVALID);
    ck_assert_str_eq(hvd_last_error(), "sampler: 7 samples finished, 6 are taken");
    ck_assert_int_eq(hvd_sampler_finish(sampler, 3), HVD_OK);
    ck_assert_uint_eq(hvd_sampler_processed(sampler), 6);
    ck_assert_uint_eq(hvd_sampler_left(sampler), 4);
    ck_assert_int_eq(hvd_sampler_place(sampler, 0, 1), HVD_OK);
    ck_assert_uint_eq(hvd_sampler_left(sampler), 14);
    ck_assert_uint_eq(hvd_sampler_next(sampler, again, 20), 14);
    for (uint64_t i = 0; i < 14; i++)
        ck_assert_uint_eq(again[i], 6 + i);
    hvd_sampler_destroy(sampler);
}
END_TEST

START_TEST(samples_that_are_taken_one_by_one_cannot_be_finished)
{
    uint64_t sample;
    struct hvd_sampler *sampler = make(10, 0, 0, 1);
    ck_assert_uint_eq(hvd_sampler_next(sampler, &sample, 1), 1);
    ck_assert_int_eq(hvd_sampler_finish(sampler, 1), HVD_ERR_INVALID);
    ck_assert_str_eq(hvd_last_error(),
                     "sampler: its samples count as processed when they are taken");
    hvd_sampler_destroy(sampler);
}
END_TEST

START_TEST(a_sampler_is_placed_among_other_ranks)
{
    uint64_t samples[10];
    struct hvd_sampler *sampler;
    const struct hvd_sampler_options options = { .count = 10, .in_order = 1, .size = 2 };
    ck_assert_int_eq(hvd_sampler_create(&options, &sampler), HVD_OK);
    hvd_sampler_start_epoch(sampler, 5);
    ck_assert_uint_eq(hvd_sampler_epoch(sampler), 5);
    ck_assert_uint_eq(hvd_sampler_next(sampler, samples, 2), 2);
    ck_assert_int_eq(hvd_sampler_place(sampler, 2, 3), HVD_OK);
    ck_assert_uint_eq(hvd_sampler_processed(sampler), 4);
    ck_assert_uint_eq(hvd_sampler_epoch(sampler), 5);
    take_all(sampler, samples, 2);
    ck_assert(samples[0] == 6 && samples[1] == 9);
    hvd_sampler_destroy(sampler);
}
END_TEST

START_TEST(a_place_that_cannot_be_changes_nothing)
{
    struct hvd_sampler *sampler = make(10, 0, 0, 2);
    ck_assert_int_eq(hvd_sampler_place(sampler, 2, 2), HVD_ERR_INVALID);
    ck_assert_str_eq(hvd_last_error(), "sampler: rank 2 of 2; expected 0 <= rank < size");
    ck_assert_int_eq(hvd_sampler_place(sampler, 0, 0), HVD_ERR_NOT_INITIALIZED);
    ck_assert_uint_eq(hvd_sampler_left(sampler), 5);
    hvd_sampler_destroy(sampler);
}
END_TEST

static const struct {
    struct hvd_sampler_options options;
    const char *text;
} refused[] = {
    { { .count = UINT64_C(1) << 32, .size = 1 },
      "sampler: count is 4294967296, at most 4294967295 is possible" },
    { { .rank = 2, .size = 2 }, "sampler: rank 2 of 2; expected 0 <= rank < size" },
    { { .rank = -1, .size = 2 }, "sampler: rank -1 of 2; expected 0 <= rank < size" },
    { { .rank = 0, .size = -2 }, "sampler: rank 0 of -2; expected 0 <= rank < size" },
    { { .rank = 1 }, "sampler: rank 1 of 0; expected 0 <= rank < size" },
};

START_TEST(options_that_cannot_be_are_refused)
{
    struct hvd_sampler *sampler;
    ck_assert_int_eq(hvd_sampler_create(&refused[_i].options, &sampler), HVD_ERR_INVALID);
    ck_assert_str_eq(hvd_last_error(), refused[_i].text);
    ck_assert_ptr_null(sampler);
}
END_TEST

START_TEST(nothing_is_made_of_nothing)
{
    struct hvd_sampler *sampler;
    ck_assert_int_eq(hvd_sampler_create(NULL, &sampler), HVD_ERR_INVALID);
    ck_assert_int_eq(hvd_sampler_create(&(struct hvd_sampler_options){ .size = 1 }, NULL),
                     HVD_ERR_INVALID);
    hvd_sampler_destroy(NULL);
}
END_TEST

START_TEST(rank_and_size_are_those_of_the_world)
{
    struct hvd_sampler *sampler;
    const struct hvd_sampler_options options = { .count = 10 };
    ck_assert_int_eq(hvd_sampler_create(&options, &sampler), HVD_ERR_NOT_INITIALIZED);
    ck_assert_int_eq(hvd_init(), HVD_OK);
    ck_assert_int_eq(hvd_sampler_create(&options, &sampler), HVD_OK);
    ck_assert_uint_eq(hvd_sampler_left(sampler), 10);
    hvd_sampler_destroy(sampler);
    ck_assert_int_eq(hvd_shutdown(), HVD_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sampler");
    TCase *tcase = tcase_create("sampler");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, every_sample_is_dealt_in_equal_shares, 0, ROWS(counts));
    tcase_add_test(tcase, one_sample_is_dealt_to_each_of_three_ranks);
    tcase_add_loop_test(tcase, a_step_sees_the_same_samples_with_any_number_of_ranks, 0, 4);
    tcase_add_test(tcase, the_order_of_an_epoch_is_known);
    tcase_add_test(tcase, the_order_depends_on_seed_and_epoch_alone);
    tcase_add_test(tcase, every_order_is_as_likely);
    tcase_add_test(tcase, unshuffled_samples_come_in_order);
    tcase_add_loop_test(tcase, an_epoch_is_gone_on_with_by_other_ranks_and_nothing_is_lost, 0,
                        ROWS(resumptions));
    tcase_add_test(tcase, an_epoch_that_is_gone_on_with_by_as_many_ranks_is_the_same);
    tcase_add_test(tcase, what_is_behind_the_end_of_an_epoch_cannot_be_resumed);
    tcase_add_test(tcase, distinct_samples_are_dealt_once_in_equally_many_steps);
    tcase_add_test(tcase, samples_that_are_taken_ahead_are_processed_when_they_are_finished);
    tcase_add_test(tcase, samples_that_are_taken_one_by_one_cannot_be_finished);
    tcase_add_test(tcase, a_sampler_is_placed_among_other_ranks);
    tcase_add_test(tcase, a_place_that_cannot_be_changes_nothing);
    tcase_add_loop_test(tcase, options_that_cannot_be_are_refused, 0, ROWS(refused));
    tcase_add_test(tcase, nothing_is_made_of_nothing);
    tcase_add_test(tcase, rank_and_size_are_those_of_the_world);
    return unit_run(suite);
}
