/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of hvdrendezvousd on a stderr that is a pipe of ours. */
#include "src/service/daemon_log.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int reader, old_stderr;

static void set_up(void)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    reader = ends[0];
    old_stderr = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
}

static void tear_down(void)
{
    dup2(old_stderr, STDERR_FILENO);
    close(old_stderr);
    close(reader);
}

/* Everything that is in the pipe, up to `size` - 1 bytes. */
static void hear(char *text, size_t size)
{
    size_t have = 0;
    struct pollfd pipe = { .fd = reader, .events = POLLIN };
    while (have + 1 < size && poll(&pipe, 1, 0) == 1) {
        ssize_t n = read(reader, text + have, size - 1 - have);
        ck_assert_int_gt(n, 0);
        have += (size_t)n;
    }
    text[have] = '\0';
}

START_TEST(a_line_has_the_programs_name)
{
    char heard[100];
    daemon_log("job %s: %d came", "train", 2);
    hear(heard, sizeof heard);
    ck_assert_str_eq(heard, "hvdrendezvousd: job train: 2 came\n");
}
END_TEST

START_TEST(what_would_harm_a_terminal_is_kept_from_it)
{
    char heard[100];
    daemon_log("job %s", "a\033[2J\nb");
    hear(heard, sizeof heard);
    ck_assert_str_eq(heard, "hvdrendezvousd: job a?[2J?b\n");
}
END_TEST

START_TEST(a_long_line_is_cut)
{
    char text[5000], heard[5000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    daemon_log("%s", text);
    hear(heard, sizeof heard);
    ck_assert_uint_lt(strlen(heard), 1100);
    ck_assert_int_eq(heard[strlen(heard) - 1], '\n');
}
END_TEST

START_TEST(who_does_not_read_holds_nothing_up_and_learns_what_was_missed)
{
    enum { LINES = 5000, SIZE = 1 << 20 };
    char *heard = malloc(SIZE);
    int lines = 0, left_out = 0;
    for (int i = 0; i < LINES; i++)
        daemon_log("line %d of very many that nobody reads", i);
    hear(heard, SIZE);
    for (char *at = heard; (at = strchr(at, '\n')); at++)
        lines++;
    ck_assert_int_lt(lines, LINES);
    daemon_log("at last");
    hear(heard, SIZE);
    ck_assert_int_eq(sscanf(heard, "hvdrendezvousd: %d lines were left out", &left_out), 1);
    ck_assert_int_eq(lines + left_out, LINES);
    ck_assert_ptr_nonnull(strstr(heard, "\nhvdrendezvousd: at last\n"));
    free(heard);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("daemon_log");
    TCase *tcase = tcase_create("daemon_log");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_line_has_the_programs_name);
    tcase_add_test(tcase, what_would_harm_a_terminal_is_kept_from_it);
    tcase_add_test(tcase, a_long_line_is_cut);
    tcase_add_test(tcase, who_does_not_read_holds_nothing_up_and_learns_what_was_missed);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
