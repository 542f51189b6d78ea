/* SPDX-License-Identifier: Apache-2.0 */
/* Each mistake that a caller can make, and its text; what is not a mistake; splits, groups,
 * ranks. */
#include "lib/request/request.h"

#include "lib/hvd_device.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static unsigned char here[256], there[256];

static const int world_ranks[] = { 0, 1, 2, 3 }, odd_ranks[] = { 1, 3 };
static const struct request_set world = { 0, world_ranks, 4, 1, false };
static const struct request_set odd = { 5, odd_ranks, 2, 1, true };

static const int64_t ten[] = { 10 }, none[] = { 0 }, square[] = { 3, 4 }, negative[] = { 2, -3 };
static const int64_t huge[] = { INT64_MAX / 4, 1, 2 }, wide[] = { 0, INT64_MAX / 4, 2 };
static const int64_t empty[] = { INT64_MAX, INT64_MAX, 0 };
static const int64_t most_rows[] = { INT64_C(1) << 46, 0 },
                     too_many_rows[] = { (INT64_C(1) << 46) + 1, 0 };
static const int64_t eight[HVD_DIMS_MAX] = { 1, 1, 1, 1, 1, 1, 1, 1 };

#define A256                                                                                       \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"                             \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"                             \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"                             \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
static const char longest[] = A256, *const name255 = longest + 1, *const name256 = longest;

#define TEN_OF(type) .dtype = type, .ndims = 1, .dims = ten
#define TEN TEN_OF(HVD_FLOAT32)
#define IN_OUT .input = here, .output = there
#define ROOM .output_size = sizeof there

struct row {
    const char *text; /* behind "<label>: "; NULL: nothing is wrong */
    enum collective_kind kind;
    struct hvd_tensor tensor;
    enum hvd_op op;
    int root;
    struct hvd_options options;
};

#define ALLREDUCE(...) .kind = COLLECTIVE_ALLREDUCE, .tensor = { __VA_ARGS__ }
#define ALLGATHER(...) .kind = COLLECTIVE_ALLGATHER, .tensor = { __VA_ARGS__ }
#define BROADCAST(...) .kind = COLLECTIVE_BROADCAST, .tensor = { __VA_ARGS__ }
#define ALLTOALL(...) .kind = COLLECTIVE_ALLTOALL, .tensor = { __VA_ARGS__ }
#define REDUCESCATTER(...) .kind = COLLECTIVE_REDUCESCATTER, .tensor = { __VA_ARGS__ }
#define BARRIER(...) .kind = COLLECTIVE_BARRIER, .tensor = { __VA_ARGS__ }

/* The operation is average unless another is named. */
static const struct row names[] = {
    { NULL, ALLREDUCE("x", IN_OUT, TEN) },
    { NULL, ALLREDUCE(NULL, IN_OUT, TEN) },
    { NULL, ALLREDUCE("\xc3\xa4 \n\xf0\x9f\x98\x80", IN_OUT, TEN) },
    { "the name is empty; NULL stands for none", ALLREDUCE("", IN_OUT, TEN) },
    { "the name is not UTF-8 (byte 1 is 0xff)", ALLREDUCE("a\xff", IN_OUT, TEN) },
    { "the name is not UTF-8 (byte 0 is 0xc0)", BROADCAST("\xc0\x80", IN_OUT, TEN) },
    { "the name is not UTF-8 (byte 2 is 0xe2)", ALLGATHER("ab\xe2\x82", IN_OUT, TEN) },
    { "the name is not UTF-8 (byte 0 is 0xed)", ALLTOALL("\xed\xa0\x80", IN_OUT, TEN) },
};

