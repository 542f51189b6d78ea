/* SPDX-License-Identifier: Apache-2.0 */
/* A call whose arguments are wrong by themselves says so whatever the state of the world: before
 * hvd_init(), after hvd_shutdown(), in a forked child, and when a rank is lost. What needs the
 * world to be judged is told only by a world. */
#include "lib/hvd.h"
#include "lib/hvd_device.h"
#include "lib/hvd_optimizer.h"
#include "lib/hvd_training.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BAD_DTYPE ((enum hvd_dtype)77)
#define BAD_OP ((enum hvd_op)55)
#define TENSOR(...) (&(const struct hvd_tensor){ __VA_ARGS__ })
#define OPTIONS(...) (&(const struct hvd_options){ __VA_ARGS__ })
#define SPLITS(...) ((const int64_t[]){ __VA_ARGS__ })
#define RANKS(...) ((const int[]){ __VA_ARGS__ })
#define PARAMETER(...) (&(const struct hvd_parameter){ __VA_ARGS__ })
#define SCALAR(...) (&(const struct hvd_scalar){ __VA_ARGS__ })
#define CHECKPOINT(...) (&(const struct hvd_checkpoint){ __VA_ARGS__ })
#define GOOD .input = data, .output = data, .dtype = HVD_FLOAT32, .ndims = 1, .dims = four
#define FOUR .name = "p", .data = data, .ndims = 1, .dims = four
#define COUNTED(n) .input = data, .output = data, .ndims = 1, .dims = SPLITS(n)

static float data[8];
static const int64_t four[] = { 4 };
static int failures;

static void check(int64_t rc, int expected, const char *part, const char *call)
{
    if (rc == expected && strstr(hvd_last_error(), part))
        return;
    fprintf(stderr, "%s: %s (%s), expected %s (%s)\n", call, hvd_strstatus((int)rc),
            hvd_last_error(), hvd_strstatus(expected), part);
    failures++;
}

#define REFUSED(call, part) check(call, HVD_ERR_INVALID, part, #call)

static void make_mistakes_in_short_forms(void)
{
    REFUSED(hvd_allreduce("a", NULL, data, 4, HVD_FLOAT32, HVD_SUM), "'a': input is NULL");
    REFUSED(hvd_allreduce("a", data, NULL, 4, HVD_FLOAT32, HVD_SUM), "'a': output is NULL");
    REFUSED(hvd_allreduce("a", data, data + 1, 4, HVD_FLOAT32, HVD_SUM), "overlap");
    REFUSED(hvd_allreduce("a", data, data, (size_t)-4, HVD_FLOAT32, HVD_SUM), "-4");
    REFUSED(hvd_allreduce("a", data, data, 4, BAD_DTYPE, HVD_SUM), "dtype 77");
    REFUSED(hvd_allreduce("a", data, data, 4, HVD_FLOAT32, BAD_OP), "op 55");
    REFUSED(hvd_allreduce("", data, data, 4, HVD_FLOAT32, HVD_SUM), "the name is empty");
    REFUSED(hvd_broadcast("b", NULL, 4, HVD_FLOAT32, 0), "'b': output is NULL");
    REFUSED(hvd_broadcast("b", data, (size_t)-4, HVD_FLOAT32, 0), "-4");
    REFUSED(hvd_broadcast("b", data, 4, HVD_FLOAT32, -1), "'b': root -1");
    REFUSED(hvd_broadcast("b", data, 4, BAD_DTYPE, 0), "dtype 77");
    REFUSED(hvd_allgather("g", NULL, data, 1, HVD_FLOAT32), "'g': input is NULL");
    REFUSED(hvd_allgather("g", data, NULL, 1, HVD_FLOAT32), "'g': output is NULL");
    REFUSED(hvd_allgather("g", data, data, (size_t)-4, HVD_FLOAT32), "-4");
    REFUSED(hvd_allgather("g", data, data, 1, BAD_DTYPE), "dtype 77");
}

