/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted, and that Prometheus can read it. */
#include "rendezvous/api/http_route.h"
#include "rendezvous/api/metrics.h"
#include "rendezvous/world/job_table.h"
#include "tests/support/prometheus.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct metrics metrics;
static struct job_table job_table;
static struct prometheus seen;

static void setup(void)
{
    memset(&metrics, 0, sizeof metrics);
    job_table_init(&job_table, 4, 1000);
}

static void teardown(void)
{
    job_table_fini(&job_table);
}

/* Writes and reads everything. */
static void scrape(void)
{
    struct wire_writer out = { 0 };
    metrics_write(&out, &metrics, &job_table);
    metrics_write_ranks(&out, &job_table, NULL);
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

static struct rendezvous_job *make(const char *id, int size)
{
    struct err err = { 0 };
    struct rendezvous_job *job = job_table_make(&job_table, id, size, 0, 0, &err);
    ck_assert_ptr_nonnull(job);
    return job;
}

static void come(struct rendezvous_job *job, int rank, int size)
{
    struct join_hello hello = { .rank = rank, .size = size, .host = "a", .pid = 1 };
    struct err err = { 0 };
    int pending_worker;
    ck_assert_int_eq(pending_workers_join(&job->pending, &hello, NULL, 0, &pending_worker, &err),
                     HVD_OK);
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
    metrics.open[METRICS_UNAUTHENTICATED] = 5;
    metrics.open[METRICS_HTTP] = 6;
    metrics.open[METRICS_WORKER] = 7;
    metrics.refused_workers = 8;
    metrics.started_ms = 1234567890123;
    scrape();
    expect("hvd_received_bytes_total", 1099511627776);
    expect("hvd_sent_bytes_total", 2);
    expect("hvd_connections_accepted_total", 3);
    expect("hvd_connections_turned_away_total", 4);
    expect("hvd_connections_open{kind=\"unauthenticated\"}", 5);
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
            metrics_request(&metrics, route, http_status_code(code));
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
    struct rendezvous_job *running = make("running", 2);
    come(running, -1, 2);
    come(running, -1, 2);
    struct err err = { 0 };
    ck_assert_int_eq(rendezvous_job_assign(running, 0, &err), HVD_OK);
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

START_TEST(a_job_that_could_not_start_has_no_waiting_workers)
{
    setup();
    struct rendezvous_job *job = make("broken", 4);
    come(job, 1, 4);
    pending_workers_end(&job->pending, "because");
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
        struct rendezvous_job *job = make(ids[i], 1);
        ck_assert_int_eq(key_value_put(job->store, name, name, "value", 5), 200);
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
    rendezvous_job_close(make("over", 1), &woken, 5);
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

/* A job of `size` ranks that runs, of which the first `counting` have been asked. */
static struct rendezvous_job *run(const char *id, int size, int counting)
{
    static struct join_report report;
    struct rendezvous_job *job = make(id, size);
    struct err err = { 0 };
    report.stats = (struct rank_stats){ .uptime_ns = 60000000000, .waiting_ns = 15000000000 };
    report.stats.operations[STATS_ALLREDUCE] =
        (struct operation_stats){ 30, 1200, 4500000000, { 10, 0, 5 } };
    report.stats.operations[STATS_BARRIER] = (struct operation_stats){ 2, 0, 0, { 0 } };
    report.stats.operations[STATS_BARRIER].buckets[STATS_BUCKETS] = 2;
    for (int rank = 0; rank < size; rank++)
        come(job, -1, size);
    ck_assert_int_eq(rendezvous_job_assign(job, 0, &err), HVD_OK);
    job->connected = size;
    for (int rank = 0; rank < counting; rank++)
        rendezvous_job_heard(job, rank, &report, 1);
    return job;
}

START_TEST(what_ranks_have_counted_has_their_job_rank_and_operation)
{
    setup();
    run("train", 2, 1);
    scrape();
    expect("hvd_collectives_total{job=\"train\",rank=\"0\",operation=\"allreduce\"}", 30);
    expect("hvd_collectives_total{job=\"train\",rank=\"0\",operation=\"barrier\"}", 2);
    expect("hvd_collectives_total{job=\"train\",rank=\"0\",operation=\"join\"}", -1);
    expect("hvd_collectives_total{job=\"train\",rank=\"1\",operation=\"allreduce\"}", -1);
    expect("hvd_collective_bytes_total{job=\"train\",rank=\"0\",operation=\"allreduce\"}", 1200);
#define LATENCY(part, more)                                                                        \
    "hvd_collective_latency_seconds_" part                                                         \
    "{job=\"train\",rank=\"0\",operation=\"allreduce\"" more "}"
    expect(LATENCY("bucket", ",le=\"1e-05\""), 10);
    expect(LATENCY("bucket", ",le=\"3e-05\""), 10);
    expect(LATENCY("bucket", ",le=\"10\""), 15);
    expect(LATENCY("bucket", ",le=\"+Inf\""), 15);
    expect(LATENCY("count", ""), 15);
    expect(LATENCY("sum", ""), 4.5);
#undef LATENCY
    expect("hvd_waiting_seconds_total{job=\"train\",rank=\"0\"}", 15);
    expect("hvd_rank_uptime_seconds{job=\"train\",rank=\"0\"}", 60);
    expect("hvd_stalled_ranks{job=\"train\"}", 0);
    expect("hvd_epoch{job=\"train\"}", 0);
    expect("hvd_world_size{job=\"train\"}", 2);
    expect("hvd_ranks_left_out", 0);
    teardown();
}
END_TEST

START_TEST(a_job_that_is_over_has_no_series)
{
    struct wait_list woken = TAILQ_HEAD_INITIALIZER(woken);
    setup();
    struct rendezvous_job *job = run("train", 1, 1);
    scrape();
    expect("hvd_waiting_seconds_total{job=\"train\",rank=\"0\"}", 15);
    job->connected = 0;
    rendezvous_job_close(job, &woken, 5);
    scrape();
    expect("hvd_waiting_seconds_total{job=\"train\",rank=\"0\"}", -1);
    teardown();
}
END_TEST

START_TEST(who_may_see_one_job_sees_the_ranks_of_that)
{
    struct wire_writer out = { 0 };
    setup();
    run("mine", 1, 1);
    run("other", 1, 1);
    metrics_write_ranks(&out, &job_table, "mine");
    ck_assert_ptr_nonnull(memmem(out.data, out.length, "\"mine\"", 6));
    ck_assert_ptr_null(memmem(out.data, out.length, "\"other\"", 7));
    wire_writer_fini(&out);
    teardown();
}
END_TEST

START_TEST(a_rank_that_stays_away_stalls_the_others)
{
    static struct join_report report;
    setup();
    struct rendezvous_job *job = run("train", 3, 3);
    report.waits = (struct rank_waits){
        .count = 1,
        .keys = { 7 },
        .set_key = 8,
        .age_ms = 3000,
        .nmembers = 1,
        .members = { { 0, 3 } },
    };
    rendezvous_job_heard(job, 0, &report, 2);
    rendezvous_job_heard(job, 2, &report, 2);
    scrape();
    expect("hvd_stalled_ranks{job=\"train\"}", 2);
    teardown();
}
END_TEST

/* How large the answer is, and that there is an end to it. */
START_TEST(series_of_many_ranks_are_bounded)
{
    struct wire_writer few = { 0 }, many = { 0 };
    setup();
    run("few", 1000, 1000);
    metrics_write_ranks(&few, &job_table, NULL);
    ck_assert_uint_lt(few.length, 1000 * 3500);
    run("many", 4000, 4000);
    metrics_write_ranks(&many, &job_table, NULL);
    ck_assert_uint_lt(many.length, METRICS_RANKS_MAX * 3500);
    ck_assert_ptr_nonnull(memmem(many.data, many.length, "\nhvd_ranks_left_out 904\n", 24));
    wire_writer_fini(&few);
    wire_writer_fini(&many);
    teardown();
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
    tcase_add_test(tcase, a_job_that_could_not_start_has_no_waiting_workers);
    tcase_add_test(tcase, keys_of_all_jobs_are_added_up);
    tcase_add_test(tcase, a_job_that_is_over_has_no_keys);
    tcase_add_test(tcase, labels_are_escaped);
    tcase_add_test(tcase, what_ranks_have_counted_has_their_job_rank_and_operation);
    tcase_add_test(tcase, a_job_that_is_over_has_no_series);
    tcase_add_test(tcase, who_may_see_one_job_sees_the_ranks_of_that);
    tcase_add_test(tcase, a_rank_that_stays_away_stalls_the_others);
    tcase_add_test(tcase, series_of_many_ranks_are_bounded);
    return unit_run(suite);
}
