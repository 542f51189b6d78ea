/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers of parameters in the memory of a device: gradients that are ready when the device has
 * made them, those that are missing, groups of both kinds of memory, and what is refused. */
#include "lib/hvd_optimizer.h"

#include "lib/training/optimizer_impl.h"
#include "tests/support/device_ranks.h"
#include "tests/support/model.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <sched.h>
#include <string.h>

/* More than a chunk, few, and some in host memory. */
enum { LARGE, SMALL, HOST, PARAMETERS };
static const int64_t counts[PARAMETERS] = { 700001, 5, 9 };
static const char *const names[PARAMETERS] = { "large", "small", "host" };

static float values[700001];
static float *gradients[PARAMETERS]; /* in memory of the device, but for the last */
static struct hvd_parameter parameters[PARAMETERS];
static void *events[PARAMETERS];
static bool all_passed; /* when the update was called */

/* ---- the device ---- */

/* A kernel that waits for the program, so that it does not come too early. */
static struct fill {
    int parameter;
    float value;
    atomic_int open;
} fills[PARAMETERS];

static void fill(struct accelerator *accelerator, void *arg)
{
    struct fill *what = arg;
    float *memory = accelerator_pointer(accelerator, gradients[what->parameter]);
    while (!atomic_load(&what->open))
        sched_yield();
    for (int64_t i = 0; i < counts[what->parameter]; i++)
        memory[i] = what->value;
}

static void begin_fill(int parameter, float value)
{
    fills[parameter].parameter = parameter;
    fills[parameter].value = value;
    atomic_store(&fills[parameter].open, 0);
    REQUIRE(accelerator_run(npu, fill, &fills[parameter]) == 0);
    REQUIRE(accelerator_record(npu, events[parameter]) == 0);
}

static void set_gradient(int parameter, float value)
{
    for (int64_t i = 0; i < counts[parameter]; i++)
        values[i] = value;
    size_t nbytes = (size_t)counts[parameter] * sizeof *values;
    if (parameter == HOST)
        memcpy(gradients[HOST], values, nbytes);
    else
        accelerator_write(npu, gradients[parameter], values, nbytes);
}

static void require_gradient(int parameter, float value)
{
    size_t nbytes = (size_t)counts[parameter] * sizeof *values;
    if (parameter == HOST)
        memcpy(values, gradients[HOST], nbytes);
    else
        device_get(values, gradients[parameter], nbytes);
    for (int64_t i = 0; i < counts[parameter]; i++)
        REQUIRE(values[i] == value);
}

static int check_events(void *unused)
{
    (void)unused;
    all_passed = true;
    for (int i = 0; i < HOST; i++)
        all_passed &= npu_table->query_event(npu_table->context, events[i]) == 1;
    return 0;
}

static void begin(void)
{
    static float host[9];
    init_world();
    device_start(NULL);
    for (int i = 0; i < PARAMETERS; i++) {
        size_t nbytes = (size_t)counts[i] * sizeof(float);
        gradients[i] = i == HOST ? host : device_put(NULL, nbytes);
        events[i] = npu_table->create_event(npu_table->context);
        parameters[i] = (struct hvd_parameter){ .name = names[i],
                                                .data = gradients[i],
                                                .gradient = gradients[i],
                                                .dtype = HVD_FLOAT32,
                                                .ndims = 1,
                                                .dims = &counts[i],
                                                .device = i == HOST ? 0 : device };
    }
}

static struct hvd_optimizer *create(const struct hvd_optimizer_options *options)
{
    struct hvd_optimizer *optimizer;
    REQUIRE_STATUS(
        hvd_optimizer_create(parameters, PARAMETERS, options, check_events, NULL, &optimizer),
        HVD_OK);
    return optimizer;
}

static int end(struct hvd_optimizer *optimizer)
{
    hvd_optimizer_destroy(optimizer);
    leave_world();
    for (int i = 0; i < PARAMETERS; i++)
        npu_table->destroy_event(npu_table->context, events[i]);
    device_stop();
    return 0;
}

/* ---- what comes out ---- */

static void step_after_events(struct hvd_optimizer *optimizer, float value)
{
    for (int i = 0; i < HOST; i++) {
        begin_fill(i, value);
        REQUIRE_STATUS(hvd_optimizer_ready_after(optimizer, i, events[i]), HVD_OK);
    }
    set_gradient(HOST, value);
    REQUIRE_STATUS(hvd_optimizer_ready(optimizer, HOST), HVD_OK);
    for (int i = 0; i < HOST; i++)
        atomic_store(&fills[i].open, 1);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    REQUIRE(all_passed);
}

