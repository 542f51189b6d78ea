/* SPDX-License-Identifier: Apache-2.0 */
/* Segments of the other side's heap that are mapped here, to be read, each in the slot that the other
 * side has said (shm_exported.h). A segment that takes the place of another unmaps it: whatever was
 * offered in that one came before, and has been fetched. A forked child does not have them.
 *
 * Fails with HVD_ERR_PROTOCOL when there is no such slot, or what came is not the segment that was
 * announced (segment.h); HVD_ERR_SYSTEM when it cannot be had or mapped: no descriptor is left, or no
 * address space. Then the slot has none, and the other side's mistake it is not. */
#ifndef LIB_LINK_SHM_IMPORTED_H
#define LIB_LINK_SHM_IMPORTED_H

#include "lib/link/shm_exported.h"
#include "lib/memory/segment.h"

#include <stdint.h>

/* Zeros: nothing is mapped. */
struct shm_imported {
    struct {
        const unsigned char *memory;
        size_t size;
    } slots[SHM_SLOTS];
};

void shm_imported_fini(struct shm_imported *imported);

/* Maps the segment of `size` bytes behind `fd`, which is closed whatever happens; -1: it could not
 * be received. */
int shm_imported_map(struct shm_imported *imported, uint64_t slot, uint64_t size, int fd,
                     struct err *err);

/* Where [at, at + nbytes) of that segment lies; NULL if that is nothing, or not all in a segment that
 * is mapped. */
const unsigned char *shm_imported_find(const struct shm_imported *imported, uint64_t slot,
                                       uint64_t at, uint64_t nbytes);

#endif
