/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted, and that Prometheus can read it. */
#include "rendezvous/meetings.h"
#include "rendezvous/metrics.h"
#include "tests/support/prometheus.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct metrics metrics;
static struct meetings meetings;
static struct prometheus seen;

static void setup(void)
{
    memset(&metrics, 0, sizeof metrics);
    meetings_init(&meetings, 4, 1000);
}

static void teardown(void)
{
    meetings_fini(&meetings);
}

/* Writes and reads everything. */
static void scrape(void)
{
    struct wire_writer out = { 0 };
    metrics_write(&out, &metrics, &meetings);
    ck_assert(!out.failed);
    prometheus_read(&seen, (const char *)out.data, out.length);
    ck_assert_str_eq(seen.complaint, "");
    wire_writer_fini(&out);
}

static void expect(const char *name, double value)
{
    ck_assert_msg(prometheus_value(&seen, name) == value, "%s: %g, not %g", name,
                  prometheus_value(&seen, name), value);
}

/* Where in the table of routes the first row of that name stands. */
static int route_of(const char *name)
{
    for (int i = 0; i < http_route_count(); i++)
        if (strcmp(http_route_name(i), name) == 0)
            return i;
    return -1;
}

static struct meeting *make(const char *id, int size)
{
    struct err err = { 0 };
    struct meeting *meeting = meetings_make(&meetings, id, size, 0, 0, &err);
    ck_assert_ptr_nonnull(meeting);
    return meeting;
}

static void come(struct meeting *meeting, int rank, int size)
{
    struct join_hello hello = { .rank = rank, .size = size, .host = "a", .pid = 1 };
    struct err err = { 0 };
    int guest;
    ck_assert_int_eq(lobby_join(&meeting->lobby, &hello, NULL, 0, &guest, &err), HVD_OK);
}

START_TEST(nothing_has_happened)
{
    setup();
    scrape();
    expect("hvd_jobs{state=\"running\"}", 0);
    expect("hvd_workers{state=\"lost\"}", 0);
    expect("hvd_connections_accepted_total", 0);
    expect("hvd_join_seconds_bucket{le=\"+Inf\"}", 0);
    expect("hvd_join_seconds_count", 0);
    expect("hvd_key_value_keys", 0);
    expect("hvd_start_time_seconds", -1);
    teardown();
}
END_TEST

START_TEST(every_number_has_its_series)
{
    setup();
    metrics.received_bytes = 1ull << 40;
    metrics.sent_bytes = 2;
    metrics.accepted = 3;
    metrics.turned_away = 4;
    metrics.open[METRICS_STRANGER] = 5;
    metrics.open[METRICS_HTTP] = 6;
    metrics.open[METRICS_WORKER] = 7;
    metrics.refused_workers = 8;
    metrics.started_ms = 1234567890123;
    scrape();
    expect("hvd_received_bytes_total", 1099511627776);
    expect("hvd_sent_bytes_total", 2);
    expect("hvd_connections_accepted_total", 3);
    expect("hvd_connections_turned_away_total", 4);
    expect("hvd_connections_open{kind=\"stranger\"}", 5);
    expect("hvd_connections_open{kind=\"http\"}", 6);
    expect("hvd_connections_open{kind=\"worker\"}", 7);
    expect("hvd_refused_workers_total", 8);
    expect("hvd_start_time_seconds", 1234567890.123);
    teardown();
}
END_TEST

START_TEST(requests_are_counted_by_route_and_code)
{
    setup();
    for (int i = 0; i < 3; i++)
        metrics_request(&metrics, route_of("/healthz"), 200);
    metrics_request(&metrics, route_of("/metrics"), 401);
    metrics_request(&metrics, -1, 404);
    metrics_request(&metrics, 1000, 400);
    metrics_request(&metrics, -1, 299);
    metrics_request(&metrics, -1, 0);
    scrape();
    expect("hvd_http_requests_total{route=\"/healthz\",code=\"200\"}", 3);
    expect("hvd_http_requests_total{route=\"/metrics\",code=\"401\"}", 1);
    expect("hvd_http_requests_total{route=\"none\",code=\"404\"}", 1);
    expect("hvd_http_requests_total{route=\"none\",code=\"400\"}", 1);
    expect("hvd_http_requests_total{route=\"none\",code=\"other\"}", 2);
    teardown();
}
END_TEST

START_TEST(every_route_and_code_at_once_can_be_read)
{
    setup();
    ck_assert_int_lt(http_route_count(), METRICS_ROUTES_MAX);
    for (int route = -1; route < http_route_count(); route++)
        for (int code = 0; code < METRICS_CODES_MAX; code++)
            metrics_request(&metrics, route, metrics_code(code));
    scrape();
    teardown();
}
END_TEST

START_TEST(the_time_of_joining_is_counted_in_its_bucket)
{
    setup();
    metrics_joined(&metrics, 0);
    metrics_joined(&metrics, 1);
    metrics_joined(&metrics, 2);
    metrics_joined(&metrics, 299);
    metrics_joined(&metrics, 30000);
    metrics_joined(&metrics, 30001);
    scrape();
    expect("hvd_join_seconds_bucket{le=\"0.001\"}", 2);
    expect("hvd_join_seconds_bucket{le=\"0.002\"}", 3);
    expect("hvd_join_seconds_bucket{le=\"0.1\"}", 3);
    expect("hvd_join_seconds_bucket{le=\"0.3\"}", 4);
    expect("hvd_join_seconds_bucket{le=\"30\"}", 5);
    expect("hvd_join_seconds_bucket{le=\"+Inf\"}", 6);
    expect("hvd_join_seconds_count", 6);
    expect("hvd_join_seconds_sum", 60.303);
    teardown();
}
END_TEST

