/* SPDX-License-Identifier: Apache-2.0 */
/* A rendezvous that serves many jobs, and HTTP beside their workers: places for workers that nobody
 * has planned, jobs that do not see each other, what becomes of those that come too late or not at
 * all, and requests that are held until something happens. */
#include "lib/base/rank_end_text.h"
#include "rendezvous/world/rank_states.h"
#include "tests/support/rank_ends.h"
#include "tests/support/server_fixture.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static void dial_job(struct join_client *client, const char *job)
{
    struct job_key job_key;
    job_key_derive(&job_key, &key, job);
    dial_with(client, &job_key);
    snprintf(client->owner, sizeof client->owner, "%s", job);
}

/* A worker of `job` comes from `host`. */
static struct join_client *come(int index, const char *job, const char *host, int rank, int size)
{
    struct join_client *client = &clients[index];
    dial_job(client, job);
    client->host = host;
    join_client_join(client, rank, size);
    return client;
}

static void expect_rank_info(struct join_client *client, struct rank_info rank_info)
{
    struct join_reply reply;
    ck_assert(join_client_next(client, &reply));
    ck_assert_int_eq(reply.type, JOIN_WELCOME);
    ck_assert_mem_eq(&reply.welcome.rank_info, &rank_info, sizeof rank_info);
}

static void expect_told(struct join_client *client, uint16_t type, const char *part)
{
    struct join_reply reply;
    ck_assert(join_client_next(client, &reply));
    ck_assert_int_eq(reply.type, type);
    char text[500];
    if (type == JOIN_NEWS)
        rank_end_text(text, sizeof text, &reply.news);
    else
        snprintf(text, sizeof text, "%s", reply.refused.text);
    ck_assert_msg(strstr(text, part), "'%s' does not say '%s'", text, part);
}

/* What the rendezvous has sent since the last look. */
static const char *heard(struct join_client *client)
{
    static char text[64 * 1024];
    size_t length = client->received.length - client->read;
    ck_assert_uint_lt(length, sizeof text);
    if (length > 0)
        memcpy(text, client->received.data + client->read, length);
    text[length] = '\0';
    client->read = client->received.length;
    return text;
}

static void say(struct join_client *client, const char *text)
{
    join_client_send(client, text, strlen(text));
}

static void request(struct join_client *client, const struct job_key *with, const char *first_line,
                    const char *body)
{
    char hex[JOB_KEY_HEX_SIZE], text[4096];
    job_key_format(with, hex);
    snprintf(text, sizeof text,
             "%s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n%s",
             first_line, hex, strlen(body), body);
    say(client, text);
}

START_TEST(places_are_given_by_host_and_arrival)
{
    setup_service(8);
    come(0, "train", "b", -1, 4);
    come(1, "train", "a", -1, 4);
    come(2, "train", "b", -1, 4);
    expect_nothing(&clients[0]);
    come(3, "train", "a", -1, 4);
    expect_rank_info(&clients[0], (struct rank_info){ 0, 4, 0, 2, 0, 2 });
    expect_rank_info(&clients[2], (struct rank_info){ 1, 4, 1, 2, 0, 2 });
    expect_rank_info(&clients[1], (struct rank_info){ 2, 4, 0, 2, 1, 2 });
    expect_rank_info(&clients[3], (struct rank_info){ 3, 4, 1, 2, 1, 2 });
    ck_assert_ptr_nonnull(strstr(service_said, "train: all 4 workers have come|"));
    teardown();
}
END_TEST

/* A worker of "train" that asks for no rank, and says which it had last. */
static void come_from_rank(struct join_client *client, int last_rank)
{
    struct join_hello hello = { .rank = -1, .size = 2, .worker = last_rank, .host = "a" };
    struct wire_writer payload = { 0 }, out = { 0 };
    dial_job(client, "train");
    ck_assert(join_client_open(client));
    join_hello_encode(&payload, &hello);
    seal_put(&client->seal, &out, JOIN_HELLO, payload.data, payload.length);
    join_client_send(client, out.data, out.length);
    wire_writer_fini(&payload);
    wire_writer_fini(&out);
}

