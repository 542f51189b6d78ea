/* SPDX-License-Identifier: Apache-2.0 */
/* Ends that must not be taken for others, and nobody who waits for what will not come: ranks that
 * leave while something is under way, process sets that come and go meanwhile, names that meet.
 * Where it matters who is late, that rank is stopped and goes on. */
#include "lib/base/env_names.h"
#include "lib/engine/engine_impl.h"
#include "lib/hvd.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 1 << 18, CALLS = 2000 };

/* What the counters stand for. */
enum { READY, GO, DECIDED, LEAVE, DONE, THREAD };

static void exchange(int counter)
{
    atomic_fetch_add(&shared->counters[counter], 1);
}

static int start_sum(int set, const char *name, int32_t *sum, int64_t *handle)
{
    const struct hvd_tensor tensor = {
        .name = name, .input = sum, .output = sum, .dtype = HVD_INT32
    };
    return hvd_allreduce_async(&tensor, HVD_SUM, &(struct hvd_options){ .process_set = set },
                               handle);
}

static int sum_in_set(int set, int32_t *sum)
{
    int64_t handle;
    int rc = start_sum(set, "s", sum, &handle);
    return rc < 0 ? rc : hvd_wait(handle);
}

/* ---- ranks that leave ---- */

/* Rank 0 alone looks whether the leaver has gone, so that both do as many rounds. */
static int go_on_in_a_set(int rank)
{
    init_world();
    int set = hvd_add_process_set((int[]){ 0, 1 }, 2);
    REQUIRE(set == 1);
    if (rank == 2) {
        wait_for(READY, 10);
        leave_world();
        exchange(DONE);
        return 0;
    }
    for (int left = 0; left < 100;) {
        int32_t gone = rank == 0 ? atomic_load(&shared->counters[DONE]) : 0;
        REQUIRE_STATUS(sum_in_set(set, &gone), HVD_OK);
        left += gone;
        exchange(READY);
    }
    return leave_world();
}

START_TEST(a_set_without_the_leaver_goes_on)
{
    for (int i = 0; i < 5; i++)
        ranks_run(&(struct mini_options){ .size = 3 }, go_on_in_a_set);
}
END_TEST

static int reduce_and_leave(int rank)
{
    (void)rank;
    float *gradient = calloc(LARGE, sizeof *gradient);
    init_world();
    for (int i = 0; i < 3; i++)
        REQUIRE_STATUS(hvd_allreduce("g", gradient, gradient, LARGE, HVD_FLOAT32, HVD_AVERAGE),
                       HVD_OK);
    free(gradient);
    return leave_world();
}

START_TEST(ranks_that_leave_after_the_last_collective_fail_nobody)
{
    for (int i = 0; i < 20; i++)
        ranks_run(&(struct mini_options){ .size = 4 }, reduce_and_leave);
}
END_TEST

/* ---- ranks that are stopped ---- */

typedef void direct_fn(const struct ranks *ranks);

/* A world whose course `direct` tells the ranks by signals and counters. */
static void run_directed(int size, rank_fn *body, direct_fn *direct)
{
    struct mini_rendezvous mini;
    struct ranks ranks;
    mini_rendezvous_start(&mini, &(struct mini_options){ .size = size });
    ranks_start(&ranks, size, &mini, body);
    direct(&ranks);
    ranks_wait_all(&ranks);
    mini_rendezvous_stop(&mini);
}

static void stop(const struct ranks *ranks, int rank)
{
    int status;
    ck_assert_int_eq(kill(ranks->pids[rank], SIGSTOP), 0);
    ck_assert_int_eq(waitpid(ranks->pids[rank], &status, WUNTRACED), ranks->pids[rank]);
    ck_assert(WIFSTOPPED(status));
}

static void resume(const struct ranks *ranks, int rank)
{
    ck_assert_int_eq(kill(ranks->pids[rank], SIGCONT), 0);
}

/* Rank 1 is stopped when all but the others' part is done, and finds what has been decided
 * meanwhile just when it leaves. */
static void leave_late(const struct ranks *ranks)
{
    wait_for(READY, 1);
    stop(ranks, 1);
    exchange(GO);
    wait_for(DECIDED, 1);
    exchange(LEAVE);
    resume(ranks, 1);
}

/* The leaver stays until the others have heard of it: that its process ends must not be what tells
 * them. */
static int leave_when_told(int others)
{
    exchange(READY);
    wait_for(LEAVE, 1);
    leave_world();
    wait_for(DONE, others);
    return 0;
}

static void *add_a_set(void *id)
{
    atomic_store(&shared->counters[THREAD], gettid());
    *(int *)id = hvd_add_process_set((int[]){ 0, 1 }, 2);
    return NULL;
}

