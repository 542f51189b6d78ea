/* SPDX-License-Identifier: Apache-2.0 */
/* What is not said has a default; what is said wrongly is refused by name. */
#include "lib/base/settings.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* The whole environment is two variables at most. */
static struct {
    const char *name, *value;
} variables[2];

static const char *get(const char *name)
{
    for (int i = 0; i < 2; i++)
        if (variables[i].name && strcmp(variables[i].name, name) == 0)
            return variables[i].value;
    return NULL;
}

static struct err err;

static int read_two(struct settings *settings, const char *name, const char *value,
                    const char *other_name, const char *other_value)
{
    variables[0].name = name, variables[0].value = value;
    variables[1].name = other_name, variables[1].value = other_value;
    err = (struct err){ 0 };
    return settings_read(settings, get, &err);
}

static int read_one(struct settings *settings, const char *name, const char *value)
{
    return read_two(settings, name, value, NULL, NULL);
}

START_TEST(an_empty_environment_gives_the_defaults)
{
    struct settings settings;
    ck_assert_int_eq(read_one(&settings, NULL, NULL), HVD_OK);
    ck_assert_uint_eq(settings.fusion_threshold, 134217728);
    ck_assert_uint_eq(settings.cycle_time_us, 0);
    ck_assert_int_eq(settings.cache_capacity, 1024);
    ck_assert(!settings.disable_group_fusion);
    ck_assert_str_eq(settings.timeline, "");
    ck_assert(!settings.timeline_mark_cycles);
    ck_assert(settings.stall_check);
    ck_assert_uint_eq(settings.stall_check_s, 60);
    ck_assert_uint_eq(settings.stall_shutdown_s, 0);
    ck_assert_int_eq(settings.log_level, LOG_WARNING);
    ck_assert(!settings.log_hide_time);
    ck_assert(!settings.autotune && !settings.fusion_given && !settings.cycle_time_given);
    ck_assert_str_eq(settings.autotune_log, "");
    ck_assert_int_eq(settings.autotune_warmup, 3);
    ck_assert_int_eq(settings.autotune_steps, 10);
    ck_assert_int_eq(settings.autotune_samples, 20);
    ck_assert_uint_eq(settings.autotune_noise, 800);
}
END_TEST

#define FIELD(name) offsetof(struct settings, name)

