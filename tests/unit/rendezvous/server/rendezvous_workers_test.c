/* SPDX-License-Identifier: Apache-2.0 */
/* Workers at the rendezvous, on streams in memory and a clock that the test turns: who gets in, who
 * is told what, and that the launcher may do anything while it is told. */
#include "tests/support/rank_ends.h"
#include "tests/support/server_fixture.h"
#include "tests/support/unit.h"

#include <string.h>

START_TEST(worlds_of_one_to_five_come_about)
{
    setup(_i);
    join_first(_i);
    for (int rank = 0; rank < _i; rank++) {
        expect_welcome(&clients[rank], rank, _i);
        expect_nothing(&clients[rank]);
        ck_assert(!clients[rank].closed);
        ck_assert_int_eq(clients[rank].sends, rank == _i - 1 ? 2 : 3); /* all but the last wait */
    }
    ck_assert_int_eq(completed, 1);
    teardown();
}
END_TEST

START_TEST(who_waits_is_told_for_whom_and_how_long)
{
    setup(20);
    join_first(3);
    expect_nothing(&clients[2]);
    ck_assert_str_eq(clients[2].waiting.text, "17 of 20 ranks");
    ck_assert_uint_eq(clients[2].waiting.most_ms, START_TIMEOUT_MS);
    now_ms += 700;
    join(5);
    expect_nothing(&clients[5]);
    ck_assert_str_eq(clients[5].waiting.text, "ranks 3, 4, 6-19 on localhost");
    ck_assert_uint_eq(clients[5].waiting.most_ms, START_TIMEOUT_MS - 700);
    for (int rank = 3; rank < 18; rank++)
        if (rank != 5)
            join(rank);
    join(18);
    expect_nothing(&clients[18]);
    ck_assert_str_eq(clients[18].waiting.text, "rank 19 on localhost");
    teardown();
}
END_TEST

START_TEST(bytes_may_come_one_at_a_time)
{
    setup(2);
    for (int rank = 0; rank < 2; rank++) {
        dial(&clients[rank]);
        clients[rank].deliver = deliver_bytes;
        join_client_join(&clients[rank], rank, 2);
    }
    expect_welcome(&clients[0], 0, 2);
    expect_welcome(&clients[1], 1, 2);
    join_client_leave(&clients[1]);
    expect_news(&clients[0], HVD_ERR_PEER_LEFT, 1,
                "rank 1 on localhost left (hvd_shutdown or exit)");
    teardown();
}
END_TEST

START_TEST(a_thousand_ranks_join_and_leave)
{
    setup(1000);
    join_first(1000);
    for (int rank = 0; rank < 1000; rank++)
        expect_welcome(&clients[rank], rank, 1000);
    for (int rank = 0; rank < 1000; rank++)
        join_client_leave(&clients[rank]);
    for (int rank = 1; rank < 1000; rank++) {
        expect_news(&clients[rank], HVD_ERR_PEER_LEFT, 0,
                    "rank 0 on localhost left (hvd_shutdown or exit)");
        expect_nothing(&clients[rank]);
        ck_assert(clients[rank].closed);
    }
    teardown();
}
END_TEST

START_TEST(four_hundred_ranks_may_all_say_OPEN_before_the_first_HELLO)
{
    setup(400);
    for (int rank = 0; rank < 400; rank++) {
        dial(&clients[rank]);
        ck_assert(join_client_open(&clients[rank]));
    }
    for (int rank = 0; rank < 400; rank++) {
        struct wire_writer hello = { 0 };
        join_client_put_hello(&clients[rank], &hello, rank, 400);
        join_client_send(&clients[rank], hello.data, hello.length);
        wire_writer_fini(&hello);
    }
    for (int rank = 0; rank < 400; rank++)
        expect_welcome(&clients[rank], rank, 400);
    ck_assert_int_eq(completed, 1);
    teardown();
}
END_TEST

START_TEST(a_rank_that_leaves_is_closed_and_the_others_told)
{
    setup(3);
    join_first(3);
    join_client_leave(&clients[1]);
    ck_assert(clients[1].closed);
    for (int rank = 0; rank < 3; rank += 2) {
        expect_welcome(&clients[rank], rank, 3);
        expect_news(&clients[rank], HVD_ERR_PEER_LEFT, 1,
                    "rank 1 on localhost left (hvd_shutdown or exit)");
    }
    teardown();
}
END_TEST

