/* SPDX-License-Identifier: Apache-2.0 */
/* The next epoch of a job that is not elastic: its ranks come again, one by one, and whatever keeps
 * them from being complete is told to those that wait. */
#include "tests/support/rank_ends.h"
#include "tests/support/server_fixture.h"
#include "tests/support/unit.h"

#include <string.h>

enum { SIZE = 3 };

/* The connections of the second epoch. */
static struct join_client *again(int rank)
{
    return &clients[SIZE + rank];
}

static void setup_world(void)
{
    setup(SIZE);
    join_first(SIZE);
    for (int rank = 0; rank < SIZE; rank++)
        expect_welcome(&clients[rank], rank, SIZE);
}

static void come_again_for(int rank, uint32_t epoch)
{
    join_client_fini(again(rank)); /* it may have been refused before */
    dial(again(rank));
    again(rank)->epoch = epoch;
    join_client_join(again(rank), rank, SIZE);
}

static void come_again(int rank)
{
    come_again_for(rank, 1);
}

static void leave(int rank)
{
    join_client_leave(&clients[rank]);
}

static void expect_epoch(int rank, uint32_t epoch)
{
    struct join_reply reply;
    ck_assert(join_client_next(again(rank), &reply));
    ck_assert_int_eq(reply.type, JOIN_WELCOME);
    ck_assert_int_eq(reply.welcome.rank_info.rank, rank);
    ck_assert_int_eq(reply.welcome.worker, rank);
    ck_assert_uint_eq(reply.welcome.epoch, epoch);
}

START_TEST(ranks_that_have_left_are_the_next_epoch)
{
    for (int rank = 0; rank < SIZE; rank++) {
        leave(rank);
        come_again(rank);
    }
    for (int rank = 0; rank < SIZE; rank++)
        expect_epoch(rank, 1);
    ck_assert_int_eq(completed, 1); /* the launcher has heard that of the first */
}
END_TEST

/* On another connection the GOODBYE may be later than the HELLO. */
START_TEST(a_goodbye_may_come_after_the_hello)
{
    for (int rank = 0; rank < SIZE; rank++)
        come_again(rank);
    for (int rank = 0; rank < SIZE; rank++)
        expect_epoch(rank, 1);
    for (int rank = 0; rank < SIZE; rank++)
        leave(rank);
    for (int rank = 0; rank < SIZE; rank++)
        expect_nothing(again(rank));
    hang_up(again(1));
    tick_at(MEMBERSHIP_GRACE_MS);
    expect_news(again(0), HVD_ERR_PEER_LOST, 1, "the connection to rank 1 on localhost broke");
}
END_TEST

START_TEST(the_world_before_goes_on_meanwhile)
{
    leave(0);
    come_again(0);
    expect_news(&clients[1], HVD_ERR_PEER_LEFT, 0,
                "rank 0 on localhost left (hvd_shutdown or exit)");
    ck_assert_int_eq(server_ask(&server, now_ms, NULL), HVD_OK);
    expect_ask(&clients[1]);
    expect_nothing(again(0));
}
END_TEST

START_TEST(a_rank_that_ends_instead_is_told_to_those_that_wait)
{
    leave(0);
    come_again(0);
    leave(1);
    server_rank_ended(&server, 1, EXITED_WITH(0), now_ms);
    expect_refused(again(0), HVD_ERR_PEER_LOST,
                   "rank 1 on localhost exited with status 0 before hvd_init");
}
END_TEST

START_TEST(who_comes_after_a_rank_has_ended_is_refused)
{
    leave(1);
    server_rank_ended(&server, 1, EXITED_WITH(0), now_ms);
    leave(0);
    come_again(0);
    expect_refused(again(0), HVD_ERR_PEER_LOST,
                   "rank 1 on localhost exited with status 0 before hvd_init");
}
END_TEST

START_TEST(a_loss_in_the_world_before_is_one_for_the_next)
{
    leave(0);
    come_again(0);
    server_rank_ended(&server, 1, EXITED_WITH(3), now_ms);
    hang_up(&clients[1]);
    struct join_reply reply;
    ck_assert(join_client_next(again(0), &reply));
    ck_assert_int_eq(reply.type, JOIN_REFUSED);
    ck_assert_int_eq(reply.refused.status, HVD_ERR_PEER_LOST);
    leave(2);
    come_again(2);
    ck_assert(join_client_next(again(2), &reply) && reply.type == JOIN_REFUSED);
}
END_TEST

