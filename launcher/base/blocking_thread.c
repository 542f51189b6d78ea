/* SPDX-License-Identifier: Apache-2.0 */
/* Threads whose system calls can be interrupted; see blocking_thread.h. */
#include <config.h>

#include "launcher/base/blocking_thread.h"

#include <signal.h>
#include <stdbool.h>
#include <time.h>

/* Nobody sends SIGURG unasked, and a process without a handler ignores it. */
enum { INTERRUPT = SIGURG, FIRST_US = 50, AGAIN_MS = 2 };

static void on_interrupt(int signum)
{
    (void)signum; /* its only effect is EINTR */
}

static void handle_interrupt(void)
{
    struct sigaction action = { .sa_handler = on_interrupt }; /* no SA_RESTART */
    sigaction(INTERRUPT, &action, NULL);
}

int blocking_thread_start(pthread_t *thread, void *(*body)(void *), void *argument)
{
    sigset_t blocked, before;
    handle_interrupt();
    sigfillset(&blocked);
    sigdelset(&blocked, INTERRUPT);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int rc = -pthread_create(thread, NULL, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* Joins the thread if it ends within `nanoseconds`. The deadline is not on the wall clock, which
 * people may set. */
static bool joins_within(pthread_t thread, long nanoseconds)
{
#if defined HAVE_PTHREAD_CLOCKJOIN_NP && !defined __SANITIZE_THREAD__ /* which does not know it */
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_nsec += nanoseconds;
    deadline.tv_sec += deadline.tv_nsec / 1000000000;
    deadline.tv_nsec %= 1000000000;
    return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &deadline) == 0;
#else
    nanosleep(&(struct timespec){ .tv_nsec = nanoseconds }, NULL);
    return pthread_tryjoin_np(thread, NULL) == 0;
#endif
}

/* The signal may come just before the call that it should interrupt, so it is sent again until the
 * thread ends. */
void blocking_thread_stop(pthread_t thread)
{
    pthread_kill(thread, INTERRUPT);
    bool joined = joins_within(thread, FIRST_US * 1000L);
    while (!joined) {
        pthread_kill(thread, INTERRUPT);
        joined = joins_within(thread, AGAIN_MS * 1000000L);
    }
}
