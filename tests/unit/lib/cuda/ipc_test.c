/* SPDX-License-Identifier: Apache-2.0 */
/* Allreduces of ranks that read each other's GPU memory, on the stand-in for the CUDA driver
 * (tests/stand_in_cuda), where that memory is shared by processes: the results are those of the
 * library; small tensors, other hosts and ranks that do not want it go through the host; NCCL takes
 * what it has; nothing is left. ipc_failure_test.c has
 * what fails, ipc_epoch_test.c worlds that follow each other. */
#include "tests/support/ipc_ranks.h"
#include "tests/support/nccl_ranks.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct trial trials[] = {
    { COLLECTIVE_ALLREDUCE, HVD_UINT8, HVD_SUM, .columns = 1 },
    { COLLECTIVE_ALLREDUCE, HVD_INT8, HVD_MAX, .columns = 1, .in_place = true },
    { COLLECTIVE_ALLREDUCE, HVD_UINT16, HVD_AVERAGE, .columns = 1 },
    { COLLECTIVE_ALLREDUCE, HVD_INT16, HVD_PRODUCT, .columns = 1, .in_place = true },
    { COLLECTIVE_ALLREDUCE, HVD_INT32, HVD_MIN, .columns = 1 },
    { COLLECTIVE_ALLREDUCE, HVD_INT64, HVD_AVERAGE, .columns = 1, .in_place = true },
    { COLLECTIVE_ALLREDUCE, HVD_FLOAT16, HVD_SUM, .columns = 1, .in_place = true },
    { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_AVERAGE, .columns = 1, .prescale = 2,
      .postscale = 0.5 },
    { COLLECTIVE_ALLREDUCE, HVD_FLOAT64, HVD_PRODUCT, .columns = 1 },
    { COLLECTIVE_ALLREDUCE, HVD_BOOL, HVD_SUM, .columns = 1, .in_place = true },
    { COLLECTIVE_ALLREDUCE, HVD_BFLOAT16, HVD_MIN, .columns = 1 },
    { COLLECTIVE_ALLREDUCE, HVD_BFLOAT16, HVD_SUM, .columns = 1, .in_place = true, .prescale = 4 },
    { COLLECTIVE_ALLREDUCE, HVD_INT32, HVD_SUM, .columns = 1, .postscale = 3, .in_place = true },
};
enum { TRIALS = sizeof trials / sizeof *trials };

/* A little more than the least, so that parts are uneven. */
static void check_trials(void)
{
    for (int i = 0; i < TRIALS; i++) {
        struct trial trial = trials[i];
        trial.rows = ipc_least(trial.dtype) + i;
        trial_check(&trial);
        REQUIRE(ipc_opened() == hvd_size() - 1);
    }
}

static int gpus;

static int reduce_directly(int rank)
{
    ipc_start(rank, gpus);
    check_trials();
    return ipc_leave();
}

START_TEST(ranks_with_a_gpu_each_read_each_others_memory)
{
    gpus = _i;
    ranks_run(&(struct mini_options){ .size = _i }, reduce_directly);
}
END_TEST

START_TEST(so_do_ranks_that_share_a_gpu)
{
    gpus = 1;
    ranks_run(&(struct mini_options){ .size = _i }, reduce_directly);
}
END_TEST

/* Pieces use both halves of the buffers in turn, also across tensors. */
static int reduce_pieces(int rank)
{
    static const int64_t rows[] = { IPC_HALF / 8, IPC_HALF / 8 + 1, 2 * (IPC_HALF / 8) + 12345 };
    ipc_start(rank, 2);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct trial trial = { COLLECTIVE_ALLREDUCE, HVD_FLOAT64,  HVD_SUM,
                                     .rows = rows[i],      .columns = 1, .in_place = i % 2 != 0 };
        trial_check(&trial);
    }
    REQUIRE(ipc_opened() == 1);
    return ipc_leave();
}

START_TEST(a_tensor_that_exceeds_a_buffer_is_reduced_in_pieces)
{
    ranks_run(&(struct mini_options){ .size = 2 }, reduce_pieces);
}
END_TEST

/* ---- what goes through the host ---- */

