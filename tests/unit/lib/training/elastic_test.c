/* SPDX-License-Identifier: Apache-2.0 */
/* The state of elastic training in one world: what a commit holds and restore takes back, what all
 * ranks get at the beginning, and what is refused, with which text. */
#include "lib/hvd_elastic.h"

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

/* ---- a state, of which each rank has its own ---- */

enum { WEIGHTS = 3000001 }; /* more than one piece */

static float weights[WEIGHTS];
static char notes[100];
static int64_t step;
static double rate;
static struct hvd_elastic_state *state;

static const int64_t all_weights[] = { WEIGHTS };
static struct hvd_parameter tensors[] = {
    { .name = "weights", .data = weights, .dtype = HVD_FLOAT32, .ndims = 1, .dims = all_weights }
};
static struct hvd_scalar values[] = { { "step", &step, HVD_INT64 },
                                      { "rate", &rate, HVD_FLOAT64 } };

static void fill(int number)
{
    for (int i = 0; i < WEIGHTS; i++)
        weights[i] = (float)(i % 1000 + number);
    memset(notes, number, sizeof notes);
    step = number;
    rate = 0.5 * number;
}

static int is_filled(int number)
{
    for (int i = 0; i < WEIGHTS; i++)
        if (weights[i] != (float)(i % 1000 + number))
            return 0;
    for (size_t i = 0; i < sizeof notes; i++)
        if (notes[i] != (char)number)
            return 0;
    return step == number && rate == 0.5 * number;
}

static void make_state(const struct hvd_elastic_options *options)
{
    REQUIRE_STATUS(hvd_elastic_create(options, &state), HVD_OK);
    REQUIRE_STATUS(hvd_elastic_add_parameters(state, tensors, 1), HVD_OK);
    REQUIRE_STATUS(hvd_elastic_add_memory(state, "notes", notes, sizeof notes), HVD_OK);
    REQUIRE_STATUS(hvd_elastic_add_values(state, values, 2), HVD_OK);
}

static int leave(void)
{
    hvd_elastic_destroy(state);
    return leave_world();
}

/* ---- what works ---- */

static int begin_alike(int rank)
{
    init_world();
    fill(rank + 3);
    make_state(NULL);
    REQUIRE_STATUS(hvd_elastic_sync(state), HVD_OK);
    REQUIRE(is_filled(3));
    return leave();
}

START_TEST(all_ranks_begin_with_the_state_of_rank_0)
{
    ranks_run(&(struct mini_options){ .size = _i }, begin_alike);
}
END_TEST

static int commit_and_restore(int rank)
{
    init_world();
    fill(rank);
    make_state(NULL);
    REQUIRE_STATUS(hvd_elastic_sync(state), HVD_OK);
    fill(7);
    REQUIRE_STATUS(hvd_elastic_restore(state), HVD_OK);
    REQUIRE(is_filled(0)); /* what was synchronised is a commit, too */
    fill(8);
    REQUIRE_STATUS(hvd_elastic_commit(state), HVD_OK);
    fill(9);
    REQUIRE_STATUS(hvd_elastic_check_host_updates(state), HVD_OK);
    REQUIRE_STATUS(hvd_elastic_restore(state), HVD_OK);
    REQUIRE(is_filled(8));
    REQUIRE_STATUS(hvd_elastic_restore(state), HVD_OK);
    REQUIRE(is_filled(8));
    return leave();
}

START_TEST(restore_takes_back_the_last_commit)
{
    ranks_run(&(struct mini_options){ .size = _i }, commit_and_restore);
}
END_TEST