/* The last rank is one of a world that the worker has left, and a new worker has left none. */
START_TEST(a_new_worker_gets_no_rank_for_its_last_one)
{
    setup_service(8);
    come_from_rank(&clients[0], 1);
    come_from_rank(&clients[1], 0);
    expect_rank_info(&clients[0], (struct rank_info){ 0, 2, 0, 2, 0, 1 });
    expect_rank_info(&clients[1], (struct rank_info){ 1, 2, 1, 2, 0, 1 });
    teardown();
}
END_TEST

START_TEST(the_only_worker_of_a_job_is_reported_in_the_singular)
{
    setup_service(8);
    come(0, "train", "a", -1, 1);
    ck_assert_msg(strstr(service_said, "train: its 1 worker has come|"), "%s", service_said);
    teardown();
}
END_TEST

START_TEST(a_rank_that_is_asked_for_is_given)
{
    setup_service(8);
    come(0, "train", "a", 1, 2);
    come(1, "train", "a", -1, 2);
    expect_rank_info(&clients[0], (struct rank_info){ 1, 2, 1, 2, 0, 1 });
    expect_rank_info(&clients[1], (struct rank_info){ 0, 2, 0, 2, 0, 1 });
    teardown();
}
END_TEST

START_TEST(jobs_do_not_see_each_other)
{
    setup_service(8);
    come(0, "red", "a", -1, 2);
    come(1, "blue", "a", -1, 2);
    come(2, "red", "a", -1, 2);
    expect_rank_info(&clients[2], (struct rank_info){ 1, 2, 1, 2, 0, 1 });
    expect_nothing(&clients[1]);
    hang_up(&clients[0]);
    tick_at(MEMBERSHIP_GRACE_MS);
    expect_rank_info(&clients[0], (struct rank_info){ 0, 2, 0, 2, 0, 1 });
    expect_told(&clients[2], JOIN_NEWS, "rank 0 on a");
    expect_nothing(&clients[1]);
    teardown();
}
END_TEST

START_TEST(the_key_of_another_job_opens_nothing)
{
    setup_service(8);
    come(0, "red", "a", -1, 2);
    struct job_key blue;
    job_key_derive(&blue, &key, "blue");
    dial_with(&clients[1], &blue);
    snprintf(clients[1].owner, sizeof clients[1].owner, "red");
    join_client_join(&clients[1], -1, 2);
    ck_assert(clients[1].closed);
    expect_nothing(&clients[1]);
    expect_nothing(&clients[0]);
    teardown();
}
END_TEST

START_TEST(a_job_that_is_not_there_is_answered_like_one_that_is)
{
    setup_service(8);
    come(0, "red", "a", -1, 2);
    dial(&clients[1]);
    snprintf(clients[1].owner, sizeof clients[1].owner, "red");
    dial(&clients[2]);
    snprintf(clients[2].owner, sizeof clients[2].owner, "green");
    for (int i = 1; i <= 2; i++) {
        join_client_join(&clients[i], -1, 2);
        ck_assert(clients[i].closed);
    }
    ck_assert_uint_eq(clients[1].received.length, clients[2].received.length);
    ck_assert_ptr_null(job_table_find(&server.job_table, "green"));
    teardown();
}
END_TEST

START_TEST(who_breaks_off_while_others_wait_is_named_to_them)
{
    setup_service(8);
    come(0, "train", "a", -1, 3);
    come(1, "train", "b", -1, 3);
    hang_up(&clients[0]);
    expect_told(&clients[1], JOIN_REFUSED, "a");
    ck_assert(clients[1].closed);
    ck_assert_ptr_nonnull(strstr(service_said, "train: failed: "));
    teardown();
}
END_TEST

START_TEST(who_leaves_while_others_wait_is_named_to_them)
{
    setup_service(8);
    come(0, "train", "a", -1, 3);
    come(1, "train", "b", -1, 3);
    join_client_leave(&clients[0]);
    expect_told(&clients[1], JOIN_REFUSED, "worker on a");
    ck_assert(clients[1].closed);
    ck_assert_ptr_nonnull(strstr(service_said, "train: failed: worker on a"));
    ck_assert_ptr_nonnull(strstr(service_said, "left before all had come"));
    teardown();
}
END_TEST

