/* SPDX-License-Identifier: Apache-2.0 */
/* A link between two processes of one host over memory that both have mapped. The unix socket on
 * which they connected stays open: the socket shows when the peer has died, wakes a peer that
 * sleeps, and carries the descriptors of segments.
 *
 * Each direction has a ring of entries. An entry holds bytes, or an offer, which is the place of
 * bytes. Offered bytes lie in a segment of the sender's heap (lib/memory/shared_heap.h), which the
 * receiver maps when it first hears of the segment. Or they lie at an address in the sender, which
 * the receiver reads with process_vm_readv() where the kernel permits: in private memory, or in a
 * segment that the receiver refuses to map because it has no descriptor or address space left. This
 * is the way between processors that share no cache and have no stores that bypass it, and for
 * bytes that are only copied, if measured costs are in favour of it (shm_costs.h). When such a read
 * fails, the owner copies the memory on request (link_shm_fill.c), and no address is
 * offered any more. All other bytes are copied through the ring: bytes of neither kind, bytes that
 * are faster to copy, and bytes of a segment while the receiver has not answered.
 *
 * A table chooses the method (shm_method.h), also by the distance of the two processors,
 * which is measured from time to time (shm_distance.h). To a far processor, the ring's bytes bypass
 * the caches.
 *
 * Memory is allocated as it is used: some 100 KiB for a link that carries small messages; half a
 * MiB, growing up to 4 MiB, for a link of the only pair of a host that copies messages of 4 KiB and
 * more; less where a host has many pairs or a processor has a large cache of its own (shm_ring.h,
 * shm_method.h). A forked child has neither a pair's memory nor mapped segments.
 *
 * The peer is not trusted: every number from the ring is read once and checked. Fails with
 * HVD_ERR_PEER_LOST when the peer has gone or has given up, with HVD_ERR_PROTOCOL when the ring
 * holds an impossible entry, and with HVD_ERR_NOMEM and HVD_ERR_SYSTEM. */
#ifndef LIB_LINK_LINK_SHM_H
#define LIB_LINK_LINK_SHM_H

#include "lib/link/link.h"
#include "lib/memory/segment.h"

#include <sys/types.h>

enum { SHM_TOKEN_SIZE = 16 };

/* The facts that the two sides have exchanged (link_upgrade.h). */
struct shm_peer {
    pid_t pid;      /* from the kernel (SO_PEERCRED); 0: not known here */
    uint64_t token; /* address in the peer's memory of SHM_TOKEN_SIZE bytes, which are: */
    unsigned char token_bytes[SHM_TOKEN_SIZE]; /* a process that can read them can read the peer's
                                                * memory */
};

/* How much memory a pair shares. */
size_t link_shm_size(void);

/* Where the system does not overcommit memory: allocates the part that is used from the beginning,
 * or HVD_ERR_SYSTEM. For the side that has created the segment. */
int link_shm_populate(const struct segment *segment, struct err *err);

/* Takes over `fd` and `segment` (whose descriptor is closed). `fd` is a connected nonblocking unix
 * stream socket that carries only this link's bytes from now on. The side with `first` has created
 * `segment`; both sides call this. NULL and `err` when out of memory; then both still belong to the
 * caller. */
struct link *link_shm_create(int fd, struct segment *segment, bool first,
                             const struct shm_peer *peer, struct err *err);

/* The token of this process, constant for its life; a forked child has another. */
const unsigned char *link_shm_own_token(void);

#endif
