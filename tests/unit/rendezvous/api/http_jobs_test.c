/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs, metrics and the page over HTTP, mostly without a connection for the client: who may see and
 * do what, and what is answered. The workers are those of a server in memory. */
#include "rendezvous/api/http_route.h"
#include "rendezvous/api/status_json.h"
#include "tests/support/server_fixture.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_ID                                                                                      \
    "{\"error\":\"the id of a job: expected 1 to 64 letters, digits, '.', '_' or '-', beginning "  \
    "with a letter or digit\"}\n"

static struct waiter waiter;
static struct http_exchange exchange;
static struct http_answer answer;
static char text[256 * 1024]; /* of the answer */

/* Somebody asks; "" has the service's key, otherwise that of a job, or is the job's own user. */
static bool request_as(const char *job, http_handler_fn *handle, const char *id, const char *query,
                       const char *body)
{
    waiter_leave(&waiter);
    exchange = (struct http_exchange){
        .path = { .count = id ? 3 : 2,
                  .segments = { { "v1", 2 }, { "jobs", 4 }, { id, id ? strlen(id) : 0 } },
                  .query = { query, query ? strlen(query) : 0 } },
        .access = { .level = *job ? HTTP_OF_JOB : HTTP_OF_SERVICE },
        .body = body,
        .length = body ? strlen(body) : 0,
        .now_ms = now_ms,
        .began_ms = now_ms,
        .waiter = &waiter,
    };
    snprintf(exchange.access.job, sizeof exchange.access.job, "%s", job);
    return handle(&server.service, &exchange, &answer);
}

static void take_text(void)
{
    ck_assert(!answer.made.failed);
    ck_assert_uint_lt(answer.made.length, sizeof text);
    if (answer.made.length > 0)
        memcpy(text, answer.made.data, answer.made.length);
    text[answer.made.length] = '\0';
    http_answer_fini(&answer);
}

/* The answer comes at once and has that status; its text is in `text`. */
static void expect_as(const char *job, http_handler_fn *handle, const char *id, const char *body,
                      int status)
{
    ck_assert(request_as(job, handle, id, NULL, body));
    take_text();
    ck_assert_msg(answer.status == status, "%d, not %d: %s", answer.status, status, text);
}

static void expect(http_handler_fn *handle, const char *id, const char *body, int status)
{
    expect_as("", handle, id, body, status);
}

static void expect_text(const char *expected)
{
    ck_assert_str_eq(text, expected);
}

static bool has(const char *what)
{
    return strstr(text, what) != NULL;
}

/* A worker of a service's job. */
static void come(int client, const char *job, int size)
{
    struct job_key job_key;
    job_key_derive(&job_key, &key, job);
    dial_with(&clients[client], &job_key);
    snprintf(clients[client].owner, sizeof clients[client].owner, "%s", job);
    join_client_join(&clients[client], -1, size);
}

/* Over a connection, with the key of the server. */
static void send_http(struct join_client *client, const char *line)
{
    char head[512], hex[JOB_KEY_HEX_SIZE];
    job_key_format(&key, hex);
    int length = snprintf(head, sizeof head,
                          "%s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n\r\n", line, hex);
    dial(client);
    join_client_send(client, head, (size_t)length);
}

START_TEST(a_service_without_jobs_lists_none)
{
    setup_service(2);
    expect(http_jobs, NULL, NULL, 200);
    expect_text("{\"jobs\":[]}\n");
    ck_assert_str_eq(answer.type, "application/json");
    teardown();
}
END_TEST

START_TEST(the_service_key_sees_all_jobs_and_a_jobs_key_its_own)
{
    setup_service(3);
    come(0, "a", 2);
    come(1, "b", 2);
    expect(http_jobs, NULL, NULL, 200);
    ck_assert(has("\"id\":\"a\"") && has("\"id\":\"b\""));
    expect_as("b", http_jobs, NULL, NULL, 200);
    ck_assert(!has("\"id\":\"a\"") && has("\"id\":\"b\""));
    expect_as("c", http_jobs, NULL, NULL, 200);
    expect_text("{\"jobs\":[]}\n");
    expect_as("b", http_job, "b", NULL, 200);
    ck_assert(has("\"pending_workers\":[{"));
    teardown();
}
END_TEST

