/* SPDX-License-Identifier: Apache-2.0 */
/* Which host did not receive what was sent to it. hvdrun may have received what that host sent, up
 * to a normal end.
 *
 * An agent echoes each heartbeat as soon as it has read it. A host that had left heartbeats in a
 * row unanswered when it ended, the first of them sent before the job began to stop, is
 * unresponsive. The last heartbeat may have been under way when the host ended, so that one
 * unanswered heartbeat proves nothing. Three are enough. Two are enough if ranks agree: a rank
 * there has lost another rank, or another rank has lost one there, and their link was all that
 * failed. Two may be all that there are: an hvdrun that was stopped (SIGSTOP) has sent fewer.
 * Pure. */
#ifndef LAUNCHER_VERDICT_UNRESPONSIVE_HOST_H
#define LAUNCHER_VERDICT_UNRESPONSIVE_HOST_H

#include "launcher/verdict/job_report.h"

/* The numbers of unanswered heartbeats, of the five that may be missed, which are no coincidence:
 * alone, and if a rank has lost its link to the host. */
enum { UNANSWERED_ALONE = 3, UNANSWERED_WITH_LINK = 2 };

bool unresponsive_host_is(const struct job_report *report, int host);

/* Of several unresponsive hosts the one whose first unanswered heartbeat was sent first; -1: none.
 * The number of heartbeats tells less: it grows while the job stops, for a host that only gets no
 * processor as well. A host below an unresponsive host (report_host.above) may have answered, but
 * its answers could not reach hvdrun. */
int unresponsive_host_find(const struct job_report *report);

#endif
