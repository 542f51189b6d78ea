/* SPDX-License-Identifier: Apache-2.0 */
/* Autotuning: finds the numbers of struct tuning with which training moves the most bytes in a
 * second. Finished tensors go in, and the numbers to use from then on come out. Pure: no clock, no
 * file.
 *
 *   warming up -> searching -> comparing -> done
 *
 * A sample is the rate of some steps with the same numbers (step_meter.h). Warming up: samples that
 * do not count. Searching: as many samples as the settings ask for; the first with the initial
 * numbers, some more spread over the cube, then each where a Gaussian process expects the most
 * improvement. Comparing: three sets of numbers take turns: the initial ones, those of the best
 * sample, and those that the process estimates best. The one with the best median stays; the
 * initial numbers stay unless another is clearly better. So autotuning never ends with slower
 * numbers than it began with. */
#ifndef LIB_AUTOTUNE_TUNER_H
#define LIB_AUTOTUNE_TUNER_H

#include "lib/autotune/tuning.h"
#include "lib/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { TUNER_STEPS_MAX = 10000, TUNER_SAMPLES_MAX = 100, TUNER_WARMUP_MAX = 10000 };

struct tuner_options {
    struct tuning start;
    unsigned varying;     /* of TUNE_ALL */
    int warmup_samples;   /* 0 to TUNER_WARMUP_MAX */
    int steps_per_sample; /* 1 to TUNER_STEPS_MAX */
    int max_samples;      /* of the search; 1 to TUNER_SAMPLES_MAX */
    double noise;         /* deviation of a sample's rate, the spread of all being 1; 0 to 1 */
};

struct tuner;

/* NULL and `err` when out of memory. */
struct tuner *tuner_create(const struct tuner_options *options, struct err *err);
void tuner_destroy(struct tuner *tuner);

/* A sample. */
struct tuner_report {
    struct tuning tuning;
    double rate; /* bytes in a second */
};

enum tuner_event {
    TUNER_NOTHING, /* `report` is unchanged */
    TUNER_WARMED,  /* a sample that does not count */
    TUNER_SAMPLED, /* a sample that counts: use other numbers from now on */
    TUNER_DONE     /* the last sample: use the final numbers from now on */
};

/* A tensor is done; `name` is a hash of its name, and 0 means none. After TUNER_DONE nothing
 * changes any more. */
enum tuner_event tuner_tensor_done(struct tuner *tuner, uint64_t name, size_t nbytes,
                                   uint64_t now_ns, struct tuner_report *report);

/* The numbers to use now. */
const struct tuning *tuner_tuning(const struct tuner *tuner);

/* After TUNER_DONE: the final numbers, and their rate in the comparison. */
struct tuner_report tuner_result(const struct tuner *tuner);

#endif