START_TEST(who_is_missing_is_named_when_the_time_is_over)
{
    setup_service(8);
    come(0, "train", "a", 0, 3);
    tick_at(START_TIMEOUT_MS - 1);
    expect_nothing(&clients[0]);
    tick_at(START_TIMEOUT_MS);
    expect_told(&clients[0], JOIN_REFUSED, "have not come within 30 s");
    ck_assert(clients[0].closed);
    teardown();
}
END_TEST

START_TEST(who_comes_too_late_is_told_so_and_may_come_to_the_next_run)
{
    setup_service(8);
    come(0, "train", "a", -1, 1);
    expect_rank_info(&clients[0], (struct rank_info){ 0, 1, 0, 1, 0, 1 });
    come(1, "train", "a", -1, 1);
    expect_told(&clients[1], JOIN_REFUSED, "1 of 1 workers already");
    ck_assert_ptr_nonnull(strstr(service_said, "train: refused a worker on a (pid -1): "));
    ck_assert(clients[1].closed);
    join_client_leave(&clients[0]);
    ck_assert_ptr_nonnull(strstr(service_said, "train: ended"));
    come(2, "train", "a", -1, 1);
    expect_rank_info(&clients[2], (struct rank_info){ 0, 1, 0, 1, 0, 1 });
    teardown();
}
END_TEST

START_TEST(who_comes_back_to_a_job_that_has_failed_is_told_why)
{
    setup_service(8);
    come(0, "train", "a", -1, 2);
    come(1, "train", "b", -1, 2);
    hang_up(&clients[0]);
    tick_at(MEMBERSHIP_GRACE_MS);
    come(2, "train", "a", -1, 2);
    expect_told(&clients[2], JOIN_REFUSED, "the connection to rank 0 on a broke");
    teardown();
}
END_TEST

START_TEST(there_are_no_more_jobs_than_allowed)
{
    setup_service(1);
    come(0, "one", "a", -1, 2);
    come(1, "two", "a", -1, 2);
    expect_told(&clients[1], JOIN_REFUSED, "1 job");
    hang_up(&clients[0]);
    come(2, "two", "a", -1, 1);
    expect_rank_info(&clients[2], (struct rank_info){ 0, 1, 0, 1, 0, 1 });
    teardown();
}
END_TEST

START_TEST(however_many_workers_are_expected_unauthenticated_clients_come_in)
{
    static struct join_client unauthenticated[SERVER_UNAUTHENTICATED_MAX + 2];
    struct err err;
    setup_service(2);
    for (int i = 0; i < 2; i++) /* as 32768 jobs of the largest size */
        ck_assert_ptr_nonnull(
            job_table_make(&server.job_table, i ? "b" : "a", INT_MAX, 0, now_ms, &err));
    for (int i = 0; i < SERVER_UNAUTHENTICATED_MAX + 2; i++)
        dial(&unauthenticated[i]);
    ck_assert_int_eq(server.count[SERVER_UNAUTHENTICATED], SERVER_UNAUTHENTICATED_MAX + 2);
    teardown();
    for (int i = 0; i < SERVER_UNAUTHENTICATED_MAX + 2; i++)
        join_client_fini(&unauthenticated[i]);
}
END_TEST

START_TEST(unauthenticated_clients_leave_the_descriptors_that_others_have_taken)
{
    static struct join_client unauthenticated[SERVER_UNAUTHENTICATED_MAX];
    setup_service(2);
    server.connections_max = 102;
    come(0, "train", "a", -1, 1000);
    come(1, "train", "a", -1, 1000);
    for (int i = 0; i < SERVER_UNAUTHENTICATED_MAX; i++)
        dial(&unauthenticated[i]);
    ck_assert_int_eq(server.count[SERVER_UNAUTHENTICATED], 100);
    server.connections_max = 20; /* workers of a job must be able to say HELLO, all the same */
    dial(&clients[2]);
    ck_assert_int_eq(server.count[SERVER_UNAUTHENTICATED], SERVER_UNAUTHENTICATED_MIN);
    ck_assert_int_eq(server.count[SERVER_WORKER], 2);
    teardown();
    for (int i = 0; i < SERVER_UNAUTHENTICATED_MAX; i++)
        join_client_fini(&unauthenticated[i]);
}
END_TEST

