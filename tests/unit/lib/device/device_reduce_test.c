/* SPDX-License-Identifier: Apache-2.0 */
/* Allreduces that the devices do among themselves: asked for in one order on all ranks, done while
 * other tensors move, and moved by the library after all when a rank has joined. The devices of
 * these tests talk through memory that the ranks share. */
#include "lib/device/device.h"
#include "lib/hvd_device.h"
#include "tests/support/device_ranks.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SETS = 3, ROOM = DEVICE_CHUNK / 2, LARGE = ROOM };

/* Of one process set. Each round all ranks come, with what they have, take what they want, and
 * go. */
struct exchange {
    atomic_int came, went;
    size_t counts[3];
    float data[3][ROOM];
};

static struct {
    struct exchange exchanges[SETS];
    atomic_int closed; /* reductions wait while it is 1; 2: they fail */
} * hall;

static void wait_until(atomic_int *counter, int value)
{
    while (atomic_load(counter) < value)
        sched_yield();
}

/* As the vendor's library would. Ranks that come with different tensors are told so. */
static int reduce(void *arg, const struct hvd_device_allreduce *allreduce)
{
    struct exchange *exchange = &hall->exchanges[allreduce->process_set];
    const float *input = allreduce->input;
    int size = allreduce->size, round = atomic_load(&exchange->went) / size;
    double factor = allreduce->op == HVD_AVERAGE ? 1.0 / size : 1;
    (void)arg;
    while (atomic_load(&hall->closed) == 1)
        sched_yield();
    if (atomic_load(&hall->closed) == 2)
        return -8;
    wait_until(&exchange->went, round * size);
    exchange->counts[allreduce->rank] = allreduce->count;
    for (size_t i = 0; i < allreduce->count; i++)
        exchange->data[allreduce->rank][i] = input[i] * (float)allreduce->prescale;
    atomic_fetch_add(&exchange->came, 1);
    wait_until(&exchange->came, (round + 1) * size);
    int rc = 0;
    for (int rank = 0; rank < size; rank++)
        rc = exchange->counts[rank] == allreduce->count ? rc : -9;
    for (size_t i = 0; i < allreduce->count && rc == 0; i++) {
        float sum = 0;
        for (int rank = 0; rank < size; rank++)
            sum += exchange->data[rank][i];
        ((float *)allreduce->output)[i] = sum * (float)(factor * allreduce->postscale);
    }
    atomic_fetch_add(&exchange->went, 1);
    wait_until(&exchange->went, (round + 1) * size);
    return rc;
}

/* Floats, and unless `arg` is NULL nothing else. */
static int can_reduce(void *arg, enum hvd_dtype dtype, enum hvd_op op, int process_set)
{
    (void)op;
    return arg != NULL && dtype == HVD_FLOAT32 && process_set < SETS;
}

static const struct accelerator_options able = {
    .memory = 16 << 20, .reduce = reduce, .can_reduce = can_reduce, .reduce_arg = &hall
};
static const struct accelerator_options unable = { .memory = 16 << 20,
                                                   .reduce = reduce,
                                                   .can_reduce = can_reduce };

static void open_hall(void)
{
    hall = mmap(NULL, sizeof *hall, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(hall != MAP_FAILED);
}

static void close_hall(void)
{
    munmap(hall, sizeof *hall);
}

static int leave(void)
{
    int rc = leave_world();
    device_stop();
    return rc;
}

static float *put_floats(int64_t count, float value)
{
    float *data = malloc((size_t)count * sizeof *data);
    for (int64_t i = 0; i < count; i++)
        data[i] = value + (float)(i % 100);
    float *memory = device_put(data, (size_t)count * sizeof *data);
    free(data);
    return memory;
}

/* Element i is a + b * (i % 100). */
static void require_floats(const float *memory, int64_t count, float a, float b)
{
    float *data = malloc((size_t)count * sizeof *data);
    int64_t right = 0;
    device_get(data, memory, (size_t)count * sizeof *data);
    for (int64_t i = 0; i < count; i++)
        right += data[i] == a + b * (float)(i % 100);
    REQUIRE(right == count);
    free(data);
}

static struct hvd_tensor tensor_of(const char *name, float *memory, const int64_t *count)
{
    return (struct hvd_tensor){ .name = name,
                                .input = memory,
                                .output = memory,
                                .dtype = HVD_FLOAT32,
                                .ndims = 1,
                                .dims = count,
                                .device = device };
}

/* ---- */

enum { TENSORS = 12 };

/* Submitted in another order on each rank; some would be fused, some cut. */
static int reduce_there(int rank)
{
    float *memory[TENSORS];
    int64_t counts[TENSORS], handles[TENSORS];
    char names[TENSORS][8];
    const struct hvd_options options = { .prescale = 2, .postscale = 0.5 };
    init_world();
    device_start(&able);
    for (int i = 0; i < TENSORS; i++) {
        int at = rank % 2 ? TENSORS - 1 - i : i;
        counts[at] = at % 3 == 0 ? LARGE - at : 10 + at;
        snprintf(names[at], sizeof names[at], "r.%d", at);
        memory[at] = put_floats(counts[at], (float)(rank + at));
        struct hvd_tensor tensor = tensor_of(names[at], memory[at], &counts[at]);
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, &options, &handles[at]), HVD_OK);
    }
    for (int i = 0; i < TENSORS; i++) {
        REQUIRE_STATUS(hvd_wait(handles[i]), HVD_OK);
        int size = hvd_size();
        require_floats(memory[i], counts[i], (float)(size * i + size * (size - 1) / 2),
                       (float)size);
    }
    REQUIRE(accelerator_bytes_copied(npu) == 0);
    return leave();
}

