/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of a job, in words, when a person or a timeout gives the job up: the hosts that are
 * not ready with the step of each, longest wait first; then the ranks that still run and what is
 * known of them (which rank keeps others waiting in hvd_init, which was stopped, which reports that
 * it waits for others), and the host that has not been heard for longest. Only reads. */
#include "launcher/job/job_impl.h"

#include "launcher/base/rank_names.h"
#include "launcher/base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes for " and N more hosts"; bytes for names of hosts. */
enum { MORE_ROOM = 24, HOSTS_ROOM = 100 };

static bool is_missing(const struct job_host *host)
{
    return host->phase == HOST_CONNECTING || host->phase == HOST_DESCRIBING ||
           job_host_is_starting(host);
}

static void missing_host(const struct job *job, const struct job_host *host, char *text,
                         size_t size)
{
    const char *name = job_host_name(job, host->index);
    if (job_host_is_starting(host))
        snprintf(text, size, "%s has not started %s %d", name,
                 job->options->elastic ? "worker" : "rank", job_host_waiting_rank(host));
    else
        snprintf(text, size, "%s at step '%s' for %.1f s", name, host_step_name(host->step),
                 (double)(job_now_ms() - host->step_since_ms) / 1000);
}

/* Hosts that wait for their turn come last: they wait for hosts that hang. */
static int compare_since(const void *a, const void *b)
{
    const struct job_host *x = *(const struct job_host *const *)a;
    const struct job_host *y = *(const struct job_host *const *)b;
    bool x_waits = x->step == STEP_WAITING, y_waits = y->step == STEP_WAITING;
    if (x_waits != y_waits)
        return x_waits - y_waits;
    if (x->step_since_ms != y->step_since_ms)
        return x->step_since_ms < y->step_since_ms ? -1 : 1;
    return x->index - y->index;
}

/* Lists the hosts that are not ready, worst first, in an array that the caller frees. */
static const struct job_host **list_missing(const struct job *job, int *count)
{
    const struct job_host **hosts = xcalloc((size_t)job->state.nhosts, sizeof *hosts);
    *count = 0;
    for (int i = 0; i < job->state.nhosts; i++)
        if (job->hosts[i] && is_missing(job->hosts[i]))
            hosts[(*count)++] = job->hosts[i];
    qsort(hosts, (size_t)*count, sizeof *hosts, compare_since);
    return hosts;
}

int job_missing_hosts(const struct job *job, char *text, size_t size)
{
    char one[320];
    size_t used = 0;
    int missing, named = 0;
    const struct job_host **hosts = list_missing(job, &missing);
    for (text[0] = '\0'; named < missing; named++) {
        missing_host(job, hosts[named], one, sizeof one);
        if (used + strlen(one) + MORE_ROOM >= size)
            break;
        used += (size_t)snprintf(text + used, size - used, "%s%s", named ? ", " : "", one);
    }
    if (missing > named)
        snprintf(text + used, size - used, " and %d more", missing - named);
    free(hosts);
    return missing;
}

/* A rank of the present world. */
static const struct report_rank *record_of(const struct job *job, int rank)
{
    return &job->report.ranks[job_world_worker(job, rank)];
}

static bool still_runs(const void *context, int rank)
{
    return record_of(context, rank)->end == END_LEFT;
}

/* Of an elastic job that has had no world yet. */
static int running_workers(const struct job *job, char *text, size_t size)
{
    int count = job->state.ranks_running;
    snprintf(text, size, "%d worker%s", count, count == 1 ? "" : "s");
    return count;
}

int job_running_ranks(const struct job *job, char *text, size_t size)
{
    if (job->options->elastic && job_world_size(job) == 0)
        return running_workers(job, text, size);
    return rank_names_text(text, size, job_world_size(job), still_runs, job);
}

/* The rank runs and has not called hvd_init, in which others may wait for it. */
static bool has_not_met(const void *context, int rank)
{
    const struct job *job = context;
    return still_runs(job, rank) && !record_of(job, rank)->met;
}

static bool has_met(const void *context, int rank)
{
    const struct job *job = context;
    return still_runs(job, rank) && record_of(job, rank)->met;
}

static bool waits_to_meet(const void *context, int rank)
{
    const struct job *job = context;
    return has_met(job, rank) && !record_of(job, rank)->left_because;
}

static bool is_stopped(const void *context, int rank)
{
    const struct job *job = context;
    const struct job_host *host = job->hosts[record_of(job, rank)->host];
    return host && job_host_rank_is_stopped(host, job_world_worker(job, rank));
}

static bool waits_for_others(const void *context, int rank)
{
    const struct job *job = context;
    return still_runs(job, rank) && record_of(job, rank)->waits;
}

