/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong with tensors on devices, and what has to be waited for: places that differ,
 * events that have not passed, copies that fail, devices that are in use, and worlds and processes
 * that end meanwhile. */
#include "lib/device/device.h"
#include "lib/hvd_device.h"
#include "tests/support/device_ranks.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = DEVICE_CHUNK / 4, LARGE = 2 * WORDS + 100 };

static int leave(void)
{
    int rc = leave_world();
    device_stop();
    return rc;
}

/* `count` integers that are all `value`. */
static void *put_all(int64_t count, int32_t value)
{
    int32_t *data = malloc((size_t)count * sizeof *data);
    for (int64_t i = 0; i < count; i++)
        data[i] = value;
    void *memory = device_put(data, (size_t)count * sizeof *data);
    free(data);
    return memory;
}

static void require_all(const void *memory, int64_t count, int32_t value)
{
    int32_t *data = malloc((size_t)count * sizeof *data);
    int64_t right = 0;
    device_get(data, memory, (size_t)count * sizeof *data);
    for (int64_t i = 0; i < count; i++)
        right += data[i] == value;
    REQUIRE(right == count);
    free(data);
}

static struct hvd_tensor tensor_of(const char *name, void *memory, const int64_t *count)
{
    return (struct hvd_tensor){ .name = name,
                                .input = memory,
                                .output = memory,
                                .output_size = (size_t)*count * 4,
                                .dtype = HVD_INT32,
                                .ndims = 1,
                                .dims = count,
                                .device = device };
}

static int64_t start(const struct hvd_tensor *tensor)
{
    int64_t handle;
    REQUIRE_STATUS(hvd_allreduce_async(tensor, HVD_SUM, NULL, &handle), HVD_OK);
    return handle;
}

/* A sum over all ranks of what is on the devices, which each has 1 of. */
static void check_works(int64_t count)
{
    void *memory = put_all(count, 1);
    struct hvd_tensor tensor = tensor_of("works", memory, &count);
    REQUIRE_STATUS(hvd_wait(start(&tensor)), HVD_OK);
    require_all(memory, count, hvd_size());
    accelerator_free(npu, memory);
}

/* ---- mistakes ---- */

static void refused(int rc, const char *text)
{
    REQUIRE_STATUS(rc, HVD_ERR_INVALID);
    require_text(text);
}

static int ask_wrongly(int rank)
{
    int64_t count = 8, handle;
    int32_t host[8] = { 0 };
    struct hvd_result result;
    (void)rank;
    init_world();
    device_start(NULL);
    void *event = npu_table->create_event(npu), *memory = put_all(count, 1);
    struct hvd_tensor tensor = tensor_of("a", memory, &count);
    tensor.device = device + 1;
    refused(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle),
            "allreduce 'a': there is no device 2");
    tensor.device = -1;
    refused(hvd_broadcast_async(&tensor, 0, NULL, &handle), "there is no device -1");
    tensor = tensor_of("a", host, &count);
    tensor.device = 0;
    tensor.ready = event;
    refused(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle),
            "allreduce 'a': ready is set, but device is 0");
    tensor = tensor_of("a", memory, &count);
    tensor.output = NULL;
    refused(hvd_allgather_async(&tensor, NULL, &handle), "memory on a device is the caller's");
    refused(hvd_alltoall(&tensor, NULL, 0, NULL, &result), "memory on a device is the caller's");
    refused(hvd_unregister_device(device + 1), "there is no device 2");
    npu_table->destroy_event(npu, event);
    check_works(count);
    return leave();
}

START_TEST(what_is_asked_wrongly_is_refused)
{
    ranks_run(&(struct mini_options){ .size = 2 }, ask_wrongly);
}
END_TEST

