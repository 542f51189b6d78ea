/* SPDX-License-Identifier: Apache-2.0 */
/* A rank that is killed just before STOP or STOP_RANK comes, and takes long to die: this test
 * traces it, and holds it when it has begun to exit. Its end is its own. Without the right to trace
 * there is nothing to see: the test says so. */
#include "launcher/agent/agent_impl.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static struct agent_fixture agent;
static const char *const command[] = { "sleep", "1000", NULL };
static const struct agent_fixture_job sleeping = { .arguments = command };

/* False if this is not permitted here. */
static bool trace_exit(pid_t pid)
{
    int rc = (int)ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXIT);
    ck_assert(rc == 0 || errno == EPERM || errno == ENOSYS);
    return rc == 0;
}

static void kill_halfway(pid_t pid)
{
    int status;
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, &status, __WALL), pid);
    ck_assert_int_eq(status >> 8, SIGTRAP | PTRACE_EVENT_EXIT << 8);
}

static void send_stop(int type)
{
    struct wire_writer body = { 0 };
    if (type == AGENT_STOP_RANK)
        wire_put_i32(&body, 0);
    wire_put_i32(&body, SIGTERM);
    wire_put_u32(&body, 60000);
    agent_fixture_send(&agent, type, body.data, body.length);
    wire_writer_fini(&body);
}

/* All orders before it have been done. */
static void until_heartbeat(void)
{
    agent_fixture_send(&agent, AGENT_HEARTBEAT, "12345678", 8);
    agent_fixture_until(&agent, AGENT_HEARTBEAT);
}

static struct agent_exited until_exited(void)
{
    struct agent_exited exited;
    struct wire_reader body = agent_fixture_until(&agent, AGENT_EXITED);
    ck_assert_int_eq(agent_exited_decode(&exited, &body, NULL), HVD_OK);
    ck_assert_int_eq(exited.end.how.kind, RANK_END_KILLED);
    return exited;
}

static void skip_untraced(void)
{
    fprintf(stderr, "skipped: a process cannot be traced here: %s\n", strerror(errno));
    send_stop(AGENT_STOP);
    until_exited();
    agent_fixture_stop(&agent);
}

static const int orders[] = { AGENT_STOP, AGENT_STOP_RANK };

START_TEST(a_rank_that_is_dying_when_it_is_stopped_has_ended_by_itself)
{
    agent_fixture_start(&agent, NULL);
    pid_t rank = agent_fixture_run(&agent, &sleeping);
    if (!trace_exit(rank)) {
        skip_untraced();
        return;
    }
    kill_halfway(rank);
    send_stop(orders[_i]);
    send_stop(orders[_i]); /* nor does a second one change that */
    until_heartbeat();
    ck_assert_int_eq(ptrace(PTRACE_DETACH, rank, 0, 0), 0);
    struct agent_exited exited = until_exited();
    ck_assert_int_eq(exited.end.how.code, SIGKILL);
    ck_assert(!exited.told);
    agent_fixture_stop(&agent);
}
END_TEST

START_TEST(a_rank_that_runs_when_it_is_stopped_has_been_told)
{
    agent_fixture_start(&agent, NULL);
    agent_fixture_run(&agent, &sleeping);
    send_stop(orders[_i]);
    struct agent_exited exited = until_exited();
    ck_assert_int_eq(exited.end.how.code, SIGTERM);
    ck_assert(exited.told);
    agent_fixture_stop(&agent);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_dying");
    TCase *tcase = tcase_create("dying");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_rank_that_is_dying_when_it_is_stopped_has_ended_by_itself, 0, 2);
    tcase_add_loop_test(tcase, a_rank_that_runs_when_it_is_stopped_has_been_told, 0, 2);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
