/* SPDX-License-Identifier: Apache-2.0 */
/* What is copied around the caches, or in parts, is what memcpy() would have copied, at any address
 * and of any size, and nothing beside it; a release store publishes it. */
#include "lib/memory/copy.h"
#include "tests/support/descriptors.h"
#include "tests/support/reduce_fill.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const size_t sizes[] = { 0,   1,    15,   63,   64,   65,   127, 128,
                                200, 2111, 2112, 2113, 4096, 4160, 9000 };
static const size_t offsets[] = { 0, 1, 8, 16, 33, 63 };
enum { SIZES = sizeof sizes / sizeof *sizes, OFFSETS = sizeof offsets / sizeof *offsets };

/* From a block without a byte to spare, which AddressSanitizer watches. */
static void check_copy(void (*copy)(void *to, const void *from, size_t nbytes), size_t nbytes,
                       size_t to_offset, size_t from_offset)
{
    unsigned char *from = malloc(from_offset + nbytes + !nbytes);
    unsigned char *to = aligned_alloc(64, (nbytes / 64 + 3) * 64), *start = to + 1 + to_offset;
    reduce_fill(from, from_offset + nbytes, 1, nbytes + from_offset);
    start[-1] = start[nbytes] = 0xa5;
    copy(start, from + from_offset, nbytes);
    ck_assert(memcmp(start, from + from_offset, nbytes) == 0);
    ck_assert(start[-1] == 0xa5 && start[nbytes] == 0xa5);
    free(from);
    free(to);
}

static void copy_result_at(void *to, const void *from, size_t nbytes)
{
    copy_result(to, from, nbytes);
}

START_TEST(copies_are_right_at_any_address)
{
    for (size_t s = 0; s < SIZES; s++)
        for (size_t t = 0; t < OFFSETS; t++)
            for (size_t f = 0; f < OFFSETS; f++) {
                check_copy(copy_streaming, sizes[s], offsets[t], offsets[f]);
                check_copy(copy_cached, sizes[s], offsets[t], offsets[f]);
            }
}
END_TEST

START_TEST(results_of_any_size_are_right)
{
    check_copy(copy_result_at, COPY_RESULT_STREAMED - 1, 1, 8);
    check_copy(copy_result_at, COPY_RESULT_STREAMED, 33, 1);
}
END_TEST

enum { WORDS = 4096, ROUNDS = 300 };
static struct {
    atomic_int turn; /* even: to be written */
    int words[WORDS];
} handed __attribute__((aligned(64)));

static void *hand_over(void *arg)
{
    static int words[WORDS];
    (void)arg;
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++)
            words[i] = round;
        while (atomic_load_explicit(&handed.turn, memory_order_acquire) % 2 != 0)
            sched_yield();
        copy_streaming(handed.words, words, sizeof words);
        atomic_fetch_add_explicit(&handed.turn, 1, memory_order_release);
    }
    return NULL;
}

START_TEST(a_release_store_publishes_what_was_streamed)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, hand_over, NULL), 0);
    for (int round = 1; round <= ROUNDS; round++) {
        while (atomic_load_explicit(&handed.turn, memory_order_acquire) % 2 == 0)
            sched_yield();
        for (int i = 0; i < WORDS; i++)
            if (handed.words[i] != round)
                ck_abort_msg("word %d of round %d has not come", i, round);
        atomic_fetch_add_explicit(&handed.turn, 1, memory_order_release);
    }
    pthread_join(thread, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy");
    TCase *tcase = tcase_create("copy");
    descriptors_watch(tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, copies_are_right_at_any_address);
    tcase_add_test(tcase, results_of_any_size_are_right);
    tcase_add_test(tcase, a_release_store_publishes_what_was_streamed);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
