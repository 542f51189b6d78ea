/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of worlds: what rank 0 saves, all restore; what it cannot, all hear of in the same
 * words, and nothing is changed; lists that are wrong or differ between ranks. */
#include "lib/hvd_training.h"

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64], path[96];

static void set_up(void)
{
    snprintf(directory, sizeof directory, "/tmp/hvd-checkpoint-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/last", directory);
}

static void tear_down(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(directory), 0); /* no temporary file is left */
}

/* ---- a model, of which each rank has its own ---- */

enum { WEIGHTS = 300007 }; /* more than a buffer */

static struct model {
    float weights[WEIGHTS];
    int32_t square[9];
    int64_t steps;
    double rate;
} model;

static const int64_t all_weights[] = { WEIGHTS }, three_by_three[] = { 3, 3 };
static struct hvd_parameter tensors[] = {
    { .name = "weights", .data = model.weights, .dtype = HVD_FLOAT32, .ndims = 1 },
    { .name = "square", .data = model.square, .dtype = HVD_INT32, .ndims = 2 },
    { .name = "empty", .dtype = HVD_FLOAT64, .ndims = 1 },
};
static struct hvd_scalar scalars[] = {
    { .name = "steps", .value = &model.steps, .dtype = HVD_INT64 },
    { .name = "rate", .value = &model.rate, .dtype = HVD_FLOAT64 },
};
static struct hvd_checkpoint checkpoint = {
    .tensors = tensors, .ntensors = 3, .scalars = scalars, .nscalars = 2
};

/* Each number is another on each rank. */
static void fill(int rank)
{
    static const int64_t zero = 0;
    tensors[0].dims = all_weights;
    tensors[1].dims = three_by_three;
    tensors[2].dims = &zero;
    for (int i = 0; i < WEIGHTS; i++)
        model.weights[i] = (float)(i + rank);
    for (int i = 0; i < 9; i++)
        model.square[i] = i + 10 * rank;
    model.steps = rank;
    model.rate = 0.5 + rank;
}

static int is_that_of(int rank)
{
    for (int i = 0; i < WEIGHTS; i++)
        if (model.weights[i] != (float)(i + rank))
            return 0;
    for (int i = 0; i < 9; i++)
        if (model.square[i] != i + 10 * rank)
            return 0;
    return model.steps == rank && model.rate == 0.5 + rank;
}

static void save(int rank)
{
    fill(rank);
    REQUIRE_STATUS(hvd_checkpoint_save(path, &checkpoint, 0), HVD_OK);
    REQUIRE(is_that_of(rank));
}

/* It fails on this rank, and changes nothing. */
static void require_refusal(int status, const char *text)
{
    fill(100);
    REQUIRE_STATUS(hvd_checkpoint_restore(path, &checkpoint, 0), status);
    require_text(text);
    REQUIRE(is_that_of(100));
}

/* ---- what works ---- */

static int save_and_restore(int rank)
{
    init_world();
    save(rank);
    fill(7);
    REQUIRE_STATUS(hvd_checkpoint_restore(path, &checkpoint, 0), HVD_OK);
    REQUIRE(is_that_of(0));
    return leave_world();
}

START_TEST(all_ranks_restore_what_the_first_one_saved)
{
    ranks_run(&(struct mini_options){ .size = _i }, save_and_restore);
}
END_TEST

/* In another order on each rank; and where there is no such file but on rank 0. */
static int restore_in_any_order(int rank)
{
    init_world();
    save(rank);
    fill(7);
    struct hvd_parameter first = tensors[0];
    tensors[0] = tensors[rank];
    tensors[rank] = first;
    REQUIRE_STATUS(hvd_checkpoint_restore(rank == 0 ? path : "/nowhere", &checkpoint, 0), HVD_OK);
    REQUIRE(is_that_of(0));
    return leave_world();
}

START_TEST(neither_order_nor_a_file_matters_on_the_others)
{
    ranks_run(&(struct mini_options){ .size = 3 }, restore_in_any_order);
}
END_TEST

static int use_a_set(int rank)
{
    static const int ranks[] = { 2, 1 };
    init_world();
    int set = hvd_add_process_set(ranks, 2);
    REQUIRE(set > 0);
    fill(rank);
    REQUIRE_STATUS(hvd_checkpoint_save(path, &checkpoint, set), rank == 0 ? HVD_ERR_INVALID : 0);
    fill(7);
    REQUIRE_STATUS(hvd_checkpoint_restore(path, &checkpoint, set), rank == 0 ? HVD_ERR_INVALID : 0);
    REQUIRE(is_that_of(rank == 0 ? 7 : 1));
    return leave_world();
}

