/* SPDX-License-Identifier: Apache-2.0 */
/* Threads for large reductions; see thread_pool.h. A job is cut into parts of PART bytes. A free
 * thread takes a part by counting down `ticket`, which also holds the number of the job. So a
 * helper that wakes up after the job has ended takes nothing. A helper that has taken a part finds
 * the job unchanged, since the caller waits for this helper. */
#include "lib/reduce/thread_pool.h"

#include "lib/base/cpu_pause.h"
#include "lib/base/quiet_thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { PART = 64 << 10, SPINS = 2000, BY_DEFAULT_MAX = 4 };

struct job {
    reduce_fn *reduce; /* or */
    divide_fn *divide;
    int divisor;
    unsigned char *out;
    const unsigned char *left, *right;
    size_t count, size;
    size_t part; /* elements in each but the last */
};

struct thread_pool {
    int helpers; /* at most */
    bool is_started;
    int running; /* how many could be started */
    pthread_t threads[THREAD_POOL_MAX];

    struct job job;              /* written before `ticket` is */
    atomic_uint_fast64_t ticket; /* number of the job; the lower half counts the free parts */
    atomic_uint done;            /* parts */

    pthread_mutex_t lock; /* for sleeping */
    pthread_cond_t wake;
    atomic_int sleepers;
    atomic_bool is_over;
};

uint32_t thread_pool_job_of(uint64_t ticket)
{
    return (uint32_t)(ticket >> 32);
}

uint64_t thread_pool_ticket_after(uint64_t ticket, uint32_t parts)
{
    return (uint64_t)(uint32_t)(thread_pool_job_of(ticket) + 1) << 32 | parts;
}

static void work_on(const struct job *job, size_t part)
{
    size_t first = part * job->part, at = first * job->size;
    size_t count = job->count - first < job->part ? job->count - first : job->part;
    if (job->reduce)
        job->reduce(job->out + at, job->left + at, job->right + at, count);
    else
        job->divide(job->out + at, job->left + at, job->right + at, count, job->divisor);
}

/* Takes parts of this job as long as there are any. */
static void help(struct thread_pool *pool, uint32_t number)
{
    uint64_t ticket = atomic_load(&pool->ticket);
    while (thread_pool_job_of(ticket) == number && (uint32_t)ticket > 0)
        if (atomic_compare_exchange_weak(&pool->ticket, &ticket, ticket - 1)) {
            work_on(&pool->job, (uint32_t)ticket - 1);
            atomic_fetch_add(&pool->done, 1);
            ticket = atomic_load(&pool->ticket);
        }
}

/* True if there is a job after that one, or the pool is stopping. */
static bool has_news(struct thread_pool *pool, uint32_t number)
{
    return thread_pool_job_of(atomic_load(&pool->ticket)) != number || atomic_load(&pool->is_over);
}

static void wait_for_news(struct thread_pool *pool, uint32_t number)
{
    for (int i = 0; i < SPINS; i++, cpu_pause())
        if (has_news(pool, number))
            return;
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while (!has_news(pool, number))
        pthread_cond_wait(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void *helper_main(void *arg)
{
    struct thread_pool *pool = arg;
    uint32_t number = 0;
    while (wait_for_news(pool, number), !atomic_load(&pool->is_over)) {
        number = thread_pool_job_of(atomic_load(&pool->ticket));
        help(pool, number);
    }
    return NULL;
}

/* Under the lock helpers cannot miss the wake-up. */
static void wake_sleepers(struct thread_pool *pool)
{
    if (atomic_load(&pool->sleepers) == 0)
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
}

static void start_helpers(struct thread_pool *pool)
{
    if (pool->is_started)
        return;
    pool->is_started = true;
    while (pool->running < pool->helpers &&
           quiet_thread_start(&pool->threads[pool->running], "hvd reduce", helper_main, pool) == 0)
        pool->running++;
}

struct thread_pool *thread_pool_create(int threads)
{
    struct thread_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->helpers = threads - 1;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    return pool;
}

void thread_pool_destroy(struct thread_pool *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->is_over, true);
    wake_sleepers(pool);
    for (int i = 0; i < pool->running; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* True if there is a thread to share such a job with. */
static bool has_helpers(struct thread_pool *pool, size_t nbytes)
{
    if (!pool || pool->helpers == 0 || nbytes < 2 * PART)
        return false;
    start_helpers(pool);
    return pool->running > 0;
}

static void thread_pool_run(struct thread_pool *pool, const struct job *job, uint32_t parts)
{
    uint64_t ticket = thread_pool_ticket_after(atomic_load(&pool->ticket), parts);
    pool->job = *job;
    atomic_store(&pool->done, 0);
    atomic_store(&pool->ticket, ticket);
    wake_sleepers(pool);
    help(pool, thread_pool_job_of(ticket));
    for (int i = 0; atomic_load(&pool->done) < parts; i++)
        i % SPINS == SPINS - 1 ? (void)sched_yield() : cpu_pause();
}

static void split(struct thread_pool *pool, struct job *job)
{
    if (!has_helpers(pool, job->count * job->size)) {
        job->part = job->count;
        work_on(job, 0);
        return;
    }
    job->part = PART / job->size;
    thread_pool_run(pool, job, (uint32_t)((job->count + job->part - 1) / job->part));
}

void thread_pool_reduce(struct thread_pool *pool, reduce_fn *reduce, void *out, const void *left,
                        const void *right, size_t count, size_t size)
{
    split(pool, &(struct job){ .reduce = reduce,
                               .out = out,
                               .left = left,
                               .right = right,
                               .count = count,
                               .size = size });
}

void thread_pool_divide(struct thread_pool *pool, divide_fn *divide, void *out, const void *left,
                        const void *right, size_t count, int divisor, size_t size)
{
    split(pool, &(struct job){ .divide = divide,
                               .divisor = divisor,
                               .out = out,
                               .left = left,
                               .right = right,
                               .count = count,
                               .size = size });
}

int thread_pool_threads_for(int local_size)
{
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) < 0)
        return 1;
    int share = CPU_COUNT(&cores) / local_size;
    return share < 1 ? 1 : share > BY_DEFAULT_MAX ? BY_DEFAULT_MAX : share;
}
