/* SPDX-License-Identifier: Apache-2.0 */
/* Workers of a job whose places nobody has planned, until all have come and each is given one. No
 * I/O: HELLOs and time go in, refusals and places come out.
 *
 *   open -> full      as many have come as they all say there are
 *   open -> broken    one has left or broken off, or the start timeout has passed
 *
 * Ranks that were asked for are given as asked; the others get the free ones, host by host in order
 * of each host's first arrival, and on a host in order of arrival. local_rank counts the ranks of a
 * host in order of rank, cross_rank the hosts that have that local_rank in order of their first
 * rank. Hosts are told apart by the name that workers say, of which only printable ASCII is kept.
 *
 * Refused, with a text: another size than the first one said (or than was declared), a rank that is
 * beyond it or has been asked for already, and everybody when it is full or broken. */
#ifndef RENDEZVOUS_WORLD_LOBBY_H
#define RENDEZVOUS_WORLD_LOBBY_H

#include "lib/base/join_protocol.h"
#include "lib/base/status.h"
#include "rendezvous/base/rendezvous_options.h"

#include <stdbool.h>
#include <stdint.h>

#define LOBBY_NEVER UINT64_MAX

enum lobby_state { LOBBY_OPEN, LOBBY_FULL, LOBBY_BROKEN };

/* One that has come, in order of arrival. */
struct lobby_guest {
    int wanted; /* rank that it asked for, or -1 */
    int rank;   /* given by lobby_seat(); -1 before */
    int pid;
    uint64_t came_ms;
    char *host;                      /* owned by the lobby, until lobby_fini() */
    struct join_addresses addresses; /* where it listens */
    void *owner;                     /* the caller's */
};

struct lobby {
    enum lobby_state state;
    int size; /* 0: not known before the first comes */
    struct lobby_guest *guests;
    int count, capacity;
    int *by_rank; /* guests that asked for a rank, hashed by it; -1: nobody */
    int by_rank_size;
    uint64_t start_timeout_ms, deadline_ms; /* deadline: LOBBY_NEVER before the first comes */
    struct err cause;                       /* of LOBBY_BROKEN: what those that wait are told; one
                                               line of at most 250 bytes, its rank means nothing */
    const char *job;                        /* its name, for texts; borrowed */
};

/* `size` is what was declared, or 0. Takes memory for those that come, not for the size. */
void lobby_init(struct lobby *lobby, const char *job, int size, uint64_t start_timeout_ms);
void lobby_fini(struct lobby *lobby);

/* A proven HELLO; `hello->rank` may be -1. HVD_OK and the guest's index in `*guest`, or the status
 * and text with which it must be refused (HVD_ERR_NOMEM too). Is full once the last has come. */
int lobby_join(struct lobby *lobby, const struct join_hello *hello, void *owner, uint64_t now_ms,
               int *guest, struct err *err);

/* A guest has said GOODBYE or broken off before it was full: the lobby breaks, and `cause` names it
 * by host and pid. */
void lobby_leave(struct lobby *lobby, int guest, bool said_goodbye);

/* Somebody in charge has ended the job; `why` is one line without its name. It breaks, whether it
 * was full or not. */
void lobby_end(struct lobby *lobby, const char *why);

/* The start timeout has passed, if it has: breaks it, and `cause` says who is missing: the ranks
 * that were asked for and are not there, or how many have come from which host. */
void lobby_tick(struct lobby *lobby, uint64_t now_ms);

/* Who has asked for `rank`, or -1. */
int lobby_find(const struct lobby *lobby, int rank);

/* Full: fills in `slots[size]` in order of rank (hosts borrowed from the guests) and each guest's
 * rank. HVD_ERR_NOMEM when out of memory. O(N log N) at most. */
int lobby_seat(struct lobby *lobby, struct rendezvous_slot *slots, struct err *err);

#endif
