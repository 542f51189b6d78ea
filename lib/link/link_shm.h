/* SPDX-License-Identifier: Apache-2.0 */
/* A link between two processes of one host over memory that both have mapped; the unix socket over
 * which they met stays open: it says when the other one has died, wakes it when it sleeps, and
 * carries the descriptors of segments.
 *
 * Each direction has a ring of entries: bytes, or an offer, which says where bytes lie. In a segment
 * of the sender's heap (lib/memory/shared_heap.h), mapped by the receiver when it hears of it first;
 * or at an address of the sender's, read with process_vm_readv() where the kernel permits that: of
 * private memory, or of a segment that the receiver refuses to map since it has no descriptor or no
 * address space left. Memory that cannot be read then is copied by its owner when it is asked for it
 * (link_shm_fill.c), and nothing is read at addresses any more. What is neither, what is better
 * copied, and what lies in a segment as long as the receiver has not answered, is copied through the
 * ring.
 *
 * The memory comes into being as it is used: some 100 KiB for a pair that says little at a time, half
 * a MiB and then more, up to 8, for one that copies messages of 4 KiB and more (shm_ring.h). A forked
 * child has neither a pair's memory nor mapped segments.
 *
 * The other side is not trusted with our memory: every number that is read from the ring is read
 * once and checked. Fails with HVD_ERR_PEER_LOST when the other side has gone or has given up, with
 * HVD_ERR_PROTOCOL when the ring holds what cannot be, HVD_ERR_NOMEM, HVD_ERR_SYSTEM. */
#ifndef LIB_LINK_LINK_SHM_H
#define LIB_LINK_LINK_SHM_H

#include "lib/link/link.h"
#include "lib/memory/segment.h"

#include <sys/types.h>

enum { SHM_TOKEN_SIZE = 16 };

/* What the two have told each other (link_upgrade.h). */
struct shm_peer {
    pid_t pid;      /* as the kernel says (SO_PEERCRED); 0: it cannot be known here */
    uint64_t token; /* address in the peer's memory of SHM_TOKEN_SIZE bytes, which are: */
    unsigned char token_bytes[SHM_TOKEN_SIZE]; /* who reads them there can read the peer's memory */
};

/* How much memory a pair shares. */
size_t link_shm_size(void);

/* Where the system promises no more memory than it has: brings into being what is used of it from the
 * beginning, or HVD_ERR_SYSTEM. For the side that has created it. */
int link_shm_populate(const struct segment *segment, struct err *err);

/* Takes over `fd`, a connected nonblocking unix stream socket on which nothing but what this link
 * sends will come any more, and `segment` (its descriptor is closed), which the side with `first` has
 * created; both sides call this. NULL and `err` when out of memory; both are then still the
 * caller's. */
struct link *link_shm_create(int fd, struct segment *segment, bool first,
                             const struct shm_peer *peer, struct err *err);

/* The token of this process: constant as long as it lives; in a forked child another. */
const unsigned char *link_shm_own_token(void);

#endif
