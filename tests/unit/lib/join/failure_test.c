/* SPDX-License-Identifier: Apache-2.0 */
/* Which of several failures every call is answered with, and what a departure is good for. */
#include "lib/join/failure.h"

#include "tests/support/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct failure failure;
static struct err err;
static struct rank_end end;

/* It failed by itself, was lost or has left. */
static void record(int rank, int status, const char *words)
{
    struct rank_end made = { .how.kind = RANK_END_FAILED, .status = status, .because_of = rank };
    made.rank = RANK_NONE;
    snprintf(made.words, sizeof made.words, "%s", words);
    failure_record(&failure, &made);
}

static void setup(void)
{
    failure_init(&failure);
    err = (struct err){ 0 };
}

static void teardown(void)
{
    failure_fini(&failure);
}

START_TEST(nothing_fails_while_nothing_has_happened)
{
    ck_assert_int_eq(failure_check(&failure, &err), HVD_OK);
    ck_assert_int_eq(failure_departure(&failure, &end), HVD_OK);
    ck_assert_int_eq(err.code, HVD_OK);
    ck_assert_str_eq(err.text, "");
}
END_TEST

START_TEST(a_lost_rank_is_the_answer_to_every_call_from_then_on)
{
    record(3, HVD_ERR_PEER_LOST, "rank 3 on b was killed by signal 9");
    for (int i = 0; i < 3; i++) {
        err = (struct err){ 0 };
        ck_assert_int_eq(failure_check(&failure, &err), HVD_ERR_PEER_LOST);
        ck_assert_int_eq(err.code, HVD_ERR_PEER_LOST);
        ck_assert_str_eq(err.text, "rank 3 on b was killed by signal 9");
    }
    ck_assert_int_eq(failure_departure(&failure, &end), HVD_OK);
}
END_TEST

START_TEST(a_rank_that_has_left_breaks_nothing)
{
    record(3, HVD_ERR_PEER_LEFT, "rank 2 has left");
    ck_assert_int_eq(failure_check(&failure, &err), HVD_OK);
    ck_assert_int_eq(failure_departure(&failure, &end), HVD_ERR_PEER_LEFT);
    ck_assert_str_eq(end.words, "rank 2 has left");
}
END_TEST

START_TEST(the_first_cause_and_the_first_departure_count)
{
    record(3, HVD_ERR_PEER_LEFT, "rank 2");
    record(3, HVD_ERR_PEER_LEFT, "rank 3");
    record(3, HVD_ERR_PROTOCOL, "a frame too long");
    record(3, HVD_ERR_PEER_LOST, "rank 4");
    record(3, HVD_ERR_PEER_LEFT, "rank 5");
    ck_assert_int_eq(failure_check(&failure, &err), HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, "a frame too long");
    ck_assert_int_eq(failure_departure(&failure, &end), HVD_ERR_PEER_LEFT);
    ck_assert_str_eq(end.words, "rank 2");
}
END_TEST

START_TEST(words_are_taken_as_they_are)
{
    record(3, HVD_ERR_PEER_LOST, "100%s%n");
    ck_assert_int_eq(failure_check(&failure, &err), HVD_ERR_PEER_LOST);
    ck_assert_str_eq(err.text, "100%s%n");
}
END_TEST

static const struct rank_end left = { .how.kind = RANK_END_LEFT,
                                      .status = HVD_ERR_PEER_LEFT,
                                      .rank = 2,
                                      .host = "b",
                                      .because_of = 2,
                                      .collective = COLLECTIVE_BARRIER };

START_TEST(who_was_stranded_first_says_so_unless_the_world_is_broken)
{
    struct rank_end later = left;
    later.rank = 1;
    ck_assert_int_eq(failure_parting(&failure, &end), HVD_OK);
    failure_strand(&failure, &left);
    failure_strand(&failure, &later);
    ck_assert_int_eq(failure_parting(&failure, &end), HVD_ERR_PEER_LEFT);
    ck_assert_int_eq(end.rank, 2);
    ck_assert_int_eq(end.collective, COLLECTIVE_BARRIER);
    ck_assert_int_eq(end.because_of, RANK_NONE); /* who leaves has not failed */
    record(1, HVD_ERR_SYSTEM, "accept");
    ck_assert_int_eq(failure_parting(&failure, &end), HVD_ERR_SYSTEM);
}
END_TEST

