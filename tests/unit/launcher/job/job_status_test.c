/* SPDX-License-Identifier: Apache-2.0 */
/* How far the hosts are, in one line. */
#include "launcher/job/job_status.h"
#include "tests/support/unit.h"

static const struct {
    struct job_status_host hosts[3];
    const char *text;
} rows[] = {
    { { { "a", STEP_WAITING, 0 }, { "b", STEP_WAITING, 0 }, { "c", STEP_WAITING, 0 } },
      "0 of 3 hosts ready, 0 connected; slowest: a (waiting, 5.0 s)" },
    { { { "a", STEP_READY, 0 }, { "b", STEP_LOGIN, 2000 }, { "c", STEP_CONNECT, 4000 } },
      "1 of 3 hosts ready, 2 connected; slowest: c (connect, 1.0 s)" },
    { { { "a", STEP_LOGIN, 4000 }, { "b", STEP_LOGIN, 2000 }, { "c", STEP_LOGIN, 3000 } },
      "0 of 3 hosts ready, 3 connected; slowest: b (login, 3.0 s)" },
    { { { "a", STEP_READY, 0 }, { "b", STEP_READY, 0 }, { "c", STEP_READY, 0 } },
      "3 of 3 hosts ready, 3 connected" },
    { { { "a", STEP_READY, 0 }, { "b", STEP_READY, 0 }, { "c", STEP_AGENT, 6000 } },
      "2 of 3 hosts ready, 3 connected; slowest: c (agent, 0.0 s)" },
};

START_TEST(the_host_that_has_come_least_far_is_named)
{
    char text[200];
    job_status_text(text, sizeof text, rows[_i].hosts, 3, 5000);
    ck_assert_str_eq(text, rows[_i].text);
}
END_TEST

START_TEST(a_line_that_is_too_short_is_cut)
{
    char text[10];
    job_status_text(text, sizeof text, rows[0].hosts, 3, 5000);
    ck_assert_str_eq(text, "0 of 3 ho");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job_status");
    TCase *tcase = tcase_create("job_status");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, the_host_that_has_come_least_far_is_named, 0,
                        (int)(sizeof rows / sizeof *rows));
    tcase_add_test(tcase, a_line_that_is_too_short_is_cut);
    return unit_run(suite);
}
