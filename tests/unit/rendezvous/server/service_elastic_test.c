/* SPDX-License-Identifier: Apache-2.0 */
/* For which ranks the next world of an elastic job of hvdrendezvousd waits when they have left the
 * present one: those that leave because it has broken or is to change, however long their way to
 * the next HELLO is, but no longer than the start timeout; not those that have finished. */
#include "tests/support/server_fixture.h"
#include "tests/support/unit.h"

#include <string.h>

/* Clients of workers that come again; more than the grace of a broken connection. */
enum { AGAIN = 10, LONG_MS = START_TIMEOUT_MS - 10000 };

static void dial_train(struct join_client *client)
{
    struct job_key job_key;
    job_key_derive(&job_key, &key, "train");
    dial_with(client, &job_key);
    strcpy(client->owner, "train");
    client->host = "localhost";
}

/* A process that is no worker yet. */
static void come(int client)
{
    dial_train(&clients[client]);
    join_client_join(&clients[client], -1, 0);
}

/* The worker says HELLO for the next world, through a connection of its own. */
static void come_again(int worker)
{
    dial_train(&clients[AGAIN + worker]);
    clients[AGAIN + worker].epoch = 1;
    join_client_join(&clients[AGAIN + worker], worker, 0);
}

static void expect_world(int client, uint32_t epoch, int rank, int size)
{
    struct join_reply reply;
    ck_assert(join_client_next(&clients[client], &reply));
    ck_assert_int_eq(reply.type, JOIN_WELCOME);
    ck_assert_uint_eq(reply.welcome.epoch, epoch);
    ck_assert_int_eq(reply.welcome.rank_info.rank, rank);
    ck_assert_int_eq(reply.welcome.rank_info.size, size);
}

/* Three clients are the world after the first, in order of rank. */
static void expect_next_world(int first, int second, int third)
{
    const int clients_of_it[] = { first, second, third };
    for (int rank = 0; rank < 3; rank++)
        expect_world(clients_of_it[rank], 1, rank, 3);
}

static void expect_update(int client)
{
    struct join_reply reply;
    ck_assert(join_client_next(&clients[client], &reply));
    ck_assert_int_eq(reply.type, JOIN_UPDATE);
}

/* At least two workers, and at most three. */
static void setup_train(void)
{
    struct err err;
    setup_service(2);
    ck_assert_ptr_nonnull(
        job_table_make_elastic(&server.job_table, "train", 2, 3, 0, now_ms, &err));
}

/* Three workers are a world, and a fourth waits. */
static void setup_world(void)
{
    setup_train();
    for (int worker = 0; worker < 3; worker++)
        come(worker);
    for (int worker = 0; worker < 3; worker++)
        expect_world(worker, 0, worker, 3);
    come(3);
    expect_nothing(&clients[3]);
}

/* Worker 2 dies, and the others leave their world. */
static void setup_loss(void)
{
    setup_world();
    hang_up(&clients[2]);
    tick_at(now_ms + MEMBERSHIP_GRACE_MS);
    for (int worker = 0; worker < 2; worker++)
        join_client_leave_with(&clients[worker], HVD_ERR_PEER_LOST);
}

START_TEST(a_rank_that_leaves_a_broken_world_is_waited_for)
{
    setup_loss();
    come_again(1);
    tick_at(now_ms + LONG_MS);
    expect_nothing(&clients[AGAIN + 1]);
    expect_nothing(&clients[3]);
    come_again(0);
    expect_next_world(AGAIN + 0, AGAIN + 1, 3);
    teardown();
}
END_TEST

/* They alone have the state of the training. */
START_TEST(workers_that_wait_are_no_world_without_any_rank_that_leaves_a_broken_one)
{
    setup_loss();
    come(4);
    tick_at(now_ms + LONG_MS);
    expect_nothing(&clients[3]);
    expect_nothing(&clients[4]);
    come_again(1);
    come_again(0);
    expect_world(AGAIN + 0, 1, 0, 3);
    expect_world(3, 1, 2, 3);
    expect_nothing(&clients[4]);
    teardown();
}
END_TEST

