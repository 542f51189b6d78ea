/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of the end of a stream. */
#include "launcher/output/last_line.h"
#include "launcher/output/last_lines.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

static struct last_lines lines;

static void teardown(void)
{
    last_lines_fini(&lines);
}

static void check(const char *expected)
{
    char *text = last_lines_text(&lines);
    ck_assert_str_eq(text, expected);
    free(text);
}

static const struct {
    const char *said, *kept;
} streams[] = {
    { "", "" },
    { "\n", "" },
    { "\n\n  \r\n", "" },
    { "a", "a\n" },
    { "a\n", "a\n" },
    { "a\nb", "a\nb\n" },
    { "\na\n\n\nb\n\n", "a\nb\n" },
    { "10%\r20%\r", "10%\n20%\n" },
    { "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n", "2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n" },
    { "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n\n\n", "2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n" },
    { "\033[1mbold\033[0m \a\xff\n", "bold  ?\n" },
};

START_TEST(the_last_lines_with_something_in_them_are_kept)
{
    last_lines_feed(&lines, streams[_i].said, strlen(streams[_i].said));
    check(streams[_i].kept);
}
END_TEST

START_TEST(it_does_not_matter_in_which_pieces_they_come)
{
    for (const char *at = streams[_i].said; *at; at++)
        last_lines_feed(&lines, at, 1);
    check(streams[_i].kept);
}
END_TEST

START_TEST(a_line_that_has_lost_its_beginning_says_so)
{
    char many[5 * LAST_LINES_KEPT];
    memset(many, 'x', sizeof many);
    last_lines_feed(&lines, many, sizeof many);
    char *text = last_lines_text(&lines);
    ck_assert_int_eq(strncmp(text, "...xxx", 6), 0);
    ck_assert_ptr_nonnull(strstr(text, "x...\n")); /* nor is the rest whole */
    free(text);
    last_lines_feed(&lines, "\nend\n", 5);
    text = last_lines_text(&lines);
    ck_assert_ptr_nonnull(strstr(text, "\nend\n"));
    free(text);
    for (int i = 0; i < LAST_LINES_MAX; i++)
        last_lines_feed(&lines, "n\n", 2);
    check("n\nn\nn\nn\nn\nn\nn\nn\nn\nn\n");
}
END_TEST

START_TEST(a_tail_is_as_short_as_it_must_be)
{
    static const struct {
        int count;
        size_t nbytes;
        const char *told;
    } tails[] = {
        { 20, 100, "one\ntwo\nthree\n" },
        { 2, 100, "two\nthree\n" },
        { 20, 14, "one\ntwo\nthree\n" },
        { 20, 13, "two\nthree\n" },
        { 20, 6, "three\n" },
        { 20, 5, "t...\n" },
        { 0, 100, "" },
    };
    last_lines_feed(&lines, "one\ntwo\nthree\n", 14);
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        char *text = last_lines_tail(&lines, tails[i].count, tails[i].nbytes);
        ck_assert_str_eq(text, tails[i].told);
        free(text);
    }
}
END_TEST

START_TEST(less_is_kept_where_there_are_many_streams)
{
    lines.most = 8;
    last_lines_feed(&lines, "abcdef\n", 7);
    check("abcdef\n");
    last_lines_feed(&lines, "gh\n", 3);
    check("...cdef\ngh\n");
    last_lines_feed(&lines, "0123456789\n", 11);
    check("...3456789\n");
}
END_TEST

/* What a compiler or an exception says in one line. */
START_TEST(a_line_of_1_KiB_is_whole_and_more_is_marked)
{
    char said[2 * LAST_LINE_WHOLE + 8], kept[LAST_LINE_WHOLE + 8];
    memset(said, 'x', sizeof said);
    memcpy(said, "first\n", 6);
    said[6 + LAST_LINE_WHOLE] = '\n';
    last_lines_feed(&lines, said, 7 + LAST_LINE_WHOLE);
    memcpy(kept, said, 7 + LAST_LINE_WHOLE);
    kept[7 + LAST_LINE_WHOLE] = '\0';
    check(kept);
    last_lines_feed(&lines, "y", 1);
    said[6 + LAST_LINE_WHOLE] = 'x';
    last_lines_feed(&lines, said + 6, 1 + LAST_LINE_WHOLE);
    char *text = last_lines_text(&lines);
    ck_assert_str_eq(text + strlen(text) - 5, "x...\n");
    ck_assert_uint_eq(strlen(text), 7 + LAST_LINE_WHOLE + LAST_LINE_WHOLE + 1);
    free(text);
}
END_TEST

START_TEST(any_byte_may_come)
{
    char bytes[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    for (int i = 0; i < 50; i++)
        last_lines_feed(&lines, bytes, sizeof bytes - (size_t)i);
    char *text = last_lines_text(&lines);
    ck_assert_uint_gt(strlen(text), 0);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("last_lines");
    TCase *tcase = tcase_create("streams");
    int count = (int)(sizeof streams / sizeof *streams);
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_loop_test(tcase, the_last_lines_with_something_in_them_are_kept, 0, count);
    tcase_add_loop_test(tcase, it_does_not_matter_in_which_pieces_they_come, 0, count);
    tcase_add_test(tcase, a_line_that_has_lost_its_beginning_says_so);
    tcase_add_test(tcase, a_tail_is_as_short_as_it_must_be);
    tcase_add_test(tcase, less_is_kept_where_there_are_many_streams);
    tcase_add_test(tcase, a_line_of_1_KiB_is_whole_and_more_is_marked);
    tcase_add_test(tcase, any_byte_may_come);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
