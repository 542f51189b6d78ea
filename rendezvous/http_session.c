/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP connections; see http_session.h. */
#include "rendezvous/http_session.h"

#include <http_parser.h>

void http_session_init(struct http_session *session, uint64_t deadline_ms)
{
    *session = (struct http_session){ .deadline_ms = deadline_ms };
}

void http_session_fini(struct http_session *session)
{
    http_head_reset(&session->head);
}

static bool refuse(int status, struct wire_writer *out)
{
    http_answer_put(out, &(struct http_answer){ .status = status }, false, HTTP_CLOSE);
    return false;
}

/* The request is complete. `first` is how many had been answered when these bytes came. */
static bool answer(struct http_session *session, int first, uint64_t now_ms,
                   struct wire_writer *out)
{
    struct http_answer answer;
    http_route(&session->request, &answer);
    session->answered++;
    bool goes_on = session->request.keep_alive && session->answered < HTTP_REQUESTS_MAX &&
                   session->answered - first < HTTP_PIPELINE_MAX;
    http_answer_put(out, &answer, session->request.method == HTTP_HEAD,
                    goes_on ? HTTP_KEEP_ALIVE : HTTP_CLOSE);
    http_head_reset(&session->head);
    session->phase = HTTP_IDLE;
    session->deadline_ms = now_ms + HTTP_IDLE_MS;
    return goes_on;
}

static void begin_head(struct http_session *session, uint64_t now_ms)
{
    session->phase = HTTP_HEAD_COMES;
    session->began_ms = now_ms;
    if (session->answered > 0) /* the first head has its deadline from the beginning */
        session->deadline_ms = now_ms + HTTP_HEAD_MS;
}

/* Returns false if the connection ends. */
static bool take_head(struct http_session *session, const char *data, size_t length, size_t *used,
                      struct wire_writer *out)
{
    int rc = http_head_take(&session->head, data, length, used);
    if (rc == HTTP_HEAD_MORE)
        return true;
    if (rc != HTTP_HEAD_WHOLE)
        return http_head_empty(&session->head) ? false : refuse(rc, out);
    rc = http_request_parse(&session->request, &session->head);
    if (rc != 0)
        return refuse(rc, out);
    session->phase = HTTP_BODY_COMES;
    session->body_left = session->request.body_length;
    session->deadline_ms = session->began_ms + HTTP_REQUEST_MS;
    return true;
}

static size_t drop_body(struct http_session *session, size_t length)
{
    size_t used = session->body_left < length ? (size_t)session->body_left : length;
    session->body_left -= used;
    return used;
}

bool http_session_receive(struct http_session *session, const char *data, size_t length,
                          uint64_t now_ms, struct wire_writer *out)
{
    int first = session->answered;
    bool goes_on = true;
    while (goes_on && length > 0) {
        size_t used = 0;
        if (session->phase == HTTP_IDLE)
            begin_head(session, now_ms);
        if (session->phase == HTTP_HEAD_COMES)
            goes_on = take_head(session, data, length, &used, out);
        else
            used = drop_body(session, length);
        if (session->phase == HTTP_BODY_COMES && session->body_left == 0)
            goes_on = answer(session, first, now_ms, out);
        data += used;
        length -= used;
    }
    return goes_on;
}

void http_session_expire(struct http_session *session, struct wire_writer *out)
{
    if (session->phase != HTTP_IDLE && !http_head_empty(&session->head))
        refuse(408, out);
}
