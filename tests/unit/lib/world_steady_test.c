/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds that repeat a schedule, and ranks that deviate from it: tensors wait for those of other
 * ranks, and errors name ranks and values. */
#include "lib/engine/engine.h"
#include "lib/hvd.h"
#include "lib/process.h"
#include "lib/world.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

/* So many rounds are more than a schedule needs. */
enum { LEARNT = 100 };

/* ---- deviations ---- */

static int deviate_in_count(int rank)
{
    float data[3] = { 1, 1, 1 };
    init_world();
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < LEARNT; i++)
            REQUIRE_STATUS(sum_floats("grad", data, 2, HVD_MAX), HVD_OK);
        REQUIRE_STATUS(sum_floats("grad", data, rank == round % hvd_size() ? 3 : 2, HVD_MAX),
                       HVD_ERR_MISMATCH);
        require_text("allreduce 'grad'");
        require_text("[3]");
        require_text("[2]");
    }
    return leave_world();
}

START_TEST(another_shape_on_one_rank_is_an_error_that_names_it_and_the_world_goes_on)
{
    ranks_run(&(struct mini_options){ .size = _i }, deviate_in_count);
}
END_TEST

/* One rank has one more in between, and makes up for it later. */
static int deviate_in_order(int rank)
{
    int64_t handle;
    int32_t extra = 1;
    struct hvd_tensor tensor = {
        .name = "extra", .input = &extra, .output = &extra, .dtype = HVD_INT32
    };
    init_world();
    for (int round = 0; round < 20; round++) {
        bool first = rank == round % hvd_size();
        extra = 1;
        sum_rounds("a", 20 + round);
        if (first)
            REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
        sum_rounds("a", 20);
        if (!first)
            REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
        sum_rounds("b", 1);
        REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
        REQUIRE(extra == hvd_size());
    }
    return leave_world();
}

START_TEST(another_name_on_one_rank_waits_for_the_others)
{
    ranks_run(&(struct mini_options){ .size = _i }, deviate_in_order);
}
END_TEST

/* Two tensors in flight, submitted in another order by each rank; the first waits for the
 * second. */
static int swap_order(int rank)
{
    init_world();
    for (int i = 0; i < 3 * LEARNT; i++) {
        int32_t data[2] = { rank, rank };
        int64_t handles[2];
        bool swapped = i > LEARNT && (rank + i / 10) % 2;
        for (int k = 0; k < 2; k++) {
            int which = swapped ? 1 - k : k;
            struct hvd_tensor tensor = { .name = which ? "b" : "a",
                                         .input = &data[which],
                                         .output = &data[which],
                                         .dtype = HVD_INT32 };
            REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handles[k]), HVD_OK);
        }
        for (int k = 0; k < 2; k++)
            REQUIRE_STATUS(hvd_wait(handles[k]), HVD_OK);
        REQUIRE(data[0] == sum_of_numbers() && data[1] == sum_of_numbers());
    }
    return leave_world();
}

START_TEST(tensors_in_another_order_on_each_rank_are_all_reduced)
{
    ranks_run(&(struct mini_options){ .size = _i }, swap_order);
}
END_TEST

/* More tensors in flight than a rank may commit to. */
static int burst(int rank)
{
    enum { COUNT = 12 };
    static const char names[COUNT][2] = {
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"
    };
    init_world();
    for (int i = 0; i < LEARNT; i++) {
        int32_t data[COUNT];
        int64_t handles[COUNT];
        for (int k = 0; k < COUNT; k++) {
            struct hvd_tensor tensor = {
                .name = names[k], .input = &data[k], .output = &data[k], .dtype = HVD_INT32
            };
            data[k] = rank + k;
            REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handles[k]), HVD_OK);
            if (i < LEARNT / 2)
                REQUIRE_STATUS(hvd_wait(handles[k]), HVD_OK);
        }
        for (int k = 0; k < COUNT; k++) {
            if (i >= LEARNT / 2)
                REQUIRE_STATUS(hvd_wait(handles[k]), HVD_OK);
            REQUIRE(data[k] == sum_of_numbers() + k * hvd_size());
        }
    }
    return leave_world();
}

START_TEST(a_burst_of_tensors_is_reduced_although_the_schedule_was_learnt_one_by_one)
{
    ranks_run(&(struct mini_options){ .size = _i }, burst);
}
END_TEST

static int add_sets_in_between(int rank)
{
    (void)rank;
    init_world();
    for (int i = 0; i < 3; i++) {
        sum_rounds("a", LEARNT);
        int set = hvd_add_process_set((int[]){ 0, 1 }, 2);
        REQUIRE(set > 0);
        sum_rounds("a", LEARNT);
        REQUIRE_STATUS(hvd_remove_process_set(set), HVD_OK);
    }
    return leave_world();
}

START_TEST(process_sets_come_and_go_in_between)
{
    ranks_run(&(struct mini_options){ .size = 3 }, add_sets_in_between);
}
END_TEST

/* ---- handles ---- */

/* How many handles this rank has given out. */
static int64_t count_handles(void)
{
    struct world *world = process_enter(NULL);
    REQUIRE(world != NULL);
    int64_t count = engine_handles(world_engine(world));
    process_exit();
    return count;
}