static int reduce_after_events(int rank)
{
    static const struct hvd_optimizer_options options[] = { { .op = HVD_AVERAGE },
                                                            { .equal_groups = 1 },
                                                            { .predivide_factor = 2 } };
    struct hvd_optimizer *optimizer = NULL;
    begin();
    for (int k = 0; k < 3; k++) {
        hvd_optimizer_destroy(optimizer);
        optimizer = create(&options[k]);
        for (int step = 0; step < 2; step++) {
            step_after_events(optimizer, (float)(2 * rank + step));
            for (int i = 0; i < PARAMETERS; i++)
                require_gradient(i, (float)(hvd_size() - 1 + step));
        }
    }
    return end(optimizer);
}

START_TEST(gradients_are_reduced_when_the_device_has_made_them)
{
    ranks_run(&(struct mini_options){ .size = _i }, reduce_after_events);
}
END_TEST

static int lack_gradients(int rank)
{
    begin();
    struct hvd_optimizer *optimizer = create(&(struct hvd_optimizer_options){ .op = HVD_SUM });
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < PARAMETERS; i++)
            set_gradient(i, 7);
        if (rank == 0)
            REQUIRE_STATUS(hvd_optimizer_ready(optimizer, LARGE), HVD_OK);
        else
            REQUIRE_STATUS(hvd_optimizer_ready(optimizer, HOST), HVD_OK);
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
        require_gradient(LARGE, 7);
        require_gradient(SMALL, 0);
        require_gradient(HOST, 7);
    }
    REQUIRE_STATUS(hvd_optimizer_zero_gradients(optimizer), HVD_OK);
    for (int i = 0; i < PARAMETERS; i++)
        require_gradient(i, 0);
    return end(optimizer);
}

START_TEST(missing_gradients_are_zeros_in_device_memory_too)
{
    ranks_run(&(struct mini_options){ .size = 2 }, lack_gradients);
}
END_TEST

/* ---- what does not ---- */

/* Rank 0 cannot write the zeros of a gradient that is missing, and leaves. */
static int fail_to_copy(int rank)
{
    begin();
    struct hvd_optimizer *optimizer = create(NULL);
    for (int i = 0; i < PARAMETERS; i++)
        REQUIRE_STATUS(hvd_optimizer_ready(optimizer, i), HVD_OK);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    if (rank == 0)
        accelerator_inject(npu, &(struct accelerator_faults){ .fail[HVD_DEVICE_FROM_HOST] = 1 });
    int rc = hvd_optimizer_step(optimizer);
    REQUIRE(rank == 0 ? rc == HVD_ERR_SYSTEM : rc < 0);
    for (int i = 0; i < optimizer->ngroups; i++)
        REQUIRE(!optimizer->groups[i].in_flight);
    hvd_optimizer_destroy(optimizer);
    hvd_shutdown();
    return 0;
}

START_TEST(a_device_that_fails_fails_the_step)
{
    ranks_run(&(struct mini_options){ .size = 2 }, fail_to_copy);
}
END_TEST

static struct model model;

static int refuse(int rank)
{
    begin();
    struct hvd_parameter there = parameters[SMALL];
    const struct model_case mistakes[] = {
        { .parameter = &there,
          .options = { .compression = HVD_COMPRESSION_BF16 },
          .text = "parameter 'small': gradients in device memory are not compressed" },
        { .parameter = &there,
          .options = { .backward_passes = 2 },
          .text = "parameter 'small': gradients in device memory are not added up over 2 passes" },
        { .parameter = &there,
          .options = { .op = HVD_ADASUM },
          .text = "parameter 'small': adasum of parameters in device memory" },
    };
    model_require_mistakes(&model, mistakes, sizeof mistakes / sizeof *mistakes);
    if (rank == 1)
        parameters[HOST].device = device;
    struct hvd_optimizer *optimizer = NULL;
    REQUIRE_STATUS(
        hvd_optimizer_create(parameters, PARAMETERS, NULL, check_events, NULL, &optimizer),
        HVD_ERR_MISMATCH);
    require_text("optimizer: rank 1 has 'host float32 [9] in device memory', rank 0 has 'host "
                 "float32 [9]'");
    return end(NULL);
}

START_TEST(what_is_for_host_memory_only_is_refused)
{
    ranks_run(&(struct mini_options){ .size = 2 }, refuse);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizer_device");
    TCase *tcase = tcase_create("optimizer_device");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, gradients_are_reduced_when_the_device_has_made_them, 1, 4);
    tcase_add_test(tcase, missing_gradients_are_zeros_in_device_memory_too);
    tcase_add_test(tcase, a_device_that_fails_fails_the_step);
    tcase_add_test(tcase, what_is_for_host_memory_only_is_refused);
    return unit_run(suite);
}
