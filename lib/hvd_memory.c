/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of hvd.h that allocate and free memory for tensors. */
#include "lib/hvd.h"

#include "lib/memory/shared_heap.h"
#include "lib/process.h"

void *hvd_alloc(size_t nbytes)
{
    struct err err;
    void *memory = shared_heap_alloc(nbytes);
    if (!memory)
        process_answer(fail(&err, HVD_ERR_NOMEM, "allocate %zu bytes: out of memory", nbytes),
                       &err);
    return memory;
}

void hvd_free(void *memory)
{
    shared_heap_free(memory);
}
