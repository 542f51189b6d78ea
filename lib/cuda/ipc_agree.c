/* SPDX-License-Identifier: Apache-2.0 */
/* How ranks find out whether they can read each other's GPU memory; see ipc.h.
 *
 *   offer: each rank makes a buffer with a random number in it, and compiles the kernels; an
 *     allgather tells all ranks the handle, the number, or why there is none
 *   answer: each rank opens the buffers of the others and reads the numbers; an allgather tells all
 *     ranks whether it could, or whose it could not, and why
 *
 * Where the records of group_agree.c say that ranks are on different hosts, or that one has
 * HVD_CUDA_IPC=0, there is neither.
 *
 * All ranks have the same records and decide alike. If they cannot, then, unless HVD_CUDA_IPC=1 on
 * a rank made that a failure, rank 0 of the set says why at info level, and the set goes through
 * the host until it agrees anew. So GPUs without peer access, containers, MIG instances and a full
 * GPU need no rules of their own: what the driver refuses goes through the host. */
#include "lib/base/env_names.h"
#include "lib/cuda/reducer_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { REASON_SIZE = 200 };

struct offer {
    int32_t good;
    struct ipc_lock_id lock;
    struct cuda_ipc_handle handle;
    uint64_t number; /* at the beginning of the buffer */
    char device[32];
    char reason[REASON_SIZE];
};

struct answer {
    int32_t good;
    int32_t peer; /* whose memory could not be read */
    char reason[REASON_SIZE];
};

static void keep_reason(char reason[REASON_SIZE], const struct err *err)
{
    snprintf(reason, REASON_SIZE, "%.*s", REASON_SIZE - 1, err->text);
}

/* Copies between memory of this process and of GPUs; has ended when it returns. */
static int ipc_copy_number(struct cuda_group *group, uint64_t to, uint64_t from, struct err *err)
{
    const struct cuda_driver *driver = group->reducer->device->driver;
    int result = driver->copy(to, from, sizeof(uint64_t), group->stream);
    return result == CUDA_OK ? cuda_group_await(group, err)
                             : cuda_driver_fail(driver, result, "cuMemcpyAsync", err);
}

/* ---- offers ---- */

static int ipc_prepare(struct cuda_group *group, struct offer *offer, struct err *err)
{
    struct cuda_ipc *ipc = &group->ipc;
    const struct cuda_device *device = group->reducer->device;
    if (getrandom(&offer->number, sizeof offer->number, 0) != sizeof offer->number)
        return fail(err, HVD_ERR_SYSTEM, "the system has no random numbers");
    int rc = cuda_kernels_load(&ipc->kernels, device, KERNEL_ACTS, err);
    if (rc < 0)
        return rc;
    ipc->own = ipc_buffer_create(device, err);
    if (!ipc->own)
        return err->code;
    offer->lock = ipc->own->id;
    offer->handle = ipc->own->handle;
    return ipc_copy_number(group, ipc->own->memory, (uintptr_t)&offer->number, err);
}

static void ipc_make_offer(struct cuda_group *group, struct offer *offer)
{
    struct err err;
    const struct cuda_device *device = group->reducer->device;
    memset(offer, 0, sizeof *offer); /* between its members, too: other ranks get all of it */
    snprintf(offer->device, sizeof offer->device, "%s", device->name);
    int rc = cuda_device_enter(device, &err);
    if (rc == HVD_OK) {
        ipc_buffers_free(group->reducer, 0);
        rc = ipc_prepare(group, offer, &err);
        cuda_device_leave(device);
    }
    offer->good = rc == HVD_OK;
    if (rc < 0)
        keep_reason(offer->reason, &err);
}

/* ---- answers ---- */

static int ipc_open_peer(struct cuda_group *group, const struct offer *offer, struct ipc_peer *peer,
                         struct err *err)
{
    const struct cuda_driver *driver = group->reducer->device->driver;
    uint64_t number = 0;
    peer->lock = ipc_lock_share(&offer->lock, err);
    if (peer->lock < 0)
        return peer->lock;
    int result = driver->ipc_open(&peer->memory, offer->handle, CUDA_IPC_LAZY_PEER_ACCESS);
    if (result != CUDA_OK) {
        peer->memory = 0;
        return cuda_driver_fail(driver, result, "cuIpcOpenMemHandle", err);
    }
    int rc = ipc_copy_number(group, (uintptr_t)&number, peer->memory, err);
    if (rc == HVD_OK && number != offer->number)
        rc = fail(err, HVD_ERR_SYSTEM, "its handle opens other memory");
    return rc;
}

static int ipc_open_peers(struct cuda_group *group, const struct offer *offers,
                          struct answer *answer, struct err *err)
{
    struct cuda_ipc *ipc = &group->ipc;
    int rc = HVD_OK;
    for (int rank = 0; rank < ipc->size && rc == HVD_OK; rank++) {
        answer->peer = rank;
        if (rank == ipc->rank)
            ipc->peers[rank].memory = ipc->own->memory;
        else
            rc = ipc_open_peer(group, &offers[rank], &ipc->peers[rank], err);
    }
    return rc;
}

static void ipc_make_answer(struct cuda_group *group, const struct offer *offers,
                            struct answer *answer)
{
    struct err err;
    const struct cuda_device *device = group->reducer->device;
    *answer = (struct answer){ .peer = group->ipc.rank };
    int rc = cuda_device_enter(device, &err);
    if (rc == HVD_OK) {
        rc = ipc_open_peers(group, offers, answer, &err);
        cuda_device_leave(device);
    }
    answer->good = rc == HVD_OK;
    if (rc < 0)
        keep_reason(answer->reason, &err);
}

/* ---- the decision ---- */

