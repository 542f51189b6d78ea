/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of the order of operands and results, and of who exchanges with whom when each rank
 * owns a share. */
#include "lib/collective/direct_schedule.h"
#include "lib/collective/exchange_schedule.h"
#include "tests/support/unit.h"

enum { RANKS_MAX = 33, BYTES_MAX = 17, PIECES_MAX = 4 };

static size_t size_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Each byte is where the stretch before said it would be. */
static void check_stretches(size_t operands, size_t results, size_t piece)
{
    size_t next[2] = { 0, 0 };
    for (size_t at = 0; at < operands + results; at++) {
        struct stretch stretch = exchange_stretch(operands, results, piece, at);
        size_t end = stretch.of_results ? results : operands;
        ck_assert_uint_eq(stretch.start, next[stretch.of_results]++);
        ck_assert(stretch.nbytes > 0 && stretch.start + stretch.nbytes <= end);
        if (stretch.nbytes == 1)
            continue;
        struct stretch behind = exchange_stretch(operands, results, piece, at + 1);
        ck_assert_int_eq(behind.of_results, stretch.of_results);
        ck_assert_uint_eq(behind.nbytes, stretch.nbytes - 1);
    }
    ck_assert_uint_eq(exchange_stretch(operands, results, piece, operands + results).nbytes, 0);
}

START_TEST(all_operands_and_results_are_in_the_stream_in_order)
{
    for (size_t operands = 0; operands <= BYTES_MAX; operands++)
        for (size_t results = 0; results <= BYTES_MAX; results++) {
            for (size_t piece = 1; piece <= PIECES_MAX; piece++)
                check_stretches(operands, results, piece);
            check_stretches(operands, results, EXCHANGE_IN_SEQUENCE);
        }
}
END_TEST

/* Who waits for operands before results can be made has got them by then. */
START_TEST(results_come_two_pieces_behind_operands)
{
    for (size_t operands = 0; operands <= BYTES_MAX; operands++)
        for (size_t results = 0; results <= BYTES_MAX; results++)
            for (size_t piece = 1; piece <= PIECES_MAX; piece++)
                for (size_t at = 0; at < operands + results; at++) {
                    struct stretch s = exchange_stretch(operands, results, piece, at);
                    size_t before = at - s.start, ahead = (s.start / piece + 2) * piece;
                    if (s.of_results)
                        ck_assert_uint_eq(before, size_min(operands, ahead));
                }
}
END_TEST

START_TEST(in_sequence_operands_come_first)
{
    struct stretch last = exchange_stretch(1000, 10, EXCHANGE_IN_SEQUENCE, 999);
    struct stretch first = exchange_stretch(1000, 10, EXCHANGE_IN_SEQUENCE, 1000);
    ck_assert(!last.of_results && last.nbytes == 1);
    ck_assert(first.of_results && first.nbytes == 10);
}
END_TEST

START_TEST(members_and_exchanges_are_each_others_opposite)
{
    for (int self = 0; self < RANKS_MAX; self++)
        for (int exchange = 0; exchange < RANKS_MAX - 1; exchange++) {
            int member = direct_member(exchange, self);
            ck_assert_int_ne(member, self);
            ck_assert_int_eq(direct_exchange(member, self), exchange);
            ck_assert(exchange == 0 || member > direct_member(exchange - 1, self));
        }
}
END_TEST

START_TEST(direct_peers_are_all_others_ascending)
{
    for (int size = 1; size <= RANKS_MAX; size++)
        for (int rank = 0; rank < size; rank++) {
            int peers[RANKS_MAX], count = direct_peers(rank, size, peers);
            ck_assert_int_eq(count, size - 1);
            for (int i = 0; i < count; i++)
                ck_assert_int_eq(peers[i], i < rank ? i : i + 1);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exchange_schedule");
    TCase *tcase = tcase_create("exchange_schedule");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, all_operands_and_results_are_in_the_stream_in_order);
    tcase_add_test(tcase, results_come_two_pieces_behind_operands);
    tcase_add_test(tcase, in_sequence_operands_come_first);
    tcase_add_test(tcase, members_and_exchanges_are_each_others_opposite);
    tcase_add_test(tcase, direct_peers_are_all_others_ascending);
    return unit_run(suite);
}
