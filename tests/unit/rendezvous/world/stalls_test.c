/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for whom, from what ranks say that they have submitted. */
#include "rendezvous/world/stalls.h"

#include "rendezvous/world/rendezvous_job.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

enum { SIZE = 20, SET = 1000, A = 1, B = 2 };

static struct rendezvous_job *job;
static struct err err;

static void setup(void)
{
    job = rendezvous_job_create("job-1", SIZE, 30000, 0, &err);
    ck_assert_ptr_nonnull(job);
    for (int i = 0; i < SIZE; i++) {
        struct join_hello hello = { .rank = i, .size = SIZE, .host = "a", .pid = 1 };
        int pending_worker;
        ck_assert_int_eq(
            pending_workers_join(&job->pending, &hello, NULL, 0, &pending_worker, &err), HVD_OK);
        job->connected++;
    }
    ck_assert_int_eq(rendezvous_job_assign(job, 0, &err), HVD_OK);
}

static void teardown(void)
{
    rendezvous_job_destroy(job);
}

static struct join_report report; /* of the rank that says something next */

static void nothing(void)
{
    memset(&report, 0, sizeof report);
}

/* In front of what else it waits for. */
static void waits(uint64_t key, uint32_t age_ms)
{
    nothing();
    report.waits.count = 1;
    report.waits.keys[0] = key;
    report.waits.set_key = SET;
    report.waits.age_ms = age_ms;
    report.waits.nmembers = 1;
    report.waits.members[0].end = SIZE;
    snprintf(report.waits.name, sizeof report.waits.name, "tensor %d", (int)key);
}

static void say(int first, int end)
{
    for (int rank = first; rank < end; rank++)
        rendezvous_job_heard(job, rank, &report, 1000);
}

/* For whom a rank waits: "1 2", with "..." for those beyond the limit; "" if it is not stalled. A
 * rank that is stalled waits for somebody. */
static const char *waits_for(int rank)
{
    static char text[128];
    struct stalls stalls;
    struct rank_waits own;
    stalls_init(&stalls, job);
    const struct stall_found *found = stalls_find(&stalls, rank, &own);
    text[0] = '\0';
    ck_assert(!found || found->count > 0);
    for (int i = 0; found && i < found->count; i++) {
        size_t length = strlen(text);
        if (i == STALLED_RANKS_MAX) {
            snprintf(text + length, sizeof text - length, " ...%d", found->count - i);
            break;
        }
        snprintf(text + length, sizeof text - length, "%s%d", i ? " " : "", found->ranks[i]);
    }
    return text;
}

START_TEST(nobody_is_stalled_before_anybody_was_asked)
{
    setup();
    for (int rank = 0; rank < SIZE; rank++)
        ck_assert_str_eq(waits_for(rank), "");
    teardown();
}
END_TEST

START_TEST(all_wait_for_those_that_have_not_submitted)
{
    setup();
    waits(A, 3000);
    say(0, SIZE);
    nothing();
    say(7, 8);
    waits(B, 5);
    say(9, 10);
    for (int rank = 0; rank < SIZE; rank++)
        ck_assert_str_eq(waits_for(rank), rank == 7 || rank == 9 ? "" : "7 9");
    teardown();
}
END_TEST

START_TEST(a_short_wait_is_no_stall)
{
    setup();
    waits(A, STALLED_AFTER_MS - 1);
    say(0, SIZE - 1);
    nothing();
    say(SIZE - 1, SIZE);
    ck_assert_str_eq(waits_for(0), "");
    teardown();
}
END_TEST

START_TEST(nobody_waits_for_ranks_when_all_have_submitted)
{
    setup();
    waits(A, 9000);
    say(0, SIZE);
    ck_assert_str_eq(waits_for(0), "");
    teardown();
}
END_TEST

START_TEST(ranks_in_a_deadlock_wait_for_each_other)
{
    setup();
    waits(A, 9000);
    say(0, SIZE - 1);
    waits(B, 9000);
    say(SIZE - 1, SIZE);
    ck_assert_str_eq(waits_for(0), "19");
    ck_assert_str_eq(waits_for(SIZE - 1), "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 ...3");
    teardown();
}
END_TEST

