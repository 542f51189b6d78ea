/* SPDX-License-Identifier: Apache-2.0 */
/* The key-value routes, without a connection: what a request is answered, what it is refused for,
 * how long it is held and what wakes it. */
#include "rendezvous/api/http_key_value.h"
#include "rendezvous/api/http_route.h"
#include "rendezvous/store/add_request.h"
#include "rendezvous/world/gloo_scopes.h"
#include "rendezvous/world/job_table.h"
#include "rendezvous/world/rank_states.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define CHARACTERS "A-Z a-z 0-9 . _ : @ + = , - and not \".\" or \"..\"\n"

enum { SIZE = 3, NOW_MS = 5000 };

static const struct rendezvous_slot slots[SIZE] = {
    { { 0, 3, 0, 2, 0, 2 }, "a.example" },
    { { 1, 3, 1, 2, 0, 1 }, "a.example" },
    { { 2, 3, 0, 1, 1, 2 }, "::1" },
};

static struct job_table job_table;
static struct http_service service;

static void setup(void)
{
    struct err err;
    const struct rendezvous_options options = {
        .id = "job1", .slots = slots, .size = SIZE, .start_timeout_ms = 1000
    };
    struct rendezvous_job *planned = rendezvous_job_create_planned(&options, 0, &err);
    ck_assert_ptr_nonnull(planned);
    job_table_init(&job_table, 10, 1000);
    job_table_add_planned(&job_table, planned);
    service = (struct http_service){ .job_table = &job_table };
    TAILQ_INIT(&service.woken);
}

static void teardown(void)
{
    job_table_fini(&job_table);
}

/* A request under way, and its answer once there is one. */
struct call {
    http_handler_fn *handle;
    struct http_exchange exchange;
    struct waiter waiter;
    struct http_answer answer;
    bool done;
};

/* "/SCOPE/KEY?QUERY" */
static void split(struct http_path *path, const char *target)
{
    const char *key = strchr(target + 1, '/') + 1;
    const char *mark = strchr(key, '?');
    size_t length = mark ? (size_t)(mark - key) : strlen(key);
    *path = (struct http_path){ 2,
                                { { target + 1, (size_t)(key - target) - 2 }, { key, length } },
                                { NULL, 0 } };
    if (mark)
        path->query = (struct http_text){ mark + 1, strlen(mark + 1) };
}

static void go_on(struct call *call, uint64_t now_ms)
{
    ck_assert(!call->done);
    call->exchange.now_ms = now_ms;
    call->done = call->handle(&service, &call->exchange, &call->answer);
}

/* Somebody with the job's key. */
static void prepare(struct call *call, http_handler_fn *handle, const char *target,
                    const char *body)
{
    *call = (struct call){ .handle = handle };
    struct http_exchange *exchange = &call->exchange;
    split(&exchange->path, target);
    exchange->access = (struct http_access){ .level = HTTP_OF_JOB, .credentials = true };
    exchange->waiter = &call->waiter;
    exchange->began_ms = NOW_MS;
    exchange->body = body;
    exchange->length = strlen(body);
}

static void start(struct call *call, http_handler_fn *handle, const char *target, const char *body)
{
    prepare(call, handle, target, body);
    go_on(call, NOW_MS);
}

/* An unmodified Horovod worker. */
static void start_gloo(struct call *call, http_handler_fn *handle, const char *target,
                       const char *body)
{
    prepare(call, handle, target, body);
    call->exchange.access.credentials = false;
    go_on(call, NOW_MS);
}

/* Both in static memory; valid until the next call. */
static const char *text_of(const struct http_answer *answer)
{
    static char text[1024];
    const struct wire_writer *made = &answer->made;
    if (made->length > 0)
        snprintf(text, sizeof text, "%.*s", (int)made->length, (const char *)made->data);
    else if (answer->has_body)
        snprintf(text, sizeof text, "%.*s", (int)answer->length, answer->body);
    else
        return NULL;
    return text;
}

