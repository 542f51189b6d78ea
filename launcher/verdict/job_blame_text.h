/* SPDX-License-Identifier: Apache-2.0 */
/* The words for the rank to blame (job_blame.h), as they stand behind "FAILED rank 2 on node1:". */
#ifndef LAUNCHER_VERDICT_JOB_BLAME_TEXT_H
#define LAUNCHER_VERDICT_JOB_BLAME_TEXT_H

#include "launcher/verdict/job_blame.h"

enum { JOB_BLAME_TEXT_SIZE = 400 };

/* "left before allreduce 'grad', for which rank 0 waited"; or what has failed in the rank, "" if it has
 * not said that; "" too for a host whose loss has words already. Returns `text`. */
char *job_blame_text(char text[JOB_BLAME_TEXT_SIZE], const struct job_blame *blame);

#endif
