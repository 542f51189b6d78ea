/* SPDX-License-Identifier: Apache-2.0 */
/* An agent on this machine, as a child process; see reach.h.
 * Fails when there are no descriptors or processes left, or hvdagent cannot be executed. */
#include "launcher/reach.h"

#include "launcher/spawn.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int spawn_agent(const char *agent, const struct rlimit *nofile, int stream,
                       struct spawned *spawned, struct err *err)
{
    char name[] = "hvdagent";
    char *argv[] = { name, NULL };
    struct sigaction hup;
    sigaction(SIGHUP, NULL, &hup);
    struct spawn_request request = {
        .path = agent,
        .argv = argv,
        .envp = environ,
        .stdio = { stream, stream, STDERR_FILENO },
        .new_session = true,
        .nofile = nofile,
        .ignore_hup = hup.sa_handler == SIG_IGN,
    };
    return spawn_start(&request, spawned, err);
}

int reach_local(const char *agent, const struct rlimit *nofile, struct reached *reached,
                struct err *err)
{
    int pair[2];
    struct spawned spawned;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "socketpair");
    int rc = spawn_agent(agent, nofile, pair[1], &spawned, err);
    close(pair[1]);
    if (rc == HVD_OK) {
        int code = spawn_confirm(&spawned);
        if (code != 0) {
            waitpid(spawned.pid, NULL, 0);
            rc = fail_errno(err, HVD_ERR_SYSTEM, code, "%s", agent);
        }
    }
    if (rc < 0) {
        close(pair[0]);
        return rc;
    }
    *reached = (struct reached){ pair[0], pair[0], spawned.pid };
    return HVD_OK;
}
