/* SPDX-License-Identifier: Apache-2.0 */
/* The limit on open descriptors (ulimit -n): raised as far as a process of ours needs. Programs
 * that we start get the limit as it was. */
#ifndef LAUNCHER_BASE_DESCRIPTORS_H
#define LAUNCHER_BASE_DESCRIPTORS_H

#include "lib/base/status.h"

#include <sys/resource.h>

/* Raises the soft limit so that `needed` descriptors can be open. `before` becomes the old limit,
 * for programs that are started. HVD_ERR_SYSTEM when the hard limit forbids it. */
int descriptors_allow(unsigned long needed, struct rlimit *before, struct err *err);

/* The number that an agent needs at least, for so many ranks. */
static inline unsigned long descriptors_of_agent(int nranks)
{
    enum { OWN = 96, PER_RANK = 4 };
    return OWN + (unsigned long)nranks * PER_RANK;
}

#endif
