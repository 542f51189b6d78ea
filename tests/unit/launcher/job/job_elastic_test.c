/* SPDX-License-Identifier: Apache-2.0 */
/* Elastic jobs whose workers come, end and are stopped, and the end of the job itself. */
#include "launcher/base/exit_status.h"
#include "lib/base/join_protocol.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/job_elastic_fixture.h"

#include <dirent.h>
#include <malloc.h>

/* ---- workers that end ---- */

static void stop_1_after_0(int worker)
{
    if (worker == 0)
        job_stop_worker(job, 1);
    else
        job_end(job);
}

START_TEST(a_worker_that_fails_does_not_stop_the_others)
{
    react = stop_1_after_0;
    start("[ $HVD_WORKER = 0 ] && { echo gone >&2; exit 3; }; sleep 600");
    add(0, 2);
    run();
    ck_assert_int_eq(exit_status, 0);
    ck_assert_int_eq(ends[0], JOB_WORKER_FAILED);
    has("hvdrun: lost rank 0 on localhost (worker 0, pid ");
    has("): exited with status 3 after 0.");
    has("hvdrun: 1 of 2 workers were lost before the first world:\nhvdrun:   at 0.");
    has_not("worker 1");
    has_not("FAILED");
    ck_assert_str_ne(report.loss, "");
}
END_TEST

static void add_2_after_0(int worker)
{
    if (worker == 0)
        add(2, 1);
    else if (worker == 2)
        job_stop_worker(job, 1);
    else
        job_end(job);
}

START_TEST(workers_are_added_while_others_run)
{
    react = add_2_after_0;
    start("echo elastic $HOROVOD_ELASTIC worker $HVD_WORKER rank $HOROVOD_RANK of $HOROVOD_SIZE;"
          "[ $HVD_WORKER != 1 ] || exec sleep 600");
    add(0, 2);
    run();
    ck_assert_int_eq(exit_status, 0);
    ck_assert_int_eq(ends[0], JOB_WORKER_FINISHED);
    ck_assert_int_eq(ends[2], JOB_WORKER_FINISHED);
    has("[2]<stdout>:elastic 1 worker 2 rank 2 of 8\n");
    ck_assert_int_eq(report.nhosts, 2);
    ck_assert_int_eq(report.nranks, 3);
}
END_TEST

START_TEST(a_worker_that_is_given_up_before_it_runs_has_no_process)
{
    start("sleep 600");
    add(0, 1);
    job_give_up_worker(job, 0, "has not called hvd_init within 1 s");
    job_end(job);
    run();
    has("hvdrun: lost rank 0 on localhost (worker 0, not started): has not called hvd_init within");
    has_not("pid 0");
}
END_TEST

/* A process may say that it is any worker. */
START_TEST(the_hello_of_a_worker_that_there_is_not_is_of_no_interest)
{
    start("exit 0");
    job_rank_met(job, 0);
    job_rank_met(job, WORKER_NUMBER_MAX);
    job_end(job);
    run();
    ck_assert_int_eq(exit_status, 0);
}
END_TEST

START_TEST(a_worker_that_is_stopped_gets_sigterm_then_sigkill_and_is_no_loss)
{
    options.grace_ms = 100;
    react = end_after_two;
    start("trap 'echo asked; [ $HVD_WORKER = 1 ] && exit 0' TERM; echo runs $HVD_WORKER;"
          "while :; do sleep 600 & wait; done");
    add(0, 2);
    UNTIL(has_printed("runs 0") && has_printed("runs 1"));
    job_stop_worker(job, 0);
    job_stop_worker(job, 1);
    run();
    ck_assert_int_eq(exit_status, 0);
    ck_assert_int_eq(ends[0], JOB_WORKER_FAILED);
    ck_assert_int_eq(ends[1], JOB_WORKER_FINISHED);
    has("[0]<stdout>:asked\n");
    has("[1]<stdout>:asked\n");
    has_not("lost");
}
END_TEST