START_TEST(a_jobs_key_learns_nothing_of_other_jobs)
{
    http_handler_fn *const handlers[] = { http_job, http_job_put, http_job_delete };
    setup_service(3);
    come(0, "a", 2);
    expect_as("b", handlers[_i], "a", "{\"size\":2}", 403);
    expect_text("{\"error\":\"job a is not that of the key\"}\n");
    expect_as("b", handlers[_i], "c", "{\"size\":2}", 403);
    expect_text("{\"error\":\"job c is not that of the key\"}\n");
    ck_assert_int_eq(server.job_table.count, 1);
    teardown();
}
END_TEST

START_TEST(a_job_that_is_not_there_is_said_to_who_may_know)
{
    setup_service(3);
    expect(http_job, "a", NULL, 404);
    expect_text("{\"error\":\"there is no job a\"}\n");
    expect_as("a", http_job, "a", NULL, 404);
    expect(http_job_delete, "a", NULL, 404);
    teardown();
}
END_TEST

START_TEST(an_id_that_is_none_is_refused)
{
    static const char *const ids[] = { "", "-a", "..", "a%20b", "a b", "\xc3\xa4" };
    setup_service(3);
    expect(http_job, ids[_i], NULL, 400);
    expect_text(NO_ID);
    expect(http_job_put, ids[_i], "{\"size\":2}", 400);
    expect(http_job_delete, ids[_i], NULL, 400);
    ck_assert_int_eq(server.job_table.count, 0);
    teardown();
}
END_TEST

START_TEST(a_query_that_is_not_known_is_refused)
{
    static const char *const queries[] = { "",          "ask=1",         "askk",    "as",
                                           "wait",      "wait=61",       "other",   "ask&wait=1",
                                           "ask&ask",   "output&output", "output&", "&output",
                                           "wait=1&ask" };
    setup(1);
    ck_assert(request_as("", http_job, "job", queries[_i], NULL));
    take_text();
    ck_assert_int_eq(answer.status, 400);
    teardown();
}
END_TEST

START_TEST(a_job_is_declared_before_its_workers_come)
{
    setup_service(3);
    expect(http_job_put, "a", "{\"size\":2,\"start_timeout_s\":7}", 200);
    ck_assert(has("\"id\":\"a\"") && has("\"size\":2") && has("\"missing\":2"));
    ck_assert_uint_eq(job_table_find(&server.job_table, "a")->pending.start_timeout_ms, 7000);
    come(0, "a", 3);
    struct join_reply reply;
    ck_assert(join_client_next(&clients[0], &reply));
    ck_assert_int_eq(reply.type, JOIN_REFUSED);
    come(1, "a", 2);
    come(2, "a", 2);
    ck_assert(join_client_next(&clients[1], &reply));
    ck_assert_int_eq(reply.type, JOIN_WELCOME);
    teardown();
}
END_TEST

START_TEST(a_job_is_declared_twice_with_the_same_size_only)
{
    setup_service(3);
    expect_as("a", http_job_put, "a", "{\"size\":2}", 200);
    expect(http_job_put, "a", "{\"size\":2}", 200);
    expect(http_job_put, "a", "{\"size\":3}", 409);
    expect_text("{\"error\":\"job a has size 2\"}\n");
    come(0, "b", 4);
    expect(http_job_put, "b", "{\"size\":4}", 200);
    expect(http_job_put, "b", "{\"size\":3}", 409);
    expect_text("{\"error\":\"job b has size 4\"}\n");
    teardown();
}
END_TEST

START_TEST(what_is_no_declaration_makes_no_job)
{
    setup_service(3);
    expect(http_job_put, "a", "{\"size\":0}", 400);
    expect_text("{\"error\":\"field \\\"size\\\": expected a whole number from 1 to 131072\"}\n");
    expect(http_job_put, "a", NULL, 400);
    ck_assert_int_eq(server.job_table.count, 0);
    teardown();
}
END_TEST

START_TEST(too_many_jobs_are_refused)
{
    setup_service(1);
    expect(http_job_put, "a", "{\"size\":2}", 200);
    expect(http_job_put, "b", "{\"size\":2}", 507);
    ck_assert(has("{\"error\":\""));
    teardown();
}
END_TEST

START_TEST(a_launchers_job_is_neither_declared_nor_ended_here)
{
    setup(1);
    expect(http_job_put, "job", "{\"size\":1}", 409);
    expect(http_job_delete, "job", NULL, 409);
    expect_text("{\"error\":\"the job of a launcher ends with the launcher\"}\n");
    join_first(1);
    expect_welcome(&clients[0], 0, 1);
    teardown();
}
END_TEST

