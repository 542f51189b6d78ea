/* SPDX-License-Identifier: Apache-2.0 */
/* When a host that does not acknowledge is lost. The figures of a row are those that the kernel
 * gives. */
#include "lib/link/tcp_unanswered.h"

#include "tests/support/unit.h"

/* Attempts of one kind, and the times of the last acknowledgement and of the last data, in ms
 * ago. */
static const struct {
    unsigned retransmits, probes, backoff, rto_ms, acknowledged_ms, sent_ms;
    bool lost;
} rows[] = {
    /* Data is sent again after 0.2, 0.6, 1.4 and 3.0 s. */
    { 0, 0, 0, 200, 100, 100, false },
    { 1, 0, 1, 400, 599, 399, false },
    { 3, 0, 3, 1600, 2999, 1599, false },
    { 4, 0, 4, 3200, 3799, 799, false },
    { 4, 0, 4, 3200, 3800, 800, true },
    /* With a first wait of 0.25 s a host that is back after 2 s is asked after 3.75 s. */
    { 3, 0, 3, 2000, 3749, 1999, false },
    { 4, 0, 4, 4000, 4549, 799, false },
    { 4, 0, 4, 4000, 4550, 800, true },
    /* Third attempts 2.38 and 2.45 s after the first. */
    { 3, 0, 3, 2720, 5000, 2620, false },
    { 3, 0, 3, 2800, 3250, 800, true },
    /* The connection was idle for 0.9 s before. */
    { 3, 0, 3, 1600, 3899, 1599, false },
    { 3, 0, 3, 2400, 3799, 800, false },
    /* A wait was long already before the first attempt (RFC 6298). */
    { 1, 0, 5, 6400, 4000, 800, true },
    { 1, 0, 4, 3200, 2400, 800, false },
    /* There was an acknowledgement, of nothing new. */
    { 6, 0, 6, 12800, 900, 850, false },
    { 6, 0, 6, 12800, 3199, 800, false },
    { 6, 0, 6, 12800, 3200, 800, true },
    /* Host unreachable: TCP goes on with short waits. */
    { 9, 0, 1, 400, 4799, 800, false },
    { 9, 0, 1, 400, 4800, 800, true },
    { 9, 0, 1, 400, 4800, 799, false },
    { 200, 0, 200, 4000000, 4800, 800, true },
    /* A peer without room that answered after 0.2 s is probed 0.4, 1.2 and 2.8 s later, and so
     * on. */
    { 0, 1, 2, 200, 1199, 9000, false },
    { 0, 2, 3, 200, 2799, 9000, false },
    { 0, 3, 4, 200, 3599, 9000, false },
    { 0, 3, 4, 200, 3600, 9000, true },
    { 0, 1, 8, 200, 60000, 90000, false },
    { 0, 2, 6, 200, 10399, 90000, false },
    { 0, 2, 6, 200, 10400, 90000, true },
    { 0, 1, 200, 200, 60000, 90000, false },
    /* An idle connection is probed every second, and with each check when it is in doubt. */
    { 0, 0, 0, 200, 60000, 60000, false },
    { 0, 3, 0, 200, 3800, 9000, false },
    { 0, 12, 0, 200, 3799, 9000, false },
    { 0, 12, 0, 200, 3800, 9000, true },
    { 0, 11, 0, 200, 9000, 9000, false },
};

/* No data has arrived for an hour. */
static struct tcp_info info_of_row(int row)
{
    return (struct tcp_info){
        .tcpi_retransmits = (uint8_t)rows[row].retransmits,
        .tcpi_probes = (uint8_t)rows[row].probes,
        .tcpi_backoff = (uint8_t)rows[row].backoff,
        .tcpi_rto = rows[row].rto_ms * 1000,
        .tcpi_last_ack_recv = rows[row].acknowledged_ms,
        .tcpi_last_data_sent = rows[row].sent_ms,
        .tcpi_last_data_recv = 3600000,
    };
}

START_TEST(a_host_is_lost_when_two_attempts_far_apart_have_no_answer)
{
    struct tcp_info info = info_of_row(_i);
    ck_assert_int_eq(tcp_unanswered_state(&info) == TCP_LOST, rows[_i].lost);
}
END_TEST

START_TEST(a_host_that_sends_is_not_lost)
{
    struct tcp_info info = info_of_row(_i);
    info.tcpi_last_data_recv = 100;
    ck_assert_int_eq(tcp_unanswered_ms(&info), 100);
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_ANSWERED);
}
END_TEST

/* It only received, for a minute. The last data came when the first attempt was made. */
START_TEST(data_that_arrived_is_an_answer_as_an_acknowledgement_is)
{
    struct tcp_info info = info_of_row(_i);
    info.tcpi_last_data_recv = info.tcpi_last_ack_recv;
    info.tcpi_last_ack_recv = 60000;
    ck_assert_int_eq(tcp_unanswered_state(&info) == TCP_LOST, rows[_i].lost);
}
END_TEST

/* Segments that were sent, and sent again, and attempts that must then fail. */
static const struct {
    uint32_t sent, again;
    int attempts;
} loss_rows[] = {
    { 0, 0, 0 },           { 1000000, 0, 0 }, { 1000000, 999, 0 },
    { 1000000, 1000, 6 },  { 1000, 4, 6 },    { 1000, 5, 7 },
    { 1000, 9, 7 },        { 1000, 10, 9 },   { 1000, 19, 9 },
    { 1000, 20, 12 },      { 1000, 49, 12 },  { 1000, 50, 17 },
    { 1000, 1000, 17 },    { 10, 2, 17 },     { 4000000000u, 4000000000u, 17 },
    { 4000000000u, 2, 0 }, { 10, 1, 0 },
};

