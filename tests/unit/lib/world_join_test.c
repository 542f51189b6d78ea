/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds of several processes that come about, in spite of unauthenticated clients and a rendezvous
 * that turns ranks away at first, and are used; and the ways in which none comes about. */
#include <config.h>

#include "lib/hvd.h"
#include "lib/join/bootstrap.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* --- what works --- */

static void check_place(int rank)
{
    REQUIRE(hvd_rank() == rank);
    REQUIRE(hvd_local_rank() == rank);
    REQUIRE(hvd_local_size() == hvd_size());
    REQUIRE(hvd_cross_rank() == 0 && hvd_cross_size() == 1);
    REQUIRE(hvd_is_homogeneous() == 1);
    REQUIRE(hvd_is_initialized() == 1);
}

static int use_everything(int rank)
{
    static const size_t counts[] = { 0, 1, 2, 5, 1000, 300007 };
    init_world();
    init_world();
    check_place(rank);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        check_collectives(counts[i]);
    return leave_world();
}

/* All but rank 0 add a set, whose tree has another shape than the world's, and use it. */
static int use_everything_and_a_set(int rank)
{
    int ranks[RANKS_MAX], size = 0;
    init_world();
    for (int i = 1; i < hvd_size(); i++)
        ranks[size++] = i;
    check_collectives(5);
    check_collectives(300007);
    int set = hvd_add_process_set(ranks, size);
    REQUIRE(set > 0);
    struct hvd_options options = { .process_set = set };
    int32_t sum = 0, expected = hvd_size() * (hvd_size() - 1) / 2;
    struct hvd_tensor tensor = { .input = &rank, .output = &sum, .dtype = HVD_INT32 };
    for (int i = 0; rank > 0 && i < 20; i++) {
        int64_t handle;
        REQUIRE(hvd_allreduce_async(&tensor, HVD_SUM, &options, &handle) == HVD_OK);
        REQUIRE(hvd_wait(handle) == HVD_OK);
        REQUIRE(sum == expected);
    }
    REQUIRE(hvd_remove_process_set(set) == HVD_OK);
    return leave_world();
}

START_TEST(a_world_whose_ranks_share_processors_works)
{
    static const struct mini_options worlds[] = {
        { .size = 4, .star = 4 },  { .size = 8, .star = 8 },
        { .size = 9, .star = 3 },  { .size = 8, .star = 4, .anywhere = true },
        { .size = 12, .star = 2 }, { .size = 16, .star = 16 },
    };
    ranks_run(&worlds[_i], use_everything_and_a_set);
}
END_TEST

/* From 6 on, the tree has more than two levels. */
START_TEST(a_world_of_any_small_size_works)
{
    ranks_run(&(struct mini_options){ .size = _i }, use_everything);
}
END_TEST

static int many_small(int rank)
{
    (void)rank;
    init_world();
    int size = hvd_size();
    for (int i = 0; i < 2000; i++) {
        int32_t sum;
        REQUIRE_STATUS(sum_of_ranks("s", &sum), HVD_OK);
        REQUIRE(sum == size * (size - 1) / 2);
    }
    return 0; /* normal exit says goodbye */
}

START_TEST(many_small_collectives_follow_each_other)
{
    ranks_run(&(struct mini_options){ .size = 3 }, many_small);
}
END_TEST

struct sums {
    const char *name;
    int failures;
    pthread_t thread;
};

static void *sum_often(void *argument)
{
    struct sums *sums = argument;
    for (int i = 0; i < 200; i++) {
        int32_t sum;
        if (sum_of_ranks(sums->name, &sum) != HVD_OK || sum != 1 || hvd_size() != 2)
            sums->failures++;
    }
    return NULL;
}

/* Each of the threads has a name of its own, and its calls come in any order. */
static int four_threads(int rank)
{
    struct sums sums[] = { { .name = "a" }, { .name = "b" }, { .name = "c" }, { .name = "d" } };
    (void)rank;
    init_world();
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&sums[i].thread, NULL, sum_often, &sums[i]) == 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(sums[i].thread, NULL);
        REQUIRE(sums[i].failures == 0);
    }
    return leave_world();
}

static int64_t sent_while_summing(size_t count)
{
    static float data[100000];
    int64_t before = hvd_bytes_sent();
    REQUIRE_STATUS(hvd_allreduce("sum", data, data, count, HVD_FLOAT32, HVD_SUM), HVD_OK);
    REQUIRE_STATUS(hvd_barrier(), HVD_OK); /* so that nothing is still on its way */
    return hvd_bytes_sent() - before;
}

