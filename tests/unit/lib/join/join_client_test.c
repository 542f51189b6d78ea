/* SPDX-License-Identifier: Apache-2.0 */
/* How a worker finds its way to the rendezvous: which of several addresses it takes, and when it
 * dials once more. */
#include "lib/base/clock.h"
#include "lib/join/join_client.h"
#include "lib/join/join_retry.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- addresses --- */

static struct sockaddr_in addresses[2];
static pid_t child;

/* Every name has both addresses. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **list)
{
    static struct addrinfo infos[2];
    (void)host;
    (void)service;
    (void)hints;
    for (int i = 0; i < 2; i++)
        infos[i] = (struct addrinfo){ .ai_family = AF_INET,
                                      .ai_socktype = SOCK_STREAM,
                                      .ai_addr = (struct sockaddr *)&addresses[i],
                                      .ai_addrlen = sizeof addresses[i],
                                      .ai_next = i == 0 ? &infos[1] : NULL };
    *list = infos;
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    (void)list;
}

static int listen_at(struct sockaddr_in *address, int backlog)
{
    socklen_t length = sizeof *address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    *address = (struct sockaddr_in){ .sin_family = AF_INET };
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)address, length), 0);
    ck_assert_int_eq(listen(fd, backlog), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)address, &length), 0);
    return fd;
}

/* A port whose queue is full answers nobody. */
static void listen_nowhere(struct sockaddr_in *address)
{
    listen_at(address, 0);
    for (;;) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)!connect(fd, (struct sockaddr *)address, sizeof *address);
        struct pollfd connected = { .fd = fd, .events = POLLOUT };
        if (poll(&connected, 1, 200) == 0)
            return;
    }
}

static void send_challenge(int listener)
{
    struct wire_writer body = { 0 }, frame = { 0 };
    join_challenge_encode(&body, &(struct join_challenge){ .version = JOIN_VERSION });
    frame_put(&frame, JOIN_CHALLENGE, body.data, body.length);
    int fd = accept(listener, NULL, NULL);
    (void)!write(fd, frame.data, frame.length);
    pause();
}

/* Opens a connection to the second address, where a child says CHALLENGE. */
static void open_second(struct join_connection *connection)
{
    struct job_key key = { { 0 } };
    struct join_target target = {
        .host = "a name", .port = 1, .job = "", .key_of = -1, .key = &key
    };
    struct err err = { 0 };
    auth_init(NULL);
    int listener = listen_at(&addresses[1], 8);
    child = fork();
    if (child == 0)
        send_challenge(listener);
    int rc = join_open(connection, &target, monotonic_ms() + 2 * 3000, &err);
    ck_assert_msg(rc == HVD_OK, "%s", err.text);
}

static void end_child(void)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

START_TEST(an_address_that_leads_nowhere_leaves_time_for_the_next)
{
    struct join_connection connection;
    listen_nowhere(&addresses[0]);
    open_second(&connection);
    join_close(&connection);
    end_child();
}
END_TEST

static int tcp_option(int fd, int option)
{
    int value = -1;
    socklen_t length = sizeof value;
    ck_assert_int_eq(getsockopt(fd, IPPROTO_TCP, option, &value, &length), 0);
    return value;
}

/* After 5 + 12 seconds. */
START_TEST(a_host_that_vanishes_is_noticed)
{
    struct join_connection connection;
    close(listen_at(&addresses[0], 1));
    open_second(&connection);
    ck_assert_int_eq(tcp_option(connection.fd, TCP_KEEPIDLE), 5);
    ck_assert_int_eq(tcp_option(connection.fd, TCP_KEEPINTVL), 1);
    ck_assert_int_eq(tcp_option(connection.fd, TCP_KEEPCNT), 12);
    ck_assert_int_eq(tcp_option(connection.fd, TCP_USER_TIMEOUT), 0); /* rank 0 may be stopped */
    join_close(&connection);
    end_child();
}
END_TEST

/* --- waiting for the others --- */

static struct seal server_seal;

