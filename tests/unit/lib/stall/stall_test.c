/* SPDX-License-Identifier: Apache-2.0 */
/* The inspector's warnings: who waits for whom, what is said, and how often. A person's questions
 * are in stall_ask_test.c, the messages between ranks in stall_message_test.c. */
#include "lib/base/rank_end.h"
#include "tests/support/stall_world.h"

#include <stdio.h>
#include <string.h>

/* A rank has up to four children: worlds with no child, few, as many as there may be, and
 * grandchildren. */
static const int sizes[] = { 1, 2, 3, 5, 6, 13, 22 };
enum { SIZES = sizeof sizes / sizeof *sizes };

/* "3 5", as the inspector of this rank says after an abort. */
static const char *late_ranks(int rank)
{
    static char text[4 * LATE_RANKS_MAX + 1];
    const struct late_ranks *late = stall_late_ranks(stall_world.ranks[rank].stall);
    int length = 0;
    text[0] = '\0';
    for (int i = 0; i < late->count; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, i > 0 ? " %d" : "%d",
                           late->rank[i]);
    return text;
}

static void ck_assert_late_rank(int inspector, int expected)
{
    const struct late_ranks *late = stall_late_ranks(stall_world.ranks[inspector].stall);
    ck_assert_int_eq(late->count, 1);
    ck_assert_int_eq(late->rank[0], expected);
}

START_TEST(an_idle_world_sets_no_timer)
{
    stall_world_make(sizes[_i]);
    ck_assert_uint_eq(stall_world_deadline(), UINT64_MAX);
    stall_world_submit_but(-1, "a");
    ck_assert_uint_lt(stall_world_deadline(), UINT64_MAX);
    stall_world_finish_all();
    ck_assert_uint_eq(stall_world_deadline(), UINT64_MAX);
    ck_assert_int_eq(stall_world.nletters, 0);
    stall_world_end();
}
END_TEST

START_TEST(a_busy_world_says_nothing)
{
    stall_world_make(5);
    for (int i = 0; i < 100; i++) {
        stall_world_submit_but(2, "a");
        stall_world_run(30);
        stall_world_finish_all();
    }
    ck_assert_int_eq(stall_world.nspoken, 0);
    for (int i = 0; i < stall_world.size; i++)
        ck_assert_int_eq(stall_world.ranks[i].alerts, 0);
    stall_world_end();
}
END_TEST

START_TEST(who_is_missing_is_named)
{
    char who[32], what[80];
    for (int missing = 0; missing < sizes[_i]; missing++) {
        stall_world_make(sizes[_i]);
        stall_world_submit_but(missing, "grad/7");
        stall_world_run(70);
        ck_assert_int_eq(stall_world.nspoken, 1);
        ck_assert_int_eq(stall_world.spoken[0].rank, 0);
        ck_assert_int_eq(stall_world.spoken[0].action, STALL_WARN);
        snprintf(who, sizeof who, " for rank %d\n", missing);
        snprintf(what, sizeof what, "\n  rank %d on node%d: reading file %d?", missing, missing,
                 missing);
        ck_assert_stall_said("allreduce 'grad/7' has waited 61 s for rank ");
        ck_assert_stall_said(who);
        ck_assert_stall_said(what);
        stall_world_end();
    }
}
END_TEST

START_TEST(a_tensor_that_one_rank_alone_has_submitted_is_told)
{
    for (int rank = 0; rank < sizes[_i]; rank++) {
        stall_world_make(sizes[_i]);
        stall_world_submit(rank, "lonely", COLLECTIVE_BROADCAST);
        stall_world_run(70);
        ck_assert_int_eq(stall_world.nspoken, 1);
        ck_assert_stall_said("broadcast 'lonely' has waited 61 s for rank");
        stall_world_end();
    }
}
END_TEST

START_TEST(ranges_of_ranks_are_short)
{
    stall_world_make(9);
    stall_world_submit(0, "a", COLLECTIVE_ALLREDUCE);
    stall_world_submit(2, "a", COLLECTIVE_ALLREDUCE);
    stall_world_submit(7, "a", COLLECTIVE_ALLREDUCE);
    stall_world_run(70);
    ck_assert_stall_said("for ranks 1, 3-6, 8\n");
    ck_assert_stall_said("rank 3 on node3");
    stall_world_end();
}
END_TEST

START_TEST(ranks_are_those_of_the_world)
{
    stall_world_make(3);
    stall_world.world_ranks[0] = 4, stall_world.world_ranks[1] = 6, stall_world.world_ranks[2] = 9;
    stall_world_submit_but(2, "a");
    stall_world_run(70);
    ck_assert_stall_said("for rank 9\n  rank 9 on node2");
    stall_world_end();
}
END_TEST

