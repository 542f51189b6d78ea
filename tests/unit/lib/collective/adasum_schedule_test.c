/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of Adasum's steps and pieces, for every small world. */
#include "lib/collective/adasum_schedule.h"
#include "tests/support/unit.h"

#include <string.h>

enum { SIZE_MAX_TESTED = 33, STEPS_MAX = 64 };

static int steps_of(struct adasum_step *steps, int rank, int size)
{
    int count = 0;
    struct adasum_step step = adasum_first_step(rank, size);
    for (; step.phase != ADASUM_DONE; step = adasum_next_step(step, rank, size)) {
        ck_assert_int_lt(count, STEPS_MAX);
        steps[count++] = step;
    }
    return count;
}

/* The steps of `rank` with `peer`, in order. */
static int steps_with(struct adasum_step *with, int rank, int peer, int size)
{
    struct adasum_step steps[STEPS_MAX];
    int count = 0, all = steps_of(steps, rank, size);
    for (int i = 0; i < all; i++)
        if (adasum_peer(steps[i], rank, size) == peer)
            with[count++] = steps[i];
    return count;
}

START_TEST(two_ranks_go_through_the_same_steps_with_each_other)
{
    for (int size = 2; size <= SIZE_MAX_TESTED; size++)
        for (int rank = 0; rank < size; rank++)
            for (int peer = 0; peer < size; peer++) {
                struct adasum_step mine[STEPS_MAX], theirs[STEPS_MAX];
                memset(mine, 0, sizeof mine);
                memset(theirs, 0, sizeof theirs);
                int count = steps_with(mine, rank, peer, size);
                ck_assert_int_eq(count, steps_with(theirs, peer, rank, size));
                ck_assert_mem_eq(mine, theirs, sizeof mine);
            }
}
END_TEST

START_TEST(every_step_has_another_rank_as_peer)
{
    for (int size = 2; size <= SIZE_MAX_TESTED; size++)
        for (int rank = 0; rank < size; rank++) {
            struct adasum_step steps[STEPS_MAX];
            int count = steps_of(steps, rank, size);
            ck_assert_int_gt(count, 0);
            for (int i = 0; i < count; i++) {
                int peer = adasum_peer(steps[i], rank, size);
                ck_assert(peer >= 0 && peer < size && peer != rank);
            }
        }
}
END_TEST

START_TEST(peers_are_those_of_all_steps_each_once)
{
    for (int size = 2; size <= SIZE_MAX_TESTED; size++)
        for (int rank = 0; rank < size; rank++) {
            struct adasum_step steps[STEPS_MAX];
            int peers[SIZE_MAX_TESTED], times[SIZE_MAX_TESTED] = { 0 };
            int npeers = adasum_peers(rank, size, peers), count = steps_of(steps, rank, size);
            ck_assert_int_lt(npeers, size);
            for (int i = 0; i < npeers; i++)
                ck_assert_int_eq(++times[peers[i]], 1);
            for (int i = 0; i < count; i++)
                times[adasum_peer(steps[i], rank, size)]++;
            for (int i = 0; i < npeers; i++)
                count -= times[peers[i]] - 1;
            ck_assert_int_eq(count, 0);
        }
}
END_TEST

START_TEST(the_core_is_the_largest_power_of_two)
{
    static const int rows[][3] = { { 1, 1, 0 },   { 2, 2, 1 },   { 3, 2, 1 },     { 4, 4, 2 },
                                   { 7, 4, 2 },   { 8, 8, 3 },   { 9, 8, 3 },     { 31, 16, 4 },
                                   { 32, 32, 5 }, { 33, 32, 5 }, { 1000, 512, 9 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(adasum_core_size(rows[i][0]), rows[i][1]);
        ck_assert_int_eq(adasum_levels(rows[i][0]), rows[i][2]);
    }
}
END_TEST

START_TEST(the_two_pieces_of_a_level_are_what_both_ranks_had_before)
{
    static const size_t counts[] = { 0, 1, 2, 3, 17, 289, 10007 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int rank = 0; rank < 32; rank++)
            for (int level = 0; level < 5; level++) {
                struct adasum_piece before = adasum_piece(counts[i], rank, level);
                int low_rank = rank & ~(1 << level), high_rank = rank | 1 << level;
                struct adasum_piece low = adasum_piece(counts[i], low_rank, level + 1);
                struct adasum_piece high = adasum_piece(counts[i], high_rank, level + 1);
                ck_assert_uint_eq(low.start, before.start);
                ck_assert_uint_eq(low.start + low.count, high.start);
                ck_assert_uint_eq(low.count + high.count, before.count);
                ck_assert(low.count == high.count || low.count == high.count + 1);
            }
}
END_TEST

START_TEST(ranks_begin_with_everything)
{
    struct adasum_piece piece = adasum_piece(10007, 5, 0);
    ck_assert_uint_eq(piece.start, 0);
    ck_assert_uint_eq(piece.count, 10007);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("adasum_schedule");
    TCase *tcase = tcase_create("adasum_schedule");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, two_ranks_go_through_the_same_steps_with_each_other);
    tcase_add_test(tcase, every_step_has_another_rank_as_peer);
    tcase_add_test(tcase, peers_are_those_of_all_steps_each_once);
    tcase_add_test(tcase, the_core_is_the_largest_power_of_two);
    tcase_add_test(tcase, the_two_pieces_of_a_level_are_what_both_ranks_had_before);
    tcase_add_test(tcase, ranks_begin_with_everything);
    return unit_run(suite);
}