static int reduce_the_rest(int rank)
{
    static const struct trial others[] = {
        { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_ADASUM, .rows = IPC_LEAST / 4, .columns = 1 },
        { COLLECTIVE_BROADCAST, HVD_FLOAT32, .rows = IPC_LEAST, .columns = 1 },
        { COLLECTIVE_REDUCESCATTER, HVD_FLOAT32, HVD_SUM, .rows = IPC_LEAST, .columns = 1 },
    };
    ipc_start(rank, 2);
    for (int i = 0; i < TRIALS; i++) {
        struct trial trial = trials[i];
        trial.rows = ipc_least(trial.dtype) - 1;
        trial_check(&trial);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        trial_check(&others[i]);
    REQUIRE(ipc_opened() == 0 && stand_in_holdings().images == 0);
    return ipc_leave();
}

START_TEST(small_tensors_and_other_collectives_go_through_the_host)
{
    ranks_run(&(struct mini_options){ .size = 2 }, reduce_the_rest);
}
END_TEST

/* The name of this rank's host, in place of the C library's. */
static const char *host = "host0";

int gethostname(char *name, size_t size)
{
    snprintf(name, size, "%s", host);
    return 0;
}

static int reduce_on_hosts(int rank)
{
    host = rank == 0 ? "host0" : "host1";
    ipc_start(rank, 2);
    ipc_check_one();
    REQUIRE(ipc_opened() == 0);
    return ipc_leave();
}

START_TEST(ranks_that_only_seem_to_be_on_one_host_go_through_it)
{
    ranks_run(&(struct mini_options){ .size = 2 }, reduce_on_hosts);
}
END_TEST

static int reduce_unwilling(int rank)
{
    init_world();
    setenv("HVD_CUDA_IPC", "0", 1);
    cuda_ordinal = rank;
    cuda_start();
    ipc_check_one();
    REQUIRE(ipc_opened() == 0);
    return ipc_leave();
}

START_TEST(the_variable_does_without)
{
    ranks_run(&(struct mini_options){ .size = 2 }, reduce_unwilling);
}
END_TEST

/* ---- NCCL ---- */

static int reduce_beside_nccl(int rank)
{
    setenv("HVD_CUDA_IPC", "1", 1);
    nccl_start(rank, gpus);
    const struct trial nccls = { COLLECTIVE_ALLREDUCE, HVD_INT32, HVD_SUM, .rows = IPC_LEAST / 4,
                                 .columns = 1 };
    const struct trial ours = { COLLECTIVE_ALLREDUCE, HVD_INT16, HVD_SUM, .rows = IPC_LEAST / 2,
                                .columns = 1 };
    for (int i = 0; i < 3; i++) {
        trial_check(&nccls);
        REQUIRE(ipc_opened() == (i == 0 && gpus == 2 ? 0 : 1));
        trial_check(&ours);
        REQUIRE(ipc_opened() == 1);
    }
    REQUIRE(nccl_called() == (gpus == 2 ? 3 : 0));
    return nccl_leave();
}

START_TEST(nccl_takes_what_it_has_and_only_where_it_can)
{
    gpus = _i;
    ranks_run(&(struct mini_options){ .size = 2 }, reduce_beside_nccl);
}
END_TEST

/* ---- sets and processes ---- */

static int reduce_in_sets(int rank)
{
    ipc_start(rank, 3);
    int set = hvd_add_process_set((const int[]){ 0, 2 }, 2);
    struct trial trial = { COLLECTIVE_ALLREDUCE,  HVD_INT64,    HVD_SUM,
                           .rows = IPC_LEAST / 8, .columns = 1, .process_set = set };
    if (rank != 1)
        trial_check(&trial);
    REQUIRE(ipc_opened() == (rank == 1 ? 0 : 1));
    trial.process_set = 0;
    trial_check(&trial);
    REQUIRE(ipc_opened() == (rank == 1 ? 2 : 3));
    return ipc_leave();
}

START_TEST(each_process_set_has_buffers)
{
    ranks_run(&(struct mini_options){ .size = 3 }, reduce_in_sets);
}
END_TEST

/* Rank 1 keeps the device open until rank 0 has closed it, which frees what rank 1 had open: the
 * stand-in ends a process that does so too early. */
static int close_one_by_one(int rank)
{
    ipc_start(rank, 2);
    ipc_check_one();
    if (rank == 1) {
        leave_world();
        wait_for(0, 1);
        cuda_stop();
        return 0;
    }
    ipc_leave();
    atomic_fetch_add(&shared->counters[0], 1);
    return 0;
}

START_TEST(memory_is_freed_when_the_others_have_closed_it)
{
    ranks_run(&(struct mini_options){ .size = 2 }, close_one_by_one);
}
END_TEST

/* A child of fork() that outlives the world has the descriptors of rank 1, and keeps nothing. */
static int fork_meanwhile(int rank)
{
    pid_t child = 0;
    ipc_start(rank, 2);
    ipc_check_one();
    if (rank == 1 && (child = fork()) == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    ipc_check_one();
    int rc = ipc_leave();
    if (rank == 1) {
        wait_for(0, 1);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    atomic_fetch_add(&shared->counters[0], 1);
    return rc;
}

START_TEST(a_child_of_fork_keeps_nothing_open)
{
    ranks_run(&(struct mini_options){ .size = 2 }, fork_meanwhile);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ipc");
    TCase *tcase = tcase_create("ipc");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 200);
    cuda_prepare();
    ranks_add_test(tcase, ranks_with_a_gpu_each_read_each_others_memory, 2, 4);
    tcase_add_loop_test(tcase, so_do_ranks_that_share_a_gpu, 2, 3);
    tcase_add_test(tcase, a_tensor_that_exceeds_a_buffer_is_reduced_in_pieces);
    tcase_add_test(tcase, small_tensors_and_other_collectives_go_through_the_host);
    tcase_add_test(tcase, ranks_that_only_seem_to_be_on_one_host_go_through_it);
    tcase_add_test(tcase, the_variable_does_without);
    tcase_add_loop_test(tcase, nccl_takes_what_it_has_and_only_where_it_can, 1, 3);
    tcase_add_test(tcase, each_process_set_has_buffers);
    tcase_add_test(tcase, memory_is_freed_when_the_others_have_closed_it);
    tcase_add_test(tcase, a_child_of_fork_keeps_nothing_open);
    return unit_run(suite);
}
