/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank's stderr says of its failure. The texts are those of Python 3.11, Horovod 0.28.1,
 * torch 1.13 and libstdc++, shortened. */
#include "launcher/verdict/stderr_failure.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

#define TRACEBACK "Traceback (most recent call last):\n  File \"train.py\", line 8, in <module>\n"
#define OWN TRACEBACK "    raise ValueError(\"empty\")\nValueError: empty\n"
#define SHUT_DOWN                                                                                  \
    "Horovod has been shut down. This was caused by an exception on one of the ranks or an "       \
    "attempt to allreduce a tensor after one of the ranks finished execution."
#define DURING "\nDuring handling of the above exception, another exception occurred:\n\n"
#define CLOSED "[./gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:29081"

static struct stderr_reader reader;

static void setup(void)
{
    reader = (struct stderr_reader){ .length = 0 };
}

static void says(const char *text, uint64_t now_us)
{
    stderr_reader_feed(&reader, text, strlen(text), now_us);
}

static const struct {
    const char *text;
    enum stderr_failure_kind kind;
} texts[] = {
    { "", STDERR_NO_FAILURE },
    { "\n\n", STDERR_NO_FAILURE },
    { "epoch 1\nwarning: slow\n", STDERR_NO_FAILURE },
    { "  Traceback (most recent call last):\n", STDERR_NO_FAILURE }, /* quoted */
    { TRACEBACK, STDERR_FAILURE_BEGUN },
    { OWN, STDERR_OWN_FAILURE },
    { "epoch 1\n" OWN, STDERR_OWN_FAILURE },
    { TRACEBACK "ValueError\n", STDERR_OWN_FAILURE },
    { TRACEBACK "ValueError: two\nlines\n", STDERR_OWN_FAILURE },
    { TRACEBACK "horovod.common.exceptions.HorovodInternalError: " SHUT_DOWN "\n",
      STDERR_CONSEQUENCE },
    { TRACEBACK "RuntimeError: " SHUT_DOWN "\n" DURING TRACEBACK
                "horovod.common.exceptions.HorovodInternalError: " SHUT_DOWN "\n",
      STDERR_CONSEQUENCE },
    { TRACEBACK "RuntimeError: " SHUT_DOWN "\n" DURING TRACEBACK "RuntimeError: training failed\n",
      STDERR_CONSEQUENCE },
    { TRACEBACK "RuntimeError: " SHUT_DOWN
                "\n\nThe above exception was the direct cause of the following exception:\n\n" OWN,
      STDERR_CONSEQUENCE },
    { OWN DURING TRACEBACK "HorovodInternalError: " SHUT_DOWN "\n", STDERR_OWN_FAILURE },
    { OWN "Error in atexit._run_exitfuncs:\n" TRACEBACK "HorovodInternalError: " SHUT_DOWN "\n",
      STDERR_OWN_FAILURE },
    { "Exception ignored in: <function f>\n" OWN, STDERR_NO_FAILURE },
    { "Exception ignored in: <stdout>\nBrokenPipeError: broken\n" OWN, STDERR_OWN_FAILURE },
    { TRACEBACK "RuntimeError: " CLOSED "\n", STDERR_CONSEQUENCE },
    { TRACEBACK "RuntimeError: [/t/gloo/transport/tcp/pair.cc:1] Read error [::1]:7: Connection "
                "reset by peer\n",
      STDERR_CONSEQUENCE },
    { TRACEBACK "RuntimeError: Connection reset by peer\n", STDERR_CONSEQUENCE },
    { TRACEBACK "ConnectionResetError: [Errno 104] Connection reset by peer\n",
      STDERR_OWN_FAILURE }, /* of a server that the program has asked for data */
    { "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"a\"\n[rank1]: ValueError: "
      "empty\n",
      STDERR_OWN_FAILURE },
    { "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"a\"\n\n[rank1]: "
      "RuntimeError: "
      "" CLOSED "\n",
      STDERR_CONSEQUENCE },
    { "[rankle Traceback (most recent call last):\n", STDERR_NO_FAILURE },
    { "terminate called after throwing an instance of 'gloo::IoException'\n  what():  " CLOSED "\n",
      STDERR_CONSEQUENCE },
    { "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  "
      "std::bad_alloc\n",
      STDERR_OWN_FAILURE },
    { "terminate called after throwing an instance of 'int'\n\n", STDERR_OWN_FAILURE },
    { "terminate called after throwing an instance of 'int'\n", STDERR_FAILURE_BEGUN },
    { "lost: " SHUT_DOWN "\n", STDERR_CONSEQUENCE },
    { "\r 10%|#    |\r 20%|##   |" OWN, STDERR_OWN_FAILURE }, /* progress bars */
    { "\r 10%|#    |\r 20%|##   |\n" TRACEBACK "HorovodInternalError: " SHUT_DOWN "\n",
      STDERR_CONSEQUENCE },
    { " 10%|#    |" OWN, STDERR_NO_FAILURE },
    { "\r\n" TRACEBACK "ValueError\r\n", STDERR_OWN_FAILURE },
    { "Traceback (most recent call last):\r\nRuntimeError: " SHUT_DOWN
      "\r\n\r\nDuring handling of the above exception, another exception occurred:\r\n\r\n"
      "Traceback (most recent call last):\r\nValueError\r\n",
      STDERR_CONSEQUENCE },
    { OWN "lost: " SHUT_DOWN "\n", STDERR_OWN_FAILURE }, /* it lost its peers after that */
    { OWN TRACEBACK "HorovodInternalError: " SHUT_DOWN "\n", STDERR_CONSEQUENCE }, /* it went on */
    { TRACEBACK TRACEBACK "ValueError: two processes\n", STDERR_OWN_FAILURE },
};

