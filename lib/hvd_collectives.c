/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of hvd.h that start collectives and wait for them. The long forms pass the
 * caller's tensors to the engine. The short forms make a tensor of one dimension and wait for its
 * result. A wait that can be interrupted asks the caller outside of the world, so that the caller
 * may make any call. */
#include "lib/hvd.h"

#include "lib/collective/ring_schedule.h"
#include "lib/engine/engine.h"
#include "lib/process.h"
#include "lib/reduce/reduce.h"
#include "lib/request/arguments.h"
#include "lib/request/request.h"

#include <stdint.h>
#include <stdlib.h>

static struct hvd_interrupt *interrupt_of(const struct submission *submission)
{
    return submission->options ? submission->options->interrupt : NULL;
}

/* Mistakes of this rank itself that any collective can have. */
static int hvd_collectives_check(const struct submission *submission, struct err *err)
{
    const char *call = collective_name(submission->kind);
    const struct hvd_interrupt *interrupt = interrupt_of(submission);
    if (interrupt && !interrupt->wanted)
        return fail(err, HVD_ERR_INVALID, "%s: the interrupt has no function", call);
    bool whole = submission->kind == COLLECTIVE_BARRIER || submission->kind == COLLECTIVE_JOIN;
    if (!whole && !submission->tensors)
        return fail(err, HVD_ERR_INVALID, "%s: there is no tensor", call);
    if (submission->count < 1)
        return fail(err, HVD_ERR_INVALID, "%s: a group of %d tensors, at least 1 is needed", call,
                    submission->count);
    return HVD_OK;
}

static int hvd_collectives_start(const struct submission *submission, int64_t *handle)
{
    struct err err;
    int rc = hvd_collectives_check(submission, &err);
    if (rc == HVD_OK && interrupt_of(submission))
        rc = fail(&err, HVD_ERR_INVALID, "%s: an interrupt, but the call does not wait",
                  collective_name(submission->kind));
    if (rc == HVD_OK && !handle)
        rc = fail(&err, HVD_ERR_INVALID, "%s: there is no place for the handle",
                  collective_name(submission->kind));
    if (rc == HVD_OK) {
        struct world *world = process_enter(&err);
        rc = world ? engine_submit(world_engine(world), submission, handle, &err) : err.code;
        if (world)
            process_exit();
        rc = arguments_first(rc, submission, &err);
    }
    return process_answer(rc, &err);
}

/* The library gives out memory only with a result. */
static int check_output(const struct submission *submission, const struct hvd_result *results,
                        struct err *err)
{
    char label[REQUEST_LABEL];
    for (int i = 0; !results && i < submission->count; i++)
        if (!submission->tensors[i].output)
            return fail(err, HVD_ERR_INVALID, "%s: output is NULL",
                        request_label(label, submission->kind, submission->tensors[i].name));
    if (submission->without_rows && submission->tensors->output_size == SIZE_MAX)
        return fail(err, HVD_ERR_INVALID, "%s: the result does not fit into memory",
                    request_label(label, submission->kind, submission->tensors->name));
    return HVD_OK;
}

/* Goes on with a wait that has paused, until the collective is done or the caller ends the wait. */
static int wait_and_ask(int64_t handle, struct hvd_interrupt *interrupt, struct hvd_result *results,
                        struct err *err)
{
    int rc = ENGINE_PAUSED;
    while (rc == ENGINE_PAUSED) {
        if (interrupt->wanted(interrupt->arg)) {
            interrupt->handle = handle;
            return fail(err, HVD_ERR_INTERRUPTED,
                        "the wait was interrupted; the collective goes on");
        }
        struct world *world = process_enter(err);
        if (!world)
            return err->code;
        rc = engine_wait(world_engine(world), handle, ENGINE_INTERRUPTIBLE, results, err);
        process_exit();
    }
    return rc;
}

