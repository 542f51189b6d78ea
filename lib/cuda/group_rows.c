/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives whose output has rows of each rank, for the thread of a group; see reducer.h.
 *
 *   allgather: ncclAllGather of bytes where all ranks have as many rows; else a broadcast from each
 *     rank that has rows, all in one group of NCCL's
 *   alltoall: an ncclSend of bytes to each rank that gets rows and an ncclRecv from each that
 *     gives some, also to and from this rank itself, in one group
 *
 * Where the output cannot take the result, memory of the stream's order does: what a rank lacks
 * alone, room in its output, changes no call of NCCL. */
#include "lib/cuda/reducer_impl.h"

/* ---- memory that takes what the output cannot ---- */

/* Puts the result of a collective at `output`. */
typedef int rows_into_fn(struct cuda_group *group, const struct hvd_device_collective *collective,
                         unsigned char *output, struct err *err);

/* Makes the result elsewhere, and copies it to the output if that has room. */
static int rows_aside(struct cuda_group *group, const struct hvd_device_collective *collective,
                      rows_into_fn *into, size_t nbytes, struct err *err)
{
    uint64_t memory;
    const struct cuda_driver *driver = group->reducer->device->driver;
    int rc = cuda_group_pool_get(group, &memory, nbytes, err);
    if (rc < 0)
        return rc;
    rc = into(group, collective, (unsigned char *)(uintptr_t)memory, err);
    if (rc == HVD_OK && nbytes <= collective->output_size) {
        int result = driver->copy((uintptr_t)collective->output, memory, nbytes, group->stream);
        if (result != CUDA_OK)
            rc = cuda_driver_fail(driver, result, "cuMemcpyAsync", err);
    }
    return cuda_group_pool_put(group, memory, rc, err);
}

/* ---- allgather ---- */

static int gather_uneven(struct cuda_group *group, const struct hvd_device_collective *collective,
                         unsigned char *output, struct err *err)
{
    const struct nccl *nccl = group->reducer->nccl;
    int result = nccl->group_start();
    if (result != NCCL_OK)
        return cuda_group_complete(group, result, "ncclGroupStart", err);
    for (int rank = 0; rank < collective->size && result == NCCL_OK; rank++) {
        size_t at = cuda_group_rows_before(group, collective, rank);
        size_t nbytes = cuda_group_rows_before(group, collective, rank + 1) - at;
        const void *input = rank == collective->rank ? collective->input : output + at;
        if (nbytes > 0)
            result = nccl->broadcast(input, output + at, nbytes, NCCL_UINT8, rank, group->comm,
                                     group->stream);
        if (result == NCCL_IN_PROGRESS)
            result = NCCL_OK;
    }
    return cuda_group_end(group, result, "ncclBroadcast", err);
}

static int gather_into(struct cuda_group *group, const struct hvd_device_collective *collective,
                       unsigned char *output, struct err *err)
{
    if (!cuda_group_rows_are_even(collective))
        return gather_uneven(group, collective, output, err);
    size_t nbytes = cuda_group_rows_before(group, collective, 1);
    int result = group->reducer->nccl->allgather(collective->input, output, nbytes, NCCL_UINT8,
                                                 group->comm, group->stream);
    group->at_work = true;
    return cuda_group_complete(group, result, "ncclAllGather", err);
}

/* True if the input lies in the output, but not in its place. */
static bool gather_is_misplaced(const struct cuda_group *group,
                                const struct hvd_device_collective *collective)
{
    uintptr_t input = (uintptr_t)collective->input, output = (uintptr_t)collective->output;
    size_t at = cuda_group_rows_before(group, collective, collective->rank);
    size_t nbytes = cuda_group_rows_before(group, collective, collective->rank + 1) - at;
    return nbytes > 0 && input + nbytes > output &&
           input < output + cuda_group_rows_before(group, collective, collective->size) &&
           input != output + at;
}

int cuda_group_allgather(struct cuda_group *group, const struct hvd_device_collective *collective,
                         struct err *err)
{
    size_t nbytes = cuda_group_rows_before(group, collective, collective->size);
    if (nbytes == 0)
        return HVD_OK;
    if (nbytes > collective->output_size || gather_is_misplaced(group, collective))
        return rows_aside(group, collective, gather_into, nbytes, err);
    return gather_into(group, collective, collective->output, err);
}

/* ---- alltoall ---- */

/* One pair of ranks: what goes to `peer`, and what comes from there. `*call` is the one that has
 * returned the result. */
static int exchange_with(struct cuda_group *group, int peer, const unsigned char *input,
                         size_t input_nbytes, unsigned char *output, size_t output_nbytes,
                         const char **call)
{
    const struct nccl *nccl = group->reducer->nccl;
    int result = NCCL_OK;
    *call = "ncclSend";
    if (input_nbytes > 0)
        result = nccl->send(input, input_nbytes, NCCL_UINT8, peer, group->comm, group->stream);
    if (output_nbytes == 0 || (result != NCCL_OK && result != NCCL_IN_PROGRESS))
        return result;
    *call = "ncclRecv";
    return nccl->receive(output, output_nbytes, NCCL_UINT8, peer, group->comm, group->stream);
}

static int exchange_into(struct cuda_group *group, const struct hvd_device_collective *collective,
                         unsigned char *output, struct err *err)
{
    const char *call = NULL;
    const unsigned char *input = collective->input;
    size_t row = cuda_group_row_bytes(group, collective);
    int result = group->reducer->nccl->group_start();
    if (result != NCCL_OK)
        return cuda_group_complete(group, result, "ncclGroupStart", err);
    for (int rank = 0; rank < collective->size && result == NCCL_OK; rank++) {
        size_t sent = (size_t)collective->splits[rank] * row;
        size_t received = (size_t)collective->rows[rank] * row;
        result = exchange_with(group, rank, input, sent, output, received, &call);
        if (result == NCCL_IN_PROGRESS)
            result = NCCL_OK;
        input += sent;
        output += received;
    }
    return cuda_group_end(group, result, call, err);
}

/* A rank that neither gives nor gets rows has no part in it: NCCL matches pairs. */
int cuda_group_alltoall(struct cuda_group *group, const struct hvd_device_collective *collective,
                        struct err *err)
{
    size_t nbytes = cuda_group_rows_before(group, collective, collective->size), sent = 0;
    for (int rank = 0; rank < collective->size; rank++)
        sent += (size_t)collective->splits[rank] * cuda_group_row_bytes(group, collective);
    if (nbytes == 0 && sent == 0)
        return HVD_OK;
    if (nbytes > collective->output_size)
        return rows_aside(group, collective, exchange_into, nbytes, err);
    return exchange_into(group, collective, collective->output, err);
}
