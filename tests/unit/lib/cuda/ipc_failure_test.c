/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong when ranks are to read each other's GPU memory, on the stand-in for the CUDA
 * driver (ipc_ranks.h): what the driver refuses while they agree goes through the host, which rank
 * 0 says at info level, or fails with HVD_CUDA_IPC=1, and so do ranks on different hosts; a call
 * that fails later ends the world on all ranks; so does a rank that is lost; memory that a process
 * never closes is not freed. */
#include "lib/hvd_cuda.h"
#include "tests/support/ipc_ranks.h"
#include "tests/support/log_capture.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* ---- while they agree ---- */

/* The words are for rank 1 of two. `reason` is what is said behind the rank. */
static const struct refusal {
    int gpus;
    const char *words, *reason;
} refusals[] = {
    { 2, "gpus=2 ipc=0",
      "(cuda:1) cannot share its memory: cuIpcGetMemHandle: operation not supported "
      "(CUDA_ERROR_NOT_SUPPORTED)" },
    { 2, "gpus=2 peers=0",
      "(cuda:1) cannot read the memory of rank 0 (cuda:0): cuIpcOpenMemHandle: peer access is not "
      "supported between these two devices (CUDA_ERROR_PEER_ACCESS_UNSUPPORTED)" },
    { 1, "gpus=1 fail=cuIpcOpenMemHandle:1:1",
      "(cuda:0) cannot read the memory of rank 0 (cuda:0): cuIpcOpenMemHandle: invalid argument" },
    { 2, "gpus=2 fail=cuMemAlloc:1:2",
      "(cuda:1) cannot share its memory: cuMemAlloc: out of memory" },
    { 2, "gpus=2 fail=cuIpcGetMemHandle:1:1",
      "(cuda:1) cannot share its memory: cuIpcGetMemHandle: invalid argument" },
    { 2, "gpus=2 fail=cuModuleLoadDataEx:1:218",
      "(cuda:1) cannot share its memory: cuModuleLoadDataEx: a PTX JIT compilation failed" },
    { 2, "gpus=2 fail=cuModuleGetFunction:7:500",
      "(cuda:1) cannot share its memory: cuModuleGetFunction: named symbol not found" },
    { 2, "gpus=2 fail=cuMemcpyAsync:1:1",
      "(cuda:1) cannot share its memory: cuMemcpyAsync: invalid argument" },
    { 2, "gpus=2 fail=cuMemcpyAsync:2:1",
      "(cuda:1) cannot read the memory of rank 0 (cuda:0): cuMemcpyAsync: invalid argument" },
    { 2, "gpus=2 fail=cuEventRecord:1:1",
      "(cuda:1) cannot share its memory: cuEventRecord: invalid argument" },
    { 2, "gpus=2 fail=cuEventQuery:1:1",
      "(cuda:1) cannot share its memory: cuEventQuery: invalid argument" },
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

static const struct refusal *refusal;

/* The next tensor does not ask again. */
static int refuse(int rank)
{
    char line[400];
    setenv("HOROVOD_LOG_LEVEL", "info", 1);
    setenv("HOROVOD_LOG_HIDE_TIME", "1", 1);
    log_capture_start();
    ipc_start(rank, refusal->gpus);
    if (rank == 1)
        stand_in_configure(refusal->words);
    ipc_check_one();
    REQUIRE(ipc_opened() == 0);
    ipc_check_one();
    snprintf(line, sizeof line,
             "[0]: process set 0: tensors of GPUs go through the host: rank 1 %s", refusal->reason);
    const char *log = log_captured();
    const char *found = strstr(log, line);
    log_capture_stop();
    if (rank == 0 && !found)
        fprintf(stderr, "not '%s' in '%s'\n", line, log);
    REQUIRE((found != NULL) == (rank == 0));
    REQUIRE(!found || !strstr(found + strlen(line), "go through the host"));
    return ipc_leave();
}

START_TEST(what_the_driver_refuses_goes_through_the_host_on_all_ranks)
{
    refusal = &refusals[_i];
    ranks_run(&(struct mini_options){ .size = 2 }, refuse);
}
END_TEST

static int tell_use(int rank)
{
    setenv("HOROVOD_LOG_LEVEL", "info", 1);
    log_capture_start();
    ipc_start(rank, 2);
    ipc_check_one();
    bool found = strstr(log_captured(), "[0]: process set 0: ranks read each other's GPU memory");
    log_capture_stop();
    REQUIRE(found == (rank == 0));
    return ipc_leave();
}

START_TEST(the_first_rank_says_that_they_do)
{
    ranks_run(&(struct mini_options){ .size = 2 }, tell_use);
}
END_TEST

static int demand(int rank)
{
    int64_t handle;
    init_world();
    stand_in_configure("gpus=2");
    setenv("HVD_CUDA_IPC", "1", 1);
    cuda_ordinal = rank;
    cuda_start();
    if (rank == 1)
        stand_in_configure(refusal->words);
    REQUIRE_STATUS(ipc_submit_one(&handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_SYSTEM);
    require_text("HVD_CUDA_IPC=1: rank 1 ");
    require_text(refusal->reason);
    atomic_fetch_add(&shared->counters[0], 1);
    wait_for(0, 2);
    stand_in_configure("gpus=2");
    leave_world();
    cuda_stop();
    REQUIRE(ipc_opened() == 0);
    return 0;
}

START_TEST(what_is_demanded_fails_on_all_ranks_with_the_reason)
{
    refusal = &refusals[_i];
    ranks_run(&(struct mini_options){ .size = 2 }, demand);
}
END_TEST

/* Rank 1 does without. */
static int disagree(int rank)
{
    int64_t handle;
    stand_in_configure("gpus=2");
    setenv("HVD_CUDA_IPC", rank == 1 ? "0" : "1", 1);
    init_world();
    cuda_ordinal = rank;
    cuda_start();
    REQUIRE_STATUS(ipc_submit_one(&handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_MISMATCH);
    require_text(": places differ: in device memory, reduced by the device on rank 0, in device "
                 "memory on rank 1");
    leave_world();
    cuda_stop();
    return 0;
}

START_TEST(a_rank_that_does_without_is_a_mismatch)
{
    ranks_run(&(struct mini_options){ .size = 2 }, disagree);
}
END_TEST

/* ---- what the ranks tell each other before ---- */

/* The name of this rank's host, in place of the C library's. */
static const char *host = "host0";

int gethostname(char *name, size_t size)
{
    snprintf(name, size, "%s", host);
    return 0;
}

/* One large tensor of ranks of which some demand it; it fails on all of them with the reason. */
static int demand_in_vain(const char *reason)
{
    int64_t handle;
    init_world();
    cuda_ordinal = 0;
    cuda_start();
    REQUIRE_STATUS(ipc_submit_one(&handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_SYSTEM);
    require_text(reason);
    atomic_fetch_add(&shared->counters[0], 1);
    wait_for(0, 2);
    leave_world();
    cuda_stop();
    REQUIRE(ipc_opened() == 0);
    return 0;
}

static int demand_across_hosts(int rank)
{
    stand_in_configure("gpus=1");
    host = rank == 0 ? "host0" : "host1";
    setenv("HVD_CUDA_IPC", "1", 1);
    return demand_in_vain(
        "HVD_CUDA_IPC=1: rank 0 (host0) and rank 1 (host1) are on different hosts");
}

START_TEST(what_is_demanded_of_ranks_on_different_hosts_fails_with_their_names)
{
    ranks_run(&(struct mini_options){ .size = 2, .anywhere = _i == 1 }, demand_across_hosts);
}
END_TEST

/* The tensor would be one for NCCL, but they share a GPU. */
static int demand_of_one(int rank)
{
    stand_in_configure("gpus=1");
    setenv("HVD_CUDA_NCCL", "1", 1);
    setenv("HVD_CUDA_IPC", rank == 1 ? "0" : "1", 1);
    return demand_in_vain("HVD_CUDA_IPC=1: rank 1 (host0) has HVD_CUDA_IPC=0");
}

START_TEST(what_another_rank_does_without_fails_where_it_is_demanded)
{
    ranks_run(&(struct mini_options){ .size = 2 }, demand_of_one);
}
END_TEST

static int tell_hosts(int rank)
{
    setenv("HOROVOD_LOG_LEVEL", "info", 1);
    log_capture_start();
    host = rank == 0 ? "host0" : "host1";
    ipc_start(rank, 2);
    ipc_check_one();
    bool found = strstr(log_captured(), "[0]: process set 0: tensors of GPUs go through the host: "
                                        "rank 0 (host0) and rank 1 (host1) are on different hosts");
    log_capture_stop();
    REQUIRE(found == (rank == 0));
    return ipc_leave();
}

START_TEST(the_first_rank_says_whose_hosts_differ)
{
    ranks_run(&(struct mini_options){ .size = 2 }, tell_hosts);
}
END_TEST

/* Rank 1 is without NCCL, so rank 0 would leave to NCCL what rank 1 would not. */
static int lack_nccl(int rank)
{
    int64_t handle;
    stand_in_configure("gpus=2");
    unsetenv("HVD_CUDA_IPC");
    setenv("HVD_CUDA_NCCL", rank == 1 ? "0" : "1", 1);
    init_world();
    cuda_ordinal = rank;
    cuda_start();
    REQUIRE_STATUS(ipc_submit_one(&handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_SYSTEM);
    require_text("NCCL is version 22803 on rank 0 (");
    require_text("), missing on rank 1 (");
    leave_world();
    cuda_stop();
    return 0;
}

START_TEST(nccl_on_one_rank_alone_ends_the_world_with_both_named)
{
    ranks_run(&(struct mini_options){ .size = 2 }, lack_nccl);
}
END_TEST

START_TEST(a_value_that_is_not_0_or_1_is_refused)
{
    int number;
    setenv("HVD_CUDA_IPC", "yes", 1);
    ck_assert_int_eq(hvd_cuda_open(0, &number), HVD_ERR_ENVIRONMENT);
    ck_assert_str_eq(hvd_last_error(), "open cuda device: HVD_CUDA_IPC: 'yes' is not 0 or 1");
    struct stand_in_holdings left = stand_in_holdings();
    ck_assert_int_eq(left.contexts + left.streams, 0);
}
END_TEST

/* ---- when they have agreed ---- */

/* Rank 1 of two fails in its second tensor, at the n-th call of these; then its GPU may be lost. */
static const struct failure {
    const char *words, *text;
    bool lost;
} failures[] = {
    { "gpus=2 fail=cuMemcpyAsync:1:1", "cuMemcpyAsync: invalid argument", false },
    { "gpus=2 fail=cuMemcpyAsync:2:1", "cuMemcpyAsync: invalid argument", false },
    { "gpus=2 fail=cuMemcpyAsync:3:1", "cuMemcpyAsync: invalid argument", false },
    { "gpus=2 fail=cuLaunchKernel:1:1", "cuLaunchKernel: invalid argument", false },
    { "gpus=2 fail=cuEventRecord:1:1", "cuEventRecord: invalid argument", false },
    { "gpus=2 fail=cuEventRecord:2:1", "cuEventRecord: invalid argument", false },
    { "gpus=2 fail=cuEventRecord:3:1", "cuEventRecord: invalid argument", false },
    { "gpus=2 fail=cuEventQuery:1:1", "cuEventQuery: invalid argument", false },
    { "gpus=2 lost=cuMemcpyAsync:1", "cuMemcpyAsync: unknown error (CUDA_ERROR_UNKNOWN)", true },
    { "gpus=2 lost=cuLaunchKernel:1", "cuLaunchKernel: unknown error (CUDA_ERROR_UNKNOWN)", true },
    { "gpus=2 late=1:700", "an illegal memory access was encountered", true },
    { "gpus=2 late=2:700", "an illegal memory access was encountered", true },
    { "gpus=2 late=3:700", "an illegal memory access was encountered", true },
};
enum { FAILURES = sizeof failures / sizeof *failures };

static const struct failure *failure;

static int fail_later(int rank)
{
    int64_t handle;
    ipc_start(rank, 2);
    ipc_check_one();
    if (rank == 1)
        stand_in_configure(failure->words);
    int rc = ipc_submit_one(&handle);
    rc = rc < 0 ? rc : hvd_wait(handle);
    if (rank == 0 && rc == HVD_OK) /* rank 1 had given all that rank 0 needs */
        rc = sum_of_ranks("next", &(int32_t){ 0 });
    REQUIRE_STATUS(rc, HVD_ERR_SYSTEM);
    require_text("rank 1 on ");
    require_text("allreduce 'n': device 1 (cuda:1) failed to reduce (-");
    require_text(failure->text);
    atomic_fetch_add(&shared->counters[0], 1);
    wait_for(0, 2);
    leave_world();
    if (failure->lost) { /* what a lost GPU has cannot be given back, and would count as a leak */
        REQUIRE_STATUS(hvd_cuda_close(device), HVD_OK);
        _exit(0);
    }
    stand_in_configure("gpus=2");
    cuda_stop();
    REQUIRE(ipc_opened() == 0);
    return 0;
}

START_TEST(a_call_that_fails_later_ends_the_world_on_all_ranks)
{
    failure = &failures[_i];
    ranks_run(&(struct mini_options){ .size = 2 }, fail_later);
}
END_TEST

/* The last rank dies when the others wait for it in a tensor: at once, or after a piece. */
static int die(int rank)
{
    int64_t handle;
    int last = hvd_size() - 1;
    ipc_start(rank, 2);
    last = hvd_size() - 1;
    ipc_check_one();
    if (rank == last)
        stand_in_hold(true);
    REQUIRE_STATUS(ipc_submit_one(&handle), HVD_OK);
    if (rank == last) {
        wait_for(0, last);
        kill(getpid(), SIGKILL);
    }
    REQUIRE_STATUS(hvd_wait_timeout(handle, 50, NULL), HVD_ERR_TIMEOUT);
    atomic_fetch_add(&shared->counters[0], 1);
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_PEER_LOST);
    leave_world();
    cuda_stop();
    REQUIRE(ipc_opened() == 0);
    return 0;
}

START_TEST(a_rank_that_dies_in_the_middle_is_lost_and_its_memory_is_closed)
{
    ranks_run_but(&(struct mini_options){ .size = _i }, die, _i - 1);
}
END_TEST

/* Locks on the files that the other rank has of buffers, as if memory were open for ever. */
static void keep_lock(pid_t pid)
{
    char folder[64], path[400], target[64];
    snprintf(folder, sizeof folder, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(folder);
    REQUIRE(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length < 0 ? 0 : length] = '\0';
        if (strncmp(target, "/memfd:hvd-cuda-ipc", 19) != 0)
            continue;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        REQUIRE(fd >= 0 && flock(fd, LOCK_SH) == 0);
    }
    closedir(dir);
}

static int leave_open(int rank)
{
    ipc_start(rank, 2);
    ipc_check_one();
    if (rank == 0) {
        atomic_store(&shared->counters[1], getpid());
        wait_for(0, 1);
        leave_world();
        cuda_stop();
        REQUIRE(stand_in_holdings().pieces == 1);
        atomic_fetch_add(&shared->counters[0], 1);
        return 0;
    }
    wait_for(1, 1);
    keep_lock(atomic_load(&shared->counters[1]));
    atomic_fetch_add(&shared->counters[0], 1);
    leave_world();
    cuda_stop();
    wait_for(0, 2);
    return 0;
}

START_TEST(memory_that_a_process_never_closes_is_not_freed)
{
    ranks_run(&(struct mini_options){ .size = 2 }, leave_open);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ipc_failure");
    TCase *tcase = tcase_create("ipc_failure");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 200);
    cuda_prepare();
    tcase_add_loop_test(tcase, what_the_driver_refuses_goes_through_the_host_on_all_ranks, 0,
                        REFUSALS);
    tcase_add_test(tcase, the_first_rank_says_that_they_do);
    tcase_add_loop_test(tcase, what_is_demanded_fails_on_all_ranks_with_the_reason, 0, 2);
    tcase_add_test(tcase, a_rank_that_does_without_is_a_mismatch);
    tcase_add_loop_test(tcase, what_is_demanded_of_ranks_on_different_hosts_fails_with_their_names,
                        0, 2);
    tcase_add_test(tcase, what_another_rank_does_without_fails_where_it_is_demanded);
    tcase_add_test(tcase, the_first_rank_says_whose_hosts_differ);
    tcase_add_test(tcase, nccl_on_one_rank_alone_ends_the_world_with_both_named);
    tcase_add_test(tcase, a_value_that_is_not_0_or_1_is_refused);
    tcase_add_loop_test(tcase, a_call_that_fails_later_ends_the_world_on_all_ranks, 0, FAILURES);
    ranks_add_test(tcase, a_rank_that_dies_in_the_middle_is_lost_and_its_memory_is_closed, 2, 4);
    tcase_add_test(tcase, memory_that_a_process_never_closes_is_not_freed);
    return unit_run(suite);
}
