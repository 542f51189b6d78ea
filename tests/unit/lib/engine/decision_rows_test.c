/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of rows that ranks contribute to an allgather or alltoall: what they say, and which
 * contributions are refused. */
#include "lib/engine/decision_rows.h"

#include "lib/base/wire.h"
#include "tests/support/unit.h"

#include <string.h>

enum { SIZE = 2 };

/* A list in which every rank contributes the same: some numbers, and so many bytes behind them. */
static struct agreed list_of(const int64_t *numbers, int count, size_t nbytes)
{
    static unsigned char data[SIZE * 256];
    static size_t offsets[SIZE + 1];
    struct wire_writer writer = { .data = data, .capacity = sizeof data };
    for (int rank = 0; rank < SIZE; rank++) {
        static const unsigned char rows[64];
        offsets[rank] = writer.length;
        for (int i = 0; i < count; i++)
            wire_put_u64(&writer, (uint64_t)numbers[i]);
        wire_put_bytes(&writer, rows, nbytes);
    }
    offsets[SIZE] = writer.length;
    return (struct agreed){ .data = data, .nbytes = writer.length, .offsets = offsets };
}

START_TEST(the_rows_of_an_allgather_follow_their_number)
{
    static const struct {
        int64_t number;
        int numbers;
        size_t nbytes, row_size;
        int64_t rows;
        bool came;
    } cases[] = {
        { 3, 1, 12, 4, 3, true },   { 0, 1, 0, 4, 0, true },
        { 7, 1, 0, 0, 7, true },    { 3, 1, 8, 4, 3, false },
        { 3, 1, 13, 4, 3, false },  { 3, 1, 4, 0, 3, false },
        { -1, 1, 0, 4, -1, false }, { ROWS_MAX + 1, 1, 0, 0, ROWS_MAX + 1, false },
        { 0, 0, 7, 4, -1, false },  { 0, 0, 0, 4, 0, false },
    };
    struct agreed list = list_of(&cases[_i].number, cases[_i].numbers, cases[_i].nbytes);
    ck_assert_int_eq(decision_rows(&list, 1), cases[_i].rows);
    ck_assert_int_eq(decision_rows_came(&list, 1, cases[_i].row_size), cases[_i].came);
}
END_TEST

START_TEST(the_rows_of_an_alltoall_follow_the_numbers_for_all_ranks)
{
    static const struct {
        int64_t numbers[SIZE];
        int count;
        size_t nbytes, row_size;
        int64_t before; /* all ranks: to this rank and the one before */
        bool came;
    } cases[] = {
        { { 1, 2 }, 2, 12, 4, 3, true },
        { { 0, 0 }, 2, 0, 4, 0, true },
        { { 0, 5 }, 2, 5, 1, 5, true },
        { { 5, 9 }, 2, 0, 0, 14, true },
        { { 1, 2 }, 2, 8, 4, 3, false },
        { { 1, 2 }, 2, 14, 4, 3, false },
        { { 1, 2 }, 2, 4, 0, 3, false },
        { { -1, 2 }, 2, 4, 4, -1, false },
        { { 2, -1 }, 2, 4, 4, -1, false },
        { { ROWS_MAX, 1 }, 2, 0, 0, -1, false },
        { { INT64_MAX, INT64_MAX }, 2, 0, 0, -1, false },
        { { 0 }, 1, 7, 4, -1, false },
        { { 0 }, 0, 0, 4, -1, false },
    };
    struct agreed list = list_of(cases[_i].numbers, cases[_i].count, cases[_i].nbytes);
    ck_assert_int_eq(decision_splits_before(&list, SIZE, 1, SIZE), cases[_i].before);
    ck_assert_int_eq(decision_splits_came(&list, SIZE, 1, cases[_i].row_size), cases[_i].came);
    if (cases[_i].count == SIZE)
        for (int to = 0; to < SIZE; to++)
            ck_assert_int_eq(decision_split(&list, SIZE, 1, to), cases[_i].numbers[to]);
    else
        ck_assert_int_lt(decision_split(&list, SIZE, 1, 0), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decision_rows");
    TCase *tcase = tcase_create("decision_rows");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, the_rows_of_an_allgather_follow_their_number, 0, 10);
    tcase_add_loop_test(tcase, the_rows_of_an_alltoall_follow_the_numbers_for_all_ranks, 0, 13);
    return unit_run(suite);
}
