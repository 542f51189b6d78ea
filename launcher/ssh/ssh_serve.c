/* SPDX-License-Identifier: Apache-2.0 */
/* Orders in, libssh2, reports out; see ssh_serve.h.
 *
 *   SHAKE -> libssh2's handshake -> LOGIN_..., which may be repeated -> SHELL -> ssh_pump.h
 *
 * Ends with an error when an order is malformed, or comes while another one is being done. */
#include "launcher/ssh/ssh_serve.h"

#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "launcher/ssh/ssh_host_key_prefer.h"
#include "launcher/ssh/ssh_pump.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STATUS_BAD_ORDER = 70 };

/* idle -> shaking -> idle -> logging in -> idle -> starting the shell -> pumping */
enum serve_state { SERVE_IDLE, SERVE_SHAKING, SERVE_LOGIN, SERVE_SHELL, SERVE_PUMPING };

struct ssh_serve {
    uv_loop_t loop;
    struct ssh_serve_request request;
    uv_poll_t orders;
    enum serve_state state;
    struct ssh_session *session;
    LIBSSH2_CHANNEL *channel;
    struct ssh_pump *pump;
    struct ssh_report told; /* the last STATE */
    char *user;             /* of the login */
    struct text_buffer key; /* public, or the private one of a file */
    struct text_buffer signature;
    bool asks;        /* hvdrun has the data to be signed */
    bool cannot_sign; /* hvdrun has answered so */
    void *self;       /* given by libssh2 to on_serve_sign() */
};

/* ---- reports ---- */

static enum ssh_result result_of(int rc)
{
    switch (rc) {
    case 0:
        return SSH_RESULT_OK;
    case LIBSSH2_ERROR_KEX_FAILURE:
        return SSH_RESULT_NO_COMMON;
    case LIBSSH2_ERROR_AUTHENTICATION_FAILED:
    case LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED:
        return SSH_RESULT_REFUSED;
    default:
        return SSH_RESULT_ERROR;
    }
}

struct ssh_report ssh_serve_describe(const struct ssh_session *session, int rc)
{
    struct ssh_report report = { .result = result_of(rc), .code = rc };
    const char *lost = ssh_session_lost(session), *problem = ssh_session_problem(session);
    report.has_banner = ssh_session_has_banner(session);
    report.is_lost = lost != NULL;
    report.is_dismissed = ssh_session_dismissed(session);
    report.signs_sha2 = libssh2_version(0x010b00) != NULL;
    snprintf(report.version, sizeof report.version, "%s", libssh2_version(0));
    snprintf(report.noise, sizeof report.noise, "%s", ssh_session_noise(session));
    snprintf(report.lost, sizeof report.lost, "%s", lost ? lost : "");
    snprintf(report.problem, sizeof report.problem, "%s", problem ? problem : "");
    return report;
}

/* hvdrun always reads, unless it is stopped. Without hvdrun there is nothing left to do. */
static void serve_send(struct ssh_serve *serve, const struct ssh_report *report)
{
    struct pollfd writable = { .fd = serve->request.control, .events = POLLOUT };
    struct text_buffer message = { 0 };
    ssh_report_encode(&message, report);
    while (send(writable.fd, message.data, message.length, MSG_NOSIGNAL) < 0) {
        if (errno == EAGAIN)
            poll(&writable, 1, -1);
        else if (errno != EINTR)
            _exit(errno == EPIPE || errno == ECONNRESET ? 0 : STATUS_BAD_ORDER);
    }
    text_buffer_fini(&message);
}

static void serve_report(struct ssh_serve *serve, enum ssh_report_type type, int rc,
                         const void *data, size_t nbytes)
{
    struct ssh_report report = ssh_serve_describe(serve->session, rc);
    report.type = type;
    report.is_confined = serve->request.is_confined;
    report.bytes = (struct ssh_bytes){ data, nbytes };
    serve_send(serve, &report);
}

/* ---- exchange of keys ---- */

static void tell_state(struct ssh_serve *serve)
{
    struct ssh_report *told = &serve->told, now = ssh_serve_describe(serve->session, 0);
    if (now.has_banner == told->has_banner && strcmp(now.noise, told->noise) == 0)
        return;
    *told = now;
    serve_report(serve, SSH_REPORT_STATE, 0, NULL, 0);
}

static int try_shake(void *context, LIBSSH2_SESSION *ssh)
{
    struct ssh_serve *serve = context;
    int rc = libssh2_session_handshake(ssh, ssh_session_socket(serve->session));
    if (rc == LIBSSH2_ERROR_EAGAIN)
        tell_state(serve);
    return rc;
}

