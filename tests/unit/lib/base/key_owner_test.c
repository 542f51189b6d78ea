/* SPDX-License-Identifier: Apache-2.0 */
/* What names the owner of a key, and what does not. */
#include "lib/base/key_owner.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <string.h>

#define ID_64 "x123456789012345678901234567890123456789012345678901234567890123"

static const struct {
    const char *text, *job;
    int worker;
} owners[] = {
    { "", "", -1 },
    { "train", "train", -1 },
    { "train/0", "train", 0 },
    { "train/12", "train", 12 },
    { "/7", "", 7 },
    { ID_64 "/1048575", ID_64, WORKER_NUMBER_MAX },
};

START_TEST(an_owner_is_a_job_or_a_worker_of_it)
{
    struct key_owner owner;
    char text[KEY_OWNER_SIZE];
    ck_assert(key_owner_parse(&owner, owners[_i].text, strlen(owners[_i].text)));
    ck_assert_str_eq(owner.job, owners[_i].job);
    ck_assert_int_eq(owner.worker, owners[_i].worker);
    key_owner_format(text, owner.job, owner.worker);
    ck_assert_str_eq(text, owners[_i].text);
}
END_TEST

static const char *const no_owners[] = {
    "/",
    "train/",
    "train/x",
    "train/-1",
    "train/01",
    "train/1/2",
    "train/ 1",
    "train/1 ",
    "train/+1",
    "train/1048576",
    "train//1",
    "-train/1",
    ".",
    ID_64 "x",
    ID_64 "x/1",
    "tr ain",
    "train/00000000",
    "train/1\n",
    "train/99999999999999999999",
};

START_TEST(whatever_else_is_none)
{
    struct key_owner owner;
    ck_assert(!key_owner_parse(&owner, no_owners[_i], strlen(no_owners[_i])));
}
END_TEST

START_TEST(a_zero_byte_ends_no_owner)
{
    struct key_owner owner;
    ck_assert(!key_owner_parse(&owner, "train\0/1", 8));
    ck_assert(!key_owner_parse(&owner, "train/1\0", 8));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("key_owner");
    TCase *tcase = tcase_create("key_owner");
    descriptors_watch(tcase);
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, an_owner_is_a_job_or_a_worker_of_it, 0,
                        sizeof owners / sizeof *owners);
    tcase_add_loop_test(tcase, whatever_else_is_none, 0, sizeof no_owners / sizeof *no_owners);
    tcase_add_test(tcase, a_zero_byte_ends_no_owner);
    return unit_run(suite);
}
