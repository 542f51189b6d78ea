/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel acknowledges for a process that does not read. */
#include "launcher/protocol/tcp_acknowledged.h"

#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

static int here, there;

static void connect_pair(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    here = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(here, (struct sockaddr *)&address, length), 0);
    there = accept(listener, NULL, NULL);
    ck_assert_int_ge(there, 0);
    close(listener);
}

static void close_pair(void)
{
    close(here);
    close(there);
}

START_TEST(what_nobody_reads_is_acknowledged_too)
{
    uint64_t before = tcp_acknowledged(here);
    ck_assert_int_eq(write(here, "heartbeat", 9), 9);
    while (tcp_acknowledged(here) < before + 9)
        sched_yield();
    ck_assert_uint_eq(tcp_acknowledged(here), before + 9);
}
END_TEST

START_TEST(what_comes_from_the_other_side_does_not_count)
{
    char bytes[9];
    uint64_t before = tcp_acknowledged(here);
    ck_assert_int_eq(write(there, "heartbeat", 9), 9);
    ck_assert_int_eq(recv(here, bytes, sizeof bytes, MSG_WAITALL), 9);
    ck_assert_uint_eq(tcp_acknowledged(here), before);
}
END_TEST

START_TEST(of_another_kind_of_descriptor_nothing_is_known)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ck_assert_uint_eq(tcp_acknowledged(ends[0]), 0);
    ck_assert_uint_eq(tcp_acknowledged(-1), 0);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tcp_acknowledged");
    TCase *tcase = tcase_create("acknowledged");
    tcase_add_checked_fixture(tcase, connect_pair, close_pair);
    tcase_add_test(tcase, what_nobody_reads_is_acknowledged_too);
    tcase_add_test(tcase, what_comes_from_the_other_side_does_not_count);
    tcase_add_test(tcase, of_another_kind_of_descriptor_nothing_is_known);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
