/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that help with reductions: the results are those of the loops, for any number of threads
 * and any size, whether they sleep, are awake, or cannot be had; and idle ones sleep.
 * Linked with -Wl,--wrap=pthread_create. */
#include "lib/reduce/thread_pool.h"
#include "tests/support/descriptors.h"
#include "tests/support/reduce_fill.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *body_fn(void *);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, body_fn *body, void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, body_fn *body, void *arg);

static int started;
static int threads_left = THREAD_POOL_MAX; /* so many can be started */

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, body_fn *body, void *arg)
{
    if (threads_left == 0)
        return EAGAIN;
    threads_left--;
    started++;
    return __real_pthread_create(thread, attr, body, arg);
}

enum { NBYTES_MAX = 2 << 20 };
static unsigned char left[NBYTES_MAX], right[NBYTES_MAX], out[NBYTES_MAX + 1], expected[NBYTES_MAX];

static struct thread_pool *thread_pool_of(int threads)
{
    struct thread_pool *pool = thread_pool_create(threads);
    ck_assert_ptr_nonnull(pool);
    return pool;
}

/* Sums and averages, beside the plain loops; the byte behind stays as it is. */
static void check(struct thread_pool *pool, enum hvd_dtype dtype, size_t nbytes)
{
    size_t size = dtype_size((int)dtype), count = nbytes / size;
    reduce_fn *sum = reduce_function(dtype, HVD_SUM);
    divide_fn *average = divide_function(dtype);
    reduce_fill(left, count * size, size, nbytes);
    reduce_fill(right, count * size, size, nbytes + 1);
    out[count * size] = 0xa5;
    sum(expected, left, right, count);
    thread_pool_reduce(pool, sum, out, left, right, count, size);
    ck_assert(memcmp(out, expected, count * size) == 0);
    average(expected, left, right, count, 3);
    thread_pool_divide(pool, average, out, left, right, count, 3, size);
    ck_assert(memcmp(out, expected, count * size) == 0);
    thread_pool_divide(pool, average, left, left, right, count, 3, size);
    ck_assert(memcmp(left, expected, count * size) == 0 && out[count * size] == 0xa5);
}

static const size_t sizes[] = { 0, 8, 1000, 131064, 131072, 131080, 300000, NBYTES_MAX };
enum { SIZES = sizeof sizes / sizeof *sizes };

START_TEST(results_are_those_of_the_loops_for_any_number_of_threads)
{
    static const int threads[] = { 1, 2, 5 };
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        struct thread_pool *pool = thread_pool_of(threads[t]);
        for (size_t s = 0; s < SIZES; s++)
            check(pool, s % 2 ? HVD_FLOAT32 : HVD_INT64, sizes[s]);
        thread_pool_destroy(pool);
    }
}
END_TEST

START_TEST(without_a_pool_it_is_a_plain_call)
{
    for (size_t s = 0; s < SIZES; s++)
        check(NULL, HVD_INT16, sizes[s]);
    thread_pool_destroy(NULL);
    ck_assert_int_eq(started, 0);
}
END_TEST

START_TEST(threads_start_with_the_first_large_reduction_and_only_then)
{
    struct thread_pool *pool = thread_pool_of(3);
    check(pool, HVD_FLOAT32, 100000);
    ck_assert_int_eq(started, 0);
    check(pool, HVD_FLOAT32, 1 << 20);
    ck_assert_int_eq(started, 2);
    check(pool, HVD_FLOAT32, 1 << 20);
    ck_assert_int_eq(started, 2);
    thread_pool_destroy(pool);
}
END_TEST

START_TEST(where_threads_cannot_be_started_the_others_do_it_all)
{
    for (int possible = 0; possible < 3; possible++) {
        threads_left = possible;
        struct thread_pool *pool = thread_pool_of(4);
        check(pool, HVD_FLOAT32, 1 << 20);
        check(pool, HVD_FLOAT32, 1 << 20);
        thread_pool_destroy(pool);
    }
}
END_TEST

