/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a wait status; see wait_status.h. */
#include "launcher/base/wait_status.h"

#include "launcher/base/exit_status.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

bool wait_status_is_end(int wait_status)
{
    if (WIFSIGNALED(wait_status))
        return (wait_status & ~0xff) == 0 && WTERMSIG(wait_status) < NSIG;
    return (wait_status & ~0xff00) == 0;
}

int wait_status_exit(int wait_status)
{
    if (WIFSTOPPED(wait_status))
        return STATUS_SIGNAL + WSTOPSIG(wait_status);
    return WIFSIGNALED(wait_status) ? STATUS_SIGNAL + WTERMSIG(wait_status)
                                    : WEXITSTATUS(wait_status);
}

void wait_status_text(char *text, unsigned long size, int wait_status)
{
    bool stopped = WIFSTOPPED(wait_status);
    if (!stopped && !WIFSIGNALED(wait_status)) {
        snprintf(text, size, "exited with status %d", WEXITSTATUS(wait_status));
        return;
    }
    int signum = stopped ? WSTOPSIG(wait_status) : WTERMSIG(wait_status);
    bool dumped = !stopped && WCOREDUMP(wait_status);
    const char *name = sigabbrev_np(signum);
    snprintf(text, size, "%s by signal %d (%s%s%s)", stopped ? "stopped" : "killed", signum,
             name ? "SIG" : "unknown", name ? name : "", dumped ? ", core dumped" : "");
}
