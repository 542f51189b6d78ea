/* SPDX-License-Identifier: Apache-2.0 */
/* For those who implement operation.h: memory that is kept between operations, so that what runs
 * again and again does not allocate.
 *
 * An operation is one block of it, allocated by its start function, which may allocate more. The
 * type's fini() gives back what is more (NULL if nothing is); the operation itself is freed by
 * operation_fini(), after that. */
#ifndef LIB_COLLECTIVE_OPERATION_IMPL_H
#define LIB_COLLECTIVE_OPERATION_IMPL_H

#include "lib/collective/operation.h"

#include <stddef.h>

enum { OPERATION_ALIGNMENT = 64 };

/* `size` bytes of anything, aligned to OPERATION_ALIGNMENT; NULL when out of memory. */
void *operation_alloc(struct operation_store *store, size_t size);

/* NULL is fine. */
void operation_free(struct operation_store *store, void *memory);

#endif
