/* SPDX-License-Identifier: Apache-2.0 */
/* What excuses an agent of this machine that says nothing, which gaps count, what a heartbeat and
 * a binding tell, and the frames of an agent that only an elastic job may get. The clock is that
 * of a loop that does not run. */
#include "tests/support/host_link_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static char notes[400];
static int drains;
static struct host_rank running[1];

static void on_note(void *context, int index, bool important, const char *text)
{
    size_t used = strlen(notes);
    (void)context, (void)index;
    snprintf(notes + used, sizeof notes - used, "%s%s\n", important ? "! " : "", text);
}

static void on_drain(void *context, int index)
{
    (void)context, (void)index;
    drains++;
}

static void on_bound_text(void *context, int rank, const char *text)
{
    (void)context, (void)rank;
    snprintf(notes, sizeof notes, "%s", text);
}

static void start(bool is_elastic)
{
    static const struct job_elastic elastic;
    static struct job_options options;
    static const struct job_host_events events = { .on_note = on_note,
                                                   .on_drain = on_drain,
                                                   .on_bound = on_bound_text };
    static const int ranks[] = { 0 };
    running[0] = (struct host_rank){ .phase = RANK_RUNNING };
    options = (struct job_options){ .heartbeat_timeout_ms = 1000,
                                    .elastic = is_elastic ? &elastic : NULL };
    host_link_set_up((struct job_host){ .phase = HOST_RUNNING,
                                        .linked = true,
                                        .local = true,
                                        .loop = &loop,
                                        .where = { .ranks = ranks, .local_size = 1 },
                                        .ranks = running,
                                        .events = &events,
                                        .options = &options });
    notes[0] = '\0';
    drains = 0;
}

static void set_up(void)
{
    start(false);
}

/* A process that wants to run for ever. */
static pid_t spin(void)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    for (;;)
        ;
}

START_TEST(an_agent_that_wants_to_run_is_waited_for_and_told_of_once)
{
    char told[200];
    uint64_t now_ms = uv_now(&loop);
    host.agent = spin();
    heartbeat_timeout_start(&host.heartbeat, 1000, now_ms - 2000);
    host.heartbeat.checked_ms = now_ms;
    for (int i = 0; i < 3; i++)
        job_host_heartbeat_check(&host, false);
    ck_assert_int_eq(host.phase, HOST_RUNNING);
    snprintf(told, sizeof told,
             "! no sign of life from its agent (pid %d) for 2 s: it does not get a processor, or "
             "waits for a disk; the job goes on\n",
             (int)host.agent);
    ck_assert_str_eq(notes, told);
    kill(host.agent, SIGKILL);
    waitpid(host.agent, NULL, 0);
}
END_TEST

/* Bytes came at 10 s of the clock and come again at `now_ms`; the limit is a second, and STOP was
 * sent at `stopped_ms`, unless that is 0: what comes later may be slow because the host stops. */
static const struct {
    uint64_t stopped_ms, now_ms;
    uint64_t gap_ms, end_ms;
} gaps[] = {
    { 0, 10749, 0, 0 },
    { 0, 10750, 750, 10750 },
    { 0, 13000, 3000, 13000 },
    { 9000, 13000, 0, 0 },
    { 10000, 13000, 0, 0 },
    { 10200, 13000, 0, 0 },
    { 10749, 13000, 0, 0 },
    { 10750, 13000, 750, 10750 },
    { 12900, 13000, 2900, 12900 },
    { 13000, 13000, 3000, 13000 },
};

/* As if checks had come all the time. */
static void come_at(uint64_t now_ms)
{
    host.gap.checked_ms = now_ms;
    job_host_note_gap(&host, now_ms);
    heartbeat_timeout_heard(&host.gap, now_ms);
}

START_TEST(a_gap_is_three_quarters_of_the_limit_before_stop)
{
    heartbeat_timeout_start(&host.gap, 0, 10000);
    host.stopping = gaps[_i].stopped_ms > 0;
    host.stopped_ms = gaps[_i].stopped_ms;
    come_at(gaps[_i].now_ms);
    ck_assert_uint_eq(host.gap_ms, gaps[_i].gap_ms);
    ck_assert_uint_eq(host.gap_end_ms, gaps[_i].end_ms);
}
END_TEST

START_TEST(the_last_long_gap_stays)
{
    heartbeat_timeout_start(&host.gap, 0, 10000);
    come_at(11500);
    come_at(11700);
    ck_assert_uint_eq(host.gap_ms, 1500);
    ck_assert_uint_eq(host.gap_end_ms, 11500);
}
END_TEST

