/* SPDX-License-Identifier: Apache-2.0 */
/* What execve() takes is what the kernel takes, and what is too long is named. */
#include "launcher/process/exec_limits.h"
#include "tests/support/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct exec_limits limits;
static char *argv[4], *envp[64];
static struct err err;

static void setup(void)
{
    exec_limits_read(&limits);
    err = (struct err){ 0 };
    memset(argv, 0, sizeof argv);
    memset(envp, 0, sizeof envp);
    argv[0] = strdup("true");
}

static void teardown(void)
{
    for (size_t i = 0; i < sizeof argv / sizeof *argv; i++)
        free(argv[i]);
    for (size_t i = 0; i < sizeof envp / sizeof *envp; i++)
        free(envp[i]);
}

/* A text of `size` bytes, the NUL among them, that begins so. */
static char *text(const char *start, size_t size)
{
    char *made = malloc(size);
    memset(made, 'x', size);
    memcpy(made, start, strlen(start));
    made[size - 1] = '\0';
    return made;
}

static int check(void)
{
    return exec_limits_check(&limits, "/bin/true", argv, envp, &err);
}

static bool kernel_takes_it(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        execve("/bin/true", argv, envp);
        _exit(1);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status == 0;
}

START_TEST(a_text_at_the_limit_is_taken_and_one_byte_more_is_not)
{
    envp[0] = text("LONG=", limits.text);
    ck_assert_int_eq(check(), HVD_OK);
    ck_assert(kernel_takes_it());
    free(envp[0]);
    envp[0] = text("LONG=", limits.text + 1);
    ck_assert(!kernel_takes_it());
    ck_assert_int_eq(check(), HVD_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "variable 'LONG' is 131072 bytes long"));
    ck_assert_ptr_nonnull(strstr(err.text, "takes 131071"));
}
END_TEST

START_TEST(an_argument_is_named_by_its_number)
{
    argv[1] = text("-f", 10);
    argv[2] = text("--plan=", limits.text + 10);
    ck_assert_int_eq(check(), HVD_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "argument 2 is 131081 bytes long"));
}
END_TEST

START_TEST(a_name_is_shown_fit_for_a_terminal)
{
    envp[0] = text("\033[2J=", limits.text + 1);
    ck_assert_int_eq(check(), HVD_ERR_INVALID);
    ck_assert_ptr_null(strchr(err.text, '\033'));
}
END_TEST

/* As much room for the stack as this process may have. */
static void raise_stack(void)
{
    struct rlimit stack;
    ck_assert_int_eq(getrlimit(RLIMIT_STACK, &stack), 0);
    stack.rlim_cur = stack.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_STACK, &stack), 0);
    exec_limits_read(&limits);
}

/* Variables of 130 kB: what passes here passes there; the first that does not, names the
 * longest. */
START_TEST(too_much_in_all_is_found_before_the_kernel_finds_it)
{
    char name[16];
    int n = 0;
    if (_i == 1)
        raise_stack();
    envp[n++] = text("BIG=", 130001);
    while (n < 63 && check() == HVD_OK) {
        ck_assert(kernel_takes_it());
        snprintf(name, sizeof name, "V%d=", n);
        envp[n++] = text(name, 130000);
    }
    ck_assert_int_lt(n, 63);
    ck_assert(!kernel_takes_it());
    ck_assert_ptr_nonnull(strstr(err.text, "arguments and environment are"));
    ck_assert_ptr_nonnull(strstr(err.text, "longest is variable 'BIG' with 130000"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exec_limits");
    TCase *tcase = tcase_create("limits");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_text_at_the_limit_is_taken_and_one_byte_more_is_not);
    tcase_add_test(tcase, an_argument_is_named_by_its_number);
    tcase_add_test(tcase, a_name_is_shown_fit_for_a_terminal);
    tcase_add_loop_test(tcase, too_much_in_all_is_found_before_the_kernel_finds_it, 0, 2);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
