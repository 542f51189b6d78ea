/* SPDX-License-Identifier: Apache-2.0 */
/* Descendants that end while they are looked at, and whose number is given to others; processes
 * that are ending. clone3() with set_tid gives a number again; root may do that, and whoever else
 * is skipped says so. */
#include "launcher/process/process_tree.h"

#include "launcher/process/process_handle.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void live_on(void)
{
    for (;;)
        pause();
}

static pid_t start_child(void)
{
    pid_t pid = fork();
    if (pid == 0)
        live_on();
    ck_assert_int_gt(pid, 0);
    return pid;
}

/* A child that has this number; -1 if we may not choose one. */
static pid_t start_child_as(pid_t number)
{
    struct clone_args arguments = { .exit_signal = SIGCHLD,
                                    .set_tid = (uintptr_t)&number,
                                    .set_tid_size = 1 };
    pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid == 0)
        live_on();
    return pid;
}

static void end_child(pid_t pid)
{
    int status;
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}

static uint64_t started(pid_t pid)
{
    char path[32];
    struct process process;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    ck_assert(process_read(&process, AT_FDCWD, path));
    ck_assert_int_eq(process.pid, pid);
    ck_assert_int_eq(process.parent, getpid());
    return process.started;
}

/* Ends `pid` and has another child with its number, one that the clock tells from it. False if we
 * may not. */
static bool give_number_again(pid_t pid)
{
    for (uint64_t before = started(pid); started(pid) == before;) {
        end_child(pid);
        if (start_child_as(pid) != pid)
            return false;
    }
    return true;
}

static void await_stop(pid_t pid)
{
    siginfo_t info;
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WSTOPPED), 0);
}

static bool was_continued(pid_t pid)
{
    siginfo_t info = { 0 };
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WCONTINUED | WNOHANG), 0);
    return info.si_pid == pid;
}

START_TEST(what_was_stopped_goes_on)
{
    struct stopped_process *stopped = NULL;
    pid_t child = start_child();
    int count = process_tree_stop(&stopped, 0, NULL, 0);
    ck_assert_int_eq(count, 1);
    await_stop(child);
    process_tree_continue(stopped, count);
    ck_assert(was_continued(child));
    free(stopped);
    end_child(child);
}
END_TEST

START_TEST(what_was_stopped_in_several_calls_goes_on)
{
    struct stopped_process *stopped = NULL;
    pid_t children[2];
    int count = 0;
    for (int i = 0; i < 2; i++) {
        children[i] = start_child();
        count = process_tree_stop(&stopped, count, NULL, 0);
        ck_assert_int_eq(count, i + 1);
        await_stop(children[i]);
    }
    process_tree_continue(stopped, count);
    for (int i = 0; i < 2; i++) {
        ck_assert(was_continued(children[i]));
        end_child(children[i]);
    }
    free(stopped);
}
END_TEST

START_TEST(a_process_with_the_number_of_one_that_was_stopped_is_left_alone)
{
    struct stopped_process *stopped = NULL;
    pid_t child = start_child();
    int count = process_tree_stop(&stopped, 0, NULL, 0);
    if (!give_number_again(child)) {
        fprintf(stderr, "skipped: a process cannot be given a number here: %s\n", strerror(errno));
        free(stopped);
        return;
    }
    kill(child, SIGSTOP);
    await_stop(child);
    process_tree_continue(stopped, count);
    ck_assert(!was_continued(child));
    free(stopped);
    end_child(child);
}
END_TEST

/* A handle that was opened before the number went to another process. */
START_TEST(a_handle_never_signals_who_has_the_number_now)
{
    struct process_handle handle;
    pid_t child = start_child();
    ck_assert(process_handle_open(&handle, child));
    if (give_number_again(child)) {
        ck_assert(!process_handle_signal(&handle, SIGKILL));
        end_child(child);
    }
    process_handle_close(&handle);
}
END_TEST

START_TEST(nobody_has_no_handle)
{
    struct process_handle handle;
    pid_t child = start_child();
    end_child(child);
    ck_assert(!process_handle_open(&handle, child));
}
END_TEST

/* As an old container runtime does, or as a kernel without them. */
static void forbid_pidfds(int answer)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
    ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