static const struct row shapes[] = {
    { NULL, ALLREDUCE("x", IN_OUT, .dtype = HVD_INT8), .op = HVD_MIN },
    { NULL, ALLREDUCE("x", IN_OUT, .dtype = HVD_FLOAT32, .ndims = 2, .dims = square) },
    { NULL, ALLREDUCE("x", IN_OUT, .dtype = HVD_FLOAT32, .ndims = 8, .dims = eight) },
    { NULL, ALLREDUCE("x", .dtype = HVD_FLOAT32, .ndims = 3, .dims = empty) },
    { "dtype 11 is not an element type", ALLREDUCE("x", IN_OUT, TEN_OF((enum hvd_dtype)11)) },
    { "dtype -1 is not an element type", BROADCAST("x", IN_OUT, TEN_OF((enum hvd_dtype) - 1)) },
    { "ndims is -1, a tensor has 0 to 8 dimensions",
      ALLREDUCE("x", IN_OUT, .dtype = HVD_FLOAT32, .ndims = -1) },
    { "ndims is 9, a tensor has 0 to 8 dimensions",
      ALLREDUCE("x", IN_OUT, .dtype = HVD_FLOAT32, .ndims = 9, .dims = eight) },
    { "dims is NULL but ndims is 1", ALLREDUCE("x", IN_OUT, .dtype = HVD_FLOAT32, .ndims = 1) },
    { "dims[1] is -3, a dimension is 0 or more",
      ALLREDUCE("x", IN_OUT, .dtype = HVD_FLOAT32, .ndims = 2, .dims = negative) },
    { "[2305843009213693951, 1, 2] of float32 is more than memory can hold",
      ALLREDUCE("x", IN_OUT, .dtype = HVD_FLOAT32, .ndims = 3, .dims = huge) },
    { "[0, 2305843009213693951, 2] of float64 is more than memory can hold",
      ALLGATHER("x", IN_OUT, .dtype = HVD_FLOAT64, .ndims = 3, .dims = wide) },
    { NULL, ALLTOALL("x", .dtype = HVD_FLOAT32, .ndims = 2, .dims = most_rows) },
    { "[70368744177665, 0] of float32 is more than memory can hold",
      ALLTOALL("x", .dtype = HVD_FLOAT32, .ndims = 2, .dims = too_many_rows) },
    { NULL, ALLGATHER("x", .dtype = HVD_FLOAT32, .ndims = 2, .dims = most_rows) },
    { "[70368744177665, 0] of float32 is more than memory can hold",
      ALLGATHER("x", .dtype = HVD_FLOAT32, .ndims = 2, .dims = too_many_rows) },
    { "a scalar has no dimension 0", ALLGATHER("x", IN_OUT, .dtype = HVD_FLOAT32) },
    { "a scalar has no dimension 0", ALLTOALL("x", IN_OUT, .dtype = HVD_FLOAT32) },
    { "a scalar has no dimension 0", REDUCESCATTER("x", IN_OUT, ROOM, .dtype = HVD_FLOAT32) },
};

static const struct row operations[] = {
    { NULL, ALLREDUCE("x", IN_OUT, TEN_OF(HVD_BFLOAT16)), .op = HVD_ADASUM },
    { NULL, ALLREDUCE("x", IN_OUT, TEN_OF(HVD_BOOL)), .op = HVD_PRODUCT },
    { NULL, ALLREDUCE("x", IN_OUT, TEN_OF(HVD_INT8)), .op = HVD_AVERAGE,
      .options = { .prescale = -0.5, .postscale = 3 } },
    { NULL, ALLREDUCE("x", IN_OUT, TEN_OF(HVD_BOOL)), .op = HVD_MAX, .options = { .prescale = 1 } },
    { NULL, REDUCESCATTER("x", IN_OUT, ROOM, TEN_OF(HVD_BOOL)), .op = HVD_SUM },
    { NULL, BROADCAST("x", IN_OUT, TEN), .options = { .prescale = 1, .postscale = 1 } },
    { "op 6 is not an operation", ALLREDUCE("x", IN_OUT, TEN), .op = (enum hvd_op)6 },
    { "op -1 is not an operation", ALLREDUCE("x", IN_OUT, TEN), .op = (enum hvd_op) - 1 },
    { "there is no average of bool; sum is or, product is and",
      ALLREDUCE("x", IN_OUT, TEN_OF(HVD_BOOL)), .op = HVD_AVERAGE },
    { "there is no average of bool; sum is or, product is and",
      REDUCESCATTER("x", IN_OUT, ROOM, TEN_OF(HVD_BOOL)), .op = HVD_AVERAGE },
    { "there is no adasum of int64, only of floating point",
      ALLREDUCE("x", IN_OUT, TEN_OF(HVD_INT64)), .op = HVD_ADASUM },
    { "op is max, only sum and average are possible", REDUCESCATTER("x", IN_OUT, ROOM, TEN),
      .op = HVD_MAX },
    { "op is adasum, only sum and average are possible", REDUCESCATTER("x", IN_OUT, ROOM, TEN),
      .op = HVD_ADASUM },
    { "prescale is nan, a factor is finite", ALLREDUCE("x", IN_OUT, TEN),
      .options = { .prescale = NAN } },
    { "postscale is -inf, a factor is finite", REDUCESCATTER("x", IN_OUT, ROOM, TEN),
      .options = { .postscale = -INFINITY } },
    { "postscale is 2, but bool is not scaled", ALLREDUCE("x", IN_OUT, TEN_OF(HVD_BOOL)),
      .op = HVD_SUM, .options = { .postscale = 2 } },
    { "prescale is 0.5, but only reductions are scaled", ALLGATHER("x", IN_OUT, ROOM, TEN),
      .options = { .prescale = 0.5 } },
    { "prescale is 0.5, but only reductions are scaled", BARRIER(.name = NULL),
      .options = { .prescale = 0.5 } },
    { NULL, BROADCAST("x", .output = there, TEN), .root = 3 },
    { "root 4 does not exist in a world of 4", BROADCAST("x", .output = there, TEN), .root = 4 },
    { "root -1 does not exist, a rank is 0 or more", BROADCAST("x", .output = there, TEN),
      .root = -1 },
};

