/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU as a device, on the stand-in for the CUDA driver (tests/stand_in_cuda): every collective
 * gives what it gives in host memory; nothing is left afterwards; a call that fails, at once or
 * later, ends the world on all ranks with the driver's words; memory that is not the GPU's is
 * refused. */
#include "lib/device/device.h"
#include "lib/hvd_cuda.h"
#include "tests/support/cuda_ranks.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = DEVICE_CHUNK / 4 };

static int leave(void)
{
    int rc = leave_world();
    cuda_stop();
    return rc;
}

static const struct trial kinds[] = {
    { COLLECTIVE_ALLREDUCE, HVD_INT32, HVD_SUM, .columns = 1 },
    { COLLECTIVE_ALLREDUCE, HVD_FLOAT16, HVD_AVERAGE, .columns = 1, .in_place = true },
    { COLLECTIVE_BROADCAST, HVD_INT32, .columns = 1 },
    { COLLECTIVE_ALLGATHER, HVD_INT32, .columns = 1 },
    { COLLECTIVE_ALLTOALL, HVD_INT32, .columns = 1 },
    { COLLECTIVE_REDUCESCATTER, HVD_FLOAT32, HVD_AVERAGE, .columns = 1, .in_place = true },
};

static const int64_t counts[] = { 0, 3, WORDS - 1, 2 * WORDS + 7 };

static int run_kinds(int rank)
{
    (void)rank;
    init_world();
    cuda_start();
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            struct trial trial = kinds[kind];
            trial.rows = counts[i];
            trial.root = hvd_size() - 1;
            trial_check(&trial);
        }
    return leave();
}

START_TEST(every_collective_gives_what_it_gives_on_the_host)
{
    ranks_run(&(struct mini_options){ .size = 2 }, run_kinds);
}
END_TEST

/* ---- ready ---- */

static int make_nothing(void *arg)
{
    (void)arg;
    return CUDA_OK;
}

/* An event of the caller's own stream. */
static int wait_for_input(int rank)
{
    struct cuda_context *context;
    struct cuda_stream *stream;
    struct cuda_event *event;
    int64_t count = 10, handle;
    int32_t data[10] = { 0 };
    init_world();
    cuda_start();
    REQUIRE(stand_in_call_primary_retain(&context, 0) == CUDA_OK);
    REQUIRE(stand_in_call_push(context) == CUDA_OK);
    REQUIRE(stand_in_call_stream_create(&stream, CUDA_STREAM_NON_BLOCKING) == CUDA_OK);
    REQUIRE(stand_in_call_event_create(&event, CUDA_EVENT_DISABLE_TIMING) == CUDA_OK);
    void *memory = device_put(data, sizeof data);
    stand_in_hold(true);
    REQUIRE(stand_in_enqueue(stream, make_nothing, NULL) == CUDA_OK);
    REQUIRE(stand_in_call_event_record(event, stream) == CUDA_OK);
    const struct hvd_tensor tensor = { .name = "r",
                                       .input = memory,
                                       .output = memory,
                                       .dtype = HVD_INT32,
                                       .ndims = 1,
                                       .dims = &count,
                                       .device = device,
                                       .ready = event };
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait_timeout(handle, 1, NULL), HVD_ERR_TIMEOUT);
    data[3] = rank + 1;
    device_memory->write(memory, data, sizeof data);
    stand_in_hold(false);
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    device_get(data, memory, sizeof data);
    REQUIRE(data[3] == 3);
    REQUIRE(stand_in_call_event_destroy(event) == CUDA_OK);
    REQUIRE(stand_in_call_stream_destroy(stream) == CUDA_OK);
    REQUIRE(stand_in_call_pop(&context) == CUDA_OK);
    REQUIRE(stand_in_call_primary_release(0) == CUDA_OK);
    return leave();
}

START_TEST(the_input_is_read_when_the_callers_event_has_passed)
{
    ranks_run(&(struct mini_options){ .size = 2 }, wait_for_input);
}
END_TEST

/* ---- memory for programs ---- */

static int sum_at(void *memory, int64_t count)
{
    int64_t handle;
    int rc = cuda_submit_sum("m", memory, count, &handle);
    return rc < 0 ? rc : hvd_wait(handle);
}