START_TEST(who_waits_in_a_job_that_is_ended_is_refused)
{
    setup_service(2);
    come(0, "a", 2);
    expect(http_job_delete, "a", NULL, 200);
    expect_text("{\"ended\":\"a\"}\n");
    struct join_reply reply;
    ck_assert(join_client_next(&clients[0], &reply));
    ck_assert_int_eq(reply.type, JOIN_REFUSED);
    ck_assert_ptr_nonnull(strstr(reply.refused.text, "DELETE /v1/jobs"));
    teardown();
}
END_TEST

START_TEST(who_runs_in_a_job_that_is_ended_is_told)
{
    setup_service(2);
    come(0, "a", 2);
    come(1, "a", 2);
    struct join_reply reply;
    ck_assert(join_client_next(&clients[1], &reply));
    ck_assert_int_eq(reply.type, JOIN_WELCOME);
    expect_as("a", http_job_delete, "a", NULL, 200);
    ck_assert(join_client_next(&clients[1], &reply));
    ck_assert_int_eq(reply.type, JOIN_NEWS);
    teardown();
}
END_TEST

START_TEST(a_declared_job_that_is_ended_can_be_declared_anew)
{
    setup_service(2);
    expect(http_job_put, "a", "{\"size\":2}", 200);
    expect(http_job_delete, "a", NULL, 200);
    expect(http_job_delete, "a", NULL, 200);
    expect(http_job_put, "a", "{\"size\":3}", 200);
    ck_assert(has("\"size\":3") && has("\"state\":\"gathering\""));
    teardown();
}
END_TEST

START_TEST(a_launchers_job_has_one_key_and_one_user)
{
    setup(2);
    expect_as("job", http_jobs, NULL, NULL, 200);
    ck_assert(has("\"id\":\"job\"") && has("\"planned\":true"));
    expect_as("job", http_job, "job", NULL, 200);
    expect_as("job", http_job, "job2", NULL, 403);
    expect_as("job2", http_job, "job", NULL, 403);
    teardown();
}
END_TEST

START_TEST(ranks_are_asked_and_the_answer_waits_for_theirs)
{
    setup(2);
    join_first(2);
    expect_welcome(&clients[0], 0, 2);
    expect_welcome(&clients[1], 1, 2);
    struct join_client *client = &clients[2];
    send_http(client, "GET /v1/jobs/job?ask");
    expect_ask(&clients[0]);
    expect_ask(&clients[1]);
    join_client_report(&clients[1], "one\n");
    ck_assert_uint_eq(client->received.length, 0);
    join_client_report(&clients[0], "zero\n");
    wire_put_u8(&client->received, 0);
    const char *got = (const char *)client->received.data;
    ck_assert_ptr_eq(strstr(got, "HTTP/1.1 200 OK\r\n"), got);
    ck_assert_ptr_nonnull(strstr(got, "\"status_text\":[\"zero\"]"));
    ck_assert_ptr_nonnull(strstr(got, "\"status_text\":[\"one\"]"));
    teardown();
}
END_TEST

START_TEST(who_asks_meanwhile_gets_the_same_answers)
{
    setup(1);
    join_first(1);
    expect_welcome(&clients[0], 0, 1);
    ck_assert(!request_as("", http_job, "job", "ask", NULL));
    ck_assert(!request_as("", http_job, "job", "ask", NULL));
    expect_ask(&clients[0]);
    expect_nothing(&clients[0]);
    waiter_leave(&waiter);
    teardown();
}
END_TEST

START_TEST(a_rank_that_is_silent_is_not_waited_for_longer)
{
    setup(1);
    join_first(1);
    expect_welcome(&clients[0], 0, 1);
    ck_assert(!request_as("", http_job, "job", "ask", NULL));
    ck_assert_uint_eq(exchange.held_until_ms, 2500);
    ck_assert_ptr_eq(waiter.in, &server.job_table.only->watchers);
    waiter_leave(&waiter);
    exchange.now_ms = 100;
    ck_assert(!http_job(&server.service, &exchange, &answer)); /* woken for nothing */
    ck_assert_uint_eq(exchange.held_until_ms, 2500);
    exchange.now_ms = 2500;
    exchange.last = true;
    ck_assert(http_job(&server.service, &exchange, &answer));
    take_text();
    ck_assert_int_eq(answer.status, 200);
    waiter_leave(&waiter);
    teardown();
}
END_TEST