START_TEST(it_is_said_once_in_the_check_time_as_long_as_it_lasts)
{
    stall_world_make(11);
    stall_world_submit_but(4, "a");
    stall_world_run(1000);
    ck_assert_int_ge(stall_world.nspoken, 15);
    ck_assert_int_le(stall_world.nspoken, 16);
    for (int i = 1; i < stall_world.nspoken; i++)
        ck_assert_uint_ge(stall_world.spoken[i].at_ns,
                          stall_world.spoken[i - 1].at_ns + STALL_WORLD_CHECK_NS);
    for (int i = 0; i < stall_world.size; i++)
        ck_assert_int_le(stall_world.ranks[i].alerts, 17);
    stall_world_end();
}
END_TEST

START_TEST(a_stall_that_ends_is_not_talked_about)
{
    stall_world_make(7);
    stall_world_submit_but(4, "a");
    stall_world_run(70);
    ck_assert_int_eq(stall_world.nspoken, 1);
    stall_world_finish_all();
    stall_world_run(1000);
    ck_assert_int_eq(stall_world.nspoken, 1);
    ck_assert_uint_eq(stall_world_deadline(), UINT64_MAX);
    stall_world_end();
}
END_TEST

START_TEST(a_name_that_waits_anew_is_young)
{
    stall_world_make(4);
    stall_world_submit_but(3, "a");
    stall_world_run(65);
    ck_assert_int_eq(stall_world.nspoken, 1);
    for (int i = 0; i < 20; i++) {
        stall_world_finish_all();
        stall_world_run(1);
        stall_world_submit_but(3, "a");
        stall_world_run(50);
    }
    ck_assert_int_eq(stall_world.nspoken, 1);
    stall_world_end();
}
END_TEST

START_TEST(what_comes_about_together_is_told_at_once)
{
    stall_world_make(22);
    stall_world_submit(21, "a", COLLECTIVE_ALLREDUCE);
    stall_world.now_ns += STALL_WORLD_SECOND_NS / 10;
    stall_world_submit(20, "b", COLLECTIVE_ALLREDUCE);
    stall_world_submit(13, "c", COLLECTIVE_ALLREDUCE);
    stall_world.now_ns += STALL_WORLD_SECOND_NS / 10;
    stall_world_submit(1, "d", COLLECTIVE_ALLGATHER);
    stall_world_run(70);
    ck_assert_int_eq(stall_world.nspoken, 1);
    ck_assert(stall_world_times_said("'a'") && stall_world_times_said("'b'") &&
              stall_world_times_said("'c'") && stall_world_times_said("'d'"));
    stall_world_end();
}
END_TEST

START_TEST(many_names_are_a_short_text)
{
    char name[32];
    stall_world_make(8);
    for (int i = 0; i < STALL_WORLD_SUBMITTED_MAX; i++) {
        snprintf(name, sizeof name, "grad/%d", i);
        stall_world_submit_but(5, name);
        stall_world.now_ns++;
    }
    stall_world_run(65);
    ck_assert_int_eq(stall_world.nspoken, 1);
    ck_assert_str_eq(stall_world.spoken[0].text,
                     "allreduce 'grad/0', 'grad/1', 'grad/2' and 5 more have waited 61 s for rank 5"
                     "\n  rank 5 on node5: reading file 5?");
    stall_world_end();
}
END_TEST

START_TEST(names_that_wait_for_different_ranks_have_lines_of_their_own)
{
    stall_world_make(6);
    stall_world_submit_but(5, "a");
    stall_world_submit_but(4, "b");
    stall_world_submit_but(5, "c");
    stall_world_run(70);
    ck_assert_int_eq(stall_world.nspoken, 1);
    ck_assert_stall_said("allreduce 'a', 'c' have waited 61 s for rank 5");
    ck_assert_stall_said("\n  allreduce 'b' has waited 61 s for rank 4");
    stall_world_end();
}
END_TEST

START_TEST(many_ranks_are_a_short_text)
{
    stall_world_make(30);
    for (int i = 0; i < stall_world.size; i += 2)
        stall_world_submit(i, "a", COLLECTIVE_ALLREDUCE);
    stall_world_run(70);
    ck_assert_int_eq(stall_world.nspoken, 1);
    ck_assert_stall_said("for ranks 1, 3, 5, 7, ");
    ck_assert_stall_said("some of ");
    ck_assert_stall_said("\n  rank 11 on node11: reading file 11?\n  and others");
    ck_assert_int_eq(stall_world_times_said("rank 13 on"), 0);
    stall_world_end();
}
END_TEST

START_TEST(names_of_any_bytes_are_one_line)
{
    stall_world_make(2);
    stall_world_submit(0, "new\nline\x1b[2J", COLLECTIVE_ALLREDUCE);
    stall_world_run(70);
    ck_assert_stall_said("allreduce 'new?line?[2J' has waited");
    stall_world_end();
}
END_TEST

START_TEST(the_shutdown_time_ends_the_world)
{
    stall_world_make_with(6, STALL_WORLD_CHECK_NS, 2 * STALL_WORLD_CHECK_NS);
    stall_world_submit_but(4, "a");
    stall_world_run(150);
    ck_assert_int_eq(stall_world.nspoken, 2);
    ck_assert_int_eq(stall_world.spoken[0].action, STALL_WARN);
    ck_assert_int_eq(stall_world.spoken[1].action, STALL_ABORT);
    ck_assert_uint_eq(stall_world.spoken[1].at_ns,
                      STALL_WORLD_SECOND_NS + 2 * STALL_WORLD_CHECK_NS);
    ck_assert_str_eq(
        stall_world.spoken[1].text,
        "allreduce 'a' has waited 120 s for rank 4 (HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"
        " is 120); rank 4 on node4: reading file 4?");
    ck_assert_str_eq(late_ranks(0), "4");
    stall_world_end();
}
END_TEST

