/* SPDX-License-Identifier: Apache-2.0 */
/* How the output of a rank is cut into records, however its bytes arrive. */
#include "launcher/output/output_lines.h"
#include "tests/support/unit.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define P "[3]<stdout>:"

static struct output_lines lines;
static struct text_buffer out;

static void set_up(void)
{
    output_lines_init(&lines, 3, "stdout");
}

static void tear_down(void)
{
    output_lines_fini(&lines);
    text_buffer_fini(&out);
}

static void feed(const char *text)
{
    output_lines_feed(&lines, text, strlen(text), NULL, &out);
}

static void expect_out(const char *expected)
{
    char *text = text_buffer_take(&out);
    ck_assert_str_eq(text, expected);
    free(text);
}

struct text_case {
    const char *in;
    const char *complete; /* after the bytes */
    const char *rest;     /* at the end of the stream */
};

static const struct text_case text_cases[] = {
    { "", "", "" },
    { "a\n", P "a\n", "" },
    { "a\nb\n", P "a\n" P "b\n", "" },
    { "\n\n", P "\n" P "\n", "" },
    { "a", "", P "a" },
    { "a\nb", P "a\n", P "b" },
    { "10%\r20%\rdone\n", P "10%\r" P "20%\r" P "done\n", "" },
    { "a\r\nb\r\n", P "a\r" P "\n" P "b\r" P "\n", "" },
    { "\r", P "\r", "" },
    { "a\nb\rc\nd\re", P "a\n" P "b\r" P "c\n" P "d\r", P "e" },
    { "\xff\xfe\x01\x1b[31m\n", P "\xff\xfe\x01\x1b[31m\n", "" },
    { "caf\xc3", "", P "caf\xc3" },
};

START_TEST(records_end_with_newline_or_carriage_return)
{
    const struct text_case *now = &text_cases[_i];
    feed(now->in);
    expect_out(now->complete);
    output_lines_end(&lines, NULL, &out);
    expect_out(now->rest);
}
END_TEST

START_TEST(bytes_that_come_one_by_one_give_the_same_records)
{
    const struct text_case *now = &text_cases[_i];
    for (const char *at = now->in; *at; at++)
        output_lines_feed(&lines, at, 1, NULL, &out);
    expect_out(now->complete);
    output_lines_end(&lines, NULL, &out);
    expect_out(now->rest);
}
END_TEST

START_TEST(a_nul_is_a_byte_like_others)
{
    static const char text[] = "a\0b\n\0";
    output_lines_feed(&lines, text, 5, NULL, &out);
    output_lines_end(&lines, NULL, &out);
    static const char expected[] = P "a\0b\n" P;
    ck_assert_uint_eq(out.length, sizeof expected);
    ck_assert_mem_eq(out.data, expected, sizeof expected);
}
END_TEST

START_TEST(the_prefix_names_rank_and_stream)
{
    output_lines_init(&lines, 65535, "stderr");
    feed("x\n");
    expect_out("[65535]<stderr>:x\n");
}
END_TEST

START_TEST(a_stamp_stands_before_the_prefix_of_every_record)
{
    const char *stamp = "Fri Nov 20 21:03:09 2026";
    output_lines_feed(&lines, "a\nb\nc", 5, stamp, &out);
    expect_out("Fri Nov 20 21:03:09 2026" P "a\n"
               "Fri Nov 20 21:03:09 2026" P "b\n");
    output_lines_end(&lines, stamp, &out);
    expect_out("Fri Nov 20 21:03:09 2026" P "c");
}
END_TEST

START_TEST(a_stamp_is_asctime_in_local_time)
{
    char stamp[OUTPUT_STAMP_SIZE];
    setenv("TZ", "UTC", 1);
    output_stamp(stamp, 1795208589);
    ck_assert_str_eq(stamp, "Fri Nov 20 21:03:09 2026");
    output_stamp(stamp, 0);
    ck_assert_str_eq(stamp, "Thu Jan  1 00:00:00 1970");
    output_stamp(stamp, INT64_MAX);
    ck_assert_str_eq(stamp, "");
}
END_TEST

START_TEST(nothing_is_written_for_a_stream_that_ends_after_a_record)
{
    feed("a\n");
    output_lines_end(&lines, NULL, &out);
    output_lines_end(&lines, NULL, &out);
    expect_out(P "a\n");
}
END_TEST

