/* SPDX-License-Identifier: Apache-2.0 */
/* Hostfiles as the file system gives them: regular files, pipes, and what is refused. */
#include "launcher/hosts/host_list.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char path[128];
static struct host_list list;
static struct err err;

static void make_folder(void)
{
    strcpy(folder, "/tmp/hostfile_read_test.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/hosts", folder);
}

static void remove_folder(void)
{
    host_list_fini(&list);
    unlink(path);
    rmdir(folder);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

/* Expects "PATH: reason". */
static void expect_refused(const char *what, const char *reason)
{
    char expected[256];
    ck_assert_int_eq(host_list_read_hostfile(&list, what, &err), HVD_ERR_INVALID);
    snprintf(expected, sizeof expected, "%s: %s", what, reason);
    ck_assert_str_eq(err.text, expected);
}

static void expect_hosts(int count)
{
    int rc = host_list_read_hostfile(&list, path, &err);
    ck_assert_msg(rc == HVD_OK, "%s", err.text);
    ck_assert_int_eq(list.count, count);
}

START_TEST(a_regular_file_is_read)
{
    write_file("a slots=2\nb slots=2\n");
    expect_hosts(2);
}
END_TEST

START_TEST(what_is_no_readable_file_is_refused_with_the_reason)
{
    expect_refused(path, "cannot open: No such file or directory");
    expect_refused("", "cannot open: No such file or directory");
    expect_refused(folder, "is a directory, not a hostfile");
    expect_refused("/dev/zero", "is a device or socket, not a hostfile");
    expect_refused("/dev/null", "is a device or socket, not a hostfile");
    write_file("");
    expect_refused(path, "no host in the file");
    chmod(path, 0);
    if (geteuid() != 0)
        expect_refused(path, "cannot open: Permission denied");
}
END_TEST

START_TEST(a_file_beyond_the_limit_is_refused_unread)
{
    write_file("");
    ck_assert_int_eq(truncate(path, HOSTFILE_SIZE_MAX + 1), 0);
    expect_refused(path, "is larger than 16 MiB");
}
END_TEST

/* Opens the FIFO `path` and writes the text in two parts. */
static void *write_slowly(void *text)
{
    const char *all = text;
    size_t half = strlen(all) / 2;
    int fd = open(path, O_WRONLY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq((int)write(fd, all, half), (int)half);
    usleep(20000); /* so that the reader finds the pipe empty but open, most of the time */
    ck_assert_int_eq((int)write(fd, all + half, strlen(all) - half), (int)(strlen(all) - half));
    close(fd);
    return NULL;
}

START_TEST(a_fifo_is_read_until_its_writer_ends)
{
    pthread_t writer;
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    pthread_create(&writer, NULL, write_slowly, "a slots=2\nb:1\n");
    expect_hosts(2);
    pthread_join(writer, NULL);
}
END_TEST

START_TEST(a_pipe_whose_writer_has_ended_already_is_read)
{
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    ck_assert_int_eq((int)write(fds[1], "a\nb\n", 4), 4);
    close(fds[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", fds[0]);
    expect_hosts(2);
    close(fds[0]);
}
END_TEST

static void *open_and_close(void *unused)
{
    close(open(path, O_WRONLY));
    return unused;
}

START_TEST(a_fifo_whose_writer_writes_nothing_holds_no_host)
{
    pthread_t writer;
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    pthread_create(&writer, NULL, open_and_close, NULL);
    expect_refused(path, "no host in the file");
    pthread_join(writer, NULL);
}
END_TEST

START_TEST(a_fifo_that_nobody_writes_ends_with_a_deadline)
{
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    expect_refused(path, "still unfinished after 5 s");
}
END_TEST

static void *write_forever(void *unused)
{
    static char line[1 << 16];
    memset(line, '\n', sizeof line);
    int fd = open(path, O_WRONLY);
    while (write(fd, line, sizeof line) > 0)
        ;
    close(fd);
    return unused;
}

START_TEST(a_fifo_without_end_is_refused)
{
    pthread_t writer;
    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    pthread_create(&writer, NULL, write_forever, NULL);
    expect_refused(path, "is larger than 16 MiB");
    pthread_join(writer, NULL);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("hostfile_read");
    TCase *files = tcase_create("files");
    descriptors_watch(files);
    tcase_add_checked_fixture(files, make_folder, remove_folder);
    tcase_set_timeout(files, 30);
    tcase_add_test(files, a_regular_file_is_read);
    tcase_add_test(files, what_is_no_readable_file_is_refused_with_the_reason);
    tcase_add_test(files, a_file_beyond_the_limit_is_refused_unread);
    tcase_add_test(files, a_fifo_is_read_until_its_writer_ends);
    tcase_add_test(files, a_pipe_whose_writer_has_ended_already_is_read);
    tcase_add_test(files, a_fifo_whose_writer_writes_nothing_holds_no_host);
    tcase_add_test(files, a_fifo_that_nobody_writes_ends_with_a_deadline);
    tcase_add_test(files, a_fifo_without_end_is_refused);
    suite_add_tcase(suite, files);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
