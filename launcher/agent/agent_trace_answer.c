/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a rank: one frame STACK for each thread; see agent_trace.h. */
#include "launcher/agent/agent_trace.h"

#include "launcher/process/process_place.h"
#include "launcher/process/stack_text.h"

#include <stdio.h>
#include <string.h>

enum { THREADS_TOLD = 8 }; /* of a rank */

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

void agent_trace_send_place(struct agent *agent, int rank, pid_t pid, const char *problem)
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
        agent_trace_send_place(trace->agent, trace->rank, trace->pid,
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

void agent_trace_answer(struct agent_trace *trace)
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
        agent_trace_send_place(trace->agent, trace->rank, trace->pid, trace->problem);
    stacks_fini(&native);
    stacks_fini(&python);
}
