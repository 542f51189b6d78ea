/* SPDX-License-Identifier: Apache-2.0 */
/* Several threads of each rank at once: each submits names of its own in its own order, waits for
 * what others have started, polls, adds process sets; the rank is shut down or another is lost
 * meanwhile, and nobody hangs. */
#include "lib/hvd.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 3, THREADS = 4, ROUNDS = 8, NAMES = 8, LARGE = 40000 };

typedef void thread_fn(int thread);

struct work {
    thread_fn *body;
    int thread;
};

static void *run_work(void *arg)
{
    const struct work *work = arg;
    work->body(work->thread);
    return NULL;
}

/* The body in all threads at once. */
static void start_threads(pthread_t *threads, struct work *work, thread_fn *body)
{
    for (int i = 0; i < THREADS; i++) {
        work[i] = (struct work){ body, i };
        REQUIRE(pthread_create(&threads[i], NULL, run_work, &work[i]) == 0);
    }
}

static void join_threads(const pthread_t *threads)
{
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
}

static void run_threads(thread_fn *body)
{
    pthread_t threads[THREADS];
    struct work work[THREADS];
    start_threads(threads, work, body);
    join_threads(threads);
}

struct buffer {
    char name[24];
    int64_t count;
    int64_t handle;
    int32_t data[LARGE];
};
static struct buffer buffers[THREADS][NAMES];
static pthread_barrier_t all_threads;

static void fill(struct buffer *buffer, int thread, int name, int round)
{
    static const int counts[NAMES] = { 1, 20, 2000, LARGE, 5, 8000, 900, 30000 };
    snprintf(buffer->name, sizeof buffer->name, "t%d.n%d", thread, name);
    buffer->count = counts[name];
    for (int i = 0; i < buffer->count; i++)
        buffer->data[i] = round + name + hvd_rank();
}

static void check(const struct buffer *buffer, int name, int round)
{
    int expected = hvd_size() * (round + name) + hvd_size() * (hvd_size() - 1) / 2;
    for (int i = 0; i < buffer->count; i++)
        REQUIRE(buffer->data[i] == expected);
}

static void shuffle(int *order, unsigned *seed)
{
    for (int i = 0; i < NAMES; i++) {
        int at = rand_r(seed) % (i + 1);
        order[i] = order[at];
        order[at] = i;
    }
}

static int start_sum(struct buffer *buffer)
{
    const struct hvd_tensor tensor = { .name = buffer->name,
                                       .input = buffer->data,
                                       .output = buffer->data,
                                       .dtype = HVD_INT32,
                                       .ndims = 1,
                                       .dims = &buffer->count };
    return hvd_allreduce_async(&tensor, HVD_SUM, NULL, &buffer->handle);
}

static int at_every_second_time(void *arg)
{
    int *asked = arg;
    return ++*asked % 2 == 0;
}

enum { WAYS = 5 };

/* Waits in one of the ways there are. */
static void finish(int64_t handle, int way)
{
    int asked = 0;
    struct hvd_interrupt interrupt = { at_every_second_time, &asked, 0 };
    int rc = way == 0 ? hvd_wait(handle) : HVD_ERR_TIMEOUT;
    while (way == 4 &&
           (rc = hvd_wait_interruptible(handle, &interrupt, NULL)) == HVD_ERR_INTERRUPTED)
        continue;
    while (way == 1 && (rc = hvd_poll(handle)) == 0)
        sched_yield();
    while (way == 2 && (rc = hvd_wait_timeout(handle, 0, NULL)) == HVD_ERR_TIMEOUT)
        sched_yield();
    while (way == 3 && (rc = hvd_wait_timeout(handle, 1, NULL)) == HVD_ERR_TIMEOUT)
        continue;
    if (way == 1) {
        REQUIRE(rc == 1);
        rc = hvd_wait(handle);
    }
    REQUIRE_STATUS(rc, HVD_OK);
}

/* Some of them by blocking calls; the others' handles are finished by the next thread. All threads
 * start their asynchronous ones first, so that no order of blocking calls can wait for itself. */
static void mix(int thread)
{
    unsigned seed = (unsigned)(hvd_rank() * THREADS + thread);
    int order[NAMES];
    for (int round = 0; round < ROUNDS; round++) {
        shuffle(order, &seed);
        for (int i = 0; i < NAMES; i++) {
            struct buffer *buffer = &buffers[thread][order[i]];
            fill(buffer, thread, order[i], round);
            if (order[i] > 1)
                REQUIRE_STATUS(start_sum(buffer), HVD_OK);
        }
        for (int i = 0; i < 2; i++) {
            struct buffer *buffer = &buffers[thread][i];
            REQUIRE_STATUS(hvd_allreduce(buffer->name, buffer->data, buffer->data,
                                         (size_t)buffer->count, HVD_INT32, HVD_SUM),
                           HVD_OK);
            check(buffer, i, round);
        }
        pthread_barrier_wait(&all_threads);
        int other = (thread + round) % THREADS;
        for (int i = 0; i < NAMES; i++) {
            if (order[i] > 1) {
                finish(buffers[other][order[i]].handle, rand_r(&seed) % WAYS);
                check(&buffers[other][order[i]], order[i], round);
            }
        }
        pthread_barrier_wait(&all_threads);
    }
}

static int mix_in_threads(int rank)
{
    (void)rank;
    init_world();
    pthread_barrier_init(&all_threads, NULL, THREADS);
    run_threads(mix);
    return leave_world();
}

