/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting to addresses in turn, when it is tried again, and names that are none. */
#include "launcher/hosts/resolve.h"
#include "launcher/ssh/ssh_dial.h"
#include "lib/base/tcp_attempts.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    enum ssh_turned_away how;
    int attempt, shortest_ms, longest_ms; /* negative: not any more */
} pauses[] = {
    { SSH_REFUSED, 1, 25, 99 },   { SSH_REFUSED, 2, 62, 249 }, { SSH_REFUSED, 3, 125, 499 },
    { SSH_REFUSED, 4, -1, -1 },   { SSH_CLOSED, 1, 125, 499 }, { SSH_CLOSED, 2, 375, 1499 },
    { SSH_CLOSED, 3, 875, 3499 }, { SSH_CLOSED, 4, -1, -1 },   { SSH_CLOSED, 0, -1, -1 },
};

START_TEST(who_is_turned_away_comes_back_three_times_and_not_with_all_others)
{
    int shortest = 100000, longest = -1;
    for (uint32_t random = 0; random < 5000; random++) {
        int ms = ssh_dial_again_ms(pauses[_i].how, pauses[_i].attempt, random);
        shortest = ms < shortest ? ms : shortest;
        longest = ms > longest ? ms : longest;
    }
    ck_assert_int_eq(shortest, pauses[_i].shortest_ms);
    ck_assert_int_eq(longest, pauses[_i].longest_ms);
    ck_assert_int_eq(ssh_dial_again_ms(pauses[_i].how, pauses[_i].attempt, UINT32_MAX) < 0,
                     longest < 0);
}
END_TEST

/* ---- a loop with one dial ---- */

static uv_loop_t loop;
static int calls;
static bool connected, refused;
static int longest_wait_ms; /* 0: the kernel has no such option */
static int wait_limit_ms;
static char text[300];

static int tcp_option(int fd, int option)
{
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(fd, IPPROTO_TCP, option, &value, &length) == 0 ? value : 0;
}

static void on_dialled(void *context, const struct ssh_dialled *dialled)
{
    (void)context;
    calls++;
    connected = dialled->fd >= 0;
    refused = dialled->refused;
    snprintf(text, sizeof text, "%s", dialled->text);
    if (!connected)
        return;
    longest_wait_ms = tcp_option(dialled->fd, TCP_RTO_MAX_MS);
    wait_limit_ms = tcp_option(dialled->fd, TCP_USER_TIMEOUT);
    close(dialled->fd);
}

/* A socket on 127.0.0.1; one that does not listen refuses. */
static int make_socket(bool listening, struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t length = sizeof *address;
    *address = (struct sockaddr_in){ .sin_family = AF_INET };
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)address, length), 0);
    getsockname(fd, (struct sockaddr *)address, &length);
    if (listening)
        ck_assert_int_eq(listen(fd, 5), 0);
    return fd;
}

static struct addrinfo list_of(struct sockaddr_in *address, struct addrinfo *next)
{
    return (struct addrinfo){ .ai_family = AF_INET,
                              .ai_addrlen = sizeof *address,
                              .ai_addr = (struct sockaddr *)address,
                              .ai_next = next };
}

static void setup(void)
{
    uv_loop_init(&loop);
    calls = 0;
}

static void teardown(void)
{
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}

