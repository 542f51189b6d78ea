/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of a job in words, when the job is given up: which hosts are not ready, which ranks
 * still run and what is known of them, and which host is silent. The job is data; nothing runs.
 * Three hosts have two ranks each. */
#include "launcher/job/job_impl.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOSTS = 3, LOCAL = 2, RANKS = HOSTS * LOCAL };

static uv_loop_t loop;
static struct job job;
static struct job_elastic elastic;
static struct job_options options;
static struct rank_plan plan;
static struct rank_slot slots[RANKS];
static struct rank_host places[HOSTS];
static struct host_slots names[HOSTS];
static struct job_host hosts[HOSTS], *host_list[HOSTS];
static struct host_rank host_ranks[RANKS];
static int numbers[RANKS];
static char text[1200];

static void set_up(void)
{
    static char a[] = "a", b[] = "b", c[] = "c", *const texts[HOSTS] = { a, b, c };
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    options = (struct job_options){ .heartbeat_timeout_ms = 5000 };
    plan =
        (struct rank_plan){ .ranks = slots, .size = RANKS, .hosts = places, .host_count = HOSTS };
    for (int rank = 0; rank < RANKS; rank++) {
        numbers[rank] = rank;
        slots[rank].host = rank / LOCAL;
        host_ranks[rank] = (struct host_rank){ .phase = RANK_RUNNING };
    }
    for (int i = 0; i < HOSTS; i++) {
        names[i].name = texts[i];
        places[i] = (struct rank_host){ &names[i], numbers + i * LOCAL, LOCAL };
        hosts[i] = (struct job_host){ .index = i,
                                      .phase = HOST_RUNNING,
                                      .step = STEP_READY,
                                      .where = places[i],
                                      .ranks = host_ranks + i * LOCAL,
                                      .loop = &loop,
                                      .options = &options };
        heartbeat_timeout_start(&hosts[i].heartbeat, 5000, uv_now(&loop));
        host_list[i] = &hosts[i];
    }
    job = (struct job){ .loop = &loop, .options = &options, .plan = &plan, .hosts = host_list };
    job_state_init(&job.state, HOSTS, RANKS);
    job_report_init(&job.report, &plan, "id", 0, 0);
    job.state.phase = JOB_RUNNING;
    job.start.started_ms = 1;
    job.start.nstarted = RANKS;
    for (int rank = 0; rank < RANKS; rank++)
        job.report.ranks[rank].end = END_LEFT;
}

static void tear_down(void)
{
    job_report_fini(&job.report);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}

/* The host is not connected, and has been at this step since then. */
static void misses(int host, enum host_phase phase, enum host_step step, uint64_t since_ms)
{
    hosts[host].phase = phase;
    hosts[host].step = step;
    hosts[host].step_since_ms = since_ms;
}

/* Nothing has come from the host for so long, on the loop's clock, which stands. */
static void is_silent_for(int host, uint64_t ms)
{
    hosts[host].heartbeat.heard_ms = uv_now(&loop) - ms;
}

static void rank_has_ended(int rank)
{
    job.report.ranks[rank].end = END_BY_ITSELF;
}

static void progress_is(const char *expected)
{
    job_progress_text(&job, text, sizeof text);
    ck_assert_str_eq(text, expected);
}

static void interrupted_is(const char *expected)
{
    job_interrupted_text(&job, text, sizeof text);
    ck_assert_str_eq(text, expected);
}

/* The hosts that are missing, without the times, which go on. */
static void missing_is(int count, const char *expected)
{
    char kept[sizeof text], *to = kept;
    ck_assert_int_eq(job_missing_hosts(&job, text, sizeof text), count);
    for (const char *from = text; *from;) {
        if (strncmp(from, " for ", 5) == 0)
            from += 5 + strspn(from + 5, "0123456789. s");
        else
            *to++ = *from++;
    }
    *to = '\0';
    ck_assert_str_eq(kept, expected);
}

