/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of one parameter: the sum over several backward passes, and its compression; see
 * optimizer_impl.h.
 *
 * The first pass is copied, later passes are added to the copy, and the sum with the last pass goes
 * into the gradient's own memory: between passes this memory belongs to the program. Halves are
 * added up as floats. Fails when memory runs out at the beginning, and when device memory cannot be
 * written or the event of a gradient fails. */
#include "lib/training/optimizer_impl.h"

#include "lib/device/device.h"
#include "lib/device/device_copy.h"
#include "lib/reduce/reduce.h"
#include "lib/training/parameters.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The number of elements that are converted at a time, by way of the stack. */
enum { BLOCK = 1024 };

static bool is_half(enum hvd_dtype dtype)
{
    return dtype == HVD_FLOAT16 || dtype == HVD_BFLOAT16;
}

static enum hvd_dtype sum_dtype(enum hvd_dtype dtype)
{
    return is_half(dtype) ? HVD_FLOAT32 : dtype;
}

static enum hvd_dtype wire_dtype(enum hvd_dtype dtype, enum hvd_compression compression)
{
    static const enum hvd_dtype halves[] = {
        [HVD_COMPRESSION_FP16] = HVD_FLOAT16, [HVD_COMPRESSION_BF16] = HVD_BFLOAT16
    };
    bool compressible = dtype == HVD_FLOAT32 || dtype == HVD_FLOAT64;
    return compressible && compression != HVD_COMPRESSION_NONE ? halves[compression] : dtype;
}

/* ---- memory ---- */

static bool get_buffer(void **buffer, bool wanted, size_t count, enum hvd_dtype dtype)
{
    size_t nbytes = count * dtype_size((int)dtype);
    *buffer = wanted ? malloc(nbytes > 0 ? nbytes : 1) : NULL;
    return *buffer || !wanted;
}

static int get_buffers(struct gradient *gradient, const struct optimizer_settings *settings,
                       bool alone, struct err *err)
{
    enum hvd_dtype dtype = gradient->parameter.dtype;
    enum hvd_dtype wire = wire_dtype(dtype, settings->compression);
    bool several = settings->passes > 1, adasum = settings->op == HVD_ADASUM;
    if (get_buffer(&gradient->sum, several, gradient->count, sum_dtype(dtype)) &&
        get_buffer(&gradient->wire, wire != dtype && !alone, gradient->count, wire) &&
        get_buffer(&gradient->start, adasum && !alone, gradient->count, dtype))
        return HVD_OK;
    return fail(err, HVD_ERR_NOMEM, "out of memory");
}

int gradient_init(struct gradient *gradient, const struct hvd_parameter *parameter,
                  const struct optimizer_settings *settings, bool alone, struct err *err)
{
    *gradient = (struct gradient){ .parameter = *parameter, .passes_left = settings->passes };
    char *name = gradient->name + strlen(OPTIMIZER_PREFIX);
    memcpy(gradient->name, OPTIMIZER_PREFIX, strlen(OPTIMIZER_PREFIX));
    memcpy(name, parameter->name, strlen(parameter->name));
    if (parameter->ndims > 0)
        memcpy(gradient->dims, parameter->dims, (size_t)parameter->ndims * sizeof *gradient->dims);
    gradient->parameter.name = name;
    gradient->parameter.dims = gradient->dims;
    gradient->count = parameter_elements(parameter);
    gradient->nbytes = parameter_bytes(parameter);
    return get_buffers(gradient, settings, alone, err);
}

void gradient_fini(struct gradient *gradient)
{
    free(gradient->sum);
    free(gradient->wire);
    free(gradient->start);
}

struct hvd_tensor gradient_tensor(const struct gradient *gradient, enum hvd_compression compression,
                                  void *memory)
{
    void *travels = gradient->wire ? gradient->wire : memory;
    enum hvd_dtype dtype = gradient->parameter.dtype;
    return (struct hvd_tensor){ .name = gradient->name,
                                .input = travels,
                                .output = travels,
                                .dtype = gradient->wire ? wire_dtype(dtype, compression) : dtype,
                                .ndims = gradient->parameter.ndims,
                                .dims = gradient->dims,
                                .device = gradient->parameter.device };
}

/* ---- passes ---- */

/* out = left + right, or the average of as many passes as the divisor says. */
static void optimizer_gradient_combine(void *out, const void *left, const void *right, size_t count,
                                       enum hvd_dtype dtype, int divisor)
{
    if (divisor > 1)
        divide_function(dtype)(out, left, right, count, divisor);
    else
        reduce_function(dtype, HVD_SUM)(out, left, right, count);
}

/* Combines blocks of a gradient of halves with the sum, into the sum or back into the gradient. */
static void combine_halves(const struct gradient *gradient, bool back, int divisor)
{
    enum hvd_dtype dtype = gradient->parameter.dtype;
    uint16_t *halves = gradient->parameter.gradient;
    float *sum = gradient->sum, block[BLOCK];
    for (size_t at = 0, count; at < gradient->count; at += count) {
        count = gradient->count - at < BLOCK ? gradient->count - at : BLOCK;
        widen_function(dtype)(block, halves + at, count);
        optimizer_gradient_combine(back ? block : sum + at, sum + at, block, count, HVD_FLOAT32,
                                   divisor);
        if (back)
            narrow_function(dtype)(halves + at, block, count);
    }
}

