/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the lines of a head. The rows of tests/bad/http.tsv have whole requests. */
#include "rendezvous/http/http_head.h"
#include "tests/support/unit.h"

#include <stdio.h>

/* What RFC 9110 allows in a method and in the name of a header, besides letters and digits. */
static const char marks[] = "!#$%&'*+-.^_`|~";

static bool is_of_a_token(int byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z') || (byte != 0 && strchr(marks, byte));
}

/* A byte at the beginning, in the middle and at the end of a token. */
static struct http_text put_byte(char *text, size_t size, const char *row, int byte)
{
    int n = snprintf(text, size, row, byte, byte, byte);
    return (struct http_text){ text, (size_t)n };
}

START_TEST(a_method_has_the_bytes_of_a_token_and_no_others)
{
    struct http_request_line parts;
    char text[40];
    for (int byte = 1; byte < 256; byte++)
        ck_assert_msg(
            http_request_line_split(put_byte(text, sizeof text, "%cG%cT%c / HTTP/1.1", byte),
                                    &parts) == is_of_a_token(byte),
            "byte %d", byte);
}
END_TEST

START_TEST(a_version_is_two_digits_around_a_period)
{
    struct http_request_line parts;
    char text[] = "GET / HTTP/1.1";
    const size_t length = sizeof text - 1;
    for (int byte = 1; byte < 256; byte++)
        for (size_t at = length - 3; at < length; at++) {
            char kept = text[at];
            text[at] = (char)byte;
            ck_assert_msg(http_request_line_split((struct http_text){ text, length }, &parts) ==
                              (at == length - 2 ? byte == '.' : byte >= '0' && byte <= '9'),
                          "byte %d in %s", byte, text);
            text[at] = kept;
        }
}
END_TEST

/* A colon ends the name, so that what follows is a value, unless the name is empty. */
START_TEST(the_name_of_a_header_has_the_bytes_of_a_token_and_no_others)
{
    struct http_header header;
    char text[40];
    for (int byte = 1; byte < 256; byte++)
        ck_assert_msg(http_header_split(put_byte(text, sizeof text, "%cna%cme%c: value", byte),
                                        &header) == is_of_a_token(byte),
                      "byte %d", byte);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("http_head");
    TCase *lines = tcase_create("lines");
    tcase_add_test(lines, a_method_has_the_bytes_of_a_token_and_no_others);
    tcase_add_test(lines, a_version_is_two_digits_around_a_period);
    tcase_add_test(lines, the_name_of_a_header_has_the_bytes_of_a_token_and_no_others);
    suite_add_tcase(suite, lines);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
