/* SPDX-License-Identifier: Apache-2.0 */
/* Which shared library of a program its loader does not find. The program is a copy of this test
 * program that needs libx.so.6 instead of libc.so.6, in a folder beside it, where programs may be
 * run; the loader is the machine's own. */
#include "launcher/process/program_libraries.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG_MS = 60000 };

static char own[PATH_MAX - 80], folder[PATH_MAX - 40], program[PATH_MAX], library[PATH_MAX],
    search[PATH_MAX];
static struct program_libraries found;

static void set_up(void)
{
    static char data[64 << 20];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    ck_assert_int_gt(length, 0);
    own[length] = '\0';
    snprintf(folder, sizeof folder, "%s.XXXXXX", own);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(program, sizeof program, "%s/-program", folder);
    snprintf(library, sizeof library, "%s/libx.so.6", folder);
    snprintf(search, sizeof search, "LD_LIBRARY_PATH=%s", folder);
    int from = open(own, O_RDONLY | O_CLOEXEC);
    int to = open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    length = read(from, data, sizeof data);
    ck_assert_int_gt(length, 0);
    ck_assert_int_lt(length, sizeof data);
    char *name = memmem(data, (size_t)length, "libc.so.6", 10);
    ck_assert_ptr_nonnull(name);
    name[3] = 'x';
    ck_assert_int_eq(write(to, data, (size_t)length), length);
    close(from);
    close(to);
}

static void tear_down(void)
{
    unlink(program);
    unlink(library);
    rmdir(folder);
}

static void look(const char *path, char *const *envp)
{
    program_libraries_look(&found, path, envp, LONG_MS);
}

START_TEST(the_library_that_is_missing_is_named)
{
    char *const none[] = { NULL };
    look(program, none);
    ck_assert_int_eq(found.count, 1);
    ck_assert_str_eq(found.missing, "libx.so.6");
    ck_assert_int_eq(waitpid(-1, NULL, 0), -1);
}
END_TEST

/* LD_VERBOSE alone would name the library once more for each version of it. */
START_TEST(variables_that_make_the_loader_say_more_are_left_out)
{
    char *const talkative[] = { "LD_VERBOSE=1",          "LD_WARN=1",
                                "LD_DEBUG=libs",         "LD_DEBUG_OUTPUT=/dev/stdout",
                                "LD_TRACE_PRELINKING=1", NULL };
    look(program, talkative);
    ck_assert_int_eq(found.count, 1);
    ck_assert_str_eq(found.missing, "libx.so.6");
}
END_TEST

START_TEST(the_other_variables_are_those_of_the_program)
{
    char *const envp[] = { "LD_DEBUG=", search, "HOME=/", NULL };
    int empty = open(library, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    look(program, envp);
    ck_assert_int_eq(found.count, 0); /* the loader has found it, and gave up: it is no library */
    close(empty);
}
END_TEST

START_TEST(of_a_program_that_has_its_libraries_none_is_missing)
{
    char *const none[] = { NULL };
    look(own, none);
    ck_assert_int_eq(found.count, 0);
    ck_assert_str_eq(found.missing, "");
}
END_TEST

/* The loader would take that for an option. */
START_TEST(a_name_that_begins_with_a_minus_is_not_looked_at)
{
    char *const none[] = { NULL };
    ck_assert_int_eq(chdir(folder), 0);
    look("-program", none);
    ck_assert_int_eq(found.count, 0);
    look("./-program", none);
    ck_assert_int_eq(found.count, 1);
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

START_TEST(neither_is_a_program_with_more_rights_than_ours)
{
    static const mode_t modes[] = { S_ISUID | 0700, S_ISGID | 0710 };
    char *const none[] = { NULL };
    ck_assert_int_eq(chmod(program, modes[_i]), 0);
    look(program, none);
    ck_assert_int_eq(found.count, 0);
}
END_TEST

START_TEST(neither_is_what_is_not_there_or_is_no_program)
{
    char *const none[] = { NULL };
    look("/nowhere/program", none);
    ck_assert_int_eq(found.count, 0);
    look("/etc/passwd", none);
    ck_assert_int_eq(found.count, 0);
}
END_TEST

START_TEST(the_message_names_the_first_and_counts_the_others)
{
    static const char remedy[] = ", not found here: link it with -Wl,-rpath,DIR, give -x "
                                 "LD_LIBRARY_PATH=DIR, or run ldconfig";
    struct program_libraries missing = { .missing = "libhvd.so.0" };
    char text[400], expected[400];
    ck_assert(!program_libraries_tell(&missing, "./train", text, sizeof text));
    missing.count = 1;
    ck_assert(program_libraries_tell(&missing, "./train", text, sizeof text));
    snprintf(expected, sizeof expected, "'./train' needs libhvd.so.0%s", remedy);
    ck_assert_str_eq(text, expected);
    missing.count = 3;
    ck_assert(program_libraries_tell(&missing, "./train", text, sizeof text));
    snprintf(expected, sizeof expected, "'./train' needs libhvd.so.0 and 2 more%s", remedy);
    ck_assert_str_eq(text, expected);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("program_libraries");
    TCase *tcase = tcase_create("libraries");
    descriptors_watch(tcase);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, the_library_that_is_missing_is_named);
    tcase_add_test(tcase, variables_that_make_the_loader_say_more_are_left_out);
    tcase_add_test(tcase, the_other_variables_are_those_of_the_program);
    tcase_add_test(tcase, of_a_program_that_has_its_libraries_none_is_missing);
    tcase_add_test(tcase, a_name_that_begins_with_a_minus_is_not_looked_at);
    tcase_add_loop_test(tcase, neither_is_a_program_with_more_rights_than_ours, 0, 2);
    tcase_add_test(tcase, neither_is_what_is_not_there_or_is_no_program);
    tcase_add_test(tcase, the_message_names_the_first_and_counts_the_others);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
