/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of many tensors: places and turns, and every order of events of two ranks whose
 * programs submit tensors in any order, wait for any tensor at any time, and submit one that the
 * schedule does not have. */
#include "lib/negotiation/steady.h"
#include "lib/negotiation/steady_round.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

/* ---- places ---- */

static struct steady_round round_of;
static int owners[8];

/* Operations {0, 1, 2} and {3}: slots 10 to 13. */
static const struct schedule two_operations = { .count = 2,
                                                .ntensors = 4,
                                                .operations = { { 0, 3, { -1, 0 } },
                                                                { 3, 1, { -1, 0 } } },
                                                .slots = { 10, 11, 12, 13 } };

static void set_up(void)
{
    steady_round_begin(&round_of, &two_operations);
}

static void put_slot(int slot)
{
    int place = steady_round_find(&round_of, slot, 0);
    ck_assert_int_ge(place, 0);
    steady_round_put(&round_of, place, &owners[place]);
}

START_TEST(an_operation_is_complete_when_its_tensors_are_there_in_any_order)
{
    put_slot(12);
    put_slot(10);
    ck_assert(!steady_round_is_complete(&round_of, 0, 0));
    put_slot(11);
    ck_assert(steady_round_is_complete(&round_of, 0, 0));
    ck_assert(!steady_round_is_complete(&round_of, 1, 0));
}
END_TEST

START_TEST(a_tensor_that_is_there_has_no_second_place)
{
    put_slot(12);
    ck_assert_int_eq(steady_round_find(&round_of, 12, 0), -1);
    ck_assert_int_eq(steady_round_find(&round_of, 99, 0), -1);
}
END_TEST

START_TEST(a_rank_is_stuck_while_it_holds_tensors_and_the_next_operation_is_not_complete)
{
    ck_assert(!steady_round_is_stuck(&round_of, 0, 0));
    put_slot(13);
    ck_assert(steady_round_is_stuck(&round_of, 0, 0));
    for (int slot = 10; slot < 13; slot++)
        put_slot(slot);
    ck_assert(!steady_round_is_stuck(&round_of, 0, 0));
    steady_round_commit(&round_of, 0);
    ck_assert(!steady_round_is_stuck(&round_of, 1, 0));
}
END_TEST

START_TEST(an_operation_that_is_not_done_is_not_complete_for_the_next_round)
{
    for (int slot = 10; slot < 14; slot++)
        put_slot(slot);
    steady_round_commit(&round_of, 0);
    steady_round_commit(&round_of, 1);
    ck_assert(!steady_round_is_complete(&round_of, 2, 0));
    steady_round_done(&round_of, 0);
    ck_assert(!steady_round_is_complete(&round_of, 2, 1));
    for (int slot = 10; slot < 13; slot++)
        put_slot(slot);
    ck_assert(steady_round_is_complete(&round_of, 2, 1));
}
END_TEST

START_TEST(tensors_that_are_there_are_told_with_their_operations_and_taken_out)
{
    struct steady_cursor cursor = { 0 };
    uint32_t number;
    put_slot(13);
    put_slot(11);
    ck_assert_ptr_eq(steady_round_next(&round_of, &cursor, 4, &number), &owners[1]);
    ck_assert_uint_eq(number, 4);
    ck_assert_ptr_eq(steady_round_next(&round_of, &cursor, 3, &number), &owners[3]);
    ck_assert_uint_eq(number, 3);
    ck_assert_ptr_null(steady_round_next(&round_of, &cursor, 4, &number));
    ck_assert_ptr_eq(steady_round_take(&round_of), &owners[1]);
    ck_assert_ptr_eq(steady_round_take(&round_of), &owners[3]);
    ck_assert_ptr_null(steady_round_take(&round_of));
}
END_TEST

START_TEST(operations_that_are_done_are_counted_in_tensors)
{
    ck_assert_uint_eq(steady_round_tensors(&round_of, 0), 0);
    ck_assert_uint_eq(steady_round_tensors(&round_of, 1), 3);
    ck_assert_uint_eq(steady_round_tensors(&round_of, 2), 4);
    ck_assert_uint_eq(steady_round_tensors(&round_of, 7), 15);
    ck_assert_uint_eq(steady_round_tensors(&round_of, UINT32_MAX), 2ull * UINT32_MAX + 1);
}
END_TEST

