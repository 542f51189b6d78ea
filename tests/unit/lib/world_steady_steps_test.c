/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds that repeat steps of many tensors in flight, as training does, and ranks that deviate from
 * them: results stay right, errors name ranks and values, and nobody waits for ever. */
#include "lib/engine/engine.h"
#include "lib/hvd.h"
#include "lib/process.h"
#include "lib/world.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* So many rounds are more than a schedule needs. */
enum { LEARNT = 100 };

/* ---- steps of many tensors ---- */

/* Small and large tensors, one with a factor: some are fused, and those of more than 16 KiB go
 * alone. */
enum { STEP = 24, STEP_LARGEST = 4500, STEPS = 20 };

static int step_length(int which)
{
    return which % 6 == 5 ? STEP_LARGEST - which : 1 + which * which;
}

static float step_factor(int which)
{
    return which == 7 ? 2 : 1;
}

static float step_input(int rank, int which, int number, int k)
{
    return (float)(rank + which + number % 100 + k % 10);
}

struct step {
    int64_t handles[STEP];
    float data[STEP][STEP_LARGEST];
};
static struct step step;

static int step_submit(int which, int number, int longer)
{
    char name[16];
    int64_t dim = step_length(which) + longer;
    snprintf(name, sizeof name, "g%d", which);
    struct hvd_tensor tensor = { .name = name,
                                 .input = step.data[which],
                                 .output = step.data[which],
                                 .dtype = HVD_FLOAT32,
                                 .ndims = 1,
                                 .dims = &dim };
    struct hvd_options options = { .prescale = step_factor(which), .postscale = 1 };
    int rank = hvd_rank();
    for (int k = 0; k < step_length(which); k++)
        step.data[which][k] = step_input(rank, which, number, k);
    return hvd_allreduce_async(&tensor, HVD_SUM, step_factor(which) != 1 ? &options : NULL,
                               &step.handles[which]);
}

static void step_check(int which, int number)
{
    float size = (float)hvd_size(), sum = (float)sum_of_numbers();
    int right = 0;
    REQUIRE_STATUS(hvd_wait(step.handles[which]), HVD_OK);
    for (int k = 0; k < step_length(which); k++)
        right += step.data[which][k] ==
                 step_factor(which) * (size * step_input(0, which, number, k) + sum);
    REQUIRE(right == step_length(which));
}

/* Number `i` in the order of a rank in a step. */
static int step_order(int i, int rank, int number)
{
    static const int strides[] = { 1, 5, 7, 11, 13, 17, 19, 23 };
    return (i * strides[(number + rank) % 8] + number) % STEP;
}

static void step_run(int number)
{
    int rank = hvd_rank();
    for (int i = 0; i < STEP; i++)
        REQUIRE_STATUS(step_submit(step_order(i, rank, number), number, 0), HVD_OK);
    for (int i = 0; i < STEP; i++)
        step_check(step_order(i, rank + 1, number), number);
}

static void step_run_many(int first)
{
    for (int number = first; number < first + STEPS; number++)
        step_run(number);
}

static int repeat_steps(int rank)
{
    (void)rank;
    init_world();
    step_run_many(0);
    sum_rounds("in between", 3);
    step_run_many(STEPS);
    return leave_world();
}

START_TEST(steps_of_many_tensors_in_any_order_have_the_right_results)
{
    ranks_run(&(struct mini_options){ .size = _i }, repeat_steps);
}
END_TEST

START_TEST(steps_of_many_tensors_have_the_right_results_between_hosts)
{
    ranks_run(&(struct mini_options){ .size = 2, .anywhere = true }, repeat_steps);
}
END_TEST

/* A rank waits for each tensor before it submits the next one, in an order of its own. */
static int wait_for_each(int rank)
{
    init_world();
    for (int round = 0; round < 4; round++) {
        step_run_many(round * STEPS);
        for (int i = 0; rank == round % hvd_size() && i < STEP; i++) {
            int which = step_order(i, 3, round);
            REQUIRE_STATUS(step_submit(which, round, 0), HVD_OK);
            step_check(which, round);
        }
        if (rank != round % hvd_size())
            step_run(round);
    }
    return leave_world();
}

START_TEST(a_rank_that_waits_for_one_tensor_of_many_before_it_submits_the_rest_gets_it)
{
    ranks_run(&(struct mini_options){ .size = _i }, wait_for_each);
}
END_TEST

/* The same, of ranks that ask instead of waiting; all ranks do. */
static int poll_for_each(int rank)
{
    (void)rank;
    init_world();
    step_run_many(0);
    for (int i = 0; i < STEP; i++) {
        int which = step_order(i, 3, 0);
        REQUIRE_STATUS(step_submit(which, 0, 0), HVD_OK);
        while (hvd_poll(step.handles[which]) == 0)
            usleep(100);
        step_check(which, 0);
    }
    return leave_world();
}

START_TEST(ranks_that_ask_for_one_tensor_of_many_before_they_submit_the_rest_get_it)
{
    ranks_run(&(struct mini_options){ .size = _i }, poll_for_each);
}
END_TEST

