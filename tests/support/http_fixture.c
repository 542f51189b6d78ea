/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP connection without a server; see http_fixture.h. */
#include "tests/support/http_fixture.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct rendezvous_slot slots[] = {
    { { .rank = 0, .size = 2, .local_size = 1, .cross_size = 2 }, "a" },
    { { .rank = 1, .size = 2, .local_size = 1, .cross_rank = 1, .cross_size = 2 }, "b" },
};

static void add_job(struct http_fixture *fixture, bool service)
{
    static const struct rendezvous_options options = {
        .id = HTTP_FIXTURE_JOB, .slots = slots, .size = 2, .start_timeout_ms = 60000
    };
    struct err err;
    job_table_init(&fixture->job_table, 4, 60000);
    if (service) {
        fixture->job = job_table_make(&fixture->job_table, HTTP_FIXTURE_JOB, 2, 0, 0, &err);
    } else {
        fixture->job = rendezvous_job_create_planned(&options, 0, &err);
        ck_assert_ptr_nonnull(fixture->job);
        job_table_add_planned(&fixture->job_table, fixture->job);
    }
    ck_assert_ptr_nonnull(fixture->job);
}

void http_fixture_init(struct http_fixture *fixture, bool service)
{
    *fixture = (struct http_fixture){ .keyring.service = service };
    ck_assert_int_eq(auth_init(NULL), HVD_OK);
    job_key_generate(&fixture->keyring.key);
    if (!service)
        strcpy(fixture->keyring.job, HTTP_FIXTURE_JOB);
    add_job(fixture, service);
    fixture->service.job_table = &fixture->job_table;
    TAILQ_INIT(&fixture->service.woken);
    fixture->now_ms = 1000;
    http_session_init(&fixture->session, &fixture->service, &fixture->keyring, RENDEZVOUS_ELSEWHERE,
                      5000);
    fixture->goes_on = true;
}

void http_fixture_fini(struct http_fixture *fixture)
{
    http_session_fini(&fixture->session);
    job_table_fini(&fixture->job_table);
    keyring_wipe(&fixture->keyring);
    wire_writer_fini(&fixture->out);
}

void http_fixture_connect(struct http_fixture *fixture, enum rendezvous_origin origin)
{
    http_session_fini(&fixture->session);
    wire_writer_fini(&fixture->out);
    http_session_init(&fixture->session, &fixture->service, &fixture->keyring, origin,
                      fixture->now_ms + 5000);
    fixture->goes_on = true;
}

void http_fixture_send(struct http_fixture *fixture, const char *data, size_t length, size_t piece)
{
    if (piece == 0)
        piece = length;
    for (size_t sent = 0; fixture->goes_on && sent < length; sent += piece) {
        size_t n = length - sent < piece ? length - sent : piece;
        char *exact = malloc(n); /* so that a read beyond it is seen */
        memcpy(exact, data + sent, n);
        fixture->goes_on =
            http_session_receive(&fixture->session, exact, n, fixture->now_ms, &fixture->out);
        free(exact);
    }
}

const char *http_fixture_answers(struct http_fixture *fixture)
{
    wire_put_u8(&fixture->out, 0);
    ck_assert(!fixture->out.failed);
    fixture->out.length = 0;
    return (const char *)fixture->out.data;
}

const char *http_fixture_ask(struct http_fixture *fixture, const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    ck_assert_int_ge(length, 0);
    ck_assert_msg(fixture->goes_on, "the connection was over before: %s", text);
    http_fixture_send(fixture, text, (size_t)length, 0);
    free(text);
    return http_fixture_answers(fixture);
}

void http_fixture_resume(struct http_fixture *fixture)
{
    struct waiter *waiter;
    while ((waiter = TAILQ_FIRST(&fixture->service.woken))) {
        waiter_leave(waiter);
        ck_assert_ptr_eq(waiter, &fixture->session.waiter);
        fixture->goes_on = http_session_resume(&fixture->session, fixture->now_ms, &fixture->out);
    }
}

const char *http_fixture_key(const struct http_fixture *fixture)
{
    static char hex[JOB_KEY_HEX_SIZE];
    struct job_key key;
    struct key_owner owner = { .job = HTTP_FIXTURE_JOB, .worker = -1 };
    keyring_key(&fixture->keyring, &owner, &key);
    job_key_format(&key, hex);
    return hex;
}

void http_fixture_nonce(const char *answer, unsigned char nonce[NONCE_SIZE])
{
    struct job_key bytes;
    const char *at = strstr(answer, "HVD1 nonce=\"");
    ck_assert_ptr_nonnull(at);
    ck_assert(job_key_decode(&bytes, at + strlen("HVD1 nonce=\""), 2 * NONCE_SIZE));
    memcpy(nonce, bytes.bytes, NONCE_SIZE);
}

const char *http_fixture_stored(const struct http_fixture *fixture, const char *scope,
                                const char *key)
{
    static char text[256];
    struct key_value_bytes value;
    if (key_value_get(fixture->job->store, (struct key_value_bytes){ scope, strlen(scope) },
                      (struct key_value_bytes){ key, strlen(key) }, &value) != 200)
        return NULL;
    snprintf(text, sizeof text, "%.*s", (int)value.length, value.data);
    return text;
}
