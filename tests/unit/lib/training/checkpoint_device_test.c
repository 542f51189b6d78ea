/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of tensors in the memory of an accelerator: the file is that of host memory; and a
 * copy that fails is told on all ranks. */
#include "lib/hvd_training.h"

#include "lib/hvd_device.h"
#include "tests/support/device_ranks.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[64], path[96];

static void set_up(void)
{
    snprintf(directory, sizeof directory, "/tmp/hvd-checkpoint-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/last", directory);
}

static void tear_down(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(directory), 0); /* no temporary file is left */
}

enum { WEIGHTS = 700001, NBYTES = WEIGHTS * sizeof(float) }; /* more than two pieces */

static const int64_t dims[] = { WEIGHTS };
static float weights[WEIGHTS]; /* on the host */
static float bias;
static void *memory; /* on the device */

/* Two tensors, the first of which is on the device, or not. */
static struct hvd_parameter tensors[2];
static const struct hvd_checkpoint checkpoint = { .tensors = tensors, .ntensors = 2 };

static void use(bool on_device)
{
    tensors[0] = (struct hvd_parameter){ .name = "weights",
                                         .data = on_device ? memory : weights,
                                         .dtype = HVD_FLOAT32,
                                         .ndims = 1,
                                         .dims = dims,
                                         .device = on_device ? device : 0 };
    tensors[1] = (struct hvd_parameter){ .name = "bias", .data = &bias, .dtype = HVD_FLOAT32 };
}

/* In both kinds of memory. */
static void fill(int rank)
{
    for (int i = 0; i < WEIGHTS; i++)
        weights[i] = (float)(i % 1000 + 1000 * rank);
    bias = (float)rank;
    accelerator_write(npu, memory, weights, NBYTES);
}

static void require_that_of(int rank, bool on_device)
{
    if (on_device)
        device_get(weights, memory, NBYTES);
    for (int i = 0; i < WEIGHTS; i++)
        REQUIRE(weights[i] == (float)(i % 1000 + 1000 * rank));
    REQUIRE(bias == (float)rank);
}

static void begin(void)
{
    device_start(NULL);
    memory = device_put(NULL, NBYTES);
    init_world();
}

static int end(void)
{
    int rc = leave_world();
    accelerator_free(npu, memory);
    device_stop();
    return rc;
}

static void save_and_restore(int rank, bool from_device, bool into_device)
{
    fill(rank);
    use(from_device);
    REQUIRE_STATUS(hvd_checkpoint_save(path, &checkpoint, 0), HVD_OK);
    fill(7);
    use(into_device);
    REQUIRE_STATUS(hvd_checkpoint_restore(path, &checkpoint, 0), HVD_OK);
    require_that_of(0, into_device);
}

static int save_and_restore_each_way(int rank)
{
    begin();
    save_and_restore(rank, true, true);
    save_and_restore(rank, true, false);
    save_and_restore(rank, false, true);
    return end();
}

START_TEST(a_file_does_not_care_where_tensors_are)
{
    ranks_run(&(struct mini_options){ .size = _i }, save_and_restore_each_way);
}
END_TEST

/* The second copy out of three, of rank 0's alone. */
static int save_with_a_fault(int rank)
{
    const struct accelerator_faults faults = { .fail = { [HVD_DEVICE_TO_HOST] = 2 } };
    begin();
    save_and_restore(rank, true, true);
    fill(9);
    if (rank == 0)
        accelerator_inject(npu, &faults);
    REQUIRE(hvd_checkpoint_save(path, &checkpoint, 0) < 0);
    require_text("last: device");
    REQUIRE_STATUS(hvd_checkpoint_restore(path, &checkpoint, 0), HVD_OK);
    require_that_of(0, true);
    return end();
}

START_TEST(a_device_that_cannot_be_read_leaves_the_old_file)
{
    ranks_run(&(struct mini_options){ .size = 2 }, save_with_a_fault);
}
END_TEST

static int restore_with_a_fault(int rank)
{
    const struct accelerator_faults faults = { .fail = { [HVD_DEVICE_FROM_HOST] = 1 } };
    begin();
    save_and_restore(rank, true, true);
    if (rank == 0)
        accelerator_inject(npu, &faults);
    REQUIRE(hvd_checkpoint_restore(path, &checkpoint, 0) < 0);
    require_text("last: device");
    REQUIRE_STATUS(hvd_checkpoint_restore(path, &checkpoint, 0), HVD_OK);
    require_that_of(0, true);
    return end();
}

START_TEST(a_device_that_cannot_be_written_is_told_on_all_ranks)
{
    ranks_run(&(struct mini_options){ .size = 2 }, restore_with_a_fault);
}
END_TEST

static int use_no_device(int rank)
{
    begin();
    fill(rank);
    use(true);
    tensors[0].device = rank == 0 ? device + 1 : device;
    REQUIRE_STATUS(hvd_checkpoint_save(path, &checkpoint, 0),
                   rank == 0 ? HVD_ERR_INVALID : HVD_ERR_MISMATCH);
    require_text("parameter 'weights': ");
    return end();
}

START_TEST(a_device_that_is_not_there_is_a_mistake)
{
    ranks_run(&(struct mini_options){ .size = 2 }, use_no_device);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checkpoint_device");
    TCase *cases = tcase_create("checkpoint_device");
    suite_add_tcase(suite, cases);
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_loop_test(cases, a_file_does_not_care_where_tensors_are, 1, 4);
    tcase_add_test(cases, a_device_that_cannot_be_read_leaves_the_old_file);
    tcase_add_test(cases, a_device_that_cannot_be_written_is_told_on_all_ranks);
    tcase_add_test(cases, a_device_that_is_not_there_is_a_mistake);
    return unit_run(suite);
}