static void on_shaken(void *context, int rc)
{
    struct ssh_serve *serve = context;
    size_t nbytes = 0;
    int type;
    const char *key =
        rc == 0 ? libssh2_session_hostkey(ssh_session_libssh2(serve->session), &nbytes, &type)
                : NULL;
    serve->state = SERVE_IDLE;
    serve_report(serve, SSH_REPORT_SHAKEN, rc, key, key ? nbytes : 0);
}

static void serve_shake(struct ssh_serve *serve, struct ssh_bytes kinds)
{
    char *names = xstrndup((const char *)kinds.data, kinds.length);
    int rc = ssh_host_key_prefer(ssh_session_libssh2(serve->session), names);
    free(names);
    serve->state = SERVE_SHAKING;
    if (rc == 0) {
        ssh_session_run(serve->session, try_shake, on_shaken, serve);
        return;
    }
    struct ssh_report report = ssh_serve_describe(serve->session, rc);
    report.type = SSH_REPORT_SHAKEN;
    report.result = SSH_RESULT_LACKS;
    serve->state = SERVE_IDLE;
    serve_send(serve, &report);
}

/* ---- login ---- */

static void set_bytes(struct text_buffer *buffer, struct ssh_bytes bytes)
{
    if (buffer->data)
        sodium_memzero(buffer->data, buffer->capacity);
    buffer->length = 0;
    text_buffer_reserve(buffer, bytes.length + 1); /* now: to grow leaves a copy behind */
    text_buffer_put(buffer, bytes.data, bytes.length);
}

static int give_signature(struct ssh_serve *serve, unsigned char **signature, size_t *length)
{
    *length = serve->signature.length;
    *signature = ssh_session_allocate(serve->session, *length);
    if (!*signature)
        return LIBSSH2_ERROR_ALLOC;
    memcpy(*signature, serve->signature.data, *length);
    serve->signature.length = 0;
    return 0;
}

/* libssh2 calls again with the same data after EAGAIN. */
static int on_serve_sign(LIBSSH2_SESSION *ssh, unsigned char **signature, size_t *length,
                         const unsigned char *data, size_t nbytes, void **abstract)
{
    struct ssh_serve *serve = *abstract;
    (void)ssh;
    if (serve->cannot_sign)
        return LIBSSH2_ERROR_AGENT_PROTOCOL;
    if (serve->signature.length > 0)
        return give_signature(serve, signature, length);
    if (!serve->asks)
        serve_report(serve, SSH_REPORT_SIGN, 0, data, nbytes);
    serve->asks = true;
    return LIBSSH2_ERROR_EAGAIN;
}

static void serve_signature(struct ssh_serve *serve, struct ssh_bytes signature)
{
    serve->asks = false;
    serve->cannot_sign = signature.length == 0;
    set_bytes(&serve->signature, signature);
    ssh_session_again(serve->session);
}

static int try_agent(void *context, LIBSSH2_SESSION *ssh)
{
    struct ssh_serve *serve = context;
    int rc = libssh2_userauth_publickey(ssh, serve->user, (unsigned char *)serve->key.data,
                                        serve->key.length, on_serve_sign, &serve->self);
    return rc == LIBSSH2_ERROR_EAGAIN && serve->asks ? SSH_WAIT : rc;
}

static int try_file(void *context, LIBSSH2_SESSION *ssh)
{
    struct ssh_serve *serve = context;
    return libssh2_userauth_publickey_frommemory(ssh, serve->user, strlen(serve->user), NULL, 0,
                                                 serve->key.data, serve->key.length, NULL);
}

static void on_tried(void *context, int rc)
{
    struct ssh_serve *serve = context;
    set_bytes(&serve->key, (struct ssh_bytes){ 0 });
    serve->state = SERVE_IDLE;
    serve_report(serve, SSH_REPORT_TRIED, rc, NULL, 0);
}

static void serve_login(struct ssh_serve *serve, const struct ssh_order *order)
{
    free(serve->user);
    serve->user = xstrndup((const char *)order->first.data, order->first.length);
    set_bytes(&serve->key, order->second);
    *text_buffer_reserve(&serve->key, 1) = '\0'; /* behind the key, as ssh_key_file.c has it */
    set_bytes(&serve->signature, (struct ssh_bytes){ 0 });
    serve->asks = serve->cannot_sign = false;
    serve->state = SERVE_LOGIN;
    ssh_session_run(serve->session, order->type == SSH_ORDER_LOGIN_AGENT ? try_agent : try_file,
                    on_tried, serve);
}