START_TEST(threads_mix_all_kinds_of_waiting)
{
    ranks_run(&(struct mini_options){ .size = RANKS }, mix_in_threads);
}
END_TEST

/* ---- two threads, one handle ---- */

static int64_t contested;
static atomic_int winners, losers;

static void contest(int thread)
{
    (void)thread;
    int rc = hvd_wait(contested);
    REQUIRE(rc == HVD_OK || rc == HVD_ERR_INVALID);
    atomic_fetch_add(rc == HVD_OK ? &winners : &losers, 1);
}

static int contest_in_threads(int rank)
{
    (void)rank;
    init_world();
    for (int round = 1; round <= 4 * ROUNDS; round++) {
        fill(&buffers[0][3], 0, 3, round);
        REQUIRE_STATUS(start_sum(&buffers[0][3]), HVD_OK);
        contested = buffers[0][3].handle;
        run_threads(contest);
        check(&buffers[0][3], 3, round);
        REQUIRE(winners == round && losers == (THREADS - 1) * round);
    }
    return leave_world();
}

START_TEST(one_of_those_who_wait_for_a_handle_gets_it)
{
    ranks_run(&(struct mini_options){ .size = RANKS }, contest_in_threads);
}
END_TEST

/* ---- a process set comes and goes while others reduce ---- */

static void add_or_reduce(int thread)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (thread == 0) {
            int set = hvd_add_process_set((int[]){ 0, 2 }, 2);
            REQUIRE(set > 0);
            const struct hvd_options options = { .process_set = set };
            int64_t handle;
            if (hvd_rank() != 1) {
                REQUIRE_STATUS(hvd_barrier_async(&options, &handle), HVD_OK);
                finish(handle, round % WAYS);
            }
            REQUIRE_STATUS(hvd_remove_process_set(set), HVD_OK);
            continue;
        }
        struct buffer *buffer = &buffers[thread][(round + thread) % NAMES];
        int name = (round + thread) % NAMES;
        fill(buffer, thread, name, round);
        REQUIRE_STATUS(start_sum(buffer), HVD_OK);
        finish(buffer->handle, (round + thread) % WAYS);
        check(buffer, name, round);
    }
}

static int change_sets_in_threads(int rank)
{
    (void)rank;
    init_world();
    run_threads(add_or_reduce);
    return leave_world();
}

START_TEST(process_sets_come_and_go_while_others_reduce)
{
    ranks_run(&(struct mini_options){ .size = RANKS }, change_sets_in_threads);
}
END_TEST

/* ---- the end, while others wait ---- */

/* Reduces until something happens; all threads are in the midst of it from then on. Every other
 * thread blocks, the rest try again and again. */
static char ends[THREADS][512];
static int statuses[THREADS];
static atomic_int running;

static void reduce_until_the_end(int thread)
{
    int rc = HVD_OK;
    for (int round = 0; rc == HVD_OK; round++) {
        struct buffer *buffer = &buffers[thread][round % NAMES];
        fill(buffer, thread, round % NAMES, round);
        if (round == ROUNDS)
            atomic_fetch_add(&running, 1);
        if ((rc = start_sum(buffer)) != HVD_OK)
            break;
        while (thread % 2 && (rc = hvd_wait_timeout(buffer->handle, 1, NULL)) == HVD_ERR_TIMEOUT)
            continue;
        if (thread % 2 == 0)
            rc = hvd_wait(buffer->handle);
    }
    statuses[thread] = rc;
    snprintf(ends[thread], sizeof ends[thread], "%s", hvd_last_error());
}

static void require_ends(int status)
{
    for (int i = 0; i < THREADS; i++)
        REQUIRE_STATUS(statuses[i], status);
}

static int shut_down_meanwhile(int rank)
{
    pthread_t threads[THREADS];
    struct work work[THREADS];
    init_world();
    start_threads(threads, work, reduce_until_the_end);
    while (rank == 0 && running < THREADS)
        sched_yield();
    if (rank == 0)
        leave_world();
    join_threads(threads);
    require_ends(rank == 0 ? HVD_ERR_SHUT_DOWN : HVD_ERR_PEER_LEFT);
    return leave_world();
}

START_TEST(shutdown_ends_all_waits_of_all_threads)
{
    for (int i = 0; i < 4; i++)
        ranks_run(&(struct mini_options){ .size = RANKS }, shut_down_meanwhile);
}
END_TEST

static int die_meanwhile(int rank)
{
    pthread_t threads[THREADS];
    struct work work[THREADS];
    init_world();
    start_threads(threads, work, reduce_until_the_end);
    while (rank == 1 && running < THREADS)
        sched_yield();
    if (rank == 1)
        kill(getpid(), SIGKILL);
    join_threads(threads);
    require_ends(HVD_ERR_PEER_LOST);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(strcmp(ends[i], "the connection to rank 1 on testhost broke") == 0);
    return leave_world();
}

START_TEST(a_killed_rank_ends_all_waits_with_the_same_text)
{
    ranks_run_but(&(struct mini_options){ .size = RANKS }, die_meanwhile, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine_threads");
    TCase *tcase = tcase_create("engine_threads");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, threads_mix_all_kinds_of_waiting);
    tcase_add_test(tcase, one_of_those_who_wait_for_a_handle_gets_it);
    tcase_add_test(tcase, process_sets_come_and_go_while_others_reduce);
    tcase_add_test(tcase, shutdown_ends_all_waits_of_all_threads);
    tcase_add_test(tcase, a_killed_rank_ends_all_waits_with_the_same_text);
    return unit_run(suite);
}
