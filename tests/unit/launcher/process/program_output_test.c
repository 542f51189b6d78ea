/* SPDX-License-Identifier: Apache-2.0 */
/* What a program prints, and what becomes of one that does not end; hvd-cuda-info in particular. */
#include "launcher/base/xalloc.h"
#include "launcher/process/cuda_info.h"
#include "launcher/process/program_output.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG_MS = 60000 };

static char *text;
static int wait_status;

/* What sh prints for a command is in `text`. */
static bool run_shell(const char *command, uint32_t timeout_ms)
{
    struct text_buffer output = { 0 };
    char *argv[] = { xstrdup("sh"), xstrdup("-c"), xstrdup(command), NULL };
    bool ended = program_output_read("/bin/sh", argv, environ, timeout_ms, &output, &wait_status);
    text = text_buffer_take(&output);
    for (int i = 0; argv[i]; i++)
        free(argv[i]);
    return ended;
}

START_TEST(what_a_program_prints_is_read_to_its_end)
{
    ck_assert(run_shell("echo one; echo unseen >&2; cat; echo two", LONG_MS));
    ck_assert_str_eq(text, "one\ntwo\n");
    ck_assert_int_eq(waitpid(-1, NULL, 0), -1);
    free(text);
}
END_TEST

START_TEST(how_a_program_has_ended_is_told)
{
    ck_assert(run_shell("echo one; exit 3", LONG_MS));
    ck_assert_str_eq(text, "one\n");
    ck_assert(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 3);
    free(text);
}
END_TEST

static const struct {
    const char *command;
    uint32_t timeout_ms;
} endless[] = { { "exec sleep 1000", 1 }, { "exec sleep 1000 >&-", 200 } };

START_TEST(a_program_that_does_not_end_is_killed)
{
    int status;
    ck_assert(!run_shell(endless[_i].command, endless[_i].timeout_ms));
    ck_assert_int_gt(waitpid(-1, &status, 0), 0);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    free(text);
}
END_TEST

START_TEST(a_program_that_is_not_there_prints_nothing)
{
    struct text_buffer output = { 0 };
    char *const argv[] = { NULL };
    ck_assert(!program_output_read("/nowhere", argv, environ, LONG_MS, &output, NULL));
    ck_assert_uint_eq(output.length, 0);
    ck_assert_int_eq(waitpid(-1, NULL, 0), -1);
}
END_TEST

/* The line about CUDA when hvd-cuda-info is this script. */
static char *line_of(const char *script)
{
    char folder[] = "/tmp/program_output_test.XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    char *path = xasprintf("%s/hvd-cuda-info", folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    fclose(file);
    chmod(path, 0700);
    char *line = cuda_info_line(folder, environ);
    unlink(path);
    rmdir(folder);
    free(path);
    return line;
}

static const struct {
    const char *script, *line;
} infos[] = {
    { "echo driver: CUDA 12.4; echo GPU 0: A10", "driver: CUDA 12.4; GPU 0: A10" },
    { "echo driver: CUDA 12.4; kill -KILL $$",
      "driver: CUDA 12.4; not all known: hvd-cuda-info did not end well: killed by signal 9 "
      "(SIGKILL)" },
    { "echo driver: CUDA 12.4; exit 1",
      "driver: CUDA 12.4; not all known: hvd-cuda-info did not end well: exited with status 1" },
    { "exit 0", "not all known: hvd-cuda-info did not end well: exited with status 0" },
};

START_TEST(what_of_cuda_there_is_becomes_one_line)
{
    char *line = line_of(infos[_i].script);
    ck_assert_str_eq(line, infos[_i].line);
    free(line);
}
END_TEST

START_TEST(where_nothing_is_installed_nothing_is_known)
{
    static const char *const folders[] = { "", "/nowhere" };
    char *line = cuda_info_line(folders[_i], environ);
    ck_assert_str_eq(line, "not known: hvd-cuda-info is not installed here");
    free(line);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("program_output");
    TCase *tcase = tcase_create("program_output");
    descriptors_watch(tcase);
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, what_a_program_prints_is_read_to_its_end);
    tcase_add_test(tcase, how_a_program_has_ended_is_told);
    tcase_add_loop_test(tcase, a_program_that_does_not_end_is_killed, 0,
                        sizeof endless / sizeof *endless);
    tcase_add_test(tcase, a_program_that_is_not_there_prints_nothing);
    tcase_add_loop_test(tcase, what_of_cuda_there_is_becomes_one_line, 0,
                        sizeof infos / sizeof *infos);
    tcase_add_loop_test(tcase, where_nothing_is_installed_nothing_is_known, 0, 2);
    return unit_run(suite);
}