START_TEST(a_connection_that_lost_packets_needs_more_attempts)
{
    ck_assert_int_eq(tcp_unanswered_attempts(loss_rows[_i].sent, loss_rows[_i].again),
                     loss_rows[_i].attempts);
}
END_TEST

/* The chance that as many attempts fail is at most 1.5 in 10^12 at each boundary, if an attempt
 * fails when it or its answer is lost. */
START_TEST(chance_does_not_explain_so_many_failures)
{
    for (uint32_t again = 2; again <= 100; again++) {
        int attempts = tcp_unanswered_attempts(1000, again);
        double chance = 1;
        for (int i = 0; i < attempts; i++)
            chance *= 2.0 * again / 1000;
        ck_assert_msg(chance < 1.5e-12, "%g with %u of 1000", chance, (unsigned)again);
    }
}
END_TEST

/* A connection that sent 1000 segments, `again` of them again, before four retransmissions had no
 * answer, nor the tail loss probe before them. */
static struct tcp_info silent_after(uint32_t again, uint8_t retransmits, uint32_t silent_ms)
{
    return (struct tcp_info){
        .tcpi_retransmits = retransmits,
        .tcpi_backoff = retransmits,
        .tcpi_rto = 1000000,
        .tcpi_last_ack_recv = silent_ms,
        .tcpi_last_data_sent = 800,
        .tcpi_last_data_recv = 3600000,
        .tcpi_total_retrans = again + 1 + retransmits,
        .tcpi_data_segs_out = 1000 + 1 + retransmits,
    };
}

START_TEST(a_clean_connection_is_lost_by_time_alone)
{
    struct tcp_info info = silent_after(0, 4, 4800);
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_LOST);
}
END_TEST

START_TEST(what_the_peer_got_twice_was_not_lost)
{
    struct tcp_info info = silent_after(500, 4, 4800);
    info.tcpi_dsack_dups = 499;
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_LOST);
    info.tcpi_dsack_dups = 498;
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_DOUBTED);
    info.tcpi_dsack_dups = UINT32_MAX;
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_LOST);
}
END_TEST

/* 5 % were lost: 17 attempts. */
START_TEST(a_connection_that_lost_packets_is_in_doubt_first)
{
    struct tcp_info info = silent_after(50, 4, 4800);
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_DOUBTED);
    info = silent_after(50, 16, 59999);
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_DOUBTED);
    info = silent_after(50, 17, 17000);
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_LOST);
    info = silent_after(50, 17, 4799);
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_DOUBTED);
    info = silent_after(50, 3, 2399);
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_ANSWERED);
}
END_TEST

START_TEST(a_host_is_lost_after_a_minute_however_many_packets_were_lost)
{
    struct tcp_info info = silent_after(500, 8, 60000);
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_LOST);
    info = silent_after(500, 8, 59999);
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_DOUBTED);
}
END_TEST

/* The peer has no room, and each probe comes a second after the last. */
START_TEST(probes_of_a_peer_without_room_must_fail_as_often)
{
    struct tcp_info info = silent_after(49, 0, 20000);
    info.tcpi_backoff = 9;
    info.tcpi_probes = 12;
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_DOUBTED);
    info.tcpi_probes = 13;
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_LOST);
    info.tcpi_probes = 5;
    info.tcpi_last_ack_recv = 60000;
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_LOST);
    info.tcpi_probes = 4;
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_DOUBTED);
}
END_TEST

START_TEST(an_idle_connection_is_in_doubt_when_a_probe_has_no_answer)
{
    struct tcp_info info = { .tcpi_probes = 1, .tcpi_last_ack_recv = 1199 };
    info.tcpi_last_data_recv = 3600000;
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_ANSWERED);
    info.tcpi_last_ack_recv = 1200;
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_DOUBTED);
}
END_TEST

/* Linux before 4.6. */
START_TEST(a_kernel_that_does_not_count_leaves_a_connection_clean)
{
    struct tcp_info info = silent_after(50, 4, 4800);
    info.tcpi_data_segs_out = 0;
    ck_assert_int_eq(tcp_unanswered_state(&info), TCP_LOST);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tcp_unanswered");
    TCase *tcase = tcase_create("tcp_unanswered");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, a_host_is_lost_when_two_attempts_far_apart_have_no_answer, 0,
                        sizeof rows / sizeof *rows);
    tcase_add_loop_test(tcase, a_host_that_sends_is_not_lost, 0, sizeof rows / sizeof *rows);
    tcase_add_loop_test(tcase, data_that_arrived_is_an_answer_as_an_acknowledgement_is, 0,
                        sizeof rows / sizeof *rows);
    tcase_add_loop_test(tcase, a_connection_that_lost_packets_needs_more_attempts, 0,
                        sizeof loss_rows / sizeof *loss_rows);
    tcase_add_test(tcase, chance_does_not_explain_so_many_failures);
    tcase_add_test(tcase, a_clean_connection_is_lost_by_time_alone);
    tcase_add_test(tcase, what_the_peer_got_twice_was_not_lost);
    tcase_add_test(tcase, a_connection_that_lost_packets_is_in_doubt_first);
    tcase_add_test(tcase, a_host_is_lost_after_a_minute_however_many_packets_were_lost);
    tcase_add_test(tcase, probes_of_a_peer_without_room_must_fail_as_often);
    tcase_add_test(tcase, an_idle_connection_is_in_doubt_when_a_probe_has_no_answer);
    tcase_add_test(tcase, a_kernel_that_does_not_count_leaves_a_connection_clean);
    return unit_run(suite);
}