static const struct row memory[] = {
    { NULL, ALLREDUCE("x", here, here, TEN) },
    { NULL, ALLREDUCE("x", here, here + 40, TEN) },
    { NULL, ALLREDUCE("x", here + 40, here, TEN) },
    { NULL, ALLREDUCE("x", .dtype = HVD_FLOAT32, .ndims = 1, .dims = none) },
    { "input is NULL, 40 bytes are to be read", ALLREDUCE("x", NULL, there, TEN) },
    { "output is NULL, 40 bytes are to be written", ALLREDUCE("x", here, NULL, TEN) },
    { "input and output overlap in part", ALLREDUCE("x", here, here + 39, TEN) },
    { "input and output overlap in part", ALLREDUCE("x", here + 1, here, TEN) },
    { NULL, BROADCAST("x", here + 1, here, TEN) },
    { NULL, BROADCAST("x", .dtype = HVD_FLOAT32, .ndims = 1, .dims = none) },
    { "output is NULL, 40 bytes are to be written", BROADCAST("x", here, NULL, TEN) },

    { NULL, ALLGATHER("x", here, TEN) },
    { NULL, ALLGATHER("x", IN_OUT, ROOM, TEN) },
    { NULL, ALLGATHER("x", .output = there, ROOM, .dtype = HVD_FLOAT32, .ndims = 1, .dims = none) },
    { NULL, ALLGATHER("x", here + 40, here, 160, TEN) },
    { NULL, ALLGATHER("x", here + 120, here, 160, TEN) },
    { NULL, ALLGATHER("x", here + 41, here + 1, 160, TEN) }, /* rows, wherever the output begins */
    { "input is NULL, 40 bytes are to be read", ALLGATHER("x", NULL, there, ROOM, TEN) },
    { "output_size is 39, this rank alone gives 40 bytes", ALLGATHER("x", IN_OUT, 39, TEN) },
    { "input and output overlap in part", ALLGATHER("x", here + 41, here, 160, TEN) },
    { "input and output overlap in part", ALLGATHER("x", here + 124, here, 160, TEN) },
    { "input and output overlap in part", ALLGATHER("x", here, here + 4, 160, TEN) },

    { NULL, ALLTOALL("x", here, TEN) },
    { NULL, ALLTOALL("x", IN_OUT, TEN) },
    { "input is NULL, 40 bytes are to be read", ALLTOALL("x", TEN) },
    { "input and output overlap", ALLTOALL("x", here, here, ROOM, TEN) },
    { "input and output overlap", ALLTOALL("x", here + 40, here, SIZE_MAX, TEN) },

    /* Rank 1 of 4 gets 3 rows of 10. */
    { NULL, REDUCESCATTER("x", IN_OUT, 12, TEN) },
    { NULL, REDUCESCATTER("x", here, here, 12, TEN) },
    { NULL, REDUCESCATTER("x", here + 12, here, ROOM, TEN) },
    { NULL, REDUCESCATTER("x", .dtype = HVD_FLOAT32, .ndims = 1, .dims = none) },
    { "output_size is 11, this rank's share is 12 bytes", REDUCESCATTER("x", IN_OUT, 11, TEN) },
    { "output is NULL, 12 bytes are to be written", REDUCESCATTER("x", here, NULL, 12, TEN) },
    { "input and output overlap in part", REDUCESCATTER("x", here + 11, here, 12, TEN) },
};

