/* SPDX-License-Identifier: Apache-2.0 */
/* One job in which one call fails, and the judgement over it. */
#ifndef TESTS_SHIM_TRIAL_H
#define TESTS_SHIM_TRIAL_H

#include "tests/shim/shim.h"

#include <stdbool.h>
#include <stddef.h>

struct trial_setup {
    char *const *command;
    const char *preload; /* as LD_PRELOAD */
    const char *board;   /* path of a struct shim_board */
    int bound_s;         /* a job that takes longer hangs */
};

struct trial {
    int wait_status; /* of hvdrun */
    bool hung;
    bool speechless; /* its stderr is what failed */
    bool left;       /* processes lived on after hvdrun, until they were killed */
    double seconds;  /* until hvdrun had ended */
    char *out, *err;
};

/* Runs the job in a child of this process, which becomes a subreaper: all that the job leaves is
 * ours, and nothing else may be. False if it cannot be started. */
bool trial_run(const struct trial_setup *setup, struct trial *trial);
void trial_fini(struct trial *trial);

/* What a job in which nothing fails has written, in order of lines. */
struct golden {
    char *out, *err;
};

struct golden golden_of(const struct trial *trial);
void golden_fini(struct golden *golden);

/* Why the job did not end as it must: NULL if it did. */
const char *trial_complaint(struct trial *trial, const struct golden *golden);

/* The one line with which a failed job says why; "" if there is none. */
const char *trial_last_line(const struct trial *trial, char *line, size_t size);

#endif
