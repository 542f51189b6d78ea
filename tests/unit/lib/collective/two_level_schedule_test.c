/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of the schedule of two levels, for every layout of a few hosts. */
#include "lib/collective/two_level_schedule.h"
#include "tests/support/layouts.h"
#include "tests/support/unit.h"

#include <string.h>

static struct placing *placing;

static void place(int number)
{
    struct layout layout = layout_of(number);
    placing = placing_create(layout.places, layout.size, LAYOUT_HOSTS);
    ck_assert_ptr_nonnull(placing);
}

static void forget(void)
{
    placing_destroy(placing);
}

/* ---- placing ---- */

START_TEST(hosts_are_numbered_as_they_appear)
{
    static const int places[] = { 3, 3, 1, 3, 0, 1 }, host[] = { 0, 0, 1, 0, 2, 1 },
                     index[] = { 0, 1, 0, 2, 0, 1 }, first[] = { 0, 3, 5, 6 },
                     members[] = { 0, 1, 3, 2, 5, 4 };
    placing = placing_create(places, 6, 4);
    ck_assert_int_eq(placing->size, 6);
    ck_assert_int_eq(placing->nhosts, 3);
    ck_assert_int_eq(placing->slots, 3);
    ck_assert_mem_eq(placing->host, host, sizeof host);
    ck_assert_mem_eq(placing->index, index, sizeof index);
    ck_assert_mem_eq(placing->first, first, sizeof first);
    ck_assert_mem_eq(placing->members, members, sizeof members);
    ck_assert_int_eq(placing_count(placing, 0), 3);
    ck_assert_int_eq(placing_count(placing, 2), 1);
    forget();
}
END_TEST

static void check_hosts(int number)
{
    struct layout layout = layout_of(number);
    place(number);
    for (int rank = 0; rank < layout.size; rank++) {
        int host = placing->host[rank];
        ck_assert_int_eq(placing->members[placing->first[host] + placing->index[rank]], rank);
        for (int other = 0; other < rank; other++)
            ck_assert((placing->host[other] == host) ==
                      (layout.places[other] == layout.places[rank]));
    }
    forget();
}

START_TEST(every_rank_is_found_on_its_host)
{
    for (int number = 0; number < LAYOUTS; number++)
        check_hosts(number);
}
END_TEST

/* ---- segments ---- */

/* All cuts of the vector, the end included. */
static int all_cuts(struct cut *cuts)
{
    int count = 0;
    struct cut cut = { 0, 1 }, end = { 1, 1 };
    for (; cut_is_before(cut, end); cut = two_level_next_cut(placing, cut))
        cuts[count++] = cut;
    cuts[count] = cut;
    return count;
}

static void check_carriers(int number)
{
    struct cut cuts[LAYOUT_RANKS + 1];
    place(number);
    int count = all_cuts(cuts);
    ck_assert_int_le(count, placing->size);
    for (int i = 0; i < count; i++)
        for (int host = 0; host < placing->nhosts; host++) {
            int carrier = two_level_carrier(placing, host, cuts[i]);
            ck_assert_int_eq(placing->host[carrier], host);
            ck_assert(!cut_is_before(cuts[i], two_level_begin(placing, carrier)));
            ck_assert(!cut_is_before(two_level_end(placing, carrier), cuts[i + 1]));
        }
    ck_assert(!cut_is_before(cuts[count], (struct cut){ 1, 1 }));
    forget();
}

START_TEST(a_segment_is_carried_by_the_one_whose_share_it_is_in)
{
    for (int number = 0; number < LAYOUTS; number++)
        check_carriers(number);
}
END_TEST

static void check_cuts(int number)
{
    struct cut cuts[LAYOUT_RANKS + 1];
    place(number);
    int count = all_cuts(cuts), found = 0;
    for (int i = 0; i < count; i++) {
        bool begins = false;
        ck_assert(cut_is_before(cuts[i], cuts[i + 1]));
        for (int rank = 0; rank < placing->size; rank++) {
            struct cut begin = two_level_begin(placing, rank);
            begins |= !cut_is_before(begin, cuts[i]) && !cut_is_before(cuts[i], begin);
        }
        found += begins;
    }
    ck_assert_int_eq(found, count);
    int carried = 0;
    for (int rank = 0; rank < placing->size; rank++)
        carried += two_level_segments(placing, rank);
    ck_assert_int_eq(carried, count * placing->nhosts);
    forget();
}