/* One tensor of a step has another shape on one rank. */
static int deviate_in_a_step(int rank)
{
    init_world();
    for (int round = 0; round < 3; round++) {
        int odd = 3 + round;
        step_run_many(0);
        for (int i = 0; i < STEP; i++) {
            int which = step_order(i, rank, round);
            int longer = which == odd && rank == round % hvd_size();
            REQUIRE_STATUS(step_submit(which, 0, longer), HVD_OK);
        }
        REQUIRE_STATUS(hvd_wait(step.handles[odd]), HVD_ERR_MISMATCH);
        char name[40], shapes[2][20];
        snprintf(name, sizeof name, "allreduce 'g%d'", odd);
        for (int i = 0; i < 2; i++)
            snprintf(shapes[i], sizeof shapes[i], "[%d]", step_length(odd) + i);
        require_text(name);
        require_text(shapes[0]);
        require_text(shapes[1]);
        for (int i = 0; i < STEP; i++)
            if (i != odd)
                step_check(i, 0);
    }
    return leave_world();
}

START_TEST(another_shape_of_one_tensor_of_many_is_an_error_of_this_tensor_alone)
{
    ranks_run(&(struct mini_options){ .size = _i }, deviate_in_a_step);
}
END_TEST

/* Rank 1 submits a part of a step, and joins. */
static int join_in_a_step(int rank)
{
    int last, given = 10;
    init_world();
    step_run_many(0);
    for (int i = 0; i < (rank == 1 ? given : STEP); i++)
        REQUIRE_STATUS(step_submit(i, 0, 0), HVD_OK);
    REQUIRE_STATUS(hvd_join(&last), HVD_OK);
    for (int i = 0; i < given; i++)
        step_check(i, 0);
    for (int i = given; rank != 1 && i < STEP; i++) {
        REQUIRE_STATUS(hvd_wait(step.handles[i]), HVD_OK);
        float expected = (float)(hvd_size() - 1) * step_input(0, i, 0, 0);
        REQUIRE(step.data[i][0] == step_factor(i) * (expected + (float)sum_of_numbers() - 1));
    }
    step_run_many(0);
    return leave_world();
}

START_TEST(a_rank_that_joins_in_the_middle_of_a_step_contributes_zeros_to_the_rest)
{
    ranks_run(&(struct mini_options){ .size = _i }, join_in_a_step);
}
END_TEST

/* Rank 1 submits a part of a step, and leaves. */
static int leave_in_a_step(int rank)
{
    init_world();
    step_run_many(0);
    for (int i = 0; i < (rank == 1 ? STEP / 2 : STEP); i++)
        REQUIRE_STATUS(step_submit(i, 0, 0), HVD_OK);
    atomic_fetch_add(&shared->counters[0], 1);
    if (rank == 1)
        wait_for(0, hvd_size());
    if (rank == 1)
        return leave_world();
    REQUIRE_STATUS(hvd_wait(step.handles[STEP - 1]), HVD_ERR_PEER_LEFT);
    require_text("rank 1 on testhost left (hvd_shutdown or exit)");
    return leave_world();
}

START_TEST(a_rank_that_leaves_in_the_middle_of_a_step_is_named)
{
    ranks_run(&(struct mini_options){ .size = _i }, leave_in_a_step);
}
END_TEST

static int die_in_a_step(int rank)
{
    init_world();
    step_run_many(0);
    for (int i = 0; i < (rank == 1 ? STEP / 2 : STEP); i++)
        REQUIRE_STATUS(step_submit(i, 0, 0), HVD_OK);
    atomic_fetch_add(&shared->counters[0], 1);
    if (rank == 1)
        wait_for(0, hvd_size());
    if (rank == 1)
        kill(getpid(), SIGKILL);
    REQUIRE_STATUS(hvd_wait(step.handles[STEP - 1]), HVD_ERR_PEER_LOST);
    require_text("rank 1");
    return leave_world();
}

START_TEST(a_rank_that_is_killed_in_the_middle_of_a_step_is_named)
{
    ranks_run_but(&(struct mini_options){ .size = _i }, die_in_a_step, 1);
}
END_TEST

/* Rank 0 has submitted a tensor, and neither it nor the others submit the rest yet. */
static int submit_twice_in_a_step(int rank)
{
    int64_t again;
    int64_t dim = step_length(0);
    init_world();
    step_run_many(0);
    if (rank == 0) {
        REQUIRE_STATUS(step_submit(0, 0, 0), HVD_OK);
        struct hvd_tensor tensor = { .name = "g0",
                                     .input = step.data[1],
                                     .output = step.data[1],
                                     .dtype = HVD_FLOAT32,
                                     .ndims = 1,
                                     .dims = &dim };
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &again), HVD_ERR_INVALID);
        require_text("allreduce 'g0': a tensor of this name is in flight already");
        atomic_fetch_add(&shared->counters[0], 1);
    } else {
        wait_for(0, 1);
        REQUIRE_STATUS(step_submit(0, 0, 0), HVD_OK);
    }
    for (int i = 1; i < STEP; i++)
        REQUIRE_STATUS(step_submit(i, 0, 0), HVD_OK);
    for (int i = 0; i < STEP; i++)
        step_check(i, 0);
    return leave_world();
}

