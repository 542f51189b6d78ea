/* SPDX-License-Identifier: Apache-2.0 */
/* What goes through an agent to a host below it (launcher/tree/frame_boundary.c,
 * tunnel_multicast.c): hvdrun's bytes in pieces, and MULTICASTs between its frames.
 *
 *   u8 flags: 1 the host does not read until the end
 *   steps, each u8 what:
 *     0 a frame of hvdrun: u8 type, bytes; all of it   1 likewise, u8 bytes of it, and 2 the rest
 *     3 any bytes of hvdrun                            4 a MULTICAST: u8 type, bytes
 *     5 hvdrun has all credit again, if the host has read all of that
 *     6 a large frame of hvdrun, u8 times 4 KiB
 *
 * Whatever comes: hvdrun's bytes are taken, or refused as a broken protocol with a text; until then
 * the host gets nothing but whole frames, hvdrun's and those that were put, each once and in its
 * order; a frame that was put comes before every frame of hvdrun that had not begun then. What the
 * host has not read stays within its bounds. */
#include "launcher/tree/tunnel_multicast.h"
#include "tests/fuzz/fuzz.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The types of MULTICASTs begin behind hvdrun's. */
enum { STEPS = 80, CAST_TYPE = 0x100 };

static struct {
    uv_loop_t loop;
    struct tunnel_end end;
    struct tunnel_multicast multicast;
    int host;
    struct frame_reader reader;  /* the host's */
    struct wire_writer ours;     /* what hvdrun has not sent yet: the rest of a frame */
    struct wire_writer expected; /* all frames, in the order in which the host must get them */
    size_t nheard;               /* bytes of it */
    struct wire_writer held;     /* those that wait for the end of a frame of hvdrun */
    bool broken, strange;        /* strange: hvdrun's bytes were made up, and may be any frames */
} scene;

/* ---- what the host gets ---- */

static void hear_frame(const struct frame *frame)
{
    struct wire_writer again = { 0 };
    frame_put(&again, frame->type, frame->body, frame->length);
    if (!scene.strange) {
        PROMISE(scene.nheard + again.length <= scene.expected.length);
        PROMISE(memcmp(scene.expected.data + scene.nheard, again.data, again.length) == 0);
    }
    scene.nheard += again.length;
    wire_writer_fini(&again);
}

static void hear(void)
{
    struct frame frame;
    struct err err;
    ssize_t n = 1;
    int rc;
    while (n > 0) {
        size_t room;
        void *space = frame_reader_space(&scene.reader, &room);
        PROMISE(space);
        uv_run(&scene.loop, UV_RUN_NOWAIT);
        n = recv(scene.host, space, room, MSG_DONTWAIT);
        frame_reader_commit(&scene.reader, n > 0 ? (size_t)n : 0);
        while ((rc = frame_reader_next(&scene.reader, &frame, &err)) > 0)
            hear_frame(&frame);
        PROMISE(rc == 0 || scene.strange);
    }
}

/* ---- what the agent does ---- */

static void give(const void *bytes, size_t length)
{
    struct err err = { .code = HVD_OK };
    if (scene.broken || length == 0)
        return;
    void *copy = malloc(length); /* so that a read beyond it is seen */
    PROMISE(copy);
    memcpy(copy, bytes, length);
    int rc = tunnel_multicast_take(&scene.multicast, &scene.end, copy, length, &err);
    free(copy);
    PROMISE(rc == HVD_OK || rc == HVD_ERR_PROTOCOL);
    if (rc < 0)
        fuzz_check_line(err.text, "");
    scene.broken = rc < 0;
}

static void release_held(void)
{
    wire_put_bytes(&scene.expected, scene.held.data, scene.held.length);
    scene.held.length = 0;
}

/* A frame of hvdrun goes on, up to so many bytes of it. */
static void go_on(size_t most)
{
    size_t length = most < scene.ours.length ? most : scene.ours.length;
    size_t left = scene.ours.length - length;
    if (length == 0)
        return;
    wire_put_bytes(&scene.expected, scene.ours.data, length);
    if (left == 0)
        release_held();
    give(scene.ours.data, length);
    memmove(scene.ours.data, scene.ours.data + length, left);
    scene.ours.length = left;
}