/* Of 20 ranks, 10 wait in another set. */
START_TEST(the_text_of_a_shutdown_that_is_cut_says_so_and_has_the_late_rank)
{
    stall_world_make_with(21, STALL_WORLD_CHECK_NS, 2 * STALL_WORLD_CHECK_NS);
    stall_world_submit(0, "a", COLLECTIVE_ALLREDUCE);
    for (int rank = 1; rank <= 20; rank++)
        stall_world.ranks[rank].waits_elsewhere = rank != 11;
    stall_world_run(150);
    const char *text = stall_world.spoken[stall_world.nspoken - 1].text;
    size_t length = strlen(text);
    ck_assert_uint_lt(length, RANK_END_WORDS_SIZE);
    ck_assert_uint_gt(length, 3);
    ck_assert_str_eq(text + length - 3, "...");
    ck_assert_ptr_nonnull(strstr(text, " is 120); rank 11 on node11: reading file 11?; rank 1 on"));
    stall_world_end();
}
END_TEST

/* At the first question nothing is known of before. */
START_TEST(a_shutdown_time_that_is_the_check_time_ends_it_after_another_question)
{
    stall_world_make_with(3, STALL_WORLD_CHECK_NS, STALL_WORLD_CHECK_NS);
    stall_world_submit(2, "a", COLLECTIVE_ALLREDUCE);
    stall_world_run(100);
    ck_assert_int_eq(stall_world.nspoken, 1);
    ck_assert_int_eq(stall_world.spoken[0].action, STALL_ABORT);
    ck_assert_uint_eq(stall_world.spoken[0].at_ns,
                      2 * STALL_WORLD_SECOND_NS + STALL_WORLD_CHECK_NS);
    ck_assert_str_eq(late_ranks(0), "0 1");
    stall_world_end();
}
END_TEST

START_TEST(a_stall_that_ends_ends_no_world)
{
    stall_world_make_with(6, STALL_WORLD_CHECK_NS, 2 * STALL_WORLD_CHECK_NS);
    stall_world_submit_but(4, "a");
    stall_world_run(100);
    stall_world_finish_all();
    stall_world_submit_but(4, "a");
    stall_world_run(50);
    stall_world_finish_all();
    stall_world_run(1000);
    ck_assert_int_eq(stall_world_times_said("SHUTDOWN"), 0);
    stall_world_end();
}
END_TEST

START_TEST(who_is_missing_on_a_crowded_host_is_named)
{
    char who[32];
    stall_world.star = 32;
    for (int missing = 0; missing < 32; missing++) {
        stall_world_make(32);
        stall_world_submit_but(missing, "grad/7");
        stall_world_run(70);
        ck_assert_int_eq(stall_world.nspoken, 1);
        snprintf(who, sizeof who, " for rank %d\n", missing);
        ck_assert_stall_said(who);
        stall_world_end();
    }
    stall_world.star = 1;
}
END_TEST

START_TEST(a_rank_that_does_not_answer_is_named)
{
    char who[40];
    for (int stopped = 1; stopped < sizes[_i]; stopped++) {
        stall_world_make_with(sizes[_i], STALL_WORLD_CHECK_NS, 5 * STALL_WORLD_CHECK_NS);
        struct tree_position tree;
        tree_position(&tree, stopped, sizes[_i], 1);
        stall_world.ranks[stopped].stopped = true;
        stall_world_submit_but(stopped, "a");
        stall_world_run(400);
        ck_assert_int_ge(stall_world.nspoken, 2);
        ck_assert_int_eq(stall_world.spoken[0].rank, 0);
        snprintf(who, sizeof who, "no answer from rank%s %d", tree.end > stopped + 1 ? "s" : "",
                 stopped);
        ck_assert_stall_said("allreduce 'a' has waited 6");
        ck_assert_stall_said(who);
        ck_assert_int_eq(stall_world.spoken[stall_world.nspoken - 1].action, STALL_ABORT);
        ck_assert_late_rank(0, stopped);
        stall_world_end();
    }
}
END_TEST

START_TEST(a_rank_that_answers_late_does_no_harm)
{
    stall_world_make(6);
    stall_world.ranks[1].stopped = true;
    stall_world_submit_but(1, "a");
    stall_world_run(70);
    ck_assert_int_eq(stall_world_times_said("no answer from rank"), 1);
    stall_world.ranks[1].stopped = false;
    stall_world_run(70);
    ck_assert_int_eq(stall_world.nspoken, 2);
    ck_assert_int_eq(stall_world_times_said("no answer from rank"), 1);
    ck_assert_stall_said("rank 1 on node1");
    stall_world_end();
}
END_TEST

