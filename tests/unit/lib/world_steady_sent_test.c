/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds over TCP that repeat operations of some KiB: in the steady state the data come with the
 * commitment (lib/engine/set_steady_sent.c). Results stay right, errors name ranks and values, and
 * nobody waits for ever. */
#include "lib/engine/set_steady_impl.h"
#include "lib/hvd.h"
#include "lib/process.h"
#include "lib/world.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* LEARNT: so many rounds are more than a schedule needs. ROWS: of each rank, or for each rank; no
 * agreement carries so many. MANY: too many for a commitment. */
enum { LEARNT = 60, ROWS = 2500, MANY = 40000, MOST = RANKS_MAX * MANY };

static float given[MOST], got[MOST];

static void init_world_over_tcp(void)
{
    setenv("HVD_TRANSPORT", "tcp", 1);
    init_world();
}

/* True if the next operation of a schedule is sent with the commitment. The other ranks may leave
 * the steady state at any time: a rank that comes a second late ends it, and it is learnt again. */
static bool is_sent(void)
{
    struct err err;
    bool sent = false;
    struct world *world = process_enter(&err);
    REQUIRE(world != NULL);
    struct engine *engine = world_engine(world);
    engine_lock(engine);
    const struct set_steady *steady = &engine->sets.at[0]->steady;
    uint32_t number = steady->state.committed;
    if (steady->state.phase == STEADY_ON)
        sent = steady->schedule[number % (uint32_t)steady->count].what.choice.algorithm ==
               SCHEDULED_SENT;
    engine_unlock(engine);
    process_exit();
    return sent;
}

static float value(int from, int to, int64_t k, int round)
{
    return (float)(1000 * from + 100 * to + round) + (float)(k % 7);
}

static struct hvd_tensor tensor_of(const char *name, int64_t *dims, void *output)
{
    return (struct hvd_tensor){ .name = name,
                                .input = given,
                                .output = output,
                                .output_size = sizeof got,
                                .dtype = HVD_FLOAT32,
                                .ndims = 1,
                                .dims = dims };
}

/* ---- results: one kind is repeated, in blocking calls and then in others ---- */

/* Submits and waits, or calls. */
static void finish(int rc, const int64_t *handle)
{
    REQUIRE_STATUS(rc, HVD_OK);
    if (*handle >= 0)
        REQUIRE_STATUS(hvd_wait(*handle), HVD_OK);
}

static void check_sum(int round, bool is_async)
{
    int64_t dims = ROWS, handle = -1;
    struct hvd_tensor tensor = tensor_of("sum", &dims, given);
    int size = hvd_size(), rank = hvd_rank();
    for (int64_t k = 0; k < ROWS; k++)
        given[k] = value(rank, 0, k, round);
    finish(is_async ? hvd_allreduce_async(&tensor, HVD_AVERAGE, NULL, &handle)
                    : hvd_allreduce("sum", given, given, ROWS, HVD_FLOAT32, HVD_AVERAGE),
           &handle);
    for (int64_t k = 0; k < ROWS; k++)
        REQUIRE(given[k] == (float)(500 * (size - 1) + round) + (float)(k % 7));
}

static void check_share(int round, bool is_async)
{
    int size = hvd_size(), rank = hvd_rank();
    int64_t dims = ROWS * size + 1, handle = -1, first = 0;
    struct hvd_tensor tensor = tensor_of("share", &dims, got);
    for (int64_t k = 0; k < dims; k++)
        given[k] = value(rank, 0, k, round);
    finish(is_async ? hvd_reducescatter_async(&tensor, HVD_SUM, NULL, &handle)
                    : hvd_reducescatter(&tensor, HVD_SUM, NULL),
           &handle);
    for (int i = 0; i < rank; i++)
        first += hvd_share(dims, size, i);
    for (int64_t k = 0; k < hvd_share(dims, size, rank); k++)
        REQUIRE(got[k] == (float)(500 * size * (size - 1)) +
                              (float)size * ((float)round + (float)((first + k) % 7)));
}

