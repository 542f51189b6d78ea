/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that answered no heartbeat; see unresponsive_host.h. */
#include "launcher/verdict/unresponsive_host.h"

static bool is_on(const struct job_report *report, int rank, int host)
{
    return rank >= 0 && rank < report->nranks && report->ranks[rank].host == host;
}

/* A link between a rank of the host and another rank has ended, or got no answer, for no reason
 * that the rendezvous or another rank knew. */
static bool has_lost_link(const struct job_report *report, int host)
{
    for (int i = 0; i < report->nranks; i++) {
        const struct rank_end *end = report->ranks[i].left_because;
        if (end && end->status == HVD_ERR_PEER_LOST && end->how.kind == RANK_END_UNREACHABLE &&
            (is_on(report, i, host) || is_on(report, end->rank, host)))
            return true;
    }
    return false;
}

bool unresponsive_host_is(const struct job_report *report, int host)
{
    int unanswered = report->hosts[host].unanswered;
    return unanswered >= UNANSWERED_ALONE ||
           (unanswered >= UNANSWERED_WITH_LINK && has_lost_link(report, host));
}

static bool has_unresponsive_ancestor(const struct job_report *report, int host)
{
    for (const struct report_host *at = report->hosts[host].above; at; at = at->above)
        if (unresponsive_host_is(report, (int)(at - report->hosts)))
            return true;
    return false;
}

int unresponsive_host_find(const struct job_report *report)
{
    const struct report_host *hosts = report->hosts;
    int found = -1;
    for (int i = 0; i < report->nhosts; i++)
        if (unresponsive_host_is(report, i) && !has_unresponsive_ancestor(report, i) &&
            (found < 0 || hosts[i].unanswered_us < hosts[found].unanswered_us))
            found = i;
    return found;
}
