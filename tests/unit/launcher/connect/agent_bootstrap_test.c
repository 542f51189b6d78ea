/* SPDX-License-Identifier: Apache-2.0 */
/* What /bin/sh on another machine may answer, also in pieces, and what it must not. */
#include "launcher/base/text_buffer.h"
#include "launcher/connect/agent_bootstrap.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

#define NONCE "0123456789abcdef"
#define MARK "\nhvd-" NONCE " "

static struct greeting greeting;

static void set_up(void)
{
    greeting_init(&greeting, NONCE, "Linux x86_64");
}

static void tear_down(void)
{
    greeting_fini(&greeting);
}

struct answer_case {
    const char *answer;
    enum greeting_action action;
    const char *error;
};

static const struct answer_case answers[] = {
    { "", GREETING_WAIT, "" },
    { "Welcome to host2\n", GREETING_WAIT, "" },
    { MARK "here\n", GREETING_WAIT, "" },
    { MARK "here\n" MARK "run\n", GREETING_DONE, "" },
    { MARK "run\n", GREETING_DONE, "" },
    { "Welcome" MARK "here\nmotd" MARK "run\n", GREETING_DONE, "" },
    { "hvd-0123456789abcdeX run\n", GREETING_WAIT, "" },
    { "hvd- run\nhvd-" NONCE "run\n", GREETING_WAIT, "" },
    { " hvd-" NONCE " run\n", GREETING_WAIT, "" },
    { MARK "run", GREETING_WAIT, "" },
    { MARK "here\n" MARK "send Linux x86_64\n", GREETING_SEND, "" },
    { MARK "here\n" MARK "send Linux aarch64\n", GREETING_FAILED,
      "hvdagent is not installed there, and a copy of ours, for Linux x86_64, cannot run on "
      "Linux aarch64" },
    { MARK "send\n", GREETING_FAILED, "cannot run on " },
    { MARK "here\n" MARK "fail no place: \033[2Jfull\n", GREETING_FAILED,
      "hvdagent is not installed there, and cannot be sent: no place: ?[2Jfull" },
    { MARK "fail\n", GREETING_FAILED, "cannot be sent: " },
    { MARK "here\n" MARK "here\n", GREETING_FAILED, "says twice that it is there" },
    { MARK "here\r\n", GREETING_FAILED, "given a terminal there; leave out -t" },
    { MARK "walk\n", GREETING_FAILED, "answers what it was not told: walk" },
    { MARK "run\nHVD1", GREETING_FAILED, "goes on where hvdagent should wait" },
    { MARK "send Linux x86_64\nx", GREETING_FAILED, "goes on where hvdagent should wait" },
};
enum { ANSWERS = sizeof answers / sizeof *answers };

static void check(const struct answer_case *expected, enum greeting_action action)
{
    ck_assert_msg(action == expected->action, "%d for '%s'", action, expected->answer);
    ck_assert_msg(strstr(greeting.error, expected->error), "'%s'", greeting.error);
}

START_TEST(an_answer_is_understood)
{
    const struct answer_case *row = &answers[_i];
    check(row, greeting_take(&greeting, row->answer, strlen(row->answer)));
}
END_TEST

START_TEST(an_answer_may_come_in_two_pieces_split_anywhere)
{
    const struct answer_case *row = &answers[_i];
    size_t length = strlen(row->answer);
    bool goes_on = strstr(row->error, "goes on") != NULL;
    for (size_t split = 0; split <= length - goes_on; split++) {
        greeting_fini(&greeting);
        set_up();
        enum greeting_action action = greeting_take(&greeting, row->answer, split);
        if (action == GREETING_WAIT)
            action = greeting_take(&greeting, row->answer + split, length - split);
        if (goes_on && action != row->action)
            continue; /* the mark ended the first piece */
        check(row, action);
    }
}
END_TEST

START_TEST(that_the_shell_is_there_is_known_before_it_is_known_what_it_does)
{
    greeting_take(&greeting, "hello\n", 6);
    ck_assert(!greeting.answered);
    greeting_take(&greeting, MARK "here\n", sizeof MARK + 4);
    ck_assert(greeting.answered);
}
END_TEST

START_TEST(hvdagent_is_sent_once)
{
    const char *mark = MARK "send Linux x86_64\n";
    ck_assert_int_eq(greeting_take(&greeting, mark, strlen(mark)), GREETING_SEND);
    ck_assert_int_eq(greeting_take(&greeting, mark, strlen(mark)), GREETING_FAILED);
}
END_TEST

/* `noise` bytes in lines of `line` bytes, then a mark; in pieces of 1000 bytes. */
static enum greeting_action take_noise(size_t noise, size_t line)
{
    struct text_buffer text;
    enum greeting_action action = GREETING_WAIT;
    text_buffer_init(&text);
    for (size_t i = 1; i <= noise; i++)
        text_buffer_put(&text, i % line == 0 ? "\n" : "x", 1);
    text_buffer_put_string(&text, MARK "run\n");
    for (size_t at = 0; at < text.length && action == GREETING_WAIT; at += 1000) {
        size_t left = text.length - at;
        action = greeting_take(&greeting, text.data + at, left < 1000 ? left : 1000);
    }
    text_buffer_fini(&text);
    return action;
}

static const struct {
    size_t noise, line;
    enum greeting_action action;
} noises[] = {
    { 1024, 80, GREETING_DONE },
    { GREETING_NOISE_MAX, 64, GREETING_DONE },
    { GREETING_NOISE_MAX, 1000000, GREETING_DONE },
    { GREETING_NOISE_MAX + 1, 64, GREETING_FAILED },
    { GREETING_NOISE_MAX + 1, 1000000, GREETING_FAILED },
    { GREETING_NOISE_MAX + 1, 1, GREETING_FAILED },
    { 1024 * 1024, 80, GREETING_FAILED },
};

START_TEST(noise_of_a_login_shell_is_passed_over_up_to_a_limit)
{
    ck_assert_int_eq(take_noise(noises[_i].noise, noises[_i].line), noises[_i].action);
    if (noises[_i].action == GREETING_FAILED)
        ck_assert_ptr_nonnull(strstr(greeting.error, "more than 64 KiB"));
}
END_TEST

START_TEST(what_is_too_noisy_is_quoted)
{
    char zeros[4096] = { 0 };
    greeting_take(&greeting, "\n\nfortune:\a today\n", 18);
    enum greeting_action action = GREETING_WAIT;
    for (int i = 0; i < 17 && action == GREETING_WAIT; i++)
        action = greeting_take(&greeting, zeros, sizeof zeros);
    ck_assert_int_eq(action, GREETING_FAILED);
    ck_assert_ptr_nonnull(strstr(greeting.error, "begins with 'fortune:? today'"));
}
END_TEST

START_TEST(what_came_instead_of_an_answer_is_known_at_the_end)
{
    ck_assert_str_eq(greeting_end(&greeting), "");
    greeting_take(&greeting, "This account is not available.", 30);
    ck_assert_str_eq(greeting_end(&greeting), "This account is not available.");
}
END_TEST

START_TEST(a_path_is_one_word_of_the_script)
{
    char *script = greeting_script(&greeting, "/opt/it's here/$(x)/hvdagent", 1234);
    ck_assert_ptr_nonnull(strstr(script, "agent='/opt/it'\\''s here/$(x)/hvdagent'\n"));
    ck_assert_ptr_nonnull(strstr(script, "nonce=" NONCE "\nsize=1234\n"));
    free(script);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("greeting");
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
