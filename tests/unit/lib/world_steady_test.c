/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds that repeat a schedule, and ranks that deviate from it: results stay right, errors name
 * ranks and values, and nobody waits for ever. */
#include "lib/engine/engine_impl.h"
#include "lib/hvd.h"
#include "lib/process.h"
#include "lib/world.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* LEARNT: so many rounds are more than a schedule needs. LARGE: elements that do not go with a
 * commitment. */
enum { LEARNT = 100, LARGE = 5000 };

static int sum_of_numbers(void)
{
    return hvd_size() * (hvd_size() - 1) / 2;
}

static void sum_rounds(const char *name, int rounds)
{
    int32_t sum;
    for (int i = 0; i < rounds; i++) {
        REQUIRE_STATUS(sum_of_ranks(name, &sum), HVD_OK);
        REQUIRE(sum == sum_of_numbers());
    }
}

static int sum_floats(const char *name, float *data, size_t count, enum hvd_op op)
{
    return hvd_allreduce(name, data, data, count, HVD_FLOAT32, op);
}

/* ---- results ---- */

static void check_reductions(int i)
{
    float data[LARGE];
    int size = hvd_size(), rank = hvd_rank(), sum = sum_of_numbers();
    for (int k = 0; k < LARGE; k++)
        data[k] = (float)(rank + i + k);
    REQUIRE_STATUS(sum_floats("large", data, LARGE, HVD_SUM), HVD_OK);
    for (int k = 0; k < LARGE; k++)
        REQUIRE(data[k] == (float)(size * (i + k) + sum));
    double least = rank + i, mean = rank * 2 + i;
    REQUIRE_STATUS(hvd_allreduce("least", &least, &least, 1, HVD_FLOAT64, HVD_MIN), HVD_OK);
    REQUIRE(least == i);
    REQUIRE_STATUS(hvd_allreduce("mean", &mean, &mean, 1, HVD_FLOAT64, HVD_AVERAGE), HVD_OK);
    REQUIRE(mean == i + size - 1);
}

static void check_rows(int i)
{
    int32_t rows[RANKS_MAX], own = hvd_rank() * 1000 + i, value = hvd_rank() == 1 ? i : -1;
    float row[LARGE];
    REQUIRE_STATUS(hvd_allgather("rows", &own, rows, 1, HVD_INT32), HVD_OK);
    for (int rank = 0; rank < hvd_size(); rank++)
        REQUIRE(rows[rank] == rank * 1000 + i);
    REQUIRE_STATUS(hvd_broadcast("value", &value, 1, HVD_INT32, 1), HVD_OK);
    REQUIRE(value == i);
    for (int k = 0; k < LARGE; k++)
        row[k] = (float)(hvd_rank() == 0 ? i + k : -1);
    REQUIRE_STATUS(hvd_broadcast("values", row, LARGE, HVD_FLOAT32, 0), HVD_OK);
    REQUIRE(row[0] == (float)i && row[LARGE - 1] == (float)(i + LARGE - 1));
}

static void check_shares(int i)
{
    double whole[7], share[7];
    int64_t dims = 7;
    struct hvd_tensor tensor = { .name = "share",
                                 .input = whole,
                                 .output = share,
                                 .output_size = sizeof share,
                                 .dtype = HVD_FLOAT64,
                                 .ndims = 1,
                                 .dims = &dims };
    int64_t first = 0;
    for (int k = 0; k < 7; k++)
        whole[k] = hvd_rank() + 10 * k + i;
    REQUIRE_STATUS(hvd_reducescatter(&tensor, HVD_SUM, NULL), HVD_OK);
    for (int rank = 0; rank < hvd_rank(); rank++)
        first += hvd_share(7, hvd_size(), rank);
    for (int64_t k = 0; k < hvd_share(7, hvd_size(), hvd_rank()); k++)
        REQUIRE(share[k] == hvd_size() * (double)(10 * (first + k) + i) + sum_of_numbers());
}

/* Splits that differ among ranks and change from round to round. */
static int64_t rows_to(int from, int to, int i)
{
    return (i + from + 2 * to) % 3;
}