START_TEST(a_root_that_does_not_answer_is_named_by_rank_1)
{
    stall_world_make_with(9, STALL_WORLD_CHECK_NS, 5 * STALL_WORLD_CHECK_NS);
    stall_world.ranks[0].stopped = true;
    stall_world_submit_but(0, "a");
    stall_world_run(1000);
    ck_assert_int_ge(stall_world.nspoken, 2);
    for (int i = 0; i < stall_world.nspoken; i++)
        ck_assert_int_eq(stall_world.spoken[i].rank, 1);
    ck_assert_str_eq(stall_world.spoken[0].text,
                     "allreduce 'a' has waited 180 s\n  no answer from rank 0");
    ck_assert_int_eq(stall_world.spoken[stall_world.nspoken - 1].action, STALL_ABORT);
    ck_assert_str_eq(late_ranks(1), "0");
    stall_world_end();
}
END_TEST

/* ---- late ranks ---- */

static void run_until_shutdown(void)
{
    stall_world_run(150);
    ck_assert_int_ge(stall_world.nspoken, 1);
    ck_assert_int_eq(stall_world.spoken[stall_world.nspoken - 1].action, STALL_ABORT);
}

START_TEST(ranks_that_wait_for_different_names_are_not_late)
{
    stall_world_make_with(_i, STALL_WORLD_CHECK_NS, 2 * STALL_WORLD_CHECK_NS);
    stall_world_submit(0, "a", COLLECTIVE_ALLREDUCE);
    for (int rank = 1; rank < _i; rank++)
        stall_world_submit(rank, "b", COLLECTIVE_ALLREDUCE);
    run_until_shutdown();
    ck_assert_str_eq(late_ranks(0), "");
    stall_world_end();
}
END_TEST

START_TEST(all_ranks_that_wait_for_nothing_are_late)
{
    stall_world_make_with(9, STALL_WORLD_CHECK_NS, 2 * STALL_WORLD_CHECK_NS);
    stall_world_submit(0, "a", COLLECTIVE_ALLREDUCE);
    for (int rank = 1; rank < 9; rank++)
        if (rank != 5 && rank != 7)
            stall_world_submit(rank, "b", COLLECTIVE_ALLREDUCE);
    run_until_shutdown();
    ck_assert_str_eq(late_ranks(0), "5 7");
    stall_world_end();
}
END_TEST

/* In both shapes of a tree. */
START_TEST(of_many_late_ranks_each_is_named_whatever_its_place)
{
    for (stall_world.star = 1; stall_world.star <= 8; stall_world.star += 7) {
        stall_world_make_with(64, STALL_WORLD_CHECK_NS, 2 * STALL_WORLD_CHECK_NS);
        for (int rank = 0; rank < 64; rank++)
            if (rank % 8 != 3)
                stall_world_submit(rank, "a", COLLECTIVE_ALLREDUCE);
        run_until_shutdown();
        ck_assert_str_eq(late_ranks(0), "3 11 19 27 35 43 51 59");
        stall_world_end();
    }
    stall_world.star = 1;
}
END_TEST

/* Rank 1 has ranks below it, of which nothing is known. */
START_TEST(a_rank_that_is_silent_twice_is_late_with_those_that_wait_for_nothing)
{
    stall_world_make_with(32, STALL_WORLD_CHECK_NS, 2 * STALL_WORLD_CHECK_NS);
    stall_world.ranks[1].stopped = true;
    stall_world_submit_but(31, "a");
    run_until_shutdown();
    ck_assert_stall_said("no answer from ranks 1-");
    ck_assert_str_eq(late_ranks(0), "1 31");
    stall_world_end();
}
END_TEST

START_TEST(several_silent_ranks_are_late_together)
{
    stall_world_make_with(5, STALL_WORLD_CHECK_NS, 2 * STALL_WORLD_CHECK_NS);
    stall_world.ranks[2].stopped = stall_world.ranks[4].stopped = true;
    stall_world_submit(0, "a", COLLECTIVE_ALLREDUCE);
    run_until_shutdown();
    ck_assert_str_eq(late_ranks(0), "1 2 3 4");
    stall_world_end();
    stall_world_make_with(5, STALL_WORLD_CHECK_NS, 2 * STALL_WORLD_CHECK_NS);
    stall_world.ranks[2].stopped = stall_world.ranks[4].stopped = true;
    stall_world_submit_but(2, "a");
    run_until_shutdown();
    ck_assert_str_eq(late_ranks(0), "2 4");
    stall_world_end();
}
END_TEST

/* It was suspended just before the root asks for the last time. */
START_TEST(a_rank_that_is_silent_once_is_not_late_beside_another)
{
    stall_world_make_with(5, STALL_WORLD_CHECK_NS, 2 * STALL_WORLD_CHECK_NS);
    stall_world_submit_but(4, "a");
    stall_world_run(100);
    stall_world.ranks[2].stopped = true;
    run_until_shutdown();
    ck_assert_stall_said("no answer from rank 2");
    ck_assert_str_eq(late_ranks(0), "4");
    stall_world_end();
}
END_TEST