/* The start timeout, and when it lapses. */
static const struct {
    const char *declaration;
    uint64_t lapse_ms;
    const char *said;
} declarations[] = {
    { "{\"size\": 2}", 3600000, "job: failed: no worker has come within 3600 s|" },
    { "{\"size\": 2, \"start_timeout_s\": 600}", 6000000,
      "job: failed: no worker has come within 6000 s|" },
};

static void declare(struct join_client *http, const char *declaration)
{
    dial(http);
    request(http, &key, "PUT /v1/jobs/job", declaration);
    ck_assert_ptr_nonnull(strstr(heard(http), "200 OK"));
    hang_up(http);
}

START_TEST(a_job_to_which_nobody_comes_has_failed_in_the_end)
{
    uint64_t lapse_ms = declarations[_i].lapse_ms;
    setup_service(1);
    declare(&clients[0], declarations[_i].declaration);
    now_ms = 1000;
    declare(&clients[1], declarations[_i].declaration); /* it is still wanted */
    ck_assert_uint_eq(server_deadline(&server), 1000 + lapse_ms);
    tick_at(1000 + lapse_ms - 1);
    ck_assert_str_eq(service_said, "");
    tick_at(1000 + lapse_ms);
    ck_assert_str_eq(service_said, declarations[_i].said);
    ck_assert_uint_eq(server_deadline(&server), SERVER_NEVER);
    come(2, "other", "a", -1, 1);
    expect_rank_info(&clients[2], (struct rank_info){ 0, 1, 0, 1, 0, 1 });
    teardown();
}
END_TEST

START_TEST(a_job_to_which_somebody_has_come_does_not_lapse)
{
    setup_service(1);
    declare(&clients[0], "{\"size\": 1}");
    come(1, "job", "a", -1, 1);
    tick_at(RENDEZVOUS_JOB_LAPSE_MS);
    ck_assert_ptr_null(strstr(service_said, "failed"));
    ck_assert_uint_eq(server_deadline(&server), SERVER_NEVER);
    teardown();
}
END_TEST

START_TEST(jobs_that_are_over_are_forgotten_in_the_end)
{
    setup_service(1000);
    for (int i = 0; i < JOB_TABLE_OVER_MAX + 10; i++) {
        char id[16];
        snprintf(id, sizeof id, "job%d", i);
        come(i, id, "a", -1, 1);
        join_client_leave(&clients[i]);
    }
    ck_assert_int_eq(server.job_table.count, JOB_TABLE_OVER_MAX);
    ck_assert_ptr_null(job_table_find(&server.job_table, "job9"));
    ck_assert_ptr_nonnull(job_table_find(&server.job_table, "job10"));
    teardown();
}
END_TEST

START_TEST(a_job_is_ended_over_http)
{
    setup_service(8);
    struct join_client *http = &clients[9];
    come(0, "train", "a", -1, 2);
    come(1, "wait", "a", -1, 2);
    come(2, "train", "a", -1, 2);
    expect_rank_info(&clients[0], (struct rank_info){ 0, 2, 0, 2, 0, 1 });
    dial(http);
    request(http, &key, "DELETE /v1/jobs/train", "");
    ck_assert_ptr_nonnull(strstr(heard(http), "200 OK"));
    request(http, &key, "DELETE /v1/jobs/wait", "");
    ck_assert_ptr_nonnull(strstr(heard(http), "200 OK"));
    expect_told(&clients[0], JOIN_NEWS, "ended");
    expect_told(&clients[1], JOIN_REFUSED, "ended");
    ck_assert(clients[1].closed);
    teardown();
}
END_TEST

