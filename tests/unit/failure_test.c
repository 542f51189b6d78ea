/* SPDX-License-Identifier: Apache-2.0 */
/* Which of several failures a collective is answered with, and how neighbours tell each other. */
#include "lib/join/failure.h"

#include "lib/notice.h"
#include "tests/support/link_memory.h"
#include "tests/support/unit.h"

#include <string.h>

static struct failure failure;
static struct err err;
static struct link *ends[2];

static void setup(void)
{
    failure_init(&failure);
    err = (struct err){ 0 };
    link_memory_pair(ends, 100, 1000);
}

static void teardown(void)
{
    failure_fini(&failure);
    link_close(ends[0]);
    link_close(ends[1]);
}

START_TEST(nothing_fails_while_nothing_has_happened)
{
    ck_assert_int_eq(failure_check(&failure, 0, &err), HVD_OK);
    ck_assert_int_eq(failure_check(&failure, UINT64_MAX - 1, &err), HVD_OK);
}
END_TEST

START_TEST(a_rank_that_left_spares_the_collectives_it_took_part_in)
{
    failure_record(&failure, 5, HVD_ERR_PEER_LEFT, "rank 2 has left");
    ck_assert_int_eq(failure_check(&failure, 4, &err), HVD_OK);
    ck_assert_int_eq(failure_check(&failure, 5, &err), HVD_ERR_PEER_LEFT);
    ck_assert_str_eq(err.text, "rank 2 has left");
}
END_TEST

START_TEST(the_one_that_strikes_first_counts)
{
    failure_record(&failure, 5, HVD_ERR_PEER_LEFT, "rank 2");
    failure_record(&failure, 9, HVD_ERR_PEER_LEFT, "rank 3");
    ck_assert_int_eq(failure_check(&failure, 9, &err), HVD_ERR_PEER_LEFT);
    ck_assert_str_eq(err.text, "rank 2");
}
END_TEST

START_TEST(a_lost_rank_counts_more_than_one_that_left)
{
    failure_record(&failure, 0, HVD_ERR_PEER_LEFT, "rank 2");
    failure_record(&failure, 0, HVD_ERR_PEER_LOST, "rank 3");
    failure_record(&failure, 0, HVD_ERR_PEER_LEFT, "rank 4");
    ck_assert_int_eq(failure_check(&failure, 0, &err), HVD_ERR_PEER_LOST);
    ck_assert_str_eq(err.text, "rank 3");
}
END_TEST

START_TEST(what_was_answered_once_is_answered_for_ever)
{
    failure_record(&failure, 5, HVD_ERR_MISMATCH, "ranks disagree");
    ck_assert_int_eq(failure_check(&failure, 5, &err), HVD_ERR_MISMATCH);
    failure_record(&failure, 0, HVD_ERR_PEER_LOST, "rank 3");
    ck_assert_int_eq(failure_check(&failure, 6, &err), HVD_ERR_MISMATCH);
    ck_assert_str_eq(err.text, "ranks disagree");
}
END_TEST

START_TEST(what_was_not_returned_to_the_caller_is_no_reason_to_leave)
{
    failure_record(&failure, 5, HVD_ERR_PEER_LEFT, "rank 2");
    ck_assert_int_eq(failure_returned(&failure, &err), HVD_OK);
    ck_assert_str_eq(err.text, "");
    failure_check(&failure, 4, &err);
    ck_assert_int_eq(failure_returned(&failure, &err), HVD_OK);
    failure_check(&failure, 5, &err);
    ck_assert_int_eq(failure_returned(&failure, &err), HVD_ERR_PEER_LEFT);
    ck_assert_str_eq(err.text, "rank 2");
}
END_TEST

START_TEST(a_notice_arrives_in_pieces)
{
    struct notice_reader reader = { .received = 0 };
    struct link *pair[2];
    err = (struct err){ HVD_ERR_MISMATCH, "allreduce 'a': \x1b rank 0" };
    link_memory_pair(pair, 1000, 1000);
    notice_send(pair[0], 7, &err);
    for (int i = 0; i < NOTICE_SIZE; i++) {
        unsigned char byte;
        ck_assert_int_eq(link_try_receive(pair[1], &byte, 1, NULL), 1);
        struct iovec one = { &byte, 1 };
        ck_assert_int_eq(notice_receive(&reader, ends[1], &failure), 0);
        ck_assert_int_eq(link_try_send(ends[0], &one, 1, NULL), 1);
    }
    ck_assert_int_eq(notice_receive(&reader, ends[1], &failure), -1);
    ck_assert_int_eq(failure_check(&failure, 6, &err), HVD_OK);
    ck_assert_int_eq(failure_check(&failure, 7, &err), HVD_ERR_MISMATCH);
    ck_assert_str_eq(err.text, "allreduce 'a': ? rank 0");
    link_close(pair[0]);
    link_close(pair[1]);
}
END_TEST

START_TEST(what_is_no_notice_is_a_failure_of_its_own)
{
    struct notice_reader reader = { .received = 0 };
    unsigned char bytes[NOTICE_SIZE] = "HVDX\1\1\1\1";
    struct iovec all = { bytes, sizeof bytes };
    struct link *pair[2];
    link_memory_pair(pair, 1000, 1000);
    link_try_send(pair[0], &all, 1, NULL);
    ck_assert_int_eq(notice_receive(&reader, pair[1], &failure), -1);
    ck_assert_int_eq(failure_check(&failure, 0, &err), HVD_ERR_PROTOCOL);
    link_close(pair[0]);
    link_close(pair[1]);
}
END_TEST

START_TEST(a_link_that_ends_without_a_notice_says_nothing)
{
    struct notice_reader reader = { .received = 0 };
    link_memory_cut(ends[0]);
    ck_assert_int_eq(notice_receive(&reader, ends[1], &failure), -1);
    ck_assert_int_eq(failure_check(&failure, 0, &err), HVD_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("failure");
    TCase *tcase = tcase_create("failure");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, nothing_fails_while_nothing_has_happened);
    tcase_add_test(tcase, a_rank_that_left_spares_the_collectives_it_took_part_in);
    tcase_add_test(tcase, the_one_that_strikes_first_counts);
    tcase_add_test(tcase, a_lost_rank_counts_more_than_one_that_left);
    tcase_add_test(tcase, what_was_answered_once_is_answered_for_ever);
    tcase_add_test(tcase, what_was_not_returned_to_the_caller_is_no_reason_to_leave);
    tcase_add_test(tcase, a_notice_arrives_in_pieces);
    tcase_add_test(tcase, what_is_no_notice_is_a_failure_of_its_own);
    tcase_add_test(tcase, a_link_that_ends_without_a_notice_says_nothing);
    return unit_run(suite);
}