static const struct row devices[] = {
    { "there is no device 99", ALLREDUCE("x", IN_OUT, TEN, .device = 99) },
    { "there is no device -1", BROADCAST("x", IN_OUT, TEN, .device = -1) },
    { "ready is set, but device is 0, which is host memory",
      ALLREDUCE("x", IN_OUT, TEN, .ready = here) },
};

static void check_row(const char *table, size_t i, const struct row *row)
{
    char label[REQUEST_LABEL], expected[sizeof((struct err *)0)->text];
    struct description description;
    struct err err = { 0 };
    int rc = request_describe(&description, row->kind, &row->tensor, row->op, row->root,
                              &row->options, &world, &err);
    ck_assert_msg(rc == (row->text ? HVD_ERR_INVALID : HVD_OK), "%s %zu: %d, %s", table, i, rc,
                  err.text);
    ck_assert_int_eq(err.code, rc);
    if (row->text) {
        snprintf(expected, sizeof expected, "%s: %s",
                 request_label(label, row->kind, row->tensor.name), row->text);
        ck_assert_str_eq(err.text, expected);
    }
    ck_assert_int_eq(request_describe(&description, row->kind, &row->tensor, row->op, row->root,
                                      &row->options, &world, NULL),
                     rc);
}

START_TEST(each_mistake_has_its_text_and_nothing_else_is_one)
{
    static const struct {
        const char *name;
        const struct row *rows;
        size_t count;
    } tables[] = {
        { "name", names, sizeof names / sizeof *names },
        { "shape", shapes, sizeof shapes / sizeof *shapes },
        { "operation", operations, sizeof operations / sizeof *operations },
        { "memory", memory, sizeof memory / sizeof *memory },
        { "device", devices, sizeof devices / sizeof *devices },
    };
    for (size_t i = 0; i < tables[_i].count; i++)
        check_row(tables[_i].name, i, &tables[_i].rows[i]);
}
END_TEST

START_TEST(a_name_has_255_bytes_at_most)
{
    struct hvd_tensor tensor = { name255, IN_OUT, TEN };
    struct description description;
    struct err err;
    ck_assert_int_eq(
        request_describe(&description, COLLECTIVE_BROADCAST, &tensor, 0, 0, NULL, &world, &err),
        HVD_OK);
    tensor.name = name256;
    ck_assert_int_eq(
        request_describe(&description, COLLECTIVE_BROADCAST, &tensor, 0, 0, NULL, &world, &err),
        HVD_ERR_INVALID);
    ck_assert(strstr(err.text, "...': the name is longer than 255 bytes"));
}
END_TEST

START_TEST(a_collective_of_a_tensor_needs_one)
{
    struct description description;
    struct err err;
    ck_assert_int_eq(
        request_describe(&description, COLLECTIVE_ALLTOALL, NULL, 0, 0, NULL, &world, &err),
        HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "alltoall: tensor is NULL");
    ck_assert_int_eq(
        request_describe(&description, COLLECTIVE_JOIN, NULL, 0, 0, NULL, &world, &err), HVD_OK);
    ck_assert(description.kind == COLLECTIVE_JOIN && description.prescale == 1);
}
END_TEST

START_TEST(a_description_says_all_that_was_asked_for)
{
    struct hvd_tensor tensor = { NULL, IN_OUT, .dtype = HVD_INT16, .ndims = 2, .dims = square };
    struct hvd_options options = { .process_set = 5, .postscale = 0.25 };
    struct description description;
    struct err err;
    ck_assert_int_eq(request_describe(&description, COLLECTIVE_ALLREDUCE, &tensor, HVD_MIN, 0,
                                      &options, &odd, &err),
                     HVD_OK);
    ck_assert(description.kind == COLLECTIVE_ALLREDUCE && description.dtype == HVD_INT16);
    ck_assert(description.op == HVD_MIN && description.nameless);
    ck_assert(description.prescale == 1 && description.postscale == 0.25);
    ck_assert_int_eq(description.shape.ndims, 2);
    ck_assert_int_eq(description.shape.dims[1], 4);
    ck_assert_uint_eq(description_bytes(&description), 24);
    ck_assert(description.group == 0 && description.group_size == 0 && description.tag == 0);
}
END_TEST

/* What the library does not ask a device for here. */
static void *get(void *context, size_t nbytes)
{
    (void)nbytes;
    return context;
}