START_TEST(cuts_are_those_of_all_shares_and_no_others)
{
    for (int number = 0; number < LAYOUTS; number++)
        check_cuts(number);
}
END_TEST

static void check_positions(int number)
{
    static const size_t counts[] = { 0, 1, 2, 3, 5, 11, 12, 13, 1000003, (size_t)1 << 60 };
    struct cut cuts[LAYOUT_RANKS + 1];
    place(number);
    int count = all_cuts(cuts);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        ck_assert_uint_eq(two_level_position(cuts[0], counts[c]), 0);
        ck_assert_uint_eq(two_level_position(cuts[count], counts[c]), counts[c]);
        for (int i = 0; i < count; i++)
            ck_assert_uint_le(two_level_position(cuts[i], counts[c]),
                              two_level_position(cuts[i + 1], counts[c]));
    }
    forget();
}

START_TEST(cuts_lie_in_order_in_every_vector)
{
    for (int number = 0; number < LAYOUTS; number++)
        check_positions(number);
}
END_TEST

START_TEST(the_same_place_has_the_same_position)
{
    for (int parts = 1; parts <= 6; parts++)
        for (int part = 0; part <= parts; part++)
            for (int times = 2; times <= 5; times++)
                for (size_t count = 0; count < 100; count++) {
                    struct cut cut = { part, parts }, same = { part * times, parts * times };
                    ck_assert_uint_eq(two_level_position(cut, count),
                                      two_level_position(same, count));
                }
}
END_TEST

START_TEST(a_share_is_one_segment_where_hosts_are_alike)
{
    static const int places[] = { 0, 0, 0, 1, 1, 1, 2, 2, 2 };
    placing = placing_create(places, 9, 3);
    for (int rank = 0; rank < 9; rank++) {
        int peers[8];
        ck_assert_int_eq(two_level_segments(placing, rank), 1);
        ck_assert_int_eq(two_level_peers(placing, rank, peers), 2 + 2);
    }
    forget();
}
END_TEST

START_TEST(the_example_is_as_drawn)
{
    static const int places[] = { 0, 0, 1, 1, 1 }, segments[] = { 2, 2, 1, 2, 1 };
    static const struct cut cuts[] = { { 0, 1 }, { 1, 3 }, { 1, 2 }, { 2, 3 }, { 1, 1 } };
    struct cut seen[LAYOUT_RANKS + 1];
    placing = placing_create(places, 5, 2);
    ck_assert_int_eq(all_cuts(seen), 4);
    ck_assert_mem_eq(seen, cuts, sizeof cuts);
    for (int rank = 0; rank < 5; rank++)
        ck_assert_int_eq(two_level_segments(placing, rank), segments[rank]);
    forget();
}
END_TEST

/* ---- peers ---- */

/* Do they carry the same segment? */
static bool share_a_segment(int a, int b)
{
    return cut_is_before(two_level_begin(placing, a), two_level_end(placing, b)) &&
           cut_is_before(two_level_begin(placing, b), two_level_end(placing, a));
}

static void check_peers(int number)
{
    place(number);
    for (int rank = 0; rank < placing->size; rank++) {
        int peers[LAYOUT_RANKS], times[LAYOUT_RANKS] = { 0 };
        int count = two_level_peers(placing, rank, peers);
        for (int i = 0; i < count; i++)
            times[peers[i]]++;
        for (int other = 0; other < placing->size; other++) {
            bool local = placing->host[other] == placing->host[rank];
            bool is_peer = other != rank && (local || share_a_segment(rank, other));
            ck_assert_int_eq(times[other], is_peer);
        }
    }
    forget();
}

START_TEST(peers_are_those_of_the_host_and_of_the_segments)
{
    for (int number = 0; number < LAYOUTS; number++)
        check_peers(number);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("two_level_schedule");
    TCase *tests = tcase_create("schedule");
    tcase_add_test(tests, hosts_are_numbered_as_they_appear);
    tcase_add_test(tests, the_same_place_has_the_same_position);
    tcase_add_test(tests, a_share_is_one_segment_where_hosts_are_alike);
    tcase_add_test(tests, the_example_is_as_drawn);
    tcase_add_test(tests, every_rank_is_found_on_its_host);
    tcase_add_test(tests, a_segment_is_carried_by_the_one_whose_share_it_is_in);
    tcase_add_test(tests, cuts_are_those_of_all_shares_and_no_others);
    tcase_add_test(tests, cuts_lie_in_order_in_every_vector);
    tcase_add_test(tests, peers_are_those_of_the_host_and_of_the_segments);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
