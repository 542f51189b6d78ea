/* SPDX-License-Identifier: Apache-2.0 */
/* Where the synthetic benchmark has its tensors and does its work: in the processor's memory, by
 * the processor; or in that of the simulated accelerator, by kernels on its queue, which goes on by
 * itself. A kernel is the same function for both. */
#ifndef EXAMPLES_SYNTHETIC_MACHINE_H
#define EXAMPLES_SYNTHETIC_MACHINE_H

#include <stdbool.h>

#include "examples/models/model.h"
#include "examples/support/accelerator.h"
#include "hvd_optimizer.h"

struct machine {
    struct accelerator *accelerator; /* NULL: the processor */
    int device;                      /* of struct hvd_parameter */
    void *events[MODEL_TENSORS_MAX]; /* accelerator: passed when a gradient is complete */
};

/* With `accelerated`, an accelerator with `memory` bytes. Returns 0, or -1 with a problem. */
int machine_init(struct machine *machine, bool accelerated, size_t memory, int tensors,
                 struct problem *problem);

/* NULL when there is no memory. */
float *machine_alloc(struct machine *machine, size_t count);
void machine_free(struct machine *machine, float *memory);

/* In kernels, whose first argument is NULL on the processor: memory as it can be used there. */
float *machine_pointer(struct accelerator *accelerator, float *memory);

/* The processor runs it at once; the accelerator when it comes to it: `arg` is borrowed until
 * machine_wait(), which waits until nothing is left to do. */
int machine_run(struct machine *machine, accelerator_kernel_fn *kernel, void *arg,
                struct problem *problem);
void machine_wait(struct machine *machine);

/* The gradient is complete when what has been run so far has been done. */
int machine_ready(struct machine *machine, struct hvd_optimizer *optimizer, int parameter,
                  struct problem *problem);

/* To ordinary memory. */
void machine_read(struct machine *machine, float *to, const float *memory, size_t count);

void machine_fini(struct machine *machine);

#endif
