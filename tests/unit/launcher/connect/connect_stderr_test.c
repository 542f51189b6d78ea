/* SPDX-License-Identifier: Apache-2.0 */
/* The stderr of a host becomes lines, however its bytes are divided; the last ones are kept. */
#include "launcher/connect/connect_stderr.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct connect_stderr lines;
static char told[1000]; /* the lines, each in brackets */

static void set_up(void)
{
    lines = (struct connect_stderr){ 0 };
    told[0] = '\0';
}

static void on_line(void *context, const char *line)
{
    size_t used = strlen(told);
    ck_assert_ptr_eq(context, &lines);
    snprintf(told + used, sizeof told - used, "[%s]", line);
}

static void feed(const char *data)
{
    connect_stderr_feed(&lines, data, strlen(data), on_line, &lines);
}

START_TEST(nothing_has_no_line)
{
    feed("");
    feed("\n\n");
    ck_assert_str_eq(told, "");
    ck_assert_str_eq(connect_stderr_last(&lines), "");
}
END_TEST

START_TEST(each_line_of_a_piece_is_told)
{
    feed("one\ntwo\n\nthree\n");
    ck_assert_str_eq(told, "[one][two][three]");
    ck_assert_str_eq(connect_stderr_last(&lines), "three");
}
END_TEST

START_TEST(a_line_in_pieces_is_told_when_it_is_complete)
{
    feed("one\nt");
    feed("w");
    ck_assert_str_eq(told, "[one]");
    feed("o\n");
    ck_assert_str_eq(told, "[one][two]");
}
END_TEST

START_TEST(the_last_line_needs_no_end)
{
    feed("one\ntwo");
    ck_assert_str_eq(connect_stderr_last(&lines), "two");
    ck_assert_str_eq(connect_stderr_last(&lines), "two");
    ck_assert_str_eq(told, "[one]");
}
END_TEST

START_TEST(an_empty_line_does_not_replace_the_last)
{
    feed("one\n\n\n");
    ck_assert_str_eq(connect_stderr_last(&lines), "one");
}
END_TEST

/* Rows: what comes, and its last lines. */
static const struct {
    const char *data, *tail;
} tails[] = {
    { "", "" },
    { "\n\n", "" },
    { "one", "one" },
    { "one\n\ntwo\n", "one; two" },
    { "one\ntwo\nthree", "one; two; three" },
    { "one\ntwo\nthree\nfour\nfive\n", "two; three; four; five" },
    { "one\ntwo\ntwo\ntwo\n", "one; two" },
    { "one\ntwo\none", "one; two; one" },
    { "one\n  of it\n  more\ntwo\n", "one of it more; two" },
    { "one\n a\ntwo\n b\nthree\n c\nfour\n d", "one a; two b; three c; four d" },
    { "one\ntwo\n a\nthree\n b\nfour\n c\nfive\n", "two a; three b; four c; five" },
    { "one\n a\n b\n c\n d\n e\n f\n g\ntwo\n", "two" },
    { "  only\n  indented\n", "only indented" },
};

START_TEST(the_tail_is_the_last_lines_in_their_order)
{
    char text[CONNECT_STDERR_TAIL_SIZE];
    feed(tails[_i].data);
    connect_stderr_tail(&lines, text);
    ck_assert_str_eq(text, tails[_i].tail);
}
END_TEST

/* The lengths of lines, and how many of the last ones the tail has. */
static const struct {
    int lengths[CONNECT_STDERR_MESSAGES];
    int kept;
} long_lines[] = {
    { { 10, 10, 10, 10 }, 4 },
    { { LAST_LINE_MAX, LAST_LINE_MAX, LAST_LINE_MAX, LAST_LINE_MAX }, 1 },
    { { 10, LAST_LINE_MAX, 95, 10 }, 2 },
    { { LAST_LINE_MAX, 10, 10, 10 }, 4 },
    { { 50, LAST_LINE_MAX, 86, 9 }, 3 }, /* 299 bytes */
    { { 50, LAST_LINE_MAX, 87, 9 }, 2 },
};

START_TEST(of_long_lines_the_tail_drops_the_oldest)
{
    char text[CONNECT_STDERR_TAIL_SIZE], expected[4 * LAST_LINE_MAX + 10] = "";
    size_t used = 0;
    for (int i = 0; i < CONNECT_STDERR_MESSAGES; i++) {
        char line[LAST_LINE_MAX + 2] = "";
        int length = long_lines[_i].lengths[i];
        memset(line, 'a' + i, (size_t)length);
        if (i >= CONNECT_STDERR_MESSAGES - long_lines[_i].kept)
            used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%s",
                                     used > 0 ? "; " : "", line);
        line[length] = '\n';
        feed(line);
    }
    connect_stderr_tail(&lines, text);
    ck_assert_str_eq(text, expected);
}
END_TEST

START_TEST(a_message_without_room_is_dropped_with_its_indented_lines)
{
    char text[CONNECT_STDERR_TAIL_SIZE], line[160];
    memset(line, 'a', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    feed(line);
    feed("\n  ");
    feed(line);
    feed("\nlast\n");
    connect_stderr_tail(&lines, text);
    ck_assert_str_eq(text, "last");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("connect_stderr");
    TCase *tcase = tcase_create("lines");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, nothing_has_no_line);
    tcase_add_test(tcase, each_line_of_a_piece_is_told);
    tcase_add_test(tcase, a_line_in_pieces_is_told_when_it_is_complete);
    tcase_add_test(tcase, the_last_line_needs_no_end);
    tcase_add_test(tcase, an_empty_line_does_not_replace_the_last);
    tcase_add_loop_test(tcase, the_tail_is_the_last_lines_in_their_order, 0,
                        sizeof tails / sizeof *tails);
    tcase_add_loop_test(tcase, of_long_lines_the_tail_drops_the_oldest, 0,
                        sizeof long_lines / sizeof *long_lines);
    tcase_add_test(tcase, a_message_without_room_is_dropped_with_its_indented_lines);
    return unit_run(suite);
}