START_TEST(a_rank_that_leaves_because_of_a_failure_tells_the_others_which)
{
    struct wire_writer goodbye = { 0 };
    setup(2);
    join_first(2);
    join_client_put_goodbye(&clients[1], &goodbye, HVD_ERR_PROTOCOL);
    join_client_send(&clients[1], goodbye.data, goodbye.length);
    expect_welcome(&clients[0], 0, 2);
    expect_news(&clients[0], HVD_ERR_PROTOCOL, RANK_NONE, "its own failure");
    wire_writer_fini(&goodbye);
    teardown();
}
END_TEST

START_TEST(a_hangup_that_the_launcher_explains_is_told_at_once)
{
    setup(2);
    join_first(2);
    expect_welcome(&clients[0], 0, 2);
    hang_up(&clients[1]);
    expect_nothing(&clients[0]);
    server_rank_ended(&server, 1, KILLED_BY(9), now_ms);
    expect_news(&clients[0], HVD_ERR_PEER_LOST, 1,
                "rank 1 on localhost was killed by signal 9 (SIGKILL)");
    teardown();
}
END_TEST

START_TEST(a_hangup_without_explanation_is_told_after_100_ms)
{
    setup(2);
    join_first(2);
    expect_welcome(&clients[0], 0, 2);
    ck_assert_uint_eq(server_deadline(&server), SERVER_NEVER);
    hang_up(&clients[1]);
    ck_assert_uint_eq(server_deadline(&server), 100);
    tick_at(100);
    expect_news(&clients[0], HVD_ERR_PEER_LOST, 1, "the connection to rank 1 on localhost broke");
    ck_assert_uint_eq(server_deadline(&server), SERVER_NEVER);
    teardown();
}
END_TEST

START_TEST(an_end_before_hvd_init_refuses_those_that_wait)
{
    setup(3);
    join_first(2);
    server_rank_ended(&server, 2, EXITED_WITH(3), now_ms);
    for (int rank = 0; rank < 2; rank++)
        expect_refused(&clients[rank], HVD_ERR_PEER_LOST,
                       "rank 2 on localhost exited with status 3 before hvd_init");
    teardown();
}
END_TEST

START_TEST(a_start_that_takes_too_long_refuses_those_that_wait)
{
    setup(3);
    now_ms = 1000;
    join(1);
    tick_at(30999);
    ck_assert_int_eq(timeouts, 0);
    tick_at(31000);
    ck_assert_int_eq(timeouts, 1);
    ck_assert_str_eq(timeout_text, "ranks 0, 2 on localhost have not called hvd_init within 30 s");
    expect_refused(&clients[1], HVD_ERR_TIMEOUT, timeout_text);
    join(0);
    expect_refused(&clients[0], HVD_ERR_TIMEOUT, timeout_text);
    teardown();
}
END_TEST

START_TEST(a_second_rank_of_the_same_number_is_refused)
{
    setup(2);
    struct join_client twin;
    join(0);
    dial(&twin);
    join_client_join(&twin, 0, 2);
    expect_refused(&twin, HVD_ERR_ENVIRONMENT, "HOROVOD_RANK is 0, but rank 0 has joined already");
    join(1);
    expect_welcome(&clients[0], 0, 2);
    join_client_fini(&twin);
    teardown();
}
END_TEST

/* Rank 1 has its own key only, and says to be rank 0. */
START_TEST(a_rank_that_says_to_be_another_is_refused_and_both_are_named)
{
    setup(2);
    struct join_client impostor;
    struct job_key own;
    worker_key_derive(&own, &key, 1);
    dial_with(&impostor, &own);
    strcpy(impostor.owner, "/1");
    join_client_join(&impostor, 0, 2);
    expect_refused(&impostor, HVD_ERR_ENVIRONMENT,
                   "HOROVOD_RANK is 0, but HVD_JOB_KEY is the key of rank 1");
    join_client_fini(&impostor);
    expect_undisturbed();
    teardown();
}
END_TEST

