/* SPDX-License-Identifier: Apache-2.0 */
/* What /bin/sh on another machine may answer, also in pieces, and what it must not. */
#include "launcher/base/text_buffer.h"
#include "launcher/connect/agent_bootstrap.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

#define NONCE "0123456789abcdef"
#define MARK "\nhvd-" NONCE " "

static struct agent_bootstrap bootstrap;

static void set_up(void)
{
    agent_bootstrap_init(&bootstrap, NONCE, "Linux x86_64");
}

static void tear_down(void)
{
    agent_bootstrap_fini(&bootstrap);
}

struct answer_case {
    const char *answer;
    enum agent_bootstrap_action action;
    const char *error;
};

static const struct answer_case answers[] = {
    { "", BOOTSTRAP_WAIT, "" },
    { "Welcome to host2\n", BOOTSTRAP_WAIT, "" },
    { MARK "here\n", BOOTSTRAP_WAIT, "" },
    { MARK "here\n" MARK "run\n", BOOTSTRAP_DONE, "" },
    { MARK "run\n", BOOTSTRAP_DONE, "" },
    { "Welcome" MARK "here\nmotd" MARK "run\n", BOOTSTRAP_DONE, "" },
    { "hvd-0123456789abcdeX run\n", BOOTSTRAP_WAIT, "" },
    { "hvd- run\nhvd-" NONCE "run\n", BOOTSTRAP_WAIT, "" },
    { " hvd-" NONCE " run\n", BOOTSTRAP_WAIT, "" },
    { MARK "run", BOOTSTRAP_WAIT, "" },
    { MARK "here\n" MARK "send Linux x86_64\n", BOOTSTRAP_SEND, "" },
    { MARK "here\n" MARK "send Linux aarch64\n", BOOTSTRAP_FAILED,
      "hvdagent is not installed there, and a copy of ours, for Linux x86_64, cannot run on "
      "Linux aarch64" },
    { MARK "send\n", BOOTSTRAP_FAILED, "cannot run on " },
    { MARK "here\n" MARK "fail no place: \033[2Jfull\n", BOOTSTRAP_FAILED,
      "hvdagent is not installed there, and cannot be sent: no place: ?[2Jfull" },
    { MARK "fail\n", BOOTSTRAP_FAILED, "cannot be sent: " },
    { MARK "here\n" MARK "here\n", BOOTSTRAP_FAILED, "says twice that it is there" },
    { MARK "here\r\n", BOOTSTRAP_FAILED, "given a terminal there; leave out -t" },
    { MARK "walk\n", BOOTSTRAP_FAILED, "answers what it was not told: walk" },
    { MARK "run\nHVD1", BOOTSTRAP_FAILED, "goes on where hvdagent should wait" },
    { MARK "send Linux x86_64\nx", BOOTSTRAP_FAILED, "goes on where hvdagent should wait" },
};
enum { ANSWERS = sizeof answers / sizeof *answers };

static void check(const struct answer_case *expected, enum agent_bootstrap_action action)
{
    ck_assert_msg(action == expected->action, "%d for '%s'", action, expected->answer);
    ck_assert_msg(strstr(bootstrap.error, expected->error), "'%s'", bootstrap.error);
}

START_TEST(an_answer_is_understood)
{
    const struct answer_case *row = &answers[_i];
    check(row, agent_bootstrap_take(&bootstrap, row->answer, strlen(row->answer)));
}
END_TEST

START_TEST(an_answer_may_come_in_two_pieces_split_anywhere)
{
    const struct answer_case *row = &answers[_i];
    size_t length = strlen(row->answer);
    bool goes_on = strstr(row->error, "goes on") != NULL;
    for (size_t split = 0; split <= length - goes_on; split++) {
        agent_bootstrap_fini(&bootstrap);
        set_up();
        enum agent_bootstrap_action action = agent_bootstrap_take(&bootstrap, row->answer, split);
        if (action == BOOTSTRAP_WAIT)
            action = agent_bootstrap_take(&bootstrap, row->answer + split, length - split);
        if (goes_on && action != row->action)
            continue; /* the mark ended the first piece */
        check(row, action);
    }
}
END_TEST

START_TEST(that_the_shell_is_there_is_known_before_it_is_known_what_it_does)
{
    agent_bootstrap_take(&bootstrap, "hello\n", 6);
    ck_assert(!bootstrap.answered);
    agent_bootstrap_take(&bootstrap, MARK "here\n", sizeof MARK + 4);
    ck_assert(bootstrap.answered);
}
END_TEST

START_TEST(hvdagent_is_sent_once)
{
    const char *mark = MARK "send Linux x86_64\n";
    ck_assert_int_eq(agent_bootstrap_take(&bootstrap, mark, strlen(mark)), BOOTSTRAP_SEND);
    ck_assert_int_eq(agent_bootstrap_take(&bootstrap, mark, strlen(mark)), BOOTSTRAP_FAILED);
}
END_TEST

