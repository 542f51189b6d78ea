/* SPDX-License-Identifier: Apache-2.0 */
/* Which names jobs can have, and those that nobody has given. */
#include "lib/base/job_id.h"

#include "lib/base/auth.h"
#include "tests/support/unit.h"

#include <string.h>

#define SIXTY "a123456789b123456789c123456789d123456789e123456789f123456789"

static const struct {
    const char *text;
    bool valid;
} names[] = {
    { "a", true },
    { "Z", true },
    { "0", true },
    { "train-7", true },
    { "2026.11.21_run", true },
    { "a..", true },
    { SIXTY "x.-_", true },
    { SIXTY "x.-_x", false },
    { "", false },
    { ".", false },
    { "..", false },
    { "-a", false },
    { "_a", false },
    { "a/b", false },
    { "a b", false },
    { "a:b", false },
    { "a%2e", false },
    { "a\n", false },
    { "a\x7f", false },
    { "gr\xc3\xbc\xc3\x9f", false },
};

START_TEST(a_name_can_stand_in_a_path_a_header_and_a_log)
{
    bool valid = job_id_valid(names[_i].text, strlen(names[_i].text));
    ck_assert_msg(valid == names[_i].valid, "'%s'", names[_i].text);
}
END_TEST

START_TEST(only_so_many_bytes_are_looked_at)
{
    ck_assert(job_id_valid("a/b", 1));
    ck_assert(!job_id_valid("ab", 0));
    ck_assert(!job_id_valid("a\0b", 3));
}
END_TEST

START_TEST(each_byte_has_its_place_or_none)
{
    for (int byte = 0; byte < 256; byte++) {
        char first[] = { (char)byte, 'a' }, second[] = { 'a', (char)byte };
        bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                     (byte >= '0' && byte <= '9');
        bool mark = byte == '.' || byte == '_' || byte == '-';
        ck_assert_msg(job_id_valid(first, 2) == plain, "%d", byte);
        ck_assert_msg(job_id_valid(second, 2) == (plain || mark), "%d", byte);
    }
}
END_TEST

START_TEST(a_generated_name_is_valid_and_new)
{
    char one[JOB_ID_SIZE], other[JOB_ID_SIZE];
    ck_assert_int_eq(auth_init(NULL), HVD_OK);
    job_id_generate(one);
    job_id_generate(other);
    ck_assert(job_id_valid(one, strlen(one)));
    ck_assert_str_ne(one, other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job_id");
    TCase *tcase = tcase_create("job_id");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, a_name_can_stand_in_a_path_a_header_and_a_log, 0,
                        sizeof names / sizeof *names);
    tcase_add_test(tcase, only_so_many_bytes_are_looked_at);
    tcase_add_test(tcase, each_byte_has_its_place_or_none);
    tcase_add_test(tcase, a_generated_name_is_valid_and_new);
    return unit_run(suite);
}
