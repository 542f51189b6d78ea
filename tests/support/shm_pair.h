/* SPDX-License-Identifier: Apache-2.0 */
/* Links over shared memory, for tests: both ends in this process, or one in a forked child; and a
 * heap of segments that takes the place of lib/memory/shared_heap.h (link with
 * --wrap=shared_heap_find). */
#ifndef TESTS_SUPPORT_SHM_PAIR_H
#define TESTS_SUPPORT_SHM_PAIR_H

#include "lib/link/link_shm.h"
#include "lib/memory/segment.h"

#include <stdbool.h>
#include <sys/types.h>

/* Two ends in this process, and a vector of bytes that differ, with space for as many. */
enum { VECTOR = 6 * 1024 * 1024, OFFER = 256 * 1024 };

extern struct link *ends[2]; /* NULL when a test has closed it */

/* Links are made as between far processors: with ordinary stores, so that private memory is offered
 * too, or from now on with stores that bypass the caches, where the processor has such stores. */
extern bool shm_pair_streams;
extern unsigned char *vector, *space;

void shm_setup(void);
void shm_teardown(void);

/* The two ends anew; without `readable` neither can read the private memory of the other. */
void shm_pair_open(bool readable);

/* The result of link_try_send(); whether link_sleep() allows waiting; whether poll() would
 * return. */
ssize_t shm_send_some(struct link *link, const void *data, size_t size);
bool shm_may_sleep(struct link *link, short wanted);
bool shm_is_readable(struct link *link);

/* A segment of its own, zeroed, of `size` bytes in whole pages; found by shared_heap_find(). It
 * stays until the process ends. */
unsigned char *shm_heap_alloc(size_t size);
unsigned char *shm_heap_vector(size_t size); /* with the beginning of the vector in it */

/* End 1 hears of the segment at `data`, before anything else is on its way; it is not offered yet.
 * And such a vector of which it has heard. */
void shm_export(const unsigned char *data, size_t size);
unsigned char *shm_exported_vector(size_t size);

/* A child process that has the other end, does `child` with it, and ends without closing it. */
typedef void shm_child_fn(struct link *link, void *context);

pid_t shm_pair_fork(struct link **link, shm_child_fn *child, void *context);

/* Everything, or until `why` says something. Both sleep in poll() when nothing moves. */
int shm_send_all(struct link *link, const void *data, size_t size, struct err *why);
int shm_receive_all(struct link *link, void *data, size_t size, struct err *why);

/* Sleeps for `wanted` if the link lets us, for at most 20 seconds. */
void shm_wait(struct link *link, short wanted);

#endif