START_TEST(who_cannot_be_asked_is_told_of_at_once)
{
    setup(2);
    join(0);
    ck_assert(request_as("", http_job, "job", "ask", NULL));
    take_text();
    ck_assert(has("\"has not called hvd_init\""));
    teardown();
    setup_service(2);
    come(0, "a", 2);
    ck_assert(request_as("", http_job, "a", "ask", NULL));
    take_text();
    ck_assert(has("\"ranks\":[]"));
    teardown();
}
END_TEST

START_TEST(metrics_are_text)
{
    setup(1);
    expect(http_metrics, NULL, NULL, 200);
    ck_assert_str_eq(answer.type, "text/plain; version=0.0.4; charset=utf-8");
    ck_assert(has("hvd_workers{state=\"expected\"} 1\n"));
    teardown();
}
END_TEST

START_TEST(the_page_allows_itself_and_nothing_else)
{
    ck_assert(http_page(NULL, NULL, &answer));
    ck_assert_int_eq(answer.status, 200);
    ck_assert_str_eq(answer.type, "text/html; charset=utf-8");
    ck_assert_uint_lt(answer.length, 32 * 1024);
    ck_assert_uint_eq(answer.length, strlen(answer.body));
    ck_assert_ptr_nonnull(strstr(answer.headers, "default-src 'none'; "));
    ck_assert_ptr_null(strstr(answer.body, "innerHTML"));
    ck_assert_ptr_null(strstr(answer.body, "://"));
    http_answer_fini(&answer);
}
END_TEST

static void no_memory_for(http_handler_fn *handle, const char *id)
{
    ck_assert(request_as("", handle, id, NULL, NULL));
    take_text();
    ck_assert_int_eq(answer.status, 500);
}

static void *nothing(size_t size)
{
    (void)size;
    return NULL;
}

START_TEST(without_memory_it_is_our_fault)
{
    setup(1);
    cJSON_InitHooks(&(cJSON_Hooks){ nothing, free });
    no_memory_for(http_jobs, NULL);
    no_memory_for(http_job, "job");
    no_memory_for(http_job, "other");
    cJSON_InitHooks(NULL);
    teardown();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_jobs");
    TCase *tcase = tcase_create("http_jobs");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, a_service_without_jobs_lists_none);
    tcase_add_test(tcase, the_service_key_sees_all_jobs_and_a_jobs_key_its_own);
    tcase_add_loop_test(tcase, a_jobs_key_learns_nothing_of_other_jobs, 0, 3);
    tcase_add_test(tcase, a_job_that_is_not_there_is_said_to_who_may_know);
    tcase_add_loop_test(tcase, an_id_that_is_none_is_refused, 0, 6);
    tcase_add_loop_test(tcase, a_query_that_is_not_known_is_refused, 0, 13);
    tcase_add_test(tcase, a_job_is_declared_before_its_workers_come);
    tcase_add_test(tcase, a_job_is_declared_twice_with_the_same_size_only);
    tcase_add_test(tcase, what_is_no_declaration_makes_no_job);
    tcase_add_test(tcase, too_many_jobs_are_refused);
    tcase_add_test(tcase, a_launchers_job_is_neither_declared_nor_ended_here);
    tcase_add_test(tcase, who_waits_in_a_job_that_is_ended_is_refused);
    tcase_add_test(tcase, who_runs_in_a_job_that_is_ended_is_told);
    tcase_add_test(tcase, a_declared_job_that_is_ended_can_be_declared_anew);
    tcase_add_test(tcase, a_launchers_job_has_one_key_and_one_user);
    tcase_add_test(tcase, ranks_are_asked_and_the_answer_waits_for_theirs);
    tcase_add_test(tcase, who_asks_meanwhile_gets_the_same_answers);
    tcase_add_test(tcase, a_rank_that_is_silent_is_not_waited_for_longer);
    tcase_add_test(tcase, who_cannot_be_asked_is_told_of_at_once);
    tcase_add_test(tcase, metrics_are_text);
    tcase_add_test(tcase, the_page_allows_itself_and_nothing_else);
    tcase_add_test(tcase, without_memory_it_is_our_fault);
    return unit_run(suite);
}