static void put(void *context, void *data, size_t nbytes)
{
    (void)context;
    (void)data;
    (void)nbytes;
}

static int copy(void *context, void *to, const void *from, size_t nbytes)
{
    (void)from;
    put(context, to, nbytes);
    return 0;
}

static void *create(void *context)
{
    return context;
}

static void destroy(void *context, void *event)
{
    put(context, event, 0);
}

static int record(void *context, void *event, enum hvd_device_queue queue)
{
    put(context, event, queue);
    return 0;
}

static int query(void *context, void *event)
{
    put(context, event, 0);
    return 1;
}

static int can_reduce(void *context, enum hvd_dtype dtype, enum hvd_op op, int process_set)
{
    return !context && dtype == HVD_FLOAT32 && op != HVD_MAX && process_set == 5;
}

static int reduce(void *context, const struct hvd_device_allreduce *allreduce)
{
    return context || !allreduce;
}

/* The set is `odd`; its root is rank 3 of the world. */
static int can_collective(void *context, const struct hvd_device_collective *question)
{
    const struct hvd_device_collective *asked = question;
    return !context && asked->kind == HVD_DEVICE_BROADCAST && asked->dtype == HVD_FLOAT32 &&
           asked->process_set == 5 && asked->size == 2 && asked->root == 1 && asked->rank == 0 &&
           !asked->input && !asked->output && asked->count == 0 && asked->prescale == 1 &&
           asked->postscale == 1 && !asked->rows && !asked->one_host;
}

/* What can_reduce() refuses, and only allreduces of as many elements on one host. */
static int can_large(void *context, const struct hvd_device_collective *question)
{
    const struct hvd_device_collective *asked = question;
    return !context && asked->kind == HVD_DEVICE_ALLREDUCE && asked->dtype == HVD_FLOAT64 &&
           asked->op == HVD_SUM && asked->process_set == 5 && asked->size == 2 &&
           asked->count == 10 && asked->one_host;
}

static int collective(void *context, const struct hvd_device_collective *wanted)
{
    return context || !wanted;
}

/* What a device needs that only copies. */
#define COPIES                                                                                     \
    .name = "npu", .alloc_pinned = get, .free_pinned = put, .copy_to_host = copy,                  \
    .copy_from_host = copy, .create_event = create, .destroy_event = destroy,                      \
    .record_event = record, .query_event = query

static const struct hvd_device_extension extension = { .size = sizeof extension,
                                                       .can_collective = can_collective,
                                                       .collective = collective };
static const struct hvd_device_extension large_extension = { .size = sizeof large_extension,
                                                             .can_collective = can_large,
                                                             .collective = collective };

START_TEST(a_description_says_where_the_memory_is)
{
    static const struct hvd_device device = { COPIES, .can_allreduce = can_reduce,
                                              .allreduce = reduce };
    static const struct {
        enum collective_kind kind;
        enum hvd_dtype dtype;
        enum hvd_op op;
        enum memory_kind memory;
    } rows[] = {
        { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_SUM, MEMORY_DEVICE_REDUCES },
        { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_MAX, MEMORY_DEVICE },
        { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_ADASUM, MEMORY_DEVICE }, /* it is not asked */
        { COLLECTIVE_ALLREDUCE, HVD_FLOAT64, HVD_SUM, MEMORY_DEVICE },
        { COLLECTIVE_REDUCESCATTER, HVD_FLOAT32, HVD_SUM, MEMORY_DEVICE },
        { COLLECTIVE_BROADCAST, HVD_FLOAT32, HVD_SUM, MEMORY_DEVICE },
    };
    static const enum memory_kind extended[sizeof rows / sizeof *rows] = {
        MEMORY_DEVICE_REDUCES, MEMORY_DEVICE, MEMORY_DEVICE,
        MEMORY_DEVICE,         MEMORY_DEVICE, MEMORY_DEVICE_REDUCES
    };
    struct description description;
    struct err err;
    int number = hvd_register_device(&device);
    ck_assert_int_gt(number, 0);
    if (_i == 1)
        ck_assert_int_eq(hvd_extend_device(number, &extension), HVD_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hvd_tensor tensor = {
            "x", IN_OUT, ROOM, TEN_OF(rows[i].dtype), .device = number, .ready = here
        };
        ck_assert_int_eq(
            request_describe(&description, rows[i].kind, &tensor, rows[i].op, 3, NULL, &odd, &err),
            HVD_OK);
        ck_assert_int_eq(description.memory, _i == 1 ? extended[i] : rows[i].memory);
        tensor.output = NULL;
        ck_assert_int_eq(
            request_describe(&description, COLLECTIVE_ALLGATHER, &tensor, 0, 0, NULL, &odd, &err),
            HVD_ERR_INVALID);
        ck_assert_str_eq(err.text,
                         "allgather 'x': output is NULL, memory on a device is the caller's");
    }
    ck_assert_int_eq(hvd_unregister_device(number), HVD_OK);
}
END_TEST

