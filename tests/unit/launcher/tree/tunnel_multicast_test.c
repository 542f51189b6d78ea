/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that an agent puts between those of hvdrun, read at the other end of the tunnel. Fails:
 * bytes that are no frames, more of them than there is credit for, and a host that does not
 * read. */
#include "launcher/tree/tunnel_multicast.h"

#include "lib/base/frame.h"
#include "tests/support/unit.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ALONE = 1, CAST = 2 }; /* types of frames */

static uv_loop_t loop;
static struct tunnel_end end;
static struct tunnel_multicast multicast;
static int host; /* the other end */
static struct frame_reader reader;
static struct wire_writer alone; /* what hvdrun sends: two frames with bodies, one without */
static struct err err;

static void setup(void)
{
    int pair[2];
    multicast = (struct tunnel_multicast){ 0 };
    alone = (struct wire_writer){ 0 };
    frame_put(&alone, ALONE, "first body", 10);
    frame_put(&alone, ALONE, "", 0);
    frame_put(&alone, ALONE, "last", 4);
    frame_reader_init(&reader, FRAME_BODY_MAX);
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    ck_assert_int_eq(tunnel_end_open(&end, &loop, pair[1], NULL, 0, NULL), HVD_OK);
    host = pair[0];
}

static void teardown(void)
{
    tunnel_end_close(&end, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    tunnel_multicast_fini(&multicast);
    wire_writer_fini(&alone);
    frame_reader_fini(&reader);
    close(host);
}

static bool put_cast(const char *body)
{
    struct wire_writer frame = { 0 };
    frame_put(&frame, CAST, body, strlen(body));
    bool put = tunnel_multicast_put(&multicast, &end, frame.data, frame.length);
    wire_writer_fini(&frame);
    return put;
}

static int take(size_t from, size_t to)
{
    return tunnel_multicast_take(&multicast, &end, alone.data + from, to - from, &err);
}

/* The bodies of all frames that the host has got, each with a line; of a multicast in brackets. */
static const char *heard(void)
{
    static char text[200];
    struct frame frame;
    ssize_t n;
    do {
        size_t room;
        void *space = frame_reader_space(&reader, &room);
        uv_run(&loop, UV_RUN_NOWAIT);
        n = recv(host, space, room, MSG_DONTWAIT);
        frame_reader_commit(&reader, n > 0 ? (size_t)n : 0);
    } while (n > 0);
    *text = '\0';
    while (frame_reader_next(&reader, &frame, &err) > 0) {
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, frame.type == CAST ? "[%.*s]|" : "%.*s|",
                 (int)frame.length, (const char *)frame.body);
    }
    return text;
}

START_TEST(between_two_frames_it_goes_at_once)
{
    ck_assert(put_cast("a"));
    ck_assert_str_eq(heard(), "[a]|");
    ck_assert_int_eq(take(0, alone.length), HVD_OK);
    ck_assert(put_cast("b"));
    ck_assert_str_eq(heard(), "first body||last|[b]|");
}
END_TEST

/* hvdrun has sent _i bytes of its first frame. */
START_TEST(a_frame_of_hvdrun_that_has_begun_goes_before_it)
{
    ck_assert_int_eq(take(0, (size_t)_i), HVD_OK);
    ck_assert(put_cast("a"));
    ck_assert(put_cast("b"));
    ck_assert_str_eq(heard(), "");
    ck_assert_int_eq(take((size_t)_i, alone.length), HVD_OK);
    ck_assert_str_eq(heard(), "first body|[a]|[b]||last|");
    ck_assert_uint_eq(multicast.held.length, 0);
}
END_TEST

/* The rest comes byte by byte. */
START_TEST(it_waits_for_the_end_of_the_frame_however_long_that_takes)
{
    ck_assert_int_eq(take(0, 1), HVD_OK);
    ck_assert(put_cast("a"));
    for (size_t at = 1; at < alone.length; at++) {
        ck_assert_int_eq(take(at, at + 1), HVD_OK);
        ck_assert_int_eq(multicast.held.length > 0, at + 1 < FRAME_HEADER_SIZE + 10);
    }
    ck_assert_str_eq(heard(), "first body|[a]||last|");
}
END_TEST

