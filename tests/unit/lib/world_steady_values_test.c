/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds that repeat a schedule: the results of all collectives stay right, also with threads and
 * when the numbers of a steady state run out. */
#include "lib/engine/engine_impl.h"
#include "lib/hvd.h"
#include "lib/process.h"
#include "lib/world.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <string.h>

/* LEARNT: so many rounds are more than a schedule needs. LARGE: elements that do not go with a
 * commitment. */
enum { LEARNT = 100, LARGE = 5000 };

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
    Suite *suite = suite_create("world_steady_values");
    TCase *tcase = tcase_create("world_steady_values");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    ranks_add_test(tcase, a_schedule_of_all_kinds_has_the_right_results, 2, 6);
    tcase_add_test(tcase, a_schedule_of_all_kinds_has_the_right_results_between_hosts);
    tcase_add_test(tcase, a_sum_is_rounded_as_it_was_before_the_schedule_was_learnt);
    ranks_add_test(tcase, ranks_that_have_used_all_numbers_agree_and_learn_the_schedule_again, 2,
                   5);
    ranks_add_test(tcase, tensors_in_flight_that_find_no_number_are_agreed_on, 2, 5);
    ranks_add_test(tcase, threads_with_schedules_of_their_own_get_their_results, 2, 3);
    return unit_run(suite);
}
