/* SPDX-License-Identifier: Apache-2.0 */
/* Process sets that follow each other under one number, on the stand-ins for the CUDA driver and
 * NCCL (tests/stand_in_cuda): the ranks of each agree anew, also where this rank's last set of that
 * number had the same ranks; a set that is removed leaves nothing open. */
#include "tests/support/ipc_ranks.h"
#include "tests/support/nccl_ranks.h"
#include "tests/support/unit.h"

static const int pairs[][2] = { { 0, 2 }, { 0, 1 }, { 0, 2 } };
enum { PAIRS = sizeof pairs / sizeof *pairs };

/* Adds the set, reduces a large tensor in it, and removes it. */
static void reduce_in_pair(int rank, const int *pair)
{
    int set = hvd_add_process_set(pair, 2);
    const struct trial trial = { COLLECTIVE_ALLREDUCE,  HVD_INT32,    HVD_SUM,
                                 .rows = IPC_LEAST / 4, .columns = 1, .process_set = set };
    REQUIRE(set == 1);
    if (rank == pair[0] || rank == pair[1])
        trial_check(&trial);
    REQUIRE_STATUS(hvd_remove_process_set(set), HVD_OK);
}

static int reduce_in_ipc_sets(int rank)
{
    ipc_start(rank, 3);
    for (int i = 0; i < PAIRS; i++) {
        reduce_in_pair(rank, pairs[i]);
        struct stand_in_holdings left = stand_in_holdings();
        REQUIRE(left.imported == 0 && left.pieces == 0 && left.images == 0);
        REQUIRE(left.streams == 3);
    }
    return ipc_leave();
}

START_TEST(ranks_read_memory_anew_in_each_set_of_a_number)
{
    ranks_run(&(struct mini_options){ .size = 3 }, reduce_in_ipc_sets);
}
END_TEST

static int reduce_in_nccl_sets(int rank)
{
    nccl_start(rank, 3);
    for (int i = 0; i < PAIRS; i++) {
        reduce_in_pair(rank, pairs[i]);
        REQUIRE(stand_in_holdings().streams == 3);
    }
    REQUIRE(nccl_called() == (rank == 0 ? 3 : rank == 1 ? 1 : 2));
    return nccl_leave();
}

START_TEST(ranks_make_a_communicator_for_each_set_of_a_number)
{
    ranks_run(&(struct mini_options){ .size = 3 }, reduce_in_nccl_sets);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("set_ids");
    TCase *tcase = tcase_create("set_ids");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 100);
    cuda_prepare();
    tcase_add_test(tcase, ranks_read_memory_anew_in_each_set_of_a_number);
    tcase_add_test(tcase, ranks_make_a_communicator_for_each_set_of_a_number);
    return unit_run(suite);
}
