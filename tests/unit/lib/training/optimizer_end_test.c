/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions that fail and worlds that end under an optimizer; and threads that use one at once. */
#include "lib/hvd_optimizer.h"

#include "lib/training/optimizer_impl.h"
#include "tests/support/model.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct model model;

/* An allreduce that some other part of the program makes. */
static int64_t reduce_elsewhere(const char *name, float *data, int64_t count)
{
    const int64_t dims[] = { count / 3, 3 };
    const struct hvd_tensor tensor = {
        .name = name, .input = data, .output = data, .dtype = HVD_FLOAT32, .ndims = 2, .dims = dims
    };
    int64_t handle;
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_AVERAGE, NULL, &handle), HVD_OK);
    return handle;
}

static void require_nothing_in_flight(const struct hvd_optimizer *optimizer)
{
    for (int i = 0; i < optimizer->ngroups; i++)
        REQUIRE(!optimizer->groups[i].in_flight);
}

static void step_well(struct hvd_optimizer *optimizer, int rank)
{
    model_ready_all(&model, optimizer, 2 * rank);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    model_require_all(&model, 1);
}

/* --- reductions that fail --- */

/* Rank 1 uses the name of a gradient for something else, which rank 0's step meets. */
static int disagree(int rank)
{
    float other[12] = { 0 };
    const struct hvd_optimizer_options options = { .compression = HVD_COMPRESSION_BF16,
                                                   .equal_groups = 6 };
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
    if (rank == 0) {
        model_ready_all(&model, optimizer, 5);
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_ERR_MISMATCH);
        require_text("optimizer: allreduce 'allreduce.w': ");
    } else {
        REQUIRE_STATUS(hvd_wait(reduce_elsewhere("allreduce.w", other, 12)), HVD_ERR_MISMATCH);
        for (int i = 1; i < MODEL_PARAMETERS; i++)
            REQUIRE_STATUS(hvd_optimizer_ready(optimizer, i), HVD_OK);
        groups_wait(optimizer, &(struct err){ .code = HVD_OK });
        optimizer_open(optimizer);
    }
    REQUIRE(model.updates == 0);
    require_nothing_in_flight(optimizer);
    step_well(optimizer, rank);
    step_well(optimizer, rank);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(a_step_that_fails_updates_nothing_and_the_next_can_succeed)
{
    ranks_run(&(struct mini_options){ .size = 2 }, disagree);
}
END_TEST

/* Both ranks use the name, and rank 0 also for its optimizer at the same time. */
static int use_a_name_twice(int rank)
{
    float other[6] = { 0 };
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, NULL);
    if (rank == 0) {
        int64_t handle = reduce_elsewhere("allreduce.w", other, 6);
        model_set(&model, MODEL_W, 4);
        REQUIRE_STATUS(hvd_optimizer_ready(optimizer, MODEL_W), HVD_ERR_INVALID);
        require_text("optimizer: allreduce 'allreduce.w': ");
        require_text("in flight already");
        REQUIRE_STATUS(hvd_optimizer_ready(optimizer, MODEL_W), HVD_ERR_INVALID);
        require_text("its gradient is ready already");
        atomic_fetch_add(&shared->counters[0], 1);
        REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    } else {
        wait_for(0, 1);
        REQUIRE_STATUS(hvd_wait(reduce_elsewhere("allreduce.w", other, 6)), HVD_OK);
    }
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    model_require(&model, MODEL_W, 2);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(what_could_not_be_submitted_is_submitted_by_the_step)
{
    ranks_run(&(struct mini_options){ .size = 2 }, use_a_name_twice);
}
END_TEST

/* --- worlds that end --- */

