/* SPDX-License-Identifier: Apache-2.0 */
/* hvdrun's stdin: of a pipe all of it and its end; of a terminal nothing while hvdrun is in the
 * background, also if it went there in the midst of a read, and all of it when it is back.
 * Without a thread there is no reader. Linked with -Wl,--wrap=pthread_create. */
#include "launcher/output/stdin_reader.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void *body_fn(void *arg);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, body_fn *body, void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, body_fn *body, void *arg);

static bool has_no_threads;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, body_fn *body, void *arg)
{
    return has_no_threads ? EAGAIN : __real_pthread_create(thread, attr, body, arg);
}

static uv_loop_t loop;
static char text[64];
static bool ended;

static void on_read(void *context, const char *data, size_t length)
{
    (void)context;
    ended = ended || length == 0;
    strncat(text, data, length < sizeof text - strlen(text) ? length : 0);
}

static struct stdin_reader *begin(int fd)
{
    text[0] = '\0';
    ended = false;
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    struct stdin_reader *reader = stdin_reader_create(&loop, fd, on_read, NULL, NULL);
    stdin_reader_want(reader, sizeof text - 1);
    return reader;
}

static void end(struct stdin_reader *reader)
{
    stdin_reader_destroy(reader);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}

START_TEST(a_pipe_is_read_to_its_end)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    struct stdin_reader *reader = begin(ends[0]);
    ck_assert_int_eq(write(ends[1], "one\n", 4), 4);
    while (!*text)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert(!ended);
    close(ends[1]);
    while (!ended)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_str_eq(text, "one\n");
    end(reader);
    close(ends[0]);
}
END_TEST

/* Becomes the foreground of the terminal, of which the caller, its leader, is the session. */
static pid_t start_foreground(int terminal)
{
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    ck_assert_int_eq(setpgid(pid, pid), 0);
    ck_assert_int_eq(tcsetpgrp(terminal, pid), 0);
    return pid;
}

/* In a session of its own: 0 if what is typed after the stop is read, and no end before it. */
static int read_across_a_stop(int keyboard)
{
    setsid();
    signal(SIGTTOU, SIG_IGN); /* to change the foreground from the background */
    int terminal = open(ptsname(keyboard), O_RDWR);
    ck_assert_int_ge(terminal, 0);
    ck_assert_int_eq(tcsetpgrp(terminal, getpgrp()), 0);
    struct stdin_reader *reader = begin(terminal);
    ck_assert_int_eq(write(keyboard, "one\n", 4), 4);
    while (!*text)
        uv_run(&loop, UV_RUN_ONCE);
    pid_t other = start_foreground(terminal); /* the thread may be in a read already */
    kill(getpid(), SIGSTOP);
    uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_int_eq(tcsetpgrp(terminal, getpgrp()), 0);
    stdin_reader_wake(reader);
    ck_assert_int_eq(write(keyboard, "two\n", 4), 4);
    while (!ended && !strstr(text, "two\n"))
        uv_run(&loop, UV_RUN_ONCE);
    bool whole = strcmp(text, "one\ntwo\n") == 0 && !ended;
    end(reader);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    return whole ? 0 : 1;
}

START_TEST(a_terminal_does_not_end_because_of_a_stop)
{
    int status, keyboard = posix_openpt(O_RDWR | O_NOCTTY);
    if (keyboard < 0 || grantpt(keyboard) < 0 || unlockpt(keyboard) < 0)
        return; /* no terminals here */
    pid_t pid = fork();
    if (pid == 0)
        _exit(read_across_a_stop(keyboard));
    ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
    ck_assert(WIFSTOPPED(status));
    kill(pid, SIGCONT);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    close(keyboard);
}
END_TEST

/* Reads a descriptor that has no byte to its end and returns stdin_reader_errnum(). */
static int errnum_of(int fd)
{
    ck_assert_int_ge(fd, 0);
    struct stdin_reader *reader = begin(fd);
    while (!ended)
        uv_run(&loop, UV_RUN_ONCE);
    int errnum = stdin_reader_errnum(reader);
    end(reader);
    close(fd);
    ck_assert_str_eq(text, "");
    return errnum;
}

START_TEST(an_end_by_a_read_error_has_its_errno)
{
    ck_assert_int_eq(errnum_of(open("/", O_RDONLY)), EISDIR);
    ck_assert_int_eq(errnum_of(open("/dev/null", O_RDONLY)), 0);
}
END_TEST

START_TEST(a_descriptor_that_is_not_for_reading_is_empty)
{
    ck_assert_int_eq(errnum_of(open("/dev/null", O_WRONLY)), 0);
}
END_TEST

START_TEST(a_terminal_that_is_gone_has_ended)
{
    int keyboard = posix_openpt(O_RDWR | O_NOCTTY);
    if (keyboard < 0 || grantpt(keyboard) < 0 || unlockpt(keyboard) < 0)
        return; /* no terminals here */
    int terminal = open(ptsname(keyboard), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(terminal, 0);
    struct stdin_reader *reader = begin(terminal);
    close(keyboard);
    while (!ended)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_int_eq(stdin_reader_errnum(reader), 0);
    end(reader);
    close(terminal);
}
END_TEST

START_TEST(without_a_thread_there_is_no_reader_and_the_loop_is_as_before)
{
    struct err err;
    sigset_t before, after;
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    sigprocmask(SIG_SETMASK, NULL, &before);
    has_no_threads = true;
    ck_assert_ptr_null(stdin_reader_create(&loop, 0, on_read, NULL, &err));
    has_no_threads = false;
    ck_assert_str_eq(err.text, "no thread: resource temporarily unavailable");
    sigprocmask(SIG_SETMASK, NULL, &after);
    ck_assert_int_eq(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stdin_reader");
    TCase *tcase = tcase_create("stdin");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_pipe_is_read_to_its_end);
    tcase_add_loop_test(tcase, a_terminal_does_not_end_because_of_a_stop, 0, 10);
    tcase_add_test(tcase, an_end_by_a_read_error_has_its_errno);
    tcase_add_test(tcase, a_descriptor_that_is_not_for_reading_is_empty);
    tcase_add_test(tcase, a_terminal_that_is_gone_has_ended);
    tcase_add_test(tcase, without_a_thread_there_is_no_reader_and_the_loop_is_as_before);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
