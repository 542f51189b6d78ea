/* SPDX-License-Identifier: Apache-2.0 */
/* A signal is held back and taken away again; see hush.h. */
#include "lib/base/signal_block.h"

#include <errno.h>
#include <time.h>

static bool is_pending(int signal)
{
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    return sigismember(&pending, signal) == 1;
}

static void only(sigset_t *set, int signal)
{
    sigemptyset(set);
    sigaddset(set, signal);
}

void hush_begin(struct hush *hush, int signal)
{
    sigset_t set;
    int error = errno;
    only(&set, signal);
    *hush = (struct hush){ .signal = signal, .was_pending = is_pending(signal) };
    pthread_sigmask(SIG_BLOCK, &set, &hush->before);
    errno = error;
}

void hush_end(struct hush *hush)
{
    sigset_t set;
    int error = errno;
    only(&set, hush->signal);
    /* One that was pending before is the host's own, and stays. */
    if (!hush->was_pending && is_pending(hush->signal))
        while (sigtimedwait(&set, NULL, &(struct timespec){ 0 }) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &hush->before, NULL);
    errno = error;
}
