/* SPDX-License-Identifier: Apache-2.0 */
/* The job of a trial as processes and files: what trial.c decides about. Each has a folder with
 * "out" and "err", and with "tmp" and "run", which are TMPDIR and XDG_RUNTIME_DIR. */
#ifndef TESTS_CHAOS_TRIAL_JOB_H
#define TESTS_CHAOS_TRIAL_JOB_H

#include "tests/chaos/trial.h"

bool trial_job_start(struct trial *trial);

/* The first process that the launcher forks, as soon as it is there; 0 if there comes none. */
pid_t trial_job_first_child(const struct trial *trial);

/* Have all ranks said so? */
bool trial_job_is_up(const struct trial *trial);

/* What the ranks of an elastic job say of it (worker_elastic.h): something is wrong; or two ranks
 * were one of the same world; or a call has failed, although the fault was to workers alone. */
bool trial_job_is_wrong(const struct trial *trial);

/* The last line of stderr, without its end; empty if there is none. */
void trial_job_last_line(const struct trial *trial, char *line, size_t size);

/* How many things it has left in its folders, each told on stdout. */
int trial_job_things(const struct trial *trial);

void trial_job_show(const struct trial *trial, FILE *log);
void trial_job_remove(const struct trial *trial);

#endif
