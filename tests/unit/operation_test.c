/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of several ranks in one thread, against a plain reference. Between two ranks lie bytes
 * that have been sent and not received; how many move when is random, the seed is printed.
 * Linked with -Wl,--wrap=aligned_alloc. */
#include "lib/base/topology.h"
#include "lib/collective/operation.h"
#include "lib/collective/operation_impl.h"
#include "lib/collective/ring_schedule.h"
#include "tests/support/reduce_reference.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { RANKS_MAX = 8, PIPE_MAX = 300000 };

static const int sizes[] = { 2, 3, 4, 5, 8 };
enum { SIZES = sizeof sizes / sizeof *sizes };
static const size_t counts[] = { 0, 1, 2, 3, 17, 289, 100003 };
enum { COUNTS = sizeof counts / sizeof *counts };

struct pipe {
    unsigned char *data;
    size_t start, length;
};

static int world_size;
static struct operation_store *stores[RANKS_MAX];
static struct operation_task tasks[RANKS_MAX];
static struct operation *operations[RANKS_MAX];
static struct pipe pipes[RANKS_MAX * RANKS_MAX]; /* by from, then to */
static size_t pipe_capacity, step_max;
static uint64_t seed, random_state;
static struct err err;

/* What operations allocate is counted; one can be made to fail (--wrap). */
static int allocations, failing;
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return ++allocations == failing ? NULL : __real_aligned_alloc(alignment, size);
}

static uint32_t next_random(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33);
}

