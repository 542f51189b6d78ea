/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong with NCCL, on the stand-ins (nccl_ranks.h): ranks with other versions of NCCL or
 * without it, a rank that is lost, a call and a communicator that fail are told on all ranks, and
 * nothing is left. */
#include "lib/cuda/ipc.h"
#include "lib/hvd_cuda.h"
#include "tests/support/nccl_ranks.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <unistd.h>

/* The collectives of which the tests below submit one. */
static const struct one {
    enum collective_kind kind;
    const char *label, *failed, *call, *place;
} ones[] = {
    { COLLECTIVE_ALLREDUCE, "allreduce 'n'", ") failed to reduce (-", "ncclAllReduce",
      "reduced by the device" },
    { COLLECTIVE_BROADCAST, "broadcast 'n'", ") failed to broadcast (-", "ncclBroadcast",
      "moved by the device" },
    { COLLECTIVE_ALLGATHER, "allgather 'n'", ") failed to gather (-", "ncclAllGather",
      "moved by the device" },
    { COLLECTIVE_REDUCESCATTER, "reduce-scatter 'n'", ") failed to reduce and scatter (-",
      "ncclReduceScatter", "reduced by the device" },
    { COLLECTIVE_ALLTOALL, "alltoall 'n'", ") failed to exchange (-", "ncclRecv",
      "moved by the device" },
};
enum { ONES = sizeof ones / sizeof *ones };

static const struct one *one;

/* `one`, of two elements; the world has two ranks. */
static int submit_one(int64_t *handle)
{
    int64_t count = 2;
    int32_t data[4] = { 1, 1 };
    const struct hvd_tensor tensor = { .name = "n",
                                       .input = device_put(data, sizeof data),
                                       .output = device_put(data, sizeof data),
                                       .output_size = sizeof data,
                                       .dtype = HVD_INT32,
                                       .ndims = 1,
                                       .dims = &count,
                                       .device = device };
    switch (one->kind) {
    case COLLECTIVE_ALLGATHER:
        return hvd_allgather_async(&tensor, NULL, handle);
    case COLLECTIVE_REDUCESCATTER:
        return hvd_reducescatter_async(&tensor, HVD_SUM, NULL, handle);
    case COLLECTIVE_ALLTOALL:
        return hvd_alltoall_async(&tensor, NULL, 0, NULL, handle);
    case COLLECTIVE_BROADCAST:
        return hvd_broadcast_async(&tensor, 1, NULL, handle);
    default:
        return hvd_allreduce_async(&tensor, HVD_SUM, NULL, handle);
    }
}

static int carry_out_one(void)
{
    int64_t handle;
    int rc = submit_one(&handle);
    return rc < 0 ? rc : hvd_wait(handle);
}

static int differ(int rank)
{
    setenv("STAND_IN_NCCL_VERSION", rank == 1 ? "21803" : "22803", 1);
    nccl_start(rank, 2);
    REQUIRE_STATUS(carry_out_one(), HVD_ERR_SYSTEM);
    require_text("NCCL is version 22803 on rank 0 (");
    require_text("), 21803 on rank 1 (");
    require_text("); HVD_CUDA_NCCL=0 does without");
    return nccl_leave();
}

START_TEST(other_versions_of_nccl_end_the_world_with_both_named)
{
    one = &ones[_i];
    ranks_run(&(struct mini_options){ .size = 2 }, differ);
}
END_TEST

/* Starts, carries out one collective, checks the trial if there is one, and submits another
 * collective, of which rank 1 holds its part back. Rank 0 returns when its call of NCCL waits for
 * that part. */
static void submit_behind(int rank, const struct trial *trial, int64_t *handle)
{
    nccl_start(rank, 2);
    REQUIRE_STATUS(carry_out_one(), HVD_OK);
    if (trial)
        trial_check(trial);
    int before = nccl_called();
    if (rank == 1)
        stand_in_hold(true);
    REQUIRE_STATUS(submit_one(handle), HVD_OK);
    while (rank == 0 && nccl_called() == before)
        REQUIRE_STATUS(hvd_wait_timeout(*handle, 1, NULL), HVD_ERR_TIMEOUT);
}

static void submit_and_hold(int rank, int64_t *handle)
{
    submit_behind(rank, NULL, handle);
}

/* Rank 1 dies when rank 0 is in the reduction that waits for it. */
static int lose(int rank)
{
    int64_t handle;
    submit_and_hold(rank, &handle);
    if (rank == 1) {
        wait_for(0, 1);
        kill(getpid(), SIGKILL);
    }
    atomic_fetch_add(&shared->counters[0], 1);
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_PEER_LOST);
    return nccl_leave();
}

