/* SPDX-License-Identifier: Apache-2.0 */
/* Stderr is a socket that keeps the boundaries of what is written: one datagram is one write(). */
#include "lib/base/log.h"

#include "tests/support/unit.h"

#include <errno.h>
#include <limits.h>
#include <regex.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int reader, saved_stderr;

static void set_up(void)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    saved_stderr = dup(STDERR_FILENO);
    dup2(pair[1], STDERR_FILENO);
    close(pair[1]);
    reader = pair[0];
    log_configure(LOG_WARNING, true);
}

static void tear_down(void)
{
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    close(reader);
}

/* The next write, terminated; "" if there is none. */
static const char *next(void)
{
    static char line[2 * PIPE_BUF];
    ssize_t got = recv(reader, line, sizeof line - 1, MSG_DONTWAIT);
    line[got > 0 ? got : 0] = '\0';
    return line;
}

static const struct {
    const char *text;
    bool good;
    enum log_level level;
} words[] = {
    { "trace", true, LOG_TRACE },
    { "debug", true, LOG_DEBUG },
    { "info", true, LOG_INFO },
    { "error", true, LOG_ERROR },
    { "warning", true, LOG_WARNING },
    { "fatal", true, LOG_FATAL },
    { "INFO", true, LOG_INFO },
    { "Warning", true, LOG_WARNING },
    { "", false, 0 },
    { "warn", false, 0 },
    { "info ", false, 0 },
    { "2", false, 0 },
};

START_TEST(a_level_is_a_word_in_any_case)
{
    enum log_level level = LOG_FATAL;
    ck_assert_msg(log_level_parse(words[_i].text, &level) == words[_i].good, "%s", words[_i].text);
    ck_assert_int_eq(level, words[_i].good ? words[_i].level : LOG_FATAL);
}
END_TEST

START_TEST(messages_of_lower_levels_are_not_written)
{
    log_line(LOG_INFO, 0, "quiet");
    log_line(LOG_WARNING, 0, "loud");
    ck_assert_str_eq(next(), "[W] [0]: loud\n");
    log_configure(LOG_TRACE, true);
    log_line(LOG_TRACE, 3, "quiet");
    ck_assert_str_eq(next(), "[T] [3]: quiet\n");
    log_configure(LOG_FATAL, true);
    log_line(LOG_ERROR, 0, "loud");
    ck_assert_str_eq(next(), "");
}
END_TEST

START_TEST(the_rank_can_be_left_out)
{
    log_line(LOG_ERROR, -1, "%s %d", "text", 7);
    ck_assert_str_eq(next(), "[E]: text 7\n");
}
END_TEST

START_TEST(the_time_comes_first)
{
    regex_t pattern;
    ck_assert_int_eq(regcomp(&pattern,
                             "^\\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}"
                             "\\.[0-9]{6}: W\\] \\[12\\]: text\n$",
                             REG_EXTENDED | REG_NOSUB),
                     0);
    log_configure(LOG_WARNING, false);
    log_line(LOG_WARNING, 12, "text");
    const char *line = next();
    ck_assert_msg(regexec(&pattern, line, 0, NULL, 0) == 0, "%s", line);
    regfree(&pattern);
}
END_TEST

START_TEST(each_text_is_one_write)
{
    log_line(LOG_WARNING, 0, "one\n  two");
    log_line(LOG_WARNING, 0, "three");
    ck_assert_str_eq(next(), "[W] [0]: one\n  two\n");
    ck_assert_str_eq(next(), "[W] [0]: three\n");
    ck_assert_str_eq(next(), "");
}
END_TEST

START_TEST(a_long_text_is_cut)
{
    char text[PIPE_BUF + 100];
    for (size_t length = PIPE_BUF - 20; length < sizeof text; length++) {
        memset(text, 'x', length);
        text[length] = '\0';
        log_line(LOG_WARNING, 0, "%s", text);
        const char *line = next();
        size_t whole = strlen("[W] [0]: \n") + length;
        ck_assert_uint_eq(strlen(line), whole <= PIPE_BUF - 1 ? whole : PIPE_BUF);
        ck_assert_int_eq(line[strlen(line) - 1], '\n');
        ck_assert_int_eq(strstr(line, "...\n") != NULL, whole > PIPE_BUF);
    }
}
END_TEST

START_TEST(a_character_is_not_cut_in_two)
{
    char text[PIPE_BUF + 100];
    for (int shift = 0; shift < 3; shift++) {
        memset(text, 'x', sizeof text);
        for (size_t at = (size_t)shift; at + 4 <= sizeof text; at += 3)
            memcpy(text + at, "\xe2\x82\xac", 4);
        log_line(LOG_WARNING, 0, "%s", text);
        const char *end = strstr(next(), "...\n");
        ck_assert_ptr_nonnull(end);
        ck_assert_mem_eq(end - 3, "\xe2\x82\xac", 3);
    }
}
END_TEST

START_TEST(a_terminal_is_not_driven)
{
    log_line(LOG_WARNING, 0, "\x1b[2Jgr\xc3\xbc\x7f\r\b");
    ck_assert_str_eq(next(), "[W] [0]: ?[2Jgr\xc3\xbc???\n");
}
END_TEST

START_TEST(nobody_who_reads_is_no_harm)
{
    sigset_t pending;
    close(reader);
    reader = -1;
    errno = ENOENT;
    log_line(LOG_WARNING, 0, "lost");
    ck_assert_int_eq(errno, ENOENT);
    sigpending(&pending);
    ck_assert(!sigismember(&pending, SIGPIPE));
    close(STDERR_FILENO);
    log_line(LOG_WARNING, 0, "lost");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *tcase = tcase_create("log");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, a_level_is_a_word_in_any_case, 0, sizeof words / sizeof *words);
    tcase_add_test(tcase, messages_of_lower_levels_are_not_written);
    tcase_add_test(tcase, the_rank_can_be_left_out);
    tcase_add_test(tcase, the_time_comes_first);
    tcase_add_test(tcase, each_text_is_one_write);
    tcase_add_test(tcase, a_long_text_is_cut);
    tcase_add_test(tcase, a_character_is_not_cut_in_two);
    tcase_add_test(tcase, a_terminal_is_not_driven);
    tcase_add_test(tcase, nobody_who_reads_is_no_harm);
    return unit_run(suite);
}
