/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that copy: broadcast, allgather and alltoall put every byte of every rank where it
 * belongs; and what an alltoall does with numbers of rows that cannot be. */
#include "lib/collective/algorithm.h"
#include "lib/memory/copy.h"
#include "lib/memory/shared_heap.h"
#include "tests/support/operation_world.h"
#include "tests/support/unit.h"

#include <string.h>

static struct err err;

static void check_broadcast(size_t count, enum hvd_dtype dtype, int root)
{
    size_t nbytes = count * hvd_dtype_size(dtype);
    unsigned char *expected = world_random_bytes(nbytes), *outputs[WORLD_RANKS_MAX];
    world_choose_pace(nbytes);
    for (int rank = 0; rank < world_size; rank++) {
        outputs[rank] = world_random_bytes(nbytes);
        if (rank == root)
            memcpy(outputs[rank], expected, nbytes);
        world_tasks[rank] = (struct operation_task){ .kind = OPERATION_BROADCAST,
                                                     .root = root,
                                                     .dtype = dtype,
                                                     .output = outputs[rank],
                                                     .count = count };
    }
    world_check();
    for (int rank = 0; rank < world_size; rank++) {
        world_check_bytes(outputs[rank], expected, nbytes, "broadcast", rank);
        free(outputs[rank]);
    }
    free(expected);
}

START_TEST(broadcast_copies_from_every_root)
{
    for (int s = 0; s < WORLD_SIZES; s++)
        for (int c = 0; c < WORLD_COUNTS; c++) {
            world_size = world_sizes[s];
            for (int root = 0; root < world_size; root++)
                check_broadcast(world_counts[c], c % 2 ? HVD_UINT8 : HVD_FLOAT64, root);
        }
}
END_TEST

/* Which rows a rank gives, or one rank gives another: all alike, none, some, only one rank. */
typedef int64_t rows_fn(int rank, int other);

static int64_t alike(int rank, int other)
{
    (void)rank;
    (void)other;
    return 3;
}

static int64_t none(int rank, int other)
{
    (void)rank;
    (void)other;
    return 0;
}

static int64_t uneven(int rank, int other)
{
    return (rank * 7 + other * 5) % 4;
}

static int64_t only_one(int rank, int other)
{
    return rank == world_size - 1 ? 11 + other : 0;
}

static int64_t large(int rank, int other)
{
    return 20000 + 10 * rank + other;
}

/* Bytes that bypass the caches on their way to the result. */
static int64_t streamed_own(int rank, int other)
{
    return rank == other ? COPY_RESULT_STREAMED + 5 : 3;
}

static rows_fn *const shares[] = { alike, none, uneven, only_one, large };
enum { SHARES = sizeof shares / sizeof *shares };

static void check_allgather(rows_fn *rows, size_t row, enum hvd_dtype dtype, bool in_place)
{
    size_t row_size = row * hvd_dtype_size(dtype), starts[WORLD_RANKS_MAX + 1] = { 0 };
    int64_t splits[WORLD_RANKS_MAX];
    for (int rank = 0; rank < world_size; rank++) {
        splits[rank] = rows(rank, 0);
        starts[rank + 1] = starts[rank] + (size_t)splits[rank] * row_size;
    }
    size_t nbytes = starts[world_size];
    unsigned char *expected = world_random_bytes(nbytes), *outputs[WORLD_RANKS_MAX],
                  *inputs[WORLD_RANKS_MAX];
    world_choose_pace(nbytes);
    for (int rank = 0; rank < world_size; rank++) {
        size_t own = starts[rank + 1] - starts[rank];
        outputs[rank] = world_random_bytes(nbytes);
        inputs[rank] = in_place ? outputs[rank] + starts[rank] : world_bytes(own);
        memcpy(inputs[rank], expected + starts[rank], own);
        world_tasks[rank] = (struct operation_task){ .kind = OPERATION_ALLGATHER,
                                                     .dtype = dtype,
                                                     .input = inputs[rank],
                                                     .output = outputs[rank],
                                                     .row_count = row,
                                                     .splits = splits };
    }
    world_check();
    for (int rank = 0; rank < world_size; rank++) {
        world_check_bytes(outputs[rank], expected, nbytes, "allgather", rank);
        if (!in_place)
            free(inputs[rank]);
        free(outputs[rank]);
    }
    free(expected);
}

