/* SPDX-License-Identifier: Apache-2.0 */
/* The growing buffer, the memory under it, and the messages made of foreign text. */
#include "launcher/base/bad_input.h"
#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"
#include "tests/support/unit.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

START_TEST(an_empty_buffer_becomes_an_empty_string)
{
    struct text_buffer buffer;
    text_buffer_init(&buffer);
    text_buffer_put(&buffer, NULL, 0);
    text_buffer_consume(&buffer, 0);
    ck_assert_ptr_null(buffer.data);
    char *text = text_buffer_take(&buffer);
    ck_assert_str_eq(text, "");
    free(text);
    text_buffer_fini(&buffer);
    text_buffer_fini(&buffer);
}
END_TEST

START_TEST(what_is_put_comes_out_in_order)
{
    struct text_buffer buffer = { 0 };
    for (int i = 0; i < 1000; i++)
        text_buffer_printf(&buffer, "%03d", i);
    memcpy(text_buffer_reserve(&buffer, 3), "end", 3);
    buffer.length += 3;
    text_buffer_consume(&buffer, 2997);
    text_buffer_put_string(&buffer, ".");
    ck_assert_uint_eq(buffer.length, 7);
    char *text = text_buffer_take(&buffer);
    ck_assert_str_eq(text, "999end.");
    ck_assert_ptr_null(buffer.data);
    free(text);
}
END_TEST

START_TEST(copies_are_copies)
{
    char *whole = xstrdup("hosts"), *part = xstrndup("hosts", 4), *made = xasprintf("%d", 7);
    ck_assert_str_eq(whole, "hosts");
    ck_assert_str_eq(part, "host");
    ck_assert_str_eq(made, "7");
    ck_assert_ptr_null(xstrdup(NULL));
    free(whole);
    free(part);
    free(made);
}
END_TEST

#ifndef __SANITIZE_ADDRESS__ /* it ends the process in its own way */
START_TEST(no_memory_is_the_end_with_status_71)
{
    close(STDERR_FILENO);
    if (_i == 0)
        free(xmalloc(SIZE_MAX / 2));
    else if (_i == 1)
        free(xreallocarray(NULL, SIZE_MAX / 2, 4));
    else
        free(xcalloc(SIZE_MAX / 2, 4));
}
END_TEST
#endif

struct token_case {
    const char *text;
    const char *shown;
};

#define TEN(byte) byte byte byte byte byte byte byte byte byte byte

START_TEST(tokens_are_cut_and_escaped)
{
    static const struct token_case cases[] = {
        { "", "" },
        { "a b", "a b" },
        { "\x01\x7f\xff\n", "\\x01\\x7f\\xff\\x0a" },
        { TEN(TEN("a")), TEN("aaaaaa") "aaaa..." },
        { TEN("\xff\xff\xff"), TEN("\\xff\\xff") "\\xff\\xff\\xff..." },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct shown shown;
        const char *text = cases[i].text;
        ck_assert_str_eq(show_token(&shown, text, strlen(text)), cases[i].shown);
    }
}
END_TEST

START_TEST(a_message_never_exceeds_its_line)
{
    char text[400];
    struct err err;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ck_assert_int_eq(bad_input(&err, text, "%s", text), HVD_ERR_INVALID);
    ck_assert_uint_eq(strlen(err.text), BAD_INPUT_MAX);
    ck_assert_str_eq(err.text + BAD_INPUT_MAX - 4, "x...");
    ck_assert_int_eq(strncmp(err.text, "...xxx", 6), 0);
    ck_assert_int_eq(bad_input(&err, NULL, "%s", "alone"), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "alone");
    ck_assert_int_eq(bad_input(NULL, "a", "b"), HVD_ERR_INVALID);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("text_buffer");
    TCase *text = tcase_create("text");
    tcase_add_test(text, an_empty_buffer_becomes_an_empty_string);
    tcase_add_test(text, what_is_put_comes_out_in_order);
    tcase_add_test(text, copies_are_copies);
#ifndef __SANITIZE_ADDRESS__
    if (getenv("CK_FORK") == NULL)
        tcase_add_loop_exit_test(text, no_memory_is_the_end_with_status_71, EXIT_OUT_OF_MEMORY, 0,
                                 3);
#endif
    tcase_add_test(text, tokens_are_cut_and_escaped);
    tcase_add_test(text, a_message_never_exceeds_its_line);
    suite_add_tcase(suite, text);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
