/* SPDX-License-Identifier: Apache-2.0 */
/* A thread for calls that may block for ever, like writing to a terminal that was stopped, and that
 * can be ended all the same: a signal interrupts the call, and the thread checks whether it must
 * stop. (pthread_cancel() would load libgcc when it is called.) */
#ifndef LAUNCHER_BASE_BLOCKING_THREAD_H
#define LAUNCHER_BASE_BLOCKING_THREAD_H

#include <pthread.h>

/* Runs `body`. The thread blocks all signals but one of ours. Its system calls fail with EINTR when
 * it must stop, so `body` must check then. 0, or a status of libuv: no thread can be created. */
int blocking_thread_start(pthread_t *thread, void *(*body)(void *), void *argument);

/* Interrupts the thread until it has ended, and joins it. Before this call the caller must set the
 * flag that `body` checks. */
void blocking_thread_stop(pthread_t thread);

#endif
