/* SPDX-License-Identifier: Apache-2.0 */
/* The thread in which rank 0 serves the rendezvous, over sockets: each connection is served, in
 * whatever order the ranks come, and the thread ends when all have left. */
#include "lib/serve/rendezvous_thread.h"

#include "lib/base/clock.h"
#include "lib/base/rank_end.h"
#include "lib/hvd.h"
#include "lib/join/bootstrap.h"
#include "lib/join/join_client.h"
#include "tests/support/unit.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SIZE = 4, PATIENCE_MS = 30000 };

static struct err err;
static struct job_key key;
static struct join_connection ranks[SIZE];

static struct rendezvous_thread *serve(int size, int *port)
{
    struct listener listener;
    auth_init(NULL);
    job_key_generate(&key);
    ck_assert_int_eq(listener_open(&listener, &(struct port_range){ 0, 0 }, 0, true, &err), HVD_OK);
    *port = listener.port;
    return rendezvous_thread_start(&listener, size, &key, PATIENCE_MS, &err);
}

static void come(int rank, int port)
{
    struct join_target target = { .host = "127.0.0.1",
                                  .port = port,
                                  .job = "",
                                  .key_of = -1,
                                  .server_name = "rank 0",
                                  .key = &key };
    struct join_hello hello = { .rank = rank, .size = SIZE, .worker = -1, .pid = 100 + rank };
    snprintf(hello.host, sizeof hello.host, "a");
    int rc = join_open(&ranks[rank], &target, monotonic_ms() + PATIENCE_MS, &err);
    ck_assert_msg(rc == HVD_OK, "%s", err.text);
    ck_assert_int_eq(join_hello(&ranks[rank], &hello, &err), HVD_OK);
}

static void expect_welcome(int rank)
{
    struct join_welcome welcome;
    int rc = join_wait(&ranks[rank], JOIN_ANSWER_MS, &welcome, &err);
    ck_assert_msg(rc == HVD_OK, "%s", err.text);
    ck_assert_int_eq(welcome.rank_info.rank, rank);
    ck_assert_int_eq(welcome.rank_info.size, SIZE);
}

/* The last rank first in the second run. */
START_TEST(every_rank_is_served_in_any_order)
{
    int port;
    struct rendezvous_thread *thread = serve(SIZE, &port);
    const struct rank_end fine = rank_end_none();
    ck_assert_ptr_nonnull(thread);
    for (int i = 0; i < SIZE; i++)
        come(_i == 0 ? i : SIZE - 1 - i, port);
    for (int i = 0; i < SIZE; i++)
        expect_welcome(i);
    for (int i = 0; i < SIZE; i++) {
        join_goodbye(&ranks[i], &fine);
        join_close(&ranks[i]);
    }
    rendezvous_thread_leave(thread);
}
END_TEST

/* The server's end of a rank's connection. Its thread is one of this process. */
static int served_end_of(int fd)
{
    struct sockaddr_storage own = { 0 };
    socklen_t length = sizeof own;
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&own, &length), 0);
    for (int other = 0; other < 1024; other++) {
        struct sockaddr_storage peer = { 0 };
        socklen_t peer_length = sizeof peer;
        if (getpeername(other, (struct sockaddr *)&peer, &peer_length) == 0 &&
            ((struct sockaddr_in *)&peer)->sin_port == ((struct sockaddr_in *)&own)->sin_port)
            return other;
    }
    return -1;
}

static int tcp_option(int fd, int option)
{
    int value = -1;
    socklen_t length = sizeof value;
    getsockopt(fd, IPPROTO_TCP, option, &value, &length);
    return value;
}

START_TEST(a_silent_host_is_probed_until_twelve_probes_have_had_no_answer)
{
    int port;
    const struct rank_end fine = rank_end_none();
    struct rendezvous_thread *thread = serve(SIZE, &port);
    ck_assert_ptr_nonnull(thread);
    for (int i = 0; i < SIZE; i++)
        come(i, port);
    for (int i = 0; i < SIZE; i++) {
        int fd = served_end_of(ranks[i].fd);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(tcp_option(fd, TCP_KEEPIDLE), 5);
        ck_assert_int_eq(tcp_option(fd, TCP_KEEPINTVL), 1);
        ck_assert_int_eq(tcp_option(fd, TCP_KEEPCNT), 12);
    }
    for (int i = 0; i < SIZE; i++) {
        join_goodbye(&ranks[i], &fine);
        join_close(&ranks[i]);
    }
    rendezvous_thread_leave(thread);
}
END_TEST

static bool has_ipv6(void)
{
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* The first address is none; the next one, in brackets, is that of 127.0.0.1. */
START_TEST(a_rank_is_served_at_an_ipv6_address)
{
    int port;
    struct rank_assignment assignment = { .connection.fd = -1, .listener = NO_LISTENER };
    struct join_peer server = { .host = "a", .addresses = { .count = 2, .text = { "none" } } };
    struct environment environment = { .rank_info = { .size = 1, .local_size = 1, .cross_size = 1 },
                                       .worker = -1,
                                       .key_of = -1,
                                       .server = &server,
                                       .join_timeout_s = PATIENCE_MS / 1000,
                                       .host = "a" };
    const struct rank_end fine = rank_end_none();
    if (!has_ipv6())
        return;
    struct rendezvous_thread *thread = serve(1, &port);
    ck_assert_ptr_nonnull(thread);
    environment.key = key;
    snprintf(server.addresses.text[1], JOIN_ADDRESS_MAX, "[::ffff:127.0.0.1]:%d", port);
    int rc = bootstrap_join_rendezvous(&assignment, &environment, &err);
    ck_assert_msg(rc == HVD_OK, "%s", err.text);
    ck_assert_int_eq(assignment.welcome.rank_info.size, 1);
    join_goodbye(&assignment.connection, &fine);
    rank_assignment_fini(&assignment);
    rendezvous_thread_leave(thread);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rendezvous_thread");
    TCase *tcase = tcase_create("rendezvous_thread");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, every_rank_is_served_in_any_order, 0, 2);
    tcase_add_test(tcase, a_silent_host_is_probed_until_twelve_probes_have_had_no_answer);
    tcase_add_test(tcase, a_rank_is_served_at_an_ipv6_address);
    return unit_run(suite);
}
