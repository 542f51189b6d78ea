/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose input a device has still to make: each waits for its own event alone, what is said
 * to come before a join does, and a rank that waits for its device is told about. Whom a rank waits
 * for is in its REPORT, too. */
#include "lib/base/env_names.h"
#include "lib/device/device.h"
#include "lib/hvd_device.h"
#include "lib/process.h"
#include "tests/support/device_ranks.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LARGE = 2 * (DEVICE_CHUNK / 4) + 100, SMALL = 1000 };

static int leave(void)
{
    int rc = leave_world();
    device_stop();
    return rc;
}

static void prepare(struct maker *maker, int number, int64_t count, int32_t value)
{
    *maker = (struct maker){ .count = count, .value = value };
    snprintf(maker->name, sizeof maker->name, "made.%d", number);
    sem_init(&maker->gate, 0, 0);
    maker->memory = device_put(NULL, (size_t)count * 4);
    maker->event = npu_table->create_event(npu);
    maker->tensor = (struct hvd_tensor){ .name = maker->name,
                                         .input = maker->memory,
                                         .output = maker->memory,
                                         .dtype = HVD_INT32,
                                         .ndims = 1,
                                         .dims = &maker->count,
                                         .device = device,
                                         .ready = maker->event };
}

static void submit(struct maker *maker)
{
    REQUIRE_STATUS(hvd_allreduce_async(&maker->tensor, HVD_SUM, NULL, &maker->handle), HVD_OK);
}

static void give_back(struct maker *maker)
{
    accelerator_synchronize(npu);
    accelerator_free(npu, maker->memory);
    npu_table->destroy_event(npu, maker->event);
    sem_destroy(&maker->gate);
}

/* Reading the device's memory waits for its kernels. */
static void require_sum(struct maker *maker, int32_t value)
{
    int32_t *data = malloc((size_t)maker->count * sizeof *data);
    int64_t right = 0;
    device_get(data, maker->memory, (size_t)maker->count * sizeof *data);
    for (int64_t i = 0; i < maker->count; i++)
        right += data[i] == value;
    REQUIRE(right == maker->count);
    free(data);
}

static const struct {
    int64_t first, second; /* elements, in the order in which they are made */
    bool turned;           /* submitted in the other order */
} pairs[] = {
    { SMALL, SMALL, false }, { SMALL, SMALL, true }, { LARGE, LARGE, false },
    { LARGE, SMALL, true },  { SMALL, LARGE, true },
};
static int pair;

static int make_second_late(int rank)
{
    struct maker makers[2];
    init_world();
    device_start(NULL);
    prepare(&makers[0], 0, pairs[pair].first, rank);
    prepare(&makers[1], 1, pairs[pair].second, 10 * rank);
    for (int i = 0; i < 2; i++)
        maker_put_on_queue(&makers[i]);
    for (int i = 0; i < 2; i++)
        submit(&makers[pairs[pair].turned ? 1 - i : i]);
    sem_post(&makers[0].gate);
    REQUIRE_STATUS(hvd_wait(makers[0].handle), HVD_OK);
    REQUIRE(hvd_poll(makers[1].handle) == 0);
    sem_post(&makers[1].gate);
    REQUIRE_STATUS(hvd_wait(makers[1].handle), HVD_OK);
    require_sum(&makers[0], 3);
    require_sum(&makers[1], 30);
    give_back(&makers[0]);
    give_back(&makers[1]);
    return leave();
}

START_TEST(a_tensor_does_not_wait_for_the_event_of_another)
{
    pair = _i;
    ranks_run(&(struct mini_options){ .size = 3 }, make_second_late);
}
END_TEST

/* More than are asked for at a time, the last first. */
static int make_many(int rank)
{
    enum { MANY = 200 };
    static struct maker makers[MANY];
    init_world();
    device_start(NULL);
    for (int i = 0; i < MANY; i++)
        prepare(&makers[i], i, 10, rank + i);
    for (int i = 0; i < MANY; i++)
        maker_put_on_queue(&makers[i]);
    for (int i = MANY - 1; i >= 0; i--)
        submit(&makers[i]);
    for (int i = 0; i < MANY; i++) {
        sem_post(&makers[i].gate);
        REQUIRE_STATUS(hvd_wait(makers[i].handle), HVD_OK);
    }
    for (int i = 0; i < MANY; i++) {
        require_sum(&makers[i], 2 * i + 1);
        give_back(&makers[i]);
    }
    return leave();
}

START_TEST(many_events_are_asked_for_in_turn)
{
    ranks_run(&(struct mini_options){ .size = 2 }, make_many);
}
END_TEST

