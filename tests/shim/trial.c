/* SPDX-License-Identifier: Apache-2.0 */
/* Running one job; see trial.h. Its stdout and stderr are files without a name, so that a full disk
 * can be played. Fails when there are no such files or no process. */
#include "tests/shim/trial.h"

#include "launcher/process/process_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What lives on after hvdrun gets so long: an agent gives its ranks 5 s. */
enum { LEFT_S = 15 };

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void become_job(const struct trial_setup *setup, int out, int err)
{
    int null = open("/dev/null", O_RDONLY);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(null, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    setenv("LD_PRELOAD", setup->preload, 1);
    setenv(SHIM_BOARD_ENV, setup->board, 1);
    execv(setup->command[0], setup->command);
    _exit(127);
}

/* Waits until `pid`, or with -1 all there is, has ended. False if it is too late by then. */
static bool wait_for(pid_t pid, int *wait_status, double until_s)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (;;) {
        int status;
        pid_t ended = waitpid(-1, &status, WNOHANG);
        if (ended == pid && pid > 0)
            *wait_status = status;
        if (ended < 0 || (ended == pid && pid > 0))
            return true;
        if (ended > 0)
            continue;
        double left_s = until_s - now_s();
        if (left_s <= 0)
            return false;
        struct timespec patience = { (time_t)left_s, 50000000 };
        sigtimedwait(&child, NULL, &patience);
    }
}

static void kill_all(void)
{
    int ignored;
    while (!wait_for(-1, &ignored, now_s() + 0.05))
        process_tree_signal(SIGKILL, NULL, 0);
}

static char *contents(int fd)
{
    struct stat status;
    size_t size = fstat(fd, &status) == 0 ? (size_t)status.st_size : 0;
    char *text = calloc(1, size + 1);
    ssize_t n = text ? pread(fd, text, size, 0) : 0;
    (void)n;
    close(fd);
    return text;
}

static void watch_job(const struct trial_setup *setup, pid_t pid, struct trial *trial)
{
    double began_s = now_s();
    int ignored;
    trial->hung = !wait_for(pid, &trial->wait_status, began_s + setup->bound_s);
    trial->seconds = now_s() - began_s;
    trial->left = !trial->hung && !wait_for(-1, &ignored, now_s() + LEFT_S);
    kill_all();
}

bool trial_run(const struct trial_setup *setup, struct trial *trial)
{
    sigset_t child;
    int out = memfd_create("stdout", MFD_CLOEXEC), err = memfd_create("stderr", MFD_CLOEXEC);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    process_tree_adopt();
    *trial = (struct trial){ 0 };
    pid_t pid = out < 0 || err < 0 ? -1 : fork();
    if (pid == 0)
        become_job(setup, out, err);
    if (pid > 0)
        watch_job(setup, pid, trial);
    trial->out = contents(out);
    trial->err = contents(err);
    return pid > 0 && trial->out && trial->err;
}

void trial_fini(struct trial *trial)
{
    free(trial->out);
    free(trial->err);
}
