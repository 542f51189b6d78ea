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

int unresponsive_host_find(const struct job_report *report)
{
    for (int i = 0; i < report->nhosts; i++)
        if (report->hosts[i].unanswered >= UNANSWERED_ALONE)
            return i;
    for (int i = 0; i < report->nhosts; i++)
        if (unresponsive_host_is(report, i))
            return i;
    return -1;
}
