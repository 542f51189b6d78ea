/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts as people write them: what is accepted, and the one line said about everything else. */
#include "launcher/base/bad_input.h"
#include "launcher/base/text_buffer.h"
#include "launcher/hosts/host_list.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LINE_MAX_BYTES = 300 - (int)sizeof "hvdrun: error: " };

/* Parses a copy that ends exactly where the text does, so that a sanitizer sees every byte read
 * beyond it. */
static int parse_exact(struct host_list *list, const char *text, size_t length, const char *file,
                       struct err *err)
{
    char *copy = malloc(length ? length : 1);
    memcpy(copy, text, length);
    int rc = file ? host_list_parse_hostfile(list, copy, length, file, err)
                  : host_list_parse(list, copy, length, "-H", err);
    free(copy);
    return rc;
}

/* "user@name:slots,..." of a list. */
static char *render(const struct host_list *list)
{
    struct text_buffer text = { 0 };
    for (int i = 0; i < list->count; i++) {
        const struct host_slots *host = &list->hosts[i];
        text_buffer_printf(&text, "%s%s%s%s:%d", i ? "," : "", host->user ? host->user : "",
                           host->user ? "@" : "", host->name, host->slots);
    }
    return text_buffer_take(&text);
}

struct good_case {
    const char *text;
    const char *hosts;
};

static void expect_good(const struct good_case *cases, size_t count, const char *file)
{
    for (size_t i = 0; i < count; i++) {
        struct host_list list;
        struct err err = { 0 };
        const char *text = cases[i].text;
        ck_assert_msg(parse_exact(&list, text, strlen(text), file, &err) == HVD_OK, "%s: %s", text,
                      err.text);
        char *hosts = render(&list);
        ck_assert_str_eq(hosts, cases[i].hosts);
        free(hosts);
        host_list_fini(&list);
    }
}

struct bad_case {
    const char *text;
    const char *error; /* without the source */
};

