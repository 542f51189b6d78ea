/* SPDX-License-Identifier: Apache-2.0 */
/* One operation made of exchanges, without its peers: what it allocates, what it does when it gets
 * no memory or more bytes than there are, and what it uses from where it lies.
 * Linked with -Wl,--wrap=aligned_alloc. */
#include "lib/collective/allreduce_tree.h"
#include "lib/collective/direct.h"
#include "lib/collective/doubling.h"
#include "lib/collective/exchange_flow.h"
#include "lib/collective/exchange_schedule.h"
#include "lib/engine/channel.h"
#include "tests/support/unit.h"

#include <string.h>

typedef struct operation *start_fn(struct operation_store *store, const struct operation_task *task,
                                   struct err *err);

static struct operation_store *store;

/* What operations allocate is counted; one can be made to fail (--wrap). The first bytes behind
 * each allocation are marked. */
enum { MARKED = 64, MARK = 0xa5, LAST = 4, MANY = 300 };
static int allocations, failing;
static unsigned char *behind[LAST]; /* the last allocations */
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    unsigned char *memory = NULL;
    if (++allocations != failing)
        memory = __real_aligned_alloc(alignment, (size + MARKED + 63) / 64 * 64);
    if (memory)
        memset(behind[allocations % LAST] = memory + size, MARK, MARKED);
    return memory;
}

static void setup(void)
{
    store = operation_store_create();
}

static void teardown(void)
{
    operation_store_destroy(store);
}

static const struct {
    start_fn *start;
    enum operation_kind kind;
} starts[] = {
    { allreduce_direct_start, OPERATION_ALLREDUCE },
    { reduce_scatter_direct_start, OPERATION_REDUCESCATTER },
    { allgather_direct_start, OPERATION_ALLGATHER },
    { allreduce_recursive_doubling_start, OPERATION_ALLREDUCE },
    { allreduce_halving_doubling_start, OPERATION_ALLREDUCE },
    { allreduce_tree_start, OPERATION_ALLREDUCE },
};
enum { STARTS = sizeof starts / sizeof *starts };

/* Rank 0 of three, which all take in or send something. */
static struct operation_task some_task(int which)
{
    static const int64_t splits[] = { 10, 10, 10 };
    static _Alignas(64) unsigned char staging[OPERATION_STAGING];
    static float data[30];
    return (struct operation_task){ .kind = starts[which].kind,
                                    .size = 3,
                                    .dtype = HVD_FLOAT32,
                                    .op = HVD_SUM,
                                    .input = data,
                                    .output = data,
                                    .count = 30,
                                    .row_count = 1,
                                    .rows = 30,
                                    .splits = splits,
                                    .staging = staging };
}

START_TEST(the_second_operation_does_not_allocate)
{
    struct operation_task task = some_task(_i);
    for (int round = 0; round < 3; round++) {
        int before = allocations;
        struct operation *operation = starts[_i].start(store, &task, NULL);
        ck_assert_ptr_nonnull(operation);
        ck_assert(round == 0 || allocations == before);
        operation_fini(store, operation);
    }
}
END_TEST

/* One block has the operation, its exchanges and the bounds of shares. */
START_TEST(an_operation_of_any_number_of_ranks_begins_within_its_memory)
{
    static const int64_t splits[MANY] = { 1, 1, 1 };
    for (int size = 2; size <= MANY; size++) {
        struct operation_store *empty = operation_store_create();
        struct operation_task task = some_task(_i);
        task.size = size;
        task.splits = splits;
        int before = allocations;
        struct operation *operation = starts[_i].start(empty, &task, NULL);
        ck_assert_ptr_nonnull(operation);
        ck_assert_int_le(allocations - before, LAST);
        for (int i = (allocations - before) * MARKED; i-- > 0;)
            ck_assert_uint_eq(behind[(before + 1 + i / MARKED) % LAST][i % MARKED], MARK);
        operation_fini(empty, operation);
        operation_store_destroy(empty);
    }
}
END_TEST

