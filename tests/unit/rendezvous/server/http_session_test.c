/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP connection: what answers are to the byte, what a client must show before its body is
 * taken, requests that are held, pipelining and its limits, and the deadline of each phase. */
#include "rendezvous/api/metrics.h"
#include "tests/support/http_fixture.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define GET "GET /healthz HTTP/1.1\r\nHost: a\r\n"
#define OK "HTTP/1.1 200 OK\r\n"
#define ALWAYS "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
#define LATE "HTTP/1.1 408 Request Timeout\r\n"

static struct http_fixture fixture;

static void set_up(void)
{
    http_fixture_init(&fixture, false);
}

static void tear_down(void)
{
    http_fixture_fini(&fixture);
}

static const char *ask_with_key(const char *line, const char *rest)
{
    return http_fixture_ask(&fixture, "%s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n%s",
                            line, http_fixture_key(&fixture), rest);
}

static void expect(const char *answer, const char *beginning)
{
    ck_assert_msg(strncmp(answer, beginning, strlen(beginning)) == 0, "'%s' instead of '%s'",
                  answer, beginning);
}

static int count_answers(const char *answers)
{
    int count = 0;
    for (; (answers = strstr(answers, "HTTP/1.1 ")); answers++)
        count++;
    return count;
}

static const char *expire(void)
{
    fixture.now_ms = fixture.session.deadline_ms;
    fixture.goes_on = http_session_expire(&fixture.session, fixture.now_ms, &fixture.out);
    return http_fixture_answers(&fixture);
}

START_TEST(answers_are_what_they_are_to_the_byte)
{
    static const struct {
        const char *request, *answer;
    } cases[] = {
        { GET "\r\n", OK "Content-Type: application/json\r\nContent-Length: 16\r\n" ALWAYS
                         "Connection: keep-alive\r\n\r\n{\"status\":\"ok\"}\n" },
        { "HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
          OK "Content-Type: application/json\r\nContent-Length: 16\r\n" ALWAYS
             "Connection: keep-alive\r\n\r\n" },
        { "POST /healthz HTTP/1.0\r\n\r\n",
          "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain\r\nContent-Length: "
          "23\r\n" ALWAYS "Allow: GET, HEAD\r\nConnection: close\r\n\r\n405 Method Not Allowed\n" },
    };
    ck_assert_str_eq(http_fixture_ask(&fixture, "%s", cases[_i].request), cases[_i].answer);
}
END_TEST