START_TEST(a_worker_that_is_stopped_before_it_runs_is_stopped_as_soon_as_it_does)
{
    react = end_after_two;
    start("exec sleep 600");
    add(0, 2);
    job_stop_worker(job, 1);
    UNTIL(has_ended[1]);
    ck_assert(!has_ended[0]);
    job_stop_worker(job, 0);
    run();
    ck_assert_int_eq(exit_status, 0);
    has_not("lost");
}
END_TEST

START_TEST(a_batch_that_is_stopped_before_it_is_connected_never_runs)
{
    react = end_after_two;
    start("echo runs");
    add(0, 2);
    job_stop_worker(job, 0);
    job_stop_worker(job, 1);
    run();
    ck_assert_int_eq(ends[0], JOB_WORKER_NOT_STARTED);
    has_not("runs");
    has_not("lost");
}
END_TEST

START_TEST(what_a_failed_worker_leaves_behind_is_ended_while_others_run)
{
    int rest;
    start("[ $HVD_WORKER = 1 ] && exec sleep 600;"
          "setsid sh -c 'echo rest $$; exec sleep 600' & wait; exit 1");
    add(0, 2);
    UNTIL(has_printed("rest ") && pid_of(0) > 0);
    char bytes[4096] = "";
    ck_assert_int_gt(pread(printed, bytes, sizeof bytes - 1, 0), 0);
    ck_assert_int_eq(sscanf(strstr(bytes, "rest "), "rest %d", &rest), 1);
    kill(pid_of(0), SIGKILL);
    UNTIL(has_ended[0]);
    UNTIL(agent_fixture_is_gone(rest));
    ck_assert(!has_ended[1]);
    job_end(job);
    run();
    has("killed by signal 9 (SIGKILL) after ");
}
END_TEST

START_TEST(a_worker_that_is_stopped_by_a_signal_is_lost_if_that_is_a_failure)
{
    options.stopped_fails = true;
    react = end_after_two;
    start("[ $HVD_WORKER = 0 ] && kill -STOP $$; sleep 600");
    add(0, 2);
    UNTIL(has_ended[0]);
    ck_assert(!has_ended[1]);
    job_stop_worker(job, 1);
    run();
    ck_assert_int_eq(ends[0], JOB_WORKER_FAILED);
    has("): was stopped by signal 19 (SIGSTOP)");
}
END_TEST

/* ---- the end of the job ---- */

static void told_to_stop(void)
{
    job_signal(job, SIGINT);
}

static void failed(void)
{
    job_fail(job, STATUS_TIMEOUT, "too few slots");
}

static void done(void)
{
    job_end(job);
}

static const struct {
    void (*end)(void);
    int exit_status;
    const char *line;
} end_rows[] = {

    { told_to_stop, 130, "stopped by signal 2 (SIGINT)" },
    { failed, STATUS_TIMEOUT, "hvdrun: FAILED: too few slots" },
    { done, 0, "" },
};

START_TEST(a_job_without_workers_ends_at_once)
{
    start("exec sleep 600");
    end_rows[_i].end();
    run();
    ck_assert_int_eq(exit_status, end_rows[_i].exit_status);
    has(end_rows[_i].line);
}
END_TEST

START_TEST(a_job_with_workers_ends_with_them_and_tells_their_owner_nothing)
{
    start("echo runs; exec sleep 600");
    add(0, 1);
    add(1, 1);
    UNTIL(has_printed("[0]<stdout>:runs") && has_printed("[1]<stdout>:runs"));
    pid_t pids[] = { pid_of(0), pid_of(1) };
    end_rows[_i].end();
    add(2, 1); /* comes too late */
    run();
    ck_assert_int_eq(exit_status, end_rows[_i].exit_status);
    ck_assert_int_eq(nended, 0);
    ck_assert_int_eq(report.nranks, 2);
    ck_assert(agent_fixture_is_gone(pids[0]) && agent_fixture_is_gone(pids[1]));
    has(end_rows[_i].line);
    has_not("lost");
}
END_TEST

