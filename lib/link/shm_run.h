/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a vector has been sent already, as far as the addresses of its pieces show it.
 * Callers may pass the pieces of a few vectors in turn. Pure. */
#ifndef LIB_LINK_SHM_RUN_H
#define LIB_LINK_SHM_RUN_H

#include <stddef.h>
#include <stdint.h>

enum { SHM_RUNS = 4 };

/* Zeros: nothing was sent. */
struct shm_runs {
    struct {
        uintptr_t start, end;
    } at[SHM_RUNS];
    unsigned oldest;
};

/* `nbytes` of `data` are next; returns how many bytes directly before them were sent before. A
 * piece may come again from somewhere in its middle; a piece that begins at the start of its vector
 * starts the vector anew. */
size_t shm_runs_before(struct shm_runs *runs, const void *data, size_t nbytes);

#endif
