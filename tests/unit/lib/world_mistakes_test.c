/* SPDX-License-Identifier: Apache-2.0 */
/* What ends no world: ranks that disagree on a tensor, and mistakes of the caller. */
#include "lib/hvd.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <string.h>

enum { LARGE = 1 << 18 };

static int disagree(int rank)
{
    float data[12] = { 0 };
    int32_t sum;
    init_world();
    for (int i = 0; i < 3; i++) {
        size_t count = rank == 1 ? 10 : 12;
        REQUIRE_STATUS(hvd_allreduce("grad", data, data, count, HVD_FLOAT32, HVD_SUM),
                       HVD_ERR_MISMATCH);
        require_text("allreduce 'grad': shapes differ: [12] on rank");
        require_text(", [10] on rank 1");
        REQUIRE_STATUS(hvd_allreduce("grad", data, data, 12, HVD_FLOAT32, HVD_SUM), HVD_OK);
        REQUIRE_STATUS(sum_of_ranks("s", &sum), HVD_OK);
    }
    return leave_world();
}

START_TEST(a_mismatch_is_an_error_on_every_rank_and_the_world_goes_on)
{
    ranks_run(&(struct mini_options){ .size = _i }, disagree);
}
END_TEST

/* Whoever fails leaves at once, also those through whom others hear of it. */
static int disagree_and_leave(int rank)
{
    float *data = calloc(LARGE, sizeof *data);
    init_world();
    size_t count = rank == hvd_size() - 2 ? 500 : LARGE;
    REQUIRE_STATUS(hvd_broadcast("w", data, count, HVD_FLOAT32, 0), HVD_ERR_MISMATCH);
    require_text("broadcast 'w': shapes differ: ");
    require_text("[500] on rank");
    free(data);
    return leave_world();
}

START_TEST(a_mismatch_is_called_one_although_ranks_leave_because_of_it)
{
    for (int i = 0; i < 10; i++)
        ranks_run(&(struct mini_options){ .size = _i }, disagree_and_leave);
}
END_TEST

/* Rows without elements need no memory, but only so many can be counted. */
static int gather_too_much(int rank)
{
    char one = 1;
    int32_t sum;
    struct hvd_result result;
    const int64_t dims[] = { ((int64_t)1 << 46) + 1, 0 };
    const struct hvd_tensor tensor = {
        .name = "all", .input = &one, .dtype = HVD_UINT8, .ndims = 2, .dims = dims
    };
    (void)rank;
    init_world();
    for (int i = 0; i < 3; i++) {
        REQUIRE_STATUS(hvd_allgather_tensor(&tensor, NULL, &result), HVD_ERR_INVALID);
        require_text("allgather 'all': [70368744177665, 0] of uint8 is more than memory can hold");
        REQUIRE(!result.data && !result.rows && result.last_rank == -1);
        REQUIRE_STATUS(sum_of_ranks("s", &sum), HVD_OK);
    }
    return leave_world();
}

START_TEST(an_allgather_of_too_many_rows_is_refused_and_the_world_goes_on)
{
    ranks_run(&(struct mini_options){ .size = _i }, gather_too_much);
}
END_TEST

static void require_invalid(int rc, const char *text)
{
    REQUIRE_STATUS(rc, HVD_ERR_INVALID);
    require_text(text);
}