static int leave_while_adding(void)
{
    int id = 0;
    int32_t sum;
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, add_a_set, &id) == 0);
    wait_for(THREAD, 1);
    wait_until_asleep(atomic_load(&shared->counters[THREAD]));
    REQUIRE_STATUS(sum_of_ranks("order", &sum), HVD_OK);
    leave_when_told(2);
    pthread_join(thread, NULL);
    REQUIRE(id == 1 || id == HVD_ERR_SHUT_DOWN);
    return 0;
}

/* Rank 2, who does not belong to it, hears at once that it has been decided. */
static int link_a_set(int rank)
{
    int32_t sum;
    init_world();
    if (rank == 1)
        return leave_while_adding();
    REQUIRE_STATUS(sum_of_ranks("order", &sum), HVD_OK);
    if (rank == 2)
        wait_for(GO, 1);
    int id = hvd_add_process_set((int[]){ 0, 1 }, 2);
    REQUIRE(id == 1 || (rank == 0 && id == HVD_ERR_PEER_LEFT));
    if (rank == 2)
        exchange(DECIDED);
    REQUIRE_STATUS(sum_of_ranks("y", &sum), HVD_ERR_PEER_LEFT);
    exchange(DONE);
    wait_for(DONE, 2);
    return leave_world();
}

START_TEST(a_leaver_while_a_set_is_linked_ends_the_adding)
{
    for (int i = 0; i < 5; i++)
        run_directed(3, link_a_set, leave_late);
}
END_TEST

static int start_broadcast(float *data, int64_t *handle)
{
    const struct hvd_tensor tensor = {
        .name = "x", .output = data, .dtype = HVD_FLOAT32, .ndims = 1, .dims = &(int64_t){ LARGE }
    };
    return hvd_broadcast_async(&tensor, 2, NULL, handle);
}

/* What rank 3 has sent in the world comes before what it sends in their set, and what rank 0 has to
 * say to it is said before the second sum. */
static void see_that_it_is_decided(int rank, int set)
{
    int32_t sum = 0;
    if (rank != 0 && rank != 3)
        return;
    for (int i = 0; i < 2; i++)
        REQUIRE_STATUS(sum_in_set(set, &sum), HVD_OK);
    if (rank == 3)
        exchange(DECIDED);
}

/* Of 6 ranks, 1 is between 0 and 2, the root, who may or may not hear that the broadcast has been
 * decided. It stays, and nobody waits for it. */
static int broadcast_from_a_descendant(int rank)
{
    static float data[LARGE];
    int64_t handle;
    int32_t sum;
    setenv(ENV_CYCLE_TIME, "0", 1);
    init_world();
    int set = hvd_add_process_set((int[]){ 0, 3 }, 2);
    REQUIRE(set == 1);
    if (rank != 3)
        REQUIRE_STATUS(start_broadcast(data, &handle), HVD_OK);
    REQUIRE_STATUS(sum_of_ranks("order", &sum), HVD_OK);
    if (rank == 1)
        return leave_when_told(5);
    if (rank == 3) {
        wait_for(GO, 1);
        REQUIRE_STATUS(start_broadcast(data, &handle), HVD_OK);
    }
    see_that_it_is_decided(rank, set);
    int rc = hvd_wait(handle);
    if (rc != HVD_OK)
        REQUIRE_STATUS(rc, HVD_ERR_PEER_LEFT);
    exchange(DONE);
    wait_for(DONE, 5);
    return leave_world();
}

START_TEST(a_descendant_of_a_leaver_does_not_hold_up_the_others)
{
    for (int i = 0; i < 10; i++)
        run_directed(6, broadcast_from_a_descendant, leave_late);
}
END_TEST

/* ---- sets that are removed ---- */

static int remove_a_set(int rank)
{
    int32_t sum;
    init_world();
    int set = hvd_add_process_set((int[]){ 0, 2 }, 2);
    REQUIRE(set == 1);
    if (rank == 3)
        wait_for(GO, 1);
    else
        exchange(READY);
    REQUIRE_STATUS(hvd_remove_process_set(set), HVD_OK);
    REQUIRE_STATUS(sum_of_ranks("after", &sum), HVD_OK);
    return leave_world();
}

/* Rank 2 sees its links to rank 0 end, and for longer than links that end are given to be explained
 * it does not hear why. That it takes so long is no means of synchronisation. */
static void hold_up_rank_1(const struct ranks *ranks)
{
    static const int in_turn[] = { 0, 4, 5, 2, 1 };
    wait_for(READY, 5);
    for (int i = 0; i < 5; i++)
        wait_until_asleep(ranks->pids[in_turn[i]]);
    stop(ranks, 1);
    exchange(GO);
    nanosleep(&(struct timespec){ 1, 400000000 }, NULL);
    resume(ranks, 1);
}

START_TEST(a_set_is_removed_though_a_rank_is_late)
{
    run_directed(6, remove_a_set, hold_up_rank_1);
}
END_TEST

