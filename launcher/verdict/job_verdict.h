/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on a job: why the job failed, which rank or host failed, and the exit status of
 * hvdrun. job_state.c writes the first verdict, job_judge.c the last; job_verdict_text.h has the
 * words. */
#ifndef LAUNCHER_VERDICT_JOB_VERDICT_H
#define LAUNCHER_VERDICT_JOB_VERDICT_H

#include "lib/base/rank_end.h"

#include <stdbool.h>
#include <stdint.h>

/* Why the job failed, and which members of the verdict say more. With a rank, `host` is the rank's
 * host. */
enum job_cause {
    CAUSE_NONE,
    CAUSE_RANK, /* a rank failed, or was stopped under --stopped fail: rank, how, after_ms, text */
    CAUSE_LEFT, /* a rank has left, or ended well, while another needed it, or had failed before it
                   was terminated: rank, reporter, text */
    CAUSE_HOST, /* a failure on a host, or of a rank there: host, rank or -1,
                      text */
    CAUSE_SIGNAL,  /* hvdrun was told to stop: text if there is more to say */
    CAUSE_JOB,     /* the job as a whole: text */
    CAUSE_OUTPUT,  /* the reader of stdout went away */
    CAUSE_TIMEOUT, /* it took longer than it may: text */
};

struct job_verdict {
    enum job_cause cause;
    int exit_status; /* what hvdrun will end with */
    int rank, host;  /* -1: none */
    struct rank_end_how how;
    uint64_t after_ms; /* from the start of the rank until it ended or was stopped */
    int reporter;      /* the rank that needed `rank` */
    bool wrote;        /* of LEFT: `rank` has written to stderr that it failed */
    char text[800];    /* for people */
};

#endif
