/* SPDX-License-Identifier: Apache-2.0 */
/* Fields written are the fields read; what is cut short is noticed, once, and nothing is read
 * beyond it. */
#include "lib/base/wire.h"
#include "tests/support/unit.h"

#include <string.h>

static void put_all(struct wire_writer *writer)
{
    wire_put_u8(writer, 0xfe);
    wire_put_u16(writer, 0xfedc);
    wire_put_u32(writer, 0xfedcba98u);
    wire_put_u64(writer, 0xfedcba9876543210u);
    wire_put_i32(writer, -5);
    wire_put_string(writer, "grad");
    wire_put_bytes(writer, "xyz", 3);
}

static void get_all(struct wire_reader *reader, char *text, size_t size)
{
    wire_get_u8(reader);
    wire_get_u16(reader);
    wire_get_u32(reader);
    wire_get_u64(reader);
    wire_get_i32(reader);
    wire_get_string(reader, text, size);
    wire_get_bytes(reader, 3);
}

START_TEST(nothing_is_finished_when_nothing_is_wanted)
{
    struct wire_reader reader;
    wire_reader_init(&reader, NULL, 0);
    ck_assert(wire_reader_finished(&reader));
    ck_assert_uint_eq(wire_get_u8(&reader), 0);
    ck_assert(!wire_reader_finished(&reader));
}
END_TEST

START_TEST(fields_come_back_as_they_were_written)
{
    struct wire_writer writer = { 0 };
    put_all(&writer);
    ck_assert(!writer.failed);
    struct wire_reader reader;
    wire_reader_init(&reader, writer.data, writer.length);
    char text[5];
    ck_assert_uint_eq(wire_get_u8(&reader), 0xfe);
    ck_assert_uint_eq(wire_get_u16(&reader), 0xfedc);
    ck_assert_uint_eq(wire_get_u32(&reader), 0xfedcba98u);
    ck_assert(wire_get_u64(&reader) == 0xfedcba9876543210u);
    ck_assert_int_eq(wire_get_i32(&reader), -5);
    wire_get_string(&reader, text, sizeof text);
    ck_assert_str_eq(text, "grad");
    ck_assert_mem_eq(wire_get_bytes(&reader, 3), "xyz", 3);
    ck_assert(wire_reader_finished(&reader));
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(integers_are_little_endian)
{
    struct wire_writer writer = { 0 };
    wire_put_u32(&writer, 0x01020304);
    ck_assert_mem_eq(writer.data, "\4\3\2\1", 4);
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(a_message_cut_at_any_byte_is_not_finished)
{
    struct wire_writer writer = { 0 };
    put_all(&writer);
    for (size_t length = 0; length < writer.length; length++) {
        unsigned char *copy = malloc(length + 1); /* so that a sanitizer sees a read beyond it */
        memcpy(copy, writer.data, length);
        copy = realloc(copy, length ? length : 1);
        struct wire_reader reader;
        char text[8];
        wire_reader_init(&reader, copy, length);
        get_all(&reader, text, sizeof text);
        ck_assert_msg(!wire_reader_finished(&reader), "cut at %zu", length);
        free(copy);
    }
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(bytes_left_over_are_not_finished)
{
    struct wire_reader reader;
    wire_reader_init(&reader, "ab", 2);
    wire_get_u8(&reader);
    ck_assert(!wire_reader_finished(&reader));
}
END_TEST

START_TEST(a_string_that_does_not_fit_or_holds_a_nul_is_refused)
{
    static const struct {
        const char *bytes;
        size_t length, room;
        bool good;
    } rows[] = {
        { "\3\0\0\0abc", 7, 4, true },       { "\3\0\0\0abc", 7, 3, false },
        { "\3\0\0\0a\0c", 7, 8, false },     { "\0\0\0\0", 4, 1, true },
        { "\xff\xff\xff\xff", 4, 8, false }, { "\4\0\0\0abc", 7, 8, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[8] = "unset";
        struct wire_reader reader;
        wire_reader_init(&reader, rows[i].bytes, rows[i].length);
        wire_get_string(&reader, out, rows[i].room);
        ck_assert_msg(wire_reader_finished(&reader) == rows[i].good, "row %zu", i);
        ck_assert(memchr(out, 0, rows[i].room) != NULL);
    }
}
END_TEST

START_TEST(a_first_failure_is_remembered)
{
    struct wire_reader reader;
    wire_reader_init(&reader, "abcd", 4);
    ck_assert_ptr_null(wire_get_bytes(&reader, 5));
    ck_assert_uint_eq(wire_get_u8(&reader), 0);
    ck_assert_uint_eq(wire_get_text(&reader).length, 0);
    ck_assert(!wire_reader_finished(&reader));
}
END_TEST

START_TEST(a_writer_is_empty_and_usable_after_fini)
{
    struct wire_writer writer = { 0 };
    for (int i = 0; i < 10000; i++)
        wire_put_u8(&writer, (uint8_t)i);
    ck_assert_uint_eq(writer.length, 10000);
    wire_writer_fini(&writer);
    wire_put_u8(&writer, 1);
    ck_assert_uint_eq(writer.length, 1);
    wire_writer_fini(&writer);
    wire_writer_fini(&writer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wire");
    TCase *tcase = tcase_create("wire");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, nothing_is_finished_when_nothing_is_wanted);
    tcase_add_test(tcase, fields_come_back_as_they_were_written);
    tcase_add_test(tcase, integers_are_little_endian);
    tcase_add_test(tcase, a_message_cut_at_any_byte_is_not_finished);
    tcase_add_test(tcase, bytes_left_over_are_not_finished);
    tcase_add_test(tcase, a_string_that_does_not_fit_or_holds_a_nul_is_refused);
    tcase_add_test(tcase, a_first_failure_is_remembered);
    tcase_add_test(tcase, a_writer_is_empty_and_usable_after_fini);
    return unit_run(suite);
}
