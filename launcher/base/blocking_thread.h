/* SPDX-License-Identifier: Apache-2.0 */
/* A thread for calls that may block for ever, like writing to a terminal that was stopped, and that
 * can be ended all the same: a signal interrupts the call, and the thread looks whether it is to
 * stop. (pthread_cancel() would do, were it not to load libgcc when it is called.) */
#ifndef LAUNCHER_BASE_BLOCKING_THREAD_H
#define LAUNCHER_BASE_BLOCKING_THREAD_H

#include <pthread.h>

/* Runs `body`. The thread takes no signals but one of ours; its system calls fail with EINTR when
 * it is to stop, so `body` must look then. Ends the process if there can be no thread. */
void blocking_thread_start(pthread_t *thread, void *(*body)(void *), void *argument);

/* Interrupts the thread until it has ended, and joins it. The caller has told it to stop before. */
void blocking_thread_stop(pthread_t thread);

#endif
