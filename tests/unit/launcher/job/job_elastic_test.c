/* SPDX-License-Identifier: Apache-2.0 */
/* Elastic jobs with real agents, which are this program again, and workers that are a shell. The
 * test is the owner of the job: it adds workers, hears of their ends, and ends the job. What is
 * printed goes into a file. A job that does not end is ended by Check's timeout. */
#include "launcher/agent/agent.h"
#include "launcher/base/exit_status.h"
#include "launcher/job/job_impl.h"
#include "lib/base/join_protocol.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 2000 };

static uv_loop_t loop;
static struct job *job;
static struct job_options options;
static struct connect_settings settings;
static struct job_elastic elastic;
static char *command[4], *environment[3];
static char output[1 << 16]; /* what was printed, once the job is over */
static int printed = -1, exit_status;
static enum job_worker_end ends[WORKERS];
static bool has_ended[WORKERS], over;
static int nended;
static void (*react)(int worker); /* after each end */
static int drained = -1;          /* the worker whose host was drained last */
static struct {
    int nworlds, nranks, nhosts;
    char why[3][400], loss[400];
    bool removed;
} report;

/* ---- the owner ---- */

static void on_rank_started(void *context, int rank, int pid)
{
    (void)context, (void)rank, (void)pid;
}

static void on_rank_ended(void *context, int rank, const struct job_rank_end *end)
{
    (void)context, (void)end;
    ck_assert(!has_ended[rank]); /* the rendezvous hears of it first */
}

static void on_question(void *context)
{
    (void)context;
}

static void on_over(void *context, const struct job_report *told)
{
    (void)context, (void)told;
}

static int on_report(void *context, const struct job_report *told, struct err *err)
{
    (void)context, (void)err;
    report.nworlds = told->nworlds;
    report.nranks = told->nranks;
    report.nhosts = told->nhosts;
    for (int i = 0; i < told->nworlds && i < 3; i++)
        snprintf(report.why[i], sizeof report.why[i], "%s", told->worlds[i].why);
    if (told->nranks > 0 && told->ranks[0].loss)
        snprintf(report.loss, sizeof report.loss, "%s", told->ranks[0].loss);
    return HVD_OK;
}

static void on_finished(void *context, int status)
{
    (void)context;
    exit_status = status;
    over = true;
    job_destroy(job);
}

static void on_worker_ended(void *context, int worker, enum job_worker_end end)
{
    (void)context;
    ck_assert(!has_ended[worker]);
    has_ended[worker] = true;
    ends[worker] = end;
    nended++;
    if (react)
        react(worker);
}

static void on_drained(void *context, int worker)
{
    (void)context;
    drained = worker;
}

/* ---- the job ---- */

static void setup(void)
{
    static struct job_key key;
    static char id[17]; /* another than that of each other job here: processes are found by it */
    snprintf(id, sizeof id, "%016x", (unsigned)getpid());
    printed = memfd_create("printed", MFD_CLOEXEC);
    ck_assert_int_ge(printed, 0);
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    signal(SIGPIPE, SIG_IGN);
    settings = (struct connect_settings){
        .agent = "/proc/self/exe",
        .job_id = id,
        .timeout_ms = 10000,
        .heartbeat_timeout_ms = 10000,
    };
    elastic = (struct job_elastic){ .size_max = 8, .first_size = 2, .one_machine = true };
    command[0] = strdup("/bin/sh");
    command[1] = strdup("-c");
    environment[0] = strdup("PATH=/usr/bin:/bin");
    options = (struct job_options){
        .elastic = &elastic,
        .connect = &settings,
        .cwd = "/",
        .command = command,
        .environment = environment,
        .id = settings.job_id,
        .key = &key,
        .grace_ms = 5000,
        .start_timeout_ms = 30000,
        .heartbeat_timeout_ms = 10000,
        .keep_lines = true,
        .stdin_closed = true,
    };
}

static void start(const char *script)
{
    static const struct job_rendezvous_interface rendezvous = { .on_rank_started = on_rank_started,
                                                                .on_rank_ended = on_rank_ended,
                                                                .on_question = on_question,
                                                                .on_over = on_over };
    static const struct job_callbacks callbacks = { .on_report = on_report,
                                                    .on_finished = on_finished,
                                                    .on_worker_ended = on_worker_ended,
                                                    .on_drained = on_drained };
    struct err err;
    free(command[2]);
    command[2] = strdup(script);
    fflush(stdout);
    ck_assert_int_ge(dup2(printed, STDOUT_FILENO), 0);
    ck_assert_int_ge(dup2(printed, STDERR_FILENO), 0);
    job = job_create(&loop, &options, &rendezvous, &callbacks, NULL, &err);
    ck_assert_ptr_nonnull(job);
}

static void add_to(const char *host, int worker, int count, int rank)
{
    struct rank_info places[8];
    for (int i = 0; i < count; i++)
        places[i] = (struct rank_info){ rank + i, 8, i, count, 0, 1 };
    char name[32], interfaces[32] = "";
    snprintf(name, sizeof name, "%s", host);
    struct job_batch batch = {
        .host = name, .interfaces = interfaces, .worker = worker, .count = count, .places = places
    };
    job_add_batch(job, &batch);
    strcpy(name, "not.copied"); /* as if they had been freed */
    strcpy(interfaces, "not.copied");
}

static void add(int worker, int count)
{
    add_to("localhost", worker, count, worker % 8);
}

/* Until the job is over. */
static void run(void)
{
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert(over);
    ssize_t length = pread(printed, output, sizeof output - 1, 0);
    ck_assert_int_ge(length, 0);
    output[length] = '\0';
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}

