/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol of ssh-agent; see ssh_agent.h. Connect, write, read until the answer is whole. Fails
 * when nobody listens, the path is too long for a socket, no answer comes in time, or the answer is
 * cut short or longer than 256 KiB. */
#include "launcher/ssh/ssh_agent.h"

#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

enum { ASK_KEYS = 11, KEYS = 12, ASK_SIGNATURE = 13, SIGNATURE = 14 };
enum { LOGIN_REQUEST = 50 };
enum { DEADLINE_MS = 2000, ANSWER_BYTES = 256 * 1024 };

struct ssh_agent_question {
    uv_pipe_t pipe;
    uv_timer_t timer;
    uv_connect_t connect;
    uv_write_t write;
    struct text_buffer question, answer;
    const char *problem; /* known before the question was sent */
    ssh_agent_fn *on_answer;
    void *context;
    int open_handles;
};

/* ---- the end ---- */

static void on_ssh_agent_closed(uv_handle_t *handle)
{
    struct ssh_agent_question *question = handle->data;
    if (--question->open_handles > 0)
        return;
    text_buffer_fini(&question->question);
    text_buffer_fini(&question->answer);
    free(question);
}

void ssh_agent_cancel(struct ssh_agent_question *question)
{
    if (!question)
        return;
    question->on_answer = NULL;
    uv_close((uv_handle_t *)&question->pipe, on_ssh_agent_closed);
    uv_close((uv_handle_t *)&question->timer, on_ssh_agent_closed);
}

static void ssh_agent_end(struct ssh_agent_question *question, const char *problem)
{
    ssh_agent_fn *on_answer = question->on_answer;
    struct ssh_reader reader = { (unsigned char *)question->answer.data, question->answer.length,
                                 false };
    if (!on_answer)
        return;
    struct ssh_bytes answer = problem ? (struct ssh_bytes){ 0 } : ssh_get_string(&reader);
    ssh_agent_cancel(question);
    on_answer(question->context, answer, problem);
}

static void on_ssh_agent_timer(uv_timer_t *timer)
{
    struct ssh_agent_question *question = timer->data;
    ssh_agent_end(question, question->problem ? question->problem : "no answer within 2 s");
}

/* ---- asking ---- */

static void on_ssh_agent_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct ssh_agent_question *question = handle->data;
    (void)suggested;
    *buffer = uv_buf_init(text_buffer_reserve(&question->answer, 4096), 4096);
}

/* The length of the answer, including its length field; 0 while unknown. */
static size_t wanted(const struct text_buffer *answer)
{
    struct ssh_reader reader = { (unsigned char *)answer->data, answer->length, false };
    uint32_t length = ssh_get_u32(&reader);
    return reader.failed ? 0 : (size_t)length + 4;
}

static void on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buffer)
{
    struct ssh_agent_question *question = stream->data;
    (void)buffer;
    if (nread < 0) {
        ssh_agent_end(question,
                      nread == UV_EOF ? "hung up without an answer" : uv_strerror((int)nread));
        return;
    }
    question->answer.length += (size_t)nread;
    size_t length = wanted(&question->answer);
    if (length > ANSWER_BYTES)
        ssh_agent_end(question, "an answer that is too long");
    else if (length > 0 && question->answer.length >= length)
        ssh_agent_end(question, NULL);
}

static void on_ssh_agent_written(uv_write_t *write, int status)
{
    if (status < 0)
        ssh_agent_end(write->data, uv_strerror(status));
}

static void on_connect(uv_connect_t *connect, int status)
{
    struct ssh_agent_question *question = connect->data;
    if (!question->on_answer)
        return;
    if (status < 0) {
        ssh_agent_end(question, uv_strerror(status));
        return;
    }
    uv_buf_t buffer = uv_buf_init(question->question.data, (unsigned)question->question.length);
    uv_stream_t *stream = (uv_stream_t *)&question->pipe;
    uv_read_start(stream, on_ssh_agent_alloc, on_read);
    int rc = uv_write(&question->write, stream, &buffer, 1, on_ssh_agent_written);
    if (rc < 0)
        ssh_agent_end(question, uv_strerror(rc));
}

static struct ssh_agent_question *question_create(uv_loop_t *loop, ssh_agent_fn *on_answer,
                                                  void *context)
{
    struct ssh_agent_question *question = xcalloc(1, sizeof *question);
    question->on_answer = on_answer;
    question->context = context;
    uv_must(uv_pipe_init(loop, &question->pipe, 0), "socket");
    uv_must(uv_timer_init(loop, &question->timer), "timer");
    question->pipe.data = question->timer.data = question;
    question->connect.data = question->write.data = question;
    question->open_handles = 2;
    return question;
}

