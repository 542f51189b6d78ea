/* SPDX-License-Identifier: Apache-2.0 */
/* The stderr of a host becomes lines, however its bytes are divided; the last one is kept. */
#include "launcher/connect/connect_stderr.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct connect_stderr lines;
static char told[1000]; /* the lines, each in brackets */

static void set_up(void)
{
    lines = (struct connect_stderr){ .last = "" };
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
    return unit_run(suite);
}
