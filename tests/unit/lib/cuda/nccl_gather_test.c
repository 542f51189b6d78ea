/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of several calls of NCCL, on the stand-ins (nccl_ranks.h): rows of each rank that do
 * not suit the output of one are gathered all the same; memory that there is not, and a call amid a
 * group that fails, are told on all ranks. */
#include "tests/support/nccl_ranks.h"
#include "tests/support/unit.h"

enum { GATHERED_ROWS = 40 };

static const struct gathering {
    int64_t rows[3];
    int64_t room; /* in rows, of rank 1's output */
    int64_t from; /* the row of its output where its input lies; -1: elsewhere */
    bool no_pools;
    int called; /* NCCL, how often */
} gatherings[] = {
    { { 4, 4, 4 }, 12, -1, false, 1 }, /* ncclAllGather */
    { { 4, 4, 4 }, 12, 4, false, 1 },  /* in place */
    { { 4, 0, 7 }, 11, -1, false, 2 }, /* a broadcast from each rank that has rows */
    { { 0, 3, 0 }, 3, 0, false, 1 },   { { 0, 0, 0 }, 0, -1, false, 0 },
    { { 4, 4, 4 }, 11, -1, false, 1 },                                   /* too small */
    { { 9, 4, 2 }, 4, -1, false, 3 },  { { 4, 4, 4 }, 12, 2, false, 1 }, /* out of place */
    { { 9, 4, 2 }, 15, 11, false, 3 }, { { 9, 4, 2 }, 15, 9, true, 0 },  /* through the host */
    { { 9, 4, 2 }, 10, -1, true, 0 },  { { 4, 4, 4 }, 12, 2, true, 0 },
};
enum { GATHERINGS = sizeof gatherings / sizeof *gatherings };

static const struct gathering *gathering;

/* Row i of a rank. */
static int32_t row_of(int rank, int64_t i)
{
    return 100 * rank + (int32_t)i + 1;
}

static int submit_rows(int rank, int32_t *output, int64_t room, int64_t from, int64_t *handle)
{
    int64_t rows = gathering->rows[rank];
    int32_t image[GATHERED_ROWS] = { 0 };
    for (int64_t i = 0; i < rows; i++)
        image[i] = row_of(rank, i);
    int32_t *input = from < 0 ? device_put(image, sizeof image) : output + from;
    if (from >= 0)
        device_memory->write(input, image, (size_t)rows * sizeof *image);
    const struct hvd_tensor tensor = { .name = "g",
                                       .input = input,
                                       .output = output,
                                       .output_size = (size_t)room * sizeof *output,
                                       .dtype = HVD_INT32,
                                       .ndims = 1,
                                       .dims = &rows,
                                       .device = device };
    return hvd_allgather_async(&tensor, NULL, handle);
}

static void require_rows(const int32_t *output)
{
    int32_t image[GATHERED_ROWS];
    const int32_t *at = image;
    device_get(image, output, sizeof image);
    for (int rank = 0; rank < 3; rank++)
        for (int64_t i = 0; i < gathering->rows[rank]; i++)
            REQUIRE(*at++ == row_of(rank, i));
    while (at < image + GATHERED_ROWS)
        REQUIRE(*at++ == -1);
}

static int gather(int rank)
{
    int64_t handle, total = 0;
    int32_t image[GATHERED_ROWS], sum = 0;
    for (int i = 0; i < GATHERED_ROWS; i++)
        image[i] = -1;
    for (int i = 0; i < 3; i++)
        total += gathering->rows[i];
    bool odd = rank == 1, fits = !odd || gathering->room >= total;
    nccl_start(rank, 3);
    if (odd && gathering->no_pools)
        stand_in_configure("gpus=3 pools=0");
    int32_t *output = device_put(image, sizeof image);
    int pieces = stand_in_holdings().pieces + 1; /* and the input */
    REQUIRE_STATUS(submit_rows(rank, output, odd ? gathering->room : total,
                               odd ? gathering->from : -1, &handle),
                   HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), fits ? HVD_OK : HVD_ERR_INVALID);
    if (fits)
        require_rows(output);
    else
        require_text("allgather 'g': the result has ");
    device_get(image, output, sizeof image);
    REQUIRE(fits || image[0] == -1);
    REQUIRE(nccl_called() == gathering->called);
    REQUIRE_STATUS(sum_of_ranks("s", &sum), HVD_OK); /* the world goes on */
    REQUIRE(sum == 3);
    int rc = nccl_leave();
    REQUIRE(stand_in_holdings().pieces <= pieces);
    return rc;
}

START_TEST(an_output_that_does_not_suit_the_rows_leaves_no_rank_alone)
{
    gathering = &gatherings[_i];
    ranks_run(&(struct mini_options){ .size = 3 }, gather);
}
END_TEST

