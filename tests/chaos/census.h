/* SPDX-License-Identifier: Apache-2.0 */
/* All processes of this machine that began after we did, as /proc tells: also those of hosts that
 * are namespaces, whose processes are seen from outside. */
#ifndef TESTS_CHAOS_CENSUS_H
#define TESTS_CHAOS_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The variable that every process of a trial has in its environment. */
#define CHAOS_TOKEN "HVD_CHAOS_TRIAL"

struct process {
    pid_t pid, parent;
    char name[16];
    char state;
    unsigned long token;     /* value of CHAOS_TOKEN; 0: it has none */
    unsigned long namespace; /* of its process ids; 0: cannot be told */
};

struct census {
    struct process *list; /* in order of pid */
    size_t count, capacity;
    unsigned long long since; /* start times before this are not ours, in the kernel's ticks */
};

/* Who is there before this is never counted. */
void census_init(struct census *census);
void census_fini(struct census *census);

/* Looks again. Zombies are left out. */
void census_take(struct census *census);

/* Of the latest look; NULL if it is not among them. */
const struct process *census_find(const struct census *census, pid_t pid);

/* 0 if it cannot be told. */
unsigned long census_namespace(pid_t pid);

#endif
