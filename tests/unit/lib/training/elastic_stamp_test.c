/* SPDX-License-Identifier: Apache-2.0 */
/* Whose state wins: the newest commit, from the lowest rank that holds it. */
#include "lib/training/elastic_stamp.h"

#include "tests/support/unit.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))
#define NONE                                                                                       \
    {                                                                                              \
        ELASTIC_EPOCH_NONE, 0                                                                      \
    }

static const struct {
    struct elastic_stamp stamps[4];
    int size, root;
    bool differs;
} worlds[] = {
    { { NONE }, 1, -1, false },
    { { NONE, NONE, NONE }, 3, -1, false },
    { { { 0, 5 } }, 1, 0, false },
    { { { 0, 5 }, { 0, 5 }, { 0, 5 } }, 3, 0, false },
    { { { 0, 5 }, { 0, 6 }, { 0, 6 } }, 3, 1, true },       /* rank 0 was slower */
    { { { 0, 6 }, { 0, 5 }, NONE }, 3, 0, true },           /* rank 2 is new */
    { { NONE, { 0, 0 }, NONE }, 3, 1, true },               /* only rank 1 has been here before */
    { { { 2, 0 }, { 1, 99 }, { 2, 0 } }, 3, 0, true },      /* rank 1 was cut off in epoch 1 */
    { { { 1, 99 }, { 2, 0 }, { 2, 1 }, NONE }, 4, 2, true } /* all of it */
};

START_TEST(the_lowest_rank_with_the_newest_commit_is_the_root)
{
    ck_assert_int_eq(elastic_stamp_root(worlds[_i].stamps, worlds[_i].size), worlds[_i].root);
}
END_TEST

START_TEST(a_rank_with_another_commit_than_the_root_is_seen)
{
    int root = worlds[_i].root < 0 ? 0 : worlds[_i].root;
    ck_assert_int_eq(elastic_stamp_differs(worlds[_i].stamps, worlds[_i].size, root),
                     worlds[_i].differs);
}
END_TEST

START_TEST(without_a_commit_its_number_means_nothing)
{
    const struct elastic_stamp one = { ELASTIC_EPOCH_NONE, 1 }, two = { ELASTIC_EPOCH_NONE, 2 };
    ck_assert_int_eq(elastic_stamp_compare(&one, &two), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic stamps");
    TCase *tcase = tcase_create("elastic stamps");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, the_lowest_rank_with_the_newest_commit_is_the_root, 0, ROWS(worlds));
    tcase_add_loop_test(tcase, a_rank_with_another_commit_than_the_root_is_seen, 0, ROWS(worlds));
    tcase_add_test(tcase, without_a_commit_its_number_means_nothing);
    return unit_run(suite);
}
