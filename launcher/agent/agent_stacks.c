/* SPDX-License-Identifier: Apache-2.0 */
/* One question where the ranks of this host stand (STACKS): a few ranks are looked at at a time
 * (agent_trace.h). At the limit of the question all ranks that are left are answered from /proc
 * alone. */
#include "launcher/agent/agent_trace.h"

#include "launcher/base/uv_must.h"
#include "launcher/process/process_place.h"

/* Ranks that are looked at at the same time, and the limit of a question. */
enum { TRACES_AT_ONCE = 4, QUESTION_MS = 7000 };

static void stacks_finish(struct agent *agent)
{
    uv_timer_stop(&agent->stacks.limit);
    agent->stacks.asked = false;
    wire_put_u32(frame_link_begin(&agent->link, AGENT_STACKS_DONE), agent->stacks.id);
    frame_link_send(&agent->link);
}

/* A trace may end at once, and come back here: then the first call goes on. */
void agent_stacks_advance(struct agent *agent)
{
    struct agent_stacks *stacks = &agent->stacks;
    if (stacks->advancing)
        return;
    stacks->advancing = true;
    while (stacks->asked && stacks->ntraces < TRACES_AT_ONCE && stacks->next < agent->ranks.count) {
        const struct agent_rank *rank = agent->ranks.list[stacks->next++];
        if (rank->running)
            agent_trace_start(agent, rank);
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
            agent_trace_send_place(agent, rank->rank, process_of_rank(rank->pid),
                                   "no time was left");
    }
    for (struct agent_trace *trace = stacks->first, *next; trace; trace = next) {
        next = trace->next;
        agent_trace_expire(trace); /* the last one finishes the question */
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
    agent_stacks_advance(agent);
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
    while (agent->stacks.first)
        agent_trace_close(agent->stacks.first);
    uv_close((uv_handle_t *)&agent->stacks.limit, NULL);
}