/* ---- hosts that are not ready ---- */

START_TEST(a_job_whose_hosts_are_ready_misses_none)
{
    missing_is(0, "");
    job.start.started_ms = 0;
    progress_is("before the ranks were started");
}
END_TEST

START_TEST(the_host_that_has_waited_longest_is_first)
{
    misses(0, HOST_CONNECTING, STEP_LOGIN, 3);
    misses(1, HOST_DESCRIBING, STEP_AGENT, 2);
    missing_is(2, "b at step 'agent', a at step 'login'");
    misses(0, HOST_CONNECTING, STEP_LOGIN, 1);
    missing_is(2, "a at step 'login', b at step 'agent'");
    misses(2, HOST_CONNECTING, STEP_CONNECT, 1);
    missing_is(3, "a at step 'login', c at step 'connect', b at step 'agent'");
}
END_TEST

START_TEST(hosts_that_wait_for_their_turn_are_last)
{
    misses(0, HOST_CONNECTING, STEP_WAITING, 1);
    misses(1, HOST_CONNECTING, STEP_CONNECT, 2);
    misses(2, HOST_CONNECTING, STEP_WAITING, 1);
    missing_is(3, "b at step 'connect', a at step 'waiting', c at step 'waiting'");
}
END_TEST

START_TEST(hosts_that_are_ready_done_lost_or_closed_are_not_missing)
{
    hosts[0].phase = HOST_READY;
    hosts[1].phase = HOST_LOST;
    hosts[2].phase = HOST_DONE;
    missing_is(0, "");
    host_list[1] = NULL;
    missing_is(0, "");
}
END_TEST

START_TEST(a_host_that_starts_its_ranks_is_named_with_the_first_that_waits)
{
    host_ranks[3].phase = RANK_WAITING;
    missing_is(1, "b has not started rank 3");
    progress_is("before all ranks were started: b has not started rank 3");
    job.start.started_ms = 0;
    progress_is("before the ranks were started: b has not started rank 3");
}
END_TEST

START_TEST(a_host_of_an_elastic_job_is_named_with_the_worker_that_waits)
{
    options.elastic = &elastic;
    host_ranks[3].phase = RANK_WAITING;
    missing_is(1, "b has not started worker 3");
}
END_TEST

/* Each has 25 bytes, two more between them, and 24 are kept for the number of the others. */
START_TEST(hosts_for_which_no_room_is_left_are_counted)
{
    for (int i = 0; i < HOSTS; i++)
        host_ranks[i * LOCAL].phase = RANK_WAITING;
    size_t one = strlen("a has not started rank 0");
    ck_assert_int_eq(job_missing_hosts(&job, text, 3 * one + 4 + 25), 3);
    ck_assert_str_eq(
        text, "a has not started rank 0, b has not started rank 2, c has not started rank 4");
    ck_assert_int_eq(job_missing_hosts(&job, text, 2 * one + 2 + 24), 3);
    ck_assert_str_eq(text, "a has not started rank 0, b has not started rank 2 and 1 more");
    ck_assert_int_eq(job_missing_hosts(&job, text, one + 24), 3);
    ck_assert_str_eq(text, " and 3 more");
}
END_TEST

/* ---- ranks that run ---- */

START_TEST(ranks_that_run_are_named_with_their_hosts)
{
    progress_is("while ranks 0-5 on a, b, c still ran");
    rank_has_ended(0);
    rank_has_ended(1);
    rank_has_ended(3);
    progress_is("while ranks 2, 4, 5 on b, c still ran");
    ck_assert_int_eq(job_running_ranks(&job, text, sizeof text), 3);
    ck_assert_str_eq(text, "ranks 2, 4, 5");
    host_list[1] = NULL;
    progress_is("while ranks 2, 4, 5 on c still ran");
}
END_TEST

