/* SPDX-License-Identifier: Apache-2.0 */
/* A report is there whole or not at all. */
#include "src/hvdrun/report_file.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/report_file.XXXXXX";
static struct report_file file;
static struct err err;
static const bool none_closed[3];

static int sync_error;

/* Instead of that of the C library. */
int fsync(int fd)
{
    (void)fd;
    errno = sync_error;
    return sync_error == 0 ? 0 : -1;
}

static void setup(void)
{
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

static void teardown(void)
{
    report_file_close(&file);
    ck_assert_int_eq(chdir("/"), 0);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static int entries(void)
{
    DIR *dir = opendir(".");
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return count;
}

static void check_content(const char *path, const char *expected)
{
    char text[64] = "";
    FILE *opened = fopen(path, "r");
    ck_assert_ptr_nonnull(opened);
    ck_assert_uint_eq(fread(text, 1, sizeof text - 1, opened), strlen(expected));
    fclose(opened);
    ck_assert_str_eq(text, expected);
}

static void put(const char *path, const char *text)
{
    FILE *opened = fopen(path, "w");
    fputs(text, opened);
    fclose(opened);
}

START_TEST(it_is_there_once_it_is_written)
{
    ck_assert_int_eq(report_file_open(&file, "report", none_closed, &err), HVD_OK);
    ck_assert_int_eq(access("report", F_OK), -1);
    ck_assert_int_eq(report_file_write(&file, "text", 4, &err), HVD_OK);
    check_content("report", "text");
    ck_assert_int_eq(entries(), 1);
}
END_TEST

START_TEST(an_older_one_stays_until_then)
{
    put("report", "old");
    ck_assert_int_eq(report_file_open(&file, "report", none_closed, &err), HVD_OK);
    check_content("report", "old");
    report_file_close(&file);
    check_content("report", "old");
    ck_assert_int_eq(entries(), 1);
    ck_assert_int_eq(report_file_open(&file, "./report", none_closed, &err), HVD_OK);
    ck_assert_int_eq(report_file_write(&file, "new", 3, &err), HVD_OK);
    check_content("report", "new");
    ck_assert_int_eq(entries(), 1);
}
END_TEST

START_TEST(a_link_stays_one)
{
    struct stat status;
    put("real", "old");
    ck_assert_int_eq(symlink("real", "link"), 0);
    ck_assert_int_eq(report_file_open(&file, "link", none_closed, &err), HVD_OK);
    ck_assert_int_eq(report_file_write(&file, "new", 3, &err), HVD_OK);
    check_content("real", "new");
    ck_assert_int_eq(lstat("link", &status), 0);
    ck_assert(S_ISLNK(status.st_mode));
}
END_TEST

START_TEST(a_link_to_nothing_stays_one)
{
    ck_assert_int_eq(mkdir("folder", 0700), 0);
    ck_assert_int_eq(symlink("real", "folder/second"), 0);
    ck_assert_int_eq(symlink("folder/second", "link"), 0);
    ck_assert_int_eq(report_file_open(&file, "link", none_closed, &err), HVD_OK);
    ck_assert_int_eq(access("folder/real", F_OK), -1);
    ck_assert_int_eq(report_file_write(&file, "text", 4, &err), HVD_OK);
    check_content("folder/real", "text");
    check_content("link", "text");
}
END_TEST

START_TEST(what_nobody_may_read_nobody_may_read_later)
{
    struct stat status;
    umask(022);
    put("report", "old");
    ck_assert_int_eq(chmod("report", 0600), 0);
    if (geteuid() == 0)
        ck_assert_int_eq(chown("report", 65534, 65534), 0);
    ck_assert_int_eq(report_file_open(&file, "report", none_closed, &err), HVD_OK);
    ck_assert_int_eq(report_file_write(&file, "new", 3, &err), HVD_OK);
    ck_assert_int_eq(stat("report", &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0600);
    ck_assert_uint_eq(status.st_uid, geteuid() == 0 ? 65534 : geteuid());
}
END_TEST

/* All of them lead to one file. */
static const char *const own_names[] = { "out", "link", "/dev/stdout", "/dev/fd/1" };

START_TEST(what_stdout_goes_to_is_written_on)
{
    ck_assert_int_eq(symlink("out", "link"), 0);
    int before = dup(STDOUT_FILENO);
    int out = open("out", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    dup2(out, STDOUT_FILENO);
    ck_assert_int_eq(write(STDOUT_FILENO, "old ", 4), 4);
    int opened = report_file_open(&file, own_names[_i], none_closed, &err);
    int written = opened == HVD_OK ? report_file_write(&file, "new", 3, &err) : opened;
    dup2(before, STDOUT_FILENO);
    close(before);
    close(out);
    ck_assert_int_eq(written, HVD_OK);
    check_content("out", "old new");
}
END_TEST

START_TEST(a_name_beside_which_none_fits_is_refused)
{
    char name[NAME_MAX + 1] = "";
    memset(name, 'x', NAME_MAX);
    ck_assert_int_eq(report_file_open(&file, name, none_closed, &err), HVD_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, "File name too long"));
    name[NAME_MAX - 9] = '\0';
    ck_assert_int_eq(report_file_open(&file, name, none_closed, &err), HVD_OK);
    ck_assert_int_eq(report_file_write(&file, "text", 4, &err), HVD_OK);
}
END_TEST

/* Only root can make that of somebody else. */
START_TEST(a_file_of_another_user_in_a_folder_of_all_is_refused)
{
    put("report", "old");
    if (geteuid() != 0)
        return;
    ck_assert_int_eq(chmod(".", 01777), 0);
    ck_assert_int_eq(seteuid(65534), 0);
    int opened = report_file_open(&file, "report", none_closed, &err);
    int other = report_file_open(&file, "other", none_closed, &err);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(opened, HVD_ERR_SYSTEM);
    ck_assert_int_eq(other, HVD_OK);
}
END_TEST

START_TEST(its_mode_is_that_of_the_umask)
{
    struct stat status;
    umask(027);
    ck_assert_int_eq(report_file_open(&file, "report", none_closed, &err), HVD_OK);
    ck_assert_int_eq(report_file_write(&file, "text", 4, &err), HVD_OK);
    ck_assert_int_eq(stat("report", &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0640);
}
END_TEST

static const struct {
    const char *path, *reason;
} refused[] = {
    { "none/report", "'none/report': No such file or directory" },
    { ".", "'.': Is a directory" },
    { "plain/report", "'plain/report': Not a directory" },
    { "pipe", "'pipe': a pipe that no process reads" },
};

START_TEST(what_cannot_be_made_is_known_at_once)
{
    put("plain", "");
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    ck_assert_int_eq(report_file_open(&file, refused[_i].path, none_closed, &err), HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, refused[_i].reason);
    ck_assert_int_eq(entries(), 2);
}
END_TEST

static const struct {
    const char *path;
    bool refused; /* while stdout is closed and its descriptor leads to /dev/null */
} closed_rows[] = {
    { "/dev/stdout", true },  { "/proc/self/fd/1", true }, { "link", true },
    { "/dev/stderr", false }, { "/dev/null", false },
};

START_TEST(a_standard_stream_that_is_closed_cannot_be_written)
{
    static const bool closed[3] = { false, true, false };
    ck_assert_int_eq(symlink("/dev/stdout", "link"), 0);
    int before = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(null, STDOUT_FILENO);
    int opened = report_file_open(&file, closed_rows[_i].path, closed, &err);
    dup2(before, STDOUT_FILENO);
    close(before);
    close(null);
    ck_assert_int_eq(opened, closed_rows[_i].refused ? HVD_ERR_SYSTEM : HVD_OK);
    if (closed_rows[_i].refused)
        ck_assert_ptr_nonnull(strstr(err.text, "': Bad file descriptor"));
}
END_TEST

START_TEST(a_full_device_is_an_error)
{
    ck_assert_int_eq(report_file_open(&file, "/dev/full", none_closed, &err), HVD_OK);
    ck_assert_int_eq(report_file_write(&file, "text", 4, &err), HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, "'/dev/full': No space left on device");
}
END_TEST

/* More than a pipe takes. */
START_TEST(an_older_one_stays_if_the_disk_tells_late_that_it_is_full)
{
    put("report", "old");
    ck_assert_int_eq(report_file_open(&file, "report", none_closed, &err), HVD_OK);
    sync_error = ENOSPC;
    ck_assert_int_eq(report_file_write(&file, "new", 3, &err), HVD_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, "'report': No space left on device"));
    report_file_close(&file);
    check_content("report", "old");
    ck_assert_int_eq(entries(), 1);
}
END_TEST

START_TEST(a_pipe_that_nobody_reads_is_given_up)
{
    static char much[1 << 20];
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ck_assert_int_eq(report_file_open(&file, "pipe", none_closed, &err), HVD_OK);
    ck_assert_int_eq(report_file_write(&file, much, sizeof much, &err), HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, "'pipe': Connection timed out");
    close(reader);
}
END_TEST

/* Takes a page each half second, so that there is always something to wait for. */
static void *read_slowly(void *context)
{
    char page[4096];
    int reader = *(int *)context;
    while (read(reader, page, sizeof page) > 0)
        nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
    return NULL;
}

START_TEST(a_pipe_that_is_read_slowly_is_given_up)
{
    static char much[1 << 20];
    static int reader;
    pthread_t thread;
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    reader = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ck_assert_int_eq(report_file_open(&file, "pipe", none_closed, &err), HVD_OK);
    ck_assert_int_eq(fcntl(reader, F_SETFL, 0), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, read_slowly, &reader), 0);
    ck_assert_int_eq(report_file_write(&file, much, sizeof much, &err), HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, "'pipe': Connection timed out");
}
END_TEST

START_TEST(a_folder_that_goes_away_meanwhile_is_an_error)
{
    ck_assert_int_eq(mkdir("gone", 0700), 0);
    ck_assert_int_eq(report_file_open(&file, "gone/report", none_closed, &err), HVD_OK);
    report_file_close(&file);
    ck_assert_int_eq(report_file_open(&file, "gone/report", none_closed, &err), HVD_OK);
    if (file.named) /* no files without a name here */
        unlink(file.temporary);
    ck_assert_int_eq(rmdir("gone"), 0);
    ck_assert_int_eq(report_file_write(&file, "text", 4, &err), HVD_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, "No such file or directory"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report_file");
    TCase *tcase = tcase_create("files");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, it_is_there_once_it_is_written);
    tcase_add_test(tcase, an_older_one_stays_until_then);
    tcase_add_test(tcase, a_link_stays_one);
    tcase_add_test(tcase, a_link_to_nothing_stays_one);
    tcase_add_test(tcase, what_nobody_may_read_nobody_may_read_later);
    tcase_add_loop_test(tcase, what_stdout_goes_to_is_written_on, 0,
                        (int)(sizeof own_names / sizeof *own_names));
    tcase_add_test(tcase, a_name_beside_which_none_fits_is_refused);
    tcase_add_test(tcase, a_file_of_another_user_in_a_folder_of_all_is_refused);
    tcase_add_test(tcase, its_mode_is_that_of_the_umask);
    tcase_add_loop_test(tcase, what_cannot_be_made_is_known_at_once, 0,
                        (int)(sizeof refused / sizeof *refused));
    tcase_add_loop_test(tcase, a_standard_stream_that_is_closed_cannot_be_written, 0,
                        sizeof closed_rows / sizeof *closed_rows);
    tcase_add_test(tcase, a_full_device_is_an_error);
    tcase_add_test(tcase, an_older_one_stays_if_the_disk_tells_late_that_it_is_full);
    tcase_add_test(tcase, a_pipe_that_nobody_reads_is_given_up);
    tcase_add_test(tcase, a_pipe_that_is_read_slowly_is_given_up);
    tcase_add_test(tcase, a_folder_that_goes_away_meanwhile_is_an_error);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
