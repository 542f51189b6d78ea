/* SPDX-License-Identifier: Apache-2.0 */
/* What excuses an agent of this machine that says nothing, and the frames of an agent that only an
 * elastic job may get. The clock is that of a loop that does not run. */
#include "tests/support/host_link_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static char notes[400];
static int drains;

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

static void start(bool is_elastic)
{
    static const struct job_elastic elastic;
    static struct job_options options;
    static const struct job_host_events events = { .on_note = on_note, .on_drain = on_drain };
    static const int ranks[] = { 0 };
    static struct host_rank running[1];
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

static Suite *suite(void)
{
    Suite *suite = suite_create("job_host_heartbeat");
    TCase *agents = tcase_create("agents");
    tcase_add_checked_fixture(agents, set_up, host_link_tear_down);
    tcase_add_test(agents, an_agent_that_wants_to_run_is_waited_for_and_told_of_once);
    tcase_add_test(agents, an_elastic_job_hears_that_a_host_drains);
    tcase_add_test(agents, in_another_job_a_host_that_drains_breaks_its_link);
    suite_add_tcase(suite, agents);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
