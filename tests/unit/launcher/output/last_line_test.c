/* SPDX-License-Identifier: Apache-2.0 */
/* The last line of a stream, however it was cut. */
#include "launcher/output/last_line.h"
#include "tests/support/unit.h"

#include <string.h>

static const struct {
    const char *pieces[4], *expected;
} rows[] = {
    { { "" }, "" },
    { { "\n\n" }, "" },
    { { "one\ntwo\n" }, "two" },
    { { "one\ntwo" }, "two" },
    { { "abc ", "def\n" }, "abc def" },
    { { "one\n", "\n", "   \n" }, "one" },
    { { "10%\r", "20%\r" }, "20%" },
    { { "a\tb\n" }, "a b" },
    { { "\x1b[31mred\x1b[0m\n" }, "red" },
    { { "\x1b[3", "1mred\n" }, "red" },
    { { "gr\xc3\xbc", "n \xe2\x82\xac\n" }, "gr\xc3\xbcn \xe2\x82\xac" },
    { { "a\xc2", "\x9bmb\n" }, "a??mb" },
    { { "a\x9bmb" }, "a?mb" },
    { { "\x1b[31", "\nnext\n" }, "next" },
    { { "\x1b[1A1", "\x1b[1Z2", "\x1b[1a3", "\x1b[1z4" }, "1234" }, /* a letter ends it */
    { { "\x1b[@[`{mred" }, "red" },                                 /* what is beside does not */
    { { "a\x1f", "b\x7f", "c~d" }, "a b c~d" },
};

START_TEST(the_last_line_with_something_in_it_is_kept)
{
    struct last_line words = { 0 };
    for (int i = 0; i < 4 && rows[_i].pieces[i]; i++)
        last_line_feed(&words, rows[_i].pieces[i], strlen(rows[_i].pieces[i]));
    ck_assert_str_eq(last_line_text(&words), rows[_i].expected);
}
END_TEST

START_TEST(a_long_line_is_cut_and_a_long_chunk_is_read_from_its_end)
{
    static char chunk[100000];
    struct last_line words = { 0 };
    memset(chunk, 'x', sizeof chunk);
    last_line_feed(&words, chunk, sizeof chunk);
    ck_assert_uint_eq(strlen(last_line_text(&words)), LAST_LINE_MAX);
    ck_assert_str_eq(last_line_text(&words) + LAST_LINE_MAX - 4, "x...");
    memcpy(chunk + sizeof chunk - 5, "\nend\n", 5);
    last_line_feed(&words, chunk, sizeof chunk);
    ck_assert_str_eq(last_line_text(&words), "end");
}
END_TEST

/* A line of this many "x" and then `rest`; how its last words end. */
static const struct {
    size_t count;
    const char *rest, *end;
} long_lines[] = {
    { LAST_LINE_MAX, "", "xxxx" },
    { LAST_LINE_MAX, " \t \x1b[0m", "xxxx" },
    { LAST_LINE_MAX, "y", "x..." },
    { LAST_LINE_MAX, " y", "x..." },
    { LAST_LINE_MAX - 1, "\xe2\x82\xac", "x..." },
    { LAST_LINE_MAX - 3, "\xe2\x82\xac", "x\xe2\x82\xac" },
    { LAST_LINE_MAX - 3, "\xe2\x82\xacy", "x..." },
    { LAST_LINE_MAX - 4, "\xe2\x82\xacyy", "x..." },
    { LAST_LINE_MAX - 5, "\xe2\x82\xacyyy", "x..." },
    { LAST_LINE_MAX - 6, "\xe2\x82\xacyyyy", "x\xe2\x82\xac..." },
};

START_TEST(a_cut_is_marked_and_falls_between_characters)
{
    char line[LAST_LINE_MAX + 1] = "";
    struct last_line words = { 0 };
    memset(line, 'x', long_lines[_i].count);
    last_line_feed(&words, line, long_lines[_i].count);
    last_line_feed(&words, long_lines[_i].rest, strlen(long_lines[_i].rest));
    last_line_feed(&words, "\n", 1);
    const char *text = last_line_text(&words), *end = long_lines[_i].end;
    ck_assert_uint_ge(strlen(text), strlen(end));
    ck_assert_str_eq(text + strlen(text) - strlen(end), end);
    last_line_feed(&words, "next\n", 5);
    ck_assert_str_eq(last_line_text(&words), "next");
}
END_TEST

START_TEST(more_is_kept_than_is_quoted)
{
    char line[2 * LAST_LINE_WHOLE];
    struct last_line words = { 0 };
    memset(line, 'x', sizeof line);
    last_line_feed(&words, line, LAST_LINE_WHOLE);
    ck_assert_uint_eq(strlen(last_line_whole(&words)), LAST_LINE_WHOLE);
    ck_assert_ptr_null(strstr(last_line_whole(&words), "..."));
    ck_assert_uint_eq(strlen(last_line_text(&words)), LAST_LINE_MAX);
    last_line_feed(&words, line, LAST_LINE_WHOLE + 1);
    ck_assert_uint_eq(strlen(last_line_whole(&words)), LAST_LINE_WHOLE);
    ck_assert_str_eq(last_line_whole(&words) + LAST_LINE_WHOLE - 4, "x...");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("last_line");
    TCase *tcase = tcase_create("lines");
    tcase_add_loop_test(tcase, the_last_line_with_something_in_it_is_kept, 0,
                        sizeof rows / sizeof *rows);
    tcase_add_test(tcase, a_long_line_is_cut_and_a_long_chunk_is_read_from_its_end);
    tcase_add_loop_test(tcase, a_cut_is_marked_and_falls_between_characters, 0,
                        sizeof long_lines / sizeof *long_lines);
    tcase_add_test(tcase, more_is_kept_than_is_quoted);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
