/* SPDX-License-Identifier: Apache-2.0 */
/* What the launcher of an elastic job hears of its workers, and what becomes of a process that
 * claims to be one. */
#include "tests/support/server_fixture.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static char met[200]; /* "0 1 ..." */

static void on_met(void *context, int worker)
{
    size_t used = strlen(met);
    ck_assert_ptr_eq(context, &server);
    snprintf(met + used, sizeof met - used, "%d ", worker);
}

static int blamed; /* the worker because of whom a world has broken */
static struct late_ranks late;

static void on_left(void *context, int worker, const struct rank_end *said)
{
    (void)context;
    (void)worker;
    blamed = said->because_of;
    late = said->late;
}

static void setup_elastic(void)
{
    struct err err;
    struct rendezvous_options options = { .id = "job",
                                          .elastic = true,
                                          .key = &key,
                                          .events = { .met = on_met, .left = on_left },
                                          .context = &server };
    now_ms = 0;
    met[0] = '\0';
    ck_assert_int_eq(auth_init(&err), HVD_OK);
    job_key_generate(&key);
    ck_assert_int_eq(server_init(&server, &options, 0, now_ms, &err), HVD_OK);
}

/* A process on `host` says that it is `worker`. */
static void come(struct join_client *client, int worker, const char *host)
{
    dial(client);
    client->host = host;
    join_client_join(client, worker, 0);
}

static void setup_world(void)
{
    const struct rendezvous_member members[] = { { 0, "localhost" }, { 1, "localhost" } };
    setup_elastic();
    ck_assert_int_eq(server_intend(&server, members, 2, now_ms, NULL), HVD_OK);
    come(&clients[0], 0, "a");
    come(&clients[1], 1, "a");
    expect_welcome(&clients[0], 0, 2);
    expect_welcome(&clients[1], 1, 2);
    ck_assert_str_eq(met, "0 1 ");
}

START_TEST(a_worker_that_comes_again_is_met_again)
{
    clients[2].epoch = 1;
    come(&clients[2], 1, "a");
    expect_nothing(&clients[2]);
    ck_assert_str_eq(met, "0 1 1 ");
}
END_TEST

/* A program that a worker starts has its environment. */
START_TEST(another_process_that_claims_to_be_a_worker_is_refused_and_not_met)
{
    come(&clients[2], 1, "b");
    expect_refused(&clients[2], HVD_ERR_ENVIRONMENT,
                   "HVD_WORKER is 1, but worker 1 is another process (pid -1)");
    ck_assert_str_eq(met, "0 1 ");
}
END_TEST

START_TEST(a_worker_that_says_to_be_another_is_refused_and_not_met)
{
    struct job_key own;
    worker_key_derive(&own, &key, 2);
    dial_with(&clients[2], &own);
    strcpy(clients[2].owner, "/2");
    join_client_join(&clients[2], _i == 0 ? 1 : -1, 0);
    expect_refused(&clients[2], HVD_ERR_ENVIRONMENT,
                   _i == 0 ? "HVD_WORKER is 1, but HVD_JOB_KEY is the key of worker 2"
                           : "HVD_WORKER is not set, but HVD_JOB_KEY is the key of worker 2");
    ck_assert_str_eq(met, "0 1 ");
}
END_TEST

START_TEST(a_worker_that_was_removed_is_refused_and_not_met)
{
    server_remove(&server, 2, now_ms);
    come(&clients[2], 2, "a");
    expect_refused(&clients[2], HVD_ERR_REMOVED, "worker 2 was removed from this job");
    ck_assert_str_eq(met, "0 1 ");
}
END_TEST

START_TEST(a_process_that_is_not_elastic_is_refused_and_not_met)
{
    dial(&clients[2]);
    join_client_join(&clients[2], 1, 2);
    expect_refused(&clients[2], HVD_ERR_ENVIRONMENT,
                   "HOROVOD_ELASTIC is not set, but job job is elastic");
    ck_assert_str_eq(met, "0 1 ");
}
END_TEST

static void say_broken(struct join_client *client, const struct rank_end *end)
{
    struct wire_writer payload = { 0 }, out = { 0 };
    rank_end_encode(&payload, end);
    seal_put(&client->seal, &out, JOIN_BROKEN, payload.data, payload.length);
    join_client_send(client, out.data, out.length);
    wire_writer_fini(&payload);
    wire_writer_fini(&out);
}

/* Of a world whose ranks 0 and 1 are workers 1 and 3. */
static const struct {
    int because_of, worker;
} blames[] = { { 0, 1 }, { 1, 3 }, { 2, RANK_NONE }, { 3, RANK_NONE }, { RANK_NONE, RANK_NONE } };

START_TEST(a_rank_that_does_not_exist_is_no_worker_for_the_launcher)
{
    const struct rendezvous_member members[] = { { 1, "localhost" }, { 3, "localhost" } };
    struct rank_end end = rank_end_none();
    ck_assert_int_eq(server_intend(&server, members, 2, now_ms, NULL), HVD_OK);
    come(&clients[0], 1, "a");
    come(&clients[1], 3, "a");
    end.how.kind = RANK_END_TIMEOUT;
    end.status = HVD_ERR_PEER_LOST;
    end.because_of = blames[_i].because_of;
    blamed = 99;
    say_broken(&clients[0], &end);
    ck_assert_int_eq(blamed, blames[_i].worker);
}
END_TEST

/* Workers 5 and 3 are ranks 0 and 1. */
START_TEST(late_ranks_are_workers_for_the_launcher)
{
    const struct rendezvous_member members[] = { { 5, "localhost" }, { 3, "localhost" } };
    struct rank_end end = rank_end_none();
    ck_assert_int_eq(server_intend(&server, members, 2, now_ms, NULL), HVD_OK);
    come(&clients[0], 5, "a");
    come(&clients[1], 3, "a");
    end.how.kind = RANK_END_TIMEOUT;
    end.status = HVD_ERR_PEER_LOST;
    for (int rank = 0; rank < 4; rank++)
        late_ranks_add(&end.late, rank);
    say_broken(&clients[0], &end);
    ck_assert_int_eq(late.count, 2);
    ck_assert_int_eq(late.rank[0], 3);
    ck_assert_int_eq(late.rank[1], 5);
}
END_TEST

/* Any deadline makes time pass, as that of a connection that says nothing. */
START_TEST(time_that_passes_before_the_first_world_refuses_nobody)
{
    now_ms += 1000000;
    server_tick(&server, now_ms);
    come(&clients[0], 0, "a");
    expect_nothing(&clients[0]);
    ck_assert_str_eq(met, "0 ");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rendezvous_elastic");
    TCase *tcase = tcase_create("rendezvous_elastic");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup_world, teardown);
    tcase_add_test(tcase, a_worker_that_comes_again_is_met_again);
    tcase_add_test(tcase, another_process_that_claims_to_be_a_worker_is_refused_and_not_met);
    tcase_add_loop_test(tcase, a_worker_that_says_to_be_another_is_refused_and_not_met, 0, 2);
    tcase_add_test(tcase, a_worker_that_was_removed_is_refused_and_not_met);
    tcase_add_test(tcase, a_process_that_is_not_elastic_is_refused_and_not_met);
    tcase = tcase_create("before_the_first_world");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup_elastic, teardown);
    tcase_add_loop_test(tcase, a_rank_that_does_not_exist_is_no_worker_for_the_launcher, 0,
                        sizeof blames / sizeof *blames);
    tcase_add_test(tcase, late_ranks_are_workers_for_the_launcher);
    tcase_add_test(tcase, time_that_passes_before_the_first_world_refuses_nobody);
    return unit_run(suite);
}
