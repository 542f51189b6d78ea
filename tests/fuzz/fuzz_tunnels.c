/* SPDX-License-Identifier: Apache-2.0 */
/* Tunnels over the link of an agent (launcher/tree/tunnels.c, tunnel_end.c): what the agent says,
 * and what the connections do that go through them.
 *
 *   steps, each u8 what:
 *     0 a tunnel is opened, of TUNNELS at most         1 the agent has u8 bytes for tunnel u8
 *     2 it gives credit: u8 tunnel, u16 bytes          3 it has bytes on stderr: u8 tunnel, bytes
 *     4 it says that a tunnel has ended: u8, text      5 a frame: u8 which kind, its body
 *     6 the connection of tunnel u8 says u16 bytes     7 it reads      8 it hangs up
 *     9 tunnel u8 is closed; u8: given up              10 the link is about to be closed
 *     11 the link is lost                              12 a window of bytes for tunnel u8
 *
 * Whatever the agent says: a frame is taken or breaks the link with a protocol error; what a
 * connection reads is what came for it, in order; no more is sent than there is credit for, in
 * order, and nothing once the tunnel has been closed; every tunnel is closed once, and ends at most
 * once, with a line that can be read; no descriptor or handle is left. */
#include "launcher/base/string_list.h"
#include "launcher/protocol/agent_protocol.h"
#include "launcher/tree/tunnels.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TUNNELS = 4, STEPS = 60, BUFFER = 4096 };

/* A tunnel, and the connection that goes through it: `fd`, -1 once it has hung up. */
struct passage {
    struct tunnel *tunnel; /* NULL: closed */
    int fd;
    size_t came, read;         /* bytes for the connection */
    size_t said, sent;         /* bytes of the connection */
    size_t credit;             /* of the agent, in all */
    bool ended, over, hung_up; /* over: on_closed has been called; hung_up: TUNNEL_CLOSE was sent */
};

static struct {
    uv_loop_t loop;
    struct frame_link link;
    struct frame_reader reader; /* of the agent */
    int agent;
    struct tunnels tunnels;
    struct passage passages[TUNNELS];
    int npassages;
    bool broken; /* the link: the agent is not heard any more */
} scene;

static unsigned char byte_at(size_t at)
{
    return (unsigned char)(at * 7 + at / 251);
}

/* ---- what hvdrun sends ---- */

static void hear_frame(const struct frame *frame)
{
    struct wire_reader body;
    wire_reader_init(&body, frame->body, frame->length);
    uint32_t number = wire_get_u32(&body);
    PROMISE(!body.failed && number < (uint32_t)scene.npassages);
    struct passage *passage = &scene.passages[number];
    PROMISE(!passage->hung_up);
    switch (frame->type) {
    case AGENT_TUNNEL_DATA:
        for (; body.left > 0; passage->sent++)
            PROMISE(wire_get_u8(&body) == byte_at(passage->sent));
        PROMISE(passage->sent <= passage->said && passage->sent <= passage->credit);
        break;
    case AGENT_TUNNEL_CLOSE:
        passage->hung_up = true;
        break;
    default:
        PROMISE(frame->type == AGENT_TUNNEL_OPEN || frame->type == AGENT_TUNNEL_CREDIT);
    }
}

static void go_on(void)
{
    struct frame frame;
    ssize_t n = 1;
    uv_run(&scene.loop, UV_RUN_NOWAIT);
    while (n > 0) {
        size_t room;
        void *space = frame_reader_space(&scene.reader, &room);
        n = recv(scene.agent, space, room, MSG_DONTWAIT);
        frame_reader_commit(&scene.reader, n > 0 ? (size_t)n : 0);
        while (frame_reader_next(&scene.reader, &frame, NULL) > 0)
            hear_frame(&frame);
    }
}

/* ---- events ---- */

static int on_frame(void *context, const struct frame *frame, struct err *err)
{
    (void)context, (void)frame, (void)err;
    abort(); /* the agent's frames are handed over without the link */
}

static void on_link_end(void *context, const struct err *err)
{
    (void)context, (void)err;
}

