/* SPDX-License-Identifier: Apache-2.0 */
/* A REPORT: its text is lines that a terminal can show, and its text and its waits have limits. */
#include "lib/base/join_protocol.h"
#include "tests/support/unit.h"

#include <string.h>

static struct join_report report = {
    .text = "waiting for allreduce 'a'\n",
    .stats = { .uptime_ns = 77 },
    .waits = { .for_whom = WAITS_FOR_RANKS, .count = 2, .keys = { 1, UINT64_MAX }, .name = "a" },
};

START_TEST(a_report_is_lines_that_a_terminal_shows)
{
    struct join_report message = { .text = "a\x1b[2J\n\xff gr\xc3\xb6\xc3\x9f\n" };
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    join_report_encode(&writer, &message);
    wire_reader_init(&reader, writer.data, writer.length);
    ck_assert_int_eq(join_report_decode(&message, &reader, NULL), HVD_OK);
    ck_assert_str_eq(message.text, "a?[2J\n? gr\xc3\xb6\xc3\x9f\n");
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(a_report_that_is_too_long_is_refused)
{
    static char text[JOIN_REPORT_MAX + 1];
    static struct join_report message;
    for (size_t length = JOIN_REPORT_MAX - 1; length <= JOIN_REPORT_MAX; length++) {
        struct wire_writer writer = { 0 };
        struct wire_reader reader;
        memset(text, 'x', length);
        wire_put_string(&writer, text);
        rank_stats_encode(&writer, &report.stats);
        rank_waits_encode(&writer, &report.waits);
        wire_reader_init(&reader, writer.data, writer.length);
        ck_assert_int_eq(join_report_decode(&message, &reader, NULL),
                         length < JOIN_REPORT_MAX ? HVD_OK : HVD_ERR_PROTOCOL);
        wire_writer_fini(&writer);
    }
}
END_TEST

START_TEST(a_report_has_as_many_waits_as_are_allowed)
{
    static struct join_report message;
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    message = report;
    message.waits.count = WAITS_MAX;
    message.waits.keys[WAITS_MAX - 1] = 4711;
    join_report_encode(&writer, &message);
    message.waits.count = 0;
    wire_reader_init(&reader, writer.data, writer.length);
    ck_assert_int_eq(join_report_decode(&message, &reader, NULL), HVD_OK);
    ck_assert_int_eq(message.waits.count, WAITS_MAX);
    ck_assert_uint_eq(message.waits.keys[WAITS_MAX - 1], 4711);
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(a_report_of_an_unknown_wait_is_refused)
{
    static struct join_report message;
    for (int for_whom = 0; for_whom <= WAITS_FOR_KINDS; for_whom++) {
        struct wire_writer writer = { 0 };
        struct wire_reader reader;
        message = report;
        message.waits.for_whom = for_whom;
        join_report_encode(&writer, &message);
        wire_reader_init(&reader, writer.data, writer.length);
        int rc = join_report_decode(&message, &reader, NULL);
        ck_assert_int_eq(rc, for_whom < WAITS_FOR_KINDS ? HVD_OK : HVD_ERR_PROTOCOL);
        ck_assert(rc != HVD_OK || (int)message.waits.for_whom == for_whom);
        wire_writer_fini(&writer);
    }
}
END_TEST

/* Everything is as large as it can be. */
START_TEST(the_longest_report_fits_into_its_frame)
{
    static struct join_report message;
    struct wire_writer writer = { 0 };
    memset(message.text, 'x', JOIN_REPORT_MAX - 1);
    message.stats.uptime_ns = UINT64_MAX;
    for (int i = 0; i < STATS_OPERATIONS; i++)
        message.stats.operations[i].count = UINT64_MAX;
    message.waits.count = WAITS_MAX;
    message.waits.nmembers = WAITS_RANGES_MAX;
    memset(message.waits.name, 'x', WAITS_NAME_SIZE - 1);
    join_report_encode(&writer, &message);
    ck_assert_uint_le(PROOF_SIZE + writer.length, JOIN_PROVEN_MAX);
    wire_writer_fini(&writer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("join_report");
    TCase *tcase = tcase_create("join_report");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, a_report_is_lines_that_a_terminal_shows);
    tcase_add_test(tcase, a_report_that_is_too_long_is_refused);
    tcase_add_test(tcase, a_report_has_as_many_waits_as_are_allowed);
    tcase_add_test(tcase, a_report_of_an_unknown_wait_is_refused);
    tcase_add_test(tcase, the_longest_report_fits_into_its_frame);
    return unit_run(suite);
}
