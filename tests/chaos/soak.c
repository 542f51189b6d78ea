/* SPDX-License-Identifier: Apache-2.0 */
/* soak: watches long-lived processes for a time and says whether they grow.
 *
 *   soak SECONDS NAME=PID...
 *
 * Each second their descriptors, memory, threads, zombies and memfds are counted. At the end a
 * table of the first, last and largest values. The exit status is 1 if something has grown or a
 * process has ended. tests/chaos/soak.sh makes the noise around it. */
#include "tests/chaos/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WATCHED_MAX = 64 };

struct watched {
    const char *name;
    pid_t pid;
    bool ended;
    struct usage_course courses[USAGE_KINDS];
};

static bool parse(struct watched *watched, char *text)
{
    char *sign = strchr(text, '=');
    if (!sign || atoi(sign + 1) <= 0)
        return false;
    *sign = '\0';
    *watched = (struct watched){ .name = text, .pid = atoi(sign + 1) };
    for (int kind = 0; kind < USAGE_KINDS; kind++)
        usage_course_init(&watched->courses[kind]);
    return true;
}

static void check_watched(struct watched *watched, double done)
{
    struct usage usage;
    if (!watched->ended && !usage_take(&usage, watched->pid))
        watched->ended = true;
    for (int kind = 0; kind < USAGE_KINDS && !watched->ended; kind++)
        usage_course_add(&watched->courses[kind], usage.values[kind], done);
}

/* Returns whether all is well. */
static bool tell(const struct watched *watched)
{
    bool good = !watched->ended;
    for (int kind = 0; kind < USAGE_KINDS; kind++) {
        const struct usage_course *course = &watched->courses[kind];
        bool grows = usage_course_grows(course, (enum usage_kind)kind);
        printf("%-24s %-12s %8ld %8ld %8ld%s\n", watched->name, usage_name((enum usage_kind)kind),
               course->first, course->last, course->most, grows ? "  GROWS" : "");
        good = good && !grows;
    }
    if (watched->ended)
        printf("%-24s has ended\n", watched->name);
    return good;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    static struct watched watched[WATCHED_MAX];
    int count = 0, seconds = argc > 1 ? atoi(argv[1]) : 0;
    bool good = true;
    while (count < argc - 2 && count < WATCHED_MAX && parse(&watched[count], argv[count + 2]))
        count++;
    if (seconds <= 0 || count == 0 || count < argc - 2) {
        fputs("usage: soak SECONDS NAME=PID...\n", stderr);
        return 2;
    }
    double began = seconds_now(), passed = 0;
    for (; passed < seconds; passed = seconds_now() - began) {
        for (int i = 0; i < count; i++)
            check_watched(&watched[i], passed / seconds);
        sleep(1);
    }
    printf("%-24s %-12s %8s %8s %8s\n", "process", "what", "first", "last", "most");
    for (int i = 0; i < count; i++)
        good &= tell(&watched[i]);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
