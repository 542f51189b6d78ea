/* SPDX-License-Identifier: Apache-2.0 */
/* An agent that binds its ranks, on this machine or on one that hwloc is told to see instead. */
#include "launcher/base/cpu_mask.h"
#include "launcher/protocol/agent_protocol.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const show_cpus[] = { "grep", "Cpus_allowed_list", "/proc/self/status", NULL };

static struct agent_fixture agent;
static struct cpu_mask own;

static void setup(void)
{
    cpu_mask_own(&own);
}

static void teardown(void)
{
    cpu_mask_fini(&own);
}

/* `machine`: what hwloc sees, or NULL. */
static void describe(const char *machine, struct agent_job job, int nranks)
{
    static char variable[128], path[] = "PATH=/usr/bin:/bin";
    snprintf(variable, sizeof variable, "HWLOC_SYNTHETIC=%s", machine ? machine : "");
    agent_fixture_start(&agent, (char *[]){ path, machine ? variable : NULL, NULL });
    agent_fixture_describe(&agent, &(struct agent_fixture_job){
                                       .job = job, .arguments = show_cpus, .nranks = nranks });
}

/* The first processor that ranks may use. */
static int first_cpu(void)
{
    int cpu = 0, end;
    ck_assert(cpu_mask_next(&own, &cpu, &end));
    return cpu;
}

/* What hvdrun is told of the next rank; it must be that one. */
static struct agent_bound next_bound(int rank)
{
    struct agent_bound bound;
    struct wire_reader body = agent_fixture_until(&agent, AGENT_BOUND);
    ck_assert_int_eq(agent_bound_decode(&bound, &body, NULL), HVD_OK);
    ck_assert_int_eq(bound.rank, rank);
    return bound;
}

static void end_job(void)
{
    free(agent_fixture_output(&agent));
    ck_assert_int_eq(agent_fixture_wait(&agent), 0);
}

/* A machine with a core for each processor that this one may have, so that it fits anywhere. */
START_TEST(a_rank_runs_where_hvdrun_is_told_that_it_is_bound)
{
    char text[64];
    int cpu = first_cpu();
    describe("core:1024 pu:1",
             (struct agent_job){ .attributes.bind_to = BIND_TO_CORE,
                                 .attributes.report_bindings = true },
             1);
    agent_fixture_until(&agent, AGENT_READY);
    agent_fixture_send(&agent, AGENT_START, NULL, 0);
    struct agent_bound bound = next_bound(0);
    snprintf(text, sizeof text, "bound to core %d (cpu %d)", cpu, cpu);
    ck_assert_str_eq(bound.text, text);
    char *output = agent_fixture_output(&agent);
    snprintf(text, sizeof text, "Cpus_allowed_list:\t%d\n", cpu);
    ck_assert_str_eq(output, text);
    free(output);
    ck_assert_int_eq(agent_fixture_wait(&agent), 0);
}
END_TEST

START_TEST(it_is_said_before_the_rank_counts_as_started)
{
    struct frame frame;
    describe(NULL,
             (struct agent_job){ .attributes.bind_to = BIND_TO_SOCKET_OVERLOAD,
                                 .attributes.report_bindings = true },
             1);
    agent_fixture_until(&agent, AGENT_READY);
    agent_fixture_send(&agent, AGENT_START, NULL, 0);
    do
        ck_assert_int_eq(agent_fixture_next(&agent, &frame), 1);
    while (frame.type != AGENT_BOUND && frame.type != AGENT_STARTED);
    ck_assert_int_eq(frame.type, AGENT_BOUND);
    agent_fixture_until(&agent, AGENT_STARTED);
    end_job();
}
END_TEST

START_TEST(a_rank_that_is_not_bound_is_told_too)
{
    describe(NULL, (struct agent_job){ .attributes.report_bindings = true }, 1);
    agent_fixture_until(&agent, AGENT_READY);
    agent_fixture_send(&agent, AGENT_START, NULL, 0);
    ck_assert_str_eq(next_bound(0).text, "not bound");
    end_job();
}
END_TEST

START_TEST(more_ranks_than_cores_are_refused_before_any_of_them_runs)
{
    struct agent_failed failed;
    describe("core:1 pu:1024", (struct agent_job){ .attributes.bind_to = BIND_TO_CORE }, 3);
    struct wire_reader body = agent_fixture_until(&agent, AGENT_FAILED);
    ck_assert_int_eq(agent_failed_decode(&failed, &body, NULL), HVD_OK);
    ck_assert_int_eq(failed.rank, -1);
    ck_assert_int_eq(failed.step, STEP_BINDING);
    ck_assert_int_eq(failed.exit_status, 2);
    ck_assert_str_eq(failed.text, "--bind-to core: 3 ranks, but 1 core "
                                  "(core:overload-allowed binds them even so)");
    agent_fixture_send_numbers(&agent, AGENT_STOP, 2, SIGTERM, 0);
    agent_fixture_until(&agent, AGENT_DONE);
    ck_assert_int_eq(agent_fixture_wait(&agent), 0);
}
END_TEST

START_TEST(unless_that_is_allowed)
{
    describe("core:1 pu:1024",
             (struct agent_job){ .attributes.bind_to = BIND_TO_CORE_OVERLOAD,
                                 .attributes.report_bindings = true },
             3);
    agent_fixture_until(&agent, AGENT_READY);
    agent_fixture_send(&agent, AGENT_START, NULL, 0);
    for (int rank = 0; rank < 3; rank++)
        ck_assert_ptr_nonnull(strstr(next_bound(rank).text, "bound to core 0 (cpu"));
    end_job();
}
END_TEST

START_TEST(a_machine_that_has_none_of_our_processors_fails)
{
    struct agent_failed failed;
    describe("core:1 pu:1(indexes=4000)", (struct agent_job){ .attributes.bind_to = BIND_TO_CORE },
             1);
    struct wire_reader body = agent_fixture_until(&agent, AGENT_FAILED);
    ck_assert_int_eq(agent_failed_decode(&failed, &body, NULL), HVD_OK);
    ck_assert_int_eq(failed.exit_status, 71);
    agent_fixture_stop(&agent);
}
END_TEST

START_TEST(an_agent_without_hwloc_binds_no_ranks)
{
    struct agent_failed failed;
    agent.binds_none = true;
    describe(NULL, (struct agent_job){ .attributes.bind_to = BIND_TO_CORE }, 1);
    struct wire_reader body = agent_fixture_until(&agent, AGENT_FAILED);
    ck_assert_int_eq(agent_failed_decode(&failed, &body, NULL), HVD_OK);
    ck_assert_int_eq(failed.step, STEP_BINDING);
    ck_assert_int_eq(failed.exit_status, 70);
    agent_fixture_stop(&agent);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_binding");
    TCase *tcase = tcase_create("ranks");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_rank_runs_where_hvdrun_is_told_that_it_is_bound);
    tcase_add_test(tcase, it_is_said_before_the_rank_counts_as_started);
    tcase_add_test(tcase, a_rank_that_is_not_bound_is_told_too);
    tcase_add_test(tcase, more_ranks_than_cores_are_refused_before_any_of_them_runs);
    tcase_add_test(tcase, unless_that_is_allowed);
    tcase_add_test(tcase, a_machine_that_has_none_of_our_processors_fails);
    tcase_add_test(tcase, an_agent_without_hwloc_binds_no_ranks);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
