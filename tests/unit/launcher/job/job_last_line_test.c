/* SPDX-License-Identifier: Apache-2.0 */
/* What hvdrun prints when all output of a job is written: the last line that the rank to blame has
 * written, the verdict, and a report that cannot be written. The job is data, and its clock stands
 * still; only its output is real, and goes into a file. A job has two hosts with one rank each. */
#include "launcher/base/exit_status.h"
#include "launcher/connect/host_connect_impl.h"
#include "launcher/job/job_impl.h"
#include "tests/support/log_capture.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { HOSTS = 2, NOW_MS = 1000000 };

static uv_loop_t loop;
static struct job job;
static struct job_options options;
static struct rank_plan plan;
static struct rank_slot slots[HOSTS] = { { .host = 0 }, { .host = 1 } };
static struct rank_host places[HOSTS];
static struct host_slots names[HOSTS];
static struct job_host hosts[HOSTS], *host_list[HOSTS];
static struct host_connect connects[HOSTS];
static int numbers[HOSTS] = { 0, 1 };
static int nreports, nover, finished_with, nfinished;
static bool report_fails, amid_line;

uint64_t __wrap_job_now_ms(void);

uint64_t __wrap_job_now_ms(void)
{
    return NOW_MS;
}

static int on_report(void *context, const struct job_report *report, struct err *err)
{
    (void)context;
    nreports++;
    amid_line = report->amid_line;
    if (report_fails)
        snprintf(err->text, sizeof err->text, "the report cannot be written");
    return report_fails ? HVD_ERR_SYSTEM : HVD_OK;
}

static void on_finished(void *context, int exit_status)
{
    (void)context;
    nfinished++;
    finished_with = exit_status;
}

static void on_over(void *context, const struct job_report *report)
{
    (void)context, (void)report;
    nover++;
}

static void on_credit(void *context, int rank, enum output_stream stream, uint32_t nbytes)
{
    (void)context, (void)rank, (void)stream, (void)nbytes;
}

static void make_hosts(void)
{
    static char a[] = "a", b[] = "b", *const texts[HOSTS] = { a, b };
    plan =
        (struct rank_plan){ .ranks = slots, .size = HOSTS, .hosts = places, .host_count = HOSTS };
    for (int i = 0; i < HOSTS; i++) {
        names[i].name = texts[i];
        places[i] = (struct rank_host){ &names[i], numbers + i, 1 };
        connects[i] = (struct host_connect){ .phase = CONNECT_DONE };
        hosts[i] = (struct job_host){
            .index = i, .phase = HOST_DONE, .where = places[i], .connect = &connects[i]
        };
        host_list[i] = &hosts[i];
    }
}

static void set_up(void)
{
    static const struct job_output_events events = { .on_credit = on_credit,
                                                     .on_finished = job_on_output_finished };
    const struct job_output_options output = { .nranks = HOSTS };
    struct err err = { 0 };
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    make_hosts();
    options = (struct job_options){ 0 };
    job = (struct job){ .loop = &loop,
                        .options = &options,
                        .plan = &plan,
                        .hosts = host_list,
                        .rendezvous = { .on_over = on_over },
                        .callbacks = { .on_report = on_report, .on_finished = on_finished } };
    log_capture_start();
    job.output = job_output_create(&loop, &output, &events, &job, &err);
    ck_assert_ptr_nonnull(job.output);
    job_state_init(&job.state, HOSTS, HOSTS);
    job_report_init(&job.report, &plan, "id", 0, 0);
    job.state.phase = JOB_STOPPING;
    job.start.started_ms = NOW_MS;
    nreports = nover = nfinished = 0;
    finished_with = -1;
    report_fails = amid_line = false;
}

static void tear_down(void)
{
    log_capture_stop();
    job_output_destroy(job.output);
    uv_run(&loop, UV_RUN_DEFAULT);
    job_report_fini(&job.report);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}

/* All hosts are done. */
static void end_job(void)
{
    job_output_finish(job.output);
    while (nfinished == 0)
        uv_run(&loop, UV_RUN_ONCE);
}

