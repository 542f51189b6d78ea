/* SPDX-License-Identifier: Apache-2.0 */
/* A set of processors in the kernel's form, of any size. */
#ifndef LAUNCHER_BASE_CPU_MASK_H
#define LAUNCHER_BASE_CPU_MASK_H

#include <stdbool.h>
#include <stddef.h>

struct cpu_mask {
    unsigned long *words; /* owned; processor 0 is the lowest bit of the first word */
    size_t nwords;        /* 0: no set at all */
};

/* The processors that this process may use, by its affinity and its cgroup. */
void cpu_mask_own(struct cpu_mask *mask);

int cpu_mask_count(const struct cpu_mask *mask);

/* How many processors this process may use. */
int cpu_mask_count_own(void);

/* The first run of processors of the set at or behind `*first`, without a gap: [*first, *end).
 * False if there are no more. */
bool cpu_mask_next(const struct cpu_mask *mask, int *first, int *end);

void cpu_mask_fini(struct cpu_mask *mask);

#endif