/* All ranks of a host, for example; the first question is the last before the shutdown. */
START_TEST(several_ranks_that_are_silent_at_the_first_question_are_late_together)
{
    stall_world_make_with(5, STALL_WORLD_CHECK_NS, STALL_WORLD_CHECK_NS);
    stall_world.ranks[2].stopped = stall_world.ranks[3].stopped = true;
    stall_world_submit(0, "a", COLLECTIVE_ALLREDUCE);
    stall_world_submit(1, "a", COLLECTIVE_ALLREDUCE);
    stall_world_submit(4, "a", COLLECTIVE_ALLREDUCE);
    run_until_shutdown();
    ck_assert_int_eq(stall_world.nspoken, 1);
    ck_assert_str_eq(late_ranks(0), "2 3");
    stall_world_end();
}
END_TEST

START_TEST(several_ranks_that_are_stopped_after_the_warning_are_late_together)
{
    stall_world_make_with(5, STALL_WORLD_CHECK_NS, 2 * STALL_WORLD_CHECK_NS);
    stall_world_submit(0, "a", COLLECTIVE_ALLREDUCE);
    stall_world_submit(3, "a", COLLECTIVE_ALLREDUCE);
    for (int rank = 1; rank < 5; rank++)
        stall_world.ranks[rank].waits_elsewhere = true;
    stall_world_run(100);
    stall_world.ranks[1].stopped = stall_world.ranks[2].stopped = true;
    run_until_shutdown();
    ck_assert_str_eq(late_ranks(0), "1 2");
    stall_world_end();
}
END_TEST

START_TEST(if_no_rank_is_silent_twice_the_last_question_decides)
{
    stall_world_make_with(3, STALL_WORLD_CHECK_NS, STALL_WORLD_CHECK_NS);
    stall_world_submit(0, "a", COLLECTIVE_ALLREDUCE);
    stall_world_submit(1, "a", COLLECTIVE_ALLREDUCE);
    stall_world.ranks[1].stopped = true;
    stall_world.ranks[2].waits_elsewhere = true;
    stall_world_run(65);
    stall_world.ranks[1].stopped = false;
    stall_world.ranks[2].stopped = true;
    stall_world_run(8);
    ck_assert_int_eq(stall_world.nspoken, 1);
    ck_assert_int_eq(stall_world.spoken[0].action, STALL_ABORT);
    ck_assert_str_eq(late_ranks(0), "2");
    stall_world_end();
}
END_TEST

/* The world's rank 40 is rank 0 of the set. */
START_TEST(late_ranks_are_those_of_the_world)
{
    stall_world_make_with(4, STALL_WORLD_CHECK_NS, 2 * STALL_WORLD_CHECK_NS);
    for (int rank = 0; rank < 4; rank++)
        stall_world.world_ranks[rank] = 40 - 10 * rank;
    stall_world_submit(0, "a", COLLECTIVE_ALLREDUCE);
    stall_world_submit(2, "a", COLLECTIVE_ALLREDUCE);
    run_until_shutdown();
    ck_assert_str_eq(late_ranks(0), "10 30");
    stall_world_end();
}
END_TEST

/* Rank 2 waits for rank 3 in a set of the two. */
static void wait_in_two_sets(void)
{
    stall_world_make_with(4, STALL_WORLD_CHECK_NS, 2 * STALL_WORLD_CHECK_NS);
    stall_world_submit(0, "b", COLLECTIVE_ALLREDUCE);
    stall_world_submit(1, "b", COLLECTIVE_ALLREDUCE);
    stall_world.ranks[2].waits_elsewhere = true;
}

START_TEST(a_rank_that_waits_in_another_set_is_not_late)
{
    wait_in_two_sets();
    run_until_shutdown();
    ck_assert_str_eq(late_ranks(0), "3");
    stall_world_end();
}
END_TEST

START_TEST(a_rank_that_is_stopped_is_late_and_one_that_waits_for_it_is_not)
{
    wait_in_two_sets();
    stall_world.ranks[3].stopped = true;
    run_until_shutdown();
    ck_assert_str_eq(late_ranks(0), "3");
    stall_world_end();
}
END_TEST

START_TEST(if_all_that_miss_a_name_wait_in_other_sets_none_is_late)
{
    wait_in_two_sets();
    stall_world.ranks[3].waits_elsewhere = true;
    run_until_shutdown();
    ck_assert_str_eq(late_ranks(0), "");
    stall_world_end();
}
END_TEST

/* It works in the other set, between two collectives, when the root asks for the last time. */
START_TEST(a_rank_that_waits_for_nothing_at_one_moment_is_not_late_beside_another)
{
    wait_in_two_sets();
    stall_world_run(100);
    stall_world.ranks[2].waits_elsewhere = false;
    run_until_shutdown();
    ck_assert_str_eq(late_ranks(0), "3");
    stall_world_end();
}
END_TEST