START_TEST(without_pidfds_descendants_are_signalled_by_number)
{
    int status;
    forbid_pidfds(_i == 0 ? ENOSYS : EPERM);
    pid_t child = start_child();
    ck_assert_int_eq(process_tree_signal(SIGUSR1, NULL, 0), 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WTERMSIG(status), SIGUSR1);
}
END_TEST

START_TEST(who_has_left_the_session_and_lost_its_parent_is_a_descendant)
{
    pid_t hidden;
    int told[2], status;
    process_tree_adopt();
    ck_assert_int_eq(pipe(told), 0);
    pid_t between = fork();
    if (between == 0) {
        setsid();
        hidden = fork();
        if (hidden == 0)
            live_on();
        _exit(write(told[1], &hidden, sizeof hidden) != sizeof hidden);
    }
    ck_assert_int_eq(read(told[0], &hidden, sizeof hidden), sizeof hidden);
    ck_assert_int_eq(waitpid(between, &status, 0), between);
    ck_assert_int_eq(process_tree_signal(SIGUSR1, NULL, 0), 1);
    ck_assert_int_eq(waitpid(hidden, &status, 0), hidden);
    ck_assert_int_eq(WTERMSIG(status), SIGUSR1);
}
END_TEST

/* A child that leads a process group of its own. */
static pid_t start_leader(void)
{
    pid_t pid = start_child();
    ck_assert_int_eq(setpgid(pid, pid), 0);
    return pid;
}

START_TEST(members_of_a_group_that_is_left_out_get_no_signal_and_are_counted)
{
    int status;
    pid_t member = start_leader(), other = start_leader();
    ck_assert_int_eq(process_tree_signal_outside(SIGUSR1, &member, 1, NULL, 0), 2);
    ck_assert_int_eq(waitpid(other, &status, 0), other);
    ck_assert_int_eq(WTERMSIG(status), SIGUSR1);
    ck_assert_int_eq(process_tree_signal_outside(SIGUSR2, &other, 1, NULL, 0), 1);
    ck_assert_int_eq(waitpid(member, &status, 0), member);
    ck_assert_int_eq(WTERMSIG(status), SIGUSR2);
}
END_TEST

/* ---- a process that is ending ---- */

START_TEST(a_process_that_was_killed_is_ending_until_it_is_reaped)
{
    int status;
    pid_t pid = start_child();
    ck_assert(!process_is_ending(pid));
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert(process_is_ending(pid));
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(!process_is_ending(pid));
}
END_TEST

static void *live_on_beside(void *nothing)
{
    live_on();
    return nothing;
}

/* Both threads end when the process is killed. */
START_TEST(a_process_whose_first_thread_alone_has_ended_is_not_ending)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t other;
        if (pthread_create(&other, NULL, live_on_beside, NULL) == 0)
            syscall(SYS_exit, 0);
        _exit(1);
    }
    while (process_state(pid) != 'Z')
        usleep(1000);
    ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
    ck_assert(!process_is_ending(pid));
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert(process_is_ending(pid));
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("process_tree");
    TCase *numbers = tcase_create("numbers");
    tcase_set_timeout(numbers, 60);
    tcase_add_test(numbers, what_was_stopped_goes_on);
    tcase_add_test(numbers, what_was_stopped_in_several_calls_goes_on);
    tcase_add_test(numbers, a_process_with_the_number_of_one_that_was_stopped_is_left_alone);
    tcase_add_test(numbers, a_handle_never_signals_who_has_the_number_now);
    tcase_add_test(numbers, nobody_has_no_handle);
    tcase_add_loop_test(numbers, without_pidfds_descendants_are_signalled_by_number, 0, 2);
    tcase_add_test(numbers, members_of_a_group_that_is_left_out_get_no_signal_and_are_counted);
    tcase_add_test(numbers, who_has_left_the_session_and_lost_its_parent_is_a_descendant);
    suite_add_tcase(suite, numbers);
    TCase *ending = tcase_create("ending");
    tcase_add_test(ending, a_process_that_was_killed_is_ending_until_it_is_reaped);
    tcase_add_test(ending, a_process_whose_first_thread_alone_has_ended_is_not_ending);
    suite_add_tcase(suite, ending);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
