/* SPDX-License-Identifier: Apache-2.0 */
/* The port of a rank: which one it gets, who reaches it, and what is said when there is none. */
#include "lib/link/listener.h"

#include "lib/base/auth.h"
#include "lib/base/descriptor.h"
#include "lib/link/link_accept.h"
#include "lib/link/network.h"
#include "lib/link/socket.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static struct err err;
static const struct port_range any = { 0, 0 };

/* True if somebody listens there. */
static bool answers(const char *host, int port)
{
    char text[80];
    struct socket_address address;
    snprintf(text, sizeof text, "%s:%d", host, port);
    ck_assert_int_eq(socket_address_parse(&address, text, &err), HVD_OK);
    int fd = socket_connect(&address, &err);
    if (fd < 0)
        return false;
    struct pollfd ready = { .fd = fd, .events = POLLOUT };
    ck_assert_int_eq(poll(&ready, 1, 10000), 1);
    int rc = socket_connect_result(fd, &err);
    descriptor_close(fd);
    return rc == HVD_OK;
}

/* `count` ports in a row that were free a moment ago. */
static struct port_range find_range(int count)
{
    for (;;) {
        struct listener held[8];
        ck_assert_int_eq(listener_open(&held[0], &any, 0, false, &err), HVD_OK);
        struct port_range range = { held[0].port, held[0].port + count - 1 };
        int opened = 1;
        for (; opened < count && range.last <= 65535; opened++) {
            struct port_range one = { held[0].port + opened, held[0].port + opened };
            if (listener_open(&held[opened], &one, 0, false, &err) < 0)
                break;
        }
        for (int i = 0; i < opened; i++)
            descriptor_close(held[i].fd);
        if (opened == count)
            return range;
    }
}

START_TEST(one_port_is_reached_over_ipv4_and_ipv6)
{
    struct listener listener;
    ck_assert_int_eq(listener_open(&listener, &any, 0, false, &err), HVD_OK);
    ck_assert(answers("127.0.0.1", listener.port));
    ck_assert(answers("127.0.0.2", listener.port));
    if (listener.has_ipv6)
        ck_assert(answers("[::1]", listener.port) || err.code == HVD_ERR_PEER_LOST);
    descriptor_close(listener.fd);
}
END_TEST

START_TEST(on_loopback_it_is_reached_there_alone)
{
    struct listener listener;
    ck_assert_int_eq(listener_open(&listener, &any, 0, true, &err), HVD_OK);
    ck_assert(!listener.has_ipv6);
    ck_assert(answers("127.0.0.1", listener.port));
    ck_assert(!answers("127.0.0.2", listener.port));
    descriptor_close(listener.fd);
}
END_TEST

static struct interface at_address(const char *text)
{
    struct interface interface = { .kind = INTERFACE_REAL };
    struct socket_address address;
    ck_assert_int_eq(socket_address_parse(&address, text, &err), HVD_OK);
    interface.address = address.storage;
    return interface;
}

/* The addresses of this machine, all of them chosen. */
START_TEST(where_it_was_chosen_to_be_it_is_reached_by_one_port)
{
    static struct interfaces all;
    struct listener listener;
    ck_assert_int_eq(interfaces_read(&all, &err), HVD_OK);
    ck_assert_msg(listener_open_at(&listener, &any, 0, &all, &err) == HVD_OK, "%s", err.text);
    for (int i = 0; i < all.count; i++) {
        char text[80] = "[";
        const struct sockaddr_storage *at = &all.at[i].address;
        bool is_ipv6 = at->ss_family == AF_INET6;
        const void *from = is_ipv6 ? (const void *)&((const struct sockaddr_in6 *)at)->sin6_addr
                                   : (const void *)&((const struct sockaddr_in *)at)->sin_addr;
        inet_ntop(at->ss_family, from, text + is_ipv6, 70);
        if (is_ipv6)
            strcat(text, "]");
        if (strcmp(text, "127.0.0.1") == 0 || (!is_ipv6 && !address_is_loopback(at)))
            ck_assert_msg(answers(text, listener.port), "%s", text);
    }
    ck_assert(!answers("127.0.0.2", listener.port));
    listener_close(&listener);
    ck_assert_int_eq(listener.fd, -1);
    ck_assert_int_eq(listener.nothers, 0);
}
END_TEST

START_TEST(at_an_address_that_is_not_here_it_is_nowhere)
{
    struct interfaces chosen = { 2, { at_address("127.0.0.1:1"), at_address("192.0.2.1:1") } };
    struct listener listener;
    ck_assert_int_eq(listener_open_at(&listener, &any, 0, &chosen, &err), HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, "listen for the other ranks: Cannot assign requested address");
    ck_assert_int_eq(listener.fd, -1);
}
END_TEST

