/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives with NCCL, on the stand-ins for NCCL and the CUDA driver (tests/stand_in_cuda): the
 * results are those of the library; all ranks call NCCL in one order; what NCCL cannot do the
 * library does; ranks that share a GPU go through the host; ranks with other versions of NCCL, a
 * rank that is lost and a communicator that fails are told on all ranks, and nothing is left. */
#include "lib/hvd_cuda.h"
#include "tests/stand_in_cuda/stand_in_nccl.h"
#include "tests/support/cuda_ranks.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void start(int rank, int gpus)
{
    char words[16];
    snprintf(words, sizeof words, "gpus=%d", gpus);
    stand_in_configure(words);
    setenv("HVD_CUDA_NCCL", "1", 1);
    init_world();
    cuda_ordinal = rank % gpus;
    cuda_start();
}

static int leave(void)
{
    int rc = leave_world();
    cuda_stop();
    REQUIRE(stand_in_nccl_communicators() == 0);
    return rc;
}

static const struct trial trials[] = {
    { COLLECTIVE_ALLREDUCE, HVD_INT32, HVD_SUM, .columns = 1, .rows = 1000 },
    { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_AVERAGE, .columns = 1, .rows = 777 },
    { COLLECTIVE_ALLREDUCE, HVD_FLOAT64, HVD_PRODUCT, .columns = 1, .rows = 50, .in_place = true },
    { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_MIN, .columns = 1, .rows = 50 },
    { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_MAX, .columns = 1, .rows = 50, .prescale = 0.5,
      .postscale = 4 },
    { COLLECTIVE_ALLREDUCE, HVD_INT32, HVD_SUM, .columns = 1, .rows = 0 },
};
enum { TRIALS = sizeof trials / sizeof *trials };

/* What is only moved. The last rank is the root. */
static const struct trial moves[] = {
    { COLLECTIVE_BROADCAST, HVD_INT32, .columns = 1, .rows = 1000 },
    { COLLECTIVE_BROADCAST, HVD_BOOL, .columns = 7, .rows = 11 },
    { COLLECTIVE_BROADCAST, HVD_INT16, .columns = 1, .rows = 1 },
    { COLLECTIVE_BROADCAST, HVD_FLOAT64, .columns = 1, .rows = 0 },
    { COLLECTIVE_ALLGATHER, HVD_FLOAT32, .columns = 5, .rows = 100 },
    { COLLECTIVE_ALLGATHER, HVD_UINT16, .columns = 1, .rows = 9, .in_place = true },
    { COLLECTIVE_ALLGATHER, HVD_INT64, .columns = 1, .rows = 0 },
    { COLLECTIVE_ALLGATHER, HVD_INT8, .columns = 0, .rows = 3 },
};
enum { MOVES = sizeof moves / sizeof *moves };

static const struct trial scatters[] = {
    { COLLECTIVE_REDUCESCATTER, HVD_INT32, HVD_SUM, .columns = 3, .rows = 7 },
    { COLLECTIVE_REDUCESCATTER, HVD_FLOAT32, HVD_AVERAGE, .columns = 2, .rows = 12 },
    { COLLECTIVE_REDUCESCATTER, HVD_FLOAT64, HVD_SUM, .columns = 5, .rows = 12, .in_place = true },
    { COLLECTIVE_REDUCESCATTER, HVD_FLOAT32, HVD_SUM, .columns = 5, .rows = 11, .in_place = true,
      .postscale = 4 },
    { COLLECTIVE_REDUCESCATTER, HVD_FLOAT32, HVD_SUM, .columns = 1, .rows = 1, .postscale = 0.5 },
    { COLLECTIVE_REDUCESCATTER, HVD_INT32, HVD_SUM, .columns = 1, .rows = 0 },
};
enum { SCATTERS = sizeof scatters / sizeof *scatters };

static void check_moves(void)
{
    for (int i = 0; i < SCATTERS; i++)
        trial_check(&scatters[i]);
    for (int i = 0; i < MOVES; i++) {
        struct trial trial = moves[i];
        trial.root = hvd_size() - 1;
        trial_check(&trial);
    }
}

