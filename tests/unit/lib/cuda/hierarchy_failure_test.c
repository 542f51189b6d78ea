/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong with allreduces in two levels, on the stand-ins (hierarchy_ranks.h): other wishes
 * of ranks, a call that fails on one host, a rank that is lost, a communicator that fails at work,
 * and a link between hosts that dies end the world on all ranks, with rank, device and the words of
 * what failed; nothing is left. */
#include "lib/engine/stage_impl.h"
#include "lib/hvd_cuda.h"
#include "tests/support/hierarchy_ranks.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LEAST = HIERARCHY_LEAST / 4, PIECES_9 = 9 * 2 * HIERARCHY_SHARE / 4 };

/* The sum of `count` int32, all of them 1; its status. */
static int submit_ones(int64_t count, int64_t *handle)
{
    int32_t *data = malloc((size_t)count * sizeof *data);
    REQUIRE(data != NULL);
    for (int64_t i = 0; i < count; i++)
        data[i] = 1;
    void *memory = device_put(data, (size_t)count * sizeof *data);
    free(data);
    return cuda_submit_sum("n", memory, count, handle);
}

static int reduce_ones(int64_t count)
{
    int64_t handle;
    int rc = submit_ones(count, &handle);
    return rc < 0 ? rc : hvd_wait(handle);
}

/* ---- a call that fails ---- */

static const struct failing {
    const char *layout;
    bool first;        /* in the first allreduce, for which the ranks agree */
    int rank;          /* of which the words are */
    const char *words; /* "gpus=6 fail=" comes before them */
    const char *text;
} failings[] = {
    { "0011", true, 2, "ncclGetUniqueId:1:2", "ncclGetUniqueId: unhandled system error (2)" },
    { "0011", true, 3, "ncclCommInitRankConfig:1:2",
      "ncclCommInitRankConfig: unhandled system error (2)" },
    { "0011", true, 1, "cuMemHostAlloc:1:2", "cuMemHostAlloc: out of memory" },
    { "0011", true, 1, "cuMemHostAlloc:8:2", "cuMemHostAlloc: out of memory" },
    { "0011", true, 1, "cuMemAlloc:2:2", "cuMemAlloc: out of memory" },
    { "0011", true, 0, "cuModuleLoadDataEx:1:218", "cuModuleLoadDataEx: a PTX JIT compilation" },
    { "0011", false, 1, "ncclReduceScatter:1:2", "ncclReduceScatter: unhandled system error (2)" },
    { "0011", false, 2, "ncclReduceScatter:5:2", "ncclReduceScatter: unhandled system error (2)" },
    { "0011", false, 3, "ncclReduceScatter:9:2", "ncclReduceScatter: unhandled system error (2)" },
    { "0011", false, 1, "cuMemcpyDtoHAsync:1:1", "cuMemcpyDtoHAsync: invalid argument" },
    { "0011", false, 1, "cuMemcpyDtoHAsync:4:1", "cuMemcpyDtoHAsync: invalid argument" },
    { "0011", false, 2, "cuMemcpyHtoDAsync:1:1", "cuMemcpyHtoDAsync: invalid argument" },
    { "0011", false, 2, "cuMemcpyHtoDAsync:6:1", "cuMemcpyHtoDAsync: invalid argument" },
    { "0011", false, 0, "cuLaunchKernel:3:719", "cuLaunchKernel: " },
    { "0011", false, 3, "cuEventRecord:2:1", "cuEventRecord: invalid argument" },
    { "0011", false, 3, "cuEventQuery:3:1", "cuEventQuery: invalid argument" },
    { "0011", false, 1, "ncclAllGather:1:2", "ncclAllGather: unhandled system error (2)" },
    { "0011", false, 2, "ncclAllGather:4:2", "ncclAllGather: unhandled system error (2)" },
    { "0001", false, 1, "ncclGroupStart:2:2", "ncclGroupStart: unhandled system error (2)" },
    { "0001", false, 2, "ncclReduce:5:2", "ncclReduce: unhandled system error (2)" },
    { "0001", false, 3, "ncclReduceScatter:1:2", "ncclReduceScatter: unhandled system error (2)" },
    { "001", false, 1, "ncclBroadcast:1:2", "ncclBroadcast: unhandled system error (2)" },
    { "001", false, 0, "ncclGroupEnd:7:2", "ncclGroupEnd: unhandled system error (2)" },
};
enum { FAILINGS = sizeof failings / sizeof *failings };