START_TEST(without_memory_nothing_starts_and_nothing_leaks)
{
    struct operation_task task = some_task(_i);
    struct operation *operation = NULL;
    for (int nth = 1; !operation && nth < 10; nth++) {
        struct operation_store *empty = operation_store_create();
        struct err err = { .code = HVD_OK };
        failing = allocations + nth;
        operation = starts[_i].start(empty, &task, &err);
        ck_assert(operation ? nth > 1 : err.code == HVD_ERR_NOMEM);
        operation_fini(empty, operation);
        operation_store_destroy(empty);
    }
    ck_assert_ptr_nonnull(operation);
}
END_TEST

/* Receives whatever there is room for, from rank 1. */
static void fill_space(struct operation *operation)
{
    struct err err = { .code = HVD_OK };
    size_t room;
    for (void *space; (space = operation->type->space(operation, 1, &room));) {
        memset(space, 0, room);
        ck_assert_int_eq(operation->type->received(operation, 1, room, &err), HVD_OK);
    }
}

START_TEST(a_peer_that_sends_too_much_is_an_error)
{
    struct operation_task task = some_task(_i);
    struct operation *operation = starts[_i].start(store, &task, NULL);
    struct err err = { .code = HVD_OK };
    size_t room;
    fill_space(operation);
    ck_assert_ptr_null(operation->type->space(operation, 1, &room));
    ck_assert_uint_eq(room, 0);
    ck_assert_int_eq(operation->type->take(operation, 1, "abcd", 4, &err), 0);
    ck_assert_int_eq(operation->type->received(operation, 1, 1, &err), HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, "rank 1 of the set sends 1 bytes where 0 fit");
    operation_fini(store, operation);
}
END_TEST

START_TEST(a_rank_that_nothing_is_awaited_from_is_an_error)
{
    struct operation_task task = some_task(_i);
    struct err err = { .code = HVD_OK };
    size_t room = 1, nbytes = 1;
    struct operation *operation = starts[_i].start(store, &task, NULL);
    ck_assert_ptr_null(operation->type->space(operation, 3, &room));
    ck_assert_ptr_null(operation->type->output(operation, 3, 0, &nbytes));
    ck_assert(room == 0 && nbytes == 0);
    ck_assert_int_eq(operation->type->take(operation, 3, "abcd", 4, &err), 0);
    ck_assert_int_eq(operation->type->received(operation, 3, 1, &err), HVD_ERR_PROTOCOL);
    operation_fini(store, operation);
}
END_TEST

/* Else every frame of the greatest size ends in another call for some bytes, on both sides. */
START_TEST(a_whole_frame_has_room_at_once)
{
    static float large[2 * CHANNEL_FRAME_MAX];
    struct operation_task task = some_task(0);
    size_t room;
    task.size = 2;
    task.input = task.output = large;
    task.count = sizeof large / sizeof *large;
    struct operation *operation = allreduce_direct_start(store, &task, NULL);
    ck_assert_ptr_nonnull(operation->type->space(operation, 1, &room));
    ck_assert_uint_ge(room, CHANNEL_FRAME_MAX);
    operation_fini(store, operation);
}
END_TEST

/* Less would cost a socket more system calls, and the locks and packets that come with them. */
START_TEST(a_whole_frame_of_operands_and_of_results_is_sent_at_once)
{
    enum { SHARE = CHANNEL_FRAME_MAX / sizeof(float) };
    static float large[4 * SHARE], theirs[2 * SHARE];
    struct operation_task task = some_task(0);
    struct err err = { .code = HVD_OK };
    size_t nbytes;
    task.size = 2;
    task.input = task.output = large;
    task.count = 4 * SHARE;
    struct operation *operation = allreduce_direct_start(store, &task, NULL);
    ck_assert_ptr_eq(operation->type->output(operation, 1, 0, &nbytes), large + 2 * SHARE);
    ck_assert_uint_ge(nbytes, CHANNEL_FRAME_MAX);
    operation->type->sent(operation, 1, nbytes);
    ck_assert_int_eq(operation->type->take(operation, 1, theirs, CHANNEL_FRAME_MAX, &err),
                     CHANNEL_FRAME_MAX);
    ck_assert_ptr_eq(operation->type->output(operation, 1, 0, &nbytes), large);
    ck_assert_uint_eq(nbytes, CHANNEL_FRAME_MAX);
    operation_fini(store, operation);
}
END_TEST