/* Rank 1 joins behind a tensor that is late, and submits another behind that. */
static int join_behind(int rank)
{
    int64_t joined, behind;
    struct hvd_result result;
    struct maker maker;
    int32_t one = 1;
    init_world();
    device_start(NULL);
    prepare(&maker, 0, SMALL, rank + 1);
    maker_put_on_queue(&maker);
    if (rank == 0)
        sem_post(&maker.gate);
    submit(&maker);
    REQUIRE_STATUS(hvd_join_async(NULL, &joined), HVD_OK);
    const struct hvd_tensor tensor = {
        .name = "behind", .input = &one, .output = &one, .dtype = HVD_INT32
    };
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &behind), HVD_OK);
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &behind), HVD_ERR_INVALID);
    require_text("in flight already");
    if (rank == 0)
        REQUIRE_STATUS(hvd_wait_timeout(maker.handle, 20, NULL), HVD_ERR_TIMEOUT);
    atomic_fetch_add(&shared->counters[0], rank == 0);
    wait_for(0, 1);
    if (rank == 1)
        sem_post(&maker.gate);
    REQUIRE_STATUS(hvd_wait(maker.handle), HVD_OK);
    require_sum(&maker, 3);
    REQUIRE_STATUS(hvd_wait_result(joined, &result), HVD_OK);
    hvd_result_free(&result);
    REQUIRE_STATUS(hvd_wait(behind), HVD_OK);
    REQUIRE(one == 2);
    give_back(&maker);
    return leave();
}

START_TEST(a_join_waits_for_what_was_submitted_before_it)
{
    ranks_run(&(struct mini_options){ .size = 2 }, join_behind);
}
END_TEST

static int name_twice(int rank)
{
    struct maker maker;
    int64_t handle;
    init_world();
    device_start(NULL);
    prepare(&maker, 0, SMALL, rank);
    maker_put_on_queue(&maker);
    submit(&maker);
    REQUIRE_STATUS(hvd_allreduce_async(&maker.tensor, HVD_SUM, NULL, &handle), HVD_ERR_INVALID);
    require_text("allreduce 'made.0': a tensor of this name is in flight already");
    sem_post(&maker.gate);
    REQUIRE_STATUS(hvd_wait(maker.handle), HVD_OK);
    give_back(&maker);
    return leave();
}

START_TEST(its_name_is_in_use_meanwhile)
{
    ranks_run(&(struct mini_options){ .size = 2 }, name_twice);
}
END_TEST

/* Its members are made one after the other, on each rank in an order of its own. */
static int make_group(int rank)
{
    enum { MEMBERS = 3 };
    struct maker makers[MEMBERS];
    struct hvd_tensor tensors[MEMBERS];
    int64_t handle;
    init_world();
    device_start(NULL);
    for (int i = 0; i < MEMBERS; i++) {
        prepare(&makers[i], i, SMALL + i, rank + i);
        tensors[i] = makers[i].tensor;
    }
    for (int i = 0; i < MEMBERS; i++)
        maker_put_on_queue(&makers[(i + rank) % MEMBERS]);
    REQUIRE_STATUS(hvd_grouped_allreduce_async(tensors, MEMBERS, HVD_SUM, NULL, &handle), HVD_OK);
    for (int i = 0; i < MEMBERS; i++) {
        REQUIRE(hvd_poll(handle) == 0);
        sem_post(&makers[(i + rank) % MEMBERS].gate);
    }
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    for (int i = 0; i < MEMBERS; i++) {
        require_sum(&makers[i], 2 * i + 1);
        give_back(&makers[i]);
    }
    return leave();
}

START_TEST(a_group_waits_for_all_of_its_events)
{
    ranks_run(&(struct mini_options){ .size = 2 }, make_group);
}
END_TEST

/* What was never copied is given back at once. */
static int shut_down(int rank)
{
    struct maker maker;
    init_world();
    device_start(NULL);
    prepare(&maker, 0, SMALL, rank);
    maker_put_on_queue(&maker);
    submit(&maker);
    REQUIRE_STATUS(hvd_unregister_device(device), HVD_ERR_INVALID);
    atomic_fetch_add(&shared->counters[0], 1);
    wait_for(0, hvd_size()); /* all have submitted */
    REQUIRE_STATUS(hvd_shutdown(), HVD_OK);
    REQUIRE_STATUS(hvd_unregister_device(device), HVD_OK);
    sem_post(&maker.gate);
    give_back(&maker);
    accelerator_destroy(npu);
    return 0;
}

START_TEST(shutdown_does_not_wait_for_an_event)
{
    ranks_run(&(struct mini_options){ .size = 2 }, shut_down);
}
END_TEST

static int left_alone(int rank)
{
    struct maker maker;
    init_world();
    if (rank == 1)
        return leave_world();
    device_start(NULL);
    prepare(&maker, 0, SMALL, rank);
    maker_put_on_queue(&maker);
    if (hvd_allreduce_async(&maker.tensor, HVD_SUM, NULL, &maker.handle) == HVD_OK)
        REQUIRE_STATUS(hvd_wait(maker.handle), HVD_ERR_PEER_LEFT);
    sem_post(&maker.gate);
    give_back(&maker);
    return leave();
}

