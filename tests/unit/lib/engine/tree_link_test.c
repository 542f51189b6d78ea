/* SPDX-License-Identifier: Apache-2.0 */
/* Frames over the links of a tree. */
#include "lib/engine/tree_link.h"

#include "tests/support/link_memory.h"
#include "tests/support/unit.h"

#include <string.h>

enum { CAPACITY = 4096 };

static struct tree_link ends[2];
static struct err err;

/* `step` bytes are moved at a time. */
static void start(size_t step)
{
    struct link *links[2];
    link_memory_pair(links, step, CAPACITY);
    for (int i = 0; i < 2; i++)
        tree_link_init(&ends[i], links[i], i);
}

static void stop(void)
{
    for (int i = 0; i < 2; i++)
        tree_link_fini(&ends[i]);
}

static void put(struct tree_link *tree, enum tree_frame type, const char *text)
{
    tree_link_put(tree, type, text, strlen(text));
}

/* The next frame, which must come. */
static void expect(struct tree_link *tree, enum tree_frame type, const char *text)
{
    struct frame frame;
    int rc;
    while ((rc = tree_link_next(tree, &frame, &err)) == 0)
        ck_assert_int_eq(tree_link_receive(tree, &err), 1);
    ck_assert_int_eq(rc, 1);
    ck_assert_uint_eq(frame.type, type);
    ck_assert_uint_eq(frame.length, strlen(text));
    ck_assert_mem_eq(frame.body, text, frame.length);
}

static const size_t steps[] = { 1, 5, 13, CAPACITY };

/* With and without sums: without, a frame may be sent before it is queued. */
START_TEST(frames_in_parts_come_in_order_whatever_is_moved_at_a_time)
{
    start(steps[_i / 2]);
    ends[0].reader.is_summed = ends[1].reader.is_summed = _i % 2;
    tree_link_put_parts(&ends[0], TREE_STEADY, "he", 2, "ad", 2);
    put(&ends[0], TREE_DECISION, "queued");
    tree_link_put_parts(&ends[0], TREE_STEADY, "head", 4, NULL, 0);
    while (!tree_link_flushed(&ends[0]))
        ck_assert_int_eq(tree_link_send(&ends[0], &err), 1);
    expect(&ends[1], TREE_STEADY, "head");
    expect(&ends[1], TREE_DECISION, "queued");
    expect(&ends[1], TREE_STEADY, "head");
    stop();
}
END_TEST

/* Such frames are sent before they are queued also with sums. */
START_TEST(data_in_parts_come_in_order_whatever_is_moved_at_a_time)
{
    start(steps[_i / 2]);
    ends[0].reader.is_summed = ends[1].reader.is_summed = _i % 2;
    tree_link_put_parts(&ends[0], TREE_SENT, "a head of 20 bytes..", 20, "its data", 8);
    put(&ends[0], TREE_DECISION, "queued");
    tree_link_put_parts(&ends[0], TREE_SENT, "a head of 20 bytes..", 20, NULL, 0);
    while (!tree_link_flushed(&ends[0]))
        ck_assert_int_eq(tree_link_send(&ends[0], &err), 1);
    expect(&ends[1], TREE_SENT, "a head of 20 bytes..its data");
    expect(&ends[1], TREE_DECISION, "queued");
    expect(&ends[1], TREE_SENT, "a head of 20 bytes..");
    stop();
}
END_TEST

START_TEST(frames_come_in_order_whatever_is_moved_at_a_time)
{
    start(steps[_i]);
    put(&ends[0], TREE_DECISION, "first");
    put(&ends[0], TREE_DECISION, "");
    put(&ends[0], TREE_PROBE, "third");
    ck_assert(!tree_link_flushed(&ends[0]));
    while (!tree_link_flushed(&ends[0]))
        ck_assert_int_eq(tree_link_send(&ends[0], &err), 1);
    expect(&ends[1], TREE_DECISION, "first");
    expect(&ends[1], TREE_DECISION, "");
    expect(&ends[1], TREE_PROBE, "third");
    ck_assert_int_eq(tree_link_receive(&ends[1], &err), 0);
    stop();
}
END_TEST

START_TEST(a_link_that_is_full_makes_no_progress_and_loses_nothing)
{
    char text[CAPACITY + 1] = { 0 };
    memset(text, 'x', CAPACITY);
    start(CAPACITY);
    put(&ends[0], TREE_DECISION, text); /* with its head it is larger than the link */
    ck_assert_int_eq(tree_link_send(&ends[0], &err), 1);
    ck_assert_int_eq(tree_link_send(&ends[0], &err), 0);
    ck_assert(!tree_link_flushed(&ends[0]));
    ck_assert_int_eq(tree_link_receive(&ends[1], &err), 1);
    ck_assert_int_eq(tree_link_receive(&ends[1], &err), 0);
    ck_assert_int_eq(tree_link_send(&ends[0], &err), 1);
    ck_assert(tree_link_flushed(&ends[0]));
    expect(&ends[1], TREE_DECISION, text);
    stop();
}
END_TEST

