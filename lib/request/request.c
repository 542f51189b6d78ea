/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of collectives; see request.h.
 *
 *   name, element type, shape, operation and factors, root, device, memory: each has a function
 *   that checks it, in this order, and the first mistake is reported.
 *
 * Each kind of collective has a row in a table of the checks that apply. */
#include "lib/request/request.h"

#include "lib/base/text.h"
#include "lib/device/device.h"
#include "lib/reduce/reduce.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct rule {
    bool reduces;        /* has an operation and factors */
    bool rows;           /* needs a dimension 0 */
    bool reads, writes;  /* input, output must be there unless empty */
    bool output_is_open; /* the output's size is known only at the end */
} rules[COLLECTIVE_KINDS] = {
    [COLLECTIVE_ALLREDUCE] = { .reduces = true, .reads = true, .writes = true },
    [COLLECTIVE_ALLGATHER] = { .rows = true, .reads = true, .output_is_open = true },
    [COLLECTIVE_BROADCAST] = { .writes = true },
    [COLLECTIVE_ALLTOALL] = { .rows = true, .reads = true, .output_is_open = true },
    [COLLECTIVE_REDUCESCATTER] = { .reduces = true, .rows = true, .reads = true, .writes = true },
};

/* All inputs of the checks. */
struct request {
    struct description *description; /* what has been checked already */
    const struct rule *rule;
    const struct hvd_tensor *tensor;
    const struct hvd_options *options;
    const struct request_set *set; /* NULL: only checks without a set */
};

char *request_label(char label[REQUEST_LABEL], enum collective_kind kind, const char *name)
{
    return collective_label(label, kind, name ? name_shown(name) : NULL);
}

static int check_name(struct request *request, struct err *err)
{
    const char *name = request->tensor->name;
    request->description->nameless = !name;
    if (!name)
        return HVD_OK;
    if (*name == '\0')
        return fail(err, HVD_ERR_INVALID, "the name is empty; NULL stands for none");
    size_t end = strnlen(name, HVD_NAME_MAX + 1);
    if (end > HVD_NAME_MAX)
        return fail(err, HVD_ERR_INVALID, "the name is longer than %d bytes", HVD_NAME_MAX);
    if (text_is_ascii(name, end))
        return HVD_OK;
    for (size_t at = 0, length; at < end; at += length) {
        length = text_utf8_length(name + at, end - at);
        if (length == 0)
            return fail(err, HVD_ERR_INVALID, "the name is not UTF-8 (byte %zu is 0x%02x)", at,
                        (unsigned char)name[at]);
    }
    return HVD_OK;
}

static int check_dtype(struct request *request, struct err *err)
{
    enum hvd_dtype dtype = request->tensor->dtype;
    if (dtype_size((int)dtype) == 0)
        return fail(err, HVD_ERR_INVALID, "dtype %d is not an element type", (int)dtype);
    request->description->dtype = dtype;
    return HVD_OK;
}

static int check_shape(struct request *request, struct err *err)
{
    const struct hvd_tensor *tensor = request->tensor;
    struct shape *shape = &request->description->shape;
    char text[SHAPE_TEXT];
    if (tensor->ndims < 0 || tensor->ndims > HVD_DIMS_MAX)
        return fail(err, HVD_ERR_INVALID, "ndims is %d, a tensor has 0 to %d dimensions",
                    tensor->ndims, HVD_DIMS_MAX);
    if (tensor->ndims > 0 && !tensor->dims)
        return fail(err, HVD_ERR_INVALID, "dims is NULL but ndims is %d", tensor->ndims);
    for (int i = 0; i < tensor->ndims; i++) {
        if (tensor->dims[i] < 0)
            return fail(err, HVD_ERR_INVALID, "dims[%d]%s is %" PRId64 ", a dimension is 0 or more",
                        i, tensor->ndims == 1 ? ", the count," : "", tensor->dims[i]);
        shape->dims[i] = tensor->dims[i];
    }
    shape->ndims = tensor->ndims;
    if (request->rule->rows && shape->ndims == 0)
        return fail(err, HVD_ERR_INVALID, "a scalar has no dimension 0");
    if (!shape_fits(shape, dtype_size((int)tensor->dtype)) ||
        (request->rule->output_is_open && shape->dims[0] > ROWS_MAX))
        return fail(err, HVD_ERR_INVALID, "%s of %s is more than memory can hold",
                    shape_text(text, shape, false), dtype_name((int)tensor->dtype));
    return HVD_OK;
}

static bool is_floating(enum hvd_dtype dtype)
{
    return dtype == HVD_FLOAT16 || dtype == HVD_BFLOAT16 || dtype == HVD_FLOAT32 ||
           dtype == HVD_FLOAT64;
}