/* The shutdown time has just passed, and ranks 2 and 3 have waited until after the warning. */
static void hang_after_the_warning(void)
{
    wait_in_two_sets();
    stall_world.ranks[3].waits_elsewhere = true;
    stall_world_run(100);
    stall_world.ranks[2].waits_elsewhere = stall_world.ranks[3].waits_elsewhere = false;
    stall_world_run(20);
    ck_assert_int_eq(stall_world.nspoken, 1);
    ck_assert_int_eq(stall_world.spoken[0].action, STALL_WARN);
}

START_TEST(ranks_that_hang_since_after_the_warning_are_late_if_another_question_shows_it)
{
    hang_after_the_warning();
    stall_world_run(2);
    ck_assert_int_eq(stall_world.nspoken, 2);
    ck_assert_int_eq(stall_world.spoken[1].action, STALL_ABORT);
    ck_assert_str_eq(late_ranks(0), "2 3");
    stall_world_end();
}
END_TEST

START_TEST(a_rank_that_waits_again_at_the_other_question_is_not_late)
{
    hang_after_the_warning();
    stall_world.ranks[2].waits_elsewhere = true;
    stall_world_run(2);
    ck_assert_int_eq(stall_world.nspoken, 2);
    ck_assert_str_eq(late_ranks(0), "3");
    stall_world_end();
}
END_TEST

/* Rank 3 waited at one question, and rank 2 at the other. */
START_TEST(there_is_one_other_question_and_its_answers_decide)
{
    wait_in_two_sets();
    stall_world_run(100);
    stall_world.ranks[3].waits_elsewhere = true;
    stall_world.ranks[2].waits_elsewhere = false;
    stall_world_run(20);
    stall_world.ranks[3].waits_elsewhere = false;
    stall_world.ranks[2].waits_elsewhere = true;
    stall_world_run(2);
    ck_assert_int_eq(stall_world.spoken[stall_world.nspoken - 1].action, STALL_ABORT);
    ck_assert_str_eq(late_ranks(0), "3");
    stall_world_end();
}
END_TEST

START_TEST(a_stall_that_ends_before_the_other_question_ends_no_world)
{
    hang_after_the_warning();
    stall_world_finish_all();
    stall_world_run(300);
    ck_assert_uint_eq(stall_world_deadline(), UINT64_MAX);
    stall_world_submit_but(3, "c");
    stall_world_run(110);
    ck_assert_int_eq(stall_world_times_said("SHUTDOWN"), 0);
    run_until_shutdown();
    stall_world_end();
}
END_TEST

/* Its device has not computed the data yet. */
START_TEST(a_rank_that_waits_for_its_device_alone_is_late)
{
    stall_world_make_with(3, STALL_WORLD_CHECK_NS, 2 * STALL_WORLD_CHECK_NS);
    stall_world_submit_but(-1, "a");
    stall_world.ranks[1].submitted[0].own = false;
    run_until_shutdown();
    ck_assert_str_eq(late_ranks(0), "1");
    stall_world_end();
}
END_TEST

/* ---- a suspension of all ranks ---- */

static bool is_over(void)
{
    return stall_world.nspoken > 0 &&
           stall_world.spoken[stall_world.nspoken - 1].action == STALL_ABORT;
}

/* At any second of a wait; rank `_i` computes. */
START_TEST(a_suspension_longer_than_the_shutdown_time_ends_no_world)
{
    for (uint64_t second = 0; second < 120; second++) {
        stall_world_make_with(7, STALL_WORLD_CHECK_NS, 2 * STALL_WORLD_CHECK_NS);
        stall_world_submit_but(_i, "a");
        stall_world_run(second);
        stall_world.now_ns += 3 * STALL_WORLD_CHECK_NS;
        stall_world_run(110);
        ck_assert_msg(!is_over(), "suspended after %d s", (int)second);
        stall_world_run(300);
        ck_assert_msg(is_over(), "suspended after %d s", (int)second);
        ck_assert_late_rank(0, _i);
        stall_world_end();
    }
}
END_TEST

/* The root has asked just before. */
START_TEST(a_suspension_during_a_round_ends_no_world)
{
    stall_world_make_with(7, STALL_WORLD_CHECK_NS, 2 * STALL_WORLD_CHECK_NS);
    stall_world_submit_but(3, "a");
    stall_world_run(119);
    stall_world.now_ns += STALL_WORLD_SECOND_NS;
    for (int rank = 6; rank >= 0; rank--) {
        stall_tick(stall_world.ranks[rank].stall, stall_world.now_ns);
        stall_world_take(rank);
    }
    ck_assert_int_gt(stall_world.nletters, 0);
    stall_world.now_ns += 3 * STALL_WORLD_CHECK_NS;
    stall_world_tick_all();
    stall_world_run(110);
    ck_assert(!is_over());
    stall_world_end();
}
END_TEST

/* ---- a deadlock ---- */

/* Each rank waits for a name of its own. */
static void wait_for_each_other(void)
{
    char name[20];
    for (int i = 0; i < stall_world.size; i++) {
        snprintf(name, sizeof name, "own/%d", i);
        stall_world_submit(i, name, COLLECTIVE_ALLREDUCE);
        stall_world.ranks[i].stuck = true;
    }
}

