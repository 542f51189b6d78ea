/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of ranks of a set that reduce shares, have something else done with them, and give them to
 * all; and a group whose input comes bit by bit: what a collective of two levels is made of. */
#include "lib/collective/direct_flow.h"
#include "lib/collective/ring_schedule.h"
#include "tests/support/elements.h"
#include "tests/support/operation_net.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Two groups of three; who has the same place in both has the same share. */
enum { GROUPS = 2, MEMBERS = 3, SIZE = GROUPS * MEMBERS, MOVES_MAX = 200000 };
static const int groups[GROUPS][MEMBERS] = { { 0, 2, 5 }, { 1, 3, 4 } };

struct member {
    struct exchange_operation base;
    struct direct_flow flow;
    struct exchange exchanges[MEMBERS - 1];
};

struct fed {
    struct exchange_operation base;
    struct direct_flow flow;
    struct exchange exchanges[SIZE - 1];
};

static const struct operation_type type = EXCHANGE_OPERATION_TYPE("group");
static struct operation_net net;
static uint64_t seed;

static void setup(void)
{
    operation_net_init(&net, seed);
}

static void teardown(void)
{
    operation_net_fini(&net);
}

static int group_of(int rank, int *self)
{
    for (int group = 0; group < GROUPS; group++)
        for (*self = 0; *self < MEMBERS; (*self)++)
            if (groups[group][*self] == rank)
                return group;
    return -1;
}

static struct operation *member_start(struct operation_store *store,
                                      const struct operation_task *task, struct err *err)
{
    struct member *member = operation_alloc(store, sizeof *member);
    size_t bounds[MEMBERS + 1];
    (void)err;
    for (int i = 0; i <= MEMBERS; i++)
        bounds[i] = chunk_start(task->count, MEMBERS, i) * sizeof(int32_t);
    struct direct_plan plan = { .members = MEMBERS,
                                .bounds = bounds,
                                .combiner = combiner_of(task),
                                .staging = task->staging,
                                .input = task->input,
                                .output = task->output,
                                .held = true };
    plan.ranks = groups[group_of(task->rank, &plan.self)];
    plan.result = plan.output + bounds[plan.self];
    member->base = (struct exchange_operation){
        .operation.type = &type, .store = store, .flow = &member->flow.flow, .rank = task->rank
    };
    member->base.scratch = operation_alloc(store, direct_flow_scratch(&plan));
    direct_flow_begin(&member->flow, &plan, member->exchanges, member->base.scratch);
    return &member->base.operation;
}

static struct member *member_at(int group, int self)
{
    return (struct member *)(void *)net.operations[groups[group][self]];
}

/* Between the groups: what both have reduced of a share is added up, and some of it released. */
static void join(int self)
{
    struct direct_flow *a = &member_at(0, self)->flow, *b = &member_at(1, self)->flow;
    size_t both = direct_flow_reduced(a), reduced = direct_flow_reduced(b);
    both = both < reduced ? both : reduced;
    if (both == a->released)
        return;
    size_t end = a->released +
                 sizeof(int32_t) * (1 + random_less_than(&net.random, (both - a->released) / 4));
    int32_t *of_a = (void *)a->result, *of_b = (void *)b->result;
    for (size_t i = a->released / sizeof *of_a; i < end / sizeof *of_a; i++)
        of_a[i] = of_b[i] = of_a[i] + of_b[i];
    direct_flow_release(a, end);
    direct_flow_release(b, end);
}

static bool all_done(void)
{
    for (int rank = 0; rank < net.size; rank++)
        if (!net.operations[rank]->type->done(net.operations[rank]))
            return false;
    return true;
}

static void check_groups(size_t count, bool in_place)
{
    int32_t *inputs[SIZE], *outputs[SIZE];
    for (int rank = 0; rank < SIZE; rank++) {
        inputs[rank] = malloc(count * sizeof(int32_t));
        outputs[rank] = in_place ? inputs[rank] : malloc(count * sizeof(int32_t));
        for (size_t i = 0; i < count; i++)
            inputs[rank][i] = (int32_t)i * (rank + 1);
        net.tasks[rank] = (struct operation_task){ .dtype = HVD_INT32,
                                                   .op = HVD_SUM,
                                                   .input = inputs[rank],
                                                   .output = outputs[rank],
                                                   .count = count };
    }
    operation_net_start(&net, SIZE, member_start);
    for (int moves = 0; !all_done(); moves++) {
        if (moves == MOVES_MAX)
            ck_abort_msg("the groups are stuck");
        operation_net_move(&net);
        for (int self = 0; self < MEMBERS; self++)
            join(self);
    }
    operation_net_finish(&net);
    for (int rank = 0; rank < SIZE; rank++) {
        for (size_t i = 0; i < count; i++)
            if (outputs[rank][i] != (int32_t)i * (SIZE * (SIZE + 1) / 2))
                ck_abort_msg("element %zu of rank %d is %d", i, rank, outputs[rank][i]);
        if (!in_place)
            free(outputs[rank]);
        free(inputs[rank]);
    }
}

START_TEST(shares_that_are_held_back_go_out_as_they_are_released)
{
    static const size_t counts[] = { 0, 1, 2, 3, 4, 1009 };
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int in_place = 0; in_place < 2; in_place++)
            check_groups(counts[c], in_place);
}
END_TEST

/* ---- what is fed ---- */