/* Rank 1 adds in another order, and has another tensor in front. */
static int add_in_another_order(int rank)
{
    int32_t a = rank, b = 10 + rank;
    struct hvd_parameter both[] = { { .name = "a", .data = &a, .dtype = HVD_INT32 },
                                    { .name = "b", .data = &b, .dtype = HVD_INT32 } };
    init_world();
    REQUIRE_STATUS(hvd_elastic_create(NULL, &state), HVD_OK);
    REQUIRE_STATUS(hvd_elastic_add_parameters(state, &both[rank], 1), HVD_OK);
    REQUIRE_STATUS(hvd_elastic_add_parameters(state, &both[1 - rank], 1), HVD_OK);
    REQUIRE_STATUS(hvd_elastic_sync(state), HVD_OK);
    REQUIRE(a == 0 && b == 10);
    return leave();
}

START_TEST(the_order_of_adding_does_not_matter)
{
    ranks_run(&(struct mini_options){ .size = 2 }, add_in_another_order);
}
END_TEST

static int take_a_sampler_back(int rank)
{
    uint64_t samples[10], again[10];
    struct hvd_sampler *sampler;
    const struct hvd_sampler_options options = { .count = 40, .seed = 3, .distinct = 1 };
    init_world();
    (void)rank;
    make_state(NULL);
    REQUIRE_STATUS(hvd_sampler_create(&options, &sampler), HVD_OK);
    REQUIRE_STATUS(hvd_elastic_add_sampler(state, "images", sampler), HVD_OK);
    hvd_sampler_start_epoch(sampler, 4);
    REQUIRE_STATUS(hvd_elastic_sync(state), HVD_OK);
    REQUIRE(hvd_sampler_next(sampler, samples, 5) == 5);
    REQUIRE_STATUS(hvd_elastic_commit(state), HVD_OK);
    REQUIRE(hvd_sampler_next(sampler, samples, 10) == 10);
    hvd_sampler_start_epoch(sampler, 5);
    REQUIRE_STATUS(hvd_elastic_restore(state), HVD_OK);
    REQUIRE(hvd_sampler_epoch(sampler) == 4 && hvd_sampler_processed(sampler) == 10);
    REQUIRE(hvd_sampler_next(sampler, again, 10) == 10);
    REQUIRE(memcmp(samples, again, sizeof samples) == 0);
    leave();
    hvd_sampler_destroy(sampler);
    return 0;
}

START_TEST(a_sampler_goes_back_with_its_state)
{
    ranks_run(&(struct mini_options){ .size = 2 }, take_a_sampler_back);
}
END_TEST

static float gradients[WEIGHTS];

static int update(void *arg)
{
    (*(int *)arg)++;
    for (int i = 0; i < WEIGHTS; i++)
        weights[i] -= gradients[i];
    return 0;
}

static int use_an_optimizer(int rank)
{
    int updates = 0;
    struct hvd_optimizer *optimizer = (struct hvd_optimizer *)&updates;
    tensors[0].gradient = gradients;
    fill(5 + rank);
    for (int i = 0; i < WEIGHTS; i++)
        gradients[i] = (float)(2 * rank);
    init_world();
    REQUIRE_STATUS(hvd_elastic_create(NULL, &state), HVD_OK);
    REQUIRE_STATUS(hvd_elastic_add_optimizer(state, tensors, 1, NULL, update, &updates, &optimizer),
                   HVD_OK);
    REQUIRE(optimizer == NULL);
    REQUIRE_STATUS(hvd_elastic_sync(state), HVD_OK);
    REQUIRE_STATUS(hvd_optimizer_ready(optimizer, 0), HVD_OK);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    REQUIRE(updates == 1 && weights[0] == 5 - 1 && weights[1] == 5);
    REQUIRE_STATUS(hvd_elastic_restore(state), HVD_OK);
    REQUIRE(weights[0] == 5);
    return leave();
}

START_TEST(an_optimizer_is_made_for_the_world_and_its_parameters_are_state)
{
    ranks_run(&(struct mini_options){ .size = 2 }, use_an_optimizer);
}
END_TEST

/* ---- the loop, outside of an elastic job ---- */

static int train_to_10(struct hvd_elastic_state *its_state, void *arg)
{
    REQUIRE(arg == &step && its_state == state);
    while (step < 10) {
        step++;
        int rc = hvd_elastic_commit(its_state);
        if (rc != HVD_OK)
            return rc;
    }
    return HVD_OK;
}

