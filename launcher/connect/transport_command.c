/* SPDX-License-Identifier: Apache-2.0 */
/* The transport by a command: the user's own (--remote-shell), or the external ssh where a host's
 * configuration asks for features that libssh2 does not have. "COMMAND HOST /bin/sh" runs as a
 * child, in a session of its own so that it cannot ask a terminal, with a socketpair for stdin and
 * stdout and a pipe for stderr. Fails when the command's words are malformed, when the command is
 * not found or cannot be executed, and when there are no descriptors or processes left. Its stderr
 * and its exit status are reported. A command that has not connected when it is given up is killed;
 * otherwise the end of its stdin ends it. */
#include "launcher/base/exit_status.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/wait_status.h"
#include "launcher/base/xalloc.h"
#include "launcher/connect/host_command.h"
#include "launcher/connect/host_transport.h"
#include "launcher/process/children.h"
#include "launcher/process/program_find.h"
#include "launcher/process/spawn.h"
#include "launcher/process/worker_environment.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

/* Time between SIGTERM and SIGKILL; the most reads of the command's stderr per iteration of the
 * loop, which together empty a pipe. */
enum { GIVEN_UP_GRACE_MS = 300, READS_IN_TURN = 16 };

struct command_transport {
    const struct host_transport_job *job;
    struct string_list words;
    char *path;                     /* of the command; it and the environment are used until the */
    struct string_list environment; /* exec is confirmed, because the child shares our memory */
    struct spawned spawned;         /* pid 0: the start failed */
    uv_timer_t timer;               /* checks the exec, later kills */
    uv_poll_t errors_poll;
    int stream;      /* our end; -1 after it was handed over */
    int errors;      /* its stderr, to be read */
    int exit_status; /* if the start has failed */
    struct err err;
    bool ended;      /* and was reaped */
    int wait_status; /* valid once `ended` */
    bool closing;
    int open_handles;
};

static int spawn_command(struct command_transport *command, int stream, int errors)
{
    worker_environment_command(&command->environment, environ, command->job->settings->job_id);
    struct spawn_request request = {
        .path = command->path,
        .argv = command->words.items,
        .envp = command->environment.items,
        .stdio = { stream, stream, errors },
        .new_session = true,
        .death_signal = SIGTERM, /* it may not read its stdin yet */
        .nofile = command->job->settings->nofile,
        .share_memory = true,
    };
    return spawn_start(&request, &command->spawned, &command->err);
}

/* The child has left our memory. */
static void forget_request(struct command_transport *command)
{
    string_list_fini(&command->environment);
    free(command->path);
    command->path = NULL;
}

static void on_transport_command_process_end(void *context, pid_t pid, int wait_status);

static void spawn_with_streams(struct command_transport *command)
{
    int pair[2], errors[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        fail_errno(&command->err, HVD_ERR_SYSTEM, errno, "socketpair");
        return;
    }
    command->stream = pair[0];
    fcntl(pair[0], F_SETFL, O_RDWR | O_NONBLOCK);
    if (pipe2(errors, O_CLOEXEC) < 0) {
        fail_errno(&command->err, HVD_ERR_SYSTEM, errno, "pipe");
    } else {
        command->errors = errors[0];
        fcntl(errors[0], F_SETFL, O_RDONLY | O_NONBLOCK);
        if (spawn_command(command, pair[1], errors[1]) == HVD_OK)
            children_watch(command->job->children, command->spawned.pid,
                           on_transport_command_process_end, command);
        close(errors[1]);
    }
    close(pair[1]);
}

/* A program that was missing at the start may have been installed since then. */
static bool is_still_missing(const struct connect_settings *settings)
{
    struct err ignored = { 0 };
    char *path = NULL;
    if (!settings->remote_shell_missing)
        return false;
    int status = program_find(settings->remote_shell_program, getenv("PATH"), &path, &ignored);
    free(path);
    return status != 0;
}

static void transport_command_start(struct command_transport *command)
{
    command->exit_status = STATUS_RESOURCE;
    if (is_still_missing(command->job->settings)) {
        command->exit_status = STATUS_UNREACHABLE;
        fail(&command->err, HVD_ERR_SYSTEM, "%s", command->job->settings->remote_shell_missing);
        return;
    }
    if (host_command_words(&command->words, command->job, &command->err) < 0) {
        command->exit_status = STATUS_USAGE;
        return;
    }
    if (program_find(command->words.items[0], getenv("PATH"), &command->path, &command->err) == 0) {
        spawn_with_streams(command);
    } else {
        command->exit_status = STATUS_UNREACHABLE;
        fail_context(&command->err, "remote shell");
    }
}

/* ---- while it runs ---- */

