/* SPDX-License-Identifier: Apache-2.0 */
/* What a process may still do behind the filter; each case is a child of its own. */
#include "src/service/service_syscalls.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long run_program(void)
{
    char *const words[] = { "/bin/true", NULL };
    return execve(words[0], words, words + 1);
}

static long fork_process(void)
{
    return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static long open_network(void)
{
    return socket(AF_INET, SOCK_STREAM, 0);
}

static long write_file(void)
{
    return open("/tmp/hvd-syscall-filter", O_WRONLY | O_CREAT, 0600);
}

static long make_executable(void)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? -1 : 0;
}

static long kill_process(void)
{
    return kill(getppid(), 0);
}

static long signal_thread_of(pid_t pid)
{
    return syscall(SYS_tgkill, pid, pid, 0);
}

static long signal_thread_of_parent(void)
{
    return signal_thread_of(getppid());
}

static long signal_own_thread(void)
{
    return signal_thread_of(getpid());
}

static long signal_parent_by_thread_alone(void)
{
    return syscall(SYS_tkill, getppid(), 0);
}

/* The parent is the process that gets SIGIO. */
static long send_input_signals_to_parent(void)
{
    return fcntl(STDIN_FILENO, F_SETOWN, getppid());
}

static long duplicate(void)
{
    return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
}

static long read_flags(void)
{
    return fcntl(STDERR_FILENO, F_GETFL);
}

static long open_unix(void)
{
    return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static long read_file(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static long allocate(void)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? -1 : 0;
}

static long read_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit);
}

static long raise_limit(void)
{
    const struct rlimit limit = { 64, 64 };
    return setrlimit(RLIMIT_NOFILE, &limit);
}

static long stat_link(void)
{
    char room[512]; /* more than a struct stat of the kernel has */
#ifdef SYS_lstat
    return syscall(SYS_lstat, "/dev/null", room); /* of C libraries before 2.33 */
#else
    return syscall(SYS_newfstatat, AT_FDCWD, "/dev/null", room, AT_SYMLINK_NOFOLLOW);
#endif
}

static const struct {
    long (*call)(void);
    bool allowed;
} calls[] = {
    { run_program, false },
    { fork_process, false },
    { open_network, false },
    { write_file, false },
    { make_executable, false },
    { kill_process, false },
    { signal_thread_of_parent, false },
    { signal_parent_by_thread_alone, false },
    { send_input_signals_to_parent, false },
    { signal_own_thread, true },
    { duplicate, true },
    { read_flags, true },
    { open_unix, true },
    { read_file, true },
    { allocate, true },
    { raise_limit, false },
    { read_limit, true },
    { stat_link, true },
};

/* The wait status of a child that exits with what `run` returns. */
static int run_in_child(int (*run)(int number), int number)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(run(number));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

static int call_filtered(int number)
{
    struct err err = { 0 };
    if (syscall_filter_apply(&service_syscalls, &err) < 0)
        return 99;
    bool done = calls[number].call() >= 0;
    return done ? 0 : errno == EPERM ? 1 : 2;
}

START_TEST(a_call_that_serving_does_not_need_is_refused)
{
    if (!syscall_filter_exists())
        return;
    int status = run_in_child(call_filtered, _i);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), calls[_i].allowed ? 0 : 1);
}
END_TEST

static int abort_filtered(int unused)
{
    struct err err = { 0 };
    const struct rlimit no_core = { 0, 0 };
    (void)unused;
    if (setrlimit(RLIMIT_CORE, &no_core) < 0 || syscall_filter_apply(&service_syscalls, &err) < 0)
        return 99;
    abort();
}

/* An assertion, or malloc(), that finds something wrong. */
START_TEST(a_filtered_process_that_aborts_ends_by_SIGABRT)
{
    if (!syscall_filter_exists())
        return;
    int status = run_in_child(abort_filtered, 0);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGABRT);
}
END_TEST

static int make_ring(void)
{
    char parameters[256] = { 0 };
    return syscall(SYS_io_uring_setup, 8, parameters) < 0 ? errno : 0;
}

static int make_ring_prepared(int unused)
{
    struct err err = { 0 };
    (void)unused;
    return syscall_filter_prepare(&err) < 0 || make_ring() != ENOSYS ||
           syscall_filter_apply(&service_syscalls, &err) < 0;
}

/* libuv makes a ring with its loop, where the kernel lets it; later the filter would refuse its
 * use. */
START_TEST(a_loop_gets_no_ring_of_io_uring)
{
    if (!syscall_filter_exists())
        return;
    int status = run_in_child(make_ring_prepared, 0);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

START_TEST(without_a_filter_applying_it_is_an_error)
{
    struct err err = { 0 };
    if (!syscall_filter_exists())
        ck_assert_int_eq(syscall_filter_prepare(&err), HVD_ERR_SYSTEM);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("syscall_filter");
    TCase *tcase = tcase_create("syscall_filter");
    tcase_add_loop_test(tcase, a_call_that_serving_does_not_need_is_refused, 0,
                        sizeof calls / sizeof *calls);
    tcase_add_test(tcase, a_loop_gets_no_ring_of_io_uring);
    tcase_add_test(tcase, a_filtered_process_that_aborts_ends_by_SIGABRT);
    tcase_add_test(tcase, without_a_filter_applying_it_is_an_error);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
