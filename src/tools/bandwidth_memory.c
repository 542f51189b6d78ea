/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that the kernel reports as available, or the limit of this process's control group
 * (mostly of a container), if that is less. A value that cannot be read is no limit. */
#include "src/tools/bandwidth_memory.h"

#include <float.h>
#include <stdio.h>

/* Parses a file that is one number, or a word such as "max". */
static double bandwidth_memory_read_number(const char *path)
{
    double number;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return DBL_MAX;
    if (fscanf(file, "%lf", &number) != 1)
        number = DBL_MAX;
    fclose(file);
    return number;
}

static double read_meminfo(void)
{
    char line[200];
    double available = DBL_MAX, kib;
    FILE *file = fopen("/proc/meminfo", "re");
    if (file == NULL)
        return DBL_MAX;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lf kB", &kib) == 1)
            available = kib * 1024;
    fclose(file);
    return available;
}

double memory_available(void)
{
    static const char *const limits[] = {
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    };
    double least = read_meminfo();
    for (int i = 0; i < 2; i++) {
        double limit = bandwidth_memory_read_number(limits[i]);
        least = limit < least ? limit : least;
    }
    return least;
}