static void make_mistakes_in_long_forms(void)
{
    int64_t handle;
    REFUSED(hvd_allreduce_async(NULL, HVD_SUM, NULL, &handle), "there is no tensor");
    REFUSED(hvd_allreduce_async(TENSOR("a", GOOD), HVD_SUM, NULL, NULL), "no place for the handle");
    REFUSED(hvd_allreduce_async(TENSOR("a", COUNTED(-4)), HVD_SUM, NULL, &handle), "-4");
    REFUSED(hvd_allreduce_async(TENSOR("a", GOOD), BAD_OP, NULL, &handle), "op 55");
    REFUSED(hvd_allreduce_async(TENSOR("a", GOOD), HVD_SUM, OPTIONS(.prescale = NAN), &handle),
            "prescale is nan");
    REFUSED(hvd_allreduce_async(TENSOR("a", GOOD), HVD_SUM, OPTIONS(.process_set = -3), &handle),
            "there is no process set -3");
    REFUSED(hvd_grouped_allreduce_async(TENSOR("a", GOOD), -4, HVD_SUM, NULL, &handle), "-4");
    REFUSED(hvd_reducescatter_async(TENSOR("r", GOOD), HVD_MAX, NULL, &handle), "op is max");
    REFUSED(hvd_grouped_reducescatter_async(TENSOR("r", GOOD), 0, HVD_SUM, NULL, &handle), "0");
    REFUSED(hvd_allgather_async(TENSOR("g", .ndims = -2), NULL, &handle), "ndims is -2");
    REFUSED(hvd_grouped_allgather_async(NULL, 1, NULL, &handle), "there is no tensor");
    REFUSED(hvd_broadcast_async(TENSOR("b", GOOD), -1, NULL, &handle), "root -1");
    REFUSED(hvd_alltoall_async(TENSOR("t", .ndims = 9), NULL, 0, NULL, &handle), "ndims is 9");
    REFUSED(hvd_barrier_async(OPTIONS(.prescale = 2), &handle), "prescale is 2");
    REFUSED(hvd_barrier_async(NULL, NULL), "no place for the handle");
    REFUSED(hvd_join_async(OPTIONS(.postscale = INFINITY), &handle), "postscale is inf");
}

static void make_mistakes_in_waiting_forms(void)
{
    const struct hvd_tensor twice[] = { { "a", GOOD }, { "a", GOOD } };
    const struct hvd_tensor to[] = { { "t", data, .dtype = HVD_INT8, .ndims = 1, .dims = four } };
    REFUSED(hvd_grouped_allreduce(NULL, 2, HVD_SUM, NULL), "there is no tensor");
    REFUSED(hvd_grouped_allreduce(twice, 2, HVD_SUM, NULL), "'a' is there twice");
    REFUSED(hvd_grouped_allgather(to, 1, NULL, NULL), "'t': output is NULL");
    REFUSED(hvd_alltoall(to, NULL, 0, NULL, NULL), "'t': output is NULL");
    REFUSED(hvd_alltoall(to, SPLITS(-2), 1, NULL, &(struct hvd_result){ 0 }), "splits[0] is -2");
    REFUSED(hvd_alltoall(to, SPLITS(7), 1, NULL, &(struct hvd_result){ 0 }), "more than the 4");
    REFUSED(hvd_alltoall(to, SPLITS(4), -1, NULL, &(struct hvd_result){ 0 }), "nsplits is -1");
    REFUSED(hvd_reducescatter(TENSOR("r", .dtype = BAD_DTYPE), HVD_SUM, NULL), "dtype 77");
    REFUSED(hvd_grouped_reducescatter(twice, -4, HVD_SUM, NULL), "-4");
    REFUSED(hvd_share(-4, 2, 0), "-4");
    REFUSED(hvd_poll(-4), "-4");
    REFUSED(hvd_wait(0), "handle 0");
    REFUSED(hvd_wait_result(-4, NULL), "-4");
    REFUSED(hvd_wait_timeout(-4, 5, NULL), "-4");
}

static void make_mistakes_in_sets(void)
{
    const struct hvd_ranks sets[] = { { RANKS(0), 1 }, { RANKS(2, 2), 2 } };
    REFUSED(hvd_add_process_set(NULL, 2), "ranks is NULL");
    REFUSED(hvd_add_process_set(RANKS(0), -4), "count is -4");
    REFUSED(hvd_add_process_set(RANKS(-4), 1), "ranks[0] is -4");
    REFUSED(hvd_add_process_set(RANKS(3, 1, 3), 3), "rank 3 is there twice");
    REFUSED(hvd_remove_process_set(0), "process set 0 is the world");
    REFUSED(hvd_remove_process_set(-4), "no process set -4");
    REFUSED(hvd_process_set_rank(-4), "no process set -4");
    REFUSED(hvd_process_set_size(-4), "no process set -4");
    REFUSED(hvd_process_set_included(-4), "no process set -4");
    REFUSED(hvd_process_set_ranks(-4, NULL, 0), "no process set -4");
    REFUSED(hvd_init_process_sets(NULL, 2), "NULL instead of 2");
    REFUSED(hvd_init_process_sets(sets, -4), "-4");
    REFUSED(hvd_start_timeline(NULL, 0), "no file is named");
    REFUSED(hvd_start_timeline("", 0), "no file is named");
}

/* Without a world it would join one first. */
static void make_mistakes_in_first_sets(void)
{
    const struct hvd_ranks twice[] = { { RANKS(0), 1 }, { RANKS(0, 0, 0, 0, 0, 0, 0, 0, 0), 9 } };
    const struct hvd_ranks none[] = { { RANKS(0), -4 } };
    REFUSED(hvd_init_process_sets(twice, 2), "process set 2: rank 0 is there twice");
    REFUSED(hvd_init_process_sets(none, 1), "process set 1: count is -4");
}

