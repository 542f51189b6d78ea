/* SPDX-License-Identifier: Apache-2.0 */
/* A port on real loopback sockets: who is accepted, when descriptors are short, when it stops, and
 * where it can be opened. */
#include "lib/base/tcp_attempts.h"
#include "tests/support/tcp_clients.h"
#include "tests/support/unit.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

START_TEST(what_a_client_says_is_answered)
{
    int fd = port_dial();
    port_say(fd, "hello");
    port_expect(fd, "hello");
    port_say(fd, "again");
    port_expect(fd, "again");
    close(fd);
    while (stand_in.open > 0)
        port_turn();
    ck_assert_str_eq(stand_in.story, "arrh");
}
END_TEST

START_TEST(who_comes_with_a_request_is_served_before_the_next_is_accepted)
{
    int fds[3];
    for (int i = 0; i < 3; i++)
        port_say(fds[i] = port_dial(), "!");
    while (stand_in.accepted < 3)
        port_turn();
    ck_assert_str_eq(stand_in.story, "ararar");
    for (int i = 0; i < 3; i++) {
        port_expect(fds[i], "!");
        port_expect_end(fds[i]);
        close(fds[i]);
    }
}
END_TEST

START_TEST(who_is_not_wanted_is_dropped)
{
    char byte;
    stand_in.refuses = true;
    int fd = port_dial();
    ck_assert_int_le(port_hear(fd, &byte, 1), 0);
    ck_assert_int_eq(stand_in.hung_up, 0);
    close(fd);
}
END_TEST

/* Uses up the descriptors of this process; how many they were. */
static int use_up(int *fds, int max)
{
    int n = 0;
    while (n < max && (fds[n] = dup(0)) >= 0)
        n++;
    ck_assert_int_lt(n, max);
    return n;
}

START_TEST(without_descriptors_newcomers_wait)
{
    int spare[CONNECTIONS_MAX];
    int first = port_dial(), second = port_new_socket();
    port_say(first, "hello");
    port_expect(first, "hello");
    struct rlimit limit = { 128, 128 };
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    int n = use_up(spare, CONNECTIONS_MAX);
    port_connect(second);
    port_say(second, "me too");
    port_turns(20);
    ck_assert_int_eq(stand_in.accepted, 1);
    ck_assert_msg(port->paused && !uv_is_active((uv_handle_t *)&port->poll), "it spins");
    port_say(first, "!");
    port_expect(first, "!");
    close(first);
    spare[n++] = dup(0); /* what the client has given back */
    port_expect(second, "me too");
    close(second);
    while (n > 0)
        close(spare[--n]);
}
END_TEST

START_TEST(descriptors_that_others_give_back_are_seen)
{
    int spare[CONNECTIONS_MAX];
    int fd = port_new_socket();
    struct rlimit limit = { 128, 128 };
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    int n = use_up(spare, CONNECTIONS_MAX);
    port_connect(fd);
    port_say(fd, "hello");
    port_turns(20);
    ck_assert_int_eq(stand_in.accepted, 0);
    while (n > 0)
        close(spare[--n]);
    port_expect(fd, "hello");
    close(fd);
}
END_TEST

START_TEST(stopped_it_accepts_no_more_and_serves_who_is_there)
{
    int fd = port_dial(), late = port_new_socket();
    port_say(fd, "hello");
    port_expect(fd, "hello");
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)tcp_port_number(port)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    tcp_port_stop(port);
    ck_assert_int_lt(connect(late, (struct sockaddr *)&address, sizeof address), 0);
    port_say(fd, "still");
    port_expect(fd, "still");
    close(fd);
    close(late);
}
END_TEST

