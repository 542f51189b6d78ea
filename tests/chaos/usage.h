/* SPDX-License-Identifier: Apache-2.0 */
/* What a process holds, as /proc tells, and whether it grows. */
#ifndef TESTS_CHAOS_USAGE_H
#define TESTS_CHAOS_USAGE_H

#include <stdbool.h>
#include <sys/types.h>

enum usage_kind {
    USAGE_DESCRIPTORS,
    USAGE_MEMFDS, /* of the descriptors, those of files without a name, and mappings of such */
    USAGE_RSS_KIB,
    USAGE_THREADS,
    USAGE_ZOMBIES, /* children that nobody waits for */
    USAGE_KINDS
};

struct usage {
    long values[USAGE_KINDS];
};

/* False if there is no such process. */
bool usage_take(struct usage *usage, pid_t pid);

const char *usage_name(enum usage_kind kind);

/* What was seen of one value. What comes and goes with clients and jobs is no growth: the least of
 * the first quarter of the time is compared with the least of the last. */
struct usage_course {
    long first, last, most;
    long least_early, least_late; /* -1: nothing yet */
};

void usage_course_init(struct usage_course *course);

/* `done` is the part of the time that is over, 0 to 1. */
void usage_course_add(struct usage_course *course, long value, double done);

/* By more than what is allowed for that kind. */
bool usage_course_grows(const struct usage_course *course, enum usage_kind kind);

#endif