static void make_mistakes_in_devices(void)
{
    REFUSED(hvd_register_device(NULL), "device is NULL");
    REFUSED(hvd_register_device(&(const struct hvd_device){ .name = "d" }), "alloc_pinned is NULL");
    REFUSED(hvd_unregister_device(-4), "-4");
    REFUSED(hvd_unregister_device(0), "0");
}

static int update(void *arg)
{
    (void)arg;
    return 0;
}

static void make_mistakes_in_optimizers(void)
{
    struct hvd_optimizer *optimizer;
    const struct hvd_optimizer_options bad_op = { .op = BAD_OP };
    const struct hvd_parameter *good = PARAMETER(FOUR, .gradient = data + 4, .dtype = HVD_FLOAT32);
    REFUSED(hvd_optimizer_create(good, -4, NULL, update, NULL, &optimizer), "-4");
    REFUSED(hvd_optimizer_create(good, 1, NULL, update, NULL, NULL), "no place");
    REFUSED(hvd_optimizer_create(good, 1, NULL, NULL, NULL, &optimizer), "no update");
    REFUSED(hvd_optimizer_create(NULL, 1, NULL, update, NULL, &optimizer), "NULL");
    REFUSED(hvd_optimizer_create(good, 1, &bad_op, update, NULL, &optimizer), "op 55");
    REFUSED(hvd_optimizer_create(PARAMETER(FOUR), 1, NULL, update, NULL, &optimizer), "'p'");
    REFUSED(hvd_optimizer_ready(NULL, 0), "there is none");
    REFUSED(hvd_optimizer_ready_after(NULL, 0, NULL), "there is none");
    REFUSED(hvd_optimizer_synchronize(NULL), "there is none");
    REFUSED(hvd_optimizer_skip_synchronize(NULL), "there is none");
    REFUSED(hvd_optimizer_step(NULL), "there is none");
    REFUSED(hvd_optimizer_zero_gradients(NULL), "there is none");
}

static void make_mistakes_in_training(void)
{
    struct hvd_metric metrics[] = { { "loss", 1 }, { "loss", 2 } };
    struct hvd_object object = { 0 };
    const struct hvd_parameter *good = PARAMETER(FOUR, .dtype = HVD_FLOAT32);
    const struct hvd_parameter *bad = PARAMETER(FOUR, .dtype = BAD_DTYPE);
    REFUSED(hvd_broadcast_parameters(NULL, 2, 0, 0), "NULL");
    REFUSED(hvd_broadcast_parameters(good, -4, 0, 0), "-4");
    REFUSED(hvd_broadcast_parameters(bad, 1, 0, 0), "dtype 77");
    REFUSED(hvd_broadcast_parameters(good, 1, -1, 0), "root -1");
    REFUSED(hvd_broadcast_parameters(good, 1, 0, -4), "no process set -4");
    REFUSED(hvd_broadcast_optimizer_state(good, 1, SCALAR(.name = "s"), 1, 0, 0), "value is NULL");
    REFUSED(hvd_broadcast_object("", &object, 0, 0), "the name is empty");
    REFUSED(hvd_broadcast_object("o", NULL, 0, 0), "the object is NULL");
    REFUSED(hvd_broadcast_object("o", &object, -1, 0), "root -1");
    REFUSED(hvd_broadcast_object("o", &object, 0, -4), "no process set -4");
    REFUSED(hvd_allgather_object("o", NULL, 4, 0, &(struct hvd_object *){ NULL }), "data is NULL");
    REFUSED(hvd_allgather_object("o", data, 4, 0, NULL), "no place");
    REFUSED(hvd_average_metrics(NULL, 2, 0), "2 metrics at NULL");
    REFUSED(hvd_average_metrics(metrics, 2, 0), "'loss' is given twice");
    REFUSED(hvd_average_metrics(metrics, 1, -4), "no process set -4");
}

