/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operations; see bandwidth_operations.h. The factors are those that nccl-tests derive
 * (doc/PERFORMANCE.md there): with them every operation shows the bandwidth of the busiest link,
 * whatever the number of ranks. A call fails with the library's status. */
#include "src/tools/bandwidth_operations.h"

/* Every element of an allreduce is sent n-1 times on its way to the sum and n-1 times on its way to
 * all ranks, by n links at once; the other operations have only one of the two halves. */
static double both_ways(int ranks)
{
    return 2.0 * (ranks - 1) / ranks;
}

static double one_way(int ranks)
{
    return (double)(ranks - 1) / ranks;
}

/* All data leaves the root, unless there is only one rank. */
static double whole(int ranks)
{
    return ranks > 1;
}

static double nothing(int ranks)
{
    (void)ranks;
    return 0;
}

/* The dimension is the caller's. */
static struct hvd_tensor tensor_make(const char *name, const struct transfer *transfer,
                                     const void *input, void *output, const int64_t *rows)
{
    return (struct hvd_tensor){
        .name = name,
        .input = input,
        .output = output,
        .dtype = transfer->data.dtype,
        .ndims = 1,
        .dims = rows,
        .device = transfer->device,
    };
}

/* In host memory the short forms are measured, which most programs call. */
static int allreduce(const struct transfer *transfer, const void *input, void *output)
{
    static const char name[] = "hvd-bandwidth.allreduce";
    const int64_t rows = (int64_t)transfer->count;
    if (transfer->device == 0)
        return hvd_allreduce(name, input, output, transfer->count, transfer->data.dtype,
                             transfer->data.op);
    const struct hvd_tensor tensor = tensor_make(name, transfer, input, output, &rows);
    return hvd_allreduce_tensor(&tensor, transfer->data.op, NULL);
}

static int allgather(const struct transfer *transfer, const void *input, void *output)
{
    static const char name[] = "hvd-bandwidth.allgather";
    const int64_t rows = (int64_t)transfer->count;
    if (transfer->device == 0)
        return hvd_allgather(name, input, output, transfer->count, transfer->data.dtype);
    struct hvd_tensor tensor = tensor_make(name, transfer, input, output, &rows);
    tensor.output_size =
        transfer->count * (size_t)transfer->data.ranks * hvd_dtype_size(tensor.dtype);
    return hvd_allgather_tensor(&tensor, NULL, NULL);
}

static int bandwidth_operations_broadcast(const struct transfer *transfer, const void *input,
                                          void *output)
{
    static const char name[] = "hvd-bandwidth.broadcast";
    const int64_t rows = (int64_t)transfer->count;
    (void)input;
    if (transfer->device == 0)
        return hvd_broadcast(name, output, transfer->count, transfer->data.dtype, transfer->root);
    const struct hvd_tensor tensor = tensor_make(name, transfer, NULL, output, &rows);
    return hvd_broadcast_tensor(&tensor, transfer->root, NULL);
}

static int alltoall(const struct transfer *transfer, const void *input, void *output)
{
    const int64_t rows = (int64_t)transfer->count * transfer->data.ranks;
    struct hvd_tensor tensor =
        tensor_make("hvd-bandwidth.alltoall", transfer, input, output, &rows);
    tensor.output_size = (size_t)rows * hvd_dtype_size(tensor.dtype);
    return hvd_alltoall(&tensor, NULL, 0, NULL, NULL);
}

static int reducescatter(const struct transfer *transfer, const void *input, void *output)
{
    const int64_t rows = (int64_t)transfer->count * transfer->data.ranks;
    struct hvd_tensor tensor =
        tensor_make("hvd-bandwidth.reducescatter", transfer, input, output, &rows);
    tensor.output_size = transfer->count * hvd_dtype_size(tensor.dtype);
    return hvd_reducescatter(&tensor, transfer->data.op, NULL);
}

static int barrier(const struct transfer *transfer, const void *input, void *output)
{
    (void)transfer, (void)input, (void)output;
    return hvd_barrier();
}

const struct operation operations[] = {
    { .name = "allreduce",
      .busbw = "2(n-1)/n",
      .factor = both_ways,
      .reduces = true,
      .places = { true, true },
      .moves = true,
      .call = allreduce },
    { .name = "allgather",
      .busbw = "(n-1)/n",
      .factor = one_way,
      .in_parts = true,
      .places = { true, true },
      .moves = true,
      .gives_all = true,
      .call = allgather },
    { .name = "broadcast",
      .busbw = "1",
      .factor = whole,
      .rooted = true,
      .places = { [IN_PLACE] = true },
      .moves = true,
      .call = bandwidth_operations_broadcast },
    { .name = "alltoall",
      .busbw = "(n-1)/n",
      .factor = one_way,
      .in_parts = true,
      .places = { [OUT_OF_PLACE] = true },
      .moves = true,
      .takes_all = true,
      .gives_all = true,
      .call = alltoall },
    { .name = "reducescatter",
      .busbw = "(n-1)/n",
      .factor = one_way,
      .reduces = true,
      .in_parts = true,
      .places = { true, true },
      .moves = true,
      .takes_all = true,
      .call = reducescatter },
    { .name = "barrier",
      .busbw = "0",
      .factor = nothing,
      .places = { [OUT_OF_PLACE] = true },
      .call = barrier },
};

bool operation_can(const struct operation *operation, enum hvd_dtype dtype, enum hvd_op op)
{
    if (operation->call == reducescatter && op != HVD_SUM && op != HVD_AVERAGE)
        return false;
    return !operation->reduces || data_can_reduce(dtype, op);
}

static size_t parts(const struct operation *operation, const struct data *data, bool all)
{
    return operation->in_parts && all ? (size_t)data->ranks : 1;
}

size_t operation_input_count(const struct operation *operation, const struct transfer *transfer)
{
    return transfer->count * parts(operation, &transfer->data, operation->takes_all);
}

size_t operation_output_count(const struct operation *operation, const struct transfer *transfer)
{
    return transfer->count * parts(operation, &transfer->data, operation->gives_all);
}

size_t operation_size(const struct operation *operation, const struct transfer *transfer)
{
    return transfer->count * parts(operation, &transfer->data, true) *
           hvd_dtype_size(transfer->data.dtype);
}

size_t operation_count(const struct operation *operation, const struct data *data, size_t size)
{
    if (!operation->moves)
        return 0;
    size_t count = size / hvd_dtype_size(data->dtype) / parts(operation, data, true);
    return count > 0 ? count : 1;
}

void *operation_input_in(const struct operation *operation, const struct transfer *transfer,
                         void *output)
{
    if (!operation->gives_all || operation->takes_all)
        return output;
    return (char *)output +
           (size_t)transfer->rank * transfer->count * hvd_dtype_size(transfer->data.dtype);
}