/* Rank 1 has no memory of the GPU left for the result that its output cannot take. */
static int gather_without_memory(int rank)
{
    int64_t handle;
    int32_t image[GATHERED_ROWS] = { 0 };
    nccl_start(rank, 3);
    if (rank == 1)
        stand_in_configure("gpus=3 fail=cuMemAllocAsync:1:2");
    int32_t *output = device_put(image, sizeof image);
    REQUIRE_STATUS(submit_rows(rank, output, rank == 1 ? 11 : 12, -1, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_SYSTEM);
    require_text("rank 1 on ");
    require_text(": allgather 'g': device 1 (cuda:1) failed to gather (-");
    require_text("): cuMemAllocAsync: out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
    nccl_leave_together(3);
    return nccl_leave();
}

START_TEST(a_gpu_without_memory_for_such_rows_ends_the_world)
{
    gathering = &gatherings[0];
    ranks_run(&(struct mini_options){ .size = 3 }, gather_without_memory);
}
END_TEST

static const struct grouping {
    bool scatters;
    const char *words, *text;
    double prescale;
} groupings[] = {
    { false, "gpus=3 fail=ncclGroupStart:1:2", "ncclGroupStart: unhandled system error (2)", 0 },
    { false, "gpus=3 fail=ncclBroadcast:2:2", "ncclBroadcast: unhandled system error (2)", 0 },
    { false, "gpus=3 fail=ncclGroupEnd:1:2", "ncclGroupEnd: unhandled system error (2)", 0 },
    { true, "gpus=3 fail=ncclGroupStart:1:2", "ncclGroupStart: unhandled system error (2)", 0 },
    { true, "gpus=3 fail=ncclReduce:2:2", "ncclReduce: unhandled system error (2)", 0 },
    { true, "gpus=3 fail=ncclGroupEnd:1:2", "ncclGroupEnd: unhandled system error (2)", 0 },
    { true, "gpus=3 fail=ncclReduce:1:2", "ncclReduce: unhandled system error (2)", 2 },
};

static const struct grouping *grouping;

/* Four rows among three ranks; in place unless they are scaled. */
static int submit_shares(int32_t *output, int64_t *handle)
{
    int64_t rows = 4;
    int32_t image[4] = { 0 };
    const struct hvd_options options = { .prescale = grouping->prescale };
    const struct hvd_tensor tensor = { .name = "s",
                                       .input = grouping->prescale != 0
                                                    ? device_put(image, sizeof image)
                                                    : output,
                                       .output = output,
                                       .output_size = 2 * sizeof *output,
                                       .dtype = HVD_INT32,
                                       .ndims = 1,
                                       .dims = &rows,
                                       .device = device };
    return hvd_reducescatter_async(&tensor, HVD_SUM, &options, handle);
}

static int fail_in_a_group(int rank)
{
    int64_t handle;
    int32_t image[GATHERED_ROWS] = { 0 };
    nccl_start(rank, 3);
    if (rank == 1)
        stand_in_configure(grouping->words);
    int32_t *output = device_put(image, sizeof image);
    REQUIRE_STATUS(grouping->scatters ? submit_shares(output, &handle)
                                      : submit_rows(rank, output, GATHERED_ROWS, -1, &handle),
                   HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_SYSTEM);
    require_text("rank 1 on ");
    require_text(grouping->scatters
                     ? ": reduce-scatter 's': device 1 (cuda:1) failed to reduce and scatter (-"
                     : ": allgather 'g': device 1 (cuda:1) failed to gather (-");
    require_text(grouping->text);
    REQUIRE(rank != 1 || stand_in_nccl_communicators() == 0); /* its kernels would wait for ever */
    nccl_leave_together(3);
    return nccl_leave();
}

START_TEST(a_call_in_a_group_that_fails_ends_the_world_in_nccls_words)
{
    gathering = &gatherings[8];
    grouping = &groupings[_i];
    ranks_run(&(struct mini_options){ .size = 3 }, fail_in_a_group);
}
END_TEST

static const struct grouping scalings[] = {
    { true, "gpus=3 fail=cuMemAllocAsync:1:2", "cuMemAllocAsync: out of memory", 2 },
    { true, "gpus=3 fail=cuLaunchKernel:1:719", "cuLaunchKernel: ", 2 },
};

static int fail_before_nccl(int rank)
{
    int64_t handle;
    int32_t image[2] = { 0 };
    nccl_start(rank, 3);
    if (rank == 1)
        stand_in_configure(grouping->words);
    REQUIRE_STATUS(submit_shares(device_put(image, sizeof image), &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_SYSTEM);
    require_text("rank 1 on ");
    require_text(": reduce-scatter 's': device 1 (cuda:1) failed to reduce and scatter (-");
    require_text(grouping->text);
    nccl_leave_together(3);
    return nccl_leave();
}

START_TEST(an_input_that_cannot_be_scaled_ends_the_world)
{
    grouping = &scalings[_i];
    ranks_run(&(struct mini_options){ .size = 3 }, fail_before_nccl);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nccl_gather");
    TCase *tcase = tcase_create("nccl_gather");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 100);
    cuda_prepare();
    tcase_add_loop_test(tcase, an_output_that_does_not_suit_the_rows_leaves_no_rank_alone, 0,
                        GATHERINGS);
    tcase_add_test(tcase, a_gpu_without_memory_for_such_rows_ends_the_world);
    tcase_add_loop_test(tcase, a_call_in_a_group_that_fails_ends_the_world_in_nccls_words, 0,
                        sizeof groupings / sizeof *groupings);
    tcase_add_loop_test(tcase, an_input_that_cannot_be_scaled_ends_the_world, 0,
                        sizeof scalings / sizeof *scalings);
    return unit_run(suite);
}
