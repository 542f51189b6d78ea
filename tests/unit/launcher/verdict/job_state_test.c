/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a job, event by event. */
#include "launcher/base/exit_status.h"
#include "launcher/verdict/job_state.h"
#include "launcher/verdict/job_verdict_text.h"
#include "tests/support/rank_ends.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <signal.h>

static struct job_state state;

/* A job of two hosts and four ranks, all of which run. */
static void setup(void)
{
    job_state_init(&state, 2, 4);
    ck_assert_int_eq(job_state_on_host_ready(&state), JOB_WAIT);
    ck_assert_int_eq(job_state_on_host_ready(&state), JOB_START);
    for (int rank = 0; rank < 4; rank++)
        ck_assert_int_eq(job_state_on_rank_started(&state), JOB_WAIT);
}

static void end_hosts(void)
{
    ck_assert_int_eq(job_state_on_host_done(&state), JOB_WAIT);
    ck_assert_int_eq(job_state_on_host_done(&state), JOB_FINISH);
    ck_assert_int_eq(state.phase, JOB_FINISHED);
}

START_TEST(nothing_starts_before_every_host_is_ready)
{
    job_state_init(&state, 3, 3);
    ck_assert_int_eq(job_state_on_host_ready(&state), JOB_WAIT);
    ck_assert_int_eq(job_state_on_host_ready(&state), JOB_WAIT);
    ck_assert_int_eq(state.phase, JOB_PREPARING);
    ck_assert_int_eq(job_state_on_host_ready(&state), JOB_START);
}
END_TEST

START_TEST(ranks_that_end_well_make_a_job_that_ends_well)
{
    for (int rank = 0; rank < 4; rank++)
        ck_assert_int_eq(job_state_on_rank_exited(&state, 0, rank, EXITED_WITH(0), 10), JOB_WAIT);
    end_hosts();
    ck_assert_int_eq(state.verdict.cause, CAUSE_NONE);
    ck_assert_int_eq(state.verdict.exit_status, 0);
}
END_TEST

START_TEST(the_first_failure_stops_the_others_and_is_the_verdict)
{
    ck_assert_int_eq(job_state_on_rank_exited(&state, 0, 2, EXITED_WITH(42), 1234), JOB_STOP);
    ck_assert_int_eq(state.stop_signal, SIGTERM);
    ck_assert_int_eq(job_state_on_rank_exited(&state, 0, 0, KILLED_BY(SIGTERM), 1240), JOB_WAIT);
    ck_assert_int_eq(job_state_on_rank_exited(&state, 0, 1, EXITED_WITH(7), 1241), JOB_WAIT);
    ck_assert_int_eq(job_state_on_rank_exited(&state, 0, 3, EXITED_WITH(0), 1242), JOB_WAIT);
    end_hosts();
    ck_assert_int_eq(state.verdict.exit_status, 42);
    ck_assert_int_eq(state.verdict.rank, 2);
    ck_assert_int_eq(state.terminated, 3);
}
END_TEST

START_TEST(death_by_a_signal_is_128_and_its_number)
{
    ck_assert_int_eq(job_state_on_rank_exited(&state, 0, 1, KILLED_BY(SIGSEGV), 5), JOB_STOP);
    ck_assert_int_eq(state.verdict.exit_status, 128 + SIGSEGV);
}
END_TEST

START_TEST(a_host_that_cannot_start_stops_the_job_before_it_runs)
{
    job_state_init(&state, 2, 4);
    ck_assert_int_eq(job_state_on_host_ready(&state), JOB_WAIT);
    ck_assert_int_eq(job_state_on_host_failed(&state, 1, -1, STATUS_NOT_FOUND, "no"), JOB_STOP);
    ck_assert_int_eq(job_state_on_host_ready(&state), JOB_WAIT);
    end_hosts();
    ck_assert_int_eq(state.verdict.exit_status, STATUS_NOT_FOUND);
    ck_assert_int_eq(state.verdict.host, 1);
    ck_assert_str_eq(state.verdict.text, "no");
}
END_TEST

