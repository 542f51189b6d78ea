/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous on a real loop: its timer runs when something is pending and not otherwise, and it
 * may be destroyed at any moment. */
#include "rendezvous/server/rendezvous.h"
#include "tests/support/join_client.h"
#include "tests/support/rank_ends.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static uv_loop_t loop;
static struct rendezvous *rendezvous;
static struct job_key key;
static int completed;
static char timeout_text[JOIN_TEXT_MAX];
static int nreported;
static char reported[JOIN_TEXT_MAX]; /* the last */
static int disconnected;             /* the rank; -1: none */
static struct join_client clients[2];

static void on_complete(void *context)
{
    (void)context;
    completed++;
}

static void on_timed_out(void *context, const char *text)
{
    (void)context;
    snprintf(timeout_text, sizeof timeout_text, "%s", text);
}

static void on_report(void *context, int rank, enum rank_waits_for waits_for, const char *text)
{
    (void)context;
    (void)waits_for;
    ck_assert_int_eq(rank, nreported++);
    snprintf(reported, sizeof reported, "%s", text);
}

static void on_disconnected(void *context, int rank)
{
    (void)context;
    ck_assert_int_eq(disconnected, -1);
    disconnected = rank;
}

static void deliver(struct join_client *client, const void *data, size_t length)
{
    rendezvous_receive(client->connection, data, length);
}

static void setup(uint64_t start_timeout_ms, struct rendezvous_events events)
{
    struct rendezvous_slot slots[2] = { { { 0, 2, 0, 2, 0, 1 }, "localhost" },
                                        { { 1, 2, 1, 2, 0, 1 }, "localhost" } };
    struct rendezvous_options options = { .id = "job",
                                          .slots = slots,
                                          .size = 2,
                                          .key = &key,
                                          .start_timeout_ms = start_timeout_ms,
                                          .events = events };
    struct err err;
    completed = nreported = 0;
    disconnected = -1;
    timeout_text[0] = '\0';
    ck_assert_int_eq(auth_init(&err), HVD_OK);
    job_key_generate(&key);
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    rendezvous = rendezvous_create(&loop, &options, &err);
    ck_assert_ptr_nonnull(rendezvous);
}

static const struct rendezvous_events count = { .complete = on_complete,
                                                .timed_out = on_timed_out,
                                                .report = on_report,
                                                .disconnected = on_disconnected };

/* The loop has nothing left of the rendezvous. */
static void teardown(void)
{
    ck_assert_int_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    join_client_fini(&clients[0]);
    join_client_fini(&clients[1]);
}

static void dial(struct join_client *client)
{
    join_client_init(client, &key, deliver);
    client->connection = rendezvous_accept(rendezvous, &client->stream, RENDEZVOUS_ELSEWHERE);
}

static void join(int rank)
{
    dial(&clients[rank]);
    join_client_join(&clients[rank], rank, 2);
}

START_TEST(destroying_nothing_does_nothing)
{
    rendezvous_destroy(NULL);
}
END_TEST

START_TEST(an_unused_rendezvous_can_be_destroyed)
{
    setup(1000, count);
    ck_assert(!uv_loop_alive(&loop));
    rendezvous_destroy(rendezvous);
    teardown();
}
END_TEST

START_TEST(a_world_at_work_wakes_nobody)
{
    setup(1000, count);
    join(0);
    ck_assert(uv_loop_alive(&loop));
    join(1);
    ck_assert_int_eq(completed, 1);
    ck_assert(!uv_loop_alive(&loop));
    rendezvous_destroy(rendezvous);
    ck_assert(clients[0].closed && clients[1].closed);
    teardown();
}
END_TEST

START_TEST(the_start_timeout_comes_by_itself)
{
    setup(1, count);
    join(1);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_str_eq(timeout_text, "rank 0 on localhost has not called hvd_init within 1 ms");
    ck_assert(clients[1].closed);
    rendezvous_destroy(rendezvous);
    teardown();
}
END_TEST

START_TEST(an_unexplained_loss_is_told_by_itself)
{
    setup(1000, count);
    join(0);
    join(1);
    rendezvous_hangup(clients[1].connection);
    ck_assert_int_eq(disconnected, 1);
    int sends = clients[0].sends;
    uint64_t before = uv_now(&loop);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(clients[0].sends, sends + 1);
    ck_assert_uint_ge(uv_now(&loop), before + 100);
    rendezvous_destroy(rendezvous);
    teardown();
}
END_TEST

