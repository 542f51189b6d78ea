/* SPDX-License-Identifier: Apache-2.0 */
/* The report as JSON: its keys, their order, and what does not harm it. */
#include "launcher/base/xalloc.h"
#include "src/hvdrun/report_json.h"
#include "tests/support/json.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 2026-11-22T04:01:02.345Z */
#define BEGAN_MS UINT64_C(1795320062345)

static struct report_rank ranks[2];
static struct report_host hosts[2];
static struct job_report report;

static void setup(void)
{
    ranks[0] = (struct report_rank){ .host = 0,
                                     .end = END_BY_ITSELF,
                                     .pid = 4711,
                                     .how = { RANK_END_EXITED, .code = 3 },
                                     .started_ms = 1500,
                                     .ended_ms = 2750 };
    ranks[1] = (struct report_rank){ .host = 1 };
    hosts[0] = (struct report_host){ .name = "a", .transport = HOST_TRANSPORT_LOCAL, .agent = 42 };
    hosts[1] = (struct report_host){ .name = "b" };
    report = (struct job_report){ .job = "0123456789",
                                  .began_ms = 1000,
                                  .ended_ms = 3000,
                                  .epoch_ms = BEGAN_MS,
                                  .exit_status = 3,
                                  .cause = CAUSE_RANK,
                                  .rank = 0,
                                  .host = 0,
                                  .pid = 4711,
                                  .text = "FAILED rank 0 on a",
                                  .ranks = ranks,
                                  .nranks = 2,
                                  .hosts = hosts,
                                  .nhosts = 2 };
}

/* Without the blanks between members. */
static const char *flat(void)
{
    static char text[16384];
    char *json = report_json(&report), *to = text;
    for (const char *at = json; *at; at++)
        if (*at != '\n' && *at != '\t')
            *to++ = *at;
    *to = '\0';
    free(json);
    return text;
}

static void has(const char *part)
{
    ck_assert_msg(strstr(flat(), part), "no %s in %s", part, flat());
}

START_TEST(keys_are_always_there_in_one_order)
{
    has("\"job\":\"0123456789\",\"verdict\":{\"exit_status\":3,\"cause\":\"rank\",\"text\":"
        "\"FAILED "
        "rank 0 on a\",\"rank\":0,\"host\":\"a\",\"pid\":4711},"
        "\"began\":0,\"began_at\":\"2026-11-22T04:01:02.345Z\","
        "\"ended\":2,\"ended_at\":\"2026-11-22T04:01:04.345Z\",\"ranks\":[{\"rank\":0,");
    has("{\"rank\":1,\"host\":\"b\",\"pid\":null,\"started\":null,\"started_at\":null,\"ended\":"
        "null,"
        "\"ended_at\":null,\"end\":\"not started\",\"exit_status\":null,\"signal\":null,"
        "\"signal_name\":null,\"core_dumped\":false,\"oom\":false,\"last_lines_of\":null,"
        "\"last_lines\":[]}");
    has("\"hosts\":[{\"host\":\"a\",\"way\":\"local\",\"agent_pid\":42,\"reached\":null,"
        "\"reached_at\":null,\"ready\":null,\"ready_at\":null,\"done\":null,\"done_at\":null,"
        "\"lost\":null,\"lost_at\":null,\"reason\":null,\"heartbeat_gaps\":[],\"heartbeat_gaps_"
        "count\":0},");
}
END_TEST

static const struct {
    enum report_end end;
    int wait_status;
    const char *part;
} ends[] = {
    { END_BY_ITSELF, 3 << 8, "\"end\":\"by itself\",\"exit_status\":3,\"signal\":null," },
    { END_BY_ITSELF, SIGSEGV | 0x80,
      "\"exit_status\":null,\"signal\":11,\"signal_name\":\"SIGSEGV\",\"core_dumped\":true," },
    { END_TERMINATED, SIGTERM, "\"end\":\"terminated\",\"exit_status\":null,\"signal\":15," },
    { END_TERMINATED, 0, "\"end\":\"terminated\",\"exit_status\":0,\"signal\":null," },
    { END_LOST, 0, "\"end\":\"lost\",\"exit_status\":null,\"signal\":null," },
    { END_LEFT, SIGKILL, "\"end\":\"not killed\",\"exit_status\":null,\"signal\":null," },
    { END_BY_ITSELF, 64, "\"signal\":64,\"signal_name\":null," },
};

START_TEST(ends_have_words_and_only_known_ones_a_status)
{
    ranks[0].end = ends[_i].end;
    ranks[0].how = rank_end_how_of(ends[_i].wait_status);
    has(ends[_i].part);
}
END_TEST

START_TEST(times_count_from_the_beginning)
{
    has("\"started\":0.5,\"started_at\":\"2026-11-22T04:01:02.845Z\",\"ended\":1.75,");
    ranks[0].started_ms = 900; /* clocks may say so */
    has("\"started\":0,\"started_at\":\"2026-11-22T04:01:02.345Z\"");
}
END_TEST

START_TEST(silent_periods_are_told_up_to_a_limit)
{
    link_history_reached(&hosts[1].history, 2000);
    link_history_heard(&hosts[1].history, 100, 2050); /* not worth it */
    link_history_heard(&hosts[1].history, 100, 2150);
    link_history_lost(&hosts[1].history, 100, 3000);
    has("\"heartbeat_gaps\":[{\"since\":1.05,\"until\":1.15}, {\"since\":1.15,\"until\":null}],"
        "\"heartbeat_gaps_count\":2}");
    for (int i = 0; i < 100; i++)
        link_history_heard(&hosts[1].history, 100, 4000 + 200 * (uint64_t)i);
    has("\"heartbeat_gaps_count\":102}");
}
END_TEST

START_TEST(lines_are_an_array)
{
    ranks[0].said = (char *)(uintptr_t) "one \"two\"\nthree\\\n";
    has("\"last_lines_of\":\"stderr\",\"last_lines\":[\"one \\\"two\\\"\", \"three\\\\\"]");
    ranks[0].said_on_stdout = true;
    has("\"last_lines_of\":\"stdout\"");
}
END_TEST

START_TEST(every_byte_makes_json)
{
    char bytes[600], *json;
    for (size_t i = 0; i < sizeof bytes - 1; i++)
        bytes[i] = (char)(i % 255 + 1);
    bytes[sizeof bytes - 1] = '\0';
    ranks[0].said = bytes;
    hosts[0].name = report.job = bytes;
    memcpy(report.text, bytes, sizeof bytes);
    memcpy(hosts[1].reason, bytes, sizeof hosts[1].reason - 1);
    json = report_json(&report);
    char *array = xasprintf("[%s]", json);
    ck_assert_int_eq(json_array_length(array, strlen(array)), 1);
    free(array);
    free(json);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report_json");
    TCase *tcase = tcase_create("reports");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, keys_are_always_there_in_one_order);
    tcase_add_loop_test(tcase, ends_have_words_and_only_known_ones_a_status, 0,
                        (int)(sizeof ends / sizeof *ends));
    tcase_add_test(tcase, times_count_from_the_beginning);
    tcase_add_test(tcase, silent_periods_are_told_up_to_a_limit);
    tcase_add_test(tcase, lines_are_an_array);
    tcase_add_test(tcase, every_byte_makes_json);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
