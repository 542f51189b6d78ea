/* SPDX-License-Identifier: Apache-2.0 */
/* See device_ranks.h. A wrong result ends the rank. */
#include "tests/support/device_ranks.h"

#include "lib/hvd_device.h"
#include "tests/support/elements.h"
#include "tests/support/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct accelerator *npu;
const struct hvd_device *npu_table;
int device;
const struct device_memory *device_memory;

void device_start(const struct accelerator_options *options)
{
    struct problem problem = { 0 };
    const struct accelerator_options usual = { .memory = 64 << 20 };
    REQUIRE(accelerator_create(&npu, options ? options : &usual, &problem) == 0);
    npu_table = accelerator_table(npu);
    device = hvd_register_device(npu_table);
    REQUIRE(device > 0);
}

void device_stop(void)
{
    REQUIRE_STATUS(hvd_unregister_device(device), HVD_OK);
    struct accelerator_holdings left = accelerator_holdings(npu);
    REQUIRE(left.pinned == 0);
    REQUIRE(left.events == 0);
    accelerator_destroy(npu);
}

void *device_put(const void *host, size_t nbytes)
{
    size_t room = nbytes > 0 ? nbytes : 1;
    void *memory = device_memory ? device_memory->alloc(room) : accelerator_alloc(npu, room);
    REQUIRE(memory != NULL);
    if (host && nbytes > 0 && device_memory)
        device_memory->write(memory, host, nbytes);
    else if (host && nbytes > 0)
        accelerator_write(npu, memory, host, nbytes);
    return memory;
}

void device_get(void *host, const void *memory, size_t nbytes)
{
    if (nbytes > 0 && device_memory)
        device_memory->read(host, memory, nbytes);
    else if (nbytes > 0)
        accelerator_read(npu, host, memory, nbytes);
}

static void make(struct accelerator *accelerator, void *arg)
{
    struct maker *maker = arg;
    sem_wait(&maker->gate);
    int32_t *data = accelerator_pointer(accelerator, maker->memory);
    for (int64_t i = 0; i < maker->count; i++)
        data[i] = maker->value;
}

void maker_put_on_queue(struct maker *maker)
{
    REQUIRE(accelerator_run(npu, make, maker) == 0);
    REQUIRE(accelerator_record(npu, maker->event) == 0);
}

/* The data of a trial on this rank. */
struct sizes {
    int rank, size;
    int64_t dims[2];
    size_t input, output; /* bytes */
};

static size_t gathered_rows(const struct trial *trial, const struct sizes *sizes)
{
    size_t total = 0;
    for (int rank = 0; rank < sizes->size; rank++)
        total += (size_t)trial->rows + (size_t)(sizes->size - 1 - rank);
    return total;
}

/* Rows that `from` sends to `to`. */
static int64_t split(const struct trial *trial, int size, int from, int to)
{
    return hvd_share(trial->rows, size, (from + to) % size);
}

static size_t received_rows(const struct trial *trial, const struct sizes *sizes)
{
    int64_t total = 0;
    for (int rank = 0; rank < sizes->size; rank++)
        total += split(trial, sizes->size, rank, sizes->rank);
    return (size_t)total;
}

static struct sizes measure(const struct trial *trial)
{
    struct sizes sizes = { .rank = hvd_process_set_rank(trial->process_set),
                           .size = hvd_process_set_size(trial->process_set),
                           .dims = { trial->rows, trial->columns } };
    size_t row = (size_t)trial->columns * hvd_dtype_size(trial->dtype);
    bool own_rows = collective_has_own_rows(trial->kind);
    sizes.dims[0] += own_rows ? sizes.size - 1 - sizes.rank : 0;
    sizes.input = sizes.output = (size_t)sizes.dims[0] * row;
    if (trial->kind == COLLECTIVE_ALLGATHER)
        sizes.output = gathered_rows(trial, &sizes) * row;
    if (trial->kind == COLLECTIVE_ALLTOALL)
        sizes.output = received_rows(trial, &sizes) * row;
    if (trial->kind == COLLECTIVE_REDUCESCATTER)
        sizes.output = (size_t)hvd_share(trial->rows, sizes.size, sizes.rank) * row;
    return sizes;
}

static int submit(const struct trial *trial, const struct hvd_tensor *tensor,
                  const struct sizes *sizes, int64_t *handle)
{
    const struct hvd_options options = { .process_set = trial->process_set,
                                         .prescale = trial->prescale,
                                         .postscale = trial->postscale };
    int64_t splits[RANKS_MAX];
    for (int rank = 0; rank < sizes->size; rank++)
        splits[rank] = split(trial, sizes->size, sizes->rank, rank);
    switch (trial->kind) {
    case COLLECTIVE_ALLGATHER:
        return hvd_allgather_async(tensor, &options, handle);
    case COLLECTIVE_BROADCAST:
        return hvd_broadcast_async(tensor, trial->root, &options, handle);
    case COLLECTIVE_ALLTOALL:
        return hvd_alltoall_async(tensor, splits, sizes->size, &options, handle);
    case COLLECTIVE_REDUCESCATTER:
        return hvd_reducescatter_async(tensor, trial->op, &options, handle);
    default:
        return hvd_allreduce_async(tensor, trial->op, &options, handle);
    }
}