/* Rank 1 dies when the gradients of the others are on their way. */
static int lose_a_rank(int rank)
{
    char text[512];
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, NULL);
    if (rank == 1) {
        wait_for(0, 2);
        raise(SIGKILL);
    }
    model_ready_all(&model, optimizer, 1);
    atomic_fetch_add(&shared->counters[0], 1);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_ERR_PEER_LOST);
    require_text("optimizer: ");
    require_text("the connection to rank 1 on testhost broke");
    snprintf(text, sizeof text, "%s", hvd_last_error());
    require_nothing_in_flight(optimizer);
    REQUIRE_STATUS(hvd_optimizer_ready(optimizer, MODEL_W), HVD_ERR_PEER_LOST);
    REQUIRE(strcmp(text, hvd_last_error()) == 0);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_ERR_PEER_LOST);
    REQUIRE(strcmp(text, hvd_last_error()) == 0);
    REQUIRE(model.updates == 0);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(a_step_says_that_a_rank_was_lost)
{
    ranks_run_but(&(struct mini_options){ .size = 3 }, lose_a_rank, 1);
}
END_TEST

static int lose_a_rank_before_destroying(int rank)
{
    const struct hvd_optimizer_options options = { .equal_groups = 2 };
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
    if (rank == 1) {
        wait_for(0, 2);
        raise(SIGKILL);
    }
    model_ready_all(&model, optimizer, 1);
    atomic_fetch_add(&shared->counters[0], 1);
    hvd_optimizer_destroy(optimizer);
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_PEER_LOST);
    return leave_world();
}

START_TEST(destroying_does_not_wait_for_a_rank_that_is_lost)
{
    ranks_run_but(&(struct mini_options){ .size = 3 }, lose_a_rank_before_destroying, 1);
}
END_TEST

/* Rank 0 leaves with gradients on the way, rank 1 is told so. */
static int leave_first(int rank)
{
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, NULL);
    for (int i = 0; i < MODEL_PARAMETERS; i++)
        if (i % 2 == rank)
            REQUIRE_STATUS(hvd_optimizer_ready(optimizer, i), HVD_OK);
    atomic_fetch_add(&shared->counters[0], 1);
    wait_for(0, 2);
    if (rank == 0) {
        leave_world();
        REQUIRE_STATUS(hvd_optimizer_ready(optimizer, MODEL_B), HVD_ERR_SHUT_DOWN);
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_ERR_SHUT_DOWN);
    } else {
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_ERR_PEER_LEFT);
    }
    REQUIRE(model.updates == 0);
    hvd_optimizer_destroy(optimizer);
    return rank == 0 ? 0 : leave_world();
}

START_TEST(an_optimizer_outlives_the_world)
{
    ranks_run(&(struct mini_options){ .size = 2 }, leave_first);
}
END_TEST

/* Both destroy with some on the way: each waits for the other's gradients. */
static int destroy_early(int rank)
{
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, NULL);
    model_ready_all(&model, optimizer, 2 * rank);
    hvd_optimizer_destroy(optimizer);
    model_require_all(&model, 1);
    return leave_world();
}

START_TEST(destroying_waits_for_what_is_on_the_way)
{
    ranks_run(&(struct mini_options){ .size = 2 }, destroy_early);
}
END_TEST

/* --- threads --- */

enum { THREADS = 4, STEPS = 30 };

static struct {
    struct hvd_optimizer *optimizer;
    pthread_barrier_t barrier;
    atomic_int taken;
} team;

/* Each thread has parameters of its own; all try to have MODEL_EMPTY. */
static void *make_ready(void *number)
{
    for (int step = 0; step < STEPS; step++) {
        pthread_barrier_wait(&team.barrier);
        for (int i = (int)(intptr_t)number; i < MODEL_EMPTY; i += THREADS)
            model_ready(&model, team.optimizer, i, 2 * hvd_rank());
        int rc = hvd_optimizer_ready(team.optimizer, MODEL_EMPTY);
        REQUIRE(rc == HVD_OK || rc == HVD_ERR_INVALID);
        atomic_fetch_add(&team.taken, rc == HVD_OK);
        pthread_barrier_wait(&team.barrier);
        pthread_barrier_wait(&team.barrier);
    }
    return NULL;
}

