/* SPDX-License-Identifier: Apache-2.0 */
/* The variables of NVIDIA GPUs, other than those of the driver and of NCCL. Opening a GPU reads
 * them, and hvdrun, so that it refuses a bad value before it starts ranks.
 *
 * A variable with HVD_CUDA_ is 0 or 1; HOROVOD_HIERARCHICAL_ALLREDUCE is a boolean, and an empty
 * one is not set. Anything else fails: HVD_ERR_ENVIRONMENT, naming the variable, its value and what
 * was expected. */
#ifndef LIB_BASE_CUDA_SETTINGS_H
#define LIB_BASE_CUDA_SETTINGS_H

#include "lib/base/env_names.h"
#include "lib/base/status.h"

#include <stdbool.h>

/* What a variable of two values demands. */
enum cuda_switch { CUDA_SWITCH_UNSET = -1, CUDA_SWITCH_OFF, CUDA_SWITCH_ON };

struct cuda_settings {
    enum cuda_switch nccl, ipc, share;
    bool hierarchical;
};

int cuda_settings_read(struct cuda_settings *settings, environment_get_fn *get, struct err *err);

#endif