START_TEST(it_takes_no_credit_and_gives_none)
{
    uint32_t before = end.may_come;
    ck_assert(put_cast("a"));
    ck_assert_uint_eq(end.may_come, before);
    ck_assert_uint_eq(end.untold, 0);
    ck_assert_int_eq(take(0, alone.length), HVD_OK);
    ck_assert_uint_eq(before - end.may_come, alone.length);
    ck_assert_uint_eq(end.untold, alone.length);
}
END_TEST

START_TEST(bytes_that_are_no_frame_are_refused)
{
    ck_assert_int_eq(tunnel_multicast_take(&multicast, &end, "GET / HTTP/1.1\r\n\r\n", 18, &err),
                     HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, "what goes through a tunnel is no frame");
}
END_TEST

START_TEST(more_than_the_credit_is_refused)
{
    static char body[TUNNEL_WINDOW];
    frame_put(&alone, ALONE, body, sizeof body);
    ck_assert_int_eq(take(0, alone.length), HVD_ERR_PROTOCOL);
}
END_TEST

/* As many as fit are kept, whole, whether hvdrun is in the middle of a frame (1) or not. */
START_TEST(a_host_that_does_not_read_gets_no_more_than_there_is_room_for)
{
    static char body[1000];
    size_t nput = 0, nheard = 0;
    if (_i == 1)
        ck_assert_int_eq(take(0, 1), HVD_OK);
    memset(body, 'x', sizeof body - 1);
    while (put_cast(body))
        nput++;
    ck_assert_uint_gt(nput, TUNNEL_WINDOW / sizeof body);
    ck_assert_uint_le(tunnel_end_queued(&end) + multicast.held.length,
                      TUNNEL_WINDOW + TUNNEL_MULTICAST_MAX);
    ck_assert_int_eq(take(_i == 1 ? 1 : 0, alone.length), HVD_OK);
    for (int idle = 0; idle < 2;) {
        struct frame frame;
        size_t room;
        void *space = frame_reader_space(&reader, &room);
        ssize_t n = recv(host, space, room, MSG_DONTWAIT);
        frame_reader_commit(&reader, n > 0 ? (size_t)n : 0);
        while (frame_reader_next(&reader, &frame, &err) > 0)
            nheard++;
        idle = n > 0 ? 0 : idle + 1;
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    ck_assert_uint_eq(nheard, nput + 3);
    ck_assert(put_cast("a"));
}
END_TEST

/* What is held is freed (the sanitizer looks), and nothing is written any more. */
START_TEST(a_tunnel_may_end_while_a_frame_is_held)
{
    ck_assert_int_eq(take(0, 5), HVD_OK);
    ck_assert(put_cast("a"));
    tunnel_end_finish(&end, NULL);
    ck_assert_int_eq(take(5, alone.length), HVD_OK);
    ck_assert_str_eq(heard(), "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tunnel_multicast");
    TCase *tcase = tcase_create("multicast");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, between_two_frames_it_goes_at_once);
    tcase_add_loop_test(tcase, a_frame_of_hvdrun_that_has_begun_goes_before_it, 1,
                        FRAME_HEADER_SIZE + 10);
    tcase_add_test(tcase, it_waits_for_the_end_of_the_frame_however_long_that_takes);
    tcase_add_test(tcase, it_takes_no_credit_and_gives_none);
    tcase_add_test(tcase, bytes_that_are_no_frame_are_refused);
    tcase_add_test(tcase, more_than_the_credit_is_refused);
    tcase_add_loop_test(tcase, a_host_that_does_not_read_gets_no_more_than_there_is_room_for, 0, 2);
    tcase_add_test(tcase, a_tunnel_may_end_while_a_frame_is_held);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
