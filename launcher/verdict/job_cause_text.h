/* SPDX-License-Identifier: Apache-2.0 */
/* The words for the rank to blame (job_blame.h), as they stand behind "FAILED rank 2 on node1:". */
#ifndef LAUNCHER_VERDICT_JOB_CAUSE_TEXT_H
#define LAUNCHER_VERDICT_JOB_CAUSE_TEXT_H

#include "launcher/verdict/job_blame.h"

enum { JOB_CAUSE_TEXT_SIZE = 400 };

/* "left before allreduce 'grad', for which rank 0 waited"; or the failure that the rank
 * reported, "" if it has reported none; also "" for a lost host, for which hvdrun has a text.
 * Returns `text`. */
char *job_cause_text(char text[JOB_CAUSE_TEXT_SIZE], const struct job_blame *blame);

#endif
