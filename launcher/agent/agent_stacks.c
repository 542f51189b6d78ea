/* SPDX-License-Identifier: Apache-2.0 */
/* Where the ranks of this host stand (STACKS), a few ranks at a time. For each rank:
 *   the process of the rank -> its frames in Python -> its native frames -> STACK
 *
 * Python: the package hvd listens on an abstract socket under HVD_STACK_TRACES and answers with
 * what faulthandler prints; nobody listens in other programs. Native: eu-stack or gdb, which stops
 * the process for as long as it reads. Neither is used on a process that is stopped or that waits
 * in the kernel in state D: a debugger would wait for it.
 *
 * If there is no debugger, or it is refused (ptrace), fails, or takes longer than its limit, STACK
 * has what /proc shows, and why. A debugger that is killed may leave a stop signal behind, which
 * SIGCONT takes back. At the limit of the question all ranks that are left are answered from /proc
 * alone. Output beyond OUTPUT_MAX is cut.
 *
 * The kernel reports the exit of a process that is traced only when its debugger has let it go, or
 * has ended: the exit of a rank may be seen DEBUGGER_MS late, with its own status. */
#include "launcher/agent/agent_impl.h"

#include "launcher/base/text_buffer.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "launcher/process/process_handle.h"
#include "launcher/process/process_place.h"
#include "launcher/process/process_tree.h"
#include "launcher/process/program_find.h"
#include "launcher/process/spawn.h"
#include "launcher/process/stack_text.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Ranks that are looked at at the same time; limits of a question, of the answer of Python, of a
 * debugger and of its end by SIGKILL; bytes of output; threads reported for a rank. */
enum {
    TRACES_AT_ONCE = 4,
    QUESTION_MS = 7000,
    PYTHON_MS = 1500,
    DEBUGGER_MS = 4000,
    DEBUGGER_END_MS = 2000,
    DEBUGGER_CHECK_MS = 20,
    OUTPUT_MAX = 256 * 1024,
    THREADS_TOLD = 8
};

enum trace_source { TRACE_PYTHON, TRACE_NATIVE, TRACE_SOURCES };

struct agent_trace {
    struct agent *agent;
    int rank;
    pid_t pid;      /* the process that works for the rank */
    pid_t debugger; /* 0: none was started */
    bool reaped;    /* the debugger: its number may be another process's */
    bool killed;    /* the debugger, because it took too long or printed too much */
    int dying_ms;   /* since then */
    enum trace_source source;
    uv_pipe_t pipes[TRACE_SOURCES];
    struct text_buffer output[TRACE_SOURCES];
    uv_timer_t limit;
    int open_handles;
    char problem[200]; /* why there are no native frames; "" */
    struct agent_trace *next, **link;
};

static void stacks_advance(struct agent *agent);
static void trace_natively(struct agent_trace *trace);

/* ---- the answer ---- */

static void send_stack(struct agent *agent, int rank, const char *thread, const char *where)
{
    struct agent_stack stack = { .rank = rank };
    if (*thread)
        snprintf(stack.where, sizeof stack.where, "thread %s: %s", thread, where);
    else
        snprintf(stack.where, sizeof stack.where, "%s", where);
    agent_stack_encode(frame_link_begin(&agent->link, AGENT_STACK), &stack);
    frame_link_send(&agent->link);
}

static void send_place(struct agent *agent, int rank, pid_t pid, const char *problem)
{
    char place[1000], where[1300];
    process_place_text(pid, place, sizeof place);
    if (!*place)
        return; /* it has ended, which EXITED tells */
    snprintf(where, sizeof where, "%s (%s)", place, problem);
    send_stack(agent, rank, "", where);
}

/* The main thread of a process in Python is the last that faulthandler prints; the other threads
 * are told by what they do in Python. Of a program in another language, all but libhvd's own. */
static void send_threads(struct agent_trace *trace, const struct stacks *native,
                         const struct stacks *python)
{
    char where[1400], name[32];
    const struct stack_thread *main_thread = stacks_find(native, trace->pid);
    const struct stack_thread *last =
        python->count > 0 ? &python->threads[python->count - 1] : NULL;
    int told = 1;
    stack_where(main_thread, last, where, sizeof where);
    if (!native->count && *where) {
        size_t used = strlen(where);
        snprintf(where + used, sizeof where - used, " (no native frames: %s)", trace->problem);
    }
    if (*where)
        send_stack(trace->agent, trace->rank, "", where);
    else
        send_place(trace->agent, trace->rank, trace->pid,
                   *trace->problem ? trace->problem : "no function has a name");
    for (size_t i = 0; last && i + 1 < python->count && told < THREADS_TOLD; i++, told++) {
        stack_where(NULL, &python->threads[i], where, sizeof where);
        send_stack(trace->agent, trace->rank, "of Python", where);
    }
    for (size_t i = 0; !last && i < native->count && told < THREADS_TOLD; i++) {
        const struct stack_thread *thread = &native->threads[i];
        process_thread_name(trace->pid, thread->tid, name, sizeof name);
        stack_where(thread, NULL, where, sizeof where);
        if (thread == main_thread || strncmp(name, "hvd", 3) == 0 || !*where)
            continue;
        send_stack(trace->agent, trace->rank, *name ? name : "of another name", where);
        told++;
    }
}