START_TEST(allgather_puts_rows_in_order_of_rank)
{
    static const size_t widths[] = { 0, 1, 5 };
    for (int s = 0; s < WORLD_SIZES; s++)
        for (int w = 0; w < 3; w++)
            for (int in_place = 0; in_place < 2; in_place++) {
                world_size = world_sizes[s];
                check_allgather(shares[_i], widths[w], w % 2 ? HVD_INT16 : HVD_INT64, in_place);
            }
}
END_TEST

struct row_memory {
    unsigned char *output;
    int64_t rows[WORLD_RANKS_MAX];
    size_t row_size;
    bool refuse;
    int calls;
};

static struct row_memory places[WORLD_RANKS_MAX];

static void *place_rows(void *arg, const int64_t *rows)
{
    struct row_memory *place = arg;
    size_t sum = 0;
    for (int rank = 0; rank < world_size; rank++)
        sum += (size_t)(place->rows[rank] = rows[rank]);
    place->calls++;
    return place->refuse ? NULL : (place->output = world_bytes(sum * place->row_size));
}

static void prepare_alltoall(int rank, const void *input, size_t row, enum hvd_dtype dtype,
                             const int64_t *splits)
{
    places[rank] = (struct row_memory){ .row_size = row * hvd_dtype_size(dtype) };
    world_tasks[rank] = (struct operation_task){ .kind = OPERATION_ALLTOALL,
                                                 .algorithm = ALGORITHM_PAIRWISE,
                                                 .dtype = dtype,
                                                 .input = input,
                                                 .row_count = row,
                                                 .splits = splits,
                                                 .place = place_rows,
                                                 .place_arg = &places[rank] };
}

/* Every input byte is compared with where it has to be. */
static void check_received(int rank, unsigned char *const *inputs, rows_fn *rows)
{
    const unsigned char *at = places[rank].output;
    ck_assert_int_eq(places[rank].calls, 1);
    for (int from = 0; from < world_size; from++) {
        size_t start = 0, nbytes = (size_t)rows(from, rank) * places[rank].row_size;
        for (int to = 0; to < rank; to++)
            start += (size_t)rows(from, to) * places[rank].row_size;
        ck_assert_int_eq(places[rank].rows[from], rows(from, rank));
        world_check_bytes(at, inputs[from] + start, nbytes, "alltoall", rank);
        at += nbytes;
    }
    free(places[rank].output);
}

/* `known`: all ranks know all numbers of rows from the start. */
static void check_alltoall(rows_fn *rows, size_t row, enum hvd_dtype dtype, bool known)
{
    static int64_t splits[WORLD_RANKS_MAX][WORLD_RANKS_MAX],
        received[WORLD_RANKS_MAX][WORLD_RANKS_MAX];
    unsigned char *inputs[WORLD_RANKS_MAX];
    size_t nbytes = 0;
    for (int rank = 0; rank < world_size; rank++) {
        int64_t sum = 0;
        for (int to = 0; to < world_size; to++)
            sum += splits[rank][to] = received[to][rank] = rows(rank, to);
        nbytes = (size_t)sum * row * hvd_dtype_size(dtype);
        inputs[rank] = world_random_bytes(nbytes);
        prepare_alltoall(rank, inputs[rank], row, dtype, splits[rank]);
        world_tasks[rank].received = known ? received[rank] : NULL;
    }
    world_choose_pace(nbytes);
    world_check();
    for (int rank = 0; rank < world_size; rank++)
        check_received(rank, inputs, rows);
    for (int rank = 0; rank < world_size; rank++)
        free(inputs[rank]);
}