/* The size of a tensor and the hosts may matter; a table without allreduce() is not asked. */
START_TEST(a_device_may_reduce_large_tensors_of_one_host_only)
{
    static const struct hvd_device reduces = { COPIES, .can_allreduce = can_reduce,
                                               .allreduce = reduce };
    static const struct hvd_device copies = { COPIES };
    static const struct request_set hosts = { 5, odd_ranks, 2, 1, false };
    static const struct {
        const struct hvd_device *device;
        enum hvd_dtype dtype;
        enum hvd_op op;
        const struct request_set *set;
        const int64_t *dims;
        enum memory_kind memory;
    } rows[] = {
        { &reduces, HVD_FLOAT64, HVD_SUM, &odd, ten, MEMORY_DEVICE_REDUCES },
        { &reduces, HVD_FLOAT32, HVD_SUM, &odd, none, MEMORY_DEVICE_REDUCES }, /* can_reduce() */
        { &reduces, HVD_FLOAT64, HVD_SUM, &odd, none, MEMORY_DEVICE },
        { &reduces, HVD_FLOAT64, HVD_SUM, &hosts, ten, MEMORY_DEVICE },
        { &reduces, HVD_FLOAT64, HVD_ADASUM, &odd, ten, MEMORY_DEVICE },
        { &copies, HVD_FLOAT64, HVD_SUM, &odd, ten, MEMORY_DEVICE },
    };
    struct description description;
    struct err err;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int number = hvd_register_device(rows[i].device);
        ck_assert_int_eq(hvd_extend_device(number, &large_extension), HVD_OK);
        const struct hvd_tensor tensor = { "x",
                                           IN_OUT,
                                           ROOM,
                                           .dtype = rows[i].dtype,
                                           .ndims = 1,
                                           .dims = rows[i].dims,
                                           .device = number };
        ck_assert_int_eq(request_describe(&description, COLLECTIVE_ALLREDUCE, &tensor, rows[i].op,
                                          0, NULL, rows[i].set, &err),
                         HVD_OK);
        ck_assert_int_eq(description.memory, rows[i].memory);
        ck_assert_int_eq(hvd_unregister_device(number), HVD_OK);
    }
}
END_TEST

static int can_all(void *context, const struct hvd_device_collective *question)
{
    return !context && question->kind != 0;
}

/* In a larger set the rows are known only when they come. */
START_TEST(devices_exchange_rows_in_small_sets)
{
    static const struct hvd_device device = { COPIES };
    static const struct hvd_device_extension all = { .size = sizeof all,
                                                     .can_collective = can_all,
                                                     .collective = collective };
    int ranks[LISTED_ROWS_RANKS + 1] = { 0 };
    struct request_set set = { 0, ranks, LISTED_ROWS_RANKS, 0, false };
    struct description description;
    struct err err;
    int number = hvd_register_device(&device);
    ck_assert_int_eq(hvd_extend_device(number, &all), HVD_OK);
    struct hvd_tensor tensor = { "x", IN_OUT, ROOM, TEN, .device = number };
    ck_assert_int_eq(
        request_describe(&description, COLLECTIVE_ALLTOALL, &tensor, 0, 0, NULL, &set, &err),
        HVD_OK);
    ck_assert_int_eq(description.memory, MEMORY_DEVICE_REDUCES);
    set.size++;
    ck_assert_int_eq(
        request_describe(&description, COLLECTIVE_ALLTOALL, &tensor, 0, 0, NULL, &set, &err),
        HVD_OK);
    ck_assert_int_eq(description.memory, MEMORY_DEVICE);
    ck_assert_int_eq(hvd_unregister_device(number), HVD_OK);
}
END_TEST

