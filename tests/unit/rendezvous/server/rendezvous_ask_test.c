/* SPDX-License-Identifier: Apache-2.0 */
/* Asking every rank what it is doing: who is asked, what is said of each, and in which order. */
#include "tests/support/rank_ends.h"
#include "tests/support/server_fixture.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static void ask(void)
{
    struct err err;
    ck_assert_int_eq(server_ask(&server, now_ms, &err), HVD_OK);
}

/* A world of `size` at work. */
static void setup_complete(int size)
{
    setup(size);
    join_first(size);
    for (int rank = 0; rank < size; rank++)
        expect_welcome(&clients[rank], rank, size);
}

/* They differ from rank to rank; the one that was asked answers. */
static void answer(int rank)
{
    char text[32];
    snprintf(text, sizeof text, "text of %d\n", rank);
    expect_ask(&clients[rank]);
    join_client_report(&clients[rank], text);
}

START_TEST(ranks_that_never_call_hvd_init_are_said_to)
{
    setup(2);
    ask();
    ck_assert_str_eq(reports, "0: has not called hvd_init|1: has not called hvd_init|");
    ck_assert_uint_eq(server_deadline(&server), SERVER_NEVER);
    teardown();
}
END_TEST

START_TEST(each_rank_is_asked_and_its_answer_told)
{
    setup_complete(_i);
    ask();
    ck_assert_uint_eq(server_deadline(&server), RANK_QUERY_MS);
    for (int rank = 0; rank < _i; rank++)
        answer(rank);
    char expected[200] = "";
    for (int rank = 0; rank < _i; rank++)
        sprintf(expected + strlen(expected), "%d: text of %d\n|", rank, rank);
    ck_assert_str_eq(reports, expected);
    ck_assert_uint_eq(server_deadline(&server), SERVER_NEVER);
    teardown();
}
END_TEST

START_TEST(what_a_rank_waits_for_is_told_as_it_said)
{
    setup_complete(2);
    clients[0].waits.for_whom = WAITS_FOR_NOTHING;
    clients[1].waits.for_whom = _i;
    ask();
    answer(0);
    ck_assert_int_eq(reported_waits_for, WAITS_FOR_NOTHING);
    answer(1);
    ck_assert_int_eq(reported_waits_for, _i);
    teardown();
}
END_TEST

START_TEST(a_rank_that_does_not_answer_waits_for_nothing_that_is_known)
{
    setup_complete(2);
    clients[0].waits.for_whom = WAITS_FOR_RANKS;
    ask();
    answer(0);
    tick_at(2000);
    ck_assert_str_eq(reports, "0: text of 0\n|1: no answer within 2 s|");
    ck_assert_int_eq(reported_waits_for, WAITS_FOR_NOTHING);
    teardown();
}
END_TEST

START_TEST(answers_are_told_in_order_of_rank)
{
    setup_complete(4);
    ask();
    answer(3);
    answer(1);
    ck_assert_str_eq(reports, "");
    answer(0);
    ck_assert_str_eq(reports, "0: text of 0\n|1: text of 1\n|");
    answer(2);
    ck_assert_str_eq(reports, "0: text of 0\n|1: text of 1\n|2: text of 2\n|3: text of 3\n|");
    teardown();
}
END_TEST

START_TEST(who_does_not_answer_is_given_up_after_2_s)
{
    setup_complete(3);
    now_ms = 500;
    ask();
    answer(2);
    tick_at(2499);
    ck_assert_str_eq(reports, "");
    tick_at(2500);
    ck_assert_str_eq(reports, "0: no answer within 2 s|1: no answer within 2 s|2: text of 2\n|");
    ck_assert_uint_eq(server_deadline(&server), SERVER_NEVER);
    teardown();
}
END_TEST