static void check_exchange(int i)
{
    int32_t given[2 * RANKS_MAX], got[2 * RANKS_MAX];
    int64_t splits[RANKS_MAX], dims = 0;
    struct hvd_result result;
    for (int to = 0; to < hvd_size(); to++) {
        splits[to] = rows_to(hvd_rank(), to, i);
        for (int64_t k = 0; k < splits[to]; k++)
            given[dims++] = 100 * hvd_rank() + 10 * to + i;
    }
    struct hvd_tensor tensor = { .name = "exchange",
                                 .input = given,
                                 .output = got,
                                 .output_size = sizeof got,
                                 .dtype = HVD_INT32,
                                 .ndims = 1,
                                 .dims = &dims };
    REQUIRE_STATUS(hvd_alltoall(&tensor, splits, hvd_size(), NULL, &result), HVD_OK);
    for (int from = 0, at = 0; from < hvd_size(); from++) {
        REQUIRE(result.rows[from] == rows_to(from, hvd_rank(), i));
        for (int64_t k = 0; k < result.rows[from]; k++)
            REQUIRE(got[at++] == 100 * from + 10 * hvd_rank() + i);
    }
    hvd_result_free(&result);
}

/* Too many rows to come with their numbers. */
static void check_large_exchange(int i)
{
    static float given[RANKS_MAX * LARGE], got[RANKS_MAX * LARGE];
    int64_t dims = (int64_t)hvd_size() * LARGE;
    int rank = hvd_rank();
    struct hvd_tensor tensor = { .name = "large exchange",
                                 .input = given,
                                 .output = got,
                                 .output_size = sizeof got,
                                 .dtype = HVD_FLOAT32,
                                 .ndims = 1,
                                 .dims = &dims };
    for (int64_t k = 0; k < dims; k++)
        given[k] = (float)(100 * rank + 10 * (k / LARGE) + i);
    REQUIRE_STATUS(hvd_alltoall(&tensor, NULL, 0, NULL, NULL), HVD_OK);
    for (int64_t k = 0; k < dims; k++)
        REQUIRE(got[k] == (float)(100 * (k / LARGE) + 10 * rank + i));
}

static int repeat_all_kinds(int rank)
{
    (void)rank;
    init_world();
    for (int i = 0; i < LEARNT; i++) {
        check_reductions(i);
        check_rows(i);
        check_shares(i);
        check_exchange(i);
        check_large_exchange(i);
        REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    }
    return leave_world();
}

START_TEST(a_schedule_of_all_kinds_has_the_right_results)
{
    ranks_run(&(struct mini_options){ .size = _i }, repeat_all_kinds);
}
END_TEST

START_TEST(a_schedule_of_all_kinds_has_the_right_results_between_hosts)
{
    ranks_run(&(struct mini_options){ .size = 3, .anywhere = true }, repeat_all_kinds);
}
END_TEST

/* The same sums to the bit, whether the root has made them or not. */
static int repeat_a_rounded_sum(int rank)
{
    float first = 0;
    init_world();
    for (int i = 0; i < LEARNT; i++) {
        float sum = 0.1f + (float)rank * 1e7f / 3;
        REQUIRE_STATUS(sum_floats("rounded", &sum, 1, HVD_SUM), HVD_OK);
        first = i == 0 ? sum : first;
        REQUIRE(memcmp(&first, &sum, sizeof sum) == 0);
    }
    return leave_world();
}

START_TEST(a_sum_is_rounded_as_it_was_before_the_schedule_was_learnt)
{
    ranks_run(&(struct mini_options){ .size = 5 }, repeat_a_rounded_sum);
}
END_TEST

/* ---- deviations ---- */

static int deviate_in_count(int rank)
{
    float data[3] = { 1, 1, 1 };
    init_world();
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < LEARNT; i++)
            REQUIRE_STATUS(sum_floats("grad", data, 2, HVD_MAX), HVD_OK);
        REQUIRE_STATUS(sum_floats("grad", data, rank == round % hvd_size() ? 3 : 2, HVD_MAX),
                       HVD_ERR_MISMATCH);
        require_text("allreduce 'grad'");
        require_text("[3]");
        require_text("[2]");
    }
    return leave_world();
}

START_TEST(another_shape_on_one_rank_is_an_error_that_names_it_and_the_world_goes_on)
{
    ranks_run(&(struct mini_options){ .size = _i }, deviate_in_count);
}
END_TEST

