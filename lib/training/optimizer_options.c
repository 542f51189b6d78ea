/* SPDX-License-Identifier: Apache-2.0 */
/* Checks parameters and options for values that are wrong by themselves or do not fit together; see
 * optimizer_impl.h. Each mistake has its own text, which names the parameter or the option. */
#include "lib/training/optimizer_impl.h"

#include "lib/reduce/reduce.h"
#include "lib/training/parameters.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* More than any divisor of a sum (lib/reduce/reduce.h). */
enum { PASSES_MAX = 1 << 24 };

typedef int check_fn(const struct hvd_optimizer_options *options, struct err *err);

static double predivide_factor(const struct hvd_optimizer_options *options)
{
    return options->predivide_factor == 0 ? 1 : options->predivide_factor;
}

struct optimizer_settings optimizer_settings(const struct hvd_optimizer_options *options)
{
    return (struct optimizer_settings){
        .process_set = options->process_set,
        .op = options->op,
        .compression = options->compression,
        .passes = options->backward_passes == 0 ? 1 : options->backward_passes,
        .average_passes = options->average_passes != 0,
        .predivide_factor = predivide_factor(options),
    };
}

/* ---- options ---- */

static int check_values(const struct hvd_optimizer_options *options, struct err *err)
{
    if (options->op < HVD_AVERAGE || options->op > HVD_PRODUCT)
        return fail(err, HVD_ERR_INVALID, "op %d is not an operation", (int)options->op);
    if (options->compression < HVD_COMPRESSION_NONE || options->compression > HVD_COMPRESSION_BF16)
        return fail(err, HVD_ERR_INVALID, "compression %d does not exist",
                    (int)options->compression);
    if (options->backward_passes < 0 || options->backward_passes > PASSES_MAX)
        return fail(err, HVD_ERR_INVALID, "backward_passes is %d, expected 1 to %d",
                    options->backward_passes, PASSES_MAX);
    return HVD_OK;
}

static int check_predivision(const struct hvd_optimizer_options *options, struct err *err)
{
    double factor = predivide_factor(options);
    if (!isfinite(factor) || factor < 0 || !isfinite(1 / factor))
        return fail(err, HVD_ERR_INVALID,
                    "predivide_factor is %g, expected a finite number above 0", factor);
    if (factor != 1 && options->op != HVD_AVERAGE)
        return fail(err, HVD_ERR_INVALID, "predivide_factor is %g, but op is %s, not average",
                    factor, op_name((int)options->op));
    return HVD_OK;
}

static int check_kinds_of_groups(const struct hvd_optimizer_options *options, struct err *err)
{
    if (options->ngroups < 0 || options->equal_groups < 0)
        return fail(err, HVD_ERR_INVALID, "there cannot be %d groups",
                    options->ngroups < 0 ? options->ngroups : options->equal_groups);
    if (options->ngroups > 0 && options->equal_groups > 0)
        return fail(err, HVD_ERR_INVALID, "both groups and equal_groups are given");
    if (options->ngroups > 0 && !options->groups)
        return fail(err, HVD_ERR_INVALID, "groups is NULL but ngroups is %d", options->ngroups);
    return HVD_OK;
}

static int check_adasum(const struct hvd_optimizer_options *options, struct err *err)
{
    if (options->op != HVD_ADASUM)
        return HVD_OK;
    if (options->process_set != 0)
        return fail(err, HVD_ERR_INVALID, "adasum is for the world, not for process set %d",
                    options->process_set);
    if (options->ngroups > 0 || options->equal_groups > 0)
        return fail(err, HVD_ERR_INVALID, "adasum has no groups");
    return HVD_OK;
}

static int check_options(const struct hvd_optimizer_options *options, struct err *err)
{
    static check_fn *const checks[] = { check_values, check_predivision, check_kinds_of_groups,
                                        check_adasum };
    int rc = HVD_OK;
    for (size_t i = 0; rc == HVD_OK && i < sizeof checks / sizeof *checks; i++)
        rc = checks[i](options, err);
    return rc;
}

/* ---- groups ---- */

/* Marks the group's parameters with its number, counted from 1. */
static int mark_group(int *marks, int count, const struct hvd_parameter_group *group, int number,
                      struct err *err)
{
    if (group->count < 1 || !group->parameters)
        return fail(err, HVD_ERR_INVALID, "it has no parameters");
    for (int i = 0; i < group->count; i++) {
        int parameter = group->parameters[i];
        if (parameter < 0 || parameter >= count)
            return fail(err, HVD_ERR_INVALID, "parameter %d does not exist, there are %d",
                        parameter, count);
        if (marks[parameter] == number)
            return fail(err, HVD_ERR_INVALID, "parameter %d is in it twice", parameter);
        if (marks[parameter] != 0)
            return fail(err, HVD_ERR_INVALID, "parameter %d is in group %d, too", parameter,
                        marks[parameter] - 1);
        marks[parameter] = number;
    }
    return HVD_OK;
}

static int check_groups(const struct hvd_optimizer_options *options, int count, struct err *err)
{
    if (options->ngroups == 0)
        return HVD_OK;
    int rc = HVD_OK;
    int *marks = calloc((size_t)count + 1, sizeof *marks);
    if (!marks)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    for (int i = 0; rc == HVD_OK && i < options->ngroups; i++)
        if ((rc = mark_group(marks, count, &options->groups[i], i + 1, err)) < 0)
            fail_context(err, "group %d", i);
    free(marks);
    return rc;
}

int optimizer_check(const struct hvd_parameter *parameters, int count,
                    const struct hvd_optimizer_options *options, struct err *err)
{
    int rc = check_options(options, err);
    if (rc == HVD_OK)
        rc = optimizer_check_parameters(parameters, count, options, err);
    return rc < 0 ? rc : check_groups(options, count, err);
}
