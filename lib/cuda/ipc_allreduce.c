/* SPDX-License-Identifier: Apache-2.0 */
/* An allreduce out of the buffers of all ranks; see ipc.h. */
#include "lib/cuda/reducer_impl.h"

bool ipc_takes(enum hvd_dtype dtype, enum hvd_op op, size_t count)
{
    enum kernel_act act, last;
    return cuda_kernels_acts(op, &act, &last) && kernel_exists(last, dtype) &&
           count >= IPC_LEAST / kernel_element_bytes(dtype);
}

/* A piece of a tensor, in one half of each buffer. */
struct piece {
    const struct hvd_device_allreduce *allreduce;
    uint64_t input, output;
    size_t count, size; /* elements, and bytes of one */
    uint64_t half;      /* bytes before it in each buffer */
};

/* Elements of the parts of all ranks before `rank`. */
static size_t piece_before(const struct piece *piece, int rank)
{
    const size_t ranks = (size_t)piece->allreduce->size;
    return piece->count / ranks * (size_t)rank + piece->count % ranks * (size_t)rank / ranks;
}

/* Where a rank's part is in the buffer of `owner`. */
static uint64_t piece_at(const struct cuda_group *group, const struct piece *piece, int owner,
                         int rank)
{
    return group->ipc.peers[owner].memory + piece->half + piece_before(piece, rank) * piece->size;
}

static int ipc_scale(struct cuda_group *group, const struct piece *piece, uint64_t memory,
                     size_t count, double factor, struct err *err)
{
    void *data = (void *)(uintptr_t)memory;
    return factor == 1
               ? HVD_OK
               : cuda_kernels_scale(&group->ipc.kernels, group->reducer->device, group->stream,
                                    piece->allreduce->dtype, data, data, count, factor, err);
}

static int ipc_copy(struct cuda_group *group, uint64_t to, uint64_t from, size_t nbytes,
                    struct err *err)
{
    const struct cuda_driver *driver = group->reducer->device->driver;
    int result = nbytes > 0 ? driver->copy(to, from, nbytes, group->stream) : CUDA_OK;
    return result == CUDA_OK ? HVD_OK : cuda_driver_fail(driver, result, "cuMemcpyAsync", err);
}

/* ---- the three steps of a piece ---- */

static int ipc_fill(struct cuda_group *group, const struct piece *piece, struct err *err)
{
    uint64_t half = group->ipc.own->memory + piece->half;
    int rc = ipc_copy(group, half, piece->input, piece->count * piece->size, err);
    if (rc == HVD_OK)
        rc = ipc_scale(group, piece, half, piece->count, piece->allreduce->prescale, err);
    return rc == HVD_OK ? cuda_group_await(group, err) : rc;
}

/* This rank's part, beginning with its own operand, which the result replaces. */
static int ipc_combine(struct cuda_group *group, const struct piece *piece, struct err *err)
{
    const struct cuda_ipc *ipc = &group->ipc;
    const struct hvd_device_allreduce *allreduce = piece->allreduce;
    uint64_t own = piece_at(group, piece, ipc->rank, ipc->rank);
    enum kernel_act act, last;
    size_t count = piece_before(piece, ipc->rank + 1) - piece_before(piece, ipc->rank);
    int rc = HVD_OK;
    cuda_kernels_acts(allreduce->op, &act, &last);
    for (int i = 1; i < ipc->size && rc == HVD_OK; i++) {
        int peer = (ipc->rank + i) % ipc->size;
        bool is_last = i == ipc->size - 1;
        rc = cuda_kernels_reduce(&ipc->kernels, group->reducer->device, group->stream,
                                 is_last ? last : act, allreduce->dtype, own,
                                 piece_at(group, piece, peer, ipc->rank), count, ipc->size, err);
    }
    if (rc == HVD_OK)
        rc = ipc_scale(group, piece, own, count, allreduce->postscale, err);
    return rc == HVD_OK ? cuda_group_await(group, err) : rc;
}

/* Ranks begin with different parts. */
static int ipc_collect(struct cuda_group *group, const struct piece *piece, struct err *err)
{
    const struct cuda_ipc *ipc = &group->ipc;
    int rc = HVD_OK;
    for (int i = 0; i < ipc->size && rc == HVD_OK; i++) {
        int peer = (ipc->rank + i) % ipc->size;
        size_t at = piece_before(piece, peer) * piece->size;
        rc = ipc_copy(group, piece->output + at, piece_at(group, piece, peer, peer),
                      piece_before(piece, peer + 1) * piece->size - at, err);
    }
    return rc;
}

/* Nothing that was begun uses the tensor any more. */
static int ipc_complete(struct cuda_group *group, const struct piece *piece, struct err *err)
{
    (void)piece;
    return cuda_group_await(group, err);
}

/* ---- the order of steps ---- */

typedef int ipc_step_fn(struct cuda_group *group, const struct piece *piece, struct err *err);

static int ipc_step(struct cuda_group *group, const struct piece *piece, ipc_step_fn *step,
                    struct err *err)
{
    int rc = cuda_device_enter(group->reducer->device, err);
    if (rc < 0)
        return rc;
    rc = step(group, piece, err);
    cuda_device_leave(group->reducer->device);
    return rc;
}

/* Returns when all ranks have come. A rank that failed does not come; the world breaks then. */
static int ipc_meet(struct cuda_group *group, struct err *err)
{
    const struct device_module_library *library = group->reducer->library;
    const int64_t count = 1;
    int32_t number = 0;
    const struct hvd_options options = { .process_set = group->set };
    const struct hvd_tensor tensor = { .name = "hvd_cuda.ipc_meet",
                                       .input = &number,
                                       .output = &number,
                                       .dtype = HVD_INT32,
                                       .ndims = 1,
                                       .dims = &count };
    int rc = library->allreduce(&tensor, HVD_MAX, &options);
    return rc < 0 ? fail(err, rc, "%s", library->last_error()) : HVD_OK;
}

static int ipc_reduce_piece(struct cuda_group *group, const struct piece *piece, struct err *err)
{
    int rc = ipc_step(group, piece, ipc_fill, err);
    if (rc == HVD_OK)
        rc = ipc_meet(group, err);
    if (rc == HVD_OK)
        rc = ipc_step(group, piece, ipc_combine, err);
    if (rc == HVD_OK)
        rc = ipc_meet(group, err);
    if (rc == HVD_OK)
        rc = ipc_step(group, piece, ipc_collect, err);
    if (rc < 0)
        ipc_step(group, piece, ipc_complete, &(struct err){ 0 });
    return rc;
}

int cuda_ipc_allreduce(struct cuda_group *group, const struct hvd_device_allreduce *allreduce,
                       struct err *err)
{
    const size_t size = kernel_element_bytes(allreduce->dtype), most = IPC_HALF / size;
    int rc = HVD_OK;
    for (size_t at = 0; at < allreduce->count && rc == HVD_OK; at += most) {
        size_t left = allreduce->count - at;
        const struct piece piece = { .allreduce = allreduce,
                                     .input = (uintptr_t)allreduce->input + at * size,
                                     .output = (uintptr_t)allreduce->output + at * size,
                                     .count = left < most ? left : most,
                                     .size = size,
                                     .half = group->ipc.turn++ % 2 * (uint64_t)IPC_HALF };
        rc = ipc_reduce_piece(group, &piece, err);
    }
    return rc;
}
