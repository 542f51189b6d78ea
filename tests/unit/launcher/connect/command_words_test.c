/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a command that reaches a host. */
#include "launcher/connect/command_words.h"
#include "tests/support/unit.h"

#include <string.h>

struct words_case {
    const char *command, *user;
    const char *words; /* joined with | */
};

static const struct words_case good[] = {
    { "ssh", NULL, "ssh|node2" },
    { "ssh -q %h", NULL, "ssh|-q|node2" },
    { "  ssh\t-q  ", NULL, "ssh|-q|node2" },
    { "ssh", "ann", "ssh|ann@node2" },
    { "ssh %h -v", "ann", "ssh|ann@node2|-v" },
    { "ssh -l %u %h", "ann", "ssh|-l|ann|node2" },
    { "ssh -l %u", "ann", "ssh|-l|ann|node2" },
    { "ssh -l '%u' %h", NULL, "ssh|-l||node2" },
    { "kubectl exec -i %h --", NULL, "kubectl|exec|-i|node2|--" },
    { "sh -c 'a  b' \"c 'd'\" e\"f g\"h", NULL, "sh|-c|a  b|c 'd'|ef gh|node2" },
    { "run '' x", NULL, "run||x|node2" },
    { "run 100%%", NULL, "run|100%|node2" },
    { "run %%h", NULL, "run|%h|node2" },
    { "run --to=%h.cluster:22", NULL, "run|--to=node2.cluster:22" },
    { "run $HOME *; `x` \\", NULL, "run|$HOME|*;|`x`|\\|node2" },
};

START_TEST(a_command_becomes_words)
{
    struct string_list words = { 0 };
    struct err err = { 0 };
    char joined[200] = "";
    int rc = command_words_make(&words, good[_i].command, "--remote-shell", "node2", good[_i].user,
                                &err);
    ck_assert_msg(rc == HVD_OK, "%s", err.text);
    for (size_t i = 0; i < words.count; i++) {
        strcat(joined, i > 0 ? "|" : "");
        strcat(joined, words.items[i]);
    }
    ck_assert_str_eq(joined, good[_i].words);
    ck_assert_ptr_null(words.items[words.count]);
    string_list_fini(&words);
}
END_TEST

static const struct {
    const char *command, *text;
} bad[] = {
    { "", "--remote-shell: expected a command that reaches a host: ''" },
    { " \t ", "--remote-shell: expected a command that reaches a host: ' \\x09 '" },
    { "'' x", "--remote-shell: expected a command that reaches a host: ''' x'" },
    { "ssh 'x", "--remote-shell: a quote is not closed: 'ssh 'x'" },
    { "ssh \"%h", "--remote-shell: a quote is not closed: 'ssh \"%h'" },
    { "ssh %", "--remote-shell: expected %h, %u or %% where a percent is: 'ssh %'" },
    { "ssh %p", "--remote-shell: expected %h, %u or %% where a percent is: 'ssh %p'" },
};

START_TEST(a_bad_command_is_refused_with_its_source)
{
    struct string_list words = { 0 };
    struct err err = { 0 };
    int rc = command_words_make(&words, bad[_i].command, "--remote-shell", "node2", NULL, &err);
    ck_assert_int_eq(rc, HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, bad[_i].text);
    string_list_fini(&words);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("command_words");
    TCase *words = tcase_create("words");
    tcase_add_loop_test(words, a_command_becomes_words, 0, sizeof good / sizeof *good);
    tcase_add_loop_test(words, a_bad_command_is_refused_with_its_source, 0,
                        sizeof bad / sizeof *bad);
    suite_add_tcase(suite, words);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