/* How many operations were left to NCCL. */
static int called(void)
{
    int count = 0;
    for (int call = 0; call < STAND_IN_NCCL_CALLS; call++)
        count += stand_in_nccl_called((enum stand_in_nccl_call)call);
    return count;
}

static int reduce_with_nccl(int rank)
{
    start(rank, 3);
    for (int i = 0; i < TRIALS; i++)
        trial_check(&trials[i]);
    REQUIRE(stand_in_nccl_called(STAND_IN_NCCL_ALLREDUCE) >= TRIALS - 1);
    REQUIRE(called() == stand_in_nccl_called(STAND_IN_NCCL_ALLREDUCE));
    check_moves();
    REQUIRE(called() >= TRIALS - 1 + MOVES - 3 + SCATTERS - 1);
    REQUIRE(stand_in_holdings().pieces == 0);
    return leave();
}

START_TEST(nccl_gives_what_the_library_gives)
{
    ranks_run(&(struct mini_options){ .size = _i }, reduce_with_nccl);
}
END_TEST

static const struct trial others[] = {
    { COLLECTIVE_ALLREDUCE, HVD_INT16, HVD_SUM, .columns = 1, .rows = 100 },
    { COLLECTIVE_ALLREDUCE, HVD_INT32, HVD_AVERAGE, .columns = 1, .rows = 100 },
    { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_ADASUM, .columns = 1, .rows = 100 },
    { COLLECTIVE_ALLTOALL, HVD_INT32, .columns = 1, .rows = 100 },
    { COLLECTIVE_REDUCESCATTER, HVD_INT16, HVD_SUM, .columns = 1, .rows = 100 },
    { COLLECTIVE_REDUCESCATTER, HVD_INT32, HVD_AVERAGE, .columns = 1, .rows = 100 },
    { COLLECTIVE_REDUCESCATTER, HVD_FLOAT32, HVD_SUM, .columns = 1, .rows = 100, .prescale = 2 },
};

static int reduce_the_rest(int rank)
{
    start(rank, 2);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        trial_check(&others[i]);
    REQUIRE(called() == 0);
    return leave();
}

START_TEST(the_library_does_what_nccl_cannot)
{
    ranks_run(&(struct mini_options){ .size = 2 }, reduce_the_rest);
}
END_TEST

static int share(int rank)
{
    start(rank, 1);
    for (int i = 0; i < TRIALS; i++)
        trial_check(&trials[i]);
    check_moves();
    REQUIRE(called() == 0);
    return leave();
}

START_TEST(ranks_that_share_a_gpu_go_through_the_host)
{
    ranks_run(&(struct mini_options){ .size = 2 }, share);
}
END_TEST

/* The name of this rank's host, in place of the C library's. */
static const char *host = "host0";

int gethostname(char *name, size_t size)
{
    snprintf(name, size, "%s", host);
    return 0;
}

static const struct encryption {
    const char *value;
    bool one_host, nccl;
} encryptions[] = {
    { "off", false, true },
    { "auto", true, true },
    { "auto", false, false },
    { "require", false, false },
};

static const struct encryption *encryption;

static int reduce_encrypted(int rank)
{
    host = encryption->one_host || rank == 0 ? "host0" : "host1";
    setenv("HVD_ENCRYPT", encryption->value, 1);
    start(rank, 2);
    for (int i = 0; i < TRIALS; i++)
        trial_check(&trials[i]);
    check_moves();
    REQUIRE((called() > 0) == encryption->nccl);
    return leave();
}

START_TEST(nccl_does_not_carry_to_another_host_what_is_to_be_encrypted)
{
    encryption = &encryptions[_i];
    ranks_run(&(struct mini_options){ .size = 2 }, reduce_encrypted);
}
END_TEST

