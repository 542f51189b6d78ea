/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the rank whose failure caused a job's failure, when several ranks have failed.
 *
 * A rank that failed because of another is not to blame. It said so when its world broke, or when
 * it left the rendezvous (after a departure, only if not long before), or it gave up after the
 * rendezvous, where it was a member, had announced the origin. Of the other ranks the first to fail
 * is to blame, by the agents' clocks. Where the clocks cannot tell, a rank that was killed comes
 * before a rank that exited. When all ranks have followed the origin, and the origin has said that
 * it failed, or has ended well, or left, or disconnected too early, the origin is to blame, even if
 * it was told to end before it did; but an unresponsive host (unresponsive_host.h) comes before a
 * rank that left. When the ranks have lost each other, such a host is to blame, or a
 * host of whose loss hvdrun heard only later.
 *
 * A rank that is not libhvd's has no record. What it wrote to stderr counts instead
 * (stderr_failure.h), if it exited or aborted soon after: a rank that wrote that another failed has
 * followed. Of ranks that wrote of failures of their own, the first to write is to blame, not the
 * first to end. If all failed ranks have followed, then the first of these is to blame:
 *   an unresponsive host;
 *   a rank that wrote of a failure of its own before the first of them ended, and which was told to
 *     end before it did;
 *   the first rank that exited with status 0 before the first of them ended;
 *   a lost host;
 *   a rank that had begun to write of a failure when it was told to end. Pure. */
#ifndef LAUNCHER_VERDICT_JOB_BLAME_H
#define LAUNCHER_VERDICT_JOB_BLAME_H

#include "launcher/verdict/job_report.h"

/* Why the rank is to blame; job_cause_text.h has the words. */
enum blame_reason {
    BLAME_OWN_END,    /* its process has failed; said: the failure that it reported, or NULL */
    BLAME_LEFT,       /* it left while the reporter needed it; said: the reporter's record of the
                       * departure */
    BLAME_ENDED_WELL, /* it exited with status 0 without leaving; said: its end, or NULL */
    BLAME_LEFT_EARLY, /* it left before all ranks had come */
    BLAME_RAN_ON,     /* it has disconnected, and runs on */
    BLAME_NAMED,      /* its failure is known from the reporter; said: the reporter's record of the
                       * failure */
    BLAME_WROTE,      /* it wrote to stderr that it failed, and was told to end then */
    BLAME_HOST_UNRESPONSIVE, /* the host heard nothing; said: the record that names the lost rank,
                              * or NULL */
    BLAME_HOST_LOST,         /* the host was lost; hvdrun has a text for that already */
};

struct job_blame {
    int rank;
    int host;     /* to blame instead of a rank, and `rank` is -1; or -1 */
    int reporter; /* the rank that failed because of `host`, or of `rank`; -1: `rank` has failed
                   * itself */
    enum blame_reason reason;
    const struct rank_end *said; /* borrowed from the report */
};

/* False if no rank has failed, not counting ranks that were told to end. */
bool job_blame_choose(struct job_blame *blame, const struct job_report *report);

#endif
