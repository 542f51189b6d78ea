/* SPDX-License-Identifier: Apache-2.0 */
/* One connection of somebody who speaks HTTP/1.1: bytes and time in, answers out.
 *
 *   idle -> head -> body -> idle: the request is answered when its body has come (and is dropped)
 *
 * A malformed request is answered and ends the connection; a connection whose first bytes are no
 * request at all just ends. Ends also after the answer that the client asked to be the last, after
 * HTTP_REQUESTS_MAX answers, after HTTP_PIPELINE_MAX in one go (an answer that is not read stays in
 * our memory), and when a deadline passes. */
#ifndef RENDEZVOUS_HTTP_SESSION_H
#define RENDEZVOUS_HTTP_SESSION_H

#include "lib/base/wire.h"
#include "rendezvous/http_head.h"
#include "rendezvous/http_request.h"
#include "rendezvous/http_route.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_HEAD_MS = 5000, HTTP_REQUEST_MS = 15000, HTTP_IDLE_MS = 60000 };
enum { HTTP_REQUESTS_MAX = 100, HTTP_PIPELINE_MAX = 16 };

enum http_phase { HTTP_IDLE, HTTP_HEAD_COMES, HTTP_BODY_COMES };

struct http_session {
    enum http_phase phase;
    uint64_t began_ms;    /* the present request */
    uint64_t deadline_ms; /* of the present phase */
    struct http_head head;
    struct http_request request;
    uint64_t body_left;
    int answered;
};

/* The first head must be whole at `deadline_ms`. */
void http_session_init(struct http_session *session, uint64_t deadline_ms);
void http_session_fini(struct http_session *session);

/* Takes bytes and appends what is to be sent. False if the connection ends after that. */
bool http_session_receive(struct http_session *session, const char *data, size_t length,
                          uint64_t now_ms, struct wire_writer *out);

/* session->deadline_ms has passed: appends the last answer, if there is somebody to answer to. */
void http_session_expire(struct http_session *session, struct wire_writer *out);

#endif
