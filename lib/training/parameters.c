/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of parameters and scalars; see parameters.h. The names are checked first, then the type,
 * shape, data and device of each entry. The first mistake is reported. */
#include "lib/training/parameters.h"

#include "lib/device/device.h"
#include "lib/process.h"
#include "lib/reduce/reduce.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Checks what an allreduce or broadcast would refuse, too. */
#define BYTES_MAX (SIZE_MAX / 256)

/* Treats a first dimension of 0 as 1: a row must fit, too. */
static bool fits(const struct hvd_parameter *parameter)
{
    size_t nbytes = dtype_size((int)parameter->dtype);
    for (int i = 1; i < parameter->ndims; i++)
        if (parameter->dims[i] == 0)
            return true;
    for (int i = 0; i < parameter->ndims; i++) {
        uint64_t dim = parameter->dims[i] > 0 ? (uint64_t)parameter->dims[i] : 1;
        if (dim > BYTES_MAX / nbytes)
            return false;
        nbytes *= (size_t)dim;
    }
    return true;
}

static int check_shape(const struct hvd_parameter *parameter, struct err *err)
{
    if (parameter->ndims < 0 || parameter->ndims > HVD_DIMS_MAX)
        return fail(err, HVD_ERR_INVALID, "ndims is %d, a tensor has 0 to %d dimensions",
                    parameter->ndims, HVD_DIMS_MAX);
    if (parameter->ndims > 0 && !parameter->dims)
        return fail(err, HVD_ERR_INVALID, "dims is NULL but ndims is %d", parameter->ndims);
    for (int i = 0; i < parameter->ndims; i++)
        if (parameter->dims[i] < 0)
            return fail(err, HVD_ERR_INVALID, "dims[%d] is %" PRId64 ", a dimension is 0 or more",
                        i, parameter->dims[i]);
    if (!fits(parameter))
        return fail(err, HVD_ERR_INVALID, "it is larger than memory can hold");
    return HVD_OK;
}

static int parameters_check_device(int number, struct err *err)
{
    int rc = number == 0 ? HVD_OK : process_check_caller(err);
    if (rc < 0 || number == 0)
        return rc;
    struct device *device = device_hold(number, err);
    device_release(device);
    return device ? HVD_OK : err->code;
}

static int parameters_check(const struct hvd_parameter *parameter, struct err *err)
{
    if (dtype_size((int)parameter->dtype) == 0)
        return fail(err, HVD_ERR_INVALID, "dtype %d is not an element type", (int)parameter->dtype);
    int rc = check_shape(parameter, err);
    if (rc == HVD_OK && !parameter->data && parameter_elements(parameter) > 0)
        return fail(err, HVD_ERR_INVALID, "data is NULL");
    return rc < 0 ? rc : parameters_check_device(parameter->device, err);
}

/* Allocates the names of a list that is not NULL. */
static struct named *new_order(const char *kind, const void *list, int count, struct err *err)
{
    struct named *order = NULL;
    if (count < 0)
        fail(err, HVD_ERR_INVALID, "a list of %d %ss", count, kind);
    else if (count > 0 && !list)
        fail(err, HVD_ERR_INVALID, "the list of %d %ss is NULL", count, kind);
    else if (!(order = calloc((size_t)count + 1, sizeof *order)))
        fail(err, HVD_ERR_NOMEM, "no memory for %d %ss", count, kind);
    return order;
}

/* Passes the names to the caller, or frees them. */
static int give_order(struct named **out, struct named *order, int rc)
{
    *out = rc == HVD_OK ? order : NULL;
    if (rc < 0)
        free(order);
    return rc;
}

int parameters_sort(const struct hvd_parameter *parameters, int count, struct named **order,
                    struct err *err)
{
    char label[NAME_LABEL];
    struct named *names = *order = new_order("parameter", parameters, count, err);
    if (!names)
        return err->code;
    for (int i = 0; i < count; i++)
        names[i] = (struct named){ parameters[i].name, i };
    int rc = names_sort("parameter", names, count, err);
    for (int i = 0; rc == HVD_OK && i < count; i++)
        if ((rc = parameters_check(&parameters[i], err)) < 0)
            fail_context(err, "%s", name_label(label, "parameter", parameters[i].name));
    return give_order(order, names, rc);
}

static int check_scalar(const struct hvd_scalar *scalar, struct err *err)
{
    if (dtype_size((int)scalar->dtype) == 0)
        return fail(err, HVD_ERR_INVALID, "dtype %d is not an element type", (int)scalar->dtype);
    return scalar->value ? HVD_OK : fail(err, HVD_ERR_INVALID, "value is NULL");
}

int scalars_sort(const struct hvd_scalar *scalars, int count, struct named **order, struct err *err)
{
    char label[NAME_LABEL];
    struct named *names = *order = new_order("scalar", scalars, count, err);
    if (!names)
        return err->code;
    for (int i = 0; i < count; i++)
        names[i] = (struct named){ scalars[i].name, i };
    int rc = names_sort("scalar", names, count, err);
    for (int i = 0; rc == HVD_OK && i < count; i++)
        if ((rc = check_scalar(&scalars[i], err)) < 0)
            fail_context(err, "%s", name_label(label, "scalar", scalars[i].name));
    return give_order(order, names, rc);
}

size_t parameter_elements(const struct hvd_parameter *parameter)
{
    size_t elements = 1;
    for (int i = 0; i < parameter->ndims; i++)
        if (parameter->dims[i] == 0)
            return 0;
    for (int i = 0; i < parameter->ndims; i++)
        elements *= (size_t)parameter->dims[i];
    return elements;
}

size_t parameter_bytes(const struct hvd_parameter *parameter)
{
    return parameter_elements(parameter) * dtype_size((int)parameter->dtype);
}

static void put_name_and_dtype(struct wire_writer *lines, const char *name, enum hvd_dtype dtype)
{
    const char *text = dtype_name((int)dtype);
    name_put(lines, name);
    wire_put_u8(lines, ' ');
    wire_put_bytes(lines, text, strlen(text));
}

void parameter_put_line(struct wire_writer *lines, const struct hvd_parameter *parameter)
{
    char text[32];
    put_name_and_dtype(lines, parameter->name, parameter->dtype);
    wire_put_bytes(lines, " [", 2);
    for (int i = 0; i < parameter->ndims; i++) {
        int length =
            snprintf(text, sizeof text, "%s%" PRId64, i > 0 ? ", " : "", parameter->dims[i]);
        wire_put_bytes(lines, text, (size_t)length);
    }
    wire_put_bytes(lines, "]\n", 2);
}

void scalar_put_line(struct wire_writer *lines, const struct hvd_scalar *scalar)
{
    put_name_and_dtype(lines, scalar->name, scalar->dtype);
    wire_put_u8(lines, '\n');
}
