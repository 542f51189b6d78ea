/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of a port, over real loopback sockets: large answers, clients that read slowly or not
 * at all, and ends. */
#include "tests/support/tcp_clients.h"
#include "tests/support/unit.h"

#include <string.h>
#include <unistd.h>

START_TEST(a_large_answer_arrives_whole_before_the_end)
{
    char *data = malloc(LARGE + 1);
    int fd = port_dial();
    port_say(fd, "C");
    ck_assert_int_eq(port_hear(fd, data, LARGE + 1), LARGE);
    ck_assert_ptr_null(memchr(data, 0, LARGE));
    ck_assert_int_eq(stand_in.hung_up, 0);
    close(fd);
    free(data);
}
END_TEST

START_TEST(an_answer_outlives_what_the_client_still_sends)
{
    int fd = port_dial();
    port_say(fd, "!");
    while (stand_in.accepted == 0 || stand_in.open > 0)
        port_turn();
    port_say(fd, "more that nobody reads");
    port_turns(3);
    port_say(fd, "and more");
    port_turns(3);
    char heard[8];
    ck_assert_int_eq(port_hear(fd, heard, sizeof heard), 1);
    close(fd);
}
END_TEST

START_TEST(who_does_not_read_is_not_read_from)
{
    char *data = malloc(LARGE);
    int fd = port_dial();
    port_say(fd, "L");
    while (stand_in.received == 0)
        port_turn();
    port_say(fd, "next");
    port_turns(20);
    ck_assert_uint_eq(stand_in.received, 1);
    ck_assert_int_eq(port_hear(fd, data, LARGE), LARGE);
    port_expect(fd, "next");
    ck_assert_uint_eq(stand_in.received, 5);
    close(fd);
    free(data);
}
END_TEST

START_TEST(who_does_not_read_for_long_is_hung_up_on)
{
    int stuck = port_dial(), fine = port_dial();
    port_say(stuck, "L");
    port_say(fine, "hello");
    port_expect(fine, "hello");
    while (stand_in.received < 6)
        port_turn();
    while (stand_in.hung_up == 0) { /* the kernel's buffers may still grow */
        port_ahead_ms += TCP_PORT_WRITE_MS;
        uv_run(&port_loop, UV_RUN_ONCE);
    }
    ck_assert_int_eq(stand_in.open, 1);
    port_say(fine, "again");
    port_expect(fine, "again");
    close(stuck);
    close(fine);
}
END_TEST

/* Until the next look at deadlines, if there is one. */
static void put_forward(uint64_t ms)
{
    uint64_t check_ms = __real_uv_now(&port_loop) + uv_timer_get_due_in(&port->tick);
    port_ahead_ms += ms;
    while (__real_uv_now(&port_loop) < check_ms && uv_is_active((uv_handle_t *)&port->tick))
        uv_run(&port_loop, UV_RUN_ONCE);
}

/* Two are sent as much; a while passes between what each reads. */
START_TEST(who_reads_too_slowly_is_hung_up_on)
{
    enum { MUCH = 3 << 19, LITTLE = 64 << 10, STEP_MS = TCP_PORT_WRITE_MS / 2 };
    static char heard[MUCH];
    int fine = port_dial_for_much(MUCH, 0), slow = port_dial_for_much(MUCH, LITTLE);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(port_hear(fine, heard, MUCH / 2), MUCH / 2);
        ck_assert_int_eq(port_hear(slow, heard, LITTLE), LITTLE);
        ck_assert_int_eq(stand_in.hung_up, 0);
        put_forward(STEP_MS);
    }
    for (int read = 2 * LITTLE; stand_in.hung_up == 0; read += LITTLE) {
        ck_assert_int_lt(read, MUCH - LITTLE);
        ck_assert_int_eq(port_hear(slow, heard, LITTLE), LITTLE);
        put_forward(STEP_MS);
    }
    port_say(fine, "again");
    port_expect(fine, "again");
    close(slow);
    close(fine);
}
END_TEST

/* However little it is: at the rate that is demanded a second would do. */
START_TEST(who_is_sent_little_has_time_to_read_it)
{
    static char answer[MEDIUM];
    int fd = port_dial_narrow();
    port_say(fd, "M");
    while (stand_in.accepted == 0 || stand_in.open > 0)
        port_turn();
    put_forward(TCP_PORT_WRITE_MS / 2);
    ck_assert_int_eq(port_hear(fd, answer, sizeof answer), sizeof answer);
    close(fd);
}
END_TEST

START_TEST(when_much_is_queued_for_all_large_queues_are_refused)
{
    int fds[3];
    port->queues_max = 5 << 20;
    for (int i = 0; i < 3; i++)
        fds[i] = port_dial_for_much(3 << 20, 4096);
    while (stand_in.hung_up == 0)
        port_turn();
    port_turns(10);
    ck_assert_int_eq(stand_in.hung_up, 2);
    ck_assert_uint_le(port->queues, port->queues_max);
    int fine = port_dial_narrow();
    port_say(fine, "M");
    while (stand_in.accepted < 4 || stand_in.open > 1)
        port_turn();
    ck_assert_int_eq(stand_in.hung_up, 2);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    close(fine);
    while (port->connections)
        port_turn();
    ck_assert_uint_eq(port->queues, 0);
}
END_TEST

