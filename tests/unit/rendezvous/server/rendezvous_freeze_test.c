/* SPDX-License-Identifier: Apache-2.0 */
/* A rendezvous whose machine is frozen: what came meanwhile is read before deadlines are looked at,
 * after each freeze. The loop's clock and timer are the test's. */
#include "rendezvous/server/server.h"
#include "tests/support/join_client.h"
#include "tests/support/unit.h"

#include <uv.h>

enum { FREEZE_MS = 60000, READING_MS = 1000, LATE_MS = 20 };

static struct job_key key;
static struct rendezvous *rendezvous;
static uint64_t now;
static uv_loop_t loop;
static uv_timer_t *timer;
static uv_timer_cb on_timer; /* NULL while it is stopped */
static uint64_t due;

int uv_timer_init(uv_loop_t *of, uv_timer_t *made)
{
    made->loop = of;
    timer = made;
    return 0;
}

int uv_timer_start(uv_timer_t *started, uv_timer_cb fn, uint64_t timeout, uint64_t repeat)
{
    ck_assert_ptr_eq(started, timer);
    ck_assert_uint_eq(repeat, 0);
    on_timer = fn;
    due = now + timeout;
    return 0;
}

int uv_timer_stop(uv_timer_t *stopped)
{
    ck_assert_ptr_eq(stopped, timer);
    on_timer = NULL;
    return 0;
}

uint64_t uv_now(const uv_loop_t *of)
{
    ck_assert_ptr_eq(of, &loop);
    return now;
}

int uv_is_closing(const uv_handle_t *handle)
{
    (void)handle;
    return 0;
}

void uv_close(uv_handle_t *handle, uv_close_cb on_closed)
{
    on_timer = NULL;
    on_closed(handle);
}

static void on_complete(void *context)
{
    (void)context;
}

static void on_text(void *context, const char *text)
{
    (void)context;
    (void)text;
}

static void on_report(void *context, int rank, enum rank_waits_for waits_for, const char *text)
{
    (void)context;
    (void)rank;
    (void)waits_for;
    (void)text;
}

static void setup(void)
{
    static const struct rendezvous_slot slots[] = { { { 0, 1, 0, 1, 0, 1 }, "localhost" } };
    struct rendezvous_options options = { .id = "job",
                                          .slots = slots,
                                          .size = 1,
                                          .key = &key,
                                          .start_timeout_ms = 30000,
                                          .events = { .complete = on_complete,
                                                      .timed_out = on_text,
                                                      .missing = on_text,
                                                      .report = on_report } };
    struct err err;
    now = 1000000;
    on_timer = NULL;
    job_key_generate(&key);
    rendezvous = rendezvous_create(&loop, &options, &err);
    ck_assert_ptr_nonnull(rendezvous);
}

static void teardown(void)
{
    rendezvous_destroy(rendezvous);
}

static void dial(struct join_client *client)
{
    join_client_init(client, &key, NULL);
    client->connection = rendezvous_accept(rendezvous, &client->stream, RENDEZVOUS_ELSEWHERE);
    ck_assert_ptr_nonnull(client->connection);
}

static void hang_up(struct join_client *client)
{
    rendezvous_hangup(client->connection);
    join_client_fini(client);
}

/* The clock has gone on, and the loop looks at its timers first. */
static void pass(uint64_t duration_ms)
{
    now += duration_ms;
    uv_timer_cb fn = now >= due ? on_timer : NULL;
    if (!fn)
        return;
    on_timer = NULL;
    fn(timer);
}

START_TEST(an_unauthenticated_client_who_says_nothing_is_closed_in_time)
{
    struct join_client unauthenticated;
    dial(&unauthenticated);
    pass(SERVER_UNAUTHENTICATED_MS - 1);
    ck_assert(!unauthenticated.closed);
    pass(1 + LATE_MS);
    pass(LATE_MS);
    ck_assert(unauthenticated.closed);
    join_client_fini(&unauthenticated);
}
END_TEST

START_TEST(what_came_in_a_freeze_is_read_before_a_deadline_fires)
{
    struct join_client unauthenticated;
    dial(&unauthenticated);
    pass(FREEZE_MS);
    ck_assert(!unauthenticated.closed);
    hang_up(&unauthenticated);
    ck_assert_ptr_null(on_timer);
}
END_TEST

