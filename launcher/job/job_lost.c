/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of agents. An agent ends after DONE, as it should, or before, and then its host and
 * ranks are lost. An agent that does not end when it should is killed. hvdrun adopts orphans, so
 * the processes that a lost agent of this machine left behind are now children of hvdrun, and are
 * killed too (CLEANUP_LOCAL_AGENT). A child that no rank has started stays (cleanup/adopted.h). */
#include "launcher/job/job_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/wait_status.h"
#include "launcher/base/xalloc.h"
#include "launcher/job/job_sweep.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long an agent may take to end after DONE or after losing its link: half a second, and a
 * check. */
enum { AGENT_END_MS = 500 + HEARTBEAT_CHECK_MS };

/* The link or the agent has ended. The remaining one has AGENT_END_MS. */
static void await_end(struct job *job, struct job_host *host)
{
    host->end_by_ms = job->check.ran_ms + AGENT_END_MS;
}

static bool agent_lives(const struct job_host *host)
{
    return host->phase >= HOST_DESCRIBING && !host->agent_ended;
}

void job_host_over(struct job *job, struct job_host *host)
{
    if (job->options->elastic) {
        host->over = true;
        job_workers_ended(job, host, JOB_WORKER_NOT_STARTED);
    }
    tunnels_cut(&host->tunnels, "");
    job_act(job, job_state_on_host_done(&job->state));
}

bool job_check_orphans(struct job *job)
{
    pid_t *spared = xcalloc((size_t)(2 * job->state.nhosts), sizeof *spared);
    int count = 0;
    for (int i = 0; i < job->state.nhosts; i++) {
        const struct job_host *host = job->hosts[i];
        if (!host)
            continue;
        if (host->agent > 0 && agent_lives(host)) /* the agent ends its own processes */
            spared[count++] = host->agent;
        if (host->sweep_pid > 0)
            spared[count++] = host->sweep_pid;
    }
    if (job->options->elastic) /* agents that are being connected, and the discovery script */
        count = children_append(job->processes.children, &spared, count);
    count = adopted_append_not_ours(&job->processes.adopted, job->options->connect->job_id, &spared,
                                    count);
    const struct cleanup_search search = { .spared = spared, .nspared = count };
    bool goes_on = cleanup_check(&job->processes.cleanup, &search, uv_now(job->loop));
    free(spared);
    return goes_on;
}

bool job_kill_agents(struct job *job, enum host_phase least, enum host_phase most)
{
    bool waits = false;
    for (int i = 0; i < job->state.nhosts; i++) {
        struct job_host *host = job->hosts[i];
        if (!host || !agent_lives(host) || host->phase < least || host->phase > most)
            continue;
        if (job_tree_comes_later(job, host))
            waits = true;
        else
            job_host_end_agent(host);
    }
    if (waits)
        job_tree_ask(job);
    return waits;
}

/* The ranks of a lost host count as lost, and their output has ended. */
static void give_up_ranks(struct job *job, struct job_host *host)
{
    static const struct job_rank_end lost = { { .kind = RANK_END_HOST_LOST }, false };
    for (int i = 0; i < host->where.local_size; i++) {
        int rank = host->where.ranks[i];
        if (host->ranks[i].phase == RANK_RUNNING) {
            job_state_on_rank_lost(&job->state);
            job_record_lost(job, rank);
            job->rendezvous.on_rank_ended(job->rendezvous.context, rank, &lost);
        }
        for (int stream = 0; stream < OUTPUT_STREAMS; stream++)
            if (!host->ranks[i].output_ended[stream])
                job_output_end(job->output, rank, (enum output_stream)stream);
        host->ranks[i].phase = RANK_ENDED;
    }
}

/* An agent of this machine that runs out of a resource reports this, and exits with that status. */
static bool ran_out(const struct job_host *host)
{
    return host->local && WIFEXITED(host->agent_status) &&
           WEXITSTATUS(host->agent_status) == STATUS_RESOURCE;
}

/* Describes the end of an agent that is a child of ours. */
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

/* Describes the end of an agent on another machine, from the transport and the link alone. */
static void remote_end_text(const struct job_host *host, char *text, size_t size)
{
    const char *reason = host->lost_reason, *end_text = host_connect_end_text(host->connect);
    snprintf(text, size, "host lost: %s%s%s", *reason ? reason : end_text,
             *reason && *end_text ? "; " : "",
             *reason     ? end_text
             : *end_text ? ""
                         : "its agent has ended");
}

/* The host has echoed no heartbeat that was sent since before the job began to stop, for as long as
 * an agent waits for hvdrun. A host that was connected then has had less time. */
static bool is_unresponsive(const struct job *job, const struct job_host *host)
{
    uint64_t now_us = uv_hrtime() / 1000,
             limit_us = (uint64_t)job->options->heartbeat_timeout_ms * 1000;
    uint64_t reached_us = host->history.reached_ms * 1000;
    uint64_t since_us = host->echoed_us > reached_us ? host->echoed_us : reached_us;
    return since_us <= job->stop.since_ms * 1000 &&
           now_us - since_us >= limit_us - HEARTBEAT_LATE_MS * 1000;
}

