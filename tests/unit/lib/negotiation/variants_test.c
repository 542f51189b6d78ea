/* SPDX-License-Identifier: Apache-2.0 */
/* What several ranks say under one name: ranges of ranks, merging, the way over the wire, and the
 * text of each mismatch. */
#include "lib/negotiation/variants.h"

#include "lib/base/status.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct description plain = {
    .kind = COLLECTIVE_ALLREDUCE,
    .dtype = HVD_FLOAT32,
    .op = HVD_SUM,
    .prescale = 1,
    .postscale = 1,
    .shape = { 2, { 17, 17 } },
};

static struct variants of(const struct description *description, int first, int end)
{
    struct variants variants;
    memset(&variants, 0xa5, sizeof variants); /* what is not said must not matter */
    variants_init(&variants, description, first, end);
    return variants;
}

static void say(struct variants *variants, const struct description *description, int first,
                int end)
{
    struct variants more = of(description, first, end);
    variants_merge(variants, &more);
}

START_TEST(ranges_are_joined_where_they_touch)
{
    static const struct {
        struct rank_range add[4];
        const char *text;
    } rows[] = {
        { { { 3, 4 } }, "rank 3" },
        { { { 0, 3 } }, "ranks 0-2" },
        { { { 0, 2 } }, "ranks 0-1" },
        { { { 0, 3 }, { 5, 6 } }, "ranks 0-2, 5" },
        { { { 5, 6 }, { 0, 3 } }, "ranks 0-2, 5" },
        { { { 5, 6 }, { 0, 3 }, { 3, 5 } }, "ranks 0-5" },
        { { { 5, 6 }, { 0, 3 }, { 1, 4 } }, "ranks 0-3, 5" },
        { { { 1, 2 }, { 3, 4 }, { 5, 6 }, { 0, 9 } }, "ranks 0-8" },
        { { { 1, 2 }, { 3, 4 }, { 5, 6 }, { 2, 3 } }, "ranks 1-3, 5" },
        { { { 1, 8 }, { 3, 4 } }, "ranks 1-7" },
        { { { 1, 8 }, { 3, 3 }, { 9, 2 } }, "ranks 1-7" },
        { { { 0, 0 } }, "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rank_ranges ranks = { 0 };
        char text[40];
        for (int j = 0; j < 4; j++)
            rank_ranges_add(&ranks, rows[i].add[j].first, rows[i].add[j].end);
        ck_assert_str_eq(rank_ranges_text(text, sizeof text, &ranks, NULL), rows[i].text);
        ck_assert(!ranks.closed);
    }
}
END_TEST

START_TEST(more_ranges_than_fit_close_the_last_gap)
{
    struct rank_ranges ranks = { 0 }, more = { 0 };
    char text[64], small[24];
    for (int i = 0; i < 16; i += 2)
        rank_ranges_add(&ranks, i, i + 1);
    ck_assert(!ranks.closed);
    ck_assert_int_eq(rank_ranges_count(&ranks), 8);
    rank_ranges_add(&ranks, 20, 21);
    ck_assert(ranks.closed && ranks.count == VARIANT_RANGES_MAX);
    ck_assert_str_eq(rank_ranges_text(text, sizeof text, &ranks, NULL),
                     "ranks 0, 2, 4, 6, 8, 10, 12, some of 14-20");
    ck_assert_str_eq(rank_ranges_text(small, sizeof small, &ranks, NULL), "ranks 0, 2, 4, 6, 8...");
    rank_ranges_add_all(&more, &ranks);
    ck_assert(more.closed && rank_ranges_count(&more) == 14);
}
END_TEST

START_TEST(ranks_are_named_as_in_the_world)
{
    static const int world_ranks[] = { 2, 3, 7, 8, 9, 40 };
    struct rank_ranges ranks = { 0 };
    char text[40];
    rank_ranges_add(&ranks, 0, 6);
    ck_assert_str_eq(rank_ranges_text(text, sizeof text, &ranks, world_ranks),
                     "ranks 2-3, 7-9, 40");
    ranks = (struct rank_ranges){ 0 };
    rank_ranges_add(&ranks, 5, 6);
    ck_assert_str_eq(rank_ranges_text(text, sizeof text, &ranks, world_ranks), "rank 40");
}
END_TEST

START_TEST(ranks_that_agree_are_one_variant)
{
    struct variants variants = of(&plain, 2, 3);
    struct err err = { 0 };
    say(&variants, &plain, 0, 2);
    say(&variants, &plain, 3, 8);
    ck_assert_int_eq(variants.count, 1);
    ck_assert_int_eq(variants.ranks, 8);
    ck_assert_int_eq(variants.variant[0].ranks.count, 1);
    ck_assert_int_eq(variants_check(&variants, "x", NULL, &err), HVD_OK);
    ck_assert_str_eq(err.text, "");
}
END_TEST

START_TEST(allgathers_with_first_dimensions_of_their_own_agree)
{
    struct description a = plain, b;
    a.kind = COLLECTIVE_ALLGATHER;
    b = a;
    b.shape.dims[0] = 0;
    struct variants variants = of(&a, 0, 1);
    say(&variants, &b, 1, 2);
    ck_assert_int_eq(variants.count, 1);
    ck_assert_int_eq(variants_check(&variants, "x", NULL, NULL), HVD_OK);
}
END_TEST

/* The parts in which two descriptions differ from `plain`. */
struct change {
    enum collective_kind kind;
    enum hvd_dtype dtype;
    enum hvd_op op;
    int root;
    double prescale, postscale;
    struct shape shape;
    uint64_t group;
    uint32_t group_size;
    uint64_t tag;
    enum memory_kind memory;
};

static struct description changed(const struct change *change)
{
    struct description description = plain;
    description.kind = change->kind ? change->kind : plain.kind;
    description.dtype = change->dtype ? change->dtype : plain.dtype;
    description.op = change->op ? change->op : plain.op;
    description.prescale = change->prescale != 0 ? change->prescale : 1;
    description.postscale = change->postscale != 0 ? change->postscale : 1;
    if (change->shape.ndims > 0)
        description.shape = change->shape;
    if (change->shape.ndims < 0)
        description.shape.ndims = 0;
    description.root = change->root;
    description.group = change->group;
    description.group_size = change->group_size;
    description.tag = change->tag;
    description.memory = change->memory;
    return description;
}

static const struct mismatch {
    struct change most, last; /* ranks 0-2, rank 3 */
    const char *text;
} mismatches[] = {
    { { .shape = { 2, { 17, 17 } } },
      { .shape = { 2, { 17, 18 } } },
      "allreduce 'x': shapes differ: [17, 17] on ranks 0-2, [17, 18] on rank 3" },
    { { .shape = { -1, { 0 } } },
      { .shape = { 1, { 1 } } },
      "allreduce 'x': shapes differ: [] on ranks 0-2, [1] on rank 3" },
    { { .kind = COLLECTIVE_ALLGATHER, .shape = { 2, { 17, 17 } } },
      { .kind = COLLECTIVE_ALLGATHER, .shape = { 2, { 5, 18 } } },
      "allgather 'x': shapes differ: [*, 17] on ranks 0-2, [*, 18] on rank 3" },
    { { .kind = COLLECTIVE_ALLTOALL, .shape = { 2, { 17, 17 } } },
      { .kind = COLLECTIVE_ALLTOALL, .shape = { 1, { 17 } } },
      "alltoall 'x': shapes differ: [*, 17] on ranks 0-2, [*] on rank 3" },
    { { .kind = COLLECTIVE_REDUCESCATTER, .shape = { 2, { 17, 17 } } },
      { .kind = COLLECTIVE_REDUCESCATTER, .shape = { 2, { 5, 17 } } },
      "reduce-scatter 'x': shapes differ: [17, 17] on ranks 0-2, [5, 17] on rank 3" },
    { { .dtype = HVD_INT8 },
      { .dtype = HVD_BFLOAT16 },
      "allreduce 'x': element types differ: int8 on ranks 0-2, bfloat16 on rank 3" },
    { { .dtype = HVD_INT8, .kind = COLLECTIVE_BROADCAST },
      { .dtype = HVD_FLOAT64, .op = HVD_MAX },
      "tensor 'x': element types differ: int8 on ranks 0-2, float64 on rank 3" },
    { { .kind = COLLECTIVE_BROADCAST },
      { .shape = { 1, { 2 } } },
      "tensor 'x': collectives differ: broadcast on ranks 0-2, allreduce on rank 3" },
    { { .kind = COLLECTIVE_BARRIER, .dtype = HVD_INT8 },
      { .kind = COLLECTIVE_ALLGATHER },
      "tensor 'x': collectives differ: barrier on ranks 0-2, allgather on rank 3" },
    { { .op = HVD_MIN, .prescale = 0.5 },
      { .op = HVD_MAX },
      "allreduce 'x': factors differ: (0.5, 1) on ranks 0-2, (1, 1) on rank 3" },
    { { .postscale = 1.0 / 3 },
      { .postscale = (double)(1.0f / 3) },
      "allreduce 'x': factors differ: (1, 0.33333333333333331) on ranks 0-2, "
      "(1, 0.3333333432674408) on rank 3" },
    { { .op = HVD_ADASUM },
      { .op = HVD_MAX },
      "allreduce 'x': operations differ: adasum on ranks 0-2, max on rank 3" },
    { { .group = 0x1234, .group_size = 3 },
      { .group = 0 },
      "allreduce 'x': groups differ: 3 tensors (hash of the first name: 00001234) on ranks 0-2, "
      "none on rank 3" },
    { { .group = 0x1234, .group_size = 3 },
      { .group = 0x1234, .group_size = 2 },
      "allreduce 'x': groups differ: 3 tensors (hash of the first name: 00001234) on ranks 0-2, "
      "2 tensors (hash of the first name: 00001234) on rank 3" },
    { { .kind = COLLECTIVE_BROADCAST, .root = 0 },
      { .kind = COLLECTIVE_BROADCAST, .root = 2 },
      "broadcast 'x': roots differ: 0 on ranks 0-2, 2 on rank 3" },
    { { .kind = COLLECTIVE_ADD_SET, .shape = { 3, { 2, 0, 1 } }, .tag = 1 },
      { .kind = COLLECTIVE_ADD_SET, .shape = { 3, { 2, 0, 2 } }, .tag = 2 },
      "add_process_set: process sets differ: {0, 1} on ranks 0-2, {0, 2} on rank 3" },
    { { .kind = COLLECTIVE_ADD_SET, .shape = { 8, { 9, 0, 1, 2, 3, 4, 5, 6 } }, .tag = 1 },
      { .kind = COLLECTIVE_ADD_SET, .shape = { 8, { 9, 0, 1, 2, 3, 4, 5, 6 } }, .tag = 2 },
      "add_process_set: process sets differ: {0, 1, 2, 3, 4, 5, 6, ...} on ranks 0-2, "
      "{0, 1, 2, 3, 4, 5, 6, ...} on rank 3" },
    { { .kind = COLLECTIVE_REMOVE_SET, .tag = 1 },
      { .kind = COLLECTIVE_REMOVE_SET, .tag = 2 },
      "remove_process_set: process sets differ: 1 on ranks 0-2, 2 on rank 3" },
    { { .kind = COLLECTIVE_ADD_SET, .shape = { 1, { 0 } } },
      { .kind = COLLECTIVE_REMOVE_SET, .tag = 2 },
      "tensor 'x': collectives differ: add_process_set on ranks 0-2, remove_process_set on "
      "rank 3" },
    { { .memory = MEMORY_HOST },
      { .memory = MEMORY_DEVICE },
      "allreduce 'x': places differ: in host memory on ranks 0-2, in device memory on rank 3" },
    { { .memory = MEMORY_DEVICE },
      { .memory = MEMORY_DEVICE_REDUCES },
      "allreduce 'x': places differ: in device memory on ranks 0-2, in device memory, reduced by "
      "the device on rank 3" },
    { { .kind = COLLECTIVE_BROADCAST, .memory = MEMORY_DEVICE },
      { .kind = COLLECTIVE_BROADCAST, .memory = MEMORY_DEVICE_REDUCES },
      "broadcast 'x': places differ: in device memory on ranks 0-2, in device memory, moved by the "
      "device on rank 3" },
    { { .tag = 7 }, { .tag = 8 }, "allreduce 'x': tags differ: 7 on ranks 0-2, 8 on rank 3" },
};

START_TEST(a_mismatch_says_what_and_which_ranks)
{
    struct description most = changed(&mismatches[_i].most);
    struct description last = changed(&mismatches[_i].last);
    struct err err = { 0 };
    struct variants variants = of(&last, 3, 4);
    say(&variants, &most, 1, 3);
    say(&variants, &most, 0, 1);
    ck_assert_int_eq(variants_check(&variants, "x", NULL, &err), HVD_ERR_MISMATCH);
    ck_assert_int_eq(err.code, HVD_ERR_MISMATCH);
    ck_assert_str_eq(err.text, mismatches[_i].text);
    ck_assert_int_eq(variants_check(&variants, "x", NULL, NULL), HVD_ERR_MISMATCH);
}
END_TEST

START_TEST(ranks_that_agree_on_what_differs_are_told_together)
{
    struct description a = plain, b = plain, c = plain;
    struct err err;
    b.op = HVD_MAX;
    c.shape.dims[1] = 18;
    struct variants variants = of(&a, 0, 1);
    say(&variants, &c, 1, 2);
    say(&variants, &b, 2, 4);
    variants_check(&variants, "x", NULL, &err);
    ck_assert_str_eq(err.text,
                     "allreduce 'x': shapes differ: [17, 17] on ranks 0, 2-3, [17, 18] on rank 1");
}
END_TEST

START_TEST(ranks_and_roots_of_a_set_are_told_as_those_of_the_world)
{
    static const int world_ranks[] = { 1, 3, 4, 9 };
    struct description a = plain, b = plain;
    struct err err;
    a.kind = b.kind = COLLECTIVE_BROADCAST;
    b.root = 3;
    struct variants variants = of(&a, 0, 2);
    say(&variants, &b, 2, 4);
    variants_check(&variants, "w", world_ranks, &err);
    ck_assert_str_eq(err.text, "broadcast 'w': roots differ: 1 on ranks 1, 3, 9 on ranks 4, 9");
}
END_TEST

START_TEST(more_descriptions_than_fit_are_counted)
{
    static const char *const more[] = { "", ", more on 1 other", ", more on 2 others" };
    const int all = VARIANTS_MAX + _i;
    char expected[200];
    struct description other = plain;
    struct variants variants = of(&plain, 0, 1);
    struct err err;
    for (int i = 1; i < all; i++) {
        other.shape.dims[0] = i;
        say(&variants, &other, i, i + 1);
    }
    ck_assert_int_eq(variants.count, VARIANTS_MAX);
    ck_assert_int_eq(variants.ranks, all);
    variants_check(&variants, "x", NULL, &err);
    snprintf(expected, sizeof expected,
             "allreduce 'x': shapes differ: [17, 17] on rank 0, [1, 17] on rank 1, [2, 17] on "
             "rank 2, [3, 17] on rank 3%s",
             more[_i]);
    ck_assert_str_eq(err.text, expected);
}
END_TEST

START_TEST(a_text_is_whole_or_cut_between_two_parts)
{
    struct description other = plain;
    struct variants variants = of(&plain, 0, 1);
    char name[256];
    struct err err;
    memset(name, 0xc3, sizeof name - 1);
    name[sizeof name - 1] = '\0';
    other.shape.ndims = HVD_DIMS_MAX;
    for (int i = 0; i < HVD_DIMS_MAX; i++)
        other.shape.dims[i] = 999999999;
    for (int i = 1; i < 60; i++) {
        other.shape.dims[7] = i % 3;
        say(&variants, &other, i * 1000, i * 1000 + 1);
    }
    variants_check(&variants, name, NULL, &err);
    ck_assert_uint_lt(strlen(err.text), sizeof err.text);
    ck_assert(strstr(err.text, "...': shapes differ: [17, 17] on rank 0, [999999999, "));
    ck_assert(strstr(err.text, "...] on ranks 1000, 4000, 7000, 10000, 13000..., [9999"));
    ck_assert(strstr(err.text, "...] on ranks 2000, 5000, 8000, 11000, 14000..."));
    ck_assert_str_eq(err.text + strlen(err.text) - 6, "000...");
}
END_TEST

static struct variants several(void)
{
    struct description other = plain;
    struct variants variants = of(&plain, 0, 3);
    say(&variants, &plain, 5, 6);
    other.root = 9;
    say(&variants, &other, 4, 5);
    other.dtype = HVD_INT8;
    for (int i = 7; i < 30; i += 2)
        say(&variants, &other, i, i + 1);
    return variants;
}

static int decode(const void *bytes, size_t length, struct variants *variants, struct err *err)
{
    struct wire_reader reader;
    unsigned char *copy = malloc(length ? length : 1);
    memcpy(copy, bytes, length);
    wire_reader_init(&reader, copy, length);
    int rc = variants_decode(variants, 40, &reader, err);
    ck_assert(rc < 0 || wire_reader_finished(&reader));
    free(copy);
    return rc;
}

START_TEST(variants_come_back_as_they_were_written)
{
    struct variants a = several(), b;
    struct wire_writer writer = { 0 }, again = { 0 };
    variants_encode(&writer, &a);
    ck_assert_int_eq(decode(writer.data, writer.length, &b, NULL), HVD_OK);
    ck_assert_int_eq(b.count, 3);
    ck_assert_int_eq(b.ranks, a.ranks);
    ck_assert(b.variant[2].ranks.closed && !b.variant[1].ranks.closed);
    variants_encode(&again, &b);
    ck_assert_uint_eq(again.length, writer.length);
    ck_assert_mem_eq(again.data, writer.data, writer.length);
    wire_writer_fini(&writer);
    wire_writer_fini(&again);
}
END_TEST

START_TEST(variants_cut_at_any_byte_are_refused)
{
    struct variants a = several(), b;
    struct wire_writer writer = { 0 };
    variants_encode(&writer, &a);
    for (size_t length = 0; length < writer.length; length++) {
        struct err err = { 0 };
        ck_assert_msg(decode(writer.data, length, &b, &err) == HVD_ERR_PROTOCOL, "at %zu", length);
    }
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(ranks_that_cannot_be_are_refused)
{
    static const struct {
        int ranks, count, closed;
        int root;
        int nranges;
        struct rank_range range[2];
        const char *text;
    } rows[] = {
        { 1, 1, 0, 0, 1, { { 39, 40 } }, NULL },
        { 40, 1, 1, 39, 2, { { 0, 1 }, { 2, 40 } }, NULL },
        { 0, 1, 0, 0, 1, { { 0, 1 } }, "1 descriptions by 0 of 40 ranks" },
        { -1, 1, 0, 0, 1, { { 0, 1 } }, "1 descriptions by -1 of 40 ranks" },
        { 41, 1, 0, 0, 1, { { 0, 1 } }, "1 descriptions by 41 of 40 ranks" },
        { 1, 0, 0, 0, 1, { { 0, 1 } }, "0 descriptions by 1 of 40 ranks" },
        { 9, 5, 0, 0, 1, { { 0, 1 } }, "5 descriptions by 9 of 40 ranks" },
        { 1, 2, 0, 0, 1, { { 0, 1 } }, "2 descriptions by 1 of 40 ranks" },
        { 1, 1, 0, 40, 1, { { 0, 1 } }, "root 40 of 40 ranks" },
        { 1, 1, 2, 0, 1, { { 0, 1 } }, "1 ranges of ranks, 2 closed" },
        { 1, 1, 0, 0, 0, { { 0, 1 } }, "0 ranges of ranks, 0 closed" },
        { 1, 1, 0, 0, 9, { { 0, 1 } }, "9 ranges of ranks, 0 closed" },
        { 1, 1, 0, 0, 1, { { -1, 1 } }, "range 0, [-1, 1), of the ranks of 40 is wrong" },
        { 1, 1, 0, 0, 1, { { 1, 1 } }, "range 0, [1, 1), of the ranks of 40 is wrong" },
        { 1, 1, 0, 0, 1, { { 0, 41 } }, "range 0, [0, 41), of the ranks of 40 is wrong" },
        { 2, 1, 0, 0, 2, { { 0, 1 }, { 1, 2 } }, "range 1, [1, 2), of the ranks of 40 is wrong" },
        { 2, 1, 0, 0, 2, { { 5, 6 }, { 1, 2 } }, "range 1, [1, 2), of the ranks of 40 is wrong" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct description description = plain;
        struct wire_writer writer = { 0 };
        struct variants variants;
        struct err err = { 0 };
        description.root = rows[i].root;
        wire_put_i32(&writer, rows[i].ranks);
        wire_put_u8(&writer, (uint8_t)rows[i].count);
        description_encode(&writer, &description);
        wire_put_u8(&writer, (uint8_t)rows[i].closed);
        wire_put_u8(&writer, (uint8_t)rows[i].nranges);
        for (int j = 0; j < 2 && j < rows[i].nranges; j++) {
            wire_put_i32(&writer, rows[i].range[j].first);
            wire_put_i32(&writer, rows[i].range[j].end);
        }
        int rc = decode(writer.data, writer.length, &variants, &err);
        ck_assert_msg(rc == (rows[i].text ? HVD_ERR_PROTOCOL : HVD_OK), "row %zu", i);
        ck_assert_str_eq(err.text, rows[i].text ? rows[i].text : "");
        wire_writer_fini(&writer);
    }
}
END_TEST

START_TEST(any_bytes_are_refused_or_make_variants_that_can_be_checked)
{
    static int world_ranks[40];
    uint64_t state = 0x2545f4914f6cdd1d;
    struct variants a = several(), b;
    struct wire_writer writer = { 0 };
    variants_encode(&writer, &a);
    ck_assert_uint_le(writer.length, 512);
    for (int i = 0; i < 40; i++)
        world_ranks[i] = 3 * i;
    for (int i = 0; i < 20000; i++) {
        unsigned char bytes[512];
        struct err err = { 0 };
        memcpy(bytes, writer.data, writer.length);
        for (int changes = i % 4 + 1; changes > 0; changes--) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            bytes[(state >> 8) % writer.length] = (unsigned char)(state >> 40);
        }
        struct wire_reader reader;
        wire_reader_init(&reader, bytes, writer.length);
        if (variants_decode(&b, 40, &reader, &err) < 0)
            ck_assert_int_eq(err.code, HVD_ERR_PROTOCOL);
        else {
            variants_merge(&b, &a);
            variants_check(&b, "x", world_ranks, &err);
            ck_assert_uint_lt(strlen(err.text), sizeof err.text);
        }
    }
    wire_writer_fini(&writer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("variants");
    TCase *tcase = tcase_create("variants");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, ranges_are_joined_where_they_touch);
    tcase_add_test(tcase, more_ranges_than_fit_close_the_last_gap);
    tcase_add_test(tcase, ranks_are_named_as_in_the_world);
    tcase_add_test(tcase, ranks_that_agree_are_one_variant);
    tcase_add_test(tcase, allgathers_with_first_dimensions_of_their_own_agree);
    tcase_add_loop_test(tcase, a_mismatch_says_what_and_which_ranks, 0,
                        sizeof mismatches / sizeof *mismatches);
    tcase_add_test(tcase, ranks_that_agree_on_what_differs_are_told_together);
    tcase_add_test(tcase, ranks_and_roots_of_a_set_are_told_as_those_of_the_world);
    tcase_add_loop_test(tcase, more_descriptions_than_fit_are_counted, 0, 3);
    tcase_add_test(tcase, a_text_is_whole_or_cut_between_two_parts);
    tcase_add_test(tcase, variants_come_back_as_they_were_written);
    tcase_add_test(tcase, variants_cut_at_any_byte_are_refused);
    tcase_add_test(tcase, ranks_that_cannot_be_are_refused);
    tcase_add_test(tcase, any_bytes_are_refused_or_make_variants_that_can_be_checked);
    return unit_run(suite);
}