START_TEST(alltoall_gives_every_rank_its_rows_in_order_of_rank)
{
    static const size_t widths[] = { 0, 1, 5 };
    for (int s = 0; s < WORLD_SIZES; s++)
        for (int w = 0; w < 3; w++) {
            world_size = world_sizes[s];
            for (int known = 0; known < 2; known++)
                check_alltoall(shares[_i], widths[w], w % 2 ? HVD_UINT8 : HVD_FLOAT32, known);
        }
}
END_TEST

START_TEST(alltoall_puts_many_own_rows_where_they_belong)
{
    world_size = 2;
    check_alltoall(streamed_own, 1, HVD_UINT8, false);
}
END_TEST

START_TEST(rows_wait_until_all_numbers_have_come)
{
    static const int64_t splits[] = { 1, 1, 1 };
    unsigned char input[3] = { 10, 11, 12 };
    size_t nbytes;
    world_size = 3;
    for (int rank = 0; rank < 3; rank++)
        prepare_alltoall(rank, input, 1, HVD_UINT8, splits);
    world_start();
    struct operation *own = world_operations[0];
    memcpy(own->type->space(own, 1, &nbytes), "\1\0\0\0\0\0\0\0", 8);
    ck_assert_uint_eq(nbytes, 8);
    ck_assert_int_eq(own->type->received(own, 1, 8, &err), HVD_OK);
    own->type->space(own, 1, &nbytes);
    ck_assert_uint_eq(nbytes, 0);
    ck_assert_int_eq(places[0].calls, 0);
    memcpy(own->type->space(own, 2, &nbytes), "\2\0\0\0\0\0\0\0", 8);
    ck_assert_int_eq(own->type->received(own, 2, 8, &err), HVD_OK);
    ck_assert_int_eq(places[0].calls, 1);
    ck_assert_ptr_eq(own->type->space(own, 1, &nbytes), places[0].output + 1);
    ck_assert_uint_eq(nbytes, 1);
    ck_assert_ptr_eq(own->type->space(own, 2, &nbytes), places[0].output + 2);
    ck_assert_uint_eq(nbytes, 2);
    free(places[0].output);
    world_end();
}
END_TEST

START_TEST(own_rows_are_copied_when_all_peers_have_been_shown_theirs)
{
    static const int64_t splits[] = { 1, 1, 1 };
    unsigned char input[3] = { 10, 11, 12 };
    size_t nbytes;
    world_size = 3;
    for (int rank = 0; rank < 3; rank++) {
        prepare_alltoall(rank, input, 1, HVD_UINT8, splits);
        world_tasks[rank].received = splits;
    }
    world_start();
    struct operation *own = world_operations[0];
    places[0].output[0] = 0;
    ck_assert_ptr_eq(own->type->output(own, 1, 0, &nbytes), input + 1);
    own->type->sent(own, 1, 1);
    ck_assert_uint_eq(places[0].output[0], 0);
    ck_assert_ptr_eq(own->type->output(own, 2, 0, &nbytes), input + 2);
    *(unsigned char *)own->type->space(own, 1, &nbytes) = 13;
    ck_assert_int_eq(own->type->received(own, 1, 1, &err), HVD_OK);
    ck_assert_uint_eq(places[0].output[0], 10);
    ck_assert(!own->type->done(own));
    own->type->sent(own, 2, 1);
    *(unsigned char *)own->type->space(own, 2, &nbytes) = 14;
    ck_assert_int_eq(own->type->received(own, 2, 1, &err), HVD_OK);
    ck_assert(own->type->done(own));
    ck_assert_mem_eq(places[0].output, ((unsigned char[]){ 10, 13, 14 }), 3);
    for (int rank = 0; rank < 3; rank++)
        free(places[rank].output);
    world_end();
}
END_TEST

