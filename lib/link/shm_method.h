/* SPDX-License-Identifier: Apache-2.0 */
/* How bytes go from one rank to another rank of the host: one table decides, for each link, by the
 * size of the vector, the number of ranks on the host, the kind of memory, and how far the two
 * ranks' processors are from each other (shm_distance.h). Also how large the rings may be. Pure,
 * but for shm_method_own_cache().
 *
 * Two ranks need not choose the same way. */
#ifndef LIB_LINK_SHM_METHOD_H
#define LIB_LINK_SHM_METHOD_H

#include <stdbool.h>
#include <stddef.h>

enum shm_method {
    SHM_METHOD_COPY,   /* through the ring */
    SHM_METHOD_EXPORT, /* the receiver reads memory that it has mapped */
    SHM_METHOD_FETCH   /* the receiver reads the sender's memory with a system call */
};

struct shm_method_case {
    bool mapped;    /* by the receiver; otherwise it reads with a system call */
    bool far;       /* the processors share no cache */
    bool streams;   /* copies to a far processor bypass the caches (copy.h) */
    int ranks;      /* of this host; 0: not known */
    size_t nbytes;  /* of the piece */
    size_t reduced; /* bytes of the vector that is reduced; 0: the bytes are only copied */
    size_t before;  /* bytes of the same vector that the receiver got directly before the piece */
};

enum shm_method shm_method_choose(const struct shm_method_case *what);

/* The data links between the ranks of a host share its cache, so their rings share this budget.
 * Links of process sets, and many ranks, of which each ring has the least, go beyond it. */
enum {
    SHM_RINGS_BYTES = 4 * 1024 * 1024,
    SHM_RING_LEAST = 64 * 1024, /* of each, all the same: two pieces */
    SHM_RING_MOST = 2 * 1024 * 1024
};

/* A processor whose own cache holds SHM_OWN_CACHE bytes or more can keep both rings of a pair there
 * beside the pieces that it reduces, if each ring takes no more than this part of that cache. On an
 * Intel Xeon with 2 MiB an allreduce of 16 MiB of 2 ranks takes 0.73 to 0.96 of the time, and a
 * reduce-scatter 0.79; a broadcast of 16 MiB 1.04, an allgather 1.03, an alltoall 1.02.
 * Smaller caches do not hold so much anyway, and there larger rings win: lines that have left the
 * reader's cache are written faster (shm_ring.h). */
enum { SHM_OWN_CACHE = 2 * 1024 * 1024, SHM_RING_PART = 4 };

/* How much of each ring is used when each of `ranks` sends to each other one: a power of two.
 * `own_cache` is the size of the cache that a processor has for itself; 0: not known. */
size_t shm_method_ring_bytes(int ranks, size_t own_cache);

/* The size of that cache, as the system reports it: the second level's, which processors may share;
 * 0: not known. */
size_t shm_method_own_cache(void);

#endif