START_TEST(the_time_limit_ends_a_job_whose_workers_come_and_go)
{
    options.timeout_ms = 3000;
    start("exec sleep 600");
    add(0, 1);
    run();
    ck_assert_int_eq(exit_status, STATUS_JOB_TIMEOUT);
    has("hvdrun: FAILED: 3 s have passed (--timeout) while 1 worker on localhost still ran");
}
END_TEST

/* ---- nothing is left of workers that are gone ---- */

static int count_descriptors(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static void add_next(int worker)
{
    add(worker + 1, 1);
}

static void until_closed(int nworkers)
{
    UNTIL(nended >= nworkers);
    react = NULL;
    UNTIL(nended == job->plan->size && job->growth.nclosing == 0 &&
          !job->hosts[job->state.nhosts - 1]);
}

/* Memory that is still allocated; 0 with the malloc of a sanitizer, which mallinfo2() does not
 * see. */
static size_t count_bytes(void)
{
    return mallinfo2().uordblks;
}

/* How many workers show it. Memory grows in steps, so that many are needed where it is measured.
 * The number of descriptors does not change at all, so that a few are enough; with a sanitizer the
 * agent of each worker takes ten times as long to start. */
static const struct {
    int few, many;
} gone_rows[] = { [false] = { 5, 25 }, [true] = { 30, 200 } };

START_TEST(workers_that_are_gone_leave_no_descriptor_and_little_memory)
{
    enum { BYTES_EACH = 4096 };
    bool measures_memory = count_bytes() > 0;
    react = add_next;
    start("echo a line of output; exit 1");
    add(0, 1);
    until_closed(gone_rows[measures_memory].few);
    int descriptors = count_descriptors(), few = nended;
    size_t bytes = count_bytes();
    react = add_next;
    add(nended, 1);
    until_closed(gone_rows[measures_memory].many);
    ck_assert_int_eq(count_descriptors(), descriptors);
    size_t grown = measures_memory ? count_bytes() - bytes : 0;
    ck_assert_msg(grown < (size_t)(nended - few) * BYTES_EACH, "%zu bytes for %d workers", grown,
                  nended - few);
    job_end(job);
    run();
    has("  and ");
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("job_elastic");
    TCase *workers = tcase_create("workers");
    tcase_add_checked_fixture(workers, setup, NULL);
    tcase_add_test(workers, a_worker_that_fails_does_not_stop_the_others);
    tcase_add_test(workers, workers_are_added_while_others_run);
    tcase_add_test(workers, a_worker_that_is_given_up_before_it_runs_has_no_process);
    tcase_add_test(workers, the_hello_of_a_worker_that_there_is_not_is_of_no_interest);
    tcase_add_test(workers, a_worker_that_is_stopped_gets_sigterm_then_sigkill_and_is_no_loss);
    tcase_add_test(workers, a_worker_that_is_stopped_before_it_runs_is_stopped_as_soon_as_it_does);
    tcase_add_test(workers, a_batch_that_is_stopped_before_it_is_connected_never_runs);
    tcase_add_test(workers, what_a_failed_worker_leaves_behind_is_ended_while_others_run);
    tcase_add_test(workers, a_worker_that_is_stopped_by_a_signal_is_lost_if_that_is_a_failure);
    suite_add_tcase(suite, workers);
    TCase *end = tcase_create("end");
    tcase_add_checked_fixture(end, setup, NULL);
    tcase_add_loop_test(end, a_job_without_workers_ends_at_once, 0, 3);
    tcase_add_loop_test(end, a_job_with_workers_ends_with_them_and_tells_their_owner_nothing, 0, 3);
    tcase_add_test(end, the_time_limit_ends_a_job_whose_workers_come_and_go);
    tcase_add_test(end, workers_that_are_gone_leave_no_descriptor_and_little_memory);
    suite_add_tcase(suite, end);
    return suite;
}

int main(int argc, char **argv)
{
    return agent_or_tests(argc, argv, suite);
}