static int use_memory(int rank)
{
    enum { COUNT = 3000 };
    int ordinal = -1;
    char name[64], first[5];
    void *memory, *other;
    static int32_t data[COUNT], back[COUNT];
    init_world();
    cuda_start();
    REQUIRE_STATUS(hvd_cuda_describe(device, &ordinal, name, sizeof name), HVD_OK);
    REQUIRE(ordinal == 0 && strcmp(name, "stand-in GPU 0") == 0);
    REQUIRE_STATUS(hvd_cuda_describe(device, NULL, first, sizeof first), HVD_OK);
    REQUIRE(strcmp(first, "stan") == 0);
    REQUIRE_STATUS(hvd_cuda_describe(device, NULL, NULL, 0), HVD_OK);
    REQUIRE_STATUS(hvd_cuda_alloc(device, sizeof data, &memory), HVD_OK);
    REQUIRE_STATUS(hvd_cuda_alloc(device, sizeof data, &other), HVD_OK);
    for (int i = 0; i < COUNT; i++)
        data[i] = i + rank;
    REQUIRE_STATUS(hvd_cuda_copy(device, memory, data, sizeof data), HVD_OK);
    REQUIRE_STATUS(sum_at(memory, COUNT), HVD_OK);
    REQUIRE_STATUS(hvd_cuda_copy(device, other, memory, sizeof data), HVD_OK);
    REQUIRE_STATUS(hvd_cuda_copy(device, back, other, sizeof data), HVD_OK);
    REQUIRE(back[0] == 1 && back[COUNT - 1] == 2 * COUNT - 1);
    REQUIRE_STATUS(hvd_cuda_copy(device, NULL, NULL, 0), HVD_OK);
    REQUIRE_STATUS(hvd_cuda_free(device, memory), HVD_OK);
    REQUIRE_STATUS(hvd_cuda_free(device, other), HVD_OK);
    REQUIRE_STATUS(hvd_cuda_free(device, NULL), HVD_OK);
    REQUIRE(stand_in_holdings().pieces == 0);
    return leave();
}

START_TEST(a_program_can_have_memory_of_the_gpu)
{
    ranks_run(&(struct mini_options){ .size = 2 }, use_memory);
}
END_TEST

static int refuse_use(int rank)
{
    void *memory = NULL;
    char data[8] = { 0 };
    (void)rank;
    init_world();
    cuda_start();
    REQUIRE_STATUS(hvd_cuda_alloc(device, 0, &memory), HVD_ERR_INVALID);
    require_text("allocate cuda memory: of 0 bytes");
    REQUIRE_STATUS(hvd_cuda_alloc(device, 8, NULL), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_cuda_alloc(device + 1, 8, &memory), HVD_ERR_INVALID);
    require_text("allocate cuda memory: device 2 is none of CUDA");
    REQUIRE_STATUS(hvd_cuda_free(0, &memory), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_cuda_describe(7, NULL, NULL, 0), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_cuda_free(device, data), HVD_ERR_SYSTEM);
    require_text("free cuda memory: cuMemFree: invalid argument (CUDA_ERROR_INVALID_VALUE)");
    stand_in_configure("fail=cuMemAlloc:1:2 fail=cuStreamSynchronize:1:700");
    REQUIRE_STATUS(hvd_cuda_alloc(device, 8, &memory), HVD_ERR_NOMEM);
    require_text("allocate cuda memory: 8 bytes: cuMemAlloc: out of memory");
    REQUIRE_STATUS(hvd_cuda_alloc(device, 8, &memory), HVD_OK);
    REQUIRE_STATUS(hvd_cuda_copy(device, memory, data, 9), HVD_ERR_SYSTEM);
    require_text("copy cuda memory: cuMemcpyAsync: invalid argument");
    REQUIRE_STATUS(hvd_cuda_copy(device, memory, data, 8), HVD_ERR_SYSTEM);
    require_text("copy cuda memory: cuStreamSynchronize: an illegal memory access");
    REQUIRE_STATUS(hvd_cuda_free(device, memory), HVD_OK);
    return leave();
}

START_TEST(what_it_asks_wrongly_is_refused)
{
    ranks_run(&(struct mini_options){ .size = 1 }, refuse_use);
}
END_TEST

/* ---- whose memory ---- */

static int refuse_memory(int rank)
{
    int32_t host[4] = { 0 };
    void *pinned;
    (void)rank;
    init_world();
    cuda_start();
    REQUIRE_STATUS(sum_at(host, 4), HVD_ERR_INVALID);
    require_text("allreduce 'm': input is not memory of device 1 (cuda:0) (-1): 0x");
    require_text(" is not memory that the driver knows");
    void *other = stand_in_alloc(1, false, 64);
    REQUIRE_STATUS(sum_at(other, 4), HVD_ERR_INVALID);
    require_text(" is memory of GPU 1, the device is GPU 0");
    void *small = stand_in_alloc(0, false, 64);
    REQUIRE_STATUS(sum_at(small, 16), HVD_OK);
    REQUIRE_STATUS(sum_at(small, 1 << 20), HVD_ERR_INVALID);
    void *managed = stand_in_alloc(0, true, 64);
    REQUIRE_STATUS(sum_at(managed, 16), HVD_OK);
    struct cuda_context *context;
    REQUIRE(stand_in_call_primary_retain(&context, 0) == CUDA_OK);
    REQUIRE(stand_in_call_push(context) == CUDA_OK);
    REQUIRE(stand_in_call_host_alloc(&pinned, 64, CUDA_HOST_ALLOC_PORTABLE) == CUDA_OK);
    REQUIRE_STATUS(sum_at(pinned, 4), HVD_ERR_INVALID);
    require_text(" is memory of the host, not of a GPU");
    REQUIRE(stand_in_call_host_free(pinned) == CUDA_OK);
    REQUIRE(stand_in_call_pop(&context) == CUDA_OK && context != NULL);
    REQUIRE(stand_in_call_primary_release(0) == CUDA_OK);
    return leave();
}

