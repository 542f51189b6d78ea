/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/late_ranks.h"
#include "tests/support/unit.h"

START_TEST(ranks_are_in_order_whatever_the_order_in_which_they_come)
{
    static const int orders[][3] = { { 1, 4, 9 }, { 9, 4, 1 }, { 4, 9, 1 }, { 4, 1, 9 } };
    struct late_ranks ranks = { 0 };
    for (int i = 0; i < 3; i++)
        late_ranks_add(&ranks, orders[_i][i]);
    ck_assert_int_eq(ranks.count, 3);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(ranks.rank[i], orders[0][i]);
}
END_TEST

START_TEST(a_rank_is_there_once)
{
    struct late_ranks ranks = { 0 };
    for (int i = 0; i < 3; i++) {
        late_ranks_add(&ranks, 2);
        late_ranks_add(&ranks, 0);
    }
    ck_assert_int_eq(ranks.count, 2);
    ck_assert(late_ranks_contain(&ranks, 0) && late_ranks_contain(&ranks, 2));
    ck_assert(!late_ranks_contain(&ranks, 1) && !late_ranks_contain(&ranks, 3));
}
END_TEST

START_TEST(of_too_many_ranks_the_lowest_are_kept)
{
    struct late_ranks high = { 0 }, low = { 0 };
    for (int rank = 0; rank < LATE_RANKS_MAX; rank++)
        late_ranks_add(&high, 1000 + rank);
    late_ranks_add(&high, 5000);
    ck_assert_int_eq(high.rank[LATE_RANKS_MAX - 1], 1000 + LATE_RANKS_MAX - 1);
    late_ranks_add(&low, 7);
    late_ranks_add(&low, 1000);
    late_ranks_add_all(&high, &low);
    ck_assert_int_eq(high.count, LATE_RANKS_MAX);
    ck_assert_int_eq(high.rank[0], 7);
    ck_assert_int_eq(high.rank[LATE_RANKS_MAX - 1], 1000 + LATE_RANKS_MAX - 2);
}
END_TEST

START_TEST(what_is_sent_is_what_arrives)
{
    struct late_ranks sent = { 0 }, arrived;
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    for (int i = 0; i < _i; i++)
        late_ranks_add(&sent, 3 * i);
    late_ranks_encode(&writer, &sent);
    ck_assert_uint_le(writer.length, LATE_RANKS_ENCODED_MAX);
    wire_reader_init(&reader, writer.data, writer.length);
    late_ranks_decode(&arrived, 0, 3 * LATE_RANKS_MAX, &reader);
    ck_assert(wire_reader_finished(&reader));
    ck_assert_int_eq(arrived.count, _i);
    for (int i = 0; i < _i; i++)
        ck_assert_int_eq(arrived.rank[i], 3 * i);
    wire_writer_fini(&writer);
}
END_TEST

/* Ranks 2 to 8 are possible. */
static const struct {
    int count;
    int ranks[3];
} wrong[] = {
    { 1, { 1 } },
    { 1, { 9 } },
    { 1, { -1 } },
    { 2, { 3, 3 } },
    { 2, { 4, 3 } },
    { 3, { 2, 8 } }, /* cut */
    { LATE_RANKS_MAX + 1, { 2, 3, 4 } },
};

START_TEST(what_cannot_be_is_refused)
{
    struct late_ranks ranks;
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    wire_put_u8(&writer, (uint8_t)wrong[_i].count);
    for (int i = 0; i < 3 && wrong[_i].ranks[i] != 0; i++)
        wire_put_i32(&writer, wrong[_i].ranks[i]);
    wire_reader_init(&reader, writer.data, writer.length);
    late_ranks_decode(&ranks, 2, 9, &reader);
    ck_assert(reader.failed);
    wire_writer_fini(&writer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("late_ranks");
    TCase *tcase = tcase_create("late_ranks");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, ranks_are_in_order_whatever_the_order_in_which_they_come, 0, 4);
    tcase_add_test(tcase, a_rank_is_there_once);
    tcase_add_test(tcase, of_too_many_ranks_the_lowest_are_kept);
    tcase_add_loop_test(tcase, what_is_sent_is_what_arrives, 0, LATE_RANKS_MAX + 1);
    tcase_add_loop_test(tcase, what_cannot_be_is_refused, 0, (int)(sizeof wrong / sizeof *wrong));
    return unit_run(suite);
}
