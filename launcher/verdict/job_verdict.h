/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on a job: why it failed, whose failure that was, and what hvdrun ends with. job_state.c
 * writes the first one down, job_judge.c the last one, job_verdict_text.h has the words. */
#ifndef LAUNCHER_VERDICT_JOB_VERDICT_H
#define LAUNCHER_VERDICT_JOB_VERDICT_H

#include "lib/base/rank_end.h"

#include <stdint.h>

/* Why the job failed, and which members of the verdict say more. `host` is that of the rank, too. */
enum job_cause {
    CAUSE_NONE,
    CAUSE_RANK, /* a rank ended with a failure: rank, how, after_ms, text */
    CAUSE_LEFT, /* a rank has left, or ended well, while another needed it: rank, reporter, text */
    CAUSE_HOST, /* something could not be done on a host, or for a rank there: host, rank or -1,
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
    uint64_t after_ms; /* the rank ended so long after it was started */
    int reporter;      /* the rank that needed `rank` */
    char text[800];    /* for people */
};

#endif
