/* SPDX-License-Identifier: Apache-2.0 */
/* The last line of a stream, however it was cut. */
#include "launcher/last_words.h"
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
};

START_TEST(the_last_line_with_something_in_it_is_kept)
{
    struct last_words words = { 0 };
    for (int i = 0; i < 4 && rows[_i].pieces[i]; i++)
        last_words_feed(&words, rows[_i].pieces[i], strlen(rows[_i].pieces[i]));
    ck_assert_str_eq(last_words_text(&words), rows[_i].expected);
}
END_TEST

START_TEST(a_long_line_is_cut_and_a_long_chunk_is_read_from_its_end)
{
    static char chunk[100000];
    struct last_words words = { 0 };
    memset(chunk, 'x', sizeof chunk);
    last_words_feed(&words, chunk, sizeof chunk);
    ck_assert_uint_eq(strlen(last_words_text(&words)), LAST_WORDS_MAX);
    memcpy(chunk + sizeof chunk - 5, "\nend\n", 5);
    last_words_feed(&words, chunk, sizeof chunk);
    ck_assert_str_eq(last_words_text(&words), "end");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("last_words");
    TCase *tcase = tcase_create("lines");
    tcase_add_loop_test(tcase, the_last_line_with_something_in_it_is_kept, 0,
                        sizeof rows / sizeof *rows);
    tcase_add_test(tcase, a_long_line_is_cut_and_a_long_chunk_is_read_from_its_end);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
