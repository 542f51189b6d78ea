/* SPDX-License-Identifier: Apache-2.0 */
/* Ending what a lost host's ranks have left there. */
#ifndef LAUNCHER_JOB_JOB_SWEEP_H
#define LAUNCHER_JOB_JOB_SWEEP_H

#include "launcher/job/job_impl.h"

/* Begins, if ranks may have run there and it may answer; the host counts as done when it has ended.
 * False if nothing is to be done. */
bool job_sweep_start(struct job *job, struct job_host *host);

#endif