START_TEST(a_text_is_of_one_kind_however_it_is_cut)
{
    size_t length = strlen(texts[_i].text);
    for (size_t piece = 1; piece <= length + 1; piece++) {
        setup();
        for (size_t at = 0; at < length; at += piece)
            stderr_reader_feed(&reader, texts[_i].text + at,
                               length - at < piece ? length - at : piece, 1000);
        ck_assert_int_eq(reader.failure.kind, texts[_i].kind);
    }
}
END_TEST

START_TEST(a_failure_began_when_its_first_byte_came)
{
    says("epoch 1\nTrace", 1000);
    ck_assert_int_eq(reader.failure.kind, STDERR_NO_FAILURE);
    says("back (most recent call last):\n", 2000);
    ck_assert_int_eq(reader.failure.kind, STDERR_FAILURE_BEGUN);
    ck_assert_uint_eq(reader.failure.began_us, 1000);
    says("  File\nValueError: empty\n", 3000);
    says(DURING, 4000);
    says(TRACEBACK "TypeError: other\n", 5000);
    ck_assert_int_eq(reader.failure.kind, STDERR_OWN_FAILURE);
    ck_assert_uint_eq(reader.failure.began_us, 1000);
}
END_TEST

START_TEST(a_failure_behind_a_progress_bar_did_not_begin_with_the_bar)
{
    says("\r 10%|#    |", 1000);
    says("\r 20%|##   |", 2000);
    says(TRACEBACK, 3000);
    ck_assert_int_eq(reader.failure.kind, STDERR_FAILURE_BEGUN);
    ck_assert_uint_eq(reader.failure.began_us, 3000);
}
END_TEST

START_TEST(a_later_traceback_is_another_failure)
{
    says(OWN, 1000);
    says("going on\n", 1500);
    says(OWN, 2000);
    ck_assert_uint_eq(reader.failure.began_us, 2000);
}
END_TEST

START_TEST(a_traceback_without_an_end_is_over_after_a_time)
{
    says(TRACEBACK, 1000);
    says(TRACEBACK, 1000 + STDERR_FAILURE_LASTS_US);
    ck_assert_uint_eq(reader.failure.began_us, 1000);
    says(TRACEBACK, 1001 + STDERR_FAILURE_LASTS_US);
    ck_assert_uint_eq(reader.failure.began_us, 1001 + STDERR_FAILURE_LASTS_US);
}
END_TEST

START_TEST(a_line_about_another_rank_counts_after_a_failure_that_is_over)
{
    says(OWN, 1000);
    says(SHUT_DOWN "\n", 1000 + STDERR_FAILURE_LASTS_US);
    ck_assert_int_eq(reader.failure.kind, STDERR_OWN_FAILURE);
    says(SHUT_DOWN "\n", 1001 + STDERR_FAILURE_LASTS_US);
    ck_assert_int_eq(reader.failure.kind, STDERR_CONSEQUENCE);
    ck_assert_uint_eq(reader.failure.began_us, 1001 + STDERR_FAILURE_LASTS_US);
}
END_TEST

/* The clock of a host may be set back when its first heartbeat comes. */
START_TEST(a_failure_is_not_over_when_time_goes_back)
{
    says(OWN, 1000);
    says(SHUT_DOWN "\n", 900);
    ck_assert_int_eq(reader.failure.kind, STDERR_OWN_FAILURE);
    says(TRACEBACK, 800);
    says(TRACEBACK, 700);
    ck_assert_uint_eq(reader.failure.began_us, 800);
}
END_TEST

START_TEST(a_last_line_needs_no_newline)
{
    says(TRACEBACK "RuntimeError: " SHUT_DOWN, 1000);
    ck_assert_int_eq(reader.failure.kind, STDERR_FAILURE_BEGUN);
    stderr_reader_end(&reader);
    ck_assert_int_eq(reader.failure.kind, STDERR_CONSEQUENCE);
    stderr_reader_end(&reader);
    ck_assert_int_eq(reader.failure.kind, STDERR_CONSEQUENCE);
}
END_TEST

START_TEST(of_a_long_line_the_beginning_counts)
{
    char *line = malloc(3 * STDERR_LINE_MAX + 1);
    memset(line, 'x', 3 * STDERR_LINE_MAX);
    line[3 * STDERR_LINE_MAX] = '\0';
    says(TRACEBACK "ValueError: ", 1000);
    says(line, 1000);
    says(SHUT_DOWN "\n", 1000); /* too far behind */
    ck_assert_int_eq(reader.failure.kind, STDERR_OWN_FAILURE);
    ck_assert_uint_eq(reader.length, 0);
    says(TRACEBACK "HorovodInternalError: " SHUT_DOWN, 2000);
    says(line, 2000);
    says("\n", 2000);
    ck_assert_int_eq(reader.failure.kind, STDERR_CONSEQUENCE);
    free(line);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stderr_failure");
    TCase *tcase = tcase_create("failures");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_loop_test(tcase, a_text_is_of_one_kind_however_it_is_cut, 0,
                        (int)(sizeof texts / sizeof *texts));
    tcase_add_test(tcase, a_failure_began_when_its_first_byte_came);
    tcase_add_test(tcase, a_failure_behind_a_progress_bar_did_not_begin_with_the_bar);
    tcase_add_test(tcase, a_later_traceback_is_another_failure);
    tcase_add_test(tcase, a_traceback_without_an_end_is_over_after_a_time);
    tcase_add_test(tcase, a_line_about_another_rank_counts_after_a_failure_that_is_over);
    tcase_add_test(tcase, a_failure_is_not_over_when_time_goes_back);
    tcase_add_test(tcase, a_last_line_needs_no_newline);
    tcase_add_test(tcase, of_a_long_line_the_beginning_counts);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