static void make_mistakes_in_files_and_samplers(void)
{
    struct hvd_sampler *sampler;
    const struct hvd_sampler_options many = { .count = UINT64_MAX }, nowhere = { .rank = -1 };
    const struct hvd_parameter *bad = PARAMETER(FOUR, .dtype = BAD_DTYPE);
    const struct hvd_checkpoint listed = { .tensors = bad, .ntensors = 1 };
    REFUSED(hvd_checkpoint_save(NULL, CHECKPOINT(.tensors = NULL), 0), "the file has no name");
    REFUSED(hvd_checkpoint_save("nowhere/c", NULL, 0), "there is no checkpoint");
    REFUSED(hvd_checkpoint_save("nowhere/c", &listed, 0), "dtype 77");
    REFUSED(hvd_checkpoint_restore("", CHECKPOINT(.tensors = NULL), 0), "the file has no name");
    REFUSED(hvd_checkpoint_restore("nowhere/c", NULL, 0), "there is no checkpoint");
    REFUSED(hvd_checkpoint_restore("nowhere/c", CHECKPOINT(.nscalars = -4), 0), "-4");
    REFUSED(hvd_checkpoint_restore("nowhere/c", CHECKPOINT(.tensors = NULL), -4), "set -4");
    REFUSED(hvd_sampler_create(NULL, &sampler), "no options");
    REFUSED(hvd_sampler_create(&nowhere, NULL), "no place");
    REFUSED(hvd_sampler_create(&many, &sampler), "count is 18446744073709551615");
    REFUSED(hvd_sampler_create(&nowhere, &sampler), "rank -1");
}

static void make_mistakes(void)
{
    make_mistakes_in_short_forms();
    make_mistakes_in_long_forms();
    make_mistakes_in_waiting_forms();
    make_mistakes_in_sets();
    make_mistakes_in_devices();
    make_mistakes_in_optimizers();
    make_mistakes_in_training();
    make_mistakes_in_files_and_samplers();
    REQUIRE(failures == 0);
}

/* What is wrong here only in a world, or not at all, gets its state. */
#define ANSWERS(call) check(call, state, "", #call)

static void hear_of(int state)
{
    int64_t handle;
    ANSWERS(hvd_allreduce("a", data, data, 4, HVD_FLOAT32, HVD_SUM));
    ANSWERS(hvd_allreduce("a", NULL, NULL, 0, HVD_FLOAT32, HVD_SUM));
    ANSWERS(hvd_broadcast("b", data, 4, HVD_FLOAT32, 99));
    ANSWERS(hvd_allgather("g", data, data, 1, HVD_FLOAT32));
    ANSWERS(hvd_allgather("g", data + 2, data, 1, HVD_FLOAT32));
    ANSWERS(hvd_barrier());
    ANSWERS(hvd_barrier_async(OPTIONS(.process_set = 99), &handle));
    ANSWERS(hvd_reducescatter_async(TENSOR("r", GOOD), HVD_SUM, NULL, &handle));
    ANSWERS(hvd_alltoall_async(TENSOR("t", data, .dtype = HVD_INT8, .ndims = 1, .dims = four),
                               SPLITS(1, 1, 1), 3, NULL, &handle));
    ANSWERS(hvd_allreduce_async(TENSOR("d", GOOD, .device = 99), HVD_SUM, NULL, &handle));
    REQUIRE(failures == 0);
}

START_TEST(arguments_are_judged_before_hvd_init)
{
    make_mistakes();
    hear_of(HVD_ERR_NOT_INITIALIZED);
    REQUIRE(!hvd_is_initialized());
}
END_TEST

static int mistakes_in_and_after_a_world(int rank)
{
    (void)rank;
    init_world();
    make_mistakes_in_first_sets();
    make_mistakes();
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    leave_world();
    make_mistakes();
    hear_of(HVD_ERR_SHUT_DOWN);
    return 0;
}

START_TEST(arguments_are_judged_in_a_world_and_after_hvd_shutdown)
{
    ranks_run(&(struct mini_options){ .size = 1 }, mistakes_in_and_after_a_world);
}
END_TEST

static int mistakes_in_a_child(int rank)
{
    int status;
    (void)rank;
    init_world();
    pid_t child = fork();
    if (child == 0) {
        make_mistakes_in_first_sets();
        make_mistakes();
        hear_of(HVD_ERR_FORKED);
        _exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    return leave_world();
}

START_TEST(arguments_are_judged_in_a_forked_child)
{
    ranks_run(&(struct mini_options){ .size = 1 }, mistakes_in_a_child);
}
END_TEST

static int mistakes_when_a_rank_is_lost(int rank)
{
    init_world();
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    if (rank == 1)
        kill(getpid(), SIGKILL);
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_PEER_LOST);
    make_mistakes_in_first_sets();
    make_mistakes();
    hear_of(HVD_ERR_PEER_LOST);
    return leave_world();
}

START_TEST(arguments_are_judged_in_a_broken_world)
{
    ranks_run_but(&(struct mini_options){ .size = 2 }, mistakes_when_a_rank_is_lost, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_arguments");
    TCase *tcase = tcase_create("world_arguments");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, arguments_are_judged_before_hvd_init);
    tcase_add_test(tcase, arguments_are_judged_in_a_world_and_after_hvd_shutdown);
    tcase_add_test(tcase, arguments_are_judged_in_a_forked_child);
    tcase_add_test(tcase, arguments_are_judged_in_a_broken_world);
    return unit_run(suite);
}
