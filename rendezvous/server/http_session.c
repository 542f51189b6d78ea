/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP connections; see http_session.h. */
#include "rendezvous/server/http_session.h"

#include "rendezvous/api/metrics.h"

#include <stdio.h>

/* The state of one call from outside. */
struct turn {
    uint64_t now_ms;
    struct wire_writer *out;
};

void http_session_init(struct http_session *session, struct http_service *service,
                       const struct keyring *keyring, enum rendezvous_origin origin,
                       uint64_t deadline_ms)
{
    *session = (struct http_session){ .service = service, .deadline_ms = deadline_ms };
    http_gate_init(&session->gate, keyring, origin);
}

/* 0, or the status of the failure. The bytes of the bodies of all clients count together. */
static int http_session_keep(struct http_session *session, struct wire_writer *kept,
                             const char *data, size_t length)
{
    struct memory_budget *budget = &session->service->coming;
    if (!memory_budget_take(budget, length))
        return 503;
    wire_put_bytes(kept, data, length);
    if (!kept->failed)
        return 0;
    memory_budget_give(budget, length);
    return 500;
}

static void http_session_drop(struct http_session *session, struct wire_writer *kept)
{
    memory_budget_give(&session->service->coming, kept->length);
    wire_writer_fini(kept);
}

static void end_request(struct http_session *session)
{
    waiter_leave(&session->waiter);
    http_head_reset(&session->head);
    http_session_drop(session, &session->body);
    session->route = NULL;
}

void http_session_fini(struct http_session *session)
{
    end_request(session);
    http_session_drop(session, &session->ahead);
    http_gate_fini(&session->gate);
}

/* Counts an answer of `length` bytes. Returns false if it must be the last one. */
static bool count_answer(struct http_session *session, size_t length)
{
    session->answered++;
    session->in_one_go.answers++;
    session->in_one_go.bytes += length;
    return session->in_one_go.answers < HTTP_PIPELINE_MAX &&
           session->in_one_go.bytes <
               (session->known ? HTTP_PIPELINE_BYTES : HTTP_UNAUTHENTICATED_BYTES) &&
           (session->known || session->answered < HTTP_UNAUTHENTICATED_REQUESTS_MAX);
}

/* Puts the answer to the current request, which ends the request. Returns false if the
 * connection ends, too. */
static bool put_answer(struct http_session *session, const struct http_answer *answer,
                       bool keep_alive, struct turn *turn)
{
    bool goes_on = count_answer(session, http_answer_length(answer)) && keep_alive;
    http_answer_put(turn->out, answer, session->request.method == HTTP_HEAD,
                    goes_on ? HTTP_KEEP_ALIVE : HTTP_CLOSE);
    if (session->service->metrics)
        metrics_request(session->service->metrics,
                        session->route ? http_route_index(session->route) : -1,
                        answer->made.failed ? 500 : answer->status);
    end_request(session);
    session->phase = HTTP_IDLE;
    session->deadline_ms = turn->now_ms + HTTP_IDLE_MS;
    return goes_on;
}

/* Refuses a request and ends the connection, because the beginning of the next request is
 * unknown or unwanted. */
static bool http_session_refuse(struct http_session *session, int status, struct turn *turn)
{
    return put_answer(session, &(struct http_answer){ .status = status }, false, turn);
}

/* Refuses a request by its head alone. If it has a body the connection ends, since the body is
 * not read. */
static bool refuse_head(struct http_session *session, struct http_answer *answer, struct turn *turn)
{
    char header[HTTP_CHALLENGE_SIZE + 32], challenge[HTTP_CHALLENGE_SIZE];
    if (answer->status == 401) {
        http_gate_challenge(&session->gate, challenge);
        snprintf(header, sizeof header, "WWW-Authenticate: %s\r\n", challenge);
        answer->headers = header;
    }
    bool keep_alive =
        session->request.keep_alive && session->request.body_length == 0 && answer->status != 400;
    return put_answer(session, answer, keep_alive, turn);
}

static void hold(struct http_session *session)
{
    const struct http_exchange *exchange = &session->exchange;
    uint64_t latest_ms = exchange->began_ms + HTTP_HOLD_MS;
    session->phase = HTTP_HELD;
    session->deadline_ms =
        exchange->held_until_ms < latest_ms ? exchange->held_until_ms : latest_ms;
    if (exchange->patient)
        session->deadline_ms = UINT64_MAX;
}

/* The request is whole and allowed. False if the connection ends. */
static bool handle(struct http_session *session, struct turn *turn)
{
    struct http_answer answer = { 0 };
    session->exchange.now_ms = turn->now_ms;
    bool answered = session->route->handle(session->service, &session->exchange, &answer);
    if (!answered && !session->exchange.last) {
        hold(session);
        return true;
    }
    if (!answered)
        answer.status = 503;
    bool goes_on = put_answer(session, &answer, session->request.keep_alive, turn);
    http_answer_fini(&answer);
    return goes_on;
}

static void begin_head(struct http_session *session, uint64_t now_ms)
{
    session->phase = HTTP_HEAD_COMES;
    session->began_ms = now_ms;
    session->request = (struct http_request){ 0 };
    if (session->answered > 0) /* the first head has its deadline from the beginning */
        session->deadline_ms = now_ms + (session->known ? HTTP_REQUEST_MS : HTTP_HEAD_MS);
}

static bool drops_body(const struct http_session *session)
{
    return session->route->method == HTTP_GET && !session->exchange.access.digest_known;
}