/* The number is changed, too: the proof is wrong. */
START_TEST(the_key_of_a_rank_is_not_the_key_of_another_nor_of_the_job)
{
    static const char *const owners[] = { "/0", "", "/2" };
    setup(2);
    struct join_client impostor;
    struct job_key own;
    worker_key_derive(&own, &key, 1);
    dial_with(&impostor, &own);
    strcpy(impostor.owner, owners[_i]);
    join_client_join(&impostor, 0, 2);
    expect_nothing(&impostor);
    ck_assert(impostor.closed);
    join_client_fini(&impostor);
    expect_undisturbed();
    teardown();
}
END_TEST

START_TEST(ranks_join_with_keys_of_their_own)
{
    setup(2);
    for (int rank = 0; rank < 2; rank++) {
        struct job_key own;
        worker_key_derive(&own, &key, rank);
        dial_with(&clients[rank], &own);
        snprintf(clients[rank].owner, sizeof clients[rank].owner, "/%d", rank);
        join_client_join(&clients[rank], rank, 2);
    }
    expect_welcome(&clients[0], 0, 2);
    expect_welcome(&clients[1], 1, 2);
    teardown();
}
END_TEST

START_TEST(a_rank_of_another_size_is_refused)
{
    setup(2);
    struct join_client wrong;
    dial(&wrong);
    join_client_join(&wrong, 2, 3);
    expect_refused(&wrong, HVD_ERR_ENVIRONMENT, "HOROVOD_SIZE is 3, but this job has 2 ranks");
    join_client_fini(&wrong);
    expect_undisturbed();
    teardown();
}
END_TEST

START_TEST(a_rank_out_of_range_is_refused_with_words_because_it_is_proven)
{
    setup(2);
    struct join_client wrong;
    dial(&wrong);
    join_client_join(&wrong, 2, 2);
    expect_refused(&wrong, HVD_ERR_PROTOCOL, "HELLO: a value out of range");
    join_client_fini(&wrong);
    expect_undisturbed();
    teardown();
}
END_TEST

START_TEST(a_GOODBYE_that_is_cut_off_is_a_loss)
{
    setup(2);
    struct wire_writer goodbye = { 0 };
    join_first(2);
    expect_welcome(&clients[0], 0, 2);
    expect_welcome(&clients[1], 1, 2);
    join_client_put_goodbye(&clients[1], &goodbye, HVD_OK);
    join_client_send(&clients[1], goodbye.data, goodbye.length - 1);
    hang_up(&clients[1]);
    tick_at(100);
    expect_news(&clients[0], HVD_ERR_PEER_LOST, 1, "the connection to rank 1 on localhost broke");
    wire_writer_fini(&goodbye);
    teardown();
}
END_TEST

START_TEST(a_rank_that_sends_garbage_is_lost)
{
    setup(2);
    join_first(2);
    expect_welcome(&clients[0], 0, 2);
    join_client_send(&clients[1], "garbage", 7);
    ck_assert(clients[1].closed);
    tick_at(100);
    expect_news(&clients[0], HVD_ERR_PEER_LOST, 1, "the connection to rank 1 on localhost broke");
    teardown();
}
END_TEST

START_TEST(a_rank_has_all_the_time_of_the_world)
{
    setup(2);
    join_first(2);
    tick_at(1000000000);
    ck_assert(!clients[0].closed && !clients[1].closed);
    ck_assert_uint_eq(server_deadline(&server), SERVER_NEVER);
    teardown();
}
END_TEST

static void close_in_complete(void *context)
{
    server_close(context);
}

START_TEST(the_server_may_be_closed_while_it_reports_completion)
{
    setup(2);
    server.events.complete = close_in_complete;
    join_first(2);
    ck_assert(clients[0].closed && clients[1].closed);
    struct join_client late;
    join_client_init(&late, &key, deliver_bytes);
    ck_assert_ptr_null(server_accept(&server, &late.stream, RENDEZVOUS_ELSEWHERE, now_ms));
    teardown();
}
END_TEST

static void close_in_timeout(void *context, const char *text)
{
    server_rank_ended(context, 2, KILLED_BY(15), now_ms);
    server_close(context);
    ck_assert_ptr_nonnull(strstr(text, "rank 2 on localhost has not called"));
}

