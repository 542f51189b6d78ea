/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a discovery script: real processes of /bin/sh, and each way in which a run fails. */
#include "launcher/elastic/discovery_run.h"

#include "launcher/base/xalloc.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/discovery_run_test.XXXXXX";
static char *fifo;

static void enter(void)
{
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_int_eq(chdir(directory), 0);
    fifo = xasprintf("%s/fifo", directory);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
}

static void leave(void)
{
    unlink(fifo);
    free(fifo);
    ck_assert_int_eq(chdir("/"), 0);
    rmdir(directory);
}

static struct host_list hosts;
static struct err err;
static int stopped_by;

static int run(const char *command)
{
    const struct discovery_settings settings = { .command = command,
                                                 .source = "script",
                                                 .slots = 1 };
    err = (struct err){ 0 };
    return discovery_run_now(&settings, &hosts, &stopped_by, &err);
}

static void expect_failure(const char *command, const char *text)
{
    ck_assert_int_lt(run(command), 0);
    ck_assert_str_eq(err.text, text);
    ck_assert_int_eq(hosts.count, 0);
}

START_TEST(a_script_prints_hosts)
{
    ck_assert_int_eq(run("echo a:2; echo b; echo noise >&2"), HVD_OK);
    ck_assert_int_eq(hosts.count, 2);
    ck_assert_str_eq(hosts.hosts[0].name, "a");
    ck_assert_int_eq(hosts.hosts[0].slots, 2);
    ck_assert_int_eq(hosts.hosts[1].slots, 1);
    host_list_fini(&hosts);
}
END_TEST

START_TEST(no_host_is_an_answer)
{
    ck_assert_int_eq(run("true"), HVD_OK);
    ck_assert_int_eq(hosts.count, 0);
}
END_TEST

START_TEST(ten_thousand_hosts_arrive)
{
    ck_assert_int_eq(run("i=0; while [ $i -lt 10000 ]; do echo h$i:1; i=$((i+1)); done"), HVD_OK);
    ck_assert_int_eq(hosts.count, 10000);
    host_list_fini(&hosts);
}
END_TEST

START_TEST(a_failure_quotes_the_script)
{
    expect_failure("exit 3", "script: 'exit 3' exited with status 3");
    expect_failure("echo first >&2; echo cloud is down >&2; false",
                   "script: 'echo first >&2; echo cloud is down >&2; false' exited with status 1: "
                   "'cloud is down'");
    expect_failure("kill -9 $$", "script: 'kill -9 $$' was killed by signal 9 (SIGKILL)");
}
END_TEST

START_TEST(a_script_that_is_missing_is_said)
{
    ck_assert_int_eq(run("./no-such-script"), HVD_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, "script: './no-such-script' exited with status 127: '"));
}
END_TEST

START_TEST(nonsense_is_refused)
{
    expect_failure("echo 'no hosts today'",
                   "script:1:3: bad character in host name: 'no hosts today' (a line is HOST or "
                   "HOST:SLOTS)");
}
END_TEST

START_TEST(too_much_is_not_waited_for)
{
    expect_failure("exec yes a", "script: 'exec yes a' was killed, since it printed more than 4 "
                                 "MiB");
}
END_TEST

/* Blocks until no process has the FIFO open for writing. */
static void wait_for_writers(int fd)
{
    char byte;
    fcntl(fd, F_SETFL, O_RDONLY);
    while (read(fd, &byte, 1) > 0)
        ;
}

START_TEST(a_script_that_hangs_is_killed_with_its_children)
{
    int fd = open(fifo, O_RDONLY | O_NONBLOCK);
    const struct discovery_settings settings = { .command = "exec 9>fifo; sleep 1000 & sleep 1000",
                                                 .source = "script",
                                                 .limit_ms = 200 };
    ck_assert_int_eq(discovery_run_now(&settings, &hosts, &stopped_by, &err), HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, "script: 'exec 9>fifo; sleep 1000 & sleep 1000' was killed, since "
                               "it ran for more than 0.2 s");
    wait_for_writers(fd);
    close(fd);
}
END_TEST