/* One group of all ranks. */
static struct operation *fed_start(struct operation_store *store, const struct operation_task *task,
                                   struct err *err)
{
    struct fed *fed = operation_alloc(store, sizeof *fed);
    size_t bounds[SIZE + 1];
    (void)err;
    for (int i = 0; i <= task->size; i++)
        bounds[i] = chunk_start(task->count, task->size, i) * sizeof(int32_t);
    struct direct_plan plan = { .self = task->rank,
                                .members = task->size,
                                .bounds = bounds,
                                .combiner = combiner_of(task),
                                .staging = task->staging,
                                .input = task->input,
                                .output = task->output,
                                .fed = true };
    plan.result = plan.output + bounds[plan.self];
    fed->base = (struct exchange_operation){
        .operation.type = &type, .store = store, .flow = &fed->flow.flow, .rank = task->rank
    };
    fed->base.scratch = operation_alloc(store, direct_flow_scratch(&plan));
    direct_flow_begin(&fed->flow, &plan, fed->exchanges, fed->base.scratch);
    return &fed->base.operation;
}

/* What is there of the input is right from then on, and not before. */
static void feed_some(int rank, size_t nbytes)
{
    struct direct_flow *flow = &((struct fed *)(void *)net.operations[rank])->flow;
    int32_t *input = (void *)net.tasks[rank].input;
    if (flow->fed == nbytes || random_less_than(&net.random, 2) == 0)
        return;
    size_t end = flow->fed + 4 * (1 + random_less_than(&net.random, (nbytes - flow->fed) / 4));
    for (size_t i = flow->fed / 4; i < end / 4; i++)
        input[i] = (int32_t)i * (rank + 1);
    direct_flow_feed(flow, end);
}

static void check_finished(int rank, int size, size_t *before)
{
    struct direct_flow *flow = &((struct fed *)(void *)net.operations[rank])->flow;
    const int32_t *output = net.tasks[rank].output;
    size_t finished = direct_flow_finished(flow);
    for (size_t i = *before / 4; i < finished / 4; i++)
        if (output[i] != (int32_t)i * (size * (size + 1) / 2))
            ck_abort_msg("element %zu of rank %d is %d", i, rank, output[i]);
    if (finished < *before)
        ck_abort_msg("rank %d had finished more", rank);
    *before = finished - finished % 4;
}

static void check_fed(int size, size_t count)
{
    int32_t *data[SIZE];
    size_t finished[SIZE] = { 0 };
    for (int rank = 0; rank < size; rank++) {
        data[rank] = malloc(count * sizeof(int32_t));
        memset(data[rank], 0xa5, count * sizeof(int32_t));
        net.tasks[rank] = (struct operation_task){ .dtype = HVD_INT32,
                                                   .op = HVD_SUM,
                                                   .input = data[rank],
                                                   .output = data[rank],
                                                   .count = count };
    }
    operation_net_start(&net, size, fed_start);
    for (int moves = 0; !all_done(); moves++) {
        if (moves == MOVES_MAX)
            ck_abort_msg("%d ranks are stuck", size);
        operation_net_move(&net);
        for (int rank = 0; rank < size; rank++) {
            feed_some(rank, count * sizeof(int32_t));
            check_finished(rank, size, &finished[rank]);
        }
    }
    for (int rank = 0; rank < size; rank++)
        ck_assert_uint_eq(finished[rank], count * sizeof(int32_t));
    operation_net_finish(&net);
    for (int rank = 0; rank < size; rank++)
        free(data[rank]);
}

START_TEST(what_is_fed_bit_by_bit_is_reduced_bit_by_bit)
{
    static const size_t counts[] = { 0, 1, 2, 5, 7, 1009, 30011 };
    for (int size = 2; size <= SIZE; size++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            check_fed(size, counts[c]);
}
END_TEST

/* What a member needs for what comes early. */
START_TEST(scratch_is_less_than_the_vector)
{
    enum { MOST = 8, SHARE = 4096 };
    size_t bounds[MOST + 1];
    unsigned char *memory = malloc(MOST * SHARE), *other = malloc(MOST * SHARE);
    for (int i = 0; i <= MOST; i++)
        bounds[i] = (size_t)i * SHARE;
    for (int members = 2; members <= MOST; members++)
        for (int self = 0; self < members; self++) {
            struct direct_plan plan = { .self = self, .members = members, .bounds = bounds };
            ck_assert_uint_eq(direct_flow_scratch(&plan), 0);
            plan.input = memory;
            plan.result = other;
            ck_assert_uint_eq(direct_flow_scratch(&plan), (size_t)(members - 2) * SHARE);
            plan.result = memory + bounds[self];
            ck_assert_uint_lt(direct_flow_scratch(&plan), bounds[members]);
        }
    free(memory);
    free(other);
}
END_TEST

int main(void)
{
    const char *given = getenv("DIRECT_FLOW_TEST_SEED");
    seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    printf("# DIRECT_FLOW_TEST_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    Suite *suite = suite_create("direct_flow");
    TCase *tcase = tcase_create("direct_flow");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, shares_that_are_held_back_go_out_as_they_are_released);
    tcase_add_test(tcase, what_is_fed_bit_by_bit_is_reduced_bit_by_bit);
    tcase_add_test(tcase, scratch_is_less_than_the_vector);
    return unit_run(suite);
}