static const struct {
    const char *name, *value;
    size_t offset, size;
    uint64_t expected;
} numbers[] = {
    { "HVD_STREAMS", "1", FIELD(streams), sizeof(int), 1 },
    { "HVD_THREADS", "0", FIELD(threads), sizeof(int), 0 },
    { "HVD_THREADS", "64", FIELD(threads), sizeof(int), 64 },
    { "HVD_STREAMS", "16", FIELD(streams), sizeof(int), 16 },
    { "HOROVOD_FUSION_THRESHOLD", "0", FIELD(fusion_threshold), sizeof(size_t), 0 },
    { "HOROVOD_FUSION_THRESHOLD", "67108864", FIELD(fusion_threshold), sizeof(size_t), 67108864 },
    { "HOROVOD_FUSION_THRESHOLD", "0000000000000000000000007", FIELD(fusion_threshold),
      sizeof(size_t), 7 },
    { "HOROVOD_CYCLE_TIME", "0", FIELD(cycle_time_us), sizeof(uint64_t), 0 },
    { "HOROVOD_CYCLE_TIME", "20.0", FIELD(cycle_time_us), sizeof(uint64_t), 20000 },
    { "HOROVOD_CYCLE_TIME", "0.5", FIELD(cycle_time_us), sizeof(uint64_t), 500 },
    { "HOROVOD_CYCLE_TIME", "3.14159", FIELD(cycle_time_us), sizeof(uint64_t), 3141 },
    { "HOROVOD_CYCLE_TIME", "60000", FIELD(cycle_time_us), sizeof(uint64_t), 60000000 },
    { "HOROVOD_CACHE_CAPACITY", "0", FIELD(cache_capacity), sizeof(int), 0 },
    { "HOROVOD_CACHE_CAPACITY", "1048576", FIELD(cache_capacity), sizeof(int), 1048576 },
    { "HOROVOD_STALL_CHECK_TIME_SECONDS", "1", FIELD(stall_check_s), sizeof(uint64_t), 1 },
    { "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "60", FIELD(stall_shutdown_s), sizeof(uint64_t), 60 },
    { "HVD_PROCESSORS", "64", FIELD(processors), sizeof(int), 64 },
    { "HVD_STEADY", "0", FIELD(steady), sizeof(bool), 0 },
    { "HVD_STEADY", "true", FIELD(steady), sizeof(bool), 1 },
    { "HOROVOD_DISABLE_GROUP_FUSION", "1", FIELD(disable_group_fusion), sizeof(bool), 1 },
    { "HOROVOD_DISABLE_GROUP_FUSION", "0", FIELD(disable_group_fusion), sizeof(bool), 0 },
    { "HOROVOD_TIMELINE_MARK_CYCLES", "17", FIELD(timeline_mark_cycles), sizeof(bool), 1 },
    { "HOROVOD_TIMELINE_MARK_CYCLES", "-1", FIELD(timeline_mark_cycles), sizeof(bool), 1 },
    { "HOROVOD_TIMELINE_MARK_CYCLES", "00", FIELD(timeline_mark_cycles), sizeof(bool), 0 },
    { "HOROVOD_TIMELINE_MARK_CYCLES", "True", FIELD(timeline_mark_cycles), sizeof(bool), 1 },
    { "HOROVOD_LOG_HIDE_TIME", "false", FIELD(log_hide_time), sizeof(bool), 0 },
    { "HOROVOD_LOG_HIDE_TIME", "TRUE", FIELD(log_hide_time), sizeof(bool), 1 },
    { "HOROVOD_STALL_CHECK_DISABLE", "1", FIELD(stall_check), sizeof(bool), 0 },
    { "HOROVOD_STALL_CHECK_DISABLE", "0", FIELD(stall_check), sizeof(bool), 1 },
    { "HOROVOD_AUTOTUNE", "1", FIELD(autotune), sizeof(bool), 1 },
    { "HOROVOD_AUTOTUNE", "false", FIELD(autotune), sizeof(bool), 0 },
    { "HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "0", FIELD(autotune_warmup), sizeof(int), 0 },
    { "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "1", FIELD(autotune_steps), sizeof(int), 1 },
    { "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "100", FIELD(autotune_samples), sizeof(int), 100 },
    { "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE", "0.25", FIELD(autotune_noise), sizeof(uint64_t),
      250 },
    { "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE", "1.000", FIELD(autotune_noise), sizeof(uint64_t),
      1000 },
    { "HOROVOD_FUSION_THRESHOLD", "1", FIELD(fusion_given), sizeof(bool), 1 },
    { "HOROVOD_FUSION_THRESHOLD", "1", FIELD(cycle_time_given), sizeof(bool), 0 },
    { "HOROVOD_CYCLE_TIME", "0", FIELD(cycle_time_given), sizeof(bool), 1 },
    { "HOROVOD_LOG_LEVEL", "DEBUG", FIELD(log_level), sizeof(enum log_level), LOG_DEBUG },
    { "HVD_ENCRYPT", "off", FIELD(encryption), sizeof(enum encryption), ENCRYPTION_OFF },
    { "HVD_ENCRYPT", "Auto", FIELD(encryption), sizeof(enum encryption), ENCRYPTION_AUTO },
    { "HVD_ENCRYPT", "require", FIELD(encryption), sizeof(enum encryption), ENCRYPTION_REQUIRE },
    { "HVD_CHECK_NUMERICS", "0", FIELD(check_numerics), sizeof(enum settings_check),
      SETTINGS_CHECK_NONE },
    { "HVD_CHECK_NUMERICS", "1", FIELD(check_numerics), sizeof(enum settings_check),
      SETTINGS_CHECK_WARN },
    { "HVD_CHECK_NUMERICS", "warn", FIELD(check_numerics), sizeof(enum settings_check),
      SETTINGS_CHECK_WARN },
    { "HVD_CHECK_NUMERICS", "Fail", FIELD(check_numerics), sizeof(enum settings_check),
      SETTINGS_CHECK_FAIL },
    { "HOROVOD_LOG_LEVEL", "fatal", FIELD(log_level), sizeof(enum log_level), LOG_FATAL },
};

static uint64_t field(const struct settings *settings, size_t offset, size_t size)
{
    const void *at = (const char *)settings + offset;
    return size == sizeof(bool)  ? *(const bool *)at
           : size == sizeof(int) ? (uint64_t) * (const int *)at
                                 : *(const uint64_t *)at;
}

START_TEST(a_value_is_read)
{
    struct settings settings;
    int rc = read_one(&settings, numbers[_i].name, numbers[_i].value);
    ck_assert_msg(rc == HVD_OK, "%s", err.text);
    ck_assert_msg(field(&settings, numbers[_i].offset, numbers[_i].size) == numbers[_i].expected,
                  "%s=%s", numbers[_i].name, numbers[_i].value);
}
END_TEST

START_TEST(a_timeline_is_a_file_or_not_there_yet)
{
    struct settings settings;
    ck_assert_int_eq(read_one(&settings, "HOROVOD_TIMELINE", "/tmp/my trace.json"), HVD_OK);
    ck_assert_str_eq(settings.timeline, "/tmp/my trace.json");
    ck_assert_int_eq(read_one(&settings, "HOROVOD_TIMELINE", "DYNAMIC"), HVD_OK);
    ck_assert_str_eq(settings.timeline, "");
    ck_assert_int_eq(read_one(&settings, "HOROVOD_TIMELINE", ""), HVD_OK);
    ck_assert_str_eq(settings.timeline, "");
}
END_TEST

START_TEST(a_path_has_a_longest)
{
    char path[SETTINGS_PATH_MAX + 1];
    struct settings settings;
    memset(path, 'x', sizeof path);
    path[SETTINGS_PATH_MAX] = '\0';
    ck_assert_int_eq(read_one(&settings, "HOROVOD_TIMELINE", path), HVD_ERR_ENVIRONMENT);
    ck_assert_ptr_nonnull(strstr(err.text, "HOROVOD_TIMELINE: 'xxx"));
    path[SETTINGS_PATH_MAX - 1] = '\0';
    ck_assert_int_eq(read_one(&settings, "HOROVOD_TIMELINE", path), HVD_OK);
    ck_assert_str_eq(settings.timeline, path);
}
END_TEST

static const struct {
    const char *name, *value, *said;
} bad[] = {
    { "HOROVOD_FUSION_THRESHOLD", "", "'' is not a number from 0 to" },
    { "HOROVOD_FUSION_THRESHOLD", "64MB", "'64MB' is not a number" },
    { "HOROVOD_FUSION_THRESHOLD", "-1", "'-1' is not a number" },
    { "HOROVOD_FUSION_THRESHOLD", "+1", "'+1' is not a number" },
    { "HOROVOD_FUSION_THRESHOLD", " 1", "' 1' is not a number" },
    { "HOROVOD_FUSION_THRESHOLD", "1.5", "'1.5' is not a number" },
    { "HOROVOD_FUSION_THRESHOLD", "18446744073709551616", "'18446744073709551616' is not" },
    { "HOROVOD_CYCLE_TIME", "", "'' is not a number of milliseconds" },
    { "HOROVOD_CYCLE_TIME", "1e3", "'1e3' is not a number of milliseconds" },
    { "HOROVOD_CYCLE_TIME", "1,5", "'1,5' is not" },
    { "HOROVOD_CYCLE_TIME", ".5", "'.5' is not" },
    { "HOROVOD_CYCLE_TIME", "5.", "'5.' is not" },
    { "HOROVOD_CYCLE_TIME", "-1", "'-1' is not" },
    { "HOROVOD_CYCLE_TIME", "nan", "'nan' is not" },
    { "HOROVOD_CYCLE_TIME", "60000.001", "from 0 to 60000" },
    { "HOROVOD_CYCLE_TIME", "99999999999999999999", "from 0 to 60000" },
    { "HOROVOD_CACHE_CAPACITY", "1048577", "is not a number from 0 to 1048576" },
    { "HVD_STREAMS", "0", "is not a number from 1 to 16" },
    { "HVD_STREAMS", "17", "is not a number from 1 to 16" },
    { "HVD_PROCESSORS", "0", "is not a number from 1 to 1048576" },
    { "HVD_STEADY", "2x", "'2x' is not 0, 1, true or false" },
    { "HOROVOD_DISABLE_GROUP_FUSION", "yes", "'yes' is not 0, 1, true or false" },
    { "HOROVOD_DISABLE_GROUP_FUSION", "", "'' is not 0, 1, true or false" },
    { "HOROVOD_DISABLE_GROUP_FUSION", "-", "'-' is not 0, 1, true or false" },
    { "HOROVOD_TIMELINE_MARK_CYCLES", "1x", "'1x' is not 0" },
    { "HOROVOD_STALL_CHECK_DISABLE", "off", "'off' is not 0" },
    { "HOROVOD_STALL_CHECK_TIME_SECONDS", "0", "'0' is not a number from 1 to" },
    { "HOROVOD_STALL_CHECK_TIME_SECONDS", "1000000001", "to 1000000000" },
    { "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "-5", "'-5' is not a number from 0" },
    { "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "59",
      "59 is less than 60 (the default of HOROVOD_STALL_CHECK_TIME_SECONDS)" },
    { "HOROVOD_AUTOTUNE", "on", "'on' is not 0, 1, true or false" },
    { "HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "10001", "from 0 to 10000" },
    { "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "0", "from 1 to 10000" },
    { "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "101", "from 1 to 100" },
    { "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE", "1.001", "'1.001' is not a number from 0 to 1" },
    { "HOROVOD_LOG_LEVEL", "loud", "'loud' is not trace, debug, info, warning, error or fatal" },
    { "HOROVOD_LOG_LEVEL", "", "'' is not trace" },
    { "HOROVOD_LOG_LEVEL", "\x1b[2J", "\\x1b[2J" },
    { "HOROVOD_LOG_HIDE_TIME", "t", "'t' is not 0" },
};

START_TEST(a_bad_value_is_refused_by_name)
{
    struct settings settings;
    int rc = read_one(&settings, bad[_i].name, bad[_i].value);
    ck_assert_msg(rc == HVD_ERR_ENVIRONMENT, "%s=%s", bad[_i].name, bad[_i].value);
    ck_assert_msg(strstr(err.text, bad[_i].name) && strstr(err.text, bad[_i].said), "%s", err.text);
}
END_TEST

static const struct {
    const char *check, *shutdown;
    bool good;
} times[] = {
    { "10", "10", true }, { "10", "0", true },  { "10", "11", true },
    { "10", "9", false }, { "60", "1", false },
};

START_TEST(nothing_is_ended_before_it_is_warned_of)
{
    struct settings settings;
    int rc = read_two(&settings, "HOROVOD_STALL_CHECK_TIME_SECONDS", times[_i].check,
                      "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", times[_i].shutdown);
    ck_assert_int_eq(rc, times[_i].good ? HVD_OK : HVD_ERR_ENVIRONMENT);
    if (!times[_i].good)
        ck_assert(strstr(err.text, "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS: ") &&
                  strstr(err.text, " (HOROVOD_STALL_CHECK_TIME_SECONDS)"));
}
END_TEST

START_TEST(without_the_check_its_times_need_not_fit)
{
    struct settings settings;
    ck_assert_int_eq(read_two(&settings, "HOROVOD_STALL_CHECK_DISABLE", "1",
                              "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "5"),
                     HVD_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("settings");
    TCase *tcase = tcase_create("settings");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, an_empty_environment_gives_the_defaults);
    tcase_add_loop_test(tcase, a_value_is_read, 0, sizeof numbers / sizeof *numbers);
    tcase_add_test(tcase, a_timeline_is_a_file_or_not_there_yet);
    tcase_add_test(tcase, a_path_has_a_longest);
    tcase_add_loop_test(tcase, a_bad_value_is_refused_by_name, 0, sizeof bad / sizeof *bad);
    tcase_add_loop_test(tcase, nothing_is_ended_before_it_is_warned_of, 0,
                        sizeof times / sizeof *times);
    tcase_add_test(tcase, without_the_check_its_times_need_not_fit);
    return unit_run(suite);
}
