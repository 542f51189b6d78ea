/* SPDX-License-Identifier: Apache-2.0 */
/* Allreduces of ranks on several hosts, with HOROVOD_HIERARCHICAL_ALLREDUCE=1 only: NCCL within
 * each host, the library between the hosts, which encrypts what HVD_ENCRYPT wants encrypted.
 * Without the variable NCCL, or the library with host memory, reduces as if this were not there:
 * this way has never run on a GPU, and is not measured. A tensor is cut into pieces, and a piece is
 * reduced so (hierarchy_plan.h says who carries):
 *
 *   scatter   NCCL gives each rank that carries the sum of its share on this host:
 *             ncclReduceScatter if all ranks of the host carry and shares are equal, else a group
 *             of ncclReduce; the share is copied to pinned memory of the host
 *   offer     an alltoall of the library gives each rank that carries the share the operands of its
 *             part from all hosts
 *   combine   the operands are copied to the GPU and combined; the part is copied to the host, and
 *             an alltoall gives it to all that carry the share
 *   collect   the share is copied to the output; NCCL gives it to the other ranks of the host:
 *             ncclAllGather, or a group of ncclBroadcast
 *
 * While the network has one piece, the GPU has the next and the previous one: HIERARCHY_SLOTS
 * pieces are under way, one at each step. All ranks make the same calls of NCCL and of the library
 * in the same order. Each part is combined by one rank, so the bits are the same on all.
 *
 * What fails on one rank fails its request, and thus the world. Other ranks are waited for in calls
 * of the library, which end when the world breaks, or by polling what NCCL has at work, the
 * communicator and the world. A request that fails first waits for its alltoalls, which use its
 * memory, and then aborts the communicator: other ranks may need what NCCL has at work to come to
 * these alltoalls. They do come: each rank, also one that carries nothing, submits an alltoall
 * behind an event that it records at one place of the order of calls, the same on all ranks. So
 * what any rank awaits of NCCL before an alltoall has passed on the GPU of a rank that has
 * submitted it, whenever that GPU fails.
 *
 * All functions are for the thread of a group. */
#ifndef LIB_CUDA_HIERARCHY_H
#define LIB_CUDA_HIERARCHY_H

#include "lib/cuda/hierarchy_plan.h"
#include "lib/cuda/kernels.h"
#include "lib/cuda/nccl.h"

#include <stdbool.h>

/* Smaller tensors go another way: two small alltoalls are expected to cost more than they spare.
 * Bytes of a share of a piece. Both are not measured on a GPU. */
enum { HIERARCHY_LEAST = 256 << 10, HIERARCHY_SHARE = 1 << 20 };

/* Larger process sets go another way: an alltoall wants a link between each two ranks, of which
 * those without a common share have no use. 16 as in alltoalls of NCCL. */
enum { HIERARCHY_MOST_RANKS = 16 };

enum { HIERARCHY_SLOTS = 4 }; /* as many as there are steps */

struct cuda_group;

/* What a piece under way has. A rank that carries nothing has the event only. */
struct hierarchy_slot {
    unsigned char *out, *in;   /* pinned memory of the host: for an alltoall, and from it */
    uint64_t memory;           /* of the GPU: the operands of this rank's part */
    struct cuda_event *passed; /* behind what is to be done before the next alltoall */
    int64_t handle;            /* of the alltoall */
    bool exchanges;            /* there is one */
};

struct cuda_hierarchy {
    bool chosen;            /* on all ranks alike, when they agree */
    bool is_too_large;      /* instead: it would be, but for the set's size */
    struct nccl_comm *comm; /* of this rank's host */
    struct hierarchy_plan plan;
    struct cuda_kernels kernels;
    struct hierarchy_slot slots[HIERARCHY_SLOTS];
    int64_t *splits; /* of an alltoall */
};

/* hierarchy_agree.c. It was chosen: makes the communicator, and allocates; all ranks of the set
 * come. `host_of` is as in hierarchy_plan.h. After a failure cuda_hierarchy_part() is to be called,
 * which frees everything but the communicator. */
int cuda_hierarchy_agree(struct cuda_group *group, const int *host_of, int rank, struct err *err);
void cuda_hierarchy_part(struct cuda_group *group);

/* Tells, at info level, which way large allreduces go, if the variable demands two levels. */
void cuda_hierarchy_tell(const struct cuda_group *group);

/* Before communicators are aborted: waits for the alltoalls of a request that has failed. */
void cuda_hierarchy_quit(struct cuda_group *group);

/* hierarchy.c. True if the allreduce goes this way, on all ranks alike. */
bool cuda_hierarchy_takes(const struct cuda_group *group,
                          const struct hvd_device_allreduce *allreduce);
int cuda_hierarchy_allreduce(struct cuda_group *group, const struct hvd_device_allreduce *allreduce,
                             struct err *err);

#endif