START_TEST(two_hosts_that_fail_are_one_verdict)
{
    job_state_init(&state, 2, 4);
    job_state_on_host_failed(&state, 0, -1, STATUS_NOT_FOUND, "first");
    ck_assert_int_eq(job_state_on_host_failed(&state, 1, -1, STATUS_RESOURCE, "second"), JOB_WAIT);
    ck_assert_int_eq(state.verdict.exit_status, STATUS_NOT_FOUND);
    ck_assert_str_eq(state.verdict.text, "first");
}
END_TEST

/* Signals that arrive one after the other, and what is passed on each time; 0 for nothing. */
static const struct {
    int signums[3], passed[3], exit_status;
} signal_rows[] = {
    { { SIGINT }, { SIGINT }, 130 },
    { { SIGTERM }, { SIGTERM }, 143 },
    { { SIGHUP }, { SIGHUP }, 129 },
    { { SIGINT, SIGINT, SIGINT }, { SIGINT, SIGKILL, 0 }, 130 },
    { { SIGTERM, SIGTERM, SIGINT }, { SIGTERM, 0, SIGKILL }, 143 },
    { { SIGINT, SIGTERM, SIGTERM }, { SIGINT, SIGTERM, 0 }, 130 },
    { { SIGHUP, SIGINT, SIGTERM }, { SIGHUP, SIGKILL, 0 }, 129 },
};

START_TEST(a_second_interrupt_kills_and_the_first_signal_is_the_status)
{
    for (int i = 0; i < 3 && signal_rows[_i].signums[i]; i++) {
        enum job_action action = job_state_on_told_to_stop(&state, signal_rows[_i].signums[i], "");
        int passed = signal_rows[_i].passed[i];
        ck_assert_int_eq((int)action, passed ? (int)JOB_STOP : (int)JOB_WAIT);
        if (passed)
            ck_assert_int_eq(state.stop_signal, passed);
    }
    ck_assert_int_eq(state.verdict.exit_status, signal_rows[_i].exit_status);
}
END_TEST

START_TEST(a_failure_before_the_signal_stays_the_verdict)
{
    job_state_on_rank_exited(&state, 0, 0, EXITED_WITH(3), 5);
    ck_assert_int_eq(job_state_on_told_to_stop(&state, SIGINT, ""), JOB_STOP);
    ck_assert_int_eq(state.stop_signal, SIGKILL);
    ck_assert_int_eq(state.verdict.exit_status, 3);
}
END_TEST

START_TEST(a_finished_job_cannot_be_stopped)
{
    for (int rank = 0; rank < 4; rank++)
        job_state_on_rank_exited(&state, 0, rank, EXITED_WITH(0), 10);
    end_hosts();
    ck_assert_int_eq(job_state_on_told_to_stop(&state, SIGTERM, ""), JOB_WAIT);
    ck_assert_int_eq(job_state_on_failed(&state, CAUSE_JOB, 75, "late"), JOB_WAIT);
    ck_assert_int_eq(state.verdict.exit_status, 0);
}
END_TEST

START_TEST(a_reader_that_went_away_may_turn_out_at_the_very_end)
{
    for (int rank = 0; rank < 4; rank++)
        job_state_on_rank_exited(&state, 0, rank, EXITED_WITH(0), 10);
    end_hosts();
    ck_assert_int_eq(job_state_on_failed(&state, CAUSE_OUTPUT, 141, "gone"), JOB_WAIT);
    ck_assert_int_eq(state.verdict.exit_status, 141);
}
END_TEST