/* What a listener has been told, and how often. */
static struct {
    int count, origin;
    bool was_answered; /* a call had the answer before */
    struct rank_end end;
} told;

static void on_told(void *arg, const struct rank_end *reason)
{
    ck_assert_ptr_eq(arg, &told);
    told.count++;
    told.origin = reason->because_of;
    told.was_answered = failure_is_there(&failure);
    told.end = *reason;
}

START_TEST(who_listens_is_told_of_the_first_cause_before_any_call_is)
{
    memset(&told, 0, sizeof told);
    failure_listen(&failure, on_told, &told);
    record(2, HVD_ERR_PEER_LEFT, "rank 2 has left");
    ck_assert_int_eq(told.count, 0);
    record(1, HVD_ERR_SYSTEM, "rank 1 on a: accept");
    record(3, HVD_ERR_PEER_LOST, "rank 3");
    ck_assert_int_eq(told.count, 1);
    ck_assert_int_eq(told.origin, 1);
    ck_assert(!told.was_answered);
    ck_assert_int_eq(told.end.status, HVD_ERR_SYSTEM);
    ck_assert_str_eq(told.end.words, "rank 1 on a: accept");
}
END_TEST

START_TEST(who_listens_no_more_is_not_told)
{
    memset(&told, 0, sizeof told);
    failure_listen(&failure, on_told, &told);
    failure_listen(&failure, NULL, NULL);
    record(1, HVD_ERR_SYSTEM, "rank 1 on a: accept");
    ck_assert_int_eq(told.count, 0);
    ck_assert(failure_is_there(&failure));
}
END_TEST

START_TEST(the_first_cause_keeps_its_origin)
{
    ck_assert_int_eq(failure_reason(&failure, &end), HVD_OK);
    record(2, HVD_ERR_PEER_LEFT, "rank 2 has left");
    ck_assert_int_eq(failure_reason(&failure, &end), HVD_OK);
    record(1, HVD_ERR_SYSTEM, "rank 1 on a: accept");
    record(3, HVD_ERR_PEER_LOST, "rank 3");
    failure_reason(&failure, &end);
    ck_assert_int_eq(end.because_of, 1);
}
END_TEST

enum { THREADS = 8 };

/* Records a failure of its own and returns, in `arg`, the one that it is answered with. */
static void *record_and_check(void *arg)
{
    struct err *answer = arg;
    record(3, HVD_ERR_PEER_LOST, answer->text);
    record(3, HVD_ERR_PEER_LEFT, answer->text);
    failure_check(&failure, answer);
    return NULL;
}

START_TEST(threads_that_fail_at_once_are_answered_alike)
{
    pthread_t threads[THREADS];
    struct err answers[THREADS] = { { 0 } };
    for (int i = 0; i < THREADS; i++) {
        snprintf(answers[i].text, sizeof answers[i].text, "rank %d", i);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, record_and_check, &answers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    failure_check(&failure, &err);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(answers[i].code, HVD_ERR_PEER_LOST);
        ck_assert_str_eq(answers[i].text, err.text);
    }
    ck_assert_int_eq(failure_departure(&failure, &end), HVD_ERR_PEER_LEFT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("failure");
    TCase *tcase = tcase_create("failure");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, nothing_fails_while_nothing_has_happened);
    tcase_add_test(tcase, a_lost_rank_is_the_answer_to_every_call_from_then_on);
    tcase_add_test(tcase, a_rank_that_has_left_breaks_nothing);
    tcase_add_test(tcase, the_first_cause_and_the_first_departure_count);
    tcase_add_test(tcase, words_are_taken_as_they_are);
    tcase_add_test(tcase, who_was_stranded_first_says_so_unless_the_world_is_broken);
    tcase_add_test(tcase, who_listens_is_told_of_the_first_cause_before_any_call_is);
    tcase_add_test(tcase, who_listens_no_more_is_not_told);
    tcase_add_test(tcase, the_first_cause_keeps_its_origin);
    tcase_add_test(tcase, threads_that_fail_at_once_are_answered_alike);
    return unit_run(suite);
}