START_TEST(a_rank_that_has_joined_is_not_waited_for)
{
    setup();
    waits(A, 9000);
    say(0, SIZE);
    waits(SET, 20000);
    say(3, 4);
    nothing();
    say(4, 5);
    ck_assert_str_eq(waits_for(0), "4");
    ck_assert_str_eq(waits_for(3), "0 1 2 4 5 6 7 8 9 10 11 12 13 14 15 16 ...3");
    teardown();
}
END_TEST

START_TEST(only_members_of_the_process_set_are_waited_for)
{
    setup();
    nothing();
    say(0, SIZE);
    waits(A, 9000);
    report.waits.nmembers = 2;
    report.waits.members[0].first = 2;
    report.waits.members[0].end = 4;
    report.waits.members[1].first = 8;
    report.waits.members[1].end = 9;
    say(8, 9);
    ck_assert_str_eq(waits_for(8), "2 3");
    teardown();
}
END_TEST

START_TEST(a_rank_that_does_not_answer_is_named_when_nobody_else_is_missing)
{
    setup();
    waits(A, 9000);
    say(0, SIZE);
    job->ranks[5].silent = true;
    ck_assert_str_eq(waits_for(0), "5");
    ck_assert_str_eq(waits_for(5), "");
    nothing();
    say(6, 7);
    ck_assert_str_eq(waits_for(0), "6");
    teardown();
}
END_TEST

START_TEST(nobody_is_named_as_long_as_answers_may_come)
{
    setup();
    waits(A, 9000);
    say(0, SIZE);
    job->asked_ms = 2000;
    ck_assert_int_eq(rank_query_start(&job->rank_query, SIZE, 2000, &err), HVD_OK);
    rendezvous_job_heard(job, 0, &report, 2001);
    ck_assert_str_eq(waits_for(0), "");
    rank_query_fini(&job->rank_query);
    ck_assert_str_eq(waits_for(0), "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 ...3");
    teardown();
}
END_TEST

START_TEST(what_a_rank_with_too_many_tensors_has_submitted_is_not_known)
{
    setup();
    waits(A, 9000);
    say(0, SIZE);
    waits(B, 9000);
    report.waits.more = true;
    say(2, 3);
    ck_assert_str_eq(waits_for(0), "2");
    nothing();
    say(3, 4);
    ck_assert_str_eq(waits_for(0), "3");
    teardown();
}
END_TEST

START_TEST(data_that_does_not_come_is_waited_for_where_nobody_answers)
{
    setup();
    waits(A, 9000);
    report.waits.moves = true;
    say(0, SIZE);
    nothing();
    say(1, 2); /* it has all of it already */
    ck_assert_str_eq(waits_for(0), "");
    job->ranks[4].silent = true;
    ck_assert_str_eq(waits_for(0), "4");
    teardown();
}
END_TEST

START_TEST(more_tensors_than_are_looked_at_do_no_harm)
{
    struct stalls stalls;
    struct rank_waits own;
    setup();
    for (int rank = 0; rank < SIZE; rank++) {
        waits((uint64_t)rank + 1, 9000);
        say(rank, rank + 1);
    }
    stalls_init(&stalls, job);
    for (int rank = 0; rank < SIZE; rank++)
        ck_assert_int_eq(stalls_find(&stalls, rank, &own) != NULL, rank < STALLED_TENSORS);
    teardown();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stalls");
    TCase *tcase = tcase_create("stalls");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, nobody_is_stalled_before_anybody_was_asked);
    tcase_add_test(tcase, all_wait_for_those_that_have_not_submitted);
    tcase_add_test(tcase, a_short_wait_is_no_stall);
    tcase_add_test(tcase, nobody_waits_for_ranks_when_all_have_submitted);
    tcase_add_test(tcase, ranks_in_a_deadlock_wait_for_each_other);
    tcase_add_test(tcase, a_rank_that_has_joined_is_not_waited_for);
    tcase_add_test(tcase, only_members_of_the_process_set_are_waited_for);
    tcase_add_test(tcase, a_rank_that_does_not_answer_is_named_when_nobody_else_is_missing);
    tcase_add_test(tcase, nobody_is_named_as_long_as_answers_may_come);
    tcase_add_test(tcase, what_a_rank_with_too_many_tensors_has_submitted_is_not_known);
    tcase_add_test(tcase, data_that_does_not_come_is_waited_for_where_nobody_answers);
    tcase_add_test(tcase, more_tensors_than_are_looked_at_do_no_harm);
    return unit_run(suite);
}