START_TEST(a_rank_that_is_lost_leaves_no_kernel_waiting)
{
    one = &ones[_i];
    ranks_run_but(&(struct mini_options){ .size = 2 }, lose, 1);
}
END_TEST

/* Rank 1 leaves when rank 0 is in the collective that waits for it. Its GPU is held, so
 * that the library leaves it an event, which would count as a leak. */
static int leave_too_early(int rank)
{
    int64_t handle;
    submit_and_hold(rank, &handle);
    atomic_fetch_add(&shared->counters[0], 1);
    wait_for(0, 2);
    if (rank == 0) {
        REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_PEER_LEFT);
        require_text(one->label);
        require_text(": rank 1 on ");
        return nccl_leave();
    }
    leave_world();
    stand_in_hold(false);
    REQUIRE_STATUS(hvd_cuda_close(device), HVD_OK);
    _exit(0);
}

START_TEST(a_rank_that_leaves_too_early_is_named_and_not_waited_for)
{
    one = &ones[_i];
    ranks_run(&(struct mini_options){ .size = 2 }, leave_too_early);
}
END_TEST

/* Rank 0 also has rank 1's memory open, and cannot abort. What it leaves to the driver would count
 * as a leak. */
static int lose_without_abort(int rank)
{
    int64_t handle;
    const struct trial beside = { COLLECTIVE_ALLREDUCE, HVD_INT16, HVD_SUM, .rows = IPC_LEAST / 2,
                                  .columns = 1 };
    setenv("HVD_CUDA_IPC", "1", 1);
    submit_behind(rank, &beside, &handle);
    if (rank == 1) {
        wait_for(0, 1);
        kill(getpid(), SIGKILL);
    }
    stand_in_configure("gpus=2 fail=ncclCommAbort:1:2");
    atomic_fetch_add(&shared->counters[0], 1);
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_PEER_LOST);
    leave_world();
    REQUIRE_STATUS(hvd_cuda_close(device), HVD_OK);
    REQUIRE(stand_in_nccl_communicators() == 1 && stand_in_holdings().imported == 1);
    _exit(0);
}

START_TEST(an_abort_that_fails_is_not_waited_for)
{
    one = &ones[0];
    ranks_run_but(&(struct mini_options){ .size = 2 }, lose_without_abort, 1);
}
END_TEST

/* NCCL fails on rank 0 while its kernel waits for rank 1's. */
static int fail_at_work(int rank)
{
    int64_t handle;
    submit_and_hold(rank, &handle);
    if (rank == 1) {
        wait_for(0, 1);
        stand_in_hold(false);
    } else {
        stand_in_configure("gpus=2 fail=ncclCommGetAsyncError:1:2");
    }
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_SYSTEM);
    require_text("rank 0 on ");
    require_text(one->failed);
    /* A group of calls may not have been ended when it is seen at work. */
    require_text(one->kind == COLLECTIVE_ALLTOALL
                     ? "unhandled system error (2)"
                     : "): ncclCommGetAsyncError: unhandled system error (2)");
    atomic_fetch_add(&shared->counters[0], 1);
    return nccl_leave();
}

START_TEST(a_communicator_that_fails_at_work_ends_the_world_in_nccls_words)
{
    one = &ones[_i];
    ranks_run(&(struct mini_options){ .size = 2 }, fail_at_work);
}
END_TEST

static const struct nccl_failure {
    int rank;
    bool first;        /* the first reduction fails, which makes the communicator */
    const char *words; /* of the rank; NULL: its call of NCCL fails */
    const char *text;
} nccl_failures[] = {
    { 0, true, "gpus=2 fail=ncclGetUniqueId:1:2", "ncclGetUniqueId: unhandled system error (2)" },
    { 0, true, "gpus=2 fail=ncclCommInitRankConfig:1:2",
      "ncclCommInitRankConfig: unhandled system error (2)" },
    { 1, true, "gpus=2 fail=ncclCommInitRankConfig:1:2",
      "ncclCommInitRankConfig: unhandled system error (2)" },
    { 1, false, NULL, ": unhandled system error (2)" },
    { 1, false, "gpus=2 lost=cuCtxPushCurrent:1", "unknown error (CUDA_ERROR_UNKNOWN)" },
};

enum { NCCL_FAILURES = sizeof nccl_failures / sizeof *nccl_failures };

static const struct nccl_failure *nccl_failing;

