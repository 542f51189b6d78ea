/* SPDX-License-Identifier: Apache-2.0 */
/* hvd_optimizer.h - an optimizer that averages gradients over the ranks before it makes its step:
 * like Horovod's DistributedOptimizer, it wraps an update function of the program.
 *
 *     static int update(void *arg) { for each parameter: data -= rate * gradient; return 0; }
 *
 *     struct hvd_parameter parameters[] = { { .name = "conv1.weight", .data = w, .gradient = dw,
 *                                             .dtype = HVD_FLOAT32, .ndims = 2,
 *                                             .dims = dims }, ... };
 *     hvd_optimizer_create(parameters, n, NULL, update, &model, &optimizer);
 *     hvd_broadcast_parameters(parameters, n, 0, 0);
 *     for each batch:
 *         for each layer i, backwards:
 *             compute its gradient
 *             hvd_optimizer_ready(optimizer, i);       its reduction starts here
 *         hvd_optimizer_step(optimizer);               waits for them, then calls update()
 *
 * The options have the same meaning as in Horovod's PyTorch DistributedOptimizer, with these
 * differences:
 *   - hvd_optimizer_create() compares the ranks' parameters, so that a difference is an error there
 *     and not a stall later.
 *   - Predivision applies to groups, too.
 *   - With several backward passes the library adds up the gradients: the program writes each
 *     pass's gradient to the same memory, and does not add to it.
 *   - Gradients are dense.
 *   - Where PyTorch raises an error, the call returns HVD_ERR_INVALID and leaves the optimizer
 *     unchanged.
 *   - A single rank, or a rank outside the process set, reduces with nobody. The same rules hold:
 *     its gradients become ready once before a step, and are zeros otherwise.
 *
 * Several threads may call hvd_optimizer_ready() at once, for different parameters. Only one thread
 * at a time may make any other call, when the gradients are ready. Calls that overlap against this
 * rule fail with HVD_ERR_INVALID.
 *
 * The name of a gradient is "allreduce." and the parameter's name, see hvd_allreduce_async(). Two
 * optimizers of one process set whose parameters have the same names must take turns. */
#ifndef HVD_OPTIMIZER_H
#define HVD_OPTIMIZER_H

#include "hvd.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HVD_PARAMETER_NAME_MAX = 200 };

/* A named tensor of a model or of an optimizer's state, in row-major order. */
struct hvd_parameter {
    const char *name; /* 1 to HVD_PARAMETER_NAME_MAX bytes of UTF-8, different for each */
    void *data;
    void *gradient; /* of the same shape and type; used by optimizers alone */
    enum hvd_dtype dtype;
    int ndims; /* 0 for a scalar, at most HVD_DIMS_MAX */
    const int64_t *dims;
    int device; /* 0: host memory; else that of hvd_register_device() */
};

/* The compression of gradients for the transfer. Only float32 and float64 are compressed, to 2
 * bytes for each element; other types are sent unchanged. */
enum hvd_compression {
    HVD_COMPRESSION_NONE = 0,
    HVD_COMPRESSION_FP16 = 1, /* HVD_FLOAT16: 11 significant bits; from 65520 on it is infinite, and
                                 the sum over the ranks, too: see predivide_factor */
    HVD_COMPRESSION_BF16 = 2  /* HVD_BFLOAT16: 8 significant bits, the range of float32 */
};

/* Parameters whose gradients are reduced together, as soon as all are ready: their indices, in any
 * order. */
struct hvd_parameter_group {
    const int *parameters;
    int count;
};

/* Zero means the default in every field, and NULL instead of the struct means all defaults. */
struct hvd_optimizer_options {
    int process_set; /* a rank outside of the set updates with its own gradients */
    enum hvd_op op;  /* HVD_AVERAGE, the default; HVD_SUM; HVD_ADASUM, see below; HVD_MIN ... */
    enum hvd_compression compression;
    int backward_passes;     /* hvd_optimizer_ready() for each before a reduction; default 1 */
    int average_passes;      /* 1: the sum of the passes is divided by backward_passes */
    double predivide_factor; /* f: gradients are multiplied by 1/f before they are added up and by
                                 f / size afterwards; HVD_AVERAGE only; default 1 */
    const struct hvd_parameter_group *groups; /* `ngroups` of them; the rest go alone */
    int ngroups;
    int equal_groups; /* this many groups of neighbouring parameters, count / equal_groups each, the
                         first count % equal_groups of them one longer; more of them than there are
                         parameters: each alone; instead of `groups` */
};

/* Changes the parameters' data by their gradients, which are reduced over all ranks by then.
 * Returns 0, or any other value, which hvd_optimizer_step() then returns. May call the library. */
typedef int hvd_update_fn(void *arg);

struct hvd_optimizer;

