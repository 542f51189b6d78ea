/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a command's name, and what is said of a command that cannot be executed. The working
 * directory is an empty folder with some files. */
#include "launcher/base/exit_status.h"
#include "launcher/process/program_find.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/program_find.XXXXXX";

static const struct {
    const char *name, *bytes;
    mode_t mode;
} files[] = {
    { "script", "#!/bin/sh\n", 0755 },
    { "mute", "echo\n", 0755 },
    { "plain", "#!/bin/sh\n", 0644 },
    { "data", "a\0b", 0755 },
    { "train.py", "import sys\n", 0755 },
    { "run.py", "#!/usr/bin/python3\n", 0755 },
    { "text.py", "import sys\n", 0644 },
    { ".py", "#!/bin/sh\n", 0755 },
    { "bin/script", "#!/bin/sh\n", 0755 },
    { "bin/plain", "#!/bin/sh\n", 0644 },
    { "second", "#!./script\n", 0755 },
    { "lost", "#! /no/such/sh -e\n", 0755 },
    { "windows", "#!/bin/sh\r\n", 0755 },
    { "folder", "#!./bin -x\n", 0755 },
    { "itself", "#!./itself\n", 0755 },
    { "by_plain", "#!./plain\n", 0755 },
    { "by_pipe", "#!./pipe\n", 0755 },
    { "by_data", "#!./data\n", 0755 },
    { "by_lost", "#!./lost\n", 0755 },
    { "empty", "", 0755 },
    { "blank", "#! \t\n", 0755 },
    { "third", "#!./second\n", 0755 },
    { "fourth", "#!./third\n", 0755 },
    { "fifth", "#!./fourth\n", 0755 },
    { "sixth", "#!./fifth\n", 0755 },
    { "archive", "#!/bin/sh\n\0", 0755 },
    { "by_env", "#!/usr/bin/env script\n", 0755 },
    { "by_env_windows", "#!/usr/bin/env script\r\n", 0755 },
    { "by_env_plain", "#! /usr/bin/env plain \n", 0755 },
    { "by_env_option", "#!/usr/bin/env -S nothing -x\n", 0755 },
    { "by_env_variable", "#!/usr/bin/env A=1\n", 0755 },
    { "by_env_alone", "#!/usr/bin/env\n", 0755 },
};

/* The bytes of these end in a NUL. */
static bool has_nul(const char *name)
{
    return strcmp(name, "data") == 0 || strcmp(name, "archive") == 0;
}

static void set_up(void)
{
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    ck_assert_int_eq(mkdir("bin", 0755), 0);
    ck_assert_int_eq(mkdir("pipes", 0755), 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t length = strlen(files[i].bytes) + has_nul(files[i].name);
        int fd = open(files[i].name, O_WRONLY | O_CREAT | O_CLOEXEC, files[i].mode);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, files[i].bytes, length), (ssize_t)length);
        close(fd);
    }
    ck_assert_int_eq(mkfifo("pipe", 0755), 0);
    ck_assert_int_eq(mkfifo("pipes/script", 0755), 0);
}

static void tear_down(void)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(files[i].name);
    unlink("pipe");
    unlink("pipes/script");
    rmdir("pipes");
    rmdir("bin");
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

static const struct {
    const char *name, *path, *file;
} found[] = {
    { "./script", "/no", "./script" },
    { "./mute", "/no", "./mute" },
    { "./run.py", "/no", "./run.py" },
    { "./second", "/no", "./second" },
    { "./empty", "/no", "./empty" },
    { "./blank", "/no", "./blank" },
    { "./archive", "/no", "./archive" },
    { "./fifth", "/no", "./fifth" },
    { "script", "/no:bin", "bin/script" },
    { "script", "", "script" },
    { "script", "/no::bin", "script" },
    { "script", "plain:bin", "bin/script" },
    { "script", "pipes:bin", "bin/script" },
    { "bin/script", "", "bin/script" },
    { ".py", "", ".py" },
    { "./by_env", "/no:bin", "./by_env" },
    { "./by_env_option", "/no", "./by_env_option" },
    { "./by_env_variable", "/no", "./by_env_variable" },
    { "./by_env_alone", "/no", "./by_env_alone" },
};

START_TEST(a_command_is_found_as_execvp_finds_it)
{
    char *file;
    struct err err = { 0 };
    ck_assert_msg(program_find(found[_i].name, found[_i].path, &file, &err) == 0, "%s", err.text);
    ck_assert_str_eq(file, found[_i].file);
    free(file);
}
END_TEST

#define NOT_FOUND STATUS_NOT_FOUND, "command not found: "
#define NOT_EXECUTABLE STATUS_NOT_EXECUTABLE, "command cannot be executed: "

