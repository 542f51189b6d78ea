/* SPDX-License-Identifier: Apache-2.0 */
/* Some ranks in few words. */
#include "launcher/base/rank_names.h"
#include "lib/base/rank_info.h"
#include "tests/support/unit.h"

#include <string.h>

/* One character for each rank: 'x' for those that are meant. */
static bool is_meant(const void *context, int rank)
{
    return ((const char *)context)[rank] == 'x';
}

static const struct {
    const char *ranks, *text;
    int count;
} rows[] = {
    { "", "", 0 },
    { "....", "", 0 },
    { "x", "rank 0", 1 },
    { "..x", "rank 2", 1 },
    { "xx", "ranks 0, 1", 2 },
    { "xxx", "ranks 0-2", 3 },
    { ".xxxx.x.xx", "ranks 1-4, 6, 8, 9", 7 },
    { "x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x",
      "ranks 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30 and 1 other", 17 },
    { "x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.xxxxx",
      "ranks 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30 and 5 others", 21 },
};

START_TEST(ranks_are_named_in_ranges)
{
    char text[RANK_NAMES_SIZE] = "before";
    int nranks = (int)strlen(rows[_i].ranks);
    ck_assert_int_eq(rank_names_text(text, sizeof text, nranks, is_meant, rows[_i].ranks),
                     rows[_i].count);
    ck_assert_str_eq(text, rows[_i].text);
    rank_names_numbers(text, sizeof text, nranks, is_meant, rows[_i].ranks);
    ck_assert_str_eq(text, rows[_i].text + strcspn(rows[_i].text, "0123456789"));
}
END_TEST

/* Whole triples with one rank between, at the end of the largest world. */
static bool is_far(const void *context, int rank)
{
    (void)context;
    return rank >= 100000 && rank % 3 != 0;
}

START_TEST(the_longest_names_fit)
{
    char text[RANK_NAMES_SIZE];
    ck_assert_int_eq(rank_names_text(text, sizeof text, WORLD_SIZE_MAX, is_far, NULL), 20715);
    ck_assert_ptr_nonnull(strstr(text, ", 100045, 100046 and 20683 others"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rank_names");
    TCase *tcase = tcase_create("names");
    tcase_add_loop_test(tcase, ranks_are_named_in_ranges, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_test(tcase, the_longest_names_fit);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