START_TEST(a_job_that_has_had_its_time_is_stopped)
{
    ck_assert_int_eq(job_state_on_timeout(&state, STATUS_JOB_TIMEOUT, "late"), JOB_STOP);
    ck_assert_int_eq(state.stop_signal, SIGTERM);
    ck_assert(state.told_to_stop);
    ck_assert_int_eq(state.verdict.exit_status, 124);
    ck_assert_int_eq(job_state_on_told_to_stop(&state, SIGINT, ""), JOB_STOP);
    ck_assert_int_eq(state.verdict.exit_status, 124);
}
END_TEST

START_TEST(time_that_is_up_later_changes_no_verdict)
{
    job_state_on_rank_exited(&state, 0, 0, EXITED_WITH(3), 5);
    ck_assert_int_eq(job_state_on_timeout(&state, STATUS_JOB_TIMEOUT, "late"), JOB_WAIT);
    ck_assert(state.told_to_stop); /* but nobody waits for readers any more */
    ck_assert_int_eq(state.verdict.exit_status, 3);
}
END_TEST

START_TEST(time_may_be_up_while_only_output_is_in_transit)
{
    for (int rank = 0; rank < 4; rank++)
        job_state_on_rank_exited(&state, 0, rank, EXITED_WITH(0), 10);
    end_hosts();
    ck_assert_int_eq(job_state_on_timeout(&state, STATUS_JOB_TIMEOUT, "late"), JOB_WAIT);
    ck_assert_int_eq(state.verdict.exit_status, 124);
    ck_assert_int_eq(state.phase, JOB_FINISHED);
}
END_TEST

START_TEST(ranks_of_a_lost_host_count_as_terminated)
{
    ck_assert_int_eq(job_state_on_host_failed(&state, 0, -1, STATUS_HOST_LOST, "gone"), JOB_STOP);
    job_state_on_rank_lost(&state);
    job_state_on_rank_lost(&state);
    ck_assert_int_eq(state.terminated, 2);
    ck_assert_int_eq(state.ranks_running, 2);
}
END_TEST

START_TEST(processes_that_are_left_on_many_hosts_do_not_overflow)
{
    job_state_on_left(&state, 3);
    job_state_on_left(&state, 4);
    ck_assert_int_eq(state.left, 7);
    job_state_on_left(&state, INT_MAX - 8);
    ck_assert_int_eq(state.left, INT_MAX - 1);
    job_state_on_left(&state, 2);
    ck_assert_int_eq(state.left, INT_MAX);
}
END_TEST

/* The words */

static struct host_slots slots = { .name = (char[]){ "node1" }, .slots = 4 };
static struct rank_host host = { .host = &slots, .local_size = 4 };
static struct rank_slot ranks[4];
static const struct rank_plan plan = { .ranks = ranks, .size = 4, .hosts = &host, .host_count = 1 };

static const char *verdict(pid_t pid, uint64_t elapsed_ms)
{
    static char text[1024];
    job_verdict_text(text, sizeof text, &state, &plan, pid, elapsed_ms);
    return text;
}

START_TEST(a_failed_rank_is_named_with_host_process_and_signal)
{
    job_state_on_rank_exited(&state, 0, 2, KILLED_BY(SIGKILL), 12345);
    job_state_on_rank_exited(&state, 0, 0, KILLED_BY(SIGTERM), 12346);
    ck_assert_str_eq(verdict(4711, 13000),
                     "FAILED rank 2 on node1 (pid 4711): killed by signal 9 "
                     "(SIGKILL) after 12.3 s; 1 other rank terminated, 0 left");
}
END_TEST

static const struct rank_end_how stopped = { RANK_END_STOPPED, .code = SIGSTOP };

