/* SPDX-License-Identifier: Apache-2.0 */
/* An abort of libuv's, and a call that fails, tell what was missing; any other abort is left
 * alone. */
#include "launcher/base/uv_must.h"

#include "launcher/base/exit_status.h"
#include "tests/support/unit.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* How a process ends, and what it says. */
struct end {
    int status;
    char said[400];
};

static void no_core(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
}

static void give_up(int code)
{
    errno = code;
    abort();
}

static void wait_with(int code)
{
    errno = code;
    for (;;)
        pause();
}

/* Runs `act`, and sends SIGABRT if that waits. */
static struct end end_of(void (*act)(int code), int code)
{
    struct end end = { 0 };
    int said[2];
    ck_assert_int_eq(pipe2(said, O_CLOEXEC), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        no_core();
        dup2(said[1], STDERR_FILENO);
        uv_must_explain_aborts();
        ssize_t ready = act == wait_with ? write(STDERR_FILENO, "ready ", 6) : 0;
        act(ready < 0 ? 0 : code);
        _exit(0);
    }
    close(said[1]);
    size_t length = 0;
    for (ssize_t n = 1; n > 0; length += (size_t)n) {
        n = read(said[0], end.said + length, sizeof end.said - 1 - length);
        ck_assert_int_ge(n, 0);
        if (n > 0 && act == wait_with)
            kill(pid, SIGABRT);
    }
    close(said[0]);
    ck_assert_int_eq(waitpid(pid, &end.status, 0), pid);
    return end;
}

START_TEST(an_abort_for_want_of_something_ends_with_71_and_says_of_what)
{
    static const struct {
        int code;
        const char *text;
    } rows[] = {
        { EMFILE, "too many open files (ulimit -n)" },
        { ENFILE, "too many open files on this machine" },
        { ENOMEM, "no memory" },
        { ENOSPC, "too many watched descriptors" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct end end = end_of(give_up, rows[i].code);
        ck_assert(WIFEXITED(end.status));
        ck_assert_int_eq(WEXITSTATUS(end.status), STATUS_RESOURCE);
        ck_assert_ptr_nonnull(strstr(end.said, ": error: aborted; what failed last: "));
        ck_assert_ptr_nonnull(strstr(end.said, rows[i].text));
        ck_assert_ptr_eq(strchr(end.said, '\n'), end.said + strlen(end.said) - 1);
    }
}
END_TEST

static void call_that_ends_with(int code)
{
    uv_must(code, "the call");
}

START_TEST(a_call_that_fails_ends_with_71_and_is_named)
{
    struct end end = end_of(call_that_ends_with, -ENOMEM);
    ck_assert(WIFEXITED(end.status));
    ck_assert_int_eq(WEXITSTATUS(end.status), STATUS_RESOURCE);
    ck_assert_ptr_nonnull(strstr(end.said, ": error: the call: not enough memory\n"));
    for (int rc = 0; rc <= 1; rc++) {
        end = end_of(call_that_ends_with, rc);
        ck_assert(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0);
        ck_assert_str_eq(end.said, "");
    }
}
END_TEST

START_TEST(any_other_abort_is_one)
{
    struct end end = end_of(give_up, EINVAL);
    ck_assert(WIFSIGNALED(end.status));
    ck_assert_int_eq(WTERMSIG(end.status), SIGABRT);
    ck_assert_str_eq(end.said, "");
}
END_TEST

START_TEST(a_signal_of_somebody_else_is_one_whatever_failed_before)
{
    struct end end = end_of(wait_with, ENOMEM);
    ck_assert(WIFSIGNALED(end.status));
    ck_assert_int_eq(WTERMSIG(end.status), SIGABRT);
    ck_assert_str_eq(end.said, "ready ");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("uv_must");
    TCase *tcase = tcase_create("aborts");
    tcase_add_test(tcase, an_abort_for_want_of_something_ends_with_71_and_says_of_what);
    tcase_add_test(tcase, a_call_that_fails_ends_with_71_and_is_named);
    tcase_add_test(tcase, any_other_abort_is_one);
    tcase_add_test(tcase, a_signal_of_somebody_else_is_one_whatever_failed_before);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
