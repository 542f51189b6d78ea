/* SPDX-License-Identifier: Apache-2.0 */
/* What hvdrun says to the agent of a host, the real one, on a loop of its own; it starts real
 * processes.
 *
 *   steps: u8 what, then
 *     0 JOB: u8 its version beside ours, u8 flags   1 ARGUMENTS: u8 which   2 RANK: u8   3 PREPARE   4 START
 *     5 CREDIT: u8 rank, u8 stream, u16     6 STDIN: u8 how many bytes, they   7 SIGNAL: u8   8 STOP: u8, u8 ms
 *     9 RELAY_DATA or RELAY_END: u8 id, u8 bytes, they   10 HEARTBEAT   11 a frame: u8 type, u8 bytes, they; not of
 *     ARGUMENTS or TUNNEL_OPEN, which would be commands   12 time passes   13 somebody dials the
 *     rendezvous there   14 and says: u8 bytes, they   15 and hangs up
 *
 * Whatever it says: the agent's frames are known and can be read; of a rank that was described it
 * says once that it has started, that each stream has ended, that it has ended; it sends no more
 * output than it has credit for, and nothing behind DONE. When the link ends, the agent ends; no
 * process, descriptor or handle is left. */
#include "launcher/agent/agent.h"
#include "launcher/placement/binding_places.h"
#include "launcher/protocol/agent_protocol.h"
#include "lib/base/frame.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 8, STEPS = 60 };

static struct scene {
    uv_loop_t loop;
    struct agent *agent;
    int link, client; /* our ends; -1: closed, or none */
    struct frame_reader reader;
    bool described[RANKS], started[RANKS], ended[RANKS], stream_ended[RANKS][OUTPUT_STREAMS];
    uint64_t credit[RANKS][OUTPUT_STREAMS];
    bool done, strange; /* strange: frames were made up, and may have said anything */
    int port;
} scene;

/* ---- what the agent says ---- */

static bool is_rank(int rank)
{
    return rank >= 0 && rank < RANKS && scene.described[rank];
}

static void on_number(const struct frame *frame, struct wire_reader *body)
{
    struct agent_rank_number number;
    PROMISE(agent_rank_number_decode(&number, body, NULL) == HVD_OK);
    if (scene.strange)
        return;
    PROMISE(is_rank(number.rank));
    bool *seen = frame->type == AGENT_STARTED ? &scene.started[number.rank]
                                              : &scene.stream_ended[number.rank][number.stream];
    PROMISE(!*seen && number.stream < OUTPUT_STREAMS);
    *seen = true;
}

static void on_output(struct wire_reader *body)
{
    int rank = wire_get_i32(body);
    uint8_t stream = wire_get_u8(body);
    uint64_t read_us = wire_get_u64(body);
    PROMISE(!body->failed && stream < OUTPUT_STREAMS && read_us > 0 && body->left > 0);
    if (scene.strange)
        return;
    PROMISE(is_rank(rank) && scene.started[rank] && !scene.stream_ended[rank][stream]);
    PROMISE(body->left <= scene.credit[rank][stream]);
    scene.credit[rank][stream] -= body->left;
}

static void on_exited(struct wire_reader *body)
{
    struct agent_exited exited;
    PROMISE(agent_exited_decode(&exited, body, NULL) == HVD_OK);
    if (scene.strange)
        return;
    int rank = exited.end.rank;
    PROMISE(is_rank(rank) && scene.started[rank] && !scene.ended[rank]);
    scene.ended[rank] = true;
}

static void on_ready(struct wire_reader *body)
{
    struct agent_ready ready;
    PROMISE(agent_ready_decode(&ready, body, NULL) == HVD_OK);
    scene.port = ready.relay_port;
}

static void on_frame(const struct frame *frame)
{
    struct wire_reader body;
    struct agent_failed failed;
    wire_reader_init(&body, frame->body, frame->length);
    PROMISE(!scene.done && frame->type < AGENT_FRAME_TYPES);
    switch (frame->type) {
    case AGENT_READY:
        on_ready(&body);
        break;
    case AGENT_FAILED:
        PROMISE(agent_failed_decode(&failed, &body, NULL) == HVD_OK && *failed.text);
        break;
    case AGENT_STARTED:
    case AGENT_OUTPUT_END:
        on_number(frame, &body);
        break;
    case AGENT_OUTPUT:
        on_output(&body);
        break;
    case AGENT_EXITED:
        on_exited(&body);
        break;
    case AGENT_DONE:
        PROMISE(frame->length == 4);
        scene.done = true;
        break;
    default:
        PROMISE(agent_frame_name(frame->type));
    }
}

