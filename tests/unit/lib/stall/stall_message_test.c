/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between the inspectors of a tree: what is no message is refused, and what is one does no
 * harm. */
#include "tests/support/stall_world.h"

#include <stdio.h>
#include <string.h>

static void put_probe(struct wire_writer *writer)
{
    struct stall_probe probe = { .id = 1, .budget_ms = 5000 };
    probe.names.count = 1;
    probe.names.at[0] = (struct stall_name){ COLLECTIVE_ALLREDUCE, 61000, "a" };
    stall_probe_encode(writer, &probe);
}

static void put_alert(struct wire_writer *writer)
{
    struct stall_names names = { .count = 2,
                                 .at = { { COLLECTIVE_BARRIER, 61000, "a" },
                                         { COLLECTIVE_ALLREDUCE, UINT32_MAX, "b" } } };
    stall_names_encode(writer, &names);
}

/* Of ranks 1 and 2, below rank 0 of a world of 9. */
static struct stall_answer good_answer(void)
{
    struct stall_answer answer = { .id = 1, .nnames = 1, .nranks = 1 };
    rank_ranges_add(&answer.name[0].missing, 1, 2);
    rank_ranges_add(&answer.silent, 2, 3);
    late_ranks_add(&answer.idle, 1);
    answer.ranks[0] = (struct stall_rank){ 1, 1, "on node1: asleep" };
    return answer;
}

static void put_answer(struct wire_writer *writer)
{
    struct stall_answer answer = good_answer();
    stall_answer_encode(writer, &answer);
}

static int receive(enum stall_message message, const void *body, size_t nbytes)
{
    struct err err = { 0 };
    int rank = message == STALL_PROBE ? 1 : 0;
    int rc = stall_receive(stall_world.ranks[rank].stall, message, 0, body, nbytes,
                           stall_world.now_ns, &err);
    ck_assert_int_eq(rc, err.code);
    ck_assert(rc == HVD_OK || (rc == HVD_ERR_PROTOCOL && err.text[0]));
    return rc;
}

static void (*const good_bodies[])(struct wire_writer *writer) = {
    [STALL_ALERT] = put_alert,
    [STALL_PROBE] = put_probe,
    [STALL_PROBED] = put_answer,
};

START_TEST(a_body_that_is_cut_or_too_long_is_refused)
{
    struct wire_writer writer = { 0 };
    enum stall_message message = (enum stall_message)_i;
    good_bodies[_i](&writer);
    stall_world_make(9);
    for (size_t length = 0; length < writer.length; length++) {
        unsigned char *copy = malloc(length ? length : 1);
        memcpy(copy, writer.data, length);
        ck_assert_msg(receive(message, copy, length) == HVD_ERR_PROTOCOL, "cut at %zu", length);
        free(copy);
    }
    ck_assert_int_eq(receive(message, writer.data, writer.length), HVD_OK);
    wire_put_u8(&writer, 0);
    ck_assert_int_eq(receive(message, writer.data, writer.length), HVD_ERR_PROTOCOL);
    wire_writer_fini(&writer);
    stall_world_end();
}
END_TEST

START_TEST(changed_bytes_are_refused_or_harmless)
{
    struct wire_writer writer = { 0 };
    stall_world_make(9);
    stall_world_submit_but(1, "a");
    stall_world.now_ns += 2 * STALL_WORLD_CHECK_NS;
    good_bodies[_i](&writer);
    for (size_t at = 0; at < writer.length; at++)
        for (int bit = 0; bit < 8; bit++) {
            writer.data[at] ^= (unsigned char)(1 << bit);
            receive((enum stall_message)_i, writer.data, writer.length);
            stall_world_take(_i == STALL_PROBE ? 1 : 0);
            writer.data[at] ^= (unsigned char)(1 << bit);
            stall_world_forget();
            stall_world.now_ns += 2 * STALL_WORLD_CHECK_NS;
            stall_tick(stall_world.ranks[0].stall, stall_world.now_ns);
            stall_world_take(0);
        }
    wire_writer_fini(&writer);
    stall_world_end();
}
END_TEST

