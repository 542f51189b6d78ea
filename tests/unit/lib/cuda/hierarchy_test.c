/* SPDX-License-Identifier: Apache-2.0 */
/* Allreduces of ranks on several hosts that go through NCCL within a host and through the library
 * between hosts, on the stand-ins (hierarchy_ranks.h): the results are those of the library, and
 * the same to the bit on all ranks, however many ranks the hosts have; where it is not chosen,
 * tensors go another way. hierarchy_failure_test.c has what fails. */
#include "tests/support/hierarchy_ranks.h"
#include "tests/support/log_capture.h"
#include "tests/support/unit.h"

#include <string.h>

enum { LEAST = HIERARCHY_LEAST / 4 };

static const struct trial trials[] = {
    { COLLECTIVE_ALLREDUCE, HVD_INT32, HVD_SUM, .columns = 1, .rows = LEAST },
    { COLLECTIVE_ALLREDUCE, HVD_INT32, HVD_MAX, .columns = 1, .rows = LEAST + 1, .in_place = true },
    { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_AVERAGE, .columns = 1, .rows = LEAST + 7 },
    { COLLECTIVE_ALLREDUCE, HVD_FLOAT64, HVD_PRODUCT, .columns = 1, .rows = LEAST / 2 + 5,
      .in_place = true },
    { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_MIN, .columns = 1, .rows = LEAST, .prescale = 0.5,
      .postscale = 4 },
    { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_AVERAGE, .columns = 1, .rows = LEAST + 12,
      .in_place = true, .prescale = 4, .postscale = 0.5 },
};
enum { TRIALS = sizeof trials / sizeof *trials };

/* Hosts with as many ranks, also in turns; with fewer ranks on one host; with one. */
static const char *const layouts[] = { "0011", "0110",  "0001",   "1000",  "001",
                                       "011",  "00011", "001122", "00112", "0012" };
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static int reduce_in_two_levels(int rank)
{
    hierarchy_start(rank, "1", "auto");
    for (int i = 0; i < TRIALS; i++) {
        int scattered = hierarchy_scattered(), collected = hierarchy_collected();
        trial_check(&trials[i]);
        REQUIRE(hierarchy_scattered() > scattered && hierarchy_collected() > collected);
    }
    REQUIRE(hierarchy_flat() == 0);
    REQUIRE(stand_in_nccl_communicators() == 1); /* of this rank's host */
    int rc = nccl_leave();
    REQUIRE(stand_in_holdings().pieces == 0);
    return rc;
}

START_TEST(nccl_reduces_within_each_host_and_the_library_between_them)
{
    hierarchy_layout = layouts[_i];
    ranks_run(&(struct mini_options){ .size = hierarchy_size() }, reduce_in_two_levels);
}
END_TEST

/* A tensor of as many pieces as are under way at a time, and of more. */
static int reduce_pieces(int rank)
{
    const int64_t piece = HIERARCHY_SHARE / 8;
    const int64_t rows[] = { 2 * piece, 2 * piece + 1, 13 * piece + 12345 };
    hierarchy_start(rank, "1", "auto");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct trial trial = { COLLECTIVE_ALLREDUCE, HVD_FLOAT64,  HVD_SUM,
                                     .rows = rows[i],      .columns = 1, .in_place = i % 2 != 0 };
        trial_check(&trial);
    }
    return nccl_leave();
}

START_TEST(a_tensor_that_exceeds_a_piece_is_reduced_in_pieces)
{
    hierarchy_layout = _i ? "001" : "0011";
    ranks_run(&(struct mini_options){ .size = hierarchy_size() }, reduce_pieces);
}
END_TEST

/* Sums of these depend on the order. */
static float uneven_value(int rank, int64_t i)
{
    return 1.0f / (float)(3 + rank + 7 * i % 1001) + (float)(i % 13) * 1e4f;
}

static void require_equal_bits(const float *data, size_t nbytes)
{
    float *first = malloc(nbytes);
    REQUIRE(first != NULL);
    memcpy(first, data, nbytes);
    REQUIRE_STATUS(hvd_broadcast("first", first, nbytes / sizeof *data, HVD_FLOAT32, 0), HVD_OK);
    REQUIRE(memcmp(first, data, nbytes) == 0);
    free(first);
}