static void take_first(const struct gradient *gradient)
{
    const struct hvd_parameter *parameter = &gradient->parameter;
    if (is_half(parameter->dtype))
        widen_function(parameter->dtype)(gradient->sum, parameter->gradient, gradient->count);
    else if (gradient->nbytes > 0)
        memcpy(gradient->sum, parameter->gradient, gradient->nbytes);
}

/* Adds a pass to the sum; the last pass and the sum go back into the gradient. */
static void optimizer_gradient_add(const struct gradient *gradient, bool last, int divisor)
{
    const struct hvd_parameter *parameter = &gradient->parameter;
    if (is_half(parameter->dtype))
        combine_halves(gradient, last, divisor);
    else
        optimizer_gradient_combine(last ? parameter->gradient : gradient->sum, gradient->sum,
                                   parameter->gradient, gradient->count, parameter->dtype, divisor);
}

void gradient_take_pass(struct gradient *gradient, const struct optimizer_settings *settings)
{
    bool first = gradient->passes_left == settings->passes;
    bool last = --gradient->passes_left == 0;
    if (first && !last)
        take_first(gradient);
    else if (!first)
        optimizer_gradient_add(gradient, last,
                               last && settings->average_passes ? settings->passes : 1);
}

int gradient_fill_up(struct gradient *gradient, const struct optimizer_settings *settings,
                     bool keep, struct err *err)
{
    bool none = gradient->passes_left == settings->passes;
    int rc = none && keep ? HVD_OK : gradient_clear(gradient, err);
    if (rc < 0)
        return rc;
    gradient->passes_left = 1;
    if (!none)
        gradient_take_pass(gradient, settings);
    gradient->passes_left = 0;
    return HVD_OK;
}

int gradient_clear(const struct gradient *gradient, struct err *err)
{
    static unsigned char zeros[1 << 18]; /* never written */
    const struct hvd_parameter *parameter = &gradient->parameter;
    unsigned char *memory = parameter->gradient;
    int rc = HVD_OK;
    if (parameter->device == 0 && gradient->nbytes > 0)
        memset(memory, 0, gradient->nbytes);
    for (size_t at = 0, nbytes; parameter->device && at < gradient->nbytes; at += nbytes) {
        nbytes = gradient->nbytes - at < sizeof zeros ? gradient->nbytes - at : sizeof zeros;
        if ((rc = device_write(parameter->device, memory + at, zeros, nbytes, err)) < 0)
            return rc;
    }
    return HVD_OK;
}

int gradient_await(const struct gradient *gradient, struct err *err)
{
    int rc = 0;
    void *event = gradient->tensor->ready;
    struct device *device = event ? device_hold(gradient->parameter.device, err) : NULL;
    if (event && !device)
        return err->code;
    while (device && (rc = device_passed(device, event, "gradient", err)) == 0)
        nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
    device_release(device);
    return rc < 0 ? rc : HVD_OK;
}

/* ---- compression ---- */

/* A value that is too large for a float becomes infinite in a half, too. */
static void narrow_doubles(convert_fn *narrow, uint16_t *halves, const double *doubles,
                           size_t count)
{
    float block[BLOCK];
    for (size_t at = 0, n; at < count; at += n) {
        n = count - at < BLOCK ? count - at : BLOCK;
        for (size_t i = 0; i < n; i++)
            block[i] = (float)doubles[at + i];
        narrow(halves + at, block, n);
    }
}

static void widen_to_doubles(convert_fn *widen, double *doubles, const uint16_t *halves,
                             size_t count)
{
    float block[BLOCK];
    for (size_t at = 0, n; at < count; at += n) {
        n = count - at < BLOCK ? count - at : BLOCK;
        widen(block, halves + at, n);
        for (size_t i = 0; i < n; i++)
            doubles[at + i] = (double)block[i];
    }
}

void gradient_compress(const struct gradient *gradient, const void *memory)
{
    convert_fn *narrow = gradient->wire ? narrow_function(gradient->tensor->dtype) : NULL;
    if (narrow && gradient->parameter.dtype == HVD_FLOAT32)
        narrow(gradient->wire, memory, gradient->count);
    else if (narrow)
        narrow_doubles(narrow, gradient->wire, memory, gradient->count);
}

void gradient_decompress(const struct gradient *gradient, void *memory)
{
    convert_fn *widen = gradient->wire ? widen_function(gradient->tensor->dtype) : NULL;
    if (widen && gradient->parameter.dtype == HVD_FLOAT32)
        widen(memory, gradient->wire, gradient->count);
    else if (widen)
        widen_to_doubles(widen, memory, gradient->wire, gradient->count);
}
