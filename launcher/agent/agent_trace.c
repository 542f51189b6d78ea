/* SPDX-License-Identifier: Apache-2.0 */
/* The way of one rank's frames, and its limits; see agent_trace.h. */
#include "launcher/agent/agent_trace.h"

#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "launcher/process/process_handle.h"
#include "launcher/process/process_place.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Limits of the answer of Python, of a debugger and of its end by SIGKILL; bytes of output. */
enum {
    PYTHON_MS = 1500,
    DEBUGGER_MS = 4000,
    DEBUGGER_END_MS = 2000,
    DEBUGGER_CHECK_MS = 20,
    OUTPUT_MAX = 256 * 1024
};

static void trace_natively(struct agent_trace *trace);

static void on_trace_closed(uv_handle_t *handle)
{
    struct agent_trace *trace = handle->data;
    if (--trace->open_handles > 0)
        return;
    for (int i = 0; i < TRACE_SOURCES; i++)
        text_buffer_fini(&trace->output[i]);
    free(trace);
}

static void trace_close_pipe(struct agent_trace *trace)
{
    uv_handle_t *pipe = (uv_handle_t *)&trace->pipes[trace->source];
    if (pipe->data && !uv_is_closing(pipe))
        uv_close(pipe, on_trace_closed);
}

static void trace_leave(struct agent_trace *trace)
{
    *trace->link = trace->next;
    if (trace->next)
        trace->next->link = trace->link;
    trace->agent->stacks.ntraces--;
    trace_close_pipe(trace);
    uv_close((uv_handle_t *)&trace->limit, on_trace_closed);
}

static void trace_end(struct agent_trace *trace)
{
    struct agent *agent = trace->agent;
    agent_trace_answer(trace);
    trace_leave(trace);
    agent_stacks_advance(agent);
}

/* A debugger that is killed between PTRACE_ATTACH and the stop of the process leaves the stop
 * signal behind: SIGCONT takes it back, but only when the debugger is no more. The process was not
 * stopped when the debugger was started. */
static void on_trace_dying(uv_timer_t *timer)
{
    struct agent_trace *trace = timer->data;
    char state = trace->reaped ? 0 : process_state(trace->debugger);
    trace->dying_ms += DEBUGGER_CHECK_MS;
    if (state != 0 && state != 'Z' && state != 'X' && trace->dying_ms < DEBUGGER_END_MS)
        return;
    if (!trace->agent->ranks.suspended)
        kill(trace->pid, SIGCONT);
    trace_end(trace);
}

/* Kills the debugger, and ends the trace when it is gone. Does nothing the second time. */
static void trace_kill_debugger(struct agent_trace *trace)
{
    if (trace->killed)
        return;
    trace->killed = true;
    trace_close_pipe(trace);
    agent_trace_signal_debugger(trace);
    uv_timer_start(&trace->limit, on_trace_dying, DEBUGGER_CHECK_MS, DEBUGGER_CHECK_MS);
}

/* The source has no more to say. */
static void trace_source_over(struct agent_trace *trace)
{
    trace_close_pipe(trace);
    uv_timer_stop(&trace->limit);
    if (trace->source == TRACE_PYTHON)
        trace_natively(trace);
    else
        trace_end(trace);
}

static void on_trace_limit(uv_timer_t *timer)
{
    struct agent_trace *trace = timer->data;
    if (trace->source == TRACE_PYTHON) {
        trace_source_over(trace);
        return;
    }
    snprintf(trace->problem, sizeof trace->problem, "the debugger took longer than %d s",
             DEBUGGER_MS / 1000);
    trace_kill_debugger(trace);
}

static void on_trace_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct agent_trace *trace = handle->data;
    (void)suggested;
    *buffer = uv_buf_init(text_buffer_reserve(&trace->output[trace->source], 4096), 4096);
}

static void on_trace_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buffer)
{
    struct agent_trace *trace = stream->data;
    (void)buffer;
    if (nread > 0)
        trace->output[trace->source].length += (size_t)nread;
    bool full = trace->output[trace->source].length >= OUTPUT_MAX;
    if (full && trace->debugger)
        trace_kill_debugger(trace);
    else if (nread < 0 || full)
        trace_source_over(trace);
}

/* Reads from a descriptor, which the pipe owns from now on, until its end. */
static void trace_read(struct agent_trace *trace, int fd, unsigned limit_ms)
{
    uv_pipe_t *pipe = &trace->pipes[trace->source];
    uv_must(uv_pipe_init(trace->agent->loop, pipe, 0), "pipes");
    pipe->data = trace;
    trace->open_handles++;
    uv_must(uv_pipe_open(pipe, fd), "pipes");
    uv_must(uv_read_start((uv_stream_t *)pipe, on_trace_alloc, on_trace_read), "pipes");
    uv_timer_start(&trace->limit, on_trace_limit, limit_ms, 0);
}

static void trace_natively(struct agent_trace *trace)
{
    trace->source = TRACE_NATIVE;
    char state = process_state(trace->pid);
    if (state == 'T')
        snprintf(trace->problem, sizeof trace->problem, "stopped by a signal");
    else if (state == 'D')
        snprintf(trace->problem, sizeof trace->problem, "a debugger would wait for the kernel");
    int fd = *trace->problem || !state ? -1 : agent_trace_start_debugger(trace);
    if (fd >= 0)
        trace_read(trace, fd, DEBUGGER_MS);
    else
        trace_end(trace);
}

/* The socket of python/hvd/_stacks.c: connects at once, or nobody listens. The process itself must
 * be the one who listens. */
static int connect_python(pid_t pid)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct ucred peer;
    socklen_t size = sizeof peer;
    int length =
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "hvd-stacks-%d", (int)pid);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t used = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, used) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == pid)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

void agent_trace_start(struct agent *agent, const struct agent_rank *rank)
{
    struct agent_trace *trace = xcalloc(1, sizeof *trace);
    trace->agent = agent;
    trace->rank = rank->rank;
    trace->pid = process_of_rank(rank->pid);
    uv_must(uv_timer_init(agent->loop, &trace->limit), "timers");
    trace->limit.data = trace;
    trace->open_handles = 1;
    trace->next = agent->stacks.first;
    trace->link = &agent->stacks.first;
    if (trace->next)
        trace->next->link = &trace->next;
    agent->stacks.first = trace;
    agent->stacks.ntraces++;
    /* A process that is stopped would not answer. */
    int fd = process_state(trace->pid) == 'T' ? -1 : connect_python(trace->pid);
    if (fd >= 0)
        trace_read(trace, fd, PYTHON_MS);
    else
        trace_natively(trace);
}

void agent_trace_expire(struct agent_trace *trace)
{
    if (!*trace->problem)
        snprintf(trace->problem, sizeof trace->problem, "no time was left");
    if (trace->debugger)
        trace_kill_debugger(trace);
    else
        trace_end(trace);
}

void agent_trace_close(struct agent_trace *trace)
{
    if (trace->debugger)
        agent_trace_signal_debugger(trace);
    trace_leave(trace);
}