static void step_with_threads(const struct hvd_optimizer_options *options)
{
    pthread_t threads[THREADS];
    team.optimizer = model_optimizer(&model, options);
    team.taken = 0;
    REQUIRE(pthread_barrier_init(&team.barrier, NULL, THREADS + 1) == 0);
    for (intptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, make_ready, (void *)i) == 0);
    for (int step = 1; step <= STEPS; step++) {
        pthread_barrier_wait(&team.barrier);
        pthread_barrier_wait(&team.barrier);
        REQUIRE_STATUS(hvd_optimizer_step(team.optimizer), HVD_OK);
        REQUIRE(team.taken == step);
        model_require_all(&model, 1);
        pthread_barrier_wait(&team.barrier);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&team.barrier);
    hvd_optimizer_destroy(team.optimizer);
}

static int use_threads(int rank)
{
    (void)rank;
    init_world();
    step_with_threads(&(struct hvd_optimizer_options){ .compression = HVD_COMPRESSION_FP16 });
    step_with_threads(&(struct hvd_optimizer_options){ .equal_groups = 2 });
    return leave_world();
}

START_TEST(threads_make_gradients_ready_at_once)
{
    ranks_run(&(struct mini_options){ .size = 2 }, use_threads);
}
END_TEST

static void require_busy(int rc, const char *text)
{
    REQUIRE_STATUS(rc, HVD_ERR_INVALID);
    require_text(text);
}

/* While the main thread waits in its step, for rank 1. */
static void *disturb(void *unused)
{
    (void)unused;
    wait_for(1, 1);
    wait_until_asleep(getpid());
    require_busy(hvd_optimizer_ready(team.optimizer, MODEL_W), "a synchronization is under way");
    require_busy(hvd_optimizer_synchronize(team.optimizer), "step or synchronization is under way");
    require_busy(hvd_optimizer_step(team.optimizer), "step or synchronization is under way");
    require_busy(hvd_optimizer_zero_gradients(team.optimizer), "is under way");
    require_busy(hvd_optimizer_skip_synchronize(team.optimizer), "is under way");
    atomic_fetch_add(&shared->counters[0], 1);
    return NULL;
}

static int disturb_a_step(int rank)
{
    pthread_t thread;
    init_world();
    team.optimizer = model_optimizer(&model, NULL);
    if (rank == 1)
        wait_for(0, 1);
    else
        REQUIRE(pthread_create(&thread, NULL, disturb, NULL) == 0);
    model_ready_all(&model, team.optimizer, 2 * rank);
    atomic_fetch_add(&shared->counters[1], rank == 0);
    REQUIRE_STATUS(hvd_optimizer_step(team.optimizer), HVD_OK);
    model_require_all(&model, 1);
    REQUIRE(rank == 1 || pthread_join(thread, NULL) == 0);
    hvd_optimizer_destroy(team.optimizer);
    return leave_world();
}

START_TEST(calls_that_meet_a_step_are_refused)
{
    ranks_run(&(struct mini_options){ .size = 2 }, disturb_a_step);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizer_end");
    TCase *tcase = tcase_create("optimizer_end");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_step_that_fails_updates_nothing_and_the_next_can_succeed);
    tcase_add_test(tcase, what_could_not_be_submitted_is_submitted_by_the_step);
    tcase_add_test(tcase, a_step_says_that_a_rank_was_lost);
    tcase_add_test(tcase, destroying_does_not_wait_for_a_rank_that_is_lost);
    tcase_add_test(tcase, an_optimizer_outlives_the_world);
    tcase_add_test(tcase, destroying_waits_for_what_is_on_the_way);
    tcase_add_test(tcase, threads_make_gradients_ready_at_once);
    tcase_add_test(tcase, calls_that_meet_a_step_are_refused);
    return unit_run(suite);
}
