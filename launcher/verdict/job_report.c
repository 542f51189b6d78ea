/* SPDX-License-Identifier: Apache-2.0 */
/* An empty report, and the words in it; see job_report.h. */
#include "launcher/verdict/job_report.h"

#include "launcher/base/xalloc.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *report_end_name(enum report_end end)
{
    static const char *const names[REPORT_ENDS] = {
        [END_NOT_STARTED] = "not started", [END_BY_ITSELF] = "by itself",
        [END_TERMINATED] = "terminated",   [END_LOST] = "lost",
        [END_LEFT] = "not killed",
    };
    return names[end];
}

const char *report_transport_name(enum report_transport transport)
{
    static const char *const names[REPORT_TRANSPORTS] = {
        [HOST_TRANSPORT_LOCAL] = "local",     [HOST_TRANSPORT_SSH] = "ssh",
        [HOST_TRANSPORT_COMMAND] = "command", [HOST_TRANSPORT_AGENT] = "agent",
        [HOST_TRANSPORT_SRUN] = "srun",
    };
    return names[transport];
}

void job_report_init(struct job_report *report, const struct rank_plan *plan, const char *id,
                     uint64_t epoch_ms, uint64_t now_ms)
{
    *report = (struct job_report){
        .job = id,
        .began_ms = now_ms,
        .ended_ms = now_ms,
        .epoch_ms = epoch_ms,
        .rank = -1,
        .host = -1,
        .origin = rank_end_none(),
        .ranks = xcalloc((size_t)plan->size, sizeof *report->ranks),
        .hosts = xcalloc((size_t)plan->host_count, sizeof *report->hosts),
        .nranks = plan->size,
        .nhosts = plan->host_count,
    };
    for (int i = 0; i < plan->size; i++)
        report->ranks[i].host = plan->ranks[i].host;
    for (int i = 0; i < plan->host_count; i++)
        report->hosts[i].name = plan->hosts[i].host->name;
}

void job_report_fini(struct job_report *report)
{
    for (int i = 0; i < report->nranks; i++) {
        free(report->ranks[i].said);
        free(report->ranks[i].left_because);
        free(report->ranks[i].loss);
    }
    for (int i = 0; i < report->nworlds; i++)
        free(report->worlds[i].workers);
    free(report->worlds);
    free(report->ranks);
    free(report->hosts);
    *report = (struct job_report){ 0 };
}

void job_report_add(struct job_report *report, const char *host, int nranks)
{
    report->hosts = xreallocarray(report->hosts, (size_t)report->nhosts + 1, sizeof *report->hosts);
    report->hosts[report->nhosts] = (struct report_host){ .name = host };
    report->ranks =
        xreallocarray(report->ranks, (size_t)(report->nranks + nranks), sizeof *report->ranks);
    for (int i = 0; i < nranks; i++)
        report->ranks[report->nranks++] = (struct report_rank){ .host = report->nhosts };
    report->nhosts++;
}

struct report_world *job_report_world(const struct job_report *report)
{
    return report->nworlds > 0 ? &report->worlds[report->nworlds - 1] : NULL;
}

void job_report_end_world(struct job_report *report, const char *why, uint64_t now_ms)
{
    struct report_world *world = job_report_world(report);
    if (!world || *world->why)
        return;
    snprintf(world->why, sizeof world->why, "%s", why);
    world->ended_ms = now_ms;
}

void job_report_lost_member(struct job_report *report, const char *why, uint64_t now_ms)
{
    struct report_world *world = job_report_world(report);
    if (!world || world->member_lost)
        return;
    *world->why = '\0';
    job_report_end_world(report, why, now_ms);
    world->member_lost = true;
}

void job_report_add_world(struct job_report *report, int epoch, const int *workers, int size,
                          uint64_t now_ms)
{
    struct report_world world = { .epoch = epoch, .size = size, .began_ms = now_ms };
    world.workers = xcalloc((size_t)size, sizeof *world.workers);
    memcpy(world.workers, workers, (size_t)size * sizeof *workers);
    report->worlds =
        xreallocarray(report->worlds, (size_t)report->nworlds + 1, sizeof *report->worlds);
    report->worlds[report->nworlds++] = world;
}

void job_report_reason(struct job_report *report, int host, const char *text)
{
    struct report_host *record = &report->hosts[host];
    if (!*record->reason)
        snprintf(record->reason, sizeof record->reason, "%s", text);
}
