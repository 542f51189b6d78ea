/* SPDX-License-Identifier: Apache-2.0 */
/* Playing the launcher; see agent_fixture.h. */
#include "tests/support/agent_fixture.h"

#include "launcher/agent/agent.h"
#include "launcher/placement/binding_places.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void run_agent(const struct agent_fixture *fixture, int link, char **environment)
{
    struct agent_settings settings = {
        fixture->relay_stall_ms ? fixture->relay_stall_ms : AGENT_RELAY_STALL_MS,
        fixture->binds_none ? NULL : binding_places_read,
    };
    uv_loop_t loop;
    dup2(fixture->messages, STDERR_FILENO);
    if (environment)
        environ = environment;
    signal(SIGPIPE, SIG_IGN);
    if (uv_loop_init(&loop) < 0)
        _exit(99);
    int status = agent_run(&loop, link, link, &settings);
    if (uv_loop_close(&loop) < 0)
        status = 98; /* it has left something open */
    _exit(status);
}

void agent_fixture_start(struct agent_fixture *fixture, char **environment)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    fixture->messages = memfd_create("messages", MFD_CLOEXEC);
    ck_assert_int_ge(fixture->messages, 0);
    fixture->link = ends[0];
    frame_reader_init(&fixture->reader, FRAME_BODY_MAX);
    fixture->pid = fork();
    ck_assert_int_ge(fixture->pid, 0);
    if (fixture->pid == 0) {
        close(ends[0]);
        run_agent(fixture, ends[1], environment);
    }
    close(ends[1]);
}

int agent_fixture_wait(struct agent_fixture *fixture)
{
    int status;
    ck_assert_int_eq(waitpid(fixture->pid, &status, 0), fixture->pid);
    fixture->pid = 0;
    return status;
}

int agent_fixture_stop(struct agent_fixture *fixture)
{
    close(fixture->link);
    fixture->link = -1;
    return agent_fixture_wait(fixture);
}

char *agent_fixture_messages(struct agent_fixture *fixture)
{
    char *text = calloc(1, 4096);
    ck_assert_int_ge(pread(fixture->messages, text, 4095, 0), 0);
    return text;
}

void agent_fixture_send_bytes(struct agent_fixture *fixture, const void *bytes, size_t length)
{
    for (size_t sent = 0; sent < length;) {
        ssize_t n = send(fixture->link, (const char *)bytes + sent, length - sent, MSG_NOSIGNAL);
        if (n < 0)
            return; /* the agent has hung up: that is what its end shows */
        sent += (size_t)n;
    }
}

void agent_fixture_send(struct agent_fixture *fixture, int type, const void *body, size_t length)
{
    struct wire_writer out = { 0 };
    frame_put(&out, (uint16_t)type, body, length);
    agent_fixture_send_bytes(fixture, out.data, out.length);
    wire_writer_fini(&out);
}

void agent_fixture_send_numbers(struct agent_fixture *fixture, int type, int count, ...)
{
    struct wire_writer body = { 0 };
    va_list numbers;
    va_start(numbers, count);
    for (int i = 0; i < count; i++)
        wire_put_i32(&body, va_arg(numbers, int));
    va_end(numbers);
    agent_fixture_send(fixture, type, body.data, body.length);
    wire_writer_fini(&body);
}

static void send_texts(struct agent_fixture *fixture, int type, const char *const *texts)
{
    for (; *texts; texts++) {
        struct wire_writer body = { 0 };
        wire_put_string(&body, *texts);
        agent_fixture_send(fixture, type, body.data, body.length);
        wire_writer_fini(&body);
    }
}

static void send_host(struct agent_fixture *fixture, const char *interfaces)
{
    struct agent_host host = { .name = "node1", .nhosts = 1 };
    struct wire_writer body = { 0 };
    snprintf(host.interfaces, sizeof host.interfaces, "%s", interfaces);
    agent_host_encode(&body, &host);
    agent_fixture_send(fixture, AGENT_HOST, body.data, body.length);
    wire_writer_fini(&body);
}

static void send_ranks(struct agent_fixture *fixture, int nranks)
{
    for (int rank = 0; rank < nranks; rank++) {
        struct wire_writer body = { 0 };
        struct agent_worker worker = { rank, { rank, nranks, rank, nranks, 0, 1 }, { { 0 } } };
        agent_worker_encode(&body, &worker);
        agent_fixture_send(fixture, AGENT_RANK, body.data, body.length);
        wire_writer_fini(&body);
    }
}

