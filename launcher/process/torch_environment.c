/* SPDX-License-Identifier: Apache-2.0 */
/* The variables of torchrun; see torch_environment.h. */
#include "launcher/process/torch_environment.h"

#include "launcher/base/xalloc.h"

#include <stdio.h>

void torch_environment_rank(struct string_list *list, const struct rank_info *rank_info, int host,
                            int nhosts)
{
    const struct {
        const char *name;
        int value;
    } numbers[] = {
        { "RANK", rank_info->rank },
        { "WORLD_SIZE", rank_info->size },
        { "LOCAL_RANK", rank_info->local_rank },
        { "LOCAL_WORLD_SIZE", rank_info->local_size },
        { "GROUP_RANK", host },
        { "GROUP_WORLD_SIZE", nhosts },
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        string_list_take(list, xasprintf("%s=%d", numbers[i].name, numbers[i].value));
}

static void add_unless_set(struct string_list *list, const char *name, const char *value)
{
    if (*value && !string_list_variable(list, name))
        string_list_take(list, xasprintf("%s=%s", name, value));
}

void torch_environment_common(struct string_list *list, const char *address, uint16_t port,
                              const char *interface)
{
    char number[8];
    snprintf(number, sizeof number, "%u", port);
    add_unless_set(list, "MASTER_ADDR", address);
    add_unless_set(list, "MASTER_PORT", number);
    add_unless_set(list, "GLOO_SOCKET_IFNAME", interface);
}
