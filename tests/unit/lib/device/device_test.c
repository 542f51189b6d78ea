/* SPDX-License-Identifier: Apache-2.0 */
/* Every collective gives in the memory of a device (which faults when the processor touches it)
 * what it gives in host memory, whatever its size is to that of a chunk; also fused, in groups, in
 * process sets, and with ranks that have joined. */
#include "lib/device/device.h"
#include "lib/hvd_device.h"
#include "tests/support/device_ranks.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = DEVICE_CHUNK / 4 }; /* of four bytes, in a chunk */

static int leave(void)
{
    int rc = leave_world();
    device_stop();
    return rc;
}

/* ---- each kind, at all sizes ---- */

static const struct trial kinds[] = {
    { COLLECTIVE_ALLREDUCE, HVD_INT32, HVD_SUM, .columns = 1 },
    { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_AVERAGE, .columns = 1, .in_place = true },
    { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_MAX, .columns = 1, .prescale = 0.5, .postscale = 4 },
    { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_ADASUM, .columns = 1 },
    { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_ADASUM, .columns = 1, .in_place = true,
      .prescale = 2 },
    { COLLECTIVE_BROADCAST, HVD_INT32, .columns = 1 },
    { COLLECTIVE_ALLGATHER, HVD_INT32, .columns = 1 },
    { COLLECTIVE_ALLGATHER, HVD_INT32, .columns = 1, .in_place = true },
    { COLLECTIVE_ALLTOALL, HVD_INT32, .columns = 1 },
    { COLLECTIVE_REDUCESCATTER, HVD_INT32, HVD_SUM, .columns = 1 },
    { COLLECTIVE_REDUCESCATTER, HVD_FLOAT32, HVD_AVERAGE, .columns = 1, .in_place = true,
      .prescale = 2, .postscale = 0.25 },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const int64_t counts[] = { 0, 1, 3, 20000, WORDS - 1, WORDS, WORDS + 1, 2 * WORDS + 7 };

/* All counts on three ranks, every third on fewer. */
static int run_kinds(int rank)
{
    (void)rank;
    init_world();
    device_start(NULL);
    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            struct trial trial = kinds[kind];
            trial.rows = counts[i];
            trial.root = hvd_size() - 1;
            if (hvd_size() == 3 || (i + kind) % 3 == 0)
                trial_check(&trial);
        }
    return leave();
}

START_TEST(a_device_gives_what_the_host_gives)
{
    ranks_run(&(struct mini_options){ .size = _i }, run_kinds);
}
END_TEST

static int run_types(int rank)
{
    (void)rank;
    init_world();
    device_start(NULL);
    for (int dtype = HVD_UINT8; dtype <= HVD_BFLOAT16; dtype++) {
        const struct trial one = { COLLECTIVE_ALLREDUCE, .dtype = (enum hvd_dtype)dtype,
                                   .op = HVD_SUM, .rows = 2, .columns = DEVICE_CHUNK / 2 + 3 };
        trial_check(&one);
    }
    return leave();
}

START_TEST(elements_are_not_cut)
{
    ranks_run(&(struct mini_options){ .size = 2 }, run_types);
}
END_TEST

/* ---- many at a time ---- */

enum { MANY = 300, MANY_COUNT = 15000 }; /* elements at most: none is too large to be fused */

struct many {
    void *memory[MANY];
    int64_t counts[MANY], handles[MANY];
    char names[MANY][16];
};
static struct many many;

static int32_t value(int tensor, int64_t i, int rank)
{
    return (int32_t)(tensor * 31 + i + rank * 1000);
}

static struct hvd_tensor tensor_of(int i)
{
    return (struct hvd_tensor){ .name = many.names[i],
                                .input = many.memory[i],
                                .output = many.memory[i],
                                .dtype = HVD_INT32,
                                .ndims = 1,
                                .dims = &many.counts[i],
                                .device = device };
}

static void make_many(int rank)
{
    int32_t data[MANY_COUNT];
    for (int i = 0; i < MANY; i++) {
        snprintf(many.names[i], sizeof many.names[i], "many.%d", i);
        many.counts[i] = i % 7 == 0 ? MANY_COUNT : 1 + i * 13 % 5000;
        for (int64_t k = 0; k < many.counts[i]; k++)
            data[k] = value(i, k, rank);
        many.memory[i] = device_put(data, (size_t)many.counts[i] * sizeof *data);
    }
}