static void on_errors(void *context, const char *data, size_t length)
{
    static unsigned char sum; /* so that every byte is read */
    const struct passage *passage = context;
    PROMISE(passage->tunnel && !passage->ended);
    for (size_t i = 0; i < length; i++)
        sum = (unsigned char)(sum + (unsigned char)data[i]);
}

static void on_end(void *context, const char *text)
{
    struct passage *passage = context;
    PROMISE(passage->tunnel && !passage->ended);
    PROMISE(strlen(text) < TUNNEL_TEXT_SIZE && !strpbrk(text, "\r\n\t\033"));
    passage->ended = true;
}

static void on_closed(void *context)
{
    struct passage *passage = context;
    PROMISE(!passage->over);
    passage->over = true;
}

/* ---- what the agent says ---- */

static void hear(int type, const struct wire_writer *body)
{
    struct err err = { .code = HVD_OK };
    struct wire_reader reader;
    if (!scene.tunnels.link || scene.broken)
        return;
    void *copy = malloc(body->length > 0 ? body->length : 1); /* so that a read beyond it is seen */
    PROMISE(copy && tunnels_has_frame(type));
    if (body->length > 0)
        memcpy(copy, body->data, body->length);
    wire_reader_init(&reader, copy, body->length);
    int rc = tunnels_on_frame(&scene.tunnels, type, &reader, &err);
    PROMISE(rc == HVD_OK || rc == HVD_ERR_PROTOCOL);
    if (rc < 0)
        fuzz_check_line(err.text, "");
    scene.broken = rc < 0;
    free(copy);
}

static void hear_data(struct passage *passage, size_t length)
{
    static unsigned char data[TUNNEL_WINDOW];
    struct wire_writer body = { 0 };
    for (size_t i = 0; i < length; i++)
        data[i] = byte_at(passage->came + i);
    wire_put_u32(&body, (uint32_t)(passage - scene.passages));
    wire_put_bytes(&body, data, length);
    bool counts = passage->tunnel && !passage->ended;
    hear(AGENT_TUNNEL_DATA, &body);
    passage->came += counts && !scene.broken && scene.tunnels.link ? length : 0;
    wire_writer_fini(&body);
}

static void hear_credit(struct passage *passage, uint32_t nbytes)
{
    struct wire_writer body = { 0 };
    wire_put_u32(&body, (uint32_t)(passage - scene.passages));
    wire_put_u32(&body, nbytes);
    hear(AGENT_TUNNEL_CREDIT, &body);
    passage->credit += scene.broken ? 0 : nbytes;
    wire_writer_fini(&body);
}

static void hear_bytes(struct passage *passage, struct fuzz_input *input, bool is_end)
{
    struct wire_writer body = { 0 };
    char text[TUNNEL_TEXT_SIZE];
    wire_put_u32(&body, (uint32_t)(passage - scene.passages));
    fuzz_text(input, text, sizeof text);
    if (is_end)
        wire_put_string(&body, text);
    else
        wire_put_bytes(&body, text, strlen(text));
    hear(is_end ? AGENT_TUNNEL_END : AGENT_TUNNEL_ERRORS, &body);
    wire_writer_fini(&body);
}

/* What is in it may be credit or data of any tunnel, so nothing is counted from then on. */
static void hear_anything(struct fuzz_input *input)
{
    static const int types[] = { AGENT_TUNNEL_CREDIT, AGENT_TUNNEL_ERRORS, AGENT_TUNNEL_END };
    size_t length;
    int type = types[fuzz_u8(input) % 3];
    uint8_t *bytes = fuzz_bytes(input, &length);
    struct wire_writer body = { .data = bytes, .length = length, .capacity = length };
    hear(type, &body);
    for (int i = 0; i < scene.npassages; i++)
        scene.passages[i].credit = SIZE_MAX / 2;
    free(bytes);
}

/* ---- what the connections do ---- */

static void open_passage(void)
{
    static const struct tunnel_events events = { on_errors, on_end };
    struct string_list words = { 0 };
    int pair[2];
    if (scene.npassages == TUNNELS || !scene.tunnels.link)
        return;
    struct passage *passage = &scene.passages[scene.npassages];
    PROMISE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    passage->fd = pair[0];
    passage->credit = TUNNEL_WINDOW;
    scene.npassages++;
    passage->tunnel =
        tunnel_open(&scene.tunnels, &scene.loop, pair[1], &words, &events, passage, NULL);
    PROMISE(passage->tunnel);
}