START_TEST(a_rank_that_does_not_come_again_is_given_up_in_the_end)
{
    setup_loss();
    come_again(1);
    uint64_t left_ms = now_ms;
    tick_at(now_ms + ELASTIC_QUIET_MS);
    ck_assert_uint_eq(server_deadline(&server), left_ms + START_TIMEOUT_MS);
    tick_at(left_ms + START_TIMEOUT_MS);
    expect_world(AGAIN + 1, 1, 0, 2);
    expect_world(3, 1, 1, 2);
    teardown();
}
END_TEST

START_TEST(when_no_rank_comes_again_a_worker_that_waits_is_refused_in_the_end)
{
    setup_loss();
    uint64_t left_ms = now_ms;
    tick_at(now_ms + ELASTIC_QUIET_MS);
    ck_assert_uint_eq(server_deadline(&server), left_ms + START_TIMEOUT_MS);
    tick_at(left_ms + START_TIMEOUT_MS - 1);
    expect_nothing(&clients[3]);
    tick_at(left_ms + START_TIMEOUT_MS);
    expect_refused(&clients[3], HVD_ERR_TIMEOUT, "1 of at least 2 workers have come within 30 s");
    teardown();
}
END_TEST

START_TEST(a_rank_that_leaves_a_world_which_is_to_change_is_waited_for)
{
    setup_train();
    come(0);
    come(1);
    tick_at(now_ms + ELASTIC_QUIET_MS);
    expect_world(0, 0, 0, 2);
    expect_world(1, 0, 1, 2);
    come(2);
    expect_update(0);
    expect_update(1);
    join_client_leave(&clients[0]);
    join_client_leave(&clients[1]);
    come_again(1);
    tick_at(now_ms + LONG_MS);
    expect_nothing(&clients[AGAIN + 1]);
    come_again(0);
    expect_next_world(AGAIN + 0, AGAIN + 1, 2);
    teardown();
}
END_TEST

START_TEST(a_rank_that_has_finished_is_not_waited_for)
{
    setup_world();
    join_client_leave(&clients[0]);
    for (int worker = 1; worker < 3; worker++) {
        join_client_leave_with(&clients[worker], HVD_ERR_PEER_LEFT);
        come_again(worker);
    }
    expect_next_world(AGAIN + 1, AGAIN + 2, 3);
    teardown();
}
END_TEST

START_TEST(a_job_gathers_until_it_has_a_world_and_once_that_has_broken)
{
    setup_train();
    const struct rendezvous_job *job = job_table_find(&server.job_table, "train");
    ck_assert_int_eq(rendezvous_job_state(job), RENDEZVOUS_JOB_GATHERING);
    come(0);
    come(1);
    ck_assert_int_eq(rendezvous_job_state(job), RENDEZVOUS_JOB_GATHERING);
    come(2);
    ck_assert_int_eq(rendezvous_job_state(job), RENDEZVOUS_JOB_RUNNING);
    hang_up(&clients[2]);
    tick_at(now_ms + MEMBERSHIP_GRACE_MS);
    ck_assert_int_eq(rendezvous_job_state(job), RENDEZVOUS_JOB_GATHERING);
    teardown();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service_elastic");
    TCase *tcase = tcase_create("service_elastic");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, a_rank_that_leaves_a_broken_world_is_waited_for);
    tcase_add_test(tcase, workers_that_wait_are_no_world_without_any_rank_that_leaves_a_broken_one);
    tcase_add_test(tcase, a_rank_that_does_not_come_again_is_given_up_in_the_end);
    tcase_add_test(tcase, when_no_rank_comes_again_a_worker_that_waits_is_refused_in_the_end);
    tcase_add_test(tcase, a_rank_that_leaves_a_world_which_is_to_change_is_waited_for);
    tcase_add_test(tcase, a_rank_that_has_finished_is_not_waited_for);
    tcase_add_test(tcase, a_job_gathers_until_it_has_a_world_and_once_that_has_broken);
    return unit_run(suite);
}