/* What a debugger has printed instead of frames: its last line. */
static void take_last_line(struct agent_trace *trace)
{
    const struct text_buffer *output = &trace->output[TRACE_NATIVE];
    const char *text = output->data;
    size_t end = output->length, begin;
    while (end > 0 && text[end - 1] == '\n')
        end--;
    for (begin = end; begin > 0 && text[begin - 1] != '\n';)
        begin--;
    if (!*trace->problem)
        snprintf(trace->problem, sizeof trace->problem, "%.*s",
                 (int)(end - begin < 190 ? end - begin : 190), end > 0 ? text + begin : "");
    if (!*trace->problem)
        snprintf(trace->problem, sizeof trace->problem, "the debugger printed nothing");
}

static void trace_answer(struct agent_trace *trace)
{
    struct stacks native = { .count = 0 }, python = { .count = 0 };
    const struct text_buffer *output = trace->output;
    if (output[TRACE_NATIVE].length > 0)
        stacks_read_native(&native, output[TRACE_NATIVE].data, output[TRACE_NATIVE].length);
    if (output[TRACE_PYTHON].length > 0)
        stacks_read_python(&python, output[TRACE_PYTHON].data, output[TRACE_PYTHON].length);
    if (native.count == 0)
        take_last_line(trace);
    if (native.count > 0 || python.count > 0)
        send_threads(trace, &native, &python);
    else
        send_place(trace->agent, trace->rank, trace->pid, trace->problem);
    stacks_fini(&native);
    stacks_fini(&python);
}

/* ---- one rank ---- */

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

static void trace_close(struct agent_trace *trace)
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
    trace_answer(trace);
    trace_close(trace);
    stacks_advance(agent);
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

/* Has the debugger left processes of its group behind? This agent adopts them, and as long as there
 * is one no other process gets the number of the group. */
static bool debugger_has_orphans(const struct agent_trace *trace)
{
    pid_t *children;
    int count = process_tree_children(&children);
    bool found = false;
    for (int i = 0; i < count && !found; i++)
        found = getpgid(children[i]) == trace->debugger;
    free(children);
    return found;
}

/* With the processes that it has started: it may be a script around the real one. */
static void kill_debugger(const struct agent_trace *trace)
{
    if (trace->reaped && !debugger_has_orphans(trace))
        return;
    if (kill(-trace->debugger, SIGKILL) < 0 && !trace->reaped)
        kill(trace->debugger, SIGKILL); /* it has no process group of its own yet */
}

/* Kills the debugger, and ends the trace when it is gone. Does nothing the second time. */
static void trace_kill_debugger(struct agent_trace *trace)
{
    if (trace->killed)
        return;
    trace->killed = true;
    trace_close_pipe(trace);
    kill_debugger(trace);
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

/* ---- native frames ---- */

/* The words of a debugger. `room` holds the number of the process. Returns NULL if this host has
 * none. */
static char *find_debugger(char **words, char *room, size_t size, pid_t pid)
{
    static char *const gdb[] = { "gdb",
                                 "-nx",
                                 "-batch",
                                 "-iex",
                                 "set debuginfod enabled off",
                                 "-ex",
                                 "thread apply all -ascending backtrace 32",
                                 "-p" };
    static char *const stack[] = { "eu-stack", "-n", "32", "-p" };
    const char *path = getenv("PATH");
    char *program = NULL;
    snprintf(room, size, "%d", (int)pid);
    if (program_find("eu-stack", path, &program, NULL) == 0)
        memcpy(words, stack, sizeof stack);
    else if (program_find("gdb", path, &program, NULL) == 0)
        memcpy(words, gdb, sizeof gdb);
    while (program && *words)
        words++;
    *words = room;
    return program;
}

/* Starts the debugger with its output in a pipe, whose end is returned; -1 and the problem. It asks
 * no server for debug information. */
static int start_debugger(struct agent_trace *trace)
{
    char *words[16] = { NULL }, number[16], variable[4096];
    char *environment[] = { variable, "LC_ALL=C", "DEBUGINFOD_URLS=", NULL };
    struct spawned spawned = { .pid = 0 };
    struct err err = { 0 };
    int fds[2];
    char *program = find_debugger(words, number, sizeof number, trace->pid);
    if (!program) {
        snprintf(trace->problem, sizeof trace->problem, "this host has no eu-stack and no gdb");
        return -1;
    }
    const char *path = getenv("PATH");
    snprintf(variable, sizeof variable, "PATH=%s", path ? path : "/usr/bin:/bin");
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC), rc = -1;
    if (null >= 0 && pipe2(fds, O_CLOEXEC) == 0) {
        const struct spawn_request request = { .path = program,
                                               .argv = words,
                                               .envp = environment,
                                               .stdio = { null, fds[1], fds[1] },
                                               .death_signal = SIGKILL };
        rc = spawn_start(&request, &spawned, &err);
        spawn_abandon(&spawned);
        close(fds[1]);
        if (rc < 0)
            close(fds[0]);
    }
    if (null >= 0)
        close(null);
    free(program);
    if (rc < 0)
        snprintf(trace->problem, sizeof trace->problem, "no debugger can be started");
    trace->debugger = rc < 0 ? 0 : spawned.pid;
    return rc < 0 ? -1 : fds[0];
}

