/* SPDX-License-Identifier: Apache-2.0 */
/* The same requests again and again, each time with another allocation failing: a client is told so
 * or sent away, what was not stored is not said to be, and nothing leaks; and no memory that is
 * given back holds a key. Linked with -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free.
 */
#include "tests/support/http_fixture.h"
#include "tests/support/unit.h"

#include <malloc.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __real_free(void *memory);
void __wrap_free(void *memory);

static char key_text[JOB_KEY_HEX_SIZE]; /* that must not be given back; "": does not matter */
static int given_back;                  /* how often it was, nevertheless */

static int countdown;   /* to the allocation that fails; 0 when none does */
static bool in_session; /* the test's own allocations do not fail */

static bool fails(void)
{
    return in_session && countdown > 0 && --countdown == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

static void look_for_key(void *memory)
{
    if (memory && *key_text)
        given_back +=
            memmem(memory, malloc_usable_size(memory), key_text, strlen(key_text)) != NULL;
}

void __wrap_free(void *memory)
{
    look_for_key(memory);
    __real_free(memory);
}

void *__wrap_realloc(void *memory, size_t size)
{
    look_for_key(memory);
    return fails() ? NULL : __real_realloc(memory, size);
}

static struct http_fixture fixture;

/* Of the answer; 0 if there is none. What could not be written ends a connection. */
static int status(struct wire_writer *out)
{
    int status = 0;
    if (!out->failed && out->length > 12)
        status = atoi((const char *)out->data + strlen("HTTP/1.1 "));
    if (out->failed)
        fixture.goes_on = false;
    wire_writer_fini(out);
    return status;
}

static int ask(const char *line, const char *rest)
{
    char request[1024];
    struct wire_writer out = { 0 };
    int length = snprintf(request, sizeof request,
                          "%s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n%s", line,
                          http_fixture_key(&fixture), rest);
    in_session = true;
    fixture.goes_on =
        http_session_receive(&fixture.session, request, (size_t)length, fixture.now_ms, &out);
    in_session = false;
    return status(&out);
}

static int expire(void)
{
    struct wire_writer out = { 0 };
    fixture.now_ms = fixture.session.deadline_ms;
    in_session = true;
    fixture.goes_on = http_session_expire(&fixture.session, fixture.now_ms, &out);
    in_session = false;
    return status(&out);
}

static void check_want(int status)
{
    ck_assert_msg(status == 500 || status == 507 || !fixture.goes_on, "%d", status);
}

static void put(void)
{
    char rest[400];
    snprintf(rest, sizeof rest, "Content-Length: 300\r\n\r\n%0300d", 0);
    int status = ask("PUT /a/b", rest);
    bool stored = http_fixture_stored(&fixture, "a", "b");
    if (status == 200)
        ck_assert(stored);
    else
        check_want(status);
}

static void add(void)
{
    int status = ask("POST /a/n", "Content-Length: 10\r\n\r\n{\"add\": 1}");
    if (status != 200)
        check_want(status);
}

static void wait_for_nothing(void)
{
    int status = ask("GET /a/missing?wait=1", "\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    if (fixture.goes_on && fixture.session.phase == HTTP_HELD)
        status = expire();
    if (status != 204)
        check_want(status);
}

/* Whether an allocation failed. */
static bool run(int nth)
{
    static void (*const steps[])(void) = { put, add, wait_for_nothing };
    http_fixture_init(&fixture, false);
    countdown = nth;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (!fixture.goes_on)
            http_fixture_connect(&fixture, RENDEZVOUS_ELSEWHERE);
        steps[i]();
    }
    bool failed = countdown == 0;
    countdown = 0;
    http_fixture_fini(&fixture);
    return failed;
}

START_TEST(whoever_asks_while_memory_is_short_is_told_so_or_sent_away)
{
    int nth = 1;
    while (run(nth))
        nth++;
    ck_assert_int_gt(nth, 10);
}
END_TEST

START_TEST(no_memory_is_given_back_with_a_key_in_it)
{
    char rest[600];
    snprintf(rest, sizeof rest, "X: %0500d\r\n\r\n", 0); /* more room is needed after the key */
    http_fixture_init(&fixture, false);
    snprintf(key_text, sizeof key_text, "%.64s", http_fixture_key(&fixture));
    ck_assert_int_eq(ask("GET /a/b", rest), 404);
    ck_assert_int_eq(ask("GET /a/b", "half a line"), 0);
    http_fixture_fini(&fixture);
    key_text[0] = '\0';
    ck_assert_int_eq(given_back, 0);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("http_memory");
    tcase_add_test(tcase, no_memory_is_given_back_with_a_key_in_it);
    tcase_add_test(tcase, whoever_asks_while_memory_is_short_is_told_so_or_sent_away);
    Suite *all = suite_create("http_memory");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
