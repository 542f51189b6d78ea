/* SPDX-License-Identifier: Apache-2.0 */
/* Directories and files on a path that others could have touched: what is made, what is refused. */
#include "launcher/base/own_path.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[sizeof "/tmp/own-path-test-XXXXXX"];
static int at = -1;

static void setup(void)
{
    umask(022);
    snprintf(base, sizeof base, "/tmp/own-path-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(base));
    at = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(at, 0);
}

static void teardown(void)
{
    static const char *const names[] = { "a/b/file", "a/b", "a/file", "a", "link" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (unlinkat(at, names[i], 0) < 0)
            unlinkat(at, names[i], AT_REMOVEDIR);
    close(at);
    rmdir(base);
}

static mode_t mode_of(const char *name)
{
    struct stat status;
    ck_assert_int_eq(fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW), 0);
    return status.st_mode & 07777;
}

static const struct {
    mode_t mask, made;
} masks[] = { { 000, 0775 }, { 002, 0775 }, { 022, 0755 }, { 077, 0700 } };

START_TEST(others_may_not_write_to_what_is_made_whatever_the_umask)
{
    struct err err = { 0 };
    umask(masks[_i].mask);
    int fd = own_path_directory(at, "a/b", &err);
    ck_assert_msg(fd >= 0, "%s", err.text);
    ck_assert_uint_eq(mode_of("a"), masks[_i].made);
    ck_assert_uint_eq(mode_of("a/b"), masks[_i].made);
    int file = own_path_create(fd, "file", &err);
    ck_assert_msg(file >= 0, "%s", err.text);
    close(file);
    close(fd);
}
END_TEST

static const struct {
    mode_t mode;
    bool taken;
} modes[] = { { 0700, true }, { 0775, true }, { 01777, true }, { 0777, false }, { 0702, false } };

START_TEST(a_directory_that_others_may_write_to_is_refused_unless_it_is_sticky)
{
    struct err err = { 0 };
    ck_assert_int_eq(mkdirat(at, "a", 0700), 0);
    ck_assert_int_eq(fchmodat(at, "a", modes[_i].mode, 0), 0);
    int fd = own_path_directory(at, "a", &err);
    ck_assert_int_eq(fd >= 0, modes[_i].taken);
    if (fd >= 0)
        close(fd);
    else
        ck_assert_ptr_nonnull(strstr(err.text, "others may write to this directory"));
}
END_TEST

START_TEST(an_own_link_is_followed)
{
    struct err err = { 0 };
    ck_assert_int_eq(mkdirat(at, "a", 0700), 0);
    ck_assert_int_eq(symlinkat("a", at, "link"), 0);
    int fd = own_path_directory(at, "link/b", &err);
    ck_assert_msg(fd >= 0, "%s", err.text);
    close(fd);
    ck_assert_uint_eq(mode_of("a/b") & S_IWOTH, 0);
}
END_TEST

static const struct {
    const char *target, *text;
} ends[] = { { "link", "levels of symbolic links" }, { "a/b", "Not a directory" } };

START_TEST(what_is_no_directory_is_refused_with_its_cause)
{
    struct err err = { 0 };
    int fd = own_path_directory(at, "a", &err);
    ck_assert_msg(fd >= 0, "%s", err.text);
    close(own_path_create(fd, "b", &err));
    close(fd);
    ck_assert_int_eq(symlinkat(ends[_i].target, at, "link"), 0);
    ck_assert_int_lt(own_path_directory(at, "link", &err), 0);
    ck_assert_msg(strstr(err.text, ends[_i].text), "%s", err.text);
}
END_TEST

static const struct {
    const char *path, *text;
} named[] = { { "a/file", "Not a directory" },
              { "a/file/", "Not a directory" },
              { "a/file/b", "'file': Not a directory" },
              { "link", "'file': Not a directory" },
              { "link/b", "'file': Not a directory" } };

START_TEST(a_component_is_named_unless_the_path_ends_with_it)
{
    struct err err = { 0 };
    int fd = own_path_directory(at, "a", &err);
    ck_assert_msg(fd >= 0, "%s", err.text);
    close(own_path_create(fd, "file", &err));
    close(fd);
    ck_assert_int_eq(symlinkat("a/file", at, "link"), 0);
    ck_assert_int_lt(own_path_directory(at, named[_i].path, &err), 0);
    ck_assert_str_eq(err.text, named[_i].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("own_path");
    TCase *tcase = tcase_create("paths");
    descriptors_watch(tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, others_may_not_write_to_what_is_made_whatever_the_umask, 0,
                        sizeof masks / sizeof *masks);
    tcase_add_loop_test(tcase, a_directory_that_others_may_write_to_is_refused_unless_it_is_sticky,
                        0, sizeof modes / sizeof *modes);
    tcase_add_test(tcase, an_own_link_is_followed);
    tcase_add_loop_test(tcase, what_is_no_directory_is_refused_with_its_cause, 0,
                        sizeof ends / sizeof *ends);
    tcase_add_loop_test(tcase, a_component_is_named_unless_the_path_ends_with_it, 0,
                        sizeof named / sizeof *named);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
