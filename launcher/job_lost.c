/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of agents: after DONE, as it should be, or before, which loses the host and its ranks.
 * An agent that does not end when it should is killed. What a lost agent of this machine left
 * behind has become ours, because we adopt orphans, and is killed too; not what others have left us
 * that were here before the job, nor what a command has started that reached another machine: a
 * master of ssh may stay. */
#include "launcher/job_impl.h"

#include "launcher/exit_status.h"
#include "launcher/job_sweep.h"
#include "launcher/process_tree.h"
#include "launcher/strays.h"
#include "launcher/xalloc.h"
#include "lib/base/env_names.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long an agent may take to end that is done or lost its link: half a second, and a look. */
enum { AGENT_END_MS = 500 + SILENCE_LOOK_MS };

/* So many heartbeats of the five that may be missed are no chance. */
enum { DEAF_BEATS = 3 };

/* Something has ended: the rest has AGENT_END_MS. */
static void await_end(struct job *job, struct job_host *host)
{
    host->end_by_ms = job->check.ran_ms + AGENT_END_MS;
}

static bool agent_lives(const struct job_host *host)
{
    return host->phase >= HOST_DESCRIBING && !host->agent_ended;
}

/* Not of a rank: agents, and what they start, have sessions of their own, so who is in ours was
 * left by somebody that was here before the job; or a command has started it. */
static bool is_foreign(pid_t pid, const char *command_of)
{
    return getsid(pid) == getsid(0) || strays_has(pid, command_of);
}

/* Returns how many there are in `spared`, which has `count`, then. */
static int spare_foreign(const struct job *job, pid_t **spared, int count)
{
    pid_t *children;
    int nchildren = process_tree_children(&children);
    char *command_of = xasprintf(ENV_COMMAND_OF "=%s", job->options->reach->job_id);
    *spared = xreallocarray(*spared, (size_t)(count + nchildren + 1), sizeof **spared);
    for (int i = 0; i < nchildren; i++)
        if (is_foreign(children[i], command_of))
            (*spared)[count++] = children[i];
    free(command_of);
    free(children);
    return count;
}

/* Agents that still live care for what is theirs; the elder children, and what they or commands
 * have orphaned, were never ours. */
int job_sweep_orphans(struct job *job)
{
    pid_t *spared =
        xcalloc((size_t)(2 * job->state.nhosts + job->processes.nelders), sizeof *spared);
    int count = 0;
    for (int i = 0; i < job->state.nhosts; i++) {
        const struct job_host *host = &job->hosts[i];
        if (host->agent > 0 && agent_lives(host))
            spared[count++] = host->agent;
        if (host->sweep_pid > 0)
            spared[count++] = host->sweep_pid;
    }
    for (int i = 0; i < job->processes.nelders; i++)
        spared[count++] = job->processes.elders[i];
    count = spare_foreign(job, &spared, count);
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
    static const struct job_rank_end lost = { "was lost with its host's agent", -1, false };
    for (int i = 0; i < host->where->local_size; i++) {
        int rank = host->where->ranks[i];
        if (host->ranks[i].phase == RANK_RUNNING) {
            job_state_on_rank_lost(&job->state);
            job_record_lost(job, rank);
            job->meeting.on_rank_ended(job->meeting.context, rank, &lost);
        }
        for (int stream = 0; stream < OUTPUT_STREAMS; stream++)
            if (!host->ranks[i].output_ended[stream])
                job_output_end(job->output, rank, (enum output_stream)stream);
        host->ranks[i].phase = RANK_ENDED;
    }
}

/* An agent of this machine that runs out of something says so, and ends with that status. */
static bool ran_out(const struct job_host *host)
{
    return host->local && WIFEXITED(host->agent_status) &&
           WEXITSTATUS(host->agent_status) == STATUS_RESOURCE;
}

/* What is known of the end of an agent that is a child of ours. */
static void local_end_text(const struct job_host *host, char *text, size_t size)
{
    char how[96];
    wait_status_text(how, sizeof how, host->agent_status);
    if (host->agent_killed)
        snprintf(text, size, "host lost: its agent (pid %d) %s%s", (int)host->agent,
                 *host->lost_reason ? "broke its link: " : "did not answer", host->lost_reason);
    else if (host->agent_status == 0 && *host->lost_reason)
        snprintf(text, size, "host lost: the link to its agent (pid %d) broke: %s",
                 (int)host->agent, host->lost_reason);
    else
        snprintf(text, size, "host lost: its agent (pid %d) %s%s%s", (int)host->agent,
                 WIFSIGNALED(host->agent_status) ? "was " : "", how,
                 ran_out(host) ? ": no memory, descriptors or processes were left" : "");
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

/* It has echoed nothing that was sent since before the job began to stop, for as long as it waits
 * for us; one that was reached then has had less time. */
static bool is_deaf(const struct job *job, const struct job_host *host)
{
    uint64_t now_us = uv_hrtime() / 1000, limit_us = (uint64_t)job->options->silence_ms * 1000;
    uint64_t reached_us = host->history.reached_ms * 1000;
    uint64_t since_us = host->echoed_us > reached_us ? host->echoed_us : reached_us;
    return since_us <= job->stop.since_ms * 1000 &&
           now_us - since_us >= limit_us - SILENCE_LATE_MS * 1000;
}

bool job_host_was_away(const struct job *job, const struct job_host *host)
{
    return job->stop.since_ms > 0 &&
           (host->silence.heard_ms <= job->stop.since_ms || is_deaf(job, host));
}

/* It may be heard all the time, and have ended well: its ranks have lost the others, and these it,
 * before hvdrun could. Counted, for time in which this machine was frozen says nothing; from before
 * the stop on, for what is slow to stop may be slow to answer. */
static void look_whether_deaf(struct job *job, const struct job_host *host)
{
    job->report.hosts[host->index].deaf = job->stop.since_ms > 0 &&
                                          host->unanswered >= DEAF_BEATS &&
                                          host->unanswered_us <= job->stop.since_ms * 1000;
}

/* Both the link and the agent have ended, too early. */
static void lose_host(struct job *job, struct job_host *host)
{
    char text[700];
    (host->local ? local_end_text : remote_end_text)(host, text, sizeof text);
    job_record_reason(job, host->index, text);
    int status = ran_out(host) ? STATUS_RESOURCE : host->lost_status;
    bool silent = job_host_was_away(job, host);
    look_whether_deaf(job, host);
    job_act(job, job_state_on_host_lost(&job->state, host->index, status, text, silent));
    job_host_hang_up_relay(host);
    give_up_ranks(job, host);
    if (host->local)
        job_sweep_orphans(job);
    if (!job_sweep_start(job, host))
        job_act(job, job_state_on_host_done(&job->state));
}

/* Agents that are done or lost their links should have ended; links whose agents have ended should
 * have ended too, but somebody else may hold them open. */
static void look_at_end(struct job *job, struct job_host *host)
{
    if (host->end_by_ms == 0 || job->check.ran_ms < host->end_by_ms)
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
    look_whether_deaf(job, &job->hosts[host]);
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

void job_processes_init(struct job *job)
{
    job->processes.nelders = process_tree_children(&job->processes.elders);
    process_tree_adopt();
    job->processes.children = children_create(job->loop);
}

void job_processes_fini(struct job *job)
{
    children_destroy(job->processes.children);
    free(job->processes.elders);
}
