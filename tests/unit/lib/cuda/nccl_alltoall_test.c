/* SPDX-License-Identifier: Apache-2.0 */
/* Alltoalls with NCCL, on the stand-ins (nccl_ranks.h): any rows from any rank to any other, an
 * output that is too small on one rank, ranks that take no part; memory that there is not, and each
 * call that fails, are told on all ranks. */
#include "tests/support/nccl_ranks.h"
#include "tests/support/unit.h"

enum { RANKS = 3, ROWS_MOST = 32 };

static const struct exchange {
    int64_t rows[RANKS][RANKS]; /* from, to */
    int64_t room;               /* in rows, of rank 1's output; -1: what it needs */
    bool no_pools;
} exchanges[] = {
    { { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } }, -1, false },
    { { { 0, 2, 0 }, { 0, 0, 6 }, { 7, 0, 0 } }, -1, false }, /* to one other rank each */
    { { { 5, 0, 0 }, { 0, 0, 0 }, { 0, 0, 2 } }, -1, false }, /* to itself; rank 1 has no part */
    { { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } }, -1, false },
    { { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 9, 0 } }, 8, false }, /* too small */
    { { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } }, 0, false },
    { { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } }, -1, true }, /* through the host */
    { { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } }, 14, true },
};
enum { EXCHANGES = sizeof exchanges / sizeof *exchanges };

static const struct exchange *exchange;

/* Row i that `from` gives, whoever gets it. */
static int32_t row_of(int from, int64_t i)
{
    return 100 * from + (int32_t)i + 1;
}

static int64_t rows_given(int from, int to)
{
    int64_t rows = 0;
    for (int rank = 0; rank < to; rank++)
        rows += exchange->rows[from][rank];
    return rows;
}

static int64_t rows_got(int to)
{
    int64_t rows = 0;
    for (int rank = 0; rank < RANKS; rank++)
        rows += exchange->rows[rank][to];
    return rows;
}

static int64_t room_of(int rank)
{
    return rank == 1 && exchange->room >= 0 ? exchange->room : rows_got(rank);
}

static int submit(int rank, int32_t *output, int64_t *handle)
{
    int64_t rows = rows_given(rank, RANKS);
    int32_t image[ROWS_MOST] = { 0 };
    for (int64_t i = 0; i < rows; i++)
        image[i] = row_of(rank, i);
    const struct hvd_tensor tensor = { .name = "x",
                                       .input = device_put(image, sizeof image),
                                       .output = output,
                                       .output_size = (size_t)room_of(rank) * sizeof *output,
                                       .dtype = HVD_INT32,
                                       .ndims = 1,
                                       .dims = &rows,
                                       .device = device };
    return hvd_alltoall_async(&tensor, exchange->rows[rank], RANKS, NULL, handle);
}

static void require_rows(int rank, const int32_t *output)
{
    int32_t image[ROWS_MOST];
    const int32_t *at = image;
    device_get(image, output, sizeof image);
    for (int from = 0; from < RANKS && room_of(rank) >= rows_got(rank); from++)
        for (int64_t i = 0; i < exchange->rows[from][rank]; i++)
            REQUIRE(*at++ == row_of(from, rows_given(from, rank) + i));
    while (at < image + ROWS_MOST)
        REQUIRE(*at++ == -1);
}

/* How many calls of NCCL a rank makes. */
static int calls_of(int rank)
{
    int calls = 0;
    for (int peer = 0; peer < RANKS && !exchange->no_pools; peer++)
        calls += (exchange->rows[rank][peer] > 0) + (exchange->rows[peer][rank] > 0);
    return calls;
}

static int32_t *put_output(void)
{
    int32_t image[ROWS_MOST];
    for (int i = 0; i < ROWS_MOST; i++)
        image[i] = -1;
    return device_put(image, sizeof image);
}

static int exchange_rows(int rank)
{
    int64_t handle;
    int32_t sum = 0;
    struct hvd_result result;
    nccl_start(rank, RANKS);
    if (rank == 1 && exchange->no_pools)
        stand_in_configure("gpus=3 pools=0");
    bool fits = room_of(rank) >= rows_got(rank);
    int32_t *output = put_output();
    for (int round = 0; round < 2; round++) {
        int pieces = stand_in_holdings().pieces + 1; /* and the input */
        REQUIRE_STATUS(submit(rank, output, &handle), HVD_OK);
        REQUIRE_STATUS(hvd_wait_result(handle, &result), fits ? HVD_OK : HVD_ERR_INVALID);
        if (!fits)
            require_text("alltoall 'x': the result has ");
        for (int from = 0; from < RANKS && fits; from++)
            REQUIRE(result.rows[from] == exchange->rows[from][rank]);
        hvd_result_free(&result);
        require_rows(rank, output);
        REQUIRE(nccl_called() == (round + 1) * calls_of(rank));
        REQUIRE(stand_in_holdings().pieces <= pieces);
    }
    REQUIRE_STATUS(sum_of_ranks("s", &sum), HVD_OK); /* the world goes on */
    REQUIRE(sum == 3);
    return nccl_leave();
}

START_TEST(each_rank_gets_the_rows_that_are_for_it)
{
    exchange = &exchanges[_i];
    ranks_run(&(struct mini_options){ .size = RANKS }, exchange_rows);
}
END_TEST

static const struct failing {
    const char *words, *text;
    int64_t room; /* of rank 1, on which the call fails */
} failings[] = {
    { "gpus=3 fail=ncclGroupStart:1:2", "ncclGroupStart: unhandled system error (2)", -1 },
    { "gpus=3 fail=ncclSend:1:2", "ncclSend: unhandled system error (2)", -1 },
    { "gpus=3 fail=ncclSend:3:2", "ncclSend: unhandled system error (2)", -1 },
    { "gpus=3 fail=ncclRecv:1:2", "ncclRecv: unhandled system error (2)", -1 },
    { "gpus=3 fail=ncclRecv:3:2", "ncclRecv: unhandled system error (2)", -1 },
    { "gpus=3 fail=ncclGroupEnd:1:2", "ncclGroupEnd: unhandled system error (2)", -1 },
    { "gpus=3 fail=cuMemAllocAsync:1:2",
      "cuMemAllocAsync: out of memory (CUDA_ERROR_OUT_OF_MEMORY)", 4 },
};

static const struct failing *failing;

static int fail_on_rank_1(int rank)
{
    int64_t handle;
    struct exchange small = exchanges[0];
    small.room = failing->room;
    exchange = &small;
    nccl_start(rank, RANKS);
    if (rank == 1)
        stand_in_configure(failing->words);
    REQUIRE_STATUS(submit(rank, put_output(), &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_SYSTEM);
    require_text("rank 1 on ");
    require_text(": alltoall 'x': device 1 (cuda:1) failed to exchange (-");
    require_text(failing->text);
    nccl_leave_together(RANKS);
    return nccl_leave();
}

START_TEST(a_call_that_fails_ends_the_world_in_the_words_of_its_library)
{
    failing = &failings[_i];
    ranks_run(&(struct mini_options){ .size = RANKS }, fail_on_rank_1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nccl_alltoall");
    TCase *tcase = tcase_create("nccl_alltoall");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 100);
    cuda_prepare();
    tcase_add_loop_test(tcase, each_rank_gets_the_rows_that_are_for_it, 0, EXCHANGES);
    tcase_add_loop_test(tcase, a_call_that_fails_ends_the_world_in_the_words_of_its_library, 0,
                        sizeof failings / sizeof *failings);
    return unit_run(suite);
}
