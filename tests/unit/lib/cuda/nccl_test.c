/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives with NCCL, on the stand-ins for NCCL and the CUDA driver (tests/stand_in_cuda): the
 * results are those of the library; all ranks call NCCL in one order; what NCCL cannot do the
 * library does; ranks that share a GPU go through the host. nccl_gather_test.c has allgathers whose
 * rows do not suit the output, nccl_failure_test.c what fails. */
#include "tests/support/nccl_ranks.h"
#include "tests/support/unit.h"

#include <unistd.h>

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
    { COLLECTIVE_ALLTOALL, HVD_INT32, .columns = 1, .rows = 100 },
    { COLLECTIVE_ALLTOALL, HVD_BOOL, .columns = 7, .rows = 2 },
    { COLLECTIVE_ALLTOALL, HVD_INT8, .columns = 0, .rows = 3 },
};
enum { MOVES = sizeof moves / sizeof *moves };

static const struct trial scatters[] = {
    { COLLECTIVE_REDUCESCATTER, HVD_INT32, HVD_SUM, .columns = 3, .rows = 7 },
    { COLLECTIVE_REDUCESCATTER, HVD_FLOAT32, HVD_AVERAGE, .columns = 2, .rows = 12 },
    { COLLECTIVE_REDUCESCATTER, HVD_FLOAT64, HVD_SUM, .columns = 5, .rows = 12, .in_place = true },
    { COLLECTIVE_REDUCESCATTER, HVD_FLOAT32, HVD_SUM, .columns = 5, .rows = 11, .in_place = true,
      .postscale = 4 },
    { COLLECTIVE_REDUCESCATTER, HVD_FLOAT32, HVD_SUM, .columns = 1, .rows = 1, .postscale = 0.5 },
    { COLLECTIVE_REDUCESCATTER, HVD_FLOAT32, HVD_SUM, .columns = 3, .rows = 12, .prescale = 0.5 },
    { COLLECTIVE_REDUCESCATTER, HVD_INT32, HVD_SUM, .columns = 2, .rows = 7, .prescale = 3,
      .postscale = 2 },
    { COLLECTIVE_REDUCESCATTER, HVD_FLOAT32, HVD_AVERAGE, .columns = 2, .rows = 11,
      .in_place = true, .prescale = 4, .postscale = 0.5 },
    { COLLECTIVE_REDUCESCATTER, HVD_INT32, HVD_SUM, .columns = 1, .rows = 0, .prescale = 2 },
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

static int reduce_with_nccl(int rank)
{
    nccl_start(rank, 3);
    for (int i = 0; i < TRIALS; i++)
        trial_check(&trials[i]);
    REQUIRE(stand_in_nccl_called(STAND_IN_NCCL_ALLREDUCE) >= TRIALS - 1);
    REQUIRE(nccl_called() == stand_in_nccl_called(STAND_IN_NCCL_ALLREDUCE));
    check_moves();
    REQUIRE(nccl_called() >= TRIALS - 1 + MOVES - 4 + SCATTERS - 2);
    REQUIRE(stand_in_holdings().pieces == 0);
    return nccl_leave();
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
    { COLLECTIVE_REDUCESCATTER, HVD_INT16, HVD_SUM, .columns = 1, .rows = 100 },
    { COLLECTIVE_REDUCESCATTER, HVD_INT32, HVD_AVERAGE, .columns = 1, .rows = 100 },
};

static int reduce_the_rest(int rank)
{
    nccl_start(rank, 2);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        trial_check(&others[i]);
    REQUIRE(nccl_called() == 0);
    return nccl_leave();
}

START_TEST(the_library_does_what_nccl_cannot)
{
    ranks_run(&(struct mini_options){ .size = 2 }, reduce_the_rest);
}
END_TEST

/* Only rank 1 lacks what is needed for a scaled input. */
static int scatter_without_pools(int rank)
{
    nccl_start(rank, 2);
    if (rank == 1)
        stand_in_configure("gpus=2 pools=0");
    for (int i = 0; i < SCATTERS; i++)
        if (scatters[i].prescale != 0)
            trial_check(&scatters[i]);
    REQUIRE(nccl_called() == 0);
    return nccl_leave();
}

START_TEST(a_scaled_input_without_memory_pools_goes_through_the_host)
{
    ranks_run(&(struct mini_options){ .size = 2 }, scatter_without_pools);
}
END_TEST

static int share(int rank)
{
    nccl_start(rank, 1);
    for (int i = 0; i < TRIALS; i++)
        trial_check(&trials[i]);
    check_moves();
    REQUIRE(nccl_called() == 0);
    return nccl_leave();
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
    nccl_start(rank, 2);
    for (int i = 0; i < TRIALS; i++)
        trial_check(&trials[i]);
    check_moves();
    REQUIRE((nccl_called() > 0) == encryption->nccl);
    return nccl_leave();
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
    nccl_start(rank, 3);
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
    return nccl_leave();
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
    nccl_start(rank, 3);
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
    REQUIRE(nccl_called() == TENSORS);
    return nccl_leave();
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
    nccl_start(rank, 3);
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
    REQUIRE(nccl_called() == (rank > 0 ? 1 : 0));
    return nccl_leave();
}

START_TEST(a_root_is_that_of_the_process_set)
{
    ranks_run(&(struct mini_options){ .size = 3 }, broadcast_in_set);
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
    tcase_add_test(tcase, a_scaled_input_without_memory_pools_goes_through_the_host);
    tcase_add_test(tcase, ranks_that_share_a_gpu_go_through_the_host);
    tcase_add_loop_test(tcase, nccl_does_not_carry_to_another_host_what_is_to_be_encrypted, 0,
                        sizeof encryptions / sizeof *encryptions);
    tcase_add_test(tcase, each_process_set_has_a_communicator);
    tcase_add_test(tcase, all_ranks_call_nccl_in_one_order);
    tcase_add_test(tcase, a_root_is_that_of_the_process_set);
    return unit_run(suite);
}
