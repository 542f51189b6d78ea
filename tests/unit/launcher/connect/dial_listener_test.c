/* SPDX-License-Identifier: Apache-2.0 */
/* Agents that connect to hvdrun: who knows the key gets in, and nobody else. Both sides are ours,
 * or one is the test. */
#include "launcher/agent/agent_dial.h"
#include "launcher/connect/dial_listener.h"
#include "lib/base/frame.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static uv_loop_t loop;
static struct dial_listener *listener;
static struct job_key key;
static int nagents, agent_fd;
static struct dial_hello agent;

static void on_test_agent(void *context, const struct dial_hello *hello, int fd)
{
    (void)context;
    nagents++;
    agent = *hello;
    agent_fd = fd;
    dial_listener_close(listener);
    listener = NULL;
}

static void open_listener(void)
{
    struct err err = { 0 };
    nagents = 0;
    ck_assert_int_eq(auth_init(&err), HVD_OK);
    uv_loop_init(&loop);
    job_key_generate(&key);
    listener = dial_listener_open(&loop, &key, 0, 0, on_test_agent, NULL, &err);
    ck_assert_msg(listener != NULL, "%s", err.text);
}

static void close_listener(void)
{
    dial_listener_close(listener);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}

/* The invitation, as the stdin of an agent. */
static int invite(const struct job_key *its_key, uint16_t port)
{
    struct dial_invitation invitation = { .version = DIAL_VERSION,
                                          .port = port,
                                          .key = *its_key,
                                          .naddresses = 1,
                                          .addresses = { "127.0.0.1" } };
    struct wire_writer frame = { 0 };
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    size_t begin = frame_begin(&frame, DIAL_INVITATION);
    dial_invitation_encode(&frame, &invitation);
    frame_end(&frame, begin);
    wire_put_string(&frame, "for the next reader");
    ck_assert_int_eq(write(ends[1], frame.data, frame.length), (ssize_t)frame.length);
    wire_writer_fini(&frame);
    close(ends[1]);
    return ends[0];
}

/* A child that is an agent; its exit status is 0 if hvdrun has let it in and it has heard a
 * byte. */
static pid_t start_agent(const struct job_key *its_key)
{
    int input = invite(its_key, dial_listener_port(listener));
    pid_t pid = fork();
    if (pid > 0) {
        close(input);
        return pid;
    }
    struct err err = { 0 };
    char byte;
    for (int fd = 3; fd < 1024; fd++) /* the listener's, too */
        if (fd != input)
            close(fd);
    setenv("SLURM_PROCID", "7", 1);
    setenv("SLURMD_NODENAME", "far7", 1);
    setenv("SLURM_LAUNCH_NODE_IPADDR", "127.0.0.1", 1);
    int fd = agent_dial_hvdrun(input, &err);
    _exit(fd < 0 ? 1 : read(fd, &byte, 1) == 1 ? 0 : 2);
}