/* Each rank submits its tensors of two sets in another order. */
static int reduce_in_sets(int rank)
{
    int64_t count = 100, handles[2];
    struct hvd_tensor tensor = { .name = "s", .dtype = HVD_INT32, .ndims = 1, .dims = &count };
    int32_t data[100] = { rank };
    void *memory[2];
    start(rank, 3);
    int set = hvd_add_process_set((const int[]){ 0, 2 }, 2);
    REQUIRE(set > 0);
    tensor.device = device;
    for (int i = 0; i < 2; i++) {
        int at = rank == 2 ? 1 - i : i;
        const struct hvd_options options = { .process_set = at ? set : 0 };
        memory[at] = device_put(data, sizeof data);
        tensor.input = tensor.output = memory[at];
        if (at == 0 || rank != 1)
            REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, &options, &handles[at]), HVD_OK);
    }
    for (int at = 0; at < 2; at++) {
        if (at == 1 && rank == 1)
            continue;
        REQUIRE_STATUS(hvd_wait(handles[at]), HVD_OK);
        device_get(data, memory[at], sizeof data);
        REQUIRE(data[0] == (at ? 2 : 3));
    }
    REQUIRE(stand_in_nccl_communicators() == (rank == 1 ? 1 : 2));
    return leave();
}

START_TEST(each_process_set_has_a_communicator)
{
    ranks_run(&(struct mini_options){ .size = 3 }, reduce_in_sets);
}
END_TEST

/* Each rank submits allreduces and broadcasts, from each rank, in another order. The stand-in ends
 * ranks whose calls differ. */
static int move_in_one_order(int rank)
{
    enum { TENSORS = 12 };
    int64_t counts[TENSORS], handles[TENSORS];
    void *memory[TENSORS];
    char name[8];
    start(rank, 3);
    for (int i = 0; i < TENSORS; i++) {
        int at = (i + 5 * rank) % TENSORS, root = at % 3;
        int32_t value = 100 * at + rank;
        counts[at] = 1;
        memory[at] = device_put(&value, sizeof value);
        snprintf(name, sizeof name, "o.%d", at);
        const struct hvd_tensor tensor = { .name = name,
                                           .input = memory[at],
                                           .output = memory[at],
                                           .dtype = HVD_INT32,
                                           .ndims = 1,
                                           .dims = &counts[at],
                                           .device = device };
        REQUIRE_STATUS(at % 2 ? hvd_broadcast_async(&tensor, root, NULL, &handles[at])
                              : hvd_allreduce_async(&tensor, HVD_MAX, NULL, &handles[at]),
                       HVD_OK);
    }
    for (int at = 0; at < TENSORS; at++) {
        int32_t value;
        REQUIRE_STATUS(hvd_wait(handles[at]), HVD_OK);
        device_get(&value, memory[at], sizeof value);
        REQUIRE(value == 100 * at + (at % 2 ? at % 3 : 2));
    }
    REQUIRE(called() == TENSORS);
    return leave();
}

START_TEST(all_ranks_call_nccl_in_one_order)
{
    ranks_run(&(struct mini_options){ .size = 3 }, move_in_one_order);
}
END_TEST

/* Ranks 1 and 2 of a world of three; the root's rank in the set is another than in the world. */
static int broadcast_in_set(int rank)
{
    int64_t handle, count = 100;
    int32_t data[100] = { rank };
    start(rank, 3);
    int set = hvd_add_process_set((const int[]){ 1, 2 }, 2);
    const struct hvd_options options = { .process_set = set };
    void *memory = device_put(data, sizeof data);
    const struct hvd_tensor tensor = { .name = "b",
                                       .output = memory,
                                       .dtype = HVD_INT32,
                                       .ndims = 1,
                                       .dims = &count,
                                       .device = device };
    if (rank > 0) {
        REQUIRE_STATUS(hvd_broadcast_async(&tensor, 1, &options, &handle), HVD_OK);
        REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
        device_get(data, memory, sizeof data);
        REQUIRE(data[0] == 1);
    }
    REQUIRE(called() == (rank > 0 ? 1 : 0));
    return leave();
}

START_TEST(a_root_is_that_of_the_process_set)
{
    ranks_run(&(struct mini_options){ .size = 3 }, broadcast_in_set);
}
END_TEST