START_TEST(a_status_without_body_has_no_length)
{
    const char *answer = ask_with_key("GET /a/b?wait=0", "\r\n");
    expect(answer, "HTTP/1.1 204 No Content\r\n");
    ck_assert_ptr_null(strstr(answer, "Content-Length"));
    ck_assert_str_eq(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
}
END_TEST

START_TEST(headers_of_an_answers_own_are_sent)
{
    struct wire_writer out = { 0 };
    struct http_answer answer = { .status = 200, .headers = "X: y\r\n", .has_body = true };
    http_answer_put(&out, &answer, false, HTTP_CLOSE);
    wire_put_u8(&out, 0);
    ck_assert_str_eq((char *)out.data, OK "Content-Type: text/plain\r\nContent-Length: 0\r\n" ALWAYS
                                          "X: y\r\nConnection: close\r\n\r\n");
    wire_writer_fini(&out);
}
END_TEST

START_TEST(an_answer_in_words_is_a_line)
{
    struct http_answer answer = { 0 };
    http_answer_text(&answer, 404, "there is no job %s", "a");
    http_answer_text(&answer, 404, "there is no job %s", "b");
    ck_assert_int_eq(answer.status, 404);
    ck_assert_uint_eq(answer.made.length, strlen("there is no job b\n"));
    ck_assert_mem_eq(answer.made.data, "there is no job b\n", answer.made.length);
    http_answer_text(&answer, 400, "%0600d", 1);
    ck_assert_uint_lt(answer.made.length, 600);
    ck_assert_int_eq(answer.made.data[answer.made.length - 1], '\n');
    http_answer_fini(&answer);
}
END_TEST

START_TEST(an_answer_for_which_there_is_no_memory_says_so)
{
    struct wire_writer out = { 0 };
    struct http_answer answer = { .status = 200, .made.failed = true };
    http_answer_put(&out, &answer, false, HTTP_CLOSE);
    ck_assert_mem_eq(out.data, "HTTP/1.1 500 ", 13);
    wire_writer_fini(&out);
}
END_TEST

START_TEST(unauthenticated_clients_are_told_the_same_whether_there_is_such_a_job_or_not)
{
    static const char *const requests[] = {
        "GET /v1/jobs/" HTTP_FIXTURE_JOB " HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /v1/jobs/other HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /a/b HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " HTTP_FIXTURE_JOB ":0\r\n\r\n",
        "GET /a/b HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer other:0\r\n\r\n",
    };
    char first[1024];
    snprintf(first, sizeof first, "%s", http_fixture_ask(&fixture, "%s", requests[0]));
    expect(first, "HTTP/1.1 401 Unauthorized\r\n");
    for (size_t i = 1; i < sizeof requests / sizeof *requests; i++)
        ck_assert_str_eq(http_fixture_ask(&fixture, "%s", requests[i]), first);
    ck_assert(!fixture.session.known);
}
END_TEST

START_TEST(the_body_of_who_shows_nothing_is_not_read)
{
    const char *answer = http_fixture_ask(
        &fixture, "PUT /a/b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    expect(answer, "HTTP/1.1 401 ");
    ck_assert(!fixture.goes_on);
    ck_assert_uint_eq(fixture.session.body.length, 0);
    ck_assert_ptr_null(http_fixture_stored(&fixture, "a", "b"));
}
END_TEST

static const char *ask_with_proof(const unsigned char nonce[NONCE_SIZE], uint64_t counter,
                                  const char *proved, const char *body)
{
    char text[HTTP_PROOF_SIZE];
    http_proof_make(text, &fixture.keyring.key, HTTP_FIXTURE_JOB, nonce, counter, "PUT", "/a/b",
                    proved, strlen(proved));
    return http_fixture_ask(&fixture,
                            "PUT /a/b HTTP/1.1\r\nHost: a\r\nAuthorization: %s\r\n"
                            "Content-Length: %zu\r\n\r\n%s",
                            text, strlen(body), body);
}

static const char *challenge(unsigned char nonce[NONCE_SIZE])
{
    const char *answer = http_fixture_ask(&fixture, "GET /a/b HTTP/1.1\r\nHost: a\r\n\r\n");
    expect(answer, "HTTP/1.1 401 ");
    ck_assert(fixture.goes_on);
    http_fixture_nonce(answer, nonce);
    return answer;
}

START_TEST(who_was_told_401_can_prove_its_key_on_the_same_connection)
{
    unsigned char nonce[NONCE_SIZE];
    challenge(nonce);
    expect(ask_with_proof(nonce, 1, "one", "one"), OK);
    ck_assert_str_eq(http_fixture_stored(&fixture, "a", "b"), "one");
    expect(ask_with_proof(nonce, 2, "two", "two"), OK);
    ck_assert_str_eq(http_fixture_stored(&fixture, "a", "b"), "two");
    ck_assert(fixture.session.known);
}
END_TEST

START_TEST(a_request_that_is_replayed_changes_nothing)
{
    unsigned char nonce[NONCE_SIZE];
    challenge(nonce);
    expect(ask_with_proof(nonce, 5, "one", "one"), OK);
    expect(ask_with_proof(nonce, 6, "two", "two"), OK);
    expect(ask_with_proof(nonce, 5, "one", "one"), "HTTP/1.1 401 ");
    ck_assert_str_eq(http_fixture_stored(&fixture, "a", "b"), "two");
    http_fixture_connect(&fixture, RENDEZVOUS_ELSEWHERE);
    expect(ask_with_proof(nonce, 7, "one", "one"), "HTTP/1.1 401 ");
    ck_assert_str_eq(http_fixture_stored(&fixture, "a", "b"), "two");
}
END_TEST

START_TEST(a_body_that_was_not_proved_is_not_stored)
{
    static const char *const bodies[] = { "onE", "on", "onee", "" };
    unsigned char nonce[NONCE_SIZE];
    challenge(nonce);
    expect(ask_with_proof(nonce, 1, "one", bodies[_i]), "HTTP/1.1 400 ");
    ck_assert(!fixture.goes_on);
    ck_assert_ptr_null(http_fixture_stored(&fixture, "a", "b"));
}
END_TEST

START_TEST(a_body_is_kept_as_it_comes_and_not_as_it_is_announced)
{
    ask_with_key("PUT /a/b", "Content-Length: 4194304\r\n\r\nabc");
    ck_assert_uint_eq(fixture.session.body.length, 3);
    ck_assert_uint_lt(fixture.session.body.capacity, 1024);
}
END_TEST

START_TEST(a_body_that_is_cut_off_is_not_stored)
{
    ck_assert_str_eq(ask_with_key("PUT /a/b", "Content-Length: 6\r\n\r\nhello"), "");
    http_fixture_connect(&fixture, RENDEZVOUS_ELSEWHERE);
    ck_assert_ptr_null(http_fixture_stored(&fixture, "a", "b"));
}
END_TEST

/* How a body that counts for all clients together may end, after half of it. */
static const struct {
    const char *rest;
    bool hangs_up, late;
    const char *answer;
} bodies[] = {
    { "world", .answer = OK },
    { "", .hangs_up = true, .answer = "" },
    { "", .late = true, .answer = LATE },
    { "world, and", .answer = OK },
};

START_TEST(what_has_come_of_a_body_counts_until_it_has_come_or_never_will)
{
    fixture.service.coming.max = 10;
    ask_with_key("PUT /a/b", "Content-Length: 10\r\n\r\nhello");
    ck_assert_uint_eq(fixture.service.coming.used, 5);
    const char *answer = http_fixture_ask(&fixture, "%s", bodies[_i].rest);
    if (bodies[_i].late)
        answer = expire();
    expect(answer, bodies[_i].answer);
    if (bodies[_i].hangs_up)
        http_fixture_connect(&fixture, RENDEZVOUS_ELSEWHERE);
    ck_assert_uint_eq(fixture.service.coming.used, 0);
}
END_TEST

START_TEST(bodies_of_all_clients_together_are_bounded)
{
    fixture.service.coming = (struct memory_budget){ .max = 100, .used = 91 };
    ck_assert_str_eq(ask_with_key("PUT /a/b", "Content-Length: 10\r\n\r\n123456789"), "");
    expect(http_fixture_ask(&fixture, "0"), "HTTP/1.1 503 ");
    ck_assert(!fixture.goes_on);
    ck_assert_uint_eq(fixture.service.coming.used, 91);
    http_fixture_connect(&fixture, RENDEZVOUS_ELSEWHERE);
    expect(ask_with_key("GET /a/b", "Content-Length: 10\r\n\r\n1234567890"), "HTTP/1.1 404 ");
}
END_TEST

START_TEST(what_comes_ahead_is_bounded_for_all_clients_together)
{
    fixture.service.coming.max = sizeof GET "\r\n" - 1;
    ask_with_key("GET /a/b?wait=9", "\r\n" GET);
    ck_assert_str_eq(http_fixture_ask(&fixture, "\r\n"), "");
    ck_assert_uint_eq(fixture.service.coming.used, fixture.service.coming.max);
    ck_assert_int_eq(count_answers(expire()), 2);
    ck_assert_uint_eq(fixture.service.coming.used, 0);
    ask_with_key("GET /a/b?wait=9", "\r\n" GET "\r\n");
    http_fixture_send(&fixture, "G", 1, 0);
    ck_assert(!fixture.goes_on);
    http_fixture_connect(&fixture, RENDEZVOUS_ELSEWHERE);
    ck_assert_uint_eq(fixture.service.coming.used, 0);
}
END_TEST

START_TEST(who_asks_whether_its_body_is_wanted_is_told)
{
    static const char continues[] = "HTTP/1.1 100 Continue\r\n\r\n";
    ck_assert_str_eq(ask_with_key("PUT /a/b", "Expect: 100-Continue\r\nContent-Length: 2\r\n\r\n"),
                     continues);
    expect(http_fixture_ask(&fixture, "me"), OK);
    ck_assert_str_eq(http_fixture_stored(&fixture, "a", "b"), "me");
    ck_assert_ptr_null(strstr(
        ask_with_key("PUT /a/b", "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n"), continues));
    expect(ask_with_key("PUT /a/b", "Expect: 100-continue\r\nContent-Length: 4194305\r\n\r\n"),
           "HTTP/1.1 413 ");
}
END_TEST

START_TEST(an_unmodified_worker_needs_no_key_on_its_own_host)
{
    static const char request[] =
        "PUT /global/0 HTTP/1.1\r\nHost: %s\r\nContent-Length: 2\r\n\r\nme";
    http_fixture_connect(&fixture, RENDEZVOUS_OWN_UID);
    expect(http_fixture_ask(&fixture, request, "127.0.0.1"), OK);
    expect(http_fixture_ask(&fixture, request, "\t 127.0.0.1 \t"), OK);
    ck_assert_str_eq(http_fixture_stored(&fixture, "global", "0"), "me");
    ck_assert(fixture.session.known);
    expect(http_fixture_ask(&fixture, request, "evil.example"), "HTTP/1.1 401 ");
}
END_TEST

START_TEST(a_service_knows_the_key_of_each_job)
{
    http_fixture_fini(&fixture);
    http_fixture_init(&fixture, true);
    const char *key = http_fixture_key(&fixture);
    expect(http_fixture_ask(&fixture,
                            "PUT /a/b HTTP/1.1\r\nHost: a\r\n"
                            "Authorization: Bearer " HTTP_FIXTURE_JOB ":%s\r\n"
                            "Content-Length: 1\r\n\r\nx",
                            key),
           OK);
    ck_assert_str_eq(http_fixture_stored(&fixture, "a", "b"), "x");
    expect(http_fixture_ask(&fixture,
                            "PUT /a/b HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer other:%s\r\n"
                            "Content-Length: 1\r\n\r\ny",
                            key),
           "HTTP/1.1 401 ");
}
END_TEST

START_TEST(a_held_request_goes_on_when_it_is_woken)
{
    ck_assert_str_eq(ask_with_key("GET /a/b?wait=9", "\r\n"), "");
    ck_assert_int_eq(fixture.session.phase, HTTP_HELD);
    ck_assert_uint_eq(fixture.session.deadline_ms, fixture.now_ms + 9000);
    struct key_value_bytes scope = { "a", 1 }, key = { "b", 1 };
    ck_assert_int_eq(key_value_put(fixture.job->store, scope, key, "x", 1), 200);
    key_value_wake(fixture.job->store, &fixture.service.woken);
    fixture.now_ms += 500;
    http_fixture_resume(&fixture);
    const char *answer = http_fixture_answers(&fixture);
    expect(answer, OK);
    ck_assert_str_eq(strstr(answer, "\r\n\r\n"), "\r\n\r\nx");
    ck_assert(fixture.goes_on);
    ck_assert_int_eq(fixture.session.phase, HTTP_IDLE);
    ck_assert_uint_eq(fixture.session.deadline_ms, fixture.now_ms + HTTP_IDLE_MS);
}
END_TEST

START_TEST(a_request_that_is_woken_for_nothing_waits_again)
{
    ask_with_key("GET /a/b?wait=9", "\r\n");
    uint64_t deadline_ms = fixture.session.deadline_ms;
    waiter_join(&fixture.session.waiter, &fixture.service.woken);
    fixture.now_ms += 500;
    http_fixture_resume(&fixture);
    ck_assert_str_eq(http_fixture_answers(&fixture), "");
    ck_assert_int_eq(fixture.session.phase, HTTP_HELD);
    ck_assert_uint_eq(fixture.session.deadline_ms, deadline_ms);
    ck_assert_ptr_nonnull(fixture.session.waiter.in);
}
END_TEST

START_TEST(a_held_request_is_answered_when_its_time_has_come)
{
    ask_with_key("GET /a/b?wait=9", "\r\n");
    expect(expire(), "HTTP/1.1 204 ");
    ck_assert(fixture.goes_on);
    ck_assert_ptr_null(fixture.session.waiter.in);
    expect(ask_with_key("GET /a/b", "\r\n"), "HTTP/1.1 404 ");
}
END_TEST

START_TEST(no_request_is_held_for_more_than_a_minute)
{
    ask_with_key("GET /a/b?wait=60", "\r\n");
    ck_assert_uint_eq(fixture.session.deadline_ms, fixture.now_ms + HTTP_HOLD_MS);
}
END_TEST

START_TEST(who_hangs_up_waits_for_nothing)
{
    ask_with_key("GET /a/b?wait=9", "\r\n");
    http_fixture_connect(&fixture, RENDEZVOUS_ELSEWHERE);
    struct key_value_bytes scope = { "a", 1 }, key = { "b", 1 };
    key_value_put(fixture.job->store, scope, key, "x", 1);
    key_value_wake(fixture.job->store, &fixture.service.woken);
    ck_assert(TAILQ_EMPTY(&fixture.service.woken));
}
END_TEST

START_TEST(what_comes_while_a_request_is_held_has_its_turn)
{
    ck_assert_str_eq(ask_with_key("GET /a/b?wait=9", "\r\n" GET "\r\n" GET), "");
    ck_assert_str_eq(http_fixture_ask(&fixture, "\r\n"), "");
    const char *answers = expire();
    expect(answers, "HTTP/1.1 204 ");
    ck_assert_int_eq(count_answers(answers), 3);
    ck_assert_int_eq(fixture.session.phase, HTTP_IDLE);
    ck_assert_uint_eq(fixture.session.ahead.length, 0);
}
END_TEST

START_TEST(one_held_request_may_follow_another)
{
    char second[256];
    snprintf(second, sizeof second,
             "\r\nGET /a/c?wait=5 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n\r\n" GET
             "\r\n",
             http_fixture_key(&fixture));
    ck_assert_str_eq(ask_with_key("GET /a/b?wait=9", second), "");
    ck_assert_int_eq(count_answers(expire()), 1);
    ck_assert_int_eq(fixture.session.phase, HTTP_HELD);
    ck_assert_uint_eq(fixture.session.deadline_ms, fixture.now_ms + 5000);
    ck_assert_int_eq(count_answers(expire()), 2);
}
END_TEST

START_TEST(who_sends_too_much_ahead_is_sent_away)
{
    static char much[HTTP_AHEAD_MAX];
    ask_with_key("GET /a/b?wait=9", "\r\n");
    http_fixture_send(&fixture, much, sizeof much, 0);
    ck_assert(fixture.goes_on);
    http_fixture_send(&fixture, much, 1, 0);
    ck_assert(!fixture.goes_on);
}
END_TEST

START_TEST(pipelined_requests_are_answered_in_order)
{
    const char *answers =
        http_fixture_ask(&fixture, GET "\r\nDELETE /a HTTP/1.1\r\nHost: a\r\n\r\n" GET
                                       "Content-Length: 3\r\n\r\nabc");
    ck_assert(fixture.goes_on);
    ck_assert_int_eq(count_answers(answers), 3);
    ck_assert_ptr_nonnull(strstr(strstr(strstr(answers, OK), "HTTP/1.1 404 "), OK));
}
END_TEST

static void send_many(int count, int at_once, int *answered)
{
    static const char request[] = GET "\r\n";
    for (int sent = 0; fixture.goes_on && sent < count; sent += at_once) {
        struct wire_writer requests = { 0 };
        for (int i = 0; i < at_once; i++)
            wire_put_bytes(&requests, request, sizeof request - 1);
        http_fixture_send(&fixture, (char *)requests.data, requests.length, 0);
        *answered += count_answers(http_fixture_answers(&fixture));
        wire_writer_fini(&requests);
    }
}

START_TEST(pipelining_and_requests_of_unauthenticated_clients_are_bounded)
{
    static const struct {
        bool known;
        int count, at_once, answered;
        bool goes_on;
    } cases[] = {
        { false, 15, 15, 15, true },
        { false, 16, 16, 16, false },
        { true, 1000, 1000, 16, false },
        { false, HTTP_UNAUTHENTICATED_REQUESTS_MAX - 1, 1, HTTP_UNAUTHENTICATED_REQUESTS_MAX - 1,
          true },
        { false, HTTP_UNAUTHENTICATED_REQUESTS_MAX + 1, 1, HTTP_UNAUTHENTICATED_REQUESTS_MAX,
          false },
        { true, 10 * HTTP_UNAUTHENTICATED_REQUESTS_MAX, 1, 10 * HTTP_UNAUTHENTICATED_REQUESTS_MAX,
          true },
    };
    int answered = 0;
    if (cases[_i].known)
        ask_with_key("GET /a/b", "\r\n");
    send_many(cases[_i].count, cases[_i].at_once, &answered);
    ck_assert_int_eq(fixture.goes_on, cases[_i].goes_on);
    ck_assert_int_eq(answered, cases[_i].answered);
}
END_TEST

START_TEST(pages_for_unauthenticated_clients_that_nobody_reads_are_bounded)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    struct wire_writer requests = { 0 };
    size_t page = strlen(http_fixture_ask(&fixture, request));
    ck_assert(fixture.goes_on);
    for (int i = 0; i < HTTP_PIPELINE_MAX; i++)
        wire_put_bytes(&requests, request, sizeof request - 1);
    http_fixture_send(&fixture, (char *)requests.data, requests.length, 0);
    ck_assert(!fixture.goes_on);
    ck_assert_uint_lt(fixture.out.length, HTTP_UNAUTHENTICATED_BYTES + 2 * page);
    wire_writer_fini(&requests);
}
END_TEST

START_TEST(answers_that_nobody_reads_are_bounded)
{
    static char value[KEY_VALUE_SIZE_MAX];
    struct wire_writer requests = { 0 };
    char request[256];
    struct key_value_bytes scope = { "a", 1 }, key = { "b", 1 };
    ck_assert_int_eq(key_value_put(fixture.job->store, scope, key, value, sizeof value), 200);
    snprintf(request, sizeof request,
             "GET /a/b HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n\r\n",
             http_fixture_key(&fixture));
    for (int i = 0; i < 5; i++)
        wire_put_bytes(&requests, request, strlen(request));
    http_fixture_send(&fixture, (char *)requests.data, requests.length, 0);
    ck_assert(!fixture.goes_on);
    ck_assert_uint_lt(fixture.out.length, HTTP_PIPELINE_BYTES + 4096);
    wire_writer_fini(&requests);
}
END_TEST

START_TEST(each_phase_has_its_deadline)
{
    http_fixture_connect(&fixture, RENDEZVOUS_ELSEWHERE);
    ck_assert_uint_eq(fixture.session.deadline_ms, 6000);
    fixture.now_ms = 5000;
    http_fixture_ask(&fixture, "G");
    ck_assert_uint_eq(fixture.session.deadline_ms, 6000);
    fixture.now_ms = 5900;
    http_fixture_ask(&fixture, "ET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n");
    ck_assert_uint_eq(fixture.session.deadline_ms, 5000 + HTTP_REQUEST_MS);
    fixture.now_ms = 7000;
    http_fixture_ask(&fixture, "ab");
    ck_assert_uint_eq(fixture.session.deadline_ms, 7000 + HTTP_IDLE_MS);
    fixture.now_ms = 50000;
    http_fixture_ask(&fixture, "G");
    fixture.now_ms = 51000;
    http_fixture_ask(&fixture, "E"); /* drop by drop is no faster */
    ck_assert_uint_eq(fixture.session.deadline_ms, 50000 + HTTP_HEAD_MS);
}
END_TEST

/* Its agent may get no processor for as long. */
START_TEST(the_head_of_a_known_client_may_be_as_late_as_its_body)
{
    http_fixture_connect(&fixture, RENDEZVOUS_ELSEWHERE);
    fixture.now_ms = 2000;
    ask_with_key("GET /a/b", "\r\n");
    fixture.now_ms = 50000;
    http_fixture_ask(&fixture, "G");
    ck_assert_uint_eq(fixture.session.deadline_ms, 50000 + HTTP_REQUEST_MS);
    fixture.now_ms = 60000;
    http_fixture_ask(&fixture, "ET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n");
    ck_assert_uint_eq(fixture.session.deadline_ms, 50000 + HTTP_REQUEST_MS);
}
END_TEST

START_TEST(who_is_late_is_told_so_and_who_is_silent_is_not)
{
    static const struct {
        const char *request, *expected;
    } cases[] = { { "", "" },
                  { "GET /healthz", LATE },
                  { GET "Content-Length: 5\r\n\r\nab", LATE },
                  { GET "\r\n", "" } };
    http_fixture_ask(&fixture, "%s", cases[_i].request);
    const char *answer = expire();
    expect(answer, cases[_i].expected);
    ck_assert_int_eq(*answer != '\0', *cases[_i].expected != '\0');
    ck_assert(!fixture.goes_on);
}
END_TEST

START_TEST(every_answer_is_counted)
{
    struct metrics metrics = { 0 };
    fixture.service.metrics = &metrics;
    http_fixture_ask(&fixture, GET "\r\n");
    http_fixture_ask(&fixture, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
    http_fixture_ask(&fixture, "nonsense\r\n");
    uint64_t known = 0, unknown = 0;
    for (int route = 0; route < METRICS_ROUTES_MAX; route++)
        for (int code = 0; code < METRICS_CODES_MAX; code++)
            *(route < METRICS_ROUTES_MAX - 1 ? &known : &unknown) += metrics.requests[route][code];
    ck_assert_uint_eq(known, 1);
    ck_assert_uint_eq(unknown, 2);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("http_session");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, answers_are_what_they_are_to_the_byte, 0, 3);
    tcase_add_test(tcase, a_status_without_body_has_no_length);
    tcase_add_test(tcase, headers_of_an_answers_own_are_sent);
    tcase_add_test(tcase, an_answer_in_words_is_a_line);
    tcase_add_test(tcase, an_answer_for_which_there_is_no_memory_says_so);
    tcase_add_test(tcase,
                   unauthenticated_clients_are_told_the_same_whether_there_is_such_a_job_or_not);
    tcase_add_test(tcase, the_body_of_who_shows_nothing_is_not_read);
    tcase_add_test(tcase, who_was_told_401_can_prove_its_key_on_the_same_connection);
    tcase_add_test(tcase, a_request_that_is_replayed_changes_nothing);
    tcase_add_loop_test(tcase, a_body_that_was_not_proved_is_not_stored, 0, 4);
    tcase_add_test(tcase, a_body_is_kept_as_it_comes_and_not_as_it_is_announced);
    tcase_add_test(tcase, a_body_that_is_cut_off_is_not_stored);
    tcase_add_loop_test(tcase, what_has_come_of_a_body_counts_until_it_has_come_or_never_will, 0,
                        sizeof bodies / sizeof *bodies);
    tcase_add_test(tcase, bodies_of_all_clients_together_are_bounded);
    tcase_add_test(tcase, what_comes_ahead_is_bounded_for_all_clients_together);
    tcase_add_test(tcase, who_asks_whether_its_body_is_wanted_is_told);
    tcase_add_test(tcase, an_unmodified_worker_needs_no_key_on_its_own_host);
    tcase_add_test(tcase, a_service_knows_the_key_of_each_job);
    tcase_add_test(tcase, a_held_request_goes_on_when_it_is_woken);
    tcase_add_test(tcase, a_request_that_is_woken_for_nothing_waits_again);
    tcase_add_test(tcase, a_held_request_is_answered_when_its_time_has_come);
    tcase_add_test(tcase, no_request_is_held_for_more_than_a_minute);
    tcase_add_test(tcase, who_hangs_up_waits_for_nothing);
    tcase_add_test(tcase, what_comes_while_a_request_is_held_has_its_turn);
    tcase_add_test(tcase, one_held_request_may_follow_another);
    tcase_add_test(tcase, who_sends_too_much_ahead_is_sent_away);
    tcase_add_test(tcase, pipelined_requests_are_answered_in_order);
    tcase_add_loop_test(tcase, pipelining_and_requests_of_unauthenticated_clients_are_bounded, 0,
                        6);
    tcase_add_test(tcase, pages_for_unauthenticated_clients_that_nobody_reads_are_bounded);
    tcase_add_test(tcase, answers_that_nobody_reads_are_bounded);
    tcase_add_test(tcase, each_phase_has_its_deadline);
    tcase_add_test(tcase, the_head_of_a_known_client_may_be_as_late_as_its_body);
    tcase_add_loop_test(tcase, who_is_late_is_told_so_and_who_is_silent_is_not, 0, 4);
    tcase_add_test(tcase, every_answer_is_counted);
    Suite *all = suite_create("http_session");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