/* BROKEN explains the end of a world, and there is none yet. */
START_TEST(who_says_that_its_world_has_broken_before_there_is_one_is_sent_away)
{
    struct wire_writer payload = { 0 }, out = { 0 };
    struct rank_end broken = rank_end_none();
    broken.how.kind = RANK_END_FAILED;
    broken.status = HVD_ERR_PEER_LOST;
    leave(0);
    come_again(0);
    ck_assert(!again(0)->closed);
    rank_end_encode(&payload, &broken);
    seal_put(&again(0)->seal, &out, JOIN_BROKEN, payload.data, payload.length);
    join_client_send(again(0), out.data, out.length);
    ck_assert(again(0)->closed);
    wire_writer_fini(&payload);
    wire_writer_fini(&out);
}
END_TEST

START_TEST(the_next_epoch_has_the_start_timeout_again)
{
    now_ms = 100000;
    leave(0);
    come_again(0);
    ck_assert_uint_eq(server_deadline(&server), 100000 + START_TIMEOUT_MS);
    tick_at(100000 + START_TIMEOUT_MS);
    struct join_reply reply;
    ck_assert(join_client_next(again(0), &reply));
    ck_assert_int_eq(reply.type, JOIN_REFUSED);
    ck_assert_int_eq(reply.refused.status, HVD_ERR_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(reply.refused.text, "ranks 1, 2 on localhost"));
    ck_assert_int_eq(timeouts, 1);
}
END_TEST

START_TEST(another_epoch_than_the_next_is_refused)
{
    leave(0);
    come_again_for(0, 2);
    expect_refused(again(0), HVD_ERR_ENVIRONMENT,
                   "rank 0 asks for epoch 2, but job job is in epoch 0");
    come_again_for(0, 1);
    expect_nothing(again(0));
}
END_TEST

START_TEST(a_second_process_of_a_rank_is_refused)
{
    come_again_for(0, 0);
    expect_refused(again(0), HVD_ERR_ENVIRONMENT,
                   "HOROVOD_RANK is 0, but rank 0 has joined already");
    come_again(1);
    join_client_fini(again(0));
    dial(again(0));
    again(0)->epoch = 1;
    join_client_join(again(0), 1, SIZE);
    expect_refused(again(0), HVD_ERR_ENVIRONMENT,
                   "HOROVOD_RANK is 1, but rank 1 has joined already");
}
END_TEST

/* Of a world that another has replaced. */
START_TEST(what_the_former_connections_say_is_of_no_interest)
{
    ck_assert_int_eq(server_ask(&server, now_ms, NULL), HVD_OK);
    for (int rank = 0; rank < SIZE; rank++)
        expect_ask(&clients[rank]);
    for (int rank = 0; rank < SIZE; rank++)
        come_again(rank);
    join_client_report(&clients[0], "late\n");
    ck_assert_ptr_null(strstr(reports, "late"));
    ck_assert_ptr_nonnull(strstr(reports, "0: has left its world for the next"));
    hang_up(&clients[1]);
    tick_at(1000);
    for (int rank = 0; rank < SIZE; rank++) {
        expect_epoch(rank, 1);
        expect_nothing(again(rank));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rendezvous_epoch");
    TCase *tcase = tcase_create("rendezvous_epoch");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup_world, teardown);
    tcase_add_test(tcase, ranks_that_have_left_are_the_next_epoch);
    tcase_add_test(tcase, a_goodbye_may_come_after_the_hello);
    tcase_add_test(tcase, the_world_before_goes_on_meanwhile);
    tcase_add_test(tcase, a_rank_that_ends_instead_is_told_to_those_that_wait);
    tcase_add_test(tcase, who_comes_after_a_rank_has_ended_is_refused);
    tcase_add_test(tcase, a_loss_in_the_world_before_is_one_for_the_next);
    tcase_add_test(tcase, who_says_that_its_world_has_broken_before_there_is_one_is_sent_away);
    tcase_add_test(tcase, the_next_epoch_has_the_start_timeout_again);
    tcase_add_test(tcase, another_epoch_than_the_next_is_refused);
    tcase_add_test(tcase, a_second_process_of_a_rank_is_refused);
    tcase_add_test(tcase, what_the_former_connections_say_is_of_no_interest);
    return unit_run(suite);
}
