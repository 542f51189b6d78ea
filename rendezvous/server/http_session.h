/* SPDX-License-Identifier: Apache-2.0 */
/* One connection of an HTTP/1.1 client: bytes and time in, answers out.
 *
 *   idle -> head -> body -> idle        a body is only taken once the head has shown who sends it
 *                   body -> held -> idle    the handler waits for something (http_exchange.h)
 *
 * A malformed request is answered and ends the connection; a connection whose first bytes are no
 * request at all just ends. The body of a refused one is not read, which ends the connection too;
 * one without a body leaves it open, so that a client which was told 401 can prove its key on it. A
 * body that a GET brings is dropped.
 *
 * Ends also after the answer that the client asked to be the last, after
 * HTTP_UNAUTHENTICATED_REQUESTS_MAX answers to an unauthenticated client, after
 * HTTP_PIPELINE_MAX answers or HTTP_PIPELINE_BYTES of them in one go (an answer that is not read
 * stays in our memory), of which an unauthenticated client gets HTTP_UNAUTHENTICATED_BYTES,
 * when more than HTTP_AHEAD_MAX bytes come while a request is held, when a deadline passes, and
 * when bodies and bytes ahead of all clients together take more than the service's budget (503). */
#ifndef RENDEZVOUS_SERVER_HTTP_SESSION_H
#define RENDEZVOUS_SERVER_HTTP_SESSION_H

#include "lib/base/wire.h"
#include "rendezvous/api/http_exchange.h"
#include "rendezvous/api/http_route.h"
#include "rendezvous/http/http_access.h"
#include "rendezvous/http/http_head.h"
#include "rendezvous/http/http_request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HTTP_HEAD_MS = 5000, /* of an unauthenticated client; others have the time of the request */
    HTTP_REQUEST_MS = 15000,
    HTTP_IDLE_MS = 60000,
    HTTP_HOLD_MS = 60000 /* a limit, whatever the handler wants */
};
enum {
    HTTP_UNAUTHENTICATED_REQUESTS_MAX = 100,
    HTTP_PIPELINE_MAX = 16,
    HTTP_PIPELINE_BYTES = 8 * 1024 * 1024,
    HTTP_UNAUTHENTICATED_BYTES = 32 * 1024,
    HTTP_AHEAD_MAX = 64 * 1024
};

enum http_phase { HTTP_IDLE, HTTP_HEAD_COMES, HTTP_BODY_COMES, HTTP_HELD };

struct http_session {
    struct waiter waiter; /* first: the server finds the session by it */
    struct http_service *service;
    struct http_gate gate;
    enum http_phase phase;
    uint64_t began_ms;    /* the present request */
    uint64_t deadline_ms; /* of the present phase */
    struct http_head head;
    struct http_request request;
    const struct http_route *route;
    struct http_exchange exchange; /* of the present request */
    struct wire_writer body;       /* as much as has come */
    uint64_t body_left;            /* bytes that have not */
    struct wire_writer ahead;      /* bytes that arrived while a request was held */
    int answered;
    struct {
        int answers;
        size_t bytes; /* of their bodies */
    } in_one_go;      /* since something was received, however often a request was held meanwhile */
    int first_worker, workers; /* who may be the client (struct rendezvous_stream) */
    bool known;                /* the client has proved a key, or is the job's own user */
};

/* The first head must be whole at `deadline_ms`. `service` and `keyring` outlive the session. */
void http_session_init(struct http_session *session, struct http_service *service,
                       const struct keyring *keyring, enum rendezvous_origin origin,
                       uint64_t deadline_ms);
void http_session_fini(struct http_session *session);

/* Takes bytes and appends what is to be sent. False if the connection ends after that. */
bool http_session_receive(struct http_session *session, const char *data, size_t length,
                          uint64_t now_ms, struct wire_writer *out);

/* It was in the service's list of those woken, and is no more: a held request goes on. */
bool http_session_resume(struct http_session *session, uint64_t now_ms, struct wire_writer *out);

/* session->deadline_ms has passed: a held request is answered for the last time, and the connection
 * goes on; otherwise appends the last answer, if there is somebody to answer to. */
bool http_session_expire(struct http_session *session, uint64_t now_ms, struct wire_writer *out);

#endif
