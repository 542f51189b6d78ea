/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a command when a process that stands in for hvdrun ends, with a guard and after
 * the guard was ended. The test adopts all of them, and waits for their ends. */
#include "launcher/cleanup/command_guard.h"

#include "lib/base/env_names.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char job_id[17];

/* Returns when the command is executed, which has the variable of the job. */
static pid_t start_command(void)
{
    char variable[64], *argv[] = { (char[]){ "sleep" }, (char[]){ "600" }, NULL };
    char *environment[] = { variable, NULL };
    int executed[2];
    char byte;
    snprintf(variable, sizeof variable, ENV_COMMAND_OF "=%s", job_id);
    if (pipe2(executed, O_CLOEXEC) < 0)
        _exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        execve("/bin/sleep", argv, environment);
        _exit(127);
    }
    close(executed[1]);
    if (read(executed[0], &byte, 1) != 0)
        _exit(1);
    close(executed[0]);
    return pid;
}

/* Some call was interrupted before: errno keeps that until another call fails. */
static void be_hvdrun(int answer, bool ends_guard)
{
    struct command_guard guard = { 0 };
    errno = EINTR;
    command_guard_start(&guard, job_id);
    pid_t command = start_command();
    if (ends_guard)
        command_guard_end(&guard);
    _exit(write(answer, &command, sizeof command) != sizeof command);
}

static pid_t run_hvdrun(bool ends_guard)
{
    int answer[2];
    pid_t command;
    snprintf(job_id, sizeof job_id, "%016x", (unsigned)getpid());
    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    ck_assert_int_eq(pipe2(answer, O_CLOEXEC), 0);
    fflush(stdout);
    pid_t hvdrun = fork();
    if (hvdrun == 0)
        be_hvdrun(answer[1], ends_guard);
    int status;
    ck_assert_int_eq(waitpid(hvdrun, &status, 0), hvdrun);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(read(answer[0], &command, sizeof command), sizeof command);
    close(answer[0]);
    close(answer[1]);
    return command;
}

START_TEST(a_command_is_ended_when_hvdrun_is_gone)
{
    int status;
    pid_t command = run_hvdrun(false);
    ck_assert_int_eq(waitpid(command, &status, 0), command);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    ck_assert_int_gt(waitpid(-1, &status, 0), 0); /* the guard */
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(waitpid(-1, NULL, 0), -1);
}
END_TEST

START_TEST(after_the_guard_was_ended_nobody_does_so)
{
    int status;
    pid_t command = run_hvdrun(true);
    ck_assert_int_eq(waitpid(-1, &status, WNOHANG), 0); /* there is no guard */
    ck_assert_int_eq(kill(command, SIGKILL), 0);
    ck_assert_int_eq(waitpid(-1, &status, 0), command);
    ck_assert_int_eq(WTERMSIG(status), SIGKILL);
    ck_assert_int_eq(waitpid(-1, NULL, 0), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("command_guard");
    TCase *tcase = tcase_create("command_guard");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, a_command_is_ended_when_hvdrun_is_gone);
    tcase_add_test(tcase, after_the_guard_was_ended_nobody_does_so);
    return unit_run(suite);
}
