/* SPDX-License-Identifier: Apache-2.0 */
/* An allreduce in two levels, in pieces; see hierarchy.h. */
#include "lib/cuda/hierarchy_impl.h"

#include <stdio.h>
#include <string.h>

static int hierarchy_copy_to_host(struct cuda_group *group, const struct hierarchy_slot *slot,
                                  uint64_t memory, size_t nbytes, struct err *err)
{
    const struct cuda_driver *driver = group->reducer->device->driver;
    int result = driver->copy_to_host(slot->out, memory, nbytes, group->stream);
    return result == CUDA_OK ? HVD_OK : cuda_driver_fail(driver, result, "cuMemcpyDtoHAsync", err);
}

static int hierarchy_copy_from_host(struct cuda_group *group, const struct hierarchy_slot *slot,
                                    uint64_t memory, size_t nbytes, struct err *err)
{
    const struct cuda_driver *driver = group->reducer->device->driver;
    int result = driver->copy_from_host(memory, slot->in, nbytes, group->stream);
    return result == CUDA_OK ? HVD_OK : cuda_driver_fail(driver, result, "cuMemcpyHtoDAsync", err);
}

/* ---- alltoalls between hosts ---- */

/* The splits are known; `sent` and `received` are elements of them all. */
static int exchange_start(struct cuda_group *group, const struct hierarchy_piece *piece,
                          const char *step, size_t sent, size_t received, struct err *err)
{
    static unsigned char nothing[1];
    char name[40];
    struct hierarchy_slot *slot = piece->slot;
    const struct device_module_library *library = group->reducer->library;
    const int64_t count = (int64_t)sent;
    const struct hvd_options options = { .process_set = group->set };
    snprintf(name, sizeof name, "hvd_cuda.%s.%d", step, piece->number);
    const struct hvd_tensor tensor = { .name = name,
                                       .input = slot->out,
                                       .output = slot->in ? slot->in : nothing,
                                       .output_size = received * piece->size,
                                       .dtype = piece->allreduce->dtype,
                                       .ndims = 1,
                                       .dims = &count };
    int rc = library->alltoall_async(&tensor, group->hierarchy.splits, group->size, &options,
                                     &slot->handle);
    slot->exchanges = rc == HVD_OK;
    return rc < 0 ? fail(err, rc, "%s", library->last_error()) : HVD_OK;
}

static int exchange_finish(struct cuda_group *group, const struct hierarchy_piece *piece,
                           struct err *err)
{
    const struct device_module_library *library = group->reducer->library;
    piece->slot->exchanges = false;
    int rc = library->wait(piece->slot->handle);
    return rc < 0 ? fail(err, rc, "%s", library->last_error()) : HVD_OK;
}

/* What this rank sends to the peer that is `place` among those with its share. */
static void exchange_send(struct cuda_group *group, int place, size_t count)
{
    struct cuda_hierarchy *hierarchy = &group->hierarchy;
    hierarchy->splits[hierarchy->plan.peers[place]] = (int64_t)count;
}

/* To each peer its part of this rank's share. */
static int exchange_operands(struct cuda_group *group, const struct hierarchy_piece *piece,
                             struct err *err)
{
    const struct hierarchy_plan *plan = &group->hierarchy.plan;
    for (int i = 0; plan->peers && i < plan->hosts; i++)
        exchange_send(group, i,
                      hierarchy_before(piece->share, plan->hosts, i + 1) -
                          hierarchy_before(piece->share, plan->hosts, i));
    return exchange_start(group, piece, "operands", piece->share, piece->part * (size_t)plan->hosts,
                          err);
}

/* To each peer this rank's part, as it is now. */
static int exchange_parts(struct cuda_group *group, const struct hierarchy_piece *piece,
                          struct err *err)
{
    const struct hierarchy_plan *plan = &group->hierarchy.plan;
    unsigned char *out = piece->slot->out;
    const size_t nbytes = piece->part * piece->size;
    for (int i = 0; plan->peers && i < plan->hosts; i++) {
        exchange_send(group, i, piece->part);
        if (i > 0)
            memcpy(out + (size_t)i * nbytes, out, nbytes);
    }
    return exchange_start(group, piece, "parts", piece->part * (size_t)plan->hosts, piece->share,
                          err);
}

/* ---- scatter ---- */

