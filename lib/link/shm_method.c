/* SPDX-License-Identifier: Apache-2.0 */
/* The table of methods; see shm_method.h. All numbers were measured with float32 sums of 2 and 4
 * ranks on 2 processors. */
#include "lib/link/shm_method.h"

#include <limits.h>
#include <unistd.h>

enum { COPIED = 1, REDUCED = 2 }; /* what becomes of the bytes */
enum { MAPPED, PRIVATE };         /* memory */
enum { NEAR = 1, FAR = 2 };       /* processors */
enum { KIB = 1024, MIB = 1024 * KIB };

/* The first row that matches decides; without a match the bytes are copied through the ring, which
 * keeps both sides busy.
 *
 *   pieces: an entry for fewer than 64 KiB costs more than their copy.
 *   mapped and copied: exported memory saves one of two copies.
 *   mapped and reduced: the sum stores into memory that the other processor has read, and each
 *     line of it has to be taken back from there. That costs more than a copy through the ring
 *     while the vector lies in the near caches: near 256 KiB take 12.1 us instead of 9.3, 512
 *     KiB the same, 1 MiB 29 us instead of 41. To a far processor it costs more up to 16 MiB (1
 *     MiB 110 us instead of 76, 16 MiB 1.56 ms instead of 1.34). With more ranks than processors
 *     exported memory wins earlier, and at any distance, since these ranks share the caches.
 *   private: a system call saves one of two copies, but the ring is faster at any size, unless each
 *     of its lines has to be fetched from a far processor. Bytes that two ranks exchange without
 *     reducing them, and less than 1 MiB that go one way, may also be fetched, by what was measured
 *     for messages of their size (shm_costs.h). */
static const struct shm_method_row {
    int memory;
    int use;         /* one of these */
    int distance;    /* one of these */
    bool stores;     /* only if the ring is written by ordinary stores */
    int least, most; /* ranks */
    size_t nbytes;   /* at least so many in the piece, */
    size_t reduced;  /* in the vector, */
    size_t before;   /* and before the piece */
    enum shm_method way;
} rows[] = {
    { MAPPED, COPIED, NEAR | FAR, false, 0, INT_MAX, 64 * KIB, 0, 0, SHM_METHOD_EXPORT },
    { MAPPED, REDUCED, NEAR, false, 0, 2, 64 * KIB, 1 * MIB, 0, SHM_METHOD_EXPORT },
    { MAPPED, REDUCED, FAR, false, 0, 2, 64 * KIB, 32 * MIB, 0, SHM_METHOD_EXPORT },
    { MAPPED, REDUCED, NEAR | FAR, false, 3, INT_MAX, 64 * KIB, 512 * KIB, 0, SHM_METHOD_EXPORT },
    { PRIVATE, COPIED | REDUCED, FAR, true, 0, INT_MAX, 64 * KIB, 0, 4 * MIB, SHM_METHOD_FETCH },
};

static bool shm_method_fits(const struct shm_method_row *row, const struct shm_method_case *what)
{
    return row->memory == (what->mapped ? MAPPED : PRIVATE) &&
           row->use & (what->reduced ? REDUCED : COPIED) &&
           row->distance & (what->far ? FAR : NEAR) && (!row->stores || !what->streams) &&
           what->ranks >= row->least && what->ranks <= row->most && what->nbytes >= row->nbytes &&
           what->reduced >= row->reduced && what->before >= row->before;
}

enum shm_method shm_method_choose(const struct shm_method_case *what)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (shm_method_fits(&rows[i], what))
            return rows[i].way;
    return SHM_METHOD_COPY;
}

size_t shm_method_ring_bytes(int ranks, size_t own_cache)
{
    size_t rings = ranks > 1 ? (size_t)ranks * (size_t)(ranks - 1) : 1, nbytes = SHM_RING_MOST;
    size_t most = own_cache >= SHM_OWN_CACHE ? own_cache / SHM_RING_PART : SHM_RING_MOST;
    while (nbytes > SHM_RING_LEAST && (nbytes > SHM_RINGS_BYTES / rings || nbytes > most))
        nbytes /= 2;
    return nbytes;
}

size_t shm_method_own_cache(void)
{
#ifdef _SC_LEVEL2_CACHE_SIZE
    long nbytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return nbytes > 0 ? (size_t)nbytes : 0;
#else
    return 0;
#endif
}