static int run_alone(int rank)
{
    (void)rank;
    make_state(NULL); /* run() joins the world */
    REQUIRE_STATUS(hvd_elastic_run(state, train_to_10, &step), HVD_OK);
    REQUIRE(hvd_is_initialized() && step == 10);
    return leave();
}

START_TEST(run_trains_until_it_is_done)
{
    ranks_run(&(struct mini_options){ .size = _i }, run_alone);
}
END_TEST

static int fail_in_training(struct hvd_elastic_state *its_state, void *arg)
{
    (void)its_state;
    if (*(int *)arg == HVD_ERR_INVALID)
        return hvd_broadcast("x", NULL, 1, HVD_FLOAT32, 0);
    return *(int *)arg;
}

static int run_and_fail(int rank)
{
    int mine = 77, invalid = HVD_ERR_INVALID;
    (void)rank;
    make_state(NULL);
    REQUIRE(hvd_elastic_run(state, fail_in_training, &mine) == 77);
    REQUIRE_STATUS(hvd_elastic_run(state, fail_in_training, &invalid), HVD_ERR_INVALID);
    require_text("NULL");
    return leave();
}

START_TEST(a_failure_of_its_own_comes_out_of_run)
{
    ranks_run(&(struct mini_options){ .size = 2 }, run_and_fail);
}
END_TEST

static int lose_rank_1(struct hvd_elastic_state *its_state, void *arg)
{
    (void)arg;
    if (hvd_rank() == 1)
        raise(SIGKILL);
    int rc;
    while ((rc = hvd_elastic_check_host_updates(its_state)) == HVD_OK)
        continue;
    return rc;
}

static int run_and_lose(int rank)
{
    (void)rank;
    make_state(NULL);
    REQUIRE_STATUS(hvd_elastic_run(state, lose_rank_1, NULL), HVD_ERR_PEER_LOST);
    require_text("rank 1");
    return leave();
}

START_TEST(a_job_that_is_not_elastic_ends_with_a_lost_rank)
{
    ranks_run_but(&(struct mini_options){ .size = 3 }, run_and_lose, 1);
}
END_TEST

/* ---- what ranks disagree on ---- */

static int differ_in_shape(int rank)
{
    const int64_t fewer[] = { 12 };
    init_world();
    if (rank == 2)
        tensors[0].dims = fewer;
    make_state(NULL);
    REQUIRE_STATUS(hvd_elastic_sync(state), HVD_ERR_MISMATCH);
    require_text("elastic sync: rank 2 has 'weights float32 [12]', "
                 "rank 0 has 'weights float32 [3000001]'");
    return leave();
}

static int differ_in_names(int rank)
{
    init_world();
    make_state(NULL);
    if (rank == 0)
        REQUIRE_STATUS(hvd_elastic_add_memory(state, "more", NULL, 0), HVD_OK);
    REQUIRE_STATUS(hvd_elastic_sync(state), HVD_ERR_MISMATCH);
    require_text("elastic sync: rank 1 lacks 'more uint8 [0]', which rank 0 has");
    return leave();
}

static int differ_in_options(int rank)
{
    init_world();
    make_state(&(struct hvd_elastic_options){ .reset_limit = rank });
    REQUIRE_STATUS(hvd_elastic_sync(state), HVD_ERR_MISMATCH);
    require_text("elastic sync: rank 1 has '(resets) at most 1', rank 0 has '(resets) at most 0'");
    return leave();
}

static int commit_other_steps(int rank)
{
    init_world();
    make_state(NULL);
    REQUIRE_STATUS(hvd_elastic_sync(state), HVD_OK);
    step = rank == 1 ? 12 : 10;
    REQUIRE_STATUS(hvd_elastic_commit(state), HVD_ERR_MISMATCH);
    require_text("elastic commit: rank 1 has 'step = 12', rank 0 has 'step = 10'");
    step = 3;
    REQUIRE_STATUS(hvd_elastic_commit(state), HVD_OK);
    return leave();
}