static void has(const char *text)
{
    ck_assert_msg(strstr(output, text), "'%s' is in: %s", text, output);
}

static void has_not(const char *text)
{
    ck_assert_msg(!strstr(output, text), "'%s' is not in: %s", text, output);
}

static pid_t pid_of(int worker)
{
    return job->report.ranks[worker].pid;
}

static struct job_host *host_of(int worker)
{
    return job->hosts[job->plan->ranks[worker].host];
}

/* Runs the loop until the condition holds. */
#define UNTIL(condition)                                                                           \
    while (!(condition))                                                                           \
    uv_run(&loop, UV_RUN_ONCE)

/* Looks whether a worker has printed it. */
static bool has_printed(const char *text)
{
    static char bytes[1 << 16];
    ssize_t length = pread(printed, bytes, sizeof bytes - 1, 0);
    bytes[length > 0 ? length : 0] = '\0';
    return strstr(bytes, text);
}

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

static void end_after_two(int worker)
{
    (void)worker;
    if (nended == 2)
        job_end(job);
}

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

START_TEST(a_host_that_is_not_reached_costs_its_workers_only)
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

START_TEST(a_host_that_is_not_ready_in_time_is_given_up)
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

static void fail_because_of(int worker)
{
    if (nended == 2)
        job_fail_worker(job, worker, "no worker is left");
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
    has("\nhvdrun: FAILED: no worker is left\n");
}
END_TEST

START_TEST(the_worker_to_blame_gives_the_exit_status)
{
    react = fail_because_of;
    start("exit 7");
    add(0, 2);
    run();
    ck_assert_int_eq(exit_status, 7);
    has("hvdrun: FAILED: no worker is left\n");
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

START_TEST(workers_that_are_gone_leave_no_descriptor_and_little_memory)
{
    enum { FEW = 30, MANY = 200, BYTES_EACH = 4096 };
    react = add_next;
    start("echo a line of output; exit 1");
    add(0, 1);
    until_closed(FEW);
    int descriptors = count_descriptors(), few = nended;
    size_t bytes = mallinfo2().uordblks;
    react = add_next;
    add(nended, 1);
    until_closed(MANY);
    ck_assert_int_eq(count_descriptors(), descriptors);
    size_t grown = mallinfo2().uordblks - bytes;
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
    tcase_add_test(workers, the_hello_of_a_worker_that_there_is_not_is_of_no_interest);
    tcase_add_test(workers, a_worker_that_is_stopped_gets_sigterm_then_sigkill_and_is_no_loss);
    tcase_add_test(workers, a_worker_that_is_stopped_before_it_runs_is_stopped_as_soon_as_it_does);
    tcase_add_test(workers, a_batch_that_is_stopped_before_it_is_connected_never_runs);
    tcase_add_test(workers, what_a_failed_worker_leaves_behind_is_ended_while_others_run);
    tcase_add_test(workers, a_worker_that_is_stopped_by_a_signal_is_lost_if_that_is_a_failure);
    suite_add_tcase(suite, workers);
    TCase *hosts = tcase_create("hosts");
    tcase_add_checked_fixture(hosts, setup, NULL);
    tcase_add_test(hosts, a_lost_agent_costs_its_own_workers_only);
    tcase_add_test(hosts, sigterm_drains_the_host_of_an_agent_whose_workers_run_on);
    tcase_add_test(hosts, a_worker_that_dies_on_a_drained_host_is_lost_because_of_that);
    tcase_add_test(hosts, sigint_still_ends_the_workers_of_an_agent);
    tcase_add_test(hosts, an_agent_that_connects_is_not_taken_for_an_orphan);
    tcase_add_test(hosts, a_host_that_is_not_reached_costs_its_workers_only);
    tcase_add_test(hosts, a_host_that_is_not_ready_in_time_is_given_up);
    tcase_add_test(hosts, a_program_that_is_not_found_starts_no_worker);
    tcase_add_test(hosts, the_worker_to_blame_gives_the_exit_status);
    suite_add_tcase(suite, hosts);
    TCase *worlds = tcase_create("worlds");
    tcase_add_checked_fixture(worlds, setup, NULL);
    tcase_add_test(worlds, prefixes_and_files_are_those_of_the_rank_of_the_time);
    tcase_add_test(worlds, a_file_of_a_later_rank_that_cannot_be_created_costs_its_output_only);
    suite_add_tcase(suite, worlds);
    TCase *end = tcase_create("end");
    tcase_add_checked_fixture(end, setup, NULL);
    tcase_add_loop_test(end, a_job_without_workers_ends_at_once, 0, 3);
    tcase_add_loop_test(end, a_job_with_workers_ends_with_them_and_tells_their_owner_nothing, 0, 3);
    tcase_add_test(end, the_time_limit_ends_a_job_whose_workers_come_and_go);
    tcase_add_test(end, workers_that_are_gone_leave_no_descriptor_and_little_memory);
    suite_add_tcase(suite, end);
    return suite;
}

/* As src/agent does: the link is stdin and stdout. */
static int be_agent(void)
{
    uv_loop_t agent_loop;
    int link = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
    if (link < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        uv_loop_init(&agent_loop) < 0)
        return 99;
    int status = agent_run(&agent_loop, link, link, AGENT_RELAY_STALL_MS);
    return uv_loop_close(&agent_loop) < 0 ? 98 : status;
}

int main(int argc, char **argv)
{
    return argc > 0 && strcmp(argv[0], "hvdagent") == 0 ? be_agent() : unit_run(suite());
}