/* ---- every order of events ---- */

/* STRANGE: a tensor that the schedule does not have; tensors before it have slots of their number.
 */
enum { RANKS = 2, TENSORS = 4, STRANGE = 3, QUEUE = 8, OPERATIONS = 8 };

struct sent {
    unsigned char number, leaves;
};

struct model_rank {
    struct steady steady;
    unsigned char there;   /* a bit for each tensor: committed to, or held */
    unsigned char offered; /* a bit for each: to the agreement */
    unsigned char waits;   /* for tensor number waits - 1 */
    unsigned char has_fallen_back;
    unsigned char submitted[TENSORS], done[TENSORS]; /* times */
};

/* Compared byte by byte. */
struct model {
    struct model_rank ranks[RANKS];
    unsigned char under_way[RANKS];
    struct sent frames[RANKS][QUEUE];             /* from a rank to the other one */
    unsigned char instances[OPERATIONS][TENSORS]; /* done with an operation of that number */
};

static const struct schedule *searched;
static int times_max; /* how often a program submits a tensor */
static uint64_t *seen;
static size_t seen_count, seen_capacity, ends;

static uint64_t hash_model(const struct model *model)
{
    const unsigned char *at = (const unsigned char *)model;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < sizeof *model; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    hash ^= hash >> 29;
    return hash ? hash : 1;
}

static bool model_is_new(const struct model *model)
{
    uint64_t hash = hash_model(model);
    size_t at = hash % seen_capacity;
    for (; seen[at]; at = (at + 1) % seen_capacity)
        if (seen[at] == hash)
            return false;
    seen[at] = hash;
    ck_assert_uint_lt(2 * ++seen_count, seen_capacity);
    return true;
}

/* The round of a rank, from what the model keeps of it. */
static void make_round(const struct model_rank *rank, struct steady_round *out)
{
    steady_round_begin(out, searched);
    for (int place = 0; place < searched->ntensors; place++)
        if (rank->there & 1 << searched->slots[place])
            steady_round_put(out, place, &owners[place]);
    for (uint32_t number = rank->steady.done; number != rank->steady.committed; number++)
        steady_round_commit(out, number);
}

static void model_send(struct model *model, int from, uint32_t number, bool leaves)
{
    ck_assert_int_lt(model->under_way[from], QUEUE);
    model->frames[from][model->under_way[from]++] = (struct sent){ (unsigned char)number, leaves };
}

static void model_leave(struct model *model, int at)
{
    struct steady *steady = &model->ranks[at].steady;
    if (steady->phase != STEADY_ON)
        return;
    steady_leave(steady);
    model_send(model, at, steady->committed, true);
}

static void model_done(struct model_rank *rank, int tensor)
{
    rank->done[tensor]++;
    if (rank->waits == tensor + 1)
        rank->waits = 0;
}

/* An operation is done: all ranks have done it with the same instances. */
static void model_complete(struct model *model, int at, uint32_t number)
{
    struct model_rank *rank = &model->ranks[at];
    const struct schedule_operation *operation =
        &searched->operations[number % (uint32_t)searched->count];
    for (int i = 0; i < operation->count; i++) {
        int tensor = searched->slots[operation->first + i];
        unsigned char *instance = &model->instances[number][tensor];
        ck_assert_int_eq(rank->there & 1 << tensor, 1 << tensor);
        rank->there &= (unsigned char)~(1 << tensor);
        model_done(rank, tensor);
        ck_assert(*instance == 0 || *instance == rank->done[tensor]);
        *instance = rank->done[tensor];
    }
}

