/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a thread without signals; see quiet_thread.h. */
#include "lib/join/quiet_thread.h"

#include <signal.h>

int quiet_thread_start(pthread_t *thread, const char *name, void *(*body)(void *), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, body, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error)
        pthread_setname_np(*thread, name);
    return error;
}
