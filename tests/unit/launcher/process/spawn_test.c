/* SPDX-License-Identifier: Apache-2.0 */
/* That a process is started whatever happens to the process group of the caller meanwhile. */
#include "launcher/process/spawn.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STARTED = 100 };

/* Stops the process group of its parent, all the time; the parent and itself ignore that. */
static pid_t start_stopping(void)
{
    setpgid(0, 0);
    signal(SIGTSTP, SIG_IGN);
    pid_t pid = fork();
    while (pid == 0)
        kill(0, SIGTSTP);
    ck_assert_int_gt(pid, 0);
    return pid;
}

START_TEST(a_stop_of_the_callers_group_does_not_stop_what_is_being_started)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    char *argv[] = { (char *)(uintptr_t) "true", NULL };
    struct spawn_request request = {
        .path = "/bin/true",
        .argv = argv,
        .envp = argv + 1,
        .stdio = { null, null, null },
    };
    pid_t stopping = start_stopping();
    for (int i = 0; i < STARTED; i++) {
        struct spawned spawned;
        struct err err;
        int status;
        ck_assert_msg(spawn_start(&request, &spawned, &err) == HVD_OK, "%s", err.text);
        ck_assert_int_eq(spawn_confirm(&spawned), 0);
        ck_assert_int_eq(waitpid(spawned.pid, &status, 0), spawned.pid);
        ck_assert_int_eq(status, 0);
    }
    kill(stopping, SIGKILL);
    waitpid(stopping, NULL, 0);
    close(null);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spawn");
    TCase *tcase = tcase_create("spawn");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_stop_of_the_callers_group_does_not_stop_what_is_being_started);
    return unit_run(suite);
}