START_TEST(where_it_was_chosen_to_be_a_port_that_is_taken_is_not_taken_again)
{
    struct port_range range = find_range(2);
    struct interfaces chosen = { 1, { at_address("127.0.0.1:1") } };
    struct listener listeners[2];
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(listener_open_at(&listeners[i], &range, 0, &chosen, &err), HVD_OK);
        ck_assert_int_eq(listeners[i].port, range.first + i);
    }
    for (int i = 0; i < 2; i++)
        listener_close(&listeners[i]);
}
END_TEST

START_TEST(ranks_begin_at_different_ports_of_a_range)
{
    struct port_range range = find_range(4);
    static const struct {
        int rank, port; /* the latter from the first */
    } rows[] = { { 0, 0 }, { 1, 1 }, { 3, 3 }, { 4, 0 }, { 65535, 3 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct listener listener;
        ck_assert_int_eq(listener_open(&listener, &range, rows[i].rank, false, &err), HVD_OK);
        ck_assert_int_eq(listener.port, range.first + rows[i].port);
        descriptor_close(listener.fd);
    }
}
END_TEST

START_TEST(a_range_is_used_up_to_the_last_port_and_then_named)
{
    struct port_range range = find_range(3);
    struct listener listeners[4];
    char expected[200];
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(listener_open(&listeners[i], &range, 1, false, &err), HVD_OK);
        ck_assert_int_eq(listeners[i].port, range.first + (1 + i) % 3);
    }
    ck_assert_int_eq(listener_open(&listeners[3], &range, 1, false, &err), HVD_ERR_SYSTEM);
    ck_assert_int_eq(listeners[3].fd, -1);
    snprintf(expected, sizeof expected,
             "HVD_PORT_RANGE: no port from %d to %d is free to listen at: Address already in use",
             range.first, range.last);
    ck_assert_str_eq(err.text, expected);
    for (int i = 0; i < 3; i++)
        descriptor_close(listeners[i].fd);
}
END_TEST

/* A connection that was open when a rank ended keeps its port in TIME_WAIT. */
START_TEST(a_port_that_was_used_a_moment_ago_is_free)
{
    struct port_range range = find_range(1);
    for (int i = 0; i < 3; i++) {
        struct listener listener;
        struct socket_address address;
        char text[80];
        int accepted;
        ck_assert_int_eq(listener_open(&listener, &range, 0, false, &err), HVD_OK);
        snprintf(text, sizeof text, "127.0.0.1:%d", range.first);
        ck_assert_int_eq(socket_address_parse(&address, text, &err), HVD_OK);
        int fd = socket_connect(&address, &err);
        while ((accepted = descriptor_accept(listener.fd)) < 0)
            poll(&(struct pollfd){ .fd = listener.fd, .events = POLLIN }, 1, 10000);
        descriptor_close(accepted); /* first: the listening side waits */
        descriptor_close(fd);
        descriptor_close(listener.fd);
    }
}
END_TEST

START_TEST(no_connection_that_it_accepts_has_begun_with_bbr)
{
    struct listener listener;
    struct socket_address address;
    char text[80], congestion[16] = "";
    socklen_t length = sizeof congestion - 1;
    int accepted;
    ck_assert_int_eq(listener_open(&listener, &any, 0, true, &err), HVD_OK);
    snprintf(text, sizeof text, "127.0.0.1:%d", listener.port);
    ck_assert_int_eq(socket_address_parse(&address, text, &err), HVD_OK);
    int fd = socket_connect(&address, &err);
    while ((accepted = descriptor_accept(listener.fd)) < 0)
        poll(&(struct pollfd){ .fd = listener.fd, .events = POLLIN }, 1, 10000);
    ck_assert_int_eq(getsockopt(accepted, IPPROTO_TCP, TCP_CONGESTION, congestion, &length), 0);
    ck_assert_str_ne(congestion, "bbr");
    descriptor_close(accepted);
    descriptor_close(fd);
    descriptor_close(listener.fd);
}
END_TEST

