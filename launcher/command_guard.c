/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for the end of hvdrun, and what comes then; see command_guard.h.
 *   SIGTERM at once, SIGKILL after as long as agents take to end everything by themselves; over when
 *   nothing was seen several times
 * Killed in the same instant as hvdrun it does nothing. */
#include "launcher/command_guard.h"

#include "launcher/stop_plan.h"
#include "launcher/strays.h"
#include "launcher/xalloc.h"
#include "lib/base/env_names.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    CLEAN_LOOKS = 4,
    ASKED_LOOKS = (STOP_INSIST_MS + STOP_KILL_MS) / STOP_KILL_AGAIN_MS, /* before SIGKILL */
    ALL_LOOKS = ASKED_LOOKS + STOP_KILL_MS / STOP_KILL_AGAIN_MS,
    KEPT_FDS = 4 /* three that lead nowhere, and the pipe */
};

/* Nobody waits for us, and what is meant for hvdrun is not for us. */
static void withdraw(int pipe_end)
{
    setsid();
    prctl(PR_SET_NAME, "hvdrun-guard");
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < KEPT_FDS - 1; fd++)
        dup2(null, fd);
    dup2(pipe_end, KEPT_FDS - 1);
    close_range(KEPT_FDS, ~0U, 0);
}

static void await_end(void)
{
    char byte;
    while (read(KEPT_FDS - 1, &byte, 1) < 0 && errno == EINTR)
        ;
}

static void sweep(const struct string_list *variables)
{
    int clean_looks = 0;
    strays_signal(SIGTERM, variables);
    for (int look = 0; look < ALL_LOOKS && clean_looks < CLEAN_LOOKS; look++) {
        int left = strays_signal(look < ASKED_LOOKS ? 0 : SIGKILL, variables);
        clean_looks = left > 0 ? 0 : clean_looks + 1;
        nanosleep(&(struct timespec){ .tv_nsec = STOP_KILL_AGAIN_MS * 1000000L }, NULL);
    }
}

/* Of what hvdrun holds nothing is used here. */
static void run(int pipe_end, const char *job_id)
{
    struct string_list variables = { 0 };
    string_list_take(&variables, xasprintf(ENV_COMMAND_OF "=%s", job_id));
    withdraw(pipe_end);
    await_end();
    sweep(&variables);
    _exit(0);
}

void command_guard_start(struct command_guard *guard, const char *job_id)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    pid_t pid = fork();
    if (pid == 0)
        run(ends[0], job_id);
    close(ends[0]);
    int process = pid > 0 ? pidfd_open(pid, 0) : -1;
    if (process >= 0)
        *guard = (struct command_guard){ ends[1], process };
    else
        close(ends[1]); /* if there is one, it finds nothing to do */
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
