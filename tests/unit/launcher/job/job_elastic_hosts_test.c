/* SPDX-License-Identifier: Apache-2.0 */
/* Elastic jobs whose hosts and agents fail or are drained, and what a job does for each world. */
#include "launcher/base/exit_status.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/job_elastic_fixture.h"

#include <sys/stat.h>

/* ---- hosts and agents that fail ---- */

START_TEST(a_lost_agent_costs_its_own_workers_only)
{
    start("echo runs $HVD_WORKER; exec sleep 600");
    add(0, 2);
    add(2, 1);
    UNTIL(has_printed("runs 0") && has_printed("runs 1") && has_printed("runs 2"));
    pid_t worker = pid_of(0);
    kill(host_of(0)->agent, SIGKILL);
    UNTIL(nended == 2);
    ck_assert_int_eq(ends[0], JOB_WORKER_HOST_LOST);
    ck_assert_int_eq(ends[1], JOB_WORKER_HOST_LOST);
    UNTIL(agent_fixture_is_gone(worker));
    UNTIL(!host_of(0));
    ck_assert(!agent_fixture_is_gone(pid_of(2)));
    job_stop_worker(job, 2);
    UNTIL(has_ended[2]);
    job_end(job);
    run();
    ck_assert_int_eq(exit_status, 0);
    has("hvdrun: localhost: host lost: its agent (pid ");
    has("was killed by signal 9 (SIGKILL), and with it 2 workers\n");
    has("hvdrun: 2 of 3 workers were lost");
}
END_TEST

START_TEST(an_agent_that_breaks_its_link_and_ends_well_is_lost_because_of_that)
{
    char path[] = "/tmp/job_elastic_hosts_test.XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    dprintf(fd, "#!/bin/sh\necho 'this line is not a frame of the protocol of agents'\n");
    fchmod(fd, 0700);
    close(fd);
    settings.agent = path;
    start("exec sleep 600");
    add(0, 1);
    UNTIL(has_ended[0]);
    UNTIL(!host_of(0));
    unlink(path);
    job_end(job);
    run();
    has("hvdrun: localhost: host lost: the link to its agent (pid ");
    has(") broke: ");
}
END_TEST

START_TEST(sigterm_drains_the_host_of_an_agent_whose_workers_run_on)
{
    start("echo runs $HVD_WORKER; exec sleep 600");
    add(0, 2);
    add(2, 1);
    UNTIL(has_printed("runs 0") && has_printed("runs 1") && has_printed("runs 2"));
    job_world_made(job, 0, (int[]){ 0, 1, 2 }, 3);
    kill(host_of(0)->agent, SIGTERM);
    UNTIL(drained == 0);
    ck_assert_int_eq(nended, 0);
    job_worker_removed(job, 0);
    job_worker_removed(job, 1);
    job_world_made(job, 1, (int[]){ 2 }, 1);
    job_stop_worker(job, 0);
    job_stop_worker(job, 1);
    UNTIL(!host_of(0));
    ck_assert_int_eq(nended, 2);
    job_stop_worker(job, 2);
    UNTIL(has_ended[2]);
    job_end(job);
    run();
    ck_assert_int_eq(exit_status, 0);
    has("hvdrun: localhost: drained, because SIGTERM has asked its agent to end: 2 workers are to "
        "leave it\n");
    has("hvdrun: world 1 has 1 rank: 2 workers left, localhost is drained\n");
    ck_assert_str_eq(report.why[0], "2 workers left, localhost is drained");
    has_not("lost");
}
END_TEST

START_TEST(a_worker_that_ends_is_named_by_its_rank_of_then)
{
    options.verbose = true;
    start("exec sleep 600");
    add(0, 1);
    add(1, 1);
    UNTIL(pid_of(0) > 0 && pid_of(1) > 0);
    job_world_made(job, 0, (int[]){ 1 }, 1);
    for (int worker = 0; worker < 2; worker++) {
        kill(pid_of(worker), SIGKILL);
        UNTIL(has_ended[worker]);
    }
    job_end(job);
    run();
    has(" s: rank 1 on localhost (worker 1) runs (pid ");
    has("hvdrun: lost rank 0 on localhost (worker 1, rank 1 before, pid ");
    has(" s: rank 0 on localhost (worker 1, rank 1 before) killed by signal 9 (SIGKILL)\n");
}
END_TEST

START_TEST(a_worker_that_dies_on_a_drained_host_is_lost_because_of_that)
{
    react = end_after_two;
    start("echo runs $HVD_WORKER; exec sleep 600");
    add(0, 2);
    UNTIL(has_printed("runs 0") && has_printed("runs 1"));
    kill(host_of(0)->agent, SIGTERM);
    UNTIL(drained == 0);
    kill(pid_of(0), SIGKILL);
    UNTIL(has_ended[0]);
    ck_assert_ptr_nonnull(strstr(job->report.ranks[0].loss,
                                 "s: drained, because SIGTERM has asked its agent to end"));
    job_stop_worker(job, 1);
    run();
}
END_TEST