static struct ssh_agent_question *ssh_agent_ask(struct ssh_agent_question *question,
                                                const char *path)
{
    unsigned deadline_ms = DEADLINE_MS;
    struct sockaddr_un address;
    if (strlen(path) >= sizeof address.sun_path) {
        question->problem = "the path is too long for a socket";
        deadline_ms = 0;
    } else {
        uv_pipe_connect(&question->connect, &question->pipe, path, on_connect);
    }
    uv_timer_start(&question->timer, on_ssh_agent_timer, deadline_ms, 0);
    return question;
}

struct ssh_agent_question *ssh_agent_ask_keys(uv_loop_t *loop, const char *path,
                                              ssh_agent_fn *on_answer, void *context)
{
    struct ssh_agent_question *question = question_create(loop, on_answer, context);
    ssh_put_u32(&question->question, 1);
    ssh_put_u8(&question->question, ASK_KEYS);
    return ssh_agent_ask(question, path);
}

/*  string session id   u8 50   string user   string service   string "publickey"   u8 1
 *  string algorithm    string public key */
struct ssh_bytes ssh_agent_algorithm(struct ssh_bytes data)
{
    struct ssh_reader reader = { data.data, data.length, false };
    ssh_get_string(&reader);
    uint8_t type = ssh_get_u8(&reader);
    ssh_get_string(&reader);
    ssh_get_string(&reader);
    struct ssh_bytes method = ssh_get_string(&reader);
    ssh_get_u8(&reader);
    struct ssh_bytes algorithm = ssh_get_string(&reader);
    bool good = !reader.failed && type == LOGIN_REQUEST && ssh_bytes_are(method, "publickey");
    return good ? algorithm : (struct ssh_bytes){ 0 };
}

/* An agent signs with SHA-1 by an RSA key unless it is asked for SHA-2. */
static uint32_t sign_flags(struct ssh_bytes algorithm)
{
    if (ssh_bytes_are(algorithm, "rsa-sha2-256"))
        return 2;
    return ssh_bytes_are(algorithm, "rsa-sha2-512") ? 4 : 0;
}

struct ssh_agent_question *ssh_agent_ask_signature(uv_loop_t *loop, const char *path,
                                                   struct ssh_bytes public, struct ssh_bytes data,
                                                   ssh_agent_fn *on_answer, void *context)
{
    struct ssh_agent_question *question = question_create(loop, on_answer, context);
    struct text_buffer *buffer = &question->question;
    ssh_put_u32(buffer, (uint32_t)(1 + 4 + public.length + 4 + data.length + 4));
    ssh_put_u8(buffer, ASK_SIGNATURE);
    ssh_put_string(buffer, public.data, public.length);
    ssh_put_string(buffer, data.data, data.length);
    ssh_put_u32(buffer, sign_flags(ssh_agent_algorithm(data)));
    return ssh_agent_ask(question, path);
}

/* ---- answers ---- */

uint32_t ssh_agent_read_keys(struct ssh_reader *reader, struct ssh_bytes answer)
{
    *reader = (struct ssh_reader){ answer.data, answer.length, false };
    uint8_t type = ssh_get_u8(reader);
    uint32_t count = ssh_get_u32(reader);
    return !reader->failed && type == KEYS ? count : 0;
}

void ssh_agent_read_key(struct ssh_reader *reader, struct ssh_bytes *public,
                        struct ssh_bytes *comment)
{
    *public = ssh_get_string(reader);
    *comment = ssh_get_string(reader);
}

struct ssh_bytes ssh_agent_read_signature(struct ssh_bytes answer, struct ssh_bytes type)
{
    struct ssh_reader reader = { answer.data, answer.length, false };
    uint8_t kind = ssh_get_u8(&reader);
    struct ssh_bytes signature = ssh_get_string(&reader);
    struct ssh_reader inside = { signature.data, signature.length, false };
    struct ssh_bytes signed_as = ssh_get_string(&inside);
    struct ssh_bytes bytes = ssh_get_string(&inside);
    bool good =
        kind == SIGNATURE && !reader.failed && !inside.failed && ssh_bytes_equal(signed_as, type);
    return good ? bytes : (struct ssh_bytes){ 0 };
}
