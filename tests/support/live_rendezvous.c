/* SPDX-License-Identifier: Apache-2.0 */
/* The real rendezvous in a process of its own; see live_rendezvous.h. */
#include "tests/support/live_rendezvous.h"

#include "lib/base/env_names.h"
#include "rendezvous/server/rendezvous.h"
#include "rendezvous/tcp/tcp_port.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* From the test to the rendezvous. */
struct command {
    enum { INTEND, REMOVE, ENDED } what;
    bool killed;
    int count, workers[LIVE_WORKERS_MAX];
};

static struct {
    struct rendezvous *rendezvous;
    int commands, worlds, late;
} host;

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "live_rendezvous: %s\n", what);
    _exit(99);
}

/* A pipe takes and gives a struct of this size as a whole. */
static void pipe_write(int fd, const void *data, size_t size)
{
    require(write(fd, data, size) == (ssize_t)size, "write to a pipe");
}

static void on_world(void *context, int epoch, const int *workers, int size)
{
    struct live_world world = { .epoch = epoch, .size = size };
    (void)context;
    require(size <= LIVE_WORKERS_MAX, "a large world");
    memcpy(world.workers, workers, (size_t)size * sizeof *workers);
    (void)!write(host.worlds, &world, sizeof world); /* a test that reads none fills the pipe */
}

static void on_left(void *context, int worker, const struct rank_end *said)
{
    (void)context;
    (void)worker;
    if (said->how.kind == RANK_END_TIMEOUT)
        (void)!write(host.late, &said->late, sizeof said->late);
}

static void on_complete(void *context)
{
    (void)context;
}

static void on_timed_out(void *context, const char *text)
{
    (void)context;
    (void)text;
}

static void obey(const struct command *command)
{
    struct err err = { 0 };
    struct rendezvous_member members[LIVE_WORKERS_MAX];
    struct rank_end_how how = { .kind = command->killed ? RANK_END_KILLED : RANK_END_EXITED,
                                .code = command->killed ? SIGKILL : 0 };
    for (int i = 0; i < command->count; i++)
        members[i] = (struct rendezvous_member){ command->workers[i], "testhost" };
    if (command->what == INTEND)
        require(rendezvous_intend(host.rendezvous, members, command->count, &err) == HVD_OK,
                "rendezvous_intend");
    else if (command->what == REMOVE)
        rendezvous_remove(host.rendezvous, command->workers[0]);
    else
        rendezvous_rank_ended(host.rendezvous, command->workers[0], &how);
}

static void on_commands(uv_poll_t *poll, int status, int events)
{
    struct command command;
    (void)events;
    require(status == 0, "poll");
    ssize_t nbytes = read(host.commands, &command, sizeof command);
    if (nbytes == 0)
        uv_poll_stop(poll);
    else
        obey((require(nbytes == sizeof command, "read a command"), &command));
}

static void live_serve(const struct live_rendezvous *live, int size, uint64_t start_timeout_ms,
                       int port_to)
{
    uv_loop_t loop;
    uv_poll_t poll;
    struct err err = { 0 };
    struct job_key key;
    struct rendezvous_slot slots[LIVE_WORKERS_MAX];
    require(job_key_parse(&key, live->mini.key, NULL) == HVD_OK, "the key");
    for (int rank = 0; rank < size; rank++)
        slots[rank] = (struct rendezvous_slot){ { rank, size, rank, size, 0, 1 }, "testhost" };
    struct rendezvous_options options = {
        .id = "job",
        .elastic = size == 0,
        .slots = slots,
        .size = size,
        .key = &key,
        .start_timeout_ms = start_timeout_ms,
        .events = { .complete = on_complete,
                    .timed_out = on_timed_out,
                    .world = on_world,
                    .left = on_left },
    };
    require(uv_loop_init(&loop) == 0, "a loop");
    host.rendezvous = rendezvous_create(&loop, &options, &err);
    require(host.rendezvous != NULL, err.text);
    struct tcp_port *port = tcp_port_open(&loop, "127.0.0.1:0", host.rendezvous, &err);
    require(port != NULL, err.text);
    require(uv_poll_init(&loop, &poll, host.commands) == 0, "a poll handle");
    uv_poll_start(&poll, UV_READABLE, on_commands);
    pipe_write(port_to, &(int){ tcp_port_number(port) }, sizeof(int));
    uv_run(&loop, UV_RUN_DEFAULT);
}

