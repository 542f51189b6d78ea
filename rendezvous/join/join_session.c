/* SPDX-License-Identifier: Apache-2.0 */
/* Workers' connections; see join_session.h. */
#include "rendezvous/join/join_session.h"

#include "lib/base/env_names.h"

#include <stdio.h>
#include <string.h>

void join_session_init(struct join_session *session, const struct keyring *keyring)
{
    *session = (struct join_session){ .keyring = keyring };
    frame_reader_init(&session->reader, JOIN_UNPROVEN_MAX);
}

void join_session_fini(struct join_session *session)
{
    frame_reader_fini(&session->reader);
    seal_wipe(&session->seal);
}

size_t join_session_take(struct join_session *session, const void *data, size_t length)
{
    size_t room;
    void *space = frame_reader_space(&session->reader, &room);
    if (!space)
        return 0;
    if (length > room)
        length = room;
    memcpy(space, data, length);
    frame_reader_commit(&session->reader, length);
    return length;
}

static void put_challenge(struct wire_writer *out, const struct join_challenge *challenge)
{
    struct wire_writer body = { 0 };
    join_challenge_encode(&body, challenge);
    frame_put(out, JOIN_CHALLENGE, body.data, body.length);
    out->failed = out->failed || body.failed;
    wire_writer_fini(&body);
}

static void seal_begin(struct join_session *session, const struct join_open *open,
                       const struct join_challenge *challenge)
{
    struct job_key key;
    key_owner_parse(&session->owner, open->owner, strlen(open->owner));
    keyring_key(session->keyring, &session->owner, &key);
    seal_init(&session->seal, SEAL_SERVER, &key, open->nonce, challenge->nonce);
    job_key_wipe(&key);
}

static int on_open(struct join_session *session, const struct frame *frame,
                   struct join_event *event, struct wire_writer *out, struct err *err)
{
    (void)event;
    struct join_open open = { 0 };
    struct join_challenge challenge = { .version = JOIN_VERSION };
    struct wire_reader body;
    wire_reader_init(&body, frame->body, frame->length);
    int rc = join_open_decode(&open, &body, err);
    if (rc != HVD_OK && (open.version == 0 || open.version == JOIN_VERSION))
        return rc;
    nonce_generate(challenge.nonce);
    put_challenge(out, &challenge);
    if (rc != HVD_OK)
        return rc;
    seal_begin(session, &open, &challenge);
    session->state = JOIN_SESSION_CHALLENGED;
    return 0;
}

static int on_hello(struct join_session *session, const struct frame *frame,
                    struct join_event *event, struct wire_writer *out, struct err *err)
{
    struct wire_reader payload;
    int rc = seal_check(&session->seal, frame, &payload, err);
    if (rc != HVD_OK)
        return rc;
    session->state = JOIN_SESSION_PROVEN;
    session->reader.body_max = JOIN_PROVEN_MAX;
    struct err why;
    rc = join_hello_decode(&event->hello, &payload, &why);
    if (rc != HVD_OK) {
        join_session_refuse(session, out, rc, why.text);
        return fail(err, rc, "%s", why.text);
    }
    event->type = JOIN_HELLO;
    return 1;
}

static int on_join_session_report(struct join_session *session, const struct frame *frame,
                                  struct join_event *event, struct wire_writer *out,
                                  struct err *err)
{
    (void)out;
    struct wire_reader payload;
    int rc = seal_check(&session->seal, frame, &payload, err);
    if (rc == HVD_OK && !session->asked)
        rc = fail(err, HVD_ERR_PROTOCOL, "a REPORT that was not asked for");
    if (rc == HVD_OK)
        rc = join_report_decode(&event->report, &payload, err);
    if (rc != HVD_OK)
        return rc;
    session->asked = false;
    event->type = JOIN_REPORT;
    return 1;
}

static int on_join_session_broken(struct join_session *session, const struct frame *frame,
                                  struct join_event *event, struct wire_writer *out,
                                  struct err *err)
{
    (void)out;
    struct wire_reader payload;
    int rc = seal_check(&session->seal, frame, &payload, err);
    if (rc == HVD_OK && session->broken)
        rc = fail(err, HVD_ERR_PROTOCOL, "a second BROKEN");
    if (rc == HVD_OK)
        rc = join_broken_decode(&event->goodbye, &payload, err);
    if (rc != HVD_OK)
        return rc;
    session->broken = true;
    event->type = JOIN_BROKEN;
    return 1;
}

static int on_goodbye(struct join_session *session, const struct frame *frame,
                      struct join_event *event, struct wire_writer *out, struct err *err)
{
    (void)out;
    struct wire_reader payload;
    int rc = seal_check(&session->seal, frame, &payload, err);
    if (rc == HVD_OK)
        rc = join_goodbye_decode(&event->goodbye, &payload, err);
    if (rc != HVD_OK)
        return rc;
    session->state = JOIN_SESSION_OVER;
    event->type = JOIN_GOODBYE;
    return 1;
}