/* One rank has one more in between, and makes up for it later. */
static int deviate_in_order(int rank)
{
    int64_t handle;
    int32_t extra = 1;
    struct hvd_tensor tensor = {
        .name = "extra", .input = &extra, .output = &extra, .dtype = HVD_INT32
    };
    init_world();
    for (int round = 0; round < 20; round++) {
        bool first = rank == round % hvd_size();
        extra = 1;
        sum_rounds("a", 20 + round);
        if (first)
            REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
        sum_rounds("a", 20);
        if (!first)
            REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
        sum_rounds("b", 1);
        REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
        REQUIRE(extra == hvd_size());
    }
    return leave_world();
}

START_TEST(another_name_on_one_rank_waits_for_the_others)
{
    ranks_run(&(struct mini_options){ .size = _i }, deviate_in_order);
}
END_TEST

/* Two tensors in flight, submitted in another order by each rank; the first waits for the
 * second. */
static int swap_order(int rank)
{
    init_world();
    for (int i = 0; i < 3 * LEARNT; i++) {
        int32_t data[2] = { rank, rank };
        int64_t handles[2];
        bool swapped = i > LEARNT && (rank + i / 10) % 2;
        for (int k = 0; k < 2; k++) {
            int which = swapped ? 1 - k : k;
            struct hvd_tensor tensor = { .name = which ? "b" : "a",
                                         .input = &data[which],
                                         .output = &data[which],
                                         .dtype = HVD_INT32 };
            REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handles[k]), HVD_OK);
        }
        for (int k = 0; k < 2; k++)
            REQUIRE_STATUS(hvd_wait(handles[k]), HVD_OK);
        REQUIRE(data[0] == sum_of_numbers() && data[1] == sum_of_numbers());
    }
    return leave_world();
}

START_TEST(tensors_in_another_order_on_each_rank_are_all_reduced)
{
    ranks_run(&(struct mini_options){ .size = _i }, swap_order);
}
END_TEST

/* More tensors in flight than a rank may commit to. */
static int burst(int rank)
{
    enum { COUNT = 12 };
    static const char names[COUNT][2] = {
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"
    };
    init_world();
    for (int i = 0; i < LEARNT; i++) {
        int32_t data[COUNT];
        int64_t handles[COUNT];
        for (int k = 0; k < COUNT; k++) {
            struct hvd_tensor tensor = {
                .name = names[k], .input = &data[k], .output = &data[k], .dtype = HVD_INT32
            };
            data[k] = rank + k;
            REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handles[k]), HVD_OK);
            if (i < LEARNT / 2)
                REQUIRE_STATUS(hvd_wait(handles[k]), HVD_OK);
        }
        for (int k = 0; k < COUNT; k++) {
            if (i >= LEARNT / 2)
                REQUIRE_STATUS(hvd_wait(handles[k]), HVD_OK);
            REQUIRE(data[k] == sum_of_numbers() + k * hvd_size());
        }
    }
    return leave_world();
}

START_TEST(a_burst_of_tensors_is_reduced_although_the_schedule_was_learnt_one_by_one)
{
    ranks_run(&(struct mini_options){ .size = _i }, burst);
}
END_TEST

static int submit_twice(int rank)
{
    int64_t first, second;
    int32_t data = 1;
    struct hvd_tensor tensor = { .name = "a", .input = &data, .output = &data, .dtype = HVD_INT32 };
    init_world();
    sum_rounds("a", LEARNT);
    if (rank == 0) {
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &first), HVD_OK);
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &second), HVD_ERR_INVALID);
        require_text("a tensor of this name is in flight already");
        atomic_fetch_add(&shared->counters[0], 1);
        REQUIRE_STATUS(hvd_wait(first), HVD_OK);
    } else {
        wait_for(0, 1);
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &first), HVD_OK);
        REQUIRE_STATUS(hvd_wait(first), HVD_OK);
    }
    REQUIRE(data == 2);
    return leave_world();
}

START_TEST(a_name_that_is_in_flight_is_refused)
{
    ranks_run(&(struct mini_options){ .size = 2 }, submit_twice);
}
END_TEST

/* ---- ranks that join, come late, leave and die ---- */

static int join_after(int rank)
{
    int last;
    int32_t sum = rank;
    init_world();
    sum_rounds("a", LEARNT);
    if (rank != 1)
        REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    REQUIRE(rank == 1 || sum == sum_of_numbers() - 1);
    REQUIRE_STATUS(hvd_join(&last), HVD_OK);
    REQUIRE(last != 1);
    sum_rounds("a", LEARNT);
    return leave_world();
}