/* 0, or the status of the refusal: the client is not authorized, or the body is too long. */
static int check_head(struct http_session *session)
{
    struct http_access *access = &session->exchange.access;
    int refused =
        session->route->open ? 0 : http_gate_check(&session->gate, &session->request, access);
    if (refused)
        return refused;
    if (!session->route->open && access->level == HTTP_ANYBODY)
        return 401;
    if (access->level != HTTP_ANYBODY)
        session->known = true;
    bool too_long = session->request.body_length > session->route->body_max;
    return too_long && !drops_body(session) ? 413 : 0;
}

/* Checks the head, and refuses the request or begins to receive its body. */
static bool begin_body(struct http_session *session, struct turn *turn)
{
    struct http_answer answer = { 0 };
    session->exchange = (struct http_exchange){ .waiter = &session->waiter,
                                                .first_worker = session->first_worker,
                                                .workers = session->workers };
    session->route = http_route_find(&session->request, &session->exchange.path, &answer);
    if (session->route)
        answer.status = check_head(session);
    if (answer.status)
        return refuse_head(session, &answer, turn);
    static const char http_session_go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    if (session->request.waits)
        wire_put_bytes(turn->out, http_session_go_on, sizeof http_session_go_on - 1);
    session->phase = HTTP_BODY_COMES;
    session->body_left = session->request.body_length;
    session->deadline_ms = session->began_ms + HTTP_REQUEST_MS;
    return true;
}

/* Returns false if the connection ends. */
static bool take_head(struct http_session *session, const char *data, size_t length, size_t *used,
                      struct turn *turn)
{
    int rc = http_head_take(&session->head, data, length, used);
    if (rc == HTTP_HEAD_MORE)
        return true;
    if (rc == HTTP_HEAD_WHOLE)
        rc = http_request_parse(&session->request, &session->head);
    else if (http_head_empty(&session->head))
        return false;
    return rc == 0 ? begin_body(session, turn) : http_session_refuse(session, rc, turn);
}

static bool body_is_proved(const struct http_session *session)
{
    unsigned char digest[DIGEST_SIZE];
    if (!session->exchange.access.digest_known)
        return true;
    auth_digest(digest, session->exchange.body, session->exchange.length);
    return auth_equal(digest, session->exchange.access.digest);
}

static bool end_body(struct http_session *session, struct turn *turn)
{
    struct http_exchange *exchange = &session->exchange;
    exchange->method = session->route->method;
    exchange->body = session->body.length > 0 ? (const char *)session->body.data : "";
    exchange->length = session->body.length;
    exchange->began_ms = turn->now_ms;
    return body_is_proved(session) ? handle(session, turn)
                                   : http_session_refuse(session, 400, turn);
}

static bool take_body(struct http_session *session, const char *data, size_t length, size_t *used,
                      struct turn *turn)
{
    *used = session->body_left < length ? (size_t)session->body_left : length;
    session->body_left -= *used;
    int status = drops_body(session) ? 0 : http_session_keep(session, &session->body, data, *used);
    return status ? http_session_refuse(session, status, turn) : true;
}

/* Bytes that arrive while a request is held are kept until it is answered. */
static bool put_ahead(struct http_session *session, const char *data, size_t length)
{
    if (length > HTTP_AHEAD_MAX - session->ahead.length)
        return false;
    session->ahead.secret = true; /* a key may be in it */
    return http_session_keep(session, &session->ahead, data, length) == 0;
}

static bool http_session_take(struct http_session *session, const char *data, size_t length,
                              struct turn *turn)
{
    bool goes_on = true;
    while (goes_on && length > 0 && session->phase != HTTP_HELD) {
        size_t used = 0;
        if (session->phase == HTTP_IDLE)
            begin_head(session, turn->now_ms);
        if (session->phase == HTTP_HEAD_COMES)
            goes_on = take_head(session, data, length, &used, turn);
        else
            goes_on = take_body(session, data, length, &used, turn);
        if (goes_on && session->phase == HTTP_BODY_COMES && session->body_left == 0)
            goes_on = end_body(session, turn);
        data += used;
        length -= used;
    }
    return goes_on && put_ahead(session, data, length);
}

bool http_session_receive(struct http_session *session, const char *data, size_t length,
                          uint64_t now_ms, struct wire_writer *out)
{
    struct turn turn = { now_ms, out };
    session->in_one_go.answers = 0;
    session->in_one_go.bytes = 0;
    return http_session_take(session, data, length, &turn);
}

/* Calls the handler of the held request again, and then takes the bytes that have arrived
 * meanwhile. */
static bool http_session_go_on(struct http_session *session, uint64_t now_ms,
                               struct wire_writer *out)
{
    struct turn turn = { now_ms, out };
    bool goes_on = handle(session, &turn);
    if (!goes_on || session->phase == HTTP_HELD)
        return goes_on;
    struct wire_writer ahead = session->ahead;
    session->ahead = (struct wire_writer){ 0 };
    goes_on = http_session_take(session, (const char *)ahead.data, ahead.length, &turn);
    http_session_drop(session, &ahead);
    return goes_on;
}

bool http_session_resume(struct http_session *session, uint64_t now_ms, struct wire_writer *out)
{
    return session->phase == HTTP_HELD ? http_session_go_on(session, now_ms, out) : true;
}

bool http_session_expire(struct http_session *session, uint64_t now_ms, struct wire_writer *out)
{
    if (session->phase == HTTP_HELD) {
        session->exchange.last = true;
        return http_session_go_on(session, now_ms, out);
    }
    struct turn turn = { now_ms, out };
    if (session->phase != HTTP_IDLE && !http_head_empty(&session->head))
        http_session_refuse(session, 408, &turn);
    return false;
}
