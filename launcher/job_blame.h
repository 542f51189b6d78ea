/* SPDX-License-Identifier: Apache-2.0 */
/* Whose failure a job's failure is, when several ranks have failed.
 *
 * One that failed because of another is not to blame: it said so when it left the rendezvous (if it
 * was a departure, not long before), or it gave up after the rendezvous, where it was, had told of
 * a loss. Of the rest the first is, by the agents' clocks; where these cannot tell, one that was
 * killed comes before one that exited. When all have followed somebody who ended well, or left, too
 * early, it is that rank; when they have lost each other, it is a host that heard nothing any more,
 * though it may still have been heard, or one of whose loss hvdrun heard only later. Pure. */
#ifndef LAUNCHER_JOB_BLAME_H
#define LAUNCHER_JOB_BLAME_H

#include "launcher/job_report.h"

struct job_blame {
    int rank;
    int host;    /* to blame instead of a rank, which is -1; or -1 */
    int witness; /* the rank that failed because of `host`, or because `rank` has left; -1: `rank`
                       has failed itself */
    char text[400]; /* how it has left: "left before allreduce 'grad', for which rank 0 waited"; or
                       what became of the host, "" if its loss has words of its own */
};

/* False if no rank has failed, other than because it was told to end. */
bool job_blame_choose(struct job_blame *blame, const struct job_report *report);

#endif
