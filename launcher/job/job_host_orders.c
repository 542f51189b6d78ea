/* SPDX-License-Identifier: Apache-2.0 */
/* What hvdrun orders a host to do with its ranks: START, SIGNAL, STOP and STOP_RANK.
 *
 *   CAST_TO_HOST     the frame goes to this host
 *   CAST_TO_SUBTREE  a MULTICAST with the frame goes to this host, whose agent passes it on
 *   CAST_BY_PARENT   nothing is sent, because a host above gets a MULTICAST; the state of the host
 *                    changes as if the frame had been sent
 *
 * A host that is not connected gets none: a STOP gives it up, and a SIGSTOP is repeated when it is
 * connected. STOP_RANK goes to one host, behind its START. */
#include "launcher/job/job_host_impl.h"

#include "launcher/base/xalloc.h"
#include "lib/base/env_names.h"

#include <signal.h>
#include <stdlib.h>

/* ---- one frame for many hosts ---- */

bool job_host_hears_multicast(const struct job_host *host, const struct job_host *above)
{
    bool parent_passes_it_on =
        job_host_is_open(above) && (above->phase == HOST_READY || above->phase == HOST_RUNNING);
    if (host->phase == HOST_DONE && above->phase == HOST_DONE)
        return true;
    if (!parent_passes_it_on || !host->below || !host->like_parent)
        return false;
    if (host->phase == HOST_DONE)
        return true;
    return job_host_is_open(host) && (host->phase == HOST_READY || host->phase == HOST_RUNNING) &&
           job_host_has_read(host, host->ordered_us);
}

/* Not for CAST_BY_PARENT. */
static struct wire_writer *job_host_begin_order(struct job_host *host, uint16_t type,
                                                enum host_cast cast)
{
    if (cast == CAST_TO_HOST)
        return frame_link_begin(&host->link, type);
    struct wire_writer *body = frame_link_begin(&host->link, AGENT_MULTICAST);
    wire_put_u16(body, type);
    return body;
}

/* Many hosts wait for a multicast, and hvdrun may be about to make frames for each of them. */
static void job_host_send_order(struct job_host *host, enum host_cast cast)
{
    host->ordered_us = uv_hrtime() / 1000 + 1;
    frame_link_send(&host->link);
    if (cast == CAST_TO_SUBTREE)
        frame_link_hurry(&host->link);
}

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
        job_host_stop(host, signum, grace_ms, CAST_TO_HOST);
}

/* ---- all ranks ---- */

void job_host_start(struct job_host *host, const struct agent_start *start, enum host_cast cast)
{
    struct agent_start told = *start;
    if (host->phase != HOST_READY)
        return;
    host->phase = HOST_RUNNING;
    if (!host->local)
        *told.own_address = '\0';
    if (cast != CAST_BY_PARENT) {
        agent_start_encode(job_host_begin_order(host, AGENT_START, cast), &told);
        job_host_send_order(host, cast);
    }
    stop_started_ranks(host);
}

static void on_given_up(void *context)
{
    struct job_host *host = context;
    host->connect = NULL;
    host->phase = HOST_CLOSED;
    host->events->on_connect_failed(host->context, host->index, 0, "");
}

void job_host_stop(struct job_host *host, int signum, uint32_t grace_ms, enum host_cast cast)
{
    struct agent_stop stop = { signum, grace_ms };
    if (host->phase == HOST_CONNECTING && !host->stopping) {
        host->stopping = true;
        host_connect_close(host->connect, on_given_up, host);
    }
    if (!job_host_is_open(host))
        return;
    if (!host->stopping)
        host->stopped_ms = uv_now(host->loop);
    host->stopping = true;
    if (cast == CAST_BY_PARENT)
        return;
    agent_stop_encode(job_host_begin_order(host, AGENT_STOP, cast), &stop);
    job_host_send_order(host, cast);
}

void job_host_signal(struct job_host *host, int signum, enum host_cast cast)
{
    if (signum == SIGSTOP || signum == SIGCONT)
        host->suspended = signum == SIGSTOP; /* a host that is connected meanwhile is told then */
    if (host->phase < HOST_DESCRIBING || host->phase > HOST_RUNNING || cast == CAST_BY_PARENT)
        return;
    wire_put_i32(job_host_begin_order(host, AGENT_SIGNAL, cast), signum);
    job_host_send_order(host, cast);
}