/* Rank 1 has it on the host. */
static int differ(int rank)
{
    static const int64_t counts[] = { 1, 20000, LARGE };
    init_world();
    device_start(NULL);
    for (size_t i = 0; i < 2 * sizeof counts / sizeof *counts; i++) {
        int64_t count = counts[i / 2], handle;
        void *host = calloc((size_t)count, 4), *memory = put_all(count, 1);
        struct hvd_tensor tensor = tensor_of("w", rank == 1 ? host : memory, &count);
        tensor.device = rank == 1 ? 0 : device;
        REQUIRE_STATUS(i % 2 ? hvd_broadcast_async(&tensor, 0, NULL, &handle)
                             : hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle),
                       HVD_OK);
        REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_MISMATCH);
        require_text(i % 2 ? "broadcast 'w': places differ: in device memory on rank"
                           : "allreduce 'w': places differ: in device memory on rank");
        require_text(", in host memory on rank 1");
        accelerator_free(npu, memory);
        free(host);
        check_works(count);
    }
    return leave();
}

START_TEST(places_that_differ_are_a_mismatch_and_the_world_goes_on)
{
    ranks_run(&(struct mini_options){ .size = 3 }, differ);
}
END_TEST

/* A gathered result that does not fit is this rank's failure. */
static int give_little_room(int rank)
{
    int64_t handle, count = LARGE;
    init_world();
    device_start(NULL);
    void *input = put_all(count, 7), *output = put_all(2 * count, -1);
    struct hvd_tensor tensor = tensor_of("g", input, &count);
    tensor.output = output;
    tensor.output_size = (size_t)(rank == 1 ? count : 2 * count) * 4;
    REQUIRE_STATUS(hvd_allgather_async(&tensor, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), rank == 1 ? HVD_ERR_INVALID : HVD_OK);
    if (rank == 1)
        require_text("output has room for");
    require_all(output, 2 * count, rank == 1 ? -1 : 7);
    check_works(count);
    return leave();
}

START_TEST(an_output_that_is_too_small_is_that_tensors_failure)
{
    ranks_run(&(struct mini_options){ .size = 2 }, give_little_room);
}
END_TEST

/* ---- events ---- */

/* The device's memory cannot be written to while a kernel waits. */
static void prepare(struct maker *maker, int number, int64_t count, int32_t value)
{
    *maker = (struct maker){ .count = count, .value = value };
    snprintf(maker->name, sizeof maker->name, "made.%d", number);
    sem_init(&maker->gate, 0, 0);
    maker->memory = put_all(count, -1);
    maker->event = npu_table->create_event(npu);
}

static void submit(struct maker *maker)
{
    struct hvd_tensor tensor = tensor_of(maker->name, maker->memory, &maker->count);
    tensor.ready = maker->event;
    maker->handle = start(&tensor);
}

static void finish(struct maker *maker, int32_t value)
{
    REQUIRE_STATUS(hvd_wait(maker->handle), HVD_OK);
    require_all(maker->memory, maker->count, value);
    accelerator_free(npu, maker->memory);
    npu_table->destroy_event(npu, maker->event);
    sem_destroy(&maker->gate);
}

static int wait_for_events(int rank)
{
    struct maker maker;
    int32_t sum;
    init_world();
    device_start(NULL);
    check_works(LARGE);
    size_t copied = accelerator_bytes_copied(npu);
    prepare(&maker, 0, LARGE, rank + 1);
    maker_put_on_queue(&maker);
    submit(&maker);
    for (int i = 0; i < 20; i++) {
        REQUIRE_STATUS(sum_of_ranks("meanwhile", &sum), HVD_OK);
        REQUIRE_STATUS(hvd_wait_timeout(maker.handle, 1, NULL), HVD_ERR_TIMEOUT);
    }
    REQUIRE(accelerator_bytes_copied(npu) == copied);
    sem_post(&maker.gate);
    finish(&maker, hvd_size() * (hvd_size() + 1) / 2);
    return leave();
}

START_TEST(nothing_is_copied_before_the_event)
{
    ranks_run(&(struct mini_options){ .size = _i }, wait_for_events);
}
END_TEST

