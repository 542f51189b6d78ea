/* SPDX-License-Identifier: Apache-2.0 */
/* The file that says what autotuning has tried. */
#include "lib/autotune/tuner_log.h"

#include "tests/support/unit.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct tuner_report report = {
    .tuning = { .fusion_threshold = 1536 << 10,
                .fused_max = 65536,
                .cycle_time_us = 1250,
                .small = 32768,
                .large = 262144 },
    .rate = 123456789.0,
};

static const char header[] =
    "hierarchical_allreduce,hierarchical_allgather,torus_allreduce,cache_enabled,cycle_time_ms,"
    "tensor_fusion_threshold,score,fused_tensor_max,small_allreduce_max,large_allreduce_min\n";

static char path[] = "/tmp/tuner_log_test.XXXXXX";
static struct tuner_log file;
static struct err err;

static void setup(void)
{
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void teardown(void)
{
    unlink(path);
}

static const char *contents(void)
{
    static char text[4096];
    FILE *stream = fopen(path, "re");
    ck_assert_ptr_nonnull(stream);
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    fclose(stream);
    return text;
}

START_TEST(a_line_says_all_numbers_in_any_locale)
{
    char line[256];
    setlocale(LC_ALL, "de_DE.UTF-8"); /* if there is one */
    tuner_log_line(line, sizeof line, true, &report);
    ck_assert_str_eq(line, "0,0,0,1,1.250,1.500,123.456,65536,32768,262144");
    tuner_log_line(line, 8, false, &report);
    ck_assert_str_eq(line, "0,0,0,0");
}
END_TEST

START_TEST(a_file_has_names_and_then_a_line_for_each_report)
{
    char expected[1024];
    ck_assert_int_eq(tuner_log_open(&file, path, true, &err), HVD_OK);
    ck_assert_str_eq(contents(), header);
    tuner_log_write(&file, &report);
    tuner_log_write(&file, &report);
    snprintf(expected, sizeof expected, "%s%s%s", header,
             "0,0,0,1,1.250,1.500,123.456,65536,32768,262144\n",
             "0,0,0,1,1.250,1.500,123.456,65536,32768,262144\n");
    ck_assert_str_eq(contents(), expected);
    tuner_log_close(&file);
    ck_assert_int_eq(tuner_log_open(&file, path, true, &err), HVD_OK);
    ck_assert_str_eq(contents(), header);
    tuner_log_close(&file);
}
END_TEST

START_TEST(without_a_name_there_is_no_file)
{
    ck_assert_int_eq(tuner_log_open(&file, "", true, &err), HVD_OK);
    tuner_log_write(&file, &report);
    tuner_log_close(&file);
}
END_TEST

START_TEST(a_file_that_cannot_be_made_is_named)
{
    ck_assert_int_eq(tuner_log_open(&file, "/no/such/log.csv", true, &err), HVD_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, "log of autotuning '/no/such/log.csv': No such"));
}
END_TEST

/* Half a line fits. The signal of a file that is too large does not end this process. */
START_TEST(a_file_that_takes_no_more_ends_and_nothing_else_does)
{
    struct rlimit before, limit;
    ck_assert_int_eq(tuner_log_open(&file, path, true, &err), HVD_OK);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = sizeof header + 10;
    ck_assert_ptr_nonnull(freopen("/dev/null", "we", stderr));
    setrlimit(RLIMIT_FSIZE, &limit); /* Check writes files, too: no assertions meanwhile */
    tuner_log_write(&file, &report);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(file.fd, -1);
    tuner_log_write(&file, &report);
    tuner_log_close(&file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tuner_log");
    TCase *tcase = tcase_create("file");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_line_says_all_numbers_in_any_locale);
    tcase_add_test(tcase, a_file_has_names_and_then_a_line_for_each_report);
    tcase_add_test(tcase, without_a_name_there_is_no_file);
    tcase_add_test(tcase, a_file_that_cannot_be_made_is_named);
    tcase_add_test(tcase, a_file_that_takes_no_more_ends_and_nothing_else_does);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
