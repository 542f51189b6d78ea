/* SPDX-License-Identifier: Apache-2.0 */
/* The table of --check-hosts. */
#include "launcher/job/host_check_table.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

static const struct host_check_row rows[] = {
    { .name = "login",
      .local = true,
      .ok = true,
      .step = STEP_READY,
      .facts = { 0, 2, "Linux x" } },
    { .name = "node-with-a-name",
      .ok = true,
      .step = STEP_READY,
      .facts = { 0, 64, "Linux x" },
      .clock_ms = -1500,
      .round_trip_us = 234 },
    { .name = "b", .step = STEP_LOGIN, .text = "no key is accepted" },
    { .name = "c", .step = STEP_NETWORK, .text = "no interface 'ib0'" },
    { .name = "d", .step = STEP_COMMAND, .text = "command not found: 'x'" },
};

enum { ROWS = sizeof rows / sizeof *rows };

/* What stands in line `number`, with single blanks. */
static char *line(const char *table, int number)
{
    static char text[400];
    size_t n = 0;
    while (number-- > 0)
        table = strchr(table, '\n') + 1;
    for (; *table != '\n' && n < sizeof text - 1; table++)
        if (*table != ' ' || (n > 0 && text[n - 1] != ' '))
            text[n++] = *table;
    text[n] = '\0';
    return text;
}

START_TEST(every_step_of_every_host_has_its_cell)
{
    char *table = host_check_table(rows, ROWS, true);
    ck_assert_str_eq(line(table, 0), "host resolve connect host key login agent directory command "
                                     "network round trip clock cores machine");
    ck_assert_str_eq(line(table, 1), "login - - - - ok ok ok ok 0.00 ms +0.0 s 2 Linux x");
    ck_assert_str_eq(line(table, 2),
                     "node-with-a-name ok ok ok ok ok ok ok ok 0.23 ms -1.5 s 64 Linux x");
    ck_assert_str_eq(line(table, 3), "b ok ok ok FAILED - - - - - - - -");
    ck_assert_str_eq(line(table, 4), "c ok ok ok ok ok ok ok FAILED - - - -");
    free(table);
}
END_TEST

START_TEST(what_failed_is_told_after_the_table)
{
    char *table = host_check_table(rows, ROWS, true);
    ck_assert_str_eq(line(table, 6), "b: login: no key is accepted");
    ck_assert_str_eq(line(table, 7), "c: network: no interface 'ib0'");
    ck_assert_str_eq(line(table, 8), "d: command not found: 'x'");
    free(table);
}
END_TEST

START_TEST(hosts_with_the_same_of_cuda_share_a_line)
{
    const struct host_check_row hosts[] = {
        { .name = "a", .ok = true, .facts.cuda = "driver: CUDA 12.4" },
        { .name = "b", .step = STEP_LOGIN, .text = "no key is accepted" },
        { .name = "c", .ok = true, .facts.cuda = "no driver" },
        { .name = "d", .ok = true, .facts.cuda = "driver: CUDA 12.4" },
        { .name = "e", .ok = true },
    };
    char *table = host_check_table(hosts, 5, true);
    ck_assert_str_eq(line(table, 7), "CUDA on a, d: driver: CUDA 12.4");
    ck_assert_str_eq(line(table, 8), "CUDA on c: no driver");
    ck_assert_str_eq(strstr(table, "CUDA on c"), "CUDA on c: no driver\n");
    free(table);
}
END_TEST

START_TEST(without_a_command_none_was_looked_for)
{
    char *table = host_check_table(rows, 1, false);
    ck_assert_str_eq(line(table, 1), "login - - - - ok ok - ok 0.00 ms +0.0 s 2 Linux x");
    free(table);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_check_table");
    TCase *tcase = tcase_create("host_check_table");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, every_step_of_every_host_has_its_cell);
    tcase_add_test(tcase, what_failed_is_told_after_the_table);
    tcase_add_test(tcase, hosts_with_the_same_of_cuda_share_a_line);
    tcase_add_test(tcase, without_a_command_none_was_looked_for);
    return unit_run(suite);
}