START_TEST(a_late_answer_does_no_harm)
{
    setup_complete(2);
    ask();
    answer(0);
    tick_at(2000);
    answer(1);
    ck_assert_str_eq(reports, "0: text of 0\n|1: no answer within 2 s|");
    ask();
    answer(1);
    answer(0);
    ck_assert_ptr_nonnull(
        strstr(reports, "1: no answer within 2 s|0: text of 0\n|1: text of 1\n|"));
    teardown();
}
END_TEST

START_TEST(a_rank_that_owes_an_answer_is_not_asked_again)
{
    setup_complete(1);
    ask();
    expect_ask(&clients[0]);
    tick_at(2000);
    for (int i = 0; i < 10; i++) {
        ask();
        tick_at(now_ms + 2000);
    }
    expect_nothing(&clients[0]);
    reports[0] = '\0';
    ask();
    join_client_report(&clients[0], "awake again");
    ck_assert_str_eq(reports, "0: awake again|");
    teardown();
}
END_TEST

START_TEST(asking_while_an_asking_is_under_way_adds_nothing)
{
    setup_complete(2);
    ask();
    ask();
    answer(0);
    ask();
    answer(1);
    expect_nothing(&clients[0]);
    expect_nothing(&clients[1]);
    ck_assert_str_eq(reports, "0: text of 0\n|1: text of 1\n|");
    ask();
    expect_ask(&clients[0]);
    teardown();
}
END_TEST

START_TEST(ranks_that_wait_in_hvd_init_need_not_be_asked)
{
    setup(3);
    join_first(2);
    ask();
    expect_nothing(&clients[0]);
    ck_assert_str_eq(reports, "0: waits in hvd_init for the other ranks|"
                              "1: waits in hvd_init for the other ranks|"
                              "2: has not called hvd_init|");
    teardown();
}
END_TEST

START_TEST(ranks_that_were_refused_are_said_to_have_failed)
{
    setup(3);
    join_first(2);
    server_rank_ended(&server, 2, EXITED_WITH(3), now_ms);
    ask();
    ck_assert_str_eq(reports,
                     "0: hvd_init has failed|1: hvd_init has failed|2: exited with status 3|");
    teardown();
}
END_TEST

START_TEST(ranks_that_are_gone_need_not_be_asked)
{
    setup_complete(4);
    join_client_leave(&clients[0]);
    hang_up(&clients[1]);
    hang_up(&clients[2]);
    server_rank_ended(&server, 2, KILLED_BY(9), now_ms);
    server_rank_ended(&server, 3, EXITED_WITH(1), now_ms);
    ask();
    ck_assert_str_eq(reports, "0: has left (hvd_shutdown or exit)|1: its connection broke|"
                              "2: was killed by signal 9 (SIGKILL)|3: exited with status 1|");
    teardown();
}
END_TEST

START_TEST(a_rank_that_goes_instead_of_answering_is_not_waited_for)
{
    setup_complete(3);
    ask();
    join_client_leave(&clients[0]);
    ck_assert_str_eq(reports, "0: has left (hvd_shutdown or exit)|");
    hang_up(&clients[1]);
    ck_assert_ptr_nonnull(strstr(reports, "|1: its connection broke|"));
    server_rank_ended(&server, 2, EXITED_WITH(0), now_ms);
    ck_assert_ptr_nonnull(strstr(reports, "|2: exited with status 0|"));
    teardown();
}
END_TEST

START_TEST(an_answer_counts_although_the_rank_has_gone_since)
{
    setup_complete(2);
    ask();
    answer(1);
    join_client_leave(&clients[1]);
    join_client_leave(&clients[0]);
    ck_assert_str_eq(reports, "0: has left (hvd_shutdown or exit)|1: text of 1\n|");
    teardown();
}
END_TEST

START_TEST(an_empty_answer_is_one)
{
    setup_complete(1);
    ask();
    join_client_report(&clients[0], "");
    ck_assert_str_eq(reports, "0: nothing to report|");
    teardown();
}
END_TEST