/* Then the job prints `expected` and ends with this status. */
static void job_says(int exit_status, const char *expected)
{
    end_job();
    ck_assert_str_eq(log_captured(), expected);
    ck_assert_int_eq(nfinished, 1);
    ck_assert_int_eq(finished_with, exit_status);
    ck_assert_int_eq(nreports, 1);
    ck_assert_int_eq(nover, 1);
}

static void rank_failed(int rank, int kind, int code)
{
    const struct rank_end_how how = { .kind = kind, .code = code };
    job.report.ranks[rank].end = END_BY_ITSELF;
    job.report.ranks[rank].pid = 100 + rank;
    job.report.ranks[rank].how = how;
    job.report.ranks[rank].after_ms = 1500;
    job_state_on_rank_exited(&job.state, rank, rank, &how, 1500);
}

static void rank_writes(int rank, const char *text)
{
    job_output_take(job.output, rank, STREAM_STDERR, text, strlen(text));
}

/* srun, which has started that host's agent, has said why the batch system ends the job. */
static void batch_system_says(int host, const char *why)
{
    connects[host].job_ends = true;
    snprintf(connects[host].end_text, sizeof connects[host].end_text, "%s", why);
}

/* ---- the verdict ---- */

START_TEST(a_job_that_went_well_says_nothing)
{
    batch_system_says(0, "slurm: TIME LIMIT");
    job_says(0, "");
    ck_assert_int_eq(job.report.cause, CAUSE_NONE);
    ck_assert_int_eq(job.report.host, -1);
    ck_assert_int_eq(job.report.rank, -1);
}
END_TEST

START_TEST(the_rank_that_failed_is_the_last_line)
{
    rank_failed(1, RANK_END_EXITED, 3);
    job_says(3, "hvdrun: FAILED rank 1 on b (pid 101): exited with status 3 after 1.5 s\n");
    ck_assert_int_eq(job.report.exit_status, 3);
    ck_assert_int_eq(job.report.rank, 1);
    ck_assert_int_eq(job.report.host, 1);
    ck_assert_int_eq(job.report.pid, 101);
    ck_assert_str_eq(job.report.text,
                     "FAILED rank 1 on b (pid 101): exited with status 3 after 1.5 s");
}
END_TEST

START_TEST(on_a_terminal_the_first_word_is_red)
{
    options.colour = true;
    rank_failed(1, RANK_END_EXITED, 3);
    job_says(3, "hvdrun: \033[1;31mFAILED\033[0m rank 1 on b (pid 101): "
                "exited with status 3 after 1.5 s\n");
}
END_TEST

START_TEST(a_job_that_a_person_has_stopped_is_not_red)
{
    options.colour = true;
    job.state.phase = JOB_RUNNING;
    job.start.started_ms = 0;
    job.created_ms = NOW_MS - 60000;
    job_state_on_told_to_stop(&job.state, SIGINT, "");
    job_says(128 + SIGINT, "hvdrun: stopped by signal 2 (SIGINT) after 60.0 s\n");
}
END_TEST

START_TEST(a_job_that_ran_is_timed_from_the_start_of_its_ranks)
{
    job.state.phase = JOB_RUNNING;
    job.start.started_ms = NOW_MS - 120000;
    job.created_ms = NOW_MS - 300000;
    job_state_on_told_to_stop(&job.state, SIGTERM, "");
    job_says(128 + SIGTERM, "hvdrun: stopped by signal 15 (SIGTERM) after 120.0 s\n");
}
END_TEST

/* ---- the last line of the rank ---- */

START_TEST(what_the_rank_wrote_last_precedes_the_verdict)
{
    rank_writes(1, "out of memory\n");
    rank_writes(0, "bye\n");
    rank_failed(1, RANK_END_EXITED, 3);
    job_says(3, "[1]<stderr>:out of memory\n[0]<stderr>:bye\n"
                "hvdrun: rank 1 last wrote to stderr: out of memory\n"
                "hvdrun: FAILED rank 1 on b (pid 101): exited with status 3 after 1.5 s\n");
}
END_TEST