START_TEST(who_does_not_see_the_end_is_dropped)
{
    int fd = port_dial();
    port_say(fd, "!");
    while (stand_in.accepted == 0 || stand_in.open > 0)
        port_turn();
    ck_assert_int_eq(port->lingering, 1);
    port_ahead_ms = TCP_LINGER_MS;
    while (port->lingering > 0)
        uv_run(&port_loop, UV_RUN_ONCE);
    port_turns(2);
    ck_assert_ptr_null(port->connections);
    ck_assert_msg(!uv_is_active((uv_handle_t *)&port->tick), "a clock ticks for nobody");
    close(fd);
}
END_TEST

START_TEST(few_wait_for_clients_that_do_not_see_the_end)
{
    int fds[CONNECTIONS_MAX];
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        port_say(fds[i] = port_dial(), "!");
        port_turns(2);
    }
    while (stand_in.accepted < CONNECTIONS_MAX || stand_in.open > 0)
        port_turn();
    ck_assert_int_eq(port->lingering, TCP_LINGERING_MAX);
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        port_expect(fds[i], "!");
        close(fds[i]);
    }
}
END_TEST

static int count_connections(void)
{
    int count = 0;
    for (struct tcp_connection *at = port->connections; at; at = at->next)
        count++;
    return count;
}

START_TEST(few_wait_for_clients_that_do_not_read_their_last_answer)
{
    static char answer[MEDIUM];
    int fds[CONNECTIONS_MAX];
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        port_say(fds[i] = port_dial_narrow(), "M");
        port_turns(2);
    }
    while (stand_in.accepted < CONNECTIONS_MAX || stand_in.open > 0)
        port_turn();
    ck_assert_int_eq(port->lingering, TCP_LINGERING_MAX);
    ck_assert_int_eq(count_connections(), TCP_LINGERING_MAX);
    int known = port_dial_narrow();
    port_say(known, "C");
    ck_assert_int_eq(port_hear(known, answer, sizeof answer), sizeof answer);
    close(known);
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        close(fds[i]);
}
END_TEST

START_TEST(what_was_said_before_a_reset_is_heard)
{
    int fd = port_dial();
    port_say(fd, "hello");
    while (stand_in.received < 5)
        port_turn();
    port_say(fd, "goodbye");
    close(fd); /* on an unread answer: a reset */
    while (stand_in.open > 0)
        port_turn();
    ck_assert_uint_eq(stand_in.received, 12);
    ck_assert_int_eq(stand_in.hung_up, 1);
}
END_TEST

START_TEST(sending_to_who_has_gone_harms_nobody)
{
    int gone = port_dial();
    port_say(gone, "hello");
    port_expect(gone, "hello");
    struct rendezvous_stream *stream = stand_in.latest->stream;
    port_say(gone, "L");
    struct linger reset = { 1, 0 };
    setsockopt(gone, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(gone);
    for (int i = 0; i < 3; i++)
        stream->send(stream, "news", 4);
    while (stand_in.open > 0)
        port_turn();
    ck_assert_int_eq(stand_in.hung_up, 1);
}
END_TEST

START_TEST(who_lets_too_much_pile_up_is_hung_up_on)
{
    int fd = port_dial();
    port_say(fd, "L");
    while (stand_in.received == 0)
        port_turn();
    for (int i = 0; i < TCP_QUEUE_MAX / LARGE; i++)
        port_send_large(stand_in.latest->stream);
    while (stand_in.hung_up == 0)
        port_turn();
    close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tcp_connection");
    TCase *tcase = tcase_create("connection");
    tcase_add_checked_fixture(tcase, port_set_up, port_tear_down);
    tcase_add_test(tcase, a_large_answer_arrives_whole_before_the_end);
    tcase_add_test(tcase, an_answer_outlives_what_the_client_still_sends);
    tcase_add_test(tcase, who_does_not_read_is_not_read_from);
    tcase_add_test(tcase, who_does_not_read_for_long_is_hung_up_on);
    tcase_add_test(tcase, who_reads_too_slowly_is_hung_up_on);
    tcase_add_test(tcase, who_is_sent_little_has_time_to_read_it);
    tcase_add_test(tcase, when_much_is_queued_for_all_large_queues_are_refused);
    tcase_add_test(tcase, who_does_not_see_the_end_is_dropped);
    tcase_add_test(tcase, few_wait_for_clients_that_do_not_see_the_end);
    tcase_add_test(tcase, few_wait_for_clients_that_do_not_read_their_last_answer);
    tcase_add_test(tcase, what_was_said_before_a_reset_is_heard);
    tcase_add_test(tcase, sending_to_who_has_gone_harms_nobody);
    tcase_add_test(tcase, who_lets_too_much_pile_up_is_hung_up_on);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