START_TEST(the_server_may_be_closed_while_it_reports_a_timeout)
{
    setup(3);
    server.events.timed_out = close_in_timeout;
    join_first(2);
    tick_at(START_TIMEOUT_MS);
    ck_assert(clients[0].closed && clients[1].closed);
    teardown();
}
END_TEST

static void lose_rank_1(void *context)
{
    hang_up(&clients[1]);
    server_rank_ended(context, 1, KILLED_BY(9), now_ms);
}

START_TEST(a_rank_may_be_lost_while_completion_is_reported)
{
    setup(2);
    server.events.complete = lose_rank_1;
    join_first(2);
    expect_welcome(&clients[0], 0, 2);
    expect_news(&clients[0], HVD_ERR_PEER_LOST, 1,
                "rank 1 on localhost was killed by signal 9 (SIGKILL)");
    teardown();
}
END_TEST

/* The server is closed with connections in every state. */
START_TEST(nothing_is_left_when_the_server_closes_with_requests_in_flight)
{
    struct join_client silent, opened, person, half;
    setup(3);
    join_first(2);
    dial(&silent);
    dial(&opened);
    dial(&person);
    dial(&half);
    ck_assert(join_client_open(&opened));
    join_client_send(&person, "GET /healthz HTTP/1.1\r\nHost", 27);
    join_client_send(&half, "HVD1\1", 5);
    hang_up(&clients[1]);
    server_close(&server);
    ck_assert(silent.closed && opened.closed && person.closed && half.closed && clients[0].closed);
    ck_assert_uint_eq(server_deadline(&server), SERVER_NEVER);
    join_client_fini(&opened);
    teardown();
}
END_TEST

static TCase *workers(void)
{
    TCase *tcase = tcase_create("workers");
    tcase_add_loop_test(tcase, worlds_of_one_to_five_come_about, 1, 6);
    tcase_add_test(tcase, who_waits_is_told_for_whom_and_how_long);
    tcase_add_test(tcase, bytes_may_come_one_at_a_time);
    tcase_add_test(tcase, a_thousand_ranks_join_and_leave);
    tcase_add_test(tcase, four_hundred_ranks_may_all_say_OPEN_before_the_first_HELLO);
    tcase_add_test(tcase, a_rank_that_leaves_is_closed_and_the_others_told);
    tcase_add_test(tcase, a_rank_that_leaves_because_of_a_failure_tells_the_others_which);
    tcase_add_test(tcase, a_hangup_that_the_launcher_explains_is_told_at_once);
    tcase_add_test(tcase, a_hangup_without_explanation_is_told_after_100_ms);
    tcase_add_test(tcase, an_end_before_hvd_init_refuses_those_that_wait);
    tcase_add_test(tcase, a_start_that_takes_too_long_refuses_those_that_wait);
    tcase_add_test(tcase, a_second_rank_of_the_same_number_is_refused);
    tcase_add_test(tcase, a_rank_that_says_to_be_another_is_refused_and_both_are_named);
    tcase_add_loop_test(tcase, the_key_of_a_rank_is_not_the_key_of_another_nor_of_the_job, 0, 3);
    tcase_add_test(tcase, ranks_join_with_keys_of_their_own);
    tcase_add_test(tcase, a_rank_of_another_size_is_refused);
    tcase_add_test(tcase, a_rank_out_of_range_is_refused_with_words_because_it_is_proven);
    tcase_add_test(tcase, a_GOODBYE_that_is_cut_off_is_a_loss);
    tcase_add_test(tcase, a_rank_that_sends_garbage_is_lost);
    tcase_add_test(tcase, a_rank_has_all_the_time_of_the_world);
    return tcase;
}

static TCase *callbacks(void)
{
    TCase *tcase = tcase_create("callbacks");
    tcase_add_test(tcase, the_server_may_be_closed_while_it_reports_completion);
    tcase_add_test(tcase, the_server_may_be_closed_while_it_reports_a_timeout);
    tcase_add_test(tcase, a_rank_may_be_lost_while_completion_is_reported);
    tcase_add_test(tcase, nothing_is_left_when_the_server_closes_with_requests_in_flight);
    return tcase;
}

static Suite *suite(void)
{
    Suite *all = suite_create("rendezvous_workers");
    suite_add_tcase(all, workers());
    suite_add_tcase(all, callbacks());
    return all;
}

int main(void)
{
    return unit_run(suite());
}