static int commit_other_rates(int rank)
{
    init_world();
    make_state(NULL);
    REQUIRE_STATUS(hvd_elastic_sync(state), HVD_OK);
    rate = rank == 2 ? 0.25 : 0.5;
    REQUIRE_STATUS(hvd_elastic_commit(state), HVD_ERR_MISMATCH);
    require_text("elastic commit: rank 2 has 'rate = 0.25', rank 0 has 'rate = 0.5'");
    return leave();
}

static int check_and_commit(int rank)
{
    init_world();
    make_state(NULL);
    REQUIRE_STATUS(hvd_elastic_sync(state), HVD_OK);
    int rc = rank == 0 ? hvd_elastic_check_host_updates(state) : hvd_elastic_commit(state);
    REQUIRE_STATUS(rc, HVD_ERR_MISMATCH);
    require_text("rank 1 has 'call commit', rank 0 has 'call check of host updates'");
    return leave();
}

static int train_unequally(struct hvd_elastic_state *its_state, void *arg)
{
    (void)arg;
    return hvd_rank() == 1 ? HVD_OK : hvd_elastic_commit(its_state);
}

static int end_early(int rank)
{
    (void)rank;
    make_state(NULL);
    REQUIRE_STATUS(hvd_elastic_run(state, train_unequally, NULL), HVD_ERR_MISMATCH);
    require_text("rank 1 has 'call end of training', rank 0 has 'call commit'");
    return leave();
}

static rank_fn *const disagreements[] = { differ_in_shape,    differ_in_names,    differ_in_options,
                                          commit_other_steps, commit_other_rates, check_and_commit,
                                          end_early };

START_TEST(a_disagreement_is_an_error_that_names_ranks)
{
    ranks_run(&(struct mini_options){ .size = 3 }, disagreements[_i]);
}
END_TEST

/* ---- checkpoint files ---- */

static char directory[64], path[96];

static void make_directory(void)
{
    snprintf(directory, sizeof directory, "/tmp/hvd-elastic-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/last", directory);
}

static void remove_directory(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(directory), 0);
}

static int previous_size;

static int note_reset(const struct hvd_elastic_reset *reset, void *arg)
{
    REQUIRE(arg == &step && reset->size == hvd_size() && reset->epoch == hvd_epoch());
    previous_size = reset->previous_size;
    return HVD_OK;
}

static int commit_to_file(int rank)
{
    init_world();
    fill(rank);
    make_state(&(struct hvd_elastic_options){ .checkpoint = path, .checkpoint_every = 2 });
    REQUIRE_STATUS(hvd_elastic_on_reset(state, note_reset, &step), HVD_OK);
    REQUIRE_STATUS(hvd_elastic_sync(state), HVD_OK);
    REQUIRE(previous_size == 0); /* nothing was continued */
    for (int commit = 1; commit <= 3; commit++) {
        fill(10 * commit);
        REQUIRE_STATUS(hvd_elastic_commit(state), HVD_OK);
        REQUIRE(commit > 1 || access(path, F_OK) < 0);
    }
    return leave();
}

static int continue_from_file(int rank)
{
    init_world();
    fill(rank);
    make_state(&(struct hvd_elastic_options){ .checkpoint = path, .checkpoint_every = 2 });
    REQUIRE_STATUS(hvd_elastic_on_reset(state, note_reset, &step), HVD_OK);
    REQUIRE_STATUS(hvd_elastic_sync(state), HVD_OK);
    REQUIRE(is_filled(20));
    REQUIRE(previous_size == 2);
    return leave();
}

START_TEST(a_job_whose_ranks_all_ended_is_continued_from_the_file)
{
    ranks_run(&(struct mini_options){ .size = 2 }, commit_to_file);
    ranks_run(&(struct mini_options){ .size = _i }, continue_from_file);
}
END_TEST