static void put_value(struct join_client *http, const char *job, size_t length, const char *status)
{
    static char text[1 << 20];
    struct job_key job_key;
    char hex[JOB_KEY_HEX_SIZE];
    job_key_derive(&job_key, &key, job);
    job_key_format(&job_key, hex);
    int head = snprintf(text, sizeof text,
                        "PUT /s/k HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s:%s\r\n"
                        "Content-Length: %zu\r\n\r\n",
                        job, hex, length);
    join_client_send(http, text, (size_t)head + length); /* whatever stands there */
    const char *answer = heard(http);
    ck_assert_msg(strstr(answer, status), "'%s' is no %s", answer, status);
}

/* A quarter for what is on its way, the rest for values. */
START_TEST(one_job_does_not_use_up_the_memory_of_all)
{
    enum { QUARTER = 300000 };
    struct join_client *http = &clients[9];
    setup_service_within(8, 4 * QUARTER);
    dial(http);
    for (int i = 0; i < 3; i++)
        request(http, &key, i ? i > 1 ? "PUT /v1/jobs/c" : "PUT /v1/jobs/b" : "PUT /v1/jobs/a",
                "{\"size\": 2}");
    heard(http);
    put_value(http, "a", QUARTER - 300, "200 OK");
    put_value(http, "b", QUARTER - 300, "200 OK");
    put_value(http, "c", QUARTER - 300, "200 OK");
    put_value(http, "c", QUARTER, "507 ");
    request(http, &key, "DELETE /v1/jobs/a", "");
    heard(http);
    put_value(http, "c", QUARTER, "200 OK");
    put_value(http, "c", QUARTER + 1, "503 ");
    ck_assert(http->closed);
    ck_assert_uint_eq(server.service.coming.used, 0);
    teardown();
}
END_TEST

#define OWN_GET(path) "GET " path " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"
#define OWN_PUT(path) "PUT " path " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\n\r\nabc"

START_TEST(a_value_goes_to_whom_waits_for_it)
{
    setup(2);
    dial_from(&clients[0], RENDEZVOUS_OWN_UID);
    dial_from(&clients[1], RENDEZVOUS_OWN_UID);
    say(&clients[0], OWN_GET("/global/1"));
    ck_assert_str_eq(heard(&clients[0]), "");
    say(&clients[1], OWN_PUT("/global/1"));
    ck_assert_ptr_nonnull(strstr(heard(&clients[1]), "200 OK"));
    ck_assert_ptr_nonnull(strstr(heard(&clients[0]), "\r\n\r\nabc"));
    teardown();
}
END_TEST

START_TEST(nothing_goes_to_whom_has_waited_long_enough)
{
    setup(2);
    dial_from(&clients[0], RENDEZVOUS_OWN_UID);
    say(&clients[0], OWN_GET("/global/1"));
    ck_assert_uint_le(server_deadline(&server), 1000);
    tick_at(1000);
    ck_assert_ptr_nonnull(strstr(heard(&clients[0]), "404 Not Found"));
    teardown();
}
END_TEST

START_TEST(who_hangs_up_while_it_waits_is_forgotten)
{
    setup(2);
    dial_from(&clients[0], RENDEZVOUS_OWN_UID);
    dial_from(&clients[1], RENDEZVOUS_OWN_UID);
    say(&clients[0], OWN_GET("/global/1"));
    hang_up(&clients[0]);
    say(&clients[1], OWN_PUT("/global/1"));
    ck_assert_ptr_nonnull(strstr(heard(&clients[1]), "200 OK"));
    teardown();
}
END_TEST

START_TEST(unauthenticated_clients_get_no_values)
{
    setup(2);
    dial(&clients[0]);
    say(&clients[0], OWN_PUT("/global/1"));
    ck_assert_ptr_nonnull(strstr(heard(&clients[0]), "401 Unauthorized"));
    ck_assert_uint_eq(key_value_keys(server.job_table.only->store), 0);
    teardown();
}
END_TEST

