/* SPDX-License-Identifier: Apache-2.0 */
/* The transport on this machine, a child process on a socketpair; see host_transport.h. The child
 * is an agent that runs already, or it is forked at once and has executed hvdagent by the next
 * iteration of the loop, when the transport checks. Fails when there are no descriptors or
 * processes left, or hvdagent cannot be executed. */
#include "launcher/base/exit_status.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "launcher/connect/host_transport.h"
#include "launcher/process/cgroup.h"
#include "launcher/process/children.h"
#include "launcher/process/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define AGENT_NAME "hvdagent"

struct local_transport {
    const struct host_transport_job *job;
    uv_timer_t turn;
    char name[sizeof AGENT_NAME];
    char *argv[2];
    struct spawned spawned; /* pid 0: the start failed */
    bool ran_before;        /* the agent was not started here */
    int stream;             /* our end; -1 after it was handed over */
    bool ended;             /* and was reaped */
    bool left_group;        /* it did not exit as an agent that has removed its control group */
    struct err err;
};

static int spawn_agent(struct local_transport *local, int stream)
{
    memcpy(local->name, AGENT_NAME, sizeof AGENT_NAME);
    local->argv[0] = local->name;
    struct spawn_request request = {
        .path = local->job->settings->agent,
        .argv = local->argv,
        .envp = environ,
        .stdio = { stream, stream, STDERR_FILENO },
        .new_session = true,
        .nofile = local->job->settings->nofile,
        .share_memory = true,
    };
    return spawn_start(&request, &local->spawned, &local->err);
}

static void on_transport_local_process_end(void *context, pid_t pid, int wait_status)
{
    struct local_transport *local = context;
    local->ended = true;
    local->left_group = !WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != EXIT_SUCCESS;
    if (local->left_group)
        cgroup_kill_of(pid); /* of an agent that was killed */
    host_transport_process_end(local->job->connect, wait_status);
    host_transport_ended(local->job->connect, "");
}

/* An agent from before children_create() may have ended since, unnoticed: with a SIGCHLD more,
 * children.c looks for its end. */
static void transport_local_take(struct local_transport *local, struct running_agent *running)
{
    local->ran_before = true;
    local->spawned = (struct spawned){ .pid = running->pid, .report = -1 };
    local->stream = running->link;
    *running = (struct running_agent){ 0, -1 };
    fcntl(local->stream, F_SETFL, O_RDWR | O_NONBLOCK);
    children_watch(local->job->children, local->spawned.pid, on_transport_local_process_end, local);
    raise(SIGCHLD);
}

static void transport_local_start(struct local_transport *local)
{
    struct running_agent *running = local->job->settings->running;
    if (running && running->pid > 0) {
        transport_local_take(local, running);
        return;
    }
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        fail_errno(&local->err, HVD_ERR_SYSTEM, errno, "socketpair");
        return;
    }
    local->stream = pair[0];
    fcntl(pair[0], F_SETFL, O_RDWR | O_NONBLOCK);
    if (spawn_agent(local, pair[1]) == HVD_OK)
        children_watch(local->job->children, local->spawned.pid, on_transport_local_process_end,
                       local);
    close(pair[1]);
}

static void on_transport_local_turn(uv_timer_t *timer)
{
    struct local_transport *local = timer->data;
    int code = local->spawned.pid > 0 && !local->ran_before ? spawn_confirm(&local->spawned) : 0;
    if (code != 0) {
        children_forget(local->job->children, local->spawned.pid);
        fail_errno(&local->err, HVD_ERR_SYSTEM, code, "%s", local->job->settings->agent);
    }
    if (local->err.code != HVD_OK) {
        host_transport_failed(local->job->connect, STATUS_RESOURCE, local->err.text);
        return;
    }
    struct host_stream stream = {
        .input = local->stream, .output = local->stream, .pid = local->spawned.pid, .local = true
    };
    local->stream = -1;
    host_transport_opened(local->job->connect, &stream);
}

static void *open_local(const struct host_transport_job *job)
{
    struct local_transport *local = xcalloc(1, sizeof *local);
    local->job = job;
    local->stream = -1;
    uv_must(uv_timer_init(job->loop, &local->turn), "timers");
    local->turn.data = local;
    transport_local_start(local);
    uv_timer_start(&local->turn, on_transport_local_turn, 0, 0);
    return local;
}

static void on_transport_local_closed(uv_handle_t *handle)
{
    struct local_transport *local = handle->data;
    struct host_connect *connect = local->job->connect;
    free(local);
    host_transport_closed(connect);
}

static void close_local(void *transport)
{
    struct local_transport *local = transport;
    if (local->left_group)
        cgroup_remove_of(local->spawned.pid);
    else if (!local->ended && local->spawned.pid > 0)
        children_forget(local->job->children, local->spawned.pid);
    spawn_abandon(&local->spawned);
    if (local->stream >= 0)
        close(local->stream);
    uv_close((uv_handle_t *)&local->turn, on_transport_local_closed);
}

const struct host_transport transport_local = { "local", open_local, close_local, NULL };