static void read_errors(struct command_transport *command)
{
    char data[4096];
    ssize_t n = 1;
    for (int i = 0; i < READS_IN_TURN && n > 0; i++) {
        n = read(command->errors, data, sizeof data);
        if (n > 0)
            host_transport_stderr(command->job->connect, data, (size_t)n);
    }
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        uv_poll_stop(&command->errors_poll);
}

static void on_errors(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    read_errors(poll->data);
}

static void watch_errors(struct command_transport *command)
{
    uv_must(uv_poll_init(command->job->loop, &command->errors_poll, command->errors), "streams");
    command->errors_poll.data = command;
    command->open_handles++;
    uv_must(uv_poll_start(&command->errors_poll, UV_READABLE, on_errors), "streams");
}

static void tell_end(struct command_transport *command)
{
    char how[96] = "", text[200] = "";
    if (command->errors >= 0)
        read_errors(command);
    wait_status_text(how, sizeof how, command->wait_status);
    if (command->wait_status != 0)
        snprintf(text, sizeof text, "'%.60s' %s", command->words.items[0], how);
    host_transport_ended(command->job->connect, text);
    host_transport_process_end(command->job->connect, command->wait_status);
}

/* By now the command runs its program, or never will. Its end may be known already. */
static void on_transport_command_turn(uv_timer_t *timer)
{
    struct command_transport *command = timer->data;
    struct host_connect *connect = command->job->connect;
    int code = command->spawned.pid > 0 ? spawn_confirm(&command->spawned) : 0;
    forget_request(command);
    host_transport_step(connect, STEP_CONNECT);
    if (code != 0) {
        command->exit_status = STATUS_UNREACHABLE;
        fail_errno(&command->err, HVD_ERR_SYSTEM, code, "remote shell: '%s'",
                   command->words.items[0]);
    }
    if (command->err.code != HVD_OK) {
        host_transport_failed(connect, command->exit_status, command->err.text);
        return;
    }
    struct host_stream stream = { .input = command->stream,
                                  .output = command->stream,
                                  .pid = command->spawned.pid };
    command->stream = -1;
    watch_errors(command);
    host_transport_opened(connect, &stream);
    if (command->ended && !command->closing)
        tell_end(command);
}

static void *open_command(const struct host_transport_job *job)
{
    struct command_transport *command = xcalloc(1, sizeof *command);
    command->job = job;
    command->stream = command->errors = -1;
    uv_must(uv_timer_init(job->loop, &command->timer), "timers");
    command->timer.data = command;
    command->open_handles = 1;
    transport_command_start(command);
    uv_timer_start(&command->timer, on_transport_command_turn, 0, 0);
    return command;
}

/* ---- its end ---- */

static void on_transport_command_handle_closed(uv_handle_t *handle)
{
    struct command_transport *command = handle->data;
    struct host_connect *connect = command->job->connect;
    if (--command->open_handles > 0)
        return;
    string_list_fini(&command->words);
    forget_request(command);
    free(command);
    host_transport_closed(connect);
}

static void transport_command_finish(struct command_transport *command)
{
    if (command->open_handles == 2)
        uv_close((uv_handle_t *)&command->errors_poll, on_transport_command_handle_closed);
    uv_close((uv_handle_t *)&command->timer, on_transport_command_handle_closed);
    if (command->errors >= 0)
        close(command->errors);
}

static void on_transport_command_process_end(void *context, pid_t pid, int wait_status)
{
    struct command_transport *command = context;
    (void)pid;
    command->ended = true;
    command->wait_status = wait_status;
    if (command->closing)
        transport_command_finish(command);
    else if (command->open_handles == 2) /* otherwise on_transport_command_turn() reports the end */
        tell_end(command);
}

static void kill_command(const struct command_transport *command, int signum)
{
    if (kill(-command->spawned.pid, signum) < 0) /* the child may not lead its session yet */
        kill(command->spawned.pid, signum);
}

static void on_grace_over(uv_timer_t *timer)
{
    struct command_transport *command = timer->data;
    kill_command(command, SIGKILL); /* on_transport_command_process_end() follows */
}

static void close_command(void *transport)
{
    struct command_transport *command = transport;
    bool lives = command->spawned.pid > 0 && !command->ended;
    command->closing = true;
    if (command->stream >= 0)
        close(command->stream);
    spawn_abandon(&command->spawned);
    if (!lives || host_transport_is_connected(command->job->connect)) {
        if (lives)
            children_forget(command->job->children, command->spawned.pid);
        transport_command_finish(command);
        return;
    }
    kill_command(command, SIGTERM);
    uv_timer_start(&command->timer, on_grace_over, GIVEN_UP_GRACE_MS, 0);
}

const struct host_transport transport_command = { "command", open_command, close_command, NULL };