START_TEST(sigint_still_ends_the_workers_of_an_agent)
{
    start("echo runs; exec sleep 600");
    add(0, 1);
    UNTIL(has_printed("runs"));
    kill(host_of(0)->agent, SIGINT);
    UNTIL(has_ended[0]);
    job_end(job);
    run();
    ck_assert_int_eq(drained, -1);
    has("was stopped by signal 2 (SIGINT)");
}
END_TEST

START_TEST(an_agent_that_connects_is_not_taken_for_an_orphan)
{
    start("echo runs $HVD_WORKER; exec sleep 600");
    add(0, 1);
    UNTIL(has_printed("runs 0"));
    kill(host_of(0)->agent, SIGKILL);
    UNTIL(has_ended[0]);
    UNTIL(!host_of(0));
    add(1, 1); /* while what is left of the first is looked for */
    while (host_of(1)->phase < HOST_DESCRIBING) {
        job_elastic_clean(job);
        job_check_orphans(job);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    UNTIL(has_printed("runs 1"));
    job_stop_worker(job, 1);
    UNTIL(has_ended[1]);
    job_end(job);
    run();
    has("hvdrun: 1 of 2 workers were lost");
}
END_TEST

START_TEST(an_unreached_host_costs_its_workers_only)
{
    settings.remote_shell = "echo no such host >&2; false";
    settings.remote_shell_source = "--remote-shell";
    react = end_after_two;
    start("exec sleep 600");
    add(0, 1);
    add_to("elsewhere.invalid", 1, 1, 1);
    UNTIL(has_ended[1]);
    ck_assert_int_eq(ends[1], JOB_WORKER_NOT_STARTED);
    ck_assert(!has_ended[0]);
    job_stop_worker(job, 0);
    run();
    ck_assert_int_eq(exit_status, 0);
    has("hvdrun: elsewhere.invalid: ");
    has("hvdrun: 1 of 2 workers were lost");
}
END_TEST

START_TEST(past_the_start_timeout_a_host_is_given_up)
{
    settings.remote_shell = "sh -c 'exec sleep 600'";
    settings.remote_shell_source = "--remote-shell";
    react = end_after_two;
    start("exec sleep 600");
    add(0, 1);
    UNTIL(pid_of(0) > 0);
    options.start_timeout_ms = 300;
    add_to("elsewhere.invalid", 1, 1, 1);
    UNTIL(has_ended[1]);
    ck_assert_int_eq(ends[1], JOB_WORKER_NOT_STARTED);
    ck_assert(!has_ended[0]);
    job_stop_worker(job, 0);
    run();
    has("hvdrun: elsewhere.invalid: not ready in time (--start-timeout), at step ");
}
END_TEST

START_TEST(before_the_start_timeout_a_host_is_waited_for)
{
    start("exec sleep 600");
    add(0, 1);
    job_elastic_check(job);
    UNTIL(pid_of(0) > 0 || has_ended[0]);
    ck_assert(!has_ended[0]);
    job_stop_worker(job, 0);
    UNTIL(has_ended[0]);
    job_end(job);
    run();
    has_not("not ready in time");
}
END_TEST

static pid_t parent_of(pid_t pid)
{
    char path[64];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%*d (%*[^)]) %*c %d", &parent), 1);
    fclose(file);
    return parent;
}

START_TEST(a_host_that_is_lost_soon_after_it_was_heard_is_swept)
{
    char path[1000];
    const char *folder = getenv("builddir");
    snprintf(path, sizeof path, "%s/hvdagent", folder ? folder : ".");
    settings.agent = path;
    settings.remote_shell = "sh -c 'shift; exec \"$@\"' sh";
    settings.remote_shell_source = "--remote-shell";
    options.verbose = true;
    start("echo runs; exec sleep 600");
    add_to("elsewhere.invalid", 0, 1, 0);
    UNTIL(has_printed("runs"));
    kill(parent_of(pid_of(0)), SIGKILL); /* its agent */
    UNTIL(has_ended[0]);
    UNTIL(!host_of(0));
    job_end(job);
    run();
    has("elsewhere.invalid is swept, 0 left\n");
}
END_TEST

static int blamed;

static void fail_because_of(int worker)
{
    blamed = worker;
    if (nended == 2)
        job_fail_worker(job, worker, "no worker is left");
}

/* The last line names the worker and how it was lost. */
static void has_blamed(const char *how)
{
    char line[200];
    snprintf(line, sizeof line,
             "\nhvdrun: FAILED: no worker is left; the last loss was rank %d on localhost "
             "(worker %d): %s",
             blamed, blamed, how);
    has(line);
}

START_TEST(a_program_that_is_not_found_starts_no_worker)
{
    free(command[0]);
    command[0] = strdup("/no/such/program");
    react = fail_because_of;
    start("");
    add(0, 2);
    run();
    ck_assert_int_eq(ends[0], JOB_WORKER_NOT_STARTED);
    ck_assert_int_eq(exit_status, STATUS_NOT_FOUND);
    has("hvdrun: localhost: ");
    has_blamed("command not found: '/no/such/program'\n");
}
END_TEST