static void talk(struct passage *passage, size_t length)
{
    char bytes[BUFFER];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)byte_at(passage->said + i);
    ssize_t n = passage->fd < 0
                    ? 0
                    : send(passage->fd, bytes, length % (BUFFER + 1), MSG_NOSIGNAL | MSG_DONTWAIT);
    passage->said += n > 0 ? (size_t)n : 0;
}

/* True if there may be more. */
static bool listen_to(struct passage *passage)
{
    unsigned char bytes[BUFFER];
    ssize_t n = passage->fd < 0 ? 0 : recv(passage->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    for (ssize_t i = 0; i < n; i++)
        PROMISE(bytes[i] == byte_at(passage->read++));
    PROMISE(passage->read <= passage->came);
    return n > 0;
}

static void hang_up(struct passage *passage)
{
    if (passage->fd >= 0)
        close(passage->fd);
    passage->fd = -1;
}

static void close_passage(struct passage *passage, bool given_up)
{
    struct tunnel *tunnel = passage->tunnel;
    passage->tunnel = NULL;
    if (tunnel)
        tunnel_close(tunnel, given_up, on_closed, passage);
}

static void step(struct fuzz_input *input)
{
    uint8_t what = fuzz_u8(input) % 13;
    if (what == 0)
        open_passage();
    if (scene.npassages == 0)
        return;
    if (what == 5)
        hear_anything(input);
    else if (what == 10)
        tunnels_mute(&scene.tunnels);
    else if (what == 11)
        tunnels_cut(&scene.tunnels, "cut");
    if (what == 0 || what == 5 || what == 10 || what == 11)
        return;
    struct passage *passage = &scene.passages[fuzz_u8(input) % scene.npassages];
    switch (what) {
    case 1:
        hear_data(passage, fuzz_u8(input));
        break;
    case 2:
        hear_credit(passage, fuzz_u16(input));
        break;
    case 3:
    case 4:
        hear_bytes(passage, input, what == 4);
        break;
    case 6:
        talk(passage, fuzz_u16(input));
        break;
    case 7:
        listen_to(passage);
        break;
    case 8:
        hang_up(passage);
        break;
    case 9:
        close_passage(passage, fuzz_u8(input) & 1);
        break;
    default:
        hear_data(passage, TUNNEL_WINDOW);
    }
}

/* What has come for a connection reaches it, also when the tunnel has ended. */
static void finish(void)
{
    tunnels_cut(&scene.tunnels, "");
    for (int i = 0; i < scene.npassages; i++) {
        struct passage *passage = &scene.passages[i];
        PROMISE(!passage->tunnel || passage->ended);
        bool whole = passage->tunnel && passage->fd >= 0;
        while (whole && passage->read < passage->came)
            if (!listen_to(passage))
                uv_run(&scene.loop, UV_RUN_NOWAIT);
        close_passage(passage, false);
        hang_up(passage);
    }
    frame_link_close(&scene.link, NULL);
    uv_run(&scene.loop, UV_RUN_DEFAULT);
    for (int i = 0; i < scene.npassages; i++)
        PROMISE(scene.passages[i].over);
    tunnels_fini(&scene.tunnels);
    frame_reader_fini(&scene.reader);
    close(scene.agent);
    PROMISE(uv_loop_close(&scene.loop) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct frame_link_events events = { on_frame, on_link_end, NULL, NULL };
    struct fuzz_input input = fuzz_begin(data, size);
    int pair[2];
    memset(&scene, 0, sizeof scene);
    signal(SIGPIPE, SIG_IGN);
    PROMISE(uv_loop_init(&scene.loop) == 0);
    PROMISE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    scene.agent = pair[1];
    PROMISE(frame_link_open(&scene.link, &scene.loop, pair[0], pair[0], &events, NULL, NULL) ==
            HVD_OK);
    frame_reader_init(&scene.reader, FRAME_BODY_MAX);
    scene.tunnels.link = &scene.link;
    for (int i = 0; i < STEPS && input.left > 0; i++) {
        step(&input);
        go_on();
    }
    finish();
    return 0;
}
