/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader who does not read keeps waiting: late is only what was there at the last check.
 * What cannot be written stays pending until whoever asked was told that it is lost. There is a
 * thread from the first bytes on, or sooner. Linked with -Wl,--wrap=pthread_create. */
#include "launcher/output/output_writer.h"

#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { MUCH = 1024 * 1024 }; /* more than a pipe holds */

typedef void *body_fn(void *);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, body_fn *body, void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, body_fn *body, void *arg);

static int threads_started;
static bool no_more_threads;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, body_fn *body, void *arg)
{
    if (no_more_threads)
        return EAGAIN;
    threads_started++;
    return __real_pthread_create(thread, attr, body, arg);
}

static uv_loop_t loop;
static struct output_writer *writer;
static struct output_sink *sink;
static int ends[2];
static char much[MUCH];
static struct output_sink *broken_sink;
static int broken_errnum;

static void on_progress(void *context)
{
    (void)context;
}

static void on_broken(void *context, struct output_sink *broken, int errnum)
{
    (void)context;
    ck_assert_ptr_null(broken_sink);
    broken_sink = broken;
    broken_errnum = errnum;
}

static void set_up(void)
{
    static const struct output_writer_events events = { on_progress, on_broken };
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    ck_assert_int_eq(pipe(ends), 0);
    writer = output_writer_create(&loop, &events, NULL);
    sink = output_sink_add(writer, ends[1], "pipe", true);
    broken_sink = NULL;
    threads_started = 0;
    no_more_threads = false;
}

static void tear_down(void)
{
    output_writer_destroy(writer);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    close(ends[0]);
}

static void read_bytes(size_t count)
{
    static char heard[MUCH];
    while (count > 0) {
        ssize_t n = read(ends[0], heard, count);
        ck_assert_int_gt(n, 0);
        count -= (size_t)n;
    }
}

START_TEST(what_was_there_at_the_last_check_is_late)
{
    ck_assert(!output_writer_is_late(writer));
    output_sink_write(sink, much, MUCH);
    ck_assert(!output_writer_is_late(writer));
    ck_assert(output_writer_is_late(writer));
}
END_TEST

START_TEST(what_was_written_since_is_not_late)
{
    output_sink_write(sink, much, MUCH);
    ck_assert(!output_writer_is_late(writer));
    read_bytes(MUCH);
    while (output_writer_pending(writer) > 0)
        uv_run(&loop, UV_RUN_ONCE);
    output_sink_write(sink, much, MUCH);
    ck_assert(!output_writer_is_late(writer));
}
END_TEST

/* A full device that has lost 4 bytes. The thread has met it when the byte that was queued later is
 * in the pipe; the loop has not run yet. */
static struct output_sink *add_broken(void)
{
    struct output_sink *full =
        output_sink_add(writer, open("/dev/full", O_WRONLY | O_CLOEXEC), "full", true);
    output_sink_write(full, "lost", 4);
    output_sink_write(sink, "x", 1);
    read_bytes(1);
    return full;
}

START_TEST(what_is_lost_is_pending_until_it_is_told)
{
    struct output_sink *full = add_broken();
    ck_assert_uint_ge(output_writer_pending(writer), 4);
    while (output_writer_pending(writer) > 0)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_ptr_eq(broken_sink, full);
    ck_assert_int_eq(broken_errnum, ENOSPC);
    output_sink_write(full, "more", 4);
    ck_assert_uint_eq(output_writer_pending(writer), 0);
}
END_TEST

/* The thread is in the middle of what was queued first when the reader goes. */
START_TEST(what_is_queued_behind_what_is_lost_is_lost_with_it)
{
    signal(SIGPIPE, SIG_IGN);
    output_sink_write(sink, much, MUCH);
    read_bytes(1);
    output_sink_write(sink, "more", 4);
    close(ends[0]);
    ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (!broken_sink)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_int_eq(broken_errnum, EPIPE);
    ck_assert_uint_eq(output_writer_pending(writer), 0);
}
END_TEST

/* The loop hears of the full device after the writer was given up. */
START_TEST(what_was_given_up_is_not_pending)
{
    add_broken();
    output_writer_drop(writer);
    while (!broken_sink)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_uint_eq(output_writer_pending(writer), 0);
}
END_TEST

/* ---- the thread ---- */

START_TEST(there_is_a_thread_only_when_there_is_something_to_write)
{
    struct output_sink *other = output_sink_add(writer, ends[1], "the same pipe", false);
    ck_assert_int_eq(threads_started, 0);
    output_sink_write(sink, "x", 1);
    ck_assert_int_eq(threads_started, 1);
    output_sink_write(other, "y", 1);
    ck_assert_int_eq(threads_started, 1);
    read_bytes(2);
}
END_TEST

/* Ranks have used up all threads of the user. */
START_TEST(a_writer_that_was_started_needs_no_thread_later)
{
    output_writer_start(writer);
    ck_assert_int_eq(threads_started, 1);
    no_more_threads = true;
    output_sink_write(sink, "x", 1);
    read_bytes(1);
}
END_TEST

START_TEST(a_writer_that_has_written_nothing_ends)
{
    output_writer_drop(writer);
    output_writer_start(writer);
    output_sink_write(sink, "too late", 8);
    ck_assert_int_eq(threads_started, 0);
    ck_assert_uint_eq(output_writer_pending(writer), 0);
}
END_TEST

START_TEST(a_writer_that_was_only_started_ends)
{
    output_writer_start(writer);
    output_writer_drop(writer);
    ck_assert_uint_eq(output_writer_pending(writer), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("output_writer");
    TCase *late = tcase_create("late");
    tcase_add_checked_fixture(late, set_up, tear_down);
    tcase_add_test(late, what_was_there_at_the_last_check_is_late);
    tcase_add_test(late, what_was_written_since_is_not_late);
    suite_add_tcase(suite, late);
    TCase *lost = tcase_create("lost");
    tcase_add_checked_fixture(lost, set_up, tear_down);
    tcase_add_test(lost, what_is_lost_is_pending_until_it_is_told);
    tcase_add_test(lost, what_is_queued_behind_what_is_lost_is_lost_with_it);
    tcase_add_test(lost, what_was_given_up_is_not_pending);
    suite_add_tcase(suite, lost);
    TCase *thread = tcase_create("thread");
    tcase_add_checked_fixture(thread, set_up, tear_down);
    tcase_add_test(thread, there_is_a_thread_only_when_there_is_something_to_write);
    tcase_add_test(thread, a_writer_that_was_started_needs_no_thread_later);
    tcase_add_test(thread, a_writer_that_has_written_nothing_ends);
    tcase_add_test(thread, a_writer_that_was_only_started_ends);
    suite_add_tcase(suite, thread);
    return unit_run(suite);
}