START_TEST(what_was_said_before_the_end_is_heard_though_nothing_can_be_sent)
{
    start(steps[_i]);
    put(&ends[1], TREE_LEFT, "why");
    while (!tree_link_flushed(&ends[1]))
        ck_assert_int_eq(tree_link_send(&ends[1], &err), 1);
    tree_link_fini(&ends[1]);
    for (int i = 0; i < 2; i++) {
        put(&ends[0], TREE_REPORT, "in vain");
        ck_assert_int_eq(tree_link_send(&ends[0], &err), 0);
        ck_assert(tree_link_flushed(&ends[0]));
    }
    expect(&ends[0], TREE_LEFT, "why");
    ck_assert_int_eq(tree_link_receive(&ends[0], &err), HVD_ERR_PEER_LOST);
    stop();
}
END_TEST

START_TEST(what_there_was_no_memory_to_say_is_an_error_and_not_lost)
{
    start(CAPACITY);
    ends[0].out.failed = true;
    put(&ends[0], TREE_DECISION, "the very first");
    ck_assert(!tree_link_flushed(&ends[0]));
    ck_assert_int_eq(tree_link_send(&ends[0], &err), HVD_ERR_NOMEM);
    stop();
}
END_TEST

START_TEST(an_ended_link_swallows_what_is_put)
{
    start(CAPACITY);
    tree_link_fini(&ends[0]);
    put(&ends[0], TREE_REPORT, "in vain");
    ck_assert(tree_link_flushed(&ends[0]));
    ck_assert_int_eq(tree_link_receive(&ends[0], &err), 0);
    stop();
}
END_TEST

START_TEST(what_is_no_frame_is_refused)
{
    struct frame frame;
    start(CAPACITY);
    struct iovec rubbish = { (void *)"HVD2 and more", 13 };
    ck_assert_int_eq(link_try_send(ends[0].link, &rubbish, 1, &err), 13);
    ck_assert_int_eq(tree_link_receive(&ends[1], &err), 1);
    ck_assert_int_eq(tree_link_next(&ends[1], &frame, &err), HVD_ERR_PROTOCOL);
    stop();
}
END_TEST

/* Neither is it taken for what it is not, nor does anybody wait for the rest of it. */
START_TEST(a_frame_of_which_any_bit_was_changed_is_refused)
{
    unsigned char bytes[64];
    struct frame frame;
    for (size_t bit = 0, length = 1; bit < 8 * length; bit++) {
        start(CAPACITY);
        put(&ends[0], TREE_DECISION, "what is done");
        length = ends[0].out.length;
        ck_assert_uint_lt(length, sizeof bytes);
        memcpy(bytes, ends[0].out.data, length);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        struct iovec changed = { bytes, length };
        ck_assert_int_eq(link_try_send(ends[0].link, &changed, 1, &err), (ssize_t)length);
        ck_assert_int_eq(tree_link_receive(&ends[1], &err), 1);
        ck_assert_int_eq(tree_link_next(&ends[1], &frame, &err), HVD_ERR_PROTOCOL);
        stop();
    }
}
END_TEST

START_TEST(a_frame_without_a_sum_is_refused)
{
    struct frame frame;
    start(CAPACITY);
    frame_put(&ends[0].out, TREE_DECISION, "what is done", 12);
    ck_assert_int_eq(tree_link_send(&ends[0], &err), 1);
    ck_assert_int_eq(tree_link_receive(&ends[1], &err), 1);
    ck_assert_int_eq(tree_link_next(&ends[1], &frame, &err), HVD_ERR_PROTOCOL);
    stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tree_link");
    TCase *tcase = tcase_create("tree_link");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, frames_come_in_order_whatever_is_moved_at_a_time, 0,
                        sizeof steps / sizeof *steps);
    tcase_add_loop_test(tcase, frames_in_parts_come_in_order_whatever_is_moved_at_a_time, 0, 8);
    tcase_add_loop_test(tcase, data_in_parts_come_in_order_whatever_is_moved_at_a_time, 0, 8);
    tcase_add_loop_test(tcase, what_was_said_before_the_end_is_heard_though_nothing_can_be_sent, 0,
                        sizeof steps / sizeof *steps);
    tcase_add_test(tcase, a_link_that_is_full_makes_no_progress_and_loses_nothing);
    tcase_add_test(tcase, what_there_was_no_memory_to_say_is_an_error_and_not_lost);
    tcase_add_test(tcase, an_ended_link_swallows_what_is_put);
    tcase_add_test(tcase, what_is_no_frame_is_refused);
    tcase_add_test(tcase, a_frame_of_which_any_bit_was_changed_is_refused);
    tcase_add_test(tcase, a_frame_without_a_sum_is_refused);
    return unit_run(suite);
}