START_TEST(closed_it_hangs_up_on_everybody)
{
    char *data = malloc(LARGE);
    int quiet = port_dial(), busy = port_dial(), ended = port_dial();
    port_say(busy, "L");
    port_say(ended, "C");
    while (stand_in.received < 2 || stand_in.accepted < 3)
        port_turn();
    tcp_port_close(port);
    port = NULL;
    ck_assert_int_eq(stand_in.hung_up, 2);
    uv_run(&port_loop, UV_RUN_DEFAULT);
    ck_assert_int_le(port_hear(quiet, data, 1), 0);
    ck_assert_int_lt(port_hear(busy, data, LARGE), LARGE);
    close(quiet);
    close(busy);
    close(ended);
    free(data);
}
END_TEST

/* Negative before Linux 6.15. */
static int longest_wait_ms(int fd)
{
    int value = -1;
    socklen_t length = sizeof value;
    return getsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &value, &length) == 0 ? value : -1;
}

START_TEST(accepted_sockets_notice_a_host_that_vanishes)
{
    static const struct {
        int level, name, value;
    } options[] = {
        { SOL_SOCKET, SO_KEEPALIVE, 1 },          { IPPROTO_TCP, TCP_KEEPIDLE, 5 },
        { IPPROTO_TCP, TCP_KEEPINTVL, 1 },        { IPPROTO_TCP, TCP_KEEPCNT, 12 },
        { IPPROTO_TCP, TCP_USER_TIMEOUT, 17000 }, { IPPROTO_TCP, TCP_NODELAY, 1 },
    };
    int fd = port_dial();
    port_say(fd, "hello");
    port_expect(fd, "hello");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        int value = -1;
        socklen_t length = sizeof value;
        getsockopt(port->connections->fd, options[i].level, options[i].name, &value, &length);
        ck_assert_int_eq(value, options[i].value);
    }
    ck_assert_int_eq(longest_wait_ms(port->connections->fd), longest_wait_ms(fd) < 0 ? -1 : 1000);
    close(fd);
}
END_TEST

START_TEST(the_wildcard_of_ipv6_is_that_of_ipv4_too)
{
    struct err err = { 0 };
    tcp_port_close(port);
    port = tcp_port_open(&port_loop, "[::]:0", &stand_in, &err);
    if (!port) /* a machine without IPv6 */
        return;
    ck_assert_int_eq(strncmp(tcp_port_address(port), "[::]:", 5), 0);
    ck_assert(!tcp_port_is_loopback(port));
    int fd = port_dial();
    port_say(fd, "hello");
    port_expect(fd, "hello");
    close(fd);
}
END_TEST

START_TEST(an_address_that_is_taken_is_named)
{
    struct err err = { 0 };
    ck_assert_ptr_null(tcp_port_open(&port_loop, tcp_port_address(port), &stand_in, &err));
    ck_assert_int_eq(err.code, HVD_ERR_SYSTEM);
    ck_assert_msg(strstr(err.text, tcp_port_address(port)) != NULL, "%s", err.text);
    ck_assert_msg(strstr(err.text, "Address already in use") != NULL, "%s", err.text);
    ck_assert(tcp_port_is_loopback(port));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tcp_port");
    TCase *tcase = tcase_create("port");
    tcase_add_checked_fixture(tcase, port_set_up, port_tear_down);
    tcase_add_test(tcase, what_a_client_says_is_answered);
    tcase_add_test(tcase, who_comes_with_a_request_is_served_before_the_next_is_accepted);
    tcase_add_test(tcase, who_is_not_wanted_is_dropped);
    tcase_add_test(tcase, without_descriptors_newcomers_wait);
    tcase_add_test(tcase, descriptors_that_others_give_back_are_seen);
    tcase_add_test(tcase, stopped_it_accepts_no_more_and_serves_who_is_there);
    tcase_add_test(tcase, closed_it_hangs_up_on_everybody);
    tcase_add_test(tcase, accepted_sockets_notice_a_host_that_vanishes);
    tcase_add_test(tcase, the_wildcard_of_ipv6_is_that_of_ipv4_too);
    tcase_add_test(tcase, an_address_that_is_taken_is_named);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