static void begin_frame(struct fuzz_input *input)
{
    size_t length;
    go_on(SIZE_MAX);
    uint16_t type = fuzz_u8(input);
    uint8_t *bytes = fuzz_bytes(input, &length);
    frame_put(&scene.ours, type, bytes, length);
    free(bytes);
}

static void large_frame(size_t length)
{
    static const char many[255 * 4096];
    go_on(SIZE_MAX);
    frame_put(&scene.ours, 1, many, length);
    go_on(SIZE_MAX);
}

static void any_bytes(struct fuzz_input *input)
{
    size_t length;
    uint8_t *bytes = fuzz_bytes(input, &length);
    scene.strange |= length > 0;
    give(bytes, length);
    free(bytes);
}

static void put(struct fuzz_input *input)
{
    struct wire_writer frame = { 0 };
    size_t length;
    uint16_t type = (uint16_t)(CAST_TYPE + fuzz_u8(input));
    uint8_t *bytes = fuzz_bytes(input, &length);
    frame_put(&frame, type, bytes, length);
    bool amid = !frame_boundary_is_here(&scene.multicast.boundary);
    if (tunnel_multicast_put(&scene.multicast, &scene.end, frame.data, frame.length))
        wire_put_bytes(amid ? &scene.held : &scene.expected, frame.data, frame.length);
    PROMISE(tunnel_end_queued(&scene.end) + scene.multicast.held.length <=
            2 * TUNNEL_WINDOW + TUNNEL_MULTICAST_MAX);
    wire_writer_fini(&frame);
    free(bytes);
}

static void step(struct fuzz_input *input)
{
    switch (fuzz_u8(input) % 7) {
    case 0:
        begin_frame(input);
        go_on(SIZE_MAX);
        break;
    case 1:
        begin_frame(input);
        go_on(fuzz_u8(input));
        break;
    case 2:
        go_on(SIZE_MAX);
        break;
    case 3:
        any_bytes(input);
        break;
    case 4:
        put(input);
        break;
    case 5:
        if (tunnel_end_queued(&scene.end) == 0)
            scene.end.may_come = TUNNEL_WINDOW;
        break;
    default:
        large_frame(4096 * (size_t)fuzz_u8(input));
    }
}

/* ---- all ---- */

static void begin(void)
{
    int pair[2];
    memset(&scene, 0, sizeof scene);
    signal(SIGPIPE, SIG_IGN);
    PROMISE(uv_loop_init(&scene.loop) == 0);
    PROMISE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    scene.host = pair[1];
    PROMISE(tunnel_end_open(&scene.end, &scene.loop, pair[0], NULL, 0, NULL) == HVD_OK);
    frame_reader_init(&scene.reader, FRAME_BODY_MAX);
}

/* What hvdrun has not refused has come, but for a frame that has not ended and what waits for
 * that. */
static void finish(void)
{
    for (size_t before = SIZE_MAX; before != scene.nheard;) {
        before = scene.nheard;
        hear();
    }
    if (!scene.broken && !scene.strange && frame_boundary_is_here(&scene.multicast.boundary))
        PROMISE(scene.nheard == scene.expected.length && scene.multicast.held.length == 0);
    tunnel_end_close(&scene.end, NULL);
    uv_run(&scene.loop, UV_RUN_DEFAULT);
    PROMISE(uv_loop_close(&scene.loop) == 0);
    close(scene.host);
    tunnel_multicast_fini(&scene.multicast);
    frame_reader_fini(&scene.reader);
    wire_writer_fini(&scene.ours);
    wire_writer_fini(&scene.held);
    wire_writer_fini(&scene.expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    begin();
    bool reads = (fuzz_u8(&input) & 1) == 0;
    for (int i = 0; i < STEPS && input.left > 0 && !scene.broken; i++) {
        step(&input);
        if (reads)
            hear();
    }
    finish();
    return 0;
}