static void trace_natively(struct agent_trace *trace)
{
    trace->source = TRACE_NATIVE;
    char state = process_state(trace->pid);
    if (state == 'T')
        snprintf(trace->problem, sizeof trace->problem, "stopped by a signal");
    else if (state == 'D')
        snprintf(trace->problem, sizeof trace->problem, "a debugger would wait for the kernel");
    int fd = *trace->problem || !state ? -1 : start_debugger(trace);
    if (fd >= 0)
        trace_read(trace, fd, DEBUGGER_MS);
    else
        trace_end(trace);
}

/* ---- frames in Python ---- */

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

static void trace_start(struct agent *agent, const struct agent_rank *rank)
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

/* ---- the question ---- */

static void stacks_finish(struct agent *agent)
{
    uv_timer_stop(&agent->stacks.limit);
    agent->stacks.asked = false;
    wire_put_u32(frame_link_begin(&agent->link, AGENT_STACKS_DONE), agent->stacks.id);
    frame_link_send(&agent->link);
}

/* Looks at more ranks, or finishes. A trace may end at once, and come back here: then the first
 * call goes on. */
static void stacks_advance(struct agent *agent)
{
    struct agent_stacks *stacks = &agent->stacks;
    if (stacks->advancing)
        return;
    stacks->advancing = true;
    while (stacks->asked && stacks->ntraces < TRACES_AT_ONCE && stacks->next < agent->ranks.count) {
        const struct agent_rank *rank = agent->ranks.list[stacks->next++];
        if (rank->running)
            trace_start(agent, rank);
    }
    stacks->advancing = false;
    if (stacks->asked && stacks->ntraces == 0 && stacks->next == agent->ranks.count)
        stacks_finish(agent);
}

static void on_stacks_limit(uv_timer_t *timer)
{
    struct agent *agent = timer->data;
    struct agent_stacks *stacks = &agent->stacks;
    int first_left = stacks->next;
    stacks->next = agent->ranks.count;
    for (int i = first_left; i < agent->ranks.count; i++) {
        const struct agent_rank *rank = agent->ranks.list[i];
        if (rank->running)
            send_place(agent, rank->rank, process_of_rank(rank->pid), "no time was left");
    }
    for (struct agent_trace *trace = stacks->first, *next; trace; trace = next) {
        next = trace->next;
        if (!*trace->problem)
            snprintf(trace->problem, sizeof trace->problem, "no time was left");
        if (trace->debugger)
            trace_kill_debugger(trace);
        else
            trace_end(trace); /* the last one finishes the question */
    }
}

int agent_on_stacks(struct agent *agent, struct wire_reader *body, struct err *err)
{
    uint32_t id = wire_get_u32(body);
    int rc = agent_frame_finished(body, AGENT_STACKS, err);
    if (rc < 0)
        return rc;
    agent->stacks.id = id;
    if (agent->stacks.asked) /* hvdrun has given up the question before: its answers are for both */
        return HVD_OK;
    agent->stacks.asked = true;
    agent->stacks.next = 0;
    uv_timer_start(&agent->stacks.limit, on_stacks_limit, QUESTION_MS, 0);
    stacks_advance(agent);
    return HVD_OK;
}

void agent_stacks_reaped(struct agent *agent, pid_t pid)
{
    for (struct agent_trace *trace = agent->stacks.first; trace; trace = trace->next)
        trace->reaped |= trace->debugger == pid;
}

void agent_stacks_init(struct agent *agent)
{
    uv_must(uv_timer_init(agent->loop, &agent->stacks.limit), "timers");
    agent->stacks.limit.data = agent;
}

void agent_stacks_close(struct agent *agent)
{
    agent->stacks.asked = false;
    while (agent->stacks.first) {
        if (agent->stacks.first->debugger)
            kill_debugger(agent->stacks.first);
        trace_close(agent->stacks.first);
    }
    uv_close((uv_handle_t *)&agent->stacks.limit, NULL);
}