static void ipc_log(const struct cuda_group *group, const char *text)
{
    if (group->ipc.rank == 0)
        group->reducer->library->log_info(text);
}

static int ipc_is_impossible(struct cuda_group *group, const struct err *why, struct err *err)
{
    char line[sizeof why->text + 100];
    if (group->wants_ipc)
        return fail(err, HVD_ERR_SYSTEM, "%s=1: %s", ENV_CUDA_IPC, why->text);
    snprintf(line, sizeof line, "process set %d: tensors of GPUs go through the host: %s",
             group->set, why->text);
    ipc_log(group, line);
    cuda_ipc_part(group);
    group->ipc.state = IPC_IMPOSSIBLE;
    return HVD_OK;
}

static int ipc_is_open(struct cuda_group *group)
{
    char line[100];
    snprintf(line, sizeof line, "process set %d: ranks read each other's GPU memory", group->set);
    ipc_log(group, line);
    group->ipc.state = IPC_OPEN;
    return HVD_OK;
}

static bool offers_are_good(const struct cuda_group *group, const struct offer *offers,
                            struct err *why)
{
    for (int i = 0; i < group->size; i++)
        if (!offers[i].good) {
            fail(why, HVD_ERR_SYSTEM, "rank %d (%.31s) cannot share its memory: %.*s",
                 group->ranks[i], offers[i].device, REASON_SIZE - 1, offers[i].reason);
            return false;
        }
    return true;
}

static bool answers_are_good(const struct cuda_group *group, const struct offer *offers,
                             const struct answer *answers, struct err *why)
{
    for (int i = 0; i < group->size; i++)
        if (!answers[i].good) {
            int peer = answers[i].peer >= 0 && answers[i].peer < group->size ? answers[i].peer : 0;
            fail(why, HVD_ERR_SYSTEM,
                 "rank %d (%.31s) cannot read the memory of rank %d (%.31s): %.*s", group->ranks[i],
                 offers[i].device, group->ranks[peer], offers[peer].device, REASON_SIZE - 1,
                 answers[i].reason);
            return false;
        }
    return true;
}

/* `offers` and `answers` have room for those of all ranks. */
static int ipc_find_out(struct cuda_group *group, struct offer *offers, struct answer *answers,
                        struct err *err)
{
    struct offer offer;
    struct answer answer;
    struct err why;
    ipc_make_offer(group, &offer);
    int rc = cuda_group_gather(group, "hvd_cuda.ipc_offer", &offer, offers, sizeof offer, err);
    if (rc < 0)
        return rc;
    if (!offers_are_good(group, offers, &why))
        return ipc_is_impossible(group, &why, err);
    ipc_make_answer(group, offers, &answer);
    rc = cuda_group_gather(group, "hvd_cuda.ipc_answer", &answer, answers, sizeof answer, err);
    if (rc < 0)
        return rc;
    return answers_are_good(group, offers, answers, &why) ? ipc_is_open(group)
                                                          : ipc_is_impossible(group, &why, err);
}

/* The rank in the set is known. */
static int ipc_agree_anew(struct cuda_group *group, struct err *err)
{
    struct cuda_ipc *ipc = &group->ipc;
    if (!group->may_ipc)
        return ipc_is_impossible(group, &group->no_ipc, err);
    size_t size = (size_t)group->size;
    struct offer *offers = calloc(size, sizeof *offers);
    struct answer *answers = calloc(size, sizeof *answers);
    ipc->peers = calloc(size, sizeof *ipc->peers);
    ipc->size = ipc->peers ? group->size : 0;
    for (int rank = 0; rank < ipc->size; rank++)
        ipc->peers[rank].lock = -1;
    int rc = offers && answers && ipc->peers ? ipc_find_out(group, offers, answers, err)
                                             : fail(err, HVD_ERR_NOMEM, "out of memory");
    free(offers);
    free(answers);
    return rc;
}

int cuda_ipc_agree(struct cuda_group *group, struct err *err)
{
    struct cuda_ipc *ipc = &group->ipc;
    const struct device_module_library *library = group->reducer->library;
    if (ipc->state != IPC_UNKNOWN)
        return HVD_OK;
    ipc->rank = library->process_set_rank(group->set);
    int rc = ipc->rank < 0 ? fail(err, ipc->rank, "%s", library->last_error())
                           : ipc_agree_anew(group, err);
    if (rc < 0)
        cuda_ipc_part(group);
    return rc;
}

/* Memory that cannot be closed, because the GPU has failed or is at work for ever, stays locked
 * while this process lives: its owner must not free it. */
static void ipc_close_peer(const struct cuda_device *device, const struct ipc_peer *peer,
                           bool entered)
{
    if (!peer->memory || (entered && device->driver->ipc_close(peer->memory) == CUDA_OK))
        ipc_lock_close(peer->lock);
}

void cuda_ipc_part(struct cuda_group *group)
{
    struct err err;
    struct cuda_ipc *ipc = &group->ipc;
    const struct cuda_device *device = group->reducer->device;
    ipc->state = IPC_UNKNOWN;
    if (!ipc->peers)
        return;
    bool entered = !group->is_stuck && cuda_device_enter(device, &err) == HVD_OK;
    if (entered && ipc->own)
        cuda_group_await(group, &err); /* copies from the buffers of others */
    for (int rank = 0; rank < ipc->size; rank++)
        if (rank != ipc->rank)
            ipc_close_peer(device, &ipc->peers[rank], entered);
    if (entered) {
        cuda_kernels_unload(&ipc->kernels, device);
        cuda_device_leave(device);
    }
    ipc_buffer_retire(group->reducer, ipc->own);
    free(ipc->peers);
    *ipc = (struct cuda_ipc){ 0 };
}
