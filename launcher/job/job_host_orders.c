/* SPDX-License-Identifier: Apache-2.0 */
/* What hvdrun orders a host to do with its ranks: START, SIGNAL, STOP and STOP_RANK.
 *
 * A host that is not connected gets none: a STOP gives it up, and a SIGSTOP is repeated when it is
 * connected. STOP_RANK goes to one host, behind its START. */
#include "launcher/job/job_host_impl.h"

#include "launcher/base/xalloc.h"
#include "lib/base/env_names.h"

#include <signal.h>
#include <stdlib.h>

/* ---- one rank ---- */

static void send_stop_rank(struct job_host *host, int rank, int signum, uint32_t grace_ms)
{
    struct agent_stop_rank stop = { rank, { signum, grace_ms } };
    char *id = xasprintf(ENV_JOB_ID "=%s", host->options->id);
    char *worker = xasprintf(ENV_WORKER "=%d", rank);
    struct wire_writer *body = frame_link_begin(&host->link, AGENT_STOP_RANK);
    agent_stop_rank_encode(body, &stop);
    wire_put_string(body, id);
    wire_put_string(body, worker);
    frame_link_send(&host->link);
    free(id);
    free(worker);
}

/* Ranks that were told to end before they were started. */
static void stop_started_ranks(struct job_host *host)
{
    for (int i = 0; i < host->where.local_size; i++)
        if (host->ranks[i].ends)
            send_stop_rank(host, host->where.ranks[i], SIGTERM, host->options->grace_ms);
}

static bool all_ranks_end(const struct job_host *host)
{
    for (int i = 0; i < host->where.local_size; i++)
        if (!host->ranks[i].ends)
            return false;
    return true;
}

void job_host_stop_rank(struct job_host *host, int rank, int signum, uint32_t grace_ms)
{
    struct host_rank *found = job_host_find_rank(host, rank);
    if (!found || host->phase >= HOST_DONE)
        return;
    found->ends = true;
    if (host->phase == HOST_RUNNING)
        send_stop_rank(host, rank, signum, grace_ms);
    else if (all_ranks_end(host))
        job_host_stop(host, signum, grace_ms);
}

/* ---- all ranks ---- */

void job_host_start(struct job_host *host, const struct agent_start *start)
{
    struct agent_start told = *start;
    if (host->phase != HOST_READY)
        return;
    host->phase = HOST_RUNNING;
    if (!host->local)
        *told.own_address = '\0';
    agent_start_encode(frame_link_begin(&host->link, AGENT_START), &told);
    frame_link_send(&host->link);
    stop_started_ranks(host);
}

static void on_given_up(void *context)
{
    struct job_host *host = context;
    host->connect = NULL;
    host->phase = HOST_CLOSED;
    host->events->on_connect_failed(host->context, host->index, 0, "");
}

void job_host_stop(struct job_host *host, int signum, uint32_t grace_ms)
{
    struct agent_stop stop = { signum, grace_ms };
    if (host->phase == HOST_CONNECTING && !host->stopping) {
        host->stopping = true;
        host_connect_close(host->connect, on_given_up, host);
    }
    if (!job_host_is_open(host))
        return;
    host->stopping = true;
    agent_stop_encode(frame_link_begin(&host->link, AGENT_STOP), &stop);
    frame_link_send(&host->link);
}

void job_host_signal(struct job_host *host, int signum)
{
    if (signum == SIGSTOP || signum == SIGCONT)
        host->suspended = signum == SIGSTOP; /* a host that is connected meanwhile is told then */
    if (host->phase < HOST_DESCRIBING || host->phase > HOST_RUNNING)
        return;
    wire_put_i32(frame_link_begin(&host->link, AGENT_SIGNAL), signum);
    frame_link_send(&host->link);
}