/* `noise` bytes in lines of `line` bytes, then a mark; in pieces of 1000 bytes. */
static enum agent_bootstrap_action take_noise(size_t noise, size_t line)
{
    struct text_buffer text;
    enum agent_bootstrap_action action = BOOTSTRAP_WAIT;
    text_buffer_init(&text);
    for (size_t i = 1; i <= noise; i++)
        text_buffer_put(&text, i % line == 0 ? "\n" : "x", 1);
    text_buffer_put_string(&text, MARK "run\n");
    for (size_t at = 0; at < text.length && action == BOOTSTRAP_WAIT; at += 1000) {
        size_t left = text.length - at;
        action = agent_bootstrap_take(&bootstrap, text.data + at, left < 1000 ? left : 1000);
    }
    text_buffer_fini(&text);
    return action;
}

static const struct {
    size_t noise, line;
    enum agent_bootstrap_action action;
} noises[] = {
    { 1024, 80, BOOTSTRAP_DONE },
    { BOOTSTRAP_NOISE_MAX, 64, BOOTSTRAP_DONE },
    { BOOTSTRAP_NOISE_MAX, 1000000, BOOTSTRAP_DONE },
    { BOOTSTRAP_NOISE_MAX + 1, 64, BOOTSTRAP_FAILED },
    { BOOTSTRAP_NOISE_MAX + 1, 1000000, BOOTSTRAP_FAILED },
    { BOOTSTRAP_NOISE_MAX + 1, 1, BOOTSTRAP_FAILED },
    { 1024 * 1024, 80, BOOTSTRAP_FAILED },
};

START_TEST(noise_of_a_login_shell_is_passed_over_up_to_a_limit)
{
    ck_assert_int_eq(take_noise(noises[_i].noise, noises[_i].line), noises[_i].action);
    if (noises[_i].action == BOOTSTRAP_FAILED)
        ck_assert_ptr_nonnull(strstr(bootstrap.error, "more than 64 KiB"));
}
END_TEST

START_TEST(what_is_too_noisy_is_quoted)
{
    char zeros[4096] = { 0 };
    agent_bootstrap_take(&bootstrap, "\n\nfortune:\a today\n", 18);
    enum agent_bootstrap_action action = BOOTSTRAP_WAIT;
    for (int i = 0; i < 17 && action == BOOTSTRAP_WAIT; i++)
        action = agent_bootstrap_take(&bootstrap, zeros, sizeof zeros);
    ck_assert_int_eq(action, BOOTSTRAP_FAILED);
    ck_assert_ptr_nonnull(strstr(bootstrap.error, "begins with 'fortune:? today'"));
}
END_TEST

START_TEST(what_came_instead_of_an_answer_is_known_at_the_end)
{
    ck_assert_str_eq(agent_bootstrap_end(&bootstrap), "");
    agent_bootstrap_take(&bootstrap, "This account is not available.", 30);
    ck_assert_str_eq(agent_bootstrap_end(&bootstrap), "This account is not available.");
}
END_TEST

START_TEST(a_path_is_one_word_of_the_script)
{
    char *script = agent_bootstrap_script(NONCE, "/opt/it's here/$(x)/hvdagent", 1234);
    ck_assert_ptr_nonnull(strstr(script, "agent='/opt/it'\\''s here/$(x)/hvdagent'\n"));
    ck_assert_ptr_nonnull(strstr(script, "nonce=" NONCE "\nsize=1234\n"));
    free(script);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("agent_bootstrap");
    TCase *marks = tcase_create("marks"), *others = tcase_create("others");
    tcase_add_checked_fixture(marks, set_up, tear_down);
    tcase_add_checked_fixture(others, set_up, tear_down);
    tcase_add_loop_test(marks, an_answer_is_understood, 0, ANSWERS);
    tcase_add_loop_test(marks, an_answer_may_come_in_two_pieces_split_anywhere, 0, ANSWERS);
    tcase_add_test(marks, that_the_shell_is_there_is_known_before_it_is_known_what_it_does);
    tcase_add_test(marks, hvdagent_is_sent_once);
    tcase_add_loop_test(others, noise_of_a_login_shell_is_passed_over_up_to_a_limit, 0,
                        sizeof noises / sizeof *noises);
    tcase_add_test(others, what_is_too_noisy_is_quoted);
    tcase_add_test(others, what_came_instead_of_an_answer_is_known_at_the_end);
    tcase_add_test(others, a_path_is_one_word_of_the_script);
    suite_add_tcase(suite, marks);
    suite_add_tcase(suite, others);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