START_TEST(jobs_and_workers_are_counted_by_state)
{
    setup();
    make("declared", 8);
    come(make("gathering", 0), 1, 4);
    struct meeting *running = make("running", 2);
    come(running, -1, 2);
    come(running, -1, 2);
    struct err err = { 0 };
    ck_assert_int_eq(meeting_seat(running, 0, &err), HVD_OK);
    running->connected = 2;
    scrape();
    expect("hvd_jobs{state=\"gathering\"}", 2);
    expect("hvd_jobs{state=\"running\"}", 1);
    expect("hvd_jobs{state=\"failed\"}", 0);
    expect("hvd_workers{state=\"expected\"}", 8 + 3);
    expect("hvd_workers{state=\"waiting\"}", 1);
    expect("hvd_workers{state=\"running\"}", 2);
    teardown();
}
END_TEST

START_TEST(a_lobby_that_broke_has_no_waiting_workers)
{
    setup();
    struct meeting *meeting = make("broken", 4);
    come(meeting, 1, 4);
    lobby_end(&meeting->lobby, "because");
    scrape();
    expect("hvd_jobs{state=\"failed\"}", 1);
    expect("hvd_workers{state=\"waiting\"}", 0);
    expect("hvd_workers{state=\"left\"}", 1);
    expect("hvd_workers{state=\"expected\"}", 3);
    teardown();
}
END_TEST

START_TEST(keys_of_all_jobs_are_added_up)
{
    setup();
    const char *ids[] = { "a", "b" };
    for (int i = 0; i < 2; i++) {
        struct key_value_bytes name = { ids[i], 1 };
        struct meeting *meeting = make(ids[i], 1);
        ck_assert_int_eq(key_value_put(meeting->store, name, name, "value", 5), 200);
    }
    scrape();
    expect("hvd_key_value_keys", 2);
    ck_assert(prometheus_value(&seen, "hvd_key_value_bytes") >= 14);
    teardown();
}
END_TEST

START_TEST(a_job_that_is_over_has_no_keys)
{
    setup();
    struct wait_list woken;
    TAILQ_INIT(&woken);
    meeting_close(make("over", 1), &woken, 5);
    scrape();
    expect("hvd_key_value_keys", 0);
    teardown();
}
END_TEST

START_TEST(labels_are_escaped)
{
    struct wire_writer out = { 0 };
    metrics_escape(&out, "a\\b\"c\nd\xc3\xa4");
    wire_put_u8(&out, 0);
    ck_assert_str_eq((char *)out.data, "a\\\\b\\\"c\\nd\xc3\xa4");
    wire_writer_fini(&out);
}
END_TEST

static const char *const wrong[] = {
    "hvd_a 1\n",
    "# HELP hvd_a x\nhvd_a 1\n",
    "# HELP hvd_a x\n# TYPE hvd_b gauge\n",
    "# HELP hvd_a x\n# TYPE hvd_a counter\nhvd_a 1\n",
    "# HELP hvd_a x\n# TYPE hvd_a gauge\nhvd_a 1\nhvd_a 2\n",
    "# HELP hvd_a x\n# TYPE hvd_a gauge\nhvd_a{b=\"c} 1\n",
    "# HELP hvd_a x\n# TYPE hvd_a gauge\nhvd_a{b=\"\\x\"} 1\n",
    "# HELP hvd_a x\n# TYPE hvd_a gauge\nhvd_a 1",
    "# HELP hvd_a x\n# TYPE hvd_a gauge\nhvd_a one\n",
    "# HELP hvd_a x\n# TYPE hvd_a histogram\nhvd_a_bucket{le=\"1\"} 2\nhvd_a_bucket{le=\"+Inf\"} "
    "1\n",
    "# HELP hvd_a x\n# TYPE hvd_a histogram\nhvd_a_bucket{le=\"+Inf\"} 1\nhvd_a_sum 1\nhvd_a_count "
    "2\n",
};

START_TEST(what_is_wrong_is_complained_of)
{
    prometheus_read(&seen, wrong[_i], strlen(wrong[_i]));
    ck_assert_str_ne(seen.complaint, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metrics");
    TCase *tcase = tcase_create("metrics");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, what_is_wrong_is_complained_of, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(tcase, nothing_has_happened);
    tcase_add_test(tcase, every_number_has_its_series);
    tcase_add_test(tcase, requests_are_counted_by_route_and_code);
    tcase_add_test(tcase, every_route_and_code_at_once_can_be_read);
    tcase_add_test(tcase, the_time_of_joining_is_counted_in_its_bucket);
    tcase_add_test(tcase, jobs_and_workers_are_counted_by_state);
    tcase_add_test(tcase, a_lobby_that_broke_has_no_waiting_workers);
    tcase_add_test(tcase, keys_of_all_jobs_are_added_up);
    tcase_add_test(tcase, a_job_that_is_over_has_no_keys);
    tcase_add_test(tcase, labels_are_escaped);
    return unit_run(suite);
}
