/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of gradients that are reduced together; see optimizer_impl.h. A gradient that is in no
 * group of the caller has a group of its own. First come the groups of the options, in their order,
 * then the others in the order of the parameters, the same on all ranks. In a group gradients are
 * in the order of the parameters, whatever order the caller gave: other ranks know a group by its
 * first tensor.
 *
 * Fails as the allreduces do; after such a failure the group is not in flight. */
#include "lib/training/optimizer_impl.h"

#include "lib/training/call.h"

#include <stdlib.h>

/* ---- making ---- */

static struct group *begin_group(struct hvd_optimizer *optimizer)
{
    struct group *group = &optimizer->groups[optimizer->ngroups++];
    *group = (struct group){ .first = 0 };
    if (group > optimizer->groups)
        group->first = group[-1].first + group[-1].count;
    return group;
}

static void join(struct hvd_optimizer *optimizer, struct group *group, int parameter)
{
    optimizer->gradients[parameter].group = group;
    group->count++;
}

static void make_given(struct hvd_optimizer *optimizer, const struct hvd_parameter_group *given,
                       int count)
{
    for (int i = 0; i < count; i++) {
        struct group *group = begin_group(optimizer);
        for (int k = 0; k < given[i].count; k++)
            join(optimizer, group, given[i].parameters[k]);
    }
}

/* Pieces beyond the number of parameters would be empty. */
static void make_equal(struct hvd_optimizer *optimizer, int pieces)
{
    int parameter = 0;
    for (int i = 0; i < pieces && parameter < optimizer->count; i++) {
        int end = parameter + (int)hvd_share(optimizer->count, pieces, i);
        struct group *group = begin_group(optimizer);
        while (parameter < end)
            join(optimizer, group, parameter++);
    }
}

/* Appends a gradient's tensor to the tensors of the group. */
static void make_tensor(struct hvd_optimizer *optimizer, struct gradient *gradient)
{
    const struct optimizer_settings *settings = &optimizer->settings;
    struct group *group = gradient->group;
    void *memory =
        settings->op == HVD_ADASUM ? gradient->parameter.data : gradient->parameter.gradient;
    gradient->tensor = &optimizer->tensors[group->first + group->incomplete++];
    *gradient->tensor = gradient_tensor(gradient, settings->compression, memory);
}

int groups_make(struct hvd_optimizer *optimizer, const struct hvd_optimizer_options *options,
                struct err *err)
{
    size_t room = (size_t)optimizer->count + 1;
    optimizer->tensors = calloc(room, sizeof *optimizer->tensors);
    optimizer->groups = calloc(room, sizeof *optimizer->groups);
    if (!optimizer->tensors || !optimizer->groups)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    make_given(optimizer, options->groups, options->ngroups);
    make_equal(optimizer, options->equal_groups);
    for (int i = 0; i < optimizer->count; i++)
        if (!optimizer->gradients[i].group)
            join(optimizer, begin_group(optimizer), i);
    for (int i = 0; i < optimizer->count; i++)
        make_tensor(optimizer, &optimizer->gradients[i]);
    return HVD_OK;
}

/* ---- reducing ---- */

int group_submit(struct hvd_optimizer *optimizer, struct group *group, struct err *err)
{
    const struct optimizer_settings *settings = &optimizer->settings;
    const struct hvd_tensor *tensors = &optimizer->tensors[group->first];
    const struct hvd_options options = { .process_set = settings->process_set,
                                         .prescale = 1 / settings->predivide_factor,
                                         .postscale = settings->predivide_factor };
    int rc = group->count == 1
                 ? hvd_allreduce_async(tensors, settings->op, &options, &group->handle)
                 : hvd_grouped_allreduce_async(tensors, group->count, settings->op, &options,
                                               &group->handle);
    group->in_flight = rc == HVD_OK;
    return call_answer(rc, err);
}

void groups_submit(struct hvd_optimizer *optimizer, bool all, struct err *first)
{
    struct err err;
    for (struct group *group = optimizer->groups; group < optimizer->groups + optimizer->ngroups;
         group++)
        if (!group->in_flight && (all || group->incomplete == 0))
            keep_first(first, group_submit(optimizer, group, &err), &err);
}

void groups_wait(struct hvd_optimizer *optimizer, struct err *first)
{
    struct err err;
    for (struct group *group = optimizer->groups; group < optimizer->groups + optimizer->ngroups;
         group++) {
        if (!group->in_flight)
            continue;
        keep_first(first, call_answer(hvd_wait(group->handle), &err), &err);
        group->in_flight = false;
    }
}