static int reduce_uneven_values(int rank)
{
    enum { COUNT = LEAST + 4321 };
    static float data[COUNT];
    const int64_t count = COUNT;
    int64_t handle;
    hierarchy_start(rank, "1", "auto");
    for (int64_t i = 0; i < COUNT; i++)
        data[i] = uneven_value(rank, i);
    void *memory = device_put(data, sizeof data);
    const struct hvd_tensor tensor = { .name = "u",
                                       .input = memory,
                                       .output = memory,
                                       .dtype = HVD_FLOAT32,
                                       .ndims = 1,
                                       .dims = &count,
                                       .device = device };
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    device_get(data, memory, sizeof data);
    require_equal_bits(data, sizeof data);
    REQUIRE(hierarchy_scattered() > 0);
    return nccl_leave();
}

START_TEST(all_ranks_have_the_same_bits)
{
    hierarchy_layout = layouts[_i];
    ranks_run(&(struct mini_options){ .size = hierarchy_size() }, reduce_uneven_values);
}
END_TEST

/* ---- when it is chosen ---- */

static const struct choice {
    const char *layout, *hierarchical, *encrypt;
    bool in_levels, flat;
} choices[] = {
    { "0011", NULL, "off", false, true },
    { "0011", "1", "off", true, false },
    { "0011", "0", "off", false, true },
    { "0011", NULL, "auto", false, false }, /* through the host */
    { "0011", NULL, "require", false, false },
    { "0011", "1", "require", true, false },
    { "0011", "0", "require", false, false },
    { "0011", "1", "auto", true, false },
    { "0011", "2", "off", true, false }, /* the words of all booleans */
    { "0011", "True", "off", true, false },
    { "0011", "false", "off", false, true },
    { "0011", "", "off", false, true },
    { "0011", NULL, "OFF", false, true },
    { "0011", NULL, "Require", false, false },
    { "01", "1", "auto", false, false },
    { "01", "1", "off", false, true },
    { "000", "1", "off", false, true },
    { "000", "1", "require", false, true },
};

static const struct choice *choice;

static int choose(int rank)
{
    hierarchy_start(rank, choice->hierarchical, choice->encrypt);
    for (int i = 0; i < 2; i++)
        trial_check(&trials[i]);
    REQUIRE((hierarchy_scattered() > 0) == choice->in_levels);
    REQUIRE((hierarchy_flat() > 0) == choice->flat);
    return nccl_leave();
}

START_TEST(the_variable_alone_chooses_two_levels)
{
    choice = &choices[_i];
    hierarchy_layout = choice->layout;
    ranks_run(&(struct mini_options){ .size = hierarchy_size() }, choose);
}
END_TEST

/* A small tensor, a type that NCCL has not, and collectives beside allreduce. */
static int reduce_the_rest(int rank)
{
    static const struct trial others[] = {
        { COLLECTIVE_ALLREDUCE, HVD_INT32, HVD_SUM, .columns = 1, .rows = LEAST - 1 },
        { COLLECTIVE_ALLREDUCE, HVD_INT16, HVD_SUM, .columns = 1, .rows = 2 * LEAST },
        { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_ADASUM, .columns = 1, .rows = LEAST },
        { COLLECTIVE_ALLREDUCE, HVD_INT32, HVD_SUM, .columns = 1, .rows = 0 },
        { COLLECTIVE_BROADCAST, HVD_FLOAT32, .columns = 1, .rows = LEAST },
        { COLLECTIVE_ALLGATHER, HVD_FLOAT32, .columns = 1, .rows = 100 },
        { COLLECTIVE_REDUCESCATTER, HVD_FLOAT32, HVD_SUM, .columns = 1, .rows = LEAST },
    };
    hierarchy_start(rank, "1", "auto");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        trial_check(&others[i]);
    REQUIRE(nccl_called() == 0);
    trial_check(&trials[0]);
    REQUIRE(nccl_called() > 0);
    return nccl_leave();
}

START_TEST(small_tensors_and_other_collectives_go_through_the_host)
{
    hierarchy_layout = "0011";
    ranks_run(&(struct mini_options){ .size = 4 }, reduce_the_rest);
}
END_TEST