/* ---- the channel ---- */

static void on_serve_stderr(void *context, const char *data, size_t length)
{
    serve_report(context, SSH_REPORT_STDERR, 0, data, length);
}

static void on_serve_pump_end(void *context, const char *text, bool lost)
{
    struct ssh_serve *serve = context;
    struct ssh_report report = ssh_serve_describe(serve->session, 0);
    report.type = SSH_REPORT_ENDED;
    report.code = lost;
    report.bytes = (struct ssh_bytes){ (const unsigned char *)text, strlen(text) };
    serve_send(serve, &report);
}

static int try_exec(void *context, LIBSSH2_SESSION *ssh)
{
    struct ssh_serve *serve = context;
    (void)ssh;
    return libssh2_channel_exec(serve->channel, "/bin/sh");
}

static void on_exec(void *context, int rc)
{
    static const struct ssh_pump_events events = { on_serve_stderr, on_serve_pump_end };
    struct ssh_serve *serve = context;
    serve_report(serve, SSH_REPORT_SHELL, rc, NULL, 0);
    serve->state = rc == 0 ? SERVE_PUMPING : SERVE_IDLE;
    if (rc != 0)
        return;
    serve->pump = ssh_pump_start(&serve->loop, serve->session, serve->channel,
                                 serve->request.stream, &events, serve);
}

static int try_channel(void *context, LIBSSH2_SESSION *ssh)
{
    static const char type[] = "session";
    struct ssh_serve *serve = context;
    serve->channel = libssh2_channel_open_ex(ssh, type, sizeof type - 1, SSH_PUMP_WINDOW,
                                             SSH_PUMP_PACKET, NULL, 0);
    return serve->channel ? 0 : libssh2_session_last_errno(ssh);
}

static void on_channel(void *context, int rc)
{
    struct ssh_serve *serve = context;
    if (rc != 0) {
        serve->state = SERVE_IDLE;
        serve_report(serve, SSH_REPORT_SHELL, rc, NULL, 0);
        return;
    }
    ssh_session_set_channel(serve->session, serve->channel);
    ssh_session_run(serve->session, try_exec, on_exec, serve);
}

/* ---- orders ---- */

static void serve_obey(struct ssh_serve *serve, const struct ssh_order *order)
{
    bool signs = order->type == SSH_ORDER_SIGNATURE;
    if (signs ? !serve->asks : serve->state != SERVE_IDLE)
        _exit(STATUS_BAD_ORDER);
    switch (order->type) {
    case SSH_ORDER_SHAKE:
        serve_shake(serve, order->first);
        break;
    case SSH_ORDER_SIGNATURE:
        serve_signature(serve, order->first);
        break;
    case SSH_ORDER_SHELL:
        serve->state = SERVE_SHELL;
        ssh_session_run(serve->session, try_channel, on_channel, serve);
        break;
    default:
        serve_login(serve, order);
    }
}

/* hvdrun has hung up. The host hears it, if that needs no waiting. */
static void serve_end(struct ssh_serve *serve)
{
    ssh_pump_close(serve->pump);
    ssh_session_close(serve->session);
    set_bytes(&serve->key, (struct ssh_bytes){ 0 });
    uv_stop(&serve->loop);
}

static void on_serve_order(uv_poll_t *handle, int status, int events)
{
    static unsigned char message[SSH_MESSAGE_BYTES];
    struct ssh_serve *serve = handle->data;
    struct ssh_order order;
    (void)status, (void)events;
    ssize_t n = recv(serve->request.control, message, sizeof message, MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        uv_poll_stop(handle);
        serve_end(serve);
        return;
    }
    if (n > (ssize_t)sizeof message ||
        !ssh_order_decode(&order, (struct ssh_bytes){ message, (size_t)n }))
        _exit(STATUS_BAD_ORDER);
    serve_obey(serve, &order);
    sodium_memzero(message, (size_t)n);
}

int ssh_serve(const struct ssh_serve_request *request)
{
    struct ssh_serve *serve = xcalloc(1, sizeof *serve);
    serve->request = *request;
    serve->self = serve;
    uv_must(uv_loop_init(&serve->loop), "event loop");
    serve->session = ssh_session_create(&serve->loop, request->socket);
    uv_must(uv_poll_init(&serve->loop, &serve->orders, request->control), "socket");
    serve->orders.data = serve;
    uv_must(uv_poll_start(&serve->orders, UV_READABLE, on_serve_order), "socket");
    uv_run(&serve->loop, UV_RUN_DEFAULT);
    return 0;
}
