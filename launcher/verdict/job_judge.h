/* SPDX-License-Identifier: Apache-2.0 */
/* The judge of a job that is over. job_state.c has recorded the failure that became known first;
 * now that the report holds what agents, ranks and the rendezvous know, the rank or host whose
 * failure came first becomes the verdict. Pure. */
#ifndef LAUNCHER_VERDICT_JOB_JUDGE_H
#define LAUNCHER_VERDICT_JOB_JUDGE_H

#include "launcher/verdict/job_report.h"
#include "launcher/verdict/job_state.h"

/* Every host is done. Changes the verdict of `state` if its cause is a rank, or the loss of a host
 * below one that did not answer or was silent. Says in the report which host was lost, and why a
 * host that did not answer is to blame. */
void job_judge(struct job_state *state, struct job_report *report);

#endif