START_TEST(a_line_that_stands_there_already_is_not_repeated)
{
    rank_writes(1, "out of memory\n");
    rank_failed(1, RANK_END_EXITED, 3);
    job_says(3, "[1]<stderr>:out of memory\n"
                "hvdrun: FAILED rank 1 on b (pid 101): exited with status 3 after 1.5 s\n");
}
END_TEST

START_TEST(of_a_rank_that_left_the_one_that_needed_it_is_quoted)
{
    rank_writes(0, "rank 1 has left\n");
    rank_writes(1, "done\n");
    job.state.verdict = (struct job_verdict){ .cause = CAUSE_LEFT,
                                              .exit_status = 1,
                                              .rank = 1,
                                              .host = 1,
                                              .reporter = 0,
                                              .text = "left while rank 0 needed it" };
    job_says(1, "[0]<stderr>:rank 1 has left\n[1]<stderr>:done\n"
                "hvdrun: rank 0 last wrote to stderr: rank 1 has left\n"
                "hvdrun: FAILED rank 1 on b (pid 0): left while rank 0 needed it\n");
}
END_TEST

START_TEST(of_a_rank_that_wrote_that_it_failed_its_own_line_is_quoted)
{
    rank_writes(1, "cannot go on\n");
    rank_writes(0, "rank 1 has left\n");
    job.state.verdict = (struct job_verdict){ .cause = CAUSE_LEFT,
                                              .exit_status = 1,
                                              .rank = 1,
                                              .host = 1,
                                              .reporter = 0,
                                              .wrote = true,
                                              .text = "failed" };
    job_says(1, "[1]<stderr>:cannot go on\n[0]<stderr>:rank 1 has left\n"
                "hvdrun: rank 1 last wrote to stderr: cannot go on\n"
                "hvdrun: FAILED rank 1 on b (pid 0): failed\n");
}
END_TEST

START_TEST(a_failure_of_a_host_quotes_no_rank)
{
    rank_writes(1, "hello\n");
    rank_writes(0, "hello\n");
    job_state_on_host_failed(&job.state, 1, -1, STATUS_HOST_LOST, "no such program");
    job_says(STATUS_HOST_LOST, "[1]<stderr>:hello\n[0]<stderr>:hello\n"
                               "hvdrun: FAILED on b: no such program\n");
    ck_assert_int_eq(job.report.host, 1);
    ck_assert_int_eq(job.report.rank, -1);
}
END_TEST

/* ---- hosts that fail during the start ---- */

START_TEST(of_many_hosts_that_fail_twenty_are_named)
{
    enum { NAMED = 20 };
    char expected[NAMED * 40 + 200] = "";
    size_t used = 0;
    job.state.phase = JOB_PREPARING;
    job.start.started_ms = 0;
    job_state_on_host_failed(&job.state, 0, -1, STATUS_UNREACHABLE, "not reached");
    for (int i = 0; i < NAMED + 2; i++)
        job_tell_failure(&job, 1, "not reached");
    for (int i = 0; i < NAMED; i++)
        used +=
            (size_t)snprintf(expected + used, sizeof expected - used, "hvdrun: b: not reached\n");
    snprintf(expected + used, sizeof expected - used,
             "hvdrun: more hosts have failed, which are not shown\n"
             "hvdrun: FAILED on a: not reached\n");
    job_says(STATUS_UNREACHABLE, expected);
}
END_TEST

/* ---- what a batch system says ---- */

/* Ends of a rank, and whether a batch system may have caused them. */
static const struct {
    int kind, code, exit_status;
    bool from_outside;
    const char *how;
} rank_ends[] = {
    { RANK_END_KILLED, SIGTERM, 128 + SIGTERM, true, "killed by signal 15 (SIGTERM)" },
    { RANK_END_KILLED, SIGKILL, 128 + SIGKILL, true, "killed by signal 9 (SIGKILL)" },
    { RANK_END_KILLED, SIGSEGV, 128 + SIGSEGV, false, "killed by signal 11 (SIGSEGV)" },
    { RANK_END_EXITED, SIGTERM, SIGTERM, false, "exited with status 15" },
};

