/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers that reduce gradients and update: what comes out, when gradients are sent, what is
 * given for those that are missing, synchronizing by hand, and who takes part. */
#include "lib/hvd_optimizer.h"

#include "tests/support/model.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct model model;

static void require_invalid(int rc, const char *text)
{
    REQUIRE_STATUS(rc, HVD_ERR_INVALID);
    require_text(text);
}

/* --- what comes out --- */

/* Ranks 0, 1, ... give 1, 2, ... */
static const struct {
    enum hvd_op op;
    double of_two, of_three;
} ops[] = {
    { HVD_AVERAGE, 1.5, 2 }, { HVD_SUM, 3, 6 },     { HVD_MIN, 1, 1 },
    { HVD_MAX, 2, 3 },       { HVD_PRODUCT, 2, 6 },
};
enum { OPS = sizeof ops / sizeof *ops };

static int reduce_by_each_op(int rank)
{
    init_world();
    for (int i = 0; i < OPS; i++) {
        const struct hvd_optimizer_options options = { .op = ops[i].op };
        double expected = hvd_size() == 2 ? ops[i].of_two : ops[i].of_three;
        struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
        for (int step = 1; step <= 3; step++) {
            model_ready_all(&model, optimizer, rank + 1);
            REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
            model_require_all(&model, expected);
            model_require_data(&model, 100 - step * expected);
            REQUIRE(model.updates == step);
        }
        hvd_optimizer_destroy(optimizer);
    }
    return leave_world();
}

START_TEST(every_step_updates_with_the_gradients_of_all_ranks)
{
    ranks_run(&(struct mini_options){ .size = _i }, reduce_by_each_op);
}
END_TEST

