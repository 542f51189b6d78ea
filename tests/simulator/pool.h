/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator's own memory: lives as long as the job that is being simulated, and is dropped as a
 * whole. */
#ifndef TESTS_SIMULATOR_POOL_H
#define TESTS_SIMULATOR_POOL_H

#include <stddef.h>

void sim_pool_reset(void);

/* Zeroed. */
void *sim_new(size_t size);
/* Not zeroed: for bytes that are written before they are read. */
void *sim_room(size_t size);
char *sim_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Of what lives on: as realloc(), but never NULL. */
void *sim_grow(void *old, size_t size);

#endif
