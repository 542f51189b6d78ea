/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting to one host; see host_connect.h. When the turn of the host comes, a transport is
 * opened; a transport may hand over to another. A local host is then connected; on another machine
 * the bootstrap of hvdagent follows (agent_bootstrap_run.h). Fails when the transport fails, when
 * the bootstrap fails or its stream ends, and at the deadline, naming the step, unless hvdagent is
 * being sent by then. A transport is closed in a later iteration of the loop, since it may be
 * inside one of its calls to us. */
#include "launcher/connect/host_connect_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long to wait for the end of a transport whose stream has ended; how many lines of a host's
 * stderr are passed on. */
enum { TRANSPORT_END_MS = 1000, LINES_TOLD = 200 };

/* ---- the transport ---- */

static bool is_under_way(const struct host_connect *connect)
{
    return connect->phase == CONNECT_OPENING || connect->phase == CONNECT_BOOTSTRAP;
}

static void set_step(struct host_connect *connect, enum host_step step)
{
    if (step == connect->step)
        return;
    connect->step = step;
    connect->events.on_step(connect->context, step);
}

static void open_transport(struct host_connect *connect, const struct host_transport *transport)
{
    connect->transport = transport;
    connect->next = NULL;
    connect->transport_state = transport->open(&connect->job);
}

static void on_host_connect_timer_closed(uv_handle_t *handle)
{
    struct host_connect *connect = handle->data;
    if (--connect->open_timers > 0)
        return;
    void (*on_closed)(void *context) = connect->on_closed;
    void *context = connect->closed_context;
    connect->pool->nopen--;
    free(connect->command);
    free(connect);
    if (on_closed)
        on_closed(context);
}

static void free_later(struct host_connect *connect)
{
    uv_close((uv_handle_t *)&connect->turn, on_host_connect_timer_closed);
    uv_close((uv_handle_t *)&connect->deadline, on_host_connect_timer_closed);
}

static void on_host_connect_turn(uv_timer_t *timer)
{
    struct host_connect *connect = timer->data;
    void *state = connect->transport_state;
    connect->transport_state = NULL;
    if (state)
        connect->transport->close(state);
    else if (!connect->transport && connect->phase == CONNECT_CLOSING)
        free_later(connect);
}

/* `next` is the transport to open afterwards, or NULL. */
static void close_transport(struct host_connect *connect, const struct host_transport *next)
{
    connect->next = next;
    if (!uv_is_closing((uv_handle_t *)&connect->turn))
        uv_timer_start(&connect->turn, on_host_connect_turn, 0, 0);
}

/* Waits for a turn to be connected from here. */
static void host_connect_queue(struct host_connect *connect)
{
    connect->retries = false;
    connect->target.below = false;
    connect->target.tunnels = NULL;
    connect->stream_ended = connect->transport_ended = false;
    connect->said = (struct connect_stderr){ 0 };
    connect->nlines = 0;
    *connect->end_text = *connect->answer = '\0';
    connect->phase = CONNECT_WAITING;
    connect_queue_add(connect->pool, connect);
}

void host_transport_closed(struct host_connect *connect)
{
    connect->transport = NULL;
    if (connect->retries && connect->phase == CONNECT_WAITING)
        host_connect_queue(connect);
    else if (connect->next && connect->phase == CONNECT_OPENING)
        open_transport(connect, connect->next);
    else if (connect->phase == CONNECT_CLOSING)
        free_later(connect);
}

/* ---- the end ---- */

static void close_stream(struct host_connect *connect)
{
    if (!connect->owns_stream)
        return;
    connect->owns_stream = false;
    close(connect->stream.input);
    if (connect->stream.output != connect->stream.input)
        close(connect->stream.output);
}

/* Stops connecting. */
static void host_connect_give_up(struct host_connect *connect, enum connect_phase phase)
{
    connect->phase = phase;
    agent_bootstrap_run_stop(connect->bootstrap);
    connect->bootstrap = NULL;
    close_stream(connect);
    uv_timer_stop(&connect->deadline);
    close_transport(connect, NULL);
    connect_queue_turn_over(connect->pool, connect);
}

/* The host above cannot connect to this one: tries again from here. */
static void fall_back(struct host_connect *connect, const char *text)
{
    agent_bootstrap_run_stop(connect->bootstrap);
    connect->bootstrap = NULL;
    close_stream(connect);
    uv_timer_stop(&connect->deadline);
    connect->phase = CONNECT_WAITING;
    connect->retries = true;
    close_transport(connect, NULL);
    connect->events.on_fall_back(connect->context, text);
}

static void fail_connect(struct host_connect *connect, int exit_status, const char *text)
{
    enum host_step step = connect->step;
    if (connect->target.tunnels) {
        fall_back(connect, text);
        return;
    }
    host_connect_give_up(connect, CONNECT_FAILED);
    connect->events.on_failed(connect->context, step, exit_status, text);
}