/* Ranks have different numbers of rows; asynchronous ones give their input in the output. */
static void check_gather(int round, bool is_async)
{
    int64_t dims = ROWS + hvd_rank() + round % 2, handle = -1, before = 0;
    struct hvd_tensor tensor = tensor_of("gather", &dims, got);
    for (int rank = 0; rank < hvd_rank(); rank++)
        before += ROWS + rank + round % 2;
    float *input = is_async ? got + before : given;
    tensor.input = input;
    for (int64_t k = 0; k < dims; k++)
        input[k] = value(hvd_rank(), 0, k, round);
    finish(is_async ? hvd_allgather_async(&tensor, NULL, &handle)
                    : hvd_allgather_tensor(&tensor, NULL, NULL),
           &handle);
    const float *at = got;
    for (int rank = 0; rank < hvd_size(); rank++)
        for (int64_t k = 0; k < ROWS + rank + round % 2; k++)
            REQUIRE(*at++ == value(rank, 0, k, round));
}

static int64_t rows_to(int from, int to, int round)
{
    return ROWS + (round + from + 2 * to) % 3;
}

static void check_exchange(int round, bool is_async)
{
    int64_t splits[RANKS_MAX], dims = 0, handle = -1;
    for (int to = 0; to < hvd_size(); to++) {
        splits[to] = rows_to(hvd_rank(), to, round);
        for (int64_t k = 0; k < splits[to]; k++)
            given[dims++] = value(hvd_rank(), to, k, round);
    }
    struct hvd_tensor tensor = tensor_of("exchange", &dims, got);
    if (is_async)
        finish(hvd_alltoall_async(&tensor, splits, hvd_size(), NULL, &handle), &handle);
    else
        finish(hvd_alltoall(&tensor, splits, hvd_size(), NULL, NULL), &handle);
    const float *at = got;
    for (int from = 0; from < hvd_size(); from++)
        for (int64_t k = 0; k < rows_to(from, hvd_rank(), round); k++)
            REQUIRE(*at++ == value(from, hvd_rank(), k, round));
}

static void check_value(int round, bool is_async)
{
    int64_t dims = ROWS, handle = -1;
    struct hvd_tensor tensor = tensor_of("value", &dims, got);
    for (int64_t k = 0; k < ROWS; k++)
        got[k] = hvd_rank() == 1 ? value(1, 0, k, round) : -1;
    finish(is_async ? hvd_broadcast_async(&tensor, 1, NULL, &handle)
                    : hvd_broadcast("value", got, ROWS, HVD_FLOAT32, 1),
           &handle);
    for (int64_t k = 0; k < ROWS; k++)
        REQUIRE(got[k] == value(1, 0, k, round));
}

/* An allreduce of more than two ranks is not sent: its sum would be rounded in another way. */
static const struct {
    void (*check)(int round, bool is_async);
    int most_ranks;
} kinds[] = { { check_sum, 2 },
              { check_share, STEADY_RANKS_MAX },
              { check_gather, STEADY_RANKS_MAX },
              { check_exchange, STEADY_RANKS_MAX },
              { check_value, STEADY_RANKS_MAX } };

static size_t kind_number;

static int repeat_a_kind(int rank)
{
    bool was_sent = false, was_sent_async = false;
    (void)rank;
    init_world_over_tcp();
    for (int round = 0; round < 2 * LEARNT; round++) {
        bool is_async = round > LEARNT && round % 2 == 0;
        bool *was = is_async ? &was_sent_async : &was_sent;
        *was |= is_sent();
        kinds[kind_number].check(round, is_async);
    }
    REQUIRE((was_sent && was_sent_async) == (hvd_size() <= kinds[kind_number].most_ranks));
    return leave_world();
}

START_TEST(what_each_rank_sends_to_each_other_one_has_the_right_results)
{
    for (kind_number = 0; kind_number < sizeof kinds / sizeof *kinds; kind_number++)
        ranks_run(&(struct mini_options){ .size = _i }, repeat_a_kind);
}
END_TEST

