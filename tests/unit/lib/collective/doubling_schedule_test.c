/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of the arithmetic of doubling, for every world of up to 33 ranks. */
#include "lib/collective/doubling_schedule.h"
#include "tests/support/unit.h"

#include <stdint.h>

enum { SIZE_MAX_TESTED = 33 };

static int core_size(int size)
{
    return 1 << doubling_levels(size);
}

START_TEST(levels_are_those_of_the_largest_power_of_two)
{
    for (int size = 1; size <= SIZE_MAX_TESTED; size++)
        ck_assert(core_size(size) <= size && 2 * core_size(size) > size);
}
END_TEST

START_TEST(ranks_that_are_not_folded_out_have_places_in_order)
{
    for (int size = 1; size <= SIZE_MAX_TESTED; size++) {
        int place = 0;
        for (int rank = 0; rank < size; rank++) {
            if (doubling_is_extra(rank, size))
                continue;
            ck_assert_int_eq(doubling_place(rank, size), place);
            ck_assert_int_eq(doubling_rank(place, size), rank);
            place++;
        }
        ck_assert_int_eq(place, core_size(size));
    }
}
END_TEST

START_TEST(who_is_folded_out_has_a_neighbour_that_takes_it_in)
{
    for (int size = 1; size <= SIZE_MAX_TESTED; size++)
        for (int rank = 0; rank < size; rank++) {
            int peer = doubling_fold_peer(rank, size);
            if (peer < 0) {
                ck_assert(!doubling_is_extra(rank, size));
                continue;
            }
            ck_assert_int_eq(doubling_fold_peer(peer, size), rank);
            ck_assert_int_ne(doubling_is_extra(rank, size), doubling_is_extra(peer, size));
            ck_assert_int_eq(peer, doubling_is_extra(rank, size) ? rank - 1 : rank + 1);
        }
}
END_TEST

START_TEST(partners_agree_on_each_other_and_on_who_is_low)
{
    for (int size = 1; size <= SIZE_MAX_TESTED; size++)
        for (int rank = 0; rank < size; rank++)
            for (int level = 0; level < doubling_levels(size); level++) {
                if (doubling_is_extra(rank, size))
                    continue;
                int partner = doubling_partner(rank, size, level);
                ck_assert(partner != rank && partner >= 0 && partner < size);
                ck_assert(!doubling_is_extra(partner, size));
                ck_assert_int_eq(doubling_partner(partner, size, level), rank);
                ck_assert_int_eq(doubling_is_low(rank, size, level), rank < partner);
            }
}
END_TEST

/* Blocks are of neighbouring ranks, all that are combined are there, and each once. */
START_TEST(after_all_levels_every_rank_has_all)
{
    for (int size = 1; size <= SIZE_MAX_TESTED; size++) {
        uint64_t has[SIZE_MAX_TESTED] = { 0 }, all = ((uint64_t)1 << size) - 1;
        for (int rank = 0; rank < size; rank++)
            has[doubling_is_extra(rank, size) ? rank - 1 : rank] |= (uint64_t)1 << rank;
        for (int level = 0; level < doubling_levels(size); level++)
            for (int rank = 0; rank < size; rank++) {
                if (doubling_is_extra(rank, size) || !doubling_is_low(rank, size, level))
                    continue;
                int partner = doubling_partner(rank, size, level);
                ck_assert_uint_eq(has[rank] & has[partner], 0);
                ck_assert_uint_lt(has[rank], has[partner]);
                has[rank] = has[partner] = has[rank] | has[partner];
            }
        for (int rank = 0; rank < size; rank++)
            ck_assert(doubling_is_extra(rank, size) || has[rank] == all);
    }
}
END_TEST

static bool is_peer(int rank, int size, int other)
{
    int peers[DOUBLING_PEERS_MAX], count = doubling_peers(rank, size, peers);
    for (int i = 0; i < count; i++)
        if (peers[i] == other)
            return true;
    return false;
}

START_TEST(peers_are_peers_of_each_other_and_each_once)
{
    for (int size = 1; size <= SIZE_MAX_TESTED; size++)
        for (int rank = 0; rank < size; rank++) {
            int peers[DOUBLING_PEERS_MAX], count = doubling_peers(rank, size, peers);
            uint64_t seen = (uint64_t)1 << rank;
            for (int i = 0; i < count; i++) {
                ck_assert_uint_eq(seen & (uint64_t)1 << peers[i], 0);
                seen |= (uint64_t)1 << peers[i];
                ck_assert(is_peer(peers[i], size, rank));
            }
            ck_assert_int_le(count, doubling_levels(size) + 1);
        }
}
END_TEST

START_TEST(partners_divide_the_piece_that_both_had)
{
    static const size_t counts[] = { 0, 1, 2, 3, 31, 32, 33, 1009, SIZE_MAX };
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int place = 0; place < 32; place++)
            for (int level = 0; level < 5; level++) {
                struct doubling_piece both = doubling_piece(counts[c], place, level);
                struct doubling_piece own = doubling_piece(counts[c], place, level + 1);
                struct doubling_piece others =
                    doubling_piece(counts[c], place ^ 1 << level, level + 1);
                bool low = (place >> level & 1) == 0;
                struct doubling_piece lower = low ? own : others, upper = low ? others : own;
                ck_assert_uint_eq(lower.start, both.start);
                ck_assert_uint_eq(upper.start, lower.start + lower.count);
                ck_assert_uint_eq(lower.count + upper.count, both.count);
                ck_assert(lower.count - upper.count <= 1);
            }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("doubling_schedule");
    TCase *tcase = tcase_create("doubling_schedule");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, levels_are_those_of_the_largest_power_of_two);
    tcase_add_test(tcase, ranks_that_are_not_folded_out_have_places_in_order);
    tcase_add_test(tcase, who_is_folded_out_has_a_neighbour_that_takes_it_in);
    tcase_add_test(tcase, partners_agree_on_each_other_and_on_who_is_low);
    tcase_add_test(tcase, after_all_levels_every_rank_has_all);
    tcase_add_test(tcase, peers_are_peers_of_each_other_and_each_once);
    tcase_add_test(tcase, partners_divide_the_piece_that_both_had);
    return unit_run(suite);
}
