/* SPDX-License-Identifier: Apache-2.0 */
/* Judging a trial by what is left of it and by how its launcher ended. */
#ifndef TESTS_CHAOS_ORACLE_H
#define TESTS_CHAOS_ORACLE_H

#include "tests/chaos/plan.h"

struct outcome {
    bool hit;            /* the fault has happened */
    bool ended;          /* so has the launcher */
    int wait_status;     /* of the launcher, if it ended */
    bool wrong;          /* trial_job_is_wrong() */
    int left;            /* processes that should have ended */
    int things;          /* files and the like that should be gone */
    const char *host;    /* of the victim */
    char last_line[600]; /* on its stderr */
};

enum { ORACLE_TEXT = 300 };

/* True if all is as promised; else `why` says what is not. */
bool oracle_judge(const struct plan *plan, const struct launcher *launcher,
                  const struct outcome *outcome, char why[ORACLE_TEXT]);

/* The time until everything must be over: as promised, and as long as is waited for before a trial
 * fails, which is far more, for machines that are busy. */
int oracle_bound_ms(const struct plan *plan, bool hosts);
int oracle_patience_ms(const struct plan *plan, bool hosts);

/* 128 + n for a signal, as a shell says it. */
int oracle_status(int wait_status);

#endif