START_TEST(a_rank_that_is_stopped_may_be_a_failure)
{
    ck_assert_int_eq(job_state_on_rank_stopped(&state, 0, 1, &stopped, 500), JOB_STOP);
    ck_assert_int_eq(job_state_on_rank_stopped(&state, 0, 2, &stopped, 501), JOB_WAIT);
    job_state_on_rank_exited(&state, 0, 1, KILLED_BY(SIGTERM), 510);
    job_state_on_rank_exited(&state, 0, 2, KILLED_BY(SIGTERM), 510);
    ck_assert_str_eq(
        verdict(4711, 1000),
        "FAILED rank 1 on node1 (pid 4711): stopped by signal 19 (SIGSTOP) after 0.5 s; "
        "1 other rank terminated, 0 left");
    ck_assert_int_eq(state.verdict.exit_status, 128 + SIGSTOP);
}
END_TEST

START_TEST(a_rank_killed_for_want_of_memory_is_told_so)
{
    job_state_on_rank_exited(&state, 0, 2, KILLED_BY(SIGKILL), 1);
    struct rank_end_how how = { RANK_END_KILLED, .code = SIGKILL, .oom = true };
    job_state_blame(&state, 0, 3, &how, 2000, "");
    ck_assert_str_eq(verdict(4711, 13000),
                     "FAILED rank 3 on node1 (pid 4711): killed by signal 9 (SIGKILL; kernel OOM "
                     "counter rose) after 2.0 s");
    ck_assert_int_eq(state.verdict.exit_status, 137);
}
END_TEST

START_TEST(what_has_failed_in_a_rank_is_told)
{
    job_state_on_rank_exited(&state, 0, 2, EXITED_WITH(1), 1);
    job_state_blame(&state, 0, 3, EXITED_WITH(5), 2000, "accept: Too many open files");
    ck_assert_str_eq(verdict(4711, 13000),
                     "FAILED rank 3 on node1 (pid 4711): exited with status 5 after 2.0 s: accept: "
                     "Too many open files");
    ck_assert_int_eq(state.verdict.exit_status, 5);
}
END_TEST

START_TEST(a_rank_that_left_is_blamed_instead_of_who_needed_it)
{
    job_state_on_rank_exited(&state, 0, 2, EXITED_WITH(0), 1);
    job_state_on_rank_exited(&state, 0, 1, EXITED_WITH(1), 2);
    job_state_on_rank_exited(&state, 0, 0, KILLED_BY(SIGTERM), 3);
    job_state_blame_left(&state, 0, 2, 1, false, STATUS_PROTOCOL,
                         "left before barrier, for which rank 1 waited");
    state.left = 2;
    ck_assert_str_eq(verdict(4711, 13000),
                     "FAILED rank 2 on node1 (pid 4711): left before barrier, for which rank 1 "
                     "waited; 2 other ranks terminated, 2 processes could not be killed");
    ck_assert_int_eq(state.verdict.exit_status, STATUS_PROTOCOL);
}
END_TEST

/* In what order rank 2, which left, and rank 1, which needed it, end; and 0 and 3 after them. */
static const struct {
    int first, second;
    bool terminated;
} leavers[] = { { 2, 1, false }, { 1, 2, true } };

START_TEST(who_left_is_not_one_of_the_others)
{
    int first = leavers[_i].first, second = leavers[_i].second;
    job_state_on_rank_exited(&state, 0, first, EXITED_WITH(first == 1), 1);
    job_state_on_rank_exited(&state, 0, second, EXITED_WITH(second == 1), 2);
    job_state_on_rank_exited(&state, 0, 0, KILLED_BY(SIGTERM), 3);
    job_state_on_rank_exited(&state, 0, 3, KILLED_BY(SIGTERM), 3);
    job_state_blame_left(&state, 0, 2, 1, leavers[_i].terminated, STATUS_PROTOCOL, "left");
    ck_assert_int_eq(state.terminated, 3);
}
END_TEST