/* Rank 1 sends and gets nothing, so nobody asks what there is for it. */
START_TEST(own_rows_are_copied_last_if_a_peer_is_shown_nothing)
{
    static const int64_t splits[] = { 1, 0, 1 }, none[] = { 0, 0, 0 };
    unsigned char input[2] = { 10, 12 };
    size_t nbytes;
    world_size = 3;
    for (int rank = 0; rank < 3; rank++) {
        prepare_alltoall(rank, input, 1, HVD_UINT8, rank == 1 ? none : splits);
        world_tasks[rank].received = rank == 1 ? none : splits;
    }
    world_start();
    struct operation *own = world_operations[0];
    places[0].output[0] = 0;
    own->type->output(own, 2, 0, &nbytes);
    own->type->sent(own, 2, 1);
    ck_assert_uint_eq(places[0].output[0], 0);
    *(unsigned char *)own->type->space(own, 2, &nbytes) = 14;
    ck_assert_int_eq(own->type->received(own, 2, 1, &err), HVD_OK);
    ck_assert(own->type->done(own));
    ck_assert_mem_eq(places[0].output, ((unsigned char[]){ 10, 14 }), 2);
    for (int rank = 0; rank < 3; rank++)
        free(places[rank].output);
    world_end();
}
END_TEST

/* Of bytes. */
static void prepare_direct_allgather(int rank, const void *input, void *output,
                                     const int64_t *splits)
{
    world_tasks[rank] = (struct operation_task){ .kind = OPERATION_ALLGATHER,
                                                 .algorithm = ALGORITHM_DIRECT,
                                                 .dtype = HVD_UINT8,
                                                 .input = input,
                                                 .output = output,
                                                 .row_count = 1,
                                                 .splits = splits };
}

START_TEST(a_direct_allgather_is_an_exchange_and_sends_from_its_input)
{
    static const int64_t splits[] = { 1, 1 };
    unsigned char data[2] = { 10, 11 }, output[2][2];
    size_t nbytes;
    world_size = 2;
    for (int rank = 0; rank < 2; rank++)
        prepare_direct_allgather(rank, &data[rank], output[rank], splits);
    world_start();
    struct operation *operation = world_operations[0];
    ck_assert(operation->exchanged);
    ck_assert_uint_eq(operation->message, 1);
    ck_assert_ptr_eq(operation->type->output(operation, 1, 0, &nbytes), &data[0]);
    ck_assert_uint_eq(nbytes, 1);
    world_end();
}
END_TEST

/* On average over the ranks that have rows, so that both sides of a link give it the same costs. */
START_TEST(all_messages_of_an_allgather_count_for_the_same_size)
{
    static const int64_t splits[] = { 1, 0, 5 };
    unsigned char data[5] = { 0 }, output[3][6];
    world_size = 3;
    for (int rank = 0; rank < 3; rank++)
        prepare_direct_allgather(rank, data, output[rank], splits);
    world_start();
    for (int rank = 0; rank < 3; rank++)
        ck_assert_uint_eq(world_operations[rank]->message, 3);
    world_end();
}
END_TEST

/* The output can be mapped, the inputs cannot. */
START_TEST(a_direct_allgather_sends_from_an_output_that_can_be_mapped_only_what_is_read_in_place)
{
    enum { READ_IN_PLACE = 64 * 1024 };
    size_t nbytes = _i ? READ_IN_PLACE : READ_IN_PLACE - 1, shown;
    const int64_t splits[] = { (int64_t)nbytes, (int64_t)nbytes };
    unsigned char *input = world_random_bytes(nbytes), *output = shared_heap_alloc(2 * nbytes);
    if (!output)
        return; /* not permitted here */
    world_size = 2;
    for (int rank = 0; rank < 2; rank++)
        prepare_direct_allgather(rank, input, output, splits);
    world_start();
    struct operation *operation = world_operations[0];
    ck_assert_ptr_eq(operation->type->output(operation, 1, 0, &shown), _i ? output : input);
    ck_assert_mem_eq(output, input, nbytes);
    world_end();
    shared_heap_free(output);
    free(input);
}
END_TEST

