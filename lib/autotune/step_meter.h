/* SPDX-License-Identifier: Apache-2.0 */
/* Measures how fast training steps are from nothing but finished tensors: a step ends when a name
 * is finished that was finished in this step before. The rate of a sample of some steps is the
 * median of their bytes per second, so that a pause between two steps does not count. Pure. */
#ifndef LIB_AUTOTUNE_STEP_METER_H
#define LIB_AUTOTUNE_STEP_METER_H

#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct step_name;

struct step_meter {
    struct step_name *names; /* owned; of this step, as far as there is room */
    uint32_t step;           /* number of this one */
    int nnames;
    double *rates; /* owned; bytes in a second, of the steps of this sample */
    int nrates, steps;
    bool counts; /* this step does: it began after the sample did */
    uint64_t began_ns, nbytes;
};

/* HVD_ERR_NOMEM. */
int step_meter_init(struct step_meter *meter, int steps_per_sample, struct err *err);
void step_meter_fini(struct step_meter *meter);

/* A tensor is done; `name` is a hash of its name, and 0 means none. True with the last step of a
 * sample, and its bytes in a second. The next sample begins with the next step. */
bool step_meter_done(struct step_meter *meter, uint64_t name, size_t nbytes, uint64_t now_ns,
                     double *rate);

#endif