static int wait_for(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(an_agent_that_knows_the_key_is_let_in)
{
    pid_t pid = start_agent(&key);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(nagents, 1);
    ck_assert_uint_eq(agent.task, 7);
    ck_assert_str_eq(agent.node, "far7");
    ck_assert_int_eq(write(agent_fd, "!", 1), 1);
    ck_assert_int_eq(wait_for(pid), 0);
    close(agent_fd);
}
END_TEST

START_TEST(an_agent_does_not_believe_who_does_not_know_the_key)
{
    struct job_key other;
    job_key_generate(&other);
    pid_t pid = start_agent(&other);
    while (waitpid(pid, NULL, WNOHANG) == 0)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_int_eq(nagents, 0);
}
END_TEST

/* ---- the test is the agent ---- */

static int dial(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons(dial_listener_port(listener)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void say(int fd, struct wire_writer *frame)
{
    ck_assert_int_eq(send(fd, frame->data, frame->length, MSG_NOSIGNAL), (ssize_t)frame->length);
    wire_writer_fini(frame);
}

static void say_hello(int fd, uint16_t version)
{
    struct wire_writer frame = { 0 };
    struct dial_hello hello = { .version = version, .task = 1, .node = "far1" };
    size_t begin = frame_begin(&frame, DIAL_HELLO);
    dial_hello_encode(&frame, &hello);
    frame_end(&frame, begin);
    say(fd, &frame);
}

/* Runs the loop until the listener has hung up, and returns how many bytes have come before. */
static size_t heard_until_closed(int fd)
{
    char data[512];
    size_t heard = 0;
    ssize_t n;
    do {
        uv_run(&loop, UV_RUN_NOWAIT);
        n = recv(fd, data, sizeof data, MSG_DONTWAIT);
        heard += n > 0 ? (size_t)n : 0;
    } while (n != 0);
    close(fd);
    return heard;
}

START_TEST(a_proof_of_another_key_is_refused)
{
    int fd = dial();
    unsigned char proof[PROOF_SIZE] = { 0 };
    struct wire_writer frame = { 0 };
    say_hello(fd, DIAL_VERSION);
    frame_put(&frame, DIAL_PROOF, proof, sizeof proof);
    say(fd, &frame);
    ck_assert_uint_eq(heard_until_closed(fd), FRAME_HEADER_SIZE + NONCE_SIZE + PROOF_SIZE);
    ck_assert_int_eq(nagents, 0);
}
END_TEST

/* Hands hvdrun's own proof back. */
START_TEST(a_proof_that_is_sent_back_is_refused)
{
    int fd = dial();
    unsigned char challenge[FRAME_HEADER_SIZE + NONCE_SIZE + PROOF_SIZE];
    size_t have = 0;
    struct wire_writer frame = { 0 };
    say_hello(fd, DIAL_VERSION);
    while (have < sizeof challenge) {
        uv_run(&loop, UV_RUN_NOWAIT);
        ssize_t n = recv(fd, challenge + have, sizeof challenge - have, MSG_DONTWAIT);
        have += n > 0 ? (size_t)n : 0;
    }
    frame_put(&frame, DIAL_PROOF, challenge + FRAME_HEADER_SIZE + NONCE_SIZE, PROOF_SIZE);
    say(fd, &frame);
    ck_assert_uint_eq(heard_until_closed(fd), 0);
    ck_assert_int_eq(nagents, 0);
}
END_TEST

static const struct {
    uint16_t type;
    size_t length;
} nonsense[] = { { DIAL_PROOF, PROOF_SIZE }, { DIAL_HELLO, 3 }, { 99, 0 }, { DIAL_CHALLENGE, 64 } };

START_TEST(a_frame_out_of_turn_or_malformed_is_refused)
{
    static const unsigned char zeros[64];
    struct wire_writer frame = { 0 };
    int fd = dial();
    frame_put(&frame, nonsense[_i].type, zeros, nonsense[_i].length);
    say(fd, &frame);
    ck_assert_uint_eq(heard_until_closed(fd), 0);
}
END_TEST

START_TEST(a_body_that_is_too_long_is_refused)
{
    unsigned char header[FRAME_HEADER_SIZE];
    int fd = dial();
    frame_header_encode(header, DIAL_HELLO, DIAL_BODY_MAX + 1);
    ck_assert_int_eq(send(fd, header, sizeof header, MSG_NOSIGNAL), sizeof header);
    ck_assert_uint_eq(heard_until_closed(fd), 0);
}
END_TEST

START_TEST(another_version_is_refused)
{
    int fd = dial();
    say_hello(fd, DIAL_VERSION + 1);
    ck_assert_uint_eq(heard_until_closed(fd), 0);
}
END_TEST

START_TEST(who_is_not_an_agent_yet_is_hung_up_on_when_the_port_is_closed)
{
    int fd = dial();
    say_hello(fd, DIAL_VERSION);
    while (recv(fd, (char[1]){ 0 }, 1, MSG_DONTWAIT) < 0)
        uv_run(&loop, UV_RUN_NOWAIT);
    dial_listener_close(listener);
    listener = NULL;
    heard_until_closed(fd);
    ck_assert_int_eq(nagents, 0);
}
END_TEST

START_TEST(unauthenticated_clients_in_every_place_do_not_keep_an_agent_out)
{
    int others[DIAL_CLIENTS_MAX];
    for (int i = 0; i < DIAL_CLIENTS_MAX; i++) {
        others[i] = dial();
        uv_run(&loop, UV_RUN_NOWAIT); /* the kernel's queue may be short */
    }
    pid_t pid = start_agent(&key);
    while (nagents == 0)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_int_eq(write(agent_fd, "!", 1), 1);
    ck_assert_int_eq(wait_for(pid), 0);
    close(agent_fd);
    for (int i = 0; i < DIAL_CLIENTS_MAX; i++)
        close(others[i]);
}
END_TEST

/* The lowest descriptor that is free becomes the limit. */
START_TEST(a_connection_without_a_descriptor_waits_for_one)
{
    struct rlimit before, none;
    int fd = dial(), free_fd = dup(fd);
    say_hello(fd, DIAL_VERSION + 1);
    close(free_fd);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){ (rlim_t)free_fd, before.rlim_max };
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_uint_eq(heard_until_closed(fd), 0);
    ck_assert_int_eq(nagents, 0);
}
END_TEST

START_TEST(a_range_of_ports_without_a_free_one_is_an_error)
{
    struct err err = { 0 };
    int port = dial_listener_port(listener);
    ck_assert_ptr_null(dial_listener_open(&loop, &key, port, port, on_test_agent, NULL, &err));
    ck_assert_str_eq(err.text, "a port for the agents: Address already in use");
}
END_TEST

START_TEST(the_first_free_port_of_a_range_is_taken)
{
    struct err err = { 0 };
    int taken = dial_listener_port(listener), last = taken < 65000 ? taken + 500 : 65535;
    struct dial_listener *other =
        dial_listener_open(&loop, &key, taken, last, on_test_agent, NULL, &err);
    ck_assert_msg(other != NULL, "%s", err.text);
    ck_assert_int_gt(dial_listener_port(other), taken);
    ck_assert_int_le(dial_listener_port(other), last);
    dial_listener_close(other);
}
END_TEST

START_TEST(a_port_can_be_used_again_while_an_agent_that_came_by_it_is_connected)
{
    struct err err = { 0 };
    int port = dial_listener_port(listener);
    dial_listener_close(listener);
    listener = dial_listener_open(&loop, &key, port, port, on_test_agent, NULL, &err);
    ck_assert_msg(listener != NULL, "%s", err.text);
    pid_t pid = start_agent(&key);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(nagents, 1);
    listener = dial_listener_open(&loop, &key, port, port, on_test_agent, NULL, &err);
    ck_assert_msg(listener != NULL, "%s", err.text);
    ck_assert_int_eq(dial_listener_port(listener), port);
    ck_assert_int_eq(write(agent_fd, "!", 1), 1);
    ck_assert_int_eq(wait_for(pid), 0);
    close(agent_fd);
}
END_TEST

/* ---- the test is hvdrun ---- */

START_TEST(an_agent_names_what_it_has_tried)
{
    struct err err = { 0 };
    uint16_t port = dial_listener_port(listener);
    unsetenv("SLURM_LAUNCH_NODE_IPADDR");
    dial_listener_close(listener);
    listener = NULL;
    uv_run(&loop, UV_RUN_DEFAULT);
    int input = invite(&key, port);
    ck_assert_int_lt(agent_dial_hvdrun(input, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "127.0.0.1: connect: "));
    close(input);
}
END_TEST

START_TEST(an_invitation_that_ends_early_is_an_error)
{
    struct err err = { 0 };
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], "HVD1", 4), 4);
    close(ends[1]);
    ck_assert_int_lt(agent_dial_hvdrun(ends[0], &err), 0);
    ck_assert_str_eq(err.text, "invitation: the connection was closed");
    close(ends[0]);
}
END_TEST

