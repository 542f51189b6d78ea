/* SPDX-License-Identifier: Apache-2.0 */
/* What a program that holds a job's key keeps to itself. */
#ifndef LAUNCHER_BASE_PRIVATE_MEMORY_H
#define LAUNCHER_BASE_PRIVATE_MEMORY_H

/* From now on, and in children until they execute a program: no core is dumped, and nobody but root
 * attaches a debugger or reads /proc/PID/mem and environ, also no other process of this user. To be
 * called before a key is there. The files of /proc/PID belong to root then. */
void private_memory_start(void);

/* The keys are wiped, and the program is about to end: a leak checker may look. */
void private_memory_end(void);

#endif
