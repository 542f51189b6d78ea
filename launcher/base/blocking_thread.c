/* SPDX-License-Identifier: Apache-2.0 */
/* Threads whose system calls can be interrupted; see blocking_thread.h. */
#include "launcher/base/blocking_thread.h"

#include "launcher/base/uv_must.h"

#include <signal.h>
#include <time.h>

/* Nobody sends SIGURG unasked, and a process without a handler ignores it. */
enum { INTERRUPT = SIGURG, AGAIN_MS = 2 };

static void on_interrupt(int signum)
{
    (void)signum; /* its only effect is EINTR */
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

/* The signal may come just before the call that it should interrupt, so it is sent again until the
 * thread ends. A timed join would need a deadline on the wall clock, which people may set. */
void blocking_thread_stop(pthread_t thread)
{
    const struct timespec first = { .tv_nsec = 50000 }, then = { .tv_nsec = AGAIN_MS * 1000000L };
    const struct timespec *moment = &first;
    pthread_kill(thread, INTERRUPT);
    while (pthread_tryjoin_np(thread, NULL) != 0) {
        nanosleep(moment, NULL);
        moment = &then;
        pthread_kill(thread, INTERRUPT);
    }
}