START_TEST(a_job_whose_ranks_have_ended_says_so)
{
    for (int rank = 0; rank < RANKS; rank++)
        rank_has_ended(rank);
    progress_is("while no rank ran");
    ck_assert_int_eq(job_running_ranks(&job, text, sizeof text), 0);
    interrupted_is("");
}
END_TEST

static void name_host(int host, char *name)
{
    names[host].name = name;
}

static void long_names_are_counted(size_t length, const char *end)
{
    char name[101];
    memset(name, 'n', sizeof name);
    name[length] = '\0';
    name_host(1, name);
    job_progress_text(&job, text, sizeof text);
    ck_assert_msg(strlen(text) >= strlen(end), "%s", text);
    ck_assert_str_eq(text + strlen(text) - strlen(end), end);
}

START_TEST(hosts_with_long_names_are_counted)
{
    long_names_are_counted(99, "n and 1 more host still ran"); /* c has no room */
    long_names_are_counted(100, "on a and 2 more hosts still ran");
    name_host(1, names[0].name);
    static char longest[200];
    memset(longest, 'l', sizeof longest - 1);
    name_host(0, longest); /* one is named in any case */
    job_progress_text(&job, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "lll and 2 more hosts still ran"));
}
END_TEST

START_TEST(ranks_that_keep_others_in_hvd_init_are_named)
{
    for (int rank = 0; rank < RANKS; rank++)
        job.report.ranks[rank].met = rank != 3;
    progress_is("while ranks 0-5 on a, b, c still ran, of which rank 3 had not called hvd_init, "
                "ranks 0-2, 4, 5 waited in it");
    interrupted_is("when rank 3 had not called hvd_init, ranks 0-2, 4, 5 waited in it");
    job.report.ranks[0].left_because = calloc(1, sizeof(struct rank_end));
    interrupted_is("when rank 3 had not called hvd_init, ranks 1, 2, 4, 5 waited in it");
    rank_has_ended(3);
    interrupted_is(""); /* nobody waits for it */
}
END_TEST

START_TEST(a_job_without_libhvd_is_not_said_to_wait_in_hvd_init)
{
    progress_is("while ranks 0-5 on a, b, c still ran");
    interrupted_is("");
}
END_TEST

START_TEST(stopped_ranks_and_ranks_that_wait_are_named)
{
    host_ranks[2].stopped = true;
    job.report.ranks[5].waits = true;
    interrupted_is("when rank 2 was stopped, rank 5 waited for others");
    host_ranks[3].stopped = job.report.ranks[4].waits = true;
    progress_is("while ranks 0-5 on a, b, c still ran, of which ranks 2, 3 were stopped, "
                "ranks 4, 5 waited for others");
    rank_has_ended(5);
    host_ranks[2].phase = RANK_ENDED;
    interrupted_is("when rank 3 was stopped, rank 4 waited for others");
    host_list[1] = NULL;
    interrupted_is("when rank 4 waited for others");
}
END_TEST

START_TEST(the_status_text_of_a_rank_is_quoted_behind_the_states)
{
    snprintf(job.timeout.quoted, sizeof job.timeout.quoted, "epoch 3");
    job.timeout.quoted_rank = 4;
    job.report.ranks[5].waits = true;
    interrupted_is("when rank 5 waited for others (rank 4: epoch 3)");
}
END_TEST

/* ---- hosts that are silent ---- */

START_TEST(the_host_that_was_not_heard_for_longest_is_named)
{
    is_silent_for(0, 1999); /* two fifths of the limit are worth telling */
    interrupted_is("");
    is_silent_for(0, 2000);
    interrupted_is("when nothing was heard of a for 2.0 s");
    is_silent_for(1, 3400);
    is_silent_for(2, 3400);
    interrupted_is("when nothing was heard of b for 3.4 s");
    progress_is("while ranks 0-5 on a, b, c still ran, and nothing was heard of b for 3.4 s");
    job.report.ranks[5].waits = true;
    interrupted_is("when rank 5 waited for others and nothing was heard of b for 3.4 s");
    progress_is("while ranks 0-5 on a, b, c still ran, of which rank 5 waited for others, "
                "and nothing was heard of b for 3.4 s");
    host_list[1] = NULL;
    hosts[2].phase = HOST_DONE;
    interrupted_is("when rank 5 waited for others and nothing was heard of a for 2.0 s");
}
END_TEST

