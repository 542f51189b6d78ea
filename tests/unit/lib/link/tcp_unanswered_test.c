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
    /* An idle connection is probed every second. */
    { 0, 2, 0, 200, 2999, 9000, false },
    { 0, 3, 0, 200, 3799, 9000, false },
    { 0, 3, 0, 200, 3800, 9000, true },
    { 0, 2, 0, 200, 3800, 9000, false },
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
    ck_assert_int_eq(tcp_unanswered_is_loss(&info), rows[_i].lost);
}
END_TEST

START_TEST(a_host_that_sends_is_not_lost)
{
    struct tcp_info info = info_of_row(_i);
    info.tcpi_last_data_recv = 100;
    ck_assert_int_eq(tcp_unanswered_ms(&info), 100);
    ck_assert(!tcp_unanswered_is_loss(&info));
}
END_TEST

/* It only received, for a minute. The last data came when the first attempt was made. */
START_TEST(data_that_arrived_is_an_answer_as_an_acknowledgement_is)
{
    struct tcp_info info = info_of_row(_i);
    info.tcpi_last_data_recv = info.tcpi_last_ack_recv;
    info.tcpi_last_ack_recv = 60000;
    ck_assert_int_eq(tcp_unanswered_is_loss(&info), rows[_i].lost);
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
    return unit_run(suite);
}