/* `length` bytes 'x', then `end`, fed in chunks of `chunk` bytes. */
static void feed_long(size_t length, const char *end, size_t chunk)
{
    size_t total = length + strlen(end);
    char *text = malloc(total + 1);
    memset(text, 'x', length);
    strcpy(text + length, end);
    for (size_t at = 0; at < total; at += chunk)
        output_lines_feed(&lines, text + at, at + chunk < total ? chunk : total - at, NULL, &out);
    free(text);
}

/* Takes a record of `length` times 'x' and `end` off the front of what came out. */
static void expect_long(size_t *at, size_t length, const char *end)
{
    const char *record = out.data + *at;
    size_t same = 0; /* an assertion for each byte would take most of the time */
    size_t text_length = strlen(P) + length + strlen(end);
    ck_assert_uint_ge(out.length - *at, text_length);
    ck_assert_mem_eq(record, P, strlen(P));
    while (same < length && record[strlen(P) + same] == 'x')
        same++;
    ck_assert_uint_eq(same, length);
    ck_assert_mem_eq(record + strlen(P) + length, end, strlen(end));
    *at += text_length;
}

static const size_t chunks[] = { 1 << 25, 1 << 20, 65536, 4097 };

START_TEST(a_record_as_long_as_allowed_stays_whole)
{
    size_t at = 0;
    feed_long(OUTPUT_RECORD_MAX, "\n", chunks[_i]);
    expect_long(&at, OUTPUT_RECORD_MAX, "\n");
    ck_assert_uint_eq(at, out.length);
}
END_TEST

START_TEST(a_longer_record_comes_in_marked_pieces)
{
    size_t at = 0;
    feed_long(2 * OUTPUT_RECORD_MAX + 1, "\ny\n", chunks[_i]);
    expect_long(&at, OUTPUT_RECORD_MAX, "\\\n");
    expect_long(&at, OUTPUT_RECORD_MAX, "\\\n");
    expect_long(&at, 1, "\n");
    expect_long(&at, 0, "y\n");
    ck_assert_uint_eq(at, out.length);
}
END_TEST

START_TEST(output_without_any_end_is_kept_up_to_the_limit_only)
{
    size_t at = 0;
    for (int i = 0; i < 5; i++) {
        feed_long(OUTPUT_RECORD_MAX - 1, "", chunks[_i]);
        ck_assert_uint_le(lines.partial.length, OUTPUT_RECORD_MAX);
    }
    output_lines_end(&lines, NULL, &out);
    for (int i = 0; i < 4; i++)
        expect_long(&at, OUTPUT_RECORD_MAX, "\\\n");
    expect_long(&at, OUTPUT_RECORD_MAX - 5, "");
    ck_assert_uint_eq(at, out.length);
    ck_assert_ptr_null(lines.partial.data);
}
END_TEST

START_TEST(a_long_record_leaves_no_memory_behind)
{
    feed_long(OUTPUT_RECORD_MAX, "\n", 65536);
    ck_assert_uint_eq(lines.partial.capacity, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("output_lines");
    TCase *records = tcase_create("records"), *limits = tcase_create("long records");
    tcase_add_checked_fixture(records, set_up, tear_down);
    tcase_add_loop_test(records, records_end_with_newline_or_carriage_return, 0,
                        (int)COUNT(text_cases));
    tcase_add_loop_test(records, bytes_that_come_one_by_one_give_the_same_records, 0,
                        (int)COUNT(text_cases));
    tcase_add_test(records, a_nul_is_a_byte_like_others);
    tcase_add_test(records, the_prefix_names_rank_and_stream);
    tcase_add_test(records, a_stamp_stands_before_the_prefix_of_every_record);
    tcase_add_test(records, a_stamp_is_asctime_in_local_time);
    tcase_add_test(records, nothing_is_written_for_a_stream_that_ends_after_a_record);
    tcase_add_checked_fixture(limits, set_up, tear_down);
    tcase_set_timeout(limits, 30);
    tcase_add_loop_test(limits, a_record_as_long_as_allowed_stays_whole, 0, (int)COUNT(chunks));
    tcase_add_loop_test(limits, a_longer_record_comes_in_marked_pieces, 0, (int)COUNT(chunks));
    tcase_add_loop_test(limits, output_without_any_end_is_kept_up_to_the_limit_only, 0,
                        (int)COUNT(chunks));
    tcase_add_test(limits, a_long_record_leaves_no_memory_behind);
    suite_add_tcase(suite, records);
    suite_add_tcase(suite, limits);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