/* The array and what it points to are the caller's again after creation. */
static int create_from_what_does_not_stay(int rank)
{
    struct hvd_optimizer *optimizer;
    struct hvd_parameter parameters[MODEL_PARAMETERS];
    char names[MODEL_PARAMETERS][8];
    int64_t dims[MODEL_PARAMETERS][2];
    init_world();
    model_init(&model);
    for (int i = 0; i < MODEL_PARAMETERS; i++) {
        parameters[i] = model.parameters[i];
        parameters[i].name = strcpy(names[i], parameters[i].name);
        memcpy(dims[i], parameters[i].dims, (size_t)parameters[i].ndims * sizeof *dims[i]);
        parameters[i].dims = dims[i];
    }
    REQUIRE_STATUS(
        hvd_optimizer_create(parameters, MODEL_PARAMETERS, NULL, model_update, &model, &optimizer),
        HVD_OK);
    memset(names, 0xff, sizeof names);
    memset(dims, 0xff, sizeof dims);
    memset(parameters, 0xff, sizeof parameters);
    model_ready_all(&model, optimizer, 2 * rank);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    model_require_all(&model, 1);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(the_parameters_are_copied)
{
    ranks_run(&(struct mini_options){ .size = 2 }, create_from_what_does_not_stay);
}
END_TEST

static int update_that_fails(int rank)
{
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, NULL);
    const int results[] = { 7, -2000, 0 };
    for (int i = 0; i < 3; i++) {
        model.result = rank == 1 ? results[i] : 0;
        model_ready_all(&model, optimizer, i);
        REQUIRE(hvd_optimizer_step(optimizer) == model.result);
        model_require_all(&model, i);
    }
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(a_step_returns_what_the_update_returns)
{
    ranks_run(&(struct mini_options){ .size = 2 }, update_that_fails);
}
END_TEST

/* --- when gradients are sent --- */

/* Rank 1 reduces without an optimizer's step what rank 0's optimizer reduces. */
static void reduce_by_hand(int parameter)
{
    const struct hvd_parameter *is = &model.parameters[parameter];
    char name[32] = "allreduce.";
    int64_t handle;
    const struct hvd_tensor tensor = { .name = strcat(name, is->name),
                                       .input = is->gradient,
                                       .output = is->gradient,
                                       .dtype = is->dtype,
                                       .ndims = is->ndims,
                                       .dims = is->dims };
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_AVERAGE, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    model_require(&model, parameter, 3);
}

static int send_before_the_step(int rank)
{
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, NULL);
    for (int i = MODEL_PARAMETERS - 1; i >= 0; i--) {
        if (rank == 0)
            model_ready(&model, optimizer, i, 2);
        else
            model_set(&model, i, 4);
        if (rank == 1)
            reduce_by_hand(i);
        atomic_fetch_add(&shared->counters[0], rank);
        wait_for(0, MODEL_PARAMETERS - i);
    }
    if (rank == 0)
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    model_require_all(&model, 3);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(a_gradient_is_reduced_while_the_next_is_made)
{
    ranks_run(&(struct mini_options){ .size = 2 }, send_before_the_step);
}
END_TEST

static int say_it_twice(int rank)
{
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, NULL);
    for (int step = 0; step < 3; step++) {
        model_ready_all(&model, optimizer, rank);
        for (int i = 0; i < MODEL_PARAMETERS; i++)
            require_invalid(hvd_optimizer_ready(optimizer, i), "its gradient is ready already");
        require_text("optimizer: parameter 'empty': ");
        require_invalid(hvd_optimizer_zero_gradients(optimizer), "its gradient is ready already");
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
        model_require_all(&model, 0.5);
    }
    REQUIRE(model.updates == 3);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(what_is_being_reduced_is_not_taken_again_and_not_zeroed)
{
    ranks_run(&(struct mini_options){ .size = 2 }, say_it_twice);
}
END_TEST

/* --- what is missing --- */

/* Rank 0 has no gradient of "w", rank 1 none of "large", nobody has one of "b". */
static int leave_some_out(int rank)
{
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, NULL);
    for (int step = 0; step < 3; step++) {
        model_set_all(&model, 99);
        for (int i = 0; i < MODEL_PARAMETERS; i++)
            if (i != MODEL_B && i != (rank == 0 ? MODEL_W : MODEL_LARGE))
                model_ready(&model, optimizer, i, 4);
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
        model_require(&model, MODEL_W, 2);
        model_require(&model, MODEL_B, 0);
        model_require(&model, MODEL_SCALE, 4);
        model_require(&model, MODEL_LARGE, 2);
    }
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(gradients_that_never_came_are_zeros)
{
    ranks_run(&(struct mini_options){ .size = 2 }, leave_some_out);
}
END_TEST

static int zero(int rank)
{
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, NULL);
    model_ready_all(&model, optimizer, rank);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    REQUIRE_STATUS(hvd_optimizer_zero_gradients(optimizer), HVD_OK);
    model_require_all(&model, 0);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(gradients_can_be_set_to_zero_between_steps)
{
    ranks_run(&(struct mini_options){ .size = 2 }, zero);
}
END_TEST

/* --- synchronizing by hand --- */

static int clip(int rank)
{
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, NULL);
    for (int step = 1; step <= 3; step++) {
        model_ready_all(&model, optimizer, 4 * rank);
        REQUIRE_STATUS(hvd_optimizer_synchronize(optimizer), HVD_OK);
        model_require_all(&model, 2);
        model_set_all(&model, rank + 1);
        REQUIRE_STATUS(hvd_optimizer_skip_synchronize(optimizer), HVD_OK);
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
        model_require_all(&model, rank + 1);
        model_require_data(&model, 100 - step * (rank + 1));
    }
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(gradients_can_be_clipped_between_reduction_and_update)
{
    ranks_run(&(struct mini_options){ .size = 2 }, clip);
}
END_TEST

static int skip_without_a_reason(int rank)
{
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, NULL);
    REQUIRE_STATUS(hvd_optimizer_skip_synchronize(optimizer), HVD_OK);
    model_ready_all(&model, optimizer, 2 * rank);
    require_invalid(hvd_optimizer_step(optimizer), "nothing has been synchronized");
    REQUIRE_STATUS(hvd_optimizer_synchronize(optimizer), HVD_OK);
    model_ready(&model, optimizer, MODEL_W, 2 * rank);
    require_invalid(hvd_optimizer_step(optimizer), "ready after synchronizing");
    REQUIRE_STATUS(hvd_optimizer_synchronize(optimizer), HVD_OK);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    model_require_all(&model, 1);
    model_require_data(&model, 99);
    REQUIRE(model.updates == 1);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(a_step_that_would_skip_what_is_needed_is_refused)
{
    ranks_run(&(struct mini_options){ .size = 2 }, skip_without_a_reason);
}
END_TEST

/* What the process says on stderr between the two. */
static int begin_listening(int *kept)
{
    int file = memfd_create("stderr", 0);
    *kept = dup(STDERR_FILENO);
    REQUIRE(file >= 0 && *kept >= 0 && dup2(file, STDERR_FILENO) >= 0);
    return file;
}

static void end_listening(int file, int kept, char *text, size_t size)
{
    REQUIRE(dup2(kept, STDERR_FILENO) >= 0);
    ssize_t length = pread(file, text, size - 1, 0);
    REQUIRE(length >= 0);
    text[length] = '\0';
    close(file);
    close(kept);
}

static int synchronize_twice(int rank)
{
    char text[1000];
    int kept;
    setenv("HOROVOD_LOG_HIDE_TIME", "1", 1);
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, NULL);
    int file = begin_listening(&kept);
    for (int step = 0; step < 3; step++) {
        model_ready_all(&model, optimizer, 2 * rank);
        REQUIRE_STATUS(hvd_optimizer_synchronize(optimizer), HVD_OK);
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
        model_require_all(&model, 1);
    }
    end_listening(file, kept, text, sizeof text);
    REQUIRE(strncmp(text, rank == 0 ? "[W] [0]: " : "[W] [1]: ", 9) == 0);
    REQUIRE(strstr(text, "hvd_optimizer_skip_synchronize() avoids that\n") != NULL);
    REQUIRE(strchr(text, '\n')[1] == '\0');
    model_require_data(&model, 97);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(a_second_synchronization_changes_nothing_and_is_warned_of_once)
{
    ranks_run(&(struct mini_options){ .size = 2 }, synchronize_twice);
}
END_TEST

/* --- who takes part --- */

static void train_alone(struct hvd_optimizer *optimizer, double gradient)
{
    int64_t sent = hvd_bytes_sent();
    for (int step = 1; step <= 2; step++) {
        for (int pass = 0; pass < 2; pass++)
            for (int i = 0; i < MODEL_PARAMETERS; i++)
                if (i != MODEL_B)
                    model_ready(&model, optimizer, i, gradient);
        require_invalid(hvd_optimizer_ready(optimizer, MODEL_W), "its gradient is ready already");
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
        model_require(&model, MODEL_W, 2 * gradient);
        model_require(&model, MODEL_HALF, 2 * gradient);
        model_require(&model, MODEL_B, 0);
        REQUIRE(model.updates == step);
    }
    REQUIRE(hvd_bytes_sent() - sent < MODEL_LARGE_COUNT); /* others may need a word */
}

static int alone(int rank)
{
    const struct hvd_optimizer_options options = { .backward_passes = 2,
                                                   .compression = HVD_COMPRESSION_FP16,
                                                   .equal_groups = 2 };
    (void)rank;
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
    train_alone(optimizer, 3);
    REQUIRE(hvd_bytes_sent() == 0);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(a_world_of_one_rank_trains_and_sends_nothing)
{
    ranks_run(&(struct mini_options){ .size = 1 }, alone);
}
END_TEST

static int with_an_outsider(int rank)
{
    init_world();
    int set = hvd_add_process_set((const int[]){ 0, 2 }, 2);
    REQUIRE(set > 0);
    const struct hvd_optimizer_options options = { .process_set = set, .backward_passes = 2 };
    struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
    if (rank == 1) {
        train_alone(optimizer, 5);
    } else {
        model_ready_all(&model, optimizer, rank);
        model_ready_all(&model, optimizer, rank + 1);
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
        model_require_all(&model, 3);
    }
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(a_rank_outside_the_process_set_updates_with_its_own_gradients)
{
    ranks_run(&(struct mini_options){ .size = 3 }, with_an_outsider);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizer");
    TCase *tcase = tcase_create("optimizer");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, every_step_updates_with_the_gradients_of_all_ranks, 2, 4);
    tcase_add_test(tcase, the_parameters_are_copied);
    tcase_add_test(tcase, a_step_returns_what_the_update_returns);
    tcase_add_test(tcase, a_gradient_is_reduced_while_the_next_is_made);
    tcase_add_test(tcase, what_is_being_reduced_is_not_taken_again_and_not_zeroed);
    tcase_add_test(tcase, gradients_that_never_came_are_zeros);
    tcase_add_test(tcase, gradients_can_be_set_to_zero_between_steps);
    tcase_add_test(tcase, gradients_can_be_clipped_between_reduction_and_update);
    tcase_add_test(tcase, a_step_that_would_skip_what_is_needed_is_refused);
    tcase_add_test(tcase, a_second_synchronization_changes_nothing_and_is_warned_of_once);
    tcase_add_test(tcase, a_world_of_one_rank_trains_and_sends_nothing);
    tcase_add_test(tcase, a_rank_outside_the_process_set_updates_with_its_own_gradients);
    return unit_run(suite);
}