static int fail_in_a_call(int rank)
{
    char text[64];
    nccl_start(rank, 2);
    if (!nccl_failing->first)
        REQUIRE_STATUS(carry_out_one(), HVD_OK);
    snprintf(text, sizeof text, "gpus=2 fail=%s:1:2", one->call);
    if (rank == nccl_failing->rank)
        stand_in_configure(nccl_failing->words ? nccl_failing->words : text);
    REQUIRE_STATUS(carry_out_one(), HVD_ERR_SYSTEM);
    snprintf(text, sizeof text, "rank %d on ", nccl_failing->rank);
    require_text(text);
    require_text(one->label);
    require_text(": device 1 (cuda:");
    require_text(") failed to ");
    require_text(nccl_failing->words ? "" : one->call);
    require_text(nccl_failing->text);
    nccl_leave_together(2); /* rank 1 may not have opened yet what rank 0's process has */
    stand_in_configure("gpus=2");
    return nccl_leave();
}

START_TEST(a_call_of_nccl_that_fails_ends_the_world_in_nccls_words)
{
    one = &ones[_i / NCCL_FAILURES];
    nccl_failing = &nccl_failures[_i % NCCL_FAILURES];
    ranks_run(&(struct mini_options){ .size = 2 }, fail_in_a_call);
}
END_TEST

/* Rank 1 does without NCCL. */
static int disagree_about_nccl(int rank)
{
    stand_in_configure("gpus=2");
    setenv("HVD_CUDA_NCCL", rank == 1 ? "0" : "1", 1);
    init_world();
    cuda_ordinal = rank;
    cuda_start();
    REQUIRE_STATUS(carry_out_one(), HVD_ERR_MISMATCH);
    require_text(one->label);
    require_text(": places differ: in device memory, ");
    require_text(one->place);
    require_text(" on rank 0, in device memory on rank 1");
    return nccl_leave();
}

START_TEST(a_rank_without_nccl_is_a_mismatch)
{
    one = &ones[_i];
    ranks_run(&(struct mini_options){ .size = 2 }, disagree_about_nccl);
}
END_TEST

START_TEST(an_nccl_that_is_too_old_is_refused_where_it_is_wanted)
{
    int number;
    setenv("STAND_IN_NCCL_VERSION", "21210", 1);
    setenv("HVD_CUDA_NCCL", "1", 1);
    ck_assert_int_eq(hvd_cuda_open(0, &number), HVD_ERR_SYSTEM);
    ck_assert_str_eq(hvd_last_error(), "open cuda device: HVD_CUDA_NCCL=1: NCCL is version 21210, "
                                       "at least 21400 is needed");
    unsetenv("HVD_CUDA_NCCL");
    ck_assert_int_eq(hvd_cuda_open(0, &number), HVD_OK);
    ck_assert_int_eq(hvd_cuda_close(number), HVD_OK);
}
END_TEST

START_TEST(a_variable_that_is_not_0_or_1_is_refused)
{
    int number;
    setenv("HVD_CUDA_NCCL", "2", 1);
    ck_assert_int_eq(hvd_cuda_open(0, &number), HVD_ERR_ENVIRONMENT);
    ck_assert_str_eq(hvd_last_error(), "open cuda device: HVD_CUDA_NCCL: '2' is not 0 or 1");
    struct stand_in_holdings left = stand_in_holdings();
    ck_assert_int_eq(left.contexts + left.streams, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nccl_failure");
    TCase *tcase = tcase_create("nccl_failure");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 100);
    cuda_prepare();
    tcase_add_loop_test(tcase, other_versions_of_nccl_end_the_world_with_both_named, 0, ONES);
    tcase_add_loop_test(tcase, a_rank_that_is_lost_leaves_no_kernel_waiting, 0, ONES);
    tcase_add_loop_test(tcase, a_rank_that_leaves_too_early_is_named_and_not_waited_for, 0, ONES);
    tcase_add_test(tcase, an_abort_that_fails_is_not_waited_for);
    tcase_add_loop_test(tcase, a_communicator_that_fails_at_work_ends_the_world_in_nccls_words, 0,
                        ONES);
    tcase_add_loop_test(tcase, a_call_of_nccl_that_fails_ends_the_world_in_nccls_words, 0,
                        ONES * NCCL_FAILURES);
    tcase_add_loop_test(tcase, a_rank_without_nccl_is_a_mismatch, 0, ONES);
    tcase_add_test(tcase, an_nccl_that_is_too_old_is_refused_where_it_is_wanted);
    tcase_add_test(tcase, a_variable_that_is_not_0_or_1_is_refused);
    return unit_run(suite);
}
