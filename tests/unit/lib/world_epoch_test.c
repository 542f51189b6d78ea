/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds that follow each other in one process, in a job that is not elastic: the same ranks come
 * again, and nothing of the former world is left. */
#include "lib/hvd.h"
#include "tests/support/live_rendezvous.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_TIMEOUT_MS = 600000 };

static void run_static(int size, uint64_t start_timeout_ms, rank_fn *body)
{
    struct live_rendezvous live;
    struct ranks ranks;
    live_rendezvous_start(&live, size, start_timeout_ms);
    ranks_start(&ranks, size, &live.mini, body);
    ranks_wait_all(&ranks);
    live_rendezvous_stop(&live);
}

static int count_entries(const char *folder)
{
    int count = 0;
    DIR *dir = opendir(folder);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static int five_epochs(int rank)
{
    for (int epoch = 0; epoch < 5; epoch++) {
        init_world();
        REQUIRE(hvd_epoch() == epoch && hvd_rank() == rank && hvd_hosts_updated() == 0);
        check_collectives(1000);
        leave_world();
        REQUIRE_STATUS(hvd_epoch(), HVD_ERR_SHUT_DOWN);
        REQUIRE_STATUS(hvd_hosts_updated(), HVD_ERR_SHUT_DOWN);
        REQUIRE_STATUS(hvd_barrier(), HVD_ERR_SHUT_DOWN);
    }
    return 0;
}

START_TEST(the_same_ranks_meet_again_after_shutdown)
{
    run_static(_i, START_TIMEOUT_MS, five_epochs);
}
END_TEST

/* Rank 0 waits for the next epoch while the others are still in the first. */
static int come_again_one_by_one(int rank)
{
    int32_t sum;
    init_world();
    int set = hvd_add_process_set((int[]){ 1, 2 }, 2);
    REQUIRE(set == 1);
    if (rank == 0) {
        leave_world();
        init_world();
    } else {
        int64_t handle;
        struct hvd_tensor tensor = {
            .name = "s", .input = &sum, .output = &sum, .dtype = HVD_INT32
        };
        for (int i = 0; i < 100; i++) {
            sum = rank;
            REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM,
                                               &(struct hvd_options){ .process_set = set },
                                               &handle),
                           HVD_OK);
            REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
            REQUIRE(sum == 3);
        }
        leave_world();
        init_world();
    }
    REQUIRE(hvd_epoch() == 1);
    REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    REQUIRE(sum == 3);
    REQUIRE(hvd_process_set_size(set) == HVD_ERR_INVALID); /* the sets of the former are gone */
    return leave_world();
}

START_TEST(an_epoch_that_gathers_disturbs_nobody_in_the_world_before)
{
    run_static(3, START_TIMEOUT_MS, come_again_one_by_one);
}
END_TEST

static int keep_a_handle(int rank)
{
    int32_t sum = rank;
    int64_t old, fresh;
    struct hvd_tensor tensor = { .name = "a", .input = &sum, .output = &sum, .dtype = HVD_INT32 };
    init_world();
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &old), HVD_OK);
    atomic_fetch_add(&shared->counters[0], 1);
    wait_for(0, 2); /* a rank cannot submit after the other has left */
    leave_world();
    REQUIRE_STATUS(hvd_wait(old), HVD_ERR_SHUT_DOWN);
    init_world();
    REQUIRE_STATUS(hvd_poll(old), HVD_ERR_STALE);
    REQUIRE_STATUS(hvd_wait(old), HVD_ERR_STALE);
    require_text("is of an epoch that this process has left");
    REQUIRE_STATUS(hvd_wait_timeout(old, 0, NULL), HVD_ERR_STALE);
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &fresh), HVD_OK);
    REQUIRE(fresh != old);
    REQUIRE_STATUS(hvd_wait(old), HVD_ERR_STALE);
    REQUIRE_STATUS(hvd_wait(fresh), HVD_OK);
    REQUIRE_STATUS(hvd_wait(fresh), HVD_ERR_INVALID);
    return leave_world();
}

START_TEST(a_handle_of_an_earlier_epoch_is_stale)
{
    run_static(2, START_TIMEOUT_MS, keep_a_handle);
}
END_TEST

