/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a discovery script: what is accepted, and the one line said about everything
 * else. */
#include "launcher/base/text_buffer.h"
#include "launcher/hosts/host_lines.h"
#include "tests/support/unit.h"

#include <string.h>

/* Parses a copy that ends exactly where the text does. Returns "user@name:slots,..." or the error;
 * the caller frees it. */
static char *parsed(const char *text, size_t length)
{
    struct text_buffer out = { 0 };
    struct host_list list;
    struct err err = { 0 };
    char *copy = malloc(length ? length : 1);
    memcpy(copy, text, length);
    int rc = host_list_parse_lines(&list, copy, length, 3, "script", &err);
    free(copy);
    for (int i = 0; i < list.count; i++)
        text_buffer_printf(&out, "%s%s%s%s:%d", i ? "," : "",
                           list.hosts[i].user ? list.hosts[i].user : "",
                           list.hosts[i].user ? "@" : "", list.hosts[i].name, list.hosts[i].slots);
    if (rc < 0) {
        ck_assert_int_eq(list.count, 0);
        text_buffer_put_string(&out, err.text);
    }
    host_list_fini(&list);
    return text_buffer_take(&out);
}

struct lines_case {
    const char *text, *expected;
};

static void expect(const struct lines_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *found = parsed(cases[i].text, strlen(cases[i].text));
        ck_assert_str_eq(found, cases[i].expected);
        free(found);
    }
}

#define EXPECT(cases) expect(cases, sizeof(cases) / sizeof *(cases))

START_TEST(hosts_are_read_in_their_order)
{
    static const struct lines_case cases[] = {
        { "", "" },
        { "\n\n", "" },
        { "a", "a:3" },
        { "a\n", "a:3" },
        { "a:2\nb:4\nc\n", "a:2,b:4,c:3" },
        { "\n  \n a:2 \t\n\nb:1\r\n\r\n", "a:2,b:1" },
        { "me@a.example:2\n[::1]:4\n127.0.0.1\n", "me@a.example:2,::1:4,127.0.0.1:3" },
    };
    EXPECT(cases);
}
END_TEST

START_TEST(a_line_that_repeats_another_is_ignored)
{
    static const struct lines_case cases[] = {
        { "a:2\na:2\n", "a:2" },
        { "b:1\na:2\nA:2\nb:1\na:2\nc:1\n", "b:1,a:2,c:1" },
        { "[::1]:1\n[0:0::1]:1\n", "::1:1" },
    };
    EXPECT(cases);
}
END_TEST

START_TEST(what_is_no_list_of_hosts_is_refused)
{
    static const struct lines_case cases[] = {
        { "a:2\na:3\n", "script:2:1: host 'a' is given twice, with 2 and 3 slots" },
        { "a\nme@a\n", "script:2:4: host 'a' is given twice, with two users" },
        { "a\n b:0\n", "script:2:4: bad slot count: 'b:0' (1 to 65536 after the colon)" },
        { "a:-1", "script:1:3: bad slot count: 'a:-1' (1 to 65536 after the colon)" },
        { "a:b:c", "script:1:3: bad slot count: 'a:b:c' (1 to 65536 after the colon)" },
        { "a:99999", "script:1:3: bad slot count: 'a:99999' (1 to 65536 after the colon)" },
        { "Traceback (most recent call last):", "script:1:10: bad character in host name: "
                                                "'Traceback (most recent call last):' (a line is "
                                                "HOST or HOST:SLOTS)" },
        { "a slots=2", "script:1:2: bad character in host name: 'a slots=2' (a line is HOST or "
                       "HOST:SLOTS)" },
        { "-oProxyCommand=x", "script:1:1: host name may not start with '-': "
                              "'-oProxyCommand=x'" },
        { "a;reboot", "script:1:2: bad character in host name: 'a;reboot'" },
    };
    EXPECT(cases);
}
END_TEST

START_TEST(a_byte_0_is_no_host)
{
    char *found = parsed("a\0b:1\n", 6);
    ck_assert_str_eq(found, "script:1:2: bad byte 0x00 in host name: 'a\\x00b:1'");
    free(found);
}
END_TEST

START_TEST(a_line_has_a_limit)
{
    char *text = malloc(HOSTFILE_LINE_MAX + 2);
    memset(text, 'a', HOSTFILE_LINE_MAX + 1);
    text[HOSTFILE_LINE_MAX + 1] = '\n';
    char *found = parsed(text, HOSTFILE_LINE_MAX + 2);
    ck_assert_ptr_nonnull(strstr(found, "script:1:1: line is too long: 'aaaa"));
    free(found);
    free(text);
}
END_TEST

/* Lines h0:1, h1:1, ...; the caller frees them. */
static char *many_hosts(int count)
{
    struct text_buffer text = { 0 };
    for (int i = 0; i < count; i++)
        text_buffer_printf(&text, "h%d:1\n", i);
    return text_buffer_take(&text);
}

START_TEST(there_may_be_ten_thousand_hosts_but_not_any_number)
{
    struct host_list list;
    struct err err = { 0 };
    char *text = many_hosts(10000);
    ck_assert_int_eq(host_list_parse_lines(&list, text, strlen(text), 1, "script", &err), HVD_OK);
    ck_assert_int_eq(list.count, 10000);
    ck_assert_str_eq(list.hosts[9999].name, "h9999");
    host_list_fini(&list);
    free(text);
    text = many_hosts(HOST_COUNT_MAX + 1);
    ck_assert_int_lt(host_list_parse_lines(&list, text, strlen(text), 1, "script", &err), 0);
    ck_assert_str_eq(err.text, "script: more than 16384 hosts");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_lines");
    TCase *tcase = tcase_create("host_lines");
    tcase_add_test(tcase, hosts_are_read_in_their_order);
    tcase_add_test(tcase, a_line_that_repeats_another_is_ignored);
    tcase_add_test(tcase, what_is_no_list_of_hosts_is_refused);
    tcase_add_test(tcase, a_byte_0_is_no_host);
    tcase_add_test(tcase, a_line_has_a_limit);
    tcase_add_test(tcase, there_may_be_ten_thousand_hosts_but_not_any_number);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