START_TEST(ranks_that_are_all_stuck_are_told)
{
    stall_world_make(_i);
    wait_for_each_other();
    stall_world_run(3);
    ck_assert_int_eq(stall_world.nspoken, 1);
    ck_assert_int_eq(stall_world.spoken[0].action, STALL_ABORT);
    ck_assert_stall_said("deadlock: every rank waits: ");
    ck_assert_str_eq(late_ranks(0), "");
    stall_world_end();
}
END_TEST

/* Its thread computes, or has come back from a call with an error and will submit something
 * else. */
START_TEST(one_rank_that_is_not_stuck_is_no_deadlock)
{
    for (int free = 0; free < _i; free++) {
        stall_world_make(_i);
        wait_for_each_other();
        stall_world.ranks[free].stuck = false;
        stall_world_run(50);
        ck_assert_int_eq(stall_world.nspoken, 0);
        stall_world_end();
    }
}
END_TEST

/* Also when the coarse clock, by which its time is noted, has not ticked since before the
 * question. */
START_TEST(a_decision_between_the_questions_is_seen_whatever_its_time)
{
    stall_world_make(2);
    wait_for_each_other();
    stall_world.ranks[0].decided_ns = STALL_WORLD_SECOND_NS;
    while (stall_world.now_ns < 30 * STALL_WORLD_SECOND_NS) {
        stall_world.now_ns = stall_world_deadline();
        stall_world_tick_all();
        stall_world.ranks[0].decisions++;
    }
    ck_assert_int_eq(stall_world.nspoken, 0);
    stall_world_run(5);
    ck_assert_int_eq(stall_world.nspoken, 1);
    ck_assert_stall_said("deadlock");
    stall_world_end();
}
END_TEST

/* The last report comes with the last answer, and the root has not decided yet. */
START_TEST(what_comes_with_the_last_answer_is_not_overlooked)
{
    stall_world_make(3);
    wait_for_each_other();
    for (int i = 0; i < 40; i++) {
        stall_world.now_ns = stall_world_deadline();
        for (int k = 0; k < stall_world.size; k++)
            if (stall_deadline(stall_world.ranks[k].stall, stall_world.now_ns) <=
                stall_world.now_ns) {
                stall_tick(stall_world.ranks[k].stall, stall_world.now_ns);
                stall_world_take(k);
            }
        stall_world.ranks[0].stuck =
            stall_world.nletters == 0; /* something can be decided when the answers have come */
        stall_world_deliver();
        stall_world.ranks[0].stuck = true;
    }
    ck_assert_int_eq(stall_world.nspoken, 0);
    stall_world_end();
}
END_TEST

START_TEST(who_has_joined_misses_no_allreduce)
{
    stall_world_make(5);
    stall_world_submit(1, "join", COLLECTIVE_JOIN);
    for (int i = 2; i < 5; i++) {
        stall_world_submit(i, "sum", COLLECTIVE_ALLREDUCE);
        stall_world_submit(i, "cast", COLLECTIVE_BROADCAST);
    }
    stall_world_run(65);
    ck_assert_stall_said("allreduce 'sum' has waited 61 s for rank 0\n");
    ck_assert_stall_said("broadcast 'cast' has waited 61 s for ranks 0-1\n");
    stall_world_end();
}
END_TEST

START_TEST(a_join_waits_as_long_as_others_get_on)
{
    stall_world_make(3);
    stall_world_submit(1, "join", COLLECTIVE_JOIN);
    for (int i = 0; i < 20; i++) {
        stall_world_run(20);
        for (int k = 0; k < stall_world.size; k++)
            stall_world.ranks[k].decided_ns = stall_world.now_ns;
    }
    ck_assert_int_eq(stall_world.nspoken, 0);
    stall_world_run(70);
    ck_assert_stall_said("join 'join' has waited 61 s for ranks 0, 2\n");
    stall_world_end();
}
END_TEST

START_TEST(nobody_who_misses_it_is_no_stall)
{
    stall_world_make(5);
    stall_world_submit_but(-1, "a"); /* all have it, and large data is before it */
    stall_world_run(300);
    ck_assert_int_eq(stall_world.nspoken, 0);
    stall_world_end();
}
END_TEST

START_TEST(what_a_rank_only_heard_of_counts)
{
    stall_world_make(2);
    stall_world_submit(0, "a", COLLECTIVE_ALLREDUCE);
    stall_world.ranks[0].submitted[0].own = false;
    stall_world_submit(1, "a", COLLECTIVE_ALLREDUCE);
    stall_world_run(70);
    ck_assert_stall_said("for rank 0\n");
    stall_world_end();
}
END_TEST

START_TEST(without_the_check_nothing_is_said)
{
    stall_world_make_with(5, 0, 0);
    stall_world_submit_but(3, "a");
    ck_assert_uint_eq(stall_world_deadline(), UINT64_MAX);
    stall_world_run(1000);
    ck_assert_int_eq(stall_world.nspoken, 0);
    stall_world_end();
}
END_TEST