/* Inputs come in an order of their own on each rank, more of them late than runs have a place. */
static int make_in_any_order(int rank)
{
    enum { MAKERS = 12 };
    struct maker makers[MAKERS];
    init_world();
    device_start(NULL);
    for (int i = 0; i < MAKERS; i++)
        prepare(&makers[i], i, WORDS + 100 * i, rank + i);
    for (int i = 0; i < MAKERS; i++)
        maker_put_on_queue(&makers[rank == 0 ? i : MAKERS - 1 - i]);
    for (int i = 0; i < MAKERS; i++)
        submit(&makers[i]);
    for (int i = 0; i < MAKERS; i++)
        sem_post(&makers[(i + 5 * rank) % MAKERS].gate);
    for (int i = 0; i < MAKERS; i++)
        finish(&makers[i], 2 * i + 1);
    return leave();
}

START_TEST(inputs_may_come_in_another_order_on_each_rank)
{
    ranks_run(&(struct mini_options){ .size = 2 }, make_in_any_order);
}
END_TEST

/* ---- failures ---- */

static struct accelerator_faults faults; /* of rank 1; the ranks are forked */
static const char *failure;

/* The copy in, or the kernel before it, fails on rank 1. */
static int break_world(int rank)
{
    struct maker maker;
    init_world();
    device_start(NULL);
    check_works(LARGE);
    prepare(&maker, 0, LARGE, 1);
    if (rank == 1) {
        wait_for(0, hvd_size() - 1); /* all others have submitted */
        accelerator_inject(npu, &faults);
    }
    maker_put_on_queue(&maker);
    sem_post(&maker.gate);
    submit(&maker);
    atomic_fetch_add(&shared->counters[0], 1);
    REQUIRE_STATUS(hvd_wait(maker.handle), HVD_ERR_SYSTEM);
    require_text(failure);
    struct hvd_tensor tensor = tensor_of("later", maker.memory, &maker.count);
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &maker.handle), HVD_ERR_SYSTEM);
    npu_table->destroy_event(npu, maker.event);
    if (rank != 1 || faults.record == 0)
        return leave();
    REQUIRE_STATUS(hvd_unregister_device(device),
                   HVD_OK); /* a copy of which nothing tells the end */
    REQUIRE(accelerator_holdings(npu).pinned == DEVICE_CHUNK);
    return leave_world();
}

static const struct {
    struct accelerator_faults faults;
    const char *text;
} breaking[] = {
    { { .refuse[HVD_DEVICE_TO_HOST] = 1 }, "copy to the host (-5)" },
    { { .fail[HVD_DEVICE_TO_HOST] = 1 }, "copy to the host (-5)" },
    { { .refuse[HVD_DEVICE_TO_HOST] = 3 }, "copy to the host (-5)" },
    { { .fail[HVD_DEVICE_TO_HOST] = 3 }, "copy to the host (-5)" },
    { { .record = 2 }, "record an event (-5)" },
    { { .fail[ACCELERATOR_COMPUTE] = 1 }, "make the input (-5)" },
};

START_TEST(data_that_others_need_and_is_not_there_breaks_the_world)
{
    char text[200];
    snprintf(text, sizeof text,
             "rank 1 on testhost: allreduce 'made.0': device 1 (npu) failed to %s",
             breaking[_i].text);
    failure = text;
    faults = breaking[_i].faults;
    ranks_run(&(struct mini_options){ .size = 3 }, break_world);
}
END_TEST

/* The copy back fails on rank 1, of one of three tensors. */
static int fail_alone(int rank)
{
    void *memory[3];
    int64_t handles[3], counts[] = { 1000, LARGE, 2000 };
    char names[3][8];
    init_world();
    device_start(NULL);
    check_works(LARGE);
    for (int i = 0; i < 3; i++) {
        snprintf(names[i], sizeof names[i], "f.%d", i);
        memory[i] = put_all(counts[i], 1);
    }
    if (rank == 1)
        accelerator_inject(npu, &faults);
    for (int i = 0; i < 3; i++) {
        struct hvd_tensor tensor = tensor_of(names[i], memory[i], &counts[i]);
        handles[i] = start(&tensor);
    }
    int failed = 0;
    for (int i = 0; i < 3; i++) {
        int rc = hvd_wait(handles[i]);
        REQUIRE(rc == HVD_OK || (rank == 1 && rc == HVD_ERR_SYSTEM));
        if (rc == HVD_OK)
            require_all(memory[i], counts[i], hvd_size());
        else
            require_text(failure);
        failed += rc != HVD_OK;
    }
    REQUIRE((failed > 0) == (rank == 1)); /* what is fused fails together */
    check_works(LARGE);
    return leave();
}