START_TEST(many_jobs_in_a_row_are_each_complete)
{
    struct thread_pool *pool = thread_pool_of(3);
    reduce_fn *sum = reduce_function(HVD_INT32, HVD_SUM);
    enum { COUNT = 50000 };
    static int32_t numbers[COUNT], ones[COUNT];
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    for (int round = 1; round <= 200; round++)
        thread_pool_reduce(pool, sum, numbers, numbers, ones, COUNT, sizeof *numbers);
    for (int i = 0; i < COUNT; i++)
        if (numbers[i] != 200)
            ck_abort_msg("number %d is %d", i, numbers[i]);
    thread_pool_destroy(pool);
}
END_TEST

/* A job whose number is not that of its ticket is never begun, and waited for for ever. */
START_TEST(after_the_last_number_of_a_job_comes_the_first)
{
    uint64_t last = (uint64_t)UINT32_MAX << 32;
    ck_assert_uint_eq(thread_pool_job_of(last), UINT32_MAX);
    ck_assert_uint_eq(thread_pool_ticket_after(last, 7), 7);
    ck_assert_uint_eq(thread_pool_job_of(thread_pool_ticket_after(last, 7)), 0);
    ck_assert_uint_eq(thread_pool_ticket_after(7, 9), (uint64_t)1 << 32 | 9);
}
END_TEST

static atomic_int inside, both;

/* Waits in its first part until another thread has come as well. */
static void meet(void *to, const void *x, const void *y, size_t count)
{
    (void)to, (void)x, (void)y, (void)count;
    atomic_fetch_add(&inside, 1);
    while (atomic_load(&inside) < 2)
        sched_yield();
    atomic_fetch_add(&both, 1);
}

/* Of each job another thread has done a part: also after the helper has gone to sleep. */
START_TEST(a_helper_that_sleeps_is_woken)
{
    struct thread_pool *pool = thread_pool_of(2);
    for (int i = 0; i < 20; i++) {
        inside = 0;
        thread_pool_reduce(pool, meet, out, left, right, 1 << 20, 1);
        if (i % 10 == 0)
            for (int k = 0; k < 1000; k++)
                sched_yield();
    }
    ck_assert_int_eq(both, 20 * 16);
    thread_pool_destroy(pool);
}
END_TEST

/* How many threads of this process sleep in the kernel. */
static int sleeping(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    ck_assert_ptr_nonnull(tasks);
    for (struct dirent *task; (task = readdir(tasks));) {
        char name[300], state = '?';
        snprintf(name, sizeof name, "/proc/self/task/%s/stat", task->d_name);
        FILE *file = fopen(name, "re");
        if (file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1)
            count += state == 'S';
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return count;
}

START_TEST(an_idle_thread_pool_sleeps)
{
    struct thread_pool *pool = thread_pool_of(4);
    int before = sleeping();
    check(pool, HVD_FLOAT32, 1 << 20);
    while (sleeping() < before + 3)
        sched_yield();
    thread_pool_destroy(pool);
}
END_TEST

START_TEST(cores_are_shared_among_the_ranks_of_the_host)
{
    ck_assert_int_ge(thread_pool_threads_for(1), 1);
    ck_assert_int_le(thread_pool_threads_for(1), 4);
    ck_assert_int_eq(thread_pool_threads_for(1 << 20), 1);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_int_eq(thread_pool_threads_for(1), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("thread_pool");
    TCase *tcase = tcase_create("thread_pool");
    descriptors_watch(tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, results_are_those_of_the_loops_for_any_number_of_threads);
    tcase_add_test(tcase, without_a_pool_it_is_a_plain_call);
    tcase_add_test(tcase, threads_start_with_the_first_large_reduction_and_only_then);
    tcase_add_test(tcase, where_threads_cannot_be_started_the_others_do_it_all);
    tcase_add_test(tcase, many_jobs_in_a_row_are_each_complete);
    tcase_add_test(tcase, after_the_last_number_of_a_job_comes_the_first);
    tcase_add_test(tcase, a_helper_that_sleeps_is_woken);
    tcase_add_test(tcase, an_idle_thread_pool_sleeps);
    tcase_add_test(tcase, cores_are_shared_among_the_ranks_of_the_host);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