/* It is answered so, and over. */
static void expect(struct call *call, int status, const char *text)
{
    ck_assert(call->done);
    ck_assert_int_eq(call->answer.status, status);
    ck_assert_pstr_eq(text_of(&call->answer), text);
    http_answer_fini(&call->answer);
    waiter_leave(&call->waiter);
}

static void expect_now(http_handler_fn *handle, const char *target, const char *body, int status,
                       const char *text)
{
    struct call call;
    start(&call, handle, target, body);
    expect(&call, status, text);
}

START_TEST(a_value_is_put_read_and_deleted)
{
    expect_now(http_key_value_get, "/s/k", "", 404, "");
    expect_now(http_key_value_put, "/s/k", "value", 200, "");
    expect_now(http_key_value_get, "/s/k", "", 200, "value");
    expect_now(http_key_value_put, "/s/k", "", 200, "");
    expect_now(http_key_value_get, "/s/k", "", 200, "");
    expect_now(http_key_value_delete, "/s/k", "", 200, "");
    expect_now(http_key_value_delete, "/s/k", "", 200, "");
    expect_now(http_key_value_get, "/s/k", "", 404, "");
}
END_TEST

START_TEST(a_value_is_raw_bytes)
{
    static const char bytes[] = { 0, '\r', '\n', (char)0xff };
    struct call call;
    prepare(&call, http_key_value_put, "/s/k", "");
    call.exchange.body = bytes;
    call.exchange.length = sizeof bytes;
    go_on(&call, NOW_MS);
    expect(&call, 200, "");
    start(&call, http_key_value_get, "/s/k", "");
    ck_assert_str_eq(call.answer.type, "application/octet-stream");
    ck_assert_uint_eq(call.answer.length, sizeof bytes);
    ck_assert_mem_eq(call.answer.body, bytes, sizeof bytes);
}
END_TEST

#define WAIT(query)                                                                                \
    "query \"" query "\": expected wait=SECONDS, from 0 to 60 with at most 3 decimals\n"

static const struct refusal {
    http_handler_fn *handle;
    const char *target, *body;
    int status;
    const char *text;
} refusals[] = {
    { http_key_value_get, "/a%20b/k", "", 400,
      "scope \"a%20b\": expected 1 to 128 of " CHARACTERS },
    { http_key_value_put, "/s/caf\xc3\xa9", "1", 400,
      "key \"caf\\xc3\\xa9\": expected 1 to 512 of " CHARACTERS },
    { http_key_value_get, "/../k", "", 400, "scope \"..\": expected 1 to 128 of " CHARACTERS },
    { http_key_value_delete, "/s/%2e%2e", "", 400,
      "key \"%2e%2e\": expected 1 to 512 of " CHARACTERS },
    { http_key_value_post, "/s/", "{\"add\":1}", 400,
      "key \"\": expected 1 to 512 of " CHARACTERS },
    { http_key_value_get, "/v1/k", "", 403, "scope \"v1\" is the server's: expected another\n" },
    { http_key_value_put, "/v1/k", "1", 403, "scope \"v1\" is the server's: expected another\n" },
    { http_key_value_put, "/rank_and_size/a:0", "1", 405,
      "scope \"rank_and_size\" is the server's: expected another\n" },
    { http_key_value_put, "/s/k?wait=1", "1", 400, "query \"wait=1\": expected none\n" },
    { http_key_value_delete, "/s/k?", "", 400, "query \"\": expected none\n" },
    { http_key_value_post, "/s/k?x", "{\"add\":1}", 400, "query \"x\": expected none\n" },
    { http_rank_and_size, "/rank_and_size/a:0?x", "", 400, "query \"x\": expected none\n" },
    { http_key_value_get, "/s/k?", "", 400, WAIT("") },
    { http_key_value_get, "/s/k?x", "", 400, WAIT("x") },
    { http_key_value_get, "/s/k?wait", "", 400, WAIT("wait") },
    { http_key_value_get, "/s/k?wait=", "", 400, WAIT("wait=") },
    { http_key_value_get, "/s/k?wait=.", "", 400, WAIT("wait=.") },
    { http_key_value_get, "/s/k?wait=.5", "", 400, WAIT("wait=.5") },
    { http_key_value_get, "/s/k?wait=5.", "", 400, WAIT("wait=5.") },
    { http_key_value_get, "/s/k?wait=1.0001", "", 400, WAIT("wait=1.0001") },
    { http_key_value_get, "/s/k?wait=1.2.3", "", 400, WAIT("wait=1.2.3") },
    { http_key_value_get, "/s/k?wait=-1", "", 400, WAIT("wait=-1") },
    { http_key_value_get, "/s/k?wait=+1", "", 400, WAIT("wait=+1") },
    { http_key_value_get, "/s/k?wait=1s", "", 400, WAIT("wait=1s") },
    { http_key_value_get, "/s/k?wait=1e1", "", 400, WAIT("wait=1e1") },
    { http_key_value_get, "/s/k?wait=60.001", "", 400, WAIT("wait=60.001") },
    { http_key_value_get, "/s/k?wait=61", "", 400, WAIT("wait=61") },
    { http_key_value_get, "/s/k?wait=18446744073709551617", "", 400,
      WAIT("wait=18446744073709551617") },
    { http_key_value_get, "/s/k?wait=1&wait=2", "", 400, WAIT("wait=1&wait=2") },
    { http_key_value_get, "/s/k?WAIT=1", "", 400, WAIT("WAIT=1") },
};