START_TEST(a_signal_that_may_come_from_a_batch_system_is_explained_by_it)
{
    char expected[200];
    batch_system_says(1, "slurm: TIME LIMIT");
    rank_failed(0, rank_ends[_i].kind, rank_ends[_i].code);
    snprintf(expected, sizeof expected, "hvdrun: FAILED rank 0 on a (pid 100): %s after 1.5 s%s\n",
             rank_ends[_i].how, rank_ends[_i].from_outside ? ": slurm: TIME LIMIT" : "");
    job_says(rank_ends[_i].exit_status, expected);
}
END_TEST

START_TEST(the_first_host_that_has_an_explanation_gives_it)
{
    batch_system_says(0, "slurm: first");
    batch_system_says(1, "slurm: second");
    rank_failed(0, RANK_END_KILLED, SIGTERM);
    job_says(128 + SIGTERM, "hvdrun: FAILED rank 0 on a (pid 100): killed by signal 15 (SIGTERM) "
                            "after 1.5 s: slurm: first\n");
}
END_TEST

START_TEST(a_host_that_is_closed_or_was_not_connected_explains_nothing)
{
    host_list[0] = NULL;
    hosts[1].connect = NULL;
    rank_failed(1, RANK_END_KILLED, SIGTERM);
    job_says(128 + SIGTERM,
             "hvdrun: FAILED rank 1 on b (pid 101): killed by signal 15 (SIGTERM) after 1.5 s\n");
}
END_TEST

START_TEST(a_failure_of_a_host_is_explained_behind_its_own_words)
{
    batch_system_says(0, "slurm: NODE FAIL");
    job_state_on_host_failed(&job.state, 1, -1, STATUS_HOST_LOST, "its agent has ended");
    job_says(STATUS_HOST_LOST, "hvdrun: FAILED on b: its agent has ended; slurm: NODE FAIL\n");
}
END_TEST

START_TEST(a_host_that_was_lost_has_those_words_already)
{
    batch_system_says(0, "slurm: NODE FAIL");
    hosts[1].phase = HOST_LOST;
    job_state_on_host_failed(&job.state, 1, -1, STATUS_HOST_LOST, "its agent has ended");
    job_says(STATUS_HOST_LOST, "hvdrun: FAILED on b: its agent has ended\n");
}
END_TEST

START_TEST(a_sigterm_to_hvdrun_is_explained_and_a_sigint_is_not)
{
    batch_system_says(0, "slurm: CANCELLED");
    job.state.phase = JOB_RUNNING;
    job_state_on_told_to_stop(&job.state, _i, "");
    end_job();
    ck_assert_int_eq(strstr(log_captured(), "slurm: CANCELLED\n") != NULL, _i == SIGTERM);
}
END_TEST

/* ---- the report ---- */

START_TEST(a_report_that_is_lost_is_the_failure_of_a_job_that_went_well)
{
    report_fails = true;
    job_says(STATUS_OUTPUT_LOST,
             "hvdrun: warning: the report cannot be written\n"
             "hvdrun: FAILED: the report was lost; all ranks exited with status 0\n");
    ck_assert_int_eq(job.report.exit_status, STATUS_OUTPUT_LOST);
    ck_assert_int_eq(job.report.cause, CAUSE_OUTPUT);
}
END_TEST

START_TEST(of_a_job_that_failed_it_is_a_warning)
{
    report_fails = true;
    rank_failed(1, RANK_END_EXITED, 3);
    job_says(3, "hvdrun: warning: the report cannot be written\n"
                "hvdrun: FAILED rank 1 on b (pid 101): exited with status 3 after 1.5 s\n");
}
END_TEST

START_TEST(a_report_on_stderr_knows_whether_a_line_is_open_there)
{
    options.report_fd = STDERR_FILENO;
    rank_writes(1, "a line without an end");
    end_job();
    ck_assert(amid_line == job_output_is_amid_line(job.output, STREAM_STDERR));
    ck_assert_int_eq(nreports, 1);
}
END_TEST

