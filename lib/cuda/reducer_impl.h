/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of reducer.h share. */
#ifndef LIB_CUDA_REDUCER_IMPL_H
#define LIB_CUDA_REDUCER_IMPL_H

#include "lib/cuda/hierarchy.h"
#include "lib/cuda/ipc.h"
#include "lib/cuda/kernels.h"
#include "lib/cuda/nccl.h"
#include "lib/cuda/reducer.h"

#include <pthread.h>
#include <time.h>

/* waiting -> launched -> passed; waiting or launched -> failed. The ticket goes when it has passed
 * or its failure was told, or when there is no event. */
enum ticket_state { TICKET_WAITING, TICKET_LAUNCHED, TICKET_FAILED };

struct cuda_ticket {
    bool is_collective;
    struct hvd_device_allreduce allreduce;   /* unless it is a collective */
    struct hvd_device_collective collective; /* if it is one */
    struct cuda_group *group;
    enum ticket_state state;
    struct err err;
    struct cuda_event *event; /* to be recorded behind the request; NULL: none, or not yet */
    bool forgotten;           /* nobody will ask */
    struct cuda_ticket *next_queued, *next;
    int64_t rows[]; /* those of the collective, then its splits */
};

/* How a group moves tensors. Ranks of one host may also read each other's memory, where NCCL does
 * not take a tensor (ipc.h). */
enum group_path { GROUP_UNKNOWN, GROUP_NCCL, GROUP_HOST };

/* What HVD_CUDA_IPC says. */
enum ipc_wish { IPC_NEVER, IPC_IF_POSSIBLE, IPC_WANTED };

/* Seconds, at least, in which what NCCL has at work may still pass when a rank of the set has left:
 * that rank may have left behind it, and been faster. */
enum { GROUP_LEFT_S = 1 };

/* The thread owns what is not under the reducer's lock. */
struct cuda_group {
    struct cuda_reducer *reducer;
    int set;
    pthread_t thread;
    pthread_cond_t wanted;
    struct cuda_ticket *first, **last; /* queue, under the lock */
    bool stops;                        /* under the lock */
    int pending;                       /* requests that are not done, under the lock */
    struct cuda_stream *stream;
    struct cuda_event *launched; /* behind what was launched last */
    bool at_work;                /* that has not passed yet, as far as known */
    enum group_path path;
    bool has_pools;         /* all ranks can allocate memory in order of a stream */
    struct nccl_comm *comm; /* of all ranks */
    bool is_stuck;     /* no call ends what NCCL has on the stream: nothing waits for it any more */
    bool may_ipc;      /* all ranks are on one host, and none has HVD_CUDA_IPC=0 */
    struct err no_ipc; /* why not */
    bool wants_ipc;    /* a rank has HVD_CUDA_IPC=1 */
    struct cuda_ipc ipc;
    struct cuda_hierarchy hierarchy;
    int epoch, serial, size, *ranks; /* of the agreement */
    struct timespec left_at;         /* when the end of its set was seen; 0: not seen */
    struct cuda_group *next;
};

struct cuda_reducer {
    struct cuda_device *device;
    const struct device_module_library *library;
    const struct nccl *nccl; /* NULL: there is none */
    enum ipc_wish ipc;
    bool encrypts;     /* HVD_ENCRYPT is not "off" */
    bool hierarchical; /* HOROVOD_HIERARCHICAL_ALLREDUCE demands two levels (hierarchy.h) */
    struct cuda_kernels kernels;
    pthread_mutex_t lock;
    struct cuda_group *groups; /* under the lock */
    struct cuda_ticket *tickets;
    struct cuda_ticket *newest; /* to be recorded */
    struct ipc_buffer *retired;
    bool is_stuck; /* a group is: memory is left to the driver, which would wait; under the lock */
};

/* group.c. Makes the thread; NULL and `err` on failure. */
struct cuda_group *cuda_group_create(struct cuda_reducer *reducer, int set, struct err *err);
void cuda_group_destroy(struct cuda_group *group);

/* True in the thread of a group. */
bool cuda_group_is_calling(void);

/* reducer.c: the group of the set, with one more request that it does not end without; NULL and
 * `err` on failure. The second function takes that request back. */
struct cuda_group *cuda_reducer_group(struct cuda_reducer *reducer, int set, struct err *err);
void cuda_reducer_let(struct cuda_reducer *reducer, struct cuda_group *group);

/* True if a group is stuck: the driver would wait for ever where it frees memory or a kernel. */
bool cuda_reducer_is_stuck(struct cuda_reducer *reducer);

/* ticket.c: the group's thread has launched the ticket, or it has failed. */
void cuda_ticket_done(struct cuda_ticket *ticket, int rc, const struct err *err);

/* What was launched and has not been answered for fails: its communicator is about to be aborted,
 * and then its events pass without a result. `why` is the failure; NULL: the world or the set has
 * ended. */
void cuda_tickets_fail(struct cuda_group *group, const struct err *why);

/* Nobody will ask for the tickets of the group: the collectives of its set are over. */
void cuda_tickets_drop(const struct cuda_group *group);

/* group_records.c: what each rank gives to the agreement, in this process's own layout: all ranks
 * have the same library. */
