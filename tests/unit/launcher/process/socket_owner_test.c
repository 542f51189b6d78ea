/* SPDX-License-Identifier: Apache-2.0 */
/* Whose the other end of a connection is: real connections, through netlink and through /proc. */
#include "launcher/process/socket_owner.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct socket_owner owner;
static struct sockaddr_in address;
static int listener;

/* Each test runs twice: as it is, and without netlink. */
enum { WAYS = 2 };

static void setup(void)
{
    socklen_t length = sizeof address;
    address =
        (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 8), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    socket_owner_init(&owner);
}

static void teardown(void)
{
    socket_owner_fini(&owner);
    close(listener);
}

static void take_variant(int variant)
{
    if (variant == 1)
        socket_owner_fini(&owner);
}

static int dial(void)
{
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(client, (struct sockaddr *)&address, sizeof address), 0);
    return client;
}

static int take(void)
{
    int server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(server, 0);
    return server;
}

static bool is_ours(int server)
{
    uid_t uid;
    return socket_owner_find(&owner, server, &uid) && uid == geteuid();
}

static bool is_anybodys(int server)
{
    uid_t uid;
    return socket_owner_find(&owner, server, &uid);
}

START_TEST(a_connection_of_this_process_is_ours)
{
    take_variant(_i);
    int client = dial(), server = take();
    ck_assert(is_ours(server));
    ck_assert(is_ours(client)); /* seen from the other side, too */
    ck_assert(is_ours(server));
    close(client);
    close(server);
}
END_TEST

START_TEST(a_client_of_ipv6_that_speaks_ipv4_is_found)
{
    struct sockaddr_in6 mapped = { .sin6_family = AF_INET6, .sin6_port = address.sin_port };
    memcpy(&mapped.sin6_addr, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1", 16);
    take_variant(_i);
    int client = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client < 0)
        return; /* there is no IPv6 here */
    ck_assert_int_eq(connect(client, (struct sockaddr *)&mapped, sizeof mapped), 0);
    int server = take();
    ck_assert(is_ours(server));
    close(client);
    close(server);
}
END_TEST

START_TEST(a_client_that_says_no_more_is_still_ours)
{
    take_variant(_i);
    int client = dial(), server = take();
    shutdown(client, SHUT_WR);
    ck_assert(is_ours(server));
    shutdown(server, SHUT_WR);
    ck_assert(!is_anybodys(server)); /* nothing goes either way any more */
    close(client);
    close(server);
}
END_TEST

START_TEST(a_client_that_has_closed_is_nobodys)
{
    take_variant(_i);
    int first = dial(), client = dial(), server = take(), second = take();
    ck_assert(is_ours(server));
    close(client);
    ck_assert(!is_anybodys(second));
    close(second);
    ck_assert(is_ours(server));
    close(first);
    ck_assert(!is_anybodys(server));
    close(server);
}
END_TEST

/* Before anything else was asked: an answer that there is none is not trusted yet. */
START_TEST(a_client_that_has_closed_is_nobodys_at_once)
{
    take_variant(_i);
    close(dial());
    int server = take();
    ck_assert(!is_anybodys(server));
    close(server);
}
END_TEST

START_TEST(a_connection_that_was_reset_is_nobodys)
{
    struct linger reset = { 1, 0 };
    take_variant(_i);
    int client = dial(), server = take();
    setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(client);
    ck_assert(!is_anybodys(server));
    close(server);
}
END_TEST

/* A socket that listens at `port` of loopback, which a client of ours has just left; -1 if somebody
 * else was quicker. */
static int listen_at(const struct sockaddr_in *port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (const struct sockaddr *)port, sizeof *port) == 0 && listen(fd, 1) == 0)
        return fd;
    close(fd);
    return -1;
}

/* The kernel finds it when it is asked for the connection, which is there no more. */
START_TEST(who_listens_at_the_clients_port_is_not_the_client)
{
    struct sockaddr_in port = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct linger reset = { 1, 0 };
    int again = -1;
    take_variant(_i);
    for (int tries = 0; again < 0 && tries < 100; tries++) {
        socklen_t length = sizeof port;
        int client = dial(), server = take();
        ck_assert_int_eq(getsockname(client, (struct sockaddr *)&port, &length), 0);
        ck_assert(is_ours(server));
        setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(client);
        again = listen_at(&port);
        ck_assert(!is_anybodys(server));
        close(server);
    }
    ck_assert_int_ge(again, 0);
    close(again);
}
END_TEST

START_TEST(what_is_no_connection_is_nobodys)
{
    int pair[2];
    take_variant(_i);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert(!is_anybodys(pair[0]));
    ck_assert(!is_anybodys(listener));
    ck_assert(!is_anybodys(-1));
    close(pair[0]);
    close(pair[1]);
}
END_TEST

/* Another user connects, says so, and stays until it is hung up on. */
static void play_user(uid_t uid, int said)
{
    int client = setuid(uid) == 0 ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (connect(client, (struct sockaddr *)&address, sizeof address) < 0)
        _exit(1);
    if (write(said, "", 1) < 0 || read(said, &(char){ 0 }, 1) < 0)
        _exit(1);
    _exit(0);
}

START_TEST(another_users_client_is_not_ours)
{
    int said[2];
    char connected;
    take_variant(_i);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, said), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(said[0]);
        play_user(65534, said[1]);
    }
    close(said[1]);
    if (read(said[0], &connected, 1) == 1) { /* else nobody else can be played */
        int server = take();
        ck_assert(!is_ours(server));
        close(said[0]);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        ck_assert(!is_anybodys(server)); /* and not root's when it has ended */
        close(server);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("socket_owner");
    TCase *tcase = tcase_create("owner");
    descriptors_watch(tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, a_connection_of_this_process_is_ours, 0, WAYS);
    tcase_add_loop_test(tcase, a_client_of_ipv6_that_speaks_ipv4_is_found, 0, WAYS);
    tcase_add_loop_test(tcase, a_client_that_says_no_more_is_still_ours, 0, WAYS);
    tcase_add_loop_test(tcase, a_client_that_has_closed_is_nobodys, 0, WAYS);
    tcase_add_loop_test(tcase, a_client_that_has_closed_is_nobodys_at_once, 0, WAYS);
    tcase_add_loop_test(tcase, a_connection_that_was_reset_is_nobodys, 0, WAYS);
    tcase_add_loop_test(tcase, who_listens_at_the_clients_port_is_not_the_client, 0, WAYS);
    tcase_add_loop_test(tcase, what_is_no_connection_is_nobodys, 0, WAYS);
    tcase_add_loop_test(tcase, another_users_client_is_not_ours, 0, WAYS);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
