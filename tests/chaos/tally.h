/* SPDX-License-Identifier: Apache-2.0 */
/* Adding up trials: for each fault how many, how many failed, and how long it took until everything
 * was gone. */
#ifndef TESTS_CHAOS_TALLY_H
#define TESTS_CHAOS_TALLY_H

#include "tests/chaos/trial.h"

struct tally_row {
    int trials, hit, failed, orphans, endless, late; /* late: after the bound, within patience */
    double *times_ms;
    int ntimes;
};

struct tally {
    struct tally_row *rows; /* one for each fault, then all of them */
    int trials, failed, things;
};

void tally_init(struct tally *tally);
void tally_fini(struct tally *tally);
void tally_add(struct tally *tally, const struct trial *trial);
void tally_print(struct tally *tally, const struct launcher *launcher, bool hosts);

#endif
