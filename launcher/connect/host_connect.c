/* SPDX-License-Identifier: Apache-2.0 */
/* Reaching one host; see reach.h. When its turn comes a way is opened; a way may hand over to
 * another. What is local is reached then; elsewhere /bin/sh is greeted first (greeting_run.h).
 * Fails when the way does, when the greeting does or its stream ends, and at the deadline, naming
 * the step, unless hvdagent is being sent by then. A way is closed in a turn of its own, since it may be inside one of its calls to us. */
#include "launcher/connect/host_connect_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long the end of a way is waited for that has broken its stream off; how many lines that a host
 * says on stderr are told. */
enum { WAY_END_MS = 1000, LINES_TOLD = 200 };

/* ---- the way ---- */

static bool is_under_way(const struct reach *reach)
{
    return reach->phase == REACH_OPENING || reach->phase == REACH_GREETING;
}

static void set_step(struct reach *reach, enum host_step step)
{
    if (step == reach->step)
        return;
    reach->step = step;
    reach->events.on_step(reach->context, step);
}

static void open_way(struct reach *reach, const struct reach_way *way)
{
    reach->way = way;
    reach->next = NULL;
    reach->way_state = way->open(&reach->job);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct reach *reach = handle->data;
    if (--reach->open_timers > 0)
        return;
    void (*on_closed)(void *context) = reach->on_closed;
    void *context = reach->closed_context;
    reach->pool->nopen--;
    free(reach->command);
    free(reach);
    if (on_closed)
        on_closed(context);
}

static void free_later(struct reach *reach)
{
    uv_close((uv_handle_t *)&reach->turn, on_timer_closed);
    uv_close((uv_handle_t *)&reach->deadline, on_timer_closed);
}

static void on_turn(uv_timer_t *timer)
{
    struct reach *reach = timer->data;
    void *state = reach->way_state;
    reach->way_state = NULL;
    if (state)
        reach->way->close(state);
    else if (!reach->way && reach->phase == REACH_CLOSING)
        free_later(reach);
}

/* `next` is what follows, or NULL. */
static void close_way(struct reach *reach, const struct reach_way *next)
{
    reach->next = next;
    if (!uv_is_closing((uv_handle_t *)&reach->turn))
        uv_timer_start(&reach->turn, on_turn, 0, 0);
}

void reach_way_closed(struct reach *reach)
{
    reach->way = NULL;
    if (reach->next && reach->phase == REACH_OPENING)
        open_way(reach, reach->next);
    else if (reach->phase == REACH_CLOSING)
        free_later(reach);
}

/* ---- how it ends ---- */

static void close_stream(struct reach *reach)
{
    if (!reach->owns_stream)
        return;
    reach->owns_stream = false;
    close(reach->reached.input);
    if (reach->reached.output != reach->reached.input)
        close(reach->reached.output);
}

/* Nothing more is done to reach it. */
static void give_up(struct reach *reach, enum reach_phase phase)
{
    reach->phase = phase;
    greeting_run_stop(reach->greeting);
    reach->greeting = NULL;
    close_stream(reach);
    uv_timer_stop(&reach->deadline);
    close_way(reach, NULL);
    reach_pool_turn_over(reach->pool, reach);
}

static void fail_reach(struct reach *reach, int exit_status, const char *text)
{
    enum host_step step = reach->step;
    give_up(reach, REACH_FAILED);
    reach->events.on_failed(reach->context, step, exit_status, text);
}

static void on_deadline(uv_timer_t *timer)
{
    struct reach *reach = timer->data;
    char text[200];
    snprintf(text, sizeof text, "not reached within %g s",
             (double)reach->pool->settings->timeout_ms / 1000);
    fail_reach(reach, STATUS_UNREACHABLE, text);
}

static void tell_process_end(struct reach *reach)
{
    if (reach->phase == REACH_REACHED && reach->process_ended)
        reach->events.on_process_end(reach->context, reach->process_status);
}

static void succeed(struct reach *reach)
{
    reach->phase = REACH_REACHED;
    reach->owns_stream = false;
    reach->handed_over = true;
    reach->said = (struct reach_stderr){ 0 }; /* what is said from now on is hvdagent's */
    reach->nlines = 0;
    uv_timer_stop(&reach->deadline);
    reach_pool_turn_over(reach->pool, reach);
    reach->events.on_reached(reach->context, &reach->reached);
    tell_process_end(reach);
}

/* ---- the greeting ---- */

/* A command has reached the host, as we see now. */
static void on_answer(void *context)
{
    set_step(context, STEP_AGENT);
}

/* At its own pace: only the caller's time for all hosts counts now. */
static void on_send(void *context)
{
    struct reach *reach = context;
    uv_timer_stop(&reach->deadline);
}

static void on_greeted(void *context)
{
    struct reach *reach = context;
    greeting_run_stop(reach->greeting);
    reach->greeting = NULL;
    succeed(reach);
}

static void on_greeting_failed(void *context, const char *text)
{
    fail_reach(context, STATUS_UNREACHABLE, text);
}

/* Both the stream and the way have ended, or the way takes too long over it. */
static void fail_at_end(struct reach *reach)
{
    char text[1000];
    const char *why = reach->end_text;
    if (!*why)
        why = reach_stderr_last(&reach->said);
    const char *what = reach->step == STEP_AGENT ? "hvdagent was not started" : "not reached";
    snprintf(text, sizeof text, "%s%s%s%s%s%s", what, *why ? ": " : "", why,
             *reach->answer ? "; the host says '" : "", reach->answer, *reach->answer ? "'" : "");
    fail_reach(reach, STATUS_UNREACHABLE, text);
}

static void on_way_late(uv_timer_t *timer)
{
    fail_at_end(timer->data);
}

