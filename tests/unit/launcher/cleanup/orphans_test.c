/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that are known by their environment alone: all of the variables must be there. */
#include "launcher/cleanup/orphans.h"

#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char job[64], host[64];
static struct string_list both;

static void set_up(void)
{
    snprintf(job, sizeof job, "ORPHANS_TEST_JOB=%d", (int)getpid());
    snprintf(host, sizeof host, "ORPHANS_TEST_HOST=%d", (int)getpid());
    string_list_add(&both, job, strlen(job));
    string_list_add(&both, host, strlen(host));
}

static void tear_down(void)
{
    string_list_fini(&both);
}

/* The kernel closes what is close-on-exec a moment before it shows the new environment. */
static void wait_for_environment(pid_t pid)
{
    char path[64], byte;
    ssize_t nbytes = 0;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    while (nbytes == 0) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        nbytes = read(fd, &byte, 1);
        close(fd);
    }
    ck_assert_int_eq(nbytes, 1);
}

/* It has executed its program, with that environment, when this returns. */
static pid_t start(char *first, char *second)
{
    char *argv[] = { (char[]){ "cat" }, NULL }, *envp[] = { first, second, NULL };
    int executed[2];
    char byte;
    ck_assert_int_eq(pipe2(executed, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int hold[2]; /* a pipe that never ends */
        if (pipe(hold) == 0 && dup2(hold[0], 0) == 0)
            execve("/bin/cat", argv, envp);
        _exit(127);
    }
    close(executed[1]);
    ck_assert_int_eq(read(executed[0], &byte, 1), 0);
    close(executed[0]);
    wait_for_environment(pid);
    return pid;
}

static int end_of(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

START_TEST(who_has_all_variables_is_found_and_killed)
{
    pid_t orphan = start(job, host);
    ck_assert_int_eq(orphans_signal(0, &both), 1);
    ck_assert_int_eq(orphans_signal(SIGKILL, &both), 1);
    ck_assert_int_eq(WTERMSIG(end_of(orphan)), SIGKILL);
    ck_assert_int_eq(orphans_signal(SIGKILL, &both), 0);
}
END_TEST

START_TEST(who_has_only_some_is_left_alone)
{
    char longer[80];
    snprintf(longer, sizeof longer, "%s0", host);
    pid_t other_host = start(job, longer), other_job = start(host, NULL);
    ck_assert_int_eq(orphans_signal(SIGKILL, &both), 0);
    kill(other_host, SIGTERM);
    kill(other_job, SIGTERM);
    ck_assert_int_eq(WTERMSIG(end_of(other_host)), SIGTERM);
    ck_assert_int_eq(WTERMSIG(end_of(other_job)), SIGTERM);
}
END_TEST

START_TEST(a_zombie_is_nobody)
{
    siginfo_t info;
    pid_t orphan = start(job, host);
    kill(orphan, SIGKILL);
    ck_assert_int_eq(waitid(P_PID, (id_t)orphan, &info, WEXITED | WNOWAIT), 0);
    ck_assert_int_eq(orphans_signal(SIGKILL, &both), 0);
    end_of(orphan);
}
END_TEST

START_TEST(no_variables_are_nobodys)
{
    struct string_list none = { 0 };
    ck_assert_int_eq(orphans_signal(SIGKILL, &none), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("orphans");
    TCase *orphans = tcase_create("orphans");
    descriptors_watch(orphans);
    tcase_add_checked_fixture(orphans, set_up, tear_down);
    tcase_add_test(orphans, who_has_all_variables_is_found_and_killed);
    tcase_add_test(orphans, who_has_only_some_is_left_alone);
    tcase_add_test(orphans, a_zombie_is_nobody);
    tcase_add_test(orphans, no_variables_are_nobodys);
    suite_add_tcase(suite, orphans);
    return unit_run(suite);
}
