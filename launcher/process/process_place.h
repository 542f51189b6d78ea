/* SPDX-License-Identifier: Apache-2.0 */
/* Where a process stands, as far as /proc shows it without stopping the process: its state and the
 * function of the kernel in which each thread waits. Also finds the process of a rank behind a
 * shell that started it. Fails softly: what cannot be read is left out. */
#ifndef LAUNCHER_PROCESS_PROCESS_PLACE_H
#define LAUNCHER_PROCESS_PROCESS_PLACE_H

#include <stddef.h>
#include <sys/types.h>

/* "futex_wait_queue in the kernel, state S; thread loader: pipe_read", of at most 8 threads;
 * threads of libhvd are left out. "" if the process is gone. */
void process_place_text(pid_t pid, char *text, size_t size);

/* The name of a thread, "" if it is gone. */
void process_thread_name(pid_t pid, pid_t tid, char *name, size_t size);

/* The process that works for a rank: the first with libhvd among the process and its descendants;
 * else the last of the descendants as long as each has one child, because these are wrappers. */
pid_t process_of_rank(pid_t pid);

#endif