static int check_op(struct request *request, enum hvd_op op, struct err *err)
{
    const struct description *description = request->description;
    const char *dtype = dtype_name((int)description->dtype);
    if (!request->rule->reduces)
        return HVD_OK;
    if ((int)op < 0 || op > HVD_PRODUCT)
        return fail(err, HVD_ERR_INVALID, "op %d is not an operation", (int)op);
    if (description->kind == COLLECTIVE_REDUCESCATTER && op != HVD_SUM && op != HVD_AVERAGE)
        return fail(err, HVD_ERR_INVALID, "op is %s, only sum and average are possible",
                    op_name((int)op));
    if (op == HVD_ADASUM && !is_floating(description->dtype))
        return fail(err, HVD_ERR_INVALID, "there is no adasum of %s, only of floating point",
                    dtype);
    if (op == HVD_AVERAGE && description->dtype == HVD_BOOL)
        return fail(err, HVD_ERR_INVALID, "there is no average of bool; sum is or, product is and");
    request->description->op = op;
    return HVD_OK;
}

static int check_factor(const struct request *request, const char *name, double *factor,
                        struct err *err)
{
    if (*factor == 0) /* the default */
        *factor = 1;
    if (!isfinite(*factor))
        return fail(err, HVD_ERR_INVALID, "%s is %g, a factor is finite", name, *factor);
    if (*factor != 1 && !request->rule->reduces)
        return fail(err, HVD_ERR_INVALID, "%s is %g, but only reductions are scaled", name,
                    *factor);
    if (*factor != 1 && request->description->dtype == HVD_BOOL)
        return fail(err, HVD_ERR_INVALID, "%s is %g, but bool is not scaled", name, *factor);
    return HVD_OK;
}

static int check_factors(struct request *request, struct err *err)
{
    struct description *description = request->description;
    description->prescale = request->options ? request->options->prescale : 1;
    description->postscale = request->options ? request->options->postscale : 1;
    int rc = check_factor(request, "prescale", &description->prescale, err);
    return rc < 0 ? rc : check_factor(request, "postscale", &description->postscale, err);
}

/* Finds the root's rank in the set. */
static int check_root(struct request *request, int root, struct err *err)
{
    const struct request_set *set = request->set;
    if (request->description->kind != COLLECTIVE_BROADCAST)
        return HVD_OK;
    if (root < 0)
        return fail(err, HVD_ERR_INVALID, "root %d does not exist, a rank is 0 or more", root);
    if (!set)
        return HVD_OK;
    int place = 0;
    while (place < set->size && set->ranks[place] != root)
        place++;
    request->description->root = place;
    if (place < set->size)
        return HVD_OK;
    if (set->id == 0)
        return fail(err, HVD_ERR_INVALID, "root %d does not exist in a world of %d", root,
                    set->size);
    return fail(err, HVD_ERR_INVALID, "root %d is not in process set %d", root, set->id);
}

/* True if [a, a + a_size) and [b, b + b_size) have a byte in common. */
bool request_overlap(const void *a, size_t a_size, const void *b, size_t b_size)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    if (a_size == 0 || b_size == 0)
        return false;
    return x <= y ? y - x < a_size : x - y < b_size;
}

/* The bytes of the output that will be written, or may be. */
static size_t output_bytes(const struct request *request)
{
    const struct description *description = request->description;
    const struct request_set *set = request->set;
    if (request->rule->output_is_open)
        return request->tensor->output ? request->tensor->output_size : 0;
    if (description->kind != COLLECTIVE_REDUCESCATTER)
        return description_bytes(description);
    if (!set)
        return 0;
    int64_t rows = description->shape.dims[0];
    int64_t share = rows / set->size + (set->rank < rows % set->size);
    return (size_t)share * shape_row_count(&description->shape) *
           dtype_size((int)description->dtype);
}

/* The input of an allgather may be the own part of the output. The place of the own part is known
 * only when the other ranks have sent their sizes: here it may be at any row. */
static bool is_own_part(const struct request *request, size_t nbytes)
{
    const struct hvd_tensor *tensor = request->tensor;
    uintptr_t input = (uintptr_t)tensor->input, output = (uintptr_t)tensor->output;
    size_t row_size = nbytes / (size_t)tensor->dims[0];
    return input >= output && (input - output) % row_size == 0 && nbytes <= tensor->output_size &&
           input - output <= tensor->output_size - nbytes;
}

static int check_overlap(const struct request *request, size_t nbytes, size_t output_nbytes,
                         struct err *err)
{
    const struct hvd_tensor *tensor = request->tensor;
    enum collective_kind kind = request->description->kind;
    if (!request->rule->reads ||
        !request_overlap(tensor->input, nbytes, tensor->output, output_nbytes))
        return HVD_OK;
    if (request->rule->writes && tensor->input == tensor->output)
        return HVD_OK;
    if (kind == COLLECTIVE_ALLGATHER && is_own_part(request, nbytes))
        return HVD_OK;
    return fail(err, HVD_ERR_INVALID, "input and output overlap%s",
                kind == COLLECTIVE_ALLTOALL ? "" : " in part");
}

