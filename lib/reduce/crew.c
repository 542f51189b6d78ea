/* SPDX-License-Identifier: Apache-2.0 */
/* Threads for large reductions; see crew.h. A job is cut into parts of PART bytes. Whoever is free
 * takes one by counting down `ticket`, which holds the number of the job as well: a helper that wakes
 * up after the job has ended takes nothing, and one that has taken a part finds the job unchanged,
 * since the caller waits for it. */
#include "lib/reduce/crew.h"

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

struct crew {
    int helpers; /* at most */
    bool is_started;
    int running; /* how many could be started */
    pthread_t threads[CREW_MAX];

    struct job job; /* written before `ticket` is */
    atomic_uint_fast64_t
        ticket;       /* number of the job; in the lower half the parts nobody has taken */
    atomic_uint done; /* parts */

    pthread_mutex_t lock; /* for sleeping */
    pthread_cond_t wake;
    atomic_int sleepers;
    atomic_bool is_over;
};

uint32_t crew_job_of(uint64_t ticket)
{
    return (uint32_t)(ticket >> 32);
}

uint64_t crew_ticket_after(uint64_t ticket, uint32_t parts)
{
    return (uint64_t)(uint32_t)(crew_job_of(ticket) + 1) << 32 | parts;
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
static void help(struct crew *crew, uint32_t number)
{
    uint64_t ticket = atomic_load(&crew->ticket);
    while (crew_job_of(ticket) == number && (uint32_t)ticket > 0)
        if (atomic_compare_exchange_weak(&crew->ticket, &ticket, ticket - 1)) {
            work_on(&crew->job, (uint32_t)ticket - 1);
            atomic_fetch_add(&crew->done, 1);
            ticket = atomic_load(&crew->ticket);
        }
}

/* Is there a job after that one, or none ever again? */
static bool has_news(struct crew *crew, uint32_t number)
{
    return crew_job_of(atomic_load(&crew->ticket)) != number || atomic_load(&crew->is_over);
}

static void wait_for_news(struct crew *crew, uint32_t number)
{
    for (int i = 0; i < SPINS; i++, cpu_pause())
        if (has_news(crew, number))
            return;
    pthread_mutex_lock(&crew->lock);
    atomic_fetch_add(&crew->sleepers, 1);
    while (!has_news(crew, number))
        pthread_cond_wait(&crew->wake, &crew->lock);
    atomic_fetch_sub(&crew->sleepers, 1);
    pthread_mutex_unlock(&crew->lock);
}

static void *helper_main(void *arg)
{
    struct crew *crew = arg;
    uint32_t number = 0;
    while (wait_for_news(crew, number), !atomic_load(&crew->is_over)) {
        number = crew_job_of(atomic_load(&crew->ticket));
        help(crew, number);
    }
    return NULL;
}

/* Under the lock they cannot miss it. */
static void wake_sleepers(struct crew *crew)
{
    if (atomic_load(&crew->sleepers) == 0)
        return;
    pthread_mutex_lock(&crew->lock);
    pthread_cond_broadcast(&crew->wake);
    pthread_mutex_unlock(&crew->lock);
}

static void start_helpers(struct crew *crew)
{
    if (crew->is_started)
        return;
    crew->is_started = true;
    while (crew->running < crew->helpers &&
           quiet_thread_start(&crew->threads[crew->running], "hvd reduce", helper_main, crew) == 0)
        crew->running++;
}

struct crew *crew_create(int threads)
{
    struct crew *crew = calloc(1, sizeof *crew);
    if (!crew)
        return NULL;
    crew->helpers = threads - 1;
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->wake, NULL);
    return crew;
}

void crew_destroy(struct crew *crew)
{
    if (!crew)
        return;
    atomic_store(&crew->is_over, true);
    wake_sleepers(crew);
    for (int i = 0; i < crew->running; i++)
        pthread_join(crew->threads[i], NULL);
    pthread_cond_destroy(&crew->wake);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}

/* Is there anybody to share such a job with? */
static bool has_helpers(struct crew *crew, size_t nbytes)
{
    if (!crew || crew->helpers == 0 || nbytes < 2 * PART)
        return false;
    start_helpers(crew);
    return crew->running > 0;
}

static void run(struct crew *crew, const struct job *job, uint32_t parts)
{
    uint64_t ticket = crew_ticket_after(atomic_load(&crew->ticket), parts);
    crew->job = *job;
    atomic_store(&crew->done, 0);
    atomic_store(&crew->ticket, ticket);
    wake_sleepers(crew);
    help(crew, crew_job_of(ticket));
    for (int i = 0; atomic_load(&crew->done) < parts; i++)
        i % SPINS == SPINS - 1 ? (void)sched_yield() : cpu_pause();
}

static void split(struct crew *crew, struct job *job)
{
    if (!has_helpers(crew, job->count * job->size)) {
        job->part = job->count;
        work_on(job, 0);
        return;
    }
    job->part = PART / job->size;
    run(crew, job, (uint32_t)((job->count + job->part - 1) / job->part));
}

void crew_reduce(struct crew *crew, reduce_fn *reduce, void *out, const void *left,
                 const void *right, size_t count, size_t size)
{
    split(crew, &(struct job){ .reduce = reduce,
                               .out = out,
                               .left = left,
                               .right = right,
                               .count = count,
                               .size = size });
}

void crew_divide(struct crew *crew, divide_fn *divide, void *out, const void *left,
                 const void *right, size_t count, int divisor, size_t size)
{
    split(crew, &(struct job){ .divide = divide,
                               .divisor = divisor,
                               .out = out,
                               .left = left,
                               .right = right,
                               .count = count,
                               .size = size });
}

int crew_threads_for(int local_size)
{
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) < 0)
        return 1;
    int share = CPU_COUNT(&cores) / local_size;
    return share < 1 ? 1 : share > BY_DEFAULT_MAX ? BY_DEFAULT_MAX : share;
}