static void on_host_connect_deadline(uv_timer_t *timer)
{
    struct host_connect *connect = timer->data;
    char text[200];
    snprintf(text, sizeof text, "not reached within %g s",
             (double)connect->pool->settings->timeout_ms / 1000);
    fail_connect(connect, STATUS_UNREACHABLE, text);
}

static void tell_process_end(struct host_connect *connect)
{
    if (connect->phase == CONNECT_DONE && connect->process_ended)
        connect->events.on_process_end(connect->context, connect->process_status);
}

static void succeed(struct host_connect *connect)
{
    connect->phase = CONNECT_DONE;
    connect->owns_stream = false;
    connect->handed_over = true;
    connect->said = (struct connect_stderr){ 0 }; /* lines from now on are hvdagent's */
    connect->nlines = 0;
    uv_timer_stop(&connect->deadline);
    connect_queue_turn_over(connect->pool, connect);
    connect->events.on_connected(connect->context, &connect->stream);
    tell_process_end(connect);
}

/* ---- the bootstrap ---- */

/* /bin/sh has answered, so a command has connected. */
static void on_host_connect_answer(void *context)
{
    set_step(context, STEP_AGENT);
}

/* The limit of this host ends; only the caller's limit for all hosts counts now. */
static void on_host_connect_send(void *context)
{
    struct host_connect *connect = context;
    uv_timer_stop(&connect->deadline);
}

static void on_bootstrap_done(void *context)
{
    struct host_connect *connect = context;
    agent_bootstrap_run_stop(connect->bootstrap);
    connect->bootstrap = NULL;
    succeed(connect);
}

static void on_bootstrap_failed(void *context, const char *text)
{
    fail_connect(context, STATUS_UNREACHABLE, text);
}

/* Both the stream and the transport have ended, or the transport did not end in time. */
static void fail_at_end(struct host_connect *connect)
{
    char text[sizeof connect->end_text + 200];
    const char *why = connect->end_text;
    if (!*why)
        why = connect_stderr_last(&connect->said);
    const char *what = connect->step == STEP_AGENT ? "hvdagent was not started" : "not reached";
    snprintf(text, sizeof text, "%s%s%s%s%s%s", what, *why ? ": " : "", why,
             *connect->answer ? "; the host says '" : "", connect->answer,
             *connect->answer ? "'" : "");
    fail_connect(connect, STATUS_UNREACHABLE, text);
}

static void on_transport_late(uv_timer_t *timer)
{
    fail_at_end(timer->data);
}

static void on_bootstrap_end(void *context, const char *said)
{
    struct host_connect *connect = context;
    snprintf(connect->answer, sizeof connect->answer, "%s", said);
    connect->stream_ended = true;
    if (connect->transport_ended)
        fail_at_end(connect);
    else
        uv_timer_start(&connect->deadline, on_transport_late, TRANSPORT_END_MS, 0);
}

/* ---- calls of a transport ---- */

void host_transport_step(struct host_connect *connect, enum host_step step)
{
    if (connect->phase == CONNECT_OPENING)
        set_step(connect, step);
}

void host_transport_note(struct host_connect *connect, bool important, const char *text)
{
    if (is_under_way(connect) || connect->phase == CONNECT_DONE)
        connect->events.on_note(connect->context, important, text);
}

void host_transport_opened(struct host_connect *connect, const struct host_stream *stream)
{
    static const struct agent_bootstrap_run_events events = {
        on_host_connect_answer, on_host_connect_send, on_bootstrap_done, on_bootstrap_failed,
        on_bootstrap_end
    };
    connect->stream = *stream;
    connect->owns_stream = true;
    if (connect->phase != CONNECT_OPENING) {
        close_stream(connect);
        return;
    }
    connect->phase = CONNECT_BOOTSTRAP;
    bool command = stream->pid > 0 || stream->tunnel; /* it is still connecting */
    if (stream->local || stream->agent || !command)
        set_step(connect, STEP_AGENT);
    if (connect->phase != CONNECT_BOOTSTRAP) /* it was closed during the step callback */
        return;
    if (stream->local || stream->agent) {
        succeed(connect);
        return;
    }
    struct err err = { 0 };
    connect->bootstrap = agent_bootstrap_run_start(
        connect->pool->loop, stream->input, stream->output, stream->tunnel,
        connect->pool->settings->agent, &events, connect, &err);
    if (!connect->bootstrap)
        fail_connect(connect, STATUS_RESOURCE, err.text);
}

/* Appends the last line of stderr, if there is one. */
void host_transport_failed(struct host_connect *connect, int exit_status, const char *text)
{
    char longer[800];
    const char *said = connect_stderr_last(&connect->said);
    if (connect->phase != CONNECT_OPENING)
        return;
    snprintf(longer, sizeof longer, "%s%s%s", text, *said ? ": " : "", said);
    fail_connect(connect, exit_status, longer);
}

