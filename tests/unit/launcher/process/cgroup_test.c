/* SPDX-License-Identifier: Apache-2.0 */
/* Where a group can be made, and that killing it reaches whoever is in it. The latter needs a
 * machine that allows it. And that a text of /proc is read once. */
#include "launcher/process/cgroup.h"
#include "launcher/process/spawn.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define V1 "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
#define V2 "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
#define PART "41 31 0:38 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n"

static const struct {
    const char *mountinfo, *membership, *path; /* NULL: not found */
} places[] = {
    { V2, "0::/\n", "/sys/fs/cgroup/unified/" },
    { V1 V2, "4:memory:/a\n0::/user.slice/x y\n", "/sys/fs/cgroup/unified/user.slice/x y" },
    { V2, "0::/a (deleted)\n", "/sys/fs/cgroup/unified/a (deleted)" },
    { PART, "0::/docker/abc\n", "/sys/fs/cgroup" },
    { PART, "0::/docker/abc/job\n", "/sys/fs/cgroup/job" },
    { PART, "0::/docker/abcd\n", NULL },
    { PART, "0::/\n", NULL },
    { V2, "0::/../other\n", NULL },
    { V2, "4:memory:/a\n", NULL },
    { V2, "", NULL },
    { V1, "0::/\n", NULL },
    { "", "0::/\n", NULL },
    { "noise - cgroup2 ", "0::/\n", NULL },
    { "41 31 0:38 / /a\\040b rw - cgroup2 cgroup2 rw\n", "0::/\n", NULL },
};

START_TEST(the_own_group_is_found_by_what_is_mounted_where)
{
    char path[4096];
    FILE *mountinfo =
        fmemopen((void *)(uintptr_t)places[_i].mountinfo, strlen(places[_i].mountinfo) + 1, "r");
    FILE *membership =
        fmemopen((void *)(uintptr_t)places[_i].membership, strlen(places[_i].membership) + 1, "r");
    bool found = cgroup_find(path, sizeof path, mountinfo, membership);
    ck_assert_int_eq(found, places[_i].path != NULL);
    if (found)
        ck_assert_str_eq(path, places[_i].path);
    fclose(mountinfo);
    fclose(membership);
}
END_TEST

/* ---- texts ---- */

enum { TEXT_SIZE = 50000 };

static void reads_numbers(FILE *text, int count)
{
    char line[16];
    for (int i = 0; i < count; i++) {
        ck_assert_ptr_nonnull(fgets(line, sizeof line, text));
        ck_assert_int_eq(atoi(line), i);
    }
    ck_assert_ptr_null(fgets(line, sizeof line, text));
}

START_TEST(a_text_is_read_when_it_is_opened_and_not_again)
{
    static const int counts[] = { 0, 1, TEXT_SIZE };
    char path[] = "/tmp/cgroup_test.XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    for (int i = 0; i < counts[_i]; i++)
        fprintf(file, "%d\n", i);
    fclose(file);
    FILE *text = cgroup_open_text(path);
    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(truncate(path, 0), 0);
    reads_numbers(text, counts[_i]);
    rewind(text);
    reads_numbers(text, counts[_i]);
    fclose(text);
    unlink(path);
}
END_TEST

static int ntexts; /* that were opened, less those that were closed */

FILE *__real_fmemopen(void *buffer, size_t size, const char *mode);
FILE *__wrap_fmemopen(void *buffer, size_t size, const char *mode);
int __real_fclose(FILE *file);
int __wrap_fclose(FILE *file);

FILE *__wrap_fmemopen(void *buffer, size_t size, const char *mode)
{
    ntexts++;
    return __real_fmemopen(buffer, size, mode);
}

int __wrap_fclose(FILE *file)
{
    ntexts--;
    return __real_fclose(file);
}

START_TEST(the_texts_that_are_read_to_make_a_group_are_closed)
{
    struct cgroup group;
    ntexts = 0;
    FILE *text = cgroup_open_text("/proc/self/mountinfo");
    ck_assert_int_eq(ntexts, 1);
    fclose(text);
    cgroup_make(&group);
    ck_assert_int_eq(ntexts, 0);
    cgroup_remove(&group);
}
END_TEST

START_TEST(what_cannot_be_read_is_no_text)
{
    ck_assert_ptr_null(cgroup_open_text("/no/such/text"));
    ck_assert_ptr_null(cgroup_open_text("/tmp"));
}
END_TEST

