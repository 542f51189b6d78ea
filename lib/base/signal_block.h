/* SPDX-License-Identifier: Apache-2.0 */
/* A write that fails may raise a signal that ends the host program: SIGPIPE when nobody reads
 * stderr, SIGXFSZ when the file may not grow. Between begin and end the signal is blocked: the
 * write fails and nothing else happens. */
#ifndef LIB_BASE_SIGNAL_BLOCK_H
#define LIB_BASE_SIGNAL_BLOCK_H

#include <signal.h>
#include <stdbool.h>

struct signal_block {
    int signal;
    bool was_pending;
    sigset_t before;
};

/* In the same thread. The signal is one that the kernel sends to the thread that writes. errno is
 * kept. */
void signal_block_begin(struct signal_block *block, int signal);
void signal_block_end(struct signal_block *block);

#endif