/* Do ranks wait in hvd_init for others? False in a job that does not use libhvd. */
static bool is_joining(const struct job *job)
{
    char names[RANK_NAMES_SIZE];
    return rank_names_text(names, sizeof names, job_world_size(job), has_met, job) > 0 &&
           rank_names_text(names, sizeof names, job_world_size(job), has_not_met, job) > 0;
}

/* States in which ranks may be; the first two while they join. */
static const struct {
    bool (*is_one)(const void *context, int rank);
    const char *one, *several;
} states[] = {
    { has_not_met, "had not called hvd_init", "had not called hvd_init" },
    { waits_to_meet, "waited in it", "waited in it" },
    { is_stopped, "was stopped", "were stopped" },
    { waits_for_others, "waited for others", "waited for others" },
};

/* "rank 3 had not called hvd_init, ranks 0-2 waited in it"; false if nothing is known of any. */
static bool rank_states(const struct job *job, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = is_joining(job) ? 0 : 2; i < sizeof states / sizeof *states; i++) {
        char names[RANK_NAMES_SIZE];
        int count =
            rank_names_text(names, sizeof names, job_world_size(job), states[i].is_one, job);
        if (count > 0 && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s %s", used ? ", " : "", names,
                                     count == 1 ? states[i].one : states[i].several);
    }
    if (*job->timeout.quoted && used < size)
        snprintf(text + used, size - used, " (rank %d: %s)", job->timeout.quoted_rank,
                 job->timeout.quoted);
    return used > 0;
}

static bool has_running_rank(const struct job *job, const struct job_host *host)
{
    for (int i = 0; i < host->where.local_size; i++)
        if (job->report.ranks[host->where.ranks[i]].end == END_LEFT)
            return true;
    return false;
}

/* "node1, node2 and 5 more hosts" */
static void running_hosts(const struct job *job, char *text, size_t size)
{
    size_t used = 0;
    int more = 0;
    text[0] = '\0';
    for (int i = 0; i < job->state.nhosts; i++) {
        const char *name = job_host_name(job, i);
        if (!job->hosts[i] || !has_running_rank(job, job->hosts[i]))
            continue;
        if (more > 0 || (used > 0 && used + strlen(name) > HOSTS_ROOM))
            more++;
        else
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", name);
    }
    if (more > 0)
        snprintf(text + used, size - used, " and %d more host%s", more, more == 1 ? "" : "s");
}

/* "nothing was heard of node2 for 2.4 s"; false if all hosts are heard. */
static bool silent_host(const struct job *job, char *text, size_t size)
{
    uint64_t longest_ms = 0;
    for (int i = 0; i < job->state.nhosts; i++) {
        uint64_t silent_ms = job->hosts[i] ? job_host_silent_ms(job->hosts[i]) : 0;
        if (silent_ms <= longest_ms)
            continue;
        longest_ms = silent_ms;
        snprintf(text, size, "nothing was heard of %s for %.1f s", job_host_name(job, i),
                 (double)silent_ms / 1000);
    }
    return longest_ms > 0;
}

static void running_text(const struct job *job, const char *ranks, char *text, size_t size)
{
    char hosts[400], state_text[600], silent[320];
    running_hosts(job, hosts, sizeof hosts);
    bool is_known = rank_states(job, state_text, sizeof state_text);
    bool is_silent = silent_host(job, silent, sizeof silent);
    snprintf(text, size, "while %s on %s still ran%s%s%s%s", ranks, hosts,
             is_known ? ", of which " : "", state_text, is_silent ? ", and " : "",
             is_silent ? silent : "");
}

void job_progress_text(const struct job *job, char *text, size_t size)
{
    char hosts[400], ranks[RANK_NAMES_SIZE];
    if (job_missing_hosts(job, hosts, sizeof hosts) > 0)
        snprintf(text, size, "before %s: %s",
                 job->start.started_ms == 0 ? "the ranks were started" : "all ranks were started",
                 hosts);
    else if (job->start.started_ms == 0)
        snprintf(text, size, "before the ranks were started");
    else if (job_running_ranks(job, ranks, sizeof ranks) > 0)
        running_text(job, ranks, text, size);
    else
        snprintf(text, size, "while no rank ran");
}

void job_interrupted_text(const struct job *job, char *text, size_t size)
{
    char state_text[600], silent[320];
    bool is_silent = silent_host(job, silent, sizeof silent);
    text[0] = '\0';
    bool starts =
        job->options->elastic ? job_world_size(job) == 0 : job->start.nstarted < job->state.nranks;
    if (starts && job->state.phase <= JOB_RUNNING)
        job_progress_text(job, text, size);
    else if (rank_states(job, state_text, sizeof state_text))
        snprintf(text, size, "when %s%s%s", state_text, is_silent ? " and " : "",
                 is_silent ? silent : "");
    else if (is_silent)
        snprintf(text, size, "when %s", silent);
}
