/* SPDX-License-Identifier: Apache-2.0 */
/* A START, SIGNAL or STOP that goes to an agent and to all hosts below it. Commands stand in for
 * those hosts: they return what the agent writes into their tunnels, or do not read. Fails: a
 * MULTICAST that is malformed, that carries another frame or is out of turn, what goes through a
 * tunnel and is no frame, and a host below that does not read. */
#include "launcher/protocol/agent_protocol.h"
#include "launcher/tree/tunnel_multicast.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TUNNELS = 3 };

#define COMMAND(...)                                                                               \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static struct agent_fixture agent;
static struct frame_reader below[TUNNELS]; /* what has come through each tunnel */

static void bring_to_ready(void)
{
    agent_fixture_start(&agent, NULL);
    agent_fixture_describe(&agent,
                           &(struct agent_fixture_job){ .arguments = COMMAND("sleep", "1000") });
    agent_fixture_until(&agent, AGENT_READY);
    for (int i = 0; i < TUNNELS; i++)
        frame_reader_init(&below[i], FRAME_BODY_MAX);
}

/* The number of a tunnel, and bytes behind it. */
static void send_to_tunnel(int type, int tunnel, const void *bytes, size_t length)
{
    struct wire_writer body = { 0 };
    wire_put_u32(&body, (uint32_t)tunnel);
    wire_put_bytes(&body, bytes, length);
    agent_fixture_send(&agent, type, body.data, body.length);
    wire_writer_fini(&body);
}

static void open_tunnel(int tunnel, const char *const *words)
{
    struct wire_writer texts = { 0 };
    for (; *words; words++)
        wire_put_string(&texts, *words);
    send_to_tunnel(AGENT_TUNNEL_OPEN, tunnel, texts.data, texts.length);
    wire_writer_fini(&texts);
}

static void send_multicast(int type, const void *carried, size_t length)
{
    struct wire_writer body = { 0 };
    wire_put_u16(&body, (uint16_t)type);
    wire_put_bytes(&body, carried, length);
    agent_fixture_send(&agent, AGENT_MULTICAST, body.data, body.length);
    wire_writer_fini(&body);
}

static void send_signal(int signum)
{
    struct wire_writer body = { 0 };
    wire_put_i32(&body, signum);
    send_multicast(AGENT_SIGNAL, body.data, body.length);
    wire_writer_fini(&body);
}

static void send_stop(void)
{
    struct wire_writer body = { 0 };
    agent_stop_encode(&body, &(struct agent_stop){ SIGTERM, 0 });
    send_multicast(AGENT_STOP, body.data, body.length);
    wire_writer_fini(&body);
}

/* Reads the next frame that has come through a tunnel. */
static struct frame from_tunnel(int tunnel)
{
    struct frame frame;
    while (frame_reader_next(&below[tunnel], &frame, NULL) == 0) {
        struct wire_reader body = agent_fixture_until(&agent, AGENT_TUNNEL_DATA);
        uint32_t number = wire_get_u32(&body);
        ck_assert_uint_lt(number, TUNNELS);
        while (body.left > 0) {
            size_t room;
            void *space = frame_reader_space(&below[number], &room);
            size_t length = body.left < room ? body.left : room;
            memcpy(space, wire_get_bytes(&body, length), length);
            frame_reader_commit(&below[number], length);
        }
    }
    return frame;
}

/* The next frame that has come through the tunnel carries a frame of that type. */
static struct wire_reader carried_by_tunnel(int tunnel, int type)
{
    struct frame frame = from_tunnel(tunnel);
    struct wire_reader body;
    ck_assert_int_eq(frame.type, AGENT_MULTICAST);
    wire_reader_init(&body, frame.body, frame.length);
    ck_assert_int_eq(wire_get_u16(&body), type);
    return body;
}

static void describe_tunnel(int tunnel)
{
    static const int types[] = { AGENT_JOB, AGENT_ARGUMENTS, AGENT_ARGUMENTS, AGENT_ENVIRONMENT };
    send_to_tunnel(AGENT_TUNNEL_DESCRIBE, tunnel, "", 0);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        ck_assert_int_eq(from_tunnel(tunnel).type, types[i]);
}

static void check_that_it_ends(const char *text)
{
    ck_assert_int_eq(agent_fixture_wait(&agent), 0);
    char *messages = agent_fixture_messages(&agent);
    ck_assert_msg(strstr(messages, text), "no '%s' in '%s'", text, messages);
    free(messages);
    for (int i = 0; i < TUNNELS; i++)
        frame_reader_fini(&below[i]);
}

static void end_it(void)
{
    ck_assert_int_eq(agent_fixture_stop(&agent), 0);
    for (int i = 0; i < TUNNELS; i++)
        frame_reader_fini(&below[i]);
}