static void listen_to_agent(void)
{
    struct frame frame;
    ssize_t n = scene.link < 0 ? 0 : 1;
    while (n > 0) {
        size_t length;
        void *space = frame_reader_space(&scene.reader, &length);
        n = recv(scene.link, space, length, MSG_DONTWAIT);
        frame_reader_commit(&scene.reader, n > 0 ? (size_t)n : 0);
        int rc;
        while ((rc = frame_reader_next(&scene.reader, &frame, NULL)) > 0)
            on_frame(&frame);
        PROMISE(rc == 0);
    }
}

/* ---- what is said to it ---- */

static void say(uint16_t type, const struct wire_writer *body)
{
    struct wire_writer out = { 0 };
    frame_put(&out, type, body->data, body->length);
    for (size_t at = 0; at < out.length && scene.link >= 0;) {
        ssize_t n = send(scene.link, out.data + at, out.length - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        scene.strange |= n < 0; /* it has hung up, or does not read while it is not run */
        at += n < 0 ? out.length : (size_t)n;
    }
    wire_writer_fini(&out);
}

static void say_host(const char *interfaces)
{
    struct agent_host host = { .name = "node1", .nhosts = 1 };
    strcpy(host.interfaces, interfaces);
    struct wire_writer body = { 0 };
    agent_host_encode(&body, &host);
    say(AGENT_HOST, &body);
    wire_writer_fini(&body);
}

static uint16_t put_job(struct wire_writer *body, struct fuzz_input *input)
{
    struct agent_job job = { .cwd = "/", .attributes.umask = 022 };
    job.version = (uint16_t)(AGENT_VERSION + fuzz_u8(input) % 2);
    uint8_t flags = fuzz_u8(input);
    job.attributes.ignore_hup = flags & 1;
    job.own_environment = flags & 2;
    job.one_machine = flags & 4;
    job.attributes.report_bindings = flags & 8;
    if ((flags & 48) == 48)
        strcpy(job.cwd, "/nonexistent");
    say_host((flags & 192) == 192 ? "nonexistent" : "");
    job.heartbeat_timeout_ms = 60000;
    agent_job_encode(body, &job);
    return AGENT_JOB;
}

static uint16_t put_arguments(struct wire_writer *body, struct fuzz_input *input)
{
    static const char *const commands[][3] = {
        { "/bin/true" },        { "/bin/false" },     { "/bin/echo", "hello" }, { "/bin/cat" },
        { "/bin/sleep", "60" }, { "/nonexistent/p" }, { "/etc/passwd" },        { "/" },
    };
    const char *const *words = commands[fuzz_u8(input) % 8];
    for (int i = 0; i < 3 && words[i]; i++)
        wire_put_string(body, words[i]);
    return AGENT_ARGUMENTS;
}

static uint16_t put_rank(struct wire_writer *body, struct fuzz_input *input)
{
    int rank = fuzz_u8(input) % RANKS;
    struct agent_worker worker = { rank, { rank, RANKS, rank, RANKS, 0, 1 }, { { 0 } } };
    agent_worker_encode(body, &worker);
    scene.described[rank] = true;
    return AGENT_RANK;
}

static uint16_t put_prepare(struct wire_writer *body, struct fuzz_input *input)
{
    (void)body, (void)input;
    return AGENT_PREPARE;
}

static uint16_t put_start(struct wire_writer *body, struct fuzz_input *input)
{
    (void)body, (void)input;
    return AGENT_START;
}

static uint16_t put_credit(struct wire_writer *body, struct fuzz_input *input)
{
    struct agent_rank_number credit = { .rank = fuzz_u8(input) % RANKS };
    credit.stream = fuzz_u8(input) % OUTPUT_STREAMS;
    credit.number = fuzz_u16(input);
    scene.credit[credit.rank][credit.stream] += credit.number;
    agent_rank_number_encode(body, &credit);
    return AGENT_CREDIT;
}

static void put_some_bytes(struct wire_writer *body, struct fuzz_input *input)
{
    size_t length;
    uint8_t *bytes = fuzz_bytes(input, &length);
    wire_put_bytes(body, bytes, length);
    free(bytes);
}

static uint16_t put_stdin(struct wire_writer *body, struct fuzz_input *input)
{
    put_some_bytes(body, input);
    return AGENT_STDIN;
}

static uint16_t put_signal(struct wire_writer *body, struct fuzz_input *input)
{
    wire_put_i32(body, (int8_t)fuzz_u8(input));
    return AGENT_SIGNAL;
}

static uint16_t put_stop(struct wire_writer *body, struct fuzz_input *input)
{
    struct agent_stop stop = { .signum = (int8_t)fuzz_u8(input), .grace_ms = fuzz_u8(input) % 8 };
    agent_stop_encode(body, &stop);
    return AGENT_STOP;
}

static uint16_t put_relay(struct wire_writer *body, struct fuzz_input *input)
{
    uint8_t id = fuzz_u8(input);
    wire_put_u32(body, id % 4U);
    if (id < 128)
        put_some_bytes(body, input);
    return id < 128 ? AGENT_RELAY_DATA : AGENT_RELAY_END;
}

static uint16_t put_heartbeat(struct wire_writer *body, struct fuzz_input *input)
{
    wire_put_u64(body, fuzz_u16(input));
    return AGENT_HEARTBEAT;
}

static uint16_t put_any(struct wire_writer *body, struct fuzz_input *input)
{
    uint16_t type = fuzz_u8(input);
    put_some_bytes(body, input);
    scene.strange = true;
    return type == AGENT_ARGUMENTS || type == AGENT_TUNNEL_OPEN ? AGENT_PREPARE : type;
}

static uint16_t (*const frames[])(struct wire_writer *body, struct fuzz_input *input) = {
    put_job,   put_arguments, put_rank, put_prepare, put_start,     put_credit,
    put_stdin, put_signal,    put_stop, put_relay,   put_heartbeat, put_any,
};
enum { FRAMES = sizeof frames / sizeof *frames };

/* ---- clients of the rendezvous ---- */

static void dial(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)scene.port),
                                   .sin_addr = { htonl(INADDR_LOOPBACK) } };
    if (scene.client >= 0 || scene.port == 0)
        return;
    scene.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    PROMISE(scene.client >= 0);
    (void)!connect(scene.client, (const struct sockaddr *)&address, sizeof address);
}

