/* SPDX-License-Identifier: Apache-2.0 */
/* Where one rank stands: the process of the rank -> its frames in Python -> its native frames ->
 * frames STACK. agent_stacks.c says which ranks are asked, and when; agent_trace.c reads the
 * sources and keeps their limits, agent_trace_debugger.c starts and ends a debugger,
 * agent_trace_answer.c tells hvdrun.
 *
 * Python: the package hvd listens on an abstract socket under HVD_STACK_TRACES and answers with
 * what faulthandler prints; nobody listens in other programs. Native: eu-stack or gdb, which stops
 * the process for as long as it reads. Neither is used on a process that is stopped or that waits
 * in the kernel in state D: a debugger would wait for it.
 *
 * If there is no debugger, or it is refused (ptrace), fails, or takes longer than its limit, STACK
 * has what /proc shows, and why. A debugger that is killed may leave a stop signal behind, which
 * SIGCONT takes back. Output of more than 256 KiB is cut.
 *
 * The kernel reports the exit of a process that is traced only when its debugger has let it go, or
 * has ended: the exit of a rank may be seen some seconds late, with its own status. */
#ifndef LAUNCHER_AGENT_AGENT_TRACE_H
#define LAUNCHER_AGENT_AGENT_TRACE_H

#include "launcher/agent/agent_impl.h"
#include "launcher/base/text_buffer.h"

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

/* agent_trace.c */

/* Begins with a rank that runs. The trace may end at once; agent_stacks_advance() is called when it
 * ends. */
void agent_trace_start(struct agent *agent, const struct agent_rank *rank);

/* Ends the trace because the time of the question is over; a debugger is killed first. */
void agent_trace_expire(struct agent_trace *trace);

/* Ends the trace at once and tells nothing; a debugger is killed. */
void agent_trace_close(struct agent_trace *trace);

/* agent_trace_debugger.c */

/* Starts the debugger with its output in a pipe, whose end is returned; -1 and the problem. It asks
 * no server for debug information. */
int agent_trace_start_debugger(struct agent_trace *trace);

/* Sends SIGKILL to the debugger and the processes that it has started: it may be a script around
 * the real one. Does not wait for their end. */
void agent_trace_signal_debugger(const struct agent_trace *trace);

/* agent_trace_answer.c */

/* Tells what the sources have printed, or what /proc shows, and why. */
void agent_trace_answer(struct agent_trace *trace);

/* Tells what /proc shows of the process of a rank, and why no more; nothing if it has ended. */
void agent_trace_send_place(struct agent *agent, int rank, pid_t pid, const char *problem);

/* agent_stacks.c: looks at more ranks, or ends the question. */
void agent_stacks_advance(struct agent *agent);

#endif
