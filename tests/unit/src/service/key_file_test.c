/* SPDX-License-Identifier: Apache-2.0 */
/* Files with the service key, in a folder of their own. */
#include "src/service/key_file.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEX "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"

static char folder[] = "/tmp/hvd-key-file-XXXXXX";

static void set_up(void)
{
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    ck_assert_int_eq(auth_init(NULL), HVD_OK);
    unsetenv("CREDENTIALS_DIRECTORY");
}

static void tear_down(void)
{
    static const char *const names[] = { "key", "link", "group" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (unlink(names[i]) < 0)
            rmdir(names[i]);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void put(const char *name, const char *text, size_t length, mode_t mode)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_eq(write(fd, text, length), (ssize_t)length);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

static void put_text(const char *name, const char *text, mode_t mode)
{
    put(name, text, strlen(text), mode);
}

static void expect_refused(const char *name, const char *why)
{
    struct job_key key;
    struct err err = { 0 };
    ck_assert_int_eq(key_file_read(&key, name, "--key-file", &err), HVD_ERR_INVALID);
    ck_assert_msg(strncmp(err.text, "--key-file: ", 12) == 0, "%s", err.text);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    ck_assert_ptr_null(strstr(err.text, "aabbcc"));
}

static void expect_key(const char *name)
{
    struct job_key key, expected;
    struct err err = { 0 };
    ck_assert(job_key_decode(&expected, HEX, strlen(HEX)));
    ck_assert_msg(key_file_read(&key, name, "--key-file", &err) == HVD_OK, "%s", err.text);
    ck_assert(job_key_equal(&key, &expected));
}

START_TEST(a_key_is_read_with_and_without_a_newline)
{
    put_text("key", HEX "\n", 0600);
    expect_key("key");
    put_text("key", HEX, 0400);
    expect_key("key");
}
END_TEST

START_TEST(a_link_is_followed)
{
    put_text("key", HEX "\n", 0600);
    ck_assert_int_eq(symlink("key", "link"), 0);
    expect_key("link");
    ck_assert_int_eq(chmod("key", 0640), 0);
    expect_refused("link", "open to others: 'link' (mode 640; chmod 600 mends that)");
}
END_TEST

static const mode_t open_modes[] = { 0640, 0620, 0610, 0604, 0602, 0601, 0666, 0777 };

START_TEST(what_others_may_touch_is_refused)
{
    put_text("key", HEX "\n", open_modes[_i]);
    expect_refused("key", "open to others");
}
END_TEST

/* `text` may hold NUL. */
static const struct {
    const char *text;
    size_t length;
} no_keys[] = {
#define TEXT(text)                                                                                 \
    {                                                                                              \
        text, sizeof text - 1                                                                      \
    }
    TEXT(""),
    TEXT("\n"),
    TEXT("0011"),
    TEXT(HEX "0"),
    TEXT(HEX "00"),
    TEXT(HEX "\n\n"),
    TEXT(HEX "\r\n"),
    TEXT(HEX " "),
    TEXT(" " HEX),
    TEXT("0x112233445566778899aabbccddeeff00112233445566778899aabbccddeeff0\n"),
    TEXT("g0112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n"),
    TEXT("00112233445566778899aabbccddeeff00112233445566778899aabbccddeef\0\n"),
    TEXT("00112233445566778899aabbccddeeff00112233445566778899aabbccddeef\n"),
    TEXT("00112233445566778899aabbccddeeff 00112233445566778899aabbccddeef\n"),
    TEXT("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\n"),
};

START_TEST(what_is_no_key_is_refused_and_not_shown)
{
    put("key", no_keys[_i].text, no_keys[_i].length, 0600);
    expect_refused("key", "holds no key: 'key' (expected 64 hexadecimal digits)");
}
END_TEST

START_TEST(what_is_no_file_is_refused)
{
    expect_refused("key", "cannot be opened (No such file or directory): 'key'");
    ck_assert_int_eq(mkfifo("key", 0600), 0);
    expect_refused("key", "not a regular file");
    unlink("key");
    ck_assert_int_eq(mkdir("key", 0700), 0);
    expect_refused("key", "not a regular file");
    expect_refused("/dev/zero", "not a regular file");
    ck_assert_int_eq(symlink("link", "link"), 0);
    expect_refused("link", "cannot be opened");
}
END_TEST

START_TEST(another_users_file_is_refused)
{
    if (geteuid() != 0)
        return;
    put_text("key", HEX "\n", 0600);
    ck_assert_int_eq(chown("key", 12345, 0), 0);
    expect_refused("key", "belongs to another user");
}
END_TEST

START_TEST(of_a_credential_the_group_is_systemds_business)
{
    put_text("key", HEX "\n", 0440);
    char path[64];
    snprintf(path, sizeof path, "%s/key", folder);
    expect_refused(path, "open to others");
    setenv("CREDENTIALS_DIRECTORY", folder, 1);
    expect_key(path);
    expect_refused("key", "open to others");
    ck_assert_int_eq(chmod("key", 0444), 0);
    expect_refused(path, "open to others");
}
END_TEST

START_TEST(a_new_key_is_random_and_for_its_owner)
{
    struct job_key first, second;
    struct stat status;
    struct err err = { 0 };
    umask(0);
    ck_assert_msg(key_file_create("key", &err) == HVD_OK, "%s", err.text);
    ck_assert_int_eq(stat("key", &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0600);
    ck_assert_int_eq(status.st_size, JOB_KEY_HEX_SIZE);
    ck_assert_int_eq(key_file_read(&first, "key", "", &err), HVD_OK);
    unlink("key");
    ck_assert_int_eq(key_file_create("key", &err), HVD_OK);
    ck_assert_int_eq(key_file_read(&second, "key", "", &err), HVD_OK);
    ck_assert(!job_key_equal(&first, &second));
}
END_TEST

START_TEST(a_new_key_replaces_nothing)
{
    struct err err = { 0 };
    put_text("key", HEX "\n", 0600);
    ck_assert_int_eq(key_file_create("key", &err), HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, "cannot create 'key': File exists");
    expect_key("key");
    ck_assert_int_eq(symlink("elsewhere", "link"), 0);
    ck_assert_int_eq(key_file_create("link", &err), HVD_ERR_SYSTEM);
    ck_assert_int_eq(access("elsewhere", F_OK), -1);
    ck_assert_int_eq(key_file_create("nowhere/key", &err), HVD_ERR_SYSTEM);
}
END_TEST

#define ROWS(table) (int)(sizeof table / sizeof *table)

int main(void)
{
    Suite *suite = suite_create("key_file");
    TCase *tcase = tcase_create("key_file");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_key_is_read_with_and_without_a_newline);
    tcase_add_test(tcase, a_link_is_followed);
    tcase_add_loop_test(tcase, what_others_may_touch_is_refused, 0, ROWS(open_modes));
    tcase_add_loop_test(tcase, what_is_no_key_is_refused_and_not_shown, 0, ROWS(no_keys));
    tcase_add_test(tcase, what_is_no_file_is_refused);
    tcase_add_test(tcase, another_users_file_is_refused);
    tcase_add_test(tcase, of_a_credential_the_group_is_systemds_business);
    tcase_add_test(tcase, a_new_key_is_random_and_for_its_owner);
    tcase_add_test(tcase, a_new_key_replaces_nothing);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