static void on_greeting_end(void *context, const char *said)
{
    struct reach *reach = context;
    snprintf(reach->answer, sizeof reach->answer, "%s", said);
    reach->stream_ended = true;
    if (reach->way_ended)
        fail_at_end(reach);
    else
        uv_timer_start(&reach->deadline, on_way_late, WAY_END_MS, 0);
}

/* ---- what a way tells ---- */

void reach_way_step(struct reach *reach, enum host_step step)
{
    if (reach->phase == REACH_OPENING)
        set_step(reach, step);
}

void reach_way_note(struct reach *reach, bool important, const char *text)
{
    if (is_under_way(reach) || reach->phase == REACH_REACHED)
        reach->events.on_note(reach->context, important, text);
}

void reach_way_opened(struct reach *reach, const struct reached *reached)
{
    static const struct greeting_run_events events = { on_answer, on_send, on_greeted,
                                                       on_greeting_failed, on_greeting_end };
    reach->reached = *reached;
    reach->owns_stream = true;
    if (reach->phase != REACH_OPENING) {
        close_stream(reach);
        return;
    }
    reach->phase = REACH_GREETING;
    if (reached->local || !reached->pid) /* else a command still connects */
        set_step(reach, STEP_AGENT);
    if (reach->phase != REACH_GREETING) /* closed while it heard that */
        return;
    if (reached->local) {
        succeed(reach);
        return;
    }
    struct err err = { 0 };
    reach->greeting = greeting_run_start(reach->pool->loop, reached->input, reached->output,
                                         reach->pool->settings->agent, &events, reach, &err);
    if (!reach->greeting)
        fail_reach(reach, STATUS_RESOURCE, err.text);
}

/* With what was said last, if there is something. */
void reach_way_failed(struct reach *reach, int exit_status, const char *text)
{
    char longer[800];
    const char *said = reach_stderr_last(&reach->said);
    if (reach->phase != REACH_OPENING)
        return;
    snprintf(longer, sizeof longer, "%s%s%s", text, *said ? ": " : "", said);
    fail_reach(reach, exit_status, longer);
}

static void on_stderr_line(void *context, const char *line)
{
    struct reach *reach = context;
    if (reach->nlines > LINES_TOLD)
        return;
    if (reach->nlines++ == LINES_TOLD)
        line = "says more on stderr, which is not shown";
    reach_way_note(reach, reach->phase == REACH_REACHED, line);
}

void reach_way_stderr(struct reach *reach, const char *data, size_t length)
{
    reach_stderr_feed(&reach->said, data, length, on_stderr_line, reach);
}

void reach_way_ended(struct reach *reach, const char *text)
{
    reach_way_stderr(reach, "\n", 1);
    const char *said = reach_stderr_last(&reach->said);
    reach->way_ended = true;
    snprintf(reach->end_text, sizeof reach->end_text, "%s%s%s", text, *text && *said ? ": " : "",
             said);
    if (reach->phase == REACH_GREETING && reach->stream_ended)
        fail_at_end(reach);
}

void reach_way_process_end(struct reach *reach, int wait_status)
{
    reach->process_ended = true;
    reach->process_status = wait_status;
    tell_process_end(reach);
}

void reach_way_is_local(struct reach *reach)
{
    if (reach->phase == REACH_OPENING)
        close_way(reach, &reach_local_way);
}

void reach_way_needs_command(struct reach *reach, const char *command, const char *why)
{
    if (reach->phase != REACH_OPENING)
        return;
    free(reach->command);
    reach->command = xstrdup(command);
    close_way(reach, &reach_command_way);
    reach->events.on_note(reach->context, true, why);
}

const char *reach_way_command(const struct reach *reach, bool *users_own)
{
    *users_own = !reach->command;
    return reach->command ? reach->command : reach->pool->settings->remote_shell;
}

bool reach_way_is_reached(const struct reach *reach)
{
    return reach->handed_over;
}

bool reach_way_is_own_address(struct reach *reach, const struct sockaddr *address)
{
    return local_host_has_address(&reach->pool->self, address);
}

/* ---- what the user of hosts asks for ---- */

void reach_begin(struct reach *reach)
{
    reach->phase = REACH_OPENING;
    uv_timer_start(&reach->deadline, on_deadline, reach->pool->settings->timeout_ms, 0);
    open_way(reach, reach_pool_choose(reach->pool, &reach->target));
}

struct reach *reach_start(struct reach_pool *pool, const struct reach_target *target,
                          const struct reach_events *events, void *context)
{
    struct reach *reach = xcalloc(1, sizeof *reach);
    reach->pool = pool;
    reach->target = *target;
    reach->job =
        (struct reach_job){ pool->loop, pool->settings, &reach->target, pool->children, reach };
    reach->events = *events;
    reach->context = context;
    uv_must(uv_timer_init(pool->loop, &reach->turn), "timers");
    uv_must(uv_timer_init(pool->loop, &reach->deadline), "timers");
    reach->turn.data = reach->deadline.data = reach;
    reach->open_timers = 2;
    reach_pool_add(pool, reach);
    return reach;
}

const char *reach_end_text(const struct reach *reach)
{
    return reach->end_text;
}

uint64_t reach_acknowledged(const struct reach *reach)
{
    bool knows = reach->phase == REACH_REACHED && reach->way && reach->way->acknowledged;
    return knows && reach->way_state ? reach->way->acknowledged(reach->way_state) : 0;
}

void reach_close(struct reach *reach, void (*on_closed)(void *context), void *context)
{
    if (!reach)
        return;
    reach->on_closed = on_closed;
    reach->closed_context = context;
    give_up(reach, REACH_CLOSING);
}
