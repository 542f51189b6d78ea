/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict that was recorded first, and what becomes of it when all is known. */
#include "launcher/base/exit_status.h"
#include "launcher/verdict/job_judge.h"
#include "launcher/verdict/unresponsive_host.h"
#include "tests/support/rank_ends.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <string.h>

enum { RANKS = 3 };

/* Ranks 0 and 1 are on host 0, 2 is on host 1. */
static struct report_rank ranks[RANKS];
static struct report_host hosts[2];
static struct job_report report;
static struct job_state state;

static void setup(void)
{
    memset(ranks, 0, sizeof ranks);
    memset(hosts, 0, sizeof hosts);
    report = (struct job_report){
        .ranks = ranks, .nranks = RANKS, .hosts = hosts, .nhosts = 2, .origin = rank_end_none()
    };
    job_state_init(&state, 2, RANKS);
    for (int host = 0; host < 2; host++)
        job_state_on_host_ready(&state);
    for (int rank = 0; rank < RANKS; rank++) {
        ranks[rank] = (struct report_rank){ .met = true, .host = rank / 2 };
        job_state_on_rank_started(&state);
    }
}

/* In the order in which hvdrun hears of it; `at_us` is when it happened. */
static void ends(int rank, const struct rank_end_how *how, uint64_t at_us)
{
    bool terminated = state.verdict.cause != CAUSE_NONE;
    job_state_on_rank_exited(&state, ranks[rank].host, rank, how, at_us / 1000);
    ranks[rank].end = END_BY_ITSELF;
    ranks[rank].how = *how;
    ranks[rank].ended_us = at_us;
    ranks[rank].after_ms = at_us / 1000;
    ranks[rank].terminated = terminated;
}

START_TEST(the_rank_that_failed_first_is_the_verdict_though_another_was_heard_of_first)
{
    ends(0, EXITED_WITH(1), 9000);
    ends(2, KILLED_BY(SIGSEGV), 5000);
    ck_assert_int_eq(state.verdict.rank, 0);
    job_judge(&state, &report);
    ck_assert_int_eq(state.verdict.cause, CAUSE_RANK);
    ck_assert_int_eq(state.verdict.rank, 2);
    ck_assert_int_eq(state.verdict.host, 1);
    ck_assert_int_eq(state.verdict.how.code, SIGSEGV);
    ck_assert_uint_eq(state.verdict.after_ms, 5);
    ck_assert_int_eq(state.verdict.exit_status, 128 + SIGSEGV);
}
END_TEST

START_TEST(a_rank_that_left_is_the_verdict_instead_of_the_rank_that_needed_it)
{
    static struct rank_end left = { .how.kind = RANK_END_LEFT,
                                    .status = HVD_ERR_PEER_LEFT,
                                    .rank = 2,
                                    .because_of = RANK_NONE,
                                    .collective = COLLECTIVE_BARRIER };
    ends(2, EXITED_WITH(0), 1000);
    ranks[0].left_because = &left;
    ends(0, EXITED_WITH(1), 2000);
    job_judge(&state, &report);
    ck_assert_int_eq(state.verdict.cause, CAUSE_LEFT);
    ck_assert_int_eq(state.verdict.rank, 2);
    ck_assert_int_eq(state.verdict.reporter, 0);
    ck_assert_int_eq(state.verdict.exit_status, STATUS_PROTOCOL);
}
END_TEST

static struct rank_end lost = { .how.kind = RANK_END_UNREACHABLE,
                                .status = HVD_ERR_PEER_LOST,
                                .rank = 2,
                                .because_of = RANK_NONE };

START_TEST(a_host_that_did_not_answer_is_the_verdict_and_has_a_reason)
{
    ranks[0].left_because = &lost;
    ends(0, EXITED_WITH(1), 2000);
    hosts[1].unanswered = UNANSWERED_ALONE;
    job_judge(&state, &report);
    ck_assert_int_eq(state.verdict.cause, CAUSE_HOST);
    ck_assert_int_eq(state.verdict.host, 1);
    ck_assert_int_eq(state.verdict.rank, -1);
    ck_assert_int_eq(state.verdict.exit_status, STATUS_HOST_LOST);
    ck_assert_str_eq(hosts[1].reason, state.verdict.text);
}
END_TEST

START_TEST(a_host_that_was_lost_later_is_the_verdict_in_the_words_of_its_loss)
{
    ranks[0].left_because = &lost;
    ends(0, EXITED_WITH(1), 2000);
    job_state_on_host_lost(&state, 1, STATUS_HOST_LOST, "the link broke", false);
    job_judge(&state, &report);
    ck_assert(hosts[1].lost);
    ck_assert_int_eq(state.verdict.cause, CAUSE_HOST);
    ck_assert_int_eq(state.verdict.host, 1);
    ck_assert_str_eq(state.verdict.text, "the link broke");
}
END_TEST

