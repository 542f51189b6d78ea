/* SPDX-License-Identifier: Apache-2.0 */
/* A step whose updates are combined by Adasum, instead of gradients; see optimizer_impl.h:
 *   keep the old parameters, update the parameters with this rank's gradients, combine the
 *   changes, apply the combined changes to the old parameters.
 *
 * The changes are computed in the parameters' own memory, by adding the negative of the old values:
 * the sum is then a difference, rounded once. A rank whose update fails takes part with zero
 * changes, so that the others can go on, and has the others' parameters afterwards. If a change
 * cannot be combined, all parameters get their old values back. */
#include "lib/training/optimizer_impl.h"

#include "lib/reduce/reduce.h"

#include <string.h>

static void negate(const struct gradient *gradient, void *out, const void *in)
{
    scale_function(gradient->parameter.dtype)(out, in, gradient->count, -1);
}

static void add_to_data(const struct gradient *gradient, const void *what)
{
    void *data = gradient->parameter.data;
    reduce_function(gradient->parameter.dtype, HVD_SUM)(data, data, what, gradient->count);
}

/* The data become the changes. */
static void take_change(const struct gradient *gradient, bool updated)
{
    if (updated)
        add_to_data(gradient, gradient->start);
    else if (gradient->nbytes > 0)
        memset(gradient->parameter.data, 0, gradient->nbytes);
    gradient_compress(gradient, gradient->parameter.data);
}

static void apply_change(const struct gradient *gradient, bool combined)
{
    if (combined)
        gradient_decompress(gradient, gradient->parameter.data);
    negate(gradient, combined ? gradient->start : gradient->parameter.data, gradient->start);
    if (combined)
        add_to_data(gradient, gradient->start);
}

void adasum_prepare(struct hvd_optimizer *optimizer, struct err *first)
{
    optimizer_fill_up(optimizer, first);
    optimizer_open(optimizer);
    if (optimizer->alone)
        return;
    for (int i = 0; i < optimizer->count; i++)
        negate(&optimizer->gradients[i], optimizer->gradients[i].start,
               optimizer->gradients[i].parameter.data);
}

int adasum_combine(struct hvd_optimizer *optimizer, bool updated, struct err *err)
{
    err->code = HVD_OK;
    if (optimizer->alone)
        return HVD_OK;
    for (int i = 0; i < optimizer->count; i++)
        take_change(&optimizer->gradients[i], updated);
    groups_submit(optimizer, true, err);
    groups_wait(optimizer, err);
    for (int i = 0; i < optimizer->count; i++)
        apply_change(&optimizer->gradients[i], err->code == HVD_OK);
    return err->code;
}
