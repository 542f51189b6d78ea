/* SPDX-License-Identifier: Apache-2.0 */
/* What of a program file is enough to run it. */
#include "launcher/process/program_image.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], copy[80];

static void set_up(void)
{
    snprintf(folder, sizeof folder, "/tmp/program_image_test.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(copy, sizeof copy, "%s/program", folder);
}

static void tear_down(void)
{
    unlink(copy);
    rmdir(folder);
}

/* `nbytes` of the file `path`, and then `more` zeros. */
static void make_copy(const char *path, size_t nbytes, size_t more)
{
    static char data[16 << 20];
    int from = open(path, O_RDONLY), to = open(copy, O_WRONLY | O_CREAT | O_TRUNC, 0700);
    ck_assert_int_eq(read(from, data, nbytes), (ssize_t)nbytes);
    memset(data + nbytes, 0, more);
    ck_assert_int_eq(write(to, data, nbytes + more), (ssize_t)(nbytes + more));
    close(from);
    close(to);
}

static size_t image_size(const char *path)
{
    size_t size = 0;
    int fd = open(path, O_RDONLY);
    ck_assert_int_eq(program_image_size(fd, &size), 0);
    close(fd);
    return size;
}

START_TEST(a_program_runs_without_what_lies_behind_its_segments)
{
    size_t size = image_size("/bin/echo");
    ck_assert_uint_gt(size, 0);
    make_copy("/bin/echo", size, 0);
    char command[128];
    snprintf(command, sizeof command, "[ \"$(%s it runs)\" = 'it runs' ]", copy);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(what_is_appended_does_not_count)
{
    size_t size = image_size("/bin/echo");
    make_copy("/bin/echo", size, 100000);
    ck_assert_uint_eq(image_size(copy), size);
}
END_TEST

START_TEST(all_of_a_script_is_needed)
{
    int fd = open(copy, O_WRONLY | O_CREAT, 0700);
    ck_assert_int_eq(write(fd, "#!/bin/sh\nexit 0\n", 17), 17);
    close(fd);
    ck_assert_uint_eq(image_size(copy), 17);
}
END_TEST

START_TEST(all_of_a_program_for_another_machine_is_needed)
{
    size_t size = image_size("/bin/echo");
    char other = ELFCLASSNONE;
    make_copy("/bin/echo", size, 1000);
    int fd = open(copy, O_WRONLY);
    ck_assert_int_eq(pwrite(fd, &other, 1, EI_CLASS), 1);
    close(fd);
    ck_assert_uint_eq(image_size(copy), size + 1000);
}
END_TEST

START_TEST(a_file_that_is_cut_off_is_as_long_as_it_is)
{
    static const size_t sizes[] = { 0, 4, 63, 64, 65, 1000 };
    make_copy("/bin/echo", sizes[_i], 0);
    ck_assert_uint_eq(image_size(copy), sizes[_i]);
}
END_TEST

START_TEST(what_cannot_be_looked_at_is_said)
{
    size_t size;
    ck_assert_int_eq(program_image_size(-1, &size), EBADF);
}
END_TEST

START_TEST(a_program_names_its_loader_and_nothing_else_does)
{
    char loader[256];
    int program = open("/bin/echo", O_RDONLY), script = open("/etc/passwd", O_RDONLY);
    ck_assert(program_image_loader(program, loader, sizeof loader));
    ck_assert_int_eq(loader[0], '/');
    ck_assert_int_eq(access(loader, X_OK), 0);
    ck_assert(!program_image_loader(program, loader, 4));
    ck_assert(!program_image_loader(script, loader, sizeof loader));
    close(program);
    close(script);
    for (size_t nbytes = 0; nbytes < 900; nbytes += 7) {
        make_copy("/bin/echo", nbytes, 0);
        program = open(copy, O_RDONLY);
        if (program_image_loader(program, loader, sizeof loader))
            ck_assert_int_eq(loader[0], '/');
        close(program);
    }
}
END_TEST

static const struct {
    const char *bytes, *interpreter; /* NULL: there is none */
} first_lines[] = {
    { "#!/bin/sh\n", "/bin/sh" },
    { "#!/bin/sh", "/bin/sh" },
    { "#! \t/bin/sh \t-e\necho\n", "/bin/sh" },
    { "#!sh\n", "sh" },
    { "#!/bin/sh\r\n", "/bin/sh\r" },
    { "#!\n/bin/sh\n", NULL },
    { "#! \t", NULL },
    { "#!", NULL },
    { "#", NULL },
    { "", NULL },
    { " #!/bin/sh\n", NULL },
};

START_TEST(a_script_names_its_interpreter)
{
    char interpreter[64];
    int fd = open(copy, O_RDWR | O_CREAT, 0700);
    size_t length = strlen(first_lines[_i].bytes);
    ck_assert_int_eq(write(fd, first_lines[_i].bytes, length), (ssize_t)length);
    bool found = program_image_interpreter(fd, interpreter, sizeof interpreter);
    ck_assert_int_eq(found, first_lines[_i].interpreter != NULL);
    if (found)
        ck_assert_str_eq(interpreter, first_lines[_i].interpreter);
    close(fd);
}
END_TEST

static const struct {
    const char *bytes, *command;
} env_lines[] = {
    { "#!/usr/bin/env python3\n", "python3" },
    { "#! \t/bin/env \t python3 \t\necho\n", "python3" },
    { "#!/usr/bin/env python3 -u\n", "python3 -u" },
    { "#!/usr/bin/env python3\r\n", "python3\r" },
    { "#!/usr/bin/env python3", "python3" },
    { "#!/usr/bin/env\n", NULL },
    { "#!/usr/bin/env \npython3\n", NULL },
    { "#!/usr/bin/env -S python3 -u\n", NULL },
    { "#!/usr/bin/env A=1 python3\n", NULL },
    { "#!/opt/env python3\n", NULL },
    { "#!/usr/bin/envy python3\n", NULL },
    { "#!/bin/sh -e\n", NULL },
    { "", NULL },
};

START_TEST(a_script_names_what_env_looks_for)
{
    char command[64];
    int fd = open(copy, O_RDWR | O_CREAT, 0700);
    size_t length = strlen(env_lines[_i].bytes);
    ck_assert_int_eq(write(fd, env_lines[_i].bytes, length), (ssize_t)length);
    bool found = program_image_env_command(fd, command, sizeof command);
    ck_assert_int_eq(found, env_lines[_i].command != NULL);
    if (found)
        ck_assert_str_eq(command, env_lines[_i].command);
    close(fd);
}
END_TEST

/* A path of `length` bytes, which is the whole line. */
static bool is_interpreter_of_length(size_t length, size_t size, const char *end)
{
    char bytes[400], interpreter[400];
    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes, "#!/", 3);
    memcpy(bytes + 2 + length, end, strlen(end));
    int fd = open(copy, O_RDWR | O_CREAT | O_TRUNC, 0700);
    ck_assert_int_gt(write(fd, bytes, 2 + length + strlen(end)), 0);
    bool found = program_image_interpreter(fd, interpreter, size);
    if (found)
        ck_assert_uint_eq(strlen(interpreter), length);
    close(fd);
    return found;
}

START_TEST(an_interpreter_that_the_kernel_would_cut_is_none)
{
    ck_assert(is_interpreter_of_length(253, 400, "\n"));
    ck_assert(!is_interpreter_of_length(254, 400, "\n"));
    ck_assert(is_interpreter_of_length(253, 400, ""));
    ck_assert(!is_interpreter_of_length(300, 400, "\n"));
    ck_assert(is_interpreter_of_length(99, 100, "\n"));
    ck_assert(!is_interpreter_of_length(100, 100, "\n"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("program_image");
    TCase *tcase = tcase_create("files");
    descriptors_watch(tcase);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_program_runs_without_what_lies_behind_its_segments);
    tcase_add_test(tcase, what_is_appended_does_not_count);
    tcase_add_test(tcase, all_of_a_script_is_needed);
    tcase_add_test(tcase, all_of_a_program_for_another_machine_is_needed);
    tcase_add_loop_test(tcase, a_file_that_is_cut_off_is_as_long_as_it_is, 0, 6);
    tcase_add_test(tcase, what_cannot_be_looked_at_is_said);
    tcase_add_test(tcase, a_program_names_its_loader_and_nothing_else_does);
    tcase_add_loop_test(tcase, a_script_names_its_interpreter, 0,
                        sizeof first_lines / sizeof *first_lines);
    tcase_add_loop_test(tcase, a_script_names_what_env_looks_for, 0,
                        sizeof env_lines / sizeof *env_lines);
    tcase_add_test(tcase, an_interpreter_that_the_kernel_would_cut_is_none);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