START_TEST(what_is_wrong_is_named)
{
    const struct refusal *row = &refusals[_i];
    expect_now(row->handle, row->target, row->body, row->status, row->text);
    ck_assert_uint_eq(key_value_keys(job_table.only->store), 0);
}
END_TEST

START_TEST(a_scope_of_ours_says_what_may_be_done_with_it)
{
    struct call call;
    start(&call, http_key_value_delete, "/rank_and_size/a:0", "");
    ck_assert_str_eq(call.answer.allow, "GET, HEAD");
    expect(&call, 405, "scope \"rank_and_size\" is the server's: expected another\n");
}
END_TEST

START_TEST(a_store_that_is_full_says_what_it_holds)
{
    static char large[KEY_VALUE_SIZE_MAX + 2];
    char target[16];
    memset(large, 'x', sizeof large - 1);
    expect_now(http_key_value_put, "/s/k", large, 413,
               "key \"k\": expected a value of at most 4194304 bytes\n");
    large[KEY_VALUE_SIZE_MAX] = 0;
    for (int i = 0; i < 63; i++) {
        snprintf(target, sizeof target, "/s/%d", i);
        expect_now(http_key_value_put, target, large, 200, "");
    }
    expect_now(http_key_value_put, "/s/kk", large, 507,
               "no room for key \"kk\": expected at most 131072 keys in a scope, 4096 scopes and "
               "256 MiB, or less if other jobs leave less\n");
    expect_now(http_key_value_get, "/s/kk", "", 404, "");
}
END_TEST

static const struct {
    const char *seconds;
    uint64_t ms;
} waits[] = {
    { "60", 60000 }, { "60.000", 60000 }, { "1", 1000 },   { "2.5", 2500 },
    { "0.001", 1 },  { "0.010", 10 },     { "007", 7000 }, { "59.999", 59999 },
};

START_TEST(a_get_waits_for_its_key_so_long)
{
    struct call call;
    char target[32];
    snprintf(target, sizeof target, "/s/k?wait=%s", waits[_i].seconds);
    start(&call, http_key_value_get, target, "");
    ck_assert(!call.done);
    ck_assert_uint_eq(call.exchange.held_until_ms, NOW_MS + waits[_i].ms);
    ck_assert_ptr_nonnull(call.waiter.in);
    call.exchange.last = true;
    waiter_leave(&call.waiter);
    go_on(&call, NOW_MS + waits[_i].ms);
    expect(&call, 204, "");
}
END_TEST

