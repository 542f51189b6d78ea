/* SPDX-License-Identifier: Apache-2.0 */
/* Times as a person reads them: three digits, or all seconds. */
#include "launcher/base/shown_seconds.h"
#include "tests/support/unit.h"

#include <stdio.h>

static const struct {
    uint64_t ms;
    const char *text;
} times[] = {
    { 0, "0" },         { 4, "0" },
    { 250, "0.25" },    { 5000, "5" },
    { 6500, "6.5" },    { 9994, "9.99" },
    { 9995, "10" },     { 12345, "12.3" },
    { 99940, "99.9" },  { 99950, "100" },
    { 123456, "123" },  { 999499, "999" },
    { 999500, "1000" }, { 21600000, "21600" },
};

START_TEST(a_time_has_three_digits_or_all_its_seconds)
{
    char text[32];
    snprintf(text, sizeof text, "%g", shown_seconds(times[_i].ms));
    ck_assert_str_eq(text, times[_i].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shown_seconds");
    TCase *tcase = tcase_create("times");
    tcase_add_loop_test(tcase, a_time_has_three_digits_or_all_its_seconds, 0,
                        sizeof times / sizeof *times);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
