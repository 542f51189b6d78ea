/* SPDX-License-Identifier: Apache-2.0 */
/* What the accelerator does for softmax regression: the model's kernels, of type
 * accelerator_kernel_fn, which run on its thread. */
#ifndef EXAMPLES_SOFTMAX_KERNELS_H
#define EXAMPLES_SOFTMAX_KERNELS_H

#include "examples/softmax_model.h"

/* `arg` is the model: sets gradients, loss and count to 0; makes a step down the gradients. */
void softmax_kernel_clear(struct accelerator *accelerator, void *arg);
void softmax_kernel_update(struct accelerator *accelerator, void *arg);

/* `arg` is a struct softmax_kernel_images: adds their part to gradients and loss; adds those that
 * are recognised to the count. */
void softmax_kernel_learn(struct accelerator *accelerator, void *arg);
void softmax_kernel_test(struct accelerator *accelerator, void *arg);

#endif