static int bad_arguments(int rank)
{
    float data[8] = { 0 };
    char name[257];
    (void)rank;
    memset(name, 'n', 256);
    name[256] = '\0';
    init_world();
    require_invalid(hvd_allreduce(name, data, data, 1, HVD_FLOAT32, HVD_SUM), "the name is longer");
    require_invalid(hvd_allreduce("a", NULL, data, 1, HVD_FLOAT32, HVD_SUM),
                    "allreduce 'a': input is NULL");
    require_invalid(hvd_allreduce("a", data, NULL, 1, HVD_FLOAT32, HVD_SUM),
                    "allreduce 'a': output is NULL");
    require_invalid(hvd_allreduce("a", data, data + 1, 4, HVD_FLOAT32, HVD_SUM), "overlap");
    require_invalid(hvd_allreduce("a", data, data, 1, (enum hvd_dtype)11, HVD_SUM), "dtype 11");
    require_invalid(hvd_allreduce("a", data, data, 1, HVD_BOOL, HVD_AVERAGE), "average of bool");
    require_invalid(hvd_allreduce("a", data, data, 1, HVD_FLOAT32, (enum hvd_op)6), "op 6");
    require_invalid(hvd_allreduce("a", data, data, SIZE_MAX / 2, HVD_FLOAT32, HVD_SUM), "memory");
    require_invalid(hvd_allreduce("a", data, data, (size_t)-4, HVD_FLOAT32, HVD_SUM),
                    "allreduce 'a': dims[0], the count, is -4, a dimension is 0 or more");
    require_invalid(hvd_broadcast("a", data, (size_t)-1, HVD_FLOAT32, 0), "the count, is -1");
    require_invalid(hvd_allgather("a", data, data, (size_t)-1, HVD_FLOAT32), "the count, is -1");
    require_invalid(hvd_broadcast("a", data, 1, HVD_FLOAT32, 2), "root 2 does not exist");
    require_invalid(hvd_broadcast("a", data, 1, HVD_FLOAT32, -1), "root -1 does not exist");
    require_invalid(hvd_allgather("a", data, data, PTRDIFF_MAX / sizeof *data, HVD_FLOAT32),
                    "memory");
    require_invalid(hvd_wait(12345), "12345");
    REQUIRE_STATUS(hvd_broadcast("a", data, 1, HVD_BOOL, 0), HVD_OK);
    REQUIRE_STATUS(hvd_allreduce(NULL, NULL, NULL, 0, HVD_FLOAT32, HVD_SUM), HVD_OK);
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    return leave_world();
}

START_TEST(bad_arguments_are_refused_and_the_world_goes_on)
{
    ranks_run(&(struct mini_options){ .size = 2 }, bad_arguments);
}
END_TEST

/* Rank 0 submits a name a second time while the others have not come yet. */
static int submit_twice(int rank)
{
    int32_t one = 1, two = 1;
    int64_t handle, other;
    struct hvd_tensor tensor = { .name = "s", .input = &one, .output = &one, .dtype = HVD_INT32 };
    init_world();
    if (rank == 0) {
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
        tensor.input = tensor.output = &two;
        require_invalid(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &other),
                        "allreduce 's': a tensor of this name is in flight already");
        atomic_store(&shared->counters[0], 1);
    } else {
        wait_for(0, 1);
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
    }
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    REQUIRE(one == hvd_size() && two == 1);
    REQUIRE_STATUS(sum_of_ranks("s", &one), HVD_OK);
    return leave_world();
}

/* F95 */
START_TEST(a_name_that_is_submitted_twice_is_that_ranks_mistake)
{
    ranks_run(&(struct mini_options){ .size = 3 }, submit_twice);
}
END_TEST

static int give_other_sets(int rank)
{
    static const int one[] = { 0 }, other[] = { 1 }, twice[] = { 0, 0 };
    const struct hvd_ranks good[] = { { one, 1 }, { other, 1 } };
    const struct hvd_ranks bad[] = { { one, 1 }, { twice, 2 } };
    int32_t sum;
    init_world();
    REQUIRE_STATUS(hvd_init_process_sets(good, rank == 1 ? 1 : 2), HVD_ERR_MISMATCH);
    require_text("process sets: rank 0 gives 2 of them, rank 1 gives 1");
    if (rank == 1) {
        REQUIRE_STATUS(hvd_init_process_sets(bad, 2), HVD_ERR_INVALID);
        require_text("process set 2: rank 0 is there twice");
    } else {
        REQUIRE_STATUS(hvd_init_process_sets(good, 2), HVD_ERR_MISMATCH);
        require_text("process sets: those of rank 1 are not acceptable");
    }
    REQUIRE_STATUS(hvd_init_process_sets(good, 2), HVD_OK);
    REQUIRE_STATUS(sum_of_ranks("s", &sum), HVD_OK);
    return leave_world();
}

START_TEST(process_sets_that_differ_between_ranks_are_refused_on_every_rank)
{
    ranks_run(&(struct mini_options){ .size = 3 }, give_other_sets);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_mistakes");
    TCase *tcase = tcase_create("world_mistakes");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    ranks_add_test(tcase, a_mismatch_is_an_error_on_every_rank_and_the_world_goes_on, 2, 7);
    ranks_add_test(tcase, a_mismatch_is_called_one_although_ranks_leave_because_of_it, 4, 7);
    ranks_add_test(tcase, an_allgather_of_too_many_rows_is_refused_and_the_world_goes_on, 2, 4);
    tcase_add_test(tcase, bad_arguments_are_refused_and_the_world_goes_on);
    tcase_add_test(tcase, a_name_that_is_submitted_twice_is_that_ranks_mistake);
    tcase_add_test(tcase, process_sets_that_differ_between_ranks_are_refused_on_every_rank);
    return unit_run(suite);
}