/* All of loopback is let in; so the interface that was not chosen is loopback by another name. */
START_TEST(who_comes_by_a_door_that_was_not_chosen_is_closed)
{
    static struct interfaces all;
    static struct network network;
    static struct link_accept accepting;
    struct listener listener;
    struct rank_credentials credentials = { 0 };
    ck_assert_int_eq(interfaces_read(&all, &err), HVD_OK);
    ck_assert_int_eq(network_init(&network, "node0", &all, "", &err), HVD_OK);
    ck_assert_int_eq(listener_open(&listener, &any, 0, false, &err), HVD_OK);
    network.limited = true;
    for (int i = 0; i < all.count; i++) {
        bool chosen = i % 2;
        struct socket_address address = { .storage = all.at[i].address };
        char text[SOCKET_ADDRESS_TEXT];
        socket_address_format(&address, text);
        snprintf(strrchr(text, ':'), 8, ":%u", listener.port);
        network.interfaces.count = 0;
        if (chosen)
            network.interfaces.at[network.interfaces.count++] = all.at[i];
        chosen |= address_is_loopback(&all.at[i].address);
        link_accept_init(&accepting, listener.fd, &credentials, NULL, NULL);
        accepting.network = &network;
        if (socket_address_parse(&address, text, &err) < 0)
            continue;
        int fd = socket_connect(&address, &err);
        if (fd < 0)
            continue;
        struct pollfd knock = { .fd = listener.fd, .events = POLLIN };
        if (poll(&knock, 1, 2000) == 1) {
            ck_assert_int_eq(link_accept_move(&accepting, 0, &err), HVD_OK);
            ck_assert_int_eq(accepting.count, chosen);
        }
        link_accept_fini(&accepting);
        descriptor_close(fd);
    }
    descriptor_close(listener.fd);
}
END_TEST

static int dial_unix(const char *text)
{
    struct socket_address address;
    ck_assert_int_eq(socket_address_parse(&address, text, &err), HVD_OK);
    return socket_connect(&address, &err);
}

START_TEST(a_unix_socket_has_a_name_of_its_own_and_leaves_none)
{
    struct listener listeners[2];
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(listener_open(&listeners[i], &any, 0, true, &err), HVD_OK);
        ck_assert_int_eq(listeners[i].unix_fd, -1);
        ck_assert_str_eq(listeners[i].unix_address, "");
        ck_assert_int_eq(listener_open_unix(&listeners[i], &err), HVD_OK);
    }
    ck_assert_str_ne(listeners[0].unix_address, listeners[1].unix_address);
    int fd = dial_unix(listeners[0].unix_address);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(socket_check_user(fd, &err), HVD_OK);
    descriptor_close(fd);
    for (int i = 0; i < 2; i++) {
        descriptor_close(listeners[i].fd);
        descriptor_close(listeners[i].unix_fd);
        ck_assert_int_eq(dial_unix(listeners[i].unix_address), HVD_ERR_ENVIRONMENT);
    }
}
END_TEST

/* Both the descriptor and the name are given back, and the port stays. */
START_TEST(without_a_unix_socket_there_is_the_port)
{
    struct listener listener;
    ck_assert_int_eq(listener_open(&listener, &any, 0, true, &err), HVD_OK);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ (rlim_t)listener.fd + 1, 4096 });
    ck_assert_int_eq(listener_open_unix(&listener, &err), HVD_ERR_SYSTEM);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 4096, 4096 });
    ck_assert_str_eq(listener.unix_address, "");
    ck_assert_int_eq(listener.unix_fd, -1);
    ck_assert(answers("127.0.0.1", listener.port));
    descriptor_close(listener.fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("listener");
    TCase *tcase = tcase_create("listener");
    descriptors_watch(tcase);
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, one_port_is_reached_over_ipv4_and_ipv6);
    tcase_add_test(tcase, on_loopback_it_is_reached_there_alone);
    tcase_add_test(tcase, where_it_was_chosen_to_be_it_is_reached_by_one_port);
    tcase_add_test(tcase, at_an_address_that_is_not_here_it_is_nowhere);
    tcase_add_test(tcase, where_it_was_chosen_to_be_a_port_that_is_taken_is_not_taken_again);
    tcase_add_test(tcase, ranks_begin_at_different_ports_of_a_range);
    tcase_add_test(tcase, a_range_is_used_up_to_the_last_port_and_then_named);
    tcase_add_test(tcase, a_port_that_was_used_a_moment_ago_is_free);
    tcase_add_test(tcase, no_connection_that_it_accepts_has_begun_with_bbr);
    tcase_add_test(tcase, a_unix_socket_has_a_name_of_its_own_and_leaves_none);
    tcase_add_test(tcase, without_a_unix_socket_there_is_the_port);
    tcase_add_test(tcase, who_comes_by_a_door_that_was_not_chosen_is_closed);
    return unit_run(suite);
}