/* Every rank of the process set makes this call, with the same parameters in the same order and the
 * same options, and waits for the others; on ranks outside the set the call waits for nobody. The
 * array of parameters is copied, with names and dims; data and gradients are borrowed until
 * hvd_optimizer_destroy(). `options` may be NULL and is read during the call only. `*optimizer` is
 * NULL when it fails.
 *
 * HVD_ERR_INVALID, with the offending parameter or option named, for: no name or a name that is
 * given twice; a dtype, shape, op or compression that cannot be; no data or gradient; gradients
 * that overlap; a predivide_factor other than 1 with another op than HVD_AVERAGE, or not finite and
 * positive; negative backward_passes; a group that is empty, or has a parameter that does not exist
 * or is in another group; both kinds of groups; no update. With HVD_ADASUM, also for: a process set
 * other than the world, groups, predivision, parameters that are not floating point or whose data
 * overlap. In device memory: compression, several backward passes and HVD_ADASUM are refused. The
 * other ranks then get HVD_ERR_MISMATCH, as all do when the ranks' names, shapes, types, kinds of
 * memory or options differ; the text says who differs, and in what. Only for a process set that
 * does not exist the call fails on one rank alone.
 *
 * HVD_ADASUM: hvd_optimizer_step() makes the update with this rank's own gradients, combines the
 * changes by Adasum (see hvd_allreduce_async()), and applies the result to the old parameters.
 * Nothing is sent before the step. A rank whose update fails takes part with zero changes and gets
 * the parameters of the others; its hvd_optimizer_step() returns the result of the update. If the
 * changes cannot be combined, all parameters get their old values back. */
HVD_API int hvd_optimizer_create(const struct hvd_parameter *parameters, int count,
                                 const struct hvd_optimizer_options *options, hvd_update_fn *update,
                                 void *arg, struct hvd_optimizer **optimizer);

/* The gradient of parameters[parameter] is complete for this pass. After an early pass the
 * gradient's memory belongs to the program again when the call returns. After the last pass its
 * reduction starts, and the program must not touch the gradient until hvd_optimizer_step() or
 * hvd_optimizer_synchronize() has returned. HVD_ERR_INVALID if it was ready already. Order and
 * thread do not matter. If the reduction cannot start, the call fails as hvd_allreduce_async()
 * does; the gradient is still ready, and the next synchronization tries again.
 *
 * In device memory, hvd_optimizer_ready_after() declares that the gradient will be complete when
 * the device passes `event`, which must not be recorded again before the step. The step waits for
 * the event even with one rank. NULL: the gradient is complete already, as with
 * hvd_optimizer_ready(); for host memory any other event is HVD_ERR_INVALID. */
HVD_API int hvd_optimizer_ready(struct hvd_optimizer *optimizer, int parameter);
HVD_API int hvd_optimizer_ready_after(struct hvd_optimizer *optimizer, int parameter, void *event);

/* Waits until all gradients have been reduced, and leaves the results in the parameters' gradients.
 * For gradients that this rank has not declared ready it contributes zeros, or the sum of the
 * passes so far. When a reduction fails, the call waits for the others, the contents of the
 * gradients are undefined, and the optimizer remains usable if the world is. Between
 * hvd_optimizer_synchronize() and hvd_optimizer_step() a program can clip gradients; then the step
 * must not synchronize again:
 *
 *     hvd_optimizer_synchronize(optimizer);
 *     clip the gradients
 *     hvd_optimizer_skip_synchronize(optimizer);
 *     hvd_optimizer_step(optimizer);
 *
 * hvd_optimizer_skip_synchronize() applies to one step only, the next one that is made. A step
 * before the gradients have been synchronized, or after a gradient has become ready since, fails
 * with HVD_ERR_INVALID and changes nothing: the skip stays in force, and every step fails until
 * the program calls hvd_optimizer_synchronize(). Without the skip hvd_optimizer_step() reduces
 * the gradients once more, and logs one warning. With HVD_ADASUM both calls fail with
 * HVD_ERR_INVALID. */
HVD_API int hvd_optimizer_synchronize(struct hvd_optimizer *optimizer);
HVD_API int hvd_optimizer_skip_synchronize(struct hvd_optimizer *optimizer);

/* Synchronizes, then calls the update. All ranks of the process set make this call equally often.
 * Returns the result of the update, or the failure of the first gradient that could not be reduced;
 * then the update is not called, and nothing is in flight any more. With several backward passes,
 * call it after the last one. */
HVD_API int hvd_optimizer_step(struct hvd_optimizer *optimizer);

/* Sets all gradients to zero, and discards the sums of earlier passes. HVD_ERR_INVALID when a
 * gradient is ready for the next step, because that gradient would be lost. */
HVD_API int hvd_optimizer_zero_gradients(struct hvd_optimizer *optimizer);

/* Waits for gradients in flight, unless the world is broken or this rank has left: until the other
 * ranks have made the same gradients ready, or leave. NULL is fine. */
HVD_API void hvd_optimizer_destroy(struct hvd_optimizer *optimizer);

#ifdef __cplusplus
}
#endif

#endif