static int step_scatter(struct cuda_group *group, const struct hierarchy_piece *piece,
                        struct err *err)
{
    int rc = cuda_device_enter(group->reducer->device, err);
    if (rc < 0)
        return rc;
    rc = hierarchy_scatter_shares(group, piece, err);
    if (rc == HVD_OK && piece->share > 0)
        rc = hierarchy_copy_to_host(
            group, piece->slot,
            hierarchy_share_at(group, piece, piece->output, group->hierarchy.plan.host_rank),
            piece->share * piece->size, err);
    if (rc == HVD_OK)
        rc = cuda_group_record(group, piece->slot->passed, err);
    cuda_device_leave(group->reducer->device);
    return rc;
}

static int step_offer(struct cuda_group *group, const struct hierarchy_piece *piece,
                      struct err *err)
{
    int rc = cuda_device_enter(group->reducer->device, err);
    if (rc < 0)
        return rc;
    rc = cuda_group_await_event(group, piece->slot->passed, true, err);
    cuda_device_leave(group->reducer->device);
    return rc == HVD_OK ? exchange_operands(group, piece, err) : rc;
}

/* ---- combine ---- */

/* The operands of all hosts, in the order of the peers, the first of which the result replaces. */
static int combine_operands(struct cuda_group *group, const struct hierarchy_piece *piece,
                            struct err *err)
{
    enum kernel_act act, last;
    const struct cuda_hierarchy *hierarchy = &group->hierarchy;
    const struct cuda_device *device = group->reducer->device;
    const struct hvd_device_allreduce *allreduce = piece->allreduce;
    uint64_t memory = piece->slot->memory;
    size_t nbytes = piece->part * piece->size;
    int rc = HVD_OK;
    cuda_kernels_acts(allreduce->op, &act, &last);
    for (int i = 1; i < hierarchy->plan.hosts && rc == HVD_OK; i++)
        rc = cuda_kernels_reduce(
            &hierarchy->kernels, device, group->stream, i == hierarchy->plan.hosts - 1 ? last : act,
            allreduce->dtype, memory, memory + (size_t)i * nbytes, piece->part, group->size, err);
    if (rc < 0 || allreduce->postscale == 1)
        return rc;
    return cuda_kernels_scale(&hierarchy->kernels, device, group->stream, allreduce->dtype,
                              (void *)(uintptr_t)memory, (const void *)(uintptr_t)memory,
                              piece->part, allreduce->postscale, err);
}

static int combine_part(struct cuda_group *group, const struct hierarchy_piece *piece,
                        struct err *err)
{
    const struct hierarchy_slot *slot = piece->slot;
    const size_t nbytes = piece->part * piece->size;
    int rc = hierarchy_copy_from_host(group, slot, slot->memory,
                                      (size_t)group->hierarchy.plan.hosts * nbytes, err);
    if (rc == HVD_OK)
        rc = combine_operands(group, piece, err);
    return rc == HVD_OK ? hierarchy_copy_to_host(group, slot, slot->memory, nbytes, err) : rc;
}

/* A rank without a part waits, too, for what NCCL has on the stream. */
static int combine_in_context(struct cuda_group *group, const struct hierarchy_piece *piece,
                              struct err *err)
{
    int rc = piece->part > 0 ? combine_part(group, piece, err) : HVD_OK;
    if (rc == HVD_OK)
        rc = cuda_group_record(group, piece->slot->passed, err);
    return rc == HVD_OK ? cuda_group_await_event(group, piece->slot->passed, true, err) : rc;
}

static int step_combine(struct cuda_group *group, const struct hierarchy_piece *piece,
                        struct err *err)
{
    int rc = exchange_finish(group, piece, err);
    if (rc < 0 || (rc = cuda_device_enter(group->reducer->device, err)) < 0)
        return rc;
    rc = combine_in_context(group, piece, err);
    cuda_device_leave(group->reducer->device);
    return rc == HVD_OK ? exchange_parts(group, piece, err) : rc;
}

/* ---- collect ---- */

static int step_collect(struct cuda_group *group, const struct hierarchy_piece *piece,
                        struct err *err)
{
    int rc = exchange_finish(group, piece, err);
    if (rc < 0 || (rc = cuda_device_enter(group->reducer->device, err)) < 0)
        return rc;
    if (piece->share > 0)
        rc = hierarchy_copy_from_host(
            group, piece->slot,
            hierarchy_share_at(group, piece, piece->output, group->hierarchy.plan.host_rank),
            piece->share * piece->size, err);
    if (rc == HVD_OK)
        rc = hierarchy_collect_shares(group, piece, err);
    cuda_device_leave(group->reducer->device);
    return rc;
}

