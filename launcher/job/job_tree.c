/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of agents of a job (launcher/tree/host_tree.h): hvdrun connects to the first hosts, and
 * when the agent of a host is ready, the hosts below are connected through it. Each host keeps its
 * own link to hvdrun, which passes through the agents above it.
 *
 *   a host cannot be connected from the one above   hvdrun connects to it, and to all that still
 *                                                   wait, itself; one warning
 *   START, SIGNAL or STOP for all hosts             hvdrun sends a MULTICAST to each host of the first
 *                                                   level, whose agents pass it on. If a host would
 *                                                   not hear it (job_host_hears_multicast()), hvdrun
 *                                                   sends a frame to that host and to each host
 *                                                   above it, and a MULTICAST to each other child of
 *                                                   those
 *   a host is lost       after it, the hosts below it are lost, because of it
 *   a host is silent     the heartbeat timeout of the hosts below it does not run
 *   the job stops        a host is done after those below it; one that does not answer is killed
 *                        first
 *
 * The hosts of an elastic job are all connected by hvdrun: they come and go one by one, and a host
 * that is lost or removed must cost no other. An agent whose link passes through a host that goes
 * could not keep its ranks, because its link cannot be moved to another host. */
#include "launcher/job/job_impl.h"

#include "launcher/base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

void job_tree_init(struct job *job)
{
    int nhosts = job->plan->host_count;
    int width = job->options->elastic ? 0 : job->options->tree_width;
    bool *local = xcalloc((size_t)nhosts + 1, sizeof *local);
    for (int i = 0; i < nhosts && width > 0; i++) {
        const struct host_slots *slots = job->plan->hosts[i].host;
        struct connect_target target = { .host = slots->name, .user = slots->user };
        local[i] = connect_queue_is_local(job->pool, &target);
    }
    host_tree_init(&job->tree.shape, nhosts, width, local);
    job->tree.casts = xcalloc((size_t)nhosts + 1, sizeof *job->tree.casts);
    free(local);
}

void job_tree_fini(struct job *job)
{
    host_tree_fini(&job->tree.shape);
    free(job->tree.casts);
}

static bool job_tree_hears_multicast(const struct job *job, int host)
{
    int parent = job->tree.shape.parents[host];
    return parent != HOST_TREE_ROOT && job->hosts[host] && job->hosts[parent] &&
           job_host_hears_multicast(job->hosts[host], job->hosts[parent]);
}

void job_tree_plan_casts(struct job *job)
{
    int nhosts = job->tree.shape.nhosts;
    bool *hears = xcalloc((size_t)nhosts + 1, sizeof *hears);
    for (int i = 0; i < nhosts; i++)
        hears[i] = job_tree_hears_multicast(job, i);
    host_tree_casts(&job->tree.shape, hears, job->tree.casts);
    free(hears);
}

enum host_cast job_tree_cast(const struct job *job, int host)
{
    return host < job->tree.shape.nhosts ? job->tree.casts[host] : CAST_TO_HOST;
}

int job_tree_parent(const struct job *job, int host)
{
    return host < job->tree.shape.nhosts ? job->tree.shape.parents[host] : HOST_TREE_ROOT;
}

void job_tree_on_ready(struct job *job, struct job_host *host)
{
    const int *children;
    int count = host->index < job->tree.shape.nhosts
                    ? host_tree_children(&job->tree.shape, host->index, &children)
                    : 0;
    for (int i = 0; i < count; i++)
        if (job->hosts[children[i]])
            job_host_connect_through(job->hosts[children[i]], host);
}

void job_tree_on_fall_back(void *context, int index, const char *text)
{
    struct job *job = context;
    int parent = job_tree_parent(job, index);
    job_note(job, "%s: %s; it is connected from here", job_host_name(job, index), text);
    if (job->tree.fell_back || job->state.phase >= JOB_STOPPING)
        return;
    job->tree.fell_back = true;
    job_output_say(job->output,
                   "warning: %s could not be connected from %s (%s): hvdrun connects to the hosts "
                   "itself (--tree-width)",
                   job_host_name(job, index), job_host_name(job, parent), text);
    for (int i = 0; i < job->state.nhosts; i++)
        if (job->hosts[i])
            job_host_connect_directly(job->hosts[i]);
}

void job_tree_on_lost(struct job *job, struct job_host *host)
{
    char text[320];
    snprintf(text, sizeof text, "%.250s, through which it was reached, was lost",
             job_host_name(job, host->index));
    for (int i = host->index + 1; i < job->state.nhosts && host->tunnels.nopen > 0; i++)
        if (job->hosts[i] && job->hosts[i]->below && job->hosts[i]->parent == host->index)
            job->hosts[i]->cut_off = true;
    tunnels_cut(&host->tunnels, text);
}

bool job_tree_hides(const struct job *job, const struct job_host *host)
{
    while (host->below && (host = job->hosts[host->parent]))
        if (job_host_is_quiet(host))
            return true;
    return false;
}

void job_tree_ask(struct job *job)
{
    job->tree.asked_us = uv_hrtime() / 1000;
    for (int i = 0; i < job->state.nhosts; i++)
        if (job->hosts[i] && job->hosts[i]->tunnels.nopen > 0)
            job_host_send_heartbeat(job->hosts[i]);
}

static bool job_tree_answers(const struct job *job, const struct job_host *host)
{
    return host->phase != HOST_LOST && job_host_has_read(host, job->tree.asked_us);
}

bool job_tree_comes_later(const struct job *job, const struct job_host *host)
{
    const struct job_host *above = host;
    while (above->below && (above = job->hosts[above->parent]))
        if (!job_tree_answers(job, above))
            return true;
    return host->tunnels.nopen > 0 && job_tree_answers(job, host);
}