START_TEST(an_answer_may_have_16_kib_and_no_more)
{
    static char text[JOIN_REPORT_MAX + 1];
    setup_complete(2);
    ask();
    memset(text, 'x', JOIN_REPORT_MAX - 1);
    join_client_report(&clients[0], text);
    ck_assert_uint_eq(strlen(reports), strlen("0: |") + JOIN_REPORT_MAX - 1);
    text[JOIN_REPORT_MAX - 1] = 'x';
    join_client_report(&clients[1], text);
    ck_assert(clients[1].closed);
    ck_assert_ptr_nonnull(strstr(reports, "x|1: its connection broke|"));
    teardown();
}
END_TEST

START_TEST(an_answer_that_nobody_asked_for_ends_the_connection)
{
    setup_complete(2);
    join_client_report(&clients[0], "unasked");
    ck_assert(clients[0].closed);
    ask();
    answer(1);
    ck_assert_str_eq(reports, "0: its connection broke|1: text of 1\n|");
    teardown();
}
END_TEST

START_TEST(a_second_answer_ends_the_connection)
{
    setup_complete(2);
    ask();
    answer(1);
    join_client_report(&clients[1], "and another");
    ck_assert(clients[1].closed);
    answer(0);
    ck_assert_str_eq(reports, "0: text of 0\n|1: text of 1\n|");
    teardown();
}
END_TEST

START_TEST(what_could_harm_a_terminal_is_not_told)
{
    setup_complete(1);
    ask();
    join_client_report(&clients[0], "\x1b[2J gr\xc3\xb6\xc3\x9f\n\xff\n");
    ck_assert_str_eq(reports, "0: ?[2J gr\xc3\xb6\xc3\x9f\n?\n|");
    teardown();
}
END_TEST

static void close_in_report(void *context, int rank, enum rank_waits_for waits_for,
                            const char *text)
{
    (void)waits_for;
    ck_assert_msg(rank == 0, "%s", text);
    server_close(context);
}

START_TEST(the_server_may_be_closed_while_a_rank_is_reported)
{
    setup_complete(3);
    server.events.report = close_in_report;
    ask();
    answer(2);
    answer(1);
    answer(0);
    ck_assert(clients[1].closed);
    teardown();
}
END_TEST

static void ask_in_report(void *context, int rank, enum rank_waits_for waits_for, const char *text)
{
    (void)waits_for;
    struct err err;
    ck_assert_int_eq(server_ask(context, now_ms, &err), HVD_OK);
    server_rank_ended(context, 1, EXITED_WITH(1), now_ms);
    sprintf(reports + strlen(reports), "%d: %s|", rank, text);
}

START_TEST(anything_may_happen_while_a_rank_is_reported)
{
    setup_complete(2);
    server.events.report = ask_in_report;
    ask();
    answer(0);
    ck_assert_str_eq(reports, "0: text of 0\n|1: exited with status 1|");
    ck_assert_uint_ne(server_deadline(&server), SERVER_NEVER); /* until the loss is told */
    tick_at(100);
    ck_assert_uint_eq(server_deadline(&server), SERVER_NEVER);
    teardown();
}
END_TEST

START_TEST(a_thousand_answers_are_told_and_forgotten)
{
    setup_complete(1000);
    ask();
    for (int rank = 999; rank >= 0; rank--) {
        expect_ask(&clients[rank]);
        join_client_report(&clients[rank], "idle\n");
    }
    ck_assert_ptr_nonnull(strstr(reports, "|998: idle\n|999: idle\n|"));
    ck_assert_ptr_null(server.job_table.only->rank_query.answers);
    teardown();
}
END_TEST

/* --- how much of an answer is kept --- */

static const struct {
    int size, text_size;
} shares[] = {
    { 1, JOIN_REPORT_MAX }, { 1000, JOIN_REPORT_MAX }, { 10000, 1677 },
    { 65536, 256 },         { WORLD_SIZE_MAX, 128 },
};