/* The frames that a worker may send in each state, and their handlers. */
static const struct {
    enum join_session_state state;
    enum join_type type;
    int (*handle)(struct join_session *session, const struct frame *frame, struct join_event *event,
                  struct wire_writer *out, struct err *err);
} expected[] = {
    { JOIN_SESSION_OPENING, JOIN_OPEN, on_open },
    { JOIN_SESSION_CHALLENGED, JOIN_HELLO, on_hello },
    { JOIN_SESSION_PROVEN, JOIN_REPORT, on_join_session_report },
    { JOIN_SESSION_PROVEN, JOIN_BROKEN, on_join_session_broken },
    { JOIN_SESSION_PROVEN, JOIN_GOODBYE, on_goodbye },
};

static int on_join_session_frame(struct join_session *session, const struct frame *frame,
                                 struct join_event *event, struct wire_writer *out, struct err *err)
{
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (expected[i].state == session->state && (uint16_t)expected[i].type == frame->type)
            return expected[i].handle(session, frame, event, out, err);
    return fail(err, HVD_ERR_PROTOCOL, "a frame of type %u that is not expected now", frame->type);
}

/* A connection that waits for months keeps no buffer. */
static void drop_empty_buffer(struct frame_reader *reader)
{
    size_t body_max = reader->body_max;
    if (reader->start < reader->end)
        return;
    frame_reader_fini(reader);
    frame_reader_init(reader, body_max);
}

int join_session_next(struct join_session *session, struct join_event *event,
                      struct wire_writer *out, struct err *err)
{
    struct frame frame;
    int rc = frame_reader_next(&session->reader, &frame, err);
    while (rc > 0) {
        rc = on_join_session_frame(session, &frame, event, out, err);
        if (rc != 0)
            return rc;
        rc = frame_reader_next(&session->reader, &frame, err);
    }
    if (rc == 0)
        drop_empty_buffer(&session->reader);
    return rc;
}

int join_session_check_worker(const struct join_session *session, const struct join_hello *hello,
                              struct err *err)
{
    bool elastic = hello->size == 0;
    int worker = session->owner.worker, claimed = elastic ? hello->worker : hello->rank;
    const char *name = elastic ? ENV_WORKER : ENV_RANK, *noun = elastic ? "worker" : "rank";
    if (worker < 0 || claimed == worker)
        return HVD_OK;
    if (claimed < 0)
        return fail(err, HVD_ERR_ENVIRONMENT, "%s is not set, but %s is the key of %s %d", name,
                    ENV_JOB_KEY, noun, worker);
    return fail(err, HVD_ERR_ENVIRONMENT, "%s is %d, but %s is the key of %s %d", name, claimed,
                ENV_JOB_KEY, noun, worker);
}

static void put_sealed(struct join_session *session, struct wire_writer *out, enum join_type type,
                       struct wire_writer *payload)
{
    if (payload->failed)
        out->failed = true;
    else
        seal_put(&session->seal, out, (uint16_t)type, payload->data, payload->length);
    wire_writer_fini(payload);
}

void join_session_welcome(struct join_session *session, struct wire_writer *out,
                          const struct join_welcome *welcome)
{
    struct wire_writer payload = { 0 };
    join_welcome_encode(&payload, welcome);
    put_sealed(session, out, JOIN_WELCOME, &payload);
}

void join_session_wait(struct join_session *session, struct wire_writer *out,
                       const struct join_waiting *waiting)
{
    struct wire_writer payload = { 0 };
    join_waiting_encode(&payload, waiting);
    put_sealed(session, out, JOIN_WAITING, &payload);
}

void join_session_refuse(struct join_session *session, struct wire_writer *out, int status,
                         const char *text)
{
    struct join_refused refused = { .status = status };
    snprintf(refused.text, sizeof refused.text, "%.*s", JOIN_TEXT_MAX - 1, text);
    struct wire_writer payload = { 0 };
    join_refused_encode(&payload, &refused);
    put_sealed(session, out, JOIN_REFUSED, &payload);
}

void join_session_news(struct join_session *session, struct wire_writer *out,
                       const struct rank_end *news)
{
    struct wire_writer payload = { 0 };
    rank_end_encode(&payload, news);
    put_sealed(session, out, JOIN_NEWS, &payload);
}

void join_session_update(struct join_session *session, struct wire_writer *out,
                         const struct join_update *update)
{
    struct wire_writer payload = { 0 };
    join_update_encode(&payload, update);
    put_sealed(session, out, JOIN_UPDATE, &payload);
}

void join_session_ask(struct join_session *session, struct wire_writer *out, int size)
{
    struct wire_writer payload = { 0 };
    if (session->asked)
        return;
    session->asked = true;
    join_ask_encode(&payload, &(struct join_ask){ size });
    put_sealed(session, out, JOIN_ASK, &payload);
}
