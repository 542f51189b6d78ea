/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions: sizes, texts, what is the same, the way over the wire, and what must not come. */
#include "lib/negotiation/description.h"

#include "tests/support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Dimensions beyond ndims mean nothing, so they are garbage here. */
static struct description sample(void)
{
    return (struct description){
        .kind = COLLECTIVE_BROADCAST,
        .dtype = HVD_BFLOAT16,
        .op = HVD_MAX,
        .root = 6,
        .prescale = 0.1,
        .postscale = -3,
        .shape = { 3, { 17, 0x102030405, 3, -1, -1, -1, -1, -1 } },
        .group = 0xfedcba9876543210,
        .group_size = 0x87654321,
        .tag = 0x123456789abcdef0,
        .nameless = true,
        .memory = MEMORY_DEVICE,
    };
}

enum { OFFSET_KIND, OFFSET_DTYPE, OFFSET_OP, OFFSET_FLAGS, OFFSET_ROOT, OFFSET_NDIMS = 44 };

START_TEST(sizes_are_products_of_dimensions)
{
    static const struct {
        struct shape shape;
        size_t count, row;
    } rows[] = {
        { { 0, { -1 } }, 1, 1 },
        { { 1, { 17 } }, 17, 1 },
        { { 2, { 17, 5 } }, 85, 5 },
        { { 3, { 0, 5, 6 } }, 0, 30 },
        { { 3, { INT64_MAX, INT64_MAX, 0 } }, 0, 0 },
        { { 8, { 2, 2, 2, 2, 2, 2, 2, 2 } }, 256, 128 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct description description = { COLLECTIVE_ALLGATHER, .dtype = HVD_INT32 };
        description.shape = rows[i].shape;
        ck_assert_uint_eq(shape_count(&rows[i].shape), rows[i].count);
        ck_assert_uint_eq(shape_row_count(&rows[i].shape), rows[i].row);
        ck_assert_uint_eq(description_bytes(&description), rows[i].count * 4);
        description.kind = COLLECTIVE_ADD_SET;
        ck_assert_uint_eq(description_bytes(&description), 0);
    }
}
END_TEST

START_TEST(a_shape_fits_if_its_bytes_and_those_of_a_row_do)
{
    static const struct {
        struct shape shape;
        size_t element_size;
        bool fits;
    } rows[] = {
        { { 0, { 0 } }, 8, true },
        { { 1, { TENSOR_BYTES_MAX } }, 1, true },
        { { 1, { TENSOR_BYTES_MAX + 1 } }, 1, false },
        { { 1, { INT64_MAX } }, 1, false },
        { { 1, { TENSOR_BYTES_MAX / 8 } }, 8, true },
        { { 2, { TENSOR_BYTES_MAX / 8 + 1, 1 } }, 8, false },
        { { 2, { 1 << 28, (1 << 28) - 1 } }, 1, true },
        { { 2, { 1 << 28, 1 << 28 } }, 1, false },
        { { 2, { 0, TENSOR_BYTES_MAX } }, 1, true },
        { { 2, { 0, TENSOR_BYTES_MAX } }, 2, false },
        { { 3, { 5, INT64_MAX, 0 } }, 8, true },
        { { 3, { 0, INT64_MAX, INT64_MAX } }, 1, false },
        { { 4, { 1 << 16, 1 << 16, 1 << 16, 1 << 16 } }, 1, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(shape_fits(&rows[i].shape, rows[i].element_size) == rows[i].fits, "row %zu",
                      i);
}
END_TEST

START_TEST(shapes_have_texts)
{
    static const struct {
        struct shape shape;
        bool own_rows;
        const char *text;
    } rows[] = {
        { { 0, { 0 } }, false, "[]" },
        { { 0, { 0 } }, true, "[]" },
        { { 1, { 5 } }, false, "[5]" },
        { { 1, { 5 } }, true, "[*]" },
        { { 2, { 17, 18 } }, false, "[17, 18]" },
        { { 2, { 17, 18 } }, true, "[*, 18]" },
        { { 3, { INT64_MAX, INT64_MAX, INT64_MAX } },
          false,
          "[9223372036854775807, 9223372036854775807...]" },
        { { 8, { 1, 2, 3, 4, 5, 6, 7, 8 } }, false, "[1, 2, 3, 4, 5, 6, 7, 8]" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[SHAPE_TEXT];
        ck_assert_str_eq(shape_text(text, &rows[i].shape, rows[i].own_rows), rows[i].text);
    }
}
END_TEST

START_TEST(every_kind_has_a_name)
{
    ck_assert_str_eq(collective_name(COLLECTIVE_ALLREDUCE), "allreduce");
    ck_assert_str_eq(collective_name(COLLECTIVE_REDUCESCATTER), "reduce-scatter");
    for (int kind = COLLECTIVE_ALLREDUCE; kind < COLLECTIVE_KINDS; kind++)
        ck_assert_str_ne(collective_name((enum collective_kind)kind), "?");
    ck_assert_str_eq(collective_name((enum collective_kind)0), "?");
    ck_assert_str_eq(collective_name((enum collective_kind)COLLECTIVE_KINDS), "?");
    ck_assert_str_eq(collective_name((enum collective_kind) - 1), "?");
}
END_TEST

START_TEST(what_a_rank_submits_differs_by_any_field)
{
    struct description a = sample(), rows[] = {
        a, a, a, a, a, a, a, a, a, a, a, a, a, a,
    };
    rows[0].kind = COLLECTIVE_ALLREDUCE;
    rows[1].dtype = HVD_FLOAT16;
    rows[2].op = HVD_MIN;
    rows[3].root = 5;
    rows[4].prescale = nextafter(0.1, 1);
    rows[5].postscale = 3;
    rows[6].shape.ndims = 2;
    rows[7].shape.dims[0] = 18;
    rows[8].shape.dims[2] = 4;
    rows[9].group++;
    rows[10].group_size++;
    rows[11].tag++;
    rows[12].nameless = false;
    rows[13].memory = MEMORY_HOST;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_msg(!description_equal(&a, &rows[i]), "row %zu", i);
        ck_assert_msg(description_agree(&a, &rows[i]) == (i == 12), "row %zu", i);
    }
    struct description same = a;
    same.shape.dims[3] = 99;
    ck_assert(description_equal(&a, &same) && description_agree(&a, &same));
    a.prescale = same.prescale = NAN;
    ck_assert(description_equal(&a, &same) && description_agree(&a, &same));
}
END_TEST

START_TEST(first_dimensions_of_allgather_and_alltoall_may_differ)
{
    for (int kind = COLLECTIVE_ALLREDUCE; kind < COLLECTIVE_KINDS; kind++) {
        struct description a = sample(), b = sample();
        a.kind = b.kind = (enum collective_kind)kind;
        b.shape.dims[0] = 0;
        ck_assert(description_agree(&a, &b) ==
                  (kind == COLLECTIVE_ALLGATHER || kind == COLLECTIVE_ALLTOALL));
        ck_assert(!description_equal(&a, &b));
        b.shape.dims[1] = 1;
        ck_assert(!description_agree(&a, &b));
    }
}
END_TEST

START_TEST(a_description_comes_back_as_it_was_written)
{
    struct description a = sample(), b;
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    struct err err = { 0 };
    for (int ndims = 0; ndims <= HVD_DIMS_MAX; ndims++) {
        a.shape = (struct shape){ ndims, { 1, 2, 3, 4, 5, 6, 7, 8 } };
        description_encode(&writer, &a);
    }
    wire_reader_init(&reader, writer.data, writer.length);
    for (int ndims = 0; ndims <= HVD_DIMS_MAX; ndims++) {
        a.shape.ndims = ndims;
        ck_assert_int_eq(description_decode(&b, &reader, &err), HVD_OK);
        ck_assert(description_equal(&a, &b));
    }
    ck_assert(wire_reader_finished(&reader));
    wire_writer_fini(&writer);
}
END_TEST

/* A copy of its own, so that a sanitizer sees a read beyond it. */
static int decode(const void *bytes, size_t length, struct description *description,
                  struct err *err)
{
    struct wire_reader reader;
    unsigned char *copy = malloc(length ? length : 1);
    memcpy(copy, bytes, length);
    wire_reader_init(&reader, copy, length);
    int rc = description_decode(description, &reader, err);
    free(copy);
    return rc;
}

START_TEST(a_description_cut_at_any_byte_is_refused)
{
    struct description a = sample(), b;
    struct wire_writer writer = { 0 };
    description_encode(&writer, &a);
    for (size_t length = 0; length < writer.length; length++) {
        struct err err = { 0 };
        ck_assert_msg(decode(writer.data, length, &b, &err) == HVD_ERR_PROTOCOL, "at %zu", length);
        ck_assert_str_eq(err.text, "a description is cut short");
    }
    ck_assert_int_eq(decode(writer.data, writer.length, &b, NULL), HVD_OK);
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    static const struct {
        size_t offset;
        unsigned char byte;
        const char *text;
    } rows[] = {
        { OFFSET_KIND, 0, "collective 0 is unknown" },
        { OFFSET_KIND, COLLECTIVE_KINDS, "collective 10 is unknown" },
        { OFFSET_KIND, 255, "collective 255 is unknown" },
        { OFFSET_DTYPE, 11, "broadcast of unknown element type 11" },
        { OFFSET_OP, 6, "broadcast with unknown operation 6" },
        { OFFSET_FLAGS, 8, "broadcast with unknown flags 0x8" },
        { OFFSET_FLAGS, 6, "broadcast in memory of kind 3" },
        { OFFSET_KIND, COLLECTIVE_BARRIER, "barrier in memory of kind 1" },
        { OFFSET_ROOT + 3, 0x80, "broadcast from rank -2147483642" },
        { OFFSET_NDIMS, 9, "a shape of 9 dimensions" },
        { OFFSET_NDIMS + 8, 0x80, "dimension 0 is -9223372036854775791" },
        { OFFSET_NDIMS + 8, 0x7f, "broadcast of more than memory can hold" },
    };
    struct description a = sample(), b;
    struct wire_writer writer = { 0 };
    description_encode(&writer, &a);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err err = { 0 };
        unsigned char kept = writer.data[rows[i].offset];
        writer.data[rows[i].offset] = rows[i].byte;
        ck_assert_msg(decode(writer.data, writer.length, &b, &err) == HVD_ERR_PROTOCOL, "row %zu",
                      i);
        ck_assert_str_eq(err.text, rows[i].text);
        writer.data[rows[i].offset] = kept;
    }
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(only_some_collectives_are_left_to_devices)
{
    static const struct {
        enum collective_kind kind;
        enum hvd_op op;
        bool good;
    } rows[] = {
        { COLLECTIVE_ALLREDUCE, HVD_SUM, true }, { COLLECTIVE_ALLREDUCE, HVD_ADASUM, false },
        { COLLECTIVE_BROADCAST, 0, true },       { COLLECTIVE_ALLGATHER, 0, true },
        { COLLECTIVE_ALLTOALL, 0, true },        { COLLECTIVE_REDUCESCATTER, HVD_SUM, true },
        { COLLECTIVE_BARRIER, 0, false },
    };
    struct description a = sample(), b;
    a.memory = MEMORY_DEVICE_REDUCES;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err err = { 0 };
        struct wire_writer writer = { 0 };
        a.kind = rows[i].kind;
        a.op = rows[i].op;
        description_encode(&writer, &a);
        ck_assert_int_eq(decode(writer.data, writer.length, &b, &err),
                         rows[i].good ? HVD_OK : HVD_ERR_PROTOCOL);
        ck_assert_msg(rows[i].good || strstr(err.text, " in memory of kind 2"), "%s", err.text);
        wire_writer_fini(&writer);
    }
}
END_TEST

/* The shape of a set is a list of ranks, whose product means nothing. */
START_TEST(a_process_set_of_any_ranks_can_be_described)
{
    struct description a = { COLLECTIVE_ADD_SET, .prescale = 1, .postscale = 1 }, b;
    struct wire_writer writer = { 0 };
    a.shape.ndims = HVD_DIMS_MAX;
    for (int i = 0; i < HVD_DIMS_MAX; i++)
        a.shape.dims[i] = INT32_MAX - i;
    description_encode(&writer, &a);
    ck_assert_int_eq(decode(writer.data, writer.length, &b, NULL), HVD_OK);
    ck_assert(description_equal(&a, &b));
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(any_bytes_are_refused_or_make_a_description_that_can_be_written_again)
{
    uint64_t state = 0x9e3779b97f4a7c15;
    struct description a = sample(), b, c;
    struct wire_writer writer = { 0 }, again = { 0 };
    description_encode(&writer, &a);
    for (int i = 0; i < 20000; i++) {
        unsigned char bytes[128];
        struct err err = { 0 };
        memcpy(bytes, writer.data, writer.length);
        for (int changes = i % 4 + 1; changes > 0; changes--) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            bytes[(state >> 8) % writer.length] = (unsigned char)(state >> 40);
        }
        if (decode(bytes, writer.length, &b, &err) < 0) {
            ck_assert_int_eq(err.code, HVD_ERR_PROTOCOL);
            continue;
        }
        description_encode(&again, &b);
        ck_assert_int_eq(decode(again.data, again.length, &c, &err), HVD_OK);
        ck_assert(description_equal(&b, &c));
        ck_assert_uint_le(description_bytes(&b), PTRDIFF_MAX);
        wire_writer_fini(&again);
    }
    wire_writer_fini(&writer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("description");
    TCase *tcase = tcase_create("description");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, sizes_are_products_of_dimensions);
    tcase_add_test(tcase, a_shape_fits_if_its_bytes_and_those_of_a_row_do);
    tcase_add_test(tcase, shapes_have_texts);
    tcase_add_test(tcase, every_kind_has_a_name);
    tcase_add_test(tcase, what_a_rank_submits_differs_by_any_field);
    tcase_add_test(tcase, first_dimensions_of_allgather_and_alltoall_may_differ);
    tcase_add_test(tcase, a_description_comes_back_as_it_was_written);
    tcase_add_test(tcase, a_description_cut_at_any_byte_is_refused);
    tcase_add_test(tcase, what_cannot_be_is_refused);
    tcase_add_test(tcase, only_some_collectives_are_left_to_devices);
    tcase_add_test(tcase, a_process_set_of_any_ranks_can_be_described);
    tcase_add_test(tcase, any_bytes_are_refused_or_make_a_description_that_can_be_written_again);
    return unit_run(suite);
}