static const struct failing *failing;

/* What is at work on the other ranks ends, on a slow machine after seconds; only then all of it is
 * given back. */
static int fail_on_one(int rank)
{
    char text[80];
    stage_drain_ns = 60000000000;
    hierarchy_start(rank, "1", "auto");
    if (!failing->first)
        REQUIRE_STATUS(reduce_ones(LEAST), HVD_OK);
    snprintf(text, sizeof text, "gpus=%d fail=%s", HIERARCHY_GPUS, failing->words);
    if (rank == failing->rank)
        stand_in_configure(text);
    REQUIRE_STATUS(reduce_ones(PIECES_9), HVD_ERR_SYSTEM);
    snprintf(text, sizeof text, "rank %d on ", failing->rank);
    require_text(text);
    snprintf(text, sizeof text, ": allreduce 'n': device 1 (cuda:%d) failed to reduce (-",
             failing->rank);
    require_text(text);
    require_text(failing->text);
    nccl_leave_together(hierarchy_size());
    snprintf(text, sizeof text, "gpus=%d", HIERARCHY_GPUS);
    stand_in_configure(text);
    return nccl_leave();
}

START_TEST(a_call_that_fails_ends_the_world_in_the_words_of_its_library)
{
    failing = &failings[_i];
    hierarchy_layout = failing->layout;
    ranks_run(&(struct mini_options){ .size = hierarchy_size() }, fail_on_one);
}
END_TEST

/* ---- a GPU that breaks at work ---- */

enum { LATE_PIECES = 24 }; /* pieces of work on a stream, from the first one on */

static int late;

/* The GPU of rank 1, which carries nothing in most of the layouts, breaks at its `late`-th piece of
 * work. Nothing can be given back to it then, which would count as a leak. */
static int break_late(int rank)
{
    char text[60];
    stage_drain_ns = 60000000000;
    hierarchy_start(rank, "1", "auto");
    REQUIRE_STATUS(reduce_ones(LEAST), HVD_OK);
    snprintf(text, sizeof text, "gpus=%d late=%d:719", HIERARCHY_GPUS, late);
    if (rank == 1)
        stand_in_configure(text);
    REQUIRE_STATUS(reduce_ones(PIECES_9), HVD_ERR_SYSTEM);
    require_text("rank 1 on ");
    require_text(": allreduce 'n': device 1 (cuda:1) failed to reduce (-");
    nccl_leave_together(hierarchy_size());
    if (rank != 1)
        return nccl_leave();
    leave_world();
    hvd_cuda_close(device);
    _exit(0);
}

START_TEST(a_gpu_that_breaks_at_work_ends_the_world_whichever_work_it_is)
{
    late = 1 + _i;
    hierarchy_layout = _i % 4 == 3 ? "0011" : "0001";
    ranks_run(&(struct mini_options){ .size = 4 }, break_late);
}
END_TEST

/* Starts, reduces once, and submits an allreduce of many pieces, of which the GPU of rank `held`
 * does nothing. A rank that awaits work returns when it has called NCCL for a piece. */
static void submit_behind(int rank, int held, bool awaits_work, int64_t *handle)
{
    hierarchy_start(rank, "1", "auto");
    REQUIRE_STATUS(reduce_ones(LEAST), HVD_OK);
    int before = nccl_called();
    if (rank == held)
        stand_in_hold(true);
    REQUIRE_STATUS(submit_ones(PIECES_9, handle), HVD_OK);
    while (awaits_work && nccl_called() == before)
        REQUIRE_STATUS(hvd_wait_timeout(*handle, 1, NULL), HVD_ERR_TIMEOUT);
}

/* ---- a rank that is lost ---- */

static int odd; /* the rank that is lost */