/* The rank that sends last in a round finds the data of the other rank when it first checks. */
static int count_calls_without_handle(int rank)
{
    (void)rank;
    init_world();
    for (int i = 0; i < 10 * LEARNT; i++) {
        int64_t before = count_handles();
        sum_rounds("a", 1);
        if (count_handles() == before)
            atomic_fetch_add(&shared->counters[0], 1);
    }
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    REQUIRE(atomic_load(&shared->counters[0]) > 0);
    return leave_world();
}

START_TEST(a_blocking_call_whose_data_are_there_needs_no_handle)
{
    ranks_run(&(struct mini_options){ .size = 2 }, count_calls_without_handle);
}
END_TEST

/* ---- mistakes ---- */

static int submit_twice(int rank)
{
    int64_t first, second;
    int32_t data = 1;
    struct hvd_tensor tensor = { .name = "a", .input = &data, .output = &data, .dtype = HVD_INT32 };
    init_world();
    sum_rounds("a", LEARNT);
    if (rank == 0) {
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &first), HVD_OK);
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &second), HVD_ERR_INVALID);
        require_text("a tensor of this name is in flight already");
        atomic_fetch_add(&shared->counters[0], 1);
        REQUIRE_STATUS(hvd_wait(first), HVD_OK);
    } else {
        wait_for(0, 1);
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &first), HVD_OK);
        REQUIRE_STATUS(hvd_wait(first), HVD_OK);
    }
    REQUIRE(data == 2);
    return leave_world();
}

START_TEST(a_name_that_is_in_flight_is_refused)
{
    ranks_run(&(struct mini_options){ .size = 2 }, submit_twice);
}
END_TEST

/* Arguments that the first rounds did not have are checked as ever. */
static int repeat_with_mistakes(int rank)
{
    float data[3] = { 1, 1, 1 };
    (void)rank;
    init_world();
    for (int i = 0; i < LEARNT; i++)
        REQUIRE_STATUS(hvd_allreduce("x", data, data, 2, HVD_FLOAT32, HVD_MAX), HVD_OK);
    REQUIRE_STATUS(hvd_allreduce("x", data, data + 1, 2, HVD_FLOAT32, HVD_MAX), HVD_ERR_INVALID);
    require_text("input and output overlap");
    REQUIRE_STATUS(hvd_allreduce("x", NULL, data, 2, HVD_FLOAT32, HVD_MAX), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_allreduce("x", data, data, 2, HVD_FLOAT32, HVD_MAX), HVD_OK);
    return leave_world();
}

START_TEST(mistakes_are_refused_as_before_the_schedule_was_learnt)
{
    ranks_run(&(struct mini_options){ .size = 2 }, repeat_with_mistakes);
}
END_TEST

/* The same for a call that gives input and output of their own sizes. */
static int repeat_shares_with_mistakes(int rank)
{
    double data[12] = { 0 };
    int64_t dims = 8;
    struct hvd_tensor right = { .name = "share",
                                .input = data,
                                .output = data + 8,
                                .output_size = 4 * sizeof *data,
                                .dtype = HVD_FLOAT64,
                                .ndims = 1,
                                .dims = &dims };
    struct hvd_tensor wrong[] = { right, right, right, right };
    wrong[0].input = NULL;
    wrong[1].output = NULL;
    wrong[2].output_size--;
    wrong[3].output = data + 7;
    (void)rank;
    init_world();
    for (int i = 0; i < LEARNT; i++)
        REQUIRE_STATUS(hvd_reducescatter(&right, HVD_SUM, NULL), HVD_OK);
    for (int i = 0; i < 4; i++)
        REQUIRE_STATUS(hvd_reducescatter(&wrong[i], HVD_SUM, NULL), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_reducescatter(&right, HVD_SUM, NULL), HVD_OK);
    return leave_world();
}

START_TEST(mistakes_in_a_share_are_refused_as_before_the_schedule_was_learnt)
{
    ranks_run(&(struct mini_options){ .size = 2 }, repeat_shares_with_mistakes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_steady");
    TCase *tcase = tcase_create("world_steady");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    ranks_add_test(tcase, another_shape_on_one_rank_is_an_error_that_names_it_and_the_world_goes_on,
                   2, 5);
    ranks_add_test(tcase, another_name_on_one_rank_waits_for_the_others, 2, 5);
    ranks_add_test(tcase, tensors_in_another_order_on_each_rank_are_all_reduced, 2, 5);
    ranks_add_test(tcase, a_burst_of_tensors_is_reduced_although_the_schedule_was_learnt_one_by_one,
                   2, 5);
    tcase_add_test(tcase, process_sets_come_and_go_in_between);
    tcase_add_test(tcase, a_blocking_call_whose_data_are_there_needs_no_handle);
    tcase_add_test(tcase, a_name_that_is_in_flight_is_refused);
    tcase_add_test(tcase, mistakes_are_refused_as_before_the_schedule_was_learnt);
    tcase_add_test(tcase, mistakes_in_a_share_are_refused_as_before_the_schedule_was_learnt);
    return unit_run(suite);
}
