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

/* The default follows the limit for the main thread. Where the size cannot be set, the default is
 * left. */
static void ensure_stack(pthread_attr_t *attributes)
{
    size_t size = 0;
    pthread_attr_getstacksize(attributes, &size);
    if (size < QUIET_THREAD_STACK_MIN)
        pthread_attr_setstacksize(attributes, QUIET_THREAD_STACK_MIN);
}

int quiet_thread_start(pthread_t *thread, const char *name, void *(*body)(void *), void *arg)
{
    struct start *start = malloc(sizeof *start);
    sigset_t all, before;
    pthread_attr_t attributes;
    if (!start || pthread_attr_init(&attributes) != 0) {
        free(start);
        return ENOMEM;
    }
    ensure_stack(&attributes);
    *start = (struct start){ body, arg };
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, &attributes, quiet_thread_run, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error)
        free(start);
    else
        pthread_setname_np(*thread, name);
    return error;
}
