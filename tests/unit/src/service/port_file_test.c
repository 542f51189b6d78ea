/* SPDX-License-Identifier: Apache-2.0 */
/* Files with the port, in a folder of their own: which are replaced, and which are removed. */
#include "src/service/port_file.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ROWS(table) (int)(sizeof table / sizeof *table)

static char folder[] = "/tmp/hvd-port-file-XXXXXX";

static void set_up(void)
{
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

/* Fails if a test has left any other name. */
static void tear_down(void)
{
    static const char *const names[] = { "port", "other" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (unlink(names[i]) < 0)
            rmdir(names[i]);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void put_text(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void expect_text(const char *name, const char *expected)
{
    char text[64] = "";
    int fd = open(name, O_RDONLY);
    ck_assert_int_ge(read(fd, text, sizeof text - 1), 0);
    close(fd);
    ck_assert_str_eq(text, expected);
}

START_TEST(the_port_is_there_while_we_are)
{
    struct port_file file = { 0 };
    struct stat status;
    umask(077);
    ck_assert_int_eq(port_file_check("port", NULL), HVD_OK);
    ck_assert_int_eq(access("port", F_OK), -1);
    ck_assert_int_eq(port_file_write(&file, "port", 29400, NULL), HVD_OK);
    expect_text("port", "29400\n");
    ck_assert_int_eq(stat("port", &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0644);
    port_file_remove(&file);
    ck_assert_int_eq(access("port", F_OK), -1);
    port_file_remove(&file);
}
END_TEST

static const char *const old_ports[] = { "", "1\n", "29400\n", "65535\n" };

START_TEST(an_old_port_is_replaced)
{
    struct port_file file = { 0 };
    put_text("port", old_ports[_i]);
    ck_assert_int_eq(port_file_check("port", NULL), HVD_OK);
    ck_assert_int_eq(port_file_write(&file, "port", 29401, NULL), HVD_OK);
    expect_text("port", "29401\n");
    port_file_remove(&file);
    ck_assert_int_eq(access("port", F_OK), -1);
}
END_TEST

static void expect_refused(const char *kind)
{
    struct port_file file = { 0 };
    struct err err = { 0 };
    char expected[128];
    snprintf(expected, sizeof expected,
             "cannot create 'port': there is %s (expected nothing, or a file with a port)", kind);
    ck_assert_int_eq(port_file_check("port", &err), HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, expected);
    ck_assert_int_eq(port_file_write(&file, "port", 1, &err), HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, expected);
    port_file_remove(&file);
}

static const char *const somebodys[] = {
    "from another life", "29400",    "\n",   "294000\n", "29400\n\n",
    "29400\r\n",         " 29400\n", "-1\n", "x\n",      "29400\n29401\n",
};

START_TEST(somebodys_file_stays)
{
    put_text("port", somebodys[_i]);
    expect_refused("a file that holds something else");
    expect_text("port", somebodys[_i]);
}
END_TEST

static void make_link(void)
{
    put_text("other", "1\n");
    ck_assert_int_eq(symlink("other", "port"), 0);
}

static void make_dangling_link(void)
{
    ck_assert_int_eq(symlink("other", "port"), 0);
}

static void make_folder(void)
{
    ck_assert_int_eq(mkdir("port", 0700), 0);
}

static void make_fifo(void)
{
    ck_assert_int_eq(mkfifo("port", 0600), 0);
}

static void make_socket(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "port" };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
}

static const struct {
    void (*make)(void);
    const char *kind;
} kinds[] = {
    { make_link, "a symbolic link" }, { make_dangling_link, "a symbolic link" },
    { make_folder, "a directory" },   { make_fifo, "a FIFO" },
    { make_socket, "a socket" },
};

START_TEST(what_is_no_file_stays)
{
    struct stat before, after;
    kinds[_i].make();
    ck_assert_int_eq(lstat("port", &before), 0);
    expect_refused(kinds[_i].kind);
    ck_assert_int_eq(lstat("port", &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino);
    ck_assert_uint_eq(before.st_mode, after.st_mode);
}
END_TEST

/* Number 0 belongs to no driver; where even that is for root only, there is nothing to see. */
START_TEST(a_device_stays)
{
    if (mknod("port", S_IFCHR | 0600, 0) < 0)
        return;
    expect_refused("a device");
    ck_assert_int_eq(access("port", F_OK), 0);
}
END_TEST

START_TEST(the_port_of_another_stays)
{
    struct port_file ours = { 0 }, theirs = { 0 };
    ck_assert_int_eq(port_file_write(&ours, "port", 1, NULL), HVD_OK);
    ck_assert_int_eq(port_file_write(&theirs, "port", 2, NULL), HVD_OK);
    port_file_remove(&ours);
    expect_text("port", "2\n");
    port_file_remove(&theirs);
}
END_TEST

static const char *const written_since[] = { "mine\n", "99999\n", "1", "1\n\n", "" };

START_TEST(what_others_have_written_there_since_stays)
{
    for (int again = 0; again < 2; again++) { /* in place; under a number that is free again */
        struct port_file file = { 0 };
        ck_assert_int_eq(port_file_write(&file, "port", 1, NULL), HVD_OK);
        if (again)
            unlink("port");
        put_text("port", written_since[_i]);
        port_file_remove(&file);
        expect_text("port", written_since[_i]);
        unlink("port");
    }
}
END_TEST

START_TEST(a_link_to_the_port_is_not_it)
{
    struct port_file file = { 0 };
    ck_assert_int_eq(port_file_write(&file, "port", 1, NULL), HVD_OK);
    ck_assert_int_eq(rename("port", "other"), 0);
    ck_assert_int_eq(symlink("other", "port"), 0);
    port_file_remove(&file);
    ck_assert_int_eq(access("port", F_OK), 0);
}
END_TEST

START_TEST(a_port_that_cannot_be_written_leaves_nothing)
{
    struct port_file file = { 0 };
    struct err err = { 0 };
    ck_assert_int_eq(port_file_write(&file, "nowhere/port", 1, &err), HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, "cannot create 'nowhere/port': No such file or directory");
    port_file_remove(&file); /* tear_down() sees what is left */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("port_file");
    TCase *tcase = tcase_create("port_file");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, the_port_is_there_while_we_are);
    tcase_add_loop_test(tcase, an_old_port_is_replaced, 0, ROWS(old_ports));
    tcase_add_loop_test(tcase, somebodys_file_stays, 0, ROWS(somebodys));
    tcase_add_loop_test(tcase, what_is_no_file_stays, 0, ROWS(kinds));
    tcase_add_test(tcase, a_device_stays);
    tcase_add_test(tcase, the_port_of_another_stays);
    tcase_add_loop_test(tcase, what_others_have_written_there_since_stays, 0, ROWS(written_since));
    tcase_add_test(tcase, a_link_to_the_port_is_not_it);
    tcase_add_test(tcase, a_port_that_cannot_be_written_leaves_nothing);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