/* ---- allgather: the rows of all ranks, and an output that does not suit them ---- */

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
    start(rank, 3);
    if (odd && gathering->no_pools)
        stand_in_configure("gpus=3 pools=0");
    int32_t *output = device_put(image, sizeof image);
    REQUIRE_STATUS(submit_rows(rank, output, odd ? gathering->room : total,
                               odd ? gathering->from : -1, &handle),
                   HVD_OK);
    int pieces = stand_in_holdings().pieces;
    REQUIRE_STATUS(hvd_wait(handle), fits ? HVD_OK : HVD_ERR_INVALID);
    if (fits)
        require_rows(output);
    else
        require_text("allgather 'g': the result has ");
    device_get(image, output, sizeof image);
    REQUIRE(fits || image[0] == -1);
    REQUIRE(called() == gathering->called);
    REQUIRE_STATUS(sum_of_ranks("s", &sum), HVD_OK); /* the world goes on */
    REQUIRE(sum == 3);
    int rc = leave();
    REQUIRE(stand_in_holdings().pieces <= pieces);
    return rc;
}

START_TEST(an_output_that_does_not_suit_the_rows_leaves_no_rank_alone)
{
    gathering = &gatherings[_i];
    ranks_run(&(struct mini_options){ .size = 3 }, gather);
}
END_TEST

/* No rank leaves before all have heard why the world has ended. */
static void leave_together(int size)
{
    atomic_fetch_add(&shared->counters[0], 1);
    wait_for(0, size);
}

/* Rank 1 has no memory of the GPU left for the result that its output cannot take. */
static int gather_without_memory(int rank)
{
    int64_t handle;
    int32_t image[GATHERED_ROWS] = { 0 };
    start(rank, 3);
    if (rank == 1)
        stand_in_configure("gpus=3 fail=cuMemAllocAsync:1:2");
    int32_t *output = device_put(image, sizeof image);
    REQUIRE_STATUS(submit_rows(rank, output, rank == 1 ? 11 : 12, -1, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_SYSTEM);
    require_text("rank 1 on ");
    require_text(": allgather 'g': device 1 (cuda:1) failed to gather (-");
    require_text("): cuMemAllocAsync: out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
    leave_together(3);
    return leave();
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
} groupings[] = {
    { false, "gpus=3 fail=ncclGroupStart:1:2", "ncclGroupStart: unhandled system error (2)" },
    { false, "gpus=3 fail=ncclBroadcast:2:2", "ncclBroadcast: unhandled system error (2)" },
    { false, "gpus=3 fail=ncclGroupEnd:1:2", "ncclGroupEnd: unhandled system error (2)" },
    { true, "gpus=3 fail=ncclGroupStart:1:2", "ncclGroupStart: unhandled system error (2)" },
    { true, "gpus=3 fail=ncclReduce:2:2", "ncclReduce: unhandled system error (2)" },
    { true, "gpus=3 fail=ncclGroupEnd:1:2", "ncclGroupEnd: unhandled system error (2)" },
};

static const struct grouping *grouping;

/* Four rows among three ranks. */
static int submit_shares(int32_t *output, int64_t *handle)
{
    int64_t rows = 4;
    const struct hvd_tensor tensor = { .name = "s",
                                       .input = output,
                                       .output = output,
                                       .output_size = 2 * sizeof *output,
                                       .dtype = HVD_INT32,
                                       .ndims = 1,
                                       .dims = &rows,
                                       .device = device };
    return hvd_reducescatter_async(&tensor, HVD_SUM, NULL, handle);
}

static int fail_in_a_group(int rank)
{
    int64_t handle;
    int32_t image[GATHERED_ROWS] = { 0 };
    start(rank, 3);
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
    leave_together(3);
    return leave();
}

START_TEST(a_call_in_a_group_that_fails_ends_the_world_in_nccls_words)
{
    gathering = &gatherings[8];
    grouping = &groupings[_i];
    ranks_run(&(struct mini_options){ .size = 3 }, fail_in_a_group);
}
END_TEST

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
    start(rank, 2);
    REQUIRE_STATUS(carry_out_one(), HVD_ERR_SYSTEM);
    require_text("NCCL is version 22803 on rank 0 (");
    require_text("), 21803 on rank 1 (");
    require_text("); HVD_CUDA_NCCL=0 does without");
    return leave();
}

START_TEST(other_versions_of_nccl_end_the_world_with_both_named)
{
    one = &ones[_i];
    ranks_run(&(struct mini_options){ .size = 2 }, differ);
}
END_TEST

/* Rank 1 dies when rank 0 is in the reduction that waits for it. */
static int lose(int rank)
{
    int64_t handle;
    start(rank, 2);
    REQUIRE_STATUS(carry_out_one(), HVD_OK);
    int before = called();
    if (rank == 1)
        stand_in_hold(true);
    REQUIRE_STATUS(submit_one(&handle), HVD_OK);
    if (rank == 1) {
        wait_for(0, 1);
        kill(getpid(), SIGKILL);
    }
    while (called() == before)
        REQUIRE_STATUS(hvd_wait_timeout(handle, 1, NULL), HVD_ERR_TIMEOUT);
    atomic_fetch_add(&shared->counters[0], 1);
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_PEER_LOST);
    return leave();
}

