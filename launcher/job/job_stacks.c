/* SPDX-License-Identifier: Apache-2.0 */
/* Where each rank stands (--stack-traces), asked for by SIGUSR2 and by --timeout: the agents of all
 * hosts whose ranks run are asked, and what they say is told in one line for all ranks that stand
 * at the same place. A host whose agent has not answered by ANSWERS_MS, or is lost, is told by its
 * ranks. While one question is open, another one joins it. */
#include "launcher/job/job_impl.h"

#include <stdio.h>

enum { ANSWERS_MS = 10000, CHECK_MS = 100 };

static bool is_awaited(const struct job *job, const struct job_host *host)
{
    return host && host->phase == HOST_RUNNING && host->stacks_id == job->stacks.id;
}

static void say_stack_line(void *context, const char *line)
{
    job_say(context, line);
}

static void add_silent_ranks(struct job *job, const struct job_host *host)
{
    char text[400];
    snprintf(text, sizeof text, "no answer from the agent of %.200s within %d s",
             job_host_name(job, host->index), ANSWERS_MS / 1000);
    for (int i = 0; i < host->where.local_size; i++) {
        int rank = job_worker_rank(job, host->where.ranks[i]);
        if (host->ranks[i].phase == RANK_RUNNING && rank >= 0 && rank < job->stacks.groups.nranks &&
            !job->stacks.groups.heard[rank])
            stack_groups_add(&job->stacks.groups, rank, text);
    }
}

static void stacks_tell(struct job *job)
{
    struct job_stacks *stacks = &job->stacks;
    bool give_up = stacks->then_give_up, ask = stacks->then_ask;
    for (int i = 0; i < job->state.nhosts; i++)
        if (is_awaited(job, job->hosts[i]))
            add_silent_ranks(job, job->hosts[i]);
    uv_timer_stop(&stacks->timer);
    stacks->asking = stacks->then_give_up = stacks->then_ask = false;
    if (!job->stop.said)
        stack_groups_tell(&stacks->groups, say_stack_line, job);
    stack_groups_fini(&stacks->groups);
    if (give_up)
        job_timeout_passed(job);
    else if (ask)
        job->rendezvous.on_question(job->rendezvous.context);
}

static void on_stacks_check(uv_timer_t *timer)
{
    struct job *job = timer->data;
    job->stacks.waited_ms += CHECK_MS;
    for (int i = 0; i < job->state.nhosts && job->stacks.waited_ms < ANSWERS_MS; i++)
        if (is_awaited(job, job->hosts[i]))
            return;
    stacks_tell(job);
}

void job_on_stack(void *context, int worker, const char *where)
{
    struct job *job = context;
    if (job->stacks.asking)
        stack_groups_add(&job->stacks.groups, job_worker_rank(job, worker), where);
}

void job_on_stacks_done(void *context, int host, uint32_t id)
{
    struct job *job = context;
    if (!job->stacks.asking || id != job->stacks.id)
        return;
    job->hosts[host]->stacks_id = 0;
    job->stacks.waited_ms -= CHECK_MS;
    on_stacks_check(&job->stacks.timer);
}

static void stacks_ask(struct job *job)
{
    int nranks = job_world_size(job);
    if (job->stacks.asking)
        return;
    job->stacks.asking = true;
    job->stacks.id++;
    job->stacks.waited_ms = 0;
    stack_groups_init(&job->stacks.groups, nranks > job->state.nranks ? nranks : job->state.nranks);
    for (int i = 0; i < job->state.nhosts; i++)
        if (job->hosts[i] && job->hosts[i]->phase == HOST_RUNNING)
            job_host_ask_stacks(job->hosts[i], job->stacks.id);
    uv_timer_start(&job->stacks.timer, on_stacks_check, 0, CHECK_MS);
}

void job_say_stacks(struct job *job)
{
    job->stacks.then_ask = true;
    stacks_ask(job);
}

void job_stacks_before_timeout(struct job *job)
{
    job->stacks.then_give_up = true;
    stacks_ask(job);
}

void job_stacks_init(struct job *job)
{
    uv_timer_init(job->loop, &job->stacks.timer);
    job->stacks.timer.data = job;
}

void job_stacks_close(struct job *job)
{
    job->stacks.asking = false;
    stack_groups_fini(&job->stacks.groups);
    job_close_handle(job, (uv_handle_t *)&job->stacks.timer);
}
