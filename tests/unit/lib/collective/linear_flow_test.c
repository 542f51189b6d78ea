/* SPDX-License-Identifier: Apache-2.0 */
/* A vector that several readers get from one copy: what is copied when, and who waits for whom. */
#include "lib/collective/linear_flow.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

enum { READERS = 3, PIECES = 3, SIZE = PIECES * LINEAR_PIECE, MOST = 3 * SIZE };

static unsigned char *vector, *buffer;
static size_t sent[READERS];
static struct linear_flow flow;

static void setup(void)
{
    vector = malloc(MOST);
    buffer = aligned_alloc(64, SIZE);
    for (size_t i = 0; i < MOST; i++)
        vector[i] = (unsigned char)(i * 7 + i / LINEAR_PIECE);
}

static void teardown(void)
{
    free(vector);
    free(buffer);
}

static void begin(size_t nbytes, bool buffered, bool far)
{
    flow = (struct linear_flow){ .data = vector,
                                 .nbytes = nbytes,
                                 .buffer = buffered ? buffer : NULL,
                                 .size = SIZE,
                                 .far = far,
                                 .sent = sent,
                                 .readers = READERS };
    linear_flow_begin(&flow);
}

static size_t shown(int reader, size_t ahead)
{
    size_t nbytes;
    const void *data = linear_flow_output(&flow, reader, ahead, &nbytes);
    ck_assert((data == NULL) == (nbytes == 0));
    return nbytes;
}

/* A reader gets all that there is for it now, which is right. Returns how many bytes. */
static size_t take(int reader)
{
    size_t nbytes;
    const void *data = linear_flow_output(&flow, reader, 0, &nbytes);
    if (nbytes > 0)
        ck_assert(memcmp(data, vector + sent[reader], nbytes) == 0);
    linear_flow_sent(&flow, reader, nbytes);
    return nbytes;
}

/* The size of the vector, by the places where something begins or ends. */
static const size_t sizes[] = { 1,
                                LINEAR_PIECE - 1,
                                LINEAR_PIECE,
                                LINEAR_PIECE + 1,
                                2 * LINEAR_PIECE - 1,
                                2 * LINEAR_PIECE,
                                SIZE - 1,
                                SIZE,
                                SIZE + 1,
                                SIZE + LINEAR_PIECE / 2 + 4096,
                                SIZE + LINEAR_PIECE,
                                2 * SIZE + LINEAR_PIECE + 5,
                                MOST };

START_TEST(each_reader_gets_the_vector)
{
    for (int way = 0; way < 4; way++) {
        begin(sizes[_i], way & 1, way & 2);
        while (!linear_flow_done(&flow)) {
            size_t moved = 0;
            for (int reader = 0; reader < READERS; reader++)
                moved += take(reader);
            ck_assert_uint_gt(moved, 0);
        }
        for (int reader = 0; reader < READERS; reader++) {
            ck_assert_uint_eq(sent[reader], sizes[_i]);
            ck_assert_uint_eq(shown(reader, 0), 0);
        }
    }
}
END_TEST

START_TEST(what_one_reader_was_shown_another_is_shown_without_a_copy)
{
    size_t first, second;
    begin(MOST, true, false);
    const void *data = linear_flow_output(&flow, 0, 0, &first);
    ck_assert_ptr_eq(data, buffer);
    ck_assert_uint_eq(flow.copied, first);
    ck_assert_ptr_eq(linear_flow_output(&flow, 1, 0, &second), data);
    ck_assert_uint_eq(second, first);
    ck_assert_uint_eq(flow.copied, first);
}
END_TEST

START_TEST(nothing_is_copied_before_a_reader_has_got_all_that_was)
{
    begin(MOST, true, false);
    ck_assert_uint_eq(shown(0, 0), LINEAR_PIECE);
    ck_assert_uint_eq(shown(0, 100), LINEAR_PIECE - 100);
    ck_assert_uint_eq(flow.copied, LINEAR_PIECE);
    ck_assert_uint_eq(shown(0, LINEAR_PIECE), LINEAR_PIECE);
    ck_assert_uint_eq(flow.copied, 2 * LINEAR_PIECE);
}
END_TEST

START_TEST(a_slow_reader_holds_up_the_copying)
{
    static unsigned char before[SIZE];
    begin(MOST, true, _i);
    for (int i = 0; i < PIECES; i++)
        for (int reader = 1; reader < READERS; reader++)
            ck_assert_uint_eq(take(reader), LINEAR_PIECE);
    memcpy(before, buffer, SIZE);
    for (int reader = 1; reader < READERS; reader++)
        ck_assert_uint_eq(take(reader), 0);
    linear_flow_sent(&flow, 0, LINEAR_PIECE - 1);
    ck_assert_uint_eq(take(1), 0);
    ck_assert(memcmp(before, buffer, SIZE) == 0);
    linear_flow_sent(&flow, 0, 1);
    ck_assert_uint_eq(take(1), LINEAR_PIECE);
    ck_assert(memcmp(before + LINEAR_PIECE, buffer + LINEAR_PIECE, SIZE - LINEAR_PIECE) == 0);
    ck_assert_uint_eq(take(0), SIZE - LINEAR_PIECE);
}
END_TEST

START_TEST(the_last_piece_is_not_a_short_one)
{
    begin(2 * LINEAR_PIECE + 1, true, false);
    ck_assert_uint_eq(take(0), LINEAR_PIECE);
    ck_assert_uint_eq(take(0), LINEAR_PIECE + 1);
}
END_TEST

/* As 548 KiB with a buffer of 512 KiB: the last piece has 100 KiB. */
START_TEST(the_end_of_the_buffer_cuts_the_last_piece)
{
    enum { FRONT = LINEAR_PIECE / 2 + 4096 };
    size_t nbytes;
    begin(SIZE + FRONT, true, false);
    for (int i = 0; i < PIECES; i++)
        for (int reader = 0; reader < READERS; reader++)
            ck_assert_uint_eq(take(reader), LINEAR_PIECE);
    ck_assert_ptr_eq(linear_flow_output(&flow, 0, 0, &nbytes), buffer);
    ck_assert_uint_eq(nbytes, FRONT);
    for (int reader = 0; reader < READERS; reader++)
        ck_assert_uint_eq(take(reader), FRONT);
    ck_assert(linear_flow_done(&flow));
}
END_TEST

START_TEST(without_a_buffer_the_vector_itself_is_read)
{
    size_t nbytes;
    begin(MOST, false, false);
    ck_assert_ptr_eq(linear_flow_output(&flow, 2, 5, &nbytes), vector + 5);
    ck_assert_uint_eq(nbytes, MOST - 5);
}
END_TEST

START_TEST(an_empty_vector_is_done_at_once)
{
    begin(0, _i, false);
    ck_assert(linear_flow_done(&flow));
    ck_assert_uint_eq(shown(0, 0), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("linear_flow");
    TCase *tests = tcase_create("linear_flow");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, each_reader_gets_the_vector, 0, sizeof sizes / sizeof *sizes);
    tcase_add_test(tests, what_one_reader_was_shown_another_is_shown_without_a_copy);
    tcase_add_test(tests, nothing_is_copied_before_a_reader_has_got_all_that_was);
    tcase_add_loop_test(tests, a_slow_reader_holds_up_the_copying, 0, 2);
    tcase_add_test(tests, the_last_piece_is_not_a_short_one);
    tcase_add_test(tests, the_end_of_the_buffer_cuts_the_last_piece);
    tcase_add_test(tests, without_a_buffer_the_vector_itself_is_read);
    tcase_add_loop_test(tests, an_empty_vector_is_done_at_once, 0, 2);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