static int refuse_a_damaged_file(int rank)
{
    init_world();
    fill(rank);
    make_state(&(struct hvd_elastic_options){ .checkpoint = path });
    REQUIRE_STATUS(hvd_elastic_sync(state), HVD_ERR_INVALID);
    require_text("is cut off");
    REQUIRE(is_filled(rank));
    return leave();
}

START_TEST(a_damaged_file_is_no_reason_to_begin_anew)
{
    ranks_run(&(struct mini_options){ .size = 2 }, commit_to_file);
    ck_assert_int_eq(truncate(path, 1000), 0);
    ranks_run(&(struct mini_options){ .size = 2 }, refuse_a_damaged_file);
}
END_TEST

static int fail_to_write(int rank)
{
    init_world();
    fill(rank);
    make_state(&(struct hvd_elastic_options){ .checkpoint = "/nowhere/at/all" });
    REQUIRE_STATUS(hvd_elastic_sync(state), HVD_OK);
    fill(4);
    REQUIRE_STATUS(hvd_elastic_commit(state), HVD_ERR_SYSTEM);
    require_text("elastic commit: /nowhere/at/all: ");
    fill(5);
    REQUIRE_STATUS(hvd_elastic_restore(state), HVD_OK); /* in memory it has succeeded */
    REQUIRE(is_filled(4));
    return leave();
}

START_TEST(a_file_that_cannot_be_written_is_an_error_on_all_ranks)
{
    ranks_run(&(struct mini_options){ .size = 2 }, fail_to_write);
}
END_TEST

/* ---- what is refused on the spot ---- */

static void make_alone(void)
{
    ck_assert_int_eq(hvd_elastic_create(NULL, &state), HVD_OK);
}

static void drop_alone(void)
{
    hvd_elastic_destroy(state);
    hvd_shutdown();
}

static void expect_refusal(int rc, const char *text)
{
    ck_assert_int_eq(rc, HVD_ERR_INVALID);
    ck_assert_str_eq(hvd_last_error(), text);
}

START_TEST(a_name_is_there_once)
{
    struct hvd_scalar twice[] = { { "x", &rate, HVD_FLOAT64 }, { "step", &step, HVD_INT64 } };
    ck_assert_int_eq(hvd_elastic_add_values(state, values, 2), HVD_OK);
    expect_refusal(hvd_elastic_add_values(state, twice, 2),
                   "elastic state: scalar 'step' is given twice");
    ck_assert_int_eq(hvd_elastic_add_values(state, twice, 1), HVD_OK); /* it was not added */
    ck_assert_int_eq(hvd_elastic_add_parameters(state, tensors, 1), HVD_OK);
    expect_refusal(hvd_elastic_add_memory(state, "weights", notes, 1),
                   "elastic state: parameter 'weights' is given twice");
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    struct hvd_optimizer *optimizer;
    const struct hvd_optimizer_options options = { .process_set = 2 };
    expect_refusal(hvd_elastic_add_memory(state, "m", NULL, 1),
                   "elastic state: parameter 'm': data is NULL");
    expect_refusal(hvd_elastic_add_values(state, NULL, 1),
                   "elastic state: the list of 1 scalars is NULL");
    expect_refusal(hvd_elastic_add_sampler(state, "s", NULL), "elastic state: there is no sampler");
    expect_refusal(hvd_elastic_on_reset(state, NULL, NULL), "elastic state: there is no callback");
    expect_refusal(hvd_elastic_add_optimizer(state, tensors, 1, NULL, NULL, NULL, &optimizer),
                   "elastic state: there is no update");
    expect_refusal(
        hvd_elastic_add_optimizer(state, tensors, 1, &options, update, NULL, &optimizer),
        "elastic state: process set 2: an optimizer of an elastic state is for the whole world");
    expect_refusal(hvd_elastic_add_parameters(NULL, tensors, 1),
                   "elastic state: there is no state");
    expect_refusal(hvd_elastic_create(NULL, NULL),
                   "elastic state: there is no place for the state");
    expect_refusal(hvd_elastic_run(state, NULL, NULL), "elastic run: there is no train()");
    expect_refusal(hvd_elastic_sync(NULL), "elastic sync: there is no state");
    hvd_elastic_destroy(NULL);
}
END_TEST

