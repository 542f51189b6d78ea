/* SPDX-License-Identifier: Apache-2.0 */
/* Which counters of the kernel are read, and what counts as rising. The files are the test's.
 * Linked with -Wl,--wrap=fmemopen,--wrap=fclose. */
#include "launcher/process/oom_counter.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define V2 "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
#define V1                                                                                         \
    "33 31 0:30 / /cg/cpu rw - cgroup cgroup rw,cpu\n34 31 0:31 / /cg/memory rw - cgroup cgroup "  \
    "rw,memory\n"

static struct oom_counter counter;
static char path[] = "/tmp/oom_counter.XXXXXX";

static void setup(void)
{
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    close(mkstemp(path));
}

static void teardown(void)
{
    oom_counter_fini(&counter);
    unlink(path);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

static FILE *text_file(const char *text)
{
    return fmemopen((void *)(uintptr_t)text, strlen(text) + 1, "r");
}

static const struct {
    const char *mountinfo, *membership;
    const char *v2, *v1;
} places[] = {
    { V2, "0::/a\n", "/sys/fs/cgroup/a/memory.events", NULL },
    { V1 V2, "4:memory:/b\n3:cpu:/c\n0::/a\n", "/sys/fs/cgroup/a/memory.events",
      "/cg/memory/b/memory.oom_control" },
    { V1, "4:cpu,memory:/b\n", NULL, "/cg/memory/b/memory.oom_control" },
    { V1, "4:cpu,memoryless:/b\n", NULL, NULL },
    { "", "", NULL, NULL },
};

START_TEST(the_counters_of_the_own_groups_are_found)
{
    FILE *mountinfo = text_file(places[_i].mountinfo);
    FILE *membership = text_file(places[_i].membership);
    oom_counter_find(&counter, path, mountinfo, membership);
    fclose(mountinfo);
    fclose(membership);
    ck_assert_str_eq(counter.paths[0], path);
    ck_assert_pstr_eq(counter.paths[1], places[_i].v2);
    ck_assert_pstr_eq(counter.paths[2], places[_i].v1);
}
END_TEST

START_TEST(each_kill_is_told_once)
{
    write_file("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
    oom_counter_find(&counter, path, NULL, NULL);
    oom_counter_begin(&counter);
    ck_assert(!oom_counter_rose(&counter));
    write_file("nr_free_pages 5\noom_kill 9\n");
    ck_assert(oom_counter_rose(&counter));
    ck_assert(oom_counter_rose(&counter));
    ck_assert(!oom_counter_rose(&counter));
    write_file("oom_kill 10");
    ck_assert(oom_counter_rose(&counter));
    ck_assert(!oom_counter_rose(&counter));
}
END_TEST

START_TEST(what_cannot_be_read_never_rises)
{
    ck_assert(!oom_counter_rose(&counter));
    write_file("oom_kill 5\n");
    oom_counter_find(&counter, path, NULL, NULL);
    oom_counter_begin(&counter);
    write_file("oom_kill\noom_kill x\noom_killed 9\n");
    ck_assert(!oom_counter_rose(&counter));
    unlink(path);
    ck_assert(!oom_counter_rose(&counter));
}
END_TEST

START_TEST(a_counter_that_appears_later_begins_at_0)
{
    write_file("nr_free_pages 5\n");
    oom_counter_find(&counter, path, NULL, NULL);
    oom_counter_begin(&counter);
    ck_assert_uint_eq(counter.before[0], 0);
    write_file("oom_kill 1\n");
    ck_assert(oom_counter_rose(&counter));
    ck_assert(!oom_counter_rose(&counter));
}
END_TEST

/* Texts that were opened, less those that were closed (--wrap). */
static int ntexts;
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

START_TEST(this_machine_has_a_counter_or_none)
{
    ntexts = 0;
    oom_counter_find_own(&counter);
    ck_assert_int_eq(ntexts, 0);
    oom_counter_begin(&counter);
    oom_counter_rose(&counter);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("oom_counter");
    TCase *tcase = tcase_create("counters");
    descriptors_watch(tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, the_counters_of_the_own_groups_are_found, 0,
                        (int)(sizeof places / sizeof *places));
    tcase_add_test(tcase, each_kill_is_told_once);
    tcase_add_test(tcase, what_cannot_be_read_never_rises);
    tcase_add_test(tcase, a_counter_that_appears_later_begins_at_0);
    tcase_add_test(tcase, this_machine_has_a_counter_or_none);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
