/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of what hvdrun sends to a host: a job_host whose link has its other end here, where
 * frames are read. Nothing is written to it. */
#ifndef TESTS_SUPPORT_HOST_LINK_FIXTURE_H
#define TESTS_SUPPORT_HOST_LINK_FIXTURE_H

#include "launcher/job/job_host_impl.h"
#include "tests/support/unit.h"

#include <sys/socket.h>
#include <unistd.h>

static uv_loop_t loop;
static struct job_host host;
static int agent_end; /* of the link */
static struct frame_reader from_hvdrun;

static int no_frame(void *context, const struct frame *frame, struct err *err)
{
    (void)context, (void)frame, (void)err;
    ck_abort_msg("the agent writes nothing to its end");
    return HVD_OK;
}

static void on_link_end(void *context, const struct err *err)
{
    (void)context;
    ck_abort_msg("the link has ended: %s", err->text);
}

/* Makes `host` of these values, and its link. */
static inline void host_link_set_up(struct job_host values)
{
    static const struct frame_link_events events = { .on_frame = no_frame, .on_end = on_link_end };
    int ends[2];
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    host = values;
    host.loop = &loop;
    ck_assert_int_eq(frame_link_open(&host.link, &loop, ends[0], ends[0], &events, &host, NULL),
                     HVD_OK);
    agent_end = ends[1];
    frame_reader_init(&from_hvdrun, FRAME_BODY_MAX);
}

static inline void host_link_tear_down(void)
{
    frame_link_close(&host.link, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    frame_reader_fini(&from_hvdrun);
    close(agent_end);
}

/* Has hvdrun sent a frame? Looks at what has arrived, after one turn of the loop. */
static inline bool host_link_comes(struct frame *frame)
{
    struct err err;
    int rc = frame_reader_next(&from_hvdrun, frame, &err);
    if (rc == 0) {
        size_t room;
        uv_run(&loop, UV_RUN_NOWAIT);
        void *space = frame_reader_space(&from_hvdrun, &room);
        ssize_t n = recv(agent_end, space, room, MSG_DONTWAIT);
        frame_reader_commit(&from_hvdrun, n > 0 ? (size_t)n : 0);
        rc = n > 0 ? frame_reader_next(&from_hvdrun, frame, &err) : 0;
    }
    ck_assert_msg(rc >= 0, "%s", err.text);
    return rc > 0;
}

#endif