static void *wait_for_nobody(void *status)
{
    int32_t sum = 0;
    *(int *)status = sum_of_ranks("alone", &sum);
    return NULL;
}

/* A thread of rank 0 is inside a collective that rank 1 never submits. */
static int leave_with_a_thread_inside(int rank)
{
    int status = 0;
    int32_t sum;
    pthread_t thread;
    init_world();
    REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    if (rank == 0)
        REQUIRE(pthread_create(&thread, NULL, wait_for_nobody, &status) == 0);
    leave_world();
    if (rank == 0) {
        pthread_join(thread, NULL);
        REQUIRE(status == HVD_ERR_SHUT_DOWN || status == HVD_ERR_PEER_LEFT);
    }
    init_world();
    REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    return leave_world();
}

START_TEST(a_call_of_an_earlier_epoch_ends)
{
    run_static(2, START_TIMEOUT_MS, leave_with_a_thread_inside);
}
END_TEST

/* Rank 1 ends instead of coming again. */
static int until_one_stays_away(int rank)
{
    init_world();
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    leave_world();
    if (rank == 1)
        return 0;
    atomic_fetch_add(&shared->counters[0], 1);
    REQUIRE_STATUS(hvd_init(), HVD_ERR_PEER_LOST);
    require_text("rank 1 on testhost");
    REQUIRE(hvd_is_initialized() == 0);
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_SHUT_DOWN);
    REQUIRE_STATUS(hvd_init(), HVD_ERR_PEER_LOST);
    return leave_world();
}

START_TEST(who_waits_for_a_rank_that_has_ended_is_refused)
{
    struct live_rendezvous live;
    struct ranks ranks;
    live_rendezvous_start(&live, 3, START_TIMEOUT_MS);
    ranks_start(&ranks, 3, &live.mini, until_one_stays_away);
    ck_assert_int_eq(ranks_wait(&ranks, 1), 0);
    live_ended(&live, 1, false);
    ck_assert_int_eq(ranks_wait(&ranks, 0), 0);
    ck_assert_int_eq(ranks_wait(&ranks, 2), 0);
    live_rendezvous_stop(&live);
}
END_TEST

static int after_a_loss(int rank)
{
    init_world();
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    if (rank == 1)
        _exit(3);
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_PEER_LOST);
    leave_world();
    REQUIRE_STATUS(hvd_init(), HVD_ERR_PEER_LOST);
    return 0;
}

START_TEST(there_is_no_epoch_after_a_rank_was_lost)
{
    struct live_rendezvous live;
    struct ranks ranks;
    live_rendezvous_start(&live, 2, START_TIMEOUT_MS);
    ranks_start(&ranks, 2, &live.mini, after_a_loss);
    ck_assert_int_eq(ranks_wait(&ranks, 1), 3);
    live_ended(&live, 1, true);
    ck_assert_int_eq(ranks_wait(&ranks, 0), 0);
    live_rendezvous_stop(&live);
}
END_TEST

/* ---- nothing is left ---- */

struct resources {
    int descriptors, threads;
    size_t nbytes;
};

static struct resources take_stock(void)
{
    struct mallinfo2 info = mallinfo2();
    return (struct resources){ count_entries("/proc/self/fd"), count_entries("/proc/self/task"),
                               info.uordblks + info.hblkhd };
}

static void use_world(void)
{
    int32_t sum;
    static float data[20000];
    REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    REQUIRE_STATUS(hvd_allreduce("b", data, data, 20000, HVD_FLOAT32, HVD_SUM), HVD_OK);
}

static void wait_for_threads(int count)
{
    while (count_entries("/proc/self/task") > count)
        sched_yield(); /* the kernel takes a moment to bury a thread that was joined */
}

/* The first epochs may leave what is made once. */
static int many_epochs(int rank)
{
    enum { EPOCHS = 1000, WARM = 20, SLACK = 16 * 1024 };
    struct resources before = { 0 };
    int threads = count_entries("/proc/self/task");
    (void)rank;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        init_world();
        use_world();
        leave_world();
        wait_for_threads(threads);
        if (epoch == WARM)
            before = take_stock();
    }
    struct resources after = take_stock();
    REQUIRE(after.descriptors == before.descriptors);
    REQUIRE(after.threads == before.threads);
    if (after.nbytes > before.nbytes + SLACK)
        fprintf(stderr, "%zu bytes before, %zu after\n", before.nbytes, after.nbytes);
    REQUIRE(after.nbytes <= before.nbytes + SLACK);
    return 0;
}