START_TEST(a_script_that_is_stopped_is_killed)
{
    const struct discovery_settings settings = { .command = "kill -STOP $$",
                                                 .source = "script",
                                                 .limit_ms = 100 };
    ck_assert_int_eq(discovery_run_now(&settings, &hosts, &stopped_by, &err), HVD_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, "was killed, since it ran for more than 0.1 s"));
}
END_TEST

/* The script is a child of this test, which stands for hvdrun. */
static void expect_stop(const char *command, int signum, const char *text)
{
    int fd = open(fifo, O_RDONLY | O_NONBLOCK);
    ck_assert_int_eq(run(command), HVD_ERR_INVALID);
    ck_assert_int_eq(stopped_by, signum);
    ck_assert_str_eq(err.text, text);
    ck_assert_int_eq(hosts.count, 0);
    wait_for_writers(fd);
    close(fd);
}

START_TEST(a_signal_ends_the_script_with_its_children)
{
    expect_stop("exec 9>fifo; sleep 1000 & kill -INT $PPID; sleep 1000", SIGINT,
                "stopped by signal 2 (SIGINT) while script ran: "
                "'exec 9>fifo; sleep 1000 & kill -INT $PPID; sleep 1000'");
    expect_stop("exec 9>fifo; sleep 1000 & kill -TERM $PPID; sleep 1000", SIGTERM,
                "stopped by signal 15 (SIGTERM) while script ran: "
                "'exec 9>fifo; sleep 1000 & kill -TERM $PPID; sleep 1000'");
    expect_stop("exec 9>fifo; sleep 1000 & kill -HUP $PPID; sleep 1000", SIGHUP,
                "stopped by signal 1 (SIGHUP) while script ran: "
                "'exec 9>fifo; sleep 1000 & kill -HUP $PPID; sleep 1000'");
}
END_TEST

START_TEST(a_hangup_that_is_ignored_stays_ignored)
{
    signal(SIGHUP, SIG_IGN);
    ck_assert_int_eq(run("kill -HUP $PPID; echo a:1"), HVD_OK);
    ck_assert_int_eq(stopped_by, 0);
    ck_assert_int_eq(hosts.count, 1);
    host_list_fini(&hosts);
    signal(SIGHUP, SIG_DFL);
}
END_TEST

START_TEST(what_a_script_leaves_behind_is_killed)
{
    static const char *const scripts[] = { "exec 9>fifo; sleep 1000 & echo a:1",
                                           "exec 9>fifo; sleep 1000 & exit 3" };
    int fd = open(fifo, O_RDONLY | O_NONBLOCK);
    ck_assert_int_eq(run(scripts[_i]), _i == 0 ? HVD_OK : HVD_ERR_SYSTEM);
    ck_assert_int_eq(hosts.count, _i == 0);
    host_list_fini(&hosts);
    wait_for_writers(fd);
    close(fd);
}
END_TEST

/* The child has left the process group when it answers, and ends when the test closes the FIFO. */
START_TEST(what_leaves_the_group_of_a_script_is_neither_killed_nor_waited_for)
{
    int fd = open(fifo, O_RDWR);
    mkfifo("answer", 0600);
    ck_assert_int_eq(run("setsid sh -c 'exec <fifo; echo >answer; exec cat' & "
                         "read line <answer; echo a:1"),
                     HVD_OK);
    ck_assert_int_eq(hosts.count, 1);
    host_list_fini(&hosts);
    unlink("answer");
    close(fd);
}
END_TEST