START_TEST(no_stall_inspector_can_be_destroyed)
{
    stall_destroy(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stall");
    TCase *tcase = tcase_create("stall");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, an_idle_world_sets_no_timer, 0, SIZES);
    tcase_add_test(tcase, a_busy_world_says_nothing);
    tcase_add_loop_test(tcase, who_is_missing_is_named, 1, SIZES);
    tcase_add_loop_test(tcase, a_tensor_that_one_rank_alone_has_submitted_is_told, 1, SIZES);
    tcase_add_test(tcase, ranges_of_ranks_are_short);
    tcase_add_test(tcase, ranks_are_those_of_the_world);
    tcase_add_test(tcase, it_is_said_once_in_the_check_time_as_long_as_it_lasts);
    tcase_add_test(tcase, a_stall_that_ends_is_not_talked_about);
    tcase_add_test(tcase, a_name_that_waits_anew_is_young);
    tcase_add_test(tcase, what_comes_about_together_is_told_at_once);
    tcase_add_test(tcase, many_names_are_a_short_text);
    tcase_add_test(tcase, names_that_wait_for_different_ranks_have_lines_of_their_own);
    tcase_add_test(tcase, many_ranks_are_a_short_text);
    tcase_add_test(tcase, names_of_any_bytes_are_one_line);
    tcase_add_test(tcase, the_shutdown_time_ends_the_world);
    tcase_add_test(tcase, the_text_of_a_shutdown_that_is_cut_says_so_and_has_the_late_rank);
    tcase_add_test(tcase, a_shutdown_time_that_is_the_check_time_ends_it_after_another_question);
    tcase_add_test(tcase, a_stall_that_ends_ends_no_world);
    tcase_add_test(tcase, who_is_missing_on_a_crowded_host_is_named);
    tcase_add_loop_test(tcase, a_rank_that_does_not_answer_is_named, 1, SIZES);
    tcase_add_test(tcase, a_rank_that_answers_late_does_no_harm);
    tcase_add_test(tcase, a_root_that_does_not_answer_is_named_by_rank_1);
    tcase_add_loop_test(tcase, ranks_that_wait_for_different_names_are_not_late, 2, 9);
    tcase_add_test(tcase, all_ranks_that_wait_for_nothing_are_late);
    tcase_add_test(tcase, of_many_late_ranks_each_is_named_whatever_its_place);
    tcase_add_test(tcase, a_rank_that_is_silent_twice_is_late_with_those_that_wait_for_nothing);
    tcase_add_test(tcase, several_silent_ranks_are_late_together);
    tcase_add_test(tcase, a_rank_that_is_silent_once_is_not_late_beside_another);
    tcase_add_test(tcase, several_ranks_that_are_silent_at_the_first_question_are_late_together);
    tcase_add_test(tcase, several_ranks_that_are_stopped_after_the_warning_are_late_together);
    tcase_add_test(tcase, if_no_rank_is_silent_twice_the_last_question_decides);
    tcase_add_test(tcase, late_ranks_are_those_of_the_world);
    tcase_add_test(tcase, a_rank_that_waits_in_another_set_is_not_late);
    tcase_add_test(tcase, a_rank_that_is_stopped_is_late_and_one_that_waits_for_it_is_not);
    tcase_add_test(tcase, if_all_that_miss_a_name_wait_in_other_sets_none_is_late);
    tcase_add_test(tcase, a_rank_that_waits_for_nothing_at_one_moment_is_not_late_beside_another);
    tcase_add_test(tcase,
                   ranks_that_hang_since_after_the_warning_are_late_if_another_question_shows_it);
    tcase_add_test(tcase, a_rank_that_waits_again_at_the_other_question_is_not_late);
    tcase_add_test(tcase, there_is_one_other_question_and_its_answers_decide);
    tcase_add_test(tcase, a_stall_that_ends_before_the_other_question_ends_no_world);
    tcase_add_test(tcase, a_rank_that_waits_for_its_device_alone_is_late);
    tcase_add_loop_test(tcase, a_suspension_longer_than_the_shutdown_time_ends_no_world, 0, 7);
    tcase_add_test(tcase, a_suspension_during_a_round_ends_no_world);
    tcase_add_loop_test(tcase, ranks_that_are_all_stuck_are_told, 2, 10);
    tcase_add_loop_test(tcase, one_rank_that_is_not_stuck_is_no_deadlock, 2, 10);
    tcase_add_test(tcase, a_decision_between_the_questions_is_seen_whatever_its_time);
    tcase_add_test(tcase, what_comes_with_the_last_answer_is_not_overlooked);
    tcase_add_test(tcase, who_has_joined_misses_no_allreduce);
    tcase_add_test(tcase, a_join_waits_as_long_as_others_get_on);
    tcase_add_test(tcase, nobody_who_misses_it_is_no_stall);
    tcase_add_test(tcase, what_a_rank_only_heard_of_counts);
    tcase_add_test(tcase, without_the_check_nothing_is_said);
    tcase_add_test(tcase, no_stall_inspector_can_be_destroyed);
    return unit_run(suite);
}