START_TEST(time_in_which_nobody_looked_is_no_gap)
{
    heartbeat_timeout_start(&host.gap, 0, 10000);
    job_host_note_gap(&host, 13000);
    ck_assert_uint_eq(host.gap_ms, 0);
}
END_TEST

START_TEST(without_a_limit_there_is_no_gap)
{
    static const struct job_options unlimited;
    host.options = &unlimited;
    heartbeat_timeout_start(&host.gap, 0, 10000);
    come_at(90000);
    ck_assert_uint_eq(host.gap_ms, 0);
}
END_TEST

START_TEST(a_gap_counts_if_the_job_stops_within_two_seconds_of_its_end)
{
    ck_assert_uint_eq(job_host_gap_before_ms(&host, 11000), 0);
    host.gap_ms = 800;
    host.gap_end_ms = 11000;
    ck_assert_uint_eq(job_host_gap_before_ms(&host, 0), 0);
    ck_assert_uint_eq(job_host_gap_before_ms(&host, 10900), 800);
    ck_assert_uint_eq(job_host_gap_before_ms(&host, 13000), 800);
    ck_assert_uint_eq(job_host_gap_before_ms(&host, 13001), 0);
}
END_TEST

static int hear_drain(void)
{
    struct err err;
    struct frame frame = { .type = AGENT_DRAIN };
    return job_host_on_frame(&host, &frame, &err);
}

START_TEST(an_elastic_job_hears_that_a_host_drains)
{
    host_link_tear_down();
    start(true);
    ck_assert_int_eq(hear_drain(), HVD_OK);
    ck_assert_int_eq(drains, 1);
}
END_TEST

START_TEST(in_another_job_a_host_that_drains_breaks_its_link)
{
    ck_assert_int_eq(hear_drain(), HVD_ERR_PROTOCOL);
    ck_assert_int_eq(drains, 0);
}
END_TEST

static int hear(int type, struct wire_writer *body)
{
    struct err err;
    struct frame frame = { .type = (uint16_t)type,
                           .body = body->data,
                           .length = (uint32_t)body->length };
    int rc = job_host_on_frame(&host, &frame, &err);
    wire_writer_fini(body);
    return rc;
}

START_TEST(a_heartbeat_that_comes_back_gives_the_time_of_the_round_trip)
{
    struct wire_writer body = { 0 };
    struct agent_heartbeat echo = { .stamp = uv_hrtime() / 1000 - 2000000 };
    agent_heartbeat_encode(&body, &echo);
    ck_assert_int_eq(hear(AGENT_HEARTBEAT, &body), HVD_OK);
    ck_assert_uint_ge(host.round_trip_us, 2000000);
    ck_assert_uint_le(host.round_trip_us, uv_hrtime() / 1000 - echo.stamp);
}
END_TEST

START_TEST(what_an_agent_says_of_a_binding_is_one_line)
{
    static const struct job_options reports = { .attributes.report_bindings = true };
    struct wire_writer body = { 0 };
    host.options = &reports;
    running[0].phase = RANK_WAITING;
    agent_bound_encode(&body, &(struct agent_bound){ .text = "core 1\nhvdrun: core 2" });
    ck_assert_int_eq(hear(AGENT_BOUND, &body), HVD_OK);
    ck_assert_str_eq(notes, "core 1?hvdrun: core 2");
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("job_host_heartbeat");
    TCase *agents = tcase_create("agents");
    tcase_add_checked_fixture(agents, set_up, host_link_tear_down);
    tcase_add_test(agents, an_agent_that_wants_to_run_is_waited_for_and_told_of_once);
    tcase_add_test(agents, an_elastic_job_hears_that_a_host_drains);
    tcase_add_test(agents, in_another_job_a_host_that_drains_breaks_its_link);
    tcase_add_test(agents, a_heartbeat_that_comes_back_gives_the_time_of_the_round_trip);
    tcase_add_test(agents, what_an_agent_says_of_a_binding_is_one_line);
    tcase_add_loop_test(agents, a_gap_is_three_quarters_of_the_limit_before_stop, 0,
                        sizeof gaps / sizeof *gaps);
    tcase_add_test(agents, the_last_long_gap_stays);
    tcase_add_test(agents, time_in_which_nobody_looked_is_no_gap);
    tcase_add_test(agents, without_a_limit_there_is_no_gap);
    tcase_add_test(agents, a_gap_counts_if_the_job_stops_within_two_seconds_of_its_end);
    suite_add_tcase(suite, agents);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