START_TEST(a_loss_that_is_explained_before_it_is_seen_is_no_breaking_off)
{
    setup(1000, count);
    join(0);
    join(1);
    rendezvous_rank_ended(rendezvous, 1, KILLED_BY(9));
    rendezvous_hangup(clients[1].connection);
    ck_assert_int_eq(disconnected, -1);
    rendezvous_destroy(rendezvous);
    teardown();
}
END_TEST

START_TEST(an_explained_loss_is_told_at_once)
{
    setup(1000, count);
    join(0);
    join(1);
    rendezvous_hangup(clients[1].connection);
    int sends = clients[0].sends;
    rendezvous_rank_ended(rendezvous, 1, KILLED_BY(9));
    ck_assert_int_eq(clients[0].sends, sends + 1);
    ck_assert(!uv_loop_alive(&loop));
    rendezvous_destroy(rendezvous);
    teardown();
}
END_TEST

static void destroy_in_complete(void *context)
{
    (void)context;
    rendezvous_destroy(rendezvous);
}

static void destroy_in_timeout(void *context, const char *text)
{
    (void)context;
    rendezvous_destroy(rendezvous);
    on_timed_out(NULL, text);
}

static void destroy_in_report(void *context, int rank, enum rank_waits_for waits_for,
                              const char *text)
{
    on_report(context, rank, waits_for, text);
    rendezvous_destroy(rendezvous);
}

static const struct rendezvous_events destroy = { .complete = destroy_in_complete,
                                                  .timed_out = destroy_in_timeout,
                                                  .report = destroy_in_report };

START_TEST(an_asking_of_silent_ranks_ends_by_itself)
{
    struct err err;
    setup(1000, count);
    join(0);
    join(1);
    ck_assert_int_eq(rendezvous_ask(rendezvous, &err), HVD_OK);
    ck_assert_int_eq(nreported, 0);
    ck_assert(uv_loop_alive(&loop));
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(nreported, 2);
    ck_assert_str_eq(reported, "no answer within 2 s");
    ck_assert(!uv_loop_alive(&loop));
    rendezvous_destroy(rendezvous);
    teardown();
}
END_TEST

START_TEST(it_may_be_destroyed_while_a_rank_is_reported)
{
    struct err err;
    setup(1000, destroy);
    ck_assert_int_eq(rendezvous_ask(rendezvous, &err), HVD_OK);
    ck_assert_int_eq(nreported, 1);
    ck_assert_str_eq(reported, "has not called hvd_init");
    teardown();
}
END_TEST

START_TEST(it_may_be_destroyed_when_the_world_is_complete)
{
    setup(1000, destroy);
    join(0);
    join(1);
    ck_assert(clients[0].closed && clients[1].closed);
    teardown();
}
END_TEST

START_TEST(it_may_be_destroyed_when_the_start_has_timed_out)
{
    setup(1, destroy);
    join(0);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_str_ne(timeout_text, "");
    teardown();
}
END_TEST

/* Destroyed after each byte of a conversation, with an unauthenticated client and a waiting rank
 * beside. */
START_TEST(it_may_be_destroyed_after_any_byte)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    struct join_client unauthenticated;
    setup(1000, count);
    join(0);
    dial(&clients[1]);
    dial(&unauthenticated);
    if (_i >= 0)
        join_client_send(&unauthenticated, request, (size_t)_i);
    join_client_send(&clients[1], "HVD1\1\0\0\0\x22", (size_t)_i % 10);
    rendezvous_destroy(rendezvous);
    ck_assert(unauthenticated.closed && clients[0].closed && clients[1].closed);
    join_client_fini(&unauthenticated);
    teardown();
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("server");
    tcase_add_test(tcase, destroying_nothing_does_nothing);
    tcase_add_test(tcase, an_unused_rendezvous_can_be_destroyed);
    tcase_add_test(tcase, a_world_at_work_wakes_nobody);
    tcase_add_test(tcase, the_start_timeout_comes_by_itself);
    tcase_add_test(tcase, an_unexplained_loss_is_told_by_itself);
    tcase_add_test(tcase, a_loss_that_is_explained_before_it_is_seen_is_no_breaking_off);
    tcase_add_test(tcase, an_explained_loss_is_told_at_once);
    tcase_add_test(tcase, an_asking_of_silent_ranks_ends_by_itself);
    tcase_add_test(tcase, it_may_be_destroyed_while_a_rank_is_reported);
    tcase_add_test(tcase, it_may_be_destroyed_when_the_world_is_complete);
    tcase_add_test(tcase, it_may_be_destroyed_when_the_start_has_timed_out);
    tcase_add_loop_test(tcase, it_may_be_destroyed_after_any_byte, 0, 35);
    Suite *all = suite_create("rendezvous_server");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