static const struct {
    struct accelerator_faults faults;
    const char *text;
} failing[] = {
    { { .refuse[HVD_DEVICE_FROM_HOST] = 1 }, "copy from the host (-5)" },
    { { .fail[HVD_DEVICE_FROM_HOST] = 1 }, "copy from the host (-5)" },
    { { .refuse[HVD_DEVICE_FROM_HOST] = 4 }, "copy from the host (-5)" },
    { { .fail[HVD_DEVICE_FROM_HOST] = 4 }, "copy from the host (-5)" },
};

START_TEST(a_result_that_cannot_be_copied_back_is_that_tensors_failure)
{
    char text[200];
    snprintf(text, sizeof text, "device 1 (npu) failed to %s", failing[_i].text);
    failure = text;
    faults = failing[_i].faults;
    ranks_run(&(struct mini_options){ .size = 2 }, fail_alone);
}
END_TEST

/* Likewise of what does not fit into a pinned buffer. */
static int fail_to_gather(int rank)
{
    int64_t handle, count = LARGE;
    init_world();
    device_start(NULL);
    void *input = put_all(count, 7), *output = put_all(2 * count, -1);
    struct hvd_tensor tensor = tensor_of("g", input, &count);
    tensor.output = output;
    tensor.output_size = 2 * (size_t)count * 4;
    if (rank == 1)
        accelerator_inject(npu, &faults);
    REQUIRE_STATUS(hvd_allgather_async(&tensor, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), rank == 1 ? HVD_ERR_SYSTEM : HVD_OK);
    if (rank == 1)
        require_text("allgather 'g': device 1 (npu) failed to copy from the host (-5)");
    else
        require_all(output, 2 * count, 7);
    check_works(count);
    return leave();
}

START_TEST(a_gathered_result_fails_alone_too)
{
    faults = failing[_i].faults;
    ranks_run(&(struct mini_options){ .size = 2 }, fail_to_gather);
}
END_TEST

static int lack_pinned_memory(int rank)
{
    int64_t handle, count = LARGE;
    init_world();
    device_start(NULL);
    void *memory = put_all(count, 1);
    struct hvd_tensor tensor = tensor_of("p", memory, &count);
    for (unsigned nth = 1; rank == 1 && nth <= 2; nth++) { /* none, and one only */
        faults = (struct accelerator_faults){ .pinned = nth };
        accelerator_inject(npu, &faults);
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_ERR_NOMEM);
        require_text("allreduce 'p': device 1 (npu) has no pinned memory");
    }
    REQUIRE_STATUS(hvd_wait(start(&tensor)), HVD_OK);
    require_all(memory, count, hvd_size());
    return leave();
}

START_TEST(without_pinned_memory_nothing_is_submitted)
{
    ranks_run(&(struct mini_options){ .size = 2 }, lack_pinned_memory);
}
END_TEST

static int asked; /* for pinned memory */

static void *allocate_few(void *context, size_t nbytes)
{
    return asked++ < DEVICE_BUFFERS_LEAST ? npu_table->alloc_pinned(context, nbytes) : NULL;
}

/* Two tensors of many chunks, and a vendor that has as much as is asked for at first. */
static int have_few_buffers(int rank)
{
    enum { CHUNKS = 12 };
    static const struct accelerator_options rather_slow = { .memory = 64 << 20,
                                                            .bytes_per_second = 1e9 };
    int64_t count = CHUNKS * WORDS;
    init_world();
    device_start(&rather_slow);
    struct hvd_device limited = *npu_table;
    limited.alloc_pinned = allocate_few;
    REQUIRE_STATUS(hvd_unregister_device(device), HVD_OK);
    device = hvd_register_device(&limited);
    void *memory = put_all(count, rank + 1), *other = put_all(count, rank + 1);
    struct hvd_tensor tensor = tensor_of("one", memory, &count);
    struct hvd_tensor second = tensor_of("two", other, &count);
    int64_t handles[] = { start(&tensor), start(&second) };
    REQUIRE_STATUS(hvd_wait(handles[0]), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handles[1]), HVD_OK);
    require_all(memory, count, 3);
    require_all(other, count, 3);
    REQUIRE(asked == DEVICE_BUFFERS_LEAST);
    return leave();
}

