/* SPDX-License-Identifier: Apache-2.0 */
/* How many processors the ranks of this host share, as far as this process can tell. This is the
 * number of the host's processors, or less when the ranks are confined: to a container's set, read
 * from the container's first process, or by the quota of a control group or of its parents.
 *
 * A process that was bound may use fewer processors than the ranks of its host share. hvdrun, which
 * binds ranks, tells how many they are (HVD_PROCESSORS). Where nobody tells, a process that may use
 * one processor, of more that the first process may use, has that processor to itself; a process
 * that may use several shares them with all ranks of its host. */
#ifndef LIB_ENGINE_PROCESSORS_H
#define LIB_ENGINE_PROCESSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At least 1. `told`: how many there are, but for quotas; 0: nobody tells. */
int processors_count(int told);

/* The number of processors of a quota: "200000 100000" (microseconds per period) is 2, rounded up;
 * 0 for "max 100000", "-1 100000", and text that is no quota. */
int processors_of_quota(const char *text);

/* The number of processors shared, out of `online` ones: the first process of this container or
 * host may run on `all` (0: unknown), this process on `own`, and its quota is `quota` (0: none). */
int processors_shared(int online, int all, int own, int quota);

/* How long a rank that waits looks for what it awaits before it sleeps, if `ranks` share
 * `processors`. With a processor for each rank: about the time of a wake-up. With more ranks a rank
 * yields after each look and looks again when the others have had their turn, which takes the
 * longer the more they are, so the time grows with them, up to a limit. */
uint64_t processors_spin_ns(int ranks, int processors);

/* The control group of a process, "/a/b", in the text of /proc/PID/cgroup: the group of version 1
 * with `controller`, or of version 2 (""). False: none, or one that this process cannot see. */
bool processors_group(char *path, size_t size, const char *text, const char *controller);

#endif