static void on_stderr_line(void *context, const char *line)
{
    struct host_connect *connect = context;
    if (connect->nlines > LINES_TOLD)
        return;
    if (connect->nlines++ == LINES_TOLD)
        line = "says more on stderr, which is not shown";
    host_transport_note(connect, connect->phase == CONNECT_DONE, line);
}

void host_transport_stderr(struct host_connect *connect, const char *data, size_t length)
{
    connect_stderr_feed(&connect->said, data, length, on_stderr_line, connect);
}

void host_transport_ended(struct host_connect *connect, const char *text)
{
    host_transport_stderr(connect, "\n", 1);
    char said[CONNECT_STDERR_TAIL_SIZE];
    connect_stderr_tail(&connect->said, said);
    connect->transport_ended = true;
    snprintf(connect->end_text, sizeof connect->end_text, "%s%s%s", text,
             *text && *said ? ": " : "", said);
    if (connect->phase == CONNECT_BOOTSTRAP && connect->stream_ended)
        fail_at_end(connect);
}

void host_transport_explain(struct host_connect *connect, const char *text, bool ends_job)
{
    connect->job_ends |= ends_job;
    snprintf(connect->end_text, sizeof connect->end_text, "%s", text);
}

void host_transport_process_end(struct host_connect *connect, int wait_status)
{
    connect->process_ended = true;
    connect->process_status = wait_status;
    tell_process_end(connect);
}

void host_transport_is_local(struct host_connect *connect)
{
    if (connect->phase == CONNECT_OPENING)
        close_transport(connect, &transport_local);
}

void host_transport_needs_command(struct host_connect *connect, const char *command,
                                  const char *why)
{
    if (connect->phase != CONNECT_OPENING)
        return;
    free(connect->command);
    connect->command = xstrdup(command);
    close_transport(connect, &transport_command);
    connect->events.on_note(connect->context, true, why);
}

const char *host_transport_command_text(const struct host_connect *connect, bool *users_own)
{
    *users_own = !connect->command;
    return connect->command ? connect->command : connect->pool->settings->remote_shell;
}

bool host_transport_is_connected(const struct host_connect *connect)
{
    return connect->handed_over;
}

void **host_transport_shared(struct host_connect *connect)
{
    return &connect->pool->shared;
}

bool host_transport_is_own_address(struct host_connect *connect, const struct sockaddr *address)
{
    return local_host_has_address(&connect->pool->self, address);
}

/* ---- calls of the user ---- */

void host_connect_begin(struct host_connect *connect)
{
    connect->phase = CONNECT_OPENING;
    uv_timer_start(&connect->deadline, on_host_connect_deadline,
                   connect->pool->settings->timeout_ms, 0);
    open_transport(connect, connect_queue_choose(connect->pool, &connect->target));
}

struct host_connect *host_connect_start(struct connect_queue *pool,
                                        const struct connect_target *target,
                                        const struct connect_events *events, void *context)
{
    struct host_connect *connect = xcalloc(1, sizeof *connect);
    connect->pool = pool;
    connect->target = *target;
    connect->job = (struct host_transport_job){ pool->loop, pool->settings, &connect->target,
                                                pool->children, connect };
    connect->events = *events;
    connect->context = context;
    uv_must(uv_timer_init(pool->loop, &connect->turn), "timers");
    uv_must(uv_timer_init(pool->loop, &connect->deadline), "timers");
    connect->turn.data = connect->deadline.data = connect;
    connect->open_timers = 2;
    pool->nopen++;
    if (!target->below)
        connect_queue_add(pool, connect);
    return connect;
}

void host_connect_through(struct host_connect *connect, struct tunnels *tunnels)
{
    if (connect->phase != CONNECT_WAITING || !connect->target.below || connect->target.tunnels)
        return;
    connect->target.tunnels = tunnels;
    host_connect_begin(connect);
}

void host_connect_directly(struct host_connect *connect)
{
    if (connect->phase == CONNECT_WAITING && connect->target.below && !connect->target.tunnels)
        host_connect_queue(connect);
}

const char *host_connect_end_text(const struct host_connect *connect)
{
    return connect->end_text;
}

const char *host_connect_job_end_text(const struct host_connect *connect)
{
    return connect->job_ends ? connect->end_text : "";
}

uint64_t host_connect_acknowledged(const struct host_connect *connect)
{
    bool knows =
        connect->phase == CONNECT_DONE && connect->transport && connect->transport->acknowledged;
    return knows && connect->transport_state
               ? connect->transport->acknowledged(connect->transport_state)
               : 0;
}

void host_connect_close(struct host_connect *connect, void (*on_closed)(void *context),
                        void *context)
{
    if (!connect)
        return;
    connect->on_closed = on_closed;
    connect->closed_context = context;
    host_connect_give_up(connect, CONNECT_CLOSING);
}