START_TEST(the_worker_to_blame_gives_the_exit_status)
{
    react = fail_because_of;
    start("exit 7");
    add(0, 2);
    run();
    ck_assert_int_eq(exit_status, 7);
    has_blamed("exited with status 7 after ");
}
END_TEST

/* ---- worlds ---- */

START_TEST(prefixes_and_files_are_those_of_the_rank_of_the_time)
{
    static const int first[] = { 0, 1 }, second[] = { 1 };
    char directory[] = "/tmp/job_elastic_test.XXXXXX", path[128], bytes[256] = "";
    ck_assert_ptr_nonnull(mkdtemp(directory));
    options.output_directory = directory;
    react = end_after_two;
    start("trap 'echo signal $HVD_WORKER' USR1; echo runs $HVD_WORKER;"
          "while :; do sleep 600 & wait; done");
    add(0, 2);
    UNTIL(has_printed("runs 0") && has_printed("runs 1"));
    job_world_made(job, 0, first, 2);
    kill(pid_of(0), SIGKILL);
    UNTIL(has_ended[0]);
    job_world_made(job, 1, second, 1);
    job_signal(job, SIGUSR1);
    UNTIL(has_printed("signal 1"));
    job_say_world(job);
    job_stop_worker(job, 1);
    run();
    has("[1]<stdout>:runs 1\n");
    has("[0]<stdout>:signal 1\n");
    has("hvdrun: world 1 has 1 rank: 1 worker left\n");
    has("s, 1 rank; workers in order of rank: localhost: 1\n");
    snprintf(path, sizeof path, "%s/rank.0/stdout", directory);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_gt(read(fd, bytes, sizeof bytes - 1), 0);
    close(fd);
    ck_assert_str_eq(bytes, "[0]<stdout>:runs 0\n[0]<stdout>:signal 1\n");
    ck_assert_int_eq(report.nworlds, 2);
    ck_assert_msg(strstr(report.why[0], "rank 0 on localhost (worker 0): killed by signal 9"), "%s",
                  report.why[0]);
    ck_assert_str_eq(report.why[1], "all ranks have finished");
    snprintf(path, sizeof path, "rm -r %s", directory);
    ck_assert_int_eq(system(path), 0);
}
END_TEST

START_TEST(a_file_of_a_later_rank_that_cannot_be_created_costs_its_output_only)
{
    static const int members[] = { 1, 2, 0 };
    char directory[] = "/tmp/job_elastic_test.XXXXXX", path[128];
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/rank.2", directory);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)); /* in the way of the directory */
    options.output_directory = directory;
    start("exec sleep 600");
    add(0, 2);
    add_to("localhost", 2, 1, 0);
    job_world_made(job, 0, members, 3);
    job_end(job);
    run();
    ck_assert_int_eq(exit_status, STATUS_OUTPUT_LOST);
    has("hvdrun: --output-filename: cannot create, output of rank 2 is lost: ");
    snprintf(path, sizeof path, "rm -r %s", directory);
    ck_assert_int_eq(system(path), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("job_elastic_hosts");
    TCase *hosts = tcase_create("hosts");
    tcase_add_checked_fixture(hosts, setup, NULL);
    tcase_add_test(hosts, a_lost_agent_costs_its_own_workers_only);
    tcase_add_test(hosts, an_agent_that_breaks_its_link_and_ends_well_is_lost_because_of_that);
    tcase_add_test(hosts, sigterm_drains_the_host_of_an_agent_whose_workers_run_on);
    tcase_add_test(hosts, a_worker_that_ends_is_named_by_its_rank_of_then);
    tcase_add_test(hosts, a_worker_that_dies_on_a_drained_host_is_lost_because_of_that);
    tcase_add_test(hosts, sigint_still_ends_the_workers_of_an_agent);
    tcase_add_test(hosts, an_agent_that_connects_is_not_taken_for_an_orphan);
    tcase_add_test(hosts, an_unreached_host_costs_its_workers_only);
    tcase_add_test(hosts, past_the_start_timeout_a_host_is_given_up);
    tcase_add_test(hosts, before_the_start_timeout_a_host_is_waited_for);
    tcase_add_test(hosts, a_host_that_is_lost_soon_after_it_was_heard_is_swept);
    tcase_add_test(hosts, a_program_that_is_not_found_starts_no_worker);
    tcase_add_test(hosts, the_worker_to_blame_gives_the_exit_status);
    suite_add_tcase(suite, hosts);
    TCase *worlds = tcase_create("worlds");
    tcase_add_checked_fixture(worlds, setup, NULL);
    tcase_add_test(worlds, prefixes_and_files_are_those_of_the_rank_of_the_time);
    tcase_add_test(worlds, a_file_of_a_later_rank_that_cannot_be_created_costs_its_output_only);
    suite_add_tcase(suite, worlds);
    return suite;
}

int main(int argc, char **argv)
{
    return agent_or_tests(argc, argv, suite);
}
