/* SPDX-License-Identifier: Apache-2.0 */
/* A link whose other side reads when the test does. */
#include "launcher/protocol/frame_link.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LARGE = 1 << 20 };

static uv_loop_t loop;
static struct frame_link ours;
static int other;
static int ends; /* times that the link was reported as ended */
static int ended_with;
static bool no_memory;

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_realloc(void *memory, size_t size)
{
    return no_memory ? NULL : __real_realloc(memory, size);
}

static int on_frame(void *context, const struct frame *frame, struct err *err)
{
    (void)context, (void)frame, (void)err; /* nobody says anything here */
    return HVD_ERR_PROTOCOL;
}

static void on_end(void *context, const struct err *err)
{
    (void)context;
    ends++;
    ended_with = err->code;
}

static void setup(void)
{
    static const struct frame_link_events events = { .on_frame = on_frame, .on_end = on_end };
    int pair[2];
    ends = 0;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    ck_assert_int_eq(frame_link_open(&ours, &loop, pair[0], pair[0], &events, NULL, NULL), HVD_OK);
    other = pair[1];
}

static void teardown(void)
{
    frame_link_close(&ours, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    close(other);
}

static void send_frame(size_t length)
{
    static const char body[LARGE];
    wire_put_bytes(frame_link_begin(&ours, 1), body, length);
    frame_link_send(&ours);
}

static void read_some(size_t length)
{
    static char body[LARGE];
    while (length > 0) {
        ssize_t n = recv(other, body, length, MSG_DONTWAIT);
        length -= n > 0 ? (size_t)n : 0;
        uv_run(&loop, UV_RUN_NOWAIT);
    }
}

START_TEST(what_fits_into_the_kernel_does_not_wait)
{
    bool waits = true;
    ck_assert_uint_eq(frame_link_written(&ours, &waits), 0);
    ck_assert(!waits);
    send_frame(8);
    uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_uint_eq(frame_link_written(&ours, &waits), FRAME_HEADER_SIZE + 8);
    ck_assert(!waits);
}
END_TEST

/* Bytes that the other side can read now. */
static ssize_t readable(void)
{
    static char body[LARGE];
    return recv(other, body, sizeof body, MSG_DONTWAIT | MSG_PEEK);
}

START_TEST(the_frames_of_a_turn_leave_together_at_its_end)
{
    send_frame(8);
    send_frame(0);
    send_frame(8);
    ck_assert_int_lt(readable(), 0);
    ck_assert_uint_eq(frame_link_queued(&ours), 3 * FRAME_HEADER_SIZE + 16);
    uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_int_eq(readable(), 3 * FRAME_HEADER_SIZE + 16);
}
END_TEST

START_TEST(what_is_in_a_hurry_leaves_before_the_end_of_the_turn)
{
    send_frame(8);
    frame_link_hurry(&ours);
    ck_assert_int_eq(readable(), FRAME_HEADER_SIZE + 8);
    send_frame(0);
    frame_link_hurry(&ours); /* the first write is still under way, as far as is known */
    ck_assert_int_eq(readable(), FRAME_HEADER_SIZE + 8);
    uv_run(&loop, UV_RUN_NOWAIT);
    uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_int_eq(readable(), 2 * FRAME_HEADER_SIZE + 8);
    frame_link_hurry(&ours); /* nothing waits */
    ck_assert_uint_eq(frame_link_queued(&ours), 0);
}
END_TEST

/* A large first frame is written at once, and that it was is not known before the next turn. */
static const size_t lengths[] = { 8, 64 * 1024 };

START_TEST(what_a_turn_has_sent_leaves_before_the_link_is_closed)
{
    send_frame(lengths[_i]);
    send_frame(8);
    frame_link_close(&ours, NULL);
    ck_assert_int_eq(readable(), (ssize_t)(2 * FRAME_HEADER_SIZE + lengths[_i] + 8));
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    close(other);
    setup(); /* for teardown() */
}
END_TEST

START_TEST(what_does_not_fit_leaves_as_it_is_read)
{
    bool waits = false;
    send_frame(LARGE);
    send_frame(8); /* gathers behind it */
    uint64_t before = frame_link_written(&ours, &waits);
    ck_assert(waits);
    ck_assert_uint_lt(before, LARGE);
    uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_uint_eq(frame_link_written(&ours, &waits), before); /* nobody reads */
    read_some(LARGE / 2);
    ck_assert_uint_gt(frame_link_written(&ours, &waits), before);
    read_some(LARGE / 2);
    read_some(2 * FRAME_HEADER_SIZE + 8);
    ck_assert_uint_eq(frame_link_written(&ours, &waits), LARGE + 2 * FRAME_HEADER_SIZE + 8);
    ck_assert(!waits);
}
END_TEST

/* Who sends may be answering somebody whom the end of the link would take away. */
START_TEST(out_of_memory_the_end_is_not_told_to_who_is_sending)
{
    no_memory = true;
    send_frame(LARGE);
    no_memory = false;
    ck_assert_int_eq(ends, 0);
    send_frame(8);
    uv_run(&loop, UV_RUN_NOWAIT);
    uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_int_eq(ends, 1);
    ck_assert_int_eq(ended_with, HVD_ERR_NOMEM);
}
END_TEST

/* It might never close: nothing would be sent any more, and nothing told. */
START_TEST(an_other_side_that_reads_no_more_is_the_end)
{
    signal(SIGPIPE, SIG_IGN);
    shutdown(other, SHUT_RD);
    send_frame(8);
    while (ends == 0)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_int_eq(ended_with, HVD_ERR_SYSTEM);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frame_link");
    TCase *tcase = tcase_create("written");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, what_fits_into_the_kernel_does_not_wait);
    tcase_add_test(tcase, the_frames_of_a_turn_leave_together_at_its_end);
    tcase_add_test(tcase, what_is_in_a_hurry_leaves_before_the_end_of_the_turn);
    tcase_add_loop_test(tcase, what_a_turn_has_sent_leaves_before_the_link_is_closed, 0,
                        sizeof lengths / sizeof *lengths);
    tcase_add_test(tcase, what_does_not_fit_leaves_as_it_is_read);
    tcase_add_test(tcase, out_of_memory_the_end_is_not_told_to_who_is_sending);
    tcase_add_test(tcase, an_other_side_that_reads_no_more_is_the_end);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