/* Two ranks send each other half of the data twice. */
static int count_what_is_sent(int rank)
{
    const int64_t count = 100000, payload = count * (int64_t)sizeof(float);
    (void)rank;
    REQUIRE(hvd_bytes_sent() == HVD_ERR_NOT_INITIALIZED);
    init_world();
    int64_t few = sent_while_summing(1), many = sent_while_summing((size_t)count);
    REQUIRE(few > 0 && few < 2000);
    REQUIRE(many >= payload && many < payload + 2000);
    int64_t before = hvd_bytes_sent();
    REQUIRE(hvd_bytes_sent() == before);
    REQUIRE(leave_world() == 0);
    REQUIRE(hvd_bytes_sent() == HVD_ERR_SHUT_DOWN);
    return 0;
}

START_TEST(what_is_sent_to_other_ranks_is_counted)
{
    ranks_run(&(struct mini_options){ .size = 2 }, count_what_is_sent);
}
END_TEST

START_TEST(calls_of_several_threads_do_not_mix)
{
    ranks_run(&(struct mini_options){ .size = 2 }, four_threads);
}
END_TEST

START_TEST(unauthenticated_clients_at_the_data_port_do_no_harm)
{
    ranks_run(&(struct mini_options){ .size = 3, .unauthenticated = _i }, use_everything);
}
END_TEST

START_TEST(who_is_turned_away_at_first_dials_again)
{
    ranks_run(&(struct mini_options){ .size = 3, .turns_away = 9, .drops = _i }, use_everything);
}
END_TEST

START_TEST(without_a_launcher_a_process_is_a_world_of_one)
{
    float input[3] = { 1, 2, 3 }, output[3] = { 0 };
    ck_assert_int_eq(hvd_is_initialized(), 0);
    ck_assert_int_eq(hvd_rank(), HVD_ERR_NOT_INITIALIZED);
    ck_assert_int_eq(hvd_shutdown(), HVD_OK);
    ck_assert_int_eq(hvd_init(), HVD_OK);
    ck_assert(hvd_rank() == 0 && hvd_size() == 1 && hvd_local_size() == 1 && hvd_cross_size() == 1);
    ck_assert_int_eq(hvd_allreduce("a", input, output, 3, HVD_FLOAT32, HVD_AVERAGE), HVD_OK);
    ck_assert_mem_eq(input, output, sizeof input);
    ck_assert_int_eq(hvd_allgather("a", input, output, 3, HVD_FLOAT32), HVD_OK);
    ck_assert_int_eq(hvd_broadcast("a", input, 3, HVD_FLOAT32, 0), HVD_OK);
    ck_assert_int_eq(hvd_broadcast("a", input, 3, HVD_FLOAT32, 1), HVD_ERR_INVALID);
    ck_assert_int_eq(hvd_barrier(), HVD_OK);
    ck_assert_int_eq(hvd_shutdown(), HVD_OK);
    ck_assert_int_eq(hvd_rank(), HVD_ERR_SHUT_DOWN);
}
END_TEST

START_TEST(the_numbers_of_sets_fill_no_more_than_there_is_room)
{
    int ids[] = { 7, 7 };
    ck_assert_int_eq(hvd_init(), HVD_OK);
    ck_assert_int_eq(hvd_process_sets(ids, 1), 1);
    ck_assert(ids[0] == 0 && ids[1] == 7);
}
END_TEST

START_TEST(statuses_and_the_version_have_texts)
{
    ck_assert_str_eq(hvd_strstatus(HVD_ERR_STALE), "a handle of an earlier epoch");
    ck_assert_str_eq(hvd_strstatus(HVD_ERR_REMOVED), "removed from the elastic job");
    ck_assert_str_eq(hvd_strstatus(HVD_ERR_FORKED), "forked from a process that called hvd_init");
    ck_assert_str_eq(hvd_strstatus(HVD_ERR_INTERRUPTED - 1), "unknown status");
    ck_assert_str_eq(hvd_strstatus(1), "unknown status");
    ck_assert_str_eq(hvd_strstatus(INT_MIN), "unknown status");
    ck_assert_str_eq(hvd_version(), PACKAGE_VERSION);
}
END_TEST

/* --- what does not --- */

START_TEST(after_a_bad_environment_a_good_one_is_taken)
{
    setenv("HOROVOD_RANK", "x", 1);
    ck_assert_int_eq(hvd_init(), HVD_ERR_ENVIRONMENT);
    ck_assert_ptr_nonnull(strstr(hvd_last_error(), "HOROVOD_RANK: 'x'"));
    unsetenv("HOROVOD_RANK");
    ck_assert_int_eq(hvd_init(), HVD_OK);
    ck_assert_int_eq(hvd_size(), 1);
}
END_TEST

static int with_a_wrong_key(int rank)
{
    if (rank == 0)
        setenv("HVD_JOB_KEY", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
               1);
    REQUIRE(hvd_init() < 0);
    require_text(rank == 0 ? "HVD_JOB_KEY" : "join");
    REQUIRE(hvd_is_initialized() == 0);
    REQUIRE_STATUS(hvd_rank(), HVD_ERR_NOT_INITIALIZED);
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_NOT_INITIALIZED);
    return 0;
}