/* Several operations at once: some are committed to before the first of them is done. */
static int submit_many(int rank)
{
    enum { COUNT = 7 };
    static const char names[COUNT][2] = { "a", "b", "c", "d", "e", "f", "g" };
    static float data[COUNT][ROWS];
    bool was_sent = false;
    init_world_over_tcp();
    for (int round = 0; round < LEARNT; round++) {
        was_sent |= is_sent();
        int64_t handles[COUNT], dims = ROWS;
        for (int i = 0; i < COUNT; i++) {
            struct hvd_tensor tensor = tensor_of(names[i], &dims, data[i]);
            for (int64_t k = 0; k < ROWS; k++)
                data[i][k] = rank == i % 2 ? value(rank, i, k, round) : -1;
            REQUIRE_STATUS(hvd_broadcast_async(&tensor, i % 2, NULL, &handles[i]), HVD_OK);
        }
        for (int i = 0; i < COUNT; i++) {
            REQUIRE_STATUS(hvd_wait(handles[i]), HVD_OK);
            for (int64_t k = 0; k < ROWS; k++)
                REQUIRE(data[i][k] == value(i % 2, i, k, round));
        }
    }
    REQUIRE(was_sent);
    return leave_world();
}

START_TEST(many_that_are_sent_at_once_have_the_right_results)
{
    ranks_run(&(struct mini_options){ .size = _i }, submit_many);
}
END_TEST

/* The same sums to the bit, whether the data are moved after the agreement or sent with the
 * commitment. */
static int repeat_a_rounded_share(int rank)
{
    static float first[MOST];
    bool was_sent = false;
    init_world_over_tcp();
    int64_t dims = (int64_t)ROWS * hvd_size();
    struct hvd_tensor tensor = tensor_of("rounded", &dims, got);
    for (int64_t k = 0; k < dims; k++)
        given[k] = 0.1f + (float)(rank + 1) * 1e7f / (float)(3 + k % 11);
    for (int round = 0; round < LEARNT; round++) {
        was_sent |= is_sent();
        REQUIRE_STATUS(hvd_reducescatter(&tensor, HVD_SUM, NULL), HVD_OK);
        if (round == 0)
            memcpy(first, got, ROWS * sizeof *got);
        REQUIRE(memcmp(first, got, ROWS * sizeof *got) == 0);
    }
    REQUIRE(was_sent);
    return leave_world();
}

START_TEST(a_share_is_rounded_as_it_was_before_the_schedule_was_learnt)
{
    ranks_run(&(struct mini_options){ .size = _i }, repeat_a_rounded_share);
}
END_TEST

/* ---- deviations ---- */

static void gather_rows(const char *name, int64_t rows, int expected)
{
    struct hvd_tensor tensor = tensor_of(name, &rows, got);
    REQUIRE_STATUS(hvd_allgather_tensor(&tensor, NULL, NULL), expected);
}

/* A schedule is looked for later after each steady state that was short. */
static void gather_until_learnt(int round)
{
    bool was_sent = false;
    for (int i = 0; i < LEARNT << round; i++) {
        was_sent |= is_sent();
        gather_rows("rows", ROWS, HVD_OK);
    }
    REQUIRE(was_sent);
}

/* More rows on one rank than may go with a commitment: this rank asks again, and all agree. */
static int give_too_many_rows(int rank)
{
    init_world_over_tcp();
    for (int round = 0; round < 3; round++) {
        gather_until_learnt(round);
        given[0] = (float)round;
        gather_rows("rows", rank == round % hvd_size() ? MANY : ROWS, HVD_OK);
        REQUIRE(got[0] == (float)round);
        REQUIRE(!is_sent());
    }
    return leave_world();
}

START_TEST(too_many_rows_on_one_rank_are_agreed_on_and_moved)
{
    ranks_run(&(struct mini_options){ .size = _i }, give_too_many_rows);
}
END_TEST