START_TEST(a_script_is_told_of_whose_job_it_is)
{
    const struct discovery_settings settings = {
        .command = "echo $HVD_COMMAND_OF", .job_id = "job-7", .source = "script", .slots = 1
    };
    ck_assert_int_eq(discovery_run_now(&settings, &hosts, &stopped_by, &err), HVD_OK);
    ck_assert_int_eq(hosts.count, 1);
    ck_assert_str_eq(hosts.hosts[0].name, "job-7");
    host_list_fini(&hosts);
}
END_TEST

static void on_unwanted_end(void *context, int rc, struct host_list *list, struct err *problem)
{
    (void)context, (void)rc, (void)list, (void)problem;
    ck_abort_msg("a run that was cancelled has ended");
}

/* Traces the process whose number comes through the FIFO, lets it go on, and does not reap it. */
static void trace_a_script(void)
{
    int pid = 0;
    FILE *from_script = fopen(fifo, "r");
    if (!from_script || fscanf(from_script, "%d", &pid) != 1 ||
        ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
        _exit(77);
    FILE *to_script = fopen(fifo, "w");
    fprintf(to_script, "go on\n");
    fflush(to_script);
    for (;;)
        pause();
}

/* The parent of a traced process is not told of its end before the tracer has seen it. */
START_TEST(a_script_that_does_not_end_when_it_is_killed_is_reported)
{
    int status = 0;
    pid_t tracer = fork();
    if (tracer == 0)
        trace_a_script();
    int rc = run("echo $$ >fifo; read line <fifo || exit 77; exec yes");
    kill(tracer, SIGKILL);
    waitpid(tracer, &status, 0);
    if (WIFEXITED(status)) /* a process may not be traced here */
        return;
    ck_assert_int_eq(rc, HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, "script: 'echo $$ >fifo; read line <fifo || exit 77; exec yes' was "
                               "killed, since it printed more than 4 MiB, and has not ended");
}
END_TEST

static void on_unwanted_stuck(void *context, struct err *problem)
{
    (void)context;
    ck_abort_msg("a run that was cancelled is stuck: %s", problem->text);
}

START_TEST(a_run_that_is_cancelled_leaves_nothing)
{
    int fd = open(fifo, O_RDONLY | O_NONBLOCK);
    uv_loop_t loop;
    const struct discovery_settings settings = { .command = "exec 9>fifo; sleep 1000 & sleep 1000",
                                                 .source = "script" };
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    struct children *children = children_create(&loop);
    struct discovery_run *one =
        discovery_run_start(&loop, children, &settings, on_unwanted_end, on_unwanted_stuck, NULL);
    discovery_run_cancel(one);
    discovery_run_cancel(NULL);
    children_destroy(children);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    wait_for_writers(fd);
    close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("discovery_run");
    TCase *tcase = tcase_create("discovery_run");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, enter, leave);
    tcase_add_test(tcase, a_script_prints_hosts);
    tcase_add_test(tcase, no_host_is_an_answer);
    tcase_add_test(tcase, ten_thousand_hosts_arrive);
    tcase_add_test(tcase, a_failure_quotes_the_script);
    tcase_add_test(tcase, a_script_that_is_missing_is_said);
    tcase_add_test(tcase, nonsense_is_refused);
    tcase_add_test(tcase, too_much_is_not_waited_for);
    tcase_add_test(tcase, a_script_that_hangs_is_killed_with_its_children);
    tcase_add_test(tcase, a_script_that_is_stopped_is_killed);
    tcase_add_test(tcase, a_signal_ends_the_script_with_its_children);
    tcase_add_test(tcase, a_hangup_that_is_ignored_stays_ignored);
    tcase_add_loop_test(tcase, what_a_script_leaves_behind_is_killed, 0, 2);
    tcase_add_test(tcase, what_leaves_the_group_of_a_script_is_neither_killed_nor_waited_for);
    tcase_add_test(tcase, a_script_is_told_of_whose_job_it_is);
    tcase_add_test(tcase, a_script_that_does_not_end_when_it_is_killed_is_reported);
    tcase_add_test(tcase, a_run_that_is_cancelled_leaves_nothing);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
