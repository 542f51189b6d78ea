/* SPDX-License-Identifier: Apache-2.0 */
/* The judge of a job that is over; see job_judge.h. */
#include "launcher/verdict/job_judge.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/shown_seconds.h"
#include "launcher/verdict/job_cause_text.h"
#include "launcher/verdict/unresponsive_host.h"

#include <stdio.h>

static void judge_host(struct job_state *state, struct job_report *report,
                       const struct job_blame *blame)
{
    char text[JOB_CAUSE_TEXT_SIZE];
    if (blame->reason == BLAME_HOST_UNRESPONSIVE) {
        job_report_reason(report, blame->host, job_cause_text(text, blame));
        job_state_blame_host(state, blame->host, STATUS_HOST_LOST, text);
    } else {
        job_state_blame_host(state, blame->host, state->lost_status, state->lost_text);
    }
}

/* The first host that did not answer, or was silent, on the way from hvdrun to `host`; or NULL. */
static struct report_host *find_silent_parent(const struct job_report *report, int host)
{
    struct report_host *found = NULL;
    for (const struct report_host *at = report->hosts[host].above; at; at = at->above)
        if (unresponsive_host_is(report, (int)(at - report->hosts)) || at->silent_ms > 0)
            found = &report->hosts[at - report->hosts];
    return found;
}

/* A host is lost because the host above passed nothing on: it heard nothing, or its agent got no
 * processor. An agent that was told to end by a signal and did so in order has lost nothing. */
static void judge_lost_child(struct job_state *state, struct job_report *report)
{
    int lost = state->verdict.host;
    bool is_lost = state->verdict.rank < 0 && state->verdict.exit_status == STATUS_HOST_LOST &&
                   report->hosts[lost].end != HOST_END_DONE;
    struct report_host *above = is_lost ? find_silent_parent(report, lost) : NULL;
    char text[sizeof state->verdict.text], how[80] = "host lost: no answer";
    if (!above)
        return;
    if (!unresponsive_host_is(report, (int)(above - report->hosts)))
        snprintf(how, sizeof how, "no sign of life from its agent for %g s",
                 shown_seconds(above->silent_ms));
    snprintf(text, sizeof text, "%s; %.100s below it: %.500s", how, report->hosts[lost].name,
             state->verdict.text);
    job_report_reason(report, (int)(above - report->hosts), text);
    job_state_blame_host(state, (int)(above - report->hosts), STATUS_HOST_LOST, text);
}

/* The exit status of a rank that was told to end is meaningless. */
static int status_of_left(const struct job_report *report, const struct job_blame *blame)
{
    bool has_failed = blame->reason == BLAME_NAMED || blame->reason == BLAME_WROTE;
    return has_failed ? rank_end_exit_status(&report->ranks[blame->reporter].how) : STATUS_PROTOCOL;
}

void job_judge(struct job_state *state, struct job_report *report)
{
    struct job_blame blame;
    char text[JOB_CAUSE_TEXT_SIZE];
    if (state->lost_host >= 0)
        report->hosts[state->lost_host].lost = true;
    if (state->verdict.cause == CAUSE_HOST)
        judge_lost_child(state, report);
    if (state->verdict.cause != CAUSE_RANK || !job_blame_choose(&blame, report))
        return;
    if (blame.host >= 0) {
        judge_host(state, report, &blame);
        return;
    }
    const struct report_rank *rank = &report->ranks[blame.rank];
    job_cause_text(text, &blame);
    if (blame.reason == BLAME_WROTE)
        job_state_blame_wrote(state, rank->host, blame.rank, blame.reporter, rank->terminated,
                              status_of_left(report, &blame), text);
    else if (blame.reporter >= 0)
        job_state_blame_left(state, rank->host, blame.rank, blame.reporter, rank->terminated,
                             status_of_left(report, &blame), text);
    else
        job_state_blame(state, rank->host, blame.rank, &rank->how, rank->after_ms, text);
}
