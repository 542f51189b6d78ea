/* SPDX-License-Identifier: Apache-2.0 */
/* Counting what processes hold; see usage.h. */
#include "tests/chaos/usage.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first twentieth of the time is for warming up. */
#define WARM 0.05
#define EARLY 0.25
#define LATE 0.75

static const struct {
    const char *name;
    long allowed; /* growth that is none: caches, a client that happened to be there each time */
} kinds[USAGE_KINDS] = {
    [USAGE_DESCRIPTORS] = { "descriptors", 4 }, [USAGE_MEMFDS] = { "memfds", 2 },
    [USAGE_RSS_KIB] = { "RSS KiB", 2048 },      [USAGE_THREADS] = { "threads", 2 },
    [USAGE_ZOMBIES] = { "zombies", 0 },
};

const char *usage_name(enum usage_kind kind)
{
    return kinds[kind].name;
}

static bool count_descriptors(struct usage *usage, pid_t pid)
{
    char path[64], target[256];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    if (!dir)
        return false;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        usage->values[USAGE_DESCRIPTORS]++;
        ssize_t length = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);
        if (length > 7 && memcmp(target, "/memfd:", 7) == 0)
            usage->values[USAGE_MEMFDS]++;
    }
    closedir(dir);
    return true;
}

static void count_mappings(struct usage *usage, pid_t pid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        usage->values[USAGE_MEMFDS] += strstr(line, " /memfd:") != NULL;
    if (file)
        fclose(file);
}

static bool read_status(struct usage *usage, pid_t pid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "VmRSS: %ld", &usage->values[USAGE_RSS_KIB]);
        sscanf(line, "Threads: %ld", &usage->values[USAGE_THREADS]);
    }
    fclose(file);
    return usage->values[USAGE_RSS_KIB] > 0;
}

static bool is_zombie(int pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] && name_end[2] == 'Z';
}

static void count_zombies(struct usage *usage, pid_t pid)
{
    char path[64];
    int child;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%d", &child) == 1)
        usage->values[USAGE_ZOMBIES] += is_zombie(child);
    if (file)
        fclose(file);
}

bool usage_take(struct usage *usage, pid_t pid)
{
    memset(usage, 0, sizeof *usage);
    if (!read_status(usage, pid) || !count_descriptors(usage, pid))
        return false;
    count_mappings(usage, pid);
    count_zombies(usage, pid);
    return true;
}

void usage_course_init(struct usage_course *course)
{
    *course = (struct usage_course){ -1, -1, -1, -1, -1 };
}

static void keep_least(long *least, long value)
{
    if (*least < 0 || value < *least)
        *least = value;
}

void usage_course_add(struct usage_course *course, long value, double done)
{
    if (course->first < 0)
        course->first = value;
    course->last = value;
    if (value > course->most)
        course->most = value;
    if (done >= WARM && done < EARLY)
        keep_least(&course->least_early, value);
    if (done >= LATE)
        keep_least(&course->least_late, value);
}

bool usage_course_grows(const struct usage_course *course, enum usage_kind kind)
{
    return course->least_early >= 0 && course->least_late >= 0 &&
           course->least_late > course->least_early + kinds[kind].allowed;
}
