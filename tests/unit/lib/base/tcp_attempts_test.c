/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel is told about a silent host, and that chance does not explain so many attempts
 * without an answer. */
#include "lib/base/tcp_attempts.h"

#include "tests/support/unit.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

static int option_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t length = sizeof value;
    return getsockopt(fd, level, name, &value, &length) == 0 ? value : -1;
}

static int tcp_option_of(int fd, int name)
{
    return option_of(fd, IPPROTO_TCP, name);
}

START_TEST(an_idle_connection_is_probed)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int usual_limit_ms = tcp_option_of(fd, TCP_USER_TIMEOUT);
    tcp_probe_idle(fd, 5, 12);
    ck_assert_int_eq(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    ck_assert_int_eq(tcp_option_of(fd, TCP_KEEPIDLE), 5);
    ck_assert_int_eq(tcp_option_of(fd, TCP_KEEPINTVL), 1);
    ck_assert_int_eq(tcp_option_of(fd, TCP_KEEPCNT), 12);
    ck_assert_int_eq(tcp_option_of(fd, TCP_USER_TIMEOUT), usual_limit_ms);
    close(fd);
}
END_TEST

START_TEST(a_limit_holds_for_idle_connections_and_for_data)
{
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    if (fd < 0) /* a machine without IPv6 */
        fd = socket(AF_INET, SOCK_STREAM, 0);
    int usual_wait_ms = tcp_option_of(fd, TCP_RTO_MAX_MS);
    tcp_limit_wait(fd, 1, 60600);
    ck_assert_int_eq(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    ck_assert_int_eq(tcp_option_of(fd, TCP_KEEPIDLE), 1);
    ck_assert_int_eq(tcp_option_of(fd, TCP_KEEPINTVL), 1);
    ck_assert_int_eq(tcp_option_of(fd, TCP_KEEPCNT), TCP_ATTEMPTS);
    ck_assert_int_eq(tcp_option_of(fd, TCP_USER_TIMEOUT), 60600);
    ck_assert_int_eq(tcp_option_of(fd, TCP_RTO_MAX_MS), usual_wait_ms < 0 ? -1 : 1000);
    close(fd);
}
END_TEST

START_TEST(what_is_not_tcp_is_left_alone)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    tcp_limit_wait(pair[0], 1, 1000);
    ck_assert_int_eq(write(pair[0], "a", 1), 1);
    close(pair[0]);
    close(pair[1]);
}
END_TEST

/* Seconds until the first probe, the least time, and the limit. */
static const struct {
    int idle_s;
    uint32_t least_ms, limit_ms;
} limits[] = {
    { 1, 0, 13000 },     { 1, 5600, 13000 },      { 1, 13000, 13000 }, { 1, 13001, 13001 },
    { 1, 60600, 60600 }, { 1, 3600600, 3600600 }, { 5, 10000, 17000 }, { 5, 17001, 17001 },
};

START_TEST(a_limit_is_at_least_what_twelve_probes_take)
{
    ck_assert_uint_eq(tcp_wait_limit_ms(limits[_i].idle_s, limits[_i].least_ms),
                      limits[_i].limit_ms);
}
END_TEST

/* How many attempts to send data the kernel makes before the limit: after 0.2 s, 0.6 s and so on,
 * `longest_ms` apart at most. It makes none at the limit. */
static int attempts_before(uint32_t limit_ms, uint32_t longest_ms)
{
    int attempts = 0;
    uint32_t wait_ms = 200;
    for (uint32_t at_ms = 0; at_ms < limit_ms; attempts++) {
        at_ms += wait_ms;
        wait_ms = 2 * wait_ms < longest_ms ? 2 * wait_ms : longest_ms;
    }
    return attempts;
}

static double chance_of(int attempts)
{
    double chance = 1;
    while (attempts-- > 0)
        chance *= 1 - 0.95 * 0.95;
    return chance;
}

START_TEST(chance_does_not_explain_so_many_failures)
{
    uint32_t limit_ms = tcp_wait_limit_ms(limits[_i].idle_s, limits[_i].least_ms);
    int probes = (int)(limit_ms - (uint32_t)limits[_i].idle_s * 1000) / TCP_ATTEMPTS_EVERY_MS;
    int attempts = attempts_before(limit_ms, TCP_ATTEMPTS_EVERY_MS);
    ck_assert_int_ge(probes, TCP_ATTEMPTS);
    ck_assert_int_ge(attempts, TCP_ATTEMPTS);
    ck_assert(chance_of(attempts) < 1e-12 && chance_of(probes) < 1e-12);
    ck_assert(chance_of(attempts_before(limit_ms, 120000)) < 1e-7); /* before Linux 6.15 */
}
END_TEST

int main(void)
{
    const int count = sizeof limits / sizeof *limits;
    Suite *suite = suite_create("tcp_attempts");
    TCase *tcase = tcase_create("tcp_attempts");
    tcase_add_test(tcase, an_idle_connection_is_probed);
    tcase_add_test(tcase, a_limit_holds_for_idle_connections_and_for_data);
    tcase_add_test(tcase, what_is_not_tcp_is_left_alone);
    tcase_add_loop_test(tcase, a_limit_is_at_least_what_twelve_probes_take, 0, count);
    tcase_add_loop_test(tcase, chance_does_not_explain_so_many_failures, 0, count);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