/* True if the program waits for a held tensor. */
static bool model_is_stuck(const struct model_rank *rank, const struct steady_round *own)
{
    const struct steady *steady = &rank->steady;
    struct steady_cursor cursor = { 0 };
    uint32_t number;
    const int *owner;
    if (steady->phase != STEADY_ON || rank->waits == 0 ||
        !steady_round_is_stuck(own, steady->committed, steady->done))
        return false;
    while ((owner = steady_round_next(own, &cursor, steady->done, &number)))
        if (number >= steady->committed && searched->slots[owner - owners] == rank->waits - 1)
            return true;
    return false;
}

/* What a rank does after each event, as the engine does. */
static void model_advance(struct model *model, int at)
{
    static struct steady_round own;
    struct model_rank *rank = &model->ranks[at];
    struct steady *steady = &rank->steady;
    bool moved = true;
    while (moved) {
        moved = false;
        make_round(rank, &own);
        if (steady_may_commit(steady) &&
            steady_round_is_complete(&own, steady->committed, steady->done)) {
            model_send(model, at, steady_commit(steady), false);
            moved = true;
        }
        if (steady_next(steady)) {
            model_complete(model, at, steady->done - 1);
            moved = true;
        }
    }
    if (model_is_stuck(rank, &own))
        model_leave(model, at);
    if (steady_finish(steady)) {
        steady->committed = steady->done;
        rank->offered |= rank->there;
        rank->there = 0;
        rank->has_fallen_back = 1;
    }
}

static void model_deliver(struct model *model, int from)
{
    struct err err;
    int to = 1 - from;
    struct sent *queue = model->frames[from], frame = queue[0];
    struct steady *steady = &model->ranks[to].steady;
    unsigned char left = --model->under_way[from];
    memmove(queue, queue + 1, left * sizeof *queue);
    queue[left] = (struct sent){ 0 };
    if (!frame.leaves)
        ck_assert_int_eq(steady_receive(steady, from, 1, frame.number, &err), HVD_OK);
    else if (steady_receive_leave(steady, from, 1, frame.number, &err) > 0)
        model_leave(model, to);
    model_advance(model, to);
}

static bool is_scheduled(int tensor)
{
    for (int place = 0; place < searched->ntensors; place++)
        if (searched->slots[place] == tensor)
            return true;
    return false;
}

static void model_submit(struct model *model, int at, int tensor)
{
    struct model_rank *rank = &model->ranks[at];
    rank->submitted[tensor]++;
    if (is_scheduled(tensor) && rank->steady.phase == STEADY_ON) {
        rank->there |= (unsigned char)(1 << tensor);
    } else {
        model_leave(model, at);
        rank->offered |= (unsigned char)(1 << tensor);
    }
    model_advance(model, at);
}

/* The ranks agree on a tensor that both have offered. */
static bool model_agree(struct model *model, int tensor)
{
    struct model_rank *a = &model->ranks[0], *b = &model->ranks[1];
    unsigned char bit = (unsigned char)(1 << tensor);
    if (!a->has_fallen_back || !b->has_fallen_back || !(a->offered & b->offered & bit))
        return false;
    a->offered &= (unsigned char)~bit;
    b->offered &= (unsigned char)~bit;
    model_done(a, tensor);
    model_done(b, tensor);
    ck_assert_int_eq(a->done[tensor], b->done[tensor]);
    return true;
}

static void model_explore(const struct model *model);

static int explore_program(const struct model *model, int at)
{
    int choices = 0;
    const struct model_rank *rank = &model->ranks[at];
    for (int tensor = 0; rank->waits == 0 && tensor < TENSORS; tensor++) {
        bool is_in_flight = rank->submitted[tensor] != rank->done[tensor];
        int most = tensor == STRANGE ? 1 : times_max;
        struct model next = *model;
        if (is_in_flight) {
            next.ranks[at].waits = (unsigned char)(tensor + 1);
            model_advance(&next, at);
        } else if (rank->submitted[tensor] < most) {
            model_submit(&next, at, tensor);
        } else {
            continue;
        }
        model_explore(&next);
        choices++;
    }
    return choices;
}

/* Nothing happens any more unless a program goes on. A program that waits, and so does the other
 * one, waits for a tensor that the other program has not submitted. */