/* On average: the own rows count like those of a peer. */
START_TEST(an_alltoall_is_an_exchange_of_messages_and_a_broadcast_of_two_is_one_message)
{
    static const int64_t splits[] = { 1, 3 };
    unsigned char data[2][4] = { { 10, 11 }, { 12, 13 } };
    world_size = 2;
    for (int rank = 0; rank < 2; rank++)
        prepare_alltoall(rank, data[rank], 1, HVD_UINT8, splits);
    world_start();
    ck_assert(world_operations[0]->exchanged);
    ck_assert_uint_eq(world_operations[0]->message, 2);
    world_end();
    for (int rank = 0; rank < 2; rank++)
        world_tasks[rank] = (struct operation_task){
            .kind = OPERATION_BROADCAST, .dtype = HVD_UINT8, .output = data[rank], .count = 2
        };
    world_start();
    ck_assert(!world_operations[0]->exchanged);
    ck_assert_uint_eq(world_operations[0]->message, 2);
    world_end();
}
END_TEST

/* Of three ranks, the others read one copy; an allreduce and the ring's allgather were not
 * measured. */
static const struct {
    enum operation_kind kind;
    enum algorithm algorithm;
    int ranks;
} unmeasured[] = {
    { OPERATION_BROADCAST, ALGORITHM_LINEAR, 3 },
    { OPERATION_ALLREDUCE, ALGORITHM_DIRECT, 2 },
    { OPERATION_ALLGATHER, ALGORITHM_RING, 2 },
};

START_TEST(other_operations_have_no_messages_that_links_measure)
{
    static const int64_t splits[] = { 1, 1, 1 };
    unsigned char output[3][3] = { "ab", "cd", "ef" };
    world_size = unmeasured[_i].ranks;
    for (int rank = 0; rank < world_size; rank++)
        world_tasks[rank] = (struct operation_task){ .kind = unmeasured[_i].kind,
                                                     .algorithm = (int)unmeasured[_i].algorithm,
                                                     .dtype = HVD_UINT8,
                                                     .op = HVD_SUM,
                                                     .input = output[rank],
                                                     .output = output[rank],
                                                     .count = 2,
                                                     .row_count = 1,
                                                     .splits = splits };
    world_start();
    ck_assert(!world_operations[0]->exchanged);
    ck_assert_uint_eq(world_operations[0]->message, 0);
    world_end();
}
END_TEST

static const struct {
    size_t row;
    uint64_t own, number;
    const char *text;
} absurd_numbers[] = {
    { 1, 0, UINT64_MAX, "alltoall: rank 1 sends -1 rows of 4 bytes" },
    { 1, 0, (uint64_t)INT64_MAX / 4 + 1,
      "alltoall: rank 1 sends 2305843009213693952 rows of 4 bytes" },
    { 1, 4, (uint64_t)INT64_MAX / 4, "alltoall: rank 1 sends 2305843009213693951 rows of 4 bytes" },
    { 0, 1, INT64_MAX, "alltoall: rank 1 sends 9223372036854775807 rows of 0 bytes" },
};

START_TEST(absurd_numbers_of_rows_are_refused)
{
    int64_t splits[] = { (int64_t)absurd_numbers[_i].own, 0 };
    float input[4] = { 0 };
    unsigned char number[8];
    size_t nbytes;
    world_size = 2;
    for (int rank = 0; rank < 2; rank++)
        prepare_alltoall(rank, input, absurd_numbers[_i].row, HVD_FLOAT32, splits);
    world_start();
    for (int i = 0; i < 8; i++)
        number[i] = (unsigned char)(absurd_numbers[_i].number >> 8 * i);
    memcpy(world_operations[0]->type->space(world_operations[0], 1, &nbytes), number, 8);
    ck_assert_int_eq(world_operations[0]->type->received(world_operations[0], 1, 8, &err),
                     HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, absurd_numbers[_i].text);
    ck_assert_int_eq(places[0].calls, 0);
    world_end();
}
END_TEST

