/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank finds in its environment; see worker_environment.h. */
#include "launcher/worker_environment.h"

#include "launcher/xalloc.h"
#include "lib/base/env_names.h"

#include <stdbool.h>
#include <string.h>

/* Set for each rank by us, whatever the user's environment says. */
static const char *const ours[] = {
    ENV_HOSTNAME,
    ENV_RANK,
    ENV_SIZE,
    ENV_LOCAL_RANK,
    ENV_LOCAL_SIZE,
    ENV_CROSS_RANK,
    ENV_CROSS_SIZE,
    ENV_RENDEZVOUS_ADDR,
    ENV_RENDEZVOUS_PORT,
    ENV_CONTROLLER,
    ENV_CPU_OPERATIONS,
    ENV_GLOO_IFACE,
    ENV_NCCL_SOCKET_IFNAME,
    ENV_PYTHONUNBUFFERED,
    ENV_JOB_KEY,
    "OLDPWD",
    "_HOROVOD_SECRET_KEY",
};

static bool travels(const char *entry)
{
    size_t length = strcspn(entry, "=");
    if (entry[length] != '=' || length == 0 || strncmp(entry, "BASH_FUNC_", 10) == 0 ||
        memmem(entry, length, "CUDA_VISIBLE_DEVICES", 20))
        return false;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strncmp(entry, ours[i], length) == 0 && ours[i][length] == '\0')
            return false;
    return true;
}

void worker_environment_common(struct string_list *list, char *const *environment)
{
    for (; *environment; environment++)
        if (travels(*environment))
            string_list_add(list, *environment, strlen(*environment));
    string_list_take(list, xstrdup(ENV_PYTHONUNBUFFERED "=1"));
    string_list_take(list, xstrdup(ENV_CONTROLLER "=gloo"));
    string_list_take(list, xstrdup(ENV_CPU_OPERATIONS "=gloo"));
    string_list_take(list, xstrdup(ENV_GLOO_IFACE "=lo"));
    string_list_take(list, xstrdup(ENV_NCCL_SOCKET_IFNAME "=lo"));
}

void worker_environment_rank(struct string_list *list, const struct place *place, const char *host,
                             const char *job_key)
{
    const struct {
        const char *name;
        int value;
    } numbers[] = {
        { ENV_RANK, place->rank },
        { ENV_SIZE, place->size },
        { ENV_LOCAL_RANK, place->local_rank },
        { ENV_LOCAL_SIZE, place->local_size },
        { ENV_CROSS_RANK, place->cross_rank },
        { ENV_CROSS_SIZE, place->cross_size },
    };
    string_list_take(list, xasprintf(ENV_HOSTNAME "=%s", host));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        string_list_take(list, xasprintf("%s=%d", numbers[i].name, numbers[i].value));
    string_list_take(list, xasprintf(ENV_JOB_KEY "=%s", job_key));
}