START_TEST(a_rank_that_joins_contributes_zeros)
{
    ranks_run(&(struct mini_options){ .size = 3 }, join_after);
}
END_TEST

/* Rank 1 joins behind a tensor that it has committed to; the others leave the steady state before
 * they submit that tensor. */
static int join_behind_a_tensor(int rank)
{
    int last;
    int64_t handle, dims = 1, before;
    int32_t data = rank;
    struct hvd_tensor tensor = {
        .name = "a", .input = &data, .output = &data, .dtype = HVD_INT32, .ndims = 1, .dims = &dims
    };
    init_world();
    sum_rounds("a", LEARNT);
    before = hvd_bytes_sent();
    if (rank != 1)
        atomic_fetch_add(&shared->counters[0], 1);
    else
        wait_for(0, hvd_size() - 1);
    while (rank != 1 && hvd_bytes_sent() == before)
        usleep(1000);
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_join(&last), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    REQUIRE(data == sum_of_numbers());
    return leave_world();
}

START_TEST(a_join_comes_behind_tensors_that_were_committed_to)
{
    ranks_run(&(struct mini_options){ .size = _i }, join_behind_a_tensor);
}
END_TEST

/* Arguments that the first rounds did not have are checked as ever. */
static int repeat_with_mistakes(int rank)
{
    float data[3] = { 1, 1, 1 };
    (void)rank;
    init_world();
    for (int i = 0; i < LEARNT; i++)
        REQUIRE_STATUS(hvd_allreduce("x", data, data, 2, HVD_FLOAT32, HVD_MAX), HVD_OK);
    REQUIRE_STATUS(hvd_allreduce("x", data, data + 1, 2, HVD_FLOAT32, HVD_MAX), HVD_ERR_INVALID);
    require_text("input and output overlap");
    REQUIRE_STATUS(hvd_allreduce("x", NULL, data, 2, HVD_FLOAT32, HVD_MAX), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_allreduce("x", data, data, 2, HVD_FLOAT32, HVD_MAX), HVD_OK);
    return leave_world();
}

START_TEST(mistakes_are_refused_as_before_the_schedule_was_learnt)
{
    ranks_run(&(struct mini_options){ .size = 2 }, repeat_with_mistakes);
}
END_TEST

/* The same for a call that gives input and output of their own sizes. */
static int repeat_shares_with_mistakes(int rank)
{
    double data[12] = { 0 };
    int64_t dims = 8;
    struct hvd_tensor right = { .name = "share",
                                .input = data,
                                .output = data + 8,
                                .output_size = 4 * sizeof *data,
                                .dtype = HVD_FLOAT64,
                                .ndims = 1,
                                .dims = &dims };
    struct hvd_tensor wrong[] = { right, right, right, right };
    wrong[0].input = NULL;
    wrong[1].output = NULL;
    wrong[2].output_size--;
    wrong[3].output = data + 7;
    (void)rank;
    init_world();
    for (int i = 0; i < LEARNT; i++)
        REQUIRE_STATUS(hvd_reducescatter(&right, HVD_SUM, NULL), HVD_OK);
    for (int i = 0; i < 4; i++)
        REQUIRE_STATUS(hvd_reducescatter(&wrong[i], HVD_SUM, NULL), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_reducescatter(&right, HVD_SUM, NULL), HVD_OK);
    return leave_world();
}

START_TEST(mistakes_in_a_share_are_refused_as_before_the_schedule_was_learnt)
{
    ranks_run(&(struct mini_options){ .size = 2 }, repeat_shares_with_mistakes);
}
END_TEST

static int add_sets_in_between(int rank)
{
    (void)rank;
    init_world();
    for (int i = 0; i < 3; i++) {
        sum_rounds("a", LEARNT);
        int set = hvd_add_process_set((int[]){ 0, 1 }, 2);
        REQUIRE(set > 0);
        sum_rounds("a", LEARNT);
        REQUIRE_STATUS(hvd_remove_process_set(set), HVD_OK);
    }
    return leave_world();
}

START_TEST(process_sets_come_and_go_in_between)
{
    ranks_run(&(struct mini_options){ .size = 3 }, add_sets_in_between);
}
END_TEST

