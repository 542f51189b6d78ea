/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of hosts over time: a script that is run again and again, and a hostfile that
 * changes. The loop stops itself with the event that a test waits for. */
#include "launcher/elastic/discovery.h"

#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { INTERVAL_MS = 1 };

static char directory[] = "/tmp/discovery_test.XXXXXX";
static uv_loop_t loop;
static struct children *children;
static struct text_buffer events;
static int event_count, wanted;

static void on_event(void)
{
    if (++event_count == wanted)
        uv_stop(&loop);
}

static void on_hosts(void *context, const struct host_list *hosts)
{
    (void)context;
    text_buffer_put_string(&events, "[");
    for (int i = 0; i < hosts->count; i++)
        text_buffer_printf(&events, "%s%s:%d", i ? " " : "", hosts->hosts[i].name,
                           hosts->hosts[i].slots);
    text_buffer_put_string(&events, "]");
    on_event();
}

static void on_warning(void *context, const char *line)
{
    (void)context;
    text_buffer_printf(&events, "(%s)", line);
    on_event();
}

static const struct discovery_events listeners = { on_hosts, on_warning };

static void enter(void)
{
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_int_eq(chdir(directory), 0);
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    children = children_create(&loop);
}

/* Also a test that nothing keeps the loop. */
static void leave(void)
{
    char *command = xasprintf("rm -rf %s", directory);
    children_destroy(children);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    ck_assert_int_eq(system(command), 0);
    free(command);
    text_buffer_fini(&events);
    event_count = 0;
}

/* Lets `count` more events happen; returns all so far, which the caller frees. */
static char *wait_for(int count)
{
    wanted = event_count + count;
    uv_run(&loop, UV_RUN_DEFAULT);
    return text_buffer_take(&events);
}