/* Of the ranks below `size`. */
static void check_many(int size)
{
    int32_t data[MANY_COUNT];
    for (int i = 0; i < MANY; i++) {
        int64_t right = 0;
        device_get(data, many.memory[i], (size_t)many.counts[i] * sizeof *data);
        for (int64_t k = 0; k < many.counts[i]; k++)
            right += data[k] == size * value(i, k, 0) + 1000 * size * (size - 1) / 2;
        REQUIRE(right == many.counts[i]);
        accelerator_free(npu, many.memory[i]);
    }
}

static int run_many(int rank)
{
    const struct accelerator_options slow = { .memory = 64 << 20, .bytes_per_second = 1e9 };
    init_world();
    device_start(&slow);
    make_many(rank);
    for (int i = 0; i < MANY; i++) {
        int at = rank % 2 ? MANY - 1 - i : i; /* in any order */
        struct hvd_tensor tensor = tensor_of(at);
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &many.handles[at]), HVD_OK);
    }
    for (int i = 0; i < MANY; i++)
        REQUIRE_STATUS(hvd_wait(many.handles[i]), HVD_OK);
    check_many(hvd_size());
    return leave();
}

START_TEST(small_tensors_are_fused)
{
    ranks_run(&(struct mini_options){ .size = _i }, run_many);
}
END_TEST

static int run_group(int rank)
{
    struct hvd_tensor tensors[MANY];
    init_world();
    device_start(NULL);
    make_many(rank);
    for (int i = 0; i < MANY; i++)
        tensors[i] = tensor_of(i);
    REQUIRE_STATUS(hvd_grouped_allreduce(tensors, MANY, HVD_SUM, NULL), HVD_OK);
    check_many(hvd_size());
    return leave();
}

START_TEST(a_group_is_one)
{
    ranks_run(&(struct mini_options){ .size = 2 }, run_group);
}
END_TEST

/* Every other tensor is on another accelerator: in one run copies go both ways through both. */
static int run_two_devices(int rank)
{
    struct accelerator *other;
    struct problem problem = { 0 };
    struct hvd_tensor tensors[MANY];
    void *moved[MANY];
    int32_t data[MANY_COUNT];
    const struct accelerator_options options = { .memory = 64 << 20 };
    init_world();
    device_start(NULL);
    REQUIRE(accelerator_create(&other, &options, &problem) == 0);
    int second = hvd_register_device(accelerator_table(other));
    REQUIRE(second > 0 && second != device);
    make_many(rank);
    for (int i = 0; i < MANY; i++) {
        size_t nbytes = (size_t)many.counts[i] * sizeof *data;
        tensors[i] = tensor_of(i);
        if ((i + rank) % 2 == 0)
            continue;
        device_get(data, many.memory[i], nbytes);
        tensors[i].input = tensors[i].output = moved[i] = accelerator_alloc(other, nbytes);
        accelerator_write(other, moved[i], data, nbytes);
        tensors[i].device = second;
    }
    REQUIRE_STATUS(hvd_grouped_allreduce(tensors, MANY, HVD_SUM, NULL), HVD_OK);
    for (int i = 0; i < MANY; i++) {
        size_t nbytes = (size_t)many.counts[i] * sizeof *data;
        if ((i + rank) % 2 == 0)
            continue;
        accelerator_read(other, data, moved[i], nbytes);
        accelerator_write(npu, many.memory[i], data, nbytes);
    }
    check_many(hvd_size());
    REQUIRE_STATUS(hvd_unregister_device(second), HVD_OK);
    accelerator_destroy(other);
    return leave();
}

START_TEST(a_rank_may_have_several_devices)
{
    ranks_run(&(struct mini_options){ .size = 2 }, run_two_devices);
}
END_TEST

/* ---- large ones, of all kinds, at once ---- */

enum { LARGE = 8, LARGE_COUNT = 2 * WORDS + 100 };