START_TEST(a_thousand_epochs_leave_nothing_behind)
{
    run_static(2, START_TIMEOUT_MS, many_epochs);
}
END_TEST

static int alone(void)
{
    for (int epoch = 0; epoch < 1000; epoch++) {
        init_world();
        REQUIRE(hvd_epoch() == epoch && hvd_size() == 1);
        use_world();
        leave_world();
    }
    return 0;
}

START_TEST(a_process_alone_has_epochs_too)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        exit(alone());
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* ---- forks ---- */

static int in_the_child(void)
{
    return hvd_init() == HVD_ERR_FORKED && hvd_epoch() == HVD_ERR_FORKED ? 0 : 1;
}

static void fork_and_check(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(in_the_child());
    REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
}

static int fork_in_each_epoch(int rank)
{
    (void)rank;
    for (int epoch = 0; epoch < 3; epoch++) {
        init_world();
        fork_and_check();
        REQUIRE_STATUS(hvd_barrier(), HVD_OK);
        leave_world();
        fork_and_check();
    }
    return 0;
}

START_TEST(a_forked_child_holds_no_world_in_any_epoch)
{
    run_static(2, START_TIMEOUT_MS, fork_in_each_epoch);
}
END_TEST

/* Its normal end says goodbye in the second epoch, too. */
static int end_in_the_second_epoch(int rank)
{
    init_world();
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    leave_world();
    init_world();
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    if (rank == 1)
        return 0;
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_PEER_LEFT);
    return leave_world();
}

START_TEST(normal_exit_says_goodbye_in_a_later_epoch)
{
    run_static(2, START_TIMEOUT_MS, end_in_the_second_epoch);
}
END_TEST

/* ---- files ---- */

static char folder[] = "/tmp/world_epoch.XXXXXX";

static int write_timelines(int rank)
{
    char file[64];
    snprintf(file, sizeof file, "%s/trace", folder);
    setenv("HOROVOD_TIMELINE", file, 1);
    for (int epoch = 0; epoch < 3; epoch++) {
        int32_t sum;
        init_world();
        REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
        leave_world();
    }
    (void)rank;
    return 0;
}

START_TEST(each_epoch_has_a_timeline_of_its_own)
{
    static const char *const names[] = { "trace", "trace.epoch1", "trace.epoch2" };
    char file[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    run_static(2, START_TIMEOUT_MS, write_timelines);
    for (int i = 0; i < 3; i++) {
        snprintf(file, sizeof file, "%s/%s", folder, names[i]);
        ck_assert_int_eq(access(file, F_OK), 0);
        unlink(file);
    }
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

int main(void)
{
    Suite *suite = suite_create("world_epoch");
    TCase *tcase = tcase_create("world_epoch");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, the_same_ranks_meet_again_after_shutdown, 1, 6);
    tcase_add_test(tcase, an_epoch_that_gathers_disturbs_nobody_in_the_world_before);
    tcase_add_test(tcase, a_handle_of_an_earlier_epoch_is_stale);
    tcase_add_test(tcase, a_call_of_an_earlier_epoch_ends);
    tcase_add_test(tcase, who_waits_for_a_rank_that_has_ended_is_refused);
    tcase_add_test(tcase, there_is_no_epoch_after_a_rank_was_lost);
    tcase_add_test(tcase, a_process_alone_has_epochs_too);
    tcase_add_test(tcase, normal_exit_says_goodbye_in_a_later_epoch);
    tcase_add_test(tcase, each_epoch_has_a_timeline_of_its_own);
    if (!SANITIZED) {
        tcase_add_test(tcase, a_thousand_epochs_leave_nothing_behind);
        tcase_add_test(tcase, a_forked_child_holds_no_world_in_any_epoch);
    }
    return unit_run(suite);
}
