/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the library in a host program's process: they block all signals, so that the program's
 * handlers never run in them, and have enough stack, whatever "ulimit -s" says. */
#ifndef LIB_BASE_QUIET_THREAD_H
#define LIB_BASE_QUIET_THREAD_H

#include <pthread.h>

/* Bytes. Calls of the library need a tenth of it, the rest is for drivers of accelerators. */
enum { QUIET_THREAD_STACK_MIN = 1 << 20 };

/* As pthread_create(), with every signal blocked; `name` is at most 15 bytes. 0 or an errno. */
int quiet_thread_start(pthread_t *thread, const char *name, void *(*body)(void *), void *arg);

/* The number of these threads in this process. */
int quiet_thread_count(void);

#endif