static void expect_events(int count, const char *expected)
{
    char *seen = wait_for(count);
    ck_assert_str_eq(seen, expected);
    free(seen);
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen("new", "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(rename("new", name), 0);
}

START_TEST(a_script_is_run_again_and_again)
{
    const struct discovery_settings settings = {
        .command = "n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n >n; echo a:$n",
        .source = "script",
        .slots = 1
    };
    struct discovery *discovery =
        discovery_script_create(&loop, children, &settings, INTERVAL_MS, &listeners, NULL);
    expect_events(3, "[a:1][a:2][a:3]");
    discovery_destroy(discovery);
}
END_TEST

START_TEST(two_runs_never_overlap)
{
    const struct discovery_settings settings = {
        .command = "mkdir lock || exit 9; ls >/dev/null; echo a:1; rmdir lock",
        .source = "script",
        .slots = 1
    };
    struct discovery *discovery =
        discovery_script_create(&loop, children, &settings, INTERVAL_MS, &listeners, NULL);
    expect_events(10, "[a:1][a:1][a:1][a:1][a:1][a:1][a:1][a:1][a:1][a:1]");
    discovery_destroy(discovery);
}
END_TEST

START_TEST(a_failure_is_said_once_until_it_is_over)
{
    const struct discovery_settings settings = {
        .command = "n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n >n\n"
                   "case $n in 1|4|5) echo a:$n;; 2|3) exit 2;; *) echo 'b c';; esac",
        .source = "script",
        .slots = 1
    };
    struct discovery *discovery =
        discovery_script_create(&loop, children, &settings, INTERVAL_MS, &listeners, NULL);
    char *seen = wait_for(5);
    char *failed = strstr(seen, "exited with status 2; the hosts stay as they were)[a:4][a:5]");
    ck_assert_ptr_nonnull(failed);
    ck_assert_ptr_nonnull(strstr(seen, "[a:1](script: 'n="));
    ck_assert_ptr_nonnull(strstr(failed, "(script:1:2: bad character in host name: 'b c' (a line "
                                         "is HOST or HOST:SLOTS); the hosts stay as they were)"));
    free(seen);
    discovery_destroy(discovery);
}
END_TEST

START_TEST(each_kind_of_failure_is_said_once)
{
    const struct discovery_settings settings = {
        .command = "n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n >n\n"
                   "case $n in 1|2) exit 2;; 3|4) echo 'b c';; 5) exit 2;; *) echo a:$n;; esac",
        .source = "script",
        .slots = 1
    };
    struct discovery *discovery =
        discovery_script_create(&loop, children, &settings, INTERVAL_MS, &listeners, NULL);
    char *seen = wait_for(3);
    char *second = strstr(seen, "(script:1:2: bad character in host name: 'b c' (");
    ck_assert_ptr_nonnull(second);
    ck_assert_ptr_null(strstr(second, "exited with status 2"));
    ck_assert_ptr_nonnull(strstr(second, "[a:6]"));
    *second = '\0';
    ck_assert_ptr_nonnull(strstr(seen, "exited with status 2; the hosts stay as they were)"));
    free(seen);
    discovery_destroy(discovery);
}
END_TEST

START_TEST(the_end_comes_also_while_the_script_runs)
{
    const struct discovery_settings settings = { .command = "sleep 1000", .source = "script" };
    struct discovery *discovery =
        discovery_script_create(&loop, children, &settings, INTERVAL_MS, &listeners, NULL);
    uv_run(&loop, UV_RUN_ONCE);
    uv_run(&loop, UV_RUN_ONCE);
    discovery_destroy(discovery);
}
END_TEST

START_TEST(a_hostfile_is_read_when_it_has_changed)
{
    write_file("hosts", "a slots=2\n");
    struct discovery *discovery =
        discovery_hostfile_create(&loop, "hosts", INTERVAL_MS, &listeners, NULL);
    expect_events(1, "[a:2]");
    write_file("hosts", "a slots=2\nb:4\n");
    expect_events(1, "[a:2 b:4]");
    discovery_destroy(discovery);
}
END_TEST

START_TEST(a_hostfile_that_grows_in_place_is_read_again)
{
    write_file("hosts", "a\n");
    struct discovery *discovery =
        discovery_hostfile_create(&loop, "hosts", INTERVAL_MS, &listeners, NULL);
    expect_events(1, "[a:1]");
    FILE *file = fopen("hosts", "a");
    ck_assert_ptr_nonnull(file);
    fputs("b\n", file);
    ck_assert_int_eq(fclose(file), 0);
    expect_events(1, "[a:1 b:1]");
    discovery_destroy(discovery);
}
END_TEST

START_TEST(a_hostfile_that_is_bad_or_gone_changes_nothing)
{
    write_file("hosts", "a slots=2\n");
    struct discovery *discovery =
        discovery_hostfile_create(&loop, "hosts", INTERVAL_MS, &listeners, NULL);
    expect_events(1, "[a:2]");
    write_file("hosts", "a slots=x\n");
    char *seen = wait_for(1);
    ck_assert_ptr_nonnull(strstr(seen, "(hosts:1:9: bad slot count"));
    free(seen);
    write_file("hosts", "a slots=2 c\n");
    seen = wait_for(1);
    ck_assert_ptr_nonnull(strstr(seen, "(hosts:1:11: unexpected word: 'c'"));
    free(seen);
    write_file("hosts", "b\n");
    expect_events(1, "[b:1]");
    ck_assert_int_eq(unlink("hosts"), 0);
    expect_events(1,
                  "(hosts: cannot stat: no such file or directory; the hosts stay as they were)");
    write_file("hosts", "b\n");
    expect_events(1, "[b:1]");
    discovery_destroy(discovery);
}
END_TEST

START_TEST(the_end_comes_also_while_a_hostfile_is_looked_at)
{
    write_file("hosts", "a\n");
    struct discovery *discovery =
        discovery_hostfile_create(&loop, "hosts", INTERVAL_MS, &listeners, NULL);
    uv_run(&loop, UV_RUN_ONCE);
    discovery_destroy(discovery);
}
END_TEST

START_TEST(fixed_hosts_have_no_events)
{
    struct discovery *discovery = discovery_fixed_create();
    discovery_destroy(discovery);
    discovery_destroy(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("discovery");
    TCase *tcase = tcase_create("discovery");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, enter, leave);
    tcase_add_test(tcase, a_script_is_run_again_and_again);
    tcase_add_test(tcase, two_runs_never_overlap);
    tcase_add_test(tcase, a_failure_is_said_once_until_it_is_over);
    tcase_add_test(tcase, each_kind_of_failure_is_said_once);
    tcase_add_test(tcase, the_end_comes_also_while_the_script_runs);
    tcase_add_test(tcase, a_hostfile_is_read_when_it_has_changed);
    tcase_add_test(tcase, a_hostfile_that_grows_in_place_is_read_again);
    tcase_add_test(tcase, a_hostfile_that_is_bad_or_gone_changes_nothing);
    tcase_add_test(tcase, the_end_comes_also_while_a_hostfile_is_looked_at);
    tcase_add_test(tcase, fixed_hosts_have_no_events);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