/* Host 1 was reached through host 0. */
static void lose_child_host(int exit_status, const char *text)
{
    hosts[1].name = "b";
    hosts[1].above = &hosts[0];
    hosts[1].end = HOST_END_LOST;
    job_state_on_host_lost(&state, 1, exit_status, text, false);
    for (int rank = 0; rank < RANKS; rank++)
        job_state_on_rank_lost(&state);
}

START_TEST(a_host_that_did_not_answer_is_the_verdict_instead_of_its_child)
{
    lose_child_host(STATUS_HOST_LOST, "host lost: its agent has ended");
    hosts[0].unanswered = hosts[1].unanswered = UNANSWERED_ALONE;
    job_judge(&state, &report);
    ck_assert_int_eq(state.verdict.cause, CAUSE_HOST);
    ck_assert_int_eq(state.verdict.host, 0);
    ck_assert_int_eq(state.verdict.exit_status, STATUS_HOST_LOST);
    ck_assert_str_eq(state.verdict.text,
                     "host lost: no answer; b below it: host lost: its agent has ended");
    ck_assert_str_eq(hosts[0].reason, state.verdict.text);
    ck_assert_int_eq(state.terminated, RANKS);
}
END_TEST

START_TEST(a_host_that_was_silent_is_the_verdict_instead_of_its_child)
{
    lose_child_host(STATUS_HOST_LOST, "host lost: nothing came");
    hosts[0].silent_ms = 6500;
    job_judge(&state, &report);
    ck_assert_int_eq(state.verdict.host, 0);
    ck_assert_str_eq(state.verdict.text, "no sign of life from its agent for 6.5 s; b below it: "
                                         "host lost: nothing came");
}
END_TEST

START_TEST(a_long_gap_is_told_in_seconds)
{
    lose_child_host(STATUS_HOST_LOST, "gone");
    hosts[0].silent_ms = 999600;
    job_judge(&state, &report);
    ck_assert_str_eq(state.verdict.text,
                     "no sign of life from its agent for 1000 s; b below it: gone");
}
END_TEST

/* A signal to that agent; the gap of the host above has nothing to do with it. */
START_TEST(a_child_that_said_itself_that_it_ends_stays_the_verdict)
{
    lose_child_host(STATUS_HOST_LOST, "host lost: its agent (pid 7) was stopped by signal 15");
    hosts[0].silent_ms = 6500;
    hosts[1].end = HOST_END_DONE;
    job_judge(&state, &report);
    ck_assert_int_eq(state.verdict.host, 1);
    ck_assert_str_eq(state.verdict.text, "host lost: its agent (pid 7) was stopped by signal 15");
}
END_TEST

START_TEST(a_child_of_a_host_that_answered_stays_the_verdict)
{
    lose_child_host(STATUS_HOST_LOST, "host lost: its agent has ended");
    hosts[1].unanswered = UNANSWERED_ALONE;
    job_judge(&state, &report);
    ck_assert_int_eq(state.verdict.host, 1);
    ck_assert_str_eq(state.verdict.text, "host lost: its agent has ended");
}
END_TEST

START_TEST(another_failure_of_a_child_stays_the_verdict)
{
    lose_child_host(STATUS_PROTOCOL, "host lost: nonsense");
    hosts[0].unanswered = UNANSWERED_ALONE;
    job_judge(&state, &report);
    ck_assert_int_eq(state.verdict.host, 1);
    ck_assert_int_eq(state.verdict.exit_status, STATUS_PROTOCOL);
}
END_TEST

START_TEST(a_signal_to_hvdrun_stays_the_verdict)
{
    job_state_on_told_to_stop(&state, SIGINT, "");
    ends(0, EXITED_WITH(1), 2000);
    job_judge(&state, &report);
    ck_assert_int_eq(state.verdict.cause, CAUSE_SIGNAL);
    ck_assert_int_eq(state.verdict.exit_status, 128 + SIGINT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job_judge");
    TCase *tcase = tcase_create("verdicts");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase,
                   the_rank_that_failed_first_is_the_verdict_though_another_was_heard_of_first);
    tcase_add_test(tcase, a_rank_that_left_is_the_verdict_instead_of_the_rank_that_needed_it);
    tcase_add_test(tcase, a_host_that_did_not_answer_is_the_verdict_and_has_a_reason);
    tcase_add_test(tcase, a_host_that_was_lost_later_is_the_verdict_in_the_words_of_its_loss);
    tcase_add_test(tcase, a_host_that_did_not_answer_is_the_verdict_instead_of_its_child);
    tcase_add_test(tcase, a_host_that_was_silent_is_the_verdict_instead_of_its_child);
    tcase_add_test(tcase, a_long_gap_is_told_in_seconds);
    tcase_add_test(tcase, a_child_that_said_itself_that_it_ends_stays_the_verdict);
    tcase_add_test(tcase, a_child_of_a_host_that_answered_stays_the_verdict);
    tcase_add_test(tcase, another_failure_of_a_child_stays_the_verdict);
    tcase_add_test(tcase, a_signal_to_hvdrun_stays_the_verdict);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
