/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for the agent, and sweeping up after it; see keeper.h. A loop of poll() on a signalfd and
 * on stdin. Fails when it cannot fork (71); says on stderr when a signal has ended the agent, and
 * when processes are left that cannot be killed in time. */
#include "launcher/keeper.h"

#include "launcher/cgroup.h"
#include "launcher/exit_status.h"
#include "launcher/job_state.h"
#include "launcher/process_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SWEEP_AGAIN_MS = 20 };

struct keeper {
    const struct keeper_times *times;
    pid_t agent;
    int signals;
    bool hung_up;
    uint64_t kill_at_ms; /* once it is */
    bool stopped, ended; /* the agent */
    int status;          /* of the agent, once it has ended */
};

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* In the agent: as if it had been started alone, but for the signal. */
static void become_agent(pid_t keeper, const sigset_t *before)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != keeper)
        _exit(STATUS_SIGNAL + SIGTERM);
    setsid();
    sigprocmask(SIG_SETMASK, before, NULL);
}

/* The stream ends with the agent, not with us. */
static void give_up_stdout(void)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
        close(STDOUT_FILENO);
    if (null > STDERR_FILENO)
        close(null);
}

static void pass_on_signals(struct keeper *keeper)
{
    struct signalfd_siginfo info;
    while (read(keeper->signals, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGCHLD && !keeper->ended)
            kill(keeper->agent, (int)info.ssi_signo);
}

static void hear_of_agent(struct keeper *keeper, int status)
{
    keeper->stopped = WIFSTOPPED(status);
    keeper->ended = WIFEXITED(status) || WIFSIGNALED(status);
    keeper->status = status;
}

/* Waits for whoever has ended. False if there is no child any more. */
static bool reap(struct keeper *keeper)
{
    pid_t pid;
    for (int status; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;)
        if (pid == keeper->agent)
            hear_of_agent(keeper, status);
    return pid == 0;
}

/* For `timeout_ms`, or -1 until something happens. */
static void wait_for_events(struct keeper *keeper, int timeout_ms)
{
    struct pollfd watched[] = {
        { .fd = keeper->signals, .events = POLLIN },
        { .fd = keeper->hung_up ? -1 : STDIN_FILENO, .events = POLLRDHUP },
    };
    if (poll(watched, 2, timeout_ms) <= 0)
        return;
    pass_on_signals(keeper);
    if (watched[1].revents == 0)
        return;
    keeper->hung_up = true;
    keeper->kill_at_ms = now_ms() + keeper->times->hang_up_ms;
}

static int time_left(uint64_t until_ms)
{
    uint64_t now = now_ms();
    return until_ms > now ? (int)(until_ms - now) : 0;
}

static void watch_agent(struct keeper *keeper)
{
    while (reap(keeper), !keeper->ended) {
        if (keeper->hung_up && (keeper->stopped || time_left(keeper->kill_at_ms) == 0)) {
            fprintf(stderr, "hvdagent: the agent %s without its link and was killed\n",
                    keeper->stopped ? "was stopped" : "lived on");
            kill(keeper->agent, SIGKILL);
            return;
        }
        wait_for_events(keeper, keeper->hung_up ? time_left(keeper->kill_at_ms) : -1);
    }
}

/* Kills until nothing is left: what is killed may have forked meanwhile, which only a control group
 * prevents. */
static void sweep(struct keeper *keeper)
{
    cgroup_kill_of(keeper->agent);
    uint64_t until_ms = now_ms() + keeper->times->sweep_ms;
    while (reap(keeper)) {
        int left = process_tree_signal(SIGKILL, NULL, 0);
        int wait_ms = time_left(until_ms);
        if (wait_ms > 0) {
            wait_for_events(keeper, wait_ms < SWEEP_AGAIN_MS ? wait_ms : SWEEP_AGAIN_MS);
            continue;
        }
        if (left > 0)
            fprintf(stderr, "hvdagent: %d processes could not be killed\n", left);
        return;
    }
}

static int exit_status(const struct keeper *keeper)
{
    char how[96];
    if (!keeper->ended)
        return STATUS_SIGNAL + SIGKILL;
    if (WIFEXITED(keeper->status))
        return WEXITSTATUS(keeper->status);
    wait_status_text(how, sizeof how, keeper->status);
    fprintf(stderr, "hvdagent: the agent (pid %d) was %s\n", (int)keeper->agent, how);
    return STATUS_SIGNAL + WTERMSIG(keeper->status);
}

int keeper_fork(const struct keeper_times *times)
{
    struct keeper keeper = { .times = times };
    pid_t self = getpid();
    sigset_t watched, before;
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGINT);
    sigaddset(&watched, SIGHUP);
    process_tree_adopt();
    signal(SIGCHLD, SIG_DFL); /* if it is ignored, the kernel waits for the agent in our place */
    sigprocmask(SIG_BLOCK, &watched, &before);
    keeper.agent = fork();
    if (keeper.agent == 0) {
        become_agent(self, &before);
        return -1;
    }
    keeper.signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    if (keeper.agent < 0 || keeper.signals < 0) { /* an agent ends with us */
        fprintf(stderr, "hvdagent: cannot be watched over: %s\n", strerror(errno));
        return STATUS_RESOURCE;
    }
    signal(SIGPIPE, SIG_IGN); /* stderr may go away */
    give_up_stdout();
    watch_agent(&keeper);
    sweep(&keeper);
    cgroup_remove_of(keeper.agent);
    return exit_status(&keeper);
}
