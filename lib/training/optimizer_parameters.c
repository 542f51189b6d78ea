/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the parameters of an optimizer, some only under certain options; see optimizer_impl.h.
 * Lists and names come first, then each parameter, then shared memory: two gradients must not share
 * memory, nor with Adasum the data of two parameters, because they would be reduced at the same
 * time. */
#include "lib/training/optimizer_impl.h"

#include "lib/reduce/reduce.h"
#include "lib/training/parameters.h"

#include <stdlib.h>

static bool is_float(enum hvd_dtype dtype)
{
    return dtype == HVD_FLOAT16 || dtype == HVD_BFLOAT16 || dtype == HVD_FLOAT32 ||
           dtype == HVD_FLOAT64;
}

static int check_dtype(const struct hvd_parameter *parameter,
                       const struct hvd_optimizer_options *options, struct err *err)
{
    const char *dtype = dtype_name((int)parameter->dtype);
    if (options->op == HVD_ADASUM && !is_float(parameter->dtype))
        return fail(err, HVD_ERR_INVALID, "adasum of %s, expected floating point", dtype);
    if (parameter->dtype != HVD_BOOL)
        return HVD_OK;
    if (options->op == HVD_AVERAGE)
        return fail(err, HVD_ERR_INVALID, "bool has no average");
    if (options->average_passes && options->backward_passes > 1)
        return fail(err, HVD_ERR_INVALID, "bool has no average over passes");
    return HVD_OK;
}

/* The device is known to exist by now. */
static int optimizer_parameters_check_device(const struct hvd_parameter *parameter,
                                             const struct hvd_optimizer_options *options,
                                             struct err *err)
{
    if (parameter->device == 0)
        return HVD_OK;
    if (options->compression != HVD_COMPRESSION_NONE)
        return fail(err, HVD_ERR_INVALID, "gradients in device memory are not compressed");
    if (options->backward_passes > 1)
        return fail(err, HVD_ERR_INVALID,
                    "gradients in device memory are not added up over %d passes",
                    options->backward_passes);
    if (options->op == HVD_ADASUM)
        return fail(err, HVD_ERR_INVALID, "adasum of parameters in device memory");
    return HVD_OK;
}

static int optimizer_parameters_check(const struct hvd_parameter *parameter,
                                      const struct hvd_optimizer_options *options, struct err *err)
{
    if (!parameter->gradient && parameter_elements(parameter) > 0)
        return fail(err, HVD_ERR_INVALID, "gradient is NULL");
    int rc = check_dtype(parameter, options, err);
    return rc < 0 ? rc : optimizer_parameters_check_device(parameter, options, err);
}

/* ---- shared memory ---- */

struct extent {
    const struct hvd_parameter *parameter;
    uintptr_t begin;
};

/* Sorts by device, then by address. */
static int compare_places(const void *left, const void *right)
{
    const struct extent *a = left, *b = right;
    if (a->parameter->device != b->parameter->device)
        return a->parameter->device < b->parameter->device ? -1 : 1;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static int find_overlap(const struct extent *sorted, size_t count, const char *what,
                        struct err *err)
{
    char one[NAME_LABEL], other[NAME_LABEL];
    for (size_t i = 1; i < count; i++) {
        const struct hvd_parameter *a = sorted[i - 1].parameter, *b = sorted[i].parameter;
        if (a->device != b->device || sorted[i].begin - sorted[i - 1].begin >= parameter_bytes(a))
            continue;
        return fail(err, HVD_ERR_INVALID, "the %s of %s and %s overlap", what,
                    name_label(one, "parameter", a->name), name_label(other, "parameter", b->name));
    }
    return HVD_OK;
}

static int check_overlap(const struct hvd_parameter *parameters, int count, bool of_data,
                         struct err *err)
{
    size_t used = 0;
    struct extent *sorted = calloc((size_t)count + 1, sizeof *sorted);
    if (!sorted)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    for (const struct hvd_parameter *at = parameters; at < parameters + count; at++)
        if (parameter_elements(at) > 0)
            sorted[used++] = (struct extent){ at, (uintptr_t)(of_data ? at->data : at->gradient) };
    qsort(sorted, used, sizeof *sorted, compare_places);
    int rc = find_overlap(sorted, used, of_data ? "data" : "gradients", err);
    free(sorted);
    return rc;
}

int optimizer_check_parameters(const struct hvd_parameter *parameters, int count,
                               const struct hvd_optimizer_options *options, struct err *err)
{
    char label[NAME_LABEL];
    struct named *order;
    int rc = parameters_sort(parameters, count, &order, err);
    free(order);
    for (int i = 0; rc == HVD_OK && i < count; i++)
        if ((rc = optimizer_parameters_check(&parameters[i], options, err)) < 0)
            fail_context(err, "%s", name_label(label, "parameter", parameters[i].name));
    if (rc == HVD_OK)
        rc = check_overlap(parameters, count, false, err);
    if (rc == HVD_OK && options->op == HVD_ADASUM)
        rc = check_overlap(parameters, count, true, err);
    return rc;
}