/* A connection that has said HELLO to nobody but us. */
static int begin_waiting(struct join_connection *connection)
{
    static const struct job_key key = { "key" };
    static const unsigned char nonces[2][NONCE_SIZE];
    int pair[2];
    *connection = (struct join_connection){ .stage = JOIN_SAID_HELLO,
                                            .server_name = "the launcher",
                                            .sending = PTHREAD_MUTEX_INITIALIZER };
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    auth_init(NULL);
    seal_init(&server_seal, SEAL_SERVER, &key, nonces[0], nonces[1]);
    seal_init(&connection->seal, SEAL_CLIENT, &key, nonces[0], nonces[1]);
    frame_reader_init(&connection->reader, JOIN_RENDEZVOUS_MAX);
    connection->fd = pair[0];
    return pair[1];
}

static void tell_to_wait(int fd, uint32_t most_ms)
{
    struct wire_writer body = { 0 }, frame = { 0 };
    join_waiting_encode(&body,
                        &(struct join_waiting){ .most_ms = most_ms, .text = "rank 3 on node1" });
    seal_put(&server_seal, &frame, JOIN_WAITING, body.data, body.length);
    ck_assert_int_eq(write(fd, frame.data, frame.length), (ssize_t)frame.length);
    wire_writer_fini(&body);
    wire_writer_fini(&frame);
}

static void expect_no_welcome(struct join_connection *connection, int status, const char *text)
{
    struct join_welcome welcome;
    struct err err = { 0 };
    ck_assert_int_eq(join_wait(connection, 100, &welcome, &err), status);
    ck_assert_str_eq(err.text, text);
    join_close(connection);
}

START_TEST(a_rendezvous_that_never_answers_hello_is_given_up)
{
    struct join_connection connection;
    int fd = begin_waiting(&connection);
    expect_no_welcome(&connection, HVD_ERR_TIMEOUT,
                      "the launcher has not answered HELLO for 0.1 s");
    close(fd);
}
END_TEST

START_TEST(one_that_falls_silent_is_given_up_after_its_time_and_who_was_missing_is_named)
{
    struct join_connection connection;
    int fd = begin_waiting(&connection);
    tell_to_wait(fd, 150);
    expect_no_welcome(&connection, HVD_ERR_TIMEOUT,
                      "the launcher has said nothing for 0.25 s, longer than it may wait; it "
                      "waited for rank 3 on node1");
    close(fd);
}
END_TEST

START_TEST(one_that_ends_meanwhile_is_not_waited_for)
{
    struct join_connection connection;
    struct join_welcome welcome;
    int fd = begin_waiting(&connection);
    tell_to_wait(fd, JOIN_WAITING_MAX_MS);
    close(fd);
    ck_assert_int_eq(join_wait(&connection, 0, &welcome, NULL), HVD_ERR_PEER_LOST);
    ck_assert_int_eq(connection.stage, JOIN_ASSIGNED);
    join_close(&connection);
}
END_TEST

START_TEST(it_is_told_to_wait_once)
{
    struct join_connection connection;
    int fd = begin_waiting(&connection);
    tell_to_wait(fd, 1);
    tell_to_wait(fd, 1);
    expect_no_welcome(&connection, HVD_ERR_PROTOCOL, "a frame of type 11 where none belongs");
    close(fd);
}
END_TEST

/* --- once more --- */

static const struct {
    const char *sentence;
    enum join_stage stage;
    int rc;
    bool again, with_patience;
} failures[] = {
    { "nobody listens", JOIN_DIALLING, HVD_ERR_PEER_LOST, false, true },
    { "no memory to dial", JOIN_DIALLING, HVD_ERR_SYSTEM, false, false },
    { "nobody answers", JOIN_DIALLING, HVD_ERR_TIMEOUT, true, true },
    { "closed before CHALLENGE", JOIN_CONNECTED, HVD_ERR_PEER_LOST, true, true },
    { "no CHALLENGE", JOIN_CONNECTED, HVD_ERR_TIMEOUT, false, false },
    { "not a rendezvous", JOIN_CONNECTED, HVD_ERR_PROTOCOL, false, false },
    { "closed after HELLO", JOIN_SAID_HELLO, HVD_ERR_PEER_LOST, true, true },
    { "closed after WAITING", JOIN_ASSIGNED, HVD_ERR_PEER_LOST, true, true },
    { "silent after WAITING", JOIN_ASSIGNED, HVD_ERR_TIMEOUT, false, false },
    { "refused because a rank was lost", JOIN_ANSWERED, HVD_ERR_PEER_LOST, false, false },
    { "refused because of a timeout", JOIN_ANSWERED, HVD_ERR_TIMEOUT, false, false },
    { "a wrong proof", JOIN_ANSWERED, HVD_ERR_AUTH, false, false },
};

