/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a thread without signals; see quiet_thread.h. */
#include "lib/base/quiet_thread.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

struct start {
    void *(*body)(void *);
    void *arg;
};

static atomic_int count;

int quiet_thread_count(void)
{
    return atomic_load(&count);
}

static void *quiet_thread_run(void *arg)
{
    struct start start = *(struct start *)arg;
    free(arg);
    atomic_fetch_add(&count, 1);
    void *result = start.body(start.arg);
    atomic_fetch_sub(&count, 1);
    return result;
}

int quiet_thread_start(pthread_t *thread, const char *name, void *(*body)(void *), void *arg)
{
    struct start *start = malloc(sizeof *start);
    sigset_t all, before;
    if (!start)
        return ENOMEM;
    *start = (struct start){ body, arg };
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, quiet_thread_run, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        free(start);
    else
        pthread_setname_np(*thread, name);
    return error;
}