/* Rank `odd` dies when its host's first rank has pieces under way that wait for it. */
static int lose(int rank)
{
    int64_t handle;
    submit_behind(rank, odd, true, &handle);
    atomic_fetch_add(&shared->counters[0], 1);
    if (rank == odd) {
        wait_for(0, hierarchy_size());
        kill(getpid(), SIGKILL);
    }
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_PEER_LOST);
    return nccl_leave();
}

START_TEST(a_rank_that_is_lost_ends_the_world_and_leaves_no_kernel_waiting)
{
    hierarchy_layout = _i < 4 ? "0011" : "0001";
    odd = _i % 4;
    ranks_run_but(&(struct mini_options){ .size = 4 }, lose, odd);
}
END_TEST

/* Rank 1 leaves when its host's first rank has pieces under way that wait for it. Its GPU is held,
 * so that the library leaves it an event, which would count as a leak. */
static int leave_too_early(int rank)
{
    int64_t handle;
    submit_behind(rank, 1, true, &handle);
    atomic_fetch_add(&shared->counters[0], 1);
    wait_for(0, 4);
    if (rank != 1) {
        REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_PEER_LEFT);
        require_text("allreduce 'n': rank 1 on ");
        nccl_leave_together(4 + 3);
        return nccl_leave();
    }
    leave_world();
    stand_in_hold(false);
    REQUIRE_STATUS(hvd_cuda_close(device), HVD_OK);
    _exit(0);
}

START_TEST(a_rank_that_leaves_too_early_is_named_and_not_waited_for)
{
    hierarchy_layout = _i ? "0011" : "0001";
    ranks_run(&(struct mini_options){ .size = 4 }, leave_too_early);
}
END_TEST

/* NCCL fails on rank 0 while its kernel waits for rank 1's. */
static int fail_at_work(int rank)
{
    int64_t handle;
    submit_behind(rank, 1, rank == 0, &handle);
    if (rank == 0) {
        stand_in_configure("gpus=6 fail=ncclCommGetAsyncError:1:2");
        atomic_fetch_add(&shared->counters[0], 1);
    }
    REQUIRE(rank != 1 || hvd_wait_timeout(handle, 1, NULL) < 0);
    wait_for(0, 1);
    if (rank != 1)
        REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_SYSTEM);
    atomic_fetch_add(&shared->counters[1], 1);
    if (rank == 1) {
        wait_for(1, 4);
        stand_in_hold(false);
        REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_SYSTEM);
    }
    require_text("rank 0 on ");
    require_text(": device 1 (cuda:0) failed to reduce (-");
    require_text("): ncclCommGetAsyncError: unhandled system error (2)");
    nccl_leave_together(4);
    return nccl_leave();
}

START_TEST(a_communicator_of_a_host_that_fails_at_work_ends_the_world)
{
    hierarchy_layout = "0011";
    ranks_run(&(struct mini_options){ .size = 4 }, fail_at_work);
}
END_TEST

/* ---- a link that dies ---- */

/* Ends every connection of this process: those to the other ranks, and to the rendezvous. */
static void cut_links(void)
{
    struct sockaddr_storage peer;
    for (int fd = 3; fd < 1024; fd++) {
        socklen_t size = sizeof peer;
        if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0)
            shutdown(fd, SHUT_RDWR);
    }
}

/* All ranks have pieces under way when rank 2 is cut off. */
static int lose_links(int rank)
{
    int64_t handle;
    setenv("HVD_TRANSPORT", "tcp", 1);
    hierarchy_start(rank, "1", "auto");
    REQUIRE_STATUS(reduce_ones(LEAST), HVD_OK);
    int before = nccl_called();
    if (rank == 2)
        stand_in_hold(true);
    REQUIRE_STATUS(submit_ones(PIECES_9, &handle), HVD_OK);
    while (nccl_called() == before)
        REQUIRE_STATUS(hvd_wait_timeout(handle, 1, NULL), HVD_ERR_TIMEOUT);
    atomic_fetch_add(&shared->counters[0], 1);
    wait_for(0, 4);
    if (rank == 2) {
        cut_links();
        stand_in_hold(false);
    }
    int rc = hvd_wait(handle);
    REQUIRE(rc == HVD_ERR_PEER_LOST || (rank == 2 && rc < 0));
    nccl_leave_together(4);
    return nccl_leave();
}

