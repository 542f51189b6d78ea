/* SPDX-License-Identifier: Apache-2.0 */
/* hvdrun's end of a tunnel, with a test that plays the agent at the other end of the link and the
 * owner of the descriptor. */
#include "launcher/tree/tunnels.h"

#include "launcher/base/xalloc.h"
#include "launcher/protocol/agent_protocol.h"
#include "launcher/tree/tunnel_end.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static uv_loop_t loop;
static struct frame_link ours, agents;
static struct tunnels tunnels;
static struct tunnel *tunnel;
static int stream; /* the other end of the tunnel's descriptor */

/* What the agent has heard. */
static char opened[100], came[64 * 1024];
static size_t ncame;
static uint64_t total, credit;
static int closes, given_up, describes;

/* What the owner has heard. */
static char errors[100], ended[200];
static int ends, closed;
static int link_error;

static int on_our_frame(void *context, const struct frame *frame, struct err *err)
{
    struct wire_reader body;
    (void)context;
    wire_reader_init(&body, frame->body, frame->length);
    ck_assert(tunnels_has_frame(frame->type));
    return tunnels_on_frame(&tunnels, frame->type, &body, err);
}

static void on_our_end(void *context, const struct err *err)
{
    (void)context;
    link_error = err->code;
}

static void take_words(struct wire_reader *body)
{
    while (body->left > 0) {
        struct wire_text text = wire_get_text(body);
        snprintf(opened + strlen(opened), sizeof opened - strlen(opened), "%.*s|", (int)text.length,
                 text.data);
    }
}

static void take_script(struct wire_reader *body)
{
    char nonce[20], path[20];
    wire_get_string(body, nonce, sizeof nonce);
    wire_get_string(body, path, sizeof path);
    snprintf(opened, sizeof opened, "%s of %s, %llu bytes", nonce, path,
             (unsigned long long)wire_get_u64(body));
    ck_assert(wire_reader_finished(body));
}

static int on_agents_frame(void *context, const struct frame *frame, struct err *err)
{
    struct wire_reader body;
    (void)context, (void)err;
    wire_reader_init(&body, frame->body, frame->length);
    ck_assert_uint_eq(wire_get_u32(&body), 0);
    if (frame->type == AGENT_TUNNEL_OPEN) {
        take_words(&body);
    } else if (frame->type == AGENT_TUNNEL_DATA) {
        size_t length = body.left;
        const void *data = wire_get_bytes(&body, length);
        total += length;
        if (ncame + length <= sizeof came)
            memcpy(came + ncame, data, length);
        ncame += length;
    } else if (frame->type == AGENT_TUNNEL_SCRIPT) {
        take_script(&body);
    } else if (frame->type == AGENT_TUNNEL_DESCRIBE) {
        ck_assert_uint_eq(body.left, 0);
        describes++;
    } else if (frame->type == AGENT_TUNNEL_CREDIT) {
        credit += wire_get_u32(&body);
    } else {
        ck_assert_int_eq(frame->type, AGENT_TUNNEL_CLOSE);
        given_up = wire_get_u8(&body);
        closes++;
    }
    ck_assert(!body.failed);
    return HVD_OK;
}

static void on_agents_end(void *context, const struct err *err)
{
    (void)context, (void)err;
}

static void on_errors(void *context, const char *data, size_t length)
{
    (void)context;
    snprintf(errors, sizeof errors, "%.*s", (int)length, data);
}

static void on_tunnel_end(void *context, const char *text)
{
    (void)context;
    ends++;
    snprintf(ended, sizeof ended, "%s", text);
}

static void on_tunnel_closed(void *context)
{
    (void)context;
    closed++;
}