/* Rank 0 waits until it leaves the steady state, which makes rank 1 answer. */
static int come_late(int rank)
{
    init_world();
    sum_rounds("a", LEARNT);
    int64_t before = hvd_bytes_sent();
    if (rank == 1)
        atomic_fetch_add(&shared->counters[0], 1);
    else
        wait_for(0, 1);
    while (rank == 1 && hvd_bytes_sent() == before)
        usleep(1000);
    sum_rounds("a", LEARNT);
    return leave_world();
}

START_TEST(a_rank_that_comes_late_is_waited_for)
{
    ranks_run(&(struct mini_options){ .size = 2 }, come_late);
}
END_TEST

static int leave_after(int rank)
{
    int32_t sum;
    init_world();
    sum_rounds("a", LEARNT);
    if (rank == 1)
        return leave_world();
    REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_ERR_PEER_LEFT);
    require_text("allreduce 'a': rank 1 on testhost left (hvd_shutdown or exit)");
    return leave_world();
}

START_TEST(a_rank_that_leaves_is_named)
{
    ranks_run(&(struct mini_options){ .size = _i }, leave_after);
}
END_TEST

static int leave_at_round;

/* Rank 1 does not wait for its last tensor: the others may get it, and begin a steady state that
 * rank 1 does not hear of. */
static int leave_with_a_tensor_in_flight(int rank)
{
    int32_t sum = rank;
    int64_t handle, dims = 1;
    struct hvd_tensor tensor = {
        .name = "a", .input = &sum, .output = &sum, .dtype = HVD_INT32, .ndims = 1, .dims = &dims
    };
    init_world();
    sum_rounds("a", leave_at_round);
    if (rank == 1) {
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
        return leave_world();
    }
    int rc = sum_of_ranks("a", &sum);
    if (rc == HVD_OK)
        rc = sum_of_ranks("a", &sum);
    REQUIRE_STATUS(rc, HVD_ERR_PEER_LEFT);
    require_text("allreduce 'a': rank 1 on testhost left (hvd_shutdown or exit)");
    return leave_world();
}

START_TEST(a_rank_that_leaves_while_the_others_learn_a_schedule_is_named)
{
    for (leave_at_round = 13; leave_at_round < 18; leave_at_round++)
        ranks_run(&(struct mini_options){ .size = _i }, leave_with_a_tensor_in_flight);
}
END_TEST

static int die_after(int rank)
{
    int32_t sum;
    init_world();
    sum_rounds("a", LEARNT);
    if (rank == 1)
        kill(getpid(), SIGKILL);
    REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_ERR_PEER_LOST);
    require_text("rank 1");
    return leave_world();
}

START_TEST(a_rank_that_is_killed_is_named)
{
    ranks_run_but(&(struct mini_options){ .size = _i }, die_after, 1);
}
END_TEST

/* ---- numbers that run out ---- */

/* As if so many operations had been done; all ranks have done the same ones, and nothing is under
 * way. */
static void pretend_done(uint32_t number)
{
    struct err err;
    struct world *world = process_enter(&err);
    REQUIRE(world != NULL);
    struct engine *engine = world_engine(world);
    engine_lock(engine);
    struct steady *steady = &engine->sets.at[0]->steady.state;
    REQUIRE(steady->phase == STEADY_ON && steady->committed == steady->done);
    steady->committed = steady->done = number;
    for (int rank = 0; rank < steady->size; rank++)
        steady->received[rank] = number;
    engine_unlock(engine);
    process_exit();
}

static uint32_t steady_number(void)
{
    struct err err;
    struct world *world = process_enter(&err);
    REQUIRE(world != NULL);
    struct engine *engine = world_engine(world);
    engine_lock(engine);
    uint32_t number = engine->sets.at[0]->steady.state.committed;
    engine_unlock(engine);
    process_exit();
    return number;
}

/* So many tensors before the last number of a steady state. */
enum { LEFT = 10 };

static void use_most_numbers(void)
{
    init_world();
    sum_rounds("a", LEARNT);
    atomic_fetch_add(&shared->counters[0], 1);
    wait_for(0, hvd_size());
    pretend_done(STEADY_MOST - LEFT);
    atomic_fetch_add(&shared->counters[1], 1);
    wait_for(1, hvd_size());
}