/* ---- an interrupted start ---- */

START_TEST(a_start_that_is_interrupted_has_the_text_of_one_that_takes_too_long)
{
    host_ranks[3].phase = RANK_WAITING;
    job.start.nstarted = RANKS - 1;
    interrupted_is("before all ranks were started: b has not started rank 3");
    job.state.phase = JOB_STOPPING;
    interrupted_is("");
}
END_TEST

START_TEST(a_job_whose_ranks_have_all_started_names_no_host_that_starts)
{
    host_ranks[3].phase = RANK_WAITING;
    interrupted_is("");
}
END_TEST

/* ---- elastic jobs ---- */

START_TEST(an_elastic_job_without_a_world_counts_its_workers)
{
    options.elastic = &elastic;
    job.state.ranks_running = 1;
    progress_is("while 1 worker on a, b, c still ran");
    interrupted_is("while 1 worker on a, b, c still ran");
    job.state.ranks_running = 6;
    ck_assert_int_eq(job_running_ranks(&job, text, sizeof text), 6);
    ck_assert_str_eq(text, "6 workers");
}
END_TEST

START_TEST(an_elastic_job_names_the_ranks_of_its_world)
{
    static const int workers[] = { 5, 2 };
    options.elastic = &elastic;
    job_report_add_world(&job.report, 1, workers, 2, 1);
    job.report.ranks[5].waits = host_ranks[2].stopped = true;
    progress_is("while ranks 0, 1 on a, b, c still ran, of which rank 1 was stopped, "
                "rank 0 waited for others");
    job.start.nstarted = 0;
    interrupted_is("when rank 1 was stopped, rank 0 waited for others");
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("job_progress");
    TCase *tcase = tcase_create("progress");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_job_whose_hosts_are_ready_misses_none);
    tcase_add_test(tcase, the_host_that_has_waited_longest_is_first);
    tcase_add_test(tcase, hosts_that_wait_for_their_turn_are_last);
    tcase_add_test(tcase, hosts_that_are_ready_done_lost_or_closed_are_not_missing);
    tcase_add_test(tcase, a_host_that_starts_its_ranks_is_named_with_the_first_that_waits);
    tcase_add_test(tcase, a_host_of_an_elastic_job_is_named_with_the_worker_that_waits);
    tcase_add_test(tcase, hosts_for_which_no_room_is_left_are_counted);
    tcase_add_test(tcase, ranks_that_run_are_named_with_their_hosts);
    tcase_add_test(tcase, a_job_whose_ranks_have_ended_says_so);
    tcase_add_test(tcase, hosts_with_long_names_are_counted);
    tcase_add_test(tcase, ranks_that_keep_others_in_hvd_init_are_named);
    tcase_add_test(tcase, a_job_without_libhvd_is_not_said_to_wait_in_hvd_init);
    tcase_add_test(tcase, stopped_ranks_and_ranks_that_wait_are_named);
    tcase_add_test(tcase, the_status_text_of_a_rank_is_quoted_behind_the_states);
    tcase_add_test(tcase, the_host_that_was_not_heard_for_longest_is_named);
    tcase_add_test(tcase, a_start_that_is_interrupted_has_the_text_of_one_that_takes_too_long);
    tcase_add_test(tcase, a_job_whose_ranks_have_all_started_names_no_host_that_starts);
    tcase_add_test(tcase, an_elastic_job_without_a_world_counts_its_workers);
    tcase_add_test(tcase, an_elastic_job_names_the_ranks_of_its_world);
    return suite;
}

int main(void)
{
    return unit_run(make_suite());
}
