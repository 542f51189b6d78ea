/* SPDX-License-Identifier: Apache-2.0 */
/* What a confined process may not do, and what it does where the kernel refuses the filter. */
#include "launcher/base/syscall_filter.h"
#include "launcher/ssh/ssh_confine.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bits of the calls that a confined process could make all the same. */
static int try_calls(int fd)
{
    static char name[] = "true";
    char *argv[] = { name, NULL };
    int done = 0;
    done |= open("/dev/null", O_RDONLY) >= 0 ? 1 : 0;
    done |= socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 2 : 0;
    done |= kill(getppid(), 0) == 0 ? 4 : 0;
    done |= fcntl(fd, F_SETOWN, getppid()) == 0 ? 8 : 0;
    done |=
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED
            ? 16
            : 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    done |= pid > 0 ? 32 : 0;
    done |= syscall(SYS_tgkill, getppid(), getppid(), 0) == 0 ? 64 : 0;
    done |= syscall(SYS_tkill, getppid(), 0) == 0 ? 128 : 0;
    execv("/bin/true", argv); /* then the status is 0 as well, but the pipe stays empty */
    return done;
}

START_TEST(a_confined_process_opens_nothing_and_reaches_no_other_process)
{
    int answer[2], done = -1;
    if (!syscall_filter_exists())
        return;
    ck_assert_int_eq(pipe(answer), 0);
    pid_t pid = fork();
    if (pid == 0) {
        done = ssh_confine() ? try_calls(answer[0]) : -2;
        _exit(write(answer[1], &done, sizeof done) != sizeof done);
    }
    ck_assert_int_eq(read(answer[0], &done, sizeof done), sizeof done);
    waitpid(pid, NULL, 0);
    ck_assert_int_eq(done, 0);
    close(answer[0]);
    close(answer[1]);
}
END_TEST

/* An assertion, or malloc(), that finds something wrong. */
START_TEST(a_confined_process_that_aborts_ends_by_SIGABRT)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        ssh_confine();
        abort();
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGABRT);
}
END_TEST

START_TEST(without_a_filter_a_process_goes_on_and_says_so)
{
    static const char *const calls[] = { "brk",   "exit_group", "mmap",      "munmap",
                                         "write", "prlimit64",  "getrlimit", "setrlimit" };
    static const struct syscall_list no_filters = { .allowed = calls,
                                                    .count = sizeof calls / sizeof *calls };
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit((syscall_filter_exists() && syscall_filter_apply(&no_filters, NULL) < 0) ||
              (syscall_filter_exists() && ssh_confine()));
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* ---- the socket of the host ---- */

static int listen_on_loopback(struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t length = sizeof *address;
    *address =
        (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    ck_assert_int_eq(bind(fd, (struct sockaddr *)address, sizeof *address), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)address, &length), 0);
    return fd;
}

static void wait_for(int fd, short events)
{
    struct pollfd ready = { .fd = fd, .events = events };
    ck_assert_int_eq(poll(&ready, 1, -1), 1);
}

/* A socket as ssh_dial.c makes it, which its host has reset. */
static int make_reset_socket(void)
{
    static const struct linger reset = { 1, 0 };
    struct sockaddr_in address;
    int listener = listen_on_loopback(&address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert(connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ||
              errno == EINPROGRESS);
    wait_for(fd, POLLOUT);
    wait_for(listener, POLLIN);
    int host = accept(listener, NULL, NULL);
    ck_assert_int_eq(setsockopt(host, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    close(host);
    close(listener);
    wait_for(fd, 0); /* POLLERR and POLLHUP */
    return fd;
}

static bool is_forbidden(long rc)
{
    return rc < 0 && errno == EPERM;
}

/* Bits of what a confined process could do. The first of these calls of sendto() would disconnect
 * the socket, and the second one connect it. */
static int try_to_connect(int fd, struct sockaddr_in *address)
{
    struct sockaddr *to = (struct sockaddr *)address;
    struct iovec byte = { (char[]){ 'x' }, 1 };
    const struct msghdr message = {
        .msg_name = to, .msg_namelen = sizeof *address, .msg_iov = &byte, .msg_iovlen = 1
    };
    int flags = MSG_FASTOPEN | MSG_NOSIGNAL, done = 0;
    done |= is_forbidden(sendto(fd, "x", 1, flags, to, sizeof *address)) ? 0 : 1;
    done |= is_forbidden(sendto(fd, "x", 1, flags, to, sizeof *address)) ? 0 : 2;
    done |= is_forbidden(sendmsg(fd, &message, flags)) ? 0 : 4;
    done |= is_forbidden(connect(fd, to, sizeof *address)) ? 0 : 8;
    done |= is_forbidden(setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof "tls")) ? 0 : 16;
    return done;
}

START_TEST(a_confined_process_connects_no_socket_anew)
{
    int status, one = 1;
    struct sockaddr_in address;
    if (!syscall_filter_exists())
        return;
    int fd = make_reset_socket(), other = listen_on_loopback(&address);
    pid_t pid = fork();
    if (pid == 0)
        _exit(ssh_confine() ? try_to_connect(fd, &address) : 99);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(accept(other, NULL, NULL), -1);
    ck_assert_int_eq(setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof one), 0);
    close(fd);
    close(other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ssh_confine");
    TCase *calls = tcase_create("calls");
    tcase_add_test(calls, a_confined_process_opens_nothing_and_reaches_no_other_process);
    tcase_add_test(calls, a_confined_process_that_aborts_ends_by_SIGABRT);
    tcase_add_test(calls, without_a_filter_a_process_goes_on_and_says_so);
    tcase_add_test(calls, a_confined_process_connects_no_socket_anew);
    suite_add_tcase(suite, calls);
    return unit_run(suite);
}