void agent_fixture_describe(struct agent_fixture *fixture, const struct agent_fixture_job *job)
{
    static const char *const path[] = { "PATH=/usr/bin:/bin", NULL };
    struct agent_job described = job->job;
    struct wire_writer body = { 0 };
    if (!described.version)
        described.version = AGENT_VERSION;
    if (!*described.cwd)
        strcpy(described.cwd, "/");
    agent_job_encode(&body, &described);
    agent_fixture_send(fixture, AGENT_JOB, body.data, body.length);
    wire_writer_fini(&body);
    send_texts(fixture, AGENT_ARGUMENTS, job->arguments);
    send_texts(fixture, AGENT_ENVIRONMENT, job->environment ? job->environment : path);
    send_host(fixture, job->interfaces ? job->interfaces : "");
    send_ranks(fixture, job->nranks ? job->nranks : 1);
    agent_fixture_send(fixture, AGENT_PREPARE, NULL, 0);
}

pid_t agent_fixture_run(struct agent_fixture *fixture, const struct agent_fixture_job *job)
{
    agent_fixture_describe(fixture, job);
    agent_fixture_until(fixture, AGENT_READY);
    agent_fixture_send(fixture, AGENT_START, NULL, 0);
    return agent_fixture_until_started(fixture);
}

pid_t agent_fixture_until_started(struct agent_fixture *fixture)
{
    struct agent_rank_number started;
    struct wire_reader body = agent_fixture_until(fixture, AGENT_STARTED);
    ck_assert_int_eq(agent_rank_number_decode(&started, &body, NULL), HVD_OK);
    ck_assert_int_eq(started.rank, 0);
    return (pid_t)started.number;
}

void agent_fixture_hold(struct agent_fixture *fixture)
{
    int status;
    ck_assert_int_eq(kill(fixture->pid, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(fixture->pid, &status, WUNTRACED), fixture->pid);
    ck_assert(WIFSTOPPED(status));
}

void agent_fixture_release(struct agent_fixture *fixture)
{
    ck_assert_int_eq(kill(fixture->pid, SIGCONT), 0);
}

int agent_fixture_next(struct agent_fixture *fixture, struct frame *frame)
{
    struct err err;
    int rc;
    while ((rc = frame_reader_next(&fixture->reader, frame, &err)) == 0) {
        size_t size;
        void *space = frame_reader_space(&fixture->reader, &size);
        ssize_t n = read(fixture->link, space, size);
        if (n <= 0)
            return 0;
        frame_reader_commit(&fixture->reader, (size_t)n);
    }
    ck_assert_msg(rc > 0, "the agent sends frames: %s", err.text);
    return 1;
}

struct wire_reader agent_fixture_until(struct agent_fixture *fixture, int type)
{
    struct frame frame;
    struct wire_reader body;
    do
        ck_assert_msg(agent_fixture_next(fixture, &frame), "no %s came", agent_frame_name(type));
    while (frame.type != type);
    wire_reader_init(&body, frame.body, frame.length);
    return body;
}

static void give_credit(struct agent_fixture *fixture, size_t nbytes)
{
    struct agent_rank_number credit = { 0, STREAM_STDOUT, (uint32_t)nbytes };
    struct wire_writer body = { 0 };
    agent_rank_number_encode(&body, &credit);
    agent_fixture_send(fixture, AGENT_CREDIT, body.data, body.length);
    wire_writer_fini(&body);
}

char *agent_fixture_output(struct agent_fixture *fixture)
{
    char *output = calloc(1, 1);
    size_t length = 0;
    struct frame frame;
    while (agent_fixture_next(fixture, &frame) && frame.type != AGENT_DONE) {
        struct wire_reader body;
        wire_reader_init(&body, frame.body, frame.length);
        if (frame.type != AGENT_OUTPUT || wire_get_i32(&body) != 0 ||
            wire_get_u8(&body) != STREAM_STDOUT)
            continue;
        wire_get_u64(&body); /* when it was read */
        output = realloc(output, length + body.left + 1);
        memcpy(output + length, body.at, body.left);
        length += body.left;
        output[length] = '\0';
        give_credit(fixture, body.left);
    }
    return output;
}

int agent_fixture_is_gone(pid_t pid)
{
    char path[64], state = 'Z';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 'Z';
    if (file)
        fclose(file);
    return state == 'Z';
}

void agent_fixture_until_gone(pid_t pid)
{
    while (!agent_fixture_is_gone(pid))
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}
