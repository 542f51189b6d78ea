/* SPDX-License-Identifier: Apache-2.0 */
/* Workers of an elastic job at the real rendezvous: ranks are lost, others come, and the processes
 * that are left go on in the next world. The test is the launcher: it says who is to be there. */
#include "lib/hvd.h"
#include "tests/support/live_rendezvous.h"
#include "tests/support/unit.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the test tells the workers, and they it, in shared->counters. */
enum { GO_ON, ARRIVED, STOPPED };

static struct live_rendezvous live;
static pid_t pids[LIVE_WORKERS_MAX];

static void setup_job(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(shared != MAP_FAILED);
    live_rendezvous_start(&live, 0, 1);
}

static void teardown_job(void)
{
    live_rendezvous_stop(&live);
    munmap(shared, sizeof *shared);
}

static void start_workers(int first, int count, rank_fn *body)
{
    for (int worker = first; worker < first + count; worker++)
        pids[worker] = live_worker_start(&live, worker, body);
}

static int await_end(int worker)
{
    int status = 0;
    ck_assert_int_eq(waitpid(pids[worker], &status, 0), pids[worker]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void kill_worker(int worker)
{
    ck_assert_int_eq(kill(pids[worker], SIGKILL), 0);
    ck_assert_int_eq(await_end(worker), 128 + SIGKILL);
    live_ended(&live, worker, true);
}

static void intend(int count, const int *workers)
{
    live_intend(&live, workers, count);
}

static void expect_world(int epoch, int size, const int *workers)
{
    struct live_world world = live_await_world(&live);
    ck_assert_int_eq(world.epoch, epoch);
    ck_assert_int_eq(world.size, size);
    ck_assert_mem_eq(world.workers, workers, (size_t)size * sizeof *workers);
}

static void expect_ends(int first, int count)
{
    for (int worker = first; worker < first + count; worker++)
        ck_assert_int_eq(await_end(worker), 0);
}

/* ---- a worker that trains for as long as the test wants ---- */

/* Is it over? The ranks agree. */
static int step(bool *over)
{
    int32_t word[2] = { atomic_load(&shared->counters[GO_ON]) < 0, hvd_hosts_updated() != 0 };
    int rc = hvd_allreduce("word", word, word, 2, HVD_INT32, HVD_MAX);
    *over = rc == HVD_OK && word[0];
    return rc == HVD_OK && word[1] && !word[0] ? HVD_HOSTS_UPDATED : rc;
}

/* Counts its arrival in each world, once a collective has gone through. */
static int train(bool *over)
{
    int32_t sum;
    int rc = sum_of_ranks("sum", &sum);
    if (rc == HVD_OK)
        REQUIRE(sum == hvd_size() * (hvd_size() - 1) / 2);
    if (rc == HVD_OK)
        atomic_fetch_add(&shared->counters[ARRIVED], 1);
    while (rc == HVD_OK && !*over)
        rc = step(over);
    return rc;
}

static int work(int worker)
{
    (void)worker;
    int epoch = -1;
    for (bool over = false; !over;) {
        int rc = hvd_init();
        if (rc == HVD_OK) {
            REQUIRE(hvd_epoch() > epoch);
            epoch = hvd_epoch();
            rc = train(&over);
        }
        REQUIRE(over || rc == HVD_HOSTS_UPDATED || rc == HVD_ERR_PEER_LOST ||
                rc == HVD_ERR_PEER_LEFT || rc == HVD_ERR_REMOVED);
        if (rc == HVD_ERR_REMOVED)
            return 7;
        leave_world();
    }
    return 0;
}

static void await_arrivals(int count)
{
    wait_for(ARRIVED, count);
}

static void stop_all(void)
{
    atomic_store(&shared->counters[GO_ON], -1);
}

#define WORKERS(...)                                                                               \
    (sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)), (int[])                                        \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

START_TEST(survivors_of_a_lost_rank_make_a_smaller_world)
{
    start_workers(0, 4, work);
    intend(WORKERS(0, 1, 2, 3));
    expect_world(0, WORKERS(0, 1, 2, 3));
    await_arrivals(4);
    kill_worker(2);
    intend(WORKERS(0, 1, 3));
    expect_world(1, WORKERS(0, 1, 3));
    await_arrivals(7);
    stop_all();
    expect_ends(0, 2);
    ck_assert_int_eq(await_end(3), 0);
}
END_TEST

START_TEST(the_loss_of_rank_0_is_like_any_other)
{
    start_workers(0, 3, work);
    intend(WORKERS(0, 1, 2));
    expect_world(0, WORKERS(0, 1, 2));
    await_arrivals(3);
    kill_worker(0);
    intend(WORKERS(1, 2));
    expect_world(1, WORKERS(1, 2));
    await_arrivals(5);
    kill_worker(1);
    intend(WORKERS(2));
    expect_world(2, WORKERS(2));
    await_arrivals(6);
    stop_all();
    ck_assert_int_eq(await_end(2), 0);
}
END_TEST

START_TEST(a_newcomer_is_taken_into_a_larger_world)
{
    start_workers(0, 2, work);
    intend(WORKERS(0, 1));
    expect_world(0, WORKERS(0, 1));
    await_arrivals(2);
    start_workers(2, 2, work);
    intend(WORKERS(0, 1, 2, 3));
    expect_world(1, WORKERS(0, 1, 2, 3));
    await_arrivals(6);
    stop_all();
    expect_ends(0, 4);
}
END_TEST

START_TEST(a_removed_worker_is_told_so)
{
    start_workers(0, 3, work);
    intend(WORKERS(0, 1, 2));
    expect_world(0, WORKERS(0, 1, 2));
    await_arrivals(3);
    live_remove(&live, 0);
    intend(WORKERS(1, 2));
    expect_world(1, WORKERS(1, 2));
    ck_assert_int_eq(await_end(0), 7);
    await_arrivals(5);
    stop_all();
    expect_ends(1, 2);
}
END_TEST

/* It was removed before it came. */
START_TEST(a_removed_worker_that_comes_late_is_told_so)
{
    live_remove(&live, 1);
    start_workers(0, 2, work);
    ck_assert_int_eq(await_end(1), 7);
    intend(WORKERS(0));
    expect_world(0, WORKERS(0));
    await_arrivals(1);
    stop_all();
    ck_assert_int_eq(await_end(0), 0);
}
END_TEST

/* Those that wait go on waiting. */
START_TEST(a_worker_that_dies_while_it_waits_disturbs_nobody)
{
    start_workers(0, 3, work);
    intend(WORKERS(0, 1, 2, 3));
    kill_worker(1);
    intend(WORKERS(0, 2));
    expect_world(0, WORKERS(0, 2));
    await_arrivals(2);
    stop_all();
    ck_assert_int_eq(await_end(0), 0);
    ck_assert_int_eq(await_end(2), 0);
}
END_TEST

/* A rank is stopped while the others lose a rank; they do not wait for it when the launcher does
 * not intend it, and when it goes on it comes back. */
START_TEST(a_stopped_rank_comes_back_to_a_later_world)
{
    start_workers(0, 3, work);
    intend(WORKERS(0, 1, 2));
    expect_world(0, WORKERS(0, 1, 2));
    await_arrivals(3);
    ck_assert_int_eq(kill(pids[2], SIGSTOP), 0);
    kill_worker(0);
    intend(WORKERS(1));
    expect_world(1, WORKERS(1));
    await_arrivals(4);
    ck_assert_int_eq(kill(pids[2], SIGCONT), 0);
    intend(WORKERS(1, 2));
    expect_world(2, WORKERS(1, 2));
    await_arrivals(6);
    stop_all();
    expect_ends(1, 2);
}
END_TEST

/* Ranks die at any moment of the making of a world; the others are always in the next. */
START_TEST(ranks_die_during_resets)
{
    int members[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    start_workers(0, 8, work);
    intend(8, members);
    for (int gone = 0; gone < 6; gone++) {
        usleep(1000 * (useconds_t)(7 * gone % 5)); /* any moment will do */
        kill_worker(gone);
        intend(7 - gone, members + gone + 1);
    }
    for (struct live_world world = { .size = 0 }; world.size != 2;)
        world = live_await_world(&live);
    stop_all();
    expect_ends(6, 2);
}
END_TEST

/* ---- ranks that do not submit ---- */

static void fail_in_barrier(int set)
{
    const struct hvd_options options = { .process_set = set };
    int64_t handle;
    int rc = hvd_barrier_async(&options, &handle);
    REQUIRE_STATUS(rc == HVD_OK ? hvd_wait(handle) : rc, HVD_ERR_PEER_LOST);
}

/* Ranks 3 and 4 submit nothing. Rank 2 waits for rank 3 in a set of the two, and ranks 0 and 1 wait
 * for all three. Ranks have half the warning time to answer the round that decides, so the warning
 * time is as long as it may be. The set of ranks 2 and 3 has no shutdown time, which its root reads
 * from its own environment: otherwise the set might end the world first, and name rank 3 alone. */
static int wait_for_ranks_3_and_4(int worker)
{
    setenv("HOROVOD_STALL_CHECK_TIME_SECONDS", "4", 1);
    setenv("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", worker == 2 ? "0" : "4", 1);
    setenv("HOROVOD_LOG_LEVEL", "fatal", 1);
    REQUIRE_STATUS(hvd_init(), HVD_OK);
    int set = hvd_add_process_set((int[]){ 2, 3 }, 2);
    REQUIRE(set == 1);
    if (worker > 2)
        wait_for(STOPPED, 1);
    if (worker <= 2)
        fail_in_barrier(worker == 2 ? set : 0);
    leave_world();
    return 0;
}

START_TEST(ranks_that_submit_nothing_are_late_together_and_one_that_waits_in_another_set_is_not)
{
    start_workers(0, 5, wait_for_ranks_3_and_4);
    intend(WORKERS(0, 1, 2, 3, 4));
    expect_world(0, WORKERS(0, 1, 2, 3, 4));
    struct late_ranks late = live_await_late(&live);
    ck_assert_int_eq(late.count, 2);
    ck_assert_int_eq(late.rank[0], 3);
    ck_assert_int_eq(late.rank[1], 4);
    atomic_store(&shared->counters[STOPPED], 1);
    expect_ends(0, 5);
}
END_TEST

/* ---- one that does not know that the job is elastic, and other mistakes ---- */

static int be_not_elastic(int worker)
{
    (void)worker;
    unsetenv("HOROVOD_ELASTIC");
    REQUIRE_STATUS(hvd_init(), HVD_ERR_ENVIRONMENT);
    require_text("HOROVOD_ELASTIC is not set, but job job is elastic");
    return 0;
}

START_TEST(a_worker_that_is_not_elastic_is_refused)
{
    start_workers(0, 1, be_not_elastic);
    ck_assert_int_eq(await_end(0), 0);
}
END_TEST

static int have_no_number(int worker)
{
    (void)worker;
    unsetenv("HVD_WORKER");
    REQUIRE_STATUS(hvd_init(), HVD_ERR_ENVIRONMENT);
    require_text("HVD_WORKER is not set");
    return 0;
}

START_TEST(a_worker_without_a_number_is_refused)
{
    start_workers(0, 1, have_no_number);
    ck_assert_int_eq(await_end(0), 0);
}
END_TEST

static int be_somebody_else(int worker)
{
    char number[16];
    snprintf(number, sizeof number, "%d", worker - 1);
    setenv("HVD_WORKER", number, 1);
    REQUIRE_STATUS(hvd_init(), HVD_ERR_ENVIRONMENT);
    require_text("is another process (pid ");
    return 0;
}

START_TEST(a_second_process_with_the_same_number_is_refused)
{
    start_workers(0, 1, work);
    intend(WORKERS(0));
    expect_world(0, WORKERS(0));
    start_workers(1, 1, be_somebody_else);
    ck_assert_int_eq(await_end(1), 0);
    stop_all();
    ck_assert_int_eq(await_end(0), 0);
}
END_TEST

/* ---- nothing is left ---- */

static int many_resets(int worker)
{
    enum { EPOCHS = 200 };
    (void)worker;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        int32_t sum;
        init_world();
        REQUIRE(hvd_epoch() == epoch && hvd_size() == 3);
        REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
        REQUIRE(sum == 3);
        leave_world();
    }
    return 0;
}

START_TEST(the_same_members_may_meet_again_and_again)
{
    intend(WORKERS(2, 0, 1));
    start_workers(0, 3, many_resets);
    for (int epoch = 0; epoch < 200; epoch++)
        expect_world(epoch, WORKERS(2, 0, 1));
    expect_ends(0, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_elastic");
    TCase *tcase = tcase_create("world_elastic");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, setup_job, teardown_job);
    tcase_add_test(tcase, survivors_of_a_lost_rank_make_a_smaller_world);
    tcase_add_test(tcase, the_loss_of_rank_0_is_like_any_other);
    tcase_add_test(tcase, a_newcomer_is_taken_into_a_larger_world);
    tcase_add_test(tcase, a_removed_worker_is_told_so);
    tcase_add_test(tcase, a_removed_worker_that_comes_late_is_told_so);
    tcase_add_test(tcase, a_worker_that_dies_while_it_waits_disturbs_nobody);
    tcase_add_test(tcase, a_stopped_rank_comes_back_to_a_later_world);
    tcase_add_test(tcase, ranks_die_during_resets);
    tcase_add_test(
        tcase,
        ranks_that_submit_nothing_are_late_together_and_one_that_waits_in_another_set_is_not);
    tcase_add_test(tcase, a_worker_that_is_not_elastic_is_refused);
    tcase_add_test(tcase, a_worker_without_a_number_is_refused);
    tcase_add_test(tcase, a_second_process_with_the_same_number_is_refused);
    tcase_add_test(tcase, the_same_members_may_meet_again_and_again);
    return unit_run(suite);
}