/* Small numbers, so that a sum is exact in any type. They repeat after a prime number of them, so
 * that no part of the tensor is like another that it could be taken for. */
static void *make_input(const struct trial *trial, const struct sizes *sizes)
{
    enum { PERIOD = 1009 };
    size_t nbytes = PERIOD * hvd_dtype_size(trial->dtype);
    unsigned char period[PERIOD * 8], *input = malloc(sizes->input + 1);
    REQUIRE(input != NULL);
    for (size_t i = 0; i < PERIOD; i++)
        element_put(trial->dtype, period, i, (double)((i * i + (size_t)sizes->rank * 3) % 5 + 1));
    for (size_t at = 0; at < sizes->input; at += nbytes)
        memcpy(input + at, period, sizes->input - at < nbytes ? sizes->input - at : nbytes);
    return input;
}

/* Where the data of a trial is, on the host or on the device. */
struct operands {
    void *input, *output;
};

/* In one piece of memory for both, if it is to be done in place: where an allgather has its own. */
static struct operands make_operands(const struct trial *trial, const struct sizes *sizes,
                                     const void *input, bool on_device)
{
    size_t room = sizes->input > sizes->output ? sizes->input : sizes->output;
    size_t own = 0;
    for (int rank = 0; trial->kind == COLLECTIVE_ALLGATHER && rank < sizes->rank; rank++)
        own += ((size_t)trial->rows + (size_t)(sizes->size - 1 - rank)) * (size_t)trial->columns *
               hvd_dtype_size(trial->dtype);
    bool together = trial->in_place || trial->kind == COLLECTIVE_BROADCAST;
    unsigned char *image = calloc(room + 1, 1);
    memcpy(image + (together ? own : 0), input, sizes->input);
    struct operands operands = { .input = on_device ? device_put(image, room) : image };
    operands.output = operands.input;
    if (together)
        operands.input = (unsigned char *)operands.input + own;
    else
        operands.output = on_device ? device_put(NULL, room) : calloc(room + 1, 1);
    if (on_device)
        free(image);
    return operands;
}

static void free_memory(void *memory, bool on_device)
{
    if (on_device && device_memory)
        device_memory->free(memory);
    else if (on_device)
        accelerator_free(npu, memory);
    else
        free(memory);
}

void *trial_run(const struct trial *trial, bool on_device, size_t *nbytes)
{
    struct sizes sizes = measure(trial);
    int64_t handle;
    struct hvd_result result;
    void *input = make_input(trial, &sizes);
    struct operands operands = make_operands(trial, &sizes, input, on_device);
    const struct hvd_tensor tensor = { .name = on_device ? "device" : "host",
                                       .input = operands.input,
                                       .output = operands.output,
                                       .output_size = sizes.output,
                                       .dtype = trial->dtype,
                                       .ndims = 2,
                                       .dims = sizes.dims,
                                       .device = on_device ? device : 0 };
    REQUIRE_STATUS(submit(trial, &tensor, &sizes, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait_result(handle, &result), HVD_OK);
    REQUIRE(result.data == operands.output && result.size == sizes.output);
    hvd_result_free(&result);
    unsigned char *output = malloc(sizes.output + 1);
    if (on_device)
        device_get(output, operands.output, sizes.output);
    else
        memcpy(output, operands.output, sizes.output);
    bool together = trial->in_place || trial->kind == COLLECTIVE_BROADCAST;
    if (!together)
        free_memory(operands.input, on_device);
    free_memory(operands.output, on_device);
    free(input);
    *nbytes = sizes.output;
    return output;
}

void trial_check(const struct trial *trial)
{
    size_t on_host, on_device, first = 0;
    unsigned char *host = trial_run(trial, false, &on_host);
    unsigned char *there = trial_run(trial, true, &on_device);
    REQUIRE(on_host == on_device);
    if (memcmp(host, there, on_host) == 0)
        first = on_host;
    while (first < on_host && host[first] == there[first])
        first++;
    if (first < on_host)
        fprintf(stderr, "%s of [%lld, %lld], type %d, operation %d: byte %zu of %zu differs\n",
                collective_name(trial->kind), (long long)trial->rows, (long long)trial->columns,
                (int)trial->dtype, (int)trial->op, first, on_host);
    REQUIRE(first == on_host);
    free(host);
    free(there);
}
