/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict of a job in one line: why it failed; see hvdrun(1), EXIT STATUS. Pure. */
#ifndef LAUNCHER_VERDICT_JOB_VERDICT_TEXT_H
#define LAUNCHER_VERDICT_JOB_VERDICT_TEXT_H

#include "launcher/placement/rank_plan.h"
#include "launcher/verdict/job_state.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Writes "FAILED rank 2 on node1 (pid 4711): killed by signal 9 (SIGKILL) after 12.3 s; 3 other
 * ranks terminated, 0 left" or the like, without a count if there was no rank to terminate. `pid`
 * is that of the failed rank, if the cause is a rank; `elapsed_ms` since the ranks were started, or
 * hvdrun if they were not. */
void job_verdict_text(char *text, size_t size, const struct job_state *state,
                      const struct rank_plan *plan, pid_t pid, uint64_t elapsed_ms);

#endif