struct group_record {
    int32_t version;      /* of NCCL; 0: there is none */
    int32_t ipc;          /* enum ipc_wish */
    int32_t encrypts;     /* 1: what goes to other hosts has to be encrypted, as HVD_ENCRYPT says */
    int32_t pools;        /* 1: the GPU has memory pools, which cuMemAllocAsync() needs */
    int32_t hierarchical; /* 1: HOROVOD_HIERARCHICAL_ALLREDUCE demands two levels */
    struct cuda_uuid gpu;
    struct nccl_id id; /* of the set's first rank */
    char host[64];
    char boot[40]; /* of its kernel: hosts may have one name; "" if not known */
};

/* `first`: the rank is the set's first, and makes the id. */
int cuda_group_make_record(const struct cuda_group *group, bool first, struct group_record *record,
                           struct err *err);

/* Decides how the group moves tensors: every rank has the same records, and comes to the same
 * result. Stores for each rank the first rank of its host. */
int cuda_group_judge(struct cuda_group *group, struct group_record *records, int *host_of,
                     struct err *err);

/* group_agree.c: makes sure that the ranks of the set agree on the way, and have a communicator. */
int cuda_group_agree(struct cuda_group *group, struct err *err);
void cuda_group_part(struct cuda_group *group, const struct err *why);

/* Makes a communicator, all ranks of which come. */
int cuda_group_connect(struct cuda_group *group, struct nccl_comm **comm, const struct nccl_id *id,
                       int rank, int size, struct err *err);

/* group.c: scales the input of the allreduce into its output; records the event behind what was
 * launched last. */
int cuda_group_prescale(struct cuda_group *group, const struct hvd_device_allreduce *allreduce,
                        struct err *err);
int cuda_group_mark_launched(struct cuda_group *group, struct err *err);

/* group_collective.c. True if NCCL can carry it out, the same on all ranks. Then put it on the
 * group's stream, in the GPU's context; or let the library carry it out (group_host.c). */
bool cuda_group_can_collective(const struct cuda_group *group,
                               const struct hvd_device_collective *collective);
int cuda_group_collective(struct cuda_group *group, const struct hvd_device_collective *collective,
                          struct err *err);
int cuda_group_collective_on_host(struct cuda_group *group,
                                  const struct hvd_device_collective *collective, struct err *err);

/* Bytes of one row; bytes of the rows of all ranks before `rank`. */
size_t cuda_group_row_bytes(const struct cuda_group *group,
                            const struct hvd_device_collective *collective);
size_t cuda_group_rows_before(const struct cuda_group *group,
                              const struct hvd_device_collective *collective, int rank);
bool cuda_group_rows_are_even(const struct hvd_device_collective *collective);

/* Memory of the GPU's pool, in the order of the group's stream. The second function gives it back,
 * also after a failure, and returns `rc`, the status of what used it, or its own failure. */
int cuda_group_pool_get(struct cuda_group *group, uint64_t *memory, size_t nbytes, struct err *err);
int cuda_group_pool_put(struct cuda_group *group, uint64_t memory, int rc, struct err *err);

/* Ends what group_start() of NCCL has begun: `result` is that of the calls between, the first that
 * failed, which was `call`. NCCL wants the end in any case. */
int cuda_group_end(struct cuda_group *group, int result, const char *call, struct err *err);

/* group_rows.c */
int cuda_group_allgather(struct cuda_group *group, const struct hvd_device_collective *collective,
                         struct err *err);
int cuda_group_alltoall(struct cuda_group *group, const struct hvd_device_collective *collective,
                        struct err *err);

/* True when nothing more is to be waited for: the group stops, the world is broken, or a rank of
 * the set has left a while ago. */
bool cuda_group_is_over(struct cuda_group *group);

/* In the GPU's context. Records the event behind what is on the group's stream, and waits until it
 * has passed. `behind_nccl`: NCCL may have work before the event, for which other ranks may be
 * missing; then the wait ends with the group, or with a failure of NCCL. */
int cuda_group_record(struct cuda_group *group, struct cuda_event *event, struct err *err);
int cuda_group_await_event(struct cuda_group *group, struct cuda_event *event, bool behind_nccl,
                           struct err *err);

/* Waits until the GPU has done all that is on the group's stream, in the GPU's context. Nothing
 * there may wait for other ranks: the group is not `at_work`. */
int cuda_group_await(struct cuda_group *group, struct err *err);

/* An allgather of a record of each rank; `records` has room for all. */
int cuda_group_gather(const struct cuda_group *group, const char *name, const void *own,
                      void *records, size_t nbytes, struct err *err);

/* group_work.c. HVD_OK, or why what is at work will never pass, as far as NCCL knows. */
int cuda_group_check_nccl(const struct cuda_group *group, struct err *err);

/* Finds out whether what is at work has passed. If it never will, the communicators are gone. */
void cuda_group_check_work(struct cuda_group *group);

/* Waits until NCCL has nothing at work, after which nothing on the stream waits for other ranks. */
int cuda_group_finish_nccl(struct cuda_group *group, struct err *err);

/* Waits until NCCL has done what it has begun (`result`), or the group is over. After a failure the
 * communicators are gone, so that NCCL uses no memory any more. */
int cuda_group_complete(struct cuda_group *group, int result, const char *call, struct err *err);

#endif
