/* SPDX-License-Identifier: Apache-2.0 */
/* Which texts are whole numbers and ranges of ports, and which verdict the others get. */
#include "launcher/base/number.h"

#include "tests/support/unit.h"

#include <string.h>

static const struct {
    const char *text;
    int min, max;
    enum number_verdict verdict;
    int value;
} rows[] = {
    { "0", 0, 9, NUMBER_OK, 0 },
    { "007", 1, 9, NUMBER_OK, 7 },
    { "5", 5, 5, NUMBER_OK, 5 },
    { "999999999", 0, 999999999, NUMBER_OK, 999999999 },
    { "4", 5, 9, NUMBER_OUT_OF_RANGE, 0 },
    { "10", 5, 9, NUMBER_OUT_OF_RANGE, 0 },
    { "0000000001", 0, 9, NUMBER_OUT_OF_RANGE, 0 },
    { "99999999999999999999", 0, 9, NUMBER_OUT_OF_RANGE, 0 },
    { "-5", 0, 9, NUMBER_OUT_OF_RANGE, 0 },
    { "", 0, 9, NUMBER_MALFORMED, 0 },
    { "-", 0, 9, NUMBER_MALFORMED, 0 },
    { "+5", 0, 9, NUMBER_MALFORMED, 0 },
    { " 5", 0, 9, NUMBER_MALFORMED, 0 },
    { "5 ", 0, 9, NUMBER_MALFORMED, 0 },
    { "0x5", 0, 9, NUMBER_MALFORMED, 0 },
    { "5/", 0, 9, NUMBER_MALFORMED, 0 },
    { "5:", 0, 9, NUMBER_MALFORMED, 0 },
};

START_TEST(a_number_has_digits_alone_and_lies_in_its_range)
{
    int value = -1;
    size_t length = strlen(rows[_i].text);
    ck_assert_int_eq(number_parse(&value, rows[_i].text, length, rows[_i].min, rows[_i].max),
                     rows[_i].verdict);
    ck_assert_int_eq(value, rows[_i].verdict == NUMBER_OK ? rows[_i].value : -1);
}
END_TEST

START_TEST(only_so_many_bytes_are_read)
{
    int value;
    ck_assert_int_eq(number_parse(&value, "12x", 2, 0, 99), NUMBER_OK);
    ck_assert_int_eq(value, 12);
    ck_assert_int_eq(number_parse(&value, "12", 0, 0, 99), NUMBER_MALFORMED);
}
END_TEST

static const struct {
    const char *text, *problem; /* NULL: there is none */
} ranges[] = {
    { "40000-40999", NULL },
    { "1-65535", NULL },
    { "7-7", NULL },
    { "", "not a range of ports" },
    { "7", "not a range of ports" },
    { "7-", "not a range of ports" },
    { "-7", "not a range of ports" },
    { "7-8-9", "not a range of ports" },
    { "0-7", "out of range" },
    { "7-65536", "out of range" },
    { "8-7", "range of ports is empty" },
};

START_TEST(a_range_of_ports_has_two_ends_in_order)
{
    int low = 0, high = 0;
    struct err err = { 0 };
    int rc = port_range_parse(&low, &high, ranges[_i].text, "--ports", &err);
    ck_assert_int_eq(rc, ranges[_i].problem ? HVD_ERR_INVALID : HVD_OK);
    if (ranges[_i].problem)
        ck_assert_msg(strstr(err.text, ranges[_i].problem), "%s", err.text);
    else
        ck_assert_int_le(low, high);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("number");
    TCase *tcase = tcase_create("number");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, a_number_has_digits_alone_and_lies_in_its_range, 0,
                        sizeof rows / sizeof *rows);
    tcase_add_test(tcase, only_so_many_bytes_are_read);
    tcase_add_loop_test(tcase, a_range_of_ports_has_two_ends_in_order, 0,
                        sizeof ranges / sizeof *ranges);
    return unit_run(suite);
}
