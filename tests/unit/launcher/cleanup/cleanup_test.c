/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the table of cleanup.c, with searches that find as many processes as a test says. */
#include "launcher/cleanup/cleanup.h"

#include "launcher/cleanup/orphans.h"
#include "launcher/process/process_tree.h"
#include "tests/support/unit.h"

#include <signal.h>

static const char *const descent = "descent", *const environment = "environment";

/* What a row promises. */
static const struct {
    const char *found_by;
    uint64_t ask_ms, kill_ms;
    int clean_checks; /* 0: never over by itself before its time is up */
} rows[CLEANUP_CASES] = {
    [CLEANUP_REMOTE_AGENT] = { "descent", 0, 5000, 0 },
    [CLEANUP_LOCAL_AGENT] = { "descent", 0, 2000, 1 },
    [CLEANUP_AGENT_AND_SUPERVISOR] = { "environment", 0, 2000, 4 },
    [CLEANUP_HVDRUN] = { "environment", 3000, 2000, 4 },
};

static const pid_t spared[] = { 17, 4 };
static const struct string_list variables;
static const struct cleanup_search search = { spared, 2, &variables };

static int found;            /* by every search */
static int signalled;        /* with what, the last time */
static const char *searched; /* how, the last time */
static struct cleanup cleanup;
static uint64_t now_ms;

int __wrap_process_tree_signal(int signum, const pid_t *list, int count);
int __wrap_orphans_signal(int signum, const struct string_list *list);

int __wrap_process_tree_signal(int signum, const pid_t *list, int count)
{
    ck_assert_ptr_eq(list, spared);
    ck_assert_int_eq(count, 2);
    searched = descent;
    signalled = signum;
    return found;
}

int __wrap_orphans_signal(int signum, const struct string_list *list)
{
    ck_assert_ptr_eq(list, &variables);
    searched = environment;
    signalled = signum;
    return found;
}

static void begin(int which, int left)
{
    now_ms = 1000000;
    found = left;
    cleanup_start(&cleanup, (enum cleanup_case)which, now_ms);
}

static bool check_after(uint64_t ms)
{
    now_ms += ms;
    return cleanup_check(&cleanup, &search, now_ms);
}

START_TEST(processes_are_found_as_the_row_says)
{
    begin(_i, 1);
    check_after(0);
    ck_assert_str_eq(searched, rows[_i].found_by);
}
END_TEST

START_TEST(sigterm_is_sent_once_and_sigkill_from_its_time_on)
{
    begin(_i, 1);
    for (uint64_t at = 0; at < rows[_i].ask_ms; at += CLEANUP_CHECK_MS) {
        ck_assert(check_after(at == 0 ? 0 : CLEANUP_CHECK_MS));
        ck_assert_int_eq(signalled, at == 0 ? SIGTERM : 0);
    }
    for (int i = 0; i < 3; i++) {
        ck_assert(check_after(CLEANUP_CHECK_MS));
        ck_assert_int_eq(signalled, SIGKILL);
    }
}
END_TEST

START_TEST(it_is_given_up_in_time_and_says_how_many_are_left)
{
    begin(_i, 3);
    uint64_t end_ms = now_ms + rows[_i].ask_ms + rows[_i].kill_ms;
    while (now_ms + CLEANUP_CHECK_MS < end_ms)
        ck_assert(check_after(CLEANUP_CHECK_MS));
    ck_assert(!check_after(CLEANUP_CHECK_MS));
    ck_assert_int_eq(cleanup.left, 3);
}
END_TEST

START_TEST(it_is_over_when_enough_checks_in_a_row_find_nothing)
{
    begin(_i, 1);
    ck_assert(check_after(0));
    found = 0;
    for (int i = 1; i < rows[_i].clean_checks; i++)
        ck_assert(check_after(CLEANUP_CHECK_MS));
    found = 2; /* which the searches before have missed */
    ck_assert(check_after(CLEANUP_CHECK_MS));
    found = 0;
    for (int i = 1; i < rows[_i].clean_checks; i++)
        ck_assert(check_after(CLEANUP_CHECK_MS));
    ck_assert_int_eq(check_after(CLEANUP_CHECK_MS), rows[_i].clean_checks == 0);
    ck_assert_int_eq(cleanup.left, 0);
}
END_TEST

START_TEST(time_in_which_the_process_did_not_run_does_not_count)
{
    begin(_i, 1);
    ck_assert(check_after(0));
    ck_assert(check_after(3600000));
    ck_assert(check_after(3600000));
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("cleanup");
    TCase *table = tcase_create("table");
    tcase_add_loop_test(table, processes_are_found_as_the_row_says, 0, CLEANUP_CASES);
    tcase_add_loop_test(table, sigterm_is_sent_once_and_sigkill_from_its_time_on, 0, CLEANUP_CASES);
    tcase_add_loop_test(table, it_is_given_up_in_time_and_says_how_many_are_left, 0, CLEANUP_CASES);
    tcase_add_loop_test(table, it_is_over_when_enough_checks_in_a_row_find_nothing, 0,
                        CLEANUP_CASES);
    tcase_add_loop_test(table, time_in_which_the_process_did_not_run_does_not_count, 0,
                        CLEANUP_CASES);
    suite_add_tcase(suite, table);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
