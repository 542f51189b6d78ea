/* SPDX-License-Identifier: Apache-2.0 */
/* What may be added, and what is refused for which reason. */
#include "rendezvous/store/add_request.h"
#include "tests/support/unit.h"

#include <string.h>

static const struct {
    const char *body;
    int64_t number;
} additions[] = {
    { "{\"add\": 2}", 2 },
    { " {\t\"add\" :-40\r\n} \n", -40 },
    { "{\"add\":0}", 0 },
    { "{\"add\":1e3}", 1000 },
    { "{\"add\":2.0}", 2 },
    { "{\"add\":-0}", 0 },
    { "{\"add\":0e01}", 0 },
    { "{\"add\":20.0E-01}", 2 },
    { "{\"add\":9007199254740991}", 9007199254740991 },
    { "{\"add\":-9007199254740991}", -9007199254740991 },
};

START_TEST(a_whole_number_is_read)
{
    const char *body = additions[_i].body;
    struct err err = { 0 };
    int64_t number = -1;
    ck_assert_int_eq(add_request_read(body, strlen(body), &number, &err), HVD_OK);
    ck_assert_int_eq(number, additions[_i].number);
}
END_TEST

#define RANGE "field \"add\": expected a whole number from -9007199254740991 to 9007199254740991"
#define NO_JSON "the body is no JSON; expected {\"add\": N}"
#define NO_OBJECT "the body is no object; expected {\"add\": N}"
#define MORE "more follows the body's JSON; expected {\"add\": N}"

static const struct {
    const char *body, *text;
} refusals[] = {
    { "{\"add\":9007199254740992}", RANGE },
    { "{\"add\":9007199254740993}", RANGE },
    { "{\"add\":-9007199254740993}", RANGE },
    { "{\"add\":1e999}", RANGE },
    { "{\"add\":1.5}", RANGE },
    { "{\"add\":\"1\"}", RANGE },
    { "{\"add\":true}", RANGE },
    { "{\"add\":null}", RANGE },
    { "{\"add\":[1]}", RANGE },
    { "{\"add\":{\"add\":1}}", RANGE },
    { "{}", "field \"add\" is missing; expected {\"add\": N}" },
    { "{\"Add\":1}", "field \"Add\" is not known; expected {\"add\": N}" },
    { "{\"add\":1,\"x\":2}", "field \"x\" is not known; expected {\"add\": N}" },
    { "{\"x\":2,\"add\":1}", "field \"x\" is not known; expected {\"add\": N}" },
    { "{\"\":2}", "field \"\" is not known; expected {\"add\": N}" },
    { "{\"add\":1,\"add\":1}", "field \"add\" is there twice; expected {\"add\": N}" },
    { "{\"add\\u0000x\":1}", NO_JSON },
    { "{\"\\u0061dd\":1}", NO_JSON },
    { "\xef\xbb\xbf{\"add\":1}", NO_JSON },
    { "{\"add\":1\v}", NO_JSON },
    { "", NO_JSON },
    { " ", NO_JSON },
    { "{", NO_JSON },
    { "{\"add\":}", NO_JSON },
    { "{\"add\":1", NO_JSON },
    { "{\"add\":+1}", NO_JSON },
    { "{\"add\":02}", NO_JSON },
    { "{\"add\":-02}", NO_JSON },
    { "{\"add\":00}", NO_JSON },
    { "{\"add\":-}", NO_JSON },
    { "{\"add\":-.0}", NO_JSON },
    { "{\"add\":1.}", NO_JSON },
    { "{\"add\":1.e1}", NO_JSON },
    { "{\"add\":1e}", NO_JSON },
    { "{\"add\":1e+}", NO_JSON },
    { "{\"add\":1-1}", NO_JSON },
    { "{\"02\":1}", "field \"02\" is not known; expected {\"add\": N}" },
    { "{\"add\":0x10}", NO_JSON },
    { "{\"add\":NaN}", NO_JSON },
    { "{add:1}", NO_JSON },
    { "{'add':1}", NO_JSON },
    { "{\"add\":1,}", NO_JSON },
    { "1", NO_OBJECT },
    { "[{\"add\":1}]", NO_OBJECT },
    { "\"add\"", NO_OBJECT },
    { "null", NO_OBJECT },
    { "{\"add\":1}{\"add\":1}", MORE },
    { "{\"add\":1} x", MORE },
};

static void expect_refusal(const char *body, size_t length, const char *text)
{
    struct err err = { 0 };
    int64_t number = -1;
    ck_assert_int_eq(add_request_read(body, length, &number, &err), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, text);
    ck_assert_int_eq(number, -1);
}

START_TEST(anything_else_is_refused)
{
    expect_refusal(refusals[_i].body, strlen(refusals[_i].body), refusals[_i].text);
}
END_TEST

START_TEST(every_part_of_a_body_is_refused)
{
    static const char body[] = "{\"add\": 12}";
    for (size_t length = 0; length < sizeof body - 1; length++) {
        char *exact = malloc(length + 1); /* so that a byte too far is seen */
        memcpy(exact + 1, body, length);
        expect_refusal(exact + 1, length, NO_JSON);
        free(exact);
    }
    expect_refusal(NULL, 0, NO_JSON);
}
END_TEST

START_TEST(bytes_that_are_no_text_are_refused)
{
    static const char body[] = "{\"add\":1}";
    for (int byte = 0; byte < 256; byte++) {
        char changed[sizeof body];
        memcpy(changed, body, sizeof body);
        changed[3] = (char)byte; /* a letter of the name */
        struct err err = { 0 };
        int64_t number;
        int rc = add_request_read(changed, sizeof body - 1, &number, &err);
        ck_assert_int_eq(rc, byte == 'd' ? HVD_OK : HVD_ERR_INVALID);
        for (const char *at = err.text; *at; at++)
            ck_assert(*at >= ' ' && *at <= '~');
    }
}
END_TEST

START_TEST(of_the_number_only_digits_are_taken)
{
    static const char body[] = "{\"add\":1}";
    for (int byte = 0; byte < 256; byte++) {
        char changed[sizeof body];
        memcpy(changed, body, sizeof body);
        changed[7] = (char)byte;
        struct err err = { 0 };
        int64_t number;
        int rc = add_request_read(changed, sizeof body - 1, &number, &err);
        ck_assert_int_eq(rc, byte >= '0' && byte <= '9' ? HVD_OK : HVD_ERR_INVALID);
    }
}
END_TEST

START_TEST(depth_and_length_have_a_limit)
{
    static char body[ADD_REQUEST_MAX + 1];
    memset(body, '[', sizeof body);
    expect_refusal(body, ADD_REQUEST_MAX, NO_JSON);
    memset(body, '1', sizeof body);
    expect_refusal(body, ADD_REQUEST_MAX + 1, NO_JSON);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("add_request");
    tcase_add_loop_test(tcase, a_whole_number_is_read, 0, sizeof additions / sizeof *additions);
    tcase_add_loop_test(tcase, anything_else_is_refused, 0, sizeof refusals / sizeof *refusals);
    tcase_add_test(tcase, every_part_of_a_body_is_refused);
    tcase_add_test(tcase, bytes_that_are_no_text_are_refused);
    tcase_add_test(tcase, of_the_number_only_digits_are_taken);
    tcase_add_test(tcase, depth_and_length_have_a_limit);
    Suite *all = suite_create("add_request");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