START_TEST(a_vendor_is_asked_for_pinned_memory_once)
{
    ranks_run(&(struct mini_options){ .size = 2 }, have_few_buffers);
}
END_TEST

/* ---- in use ---- */

static int unregister_early(int rank)
{
    struct maker maker;
    init_world();
    device_start(NULL);
    prepare(&maker, 0, LARGE, rank);
    maker_put_on_queue(&maker);
    submit(&maker);
    refused(hvd_unregister_device(device), "device 1 (npu) is in use");
    sem_post(&maker.gate);
    finish(&maker, 1);
    return leave();
}

START_TEST(a_device_with_tensors_in_flight_stays)
{
    ranks_run(&(struct mini_options){ .size = 2 }, unregister_early);
}
END_TEST

static const struct accelerator_options slow = { .memory = 64 << 20, .bytes_per_second = 2e7 };

/* In the midst of copies to and from the device, which are over when everything is given back: its
 * memory would be written to otherwise. */
static int leave_early(int rank)
{
    enum { TENSORS = 4 };
    struct hvd_tensor tensors[TENSORS];
    int64_t count = LARGE, handles[TENSORS];
    char names[TENSORS][8];
    init_world();
    device_start(&slow);
    for (int i = 0; i < TENSORS; i++) {
        snprintf(names[i], sizeof names[i], "l.%d", i);
        tensors[i] = tensor_of(names[i], put_all(count, 1), &count);
        handles[i] = start(&tensors[i]);
    }
    atomic_fetch_add(&shared->counters[0], 1);
    wait_for(0, hvd_size());
    while (rank == 0 && accelerator_bytes_copied(npu) < DEVICE_CHUNK &&
           hvd_poll(handles[TENSORS - 1]) == 0)
        sched_yield();
    REQUIRE_STATUS(hvd_shutdown(), HVD_OK);
    for (int i = 0; i < TENSORS; i++)
        accelerator_free(npu, tensors[i].output);
    device_stop();
    return 0;
}

START_TEST(shutdown_waits_for_the_copies_that_are_under_way)
{
    ranks_run(&(struct mini_options){ .size = _i }, leave_early);
}
END_TEST

static int lose_a_rank(int rank)
{
    int64_t count = 4 * WORDS;
    init_world();
    device_start(&slow);
    struct hvd_tensor tensor = tensor_of("lost", put_all(count, 1), &count);
    int64_t handle = start(&tensor);
    if (rank == 1) {
        while (accelerator_bytes_copied(npu) == 0)
            hvd_poll(handle);
        raise(SIGKILL);
    }
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_PEER_LOST);
    require_text("the connection to rank 1 on testhost broke");
    accelerator_free(npu, tensor.output);
    REQUIRE_STATUS(hvd_unregister_device(device), HVD_OK);
    REQUIRE_STATUS(hvd_shutdown(), HVD_OK);
    accelerator_destroy(npu);
    return 0;
}

START_TEST(a_lost_rank_ends_tensors_once_nothing_uses_their_memory)
{
    ranks_run_but(&(struct mini_options){ .size = 3 }, lose_a_rank, 1);
}
END_TEST

/* ---- exit() in a function of the device ---- */

enum { ENDING_RANK = 1, ENDING_STATUS = 3, PATIENCE_S = 60 };

enum ending { BY_ITSELF, IN_A_WAIT, IN_UNREGISTER, WITH_A_HANDLER, ENDINGS };
static enum ending ending;

static int copy_and_exit(void *context, void *host, const void *memory, size_t nbytes)
{
    (void)context, (void)host, (void)memory, (void)nbytes;
    exit(ENDING_STATUS);
}

static void free_and_exit(void *context, void *memory, size_t nbytes)
{
    (void)context, (void)memory, (void)nbytes;
    exit(ENDING_STATUS);
}