static void talk(struct fuzz_input *input)
{
    size_t length;
    uint8_t *bytes = fuzz_bytes(input, &length);
    if (scene.client >= 0)
        (void)!send(scene.client, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    free(bytes);
}

static void hang_up(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- all ---- */

static void run(int turns)
{
    for (int i = 0; i < turns; i++) {
        uv_run(&scene.loop, UV_RUN_NOWAIT);
        listen_to_agent();
    }
}

static void step(struct fuzz_input *input)
{
    struct wire_writer body = { 0 };
    uint8_t what = fuzz_u8(input) % (FRAMES + 4);
    if (what < FRAMES) {
        uint16_t type = frames[what](&body, input);
        say(type, &body);
        wire_writer_fini(&body);
    } else if (what == FRAMES) {
        usleep(1000);
    } else if (what == FRAMES + 1) {
        dial();
    } else if (what == FRAMES + 2) {
        talk(input);
    } else {
        hang_up(&scene.client);
    }
    run(2);
}

static void begin(void)
{
    static const struct agent_settings settings = { AGENT_RELAY_STALL_MS, binding_places_read };
    int fds[2];
    struct err err;
    scene = (struct scene){ .client = -1 };
    for (int rank = 0; rank < RANKS; rank++)
        for (int stream = 0; stream < OUTPUT_STREAMS; stream++)
            scene.credit[rank][stream] = STREAM_WINDOW;
    PROMISE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    PROMISE(uv_loop_init(&scene.loop) == 0);
    scene.link = fds[0];
    frame_reader_init(&scene.reader, FRAME_BODY_MAX);
    scene.agent = agent_open(&scene.loop, fds[1], fds[1], &settings, &err);
}

static void end(void)
{
    PROMISE(shutdown(scene.link, SHUT_WR) == 0);
    while (uv_run(&scene.loop, UV_RUN_ONCE)) /* until nothing is active */
        listen_to_agent();
    listen_to_agent();
    hang_up(&scene.link);
    hang_up(&scene.client);
    agent_release(scene.agent);
    frame_reader_fini(&scene.reader);
    PROMISE(uv_loop_close(&scene.loop) == 0);
    PROMISE(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static int next_descriptor(void)
{
    int fd = dup(STDERR_FILENO);
    close(fd);
    return fd;
}

/* What libuv keeps for all loops comes with the first one. */
static void warm_up(void)
{
    static bool done;
    if (!done) {
        signal(SIGPIPE, SIG_IGN); /* as hvdagent does */
        begin();
        end();
    }
    done = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    int directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    mode_t mask = umask(0);
    warm_up();
    int before = next_descriptor();
    begin();
    for (int i = 0; i < STEPS && input.left > 0; i++)
        step(&input);
    end();
    PROMISE(next_descriptor() == before);
    umask(mask);
    PROMISE(fchdir(directory) == 0);
    close(directory);
    return 0;
}