START_TEST(the_devices_are_asked_in_one_order)
{
    ranks_run(&(struct mini_options){ .size = _i }, reduce_there);
}
END_TEST

static int reduce_in_set(int rank)
{
    int64_t handle, count = 5000;
    init_world();
    device_start(&able);
    int set = hvd_add_process_set((const int[]){ 0, 2 }, 2);
    const struct hvd_options options = { .process_set = set };
    float *memory = put_floats(count, (float)rank);
    struct hvd_tensor tensor = tensor_of("s", memory, &count);
    if (rank != 1) {
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_AVERAGE, &options, &handle), HVD_OK);
        REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
        require_floats(memory, count, 1, 1);
    }
    REQUIRE(accelerator_bytes_copied(npu) == 0);
    return leave();
}

START_TEST(the_devices_of_a_process_set_reduce)
{
    ranks_run(&(struct mini_options){ .size = 3 }, reduce_in_set);
}
END_TEST

/* What is not for the devices, and what is on the host, does not wait for them. */
static int reduce_meanwhile(int rank)
{
    int64_t count = LARGE, handle, other;
    init_world();
    device_start(&able);
    hall->closed = 1;
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    float *memory = put_floats(count, (float)rank), *copied = put_floats(count, 0);
    struct hvd_tensor tensor = tensor_of("there", memory, &count);
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
    tensor = tensor_of("here", copied, &count);
    tensor.dtype = HVD_INT32;
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_MAX, NULL, &other), HVD_OK);
    REQUIRE_STATUS(hvd_wait(other), HVD_OK);
    require_floats(copied, count, 0, 1);
    check_collectives(100000);
    REQUIRE_STATUS(hvd_wait_timeout(handle, 0, NULL), HVD_ERR_TIMEOUT);
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    hall->closed = 0;
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    require_floats(memory, count, 1, 2);
    return leave();
}

START_TEST(other_tensors_move_meanwhile)
{
    ranks_run(&(struct mini_options){ .size = 2 }, reduce_meanwhile);
}
END_TEST

static int reduce_for_joined(int rank)
{
    int last;
    init_world();
    if (rank == 1) {
        REQUIRE_STATUS(hvd_join(&last), HVD_OK);
        return leave_world();
    }
    device_start(&able);
    while (accelerator_bytes_copied(npu) == 0) { /* until rank 1 has joined, it is waited for */
        int64_t count = LARGE, handle;
        float *memory = put_floats(count, (float)rank);
        struct hvd_tensor tensor = tensor_of("j", memory, &count);
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
        REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
        require_floats(memory, count, 2, 2);
        accelerator_free(npu, memory);
    }
    REQUIRE_STATUS(hvd_join(&last), HVD_OK);
    return leave();
}

START_TEST(the_library_reduces_when_a_rank_has_joined)
{
    ranks_run(&(struct mini_options){ .size = 3 }, reduce_for_joined);
}
END_TEST

static int disagree(int rank)
{
    int64_t count = 100, handle;
    init_world();
    device_start(rank == 1 ? &unable : &able);
    float *memory = put_floats(count, 0);
    struct hvd_tensor tensor = tensor_of("d", memory, &count);
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_MISMATCH);
    require_text("allreduce 'd': places differ: in device memory, reduced by the device on rank 0, "
                 "in device memory on rank 1");
    tensor.dtype = HVD_INT32; /* which no device can */
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_MAX, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    require_floats(memory, count, 0, 1);
    return leave();
}

START_TEST(devices_that_disagree_are_a_mismatch)
{
    ranks_run(&(struct mini_options){ .size = 2 }, disagree);
}
END_TEST

static struct accelerator_faults faults; /* of rank 1; the ranks are forked */
static bool hangs;

/* Rank 0's device waits for that of rank 1; for ever, or until it is told. */
static int fail_to_reduce(int rank)
{
    int64_t count = 100, handle;
    init_world();
    device_start(&able);
    if (rank == 1)
        accelerator_inject(npu, &faults);
    else
        hall->closed = 1;
    float *memory = put_floats(count, 0);
    struct hvd_tensor tensor = tensor_of("f", memory, &count);
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_SYSTEM);
    if (rank == 1 && !hangs)
        hall->closed = 2;
    require_text(" on testhost: allreduce 'f': device 1 (npu) failed to reduce (-");
    return leave_world();
}

static const struct {
    struct accelerator_faults faults;
    bool hangs;
} failing[] = {
    { { .refuse[HVD_DEVICE_REDUCE] = 1 }, false },
    { { .fail[HVD_DEVICE_REDUCE] = 1 }, true },
};

START_TEST(a_device_that_fails_breaks_the_world)
{
    faults = failing[_i].faults;
    hangs = failing[_i].hangs;
    ranks_run(&(struct mini_options){ .size = 2 }, fail_to_reduce);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_reduce");
    TCase *tcase = tcase_create("device_reduce");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 200);
    tcase_add_checked_fixture(tcase, open_hall, close_hall);
    tcase_add_loop_test(tcase, the_devices_are_asked_in_one_order, 1, 4);
    tcase_add_test(tcase, the_devices_of_a_process_set_reduce);
    tcase_add_test(tcase, other_tensors_move_meanwhile);
    tcase_add_test(tcase, the_library_reduces_when_a_rank_has_joined);
    tcase_add_test(tcase, devices_that_disagree_are_a_mismatch);
    tcase_add_loop_test(tcase, a_device_that_fails_breaks_the_world, 0, 2);
    return unit_run(suite);
}
