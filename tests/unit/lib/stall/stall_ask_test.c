/* SPDX-License-Identifier: Apache-2.0 */
/* A person asks who is missing: rank 0 is told of each name, whatever its age, beside the
 * inspector's own rounds. */
#include "tests/support/stall_world.h"

#include <stdio.h>
#include <string.h>

static void ask_root(void)
{
    ck_assert(stall_ask(stall_world.ranks[0].stall, stall_world.now_ns));
    stall_world_take(0);
    stall_world_deliver();
}

/* As text: who misses the name, and of whom nothing is known. */
static void check_told(const char *name, const char *missing, const char *silent)
{
    char text[200];
    struct stall_told told;
    int index = 0;
    ck_assert(!stall_is_asked(stall_world.ranks[0].stall));
    do
        ck_assert_msg(stall_told(stall_world.ranks[0].stall, index, &told), "nothing is told of %s",
                      name);
    while (index++, strcmp(told.name, name) != 0);
    ck_assert_str_eq(rank_ranges_text(text, sizeof text, told.missing, stall_world.world_ranks),
                     missing);
    ck_assert_str_eq(rank_ranges_text(text, sizeof text, told.silent, stall_world.world_ranks),
                     silent);
}

static const int sizes[] = { 2, 6, 9, 16, 30, 32, 64 };
enum { SIZES = sizeof sizes / sizeof *sizes };

START_TEST(whoever_pauses_is_the_only_one_to_be_named)
{
    char who[40];
    for (int paused = 0; paused < sizes[_i]; paused++) {
        stall_world_make(sizes[_i]);
        stall_world_submit_but(paused, "a");
        if (paused == 0) { /* what the negotiation has told it */
            stall_world_submit(0, "a", COLLECTIVE_ALLREDUCE);
            stall_world.ranks[0].submitted[0].own = false;
        }
        ask_root();
        snprintf(who, sizeof who, "rank %d", paused);
        check_told("a", who, "");
        stall_world_end();
    }
}
END_TEST

START_TEST(several_that_pause_are_named_and_nobody_else)
{
    stall_world_make(64);
    for (int i = 0; i < stall_world.size; i++)
        if (i != 2 && i != 17 && i != 40 && i != 41 && i != 63)
            stall_world_submit(i, "a", COLLECTIVE_ALLREDUCE);
    for (int i = 0; i < stall_world.size; i++)
        if (i != 5)
            stall_world_submit(i, "b", COLLECTIVE_BROADCAST);
    ask_root();
    check_told("a", "ranks 2, 17, 40-41, 63", "");
    check_told("b", "rank 5", "");
    stall_world_end();
}
END_TEST

START_TEST(a_person_is_told_of_no_rank_that_has_joined)
{
    stall_world_make(16);
    stall_world_submit(6, "join", COLLECTIVE_JOIN);
    for (int i = 0; i < stall_world.size; i++)
        if (i != 6 && i != 2)
            stall_world_submit(i, "a", COLLECTIVE_ALLREDUCE);
    ask_root();
    check_told("a", "rank 2", "");
    stall_world_end();
}
END_TEST

START_TEST(a_person_is_told_the_ranks_of_the_world)
{
    stall_world_make(6);
    for (int i = 0; i < stall_world.size; i++)
        stall_world.world_ranks[i] = 3 * i + 1;
    stall_world_submit_but(2, "a");
    ask_root();
    check_told("a", "rank 7", "");
    stall_world_end();
}
END_TEST

/* Those below a rank that is stopped cannot be heard, whatever they have submitted. */
START_TEST(a_person_is_told_that_nothing_is_known_of_who_does_not_answer)
{
    stall_world_make(16);
    stall_world.ranks[2].stopped = true;
    stall_world_submit_but(2, "a");
    stall_world_submit_but(9, "b");
    ask_root();
    ck_assert(stall_is_asked(stall_world.ranks[0].stall));
    for (int i = 0; i < 20 && stall_is_asked(stall_world.ranks[0].stall); i++) {
        stall_world.now_ns += STALL_PERSON_MS * 1000000 / 20;
        stall_world_tick_all();
    }
    struct tree_position tree;
    char below[40];
    tree_position(&tree, 2, stall_world.size, 1);
    snprintf(below, sizeof below, tree.end == 3 ? "rank 2" : "ranks 2-%d", tree.end - 1);
    check_told("a", "", below);
    check_told("b", "rank 9", below);
    ck_assert_int_eq(stall_world.nspoken, 0);
    stall_world_end();
}
END_TEST

/* The inspector's own rounds go on meanwhile, and it is told what it asked. */
START_TEST(a_person_does_not_disturb_the_inspector)
{
    stall_world_make(30);
    stall_world.ranks[4].stopped = true;
    stall_world_submit_but(17, "a");
    for (int second = 0; second < 70; second++) {
        ask_root();
        stall_world_run(1);
    }
    ck_assert_int_eq(stall_world.nspoken, 1);
    ck_assert_stall_said("allreduce 'a' has waited 6");
    ck_assert_stall_said("for rank 17");
    stall_world_end();
}
END_TEST

START_TEST(where_nothing_waits_nobody_is_asked)
{
    struct stall_told told;
    stall_world_make(6);
    ck_assert(!stall_ask(stall_world.ranks[0].stall, stall_world.now_ns));
    stall_world_submit_but(3, "a");
    ck_assert(!stall_ask(stall_world.ranks[1].stall, stall_world.now_ns));
    ask_root();
    ck_assert(stall_told(stall_world.ranks[0].stall, 0, &told));
    stall_world_finish_all();
    ck_assert(!stall_ask(stall_world.ranks[0].stall, stall_world.now_ns));
    ck_assert(!stall_told(stall_world.ranks[0].stall, 0, &told));
    stall_world_end();
}
END_TEST

START_TEST(a_person_is_answered_without_the_check)
{
    stall_world_make_with(16, 0, 0);
    stall_world_submit_but(7, "a");
    ask_root();
    check_told("a", "rank 7", "");
    ck_assert_int_eq(stall_world.nspoken, 0);
    stall_world_end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stall_ask");
    TCase *tcase = tcase_create("stall_ask");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, whoever_pauses_is_the_only_one_to_be_named, 0, SIZES);
    tcase_add_test(tcase, several_that_pause_are_named_and_nobody_else);
    tcase_add_test(tcase, a_person_is_told_of_no_rank_that_has_joined);
    tcase_add_test(tcase, a_person_is_told_the_ranks_of_the_world);
    tcase_add_test(tcase, a_person_is_told_that_nothing_is_known_of_who_does_not_answer);
    tcase_add_test(tcase, a_person_does_not_disturb_the_inspector);
    tcase_add_test(tcase, where_nothing_waits_nobody_is_asked);
    tcase_add_test(tcase, a_person_is_answered_without_the_check);
    return unit_run(suite);
}
