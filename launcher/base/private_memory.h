/* SPDX-License-Identifier: Apache-2.0 */
/* Protecting the memory of a program that holds a job's key. */
#ifndef LAUNCHER_BASE_PRIVATE_MEMORY_H
#define LAUNCHER_BASE_PRIVATE_MEMORY_H

/* From now on, and in children until they execute a program: no core is dumped, and nobody but root
 * attaches a debugger or reads /proc/PID/mem and environ, not even another process of this user.
 * Call it before the key is in memory. The files of /proc/PID then belong to root. */
void private_memory_start(void);

/* Call this when the keys are wiped and the program is about to end: a leak checker may attach
 * then. */
void private_memory_end(void);

#endif
