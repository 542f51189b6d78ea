/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that help with large reductions, if the process has cores to spare: one core alone does
 * not saturate the memory bandwidth.
 *
 * The caller works as well and takes every part that no helper has begun, so a late helper costs
 * nothing. Helpers start with the first large reduction. After a reduction they spin for some
 * microseconds, since another reduction mostly follows, and then sleep: an idle pool uses no
 * processor. If a helper cannot be started, the other threads do its work. */
#ifndef LIB_REDUCE_THREAD_POOL_H
#define LIB_REDUCE_THREAD_POOL_H

#include "lib/reduce/reduce.h"

#include <stddef.h>
#include <stdint.h>

enum { THREAD_POOL_MAX = 64 };

struct thread_pool;

/* `threads` includes the caller: 1 to THREAD_POOL_MAX. Starts nothing yet. NULL when out of
 * memory. */
struct thread_pool *thread_pool_create(int threads);

/* Ends the threads. NULL is fine. */
void thread_pool_destroy(struct thread_pool *pool);

/* Like `reduce` and `divide`, for elements of `size` bytes. One caller at a time. Without a pool,
 * and for small sizes, a plain call. */
void thread_pool_reduce(struct thread_pool *pool, reduce_fn *reduce, void *out, const void *left,
                        const void *right, size_t count, size_t size);
void thread_pool_divide(struct thread_pool *pool, divide_fn *divide, void *out, const void *left,
                        const void *right, size_t count, int divisor, size_t size);

/* The number of threads, including the caller, for a process that shares its host with `local_size`
 * ranks: 1 to 4. */
int thread_pool_threads_for(int local_size);

/* The ticket of the job after the one of `ticket`; the job of a ticket. There may be any number of
 * jobs: their numbers wrap around. */
uint64_t thread_pool_ticket_after(uint64_t ticket, uint32_t parts);
uint32_t thread_pool_job_of(uint64_t ticket);

#endif
