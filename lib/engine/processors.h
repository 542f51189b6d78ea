/* SPDX-License-Identifier: Apache-2.0 */
/* How many processors the ranks of this host have between them, as far as this process can tell: the
 * host's, or those that it is kept to (a container's set, a quota of its control group). A process
 * that is bound to one processor is taken for a rank that has it to itself. */
#ifndef LIB_ENGINE_PROCESSORS_H
#define LIB_ENGINE_PROCESSORS_H

/* At least 1. */
int processors_count(void);

/* What a quota amounts to, "200000 100000" (of microseconds in so many) to 2, rounded up; 0 for "max
 * 100000", "-1 100000", and what is no quota. */
int processors_of_quota(const char *text);

/* Of `online` ones, by how many this process may run on, and by its quota (0: none). */
int processors_shared(int online, int own, int quota);

#endif