/* The result does not fit on one rank: an error there, and nothing else. */
static int give_too_little_room(int rank)
{
    init_world_over_tcp();
    gather_until_learnt(0);
    int64_t dims = ROWS;
    struct hvd_tensor tensor = tensor_of("rows", &dims, got);
    tensor.output_size = rank == 1 ? (ROWS + 1) * sizeof *got : sizeof got;
    REQUIRE_STATUS(hvd_allgather_tensor(&tensor, NULL, NULL), rank == 1 ? HVD_ERR_INVALID : HVD_OK);
    if (rank == 1)
        require_text("output has room for");
    gather_rows("rows", ROWS, HVD_OK);
    return leave_world();
}

START_TEST(too_little_room_is_an_error_of_that_rank_alone)
{
    ranks_run(&(struct mini_options){ .size = _i }, give_too_little_room);
}
END_TEST

static int deviate_in_root(int rank)
{
    init_world_over_tcp();
    for (int round = 0; round < 3; round++) {
        bool was_sent = false;
        for (int i = 0; i < LEARNT << round; i++) {
            was_sent |= is_sent();
            check_value(i, false);
        }
        REQUIRE(was_sent);
        int root = rank == round % hvd_size() ? 0 : 1;
        REQUIRE_STATUS(hvd_broadcast("value", got, ROWS, HVD_FLOAT32, root), HVD_ERR_MISMATCH);
        require_text("broadcast 'value'");
        require_text("root");
    }
    return leave_world();
}

START_TEST(another_root_on_one_rank_is_an_error_that_names_it_and_the_world_goes_on)
{
    ranks_run(&(struct mini_options){ .size = _i }, deviate_in_root);
}
END_TEST

static int die_after(int rank)
{
    init_world_over_tcp();
    gather_until_learnt(0);
    if (rank == 1)
        kill(getpid(), SIGKILL);
    gather_rows("rows", ROWS, HVD_ERR_PEER_LOST);
    require_text("rank 1");
    return leave_world();
}

START_TEST(a_rank_that_is_killed_is_named)
{
    ranks_run_but(&(struct mini_options){ .size = _i }, die_after, 1);
}
END_TEST

/* ---- frames that no rank makes: rank 1 sends one in place of its commitment ---- */

static void sum_given(int expected)
{
    REQUIRE_STATUS(hvd_allreduce("sum", given, got, ROWS, HVD_FLOAT32, HVD_SUM), expected);
}

static void gather_many_rows(int expected)
{
    gather_rows("rows", ROWS, expected);
}

static void gather_one_row(int expected)
{
    gather_rows("row", 1, expected);
}

enum { IN_ALL = sizeof(float) * ROWS };

static const struct wrong_frame {
    void (*repeated)(int expected);
    enum tree_frame type;
    size_t head;     /* its first so many bytes */
    uint32_t digest; /* differs in these bits */
    uint64_t rows;
    size_t nbytes; /* of data */
    const char *text;
} wrong_frames[] = {
    { gather_many_rows, TREE_SENT, 19, 0, ROWS, 0, "wrong length" },
    { gather_many_rows, TREE_SENT, 20, 0, MANY, SENT_GREATEST + 4, "wrong length" },
    { gather_many_rows, TREE_SENT, 20, 1, ROWS, IN_ALL, "for another one" },
    { gather_many_rows, TREE_SENT, 20, 0, ROWS + 1, IN_ALL, "for another one" },
    { gather_many_rows, TREE_SENT, 20, 0, ROWS, IN_ALL + 1, "for another one" },
    { gather_many_rows, TREE_STEADY, 20, 0, 1, 4, "for another one" },
    { gather_one_row, TREE_SENT, 20, 0, 1, 4, "for another one" },
    { gather_one_row, TREE_SENT, 20, 0, ROWS, IN_ALL, "for another one" },
    { sum_given, TREE_SENT, 20, 0, 0, IN_ALL - 4, "for another one" },
    { sum_given, TREE_SENT, 20, 0, 0, IN_ALL + 4, "for another one" },
    { sum_given, TREE_SENT, 20, 0, 0, 0, "for another one" },
    { sum_given, TREE_SENT, 20, 0, ROWS, IN_ALL, "for another one" },
};