static const struct {
    struct hvd_elastic_options options;
    const char *text;
} refused[] = {
    { { .reset_limit = -1 }, "elastic state: reset_limit is -1, expected 0 or more" },
    { { .checkpoint_every = -2 }, "elastic state: checkpoint_every is -2, expected 0 or more" },
    { { .checkpoint = "" }, "elastic state: the checkpoint file has no name" },
};

START_TEST(options_that_cannot_be_are_refused)
{
    struct hvd_elastic_state *none = state;
    expect_refusal(hvd_elastic_create(&refused[_i].options, &none), refused[_i].text);
    ck_assert_ptr_null(none);
}
END_TEST

START_TEST(a_state_that_has_been_used_does_not_grow)
{
    ck_assert_int_eq(hvd_elastic_add_values(state, values, 1), HVD_OK);
    ck_assert_int_eq(hvd_init(), HVD_OK);
    expect_refusal(hvd_elastic_commit(state),
                   "elastic commit: the state has not been synchronised in this world");
    expect_refusal(hvd_elastic_check_host_updates(state),
                   "elastic check: the state has not been synchronised in this world");
    ck_assert_int_eq(hvd_elastic_sync(state), HVD_OK);
    expect_refusal(hvd_elastic_add_parameters(state, tensors, 1),
                   "elastic state: the state cannot grow any more: it has been used");
    ck_assert_int_eq(hvd_elastic_commit(state), HVD_OK);
}
END_TEST

START_TEST(without_a_world_there_is_no_commit)
{
    ck_assert_int_eq(hvd_elastic_commit(state), HVD_ERR_NOT_INITIALIZED);
    ck_assert_int_eq(hvd_elastic_sync(state), HVD_ERR_NOT_INITIALIZED);
    ck_assert_int_eq(hvd_elastic_restore(state), HVD_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic state");
    TCase *tcase = tcase_create("elastic state");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    ranks_add_test(tcase, all_ranks_begin_with_the_state_of_rank_0, 1, 3);
    ranks_add_test(tcase, restore_takes_back_the_last_commit, 1, 3);
    tcase_add_test(tcase, the_order_of_adding_does_not_matter);
    tcase_add_test(tcase, a_sampler_goes_back_with_its_state);
    tcase_add_test(tcase, an_optimizer_is_made_for_the_world_and_its_parameters_are_state);
    ranks_add_test(tcase, run_trains_until_it_is_done, 1, 3);
    tcase_add_test(tcase, a_failure_of_its_own_comes_out_of_run);
    tcase_add_test(tcase, a_job_that_is_not_elastic_ends_with_a_lost_rank);
    tcase_add_loop_test(tcase, a_disagreement_is_an_error_that_names_ranks, 0, ROWS(disagreements));

    tcase = tcase_create("checkpoints");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, make_directory, remove_directory);
    ranks_add_test(tcase, a_job_whose_ranks_all_ended_is_continued_from_the_file, 1, 3);
    tcase_add_test(tcase, a_damaged_file_is_no_reason_to_begin_anew);
    tcase_add_test(tcase, a_file_that_cannot_be_written_is_an_error_on_all_ranks);

    tcase = tcase_create("refusals");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, make_alone, drop_alone);
    tcase_add_test(tcase, a_name_is_there_once);
    tcase_add_test(tcase, what_cannot_be_is_refused);
    tcase_add_loop_test(tcase, options_that_cannot_be_are_refused, 0, ROWS(refused));
    tcase_add_test(tcase, a_state_that_has_been_used_does_not_grow);
    tcase_add_test(tcase, without_a_world_there_is_no_commit);
    return unit_run(suite);
}