static int run_mixed(int rank)
{
    int64_t handles[2 * LARGE], count = LARGE_COUNT;
    char names[2 * LARGE][16];
    float *host = calloc(2 * LARGE_COUNT, sizeof *host), *memory[2 * LARGE];
    init_world();
    device_start(NULL);
    int size = hvd_size();
    for (int i = 0; i < LARGE_COUNT; i++)
        host[i] = host[LARGE_COUNT + i] = (float)(i % 1000 + rank);
    for (int i = 0; i < 2 * LARGE; i++) {
        snprintf(names[i], sizeof names[i], "mixed.%d", i);
        bool there = i % 2 == 0;
        memory[i] =
            there ? device_put(host, LARGE_COUNT * sizeof *host)
                  : memcpy(malloc(LARGE_COUNT * sizeof *host), host, LARGE_COUNT * sizeof *host);
        const struct hvd_tensor tensor = { .name = names[i],
                                           .input = memory[i],
                                           .output = memory[i],
                                           .dtype = HVD_FLOAT32,
                                           .ndims = 1,
                                           .dims = &count,
                                           .device = there ? device : 0 };
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handles[i]), HVD_OK);
    }
    for (int i = 0; i < 2 * LARGE; i++) {
        int right = 0;
        REQUIRE_STATUS(hvd_wait(handles[i]), HVD_OK);
        if (i % 2 == 0)
            device_get(host, memory[i], LARGE_COUNT * sizeof *host);
        const float *data = i % 2 == 0 ? host : memory[i];
        for (int k = 0; k < LARGE_COUNT; k++)
            right += data[k] == (float)(k % 1000 * size + size * (size - 1) / 2);
        REQUIRE(right == LARGE_COUNT);
        if (i % 2 == 0)
            accelerator_free(npu, memory[i]);
        else
            free(memory[i]);
    }
    free(host);
    return leave();
}

START_TEST(host_and_device_tensors_are_in_one_line)
{
    ranks_run(&(struct mini_options){ .size = 3 }, run_mixed);
}
END_TEST

/* ---- process sets, and joins ---- */

static int run_sets(int rank)
{
    struct trial one = kinds[0];
    int ranks[][2] = { { 0, 1 }, { 1, 2 } };
    (void)rank;
    init_world();
    device_start(NULL);
    for (int i = 0; i < 2; i++) {
        one.process_set = hvd_add_process_set(ranks[i], 2);
        REQUIRE(one.process_set > 0);
        for (size_t k = 0; hvd_process_set_included(one.process_set) && k < KINDS; k++) {
            int set = one.process_set;
            one = kinds[k];
            one.process_set = set;
            one.rows = WORDS + 5;
            one.root = ranks[i][1];
            trial_check(&one);
        }
        one = kinds[0];
    }
    return leave();
}

START_TEST(process_sets_have_tensors_on_devices)
{
    ranks_run(&(struct mini_options){ .size = 3 }, run_sets);
}
END_TEST

/* Rank 1 has joined, without a device. */
static int run_joined(int rank)
{
    int last;
    init_world();
    if (rank == 1) {
        REQUIRE_STATUS(hvd_join(&last), HVD_OK);
        return leave_world();
    }
    device_start(NULL);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct trial one = kinds[i % 3];
        one.rows = counts[i];
        trial_check(&one);
    }
    make_many(0);
    struct hvd_tensor tensors[MANY];
    for (int i = 0; i < MANY; i++)
        tensors[i] = tensor_of(i);
    const struct hvd_options twice = { .postscale = 0.5 };
    REQUIRE_STATUS(hvd_grouped_allreduce(tensors, MANY, HVD_SUM, &twice), HVD_OK);
    check_many(1);
    REQUIRE_STATUS(hvd_join(&last), HVD_OK);
    return leave();
}

START_TEST(who_has_joined_gives_zeros_without_a_device)
{
    ranks_run(&(struct mini_options){ .size = 3 }, run_joined);
}
END_TEST

/* ---- events ---- */

static int records[2]; /* by queue */

static int count_record(void *context, void *event, enum hvd_device_queue queue)
{
    records[queue]++;
    return npu_table->record_event(context, event, queue);
}

