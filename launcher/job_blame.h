/* SPDX-License-Identifier: Apache-2.0 */
/* Whose failure a job's failure is, when several ranks have failed.
 *
 * One that failed because of another is not to blame: it said so when its world broke, or when it
 * left the rendezvous (if it was a departure, not long before), or it gave up after the rendezvous,
 * where it was, had told of the origin. Of the rest the first is, by the agents' clocks; where
 * these cannot tell, one that was killed comes before one that exited. When all have followed the
 * rank at the origin, which has said that it failed, or has ended well, or left, or broken off too
 * early, it is that rank, also if it was told to end before it did; but a host that heard nothing
 * any more, though it may still have been heard, comes before a rank that left. When they have lost
 * each other, it is such a host, or one of whose loss hvdrun heard only later. Pure. */
#ifndef LAUNCHER_JOB_BLAME_H
#define LAUNCHER_JOB_BLAME_H

#include "launcher/job_report.h"

struct job_blame {
    int rank;
    int host;       /* to blame instead of a rank, which is -1; or -1 */
    int witness;    /* the rank that failed because of `host`, or of `rank`; -1: `rank` has ended in
                     failure itself */
    bool by_word;   /* and `rank` has not left: it has said what failed */
    char text[400]; /* how it has left: "left before allreduce 'grad', for which rank 0 waited"; or
                       what became of the host, "" if its loss has words of its own; or what has
                       failed in the rank, "" if it has not said that */
};

/* False if no rank has failed, other than because it was told to end. */
bool job_blame_choose(struct job_blame *blame, const struct job_report *report);

#endif
