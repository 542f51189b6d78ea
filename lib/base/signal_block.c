/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks a signal, and discards the signal if it was raised meanwhile; see signal_block.h. */
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

void signal_block_begin(struct signal_block *block, int signal)
{
    sigset_t set;
    int error = errno;
    only(&set, signal);
    *block = (struct signal_block){ .signal = signal, .was_pending = is_pending(signal) };
    pthread_sigmask(SIG_BLOCK, &set, &block->before);
    errno = error;
}

void signal_block_end(struct signal_block *block)
{
    sigset_t set;
    int error = errno;
    only(&set, block->signal);
    /* A signal that was pending before belongs to the host program, and stays. */
    if (!block->was_pending && is_pending(block->signal))
        while (sigtimedwait(&set, NULL, &(struct timespec){ 0 }) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &block->before, NULL);
    errno = error;
}