START_TEST(a_rank_that_leaves_ends_what_waits_for_its_event)
{
    ranks_run(&(struct mini_options){ .size = 2 }, left_alone);
}
END_TEST

/* On all ranks, or on rank 1 alone. */
static int stalled_ranks;

static int stall(int rank)
{
    struct maker maker;
    init_world();
    device_start(NULL);
    prepare(&maker, 0, SMALL, rank);
    maker_put_on_queue(&maker);
    if (rank == 0 && stalled_ranks == 1)
        sem_post(&maker.gate);
    submit(&maker);
    REQUIRE_STATUS(hvd_wait(maker.handle), HVD_ERR_TIMEOUT);
    require_text("allreduce 'made.0' has waited ");
    require_text(stalled_ranks == 1 ? " for rank 1 (" : " for ranks 0-1 (");
    require_text("rank 1 on testhost: its device still makes the input of 1 tensor, no collective");
    if (rank == 1 || stalled_ranks == 2)
        sem_post(&maker.gate);
    give_back(&maker);
    return leave();
}

START_TEST(who_waits_for_a_device_is_told)
{
    stalled_ranks = _i;
    setenv(ENV_STALL_CHECK_TIME, "1", 1);
    setenv(ENV_STALL_SHUTDOWN_TIME, "1", 1);
    ranks_run(&(struct mini_options){ .size = 2 }, stall);
}
END_TEST

static enum rank_waits_for read_for_whom(void)
{
    static struct join_report report;
    struct world *world = process_enter(NULL);
    REQUIRE(world != NULL);
    engine_report(world_engine(world), &report, sizeof report.text);
    process_exit();
    return report.waits.for_whom;
}

/* As soon as it waits for anything. */
static void require_for_whom(enum rank_waits_for expected)
{
    enum rank_waits_for for_whom;
    while ((for_whom = read_for_whom()) == WAITS_FOR_NOTHING)
        usleep(1000);
    REQUIRE(for_whom == expected);
}

/* Submitted by rank `first`, and by the other one when rank 0 has reported. */
static void sum_when_rank_0_has_reported(int rank, int first, enum rank_waits_for expected)
{
    int32_t one = 1, sum = 0;
    int64_t count = 1, handle;
    struct hvd_tensor tensor = { .name = first == 0 ? "first.0" : "first.1",
                                 .input = &one,
                                 .output = &sum,
                                 .output_size = sizeof sum,
                                 .dtype = HVD_INT32,
                                 .ndims = 1,
                                 .dims = &count };
    if (rank == 0 && first != 0)
        require_for_whom(expected);
    else if (rank != first)
        wait_for(first, 1);
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
    if (rank == 0 && first == 0)
        require_for_whom(expected);
    if (rank == 0)
        atomic_fetch_add(&shared->counters[first], 1);
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    REQUIRE(sum == 2);
}

static int report_each(int rank)
{
    struct maker maker;
    init_world();
    device_start(NULL);
    REQUIRE(read_for_whom() == WAITS_FOR_NOTHING || rank == 1);
    sum_when_rank_0_has_reported(rank, 0, WAITS_FOR_RANKS);
    sum_when_rank_0_has_reported(rank, 1, WAITS_FOR_ITSELF);
    prepare(&maker, 0, SMALL, rank);
    maker_put_on_queue(&maker);
    submit(&maker);
    require_for_whom(WAITS_FOR_DEVICE);
    atomic_fetch_add(&shared->counters[2], 1);
    wait_for(2, 2);
    sem_post(&maker.gate);
    REQUIRE_STATUS(hvd_wait(maker.handle), HVD_OK);
    require_sum(&maker, 1);
    give_back(&maker);
    return leave();
}

START_TEST(a_report_says_for_whom_a_rank_waits)
{
    ranks_run(&(struct mini_options){ .size = 2 }, report_each);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_ready");
    TCase *tcase = tcase_create("device_ready");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 200);
    tcase_add_loop_test(tcase, a_tensor_does_not_wait_for_the_event_of_another, 0,
                        sizeof pairs / sizeof *pairs);
    tcase_add_test(tcase, many_events_are_asked_for_in_turn);
    tcase_add_test(tcase, a_join_waits_for_what_was_submitted_before_it);
    tcase_add_test(tcase, its_name_is_in_use_meanwhile);
    tcase_add_test(tcase, a_group_waits_for_all_of_its_events);
    tcase_add_test(tcase, shutdown_does_not_wait_for_an_event);
    tcase_add_test(tcase, a_rank_that_leaves_ends_what_waits_for_its_event);
    tcase_add_loop_test(tcase, who_waits_for_a_device_is_told, 1, 3);
    tcase_add_test(tcase, a_report_says_for_whom_a_rank_waits);
    return unit_run(suite);
}