static int hvd_collectives_run(const struct submission *submission, struct hvd_result *results)
{
    struct err err;
    struct hvd_interrupt *interrupt = interrupt_of(submission);
    int64_t handle;
    int rc = hvd_collectives_check(submission, &err);
    if (rc == HVD_OK && collective_has_own_rows(submission->kind))
        rc = check_output(submission, results, &err);
    if (rc == HVD_OK) {
        struct world *world = process_enter(&err);
        rc = world ? engine_run(world_engine(world), submission, results,
                                interrupt ? &handle : NULL, &err)
                   : err.code;
        if (world)
            process_exit();
        if (rc == ENGINE_PAUSED)
            rc = wait_and_ask(handle, interrupt, results, &err);
        else
            rc = arguments_first(rc, submission, &err);
    }
    for (int i = 0; rc < 0 && results && i < submission->count; i++)
        results[i] = (struct hvd_result){ .last_rank = -1 };
    return process_answer(rc, &err);
}

/* ---- the short forms ---- */

/* Refuses a caller's negative number, which size_t makes huge, in the caller's terms: no memory
 * holds half of all addresses. */
static int64_t as_dim(size_t count)
{
    return (int64_t)count;
}

int hvd_allreduce(const char *name, const void *input, void *output, size_t count,
                  enum hvd_dtype dtype, enum hvd_op op)
{
    const int64_t dim = as_dim(count);
    const struct hvd_tensor tensor = {
        .name = name, .input = input, .output = output, .dtype = dtype, .ndims = 1, .dims = &dim
    };
    const struct submission submission = {
        .kind = COLLECTIVE_ALLREDUCE, .tensors = &tensor, .count = 1, .op = op
    };
    return hvd_collectives_run(&submission, NULL);
}

int hvd_broadcast(const char *name, void *data, size_t count, enum hvd_dtype dtype, int root)
{
    const int64_t dim = as_dim(count);
    const struct hvd_tensor tensor = {
        .name = name, .output = data, .dtype = dtype, .ndims = 1, .dims = &dim
    };
    const struct submission submission = {
        .kind = COLLECTIVE_BROADCAST, .tensors = &tensor, .count = 1, .root = root
    };
    return hvd_collectives_run(&submission, NULL);
}

/* The output has room for `count` elements of each rank; without a world, of this rank alone. */
static size_t gathered_size(size_t count, enum hvd_dtype dtype)
{
    size_t nbytes;
    int size = hvd_size();
    if (as_dim(count) < 0)
        return 0; /* which the dimension is refused for */
    if (__builtin_mul_overflow(count, dtype_size((int)dtype), &nbytes) ||
        __builtin_mul_overflow(nbytes, size > 0 ? (size_t)size : 1, &nbytes))
        return SIZE_MAX; /* more than there is */
    return nbytes;
}

int hvd_allgather(const char *name, const void *input, void *output, size_t count,
                  enum hvd_dtype dtype)
{
    const int64_t dim = as_dim(count);
    unsigned char nothing;
    const struct hvd_tensor tensor = { .name = name,
                                       .input = input,
                                       .output = output || count > 0 ? output : &nothing,
                                       .output_size = gathered_size(count, dtype),
                                       .dtype = dtype,
                                       .ndims = 1,
                                       .dims = &dim };
    const struct submission submission = {
        .kind = COLLECTIVE_ALLGATHER, .tensors = &tensor, .count = 1, .without_rows = true
    };
    return hvd_collectives_run(&submission, NULL);
}

int hvd_barrier(void)
{
    const struct submission submission = { .kind = COLLECTIVE_BARRIER, .count = 1 };
    return hvd_collectives_run(&submission, NULL);
}

int hvd_join(int *last_rank)
{
    const struct submission submission = { .kind = COLLECTIVE_JOIN, .count = 1 };
    struct hvd_result result = { 0 };
    int rc = hvd_collectives_run(&submission, &result);
    if (rc == HVD_OK && last_rank)
        *last_rank = result.last_rank;
    return rc;
}

/* ---- the long forms ---- */

static struct submission long_form(enum collective_kind kind, const struct hvd_tensor *tensors,
                                   int count, enum hvd_op op, const struct hvd_options *options)
{
    return (struct submission){
        .kind = kind, .tensors = tensors, .count = count, .op = op, .options = options
    };
}

static struct submission group(enum collective_kind kind, const struct hvd_tensor *tensors,
                               int count, enum hvd_op op, const struct hvd_options *options)
{
    struct submission submission = long_form(kind, tensors, count, op, options);
    submission.grouped = true;
    return submission;
}