/* In the group, so far as one could be made. */
static pid_t start_sleeper(const struct cgroup *group)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    char *argv[] = { (char *)(uintptr_t) "sleep", (char *)(uintptr_t) "1000", NULL };
    struct spawn_request request = {
        .path = "/bin/sleep",
        .argv = argv,
        .envp = argv + 2,
        .stdio = { null, null, null },
        .cgroup = group->directory,
    };
    struct spawned spawned;
    ck_assert_int_eq(spawn_start(&request, &spawned, NULL), HVD_OK);
    ck_assert_int_eq(spawn_confirm(&spawned), 0);
    close(null);
    return spawned.pid;
}

static bool exists(const struct cgroup *group, const char *name)
{
    return faccessat(group->parent, name, F_OK, 0) == 0;
}

START_TEST(what_was_born_in_a_group_is_killed_with_it)
{
    struct cgroup group, copy;
    int status;
    cgroup_make(&group);
    if (!group.directory)
        return; /* not allowed here */
    pid_t pid = start_sleeper(&group);
    if (_i == 0)
        cgroup_kill(&group);
    else
        cgroup_kill_of(getpid());
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(WTERMSIG(status), SIGKILL);
    copy = group;
    copy.parent = dup(group.parent);
    ck_assert(exists(&copy, copy.name));
    cgroup_remove(&group);
    ck_assert(!exists(&copy, copy.name));
    close(copy.parent);
}
END_TEST

/* As in another process namespace, which need not see the processes of ours. */
START_TEST(a_group_of_another_namespace_is_let_be)
{
    struct cgroup group;
    char other[64];
    cgroup_make(&group);
    if (!group.directory)
        return;
    pid_t pid = start_sleeper(&group);
    snprintf(other, sizeof other, "hvd-%d-1-00000000", (int)getpid());
    ck_assert_int_eq(mkdirat(group.parent, other, 0755), 0);
    cgroup_remove_of(getpid());
    ck_assert(exists(&group, group.name)); /* it is not empty */
    cgroup_kill_of(getpid());
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    cgroup_remove_of(getpid());
    ck_assert(!exists(&group, group.name));
    ck_assert(exists(&group, other));
    ck_assert_int_eq(unlinkat(group.parent, other, AT_REMOVEDIR), 0);
    cgroup_remove(&group);
}
END_TEST

START_TEST(a_group_that_its_agent_left_behind_is_removed_by_another)
{
    struct cgroup group, left = { 0 };
    int pipe_ends[2];
    cgroup_make(&group);
    if (!group.directory)
        return;
    ck_assert_int_eq(pipe(pipe_ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        cgroup_make(&left);
        _exit(write(pipe_ends[1], left.name, sizeof left.name) != sizeof left.name);
    }
    ck_assert_int_eq(read(pipe_ends[0], left.name, sizeof left.name), sizeof left.name);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    left.parent = dup(group.parent);
    ck_assert(exists(&left, left.name));
    group.number = 0; /* it looks, however many groups there are */
    cgroup_remove(&group);
    ck_assert(!exists(&left, left.name));
    close(left.parent);
}
END_TEST

START_TEST(no_group_is_no_error)
{
    struct cgroup none = { 0 };
    cgroup_kill(&none);
    cgroup_remove(&none);
    pid_t pid = start_sleeper(&none);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

/* A descriptor that is no group's: the kernel refuses, the process is made nevertheless. */
START_TEST(a_group_that_cannot_be_entered_is_no_error)
{
    struct cgroup wrong = { .directory = open("/", O_RDONLY | O_CLOEXEC) };
    pid_t pid = start_sleeper(&wrong);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    close(wrong.directory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cgroup");
    TCase *tcase = tcase_create("cgroup");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, the_own_group_is_found_by_what_is_mounted_where, 0,
                        sizeof places / sizeof *places);
    tcase_add_loop_test(tcase, a_text_is_read_when_it_is_opened_and_not_again, 0, 3);
    tcase_add_test(tcase, the_texts_that_are_read_to_make_a_group_are_closed);
    tcase_add_test(tcase, what_cannot_be_read_is_no_text);
    tcase_add_loop_test(tcase, what_was_born_in_a_group_is_killed_with_it, 0, 2);
    tcase_add_test(tcase, a_group_of_another_namespace_is_let_be);
    tcase_add_test(tcase, a_group_that_its_agent_left_behind_is_removed_by_another);
    tcase_add_test(tcase, no_group_is_no_error);
    tcase_add_test(tcase, a_group_that_cannot_be_entered_is_no_error);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
