/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP connection, a job that exists, and its key-value store: what a client says is answered
 * without a server. Mistakes of a test's end it. */
#ifndef TESTS_SUPPORT_HTTP_FIXTURE_H
#define TESTS_SUPPORT_HTTP_FIXTURE_H

#include "rendezvous/server/http_session.h"
#include "rendezvous/world/job_table.h"

#define HTTP_FIXTURE_JOB "train-7"

struct http_fixture {
    struct keyring keyring;
    struct job_table job_table;
    struct rendezvous_job *job;
    struct http_service service;
    struct http_session session;
    bool goes_on; /* what the session said last */
    uint64_t now_ms;
    struct wire_writer out; /* since the last http_fixture_answers() */
};

/* Either the planned job of a launcher's, of two ranks, or one of a service's. The connection comes
 * from elsewhere. */
void http_fixture_init(struct http_fixture *fixture, bool service);
void http_fixture_fini(struct http_fixture *fixture);

/* Another connection instead of the one that was there. */
void http_fixture_connect(struct http_fixture *fixture, enum rendezvous_origin origin);

/* Sends in pieces of `piece` bytes (0: in one), as long as the connection goes on. */
void http_fixture_send(struct http_fixture *fixture, const char *data, size_t length, size_t piece);

/* All that was answered since the last call, terminated, valid until the next. */
const char *http_fixture_answers(struct http_fixture *fixture);

/* Both in one, for a request that is text. */
const char *http_fixture_ask(struct http_fixture *fixture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Requests that were woken go on. */
void http_fixture_resume(struct http_fixture *fixture);

/* The key of the job, as a Bearer's; valid until the next call. */
const char *http_fixture_key(const struct http_fixture *fixture);

/* The nonce that an answer's challenge has told. */
void http_fixture_nonce(const char *answer, unsigned char nonce[NONCE_SIZE]);

/* The value of a key in the job's store, terminated; NULL if there is none. Valid until the store
 * or this is called again. */
const char *http_fixture_stored(const struct http_fixture *fixture, const char *scope,
                                const char *key);

#endif
