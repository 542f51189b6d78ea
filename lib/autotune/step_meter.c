/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring steps; see step_meter.h. Fails when out of memory, at the beginning. */
#include "lib/autotune/step_meter.h"

#include <stdlib.h>

enum { NAMES_BITS = 14, NAMES = 1 << NAMES_BITS };
enum { NAMES_USED = NAMES / 4 * 3 }; /* of a step; more are not remembered */

struct step_name {
    uint64_t name;
    uint32_t step; /* it was done in, from 1 */
};

int step_meter_init(struct step_meter *meter, int steps_per_sample, struct err *err)
{
    *meter = (struct step_meter){
        .names = calloc(NAMES, sizeof *meter->names),
        .rates = calloc((size_t)steps_per_sample, sizeof *meter->rates),
        .steps = steps_per_sample,
        .step = 1,
    };
    if (meter->names && meter->rates)
        return HVD_OK;
    step_meter_fini(meter);
    return fail(err, HVD_ERR_NOMEM, "out of memory");
}

void step_meter_fini(struct step_meter *meter)
{
    free(meter->names);
    free(meter->rates);
    *meter = (struct step_meter){ 0 };
}

/* True if the name was done in this step before; otherwise notes it. */
static bool is_known(struct step_meter *meter, uint64_t name)
{
    uint64_t at = name * 0x9e3779b97f4a7c15 >> (64 - NAMES_BITS);
    for (; meter->names[at].step == meter->step; at = (at + 1) % NAMES)
        if (meter->names[at].name == name)
            return true;
    if (meter->nnames < NAMES_USED) {
        meter->names[at] = (struct step_name){ name, meter->step };
        meter->nnames++;
    }
    return false;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void end_step(struct step_meter *meter, uint64_t now_ns)
{
    uint64_t took_ns = now_ns > meter->began_ns ? now_ns - meter->began_ns : 1;
    if (meter->counts)
        meter->rates[meter->nrates++] = (double)meter->nbytes * 1e9 / (double)took_ns;
    meter->counts = true;
    meter->step++;
    meter->nnames = 0;
    meter->nbytes = 0;
    meter->began_ns = now_ns;
}

bool step_meter_done(struct step_meter *meter, uint64_t name, size_t nbytes, uint64_t now_ns,
                     double *rate)
{
    bool over = name != 0 && is_known(meter, name);
    if (over) {
        end_step(meter, now_ns);
        is_known(meter, name);
    }
    meter->nbytes += nbytes;
    if (!over || meter->nrates < meter->steps)
        return false;
    *rate = median(meter->rates, meter->nrates);
    meter->nrates = 0;
    meter->counts = false;
    return true;
}