static void turn(void)
{
    for (int i = 0; i < 20; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
}

static void open_tunnel(void)
{
    static const struct tunnel_events events = { on_errors, on_tunnel_end };
    struct string_list words = { 0 };
    int pair[2];
    string_list_take(&words, xstrdup("ssh"));
    string_list_take(&words, xstrdup("node 2"));
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    stream = pair[0];
    tunnel = tunnel_open(&tunnels, &loop, pair[1], &words, &events, NULL, NULL);
    string_list_fini(&words);
}

static void setup(void)
{
    static const struct frame_link_events our_events = { .on_frame = on_our_frame,
                                                         .on_end = on_our_end };
    static const struct frame_link_events agents_events = { .on_frame = on_agents_frame,
                                                            .on_end = on_agents_end };
    int pair[2];
    tunnels = (struct tunnels){ .link = &ours };
    *opened = *errors = *ended = '\0';
    ncame = 0;
    total = credit = 0;
    describes = closes = ends = closed = link_error = 0;
    given_up = -1;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    ck_assert_int_eq(frame_link_open(&ours, &loop, pair[0], pair[0], &our_events, NULL, NULL), 0);
    ck_assert_int_eq(frame_link_open(&agents, &loop, pair[1], pair[1], &agents_events, NULL, NULL),
                     0);
    open_tunnel();
    ck_assert_ptr_nonnull(tunnel);
    turn();
}

static void teardown(void)
{
    if (tunnel)
        tunnel_close(tunnel, false, on_tunnel_closed, NULL);
    tunnels_cut(&tunnels, "");
    tunnels_fini(&tunnels);
    frame_link_close(&ours, NULL);
    frame_link_close(&agents, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(closed, tunnel ? 1 : 0);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    close(stream);
}

static void agent_says(int type, uint32_t number, const void *bytes, size_t length)
{
    struct wire_writer *body = frame_link_begin(&agents, (uint16_t)type);
    wire_put_u32(body, number);
    wire_put_bytes(body, bytes, length);
    frame_link_send(&agents);
}

static void agent_ends(const char *text)
{
    struct wire_writer *body = frame_link_begin(&agents, AGENT_TUNNEL_END);
    wire_put_u32(body, 0);
    wire_put_string(body, text);
    frame_link_send(&agents);
    turn();
}

START_TEST(the_agent_gets_the_words_and_bytes_go_both_ways)
{
    char data[10] = "";
    ck_assert_str_eq(opened, "ssh|node 2|");
    ck_assert_int_eq(write(stream, "there", 5), 5);
    turn();
    ck_assert_uint_eq(ncame, 5);
    ck_assert_mem_eq(came, "there", 5);
    agent_says(AGENT_TUNNEL_DATA, 0, "back", 4);
    turn();
    ck_assert_int_eq(read(stream, data, sizeof data), 4);
    ck_assert_str_eq(data, "back");
}
END_TEST

START_TEST(the_agent_is_asked_for_a_script)
{
    tunnel_script(tunnel, "0123456789abcdef", "/opt/hvdagent", UINT64_C(5000000000));
    turn();
    ck_assert_str_eq(opened, "0123456789abcdef of /opt/hvdagent, 5000000000 bytes");
}
END_TEST

START_TEST(the_agent_is_asked_to_describe_the_job_unless_the_tunnel_has_ended)
{
    tunnel_describe(tunnel);
    turn();
    ck_assert_int_eq(describes, 1);
    agent_ends("");
    tunnel_describe(tunnel);
    turn();
    ck_assert_int_eq(describes, 1);
}
END_TEST

/* Our own bytes come between those before and those behind them, and cost no credit. */
START_TEST(bytes_of_our_own_take_no_credit)
{
    static char piece[TUNNEL_WINDOW], own[TUNNEL_WINDOW];
    static char got[3 * TUNNEL_WINDOW];
    size_t ngot = 0;
    int pair[2];
    struct tunnel_end end;
    memset(own, 'o', sizeof own);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    ck_assert_int_eq(tunnel_end_open(&end, &loop, pair[1], NULL, 0, NULL), HVD_OK);
    ck_assert_int_eq(tunnel_end_take(&end, piece, sizeof piece / 2, NULL), HVD_OK);
    tunnel_end_put(&end, own, sizeof own);
    ck_assert_int_eq(tunnel_end_take(&end, piece, sizeof piece / 2, NULL), HVD_OK);
    ck_assert_int_eq(tunnel_end_take(&end, piece, 1, NULL), HVD_ERR_PROTOCOL);
    while (ngot < sizeof piece + sizeof own) {
        ssize_t n = read(pair[0], got + ngot, sizeof got - ngot);
        ngot += n > 0 ? (size_t)n : 0;
        turn();
    }
    ck_assert_uint_eq(ngot, sizeof piece + sizeof own);
    ck_assert_mem_eq(got, piece, sizeof piece / 2);
    ck_assert_mem_eq(got + sizeof piece / 2, own, sizeof own);
    ck_assert_mem_eq(got + sizeof piece / 2 + sizeof own, piece, sizeof piece / 2);
    ck_assert_uint_eq(end.untold, sizeof piece);
    tunnel_end_close(&end, NULL);
    turn();
    close(pair[0]);
}
END_TEST

START_TEST(no_more_is_sent_than_there_is_credit_for)
{
    static const char much[64 * 1024];
    for (int i = 0; i < 100; i++) {
        ssize_t n = write(stream, much, sizeof much);
        ck_assert(n != 0);
        turn();
    }
    ck_assert_uint_eq(total, TUNNEL_WINDOW);
    struct wire_writer *body = frame_link_begin(&agents, AGENT_TUNNEL_CREDIT);
    wire_put_u32(body, 0);
    wire_put_u32(body, 1000);
    frame_link_send(&agents);
    turn();
    ck_assert_uint_eq(total, TUNNEL_WINDOW + 1000);
}
END_TEST

/* The owner reads nothing, so nothing is written, and there is no credit for it. */
START_TEST(a_reader_that_stops_gives_no_credit)
{
    static char piece[TUNNEL_WINDOW / 8];
    size_t got = 0;
    for (int i = 0; i < 8; i++)
        agent_says(AGENT_TUNNEL_DATA, 0, piece, sizeof piece);
    turn();
    uint64_t before = credit;
    ck_assert_uint_lt(before, TUNNEL_WINDOW);
    while (got < TUNNEL_WINDOW) {
        ssize_t n = read(stream, piece, sizeof piece);
        got += n > 0 ? (size_t)n : 0;
        turn();
    }
    ck_assert_uint_gt(credit, before);
    ck_assert_int_eq(link_error, HVD_OK);
}
END_TEST

START_TEST(more_than_the_credit_is_an_error_of_the_link)
{
    static const char piece[TUNNEL_WINDOW + 1];
    agent_says(AGENT_TUNNEL_DATA, 0, piece, sizeof piece);
    turn();
    ck_assert_int_eq(link_error, HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(credit_that_was_not_used_is_an_error_of_the_link)
{
    agent_says(AGENT_TUNNEL_CREDIT, 0, "\0\0\0\1", 4);
    turn();
    ck_assert_int_eq(link_error, HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(a_tunnel_that_was_never_opened_is_an_error_of_the_link)
{
    agent_says(AGENT_TUNNEL_DATA, 1, "x", 1);
    turn();
    ck_assert_int_eq(link_error, HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(stderr_of_the_command_is_passed_on)
{
    agent_says(AGENT_TUNNEL_ERRORS, 0, "refused\n", 8);
    turn();
    ck_assert_str_eq(errors, "refused\n");
}
END_TEST

START_TEST(what_came_before_the_end_can_be_read_after_it)
{
    char data[10];
    agent_says(AGENT_TUNNEL_DATA, 0, "last", 4);
    agent_ends("'ssh' exited with status 255");
    ck_assert_int_eq(ends, 1);
    ck_assert_str_eq(ended, "'ssh' exited with status 255");
    ck_assert_int_eq(read(stream, data, sizeof data), 4);
    ck_assert_int_eq(read(stream, data, sizeof data), 0);
    ck_assert_int_eq(tunnels.nopen, 0);
}
END_TEST

START_TEST(the_end_of_our_stream_is_told_once)
{
    shutdown(stream, SHUT_WR);
    turn();
    ck_assert_int_eq(closes, 1);
    ck_assert_int_eq(given_up, 0);
    tunnel_close(tunnel, true, on_tunnel_closed, NULL);
    tunnel = NULL;
    turn();
    ck_assert_int_eq(closes, 1);
    ck_assert_int_eq(closed, 1);
    closed = 0;
}
END_TEST

START_TEST(a_tunnel_that_is_given_up_says_so_and_hears_no_more)
{
    tunnel_close(tunnel, true, on_tunnel_closed, NULL);
    tunnel = NULL;
    turn();
    ck_assert_int_eq(closes, 1);
    ck_assert_int_eq(given_up, 1);
    agent_says(AGENT_TUNNEL_DATA, 0, "late", 4);
    agent_says(AGENT_TUNNEL_ERRORS, 0, "late", 4);
    agent_ends("");
    ck_assert_int_eq(ends, 0);
    ck_assert_int_eq(link_error, HVD_OK);
    closed = 0;
}
END_TEST

START_TEST(a_lost_link_ends_its_tunnels)
{
    char data[1];
    tunnels_cut(&tunnels, "node1 was lost");
    turn();
    ck_assert_int_eq(ends, 1);
    ck_assert_str_eq(ended, "node1 was lost");
    ck_assert_int_eq(read(stream, data, 1), 0);
}
END_TEST

START_TEST(a_link_that_is_muted_keeps_its_tunnels_until_they_are_cut)
{
    tunnels_mute(&tunnels);
    ck_assert_int_eq(write(stream, "there", 5), 5);
    shutdown(stream, SHUT_WR);
    turn();
    ck_assert_uint_eq(ncame, 0);
    ck_assert_int_eq(closes, 0);
    ck_assert_int_eq(ends, 0);
    tunnels_cut(&tunnels, "it");
    ck_assert_int_eq(ends, 1);
}
END_TEST

START_TEST(over_a_lost_link_none_is_opened)
{
    static const struct tunnel_events events = { on_errors, on_tunnel_end };
    struct string_list words = { 0 };
    struct err err = { 0 };
    int pair[2];
    tunnels_cut(&tunnels, "");
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_ptr_null(tunnel_open(&tunnels, &loop, pair[1], &words, &events, NULL, &err));
    ck_assert_int_eq(err.code, HVD_ERR_SYSTEM);
    ck_assert_int_eq(read(pair[0], opened, 1), 0);
    close(pair[0]);
}
END_TEST

/* At the end of the test nothing of it is left in the loop. */
START_TEST(with_a_descriptor_that_cannot_be_used_none_is_opened)
{
    static const struct tunnel_events events = { on_errors, on_tunnel_end };
    struct string_list words = { 0 };
    struct err err = { 0 };
    ck_assert_ptr_null(tunnel_open(&tunnels, &loop, -1, &words, &events, NULL, &err));
    ck_assert_int_eq(err.code, HVD_ERR_SYSTEM);
    ck_assert_int_eq(tunnels.nopen, 1);
    ck_assert_uint_eq(tunnels.count, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tunnels");
    TCase *tcase = tcase_create("tunnels");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, the_agent_gets_the_words_and_bytes_go_both_ways);
    tcase_add_test(tcase, the_agent_is_asked_for_a_script);
    tcase_add_test(tcase, the_agent_is_asked_to_describe_the_job_unless_the_tunnel_has_ended);
    tcase_add_test(tcase, bytes_of_our_own_take_no_credit);
    tcase_add_test(tcase, no_more_is_sent_than_there_is_credit_for);
    tcase_add_test(tcase, a_reader_that_stops_gives_no_credit);
    tcase_add_test(tcase, more_than_the_credit_is_an_error_of_the_link);
    tcase_add_test(tcase, credit_that_was_not_used_is_an_error_of_the_link);
    tcase_add_test(tcase, a_tunnel_that_was_never_opened_is_an_error_of_the_link);
    tcase_add_test(tcase, stderr_of_the_command_is_passed_on);
    tcase_add_test(tcase, what_came_before_the_end_can_be_read_after_it);
    tcase_add_test(tcase, the_end_of_our_stream_is_told_once);
    tcase_add_test(tcase, a_tunnel_that_is_given_up_says_so_and_hears_no_more);
    tcase_add_test(tcase, a_lost_link_ends_its_tunnels);
    tcase_add_test(tcase, a_link_that_is_muted_keeps_its_tunnels_until_they_are_cut);
    tcase_add_test(tcase, over_a_lost_link_none_is_opened);
    tcase_add_test(tcase, with_a_descriptor_that_cannot_be_used_none_is_opened);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