START_TEST(an_invitation_leaves_what_is_behind_it)
{
    struct err err = { 0 };
    char rest[64] = "";
    int input = invite(&key, dial_listener_port(listener));
    dial_listener_close(listener);
    listener = NULL;
    agent_dial_hvdrun(input, &err);
    ck_assert_int_eq(read(input, rest, sizeof rest), 4 + 19);
    ck_assert_mem_eq(rest + 4, "for the next reader", 19);
    close(input);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dial_listener");
    TCase *tcase = tcase_create("listener");
    tcase_add_checked_fixture(tcase, open_listener, close_listener);
    tcase_add_test(tcase, an_agent_that_knows_the_key_is_let_in);
    tcase_add_test(tcase, an_agent_does_not_believe_who_does_not_know_the_key);
    tcase_add_test(tcase, a_proof_of_another_key_is_refused);
    tcase_add_test(tcase, a_proof_that_is_sent_back_is_refused);
    tcase_add_loop_test(tcase, a_frame_out_of_turn_or_malformed_is_refused, 0,
                        sizeof nonsense / sizeof *nonsense);
    tcase_add_test(tcase, a_body_that_is_too_long_is_refused);
    tcase_add_test(tcase, another_version_is_refused);
    tcase_add_test(tcase, who_is_not_an_agent_yet_is_hung_up_on_when_the_port_is_closed);
    tcase_add_test(tcase, unauthenticated_clients_in_every_place_do_not_keep_an_agent_out);
    tcase_add_test(tcase, a_connection_without_a_descriptor_waits_for_one);
    tcase_add_test(tcase, a_range_of_ports_without_a_free_one_is_an_error);
    tcase_add_test(tcase, the_first_free_port_of_a_range_is_taken);
    tcase_add_test(tcase, a_port_can_be_used_again_while_an_agent_that_came_by_it_is_connected);
    tcase_add_test(tcase, an_agent_names_what_it_has_tried);
    tcase_add_test(tcase, an_invitation_that_ends_early_is_an_error);
    tcase_add_test(tcase, an_invitation_leaves_what_is_behind_it);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