/* From START to STOP: the rank of this host would sleep for longer than the test may take. */
START_TEST(an_agent_does_what_a_multicast_carries_and_passes_it_on)
{
    struct agent_stop stop;
    bring_to_ready();
    for (int i = 0; i < 2; i++) {
        open_tunnel(i, COMMAND("cat"));
        describe_tunnel(i);
    }
    send_multicast(AGENT_START, NULL, 0);
    for (int i = 0; i < 2; i++)
        ck_assert_uint_eq(carried_by_tunnel(i, AGENT_START).left, 0);
    send_signal(SIGWINCH);
    for (int i = 0; i < 2; i++) {
        struct wire_reader body = carried_by_tunnel(i, AGENT_SIGNAL);
        ck_assert_int_eq(wire_get_i32(&body), SIGWINCH);
        ck_assert(wire_reader_finished(&body));
    }
    send_stop();
    for (int i = 0; i < 2; i++) {
        struct wire_reader body = carried_by_tunnel(i, AGENT_STOP);
        ck_assert_int_eq(agent_stop_decode(&stop, &body, NULL), HVD_OK);
        ck_assert_int_eq(stop.signum, SIGTERM);
    }
    send_to_tunnel(AGENT_TUNNEL_CLOSE, 0, "", 1);
    send_to_tunnel(AGENT_TUNNEL_CLOSE, 1, "", 1);
    struct wire_reader body = agent_fixture_until(&agent, AGENT_DONE);
    ck_assert_int_eq(wire_get_i32(&body), 0);
    check_that_it_ends("");
}
END_TEST

/* The agent is not done, because a host below may still run. */
START_TEST(an_agent_whose_ranks_have_ended_passes_a_multicast_on)
{
    bring_to_ready();
    open_tunnel(0, COMMAND("cat"));
    describe_tunnel(0);
    send_multicast(AGENT_START, NULL, 0);
    pid_t rank = agent_fixture_until_started(&agent); /* before what the command answers */
    carried_by_tunnel(0, AGENT_START);
    kill(rank, SIGKILL);
    agent_fixture_until(&agent, AGENT_EXITED);
    send_signal(SIGWINCH);
    carried_by_tunnel(0, AGENT_SIGNAL);
    send_stop();
    carried_by_tunnel(0, AGENT_STOP);
    send_to_tunnel(AGENT_TUNNEL_CLOSE, 0, "", 1);
    agent_fixture_until(&agent, AGENT_DONE);
    check_that_it_ends("");
}
END_TEST

/* Half of a HEARTBEAT for the host below is on its way. */
START_TEST(a_frame_of_hvdrun_that_has_begun_goes_before_a_multicast)
{
    struct wire_writer heartbeat = { 0 };
    frame_put(&heartbeat, AGENT_HEARTBEAT, "12345678", 8);
    bring_to_ready();
    open_tunnel(0, COMMAND("cat"));
    describe_tunnel(0);
    send_to_tunnel(AGENT_TUNNEL_DATA, 0, heartbeat.data, 10);
    send_signal(SIGWINCH);
    send_to_tunnel(AGENT_TUNNEL_DATA, 0, heartbeat.data + 10, heartbeat.length - 10);
    send_to_tunnel(AGENT_TUNNEL_DATA, 0, heartbeat.data, heartbeat.length);
    wire_writer_fini(&heartbeat);
    ck_assert_int_eq(from_tunnel(0).type, AGENT_HEARTBEAT);
    carried_by_tunnel(0, AGENT_SIGNAL);
    ck_assert_int_eq(from_tunnel(0).type, AGENT_HEARTBEAT);
    end_it();
}
END_TEST

/* In tunnel 0 a shell may still wait for its script, tunnel 1 has been closed, and tunnel 2 gets
 * the MULTICAST alone. */
START_TEST(only_agents_that_were_described_to_get_it)
{
    bring_to_ready();
    for (int i = 0; i < TUNNELS; i++)
        open_tunnel(i, COMMAND("cat"));
    describe_tunnel(1);
    describe_tunnel(2);
    send_to_tunnel(AGENT_TUNNEL_CLOSE, 1, "", 1);
    send_signal(SIGWINCH);
    carried_by_tunnel(2, AGENT_SIGNAL);
    send_to_tunnel(AGENT_TUNNEL_DATA, 0, "x", 1);
    struct wire_reader body = agent_fixture_until(&agent, AGENT_TUNNEL_DATA);
    ck_assert_uint_eq(wire_get_u32(&body), 0);
    ck_assert_uint_eq(body.left, 1);
    end_it();
}
END_TEST

/* What a socket of the agent holds at most, unread. */
static size_t socket_size(void)
{
    int pair[2], size = 0;
    socklen_t length = sizeof size;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ck_assert_int_eq(getsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, &length), 0);
    close(pair[0]);
    close(pair[1]);
    return (size_t)size;
}