static void expect_error(const char *text, size_t length, const char *file, const char *error)
{
    struct host_list list;
    struct err err = { 0 };
    int rc = parse_exact(&list, text, length, file, &err);
    ck_assert_msg(rc == HVD_ERR_INVALID && err.code == rc, "accepted: %s", text);
    ck_assert_msg(!list.hosts && list.count == 0, "a failure leaves hosts behind: %s", text);
    ck_assert_msg(strlen(err.text) <= LINE_MAX_BYTES, "too long: %s", err.text);
    ck_assert_str_eq(err.text, error);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

START_TEST(lists_on_the_command_line_are_read)
{
    static const struct good_case cases[] = {
        { "localhost:2", "localhost:2" },
        { "a:1,b:2,c.example.org:65536", "a:1,b:2,c.example.org:65536" },
        { "a", "a:1" },
        { " a:1 ,\tb:2 ", "a:1,b:2" },
        { "user@a:1", "user@a:1" },
        { "first.last-x_y@a", "first.last-x_y@a:1" },
        { "[::1]:2", "::1:2" },
        { "[fe80::1%eth0]", "fe80::1%eth0:1" },
        { "me@[2001:db8::7]:3", "me@2001:db8::7:3" },
        { "127.0.0.1:4,192.0.2.1", "127.0.0.1:4,192.0.2.1:1" },
        { "worker_0:1,_a:1,a_:1,0a:1", "worker_0:1,_a:1,a_:1,0a:1" },
        { "a:007", "a:7" },
    };
    expect_good(cases, COUNT(cases), NULL);
}
END_TEST

START_TEST(bad_lists_are_refused_with_one_line)
{
    static const struct bad_case cases[] = {
        { "", "-H: no host given: ''" },
        { "  ", "-H: no host given: '  '" },
        { "a:1,,b:1", "-H: empty entry at position 2: 'a:1,,b:1'" },
        { ",a:1", "-H: empty entry at position 1: ',a:1'" },
        { "localhost:2,", "-H: empty entry at position 2: 'localhost:2,'" },
        { ":2", "-H: missing host name at column 1: ':2'" },
        { "localhost:",
          "-H: bad slot count at column 11: 'localhost:' (1 to 65536 after the colon)" },
        { "localhost:x",
          "-H: bad slot count at column 11: 'localhost:x' (1 to 65536 after the colon)" },
        { "a:1,b:0", "-H: bad slot count at column 7: 'b:0' (1 to 65536 after the colon)" },
        { "a:65537", "-H: bad slot count at column 3: 'a:65537' (1 to 65536 after the colon)" },
        { "a:-1", "-H: bad slot count at column 3: 'a:-1' (1 to 65536 after the colon)" },
        { "a:+1", "-H: bad slot count at column 3: 'a:+1' (1 to 65536 after the colon)" },
        { "a: 1", "-H: bad slot count at column 3: 'a: 1' (1 to 65536 after the colon)" },
        { "a:1.5", "-H: bad slot count at column 3: 'a:1.5' (1 to 65536 after the colon)" },
        { "a:two", "-H: bad slot count at column 3: 'a:two' (1 to 65536 after the colon)" },
        { "a:1:2", "-H: bad slot count at column 3: 'a:1:2' (1 to 65536 after the colon)" },
        { "a:99999999999999999999", "-H: bad slot count at column 3: "
                                    "'a:99999999999999999999' (1 to 65536 after the colon)" },
        { "a:1,a:1", "-H: host 'a' is given twice" },
        { "A:1,b:2,a:1", "-H: host 'a' is given twice" },
        { "me@a:1,you@a:1", "-H: host 'a' is given twice" },
        { "[::1]:1,[0:0::1]:1", "-H: host '0:0::1' is given twice" },
        { "::1:2",
          "-H: IPv6 address needs brackets at column 1: '::1:2' ([ADDRESS] or [ADDRESS]:SLOTS)" },
        { "a,fe80::1", "-H: IPv6 address needs brackets at column 3: 'fe80::1' "
                       "([ADDRESS] or [ADDRESS]:SLOTS)" },
        { "[::1", "-H: '[' without ']' at column 1: '[::1'" },
        { "[]:1", "-H: not an IPv6 address between the brackets at column 2: '[]:1'" },
        { "[a]:1", "-H: not an IPv6 address between the brackets at column 2: '[a]:1'" },
        { "[::1]2", "-H: bad character in host name at column 6: '[::1]2'" },
        { "[::1%]", "-H: bad zone of an IPv6 address at column 5: '[::1%]'" },
        { "[::1%$(id)]", "-H: bad zone of an IPv6 address at column 5: '[::1%$(id)]'" },
        { "x;touch /tmp/p:1", "-H: bad character in host name at column 2: 'x;touch /tmp/p:1' (a "
                              "comma stands between hosts)" },
        { "`id`:1", "-H: bad character in host name at column 1: '`id`:1'" },
        { "$(id):1", "-H: bad character in host name at column 1: '$(id):1'" },
        { "a b:1",
          "-H: bad character in host name at column 2: 'a b:1' (a comma stands between hosts)" },
        { "a%eth0", "-H: bad character in host name at column 2: 'a%eth0'" },
        { "a/b", "-H: bad character in host name at column 2: 'a/b'" },
        { "-oProxyCommand=x:1",
          "-H: host name may not start with '-' at column 1: '-oProxyCommand=x:1'" },
        { "@a:1", "-H: bad user name at column 1: '@a:1'" },
        { "a@b@c:1", "-H: bad user name at column 1: 'a@b@c:1'" },
        { "-x@a:1", "-H: bad user name at column 1: '-x@a:1'" },
        { "a@", "-H: missing host name at column 3: 'a@'" },
        { "a..b", "-H: empty label in host name at column 3: 'a..b'" },
        { "a.", "-H: empty label in host name at column 3: 'a.'" },
        { "a-.b", "-H: label of host name begins or ends with '-' at column 1: 'a-.b'" },
        { "4", "-H: neither a host name nor an IPv4 address at column 1: '4'" },
        { "1.2.3.256:1", "-H: neither a host name nor an IPv4 address at column 1: '1.2.3.256:1'" },
        { "b\xc3\xbc:1", "-H: bad byte 0xc3 in host name at column 2: 'b\\xc3\\xbc:1'" },
        { "a\n:1", "-H: bad byte 0x0a in host name at column 2: 'a\\x0a:1'" },
        { "a\x1b[31m", "-H: bad byte 0x1b in host name at column 2: 'a\\x1b[31m'" },
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_error(cases[i].text, strlen(cases[i].text), NULL, cases[i].error);
    expect_error("a\0b", 3, NULL, "-H: bad byte 0x00 in host name at column 2: 'a\\x00b'");
}
END_TEST

START_TEST(names_may_be_as_long_as_dns_allows)
{
    char name[256], error[400];
    struct host_list list;
    memset(name, 'a', sizeof name);
    ck_assert_int_eq(parse_exact(&list, name, 63, NULL, NULL), HVD_OK);
    host_list_fini(&list);
    snprintf(error, sizeof error,
             "-H: label of host name is too long at column 1: '%.64s' (at most 63 bytes)", name);
    expect_error(name, 64, NULL, error);
    for (int i = 63; i < 255; i += 64)
        name[i] = '.';
    ck_assert_int_eq(parse_exact(&list, name, 253, NULL, NULL), HVD_OK);
    host_list_fini(&list);
    snprintf(error, sizeof error,
             "-H: host name is too long at column 1: '%.64s...' (at most 253 bytes)", name);
    expect_error(name, 254, NULL, error);
}
END_TEST

START_TEST(the_source_is_the_option_as_the_user_wrote_it)
{
    struct host_list list;
    struct err err;
    ck_assert_int_lt(host_list_parse(&list, "", 0, "--hosts", &err), 0);
    ck_assert_str_eq(err.text, "--hosts: no host given: ''");
}
END_TEST

/* `count` different hosts, each followed by `separator`. */
static char *many_hosts(int count, const char *separator)
{
    struct text_buffer text = { 0 };
    for (int i = 0; i < count; i++)
        text_buffer_printf(&text, "%sh%d:65536", i ? separator : "", i);
    return text_buffer_take(&text);
}

START_TEST(as_many_hosts_as_allowed_with_all_slots_are_counted)
{
    char *text = many_hosts(HOST_COUNT_MAX, ",");
    struct host_list list;
    ck_assert_int_eq(host_list_parse(&list, text, strlen(text), "-H", NULL), HVD_OK);
    ck_assert_int_eq(list.count, HOST_COUNT_MAX);
    ck_assert_int_eq(host_list_slots(&list), HOST_COUNT_MAX * HOST_SLOTS_MAX);
    host_list_fini(&list);
    free(text);
}
END_TEST

static double cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

START_TEST(a_million_hosts_are_refused_at_once)
{
    char *text = many_hosts(1000000, ",");
    double start = cpu_seconds();
    expect_error(text, strlen(text), NULL, "-H: more than 16384 hosts");
    ck_assert_double_lt(cpu_seconds() - start, 1);
    free(text);
}
END_TEST

START_TEST(a_hundred_thousand_lines_take_less_than_half_a_second)
{
    struct text_buffer text = { 0 };
    for (int i = 0; i < 100000; i++)
        text_buffer_printf(&text, i % 8 ? "# %d\n" : "host%d slots=2 max_slots=4 # note\n", i);
    struct host_list list;
    double start = cpu_seconds();
    ck_assert_int_eq(host_list_parse_hostfile(&list, text.data, text.length, "h", NULL), HVD_OK);
    ck_assert_double_lt(cpu_seconds() - start, 0.5);
    ck_assert_int_eq(list.count, 12500);
    host_list_fini(&list);
    text_buffer_fini(&text);
}
END_TEST

START_TEST(hostfiles_of_all_habits_are_read)
{
    static const struct good_case cases[] = {
        { "a slots=2\nb slots=4\n", "a:2,b:4" },
        { "a:2\nb", "a:2,b:1" },
        { "a slots = 2\n", "a:2" },
        { "a\tslots\t=\t2\t\n", "a:2" },
        { "a Slots=2\n", "a:2" },
        { "# hosts\n\n  \t\na slots=2 # the big one\n#end", "a:2" },
        { "a slots=2\r\nb:3\r\n\r\n", "a:2,b:3" },
        { "\xef\xbb\xbf"
          "a slots=2\n",
          "a:2" },
        { "  a slots=2\n", "a:2" },
        { "a slots=2 max_slots=2\n", "a:2" },
        { "a max_slots=4 slots=2\n", "a:2" },
        { "a max_slots=1\n", "a:1" },
        { "a:2 max_slots=3\n", "a:2" },
        { "[::1]:2\nme@[fe80::1%eth0] slots=3\n", "::1:2,me@fe80::1%eth0:3" },
        { "a # \xc3\xbcmlaut\n", "a:1" },
        { "a#c\n", "a:1" },
    };
    expect_good(cases, COUNT(cases), "hosts");
}
END_TEST

START_TEST(bad_hostfiles_are_refused_naming_line_and_column)
{
    static const struct bad_case cases[] = {
        { "", "f: no host in the file" },
        { "# only\n\n", "f: no host in the file" },
        { "\xef\xbb\xbf", "f: no host in the file" },
        { "\xff\xfe"
          "a",
          "f: not a text file, but UTF-16" },
        { "a slots=two\n", "f:1:9: bad slot count: 'slots=two' (1 to 65536)" },
        { "\na slots=\n", "f:2:3: bad slot count: 'slots=' (1 to 65536)" },
        { "a slots=0", "f:1:9: bad slot count: 'slots=0' (1 to 65536)" },
        { "a slots==2", "f:1:9: bad slot count: 'slots==' (1 to 65536)" },
        { "a slots=2 slots=3", "f:1:11: slot count given twice: 'slots=3'" },
        { "a:2 slots=2", "f:1:5: slot count given twice: 'slots=2'" },
        { "a max_slots=2 slots=4 # x", "f:1:1: max_slots is less than slots: "
                                       "'a max_slots=2 slots=4'" },
        { "a foo=1", "f:1:3: unknown key: 'foo' (known are slots and max_slots)" },
        { "a 2", "f:1:3: unexpected word: '2' (expected slots=N)" },
        { "a =2", "f:1:3: unexpected word: '=' (expected slots=N)" },
        { "a slots=2 b", "f:1:11: unexpected word: 'b' (expected slots=N)" },
        { "include /etc/shadow", "f:1:9: unexpected word: '/etc/shadow' (expected slots=N)" },
        { "=2", "f:1:1: bad character in host name: '='" },
        { "b\n a slots=1\nA slots=1\n", "f:3:1: host 'A' is given twice, first in line 2" },
        { "c\nc\na\na\n", "f:2:1: host 'c' is given twice, first in line 1" },
        { "a:2,b:2\n", "f:1:3: bad slot count: 'a:2,b:2' (1 to 65536 after the colon)" },
        { "a,b\n", "f:1:2: bad character in host name: 'a,b'" },
        { "a\rb\r", "f:1:2: bad byte 0x0d in host name: 'a\\x0db'" },
        { "a\n\n-x slots=1", "f:3:1: host name may not start with '-': '-x'" },
        { "::1 slots=2", "f:1:1: IPv6 address needs brackets: '::1' "
                         "([ADDRESS] or [ADDRESS]:SLOTS)" },
        { "caf\xc3\xa9 slots=1", "f:1:4: bad byte 0xc3 in host name: 'caf\\xc3\\xa9'" },
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_error(cases[i].text, strlen(cases[i].text), "f", cases[i].error);
    expect_error("a\0\n", 3, "f", "f:1:2: not a text file (byte 0x00): 'a\\x00'");
}
END_TEST

START_TEST(a_line_that_is_too_long_is_refused)
{
    size_t length = 1 << 20;
    char *text = malloc(length);
    memset(text, 'a', length);
    char error[200];
    snprintf(error, sizeof error, "f:1:1: line is too long: '%.64s...' (at most 4096 bytes)", text);
    expect_error(text, length, "f", error);
    memset(text, '#', length);
    expect_error(text, HOSTFILE_LINE_MAX, "f", "f: no host in the file");
    free(text);
}
END_TEST

START_TEST(a_long_file_name_keeps_its_end_in_messages)
{
    char path[2000], text[200];
    struct host_list list;
    struct err err;
    memset(path, '\xfc', sizeof path);
    strcpy(path + sizeof path - 10, "/hosts.me");
    memset(text, '\xfc', sizeof text);
    ck_assert_int_lt(host_list_parse_hostfile(&list, text, sizeof text, path, &err), 0);
    ck_assert_msg(strlen(err.text) <= LINE_MAX_BYTES, "%zu: %s", strlen(err.text), err.text);
    ck_assert_msg(strstr(err.text, "/hosts.me:1:1: bad byte 0xfc in host name: '\\xfc") != NULL,
                  "%s", err.text);
}
END_TEST

START_TEST(every_truncation_of_a_good_file_is_read_or_refused)
{
    static const char text[] = "\xef\xbb\xbf# x\r\nme@[fe80::1%eth0]:2 max_slots = 4\n"
                               "a.b-c slots=3\n127.0.0.1:65536\n";
    for (size_t length = 0; length < sizeof text; length++) {
        struct host_list list;
        if (parse_exact(&list, text, length, "f", NULL) == HVD_OK)
            ck_assert_int_gt(list.count, 0);
        host_list_fini(&list);
    }
}
END_TEST

START_TEST(positions_are_kept)
{
    static const char text[] = "# x\n  me@a slots=3\n";
    struct host_list list;
    ck_assert_int_eq(host_list_parse_hostfile(&list, text, strlen(text), "f", NULL), HVD_OK);
    ck_assert_int_eq(list.hosts[0].line, 2);
    ck_assert_int_eq(list.hosts[0].column, 6);
    host_list_fini(&list);
}
END_TEST

START_TEST(a_local_list_is_localhost)
{
    struct host_list list;
    host_list_make_local(&list, 3);
    char *hosts = render(&list);
    ck_assert_str_eq(hosts, "localhost:3");
    free(hosts);
    host_list_fini(&list);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("host_list");
    TCase *command_line = tcase_create("command line"), *file = tcase_create("hostfile");
    tcase_add_test(command_line, lists_on_the_command_line_are_read);
    tcase_add_test(command_line, bad_lists_are_refused_with_one_line);
    tcase_add_test(command_line, names_may_be_as_long_as_dns_allows);
    tcase_add_test(command_line, the_source_is_the_option_as_the_user_wrote_it);
    tcase_add_test(command_line, as_many_hosts_as_allowed_with_all_slots_are_counted);
    tcase_add_test(command_line, a_million_hosts_are_refused_at_once);
    tcase_add_test(command_line, a_local_list_is_localhost);
    tcase_add_test(file, hostfiles_of_all_habits_are_read);
    tcase_add_test(file, bad_hostfiles_are_refused_naming_line_and_column);
    tcase_add_test(file, a_line_that_is_too_long_is_refused);
    tcase_add_test(file, a_long_file_name_keeps_its_end_in_messages);
    tcase_add_test(file, every_truncation_of_a_good_file_is_read_or_refused);
    tcase_add_test(file, positions_are_kept);
    tcase_add_test(file, a_hundred_thousand_lines_take_less_than_half_a_second);
    suite_add_tcase(suite, command_line);
    suite_add_tcase(suite, file);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