/* Each makes a good answer a bad one. */
static void other_rank(struct stall_answer *answer)
{
    answer->ranks[0].rank = 3;
}
static void lower_rank(struct stall_answer *answer)
{
    answer->ranks[0].rank = 0;
}
static void same_rank_twice(struct stall_answer *answer)
{
    answer->nranks = 2;
    answer->ranks[1] = answer->ranks[0];
}
static void name_that_was_not_asked(struct stall_answer *answer)
{
    answer->ranks[0].missing = 2;
}
static void other_range(struct stall_answer *answer)
{
    answer->name[0].missing.range[0] = (struct rank_range){ 1, 4 };
}
static void empty_range(struct stall_answer *answer)
{
    answer->silent.range[0] = (struct rank_range){ 2, 2 };
}
static void negative_range(struct stall_answer *answer)
{
    answer->silent.range[0] = (struct rank_range){ -1, 2 };
}
static void ranges_that_touch(struct stall_answer *answer)
{
    answer->silent.count = 2;
    answer->silent.range[0] = (struct rank_range){ 1, 2 };
    answer->silent.range[1] = (struct rank_range){ 2, 3 };
}
static void idle_rank_of_another_child(struct stall_answer *answer)
{
    answer->idle.rank[0] = 3;
}
static void idle_rank_that_has_asked(struct stall_answer *answer)
{
    answer->idle.rank[0] = 0;
}
static void closed_and_empty(struct stall_answer *answer)
{
    answer->silent.count = 0;
    answer->silent.closed = true;
}
static void too_many_names(struct stall_answer *answer)
{
    answer->nnames = 9;
}
static void other_number_of_names(struct stall_answer *answer)
{
    answer->nnames = 2;
}

static void (*const spoilers[])(struct stall_answer *) = {
    other_rank,
    lower_rank,
    same_rank_twice,
    name_that_was_not_asked,
    other_range,
    empty_range,
    negative_range,
    ranges_that_touch,
    too_many_names,
    closed_and_empty,
    other_number_of_names,
    idle_rank_of_another_child,
    idle_rank_that_has_asked,
};

START_TEST(an_answer_that_cannot_be_is_refused)
{
    struct wire_writer writer = { 0 };
    struct stall_answer answer = good_answer();
    stall_world_make(9);
    stall_world_submit_but(1, "a");
    for (int i = 0; i < 62; i++) { /* until rank 0 asks; the answers are lost */
        stall_world.now_ns += STALL_WORLD_SECOND_NS;
        if (stall_world_deadline() <= stall_world.now_ns)
            stall_tick(stall_world.ranks[0].stall, stall_world.now_ns);
    }
    spoilers[_i](&answer);
    /* what the struct has no room for is written as far as it goes */
    int nnames = answer.nnames;
    if (nnames > STALL_NAMES_MAX)
        answer.nnames = STALL_NAMES_MAX;
    stall_answer_encode(&writer, &answer);
    writer.data[4] = (unsigned char)nnames;
    ck_assert_int_eq(receive(STALL_PROBED, writer.data, writer.length), HVD_ERR_PROTOCOL);
    wire_writer_fini(&writer);
    stall_world_end();
}
END_TEST

static const struct {
    const char *body;
    size_t nbytes;
} bad_names[] = {
    { "\1\0\0\0\0\0\1\0\0\0a", 11 },   /* kind 0 */
    { "\1\x7f\0\0\0\0\1\0\0\0a", 11 }, /* kind 127 */
    { "\1\1\0\0\0\0\0\0\0\0", 10 },    /* no name */
    { "\1\1\0\0\0\0\2\0\0\0a\0", 12 }, /* NUL */
    { "\1\1\0\0\0\0\xff\xff\xff\xff"
      "a",
      11 },        /* longer than the message */
    { "\x09", 1 }, /* too many */
};

