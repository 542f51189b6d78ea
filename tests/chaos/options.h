/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of chaos. */
#ifndef TESTS_CHAOS_OPTIONS_H
#define TESTS_CHAOS_OPTIONS_H

#include "tests/chaos/trial.h"

struct options {
    struct trial_setting setting;
    struct plan_choices choices;
    uint64_t seed;
    bool has_seed;
    int trials, jobs, seconds; /* seconds 0: no limit */
    bool uncontained;          /* control groups are hidden */
};

/* Returns -1 to go on, or the exit status after what it has printed. */
int options_parse(struct options *options, char **argv);

#endif