static void check_waits(const struct model *model)
{
    const struct model_rank *ranks = model->ranks;
    for (int at = 0; at < RANKS && ranks[0].waits && ranks[1].waits; at++) {
        int tensor = ranks[at].waits - 1;
        ck_assert_msg(ranks[1 - at].submitted[tensor] < ranks[at].submitted[tensor],
                      "rank %d waits for tensor %d for ever", at, tensor);
    }
}

/* Both programs are at their end: everything is done. */
static void check_end(const struct model *model)
{
    const struct model_rank *ranks = model->ranks;
    ends++;
    for (int tensor = 0; tensor < TENSORS; tensor++)
        if (ranks[0].submitted[tensor] == ranks[1].submitted[tensor])
            for (int at = 0; at < RANKS; at++)
                ck_assert_int_eq(ranks[at].done[tensor], ranks[at].submitted[tensor]);
}

static void model_explore(const struct model *model)
{
    int events = 0, choices = 0;
    if (!model_is_new(model))
        return;
    for (int from = 0; from < RANKS; from++) {
        struct model next = *model;
        if (model->under_way[from] == 0)
            continue;
        model_deliver(&next, from);
        model_explore(&next);
        events++;
    }
    for (int tensor = 0; tensor < TENSORS; tensor++) {
        struct model next = *model;
        if (!model_agree(&next, tensor))
            continue;
        model_explore(&next);
        events++;
    }
    for (int at = 0; at < RANKS; at++)
        choices += explore_program(model, at);
    if (events == 0)
        check_waits(model);
    if (events == 0 && choices == 0)
        check_end(model);
}

/* Every program that submits each tensor up to `times` times. */
static void model_explore_all(const struct schedule *schedule, int times)
{
    struct model model;
    memset(&model, 0, sizeof model);
    searched = schedule;
    times_max = times;
    seen_capacity = (size_t)1 << 20;
    seen = calloc(seen_capacity, sizeof *seen);
    ck_assert_ptr_nonnull(seen);
    for (int at = 0; at < RANKS; at++) {
        model.ranks[at].steady.rank = at;
        model.ranks[at].steady.size = RANKS;
        steady_begin(&model.ranks[at].steady);
    }
    model_explore(&model);
    ck_assert_uint_gt(ends, 0);
    free(seen);
}

START_TEST(no_order_of_events_loses_a_tensor_or_makes_two_ranks_wait_for_each_other)
{
    static const struct schedule schedules[] = {
        { 2, 3, { { 0, 2, { -1, 0 } }, { 2, 1, { -1, 0 } } }, { 0, 1, 2 } },
        { 2, 3, { { 0, 1, { -1, 0 } }, { 1, 2, { -1, 0 } } }, { 0, 1, 2 } },
        { 1, 3, { { 0, 3, { -1, 0 } } }, { 0, 1, 2 } },
    };
    model_explore_all(&schedules[_i], 1);
}
END_TEST

START_TEST(no_order_of_events_mixes_two_rounds)
{
    static const struct schedule schedule = { 1, 2, { { 0, 2, { -1, 0 } } }, { 0, 1 } };
    model_explore_all(&schedule, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("steady_round");
    TCase *tcase = tcase_create("steady_round");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, an_operation_is_complete_when_its_tensors_are_there_in_any_order);
    tcase_add_test(tcase, a_tensor_that_is_there_has_no_second_place);
    tcase_add_test(tcase,
                   a_rank_is_stuck_while_it_holds_tensors_and_the_next_operation_is_not_complete);
    tcase_add_test(tcase, an_operation_that_is_not_done_is_not_complete_for_the_next_round);
    tcase_add_test(tcase, tensors_that_are_there_are_told_with_their_operations_and_taken_out);
    tcase_add_test(tcase, operations_that_are_done_are_counted_in_tensors);
    tcase_add_loop_test(
        tcase, no_order_of_events_loses_a_tensor_or_makes_two_ranks_wait_for_each_other, 0, 3);
    tcase_add_test(tcase, no_order_of_events_mixes_two_rounds);
    return unit_run(suite);
}