START_TEST(who_has_said_nothing_is_closed_once_that_is_read)
{
    struct join_client unauthenticated;
    dial(&unauthenticated);
    pass(FREEZE_MS);
    pass(READING_MS - 1);
    ck_assert(!unauthenticated.closed);
    pass(FREEZE_MS); /* a loop that is always late */
    ck_assert(unauthenticated.closed);
    join_client_fini(&unauthenticated);
}
END_TEST

/* How much the timer is late, how long before the deadline something happened last, and how long
 * input is read then. */
static const struct {
    uint64_t late_ms, quiet_ms, reading_ms;
} rows[] = {
    { 0, READING_MS - 1, 0 }, /* a loop that runs and is a little late puts nothing off */
    { LATE_MS, 500, 0 },
    { LATE_MS + 1, 500, 500 + LATE_MS + 1 },
    { 80, 100, 180 }, /* the freeze was no longer than that */
    { 80, SERVER_UNAUTHENTICATED_MS, READING_MS },
    { FREEZE_MS, SERVER_UNAUTHENTICATED_MS, READING_MS },
    { 1, SERVER_UNAUTHENTICATED_MS, LATE_MS }, /* a freeze that ends just after the deadline */
    { LATE_MS, SERVER_UNAUTHENTICATED_MS, LATE_MS },
    { 0, READING_MS, LATE_MS },
};

START_TEST(input_is_read_before_a_deadline_for_as_long_as_a_freeze_may_have_lasted)
{
    struct join_client unauthenticated, other;
    dial(&unauthenticated);
    pass(SERVER_UNAUTHENTICATED_MS - rows[_i].quiet_ms);
    if (rows[_i].quiet_ms < SERVER_UNAUTHENTICATED_MS) {
        dial(&other);
        hang_up(&other);
    }
    pass(rows[_i].quiet_ms + rows[_i].late_ms);
    if (rows[_i].reading_ms > 0) {
        ck_assert(!unauthenticated.closed);
        pass(rows[_i].reading_ms - 1);
        ck_assert(!unauthenticated.closed);
        pass(1);
    }
    ck_assert(unauthenticated.closed);
    join_client_fini(&unauthenticated);
}
END_TEST

/* How long after the first freeze what came in it is followed by something new, which has a
 * deadline. */
static const uint64_t quiet_ms[] = { 10, READING_MS, 2 * READING_MS, FREEZE_MS };

START_TEST(a_second_freeze_is_like_the_first)
{
    struct join_client first, second;
    dial(&first);
    pass(FREEZE_MS);
    hang_up(&first);
    pass(quiet_ms[_i]);
    dial(&second);
    pass(FREEZE_MS);
    ck_assert(!second.closed);
    pass(READING_MS);
    ck_assert(second.closed);
    join_client_fini(&second);
}
END_TEST

START_TEST(what_comes_first_after_a_freeze_does_not_end_the_reading)
{
    struct join_client unauthenticated, other;
    dial(&unauthenticated);
    now += FREEZE_MS;
    dial(&other);
    hang_up(&other);
    pass(0);
    ck_assert(!unauthenticated.closed);
    pass(READING_MS - 1);
    ck_assert(!unauthenticated.closed);
    pass(1);
    ck_assert(unauthenticated.closed);
    join_client_fini(&unauthenticated);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rendezvous_freeze");
    TCase *tcase = tcase_create("freezes");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, an_unauthenticated_client_who_says_nothing_is_closed_in_time);
    tcase_add_test(tcase, what_came_in_a_freeze_is_read_before_a_deadline_fires);
    tcase_add_test(tcase, who_has_said_nothing_is_closed_once_that_is_read);
    tcase_add_loop_test(tcase,
                        input_is_read_before_a_deadline_for_as_long_as_a_freeze_may_have_lasted, 0,
                        (int)(sizeof rows / sizeof *rows));
    tcase_add_test(tcase, what_comes_first_after_a_freeze_does_not_end_the_reading);
    tcase_add_loop_test(tcase, a_second_freeze_is_like_the_first, 0,
                        (int)(sizeof quiet_ms / sizeof *quiet_ms));
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