static struct submission exchange(const struct hvd_tensor *tensor, const int64_t *splits,
                                  int nsplits, const struct hvd_options *options)
{
    struct submission submission = long_form(COLLECTIVE_ALLTOALL, tensor, 1, 0, options);
    submission.splits = splits;
    submission.nsplits = nsplits;
    return submission;
}

int hvd_allreduce_async(const struct hvd_tensor *tensor, enum hvd_op op,
                        const struct hvd_options *options, int64_t *handle)
{
    const struct submission submission = long_form(COLLECTIVE_ALLREDUCE, tensor, 1, op, options);
    return hvd_collectives_start(&submission, handle);
}

int hvd_grouped_allreduce_async(const struct hvd_tensor *tensors, int count, enum hvd_op op,
                                const struct hvd_options *options, int64_t *handle)
{
    const struct submission submission = group(COLLECTIVE_ALLREDUCE, tensors, count, op, options);
    return hvd_collectives_start(&submission, handle);
}

int hvd_reducescatter_async(const struct hvd_tensor *tensor, enum hvd_op op,
                            const struct hvd_options *options, int64_t *handle)
{
    const struct submission submission =
        long_form(COLLECTIVE_REDUCESCATTER, tensor, 1, op, options);
    return hvd_collectives_start(&submission, handle);
}

int hvd_grouped_reducescatter_async(const struct hvd_tensor *tensors, int count, enum hvd_op op,
                                    const struct hvd_options *options, int64_t *handle)
{
    const struct submission submission =
        group(COLLECTIVE_REDUCESCATTER, tensors, count, op, options);
    return hvd_collectives_start(&submission, handle);
}

int hvd_allgather_async(const struct hvd_tensor *tensor, const struct hvd_options *options,
                        int64_t *handle)
{
    const struct submission submission = long_form(COLLECTIVE_ALLGATHER, tensor, 1, 0, options);
    return hvd_collectives_start(&submission, handle);
}

int hvd_grouped_allgather_async(const struct hvd_tensor *tensors, int count,
                                const struct hvd_options *options, int64_t *handle)
{
    const struct submission submission = group(COLLECTIVE_ALLGATHER, tensors, count, 0, options);
    return hvd_collectives_start(&submission, handle);
}

int hvd_broadcast_async(const struct hvd_tensor *tensor, int root,
                        const struct hvd_options *options, int64_t *handle)
{
    struct submission submission = long_form(COLLECTIVE_BROADCAST, tensor, 1, 0, options);
    submission.root = root;
    return hvd_collectives_start(&submission, handle);
}

int hvd_alltoall_async(const struct hvd_tensor *tensor, const int64_t *splits, int nsplits,
                       const struct hvd_options *options, int64_t *handle)
{
    const struct submission submission = exchange(tensor, splits, nsplits, options);
    return hvd_collectives_start(&submission, handle);
}

int hvd_barrier_async(const struct hvd_options *options, int64_t *handle)
{
    const struct submission submission = long_form(COLLECTIVE_BARRIER, NULL, 1, 0, options);
    return hvd_collectives_start(&submission, handle);
}

int hvd_join_async(const struct hvd_options *options, int64_t *handle)
{
    const struct submission submission = long_form(COLLECTIVE_JOIN, NULL, 1, 0, options);
    return hvd_collectives_start(&submission, handle);
}

/* ---- the long forms, waiting ---- */

int hvd_allreduce_tensor(const struct hvd_tensor *tensor, enum hvd_op op,
                         const struct hvd_options *options)
{
    const struct submission submission = long_form(COLLECTIVE_ALLREDUCE, tensor, 1, op, options);
    return hvd_collectives_run(&submission, NULL);
}

int hvd_allgather_tensor(const struct hvd_tensor *tensor, const struct hvd_options *options,
                         struct hvd_result *result)
{
    struct submission submission = long_form(COLLECTIVE_ALLGATHER, tensor, 1, 0, options);
    submission.without_rows = !result;
    return hvd_collectives_run(&submission, result);
}

