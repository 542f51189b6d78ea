/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of agents: after DONE, as it should be, or before, which loses the host and its ranks.
 * An agent that does not end when it should is killed. What a lost agent of this machine left behind
 * has become ours, because we adopt orphans, and is killed too; not what a command has that reached
 * another machine: a master of ssh may stay. */
#include "launcher/job_impl.h"

#include "launcher/process_tree.h"
#include "launcher/xalloc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* How long an agent may take to end that is done or lost its link. */
enum { AGENT_END_MS = 500 };

/* Something has ended: the rest has AGENT_END_MS. */
static void await_end(struct job *job, struct job_host *host)
{
    host->ending_ms = uv_now(job->loop);
}

static bool agent_lives(const struct job_host *host)
{
    return host->phase >= HOST_DESCRIBING && !host->agent_ended;
}

/* Agents that still live care for what is theirs; the elder children were never ours. */
int job_sweep_orphans(struct job *job)
{
    pid_t *spared = xcalloc((size_t)(job->state.nhosts + job->nelders), sizeof *spared);
    int count = 0;
    for (int i = 0; i < job->state.nhosts; i++)
        if (job->hosts[i].agent > 0 && agent_lives(&job->hosts[i]))
            spared[count++] = job->hosts[i].agent;
    for (int i = 0; i < job->nelders; i++)
        spared[count++] = job->elder_children[i];
    int left = process_tree_signal(SIGKILL, spared, count);
    free(spared);
    return left;
}

void job_kill_agents(struct job *job, enum host_phase least, enum host_phase most)
{
    for (int i = 0; i < job->state.nhosts; i++) {
        struct job_host *host = &job->hosts[i];
        if (!agent_lives(host) || host->phase < least || host->phase > most)
            continue;
        job_host_end_agent(host);
    }
}

/* The ranks of a lost host are as good as dead, and their output has ended. */
static void give_up_ranks(struct job *job, struct job_host *host)
{
    for (int i = 0; i < host->where->local_size; i++) {
        int rank = host->where->first_rank + i;
        if (host->ranks[i].phase == RANK_RUNNING) {
            job_state_on_rank_lost(&job->state);
            job->meeting.on_rank_ended(job->meeting.context, rank,
                                       "was lost with its host's agent");
        }
        for (int stream = 0; stream < OUTPUT_STREAMS; stream++)
            if (!host->ranks[i].output_ended[stream])
                job_output_end(job->output, rank, (enum output_stream)stream);
        host->ranks[i].phase = RANK_ENDED;
    }
}

/* What is known of the end of an agent that is a child of ours. */
static void local_end_text(const struct job_host *host, char *text, size_t size)
{
    char how[96];
    wait_status_text(how, sizeof how, host->agent_status);
    if (host->agent_killed)
        snprintf(text, size, "host lost: its agent (pid %d) %s%s", (int)host->agent,
                 *host->lost_reason ? "broke its link: " : "did not answer", host->lost_reason);
    else
        snprintf(text, size, "host lost: its agent (pid %d) %s%s", (int)host->agent,
                 WIFSIGNALED(host->agent_status) ? "was " : "", how);
}

/* Of another machine's, only what the way there and the link know. */
static void remote_end_text(const struct job_host *host, char *text, size_t size)
{
    const char *reason = host->lost_reason, *way = reach_end_text(host->reach);
    snprintf(text, size, "host lost: %s%s%s", *reason ? reason : way, *reason && *way ? "; " : "",
             *reason ? way
             : *way  ? ""
                     : "its agent has ended");
}

/* Both the link and the agent have ended, too early. */
static void lose_host(struct job *job, struct job_host *host)
{
    char text[700];
    (host->local ? local_end_text : remote_end_text)(host, text, sizeof text);
    bool silent = job->stopping_ms > 0 && host->silence.heard_ms <= job->stopping_ms;
    job_act(job, job_state_on_host_lost(&job->state, host->index, host->lost_status, text, silent));
    job->meeting.on_lost(job->meeting.context, host->index);
    give_up_ranks(job, host);
    if (host->local)
        job_sweep_orphans(job);
    job_act(job, job_state_on_host_done(&job->state));
}

/* Agents that are done or lost their links should have ended; links whose agents have ended should
 * have ended too, but somebody else may hold them open. */
static void look_at_end(struct job *job, struct job_host *host)
{
    if (host->ending_ms == 0 || uv_now(job->loop) - host->ending_ms < AGENT_END_MS)
        return;
    if (agent_lives(host))
        job_host_end_agent(host);
    else if (job_host_cut(host))
        lose_host(job, host);
}

void job_look_at_ends(struct job *job)
{
    for (int i = 0; i < job->state.nhosts; i++)
        look_at_end(job, &job->hosts[i]);
}

void job_on_host_done(void *context, int host, int left)
{
    struct job *job = context;
    job_note(job, "%s is done", job_host_name(job, host));
    job_state_on_left(&job->state, left);
    if (job->hosts[host].agent_ended)
        job_act(job, job_state_on_host_done(&job->state));
    else
        await_end(job, &job->hosts[host]);
}

void job_on_host_lost(void *context, int index)
{
    struct job *job = context;
    struct job_host *host = &job->hosts[index];
    if (host->agent_ended)
        lose_host(job, host);
    else
        await_end(job, host);
}

void job_on_agent_end(void *context, int index)
{
    struct job *job = context;
    struct job_host *host = &job->hosts[index];
    if (host->phase == HOST_LOST)
        lose_host(job, host);
    else if (host->phase == HOST_DONE)
        job_act(job, job_state_on_host_done(&job->state));
    else
        await_end(job, host);
}

void job_lost_init(struct job *job)
{
    job->nelders = process_tree_children(&job->elder_children);
    process_tree_adopt();
    job->children = children_create(job->loop);
}