START_TEST(clients_are_authenticated)
{
    setup(2);
    for (int i = 0; i < SERVER_UNAUTHENTICATED_MAX + 10; i++) {
        dial_from(&clients[i], RENDEZVOUS_OWN_UID);
        say(&clients[i], OWN_GET("/global/1"));
    }
    ck_assert_int_eq(server.count[SERVER_CLIENT], SERVER_UNAUTHENTICATED_MAX + 10);
    for (int i = 0; i < SERVER_UNAUTHENTICATED_MAX + 10; i++)
        ck_assert(!clients[i].closed);
    teardown();
}
END_TEST

START_TEST(what_ranks_do_is_asked_for_those_who_look)
{
    setup(2);
    join_first(2);
    expect_welcome(&clients[0], 0, 2);
    expect_welcome(&clients[1], 1, 2);
    struct join_client *http = &clients[9];
    dial_from(http, RENDEZVOUS_OWN_UID);
    say(http, OWN_GET("/v1/jobs/job?ask"));
    ck_assert_str_eq(heard(http), "");
    expect_ask(&clients[0]);
    expect_ask(&clients[1]);
    join_client_report(&clients[0], "waits for grad\n");
    ck_assert_str_eq(heard(http), "");
    join_client_report(&clients[1], "computes\n");
    const char *answer = heard(http);
    ck_assert_ptr_nonnull(strstr(answer, "waits for grad"));
    ck_assert_ptr_nonnull(strstr(answer, "computes"));
    ck_assert_str_eq(reports, ""); /* the launcher has not asked */
    teardown();
}
END_TEST

START_TEST(what_is_answered_in_one_go_is_bounded_also_if_it_is_held_in_between)
{
    static const char request[] = OWN_GET("/v1/jobs/job?ask"); /* nobody is there to be asked */
    setup(2);
    dial_from(&clients[9], RENDEZVOUS_OWN_UID);
    struct wire_writer requests = { 0 };
    for (int i = 0; i < 2 * HTTP_PIPELINE_MAX; i++)
        wire_put_bytes(&requests, request, sizeof request - 1);
    join_client_send(&clients[9], requests.data, requests.length);
    wire_writer_fini(&requests);
    int answers = 0;
    for (const char *at = heard(&clients[9]); (at = strstr(at, "HTTP/1.1 200")); at++)
        answers++;
    ck_assert_int_eq(answers, HTTP_PIPELINE_MAX);
    ck_assert(clients[9].closed);
    teardown();
}
END_TEST

START_TEST(a_rank_that_does_not_answer_those_who_look_is_said_to)
{
    now_ms = 100;
    setup(1);
    join_first(1);
    expect_welcome(&clients[0], 0, 1);
    struct join_client *http = &clients[9];
    dial_from(http, RENDEZVOUS_OWN_UID);
    tick_at(1000);
    say(http, OWN_GET("/v1/jobs/job?ask"));
    tick_at(1000 + RANK_QUERY_MS);
    ck_assert_ptr_nonnull(strstr(heard(http), "did not answer"));
    join_client_report(&clients[0], "late\n");
    say(http, OWN_GET("/v1/jobs/job"));
    ck_assert_ptr_nonnull(strstr(heard(http), "late"));
    teardown();
}
END_TEST

START_TEST(the_launcher_and_those_who_look_do_not_share_an_asking)
{
    struct err err;
    setup(1);
    join_first(1);
    expect_welcome(&clients[0], 0, 1);
    struct join_client *http = &clients[9];
    dial_from(http, RENDEZVOUS_OWN_UID);
    say(http, OWN_GET("/v1/jobs/job?ask"));
    expect_ask(&clients[0]);
    ck_assert_int_eq(server_ask(&server, now_ms, &err), HVD_OK);
    join_client_report(&clients[0], "first\n");
    ck_assert_ptr_nonnull(strstr(heard(http), "first"));
    expect_ask(&clients[0]);
    join_client_report(&clients[0], "second\n");
    ck_assert_str_eq(reports, "0: second\n|");
    teardown();
}
END_TEST