START_TEST(a_host_may_be_the_verdict_when_all_is_known)
{
    job_state_on_rank_exited(&state, 0, 1, EXITED_WITH(1), 1);
    for (int rank = 0; rank < 4; rank++)
        if (rank != 1)
            job_state_on_rank_exited(&state, rank / 2, rank, KILLED_BY(SIGTERM), 3);
    job_state_blame_host(&state, 1, STATUS_HOST_LOST, "it heard nothing");
    ck_assert_int_eq(state.verdict.cause, CAUSE_HOST);
    ck_assert_int_eq(state.verdict.host, 1);
    ck_assert_int_eq(state.verdict.rank, -1);
    ck_assert_int_eq(state.verdict.exit_status, STATUS_HOST_LOST);
    ck_assert_str_eq(state.verdict.text, "it heard nothing");
    ck_assert_int_eq(state.terminated, 4); /* the first as well */
}
END_TEST

START_TEST(a_rank_that_was_stopped_stays_the_verdict)
{
    job_state_on_rank_stopped(&state, 0, 1, &stopped, 500);
    job_state_on_rank_exited(&state, 0, 2, EXITED_WITH(3), 501);
    job_state_blame(&state, 0, 2, EXITED_WITH(3), 501, "");
    job_state_blame_left(&state, 0, 2, 3, true, STATUS_PROTOCOL, "left");
    job_state_blame_host(&state, 1, STATUS_HOST_LOST, "it heard nothing");
    ck_assert_int_eq(state.verdict.cause, CAUSE_RANK);
    ck_assert_int_eq(state.verdict.rank, 1);
    ck_assert_int_eq(state.terminated, 1);
    ck_assert_int_eq(state.verdict.exit_status, 128 + SIGSTOP);
}
END_TEST

START_TEST(what_a_host_could_not_do_is_named_with_the_host)
{
    state.verdict.host = 0;
    job_state_on_host_failed(&state, 0, -1, 127, "command not found: 'x'");
    ck_assert_str_eq(verdict(0, 0), "FAILED on node1: command not found: 'x'");
    state.left = 2;
    ck_assert_str_eq(verdict(0, 0),
                     "FAILED on node1: command not found: 'x'; 2 processes could not "
                     "be killed");
}
END_TEST

START_TEST(a_signal_to_the_launcher_is_not_called_a_failure)
{
    job_state_on_told_to_stop(&state, SIGINT, "");
    state.terminated = 4;
    state.left = 1;
    ck_assert_str_eq(verdict(0, 3210), "stopped by signal 2 (SIGINT) after 3.2 s; 4 ranks "
                                       "terminated, 1 process could not be killed");
}
END_TEST

START_TEST(a_signal_before_the_ranks_run_names_who_was_waited_for)
{
    job_state_init(&state, 2, 4);
    job_state_on_told_to_stop(&state, SIGINT, "before node1 was ready");
    job_state_on_told_to_stop(&state, SIGTERM, "too late");
    ck_assert_str_eq(verdict(0, 3210), "stopped by signal 2 (SIGINT) after 3.2 s, before node1 was "
                                       "ready");
}
END_TEST

START_TEST(a_verdict_that_does_not_fit_is_cut)
{
    char text[20];
    job_state_on_failed(&state, CAUSE_JOB, 75, "a text that is much longer than twenty bytes");
    job_verdict_text(text, sizeof text, &state, &plan, 0, 0);
    ck_assert_str_eq(text, "FAILED: a text that");
}
END_TEST

static const struct {
    int host;
    struct rank_end_how how;
    bool silent;
    enum job_cause verdict;
} losses[] = {
    { 0, { RANK_END_EXITED, .code = 1 }, true, CAUSE_HOST }, /* its peer gave up first */
    { 0, { RANK_END_KILLED, .code = SIGABRT }, true, CAUSE_HOST },
    { 0, { RANK_END_EXITED, .code = 1 }, false, CAUSE_RANK }, /* it lived when the rank failed */
    { 1, { RANK_END_EXITED, .code = 1 }, true, CAUSE_RANK },  /* its own rank */
    { 0, { RANK_END_KILLED, .code = SIGSEGV }, true, CAUSE_RANK }, /* no peer's loss does that */
};