START_TEST(absurd_numbers_that_are_known_are_refused)
{
    int64_t splits[] = { (int64_t)absurd_numbers[_i].own, 0 };
    int64_t received[] = { splits[0], (int64_t)absurd_numbers[_i].number };
    float input[4] = { 0 };
    world_size = 2;
    world_choose_pace(0);
    for (int rank = 0; rank < 2; rank++)
        prepare_alltoall(rank, input, absurd_numbers[_i].row, HVD_FLOAT32, splits);
    world_tasks[0].rank = 0;
    world_tasks[0].size = 2;
    world_tasks[0].received = received;
    struct operation_store *store = operation_store_create();
    ck_assert_ptr_null(operation_start(store, &world_tasks[0], &err));
    ck_assert_int_eq(err.code, HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, absurd_numbers[_i].text);
    ck_assert_int_eq(places[0].calls, 0);
    operation_store_destroy(store);
}
END_TEST

START_TEST(an_output_that_there_is_no_memory_for_is_an_error)
{
    static const int64_t splits[] = { 1, 1 };
    world_size = 2;
    world_choose_pace(0);
    for (int rank = 0; rank < 2; rank++) {
        prepare_alltoall(rank, "xy", 1, HVD_UINT8, splits);
        places[rank].refuse = true;
    }
    ck_assert_int_eq(world_run(&err), HVD_ERR_NOMEM);
    ck_assert_str_eq(err.text, "alltoall: no memory for 2 bytes of output");
}
END_TEST

int main(void)
{
    world_choose_seed();
    Suite *suite = suite_create("operation_rows");
    TCase *tcase = tcase_create("operation_rows");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, world_set_up, world_tear_down);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, broadcast_copies_from_every_root);
    tcase_add_loop_test(tcase, allgather_puts_rows_in_order_of_rank, 0, SHARES);
    tcase_add_loop_test(tcase, alltoall_gives_every_rank_its_rows_in_order_of_rank, 0, SHARES);
    tcase_add_test(tcase, alltoall_puts_many_own_rows_where_they_belong);
    tcase_add_test(tcase, rows_wait_until_all_numbers_have_come);
    tcase_add_test(tcase, a_direct_allgather_is_an_exchange_and_sends_from_its_input);
    tcase_add_test(tcase, all_messages_of_an_allgather_count_for_the_same_size);
    tcase_add_test(tcase, own_rows_are_copied_when_all_peers_have_been_shown_theirs);
    tcase_add_test(tcase, own_rows_are_copied_last_if_a_peer_is_shown_nothing);
    tcase_add_loop_test(
        tcase,
        a_direct_allgather_sends_from_an_output_that_can_be_mapped_only_what_is_read_in_place, 0,
        2);
    tcase_add_test(tcase,
                   an_alltoall_is_an_exchange_of_messages_and_a_broadcast_of_two_is_one_message);
    tcase_add_loop_test(tcase, other_operations_have_no_messages_that_links_measure, 0,
                        sizeof unmeasured / sizeof *unmeasured);
    tcase_add_loop_test(tcase, absurd_numbers_of_rows_are_refused, 0,
                        sizeof absurd_numbers / sizeof *absurd_numbers);
    tcase_add_loop_test(tcase, absurd_numbers_that_are_known_are_refused, 0,
                        sizeof absurd_numbers / sizeof *absurd_numbers);
    tcase_add_test(tcase, an_output_that_there_is_no_memory_for_is_an_error);
    return unit_run(suite);
}