START_TEST(a_process_set_has_checkpoints_of_its_own)
{
    ranks_run(&(struct mini_options){ .size = 3 }, use_a_set);
}
END_TEST

START_TEST(there_must_be_a_world)
{
    fill(0);
    ck_assert_int_eq(hvd_checkpoint_save(path, &checkpoint, 0), HVD_ERR_NOT_INITIALIZED);
    ck_assert_int_eq(hvd_checkpoint_restore(path, &checkpoint, 0), HVD_ERR_NOT_INITIALIZED);
}
END_TEST

/* ---- what cannot be saved ---- */

static int save_nowhere(int rank)
{
    char nowhere[128], text[256];
    snprintf(nowhere, sizeof nowhere, "%s/missing/last", directory);
    snprintf(text, sizeof text, "%s: cannot write the checkpoint: No such file", nowhere);
    init_world();
    fill(rank);
    REQUIRE_STATUS(hvd_checkpoint_save(nowhere, &checkpoint, 0), HVD_ERR_SYSTEM);
    require_text(text);
    return leave_world();
}

START_TEST(a_missing_directory_is_told_on_all_ranks)
{
    ranks_run(&(struct mini_options){ .size = 3 }, save_nowhere);
}
END_TEST

static int save_on_a_full_disk(int rank)
{
    const struct rlimit half = { WEIGHTS * 2, WEIGHTS * 2 };
    init_world();
    save(rank);
    signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &half) == 0);
    REQUIRE_STATUS(hvd_checkpoint_save(path, &checkpoint, 0), HVD_ERR_SYSTEM);
    require_text("last: cannot write the checkpoint: File too large");
    fill(7);
    REQUIRE_STATUS(hvd_checkpoint_restore(path, &checkpoint, 0), HVD_OK);
    REQUIRE(is_that_of(0));
    return leave_world();
}

START_TEST(a_full_disk_is_told_on_all_ranks_and_leaves_the_old_file)
{
    ranks_run(&(struct mini_options){ .size = 2 }, save_on_a_full_disk);
}
END_TEST

/* ---- what cannot be restored ---- */

/* What rank 0 does to the file. */
static void cut(void)
{
    REQUIRE(truncate(path, 1234) == 0);
}

static void flip_a_bit(void)
{
    unsigned char byte;
    int fd = open(path, O_RDWR);
    REQUIRE(pread(fd, &byte, 1, 100000) == 1);
    byte ^= 16;
    REQUIRE(pwrite(fd, &byte, 1, 100000) == 1);
    close(fd);
}

static void overwrite(void)
{
    int fd = open(path, O_WRONLY);
    REQUIRE(write(fd, "PK\3\4", 4) == 4);
    close(fd);
}

static void be_of_the_next_version(void)
{
    int fd = open(path, O_WRONLY);
    REQUIRE(pwrite(fd, "\3", 1, 7) == 1);
    close(fd);
}

static void remove_it(void)
{
    REQUIRE(unlink(path) == 0);
}

static const struct {
    void (*act)(void);
    int status;
    const char *text;
} damages[] = {
    { cut, HVD_ERR_INVALID, "last: is cut off: 1234 bytes, expected 1200" },
    { flip_a_bit, HVD_ERR_INVALID, "last: is damaged: its digest differs" },
    { overwrite, HVD_ERR_INVALID, "last: is no checkpoint" },
    { be_of_the_next_version, HVD_ERR_INVALID, "last: is a checkpoint of version 3, expected" },
    { remove_it, HVD_ERR_SYSTEM, "last: cannot be read: No such file or directory" },
};

static int restore_what_is_damaged(int rank)
{
    init_world();
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        save(rank);
        if (rank == 0)
            damages[i].act();
        require_refusal(damages[i].status, damages[i].text);
    }
    return leave_world();
}

START_TEST(a_file_that_is_damaged_is_told_on_all_ranks)
{
    ranks_run(&(struct mini_options){ .size = _i }, restore_what_is_damaged);
}
END_TEST

/* What becomes of the program between saving and restoring, and back. */
static void shape(void)
{
    static const int64_t other[] = { 9, 1 };
    tensors[1].dims = tensors[1].dims == other ? three_by_three : other;
}

static void type(void)
{
    tensors[1].dtype = tensors[1].dtype == HVD_INT32 ? HVD_FLOAT32 : HVD_INT32;
}

static void name(void)
{
    tensors[1].name = tensors[1].name[0] == 's' ? "zebra" : "square";
}

static void tensor_count(void)
{
    checkpoint.ntensors ^= 1; /* 3 and 2 */
}

static void scalar_count(void)
{
    checkpoint.nscalars ^= 3; /* 2 and 1 */
}

