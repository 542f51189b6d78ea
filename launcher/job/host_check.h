/* SPDX-License-Identifier: Apache-2.0 */
/* Checking every host of a plan without starting the job: each host goes through all steps of a
 * job, up to the start of its ranks. The results become a table and an exit status. */
#ifndef LAUNCHER_JOB_HOST_CHECK_H
#define LAUNCHER_JOB_HOST_CHECK_H

#include "launcher/job/job.h"

struct host_check;

struct host_check_callbacks {
    /* A line of information for people. */
    void (*on_note)(void *context, const char *line);

    /* All hosts have been checked, or host_check_stop() was called: the table, which the receiver
     * frees, and 0 or the exit status of the first host that failed. Called once, as the last call,
     * and never from inside another function of this header. */
    void (*on_finished)(void *context, char *table, int exit_status);
};

/* Begins. The options are those of a job; without a command only the host itself is checked. */
struct host_check *host_check_start(uv_loop_t *loop, const struct job_options *options,
                                    const struct host_check_callbacks *callbacks, void *context);

/* A signal ends the check: the hosts that are not ready have failed, and the exit status is 128
 * plus the number of the signal. */
void host_check_stop(struct host_check *check, int signum);

/* Call this from on_finished() on, or to give up. Freed when the loop has run on. NULL is fine. */
void host_check_destroy(struct host_check *check);

#endif