static int use_all_numbers(int rank)
{
    (void)rank;
    use_most_numbers();
    for (int i = 0; i < 2 * LEARNT; i++) {
        sum_rounds("a", 1);
        REQUIRE(steady_number() <= STEADY_MOST);
    }
    REQUIRE(steady_number() <= 2 * LEARNT);
    return leave_world();
}

START_TEST(ranks_that_have_used_all_numbers_agree_and_learn_the_schedule_again)
{
    ranks_run(&(struct mini_options){ .size = _i }, use_all_numbers);
}
END_TEST

/* Tensors in flight are held, since only some of them can be committed to. */
static int use_all_numbers_in_flight(int rank)
{
    use_most_numbers();
    for (int i = 0; i < 2 * LEARNT; i++) {
        int64_t handle;
        int32_t data = rank;
        struct hvd_tensor tensor = {
            .name = "a", .input = &data, .output = &data, .dtype = HVD_INT32
        };
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
        REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
        REQUIRE(data == sum_of_numbers());
        REQUIRE(steady_number() <= STEADY_MOST);
    }
    REQUIRE(steady_number() <= 2 * LEARNT);
    return leave_world();
}

START_TEST(tensors_in_flight_that_find_no_number_are_agreed_on)
{
    ranks_run(&(struct mini_options){ .size = _i }, use_all_numbers_in_flight);
}
END_TEST

/* ---- threads ---- */

static void *sum_in_thread(void *name)
{
    sum_rounds(name, 20 * LEARNT);
    return NULL;
}

static int two_threads(int rank)
{
    pthread_t thread;
    (void)rank;
    init_world();
    sum_rounds("a", LEARNT);
    REQUIRE(pthread_create(&thread, NULL, sum_in_thread, "b") == 0);
    sum_rounds("a", 20 * LEARNT);
    pthread_join(thread, NULL);
    sum_rounds("a", LEARNT);
    return leave_world();
}

START_TEST(threads_with_schedules_of_their_own_get_their_results)
{
    ranks_run(&(struct mini_options){ .size = _i }, two_threads);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_steady");
    TCase *tcase = tcase_create("world_steady");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    ranks_add_test(tcase, a_schedule_of_all_kinds_has_the_right_results, 2, 6);
    tcase_add_test(tcase, a_schedule_of_all_kinds_has_the_right_results_between_hosts);
    tcase_add_test(tcase, a_sum_is_rounded_as_it_was_before_the_schedule_was_learnt);
    ranks_add_test(tcase, another_shape_on_one_rank_is_an_error_that_names_it_and_the_world_goes_on,
                   2, 5);
    ranks_add_test(tcase, another_name_on_one_rank_waits_for_the_others, 2, 5);
    ranks_add_test(tcase, tensors_in_another_order_on_each_rank_are_all_reduced, 2, 5);
    ranks_add_test(tcase, a_burst_of_tensors_is_reduced_although_the_schedule_was_learnt_one_by_one,
                   2, 5);
    tcase_add_test(tcase, a_name_that_is_in_flight_is_refused);
    tcase_add_test(tcase, a_rank_that_joins_contributes_zeros);
    ranks_add_test(tcase, a_join_comes_behind_tensors_that_were_committed_to, 2, 4);
    tcase_add_test(tcase, mistakes_are_refused_as_before_the_schedule_was_learnt);
    tcase_add_test(tcase, mistakes_in_a_share_are_refused_as_before_the_schedule_was_learnt);
    tcase_add_test(tcase, process_sets_come_and_go_in_between);
    tcase_add_test(tcase, a_rank_that_comes_late_is_waited_for);
    ranks_add_test(tcase, a_rank_that_leaves_is_named, 2, 5);
    ranks_add_test(tcase, a_rank_that_leaves_while_the_others_learn_a_schedule_is_named, 2, 5);
    ranks_add_test(tcase, a_rank_that_is_killed_is_named, 2, 5);
    ranks_add_test(tcase, ranks_that_have_used_all_numbers_agree_and_learn_the_schedule_again, 2,
                   5);
    ranks_add_test(tcase, tensors_in_flight_that_find_no_number_are_agreed_on, 2, 5);
    ranks_add_test(tcase, threads_with_schedules_of_their_own_get_their_results, 2, 3);
    return unit_run(suite);
}
