/* SPDX-License-Identifier: Apache-2.0 */
/* The thread in which rank 0 of a job without a launcher serves the rendezvous: sockets for
 * rank_server.h. It sleeps while nobody says anything.
 *
 *   start (before the address is published) -> serve, and stop listening when all have come ->
 *   leave (rank 0 has said GOODBYE, or has failed) -> the thread serves the others until the last is
 *   gone, or the process ends
 *
 * When the process of rank 0 dies, all connections end, and each other rank knows that rank 0 is
 * lost. When the program closes the descriptors under it, the thread ends. */
#ifndef LIB_SERVE_RENDEZVOUS_THREAD_H
#define LIB_SERVE_RENDEZVOUS_THREAD_H

#include "lib/base/auth.h"
#include "lib/base/status.h"
#include "lib/link/listener.h"

#include <stdint.h>

struct rendezvous_thread;

/* Takes over the listener, also on failure. */
struct rendezvous_thread *rendezvous_thread_start(struct listener *listener, int size,
                                                  const struct job_key *key,
                                                  uint64_t start_timeout_ms, struct err *err);

/* Rank 0 has closed its own connection, and leaves: waits until all others have been told, a second
 * at most. The thread frees itself. NULL is fine. */
void rendezvous_thread_leave(struct rendezvous_thread *thread);

#endif
