/* SPDX-License-Identifier: Apache-2.0 */
/* What of a foreign text may be shown. */
#include "lib/base/text.h"

#include "tests/support/unit.h"

#include <string.h>

static const struct {
    const char *bytes;
    size_t length; /* of the character; 0 for none */
} characters[] = {
    { "a", 1 },
    { "\n", 1 },
    { "\x7f", 1 },
    { "\xc3\xb6", 2 },
    { "\xdf\xbf", 2 },
    { "\xe2\x82\xac", 3 },
    { "\xe0\xa0\x80", 3 },
    { "\xed\x9f\xbf", 3 },
    { "\xef\xbf\xbf", 3 },
    { "\xf0\x9f\x98\x80", 4 },
    { "\xf4\x8f\xbf\xbf", 4 },
    { "", 0 },
    { "\x80", 0 }, /* begins in the middle */
    { "\xc3", 0 }, /* ends in the middle */
    { "\xc3z", 0 },
    { "\xe2\x82", 0 },
    { "\xe2\x82z", 0 },
    { "\xf0\x9f\x98", 0 },
    { "\xc0\x80", 0 }, /* longer than it need be */
    { "\xc1\xbf", 0 },
    { "\xe0\x9f\xbf", 0 },
    { "\xf0\x8f\xbf\xbf", 0 },
    { "\xed\xa0\x80", 0 },     /* a surrogate */
    { "\xf4\x90\x80\x80", 0 }, /* beyond the last */
    { "\xf5\x80\x80\x80", 0 },
    { "\xff", 0 },
};

START_TEST(a_character_of_utf8_is_as_long_as_it_is)
{
    const char *bytes = characters[_i].bytes;
    ck_assert_uint_eq(text_utf8_length(bytes, strlen(bytes)), characters[_i].length);
}
END_TEST

START_TEST(no_byte_beyond_the_length_is_looked_at)
{
    ck_assert_uint_eq(text_utf8_length("\xe2\x82\xac", 2), 0);
    ck_assert_uint_eq(text_utf8_length("a", 0), 0);
}
END_TEST

static const struct {
    const char *text, *ascii, *lines;
} texts[] = {
    { "", "", "" },
    { "plain text\n", "plain text?", "plain text\n" },
    { "\t\r\x1b[31m\x7f", "???[31m?", "???[31m?" },
    { "gr\xc3\xb6\xc3\x9f", "gr????", "gr\xc3\xb6\xc3\x9f" },
    { "\xc2\x9b"
      "2J",
      "??2J", "??2J" },
    { "\xc2\xa0", "??", "\xc2\xa0" },
    { "\xff\xfe\nx\xc3", "???x?", "??\nx?" },
    { "\xe2\x82", "??", "??" },
};

START_TEST(what_could_harm_becomes_a_question_mark)
{
    char text[32];
    strcpy(text, texts[_i].text);
    text_make_ascii(text);
    ck_assert_str_eq(text, texts[_i].ascii);
    strcpy(text, texts[_i].text);
    text_make_lines(text);
    ck_assert_str_eq(text, texts[_i].lines);
}
END_TEST

START_TEST(one_byte_beyond_ascii_is_seen_wherever_it_is)
{
    enum { LONGEST = 17 };
    char text[LONGEST + 1];
    for (size_t length = 0; length <= LONGEST; length++) {
        memset(text, 0x7f, length);
        text[length] = '\xc3';
        ck_assert(text_is_ascii(text, length));
        for (size_t at = 0; at < length; at++) {
            text[at] = '\x80';
            ck_assert(!text_is_ascii(text, length));
            text[at] = 'a';
        }
    }
}
END_TEST

START_TEST(a_newline_may_stay_or_not)
{
    char line[] = "one\ntwo \xe2\x82\xac\n", lines[] = "one\ntwo\n";
    text_make_line(line);
    text_make_lines(lines);
    ck_assert_str_eq(line, "one?two \xe2\x82\xac?");
    ck_assert_str_eq(lines, "one\ntwo\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *tcase = tcase_create("text");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, a_character_of_utf8_is_as_long_as_it_is, 0,
                        sizeof characters / sizeof *characters);
    tcase_add_test(tcase, no_byte_beyond_the_length_is_looked_at);
    tcase_add_loop_test(tcase, what_could_harm_becomes_a_question_mark, 0,
                        sizeof texts / sizeof *texts);
    tcase_add_test(tcase, one_byte_beyond_ascii_is_seen_wherever_it_is);
    tcase_add_test(tcase, a_newline_may_stay_or_not);
    return unit_run(suite);
}