int hvd_broadcast_tensor(const struct hvd_tensor *tensor, int root,
                         const struct hvd_options *options)
{
    struct submission submission = long_form(COLLECTIVE_BROADCAST, tensor, 1, 0, options);
    submission.root = root;
    return hvd_collectives_run(&submission, NULL);
}

int hvd_grouped_allreduce(const struct hvd_tensor *tensors, int count, enum hvd_op op,
                          const struct hvd_options *options)
{
    const struct submission submission = group(COLLECTIVE_ALLREDUCE, tensors, count, op, options);
    return hvd_collectives_run(&submission, NULL);
}

int hvd_grouped_allgather(const struct hvd_tensor *tensors, int count,
                          const struct hvd_options *options, struct hvd_result *results)
{
    const struct submission submission = group(COLLECTIVE_ALLGATHER, tensors, count, 0, options);
    return hvd_collectives_run(&submission, results);
}

int hvd_alltoall(const struct hvd_tensor *tensor, const int64_t *splits, int nsplits,
                 const struct hvd_options *options, struct hvd_result *result)
{
    const struct submission submission = exchange(tensor, splits, nsplits, options);
    return hvd_collectives_run(&submission, result);
}

int hvd_reducescatter(const struct hvd_tensor *tensor, enum hvd_op op,
                      const struct hvd_options *options)
{
    const struct submission submission =
        long_form(COLLECTIVE_REDUCESCATTER, tensor, 1, op, options);
    return hvd_collectives_run(&submission, NULL);
}

int hvd_grouped_reducescatter(const struct hvd_tensor *tensors, int count, enum hvd_op op,
                              const struct hvd_options *options)
{
    const struct submission submission =
        group(COLLECTIVE_REDUCESCATTER, tensors, count, op, options);
    return hvd_collectives_run(&submission, NULL);
}

int64_t hvd_share(int64_t rows, int size, int rank)
{
    struct err err;
    if (rows < 0 || size < 1 || rank < 0 || rank >= size)
        return process_answer(fail(&err, HVD_ERR_INVALID,
                                   "share: %lld rows, rank %d of %d; expected 0 or more rows and "
                                   "0 <= rank < size",
                                   (long long)rows, rank, size),
                              &err);
    return (int64_t)chunk_count((size_t)rows, size, rank);
}

/* ---- handles ---- */

int hvd_poll(int64_t handle)
{
    struct err err;
    struct world *world = process_enter(&err);
    int rc = world ? engine_poll(world_engine(world), handle, &err) : err.code;
    if (world)
        process_exit();
    return process_answer(arguments_first_handle(rc, handle, &err), &err);
}

static int wait_for(int64_t handle, int timeout_ms, struct hvd_result *result)
{
    struct err err;
    struct world *world = process_enter(&err);
    int rc = world ? engine_wait(world_engine(world), handle, timeout_ms, result, &err) : err.code;
    if (world)
        process_exit();
    return process_answer(arguments_first_handle(rc, handle, &err), &err);
}

int hvd_wait(int64_t handle)
{
    return wait_for(handle, ENGINE_FOR_EVER, NULL);
}

int hvd_wait_result(int64_t handle, struct hvd_result *result)
{
    return wait_for(handle, ENGINE_FOR_EVER, result);
}

int hvd_wait_timeout(int64_t handle, int timeout_ms, struct hvd_result *result)
{
    return wait_for(handle, timeout_ms > 0 ? timeout_ms : 0, result);
}

int hvd_wait_interruptible(int64_t handle, struct hvd_interrupt *interrupt,
                           struct hvd_result *result)
{
    struct err err;
    if (!interrupt || !interrupt->wanted)
        return process_answer(fail(&err, HVD_ERR_INVALID, "wait: the interrupt has no function"),
                              &err);
    int rc = wait_for(handle, ENGINE_INTERRUPTIBLE, result);
    return rc == ENGINE_PAUSED ? process_answer(wait_and_ask(handle, interrupt, result, &err), &err)
                               : rc;
}

void hvd_result_free(struct hvd_result *result)
{
    if (!result)
        return;
    free(result->rows);
    free(result->memory);
    *result = (struct hvd_result){ .last_rank = -1 };
}
