/* SPDX-License-Identifier: Apache-2.0 */
/* Forking the agent; see own_agent.h:
 *   fork -> its own session, name, descriptors and signals -> the agent, until its end
 * Does without the fork when the job has another host, may get one later, or binds its ranks, which
 * takes hwloc; when a preloaded library may want to see that hvdagent is executed; and when there
 * are no processes or descriptors left, which the start of hvdagent will report. */
#include "src/hvdrun/own_agent.h"

#include "launcher/agent/agent.h"
#include "launcher/base/exit_status.h"
#include "launcher/base/private_memory.h"
#include "launcher/base/uv_must.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char agent_name[] = "hvdagent";

static bool own_agent_suffices(const struct job_setup *setup)
{
    const struct hvdrun_options *options = setup->options;
    return setup->plan.host_count == 1 && !job_setup_has_other_hosts(setup) && !options->elastic &&
           !options->check_hosts && binding_of(options->attributes.bind_to).kind == BIND_NONE &&
           !getenv("LD_PRELOAD");
}

/* ---- in the agent ---- */

/* People find the agent by its name: in /proc/PID/comm, and at the place of hvdrun's arguments. */
static void take_agent_name(int argc, char **argv)
{
    char *end = argv[argc - 1] + strlen(argv[argc - 1]) + 1;
    prctl(PR_SET_NAME, agent_name);
    memset(argv[0], 0, (size_t)(end - argv[0]));
    snprintf(argv[0], (size_t)(end - argv[0]), "%s", agent_name);
    program_invocation_short_name = agent_name;
}

/* Without close_range(), as for a program that hvdrun starts (launcher/process/spawn_child.c). */
static void close_from(int first)
{
    struct rlimit limit;
    if (syscall(SYS_close_range, first, ~0U, 0) == 0)
        return;
    int end = 65536;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536)
        end = (int)limit.rlim_cur;
    for (int fd = first; fd < end; fd++)
        close(fd);
}

/* As for a program that hvdrun starts (launcher/process/spawn_child.c): all are handled as usual,
 * except that SIGHUP stays ignored if it was. */
static void take_default_signals(void)
{
    struct sigaction hup;
    sigset_t none;
    sigaction(SIGHUP, NULL, &hup);
    for (int signum = 1; signum < NSIG; signum++)
        if (signum != SIGHUP || hup.sa_handler != SIG_IGN)
            signal(signum, SIG_DFL);
    uv_must_explain_aborts();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void become_agent(int link, int argc, char **argv)
{
    setsid();
    take_agent_name(argc, argv);
    take_default_signals();
    if (dup2(link, STDIN_FILENO) < 0 || dup2(link, STDOUT_FILENO) < 0)
        _exit(STATUS_RESOURCE);
    close_from(STDERR_FILENO + 1);
    int status = agent_serve(NULL);
    private_memory_end();
    exit(status);
}

/* ---- in hvdrun ---- */

void own_agent_start(struct running_agent *agent, const struct job_setup *setup, int argc,
                     char **argv)
{
    int pair[2];
    if (!own_agent_suffices(setup) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return;
    fflush(NULL); /* else the agent would write it too */
    pid_t pid = fork();
    if (pid == 0)
        become_agent(pair[1], argc, argv);
    close(pair[1]);
    if (pid > 0)
        *agent = (struct running_agent){ pid, pair[0] };
    else
        close(pair[0]);
}

void own_agent_end(struct running_agent *agent)
{
    if (agent->pid == 0)
        return;
    close(agent->link);
    kill(agent->pid, SIGKILL); /* it has not started anything */
    while (waitpid(agent->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    agent->pid = 0;
}