START_TEST(a_wait_of_zero_does_not_wait)
{
    expect_now(http_key_value_get, "/s/k?wait=0", "", 204, "");
    expect_now(http_key_value_put, "/s/k", "value", 200, "");
    expect_now(http_key_value_get, "/s/k?wait=0", "", 200, "value");
    expect_now(http_key_value_get, "/s/k?wait=60", "", 200, "value");
}
END_TEST

/* The server takes it out of the list of those that go on. */
static void resume(struct call *call, uint64_t now_ms)
{
    ck_assert_ptr_eq(TAILQ_FIRST(&service.woken), &call->waiter);
    waiter_leave(&call->waiter);
    go_on(call, now_ms);
}

START_TEST(a_key_that_comes_ends_the_wait)
{
    struct call call;
    start(&call, http_key_value_get, "/s/k?wait=60", "");
    expect_now(http_key_value_put, "/s/k", "value", 200, "");
    resume(&call, NOW_MS + 1);
    expect(&call, 200, "value");
    start(&call, http_key_value_get, "/s/sum?wait=60", "");
    expect_now(http_key_value_post, "/s/sum", "{\"add\": 2}", 200, "{\"value\": 2}\n");
    resume(&call, NOW_MS + 1);
    expect(&call, 200, "2");
}
END_TEST

START_TEST(a_key_that_has_gone_again_is_waited_for_on)
{
    struct call call;
    start(&call, http_key_value_get, "/s/k?wait=60", "");
    expect_now(http_key_value_put, "/s/k", "value", 200, "");
    expect_now(http_key_value_delete, "/s/k", "", 200, "");
    resume(&call, NOW_MS + 30000);
    ck_assert(!call.done);
    ck_assert_uint_eq(call.exchange.held_until_ms, NOW_MS + 60000);
    expect_now(http_key_value_put, "/s/k", "again", 200, "");
    resume(&call, NOW_MS + 40000);
    expect(&call, 200, "again");
}
END_TEST

START_TEST(a_job_that_ends_lets_its_waiters_go)
{
    struct call call;
    start(&call, http_key_value_get, "/s/k?wait=60", "");
    rendezvous_job_close(job_table.only, &service.woken, NOW_MS);
    resume(&call, NOW_MS + 1);
    expect(&call, 404, "job job1 is over\n");
    expect_now(http_key_value_put, "/s/k", "value", 404, "job job1 is over\n");
}
END_TEST

START_TEST(gloo_is_held_for_an_address)
{
    struct call call;
    start_gloo(&call, http_key_value_get, "/global/1", "");
    ck_assert(!call.done);
    ck_assert_uint_eq(call.exchange.held_until_ms, NOW_MS + HTTP_GLOO_HOLD_MS);
    expect_now(http_key_value_put, "/global/1", "address", 200, "");
    resume(&call, NOW_MS + 1);
    expect(&call, 200, "address");
    start_gloo(&call, http_key_value_get, "/local_a_process_set_hash_7d/0", "");
    ck_assert(!call.done);
    call.exchange.last = true;
    waiter_leave(&call.waiter);
    go_on(&call, NOW_MS + HTTP_GLOO_HOLD_MS);
    expect(&call, 404, "");
}
END_TEST

START_TEST(gloo_is_answered_at_once_otherwise)
{
    struct call call;
    start_gloo(&call, http_key_value_get, "/global/rank_0", "");
    expect(&call, 404, "");
    start_gloo(&call, http_key_value_get, "/global/0x", "");
    expect(&call, 404, "");
    start_gloo(&call, http_key_value_get, "/global/0?wait=0", "");
    expect(&call, 204, "");
    expect_now(http_key_value_get, "/global/0", "", 404, ""); /* with credentials */
}
END_TEST

static const struct {
    const char *target;
    bool credentials;
    int rank; /* that has been seen, or -1 */
} sights[] = {
    { "/global/0", false, 0 },   { "/global/2", false, 2 },
    { "/global/3", false, -1 },  { "/global/rank_1", false, -1 },
    { "/local_a/1", false, -1 }, { "/global/99999999999", false, -1 },
    { "/global/1", true, -1 },
};

