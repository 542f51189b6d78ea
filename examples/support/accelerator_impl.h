/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated accelerator inside: what accelerator.c and accelerator_table.c share. */
#ifndef EXAMPLES_SUPPORT_ACCELERATOR_IMPL_H
#define EXAMPLES_SUPPORT_ACCELERATOR_IMPL_H

#include <pthread.h>
#include <stdbool.h>

#include "examples/support/accelerator.h"
#include "examples/support/accelerator_memory.h"
#include "examples/support/accelerator_queue.h"

struct accelerator_pinned;

struct accelerator {
    struct hvd_device table;
    struct hvd_device_extension extension;
    struct accelerator_options options;
    struct accelerator_queue queues[ACCELERATOR_QUEUES];

    pthread_mutex_t lock; /* of what follows */
    struct accelerator_memory memory;
    struct accelerator_pinned *pinned; /* list of what has been given out */
    struct accelerator_faults faults;
    struct accelerator_holdings holdings; /* `memory` is in memory.used */
    size_t copied;
};

/* Fills in accelerator->table and extension. */
void accelerator_fill_table(struct accelerator *accelerator);

/* Is it the turn of a fault? `countdown` is one of accelerator->faults. */
bool accelerator_strikes(struct accelerator *accelerator, unsigned *countdown);

/* Where `nbytes` of device memory really are, or NULL. */
void *accelerator_find(struct accelerator *accelerator, const void *device, size_t nbytes);

#endif
