/* SPDX-License-Identifier: Apache-2.0 */
/* A supervisor and what stands in for its agent: a function that is called in its place. */
#include "launcher/cleanup/supervisor.h"
#include "launcher/process/cgroup.h"
#include "launcher/process/process_tree.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t supervisor;
static int stream[2];         /* the supervisor's stdin is [1] */
static int reports[2];        /* pids come out of [0] */
static int out[2];            /* the supervisor's stdout is [1], if that is not -1 */
static bool ignores_children; /* as whoever starts the supervisor may */
static int exit_status;       /* of an agent that ends */

static void report(pid_t pid)
{
    ck_assert_int_eq(write(reports[1], &pid, sizeof pid), sizeof pid);
}

/* Of a process that lives and has said so. */
static pid_t next_report(void)
{
    pid_t pid;
    ck_assert_int_eq(read(reports[0], &pid, sizeof pid), sizeof pid);
    return pid;
}

static int live_on(void)
{
    report(getpid());
    while (pause() < 0)
        ;
    return 0;
}

/* In a session of its own, the child of nobody, with no descriptor that could tell of it. Returns
 * when it has closed them. */
static void start_hidden_process(void)
{
    int open_there[2];
    char byte;
    ck_assert_int_eq(pipe(open_there), 0);
    if (fork() > 0) {
        close(open_there[1]);
        ck_assert_int_eq(read(open_there[0], &byte, 1), 0);
        wait(NULL);
        return;
    }
    setsid();
    if (fork() > 0)
        _exit(0);
    signal(SIGTERM, SIG_IGN);
    report(getpid());
    for (int fd = 0; fd < 100; fd++)
        close(fd);
    for (;;)
        pause();
}

static int close_stdout_and_live_on(void)
{
    close(STDOUT_FILENO);
    return live_on();
}

static int leave_something_and_live_on(void)
{
    start_hidden_process();
    return live_on();
}

static int leave_something_and_end(void)
{
    start_hidden_process();
    return exit_status;
}

static int end_with_stdin(void)
{
    char byte;
    report(getpid());
    return read(STDIN_FILENO, &byte, 1) == 0 ? 4 : 5;
}

static int make_a_group_and_live_on(void)
{
    struct cgroup group;
    cgroup_make(&group);
    return live_on();
}

static volatile sig_atomic_t heard;

static void hear(int signum)
{
    heard = signum;
}

static int end_with_the_signal(void)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
    struct sigaction action = { .sa_handler = hear };
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    for (int i = 0; i < 3; i++)
        sigaction(signals[i], &action, NULL);
    report(getpid());
    sigsuspend(&before);
    return heard;
}

static void start_supervisor(int (*agent)(void), uint32_t hang_up_ms)
{
    supervisor = fork();
    if (supervisor != 0) {
        close(stream[1]);
        close(reports[1]);
        return;
    }
    signal(SIGTERM, SIG_DFL); /* Check handles it */
    if (ignores_children)
        signal(SIGCHLD, SIG_IGN);
    dup2(stream[1], STDIN_FILENO);
    if (out[1] >= 0) {
        dup2(out[1], STDOUT_FILENO);
        close(out[0]);
        close(out[1]);
    }
    close(stream[0]);
    close(stream[1]);
    int status = supervisor_fork(hang_up_ms);
    _exit(status >= 0 ? status : agent());
}