START_TEST(gloo_is_seen_when_it_puts_its_address)
{
    struct call call;
    prepare(&call, http_key_value_put, sights[_i].target, "address");
    call.exchange.access.credentials = sights[_i].credentials;
    go_on(&call, NOW_MS);
    expect(&call, 200, "");
    for (int rank = 0; rank < SIZE; rank++)
        ck_assert_int_eq(rank_state_of(job_table.only, rank),
                         rank == sights[_i].rank ? RANK_GLOO : RANK_EXPECTED);
}
END_TEST

START_TEST(a_sum_is_json)
{
    struct call call;
    expect_now(http_key_value_put, "/s/k", "-3", 200, "");
    start(&call, http_key_value_post, "/s/k", "{\"add\":10}");
    ck_assert_str_eq(call.answer.type, "application/json");
    expect(&call, 200, "{\"value\": 7}\n");
}
END_TEST

START_TEST(what_is_no_number_is_not_added_to)
{
    expect_now(http_key_value_put, "/s/k", "forty", 200, "");
    expect_now(http_key_value_post, "/s/k", "{\"add\":1}", 409,
               "key \"k\": expected a number, and a sum in 64 bits\n");
}
END_TEST

START_TEST(a_body_that_is_wrong_or_too_long_is_refused)
{
    static char body[ADD_REQUEST_MAX + 2];
    memset(body, ' ', sizeof body - 1);
    expect_now(http_key_value_post, "/s/k", "{\"x\":1}", 400,
               "field \"x\" is not known; expected {\"add\": N}\n");
    expect_now(http_key_value_post, "/s/k", body, 413,
               "a body of 4097 bytes: expected 4096 at most\n");
}
END_TEST

static const struct {
    const char *key, *text;
} places[] = {
    { "a.example:0", "0,3,0,2,0,2" },
    { "a.example:1", "1,3,1,2,0,1" },
    { "::1:0", "2,3,0,1,1,2" },
    { "a.example:2", "-1,-1,-1,-1,-1,-1" },
    { "b:0", "-1,-1,-1,-1,-1,-1" },
    { "a.example:", "-1,-1,-1,-1,-1,-1" },
    { "a.example", "-1,-1,-1,-1,-1,-1" },
    { "a.example:00", "-1,-1,-1,-1,-1,-1" },
    { "A.example:0", "-1,-1,-1,-1,-1,-1" },
    { "a.example:0x", "-1,-1,-1,-1,-1,-1" },
    { ":0", "-1,-1,-1,-1,-1,-1" },
    { "a.example:-1", "-1,-1,-1,-1,-1,-1" },
};

START_TEST(a_worker_can_ask_for_its_place)
{
    char target[64];
    snprintf(target, sizeof target, "/rank_and_size/%s", places[_i].key);
    expect_now(http_rank_and_size, target, "", 200, places[_i].text);
}
END_TEST

START_TEST(a_service_knows_its_jobs)
{
    struct err err;
    struct call call;
    job_table_fini(&job_table);
    job_table_init(&job_table, 10, 1000);
    ck_assert_ptr_nonnull(job_table_make(&job_table, "job2", 2, 0, NOW_MS, &err));
    expect_now(http_key_value_get, "/s/k", "", 404,
               "which job? expected Authorization: Bearer ID:KEY\n");
    prepare(&call, http_key_value_put, "/s/k", "value");
    strcpy(call.exchange.access.job, "job3");
    go_on(&call, NOW_MS);
    expect(&call, 404, "there is no job job3\n");
    prepare(&call, http_key_value_put, "/s/k", "value");
    strcpy(call.exchange.access.job, "job2");
    go_on(&call, NOW_MS);
    expect(&call, 200, "");
    prepare(&call, http_rank_and_size, "/rank_and_size/a:0", "");
    strcpy(call.exchange.access.job, "job2");
    go_on(&call, NOW_MS);
    expect(&call, 403, "job job2: its places are not known\n");
}
END_TEST