START_TEST(a_wrong_key_is_refused)
{
    struct mini_rendezvous mini;
    struct ranks ranks;
    mini_rendezvous_start(&mini, &(struct mini_options){ .size = 2 });
    ranks_start(&ranks, 2, &mini, with_a_wrong_key);
    ck_assert_int_eq(ranks_wait(&ranks, 0), 0);
    mini_rendezvous_stop(&mini);
    ck_assert_int_eq(ranks_wait(&ranks, 1), 0);
}
END_TEST

static int given_wrong_neighbours(int rank)
{
    (void)rank;
    REQUIRE_STATUS(hvd_init(), HVD_ERR_PROTOCOL);
    require_text("WELCOME");
    return 0;
}

START_TEST(a_place_between_the_wrong_neighbours_is_refused)
{
    ranks_run(&(struct mini_options){ .size = 3, .misplaces = true }, given_wrong_neighbours);
}
END_TEST

/* The forgery may come before the links do. */
static int told_a_forgery(int rank)
{
    (void)rank;
    int rc = hvd_init();
    while (rc == HVD_OK)
        rc = hvd_barrier();
    REQUIRE(rc == HVD_ERR_AUTH);
    require_text("wrong proof");
    return 0;
}

START_TEST(news_without_a_proof_of_the_key_are_not_believed)
{
    ranks_run(&(struct mini_options){ .size = _i, .forges = true }, told_a_forgery);
}
END_TEST

static int hung_up_on(int rank)
{
    (void)rank;
    REQUIRE_STATUS(hvd_init(), HVD_ERR_PEER_LOST);
    require_text("join 127.0.0.1:");
    return 0;
}

START_TEST(a_rendezvous_that_hangs_up_is_an_error)
{
    ranks_run(&(struct mini_options){ .size = 2, .withholds = true }, hung_up_on);
}
END_TEST

START_TEST(a_rendezvous_that_is_not_there_is_an_error)
{
    struct mini_rendezvous mini;
    struct ranks ranks;
    mini_rendezvous_start(&mini, &(struct mini_options){ .size = 2 });
    mini_rendezvous_stop(&mini);
    ranks_start(&ranks, 2, &mini, hung_up_on);
    ranks_wait_all(&ranks);
}
END_TEST

static const char *get_variable(const char *name)
{
    return getenv(name);
}

static int join_and_die(void)
{
    struct rank_assignment assignment;
    struct environment environment;
    struct err err;
    REQUIRE(environment_read(&environment, get_variable, &err) == HVD_OK);
    REQUIRE(bootstrap_join(&assignment, &environment, 1, &err) == HVD_OK);
    rank_assignment_fini(&assignment);
    return 0;
}

/* Rank 1 is welcomed, opens no link, and dies when the others are looking for it. Who is not its
 * neighbour may learn of it later. */
static int die_while_linking(int rank)
{
    if (rank == 1)
        return join_and_die();
    int rc = hvd_init();
    if (rank > 2 && rc == HVD_OK)
        rc = hvd_barrier();
    REQUIRE_STATUS(rc, HVD_ERR_PEER_LOST);
    require_text("the connection to rank 1 on testhost broke");
    return 0;
}

START_TEST(a_rank_that_dies_before_it_has_linked_up_is_named)
{
    ranks_run(&(struct mini_options){ .size = _i }, die_while_linking);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_join");
    TCase *tcase = tcase_create("world_join");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    ranks_add_test(tcase, a_world_of_any_small_size_works, 1, 8);
    tcase_add_loop_test(tcase, a_world_whose_ranks_share_processors_works, 0, 6);
    tcase_add_test(tcase, many_small_collectives_follow_each_other);
    tcase_add_test(tcase, what_is_sent_to_other_ranks_is_counted);
    tcase_add_test(tcase, calls_of_several_threads_do_not_mix);
    tcase_add_loop_test(tcase, unauthenticated_clients_at_the_data_port_do_no_harm, 3, 6);
    tcase_add_loop_test(tcase, who_is_turned_away_at_first_dials_again, 0, 4);
    tcase_add_test(tcase, without_a_launcher_a_process_is_a_world_of_one);
    tcase_add_test(tcase, the_numbers_of_sets_fill_no_more_than_there_is_room);
    tcase_add_test(tcase, statuses_and_the_version_have_texts);
    tcase_add_test(tcase, after_a_bad_environment_a_good_one_is_taken);
    tcase_add_test(tcase, a_wrong_key_is_refused);
    tcase_add_test(tcase, a_place_between_the_wrong_neighbours_is_refused);
    ranks_add_test(tcase, news_without_a_proof_of_the_key_are_not_believed, 1, 3);
    tcase_add_test(tcase, a_rendezvous_that_hangs_up_is_an_error);
    tcase_add_test(tcase, a_rendezvous_that_is_not_there_is_an_error);
    ranks_add_test(tcase, a_rank_that_dies_before_it_has_linked_up_is_named, 2, 6);
    return unit_run(suite);
}
