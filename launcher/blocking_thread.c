/* SPDX-License-Identifier: Apache-2.0 */
/* Threads whose system calls can be interrupted; see blocking_thread.h. */
#include "launcher/blocking_thread.h"

#include "launcher/uv_must.h"

#include <signal.h>

/* Nobody sends it unasked, and whoever has no handler ignores it. */
enum { INTERRUPT = SIGURG, AGAIN_MS = 5 };

static void on_interrupt(int signum)
{
    (void)signum; /* its work is to interrupt */
}

static void handle_interrupt(void)
{
    struct sigaction action = { .sa_handler = on_interrupt }; /* no SA_RESTART */
    sigaction(INTERRUPT, &action, NULL);
}

void blocking_thread_start(pthread_t *thread, void *(*body)(void *), void *argument)
{
    sigset_t blocked, before;
    handle_interrupt();
    sigfillset(&blocked);
    sigdelset(&blocked, INTERRUPT);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    uv_must(-pthread_create(thread, NULL, body, argument), "thread");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct timespec blocking_thread_deadline(int ms)
{
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_nsec += ms * 1000000L;
    deadline.tv_sec += deadline.tv_nsec / 1000000000;
    deadline.tv_nsec %= 1000000000;
    return deadline;
}

/* The signal may come just before the call that it is meant for: so again, until the thread ends. */
void blocking_thread_stop(pthread_t thread)
{
    struct timespec deadline;
    do {
        pthread_kill(thread, INTERRUPT);
        deadline = blocking_thread_deadline(AGAIN_MS);
    } while (pthread_timedjoin_np(thread, NULL, &deadline) != 0);
}
