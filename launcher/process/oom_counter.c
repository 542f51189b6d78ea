/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the kernel's counters of OOM kills; see oom_counter.h. A counter that cannot be found or
 * read is 0. */
#include "launcher/process/oom_counter.h"

#include "launcher/base/xalloc.h"
#include "launcher/process/cgroup.h"

#include <stdlib.h>
#include <string.h>

static uint64_t read_counter(const char *path)
{
    unsigned long long value = 0;
    char line[256];
    FILE *file = path ? cgroup_open_text(path) : NULL;
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file))
        if (*line == 'o' && sscanf(line, "oom_kill %llu", &value) == 1)
            break;
    fclose(file);
    return value;
}

static void find_group(char **path, FILE *mountinfo, FILE *membership, const char *controller,
                       const char *name)
{
    char folder[OOM_PATH_SIZE];
    rewind(mountinfo);
    rewind(membership);
    if (cgroup_find_controller(folder, sizeof folder, mountinfo, membership, controller))
        *path = xasprintf("%s/%s", folder, name);
}

void oom_counter_find(struct oom_counter *counter, const char *vmstat, FILE *mountinfo,
                      FILE *membership)
{
    *counter = (struct oom_counter){ .paths[0] = xstrdup(vmstat) };
    if (!mountinfo || !membership)
        return;
    find_group(&counter->paths[1], mountinfo, membership, NULL, "memory.events");
    find_group(&counter->paths[2], mountinfo, membership, "memory", "memory.oom_control");
}

void oom_counter_begin(struct oom_counter *counter)
{
    for (int i = 0; i < OOM_SOURCES; i++)
        counter->before[i] = read_counter(counter->paths[i]);
}

void oom_counter_find_own(struct oom_counter *counter)
{
    FILE *mountinfo = cgroup_open_text("/proc/self/mountinfo");
    FILE *membership = cgroup_open_text("/proc/self/cgroup");
    oom_counter_find(counter, "/proc/vmstat", mountinfo, membership);
    if (mountinfo)
        fclose(mountinfo);
    if (membership)
        fclose(membership);
}

bool oom_counter_rose(struct oom_counter *counter)
{
    for (int i = 0; i < OOM_SOURCES; i++) {
        uint64_t now = read_counter(counter->paths[i]);
        if (now > counter->before[i] && now - counter->before[i] > counter->told) {
            counter->told++;
            return true;
        }
    }
    return false;
}

void oom_counter_fini(struct oom_counter *counter)
{
    for (int i = 0; i < OOM_SOURCES; i++)
        free(counter->paths[i]);
    *counter = (struct oom_counter){ 0 };
}