START_TEST(who_waits_for_the_end_of_a_job_hears_the_verdict)
{
    const struct rendezvous_verdict verdict = { "FAILED rank 1", 137, 1 };
    setup(1);
    struct join_client *http = &clients[9];
    dial_from(http, RENDEZVOUS_OWN_UID);
    say(http, OWN_GET("/v1/jobs/job?wait=60&output"));
    server_tell_end(&server, 0, &(struct rendezvous_end){ *KILLED_BY(9), false }, now_ms);
    ck_assert_str_eq(heard(http), "");
    server_tell_verdict(&server, &verdict, now_ms);
    ck_assert_ptr_nonnull(strstr(heard(http), "\"verdict\":\"FAILED rank 1\""));
    say(http, OWN_GET("/v1/jobs/job?wait=60"));
    ck_assert_ptr_nonnull(strstr(heard(http), "\"exit_status\":137"));
    teardown();
}
END_TEST

START_TEST(where_the_carrier_ends_before_the_verdict_the_end_of_the_last_rank_is_told)
{
    const struct rendezvous_end killed = { *KILLED_BY(9), false };
    setup(2);
    struct join_client *http = &clients[9];
    dial_from(http, RENDEZVOUS_OWN_UID);
    http->stream.brief = true;
    say(http, OWN_GET("/v1/jobs/job?wait=60"));
    server_tell_end(&server, 1, &killed, now_ms);
    ck_assert_str_eq(heard(http), "");
    server_tell_end(&server, 0, &killed, now_ms);
    ck_assert_ptr_nonnull(strstr(heard(http), "\"verdict\":null"));
    teardown();
}
END_TEST

START_TEST(who_waits_for_the_end_of_a_job_that_goes_on_is_answered_in_time)
{
    setup(1);
    struct join_client *http = &clients[9];
    dial_from(http, RENDEZVOUS_OWN_UID);
    say(http, OWN_GET("/v1/jobs/job?wait=0"));
    ck_assert_ptr_nonnull(strstr(heard(http), "200 OK"));
    uint64_t began_ms = now_ms;
    say(http, OWN_GET("/v1/jobs/job?output&wait=1.5"));
    tick_at(began_ms + 1499);
    ck_assert_str_eq(heard(http), "");
    tick_at(began_ms + 1500);
    ck_assert_ptr_nonnull(strstr(heard(http), "200 OK"));
    teardown();
}
END_TEST

START_TEST(only_so_many_wait_for_the_end_of_a_job)
{
    setup(1);
    int held = 0;
    for (int i = 0; i < 40; i++) {
        dial_from(&clients[i], RENDEZVOUS_OWN_UID);
        say(&clients[i], OWN_GET("/v1/jobs/job?wait=60"));
        held += *heard(&clients[i]) == '\0';
    }
    ck_assert_int_eq(held, 32);
    teardown();
}
END_TEST

START_TEST(workers_of_horovods_own_are_a_job_that_runs)
{
    setup(2);
    const struct rendezvous_job *job = server.job_table.only;
    dial_from(&clients[0], RENDEZVOUS_OWN_UID);
    say(&clients[0], OWN_PUT("/global/0"));
    ck_assert_int_eq(rank_state_of(job, 0), RANK_GLOO);
    ck_assert_int_eq(rendezvous_job_state(job), RENDEZVOUS_JOB_GATHERING);
    say(&clients[0], OWN_PUT("/global/1"));
    ck_assert_int_eq(rendezvous_job_state(job), RENDEZVOUS_JOB_RUNNING);
    server_rank_ended(&server, 0, EXITED_WITH(0), now_ms);
    ck_assert_int_eq(rank_state_of(job, 0), RANK_LEFT);
    ck_assert_int_eq(rendezvous_job_state(job), RENDEZVOUS_JOB_RUNNING);
    server_rank_ended(&server, 1, KILLED_BY(9), now_ms);
    ck_assert_int_eq(rank_state_of(job, 1), RANK_LOST);
    ck_assert_int_eq(rendezvous_job_state(job), RENDEZVOUS_JOB_FAILED);
    char cause[RENDEZVOUS_JOB_CAUSE_SIZE];
    ck_assert_str_eq(rendezvous_job_cause(job, cause),
                     "rank 1 on localhost was killed by signal 9 (SIGKILL)");
    teardown();
}
END_TEST