static size_t wrong_number;

static void put_wrong_frame(const struct wrong_frame *wrong)
{
    struct err err;
    unsigned char head[20];
    struct wire_writer writer = { .data = head, .capacity = sizeof head };
    struct world *world = process_enter(&err);
    REQUIRE(world != NULL);
    struct engine *engine = world_engine(world);
    engine_lock(engine);
    struct process_set *set = engine->sets.at[0];
    uint32_t number = set->steady.state.committed;
    REQUIRE(set->steady.state.phase == STEADY_ON && number == set->steady.state.done);
    steady_put_head(&writer, set->steady.state.epoch, number);
    wire_put_u32(&writer, steady_operation_at(set, number)->digest ^ wrong->digest);
    wire_put_u64(&writer, wrong->rows);
    tree_link_put_parts(set_tree_at(set, 0), wrong->type, head, wrong->head, given, wrong->nbytes);
    while (!set_is_flushed(set))
        engine_move(engine);
    progress_wake(engine); /* as progress_sleep.c asks who moves data without it */
    engine_unlock(engine);
    process_exit();
}

static bool is_on(void)
{
    struct err err;
    struct world *world = process_enter(&err);
    REQUIRE(world != NULL);
    struct engine *engine = world_engine(world);
    engine_lock(engine);
    bool is_on = engine->sets.at[0]->steady.state.phase == STEADY_ON;
    engine_unlock(engine);
    process_exit();
    return is_on;
}

/* Until no rank has left the steady state; while nothing is in flight, none leaves it. */
static void repeat_until_all_are_on(const struct wrong_frame *wrong)
{
    int awaited = 0, were_on = 0, are_on = 0;
    while (are_on - were_on < 2) {
        were_on = are_on;
        for (int i = 0; i < LEARNT; i++)
            wrong->repeated(HVD_OK);
        atomic_fetch_add(&shared->counters[0], is_on());
        atomic_fetch_add(&shared->counters[1], 1);
        wait_for(1, awaited += 2);
        are_on = atomic_load(&shared->counters[0]);
        atomic_fetch_add(&shared->counters[2], 1);
        wait_for(2, awaited);
    }
}

static int send_wrong_frame(int rank)
{
    const struct wrong_frame *wrong = &wrong_frames[wrong_number];
    init_world_over_tcp();
    repeat_until_all_are_on(wrong);
    if (rank == 1) {
        put_wrong_frame(wrong);
        wait_for(3, 1);
        return leave_world();
    }
    wrong->repeated(HVD_ERR_PROTOCOL);
    require_text("rank 1");
    require_text(wrong->text);
    atomic_fetch_add(&shared->counters[3], 1);
    return leave_world();
}

START_TEST(a_frame_for_another_operation_or_of_another_size_is_refused_and_its_rank_named)
{
    wrong_number = (size_t)_i;
    ranks_run(&(struct mini_options){ .size = 2 }, send_wrong_frame);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_steady_sent");
    TCase *tcase = tcase_create("world_steady_sent");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    ranks_add_test(tcase, what_each_rank_sends_to_each_other_one_has_the_right_results, 2, 5);
    ranks_add_test(tcase, many_that_are_sent_at_once_have_the_right_results, 2, 3);
    ranks_add_test(tcase, a_share_is_rounded_as_it_was_before_the_schedule_was_learnt, 2, 5);
    ranks_add_test(tcase, too_many_rows_on_one_rank_are_agreed_on_and_moved, 2, 3);
    ranks_add_test(tcase, too_little_room_is_an_error_of_that_rank_alone, 2, 3);
    ranks_add_test(tcase, another_root_on_one_rank_is_an_error_that_names_it_and_the_world_goes_on,
                   2, 3);
    ranks_add_test(tcase, a_rank_that_is_killed_is_named, 2, 3);
    tcase_add_loop_test(
        tcase, a_frame_for_another_operation_or_of_another_size_is_refused_and_its_rank_named, 0,
        sizeof wrong_frames / sizeof *wrong_frames);
    return unit_run(suite);
}