/* Where NCCL may carry data between hosts, it has the other collectives, and the small tensors. */
static int reduce_beside_flat(int rank)
{
    static const struct trial small = { COLLECTIVE_ALLREDUCE, HVD_INT32, HVD_SUM, .columns = 1,
                                        .rows = 10 };
    static const struct trial moved = { COLLECTIVE_BROADCAST, HVD_INT32, .columns = 1, .rows = 10 };
    hierarchy_start(rank, "1", "off");
    for (int i = 0; i < 3; i++) {
        trial_check(&trials[0]);
        trial_check(&small);
        trial_check(&moved);
        REQUIRE(hierarchy_flat() == i + 1);
    }
    REQUIRE(stand_in_nccl_communicators() == 2);
    return nccl_leave();
}

START_TEST(both_kinds_of_communicators_are_used_in_turns)
{
    hierarchy_layout = "0011";
    ranks_run(&(struct mini_options){ .size = 4 }, reduce_beside_flat);
}
END_TEST

static int share_gpus(int rank)
{
    hierarchy_rank = rank;
    setenv("HOROVOD_HIERARCHICAL_ALLREDUCE", "1", 1);
    nccl_start(rank, 1);
    trial_check(&trials[0]);
    REQUIRE(nccl_called() == 0);
    return nccl_leave();
}

START_TEST(ranks_that_share_a_gpu_go_through_the_host)
{
    hierarchy_layout = "0011";
    ranks_run(&(struct mini_options){ .size = 4 }, share_gpus);
}
END_TEST

/* Each set has its own hosts: that of ranks 1, 2 and 3 has two on host1. The other is on one host
 * each. */
static int reduce_in_sets(int rank)
{
    hierarchy_start(rank, "1", "auto");
    int uneven = hvd_add_process_set((const int[]){ 1, 2, 3 }, 3);
    int apart = hvd_add_process_set((const int[]){ 0, 2 }, 2);
    struct trial trial = trials[0];
    trial.process_set = uneven;
    if (rank != 0)
        trial_check(&trial);
    int called = nccl_called();
    REQUIRE((called > 0) == (rank != 0));
    trial.process_set = apart;
    if (rank == 0 || rank == 2)
        trial_check(&trial);
    REQUIRE(nccl_called() == called);
    trial_check(&trials[0]);
    REQUIRE(nccl_called() > called);
    REQUIRE_STATUS(hvd_remove_process_set(uneven), HVD_OK);
    REQUIRE(stand_in_nccl_communicators() == 1);
    return nccl_leave();
}

START_TEST(each_process_set_chooses_for_its_own_hosts)
{
    hierarchy_layout = "0011";
    ranks_run(&(struct mini_options){ .size = 4 }, reduce_in_sets);
}
END_TEST

static int tell(int rank)
{
    static const char line[] =
        "[0]: process set 0: large allreduces of GPUs go through NCCL within each of 2 hosts, and "
        "between hosts through the library, on 1 of each host's ranks";
    setenv("HOROVOD_LOG_LEVEL", "info", 1);
    log_capture_start();
    hierarchy_start(rank, "1", "auto");
    trial_check(&trials[0]);
    bool found = strstr(log_captured(), line);
    log_capture_stop();
    REQUIRE(found == (rank == 0));
    return nccl_leave();
}

START_TEST(the_first_rank_says_that_it_is_so)
{
    hierarchy_layout = "001";
    ranks_run(&(struct mini_options){ .size = 3 }, tell);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hierarchy");
    TCase *tcase = tcase_create("hierarchy");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 200);
    cuda_prepare();
    tcase_add_loop_test(tcase, nccl_reduces_within_each_host_and_the_library_between_them, 0,
                        LAYOUTS);
    tcase_add_loop_test(tcase, a_tensor_that_exceeds_a_piece_is_reduced_in_pieces, 0, 2);
    tcase_add_loop_test(tcase, all_ranks_have_the_same_bits, 0, LAYOUTS);
    tcase_add_loop_test(tcase, the_variable_alone_chooses_two_levels, 0,
                        sizeof choices / sizeof *choices);
    tcase_add_test(tcase, small_tensors_and_other_collectives_go_through_the_host);
    tcase_add_test(tcase, both_kinds_of_communicators_are_used_in_turns);
    tcase_add_test(tcase, ranks_that_share_a_gpu_go_through_the_host);
    tcase_add_test(tcase, each_process_set_chooses_for_its_own_hosts);
    tcase_add_test(tcase, the_first_rank_says_that_it_is_so);
    return unit_run(suite);
}
