/* SPDX-License-Identifier: Apache-2.0 */
/* What a child is when its program begins, and what is reported when it cannot; each with memory
 * that is shared until then, where that is possible, and with a fork. That a process is started
 * whatever happens to the process group of the caller meanwhile. */
#include "launcher/process/spawn.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STARTED = 100, AT_ONCE = 32 };

/* Sends a signal to the process group of its parent, all the time; the parent and itself ignore
 * it. */
static pid_t start_signalling(int signum)
{
    setpgid(0, 0);
    signal(signum, SIG_IGN);
    pid_t pid = fork();
    while (pid == 0)
        kill(0, signum);
    ck_assert_int_gt(pid, 0);
    return pid;
}

START_TEST(a_stop_or_quit_of_the_callers_group_leaves_alone_what_is_being_started)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    char *argv[] = { (char *)(uintptr_t) "true", NULL };
    struct spawn_request request = {
        .path = "/bin/true",
        .argv = argv,
        .envp = argv + 1,
        .stdio = { null, null, null },
        .share_memory = _i % 2,
    };
    pid_t signalling = start_signalling(_i < 2 ? SIGTSTP : SIGQUIT);
    for (int i = 0; i < STARTED; i++) {
        struct spawned spawned;
        struct err err;
        int status;
        ck_assert_msg(spawn_start(&request, &spawned, &err) == HVD_OK, "%s", err.text);
        ck_assert_int_eq(spawn_confirm(&spawned), 0);
        ck_assert_int_eq(waitpid(spawned.pid, &status, 0), spawned.pid);
        ck_assert_int_eq(status, 0);
    }
    kill(signalling, SIGKILL);
    waitpid(signalling, NULL, 0);
    close(null);
}
END_TEST

static char *word(const char *text)
{
    return (char *)(uintptr_t)text;
}

