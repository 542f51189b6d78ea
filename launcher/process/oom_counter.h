/* SPDX-License-Identifier: Apache-2.0 */
/* Has the kernel killed a process because memory ran out? The kernel counts OOM kills for the
 * machine and for the memory cgroup of this process, but does not name the victims there. When a
 * counter rose, the kernel has probably sent a SIGKILL for which there is no other sender. */
#ifndef LAUNCHER_PROCESS_OOM_COUNTER_H
#define LAUNCHER_PROCESS_OOM_COUNTER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* /proc/vmstat; memory.events of cgroup v2; memory.oom_control of cgroup v1. All have a line
 * "oom_kill N". */
enum { OOM_SOURCES = 3, OOM_PATH_SIZE = 4096 };

struct oom_counter {
    char *paths[OOM_SOURCES]; /* owned; NULL: there is none */
    uint64_t before[OOM_SOURCES];
    uint64_t told; /* how many rises were reported */
};

/* An all-zero counter never rises. */
void oom_counter_fini(struct oom_counter *counter);

/* Finds the counters of this process. */
void oom_counter_find_own(struct oom_counter *counter);

/* As oom_counter_find_own() with the texts of /proc/self/mountinfo and /proc/self/cgroup, and
 * another file for /proc/vmstat. */
void oom_counter_find(struct oom_counter *counter, const char *vmstat, FILE *mountinfo,
                      FILE *membership);

/* Reads the first values. */
void oom_counter_begin(struct oom_counter *counter);

/* Has some counter risen by more than was reported so far? Each call that returns true reports one
 * kill: N kills are reported N times. */
bool oom_counter_rose(struct oom_counter *counter);

#endif