START_TEST(what_may_pass_is_tried_again)
{
    for (int patient = 0; patient < 2; patient++) {
        struct join_retry retry;
        uint64_t pause_ms;
        join_retry_init(&retry, 31000, patient);
        bool again =
            join_retry_next(&retry, failures[_i].stage, failures[_i].rc, 1000, 0, &pause_ms);
        ck_assert_msg(again == (patient ? failures[_i].with_patience : failures[_i].again), "%s",
                      failures[_i].sentence);
    }
}
END_TEST

enum { TIMEOUT_MS = 30000 };

/* Plays until it is given up; returns how long that took. */
static uint64_t play(enum join_stage stage, uint32_t random, int *attempts)
{
    struct join_retry retry;
    uint64_t now_ms = 5, pause_ms;
    join_retry_init(&retry, now_ms + TIMEOUT_MS, false);
    *attempts = 1;
    while (join_retry_next(&retry, stage, HVD_ERR_PEER_LOST, now_ms, random, &pause_ms)) {
        ck_assert_uint_le(pause_ms, JOIN_PAUSE_MAX_MS);
        ck_assert_uint_ge(pause_ms, JOIN_PAUSE_FIRST_MS / 2);
        now_ms += pause_ms;
        ++*attempts;
    }
    return now_ms - 5;
}

START_TEST(who_is_turned_away_comes_back_until_the_deadline)
{
    static const uint32_t randoms[] = { 0, 1, 799, 800, 12345, UINT32_MAX };
    int attempts;
    uint64_t took_ms = play(JOIN_CONNECTED, randoms[_i], &attempts);
    ck_assert_uint_lt(took_ms, TIMEOUT_MS);
    ck_assert_uint_ge(took_ms, TIMEOUT_MS - JOIN_PAUSE_MAX_MS);
    ck_assert_int_lt(attempts, 50);
}
END_TEST

START_TEST(a_key_that_is_not_accepted_is_given_up_soon)
{
    int attempts;
    ck_assert_uint_le(play(JOIN_SAID_HELLO, UINT32_MAX, &attempts), 1000);
    ck_assert_int_eq(attempts, JOIN_HELLOS_MAX);
}
END_TEST

START_TEST(pauses_differ_between_workers)
{
    struct join_retry retry;
    uint64_t one_ms, other_ms;
    join_retry_init(&retry, TIMEOUT_MS, false);
    join_retry_next(&retry, JOIN_CONNECTED, HVD_ERR_PEER_LOST, 0, 3, &one_ms);
    join_retry_init(&retry, TIMEOUT_MS, false);
    join_retry_next(&retry, JOIN_CONNECTED, HVD_ERR_PEER_LOST, 0, 4, &other_ms);
    ck_assert_uint_ne(one_ms, other_ms);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("join_client");
    TCase *tcase = tcase_create("join_client");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, an_address_that_leads_nowhere_leaves_time_for_the_next);
    tcase_add_test(tcase, a_host_that_vanishes_is_noticed);
    tcase_add_test(tcase, a_rendezvous_that_never_answers_hello_is_given_up);
    tcase_add_test(tcase,
                   one_that_falls_silent_is_given_up_after_its_time_and_who_was_missing_is_named);
    tcase_add_test(tcase, one_that_ends_meanwhile_is_not_waited_for);
    tcase_add_test(tcase, it_is_told_to_wait_once);
    tcase_add_loop_test(tcase, what_may_pass_is_tried_again, 0, sizeof failures / sizeof *failures);
    tcase_add_loop_test(tcase, who_is_turned_away_comes_back_until_the_deadline, 0, 6);
    tcase_add_test(tcase, a_key_that_is_not_accepted_is_given_up_soon);
    tcase_add_test(tcase, pauses_differ_between_workers);
    return unit_run(suite);
}
