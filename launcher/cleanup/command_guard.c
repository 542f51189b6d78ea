/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for the end of hvdrun, then CLEANUP_HVDRUN; see command_guard.h. A guard that is killed
 * in the same instant as hvdrun does nothing. */
#include "launcher/cleanup/command_guard.h"

#include "launcher/base/xalloc.h"
#include "launcher/cleanup/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/env_names.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KEPT_FDS = 4 }; /* three on /dev/null, and the pipe */

/* Signals for hvdrun also reach the guard: pidof hvdrun prints both. The guard has its name when
 * it ignores them. */
static void guard_ignore_signals(void)
{
    static const int ignored[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 };
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    prctl(PR_SET_NAME, "hvdrun-guard");
}

/* Leaves hvdrun's session and its files. */
static void guard_withdraw(int pipe_end)
{
    setsid();
    guard_ignore_signals();
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < KEPT_FDS - 1; fd++)
        dup2(null, fd);
    dup2(pipe_end, KEPT_FDS - 1);
    close_range(KEPT_FDS, ~0U, 0);
}

static void guard_await_end(void)
{
    char byte;
    while (read(KEPT_FDS - 1, &byte, 1) < 0 && errno == EINTR)
        ;
}

static void clean_up_after_hvdrun(const struct string_list *variables)
{
    static const struct timespec pause = { .tv_nsec = CLEANUP_CHECK_MS * 1000000L };
    struct cleanup cleanup;
    cleanup_start(&cleanup, CLEANUP_HVDRUN, monotonic_ms());
    while (
        cleanup_check(&cleanup, &(struct cleanup_search){ .variables = variables }, monotonic_ms()))
        nanosleep(&pause, NULL);
}

/* The guard uses nothing that hvdrun has allocated or opened. */
static void guard_run(int pipe_end, const char *job_id)
{
    struct string_list variables = { 0 };
    string_list_take(&variables, xasprintf(ENV_COMMAND_OF "=%s", job_id));
    guard_withdraw(pipe_end);
    guard_await_end();
    clean_up_after_hvdrun(&variables);
    _exit(0);
}

void command_guard_start(struct command_guard *guard, const char *job_id)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    pid_t pid = fork();
    if (pid == 0)
        guard_run(ends[0], job_id);
    close(ends[0]);
    int process = pid > 0 ? pidfd_open(pid, 0) : -1;
    if (process >= 0)
        *guard = (struct command_guard){ ends[1], process };
    else
        close(ends[1]); /* a guard finds nothing to do */
}

void command_guard_end(struct command_guard *guard)
{
    siginfo_t info;
    if (guard->process <= 0)
        return;
    pidfd_send_signal(guard->process, SIGKILL, NULL, 0);
    waitid(P_PIDFD, (id_t)guard->process, &info, WEXITED);
    close(guard->process);
    close(guard->hold);
    *guard = (struct command_guard){ 0 };
}
