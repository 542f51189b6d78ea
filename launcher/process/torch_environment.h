/* SPDX-License-Identifier: Apache-2.0 */
/* The variables that torchrun sets for its workers, for scripts that call
 * torch.distributed.init_process_group() with "env://" (hvdrun --torch-env):
 *
 *   RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE
 *   GROUP_RANK, GROUP_WORLD_SIZE           the host: its number, and how many hosts there are
 *   MASTER_ADDR, MASTER_PORT               where rank 0 listens
 *   GLOO_SOCKET_IFNAME                     the interface for PyTorch's own Gloo
 *
 * Pure. */
#ifndef LAUNCHER_PROCESS_TORCH_ENVIRONMENT_H
#define LAUNCHER_PROCESS_TORCH_ENVIRONMENT_H

#include "launcher/base/string_list.h"
#include "lib/base/rank_info.h"

#include <stdint.h>

/* Appends the variables of one rank, on host number `host` of `nhosts`. */
void torch_environment_rank(struct string_list *list, const struct rank_info *rank_info, int host,
                            int nhosts);

/* Appends the variables that all ranks of a host share, except those that the list has already: a
 * user may have set them. `address` "" and `interface` "" are unknown. */
void torch_environment_common(struct string_list *list, const char *address, uint16_t port,
                              const char *interface);

#endif
