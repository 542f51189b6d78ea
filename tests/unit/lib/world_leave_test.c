/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that leave, by hvd_shutdown() or by their process's normal end: what they have sent
 * arrives, who needs them is told, who does not goes on. */
#include "lib/hvd.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <unistd.h>

enum { LARGE = 1 << 18 };

/* Whose children in the tree have to be told, too, if it is rank 1 of 8. */
static int until_somebody_leaves(int rank)
{
    int32_t sum;
    init_world();
    for (int i = 0; i < 3; i++)
        REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    if (rank == 1)
        return leave_world();
    REQUIRE_STATUS(sum_of_ranks("grad", &sum), HVD_ERR_PEER_LEFT);
    require_text("allreduce 'grad': rank 1 on testhost left (hvd_shutdown or exit)");
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_PEER_LEFT);
    require_text("barrier: rank 1 on testhost left (hvd_shutdown or exit)");
    return leave_world();
}

START_TEST(a_rank_that_leaves_fails_those_who_go_on)
{
    ranks_run(&(struct mini_options){ .size = _i }, until_somebody_leaves);
}
END_TEST

static int until_somebody_exits(int rank)
{
    int32_t sum;
    init_world();
    REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    if (rank == 1)
        return 0;
    REQUIRE_STATUS(sum_of_ranks("grad", &sum), HVD_ERR_PEER_LEFT);
    require_text("allreduce 'grad': rank 1 on testhost left (hvd_shutdown or exit)");
    return leave_world();
}

START_TEST(normal_exit_says_goodbye)
{
    ranks_run(&(struct mini_options){ .size = 3 }, until_somebody_exits);
}
END_TEST

static int sum_in_set(int set, const char *name, int32_t *sum)
{
    int64_t handle;
    struct hvd_tensor tensor = { .name = name, .input = sum, .output = sum, .dtype = HVD_INT32 };
    *sum = hvd_rank();
    int rc =
        hvd_allreduce_async(&tensor, HVD_SUM, &(struct hvd_options){ .process_set = set }, &handle);
    return rc < 0 ? rc : hvd_wait(handle);
}

/* The set without rank 2 goes on, that with it does not. */
static int go_on_in_a_set(int rank)
{
    int32_t sum;
    init_world();
    int without = hvd_add_process_set((int[]){ 0, 1, 3 }, 3);
    int with = hvd_add_process_set((int[]){ 1, 2, 3 }, 3);
    REQUIRE(without == 1 && with == 2);
    if (rank == 2)
        return leave_world();
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_PEER_LEFT);
    for (int i = 0; i < 100; i++) {
        REQUIRE_STATUS(sum_in_set(without, "s", &sum), HVD_OK);
        REQUIRE(sum == 0 + 1 + 3);
    }
    REQUIRE_STATUS(sum_in_set(with, "s", &sum), rank == 0 ? HVD_ERR_INVALID : HVD_ERR_PEER_LEFT);
    return leave_world();
}

START_TEST(sets_without_the_rank_that_left_go_on)
{
    ranks_run(&(struct mini_options){ .size = 4 }, go_on_in_a_set);
}
END_TEST

static void *wait_in_a_barrier(void *status)
{
    atomic_store(&shared->counters[0], gettid());
    *(int *)status = hvd_barrier();
    return NULL;
}

static void start_to_wait(pthread_t *thread, int *status)
{
    REQUIRE(pthread_create(thread, NULL, wait_in_a_barrier, status) == 0);
    wait_for(0, 1);
    wait_until_asleep(atomic_load(&shared->counters[0]));
}

/* Rank 1 stays away from the barrier until rank 0 has ended. */
static int come_late(int expected)
{
    wait_for(1, 1);
    REQUIRE_STATUS(hvd_barrier(), expected);
    return leave_world();
}

/* With no time for a goodbye. */
static int exit_during_a_barrier(int rank)
{
    static int status;
    pthread_t thread;
    init_world();
    if (rank == 1)
        return come_late(HVD_ERR_PEER_LOST);
    start_to_wait(&thread, &status);
    return 0;
}

static int leave_during_a_barrier(int rank)
{
    int status;
    pthread_t thread;
    init_world();
    if (rank == 1)
        return come_late(HVD_ERR_PEER_LEFT);
    start_to_wait(&thread, &status);
    leave_world();
    pthread_join(thread, NULL);
    REQUIRE(status == HVD_ERR_SHUT_DOWN);
    return 0;
}

static void run_rank_0_first(rank_fn *body)
{
    struct mini_rendezvous mini;
    struct ranks ranks;
    mini_rendezvous_start(&mini, &(struct mini_options){ .size = 2 });
    ranks_start(&ranks, 2, &mini, body);
    ck_assert_int_eq(ranks_wait(&ranks, 0), 0);
    atomic_store(&shared->counters[1], 1);
    ck_assert_int_eq(ranks_wait(&ranks, 1), 0);
    mini_rendezvous_stop(&mini);
}

START_TEST(exit_does_not_wait_for_a_thread_inside_a_collective)
{
    run_rank_0_first(exit_during_a_barrier);
}
END_TEST

START_TEST(shutdown_fails_the_collective_of_another_thread)
{
    run_rank_0_first(leave_during_a_barrier);
}
END_TEST

/* The last collectives of a rank that leaves at once still reach the others. */
static int leave_at_once(int rank)
{
    float *data = calloc(LARGE, sizeof *data);
    int32_t sum;
    init_world();
    data[LARGE - 1] = rank == 0 ? 5.0f : 0.0f;
    REQUIRE_STATUS(hvd_broadcast("w", data, LARGE, HVD_FLOAT32, 0), HVD_OK);
    REQUIRE(data[LARGE - 1] == 5.0f);
    REQUIRE_STATUS(sum_of_ranks("s", &sum), HVD_OK);
    free(data);
    return leave_world();
}

START_TEST(what_was_sent_before_leaving_arrives)
{
    for (int i = 0; i < 10; i++)
        ranks_run(&(struct mini_options){ .size = _i }, leave_at_once);
}
END_TEST

static int after_shutdown(int rank)
{
    (void)rank;
    int32_t sum = 0;
    init_world();
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    leave_world();
    leave_world();
    REQUIRE_STATUS(hvd_size(), HVD_ERR_SHUT_DOWN);
    REQUIRE_STATUS(hvd_allreduce("a", &sum, &sum, 1, HVD_INT32, HVD_SUM), HVD_ERR_SHUT_DOWN);
    REQUIRE(hvd_is_initialized() == 0);
    return 0;
}

START_TEST(nothing_but_hvd_init_works_after_shutdown)
{
    ranks_run(&(struct mini_options){ .size = 2 }, after_shutdown);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_leave");
    TCase *tcase = tcase_create("world_leave");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    ranks_add_test(tcase, a_rank_that_leaves_fails_those_who_go_on, 2, 8);
    tcase_add_test(tcase, normal_exit_says_goodbye);
    tcase_add_test(tcase, sets_without_the_rank_that_left_go_on);
    tcase_add_test(tcase, exit_does_not_wait_for_a_thread_inside_a_collective);
    tcase_add_test(tcase, shutdown_fails_the_collective_of_another_thread);
    ranks_add_test(tcase, what_was_sent_before_leaving_arrives, 4, 7);
    tcase_add_test(tcase, nothing_but_hvd_init_works_after_shutdown);
    return unit_run(suite);
}