START_TEST(memory_that_is_not_the_gpus_is_refused)
{
    ranks_run(&(struct mini_options){ .size = 1 }, refuse_memory);
}
END_TEST

/* ---- failures ---- */

static const struct failure {
    const char *words; /* of rank 1 */
    int status;
    const char *text; /* on both ranks */
} failures[] = {
    { "fail=cuMemcpyDtoHAsync:1:700", HVD_ERR_SYSTEM,
      "failed to copy to the host (-700): cuMemcpyDtoHAsync: an illegal memory access was "
      "encountered (CUDA_ERROR_ILLEGAL_ADDRESS)" },
    { "late=1:700", HVD_ERR_SYSTEM, "(-700): " },
    { "fail=cuEventRecord:1:999", HVD_ERR_SYSTEM,
      "failed to record an event (-999): cuEventRecord: unknown error (CUDA_ERROR_UNKNOWN)" },
    { "lost=cuMemcpyDtoHAsync:2", HVD_ERR_SYSTEM, "unknown error (CUDA_ERROR_UNKNOWN)" },
    { "lost=cuEventQuery:1", HVD_ERR_SYSTEM, "unknown error (CUDA_ERROR_UNKNOWN)" },
    { "lost=cuPointerGetAttribute:1", HVD_ERR_SYSTEM,
      "failed to copy to the host (-999): cuCtxPushCurrent: unknown error (CUDA_ERROR_UNKNOWN)" },
    { "lost=cuCtxPushCurrent:1", HVD_ERR_SYSTEM,
      "failed to copy to the host (-999): cuCtxPushCurrent: unknown error (CUDA_ERROR_UNKNOWN)" },
};

/* Before the first collective, which wants pinned memory. */
static const struct failure first_failures[] = {
    { "lost=cuPointerGetAttribute:1", HVD_ERR_SYSTEM,
      "create an event (-999): cuCtxPushCurrent: unknown error (CUDA_ERROR_UNKNOWN)" },
    { "lost=cuEventCreate:1", HVD_ERR_SYSTEM,
      "create an event (-999): cuEventCreate: unknown error (CUDA_ERROR_UNKNOWN)" },
    { "lost=cuMemHostAlloc:1", HVD_ERR_SYSTEM,
      "allocate pinned memory (-999): cuMemHostAlloc: unknown error (CUDA_ERROR_UNKNOWN)" },
    { "lost=cuMemHostAlloc:8", HVD_ERR_SYSTEM, "allocate pinned memory (-999): cuMemHostAlloc: " },
    { "fail=cuMemHostAlloc:3:700", HVD_ERR_SYSTEM,
      "allocate pinned memory (-700): cuMemHostAlloc: an illegal memory access was encountered" },
};

static const struct failure *failing;
static bool fails_first;

static int fail_on_one(int rank)
{
    init_world();
    cuda_start();
    void *memory = device_put(NULL, 4 * DEVICE_CHUNK);
    if (!fails_first)
        REQUIRE_STATUS(sum_at(memory, 1), HVD_OK); /* the device has its pinned memory */
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    if (rank == 1)
        stand_in_configure(failing->words);
    REQUIRE_STATUS(sum_at(memory, 4 * WORDS), failing->status);
    require_text("rank 1 on testhost: allreduce 'm': device 1 (cuda:0) failed to ");
    require_text(failing->text);
    REQUIRE_STATUS(hvd_shutdown(), HVD_OK);
    stand_in_configure("");
    REQUIRE_STATUS(hvd_cuda_close(device), HVD_OK);
    return 0;
}

START_TEST(a_gpu_that_fails_ends_the_world_on_all_ranks_in_the_drivers_words)
{
    failing = &failures[_i];
    ranks_run(&(struct mini_options){ .size = 2 }, fail_on_one);
}
END_TEST

START_TEST(a_gpu_lost_before_its_first_collective_ends_the_world_like_one_lost_later)
{
    failing = &first_failures[_i];
    fails_first = true;
    ranks_run(&(struct mini_options){ .size = 2 }, fail_on_one);
}
END_TEST