START_TEST(an_address_that_refuses_is_named)
{
    struct sockaddr_in address;
    char expected[100];
    int fd = make_socket(false, &address);
    struct addrinfo list = list_of(&address, NULL);
    ssh_dial_start(&loop, &list, 3000, on_dialled, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    snprintf(expected, sizeof expected, "127.0.0.1 port %d: connection refused",
             ntohs(address.sin_port));
    ck_assert_int_eq(calls, 1);
    ck_assert_str_eq(text, expected);
    ck_assert(!connected && refused);
    close(fd);
}
END_TEST

START_TEST(the_next_address_is_tried_when_one_refuses)
{
    struct sockaddr_in refusing, good;
    int fds[] = { make_socket(false, &refusing), make_socket(true, &good) };
    struct addrinfo second = list_of(&good, NULL), first = list_of(&refusing, &second);
    ssh_dial_start(&loop, &first, 3000, on_dialled, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(calls, 1);
    ck_assert(connected);
    close(fds[0]);
    close(fds[1]);
}
END_TEST

START_TEST(a_connection_tries_again_every_second_at_least)
{
    struct sockaddr_in address;
    int fd = make_socket(true, &address);
    struct addrinfo list = list_of(&address, NULL);
    ssh_dial_start(&loop, &list, 3000, on_dialled, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(calls, 1);
    ck_assert_int_eq(longest_wait_ms, tcp_option(fd, TCP_RTO_MAX_MS) > 0 ? 1000 : 0);
    close(fd);
}
END_TEST

/* --heartbeat-timeout, and how long the kernel waits for an answer, in ms. */
static const struct {
    uint32_t heartbeat_timeout_ms;
    int limit_ms;
} wait_limits[] = { { 1000, 13000 }, { 5000, 13000 }, { 12401, 13001 }, { 3600000, 3600600 } };

START_TEST(heartbeats_are_given_up_before_the_connection_and_losses_do_not_end_it)
{
    struct sockaddr_in address;
    int fd = make_socket(true, &address);
    struct addrinfo list = list_of(&address, NULL);
    ssh_dial_start(&loop, &list, wait_limits[_i].heartbeat_timeout_ms, on_dialled, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(wait_limit_ms, wait_limits[_i].limit_ms);
    close(fd);
}
END_TEST

START_TEST(nothing_is_called_after_cancel)
{
    struct sockaddr_in address;
    int fd = make_socket(true, &address);
    struct addrinfo list = list_of(&address, NULL);
    struct ssh_dial *dial = ssh_dial_start(&loop, &list, 3000, on_dialled, NULL);
    ssh_dial_cancel(dial);
    ssh_dial_cancel(NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(calls, 0);
    close(fd);
}
END_TEST

/* ---- names ---- */

static void on_resolved(void *context, struct addrinfo *addresses, const char *problem)
{
    (void)context;
    calls++;
    connected = addresses != NULL;
    snprintf(text, sizeof text, "%s", problem ? problem : "");
    if (addresses)
        uv_freeaddrinfo(addresses);
}

START_TEST(an_address_is_its_own_name)
{
    resolve_start(&loop, "127.0.0.1", 22, AF_UNSPEC, 5000, on_resolved, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(calls, 1);
    ck_assert_str_eq(text, "");
    ck_assert(connected);
}
END_TEST

START_TEST(what_is_too_long_is_no_name)
{
    char name[300];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    resolve_start(&loop, name, 22, AF_UNSPEC, 5000, on_resolved, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(calls, 1);
    ck_assert_str_eq(text, "not a name");
}
END_TEST

START_TEST(an_unknown_name_is_told_as_the_resolver_tells_it)
{
    resolve_start(&loop, "256.256.256.256.invalid..", 22, AF_INET, 5000, on_resolved, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(calls, 1);
    ck_assert(!connected);
    ck_assert_str_ne(text, "");
}
END_TEST

START_TEST(many_names_are_asked_for_at_once)
{
    for (int i = 0; i < 40; i++)
        resolve_start(&loop, "127.0.0.1", 22, AF_UNSPEC, 5000, on_resolved, NULL);
    for (int i = 0; i < 40; i++)
        resolve_cancel(resolve_start(&loop, "127.0.0.1", 22, AF_UNSPEC, 5000, on_resolved, NULL));
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(calls, 40);
}
END_TEST

START_TEST(a_name_that_is_not_wanted_any_more_is_not_told)
{
    resolve_cancel(resolve_start(&loop, "127.0.0.1", 22, AF_UNSPEC, 5000, on_resolved, NULL));
    resolve_cancel(NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(calls, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ssh_dial");
    TCase *again = tcase_create("again");
    tcase_add_loop_test(again, who_is_turned_away_comes_back_three_times_and_not_with_all_others, 0,
                        sizeof pauses / sizeof *pauses);
    suite_add_tcase(suite, again);
    TCase *dial = tcase_create("dial");
    tcase_add_checked_fixture(dial, setup, teardown);
    tcase_add_test(dial, an_address_that_refuses_is_named);
    tcase_add_test(dial, the_next_address_is_tried_when_one_refuses);
    tcase_add_test(dial, a_connection_tries_again_every_second_at_least);
    tcase_add_loop_test(dial,
                        heartbeats_are_given_up_before_the_connection_and_losses_do_not_end_it, 0,
                        sizeof wait_limits / sizeof *wait_limits);
    tcase_add_test(dial, nothing_is_called_after_cancel);
    tcase_add_test(dial, an_address_is_its_own_name);
    tcase_add_test(dial, what_is_too_long_is_no_name);
    tcase_add_test(dial, an_unknown_name_is_told_as_the_resolver_tells_it);
    tcase_add_test(dial, many_names_are_asked_for_at_once);
    tcase_add_test(dial, a_name_that_is_not_wanted_any_more_is_not_told);
    suite_add_tcase(suite, dial);
    return unit_run(suite);
}
