/* SPDX-License-Identifier: Apache-2.0 */
/* The start of a job: every host becomes ready, gets START, and every rank runs. A line on a
 * terminal shows the progress of the hosts. When the start takes longer than --start-timeout,
 * the job fails and names the missing hosts. Only time in which this process ran counts, not a
 * stop by Ctrl-Z. When several hosts fail, the first is the verdict, and the others are reported
 * before it. */
#include "launcher/job/job_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/xalloc.h"
#include "launcher/job/job_status.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The most failed hosts that are reported besides the first. */
enum { FAILURES_TOLD = 20 };

/* When the status line is shown first, so that a quick start does not flicker, and how often it
 * changes. */
enum { STATUS_FIRST_MS = 500, STATUS_MS = 200 };

/* The width of the terminal in columns; 80 if unknown. */
static int terminal_width(void)
{
    struct winsize size;
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20;
    return known ? size.ws_col : 80;
}

static void on_status_line(uv_timer_t *timer)
{
    struct job *job = timer->data;
    char text[160], line[200];
    struct job_status_host *hosts = xcalloc((size_t)job->state.nhosts, sizeof *hosts);
    int nhosts = 0;
    for (int i = 0; i < job->state.nhosts; i++)
        if (job->hosts[i])
            hosts[nhosts++] = (struct job_status_host){ job_host_name(job, i), job->hosts[i]->step,
                                                        job->hosts[i]->step_since_ms };
    job_status_text(text, sizeof text, hosts, nhosts, job_now_ms());
    snprintf(line, sizeof line, "hvdrun: %.*s", terminal_width() - 9, text);
    job_output_status(job->output, line);
    free(hosts);
}

void job_start_init(struct job *job)
{
    uv_timer_init(job->loop, &job->start.status_timer);
    job->start.status_timer.data = job;
    if (job->options->status_line)
        uv_timer_start(&job->start.status_timer, on_status_line, STATUS_FIRST_MS, STATUS_MS);
}

void job_start_close(struct job *job)
{
    job_close_handle(job, (uv_handle_t *)&job->start.status_timer);
}

void job_end_status_line(struct job *job)
{
    uv_timer_stop(&job->start.status_timer);
    job_output_status(job->output, "");
}

/* The address of hvdrun's own host that a host on another machine has seen; "" if none is known. */
static const char *own_address(const struct job *job)
{
    for (int i = 0; i < job->state.nhosts; i++)
        if (job->hosts[i] && !job->hosts[i]->below && *job->hosts[i]->facts.caller)
            return job->hosts[i]->facts.caller;
    return "";
}

/* Where the ranks of --torch-env reach the port that rank 0's agent has reserved: by loopback if
 * they all are on that host, by the address that the host has for others, or by its name, which is
 * the one that the user gave it unless that is a name of loopback. */
static void find_master(const struct job *job, struct agent_start *start)
{
    const struct rank_plan *plan = job->plan;
    int index = plan->ranks[0].host;
    const struct job_host *host = job->hosts[index];
    const char *address = job_host_name(job, index);
    char name[HOST_NAME_MAX + 1] = "";
    if (plan->hosts[index].local_size == plan->size)
        address = "127.0.0.1";
    else if (*host->facts.address)
        address = host->facts.address;
    else if (host->local && *start->own_address)
        address = start->own_address;
    else if (strcmp(address, "localhost") == 0 && gethostname(name, sizeof name - 1) == 0)
        address = name;
    snprintf(start->master_address, sizeof start->master_address, "%s", address);
    start->master_port = host->facts.torch_port;
}

void job_start_ranks(struct job *job)
{
    struct agent_start start = { 0 };
    snprintf(start.own_address, sizeof start.own_address, "%s", own_address(job));
    if (job->options->attributes.torch_env)
        find_master(job, &start);
    job_end_status_line(job);
    if (job->start.started_ms == 0)
        job->start.started_ms = job_now_ms();
    if (!job->options->elastic)
        job_note(job, "every host is ready, starting the ranks (size %d)", job->state.nranks);
    job_tree_plan_casts(job);
    for (int i = 0; i < job->state.nhosts; i++)
        if (job->hosts[i])
            job_host_start(job->hosts[i], &start, job_tree_cast(job, i));
}

void job_on_rank_started(void *context, int rank, pid_t pid)
{
    struct job *job = context;
    char text[32];
    job_record_started(job, rank, pid);
    job->start.nstarted++;
    snprintf(text, sizeof text, "runs (pid %d)", (int)pid);
    job_note_rank(job, rank, text);
    job->rendezvous.on_rank_started(job->rendezvous.context, rank, (int)pid);
    job_act(job, job_state_on_rank_started(&job->state));
}

static void fail_start(struct job *job)
{
    char text[480], hosts[400];
    job_missing_hosts(job, hosts, sizeof hosts);
    snprintf(text, sizeof text, "not ready in time (--start-timeout): %s", hosts);
    job_fail(job, STATUS_TIMEOUT, text);
}

void job_start_check(struct job *job)
{
    const struct job_state *state = &job->state;
    if (!state->elastic && job->check.ran_ms >= job->options->start_timeout_ms &&
        (state->phase == JOB_PREPARING ||
         (state->phase == JOB_RUNNING && job->start.nstarted < state->nranks)))
        fail_start(job);
}

void job_tell_failure(struct job *job, int host, const char *text)
{
    const struct job_verdict *verdict = &job->state.verdict;
    if (job->options->elastic || job->start.started_ms > 0 || verdict->cause != CAUSE_HOST ||
        verdict->host == host)
        return;
    if (job->start.nfailures < FAILURES_TOLD)
        job_output_say(job->output, "%s: %s", job_host_name(job, host), text);
    else if (job->start.nfailures == FAILURES_TOLD)
        job_say(job, "more hosts have failed, which are not shown");
    job->start.nfailures++;
}