START_TEST(links_that_die_between_hosts_end_the_world)
{
    hierarchy_layout = "0011";
    ranks_run(&(struct mini_options){ .size = 4 }, lose_links);
}
END_TEST

/* ---- what the ranks wish ---- */

static const struct disagreement {
    const char *first, *second, *text;
} disagreements[] = {
    { "1", NULL, "HOROVOD_HIERARCHICAL_ALLREDUCE is 1 on rank 0 (host0), 0 on rank 1 (host0)" },
    { "0", "1", "HOROVOD_HIERARCHICAL_ALLREDUCE is 0 on rank 0 (host0), 1 on rank 1 (host0)" },
};

static const struct disagreement *disagreement;

static int disagree(int rank)
{
    hierarchy_start(rank, rank == 1 ? disagreement->second : disagreement->first, "off");
    REQUIRE_STATUS(reduce_ones(LEAST), HVD_ERR_SYSTEM);
    require_text("allreduce 'n': device 1 (cuda:");
    require_text(disagreement->text);
    nccl_leave_together(4);
    return nccl_leave();
}

START_TEST(ranks_that_wish_otherwise_end_the_world_with_both_named)
{
    disagreement = &disagreements[_i];
    hierarchy_layout = "0011";
    ranks_run(&(struct mini_options){ .size = 4 }, disagree);
}
END_TEST

static int disagree_in_vain(int rank)
{
    hierarchy_start(rank, rank == 1 ? "1" : "0", "off");
    REQUIRE_STATUS(reduce_ones(LEAST), HVD_OK);
    return nccl_leave();
}

START_TEST(wishes_may_differ_where_hosts_have_one_rank_each_or_there_is_one_host)
{
    hierarchy_layout = _i ? "01" : "000";
    ranks_run(&(struct mini_options){ .size = hierarchy_size() }, disagree_in_vain);
}
END_TEST

START_TEST(a_value_that_is_no_boolean_is_refused)
{
    int number;
    setenv("HVD_CUDA_NCCL", "1", 1);
    setenv("HOROVOD_HIERARCHICAL_ALLREDUCE", "yes", 1);
    ck_assert_int_eq(hvd_cuda_open(0, &number), HVD_ERR_ENVIRONMENT);
    ck_assert_str_eq(hvd_last_error(),
                     "open cuda device: HOROVOD_HIERARCHICAL_ALLREDUCE: 'yes' is not 0, 1, true or "
                     "false");
    struct stand_in_holdings left = stand_in_holdings();
    ck_assert_int_eq(left.contexts + left.streams, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hierarchy_failure");
    TCase *tcase = tcase_create("hierarchy_failure");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 200);
    cuda_prepare();
    tcase_add_loop_test(tcase, a_call_that_fails_ends_the_world_in_the_words_of_its_library, 0,
                        FAILINGS);
    tcase_add_loop_test(tcase, a_gpu_that_breaks_at_work_ends_the_world_whichever_work_it_is, 0,
                        LATE_PIECES);
    tcase_add_loop_test(tcase, a_rank_that_is_lost_ends_the_world_and_leaves_no_kernel_waiting, 0,
                        8);
    tcase_add_loop_test(tcase, a_rank_that_leaves_too_early_is_named_and_not_waited_for, 0, 2);
    tcase_add_test(tcase, a_communicator_of_a_host_that_fails_at_work_ends_the_world);
    tcase_add_test(tcase, links_that_die_between_hosts_end_the_world);
    tcase_add_loop_test(tcase, ranks_that_wish_otherwise_end_the_world_with_both_named, 0,
                        sizeof disagreements / sizeof *disagreements);
    tcase_add_loop_test(
        tcase, wishes_may_differ_where_hosts_have_one_rank_each_or_there_is_one_host, 0, 2);
    tcase_add_test(tcase, a_value_that_is_no_boolean_is_refused);
    return unit_run(suite);
}