/* The exit status of a child of ours. */
static int wait_for(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static bool is_gone(pid_t pid)
{
    return kill(pid, 0) < 0 && errno == ESRCH;
}

/* Is there a group beside `group` whose name begins so? */
static bool has_group(const struct cgroup *group, const char *begin)
{
    DIR *directory = fdopendir(openat(group->parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    bool found = false;
    for (struct dirent *entry; (entry = readdir(directory));)
        found = found || strncmp(entry->d_name, begin, strlen(begin)) == 0;
    closedir(directory);
    return found;
}

static void set_up(void)
{
    process_tree_adopt();
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, stream), 0);
    ck_assert_int_eq(pipe(reports), 0);
    out[0] = out[1] = -1;
    ignores_children = false;
    exit_status = 7;
}

static void tear_down(void)
{
    close(stream[0]);
    close(reports[0]);
}

/* Also after an agent that says that it has cleaned up. */
START_TEST(the_supervisor_ends_as_its_agent_and_leaves_nothing)
{
    exit_status = _i == 0 ? 7 : 0;
    start_supervisor(leave_something_and_end, 60000);
    pid_t hidden = next_report();
    ck_assert_int_eq(wait_for(supervisor), exit_status);
    ck_assert(is_gone(hidden));
}
END_TEST

START_TEST(nothing_is_left_of_an_agent_that_was_killed)
{
    start_supervisor(leave_something_and_live_on, 60000);
    pid_t hidden = next_report(), agent = next_report();
    kill(agent, SIGKILL);
    ck_assert_int_eq(wait_for(supervisor), 128 + SIGKILL);
    ck_assert(is_gone(hidden));
    ck_assert(is_gone(agent));
}
END_TEST

/* The kernel would wait for the agent in our place, and its number would be free. */
START_TEST(a_supervisor_that_was_started_with_sigchld_ignored_hears_of_its_agent)
{
    ignores_children = true;
    start_supervisor(leave_something_and_end, 60000);
    pid_t hidden = next_report();
    ck_assert_int_eq(wait_for(supervisor), 7);
    ck_assert(is_gone(hidden));
}
END_TEST

/* Seen from a group of ours, which lies beside it. */
START_TEST(the_group_of_an_agent_that_was_killed_goes_too)
{
    struct cgroup group;
    char left[64];
    cgroup_make(&group);
    if (!group.directory)
        return; /* not allowed here */
    start_supervisor(make_a_group_and_live_on, 60000);
    pid_t agent = next_report();
    snprintf(left, sizeof left, "hvd-%d-", (int)agent);
    ck_assert(has_group(&group, left));
    kill(agent, SIGKILL);
    ck_assert_int_eq(wait_for(supervisor), 128 + SIGKILL);
    ck_assert(!has_group(&group, left));
    cgroup_remove(&group);
}
END_TEST

/* Both live on. */
START_TEST(stdout_ends_when_the_agent_closes_it)
{
    char byte;
    ck_assert_int_eq(pipe(out), 0);
    start_supervisor(close_stdout_and_live_on, 60000);
    close(out[1]);
    pid_t agent = next_report();
    ck_assert_int_eq(read(out[0], &byte, 1), 0);
    close(out[0]);
    kill(agent, SIGKILL);
    ck_assert_int_eq(wait_for(supervisor), 128 + SIGKILL);
}
END_TEST

START_TEST(an_agent_is_told_when_its_supervisor_is_killed)
{
    start_supervisor(live_on, 60000);
    pid_t agent = next_report();
    kill(supervisor, SIGKILL);
    ck_assert_int_eq(wait_for(supervisor), 1000 + SIGKILL);
    ck_assert_int_eq(wait_for(agent), 1000 + SIGTERM); /* we have adopted it */
}
END_TEST

START_TEST(signals_are_passed_on)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
    start_supervisor(end_with_the_signal, 60000);
    next_report();
    kill(supervisor, signals[_i]);
    ck_assert_int_eq(wait_for(supervisor), signals[_i]);
}
END_TEST

START_TEST(an_agent_that_heeds_the_end_of_its_link_is_let_be)
{
    start_supervisor(end_with_stdin, 60000);
    next_report();
    shutdown(stream[0], SHUT_WR);
    ck_assert_int_eq(wait_for(supervisor), 4);
}
END_TEST

/* After its time; but one that is stopped has none. */
START_TEST(an_agent_that_hangs_or_is_stopped_after_its_link_has_ended_is_killed)
{
    start_supervisor(leave_something_and_live_on, _i == 0 ? 10 : 3600000);
    pid_t hidden = next_report(), agent = next_report();
    kill(agent, _i == 0 ? SIGCONT : SIGSTOP);
    close(stream[0]);
    ck_assert_int_eq(wait_for(supervisor), 128 + SIGKILL);
    ck_assert(is_gone(hidden));
    stream[0] = -1;
}
END_TEST

START_TEST(the_supervisor_takes_nothing_from_the_link)
{
    char byte;
    start_supervisor(end_with_stdin, 60000);
    ck_assert_int_eq(write(stream[0], "x", 1), 1);
    ck_assert_int_eq(wait_for(supervisor), 5);
    ck_assert_int_eq(read(stream[0], &byte, 1), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("supervisor");
    TCase *ends = tcase_create("ends");
    tcase_add_checked_fixture(ends, set_up, tear_down);
    tcase_set_timeout(ends, 60);
    tcase_add_loop_test(ends, the_supervisor_ends_as_its_agent_and_leaves_nothing, 0, 2);
    tcase_add_test(ends, a_supervisor_that_was_started_with_sigchld_ignored_hears_of_its_agent);
    tcase_add_test(ends, nothing_is_left_of_an_agent_that_was_killed);
    tcase_add_test(ends, the_group_of_an_agent_that_was_killed_goes_too);
    tcase_add_test(ends, stdout_ends_when_the_agent_closes_it);
    tcase_add_test(ends, an_agent_is_told_when_its_supervisor_is_killed);
    tcase_add_loop_test(ends, signals_are_passed_on, 0, 3);
    tcase_add_test(ends, an_agent_that_heeds_the_end_of_its_link_is_let_be);
    tcase_add_loop_test(ends, an_agent_that_hangs_or_is_stopped_after_its_link_has_ended_is_killed,
                        0, 2);
    tcase_add_test(ends, the_supervisor_takes_nothing_from_the_link);
    suite_add_tcase(suite, ends);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