static size_t random_below(size_t bound)
{
    return next_random() % bound;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void setup(void)
{
    random_state = seed;
    for (int rank = 0; rank < RANKS_MAX; rank++)
        stores[rank] = operation_store_create();
}

static void teardown(void)
{
    for (int rank = 0; rank < RANKS_MAX; rank++)
        operation_store_destroy(stores[rank]);
    for (int i = 0; i < RANKS_MAX * RANKS_MAX; i++) {
        free(pipes[i].data);
        pipes[i] = (struct pipe){ 0 };
    }
}

/* How this run moves bytes: a few at a time, or many. */
static void choose_pace(size_t nbytes)
{
    static const struct {
        size_t capacity, step;
    } paces[] = { { 1, 1 }, { 7, 5 }, { 64, 64 }, { 5000, 3000 }, { PIPE_MAX, PIPE_MAX } };
    size_t first = nbytes > 100000 ? 3 : nbytes > 1000 ? 1 : 0;
    size_t pace = first + random_below(sizeof paces / sizeof *paces - first);
    pipe_capacity = paces[pace].capacity;
    step_max = paces[pace].step;
}

static bool push(int from, int to)
{
    struct pipe *pipe = &pipes[from * RANKS_MAX + to];
    size_t nbytes = 0, room = pipe_capacity - pipe->length;
    const unsigned char *data = operations[from]->type->output(operations[from], to, &nbytes);
    nbytes = least(least(nbytes, room), 1 + random_below(step_max));
    if (nbytes == 0)
        return false;
    if (!pipe->data)
        pipe->data = malloc(PIPE_MAX);
    memmove(pipe->data, pipe->data + pipe->start, pipe->length);
    pipe->start = 0;
    memcpy(pipe->data + pipe->length, data, nbytes);
    pipe->length += nbytes;
    operations[from]->type->sent(operations[from], to, nbytes);
    return true;
}

/* 1, 0 if nothing can be taken, or a negative status. */
static int pull(int from, int to)
{
    struct pipe *pipe = &pipes[from * RANKS_MAX + to];
    size_t room = 0;
    if (pipe->length == 0)
        return 0;
    unsigned char *space = operations[to]->type->space(operations[to], from, &room);
    size_t nbytes = least(least(room, pipe->length), 1 + random_below(step_max));
    if (nbytes == 0)
        return 0;
    memcpy(space, pipe->data + pipe->start, nbytes);
    pipe->start += nbytes;
    pipe->length -= nbytes;
    int rc = operations[to]->type->received(operations[to], from, nbytes, &err);
    return rc < 0 ? rc : 1;
}

/* One round over all pairs, beginning anywhere; likewise. */
static int move_all(void)
{
    int pairs = world_size * world_size, start = (int)random_below((size_t)pairs), moved = 0;
    for (int i = 0; i < pairs; i++) {
        int from = (start + i) % pairs / world_size, to = (start + i) % pairs % world_size;
        if (from == to)
            continue;
        moved |= push(from, to);
        if (next_random() % 4 == 0)
            continue;
        int rc = pull(from, to);
        if (rc < 0)
            return rc;
        moved |= rc;
    }
    return moved;
}

static void start_all(void)
{
    static _Alignas(64) unsigned char staging[RANKS_MAX][OPERATION_STAGING];
    for (int rank = 0; rank < world_size; rank++) {
        tasks[rank].rank = rank;
        tasks[rank].size = world_size;
        tasks[rank].staging = staging[rank];
        operations[rank] = operation_start(stores[rank], &tasks[rank], &err);
        ck_assert_msg(operations[rank], "%s", err.text);
    }
}

static void end_all(void)
{
    for (int rank = 0; rank < world_size; rank++)
        operation_fini(stores[rank], operations[rank]);
}

/* A round in which luck moved nothing is not the end. */
static int run_all(void)
{
    int rc = HVD_OK;
    start_all();
    for (int idle = 0; rc >= 0 && idle < 64;) {
        rc = move_all();
        idle = rc == 0 ? idle + 1 : 0;
    }
    for (int rank = 0; rank < world_size && rc >= 0; rank++)
        ck_assert_msg(operations[rank]->type->done(operations[rank]), "rank %d of %d is stuck",
                      rank, world_size);
    for (int i = 0; i < RANKS_MAX * RANKS_MAX && rc >= 0; i++)
        ck_assert_uint_eq(pipes[i].length, 0);
    end_all();
    return rc;
}

static void check_run(void)
{
    ck_assert_msg(run_all() == HVD_OK, "%s", err.text);
}

/* Memory of exactly so many bytes, so that a step beyond is seen. */
static unsigned char *bytes(size_t nbytes)
{
    return malloc(nbytes);
}

static unsigned char *random_bytes(size_t nbytes)
{
    unsigned char *data = bytes(nbytes);
    for (size_t i = 0; i < nbytes; i++)
        data[i] = (unsigned char)next_random();
    return data;
}

static void check_bytes(const void *data, const void *expected, size_t nbytes, const char *what,
                        int rank)
{
    if (nbytes > 0 && memcmp(data, expected, nbytes) != 0)
        ck_abort_msg("%s: %s of rank %d of %d is wrong", what, "output", rank, world_size);
}

/* The reduction of all ranks' inputs, in the order of the ring: chunk c begins with rank c + 1. */
static unsigned char *reduce_all(unsigned char *const *inputs, size_t things, size_t row,
                                 enum hvd_dtype dtype, enum hvd_op op)
{
    size_t size = hvd_dtype_size(dtype);
    unsigned char *result = bytes(things * row * size);
    for (int chunk = 0; chunk < world_size; chunk++) {
        size_t start = chunk_start(things, world_size, chunk) * row;
        size_t count = chunk_count(things, world_size, chunk) * row;
        if (count == 0)
            continue;
        memcpy(result + start * size, inputs[(chunk + 1) % world_size] + start * size,
               count * size);
        for (int next = 2; next <= world_size; next++) {
            bool last = next == world_size;
            reference_reduce(dtype, op == HVD_AVERAGE && !last ? HVD_SUM : op, world_size,
                             result + start * size, result + start * size,
                             inputs[(chunk + next) % world_size] + start * size, count);
        }
    }
    return result;
}

struct reduction {
    enum hvd_dtype dtype;
    enum hvd_op op;
    size_t rows, row;
    unsigned char *inputs[RANKS_MAX], *expected;
};

static void reduction_init(struct reduction *reduction)
{
    size_t nbytes = reduction->rows * reduction->row * hvd_dtype_size(reduction->dtype);
    for (int rank = 0; rank < world_size; rank++)
        reduction->inputs[rank] = random_bytes(nbytes);
    reduction->expected = reduce_all(reduction->inputs, reduction->rows, reduction->row,
                                     reduction->dtype, reduction->op);
    choose_pace(nbytes);
}

static void reduction_fini(struct reduction *reduction)
{
    for (int rank = 0; rank < world_size; rank++)
        free(reduction->inputs[rank]);
    free(reduction->expected);
}

static void check_allreduce(const struct reduction *reduction, bool in_place)
{
    size_t nbytes = reduction->rows * reduction->row * hvd_dtype_size(reduction->dtype);
    unsigned char *copies[RANKS_MAX], *outputs[RANKS_MAX];
    for (int rank = 0; rank < world_size; rank++) {
        copies[rank] = bytes(nbytes);
        memcpy(copies[rank], reduction->inputs[rank], nbytes);
        outputs[rank] = in_place ? copies[rank] : bytes(nbytes);
        tasks[rank] = (struct operation_task){
            .kind = OPERATION_ALLREDUCE,
            .dtype = reduction->dtype,
            .op = reduction->op,
            .input = copies[rank],
            .output = outputs[rank],
            .count = reduction->rows * reduction->row,
        };
    }
    check_run();
    for (int rank = 0; rank < world_size; rank++) {
        check_bytes(outputs[rank], reduction->expected, nbytes, "allreduce", rank);
        if (!in_place) {
            check_bytes(copies[rank], reduction->inputs[rank], nbytes, "input", rank);
            free(outputs[rank]);
        }
        free(copies[rank]);
    }
}

static void check_reduce_scatter(const struct reduction *reduction, bool in_place)
{
    size_t row_size = reduction->row * hvd_dtype_size(reduction->dtype);
    unsigned char *copies[RANKS_MAX], *outputs[RANKS_MAX];
    for (int rank = 0; rank < world_size; rank++) {
        size_t own = chunk_count(reduction->rows, world_size, rank) * row_size;
        copies[rank] = bytes(reduction->rows * row_size);
        memcpy(copies[rank], reduction->inputs[rank], reduction->rows * row_size);
        outputs[rank] = in_place ? copies[rank] : bytes(own);
        tasks[rank] = (struct operation_task){
            .kind = OPERATION_REDUCESCATTER,
            .dtype = reduction->dtype,
            .op = reduction->op,
            .input = copies[rank],
            .output = outputs[rank],
            .rows = (int64_t)reduction->rows,
            .row_count = reduction->row,
        };
    }
    check_run();
    for (int rank = 0; rank < world_size; rank++) {
        size_t start = chunk_start(reduction->rows, world_size, rank) * row_size;
        size_t own = chunk_count(reduction->rows, world_size, rank) * row_size;
        check_bytes(outputs[rank], reduction->expected + start, own, "reduce-scatter", rank);
        if (!in_place) {
            check_bytes(copies[rank], reduction->inputs[rank], reduction->rows * row_size, "input",
                        rank);
            free(outputs[rank]);
        }
        free(copies[rank]);
    }
}

static void check_reduction(size_t rows, size_t row, enum hvd_dtype dtype, enum hvd_op op)
{
    struct reduction reduction = { .dtype = dtype, .op = op, .rows = rows, .row = row };
    if (dtype == HVD_BOOL && op == HVD_AVERAGE)
        return;
    reduction_init(&reduction);
    for (int in_place = 0; in_place < 2; in_place++) {
        check_allreduce(&reduction, in_place);
        check_reduce_scatter(&reduction, in_place);
    }
    reduction_fini(&reduction);
}

START_TEST(reductions_are_right_to_the_bit_for_every_type_operation_size_and_count)
{
    enum hvd_dtype dtype = reference_dtypes[_i];
    for (int s = 0; s < SIZES; s++)
        for (int c = 0; c < COUNTS - 1; c++)
            for (int o = 0; o < REFERENCE_OPS; o++) {
                world_size = sizes[s];
                check_reduction(counts[c], 1, dtype, reference_ops[o]);
            }
}
END_TEST

/* Large ones, each type with one operation and size. */
START_TEST(large_reductions_are_right_to_the_bit)
{
    world_size = sizes[_i % SIZES];
    check_reduction(100003, 1, reference_dtypes[_i], reference_ops[_i % 2]);
}
END_TEST

START_TEST(rows_are_not_cut)
{
    static const size_t rows[] = { 0, 1, 2, 4, 7, 8, 9, 1000 }, widths[] = { 0, 1, 3, 100 };
    for (int s = 0; s < SIZES; s++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
                struct reduction reduction = {
                    .dtype = HVD_FLOAT32, .op = HVD_AVERAGE, .rows = rows[r], .row = widths[w]
                };
                world_size = sizes[s];
                reduction_init(&reduction);
                check_reduce_scatter(&reduction, false);
                check_reduce_scatter(&reduction, true);
                reduction_fini(&reduction);
            }
}
END_TEST

/* A sum that no float16 can hold, and a share of the work that rounds it after the division. */
START_TEST(an_average_of_halves_is_rounded_after_the_division)
{
    uint16_t data[3][7];
    world_size = 3;
    choose_pace(0);
    for (int rank = 0; rank < 3; rank++) {
        for (int i = 0; i < 7; i++)
            data[rank][i] = (uint16_t)(rank == 0 ? 0x0001 : 0x7bff); /* 2^-24 and 65504 */
        tasks[rank] = (struct operation_task){ .kind = OPERATION_ALLREDUCE,
                                               .dtype = HVD_FLOAT16,
                                               .op = HVD_AVERAGE,
                                               .input = data[rank],
                                               .output = data[rank],
                                               .count = 7 };
    }
    check_run();
    /* Of the chunks, of 3, 2 and 2, the one that begins with both large ones is infinite. */
    for (int rank = 0; rank < 3; rank++)
        for (int i = 0; i < 7; i++)
            ck_assert_uint_eq(data[rank][i], i < 3 ? 0x7c00 : 0x7955); /* 43669.33 */
}
END_TEST

static void check_broadcast(size_t count, enum hvd_dtype dtype, int root)
{
    size_t nbytes = count * hvd_dtype_size(dtype);
    unsigned char *expected = random_bytes(nbytes), *outputs[RANKS_MAX];
    choose_pace(nbytes);
    for (int rank = 0; rank < world_size; rank++) {
        outputs[rank] = random_bytes(nbytes);
        if (rank == root)
            memcpy(outputs[rank], expected, nbytes);
        tasks[rank] = (struct operation_task){ .kind = OPERATION_BROADCAST,
                                               .root = root,
                                               .dtype = dtype,
                                               .output = outputs[rank],
                                               .count = count };
    }
    check_run();
    for (int rank = 0; rank < world_size; rank++) {
        check_bytes(outputs[rank], expected, nbytes, "broadcast", rank);
        free(outputs[rank]);
    }
    free(expected);
}

START_TEST(broadcast_copies_from_every_root)
{
    for (int s = 0; s < SIZES; s++)
        for (int c = 0; c < COUNTS; c++) {
            world_size = sizes[s];
            for (int root = 0; root < world_size; root++)
                check_broadcast(counts[c], c % 2 ? HVD_UINT8 : HVD_FLOAT64, root);
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

static rows_fn *const shares[] = { alike, none, uneven, only_one, large };
enum { SHARES = sizeof shares / sizeof *shares };

static void check_allgather(rows_fn *rows, size_t row, enum hvd_dtype dtype, bool in_place)
{
    size_t row_size = row * hvd_dtype_size(dtype), starts[RANKS_MAX + 1] = { 0 };
    int64_t splits[RANKS_MAX];
    for (int rank = 0; rank < world_size; rank++) {
        splits[rank] = rows(rank, 0);
        starts[rank + 1] = starts[rank] + (size_t)splits[rank] * row_size;
    }
    size_t nbytes = starts[world_size];
    unsigned char *expected = random_bytes(nbytes), *outputs[RANKS_MAX], *inputs[RANKS_MAX];
    choose_pace(nbytes);
    for (int rank = 0; rank < world_size; rank++) {
        size_t own = starts[rank + 1] - starts[rank];
        outputs[rank] = random_bytes(nbytes);
        inputs[rank] = in_place ? outputs[rank] + starts[rank] : bytes(own);
        memcpy(inputs[rank], expected + starts[rank], own);
        tasks[rank] = (struct operation_task){ .kind = OPERATION_ALLGATHER,
                                               .dtype = dtype,
                                               .input = inputs[rank],
                                               .output = outputs[rank],
                                               .row_count = row,
                                               .splits = splits };
    }
    check_run();
    for (int rank = 0; rank < world_size; rank++) {
        check_bytes(outputs[rank], expected, nbytes, "allgather", rank);
        if (!in_place)
            free(inputs[rank]);
        free(outputs[rank]);
    }
    free(expected);
}

START_TEST(allgather_puts_rows_in_order_of_rank)
{
    static const size_t widths[] = { 0, 1, 5 };
    for (int s = 0; s < SIZES; s++)
        for (int w = 0; w < 3; w++)
            for (int in_place = 0; in_place < 2; in_place++) {
                world_size = sizes[s];
                check_allgather(shares[_i], widths[w], w % 2 ? HVD_INT16 : HVD_INT64, in_place);
            }
}
END_TEST

struct place {
    unsigned char *output;
    int64_t rows[RANKS_MAX];
    size_t row_size;
    bool refuse;
    int calls;
};

static struct place places[RANKS_MAX];

static void *place_rows(void *arg, const int64_t *rows)
{
    struct place *place = arg;
    size_t sum = 0;
    for (int rank = 0; rank < world_size; rank++)
        sum += (size_t)(place->rows[rank] = rows[rank]);
    place->calls++;
    return place->refuse ? NULL : (place->output = bytes(sum * place->row_size));
}

static void prepare_alltoall(int rank, const void *input, size_t row, enum hvd_dtype dtype,
                             const int64_t *splits)
{
    places[rank] = (struct place){ .row_size = row * hvd_dtype_size(dtype) };
    tasks[rank] = (struct operation_task){ .kind = OPERATION_ALLTOALL,
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
        check_bytes(at, inputs[from] + start, nbytes, "alltoall", rank);
        at += nbytes;
    }
    free(places[rank].output);
}

static void check_alltoall(rows_fn *rows, size_t row, enum hvd_dtype dtype)
{
    static int64_t splits[RANKS_MAX][RANKS_MAX];
    unsigned char *inputs[RANKS_MAX];
    size_t nbytes = 0;
    for (int rank = 0; rank < world_size; rank++) {
        int64_t sum = 0;
        for (int to = 0; to < world_size; to++)
            sum += splits[rank][to] = rows(rank, to);
        nbytes = (size_t)sum * row * hvd_dtype_size(dtype);
        inputs[rank] = random_bytes(nbytes);
        prepare_alltoall(rank, inputs[rank], row, dtype, splits[rank]);
    }
    choose_pace(nbytes);
    check_run();
    for (int rank = 0; rank < world_size; rank++)
        check_received(rank, inputs, rows);
    for (int rank = 0; rank < world_size; rank++)
        free(inputs[rank]);
}

START_TEST(alltoall_gives_every_rank_its_rows_in_order_of_rank)
{
    static const size_t widths[] = { 0, 1, 5 };
    for (int s = 0; s < SIZES; s++)
        for (int w = 0; w < 3; w++) {
            world_size = sizes[s];
            check_alltoall(shares[_i], widths[w], w % 2 ? HVD_UINT8 : HVD_FLOAT32);
        }
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
    start_all();
    struct operation *own = operations[0];
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
    ck_assert_uint_eq(places[0].output[0], 10);
    free(places[0].output);
    end_all();
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
    start_all();
    for (int i = 0; i < 8; i++)
        number[i] = (unsigned char)(absurd_numbers[_i].number >> 8 * i);
    memcpy(operations[0]->type->space(operations[0], 1, &nbytes), number, 8);
    ck_assert_int_eq(operations[0]->type->received(operations[0], 1, 8, &err), HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, absurd_numbers[_i].text);
    ck_assert_int_eq(places[0].calls, 0);
    end_all();
}
END_TEST

START_TEST(an_output_that_there_is_no_memory_for_is_an_error)
{
    static const int64_t splits[] = { 1, 1 };
    world_size = 2;
    choose_pace(0);
    for (int rank = 0; rank < 2; rank++) {
        prepare_alltoall(rank, "xy", 1, HVD_UINT8, splits);
        places[rank].refuse = true;
    }
    ck_assert_int_eq(run_all(), HVD_ERR_NOMEM);
    ck_assert_str_eq(err.text, "alltoall: no memory for 2 bytes of output");
}
END_TEST

START_TEST(alltoall_and_adasum_need_links_to_everybody)
{
    ck_assert(operation_needs_mesh(OPERATION_ALLTOALL));
    ck_assert(operation_needs_mesh(OPERATION_ADASUM));
    ck_assert(!operation_needs_mesh(OPERATION_ALLGATHER));
}
END_TEST

/* A task of each kind for 3 ranks, all with the same memory. */
static struct operation_task some_task(enum operation_kind kind)
{
    static const int64_t splits[] = { 10, 10, 10 };
    static float input[30], output[30];
    return (struct operation_task){
        .kind = kind,
        .size = 3,
        .dtype = HVD_FLOAT32,
        .op = HVD_SUM,
        .input = input,
        .output = output,
        .count = 30,
        .row_count = 1,
        .rows = 30,
        .splits = splits,
        .place = place_rows,
    };
}

enum { KINDS = OPERATION_ADASUM + 1 };

START_TEST(the_second_operation_of_a_kind_does_not_allocate)
{
    struct operation_task task = some_task((enum operation_kind)_i);
    static _Alignas(64) unsigned char staging[OPERATION_STAGING];
    task.staging = staging;
    for (int round = 0; round < 3; round++) {
        int before = allocations;
        struct operation *operation = operation_start(stores[0], &task, &err);
        ck_assert_ptr_nonnull(operation);
        ck_assert(round == 0 || allocations == before);
        operation_fini(stores[0], operation);
    }
}
END_TEST

START_TEST(without_memory_nothing_starts_and_nothing_leaks)
{
    struct operation_task task = some_task((enum operation_kind)_i);
    struct operation *operation = NULL;
    for (int nth = 1; !operation && nth < 10; nth++) {
        struct operation_store *store = operation_store_create();
        err.code = HVD_OK;
        failing = allocations + nth;
        operation = operation_start(store, &task, &err);
        ck_assert(operation ? nth > 1 : err.code == HVD_ERR_NOMEM);
        operation_fini(store, operation);
        operation_store_destroy(store);
    }
    ck_assert_ptr_nonnull(operation);
}
END_TEST

START_TEST(memory_is_used_again)
{
    struct operation_store *store = stores[0];
    void *small = operation_alloc(store, 100), *large = operation_alloc(store, 100000);
    ck_assert_uint_eq((uintptr_t)small % OPERATION_ALIGNMENT, 0);
    operation_free(store, large);
    operation_free(store, small);
    operation_free(store, NULL);
    ck_assert_ptr_eq(operation_alloc(store, 99999), large);
    ck_assert_ptr_eq(operation_alloc(store, 128), small);
    operation_free(store, large);
    void *other = operation_alloc(store, 5000);
    ck_assert_ptr_ne(other, large); /* which would be a waste */
    operation_free(store, small);
    operation_free(store, other);
    ck_assert_ptr_null(operation_alloc(store, SIZE_MAX - 10));
    operation_store_destroy(NULL);
}
END_TEST

START_TEST(not_everything_is_kept)
{
    static void *blocks[100];
    for (int i = 0; i < 100; i++)
        blocks[i] = operation_alloc(stores[0], 2 << 20);
    for (int i = 0; i < 100; i++)
        operation_free(stores[0], blocks[i]);
    operation_free(stores[0], operation_alloc(stores[0], 100 << 20));
}
END_TEST

static void choose_seed(void)
{
    const char *given = getenv("OPERATION_TEST_SEED");
    seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    printf("# OPERATION_TEST_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
}

int main(void)
{
    choose_seed();
    Suite *suite = suite_create("operation");
    TCase *tcase = tcase_create("operation");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase,
                        reductions_are_right_to_the_bit_for_every_type_operation_size_and_count, 0,
                        REFERENCE_DTYPES);
    tcase_add_loop_test(tcase, large_reductions_are_right_to_the_bit, 0, REFERENCE_DTYPES);
    tcase_add_test(tcase, rows_are_not_cut);
    tcase_add_test(tcase, an_average_of_halves_is_rounded_after_the_division);
    tcase_add_test(tcase, broadcast_copies_from_every_root);
    tcase_add_loop_test(tcase, allgather_puts_rows_in_order_of_rank, 0, SHARES);
    tcase_add_loop_test(tcase, alltoall_gives_every_rank_its_rows_in_order_of_rank, 0, SHARES);
    tcase_add_test(tcase, rows_wait_until_all_numbers_have_come);
    tcase_add_loop_test(tcase, absurd_numbers_of_rows_are_refused, 0,
                        sizeof absurd_numbers / sizeof *absurd_numbers);
    tcase_add_test(tcase, an_output_that_there_is_no_memory_for_is_an_error);
    tcase_add_test(tcase, alltoall_and_adasum_need_links_to_everybody);
    tcase_add_loop_test(tcase, the_second_operation_of_a_kind_does_not_allocate, 0, KINDS);
    tcase_add_loop_test(tcase, without_memory_nothing_starts_and_nothing_leaks, 0, KINDS);
    tcase_add_test(tcase, memory_is_used_again);
    tcase_add_test(tcase, not_everything_is_kept);
    return unit_run(suite);
}