/* ---- the order of steps ---- */

typedef int hierarchy_step_fn(struct cuda_group *group, const struct hierarchy_piece *piece,
                              struct err *err);

static hierarchy_step_fn *const steps[HIERARCHY_SLOTS] = { step_scatter, step_offer, step_combine,
                                                           step_collect };

/* Elements of a piece: its shares fill a slot, and are of equal parts. */
static size_t piece_most(const struct cuda_group *group, size_t size)
{
    const struct hierarchy_plan *plan = &group->hierarchy.plan;
    size_t hosts = (size_t)plan->hosts;
    return HIERARCHY_SHARE / size / hosts * hosts * (size_t)plan->carriers;
}

static struct hierarchy_piece piece_of(struct cuda_group *group,
                                       const struct hvd_device_allreduce *allreduce, size_t index)
{
    const struct hierarchy_plan *plan = &group->hierarchy.plan;
    const size_t size = kernel_element_bytes(allreduce->dtype), most = piece_most(group, size);
    const size_t left = allreduce->count - index * most;
    int number = (int)(index % HIERARCHY_SLOTS);
    struct hierarchy_piece piece = { .allreduce = allreduce,
                                     .slot = &group->hierarchy.slots[number],
                                     .number = number,
                                     .input = (uintptr_t)allreduce->input + index * most * size,
                                     .output = (uintptr_t)allreduce->output + index * most * size,
                                     .count = left < most ? left : most,
                                     .size = size };
    if (!hierarchy_carries(plan))
        return piece;
    piece.share = hierarchy_share_count(group, &piece, plan->host_rank);
    piece.part = hierarchy_before(piece.share, plan->hosts, plan->place + 1) -
                 hierarchy_before(piece.share, plan->hosts, plan->place);
    return piece;
}

/* One step of each piece that is under way, the latest piece first. */
static int hierarchy_reduce_pieces(struct cuda_group *group,
                                   const struct hvd_device_allreduce *allreduce, struct err *err)
{
    size_t most = piece_most(group, kernel_element_bytes(allreduce->dtype));
    size_t pieces = (allreduce->count + most - 1) / most;
    int rc = HVD_OK;
    for (size_t turn = 0; turn < pieces + HIERARCHY_SLOTS - 1 && rc == HVD_OK; turn++)
        for (size_t step = 0; step < HIERARCHY_SLOTS && rc == HVD_OK; step++) {
            if (turn < step || turn - step >= pieces)
                continue;
            const struct hierarchy_piece piece = piece_of(group, allreduce, turn - step);
            rc = steps[step](group, &piece, err);
        }
    return rc;
}

/* What is behind the tensor's pieces, for cuda_ticket_done(); the scaled input lies in the
 * output. */
static int hierarchy_reduce(struct cuda_group *group, const struct hvd_device_allreduce *allreduce,
                            struct err *err)
{
    struct hvd_device_allreduce scaled = *allreduce;
    int rc = HVD_OK;
    if (allreduce->prescale != 1) {
        rc = cuda_group_prescale(group, allreduce, err);
        scaled.input = allreduce->output;
    }
    if (rc == HVD_OK)
        rc = hierarchy_reduce_pieces(group, &scaled, err);
    return rc == HVD_OK ? cuda_group_mark_launched(group, err) : rc;
}

bool cuda_hierarchy_takes(const struct cuda_group *group,
                          const struct hvd_device_allreduce *allreduce)
{
    int dtype, op;
    enum kernel_act act, last;
    return group->hierarchy.chosen && nccl_numbers(allreduce->dtype, allreduce->op, &dtype, &op) &&
           cuda_kernels_acts(allreduce->op, &act, &last) && kernel_exists(last, allreduce->dtype) &&
           allreduce->count >= HIERARCHY_LEAST / kernel_element_bytes(allreduce->dtype);
}

int cuda_hierarchy_allreduce(struct cuda_group *group, const struct hvd_device_allreduce *allreduce,
                             struct err *err)
{
    int rc = hierarchy_reduce(group, allreduce, err);
    if (rc < 0)
        cuda_group_part(group, err);
    return rc;
}