/* How the first host was reached, and what the report says of that. */
static const struct {
    struct job_host host;
    enum report_transport transport;
} transports[] = {
    { { .local = true, .agent = 7 }, HOST_TRANSPORT_NONE },
    { { .history.reached_ms = 1, .local = true, .agent = 7 }, HOST_TRANSPORT_LOCAL },
    { { .history.reached_ms = 1, .below = true, .agent = 7 }, HOST_TRANSPORT_AGENT },
    { { .history.reached_ms = 1, .srun = true, .agent = 7 }, HOST_TRANSPORT_SRUN },
    { { .history.reached_ms = 1, .agent = 7 }, HOST_TRANSPORT_COMMAND },
    { { .history.reached_ms = 1 }, HOST_TRANSPORT_SSH },
};

START_TEST(the_report_says_how_a_host_was_reached)
{
    hosts[0] = transports[_i].host;
    hosts[0].where = places[0];
    hosts[0].phase = HOST_DONE;
    host_list[1] = NULL; /* closed: the report has it already */
    job.report.hosts[1].agent = 8;
    job_says(0, "");
    ck_assert_int_eq(job.report.hosts[0].transport, transports[_i].transport);
    ck_assert_int_eq(job.report.hosts[0].agent, transports[_i].host.agent);
    ck_assert_uint_eq(job.report.hosts[0].history.reached_ms,
                      transports[_i].host.history.reached_ms);
    ck_assert_int_eq(job.report.hosts[1].agent, 8);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job_last_line");
    TCase *tc = tcase_create("last line");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_job_that_went_well_says_nothing);
    tcase_add_test(tc, the_rank_that_failed_is_the_last_line);
    tcase_add_test(tc, on_a_terminal_the_first_word_is_red);
    tcase_add_test(tc, a_job_that_a_person_has_stopped_is_not_red);
    tcase_add_test(tc, a_job_that_ran_is_timed_from_the_start_of_its_ranks);
    tcase_add_test(tc, what_the_rank_wrote_last_precedes_the_verdict);
    tcase_add_test(tc, a_line_that_stands_there_already_is_not_repeated);
    tcase_add_test(tc, of_a_rank_that_left_the_one_that_needed_it_is_quoted);
    tcase_add_test(tc, of_a_rank_that_wrote_that_it_failed_its_own_line_is_quoted);
    tcase_add_test(tc, a_failure_of_a_host_quotes_no_rank);
    tcase_add_test(tc, of_many_hosts_that_fail_twenty_are_named);
    tcase_add_loop_test(tc, a_signal_that_may_come_from_a_batch_system_is_explained_by_it, 0,
                        sizeof rank_ends / sizeof *rank_ends);
    tcase_add_test(tc, the_first_host_that_has_an_explanation_gives_it);
    tcase_add_test(tc, a_host_that_is_closed_or_was_not_connected_explains_nothing);
    tcase_add_test(tc, a_failure_of_a_host_is_explained_behind_its_own_words);
    tcase_add_test(tc, a_host_that_was_lost_has_those_words_already);
    tcase_add_loop_test(tc, a_sigterm_to_hvdrun_is_explained_and_a_sigint_is_not, SIGTERM,
                        SIGTERM + 1);
    tcase_add_loop_test(tc, a_sigterm_to_hvdrun_is_explained_and_a_sigint_is_not, SIGINT,
                        SIGINT + 1);
    tcase_add_test(tc, a_report_that_is_lost_is_the_failure_of_a_job_that_went_well);
    tcase_add_test(tc, of_a_job_that_failed_it_is_a_warning);
    tcase_add_test(tc, a_report_on_stderr_knows_whether_a_line_is_open_there);
    tcase_add_loop_test(tc, the_report_says_how_a_host_was_reached, 0,
                        sizeof transports / sizeof *transports);
    suite_add_tcase(suite, tc);
    return unit_run(suite);
}
