/* SPDX-License-Identifier: Apache-2.0 */
/* A write that fails may raise a signal (SIGPIPE: nobody reads stderr; SIGXFSZ: the file may not grow)
 * that ends the host program. Between begin and end it does not: the write just fails. */
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
