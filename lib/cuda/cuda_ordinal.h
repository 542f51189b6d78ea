/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPU a rank uses.
 *
 *   an ordinal                     that GPU; HVD_ERR_INVALID if the driver does not show it
 *   by local rank                  GPU number `local rank`
 *     ... one GPU is visible       that one, if CUDA_VISIBLE_DEVICES names it: each rank may see
 *                                  another
 *     ... HVD_CUDA_SHARE=1         local rank modulo the number of GPUs
 *     ... otherwise                HVD_ERR_ENVIRONMENT: more ranks than GPUs
 *
 * The driver shows a MIG instance as a GPU, one to a process; CUDA_VISIBLE_DEVICES chooses it. */
#ifndef LIB_CUDA_CUDA_ORDINAL_H
#define LIB_CUDA_CUDA_ORDINAL_H

#include "lib/device/device_module.h"

/* The ordinal, 0 to gpus - 1, or a negative status. */
int cuda_ordinal_choose(const struct device_module_options *options, int gpus, struct err *err);

#endif