START_TEST(a_rank_that_is_lost_leaves_no_kernel_waiting)
{
    one = &ones[_i];
    ranks_run_but(&(struct mini_options){ .size = 2 }, lose, 1);
}
END_TEST

/* NCCL fails on rank 0 while its kernel waits for rank 1's. */
static int fail_at_work(int rank)
{
    int64_t handle;
    start(rank, 2);
    REQUIRE_STATUS(carry_out_one(), HVD_OK);
    if (rank == 1)
        stand_in_hold(true);
    else
        stand_in_configure("gpus=2 fail=ncclCommGetAsyncError:1:2");
    REQUIRE_STATUS(submit_one(&handle), HVD_OK);
    if (rank == 1) {
        wait_for(0, 1);
        stand_in_hold(false);
    }
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_SYSTEM);
    require_text("rank 0 on ");
    require_text(one->failed);
    require_text("): ncclCommGetAsyncError: unhandled system error (2)");
    atomic_fetch_add(&shared->counters[0], 1);
    return leave();
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
    start(rank, 2);
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
    leave_together(2); /* rank 1 may not have opened yet what rank 0's process has */
    stand_in_configure("gpus=2");
    return leave();
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
    return leave();
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
    Suite *suite = suite_create("nccl");
    TCase *tcase = tcase_create("nccl");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 100);
    cuda_prepare();
    tcase_add_loop_test(tcase, nccl_gives_what_the_library_gives, 1, 4);
    tcase_add_test(tcase, the_library_does_what_nccl_cannot);
    tcase_add_test(tcase, ranks_that_share_a_gpu_go_through_the_host);
    tcase_add_loop_test(tcase, nccl_does_not_carry_to_another_host_what_is_to_be_encrypted, 0,
                        sizeof encryptions / sizeof *encryptions);
    tcase_add_test(tcase, each_process_set_has_a_communicator);
    tcase_add_test(tcase, all_ranks_call_nccl_in_one_order);
    tcase_add_test(tcase, a_root_is_that_of_the_process_set);
    tcase_add_loop_test(tcase, an_output_that_does_not_suit_the_rows_leaves_no_rank_alone, 0,
                        GATHERINGS);
    tcase_add_test(tcase, a_gpu_without_memory_for_such_rows_ends_the_world);
    tcase_add_loop_test(tcase, a_call_in_a_group_that_fails_ends_the_world_in_nccls_words, 0,
                        sizeof groupings / sizeof *groupings);
    tcase_add_loop_test(tcase, other_versions_of_nccl_end_the_world_with_both_named, 0, ONES);
    tcase_add_loop_test(tcase, a_rank_that_is_lost_leaves_no_kernel_waiting, 0, ONES);
    tcase_add_loop_test(tcase, a_communicator_that_fails_at_work_ends_the_world_in_nccls_words, 0,
                        ONES);
    tcase_add_loop_test(tcase, a_call_of_nccl_that_fails_ends_the_world_in_nccls_words, 0,
                        ONES * NCCL_FAILURES);
    tcase_add_loop_test(tcase, a_rank_without_nccl_is_a_mismatch, 0, ONES);
    tcase_add_test(tcase, an_nccl_that_is_too_old_is_refused_where_it_is_wanted);
    tcase_add_test(tcase, a_variable_that_is_not_0_or_1_is_refused);
    return unit_run(suite);
}
