/* SPDX-License-Identifier: Apache-2.0 */
/* Workers of a job whose places nobody has planned, until all have come and each is given one. No
 * I/O: HELLOs and time go in, refusals and places come out.
 *
 *   open -> full      as many have come as they all say there are
 *   open -> broken    one has left or disconnected, or the start timeout has passed
 *
 * Ranks that were asked for are given as asked; the others get the free ones, host by host in order
 * of each host's first arrival, and on a host in order of arrival. local_rank counts the ranks of a
 * host in order of rank, cross_rank the hosts that have that local_rank in order of their first
 * rank. Hosts are told apart by the name that workers say, of which only printable ASCII is kept.
 *
 * Refused, with a text: another size than the first one said (or than was declared), a rank that is
 * beyond it or has been asked for already, and everybody when it is full or broken. */
#ifndef RENDEZVOUS_WORLD_PENDING_WORKERS_H
#define RENDEZVOUS_WORLD_PENDING_WORKERS_H

#include "lib/base/join_protocol.h"
#include "lib/base/status.h"
#include "rendezvous/base/rendezvous_options.h"

#include <stdbool.h>
#include <stdint.h>

#define PENDING_WORKERS_NEVER UINT64_MAX

enum pending_workers_state { PENDING_WORKERS_OPEN, PENDING_WORKERS_FULL, PENDING_WORKERS_BROKEN };

/* A worker, in order of arrival. */
struct pending_worker {
    int wanted; /* rank that it asked for, or -1 */
    int rank;   /* given by pending_workers_assign(); -1 before */
    int pid;
    int processors; /* that it knows of */
    uint64_t came_ms;
    char *host;                       /* owned, until pending_workers_fini() */
    unsigned char key[RANK_KEY_SIZE]; /* its public key */
    struct join_addresses addresses;  /* where it listens */
    void *owner;                      /* the caller's */
};

struct pending_workers {
    enum pending_workers_state state;
    int size; /* 0: not known before the first comes */
    struct pending_worker *workers;
    int count, capacity;
    int *by_rank; /* workers that asked for a rank, hashed by it; -1: nobody */
    int by_rank_size;
    uint64_t start_timeout_ms, deadline_ms; /* deadline: none before the first comes */
    /* Of PENDING_WORKERS_BROKEN: what those that wait are told; one line of at most 250 bytes, its
     * rank means nothing. */
    struct err cause;
    const char *job; /* its name, for texts; borrowed */
};

/* `size` is what was declared, or 0. Takes memory for those that come, not for the size. */
void pending_workers_init(struct pending_workers *pending, const char *job, int size,
                          uint64_t start_timeout_ms);
void pending_workers_fini(struct pending_workers *pending);

/* A proven HELLO; `hello->rank` may be -1. HVD_OK and the worker's index in `*worker`, or the
 * status and text with which it must be refused (HVD_ERR_NOMEM too). Is full once the last has
 * come. */
int pending_workers_join(struct pending_workers *pending, const struct join_hello *hello,
                         void *owner, uint64_t now_ms, int *worker, struct err *err);

/* A worker has said GOODBYE or disconnected before all had come: the start fails, and `cause` names
 * the worker by host and pid. */
void pending_workers_leave(struct pending_workers *pending, int worker, bool said_goodbye);

/* A client has ended the job; `why` is one line without its name. The state becomes BROKEN, even
 * if it was FULL. */
void pending_workers_end(struct pending_workers *pending, const char *why);

/* The start timeout has passed, if it has: breaks it, and `cause` says who is missing: the ranks
 * that were asked for and are not there, or how many have come from which host. */
void pending_workers_tick(struct pending_workers *pending, uint64_t now_ms);

/* The index of the worker that has asked for `rank`, or -1. */
int pending_workers_find(const struct pending_workers *pending, int rank);

/* Full: fills in `slots[size]` in order of rank (hosts borrowed from the workers) and each worker's
 * rank. HVD_ERR_NOMEM when out of memory. O(N log N) at most. */
int pending_workers_assign(struct pending_workers *pending, struct rendezvous_slot *slots,
                           struct err *err);

#endif
