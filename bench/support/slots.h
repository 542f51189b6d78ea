/* SPDX-License-Identifier: Apache-2.0 */
/* The fastest that ranks on one host can do to meet and to sum little: each writes into a place of
 * its own that the others look at. For the bound programs; the ranks are those of world.h. */
#ifndef BENCH_SUPPORT_SLOTS_H
#define BENCH_SUPPORT_SLOTS_H

#include "bench/support/world.h"

#include <stdatomic.h>
#include <stddef.h>

enum { SLOTS_RANKS_MAX = 16, SLOTS_ELEMENTS = 2048 };

/* Before the ranks are forked. */
void slots_init(void);

/* Returns when every rank has called it; what they wrote before can be read. */
void slots_meet(const struct world *world);

/* Sums `count` elements, SLOTS_ELEMENTS at most, in place. */
void slots_allreduce(const struct world *world, float *data, size_t count);

/* Waits until the counter has reached `value`. */
void slots_wait(const struct world *world, atomic_uint *counter, unsigned value);

#endif
