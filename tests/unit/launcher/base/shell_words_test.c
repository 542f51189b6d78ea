/* SPDX-License-Identifier: Apache-2.0 */
/* A command in one line, as it is shown to people. */
#include "launcher/base/shell_words.h"

#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    char *words[4];
    const char *line;
} commands[] = {
    { { NULL }, "" },
    { { "./train", "--lr=0.1", "a/b", NULL }, "./train --lr=0.1 a/b" },
    { { "", "a b", NULL }, "'' 'a b'" },
    { { "don't", "$x", NULL }, "'don'\\''t' '$x'" },
};

START_TEST(words_that_a_shell_would_change_are_quoted)
{
    char *line = shell_words(commands[_i].words);
    ck_assert_str_eq(line, commands[_i].line);
    free(line);
}
END_TEST

START_TEST(a_command_that_is_too_long_is_cut)
{
    static char word[3 * SHELL_WORDS_MAX];
    for (int quoted = 0; quoted < 2; quoted++) {
        memset(word, quoted ? '\'' : 'x', sizeof word - 1);
        char *line = shell_words((char *[]){ word, word, NULL });
        ck_assert_uint_eq(strlen(line), SHELL_WORDS_MAX);
        ck_assert_str_eq(line + SHELL_WORDS_MAX - 3, "...");
        free(line);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shell_words");
    TCase *tcase = tcase_create("shell_words");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, words_that_a_shell_would_change_are_quoted, 0,
                        sizeof commands / sizeof *commands);
    tcase_add_test(tcase, a_command_that_is_too_long_is_cut);
    return unit_run(suite);
}
