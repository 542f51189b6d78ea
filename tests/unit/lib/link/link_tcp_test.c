/* SPDX-License-Identifier: Apache-2.0 */
/* Links over sockets: where the system refuses to send, and what is set on those within a host. */
#include "lib/link/link_tcp.h"

#include "lib/link/congestion.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static int refusal; /* an errno, or 0 */
static struct link *ends[2];
static struct err err;

ssize_t __real_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags)
{
    if (refusal == 0)
        return __real_send(fd, data, size, flags);
    errno = refusal;
    return -1;
}

static void setup(void)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    for (int i = 0; i < 2; i++)
        ends[i] = link_unix_create(pair[i]);
}

static void teardown(void)
{
    for (int i = 0; i < 2; i++)
        link_close(ends[i]);
}

static ssize_t send_byte(struct link *link)
{
    char byte = 'x';
    struct iovec part = { &byte, 1 };
    return link_try_send(link, &part, 1, &err);
}

static ssize_t receive_byte(struct link *link)
{
    char byte;
    return link_try_receive(link, &byte, 1, &err);
}

static const int refusals[] = { ENOMEM, ENOBUFS, EPIPE, ECONNRESET };

START_TEST(a_link_that_cannot_send_ends_on_both_sides_behind_what_has_come)
{
    ck_assert_int_eq(send_byte(ends[1]), 1);
    refusal = refusals[_i];
    ck_assert_int_eq(send_byte(ends[0]), HVD_ERR_PEER_LOST);
    ck_assert_int_eq(receive_byte(ends[0]), 1);
    ck_assert_int_eq(receive_byte(ends[0]), HVD_ERR_PEER_LOST);
    ck_assert_int_eq(receive_byte(ends[1]), HVD_ERR_PEER_LOST);
    refusal = 0;
}
END_TEST

/* ---- within a host ---- */

static struct sockaddr_storage address_of(int family, const char *host, socklen_t *length)
{
    struct sockaddr_storage address = { .ss_family = (sa_family_t)family };
    struct sockaddr_in *in = (void *)&address;
    struct sockaddr_in6 *in6 = (void *)&address;
    void *to = family == AF_INET ? (void *)&in->sin_addr : (void *)&in6->sin6_addr;
    ck_assert_int_eq(inet_pton(family, host, to), 1);
    *length = family == AF_INET ? sizeof *in : sizeof *in6;
    return address;
}

/* Connected, from one address to another, as the sockets of links are; false if this machine does
 * not know them. */
static bool connect_pair(int family, const char *from, const char *to, int pair[2])
{
    socklen_t length;
    struct sockaddr_storage own = address_of(family, from, &length);
    struct sockaddr_storage its = address_of(family, to, &length);
    int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pair[0] = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    congestion_begin(listener);
    congestion_begin(pair[0]);
    bool known = bind(listener, (void *)&its, length) == 0 && listen(listener, 1) == 0 &&
                 getsockname(listener, (void *)&its, &length) == 0 &&
                 bind(pair[0], (void *)&own, length) == 0 &&
                 connect(pair[0], (void *)&its, length) == 0;
    pair[1] = known ? accept(listener, NULL, NULL) : -1;
    close(listener);
    if (!known)
        close(pair[0]);
    return known;
}

static const char *congestion(int fd)
{
    static char name[16];
    socklen_t length = sizeof name;
    ck_assert_int_eq(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length), 0);
    return name;
}

static const struct {
    int family;
    const char *from, *to;
    bool within;
} connections[] = {
    { AF_INET, "127.0.0.1", "127.0.0.1", true },
    { AF_INET6, "::1", "::1", true },
    { AF_INET, "127.0.0.1", "127.0.0.2", false },
};

static const char *system_congestion(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const char *name = congestion(fd);
    close(fd);
    return name;
}

static const struct {
    const char *system;
    bool replaced;
} systems[] = {
    { "bbr", true }, { "reno", false }, { "cubic", false }, { "dctcp", false }, { "", false },
};

START_TEST(only_a_default_that_paces_for_ever_is_replaced_before_the_connection)
{
    ck_assert_int_eq(congestion_is_replaced(systems[_i].system), systems[_i].replaced);
}
END_TEST

START_TEST(a_socket_that_is_to_be_a_link_begins_without_bbr)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    congestion_begin(fd);
    ck_assert_str_ne(congestion(fd), "bbr");
    close(fd);
}
END_TEST

START_TEST(a_socket_that_is_not_tcp_begins_as_it_is)
{
    int pair[2];
    char byte = 'x';
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    congestion_begin(pair[0]);
    ck_assert_int_eq(write(pair[0], &byte, 1), 1);
    ck_assert_int_eq(read(pair[1], &byte, 1), 1);
    for (int i = 0; i < 2; i++)
        close(pair[i]);
}
END_TEST

START_TEST(a_link_within_a_host_is_held_to_no_estimate_and_any_other_is_as_the_system_says)
{
    int pair[2];
    char system[16];
    strcpy(system, system_congestion());
    int family = connections[_i].family;
    if (!connect_pair(family, connections[_i].from, connections[_i].to, pair)) {
        ck_assert_msg(family == AF_INET6, "no connection from %s to %s: %s", connections[_i].from,
                      connections[_i].to, strerror(errno));
        fprintf(stderr, "# not tried: no IPv6 here\n");
        return;
    }
    for (int i = 0; i < 2; i++) {
        struct link *link = link_tcp_create(pair[i]);
        ck_assert_str_eq(congestion(pair[i]), connections[_i].within ? "reno" : system);
        link_close(link);
    }
}
END_TEST

/* Two hosts, as far as addresses tell. Fails only where the system's default is replaced. */
START_TEST(a_link_between_hosts_is_as_the_system_says_though_no_descriptor_is_left)
{
    int pair[2];
    char system[16];
    struct rlimit limit, none;
    strcpy(system, system_congestion());
    ck_assert(connect_pair(AF_INET, "127.0.0.1", "127.0.0.2", pair));
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){ 0, limit.rlim_max };
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_int_eq(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), -1);
    struct link *links[2];
    for (int i = 0; i < 2; i++) {
        links[i] = link_tcp_create(pair[i]);
        ck_assert_str_eq(congestion(pair[i]), system);
    }
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 0; i < 2; i++)
        link_close(links[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link_tcp");
    TCase *tcase = tcase_create("link_tcp");
    descriptors_watch(tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, a_link_that_cannot_send_ends_on_both_sides_behind_what_has_come, 0,
                        sizeof refusals / sizeof *refusals);
    tcase_add_loop_test(
        tcase, a_link_within_a_host_is_held_to_no_estimate_and_any_other_is_as_the_system_says, 0,
        sizeof connections / sizeof *connections);
    tcase_add_loop_test(tcase, only_a_default_that_paces_for_ever_is_replaced_before_the_connection,
                        0, sizeof systems / sizeof *systems);
    tcase_add_test(tcase, a_socket_that_is_to_be_a_link_begins_without_bbr);
    tcase_add_test(tcase, a_socket_that_is_not_tcp_begins_as_it_is);
    tcase_add_test(tcase, a_link_between_hosts_is_as_the_system_says_though_no_descriptor_is_left);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