/* Runs `script` in /bin/sh; returns what it has printed in `text`. */
static void print_of(const char *script, bool share, const struct spawn_request *more, char *text,
                     size_t size)
{
    int out[2], status, null = open("/dev/null", O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
    char *argv[] = { word("sh"), word("-c"), word(script), NULL };
    char *envp[] = { word("WHO=child"), word("PATH=/usr/bin:/bin"), NULL };
    struct spawn_request request = more ? *more : (struct spawn_request){ 0 };
    request.path = "/bin/sh";
    request.argv = argv;
    request.envp = envp;
    memcpy(request.stdio, (int[]){ null, out[1], null }, sizeof request.stdio);
    request.share_memory = share;
    struct spawned spawned;
    ck_assert_int_eq(spawn_start(&request, &spawned, NULL), HVD_OK);
    close(out[1]);
    close(null);
    ck_assert_int_eq(spawn_confirm(&spawned), 0);
    FILE *file = fdopen(out[0], "r");
    size_t length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    fclose(file);
    ck_assert_int_eq(waitpid(spawned.pid, &status, 0), spawned.pid);
    ck_assert_int_eq(status, 0);
}

START_TEST(a_child_has_its_environment_and_three_descriptors)
{
    char text[256];
    int kept = open("/dev/null", O_RDONLY); /* without FD_CLOEXEC */
    ck_assert_int_lt(kept, 64);
    /* no pipeline and no pattern, for which the shell opens descriptors of its own */
    print_of("echo $WHO; n=0; while [ $n -lt 64 ]; do\n"
             "if [ -e /proc/$$/fd/$n ]; then printf '%s ' $n; fi; n=$((n + 1)); done",
             _i, NULL, text, sizeof text);
    close(kept);
    ck_assert_str_eq(text, "child\n0 1 2 ");
}
END_TEST

/* Makes a kernel without close_range() (Linux before 5.9) of this one, for this process and those
 * that it starts. False where that is not allowed. */
static bool hide_close_range(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof rules / sizeof *rules, rules };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

START_TEST(a_child_has_three_descriptors_also_where_close_range_is_missing)
{
    char text[256];
    int kept = open("/dev/null", O_RDONLY); /* without FD_CLOEXEC */
    if (!hide_close_range())
        return;
    print_of("n=0; while [ $n -lt 64 ]; do\n"
             "if [ -e /proc/$$/fd/$n ]; then printf '%s ' $n; fi; n=$((n + 1)); done",
             _i, NULL, text, sizeof text);
    close(kept);
    ck_assert_str_eq(text, "0 1 2 ");
}
END_TEST

/* Signals 32 and 33. A program that posix_spawn() has started ignores them, and libc lets nobody
 * change that. */
#define OF_LIBC 0x180000000ULL

START_TEST(a_child_has_default_signals_and_none_blocked)
{
    char text[256];
    unsigned long long masked, ignored;
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    sigprocmask(SIG_BLOCK, &some, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    signal(SIGHUP, SIG_IGN); /* stays ignored */
    print_of("grep -E 'Sig(Blk|Ign)' /proc/self/status", _i, NULL, text, sizeof text);
    ck_assert_int_eq(sscanf(text, "SigBlk: %llx SigIgn: %llx", &masked, &ignored), 2);
    ck_assert_uint_eq(masked, 0);
    ck_assert_uint_eq(ignored & ~OF_LIBC, 1);
}
END_TEST

START_TEST(a_child_leaves_the_callers_signals_alone)
{
    char text[64];
    struct sigaction now;
    sigset_t blocked;
    signal(SIGUSR2, SIG_IGN);
    print_of("true", _i, NULL, text, sizeof text);
    sigaction(SIGUSR2, NULL, &now);
    ck_assert(now.sa_handler == SIG_IGN);
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    ck_assert_int_eq(sigismember(&blocked, SIGTERM), 0);
}
END_TEST

START_TEST(a_child_has_its_limit_and_umask_and_the_caller_keeps_its_own)
{
    char text[64];
    struct rlimit few = { 77, 77 }, before, after;
    struct rank_attributes attributes = { .umask = 027 };
    struct spawn_request more = { .nofile = &few, .attributes = &attributes };
    mode_t mask = umask(022);
    getrlimit(RLIMIT_NOFILE, &before);
    print_of("ulimit -n; umask", _i, &more, text, sizeof text);
    ck_assert_str_eq(text, "77\n0027\n");
    getrlimit(RLIMIT_NOFILE, &after);
    ck_assert(after.rlim_cur == before.rlim_cur);
    ck_assert_int_eq(umask(mask), 022);
}
END_TEST

START_TEST(a_program_that_cannot_be_executed_is_an_errno)
{
    int status, null = open("/dev/null", O_RDWR | O_CLOEXEC);
    char *argv[] = { word("none"), NULL };
    struct spawn_request request = { .path = "/nowhere/none",
                                     .argv = argv,
                                     .envp = argv + 1,
                                     .stdio = { null, null, null },
                                     .share_memory = _i };
    struct spawned spawned;
    errno = 0;
    ck_assert_int_eq(spawn_start(&request, &spawned, NULL), HVD_OK);
    ck_assert_int_eq(spawn_confirm(&spawned), ENOENT);
    ck_assert_int_eq(waitpid(spawned.pid, &status, 0), spawned.pid);
    ck_assert_int_eq(WEXITSTATUS(status), 127);
    request.path = "/bin/true";
    request.stdio[1] = 4000; /* not open */
    ck_assert_int_eq(spawn_start(&request, &spawned, NULL), HVD_OK);
    ck_assert_int_eq(spawn_confirm(&spawned), EBADF);
    ck_assert_int_eq(waitpid(spawned.pid, &status, 0), spawned.pid);
    close(null);
}
END_TEST

START_TEST(many_are_started_at_once)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    char text[AT_ONCE][16], *argv[AT_ONCE][4];
    struct spawned spawned[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++) {
        snprintf(text[i], sizeof text[i], "exit %d", i);
        memcpy(argv[i], (char *[]){ word("sh"), word("-c"), text[i], NULL }, sizeof argv[i]);
        struct spawn_request request = { .path = "/bin/sh",
                                         .argv = argv[i],
                                         .envp = argv[i] + 3,
                                         .stdio = { null, null, null },
                                         .death_signal = SIGKILL,
                                         .share_memory = _i };
        ck_assert_int_eq(spawn_start(&request, &spawned[i], NULL), HVD_OK);
    }
    for (int i = 0; i < AT_ONCE; i++)
        if (i % 2)
            ck_assert_int_eq(spawn_confirm(&spawned[i]), 0);
        else
            spawn_abandon(&spawned[i]);
    for (int i = 0; i < AT_ONCE; i++) {
        int status;
        ck_assert_int_eq(waitpid(spawned[i].pid, &status, 0), spawned[i].pid);
        ck_assert_int_eq(WEXITSTATUS(status), i);
    }
    close(null);
}
END_TEST

/* A file that /bin/sh must read, since the kernel does not. */
START_TEST(a_script_without_an_interpreter_runs_in_a_shell)
{
    char name[] = "/tmp/hvd-spawn-XXXXXX";
    int status, null = open("/dev/null", O_RDWR | O_CLOEXEC), fd = mkstemp(name);
    static const char script[] = "exit $1\n";
    ck_assert_int_eq(write(fd, script, strlen(script)), (ssize_t)strlen(script));
    fchmod(fd, 0700);
    close(fd);
    char *argv[] = { name, word("7"), NULL };
    struct spawn_request request = { .path = name,
                                     .argv = argv,
                                     .envp = argv + 2,
                                     .stdio = { null, null, null },
                                     .share_memory = _i };
    struct spawned spawned;
    ck_assert_int_eq(spawn_start(&request, &spawned, NULL), HVD_OK);
    ck_assert_int_eq(spawn_confirm(&spawned), 0);
    ck_assert_int_eq(waitpid(spawned.pid, &status, 0), spawned.pid);
    ck_assert_int_eq(WEXITSTATUS(status), 7);
    unlink(name);
    close(null);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spawn");
    TCase *tcase = tcase_create("spawn");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(
        tcase, a_stop_or_quit_of_the_callers_group_leaves_alone_what_is_being_started, 0, 4);
    tcase_add_loop_test(tcase, a_child_has_its_environment_and_three_descriptors, 0, 2);
    tcase_add_loop_test(tcase, a_child_has_three_descriptors_also_where_close_range_is_missing, 0,
                        2);
    tcase_add_loop_test(tcase, a_child_has_default_signals_and_none_blocked, 0, 2);
    tcase_add_loop_test(tcase, a_child_leaves_the_callers_signals_alone, 0, 2);
    tcase_add_loop_test(tcase, a_child_has_its_limit_and_umask_and_the_caller_keeps_its_own, 0, 2);
    tcase_add_loop_test(tcase, a_program_that_cannot_be_executed_is_an_errno, 0, 2);
    tcase_add_loop_test(tcase, many_are_started_at_once, 0, 2);
    tcase_add_loop_test(tcase, a_script_without_an_interpreter_runs_in_a_shell, 0, 2);
    return unit_run(suite);
}