START_TEST(the_larger_the_world_the_shorter_the_answers)
{
    ck_assert_int_eq(rank_query_text_size(shares[_i].size), shares[_i].text_size);
}
END_TEST

static const struct {
    const char *sentence, *unit; /* repeated until the answer is far too long */
    size_t length;               /* of what is kept */
} cuts[] = {
    { "whole lines are kept", "123456789\n", 250 },
    { "a line without an end is cut", "123456789", 255 },
    { "an end of line as the last byte is kept", "1234\n", 255 },
};

START_TEST(an_answer_that_is_too_long_is_cut)
{
    struct rank_query rank_query = { 0 };
    char text[1000] = "";
    while (strlen(text) + 10 < sizeof text)
        strcat(text, cuts[_i].unit);
    ck_assert_int_eq(rank_query_start(&rank_query, 65536, 0, NULL), HVD_OK);
    rank_query_answer(&rank_query, 0, WAITS_FOR_RANKS, text);
    ck_assert_msg(strlen(rank_query.answers[0].text) == cuts[_i].length, "%s: %zu bytes",
                  cuts[_i].sentence, strlen(rank_query.answers[0].text));
    rank_query_fini(&rank_query);
}
END_TEST

static TCase *asking(void)
{
    TCase *tcase = tcase_create("asking");
    tcase_add_test(tcase, ranks_that_never_call_hvd_init_are_said_to);
    tcase_add_loop_test(tcase, each_rank_is_asked_and_its_answer_told, 1, 6);
    tcase_add_loop_test(tcase, what_a_rank_waits_for_is_told_as_it_said, 0, WAITS_FOR_KINDS);
    tcase_add_test(tcase, a_rank_that_does_not_answer_waits_for_nothing_that_is_known);
    tcase_add_test(tcase, answers_are_told_in_order_of_rank);
    tcase_add_test(tcase, who_does_not_answer_is_given_up_after_2_s);
    tcase_add_test(tcase, a_late_answer_does_no_harm);
    tcase_add_test(tcase, a_rank_that_owes_an_answer_is_not_asked_again);
    tcase_add_test(tcase, asking_while_an_asking_is_under_way_adds_nothing);
    tcase_add_test(tcase, ranks_that_wait_in_hvd_init_need_not_be_asked);
    tcase_add_test(tcase, ranks_that_were_refused_are_said_to_have_failed);
    tcase_add_test(tcase, ranks_that_are_gone_need_not_be_asked);
    tcase_add_test(tcase, a_rank_that_goes_instead_of_answering_is_not_waited_for);
    tcase_add_test(tcase, an_answer_counts_although_the_rank_has_gone_since);
    tcase_add_test(tcase, a_thousand_answers_are_told_and_forgotten);
    return tcase;
}

static TCase *answers(void)
{
    TCase *tcase = tcase_create("answers");
    tcase_add_test(tcase, an_empty_answer_is_one);
    tcase_add_test(tcase, an_answer_may_have_16_kib_and_no_more);
    tcase_add_test(tcase, an_answer_that_nobody_asked_for_ends_the_connection);
    tcase_add_test(tcase, a_second_answer_ends_the_connection);
    tcase_add_test(tcase, what_could_harm_a_terminal_is_not_told);
    tcase_add_test(tcase, the_server_may_be_closed_while_a_rank_is_reported);
    tcase_add_test(tcase, anything_may_happen_while_a_rank_is_reported);
    tcase_add_loop_test(tcase, the_larger_the_world_the_shorter_the_answers, 0,
                        sizeof shares / sizeof *shares);
    tcase_add_loop_test(tcase, an_answer_that_is_too_long_is_cut, 0, sizeof cuts / sizeof *cuts);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("rendezvous_ask");
    suite_add_tcase(suite, asking());
    suite_add_tcase(suite, answers());
    return unit_run(suite);
}
