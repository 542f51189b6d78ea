/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of vectors; see shm_run.h. Cannot fail. */
#include "lib/link/shm_run.h"

size_t shm_runs_before(struct shm_runs *runs, const void *data, size_t nbytes)
{
    uintptr_t at = (uintptr_t)data;
    unsigned i = 0;
    while (i < SHM_RUNS && (at < runs->at[i].start || at > runs->at[i].end))
        i++;
    if (i == SHM_RUNS) {
        i = runs->oldest++ % SHM_RUNS;
        runs->at[i].start = at;
    }
    runs->at[i].end = at + nbytes;
    return at - runs->at[i].start;
}