START_TEST(for_whom_a_worker_of_horovods_own_has_waited_is_said)
{
    setup(3);
    missing_text[0] = '\0';
    dial_from(&clients[0], RENDEZVOUS_OWN_UID);
    say(&clients[0], OWN_PUT("/global/1"));
    server_rank_ended(&server, 1, KILLED_BY(6), now_ms);
    ck_assert_str_eq(missing_text, "ranks 0, 2 on localhost have not called hvd.init()");
    teardown();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rendezvous_service");
    TCase *service = tcase_create("service"), *http = tcase_create("http");
    tcase_add_test(service, places_are_given_by_host_and_arrival);
    tcase_add_test(service, a_new_worker_gets_no_rank_for_its_last_one);
    tcase_add_test(service, the_only_worker_of_a_job_is_reported_in_the_singular);
    tcase_add_test(service, a_rank_that_is_asked_for_is_given);
    tcase_add_test(service, jobs_do_not_see_each_other);
    tcase_add_test(service, the_key_of_another_job_opens_nothing);
    tcase_add_test(service, a_job_that_is_not_there_is_answered_like_one_that_is);
    tcase_add_test(service, who_breaks_off_while_others_wait_is_named_to_them);
    tcase_add_test(service, who_leaves_while_others_wait_is_named_to_them);
    tcase_add_test(service, who_is_missing_is_named_when_the_time_is_over);
    tcase_add_test(service, who_comes_too_late_is_told_so_and_may_come_to_the_next_run);
    tcase_add_test(service, who_comes_back_to_a_job_that_has_failed_is_told_why);
    tcase_add_test(service, there_are_no_more_jobs_than_allowed);
    tcase_add_test(service, however_many_workers_are_expected_unauthenticated_clients_come_in);
    tcase_add_test(service, unauthenticated_clients_leave_the_descriptors_that_others_have_taken);
    tcase_add_loop_test(service, a_job_to_which_nobody_comes_has_failed_in_the_end, 0,
                        sizeof declarations / sizeof *declarations);
    tcase_add_test(service, a_job_to_which_somebody_has_come_does_not_lapse);
    tcase_add_test(service, jobs_that_are_over_are_forgotten_in_the_end);
    tcase_add_test(service, a_job_is_ended_over_http);
    tcase_add_test(service, one_job_does_not_use_up_the_memory_of_all);
    tcase_add_test(http, a_value_goes_to_whom_waits_for_it);
    tcase_add_test(http, nothing_goes_to_whom_has_waited_long_enough);
    tcase_add_test(http, who_hangs_up_while_it_waits_is_forgotten);
    tcase_add_test(http, unauthenticated_clients_get_no_values);
    tcase_add_test(http, clients_are_authenticated);
    tcase_add_test(http, what_ranks_do_is_asked_for_those_who_look);
    tcase_add_test(http, what_is_answered_in_one_go_is_bounded_also_if_it_is_held_in_between);
    tcase_add_test(http, the_launcher_and_those_who_look_do_not_share_an_asking);
    tcase_add_test(http, a_rank_that_does_not_answer_those_who_look_is_said_to);
    tcase_add_test(http, who_waits_for_the_end_of_a_job_hears_the_verdict);
    tcase_add_test(http,
                   where_the_carrier_ends_before_the_verdict_the_end_of_the_last_rank_is_told);
    tcase_add_test(http, who_waits_for_the_end_of_a_job_that_goes_on_is_answered_in_time);
    tcase_add_test(http, only_so_many_wait_for_the_end_of_a_job);
    tcase_add_test(http, workers_of_horovods_own_are_a_job_that_runs);
    tcase_add_test(http, for_whom_a_worker_of_horovods_own_has_waited_is_said);
    suite_add_tcase(suite, service);
    suite_add_tcase(suite, http);
    return unit_run(suite);
}
