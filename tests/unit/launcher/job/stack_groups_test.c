/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that stand at the same place are told in one line. */
#include "launcher/job/stack_groups.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct stack_groups groups;
static char said[8000];

static void on_line(void *context, const char *line)
{
    size_t used = strlen(said);
    (void)context;
    snprintf(said + used, sizeof said - used, "%s\n", line);
}

static const char *tell(void)
{
    said[0] = '\0';
    stack_groups_tell(&groups, on_line, NULL);
    stack_groups_fini(&groups);
    return said;
}

START_TEST(nothing_is_told_of_no_rank)
{
    stack_groups_init(&groups, 0);
    ck_assert_str_eq(tell(), "");
}
END_TEST

START_TEST(ranks_at_the_same_place_are_one_line_in_the_order_of_the_lowest)
{
    stack_groups_init(&groups, 16);
    for (int rank = 15; rank >= 0; rank--)
        stack_groups_add(&groups, rank, rank == 7 ? "read <- load" : "hvd_wait <- step");
    ck_assert_str_eq(tell(), "ranks 0-6, 8-15: hvd_wait <- step\nrank 7: read <- load\n");
}
END_TEST

START_TEST(the_line_of_the_lowest_rank_is_first_whoever_was_heard_first)
{
    stack_groups_init(&groups, 4);
    stack_groups_add(&groups, 2, "read <- load");
    stack_groups_add(&groups, 3, "hvd_wait <- step");
    stack_groups_add(&groups, 0, "hvd_wait <- step");
    ck_assert_str_eq(tell(), "ranks 0, 3: hvd_wait <- step\nrank 2: read <- load\n");
}
END_TEST

START_TEST(threads_of_a_rank_stay_in_their_order_and_are_told_once)
{
    stack_groups_init(&groups, 2);
    for (int rank = 0; rank < 2; rank++) {
        stack_groups_add(&groups, rank, "main");
        stack_groups_add(&groups, rank, "thread a: read");
        stack_groups_add(&groups, rank, "thread a: read");
    }
    ck_assert_str_eq(tell(), "ranks 0, 1: main\nranks 0, 1: thread a: read\n");
}
END_TEST

START_TEST(ranks_at_places_beyond_the_limit_are_one_line)
{
    char where[16];
    stack_groups_init(&groups, STACK_GROUPS_MAX + 2);
    for (int rank = 0; rank < STACK_GROUPS_MAX + 2; rank++) {
        snprintf(where, sizeof where, "f%d", rank);
        stack_groups_add(&groups, rank, where);
    }
    stack_groups_add(&groups, STACK_GROUPS_MAX + 1, "f7");
    ck_assert_uint_eq(groups.count, STACK_GROUPS_MAX + 1);
    ck_assert_ptr_nonnull(strstr(tell(), "ranks 7, 201: f7\n"));
    ck_assert_ptr_nonnull(strstr(said, "ranks 200, 201: at places that are not told"));
}
END_TEST

START_TEST(ranks_that_do_not_exist_are_ignored_and_texts_made_one_line)
{
    stack_groups_init(&groups, 2);
    stack_groups_add(&groups, -1, "none");
    stack_groups_add(&groups, 2, "none");
    stack_groups_add(&groups, 1, "two\nlines");
    ck_assert(!groups.heard[0] && groups.heard[1]);
    ck_assert_ptr_null(strstr(tell(), "none"));
    ck_assert_ptr_eq(strchr(said, '\n'), said + strlen(said) - 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stack_groups");
    TCase *tcase = tcase_create("stack_groups");
    tcase_add_test(tcase, nothing_is_told_of_no_rank);
    tcase_add_test(tcase, ranks_at_the_same_place_are_one_line_in_the_order_of_the_lowest);
    tcase_add_test(tcase, the_line_of_the_lowest_rank_is_first_whoever_was_heard_first);
    tcase_add_test(tcase, threads_of_a_rank_stay_in_their_order_and_are_told_once);
    tcase_add_test(tcase, ranks_at_places_beyond_the_limit_are_one_line);
    tcase_add_test(tcase, ranks_that_do_not_exist_are_ignored_and_texts_made_one_line);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