START_TEST(the_name_of_one_tensor_of_many_that_waits_for_its_turn_is_refused)
{
    ranks_run(&(struct mini_options){ .size = 2 }, submit_twice_in_a_step);
}
END_TEST

/* ---- questions ---- */

static void read_page(struct join_report *report)
{
    struct world *world = process_enter(NULL);
    REQUIRE(world != NULL);
    engine_report(world_engine(world), report, sizeof report->text);
    process_exit();
}

/* Asks again and again what this rank and the others wait for, as a person does. */
static void *ask_in_thread(void *is_over)
{
    struct join_report report;
    while (!atomic_load((atomic_int *)is_over)) {
        read_page(&report);
        REQUIRE(strstr(report.text, "last finished") || strstr(report.text, "allreduce"));
        REQUIRE(!strstr(report.text, "some of 1)")); /* a single rank is named, or not known of */
    }
    return NULL;
}

/* Answers and questions meet calls that have committed and are not done. */
static int ask_meanwhile(int rank)
{
    pthread_t thread;
    atomic_int is_over = 0;
    init_world();
    sum_rounds("a", LEARNT);
    if (rank == 0)
        REQUIRE(pthread_create(&thread, NULL, ask_in_thread, &is_over) == 0);
    for (int i = 0; i < 2; i++) {
        sum_rounds("a", 4 * LEARNT);
        step_run_many(0);
    }
    if (rank == 0) {
        atomic_store(&is_over, 1);
        pthread_join(thread, NULL);
    }
    return leave_world();
}

START_TEST(a_question_meets_calls_that_have_committed)
{
    ranks_run(&(struct mini_options){ .size = _i }, ask_meanwhile);
}
END_TEST

/* A page shows 24 lines, which are as many as a step has tensors. Only rank 0 submits any before it
 * has read its pages. */
static int wait_for_one_too_many(int rank)
{
    static struct join_report full, longer;
    int32_t sum = 0;
    init_world();
    for (int i = 0; rank == 0 && i < STEP; i++)
        REQUIRE_STATUS(step_submit(i, 0, 0), HVD_OK);
    if (rank == 0)
        read_page(&full);
    int64_t one_more, count = 1;
    struct hvd_tensor tensor = { .name = "one more",
                                 .input = &rank,
                                 .output = &sum,
                                 .dtype = HVD_INT32,
                                 .ndims = 1,
                                 .dims = &count };
    if (rank != 0)
        wait_for(0, 1);
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &one_more), HVD_OK);
    if (rank == 0)
        read_page(&longer);
    atomic_fetch_add(&shared->counters[0], 1);
    REQUIRE(rank != 0 || !strstr(full.text, " more\n"));
    REQUIRE(rank != 0 || strstr(longer.text, "\nand 1 more\n"));
    for (int i = 0; rank != 0 && i < STEP; i++)
        REQUIRE_STATUS(step_submit(i, 0, 0), HVD_OK);
    for (int i = 0; i < STEP; i++)
        step_check(i, 0);
    REQUIRE_STATUS(hvd_wait(one_more), HVD_OK);
    return leave_world();
}

START_TEST(a_page_that_leaves_out_one_line_says_so)
{
    ranks_run(&(struct mini_options){ .size = 2 }, wait_for_one_too_many);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_steady_steps");
    TCase *steps = tcase_create("steps");
    suite_add_tcase(suite, steps);
    tcase_set_timeout(steps, 120);
    ranks_add_test(steps, steps_of_many_tensors_in_any_order_have_the_right_results, 2, 6);
    tcase_add_test(steps, steps_of_many_tensors_have_the_right_results_between_hosts);
    ranks_add_test(
        steps, a_rank_that_waits_for_one_tensor_of_many_before_it_submits_the_rest_gets_it, 2, 4);
    ranks_add_test(steps, ranks_that_ask_for_one_tensor_of_many_before_they_submit_the_rest_get_it,
                   2, 3);
    ranks_add_test(steps, another_shape_of_one_tensor_of_many_is_an_error_of_this_tensor_alone, 2,
                   4);
    ranks_add_test(steps, a_rank_that_joins_in_the_middle_of_a_step_contributes_zeros_to_the_rest,
                   2, 4);
    ranks_add_test(steps, a_rank_that_leaves_in_the_middle_of_a_step_is_named, 2, 4);
    ranks_add_test(steps, a_rank_that_is_killed_in_the_middle_of_a_step_is_named, 2, 4);
    tcase_add_test(steps, the_name_of_one_tensor_of_many_that_waits_for_its_turn_is_refused);
    ranks_add_test(steps, a_question_meets_calls_that_have_committed, 2, 3);
    tcase_add_test(steps, a_page_that_leaves_out_one_line_says_so);
    return unit_run(suite);
}