static void call_at_exit(void)
{
    if (hvd_shutdown() != HVD_ERR_INVALID || hvd_rank() != HVD_ERR_INVALID ||
        hvd_unregister_device(device) != HVD_ERR_INVALID)
        _exit(1);
}

/* Does not come back. SIGALRM ends a rank that hangs. */
static void end_in_a_function(struct hvd_tensor *tensor)
{
    struct hvd_device ending_table = *npu_table;
    alarm(PATIENCE_S);
    if (ending == IN_UNREGISTER)
        ending_table.free_pinned = free_and_exit;
    else
        ending_table.copy_to_host = copy_and_exit;
    if (ending == WITH_A_HANDLER)
        atexit(call_at_exit);
    REQUIRE_STATUS(hvd_unregister_device(device), HVD_OK);
    tensor->device = device = hvd_register_device(&ending_table);
    int64_t handle = start(tensor);
    if (ending == IN_UNREGISTER) {
        REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
        hvd_unregister_device(device);
    }
    if (ending == IN_A_WAIT)
        hvd_wait(handle);
    for (;;)
        pause();
}

static int outlive(int rank)
{
    int64_t count = LARGE;
    int32_t sum;
    init_world();
    device_start(NULL);
    struct hvd_tensor tensor = tensor_of("e", put_all(count, 1), &count);
    if (rank == ENDING_RANK)
        end_in_a_function(&tensor);
    int rc = hvd_wait(start(&tensor));
    if (ending == IN_UNREGISTER) {
        REQUIRE_STATUS(rc, HVD_OK);
        rc = sum_of_ranks("later", &sum);
    }
    REQUIRE_STATUS(rc, HVD_ERR_PEER_LOST);
    require_text("the connection to rank 1 on testhost broke");
    REQUIRE_STATUS(hvd_shutdown(), HVD_OK);
    return 0;
}

START_TEST(exit_in_a_function_of_a_device_ends_the_process_and_its_peers_are_told)
{
    struct mini_rendezvous mini;
    struct ranks ranks;
    struct mini_options options = { .size = 3 };
    ending = (enum ending)_i;
    mini_rendezvous_start(&mini, &options);
    ranks_start(&ranks, options.size, &mini, outlive);
    ranks_wait_all_but(&ranks, ENDING_RANK, ENDING_STATUS);
    mini_rendezvous_stop(&mini);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_ends");
    TCase *tcase = tcase_create("device_ends");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 200);
    tcase_add_test(tcase, what_is_asked_wrongly_is_refused);
    tcase_add_test(tcase, places_that_differ_are_a_mismatch_and_the_world_goes_on);
    tcase_add_test(tcase, an_output_that_is_too_small_is_that_tensors_failure);
    tcase_add_loop_test(tcase, nothing_is_copied_before_the_event, 1, 4);
    tcase_add_test(tcase, inputs_may_come_in_another_order_on_each_rank);
    tcase_add_loop_test(tcase, data_that_others_need_and_is_not_there_breaks_the_world, 0,
                        sizeof breaking / sizeof *breaking);
    tcase_add_loop_test(tcase, a_result_that_cannot_be_copied_back_is_that_tensors_failure, 0,
                        sizeof failing / sizeof *failing);
    tcase_add_loop_test(tcase, a_gathered_result_fails_alone_too, 0,
                        sizeof failing / sizeof *failing);
    tcase_add_test(tcase, without_pinned_memory_nothing_is_submitted);
    tcase_add_test(tcase, a_vendor_is_asked_for_pinned_memory_once);
    tcase_add_test(tcase, a_device_with_tensors_in_flight_stays);
    tcase_add_loop_test(tcase, shutdown_waits_for_the_copies_that_are_under_way, 1, 3);
    tcase_add_test(tcase, a_lost_rank_ends_tensors_once_nothing_uses_their_memory);
    tcase_add_loop_test(
        tcase, exit_in_a_function_of_a_device_ends_the_process_and_its_peers_are_told, 0, ENDINGS);
    return unit_run(suite);
}
