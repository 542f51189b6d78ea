/* SPDX-License-Identifier: Apache-2.0 */
/* For implementations of operation.h: memory that is kept between operations, so that repeated
 * operations do not allocate.
 *
 * An operation is one block of this memory, allocated by its start function, which may allocate
 * more blocks. The type's fini() gives back these other blocks (NULL if there are none);
 * operation_fini() then frees the operation itself. */
#ifndef LIB_COLLECTIVE_OPERATION_IMPL_H
#define LIB_COLLECTIVE_OPERATION_IMPL_H

#include "lib/collective/operation.h"

#include <stddef.h>
#include <string.h>

enum { OPERATION_ALIGNMENT = 64 };

/* Rounds up to the next aligned offset. */
static inline size_t operation_align(size_t nbytes)
{
    return (nbytes + OPERATION_ALIGNMENT - 1) / OPERATION_ALIGNMENT * OPERATION_ALIGNMENT;
}

/* Data that moves to its final place at the end, when nothing is left to send from there. */
struct last_move {
    unsigned char *to;
    const unsigned char *from;
    size_t nbytes; /* 0 when nothing has to move, or has moved */
};

static inline void last_move_make(struct last_move *move)
{
    memmove(move->to, move->from, move->nbytes);
    move->nbytes = 0;
}

/* `size` bytes, uninitialised, aligned to OPERATION_ALIGNMENT; NULL when out of memory. */
void *operation_alloc(struct operation_store *store, size_t size);

/* NULL is fine. */
void operation_free(struct operation_store *store, void *memory);

#endif
