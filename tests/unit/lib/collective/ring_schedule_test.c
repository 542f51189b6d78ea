/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of the ring's arithmetic, for every small world. */
#include "lib/collective/ring_schedule.h"
#include "tests/support/unit.h"

enum { SIZE_MAX_TESTED = 9 };

START_TEST(what_one_sends_the_next_receives)
{
    for (int size = 1; size <= SIZE_MAX_TESTED; size++)
        for (int step = 0; step < ring_steps(size); step++)
            for (int rank = 0; rank < size; rank++) {
                int next = ring_right(rank, size);
                ck_assert_int_eq(reduce_scatter_sends(rank, size, step),
                                 reduce_scatter_receives(next, size, step));
                ck_assert_int_eq(allgather_sends(rank, size, step),
                                 allgather_receives(next, size, step));
            }
}
END_TEST

START_TEST(what_is_received_is_sent_on_in_the_next_step)
{
    for (int size = 2; size <= SIZE_MAX_TESTED; size++)
        for (int rank = 0; rank < size; rank++)
            for (int step = 1; step < ring_steps(size); step++) {
                ck_assert_int_eq(reduce_scatter_sends(rank, size, step),
                                 reduce_scatter_receives(rank, size, step - 1));
                ck_assert_int_eq(allgather_sends(rank, size, step),
                                 allgather_receives(rank, size, step - 1));
            }
}
END_TEST

START_TEST(rank_r_ends_up_owning_chunk_r_begun_by_rank_r_plus_one)
{
    for (int size = 2; size <= SIZE_MAX_TESTED; size++)
        for (int rank = 0; rank < size; rank++) {
            int last = ring_steps(size) - 1;
            ck_assert_int_eq(reduce_scatter_receives(rank, size, last), rank);
            ck_assert_int_eq(reduce_scatter_sends(ring_right(rank, size), size, 0), rank);
        }
}
END_TEST

START_TEST(each_chunk_is_combined_once_per_rank)
{
    for (int size = 2; size <= SIZE_MAX_TESTED; size++)
        for (int rank = 0; rank < size; rank++) {
            int reduced = 0, gathered = 0;
            for (int step = 0; step < ring_steps(size); step++) {
                reduced |= 1 << reduce_scatter_receives(rank, size, step);
                gathered |= 1 << allgather_receives(rank, size, step);
            }
            int all = (1 << size) - 1;
            ck_assert_int_eq(reduced, all & ~(1 << ring_left(rank, size)));
            ck_assert_int_eq(gathered, all & ~(1 << rank));
        }
}
END_TEST

START_TEST(distances_from_a_root_are_all_different)
{
    for (int size = 1; size <= SIZE_MAX_TESTED; size++)
        for (int root = 0; root < size; root++) {
            ck_assert_int_eq(broadcast_distance(root, size, root), 0);
            for (int rank = 0; rank < size; rank++)
                ck_assert_int_eq((root + broadcast_distance(rank, size, root)) % size, rank);
        }
}
END_TEST

START_TEST(chunks_cover_all_elements_and_differ_by_one_at_most)
{
    static const size_t counts[] = { 0, 1, 2, 3, 7, 8, 9, 10, 1000, 100003, (size_t)-1 / 2 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int size = 1; size <= SIZE_MAX_TESTED; size++) {
            size_t end = 0, least = counts[i] / (size_t)size;
            for (int chunk = 0; chunk < size; chunk++) {
                size_t count = chunk_count(counts[i], size, chunk);
                ck_assert_uint_eq(chunk_start(counts[i], size, chunk), end);
                ck_assert(count == least || count == least + 1);
                end += count;
            }
            ck_assert_uint_eq(end, counts[i]);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ring_schedule");
    TCase *tcase = tcase_create("ring_schedule");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, what_one_sends_the_next_receives);
    tcase_add_test(tcase, what_is_received_is_sent_on_in_the_next_step);
    tcase_add_test(tcase, rank_r_ends_up_owning_chunk_r_begun_by_rank_r_plus_one);
    tcase_add_test(tcase, each_chunk_is_combined_once_per_rank);
    tcase_add_test(tcase, distances_from_a_root_are_all_different);
    tcase_add_test(tcase, chunks_cover_all_elements_and_differ_by_one_at_most);
    return unit_run(suite);
}
