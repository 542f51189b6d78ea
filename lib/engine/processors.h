/* SPDX-License-Identifier: Apache-2.0 */
/* How many processors the ranks of this host share, as far as this process can tell. This is the
 * number of the host's processors, or less when the ranks are confined: to a container's set, read
 * from the container's first process, or by the quota of a control group or of its parents. If this
 * process may use one processor and the first process more, then this process was bound, and has
 * that processor to itself. */
#ifndef LIB_ENGINE_PROCESSORS_H
#define LIB_ENGINE_PROCESSORS_H

#include <stdbool.h>
#include <stddef.h>

/* At least 1. */
int processors_count(void);

/* What a quota amounts to, "200000 100000" (of microseconds in so many) to 2, rounded up; 0 for
 * "max 100000", "-1 100000", and what is no quota. */
int processors_of_quota(const char *text);

/* Of `online` ones, by how many the first process of this container or host may run on (0:
 * unknown), how many this process may, and its quota (0: none). */
int processors_shared(int online, int all, int own, int quota);

/* The control group of a process, "/a/b", in the text of /proc/PID/cgroup: that of version 1 which
 * has `controller`, or of version 2 (""). False: none, or one that this process cannot see. */
bool processors_group(char *path, size_t size, const char *text, const char *controller);

#endif