/* What lies in the link when it is its turn is combined from there; two ranks need no memory for
 * what comes early. */
START_TEST(two_ranks_take_everything_from_where_it_lies)
{
    struct operation_task task = some_task(0);
    float data[15] = { 1, 2, 3 };
    task.size = 2;
    int before = allocations;
    struct operation *operation = allreduce_direct_start(store, &task, NULL);
    ck_assert_int_eq(allocations, before + 1);
    ck_assert_int_eq(operation->type->take(operation, 1, data, 7, NULL), 7);
    ck_assert_int_eq(
        operation->type->take(operation, 1, (char *)data + 7, sizeof data - 7 + 10, NULL),
        sizeof data - 7);
    ck_assert_mem_eq(task.output, data, sizeof data);
    operation_fini(store, operation);
}
END_TEST

START_TEST(what_comes_early_is_not_taken)
{
    struct operation_task task = some_task(0);
    float data[10] = { 0 };
    struct operation *operation = allreduce_direct_start(store, &task, NULL);
    ck_assert_int_eq(operation->type->take(operation, 2, data, sizeof data, NULL), 0);
    ck_assert_int_eq(operation->type->take(operation, 1, data, 20, NULL), 20);
    ck_assert_int_eq(operation->type->take(operation, 2, data, sizeof data, NULL), 20);
    operation_fini(store, operation);
}
END_TEST

static size_t made; /* bytes of the results */

static size_t all_made(const struct exchange_flow *flow, int index)
{
    (void)flow;
    (void)index;
    return made;
}

START_TEST(results_are_sent_when_32_kib_of_them_are_ready)
{
    static const struct exchange_rules rules = { .results_ready = all_made };
    static const unsigned char results[100 * 1024];
    struct exchange exchange = { .peer = 1, .results = results, .results_size = sizeof results };
    struct exchange_flow flow = { .rules = &rules,
                                  .exchanges = &exchange,
                                  .count = 1,
                                  .element_size = 1,
                                  .piece = EXCHANGE_IN_SEQUENCE };
    size_t nbytes;
    made = 32 * 1024 - 1;
    ck_assert_ptr_null(exchange_flow_output(&flow, 0, 0, &nbytes));
    made = 32 * 1024;
    ck_assert_ptr_eq(exchange_flow_output(&flow, 0, 0, &nbytes), results);
    ck_assert_uint_eq(nbytes, 32 * 1024);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exchange_alone");
    TCase *tcase = tcase_create("exchange_alone");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, the_second_operation_does_not_allocate, 0, STARTS);
    tcase_add_loop_test(tcase, an_operation_of_any_number_of_ranks_begins_within_its_memory, 0,
                        STARTS);
    tcase_add_loop_test(tcase, without_memory_nothing_starts_and_nothing_leaks, 0, STARTS);
    tcase_add_loop_test(tcase, a_peer_that_sends_too_much_is_an_error, 0, STARTS);
    tcase_add_loop_test(tcase, a_rank_that_nothing_is_awaited_from_is_an_error, 0, STARTS);
    tcase_add_test(tcase, two_ranks_take_everything_from_where_it_lies);
    tcase_add_test(tcase, a_whole_frame_has_room_at_once);
    tcase_add_test(tcase, a_whole_frame_of_operands_and_of_results_is_sent_at_once);
    tcase_add_test(tcase, what_comes_early_is_not_taken);
    tcase_add_test(tcase, results_are_sent_when_32_kib_of_them_are_ready);
    return unit_run(suite);
}