static const struct {
    void (*change)(void);
    const char *text;
} others[] = {
    { shape, "last: tensor 'square' is int32 [3, 3], expected int32 [9, 1]" },
    { type, "last: tensor 'square' is int32 [3, 3], expected float32 [3, 3]" },
    { name, "last: tensor 'square' is int32 [3, 3], expected no such tensor" },
    { tensor_count, "last: tensor 'empty' is float64 [0], expected no such tensor" },
    { scalar_count, "last: scalar 'rate' is float64, expected no such scalar" },
};

static void require_other_model(size_t which)
{
    struct model before;
    fill(100);
    others[which].change();
    memcpy(&before, &model, sizeof before);
    REQUIRE_STATUS(hvd_checkpoint_restore(path, &checkpoint, 0), HVD_ERR_INVALID);
    require_text(others[which].text);
    REQUIRE(memcmp(&before, &model, sizeof before) == 0);
    others[which].change();
}

static int restore_another_model(int rank)
{
    init_world();
    save(rank);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        require_other_model(i);
    scalar_count();
    REQUIRE_STATUS(hvd_checkpoint_save(path, &checkpoint, 0), HVD_OK);
    scalar_count();
    require_refusal(HVD_ERR_INVALID, "last: scalar 'rate' is missing, expected float64");
    return leave_world();
}

START_TEST(a_file_of_another_model_is_told_on_all_ranks)
{
    ranks_run(&(struct mini_options){ .size = _i }, restore_another_model);
}
END_TEST

/* ---- mistakes of one rank ---- */

static int restore_what_differs(int rank)
{
    init_world();
    save(rank);
    fill(100);
    if (rank == 1)
        type();
    REQUIRE_STATUS(hvd_checkpoint_restore(path, &checkpoint, 0), HVD_ERR_MISMATCH);
    require_text(
        "checkpoint: rank 1 has 'square float32 [3, 3]', rank 0 has 'square int32 [3, 3]'");
    REQUIRE(is_that_of(100));
    return leave_world();
}

START_TEST(lists_that_differ_between_ranks_are_told_on_all)
{
    ranks_run(&(struct mini_options){ .size = 3 }, restore_what_differs);
}
END_TEST

static void require_mistake(int rank, int rc, const char *text)
{
    REQUIRE_STATUS(rc, rank == 1 ? HVD_ERR_INVALID : HVD_ERR_MISMATCH);
    require_text(text);
    require_text(rank == 1 ? "checkpoint: " : "checkpoint: rank 1: ");
}

static int make_mistakes(int rank)
{
    init_world();
    fill(rank);
    require_mistake(rank, hvd_checkpoint_save(rank == 1 ? "" : path, &checkpoint, 0),
                    "the file has no name");
    require_mistake(rank, hvd_checkpoint_restore(path, rank == 1 ? NULL : &checkpoint, 0),
                    "there is no checkpoint");
    if (rank == 1)
        tensors[1].dtype = 42;
    require_mistake(rank, hvd_checkpoint_save(path, &checkpoint, 0),
                    "parameter 'square': dtype 42 is not an element type");
    require_mistake(rank, hvd_checkpoint_restore(path, &checkpoint, 0),
                    "parameter 'square': dtype 42 is not an element type");
    tensors[1].dtype = tensors[0].dtype;
    REQUIRE_STATUS(hvd_checkpoint_save(path, &checkpoint, 9), HVD_ERR_INVALID);
    require_text("checkpoint: process set: there is no process set 9");
    REQUIRE(access(path, F_OK) < 0);
    return leave_world();
}

START_TEST(a_mistake_of_one_rank_is_told_on_all)
{
    ranks_run(&(struct mini_options){ .size = 3 }, make_mistakes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checkpoint");
    TCase *cases = tcase_create("checkpoint");
    suite_add_tcase(suite, cases);
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_loop_test(cases, all_ranks_restore_what_the_first_one_saved, 1, 4);
    tcase_add_test(cases, neither_order_nor_a_file_matters_on_the_others);
    tcase_add_test(cases, a_process_set_has_checkpoints_of_its_own);
    tcase_add_test(cases, there_must_be_a_world);
    tcase_add_test(cases, a_missing_directory_is_told_on_all_ranks);
    tcase_add_test(cases, a_full_disk_is_told_on_all_ranks_and_leaves_the_old_file);
    tcase_add_loop_test(cases, a_file_that_is_damaged_is_told_on_all_ranks, 1, 4);
    tcase_add_loop_test(cases, a_file_of_another_model_is_told_on_all_ranks, 1, 4);
    tcase_add_test(cases, lists_that_differ_between_ranks_are_told_on_all);
    tcase_add_test(cases, a_mistake_of_one_rank_is_told_on_all);
    return unit_run(suite);
}