static int lack_pinned(int rank)
{
    init_world();
    cuda_start();
    void *memory = device_put(NULL, 64);
    stand_in_configure("fail=cuMemHostAlloc:1:2");
    REQUIRE_STATUS(sum_at(memory, 16), HVD_ERR_NOMEM);
    REQUIRE_STATUS(sum_at(memory, 16), HVD_OK);
    (void)rank;
    return leave();
}

START_TEST(pinned_memory_that_is_lacking_is_an_error_of_the_call)
{
    ranks_run(&(struct mini_options){ .size = 1 }, lack_pinned);
}
END_TEST

/* ---- opening ---- */

static const struct {
    const char *words;
    int ordinal, status;
    const char *text;
} openings[] = {
    { "gpus=0", 0, HVD_ERR_SYSTEM, "open cuda device: the driver finds no GPU" },
    { "driver=10020", 0, HVD_ERR_SYSTEM,
      "open cuda device: the driver is that of CUDA 10.2, at least 11.4 is needed" },
    { "fail=cuInit:1:999", 0, HVD_ERR_SYSTEM,
      "open cuda device: cuInit: unknown error (CUDA_ERROR_UNKNOWN)" },
    { "gpus=2", 2, HVD_ERR_INVALID, "open cuda device: there is no GPU 2, the driver shows 2" },
    { "gpus=2", -1, HVD_ERR_NOT_INITIALIZED, "open cuda device: hvd_init has not been called" },
    { "gpus=2", -2, HVD_ERR_INVALID, "open cuda device: ordinal -2 is not 0 or more" },
    { "fail=cuDevicePrimaryCtxRetain:1:2", 0, HVD_ERR_SYSTEM,
      "open cuda device: GPU 0: cuDevicePrimaryCtxRetain: out of memory "
      "(CUDA_ERROR_OUT_OF_MEMORY)" },
    { "fail=cuStreamCreate:2:2", 1, HVD_ERR_SYSTEM,
      "open cuda device: GPU 1: cuStreamCreate: out of memory" },
};

START_TEST(a_gpu_that_cannot_be_opened_says_why_and_leaves_nothing)
{
    int number = 0;
    stand_in_configure(openings[_i].words);
    ck_assert_int_eq(hvd_cuda_open(openings[_i].ordinal, &number), openings[_i].status);
    ck_assert_msg(strncmp(hvd_last_error(), openings[_i].text, strlen(openings[_i].text)) == 0,
                  "%s", hvd_last_error());
    struct stand_in_holdings left = stand_in_holdings();
    ck_assert_int_eq(left.contexts + left.pushed + left.streams, 0);
    stand_in_configure("");
    ck_assert_int_eq(hvd_cuda_open(0, &number), HVD_OK);
    ck_assert_int_eq(hvd_cuda_close(number), HVD_OK);
    ck_assert_int_eq(hvd_cuda_close(number), HVD_ERR_INVALID);
    ck_assert_int_eq(hvd_cuda_open(0, NULL), HVD_ERR_INVALID);
}
END_TEST

static int close_default(int rank)
{
    (void)rank;
    setenv("HVD_DEVICE", "cuda", 1);
    init_world();
    int first = hvd_default_device();
    REQUIRE(first > 0);
    REQUIRE_STATUS(hvd_cuda_close(first), HVD_OK);
    REQUIRE(hvd_default_device() == 0);
    REQUIRE_STATUS(hvd_shutdown(), HVD_OK);
    return 0;
}

START_TEST(the_default_device_is_none_once_it_is_closed)
{
    ranks_run(&(struct mini_options){ .size = 1 }, close_default);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_device");
    TCase *tcase = tcase_create("cuda_device");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 100);
    cuda_prepare();
    tcase_add_test(tcase, every_collective_gives_what_it_gives_on_the_host);
    tcase_add_test(tcase, the_input_is_read_when_the_callers_event_has_passed);
    tcase_add_test(tcase, a_program_can_have_memory_of_the_gpu);
    tcase_add_test(tcase, what_it_asks_wrongly_is_refused);
    tcase_add_test(tcase, memory_that_is_not_the_gpus_is_refused);
    tcase_add_loop_test(tcase, a_gpu_that_fails_ends_the_world_on_all_ranks_in_the_drivers_words, 0,
                        sizeof failures / sizeof *failures);
    tcase_add_loop_test(tcase,
                        a_gpu_lost_before_its_first_collective_ends_the_world_like_one_lost_later,
                        0, sizeof first_failures / sizeof *first_failures);
    tcase_add_test(tcase, pinned_memory_that_is_lacking_is_an_error_of_the_call);
    tcase_add_loop_test(tcase, a_gpu_that_cannot_be_opened_says_why_and_leaves_nothing, 0,
                        sizeof openings / sizeof *openings);
    tcase_add_test(tcase, the_default_device_is_none_once_it_is_closed);
    return unit_run(suite);
}
