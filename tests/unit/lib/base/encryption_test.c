/* SPDX-License-Identifier: Apache-2.0 */
/* Of two settings one verdict follows, whoever asks. */
#include "lib/base/encryption.h"
#include "tests/support/unit.h"

static const struct {
    enum encryption one, other;
    enum encryption_verdict within, between; /* hosts */
} verdicts[] = {
    { ENCRYPTION_OFF, ENCRYPTION_OFF, LINK_PLAIN, LINK_PLAIN },
    { ENCRYPTION_OFF, ENCRYPTION_AUTO, LINK_PLAIN, LINK_PLAIN },
    { ENCRYPTION_OFF, ENCRYPTION_REQUIRE, LINK_REFUSED, LINK_REFUSED },
    { ENCRYPTION_AUTO, ENCRYPTION_AUTO, LINK_PLAIN, LINK_ENCRYPTED },
    { ENCRYPTION_AUTO, ENCRYPTION_REQUIRE, LINK_ENCRYPTED, LINK_ENCRYPTED },
    { ENCRYPTION_REQUIRE, ENCRYPTION_REQUIRE, LINK_ENCRYPTED, LINK_ENCRYPTED },
};

START_TEST(two_settings_have_one_verdict_whoever_asks)
{
    enum encryption one = verdicts[_i].one, other = verdicts[_i].other;
    ck_assert_int_eq(encryption_judge(one, other, false), verdicts[_i].within);
    ck_assert_int_eq(encryption_judge(other, one, false), verdicts[_i].within);
    ck_assert_int_eq(encryption_judge(one, other, true), verdicts[_i].between);
    ck_assert_int_eq(encryption_judge(other, one, true), verdicts[_i].between);
}
END_TEST

START_TEST(a_name_is_read_in_any_case_and_others_are_not)
{
    enum encryption encryption;
    ck_assert(encryption_parse("OFF", &encryption) && encryption == ENCRYPTION_OFF);
    ck_assert(encryption_parse("Auto", &encryption) && encryption == ENCRYPTION_AUTO);
    ck_assert(encryption_parse("require", &encryption) && encryption == ENCRYPTION_REQUIRE);
    ck_assert_str_eq(encryption_name(encryption), "require");
    ck_assert(!encryption_parse("", &encryption));
    ck_assert(!encryption_parse("on", &encryption));
    ck_assert(!encryption_parse("required", &encryption));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("encryption");
    TCase *tcase = tcase_create("encryption");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, two_settings_have_one_verdict_whoever_asks, 0,
                        sizeof verdicts / sizeof *verdicts);
    tcase_add_test(tcase, a_name_is_read_in_any_case_and_others_are_not);
    return unit_run(suite);
}