static void add_wrongly(void)
{
    REQUIRE_STATUS(hvd_add_process_set((int[]){ 1 }, 1), HVD_ERR_MISMATCH);
    require_text("process set");
}

static void remove_wrongly(int set)
{
    REQUIRE_STATUS(hvd_remove_process_set(set), HVD_ERR_MISMATCH);
    require_text("process set");
}

static int add_and_remove(int rank)
{
    init_world();
    int set = hvd_add_process_set((int[]){ 0 }, 1);
    REQUIRE(set == 1);
    if (rank == 0)
        add_wrongly();
    remove_wrongly(set);
    if (rank != 0)
        add_wrongly();
    REQUIRE(hvd_add_process_set((int[]){ 1 }, 1) == 2);
    REQUIRE_STATUS(hvd_remove_process_set(set), HVD_OK);
    return leave_world();
}

START_TEST(adding_and_removing_in_different_orders_is_a_mismatch)
{
    ranks_run(&(struct mini_options){ .size = 2 }, add_and_remove);
}
END_TEST

/* ---- names ---- */

static int nameless_sum(void)
{
    int32_t sum;
    return sum_of_ranks(NULL, &sum);
}

static int add_rank_0(void)
{
    int id = hvd_add_process_set((int[]){ 0 }, 1);
    return id == 1 ? HVD_OK : id;
}

static const struct {
    const char *name;
    int (*call)(void);
} namesakes[] = {
    { "barrier", hvd_barrier },
    { "barrier.noname.0", hvd_barrier },
    { "allreduce.noname.0", nameless_sum },
    { "process sets", add_rank_0 },
};
enum { NAMESAKES = sizeof namesakes / sizeof *namesakes };
static int namesake;

/* The tensor is in flight on rank 0 alone during the call. */
static int meet_a_namesake(int rank)
{
    int64_t handle;
    int32_t sum = 1;
    const char *name = namesakes[namesake].name;
    init_world();
    if (rank == 0)
        REQUIRE_STATUS(start_sum(0, name, &sum, &handle), HVD_OK);
    REQUIRE_STATUS(namesakes[namesake].call(), HVD_OK);
    if (rank != 0)
        REQUIRE_STATUS(start_sum(0, name, &sum, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    REQUIRE(sum == 2);
    return leave_world();
}

START_TEST(a_tensor_named_barrier_is_no_barrier)
{
    namesake = _i;
    ranks_run(&(struct mini_options){ .size = 2 }, meet_a_namesake);
}
END_TEST

/* ---- who sleeps ---- */

static atomic_bool enough;

/* Names that nobody else submits: nothing ever comes for them, but each submission looks at what
 * has come for others. */
static void *submit_more(void *arg)
{
    static int32_t sums[100000];
    char name[16];
    int64_t handle;
    (void)arg;
    for (int i = 0; i < 100000 && !enough; i++) {
        snprintf(name, sizeof name, "b%d", i);
        REQUIRE_STATUS(start_sum(0, name, &sums[i], &handle), HVD_OK);
        nanosleep(&(struct timespec){ 0, 20000 + 1000 * (i % 50) }, NULL);
    }
    return NULL;
}

/* Rank 1 comes late by all that the other may need to fall asleep, so that what it sends is found
 * by the other thread just then. Nothing else wakes a rank in this test: one that is not woken
 * sleeps until the test's time is over. */
static int sleep_while_others_look(int rank)
{
    pthread_t thread;
    int32_t sum;
    progress_check_ns = UINT64_MAX / 4;
    init_world();
    if (rank == 0)
        REQUIRE(pthread_create(&thread, NULL, submit_more, NULL) == 0);
    for (int i = 0; i < CALLS; i++) {
        nanosleep(&(struct timespec){ 0, rank == 1 ? 1000 * (37 * i % 600) : 0 }, NULL);
        REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    }
    enough = true;
    if (rank == 0)
        pthread_join(thread, NULL);
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    return leave_world();
}

START_TEST(who_sleeps_is_woken_when_another_thread_finds_it_done)
{
    ranks_run(&(struct mini_options){ .size = 2 }, sleep_while_others_look);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine_ends");
    TCase *tcase = tcase_create("engine_ends");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, a_set_without_the_leaver_goes_on);
    tcase_add_test(tcase, ranks_that_leave_after_the_last_collective_fail_nobody);
    tcase_add_test(tcase, a_leaver_while_a_set_is_linked_ends_the_adding);
    tcase_add_test(tcase, a_descendant_of_a_leaver_does_not_hold_up_the_others);
    tcase_add_test(tcase, a_set_is_removed_though_a_rank_is_late);
    tcase_add_test(tcase, adding_and_removing_in_different_orders_is_a_mismatch);
    tcase_add_loop_test(tcase, a_tensor_named_barrier_is_no_barrier, 0, NAMESAKES);
    tcase_add_test(tcase, who_sleeps_is_woken_when_another_thread_finds_it_done);
    return unit_run(suite);
}