/* How many keys are left when `count` members have put and deleted theirs. */
static size_t left_in(const char *scope, int count)
{
    char target[160];
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < count; i++) {
            snprintf(target, sizeof target, "/%s/%s%d", scope, "rank_", i);
            if (pass == 0)
                expect_now(http_key_value_put, target, "host", 200, "");
            snprintf(target, sizeof target, "/%s/%d", scope, i);
            expect_now(pass == 0 ? http_key_value_put : http_key_value_delete, target, "", 200, "");
        }
    return key_value_keys(job_table.only->store);
}

START_TEST(the_scopes_of_the_plan_are_cleared)
{
    ck_assert_uint_eq(left_in("global", 2), 4);
    ck_assert_uint_eq(left_in("global", 3), 0);
    ck_assert_uint_eq(left_in("local_a.example", 2), 0);
    ck_assert_uint_eq(left_in("local_::1", 1), 0);
    ck_assert_uint_eq(left_in("cross_0", 2), 0);
    ck_assert_uint_eq(left_in("cross_1", 1), 0);
    ck_assert_uint_eq(left_in("global_process_set_hash_7d", 3), 3);
}
END_TEST

START_TEST(a_host_without_a_scope_does_not_stop_a_plan)
{
    char host[KEY_VALUE_SCOPE_MAX];
    memset(host, 'h', sizeof host - 1);
    host[sizeof host - 1] = 0;
    struct rendezvous_slot long_slots[] = { { { 0, 2, 0, 1, 0, 2 }, host },
                                            { { 1, 2, 0, 1, 1, 2 }, "[::1]" } };
    struct key_value *store = key_value_create();
    ck_assert_int_eq(gloo_scopes_plan(store, long_slots, 2), HVD_OK);
    ck_assert_uint_eq(key_value_size(store), 2 * KEY_VALUE_NAME_COST + strlen("globalcross_0"));
    key_value_destroy(store);
}
END_TEST

#define ROWS(table) (int)(sizeof table / sizeof *table)

static Suite *suite(void)
{
    TCase *tcase = tcase_create("http_key_value");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_value_is_put_read_and_deleted);
    tcase_add_test(tcase, a_value_is_raw_bytes);
    tcase_add_loop_test(tcase, what_is_wrong_is_named, 0, ROWS(refusals));
    tcase_add_test(tcase, a_scope_of_ours_says_what_may_be_done_with_it);
    tcase_add_test(tcase, a_store_that_is_full_says_what_it_holds);
    tcase_add_loop_test(tcase, a_get_waits_for_its_key_so_long, 0, ROWS(waits));
    tcase_add_test(tcase, a_wait_of_zero_does_not_wait);
    tcase_add_test(tcase, a_key_that_comes_ends_the_wait);
    tcase_add_test(tcase, a_key_that_has_gone_again_is_waited_for_on);
    tcase_add_test(tcase, a_job_that_ends_lets_its_waiters_go);
    tcase_add_test(tcase, gloo_is_held_for_an_address);
    tcase_add_test(tcase, gloo_is_answered_at_once_otherwise);
    tcase_add_loop_test(tcase, gloo_is_seen_when_it_puts_its_address, 0, ROWS(sights));
    tcase_add_test(tcase, a_sum_is_json);
    tcase_add_test(tcase, what_is_no_number_is_not_added_to);
    tcase_add_test(tcase, a_body_that_is_wrong_or_too_long_is_refused);
    tcase_add_loop_test(tcase, a_worker_can_ask_for_its_place, 0, ROWS(places));
    tcase_add_test(tcase, a_service_knows_its_jobs);
    tcase_add_test(tcase, the_scopes_of_the_plan_are_cleared);
    tcase_add_test(tcase, a_host_without_a_scope_does_not_stop_a_plan);
    Suite *all = suite_create("http_key_value");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