START_TEST(a_root_of_the_world_becomes_one_of_the_set)
{
    struct hvd_tensor tensor = { "w", .output = here, TEN };
    struct description description;
    struct err err;
    ck_assert_int_eq(
        request_describe(&description, COLLECTIVE_BROADCAST, &tensor, HVD_MAX, 3, NULL, &odd, &err),
        HVD_OK);
    ck_assert_int_eq(description.root, 1);
    ck_assert(description.op == 0 && !description.nameless);
    ck_assert_int_eq(
        request_describe(&description, COLLECTIVE_BROADCAST, &tensor, 0, 2, NULL, &odd, &err),
        HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "broadcast 'w': root 2 is not in process set 5");
}
END_TEST

START_TEST(splits_are_one_for_each_rank_and_no_more_than_there_is)
{
    static const int64_t equal[] = { 3, 3, 3, 3 }, less[] = { 5, 0, 4, 0 }, all[] = { 0, 0, 0, 12 };
    static const int64_t more[] = { 5, 8, 0, 0 }, minus[] = { 1, 2, -1, 0 };
    static const int64_t wraps[] = { INT64_MAX, INT64_MAX, 2, 0 }, twelve[] = { 12 };
    static const struct {
        const int64_t *splits, *dims;
        int nsplits;
        const int64_t *filled;
        const char *text;
    } rows[] = {
        { NULL, twelve, 0, equal, NULL },
        { NULL, none, 0, none, NULL },
        { equal, twelve, 4, equal, NULL },
        { less, twelve, 4, less, NULL },
        { all, twelve, 4, all, NULL },
        { NULL, ten, 0, NULL, "dims[0] is 10, without splits it must divide by the 4 ranks" },
        { equal, twelve, 3, NULL, "nsplits is 3, one split is needed for each of 4 ranks" },
        { equal, twelve, -1, NULL, "nsplits is -1, one split is needed for each of 4 ranks" },
        { minus, twelve, 4, NULL, "splits[2] is -1, a split is 0 or more" },
        { more, twelve, 4, NULL, "splits add up to more than the 12 rows there are" },
        { wraps, twelve, 4, NULL, "splits add up to more than the 12 rows there are" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hvd_tensor tensor = { .name = "x", .ndims = 1, .dims = rows[i].dims };
        struct err err = { 0 };
        int64_t filled[4];
        int rc = request_splits(filled, rows[i].splits, rows[i].nsplits, &tensor, &world, &err);
        ck_assert_msg(rc == (rows[i].text ? HVD_ERR_INVALID : HVD_OK), "row %zu: %s", i, err.text);
        if (rows[i].text) {
            ck_assert_int_eq(strncmp(err.text, "alltoall 'x': ", 14), 0);
            ck_assert_str_eq(err.text + 14, rows[i].text);
        } else if (rows[i].filled != none)
            ck_assert_mem_eq(filled, rows[i].filled, sizeof filled);
        else
            ck_assert(filled[0] == 0 && filled[3] == 0);
    }
}
END_TEST

START_TEST(a_group_has_one_number_and_its_size)
{
    struct hvd_tensor tensors[300];
    struct description descriptions[300];
    static char group_names[300][16];
    struct err err;
    for (int i = 0; i < 300; i++) {
        snprintf(group_names[i], sizeof group_names[i], "g%d", i);
        tensors[i] = (struct hvd_tensor){ .name = group_names[i] };
        descriptions[i] = (struct description){ .kind = COLLECTIVE_ALLREDUCE };
    }
    ck_assert_int_eq(request_group(descriptions, tensors, 300, COLLECTIVE_ALLREDUCE, &err), HVD_OK);
    for (int i = 0; i < 300; i++) {
        ck_assert(descriptions[i].group == request_hash("g0"));
        ck_assert(descriptions[i].group_size == 300 && descriptions[i].tag == 0);
        descriptions[i] = (struct description){ .kind = COLLECTIVE_ALLREDUCE };
    }
    tensors[299].name = "g17";
    ck_assert_int_eq(request_group(descriptions, tensors, 300, COLLECTIVE_ALLREDUCE, &err),
                     HVD_ERR_INVALID);
    ck_assert_str_eq(err.text,
                     "grouped allreduce: allreduce 'g17' is there twice, as tensors[17] and [299]");
}
END_TEST

START_TEST(a_group_is_named_or_nameless_and_never_empty)
{
    struct hvd_tensor tensors[2] = { { .name = NULL }, { .name = NULL } };
    struct description descriptions[2] = { { .tag = 0 }, { .tag = 0 } };
    struct err err;
    ck_assert_int_eq(request_group(descriptions, tensors, 2, COLLECTIVE_ALLGATHER, &err), HVD_OK);
    ck_assert(descriptions[1].group == 1 && descriptions[1].group_size == 2);
    tensors[1].name = "b";
    ck_assert_int_eq(request_group(descriptions, tensors, 2, COLLECTIVE_ALLGATHER, &err),
                     HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "grouped allgather: tensors[1] has a name, tensors[0] has none");
    ck_assert_int_eq(request_group(NULL, NULL, 0, COLLECTIVE_ALLGATHER, &err), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "grouped allgather: count is 0, a group has at least one tensor");
    ck_assert_int_eq(request_group(NULL, NULL, -4, COLLECTIVE_ALLGATHER, NULL), HVD_ERR_INVALID);
    ck_assert_int_eq(request_group(descriptions, NULL, 2, COLLECTIVE_ALLGATHER, &err),
                     HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "grouped allgather: tensors is NULL");
}
END_TEST

START_TEST(a_group_of_one_tensor_is_its_own)
{
    const struct hvd_tensor tensors[2] = { { .name = NULL }, { .name = "of another group" } };
    struct description description = { .kind = COLLECTIVE_ALLREDUCE };
    struct err err;
    ck_assert_int_eq(request_group(&description, tensors, 1, COLLECTIVE_ALLREDUCE, &err), HVD_OK);
    ck_assert(description.group == 1 && description.group_size == 1);
}
END_TEST

START_TEST(ranks_are_sorted_exist_and_differ)
{
    static const int mixed[] = { 3, 0, 2 }, twice[] = { 1, 2, 1 }, high[] = { 0, 4 },
                     low[] = { -1 };
    static const struct {
        const int *ranks;
        int count;
        const char *text;
    } rows[] = {
        { mixed, 3, NULL },
        { twice, 3, "rank 1 is there twice" },
        { high, 2, "ranks[1] is 4, which is not in a world of 4" },
        { low, 1, "ranks[0] is -1, a rank is 0 or more" },
        { NULL, 2, "ranks is NULL" },
        { mixed, 0, "count is 0, a process set has at least one rank" },
        { mixed, -1, "count is -1, a process set has at least one rank" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err err = { 0 };
        int sorted[3] = { 0 };
        int rc = request_ranks(sorted, rows[i].ranks, rows[i].count, 4, &err);
        ck_assert_msg(rc == (rows[i].text ? HVD_ERR_INVALID : HVD_OK), "row %zu: %s", i, err.text);
        ck_assert_str_eq(err.text, rows[i].text ? rows[i].text : "");
        ck_assert(rc < 0 || (sorted[0] == 0 && sorted[1] == 2 && sorted[2] == 3));
    }
}
END_TEST

START_TEST(labels_quote_what_cannot_be_printed)
{
    char label[REQUEST_LABEL];
    ck_assert_str_eq(request_label(label, COLLECTIVE_REDUCESCATTER, "a\n"),
                     "reduce-scatter 'a\\x0a'");
    ck_assert_str_eq(request_label(label, COLLECTIVE_BARRIER, NULL), "barrier");
    ck_assert_str_eq(request_label(label, (enum collective_kind)99, NULL), "?");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request");
    TCase *tcase = tcase_create("request");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, each_mistake_has_its_text_and_nothing_else_is_one, 0, 5);
    tcase_add_test(tcase, a_name_has_255_bytes_at_most);
    tcase_add_test(tcase, a_collective_of_a_tensor_needs_one);
    tcase_add_test(tcase, a_description_says_all_that_was_asked_for);
    tcase_add_loop_test(tcase, a_description_says_where_the_memory_is, 0, 2);
    tcase_add_test(tcase, a_device_may_reduce_large_tensors_of_one_host_only);
    tcase_add_test(tcase, devices_exchange_rows_in_small_sets);
    tcase_add_test(tcase, a_root_of_the_world_becomes_one_of_the_set);
    tcase_add_test(tcase, splits_are_one_for_each_rank_and_no_more_than_there_is);
    tcase_add_test(tcase, a_group_has_one_number_and_its_size);
    tcase_add_test(tcase, a_group_is_named_or_nameless_and_never_empty);
    tcase_add_test(tcase, a_group_of_one_tensor_is_its_own);
    tcase_add_test(tcase, ranks_are_sorted_exist_and_differ);
    tcase_add_test(tcase, labels_quote_what_cannot_be_printed);
    return unit_run(suite);
}
