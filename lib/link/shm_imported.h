/* SPDX-License-Identifier: Apache-2.0 */
/* Segments of the peer's heap that this process has mapped for reading, each in the slot that the
 * peer has chosen (shm_exported.h). A segment that takes the place of another unmaps the old one:
 * every offer in the old segment came before, and has been fetched. A forked child does not have
 * the mappings.
 *
 * Fails with HVD_ERR_PROTOCOL when there is no such slot, or the descriptor is not the announced
 * segment (segment.h). Fails with HVD_ERR_SYSTEM when this process has no descriptor or address
 * space left: then the slot is empty, and the peer has made no mistake. */
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

/* Maps the segment of `size` bytes behind `fd`, and closes `fd` in any case; -1: `fd` could not be
 * received. */
int shm_imported_map(struct shm_imported *imported, uint64_t slot, uint64_t size, int fd,
                     struct err *err);

/* The place of [at, at + nbytes) of that segment; NULL if the bytes are not all in a mapped
 * segment. */
const unsigned char *shm_imported_find(const struct shm_imported *imported, uint64_t slot,
                                       uint64_t at, uint64_t nbytes);

#endif
