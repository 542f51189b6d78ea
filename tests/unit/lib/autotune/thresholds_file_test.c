/* SPDX-License-Identifier: Apache-2.0 */
/* The file of HVD_TUNING: what it may say, and what is said of anything else. */
#include "lib/autotune/thresholds_file.h"

#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct algorithm_thresholds before = { .small = 1, .large = 2, .tree = 3, .few = 4 };
static struct err err;

static int parse(struct algorithm_thresholds *thresholds, const char *text)
{
    *thresholds = before;
    return thresholds_parse(thresholds, text, strlen(text), "t", &err);
}

static void expect(const struct algorithm_thresholds *thresholds,
                   const struct algorithm_thresholds *wanted)
{
    ck_assert_uint_eq(thresholds->small, wanted->small);
    ck_assert_uint_eq(thresholds->large, wanted->large);
    ck_assert_uint_eq(thresholds->tree, wanted->tree);
    ck_assert_int_eq(thresholds->few, wanted->few);
}

static const struct {
    const char *text;
    struct algorithm_thresholds thresholds;
} good[] = {
    { "", before },
    { "\n\n # nothing\r\n", before },
    { "small=5", { 5, 2, 3, 4 } },
    { "  large\t=  1099511627776  # a comment\n", { 1, (size_t)1 << 40, 3, 4 } },
    { "few = 0\r\ntree = 0007\r\n", { 1, 2, 7, 0 } },
    { "small = 5\nlarge = 6\ntree = 7\nfew = 8\n", { 5, 6, 7, 8 } },
};

START_TEST(what_is_said_is_changed)
{
    struct algorithm_thresholds thresholds;
    ck_assert_msg(parse(&thresholds, good[_i].text) == HVD_OK, "%s", err.text);
    expect(&thresholds, &good[_i].thresholds);
}
END_TEST

static const struct {
    const char *text, *said;
} bad[] = {
    { "small", "HVD_TUNING: t:1: expected NAME = NUMBER: 'small'" },
    { "\n5", "HVD_TUNING: t:2: expected NAME = NUMBER: '5'" },
    { "huge = 5", "HVD_TUNING: t:1: expected small, large, tree or few: 'huge = 5'" },
    { "= 5", "expected small, large, tree or few: '= 5'" },
    { "Small = 5", "expected small, large, tree or few: 'Small = 5'" },
    { "small = 5\nsmall = 5", "HVD_TUNING: t:2: small is there twice" },
    { "small =", "expected a number from 0 to 1099511627776: 'small ='" },
    { "small = -1", "expected a number" },
    { "small = 5 6", "expected a number" },
    { "small = 5K", "expected a number" },
    { "small == 5", "expected a number" },
    { "small = 1099511627777", "expected a number from 0 to 1099511627776" },
    { "small = 99999999999999999999999999999999", "expected a number" },
    { "few = 65537", "expected a number from 0 to 65536" },
    { "\x1b[2J = 5", "'\\x1b[2J = 5'" },
};

START_TEST(anything_else_is_refused_and_changes_nothing)
{
    struct algorithm_thresholds thresholds;
    ck_assert_int_eq(parse(&thresholds, bad[_i].text), HVD_ERR_ENVIRONMENT);
    ck_assert_msg(strstr(err.text, bad[_i].said), "%s", err.text);
    expect(&thresholds, &before);
}
END_TEST

START_TEST(a_text_may_hold_any_bytes)
{
    char text[64];
    uint32_t state = 1;
    for (int round = 0; round < 20000; round++) {
        struct algorithm_thresholds thresholds = before;
        size_t length = (state >> 8) % sizeof text;
        for (size_t i = 0; i < length; i++) {
            state = state * 1664525 + 1013904223;
            text[i] = "small=few 0123\n#\xff"[(state >> 16) % 18];
        }
        thresholds_parse(&thresholds, text, length, "t", &err);
    }
}
END_TEST

static char path[] = "/tmp/thresholds_file_test.XXXXXX";

START_TEST(a_file_is_read)
{
    struct algorithm_thresholds thresholds = before;
    int fd = mkstemp(path);
    ck_assert_int_eq(write(fd, "small = 9\n", 10), 10);
    ck_assert_int_eq(thresholds_file_read(&thresholds, path, false, &err), HVD_OK);
    ck_assert_uint_eq(thresholds.small, 9);
    ck_assert_int_eq(ftruncate(fd, THRESHOLDS_FILE_MAX + 1), 0);
    ck_assert_int_eq(thresholds_file_read(&thresholds, path, false, &err), HVD_ERR_ENVIRONMENT);
    ck_assert_ptr_nonnull(strstr(err.text, "is larger than 16384 bytes"));
    close(fd);
    unlink(path);
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_named)
{
    struct algorithm_thresholds thresholds = before;
    ck_assert_int_eq(thresholds_file_read(&thresholds, "/no/such", false, &err),
                     HVD_ERR_ENVIRONMENT);
    ck_assert_str_eq(err.text, "HVD_TUNING: /no/such: open: No such file or directory");
    ck_assert_int_eq(thresholds_file_read(&thresholds, "/no/such", true, &err), HVD_OK);
    ck_assert_int_eq(thresholds_file_read(&thresholds, "/etc/passwd/x", true, &err),
                     HVD_ERR_ENVIRONMENT);
    ck_assert_int_eq(thresholds_file_read(&thresholds, "/dev/zero", false, &err),
                     HVD_ERR_ENVIRONMENT);
    ck_assert_str_eq(err.text, "HVD_TUNING: /dev/zero: is not a regular file");
    ck_assert_int_eq(thresholds_file_read(&thresholds, "/tmp", false, &err), HVD_ERR_ENVIRONMENT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("thresholds_file");
    TCase *tcase = tcase_create("file");
    descriptors_watch(tcase);
    tcase_add_loop_test(tcase, what_is_said_is_changed, 0, COUNT(good));
    tcase_add_loop_test(tcase, anything_else_is_refused_and_changes_nothing, 0, COUNT(bad));
    tcase_add_test(tcase, a_text_may_hold_any_bytes);
    tcase_add_test(tcase, a_file_is_read);
    tcase_add_test(tcase, a_file_that_cannot_be_read_is_named);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