void live_rendezvous_start(struct live_rendezvous *live, int size, uint64_t start_timeout_ms)
{
    int commands[2], worlds[2], late[2], port[2];
    struct job_key key;
    require(auth_init(NULL) == HVD_OK, "libsodium");
    job_key_generate(&key);
    job_key_format(&key, live->mini.key);
    require(pipe2(commands, O_CLOEXEC) == 0 && pipe2(worlds, O_CLOEXEC) == 0 &&
                pipe2(late, O_CLOEXEC) == 0 && pipe2(port, O_CLOEXEC) == 0,
            "pipes");
    fflush(NULL);
    live->mini.pid = fork();
    require(live->mini.pid >= 0, "fork");
    if (live->mini.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(commands[1]);
        host.commands = commands[0];
        host.worlds = worlds[1];
        host.late = late[1];
        require(fcntl(host.worlds, F_SETFL, O_NONBLOCK) == 0 &&
                    fcntl(host.late, F_SETFL, O_NONBLOCK) == 0,
                "O_NONBLOCK");
        live_serve(live, size, start_timeout_ms, port[1]);
        _exit(0);
    }
    close(commands[0]);
    close(worlds[1]);
    close(late[1]);
    close(port[1]);
    live->commands = commands[1];
    live->worlds = worlds[0];
    live->late = late[0];
    live->mini.reports = -1;
    require(read(port[0], &live->mini.port, sizeof live->mini.port) == sizeof live->mini.port,
            "read the port");
    close(port[0]);
}

void live_rendezvous_stop(struct live_rendezvous *live)
{
    close(live->commands);
    close(live->worlds);
    close(live->late);
    mini_rendezvous_stop(&live->mini);
}

void live_intend(const struct live_rendezvous *live, const int *workers, int count)
{
    struct command command = { .what = INTEND, .count = count };
    memcpy(command.workers, workers, (size_t)count * sizeof *workers);
    pipe_write(live->commands, &command, sizeof command);
}

void live_remove(const struct live_rendezvous *live, int worker)
{
    struct command command = { .what = REMOVE, .workers = { worker } };
    pipe_write(live->commands, &command, sizeof command);
}

void live_ended(const struct live_rendezvous *live, int worker, bool killed)
{
    struct command command = { .what = ENDED, .killed = killed, .workers = { worker } };
    pipe_write(live->commands, &command, sizeof command);
}

struct live_world live_await_world(const struct live_rendezvous *live)
{
    struct live_world world = { 0 };
    ck_assert_int_eq(read(live->worlds, &world, sizeof world), sizeof world);
    return world;
}

struct late_ranks live_await_late(const struct live_rendezvous *live)
{
    struct late_ranks workers;
    ck_assert_int_eq(read(live->late, &workers, sizeof workers), sizeof workers);
    return workers;
}

pid_t live_worker_start(const struct live_rendezvous *live, int worker, rank_fn *body)
{
    char number[16], port[16];
    fflush(NULL);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(live->commands);
    close(live->worlds);
    close(live->late);
    snprintf(number, sizeof number, "%d", worker);
    snprintf(port, sizeof port, "%d", live->mini.port);
    setenv(ENV_ELASTIC, "1", 1);
    setenv(ENV_WORKER, number, 1);
    setenv(ENV_RANK, "0", 1);
    setenv(ENV_SIZE, "1", 1);
    setenv(ENV_HOSTNAME, "testhost", 1);
    setenv(ENV_RENDEZVOUS_ADDR, "127.0.0.1", 1);
    setenv(ENV_RENDEZVOUS_PORT, port, 1);
    setenv(ENV_JOB_KEY, live->mini.key, 1);
    exit(body(worker));
}
