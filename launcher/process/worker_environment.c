/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a rank; see worker_environment.h. */
#include "launcher/process/worker_environment.h"

#include "launcher/base/xalloc.h"
#include "lib/base/env_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Variables that we set for each rank, whatever the user's environment contains, and variables that
 * would lead a worker to another job. Each host gets its own part of ENV_NETWORK_INTERFACES. */
static const char *const ours[] = {
    ENV_SET_BY_HVDRUN, ENV_NETWORK_INTERFACES, ENV_NCCL_SOCKET_IFNAME, ENV_PYTHONUNBUFFERED,
    "OLDPWD",          "_HOROVOD_SECRET_KEY",
};

/* Variables that select accelerators of one machine, by numbers that mean others on the next: of
 * CUDA, ROCm, HIP and Level Zero. Batch systems set them for each host, and users of a shared
 * machine. */
static const char *const of_devices[] = {
    "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",   "ZE_AFFINITY_MASK",
};

/* True for any name that contains one of these, as in horovodrun. */
static bool is_of_devices(const char *entry)
{
    size_t length = strcspn(entry, "=");
    for (size_t i = 0; i < sizeof of_devices / sizeof *of_devices; i++)
        if (memmem(entry, length, of_devices[i], strlen(of_devices[i])))
            return true;
    return false;
}

static bool is_the_users(const char *entry)
{
    size_t length = strcspn(entry, "=");
    if (entry[length] != '=' || length == 0 || strncmp(entry, "BASH_FUNC_", 10) == 0)
        return false;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strncmp(entry, ours[i], length) == 0 && ours[i][length] == '\0')
            return false;
    return true;
}

void worker_environment_inherit(struct string_list *list, char *const *environment)
{
    for (; *environment; environment++)
        if (is_the_users(*environment))
            string_list_add(list, *environment, strlen(*environment));
}

void worker_environment_devices(struct string_list *list, char *const *environment)
{
    for (; *environment; environment++)
        if (is_the_users(*environment) && is_of_devices(*environment))
            string_list_add(list, *environment, strlen(*environment));
}

void worker_environment_common(struct string_list *list, char *const *environment)
{
    for (; *environment; environment++)
        if (is_the_users(*environment) && !is_of_devices(*environment))
            string_list_add(list, *environment, strlen(*environment));
    string_list_take(list, xstrdup(ENV_PYTHONUNBUFFERED "=1"));
    string_list_take(list, xstrdup(ENV_CONTROLLER "=gloo"));
    string_list_take(list, xstrdup(ENV_CPU_OPERATIONS "=gloo"));
}

void worker_environment_rank(struct string_list *list, const struct rank_info *rank_info,
                             const char *host, const char *job_id, const struct job_key *key,
                             int worker)
{
    const struct {
        const char *name;
        int value;
    } numbers[] = {
        { ENV_RANK, rank_info->rank },
        { ENV_SIZE, rank_info->size },
        { ENV_LOCAL_RANK, rank_info->local_rank },
        { ENV_LOCAL_SIZE, rank_info->local_size },
        { ENV_CROSS_RANK, rank_info->cross_rank },
        { ENV_CROSS_SIZE, rank_info->cross_size },
    };
    char hex[JOB_KEY_HEX_SIZE];
    string_list_take(list, xasprintf(ENV_HOSTNAME "=%s", host));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        string_list_take(list, xasprintf("%s=%d", numbers[i].name, numbers[i].value));
    string_list_take(list, xasprintf(ENV_JOB_ID "=%s", job_id));
    job_key_format(key, hex);
    string_list_take(list, xasprintf(ENV_JOB_KEY "=%s", hex));
    string_list_take(list, xasprintf(ENV_KEY_OF "=%d", worker));
    explicit_bzero(hex, sizeof hex);
}

void worker_environment_elastic(struct string_list *list, int worker, int agent)
{
    string_list_take(list, xstrdup(ENV_ELASTIC "=1"));
    string_list_take(list, xasprintf(ENV_WORKER "=%d", worker));
    string_list_take(list, xasprintf(ENV_AGENT "=%d", agent));
}

void worker_environment_command(struct string_list *list, char *const *environment,
                                const char *job_id)
{
    static const char name[] = ENV_COMMAND_OF "=";
    for (; *environment; environment++)
        if (strncmp(*environment, name, strlen(name)) != 0)
            string_list_add(list, *environment, strlen(*environment));
    string_list_take(list, xasprintf("%s%s", name, job_id));
}

/* strcmp() of the names alone. */
static int compare_names(const char *a, const char *b)
{
    size_t length_a = strcspn(a, "="), length_b = strcspn(b, "=");
    int order = memcmp(a, b, length_a < length_b ? length_a : length_b);
    return order ? order : (length_a > length_b) - (length_a < length_b);
}

/* An entry and its position in the list, which qsort() would not keep. */
struct placed {
    char *text;
    size_t place;
};

static int by_name_then_place(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    int order = compare_names(x->text, y->text);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

void worker_environment_finish(struct string_list *list)
{
    struct placed *placed = xcalloc(list->count + 1, sizeof *placed);
    for (size_t i = 0; i < list->count; i++)
        placed[i] = (struct placed){ list->items[i], i };
    qsort(placed, list->count, sizeof *placed, by_name_then_place);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        bool again = i + 1 < list->count && !compare_names(placed[i].text, placed[i + 1].text);
        if (again)
            free(placed[i].text);
        else
            list->items[kept++] = placed[i].text;
    }
    if (list->items)
        list->items[kept] = NULL;
    list->count = kept;
    free(placed);
}

static int worker_environment_by_name(const void *a, const void *b)
{
    return compare_names(*(char *const *)a, *(char *const *)b);
}

char **worker_environment_over(const struct string_list *common, const struct string_list *own)
{
    char **envp = xcalloc(common->count + own->count + 1, sizeof *envp);
    size_t count = 0;
    if (common->count > 0)
        memcpy(envp, common->items, common->count * sizeof *envp);
    for (size_t i = 0; i < own->count; i++) {
        char **same =
            bsearch(&own->items[i], envp, common->count, sizeof *envp, worker_environment_by_name);
        if (same)
            *same = own->items[i];
        else
            envp[common->count + count++] = own->items[i];
    }
    return envp;
}