START_TEST(a_host_that_was_lost_before_is_why_a_rank_elsewhere_gave_up)
{
    job_state_init(&state, 2, 2);
    for (int i = 0; i < 2; i++) {
        job_state_on_host_ready(&state);
        job_state_on_rank_started(&state);
    }
    ck_assert_int_eq(job_state_on_rank_exited(&state, losses[_i].host, 0, &losses[_i].how, 5),
                     JOB_STOP);
    ck_assert_int_eq(job_state_on_host_lost(&state, 1, STATUS_HOST_LOST, "gone", losses[_i].silent),
                     JOB_WAIT);
    ck_assert_int_eq(state.verdict.cause, losses[_i].verdict);
    ck_assert_int_eq(state.verdict.exit_status, losses[_i].verdict == CAUSE_HOST
                                                    ? STATUS_HOST_LOST
                                                    : rank_end_exit_status(&losses[_i].how));
    ck_assert_int_eq(state.terminated, losses[_i].verdict == CAUSE_HOST);
    ck_assert_int_eq(state.lost_host, losses[_i].verdict == CAUSE_HOST ? -1 : 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job_state");
    TCase *tcase = tcase_create("events");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_loop_test(tcase, a_host_that_was_lost_before_is_why_a_rank_elsewhere_gave_up, 0,
                        (int)(sizeof losses / sizeof *losses));
    tcase_add_test(tcase, nothing_starts_before_every_host_is_ready);
    tcase_add_test(tcase, ranks_that_end_well_make_a_job_that_ends_well);
    tcase_add_test(tcase, the_first_failure_stops_the_others_and_is_the_verdict);
    tcase_add_test(tcase, death_by_a_signal_is_128_and_its_number);
    tcase_add_test(tcase, a_host_that_cannot_start_stops_the_job_before_it_runs);
    tcase_add_test(tcase, two_hosts_that_fail_are_one_verdict);
    tcase_add_loop_test(tcase, a_second_interrupt_kills_and_the_first_signal_is_the_status, 0,
                        sizeof signal_rows / sizeof *signal_rows);
    tcase_add_test(tcase, a_failure_before_the_signal_stays_the_verdict);
    tcase_add_test(tcase, a_finished_job_cannot_be_stopped);
    tcase_add_test(tcase, a_reader_that_went_away_may_turn_out_at_the_very_end);
    tcase_add_test(tcase, a_job_that_has_had_its_time_is_stopped);
    tcase_add_test(tcase, time_that_is_up_later_changes_no_verdict);
    tcase_add_test(tcase, time_may_be_up_while_only_output_is_in_transit);
    tcase_add_test(tcase, a_rank_that_is_stopped_may_be_a_failure);
    tcase_add_test(tcase, a_rank_killed_for_want_of_memory_is_told_so);
    tcase_add_test(tcase, what_has_failed_in_a_rank_is_told);
    tcase_add_test(tcase, a_rank_that_left_is_blamed_instead_of_who_needed_it);
    tcase_add_test(tcase, a_host_may_be_the_verdict_when_all_is_known);
    tcase_add_loop_test(tcase, who_left_is_not_one_of_the_others, 0,
                        (int)(sizeof leavers / sizeof *leavers));
    tcase_add_test(tcase, a_rank_that_was_stopped_stays_the_verdict);
    tcase_add_test(tcase, ranks_of_a_lost_host_count_as_terminated);
    tcase_add_test(tcase, processes_that_are_left_on_many_hosts_do_not_overflow);
    tcase_add_test(tcase, a_failed_rank_is_named_with_host_process_and_signal);
    tcase_add_test(tcase, what_a_host_could_not_do_is_named_with_the_host);
    tcase_add_test(tcase, a_signal_to_the_launcher_is_not_called_a_failure);
    tcase_add_test(tcase, a_signal_before_the_ranks_run_names_who_was_waited_for);
    tcase_add_test(tcase, a_verdict_that_does_not_fit_is_cut);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
