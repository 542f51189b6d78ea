/* SPDX-License-Identifier: Apache-2.0 */
/* A line of the stderr of "srun --label", which has what its tasks write and what Slurm says:
 *
 *   3: TEXT                                                          task 3 has written TEXT
 *   0: slurmstepd-host1: error: *** STEP 5.0 ON host1 CANCELLED AT T DUE TO TIME LIMIT ***
 *   srun: error: Node failure on host2
 *   srun: error: host[1-2]: tasks 0-1: Killed
 *   srun: Job step aborted: Waiting up to 32 seconds for job step to finish.
 *   srun: ANYTHING
 *
 * Pure. A line that is like none of them is SRUN_SAYS: Slurm's words may change, and then the last
 * line of a job has less of them. */
#ifndef LAUNCHER_CONNECT_SRUN_LINE_H
#define LAUNCHER_CONNECT_SRUN_LINE_H

#include "launcher/hosts/host_list.h"

/* In the order of what they explain. */
enum srun_line_kind {
    SRUN_SAYS,        /* something */
    SRUN_TASKS_ENDED, /* tasks on `hosts` have ended: how */
    SRUN_NODE_FAILED, /* Slurm has lost `hosts` */
    SRUN_ABORTED,     /* srun ends the step on all hosts */
    SRUN_CANCELLED,   /* Slurm ends the step or the job on all hosts: why */
    SRUN_TASK_WROTE   /* no words of Slurm's */
};

struct srun_line {
    enum srun_line_kind kind;
    int task;               /* the label; -1 if there is none */
    const char *text;       /* borrowed from the line: without the label, or the cause alone */
    int length;             /* of `text` */
    struct host_list hosts; /* owned */
};

void srun_line_read(struct srun_line *line, const char *text);
void srun_line_fini(struct srun_line *line);

#endif