/* The root copies nothing back, the other ranks nothing to the host. */
static int record_what_is_copied(int rank)
{
    struct trial broadcast = { COLLECTIVE_BROADCAST, HVD_INT32, .columns = 1, .rows = WORDS };
    init_world();
    device_start(NULL);
    struct hvd_device counting = *npu_table;
    int whole = device;
    counting.record_event = count_record;
    device = hvd_register_device(&counting);
    REQUIRE(device > whole);
    trial_check(&broadcast);
    REQUIRE(records[HVD_DEVICE_TO_HOST] == (rank == 0));
    REQUIRE(records[HVD_DEVICE_FROM_HOST] == (rank != 0));
    REQUIRE_STATUS(hvd_unregister_device(device), HVD_OK);
    device = whole;
    return leave();
}

START_TEST(no_event_is_recorded_where_nothing_is_copied)
{
    ranks_run(&(struct mini_options){ .size = 2 }, record_what_is_copied);
}
END_TEST

/* ---- the timeline ---- */

static char timeline[64];

/* Of rank 0's file: how often a span, or a kind of event, is in it. */
static int occurrences(const char *word)
{
    static char text[1 << 16];
    int count = 0;
    FILE *file = fopen(timeline, "re");
    REQUIRE(file != NULL);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (const char *at = text; (at = strstr(at, word)); at++)
        count++;
    return count;
}

/* Three chunks, and two tensors that are fused. */
static int run_traced(int rank)
{
    enum { TENSORS = 3 };
    static const char *const spans[] = { "\"ALLREDUCE\"", "\"QUEUE\"", "\"MEMCPY_IN_HOST_BUFFER\"",
                                         "\"RING_ALLREDUCE\"", "\"MEMCPY_OUT_HOST_BUFFER\"" };
    int64_t tensor_counts[TENSORS] = { 2 * WORDS + 1, 2000, 3000 }, handles[TENSORS];
    const char *const tensor_names[TENSORS] = { "large", "small.0", "small.1" };
    setenv("HVD_ALGORITHM", "ring", 1);
    init_world();
    device_start(NULL);
    REQUIRE_STATUS(hvd_start_timeline(timeline, 0), HVD_OK);
    for (int i = 0; i < TENSORS; i++) {
        void *memory = device_put(NULL, (size_t)tensor_counts[i] * 4);
        const struct hvd_tensor tensor = { .name = tensor_names[i],
                                           .input = memory,
                                           .output = memory,
                                           .dtype = HVD_INT32,
                                           .ndims = 1,
                                           .dims = &tensor_counts[i],
                                           .device = device };
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handles[i]), HVD_OK);
    }
    for (int i = 0; i < TENSORS; i++)
        REQUIRE_STATUS(hvd_wait(handles[i]), HVD_OK);
    REQUIRE_STATUS(hvd_stop_timeline(), HVD_OK);
    for (size_t i = 0; rank == 0 && i < sizeof spans / sizeof *spans; i++)
        REQUIRE(occurrences(spans[i]) == TENSORS);
    REQUIRE(rank != 0 || occurrences("\"ph\":\"B\"") == occurrences("\"ph\":\"E\""));
    return leave();
}

START_TEST(copies_are_in_the_timeline)
{
    snprintf(timeline, sizeof timeline, "/tmp/hvd-device-XXXXXX");
    int fd = mkstemp(timeline);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ranks_run(&(struct mini_options){ .size = 2 }, run_traced);
    unlink(timeline);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device");
    TCase *tcase = tcase_create("device");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 200);
    ranks_add_test(tcase, a_device_gives_what_the_host_gives, 1, 3);
    tcase_add_test(tcase, elements_are_not_cut);
    ranks_add_test(tcase, small_tensors_are_fused, 1, 3);
    tcase_add_test(tcase, a_group_is_one);
    tcase_add_test(tcase, a_rank_may_have_several_devices);
    tcase_add_test(tcase, host_and_device_tensors_are_in_one_line);
    tcase_add_test(tcase, process_sets_have_tensors_on_devices);
    tcase_add_test(tcase, who_has_joined_gives_zeros_without_a_device);
    tcase_add_test(tcase, no_event_is_recorded_where_nothing_is_copied);
    tcase_add_test(tcase, copies_are_in_the_timeline);
    return unit_run(suite);
}