bool job_host_was_away(const struct job *job, const struct job_host *host)
{
    return job->stop.since_ms > 0 &&
           (host->heartbeat.heard_ms <= job->stop.since_ms || is_unresponsive(job, host));
}

/* What the judge needs to know of a host that is done or lost.
 *
 * An unresponsive host may have been heard all the time, and have ended well: its ranks and the
 * others have lost each other before hvdrun noticed. Heartbeats are counted, because time in which
 * this machine was frozen proves nothing. They count from before the stop on, because a host that
 * is slow to stop may be slow to answer. */
static void host_report_fill(struct job *job, const struct job_host *host, enum report_host_end end)
{
    struct report_host *record = &job->report.hosts[host->index];
    record->end = end;
    record->above = host->below ? &job->report.hosts[host->parent] : NULL;
    record->silent_ms = job_host_gap_before_ms(host, job->stop.since_ms);
    bool since_before = job->stop.since_ms > 0 && host->unanswered_us <= job->stop.since_ms * 1000;
    record->unanswered = since_before ? host->unanswered : 0;
    record->unanswered_us = since_before ? host->unanswered_us : 0;
}

/* Of an elastic job: the job goes on, and the line stands for all workers of the host. */
static void say_lost_host(struct job *job, const struct job_host *host, const char *text,
                          int status)
{
    int count = 0;
    job->report.hosts[host->index].status = status;
    for (int i = 0; i < host->where.local_size; i++)
        count += host->ranks[i].phase != RANK_ENDED;
    if (job->state.phase < JOB_STOPPING)
        job_output_say(job->output, "%s: %s, and with it %d worker%s",
                       job_host_name(job, host->index), text, count, count == 1 ? "" : "s");
}

/* Both the link and the agent have ended, too early. */
static void lose_host(struct job *job, struct job_host *host)
{
    char text[700];
    (host->local ? local_end_text : remote_end_text)(host, text, sizeof text);
    job_report_reason(&job->report, host->index, text);
    int status = ran_out(host) ? STATUS_RESOURCE : host->lost_status;
    if (job->options->elastic && !job->report.hosts[host->index].status)
        say_lost_host(job, host, text, status);
    bool silent = job_host_was_away(job, host);
    host_report_fill(job, host, HOST_END_LOST);
    job_act(job, job_state_on_host_lost(&job->state, host->index, status, text, silent));
    job_host_hang_up_relay(host);
    give_up_ranks(job, host);
    job_tree_on_lost(job, host);
    if (host->local && job->options->elastic) {
        job_elastic_clean(job);
    } else if (host->local) {
        cleanup_start(&job->processes.cleanup, CLEANUP_LOCAL_AGENT, uv_now(job->loop));
        job_check_orphans(job);
    }
    if (job->options->elastic)
        job_workers_ended(job, host, JOB_WORKER_HOST_LOST);
    if (!job_sweep_start(job, host))
        job_host_over(job, host);
}

/* Agents that are done or have lost their links should have ended. Links whose agents have ended
 * should have ended too, but another process may hold them open. */
static void check_end(struct job *job, struct job_host *host)
{
    if (host->end_by_ms == 0 || job->check.ran_ms < host->end_by_ms)
        return;
    if (agent_lives(host))
        job_host_end_agent(host);
    else if (job_host_cut(host))
        lose_host(job, host);
}

void job_ends_check(struct job *job)
{
    for (int i = 0; i < job->state.nhosts; i++)
        if (job->hosts[i])
            check_end(job, job->hosts[i]);
}

void job_on_host_done(void *context, int host, int left)
{
    struct job *job = context;
    job_note(job, "%s is done", job_host_name(job, host));
    job_state_on_left(&job->state, left);
    host_report_fill(job, job->hosts[host], HOST_END_DONE);
    if (job->hosts[host]->agent_ended)
        job_host_over(job, job->hosts[host]);
    else
        await_end(job, job->hosts[host]);
}

void job_on_host_lost(void *context, int index)
{
    struct job *job = context;
    struct job_host *host = job->hosts[index];
    if (host->agent_ended)
        lose_host(job, host);
    else
        await_end(job, host);
}

void job_on_agent_end(void *context, int index)
{
    struct job *job = context;
    struct job_host *host = job->hosts[index];
    if (host->phase == HOST_LOST)
        lose_host(job, host);
    else if (host->phase == HOST_DONE)
        job_host_over(job, host);
    else
        await_end(job, host);
}

void job_processes_init(struct job *job)
{
    const struct running_agent *running = job->options->connect->running;
    adopted_start(&job->processes.adopted, running ? running->pid : 0);
    job->processes.children = children_create(job->loop);
}

void job_processes_fini(struct job *job)
{
    children_destroy(job->processes.children);
    adopted_fini(&job->processes.adopted);
}
