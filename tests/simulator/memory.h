/* SPDX-License-Identifier: Apache-2.0 */
/* What simulated processes allocate: theirs until they free it. What a killed one leaves is freed
 * with the job, as the kernel does; one that ends by itself must leave nothing. */
#ifndef TESTS_SIMULATOR_MEMORY_H
#define TESTS_SIMULATOR_MEMORY_H

#include "tests/simulator/process.h"

#include <stddef.h>

/* It ends by itself: there must be nothing that it has allocated and not freed. */
void sim_memory_check(const struct sim_process *process);

/* Frees what is left. */
void sim_memory_reset(void);

#endif