/* True if the devices carry out the collective among themselves. */
static bool request_device_can(const struct request *request, struct device *device)
{
    const struct description *description = request->description;
    const struct request_set *set = request->set;
    bool is_allreduce = description->kind == COLLECTIVE_ALLREDUCE;
    const struct hvd_device_collective question = {
        .kind = device_collective_kind(description->kind),
        .dtype = description->dtype,
        .root = description->root,
        .op = description->op,
        .prescale = description->prescale,
        .postscale = description->postscale,
        .process_set = set->id,
        .size = set->size,
        .count = is_allreduce ? shape_count(&description->shape) : 0,
        .one_host = is_allreduce && set->one_host,
    };
    if (is_allreduce && description->op == HVD_ADASUM)
        return false;
    if (is_allreduce && device_can_reduce(device, description->dtype, description->op, set->id))
        return true;
    if (description->kind == COLLECTIVE_ALLTOALL && set->size > LISTED_ROWS_RANKS)
        return false;
    return device_can_collective(device, &question);
}

/* The kind of memory, and whether the devices do it themselves. */
static int request_check_device(struct request *request, struct err *err)
{
    const struct hvd_tensor *tensor = request->tensor;
    struct description *description = request->description;
    if (tensor->device == 0 && tensor->ready)
        return fail(err, HVD_ERR_INVALID, "ready is set, but device is 0, which is host memory");
    if (tensor->device == 0)
        return HVD_OK;
    if (request->rule->output_is_open && !tensor->output)
        return fail(err, HVD_ERR_INVALID, "output is NULL, memory on a device is the caller's");
    if (!request->set)
        return HVD_OK;
    struct device *device = device_hold(tensor->device, err);
    if (!device)
        return HVD_ERR_INVALID;
    bool can = request_device_can(request, device);
    device_release(device);
    description->memory = can ? MEMORY_DEVICE_REDUCES : MEMORY_DEVICE;
    return HVD_OK;
}

static int check_memory(struct request *request, struct err *err)
{
    const struct hvd_tensor *tensor = request->tensor;
    enum collective_kind kind = request->description->kind;
    size_t nbytes = description_bytes(request->description), room = output_bytes(request);
    if (request->rule->reads && nbytes > 0 && !tensor->input)
        return fail(err, HVD_ERR_INVALID, "input is NULL, %zu bytes are to be read", nbytes);
    if (request->rule->writes && room > 0 && !tensor->output)
        return fail(err, HVD_ERR_INVALID, "output is NULL, %zu bytes are to be written", room);
    if (kind == COLLECTIVE_REDUCESCATTER && tensor->output_size < room)
        return fail(err, HVD_ERR_INVALID, "output_size is %zu, this rank's share is %zu bytes",
                    tensor->output_size, room);
    if (kind == COLLECTIVE_ALLGATHER && tensor->output && room < nbytes)
        return fail(err, HVD_ERR_INVALID, "output_size is %zu, this rank alone gives %zu bytes",
                    room, nbytes);
    return check_overlap(request, nbytes, room, err);
}

/* Whose memory it is can only be asked when it is known how much there is. */
static int request_check_place(const struct request *request, struct err *err)
{
    const struct hvd_tensor *tensor = request->tensor;
    if (tensor->device == 0 || !request->set)
        return HVD_OK;
    struct device *device = device_hold(tensor->device, err);
    if (!device)
        return HVD_ERR_INVALID;
    int rc = HVD_OK;
    if (request->rule->reads)
        rc = device_check_memory(device, "input", tensor->input,
                                 description_bytes(request->description), err);
    if (rc == HVD_OK && tensor->output)
        rc = device_check_memory(device, "output", tensor->output, output_bytes(request), err);
    device_release(device);
    return rc;
}

static int check_tensor(struct request *request, enum hvd_op op, int root, struct err *err)
{
    int rc = check_dtype(request, err);
    if (rc == HVD_OK)
        rc = check_shape(request, err);
    if (rc == HVD_OK)
        rc = check_op(request, op, err);
    if (rc == HVD_OK)
        rc = check_factors(request, err);
    if (rc == HVD_OK)
        rc = check_root(request, root, err);
    if (rc == HVD_OK)
        rc = request_check_device(request, err);
    if (rc == HVD_OK)
        rc = check_memory(request, err);
    return rc < 0 ? rc : request_check_place(request, err);
}

int request_describe(struct description *description, enum collective_kind kind,
                     const struct hvd_tensor *tensor, enum hvd_op op, int root,
                     const struct hvd_options *options, const struct request_set *set,
                     struct err *err)
{
    char label[REQUEST_LABEL];
    bool has_tensor = collective_has_tensor(kind);
    struct request request = { description, &rules[kind], tensor, options, set };
    description_init(description, kind);
    int rc = HVD_OK;
    if (!has_tensor)
        rc = check_factors(&request, err);
    else if (!tensor)
        rc = fail(err, HVD_ERR_INVALID, "tensor is NULL");
    else if ((rc = check_name(&request, err)) == HVD_OK)
        rc = check_tensor(&request, op, root, err);
    if (rc < 0)
        fail_context(err, "%s", request_label(label, kind, tensor ? tensor->name : NULL));
    return rc;
}
