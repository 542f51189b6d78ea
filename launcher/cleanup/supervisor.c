/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for the agent, then CLEANUP_REMOTE_AGENT; see supervisor.h. A loop of poll() on a
 * signalfd and on stdin. Fails when it cannot fork (71). Reports on stderr that a signal has ended
 * the agent, and that processes are left that cannot be killed in time. */
#include "launcher/cleanup/supervisor.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/wait_status.h"
#include "launcher/cleanup/cleanup.h"
#include "launcher/process/cgroup.h"
#include "launcher/process/process_tree.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

struct supervisor {
    uint32_t hang_up_ms;
    pid_t agent;
    int signals;
    bool hung_up;
    uint64_t kill_at_ms; /* valid once `hung_up` */
    bool stopped, ended; /* the agent */
    bool orphans;        /* the agent has left children, which are waited for */
    int status;          /* of the agent, once it has ended */
};

/* In the agent: restores the state of an agent without a supervisor, except for the death
 * signal. */
static void become_agent(pid_t supervisor, const sigset_t *before)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != supervisor)
        _exit(STATUS_SIGNAL + SIGTERM);
    setsid();
    sigprocmask(SIG_SETMASK, before, NULL);
}

/* Closes stdout: the stream must end with the agent, not with the supervisor. */
static void give_up_stdout(void)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
        close(STDOUT_FILENO);
    if (null > STDERR_FILENO)
        close(null);
}

static void supervisor_pass_on_signals(struct supervisor *supervisor)
{
    struct signalfd_siginfo info;
    while (read(supervisor->signals, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGCHLD && !supervisor->ended)
            kill(supervisor->agent, (int)info.ssi_signo);
}

static void hear_of_agent(struct supervisor *supervisor, int status)
{
    supervisor->stopped = WIFSTOPPED(status);
    supervisor->ended = WIFEXITED(status) || WIFSIGNALED(status);
    supervisor->status = status;
}

/* Waits for all children that have ended. False if there is no child any more. */
static bool reap_children(struct supervisor *supervisor)
{
    pid_t pid;
    for (int status; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;)
        if (pid == supervisor->agent)
            hear_of_agent(supervisor, status);
        else
            supervisor->orphans = true;
    return pid == 0;
}

/* Waits for `timeout_ms`, or -1 for no limit. */
static void wait_for_events(struct supervisor *supervisor, int timeout_ms)
{
    struct pollfd watched[] = {
        { .fd = supervisor->signals, .events = POLLIN },
        { .fd = supervisor->hung_up ? -1 : STDIN_FILENO, .events = POLLRDHUP },
    };
    if (poll(watched, 2, timeout_ms) <= 0)
        return;
    supervisor_pass_on_signals(supervisor);
    if (watched[1].revents == 0)
        return;
    supervisor->hung_up = true;
    supervisor->kill_at_ms = monotonic_ms() + supervisor->hang_up_ms;
}

static int supervisor_time_left(uint64_t until_ms)
{
    uint64_t now = monotonic_ms();
    return until_ms > now ? (int)(until_ms - now) : 0;
}

static void watch_agent(struct supervisor *supervisor)
{
    while (reap_children(supervisor), !supervisor->ended) {
        if (supervisor->hung_up &&
            (supervisor->stopped || supervisor_time_left(supervisor->kill_at_ms) == 0)) {
            fprintf(stderr, "hvdagent: the agent %s without its link and was killed\n",
                    supervisor->stopped ? "was stopped" : "lived on");
            kill(supervisor->agent, SIGKILL);
            return;
        }
        wait_for_events(supervisor,
                        supervisor->hung_up ? supervisor_time_left(supervisor->kill_at_ms) : -1);
    }
}

/* The agent has ended by itself, which includes that it removes its control group. No process of
 * its ranks is left: all would be children of this process now. On a machine with many agents it
 * takes long to search for the group. */
static bool agent_left_nothing(const struct supervisor *supervisor, bool children)
{
    return !children && !supervisor->orphans && supervisor->ended &&
           WIFEXITED(supervisor->status) && WEXITSTATUS(supervisor->status) == EXIT_SUCCESS;
}

/* Repeats until no child is left; a killed process may have forked meanwhile, which only a control
 * group prevents. */
static void clean_up_after_agent(struct supervisor *supervisor)
{
    static const struct cleanup_search all = { 0 };
    struct cleanup cleanup;
    cgroup_kill_of(supervisor->agent);
    cleanup_start(&cleanup, CLEANUP_REMOTE_AGENT, monotonic_ms());
    while (reap_children(supervisor)) {
        if (cleanup_check(&cleanup, &all, monotonic_ms())) {
            wait_for_events(supervisor, CLEANUP_CHECK_MS);
            continue;
        }
        if (cleanup.left > 0)
            fprintf(stderr, "hvdagent: %d processes could not be killed\n", cleanup.left);
        return;
    }
}

static int supervisor_exit_status(const struct supervisor *supervisor)
{
    char how[96];
    if (!supervisor->ended)
        return STATUS_SIGNAL + SIGKILL;
    if (WIFEXITED(supervisor->status))
        return WEXITSTATUS(supervisor->status);
    wait_status_text(how, sizeof how, supervisor->status);
    fprintf(stderr, "hvdagent: the agent (pid %d) was %s\n", (int)supervisor->agent, how);
    return STATUS_SIGNAL + WTERMSIG(supervisor->status);
}

int supervisor_fork(uint32_t hang_up_ms)
{
    struct supervisor supervisor = { .hang_up_ms = hang_up_ms };
    pid_t self = getpid();
    sigset_t watched, before;
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGINT);
    sigaddset(&watched, SIGHUP);
    process_tree_adopt();
    signal(SIGCHLD, SIG_DFL); /* if SIGCHLD is ignored, the kernel reaps the agent and its status is
                               * lost */
    sigprocmask(SIG_BLOCK, &watched, &before);
    supervisor.agent = fork();
    if (supervisor.agent == 0) {
        become_agent(self, &before);
        return -1;
    }
    supervisor.signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    if (supervisor.agent < 0 || supervisor.signals < 0) { /* the agent ends with this process */
        fprintf(stderr, "hvdagent: cannot be watched over: %s\n", strerror(errno));
        return STATUS_RESOURCE;
    }
    signal(SIGPIPE, SIG_IGN); /* the reader of stderr may end */
    give_up_stdout();
    watch_agent(&supervisor);
    if (!agent_left_nothing(&supervisor, reap_children(&supervisor))) {
        clean_up_after_agent(&supervisor);
        cgroup_remove_of(supervisor.agent);
    }
    return supervisor_exit_status(&supervisor);
}