static const struct {
    const char *name, *path;
    int status;
    const char *kind, *text;
} refused[] = {
    { "", "bin", NOT_FOUND, "'' (looked for in PATH)" },
    { "nothing", "bin", NOT_FOUND, "'nothing' (looked for in PATH)" },
    { "./nothing", "bin", NOT_FOUND, "'./nothing'" },
    { "script/x", "bin", NOT_FOUND, "'script/x'" },
    { "script", "/no", NOT_FOUND, "'script' (looked for in PATH); did you mean: ./script" },
    { "plain", "/no", NOT_FOUND, "'plain' (looked for in PATH)" },
    { "text.py", "/no", NOT_FOUND, "'text.py' (looked for in PATH); did you mean: python text.py" },
    { "plain", "bin:/no", NOT_EXECUTABLE, "'plain': Permission denied" },
    { "./bin", "/no", NOT_EXECUTABLE, "'./bin': Is a directory" },
    { "./pipe", "/no", NOT_EXECUTABLE, "'./pipe': not a regular file" },
    { "/dev/null", "/no", NOT_EXECUTABLE, "'/dev/null': not a regular file" },
    { "script", "pipes:/no", NOT_EXECUTABLE, "'script': not a regular file" },
    { "./data", "/no", NOT_EXECUTABLE, "'./data': Exec format error" },
    { "./lost", "/no", NOT_EXECUTABLE,
      "'./lost': its interpreter '/no/such/sh': No such file or directory" },
    { "./windows", "/no", NOT_EXECUTABLE,
      "'./windows': its interpreter '/bin/sh\\x0d': No such file or directory (the #! line ends in "
      "CR LF instead of LF)" },
    { "./by_env", "/no", NOT_EXECUTABLE,
      "'./by_env': its interpreter 'script', which env looks for in PATH: No such file or "
      "directory" },
    { "./by_env_windows", "bin", NOT_EXECUTABLE,
      "'./by_env_windows': its interpreter 'script\\x0d', which env looks for in PATH: No such "
      "file or directory (the #! line ends in CR LF instead of LF)" },
    { "./by_env_plain", "bin", NOT_EXECUTABLE,
      "'./by_env_plain': its interpreter 'plain', which env looks for in PATH: Permission "
      "denied" },
    { "./folder", "/no", NOT_EXECUTABLE, "'./folder': its interpreter './bin': Is a directory" },
    { "./itself", "/no", NOT_EXECUTABLE,
      "'./itself': its interpreter './itself': Too many levels of symbolic links" },
    { "./sixth", "/no", NOT_EXECUTABLE,
      "'./sixth': its interpreter './fifth': Too many levels of symbolic links" },
    { "./by_plain", "/no", NOT_EXECUTABLE,
      "'./by_plain': its interpreter './plain': Permission denied" },
    { "./by_pipe", "/no", NOT_EXECUTABLE,
      "'./by_pipe': its interpreter './pipe': not a regular file" },
    { "./by_data", "/no", NOT_EXECUTABLE,
      "'./by_data': its interpreter './data': Exec format error" },
    { "./by_lost", "/no", NOT_EXECUTABLE,
      "'./by_lost': its interpreter './lost' needs '/no/such/sh': No such file or directory" },
    { "./text.py", "/no", NOT_EXECUTABLE,
      "'./text.py': Permission denied; did you mean: python ./text.py" },
    { "./train.py", "/no", NOT_EXECUTABLE,
      "'./train.py': no #! line; did you mean: python ./train.py" },
};

START_TEST(without_path_the_folders_of_the_system_are_searched)
{
    char *file;
    ck_assert_int_eq(program_find("sh", NULL, &file, NULL), 0);
    ck_assert_int_eq(file[0], '/');
    ck_assert_str_eq(strrchr(file, '/'), "/sh");
    free(file);
}
END_TEST

START_TEST(a_command_that_cannot_run_is_refused_with_what_was_meant)
{
    char *file, expected[300];
    struct err err = { 0 };
    snprintf(expected, sizeof expected, "%s%s", refused[_i].kind, refused[_i].text);
    ck_assert_int_eq(program_find(refused[_i].name, refused[_i].path, &file, &err),
                     refused[_i].status);
    ck_assert_str_eq(err.text, expected);
    ck_assert_ptr_null(file);
}
END_TEST

#define ROWS(table) (int)(sizeof table / sizeof *table)

int main(void)
{
    Suite *suite = suite_create("program_find");
    TCase *tcase = tcase_create("program_find");
    descriptors_watch(tcase);
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, a_command_is_found_as_execvp_finds_it, 0, ROWS(found));
    tcase_add_test(tcase, without_path_the_folders_of_the_system_are_searched);
    tcase_add_loop_test(tcase, a_command_that_cannot_run_is_refused_with_what_was_meant, 0,
                        ROWS(refused));
    return unit_run(suite);
}
