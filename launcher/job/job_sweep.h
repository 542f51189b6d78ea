/* SPDX-License-Identifier: Apache-2.0 */
/* Ending the processes that a lost host's ranks have left there. */
#ifndef LAUNCHER_JOB_JOB_SWEEP_H
#define LAUNCHER_JOB_JOB_SWEEP_H

#include "launcher/job/job_impl.h"

/* Begins, if ranks may have run on the host and it may answer. The host counts as done when the
 * sweep has ended. Returns false if there is nothing to do. */
bool job_sweep_start(struct job *job, struct job_host *host);

#endif
