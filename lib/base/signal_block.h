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

/* begin and end must run in the same thread. `signal` must be one that the kernel sends to the
 * writing thread. Both keep errno. */
void signal_block_begin(struct signal_block *block, int signal);
void signal_block_end(struct signal_block *block);

#endif