/* The command never reads. Its socket and the room that a host has hold less than is sent. */
START_TEST(a_child_that_does_not_read_is_cut_off)
{
    const size_t room = socket_size() + TUNNEL_WINDOW + TUNNEL_MULTICAST_MAX;
    char why[TUNNEL_TEXT_SIZE];
    struct wire_writer body = { 0 }, frames = { 0 };
    bring_to_ready();
    open_tunnel(0, COMMAND("sleep", "1000"));
    send_to_tunnel(AGENT_TUNNEL_DESCRIBE, 0, "", 0);
    wire_put_u16(&body, AGENT_SIGNAL);
    wire_put_i32(&body, SIGWINCH);
    while (frames.length <= room)
        frame_put(&frames, AGENT_MULTICAST, body.data, body.length);
    agent_fixture_send_bytes(&agent, frames.data, frames.length);
    wire_writer_fini(&body);
    wire_writer_fini(&frames);
    struct wire_reader end = agent_fixture_until(&agent, AGENT_TUNNEL_END);
    ck_assert_uint_eq(wire_get_u32(&end), 0);
    wire_get_string(&end, why, sizeof why);
    ck_assert_str_eq(why, "the agent there does not read what it is sent");
    agent_fixture_send(&agent, AGENT_HEARTBEAT, "12345678", 8);
    agent_fixture_until(&agent, AGENT_HEARTBEAT);
    end_it();
}
END_TEST

static const char too_long[AGENT_MULTICAST_MAX - 1];

/* What it carries, and what the agent says of that. */
static const struct {
    int type;
    const char *carried;
    size_t length;
    const char *text;
} refused[] = {
    { AGENT_JOB, "", 0, "malformed MULTICAST" },
    { AGENT_MULTICAST, "", 0, "malformed MULTICAST" },
    { AGENT_STOP_RANK, "", 0, "malformed MULTICAST" },
    { AGENT_START, too_long, sizeof too_long, "malformed MULTICAST" },
    { AGENT_START, "x", 1, "malformed START" },
    { AGENT_SIGNAL, "\0\0\0", 3, "malformed SIGNAL" },
    { AGENT_SIGNAL, "\0\0\0\0", 4, "SIGNAL with signal 0" },
    { AGENT_STOP, "\143\0\0\0\0\0\0\0", 8, "STOP with signal 99" },
};

START_TEST(what_a_multicast_may_not_carry_ends_the_agent)
{
    bring_to_ready();
    send_multicast(refused[_i].type, refused[_i].carried, refused[_i].length);
    check_that_it_ends(refused[_i].text);
}
END_TEST

START_TEST(a_multicast_without_a_type_ends_the_agent)
{
    bring_to_ready();
    agent_fixture_send(&agent, AGENT_MULTICAST, "\10", (size_t)_i);
    check_that_it_ends("malformed MULTICAST");
}
END_TEST

START_TEST(a_multicast_before_the_agent_is_ready_is_out_of_turn)
{
    agent_fixture_start(&agent, NULL);
    send_stop();
    check_that_it_ends("MULTICAST frame out of turn");
}
END_TEST

START_TEST(what_it_carries_must_be_in_turn_too)
{
    bring_to_ready();
    send_multicast(AGENT_START, NULL, 0);
    agent_fixture_until(&agent, AGENT_STARTED);
    send_multicast(AGENT_START, NULL, 0);
    check_that_it_ends("START frame out of turn");
}
END_TEST

START_TEST(what_goes_to_a_child_and_is_no_frame_ends_the_agent)
{
    bring_to_ready();
    open_tunnel(0, COMMAND("cat"));
    describe_tunnel(0);
    send_to_tunnel(AGENT_TUNNEL_DATA, 0, "GET / HTTP/1.1\r\n\r\n", 18);
    check_that_it_ends("what goes through a tunnel is no frame");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_multicast");
    TCase *tcase = tcase_create("multicast");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, an_agent_does_what_a_multicast_carries_and_passes_it_on);
    tcase_add_test(tcase, an_agent_whose_ranks_have_ended_passes_a_multicast_on);
    tcase_add_test(tcase, a_frame_of_hvdrun_that_has_begun_goes_before_a_multicast);
    tcase_add_test(tcase, only_agents_that_were_described_to_get_it);
    tcase_add_test(tcase, a_child_that_does_not_read_is_cut_off);
    tcase_add_loop_test(tcase, what_a_multicast_may_not_carry_ends_the_agent, 0,
                        sizeof refused / sizeof *refused);
    tcase_add_loop_test(tcase, a_multicast_without_a_type_ends_the_agent, 0, 2);
    tcase_add_test(tcase, a_multicast_before_the_agent_is_ready_is_out_of_turn);
    tcase_add_test(tcase, what_it_carries_must_be_in_turn_too);
    tcase_add_test(tcase, what_goes_to_a_child_and_is_no_frame_ends_the_agent);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