START_TEST(names_that_cannot_be_are_refused)
{
    stall_world_make(9);
    ck_assert_int_eq(receive(STALL_ALERT, bad_names[_i].body, bad_names[_i].nbytes),
                     HVD_ERR_PROTOCOL);
    ck_assert_uint_eq(stall_world_deadline(), UINT64_MAX);
    stall_world_end();
}
END_TEST

START_TEST(a_probe_from_a_child_is_refused)
{
    struct wire_writer writer = { 0 };
    struct err err = { 0 };
    stall_world_make(9);
    put_probe(&writer);
    ck_assert_int_eq(stall_receive(stall_world.ranks[0].stall, STALL_PROBE, 0, writer.data,
                                   writer.length, stall_world.now_ns, &err),
                     HVD_ERR_PROTOCOL);
    wire_writer_fini(&writer);
    stall_world_end();
}
END_TEST

START_TEST(alerts_without_end_do_not_fill_anything)
{
    stall_world_make(9);
    for (int i = 0; i < 10000; i++) {
        struct wire_writer writer = { 0 };
        struct stall_names names = { .count = 1 };
        names.at[0] = (struct stall_name){ COLLECTIVE_ALLREDUCE, (uint32_t)(60000 + i), "" };
        snprintf(names.at[0].text, sizeof names.at[0].text, "name %d", i);
        stall_names_encode(&writer, &names);
        ck_assert_int_eq(receive(STALL_ALERT, writer.data, writer.length), HVD_OK);
        wire_writer_fini(&writer);
    }
    stall_world_run(1000);
    ck_assert_int_eq(stall_world.nspoken, 0); /* nobody has these names */
    ck_assert_uint_eq(stall_world_deadline(), UINT64_MAX);
    stall_world_end();
}
END_TEST

START_TEST(of_many_answers_the_lowest_ranks_are_kept)
{
    struct stall_answer answer = { 0 };
    for (int i = 0; i < 100; i++) {
        struct stall_rank rank = { .rank = i * 37 % 100, .missing = 1 };
        stall_answer_add_rank(&answer, &rank);
    }
    ck_assert_int_eq(answer.nranks, STALL_RANKS_MAX);
    for (int i = 0; i < STALL_RANKS_MAX; i++)
        ck_assert_int_eq(answer.ranks[i].rank, i);
}
END_TEST

START_TEST(idle_ranks_of_all_answers_are_kept)
{
    struct stall_answer answer = { 0 }, other = { 0 };
    late_ranks_add(&answer.idle, 4);
    late_ranks_add(&other.idle, 7);
    late_ranks_add(&other.idle, 2);
    stall_answer_merge(&answer, &other);
    ck_assert_int_eq(answer.idle.count, 3);
    ck_assert_int_eq(answer.idle.rank[0], 2);
    ck_assert_int_eq(answer.idle.rank[1], 4);
    ck_assert_int_eq(answer.idle.rank[2], 7);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stall_message");
    TCase *tcase = tcase_create("stall_message");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_body_that_is_cut_or_too_long_is_refused, 0, STALL_MESSAGES);
    tcase_add_loop_test(tcase, changed_bytes_are_refused_or_harmless, 0, STALL_MESSAGES);
    tcase_add_loop_test(tcase, an_answer_that_cannot_be_is_refused, 0,
                        sizeof spoilers / sizeof *spoilers);
    tcase_add_loop_test(tcase, names_that_cannot_be_are_refused, 0,
                        sizeof bad_names / sizeof *bad_names);
    tcase_add_test(tcase, a_probe_from_a_child_is_refused);
    tcase_add_test(tcase, alerts_without_end_do_not_fill_anything);
    tcase_add_test(tcase, of_many_answers_the_lowest_ranks_are_kept);
    tcase_add_test(tcase, idle_ranks_of_all_answers_are_kept);
    return unit_run(suite);
}
