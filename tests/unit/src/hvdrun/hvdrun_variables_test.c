/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of hvdrun and variables: those that options and -x set for the ranks, and those
 * that hvdrun reads itself. */
#include "lib/base/settings.h"
#include "src/options/interface_option.h"
#include "tests/support/hvdrun_options_fixture.h"

#include <stdio.h>
#include <unistd.h>

/* ---- for the ranks ---- */

START_TEST(tuning_flags_become_variables_of_the_ranks)
{
    static const struct {
        const char *option, *value, *set;
    } cases[] = {
        { "--fusion-threshold-mb", "64", "HOROVOD_FUSION_THRESHOLD=67108864" },
        { "--fusion-threshold-mb", "65536", "HOROVOD_FUSION_THRESHOLD=68719476736" },
        { "--cycle-time-ms", "20.0", "HOROVOD_CYCLE_TIME=20.0" },
        { "--cycle-time-ms", "60000.00", "HOROVOD_CYCLE_TIME=60000.00" },
        { "--cache-capacity", "0", "HOROVOD_CACHE_CAPACITY=0" },
        { "--timeline-filename", "t.json", "HOROVOD_TIMELINE=t.json" },
        { "--timeline-mark-cycles", NULL, "HOROVOD_TIMELINE_MARK_CYCLES=1" },
        { "--no-timeline-mark-cycles", NULL, "HOROVOD_TIMELINE_MARK_CYCLES=0" },
        { "--no-stall-check", NULL, "HOROVOD_STALL_CHECK_DISABLE=1" },
        { "--stall-check", NULL, "HOROVOD_STALL_CHECK_DISABLE=0" },
        { "--stall-check-warning-time-seconds", "9", "HOROVOD_STALL_CHECK_TIME_SECONDS=9" },
        { "--stall-check-shutdown-time-seconds", "0", "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=0" },
        { "--stall-check-shutdown-time-seconds", "60", "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=60" },
        { "--log-level", "DEBUG", "HOROVOD_LOG_LEVEL=DEBUG" },
        { "--log-with-timestamp", NULL, "HOROVOD_LOG_HIDE_TIME=0" },
        { "--no-log-hide-timestamp", NULL, "HOROVOD_LOG_HIDE_TIME=0" },
        { "--log-without-timestamp", NULL, "HOROVOD_LOG_HIDE_TIME=1" },
        { "--log-hide-timestamp", NULL, "HOROVOD_LOG_HIDE_TIME=1" },
        { "--gloo-timeout-seconds", "60", "HOROVOD_GLOO_TIMEOUT_SECONDS=60" },
        { "--num-nccl-streams", "2", "HOROVOD_NUM_NCCL_STREAMS=2" },
        { "--thread-affinity", "0,1", "HOROVOD_THREAD_AFFINITY=0,1" },
        { "--tcp", NULL, "NCCL_IB_DISABLE=1" },
        { "--disable-cache", NULL, "" },
        { "--hierarchical-allreduce", NULL, "HOROVOD_HIERARCHICAL_ALLREDUCE=1" },
        { "--no-hierarchical-allreduce", NULL, "HOROVOD_HIERARCHICAL_ALLREDUCE=0" },
        { "--autotune", NULL, "HOROVOD_AUTOTUNE=1" },
        { "--no-autotune", NULL, "HOROVOD_AUTOTUNE=0" },
        { "--autotune-log-file", "t.csv", "HOROVOD_AUTOTUNE_LOG=t.csv" },
        { "--autotune-warmup-samples", "0", "HOROVOD_AUTOTUNE_WARMUP_SAMPLES=0" },
        { "--autotune-steps-per-sample", "1", "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE=1" },
        { "--autotune-bayes-opt-max-samples", "100", "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES=100" },
        { "--autotune-gaussian-process-noise", "1.00",
          "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE=1.00" },
        { "--no-torus-allreduce", NULL, "" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char option[64], value[16] = "true";
        char *argv[] = { "hvdrun",
                         "-np",
                         "1",
                         strcpy(option, cases[i].option),
                         cases[i].value ? strcpy(value, cases[i].value) : "true",
                         "true",
                         NULL };
        parse_well(argv);
        expect_list(&options.set, cases[i].set);
    }
}
END_TEST

START_TEST(what_libhvd_does_not_read_is_noted)
{
    char *argv[] = { "hvdrun", "-np", "1", "--tcp", "true", NULL };
    parse_well(argv);
    expect_list(&options.notes, "--tcp: for Horovod and NCCL; libhvd does not read it");
    ck_assert_uint_eq(options.warnings.count, 0);
}
END_TEST

START_TEST(autotuning_that_is_described_and_not_wanted_is_noted)
{
    char *argv[] = { "hvdrun", "-np", "1", "--autotune-log-file", "f", "true", "true", NULL };
    parse_well(argv);
    expect_list(&options.notes, "--autotune-log-file: without --autotune nothing is tuned");
    argv[5] = "--autotune";
    parse_well(argv);
    ck_assert_uint_eq(options.notes.count, 0);
}
END_TEST

/* Parses "hvdrun -np 1 WORDS true". */
static void parse_words(char *const words[WORDS])
{
    char *argv[WORDS + 4] = { "hvdrun", "-np", "1" };
    memcpy(argv + 3, words, WORDS * sizeof *words);
    int end = 3;
    while (argv[end])
        end++;
    argv[end] = "true";
    parse_well(argv);
}

START_TEST(options_that_another_one_makes_idle_are_noted)
{
    static struct {
        char *argv[WORDS];
        const char *notes;
    } cases[] = {
        { { "--no-stall-check", "--stall-check-warning-time-seconds=5" },
          "--stall-check-warning-time-seconds: with --no-stall-check nothing is checked" },
        { { "--no-stall-check", "--stall-check-shutdown-time-seconds=0" },
          "--stall-check-shutdown-time-seconds: with --no-stall-check nothing is checked" },
        { { "--stall-check", "--stall-check-warning-time-seconds=5" }, "" },
        { { "--timeline-mark-cycles" },
          "--timeline-mark-cycles: without --timeline-filename nothing is marked" },
        { { "--timeline-mark-cycles", "--timeline-filename=t" }, "" },
        { { "--timeline-mark-cycles", "-x", "HOROVOD_TIMELINE=t" }, "" },
        { { "--timeline-mark-cycles", "-x", "HOROVOD_TIMELINE=" },
          "--timeline-mark-cycles: without --timeline-filename nothing is marked" },
        { { "-x", "HOROVOD_STALL_CHECK_DISABLE=1", "--stall-check-warning-time-seconds=5" },
          "--stall-check-warning-time-seconds: with $HOROVOD_STALL_CHECK_DISABLE nothing is "
          "checked" },
        { { "--no-stall-check", "-x", "HOROVOD_STALL_CHECK_DISABLE=0",
            "--stall-check-warning-time-seconds=5" },
          "" },
        { { "--hierarchical-allreduce" },
          "--hierarchical-allreduce: has no effect on tensors in host memory, only on those of "
          "GPUs" },
        { { "--hierarchical-allreduce", "-x", "HOROVOD_HIERARCHICAL_ALLREDUCE=0" }, "" },
        { { "--no-hierarchical-allreduce" }, "" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        parse_words(cases[i].argv);
        expect_list(&options.notes, cases[i].notes);
    }
}
END_TEST

START_TEST(a_shutdown_time_without_a_stall_check_is_warned_of)
{
    parse_words((char *[WORDS]){ "--no-stall-check", "--stall-check-shutdown-time-seconds=90" });
    expect_list(&options.warnings,
                "--stall-check-shutdown-time-seconds: with --no-stall-check nothing is checked");
    ck_assert_uint_eq(options.notes.count, 0);
    parse_words((char *[WORDS]){ "--stall-check", "--stall-check-shutdown-time-seconds=90" });
    ck_assert_uint_eq(options.warnings.count, 0);
}
END_TEST

START_TEST(a_variable_that_makes_options_idle_is_named)
{
    setenv("HOROVOD_STALL_CHECK_DISABLE", "1", 1);
    parse_words((char *[WORDS]){ "--stall-check-shutdown-time-seconds=90" });
    expect_list(&options.warnings, "--stall-check-shutdown-time-seconds: with "
                                   "$HOROVOD_STALL_CHECK_DISABLE nothing is checked");
    parse_words((char *[WORDS]){ "--stall-check", "--stall-check-shutdown-time-seconds=90" });
    expect_list(&options.notes, "$HOROVOD_STALL_CHECK_DISABLE: '1' gives way to --stall-check");
    ck_assert_uint_eq(options.warnings.count, 0);
    unsetenv("HOROVOD_STALL_CHECK_DISABLE");
    setenv("HOROVOD_TIMELINE", "", 1);
    parse_words((char *[WORDS]){ "--timeline-mark-cycles" });
    expect_list(&options.notes,
                "--timeline-mark-cycles: without --timeline-filename nothing is marked");
    unsetenv("HOROVOD_TIMELINE");
}
END_TEST

START_TEST(idle_keys_of_a_file_are_named_with_their_places)
{
    static const char text[] = "stall_check:\n  enabled: false\n  warning_time_seconds: 5\n"
                               "  shutdown_time_seconds: 9\n"
                               "timeline:\n  mark_cycles: true\n";
    char path[] = "/tmp/idle.XXXXXX", expected[600];
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    parse_words((char *[WORDS]){ "--config-file", path });
    snprintf(expected, sizeof expected,
             "%s:3:25: stall_check.warning_time_seconds: with %s:2:12: stall_check.enabled "
             "nothing is checked "
             "%s:4:26: stall_check.shutdown_time_seconds: with %s:2:12: stall_check.enabled "
             "nothing is checked "
             "%s:6:16: timeline.mark_cycles: without --timeline-filename nothing is marked",
             path, path, path, path, path);
    unlink(path);
    expect_list(&options.notes, expected);
}
END_TEST

START_TEST(variables_are_set_or_passed_on)
{
    static struct {
        char *argv[WORDS];
        const char *set, *warnings;
    } cases[] = {
        { { "-x", "A=1", "-x", "B=", "-xC=a=b" }, "A=1 B= C=a=b", "" },
        { { "-x", "HVD_TEST_VARIABLE" }, "HVD_TEST_VARIABLE=out\nside", "" },
        { { "-x", "HVD_TEST_VARIABLE=" }, "HVD_TEST_VARIABLE=", "" },
        { { "-x", "A=1", "-x", "B=2", "-x", "A=3" },
          "A=3 B=2",
          "-x: A: has precedence over an earlier -x" },
        { { "-x", "A=1", "-x", "A=1", "-x", "A=2", "-xA=3" },
          "A=3",
          "-x: A: has precedence over an earlier -x -x: A: has precedence over an earlier -x" },
        { { "-x", "HVD_TEST_VARIABLE=in", "-x", "HVD_TEST_VARIABLE" },
          "HVD_TEST_VARIABLE=out\nside",
          "-x: HVD_TEST_VARIABLE: has precedence over an earlier -x" },
        { { "-x", "HVD_NO_SUCH" }, "", "-x: no such variable: 'HVD_NO_SUCH'" },
        { { "-x", "HOROVOD_CYCLE_TIME=5", "--cycle-time-ms=5" }, "HOROVOD_CYCLE_TIME=5", "" },
        { { "-x", "HOROVOD_CYCLE_TIME=3", "--cycle-time-ms=5" },
          "HOROVOD_CYCLE_TIME=3",
          "-x: HOROVOD_CYCLE_TIME: '3' has precedence over --cycle-time-ms" },
        { { "--encrypt=require", "-x", "HVD_ENCRYPT=off", "-xHVD_ENCRYPT=auto" },
          "HVD_ENCRYPT=auto",
          "-x: HVD_ENCRYPT: 'off' has precedence over --encrypt "
          "-x: HVD_ENCRYPT: has precedence over an earlier -x" },
        { { "--port-range=2-3", "-x", "HVD_PORT_RANGE=4-5" },
          "HVD_PORT_RANGE=4-5",
          "-x: HVD_PORT_RANGE: '4-5' has precedence over --port-range" },
        { { "-x", "PYTHONUNBUFFERED=0" }, "PYTHONUNBUFFERED=0", "" },
        { { "-x", "BASH_FUNC_f%%=() { :; }" }, "BASH_FUNC_f%%=() { :; }", "" },
    };
    setenv("HVD_TEST_VARIABLE", "out\nside", 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        parse_words(cases[i].argv);
        expect_list(&options.set, cases[i].set);
        expect_list(&options.warnings, cases[i].warnings);
    }
}
END_TEST

START_TEST(a_variable_that_nothing_reads_is_a_warning_once)
{
    static const char unread[] = ": neither hvdrun nor libhvd reads this variable";
    char *argv[] = { "hvdrun", "-np", "1", "-x", "HVD_STREAM=2", "-x", "HVD_OWN=1", "true", NULL };
    char wanted[512];
    parse_well(argv);
    snprintf(wanted, sizeof wanted, "-x: HVD_STREAM%s (did you mean HVD_STREAMS?) -x: HVD_OWN%s",
             unread, unread);
    expect_list(&options.warnings, wanted);
    expect_list(&options.set, "HVD_STREAM=2 HVD_OWN=1");
    setenv("HVD_STREAM", "3", 1);
    argv[6] = "HVD_STREAM";
    parse_well(argv);
    unsetenv("HVD_STREAM");
    snprintf(wanted, sizeof wanted,
             "-x: HVD_STREAM: has precedence over an earlier -x "
             "$HVD_STREAM%s (did you mean HVD_STREAMS?)",
             unread);
    expect_list(&options.warnings, wanted);
}
END_TEST

START_TEST(a_variable_that_an_option_overrides_is_noted)
{
    static struct {
        const char *variable, *value;
        char *argv[WORDS];
        const char *notes;
    } cases[] = {
        { "HOROVOD_CACHE_CAPACITY",
          "7",
          { "--cache-capacity", "9" },
          "$HOROVOD_CACHE_CAPACITY: '7' gives way to --cache-capacity" },
        { "HOROVOD_CACHE_CAPACITY", "9", { "--cache-capacity", "9" }, "" },
        { "HOROVOD_CACHE_CAPACITY", "", { "--cache-capacity", "9" }, "" },
        { "HOROVOD_CACHE_CAPACITY", "7", { "--cycle-time-ms", "9" }, "" },
        { "HOROVOD_CACHE_CAPACITY", "7", { "-x", "HOROVOD_CACHE_CAPACITY=9" }, "" },
        { "HOROVOD_AUTOTUNE",
          "0",
          { "--autotune" },
          "$HOROVOD_AUTOTUNE: '0' gives way to --autotune" },
        { "HOROVOD_START_TIMEOUT",
          "9",
          { "--start-timeout", "8" },
          "$HOROVOD_START_TIMEOUT: '9' gives way to --start-timeout" },
        { "HVD_PORT_RANGE",
          "4-5",
          { "--port-range=2-3" },
          "$HVD_PORT_RANGE: '4-5' gives way to --port-range" },
        { "HVD_REMOTE_SHELL",
          "rsh %h",
          { "--launcher", "ssh" },
          "$HVD_REMOTE_SHELL: 'rsh %h' gives way to --launcher" },
        { "SLURM_JOB_NODELIST",
          "n[1-2]",
          { "-H", "a" },
          "$SLURM_JOB_NODELIST: 'n[1-2]' gives way to -H" },
        { "PBS_NODEFILE",
          "/f",
          { "--hostfile", "g" },
          "$PBS_NODEFILE: '/f' gives way to --hostfile" },
        { "SLURM_JOB_NODELIST", "n[1-2]", { "--grace", "1" }, "" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        setenv(cases[i].variable, cases[i].value, 1);
        parse_words(cases[i].argv);
        expect_list(&options.notes, cases[i].notes);
        unsetenv(cases[i].variable);
    }
}
END_TEST

START_TEST(a_variable_that_a_configuration_file_overrides_is_noted)
{
    static const char text[] = "params: {cache_capacity: 5}\n";
    char path[] = "/tmp/overridden.XXXXXX", expected[200];
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    setenv("HOROVOD_CACHE_CAPACITY", "7", 1);
    parse_words((char *[WORDS]){ "--config-file", path });
    unsetenv("HOROVOD_CACHE_CAPACITY");
    unlink(path);
    snprintf(expected, sizeof expected,
             "$HOROVOD_CACHE_CAPACITY: '7' gives way to %s:1:26: params.cache_capacity", path);
    expect_list(&options.notes, expected);
}
END_TEST

/* The value that an option has set for the ranks, or NULL. */
static const char *get_set(const char *name)
{
    return string_list_variable(&options.set, name);
}

static const char *get_nothing(const char *name)
{
    (void)name;
    return NULL;
}

/* Everything that has a default in the help. */
static void expect_same_settings(const struct settings *a, const struct settings *b)
{
    ck_assert_uint_eq(a->fusion_threshold, b->fusion_threshold);
    ck_assert_uint_eq(a->cycle_time_us, b->cycle_time_us);
    ck_assert_int_eq(a->cache_capacity, b->cache_capacity);
    ck_assert_uint_eq(a->stall_check_s, b->stall_check_s);
    ck_assert_uint_eq(a->stall_shutdown_s, b->stall_shutdown_s);
    ck_assert_int_eq(a->log_level, b->log_level);
    ck_assert_int_eq(a->autotune_warmup, b->autotune_warmup);
    ck_assert_int_eq(a->autotune_steps, b->autotune_steps);
    ck_assert_int_eq(a->autotune_samples, b->autotune_samples);
    ck_assert_uint_eq(a->autotune_noise, b->autotune_noise);
}

START_TEST(the_defaults_of_variables_in_the_help_are_those_of_the_library)
{
    static struct settings untouched, set;
    int ndefaults = 0;
    ck_assert_int_eq(settings_read(&untouched, get_nothing, &err), HVD_OK);
    for (int i = 0; i < hvdrun_option_table.count; i++) {
        const struct option_row *row = &hvdrun_option_table.rows[i];
        char word[128];
        char *argv[] = { "hvdrun", "-np", "1", word, "true", NULL };
        if (row->kind != OPTION_SETS || !row->value)
            continue;
        snprintf(word, sizeof word, "%s=%s", row->names[0], row->value);
        parse_well(argv);
        ck_assert_ptr_nonnull(get_set(row->sets));
        ck_assert_int_eq(settings_read(&set, get_set, &err), HVD_OK);
        expect_same_settings(&set, &untouched);
        ndefaults++;
    }
    ck_assert_int_eq(ndefaults, 11);
}
END_TEST

/* ---- for hvdrun ---- */

START_TEST(the_start_timeout_comes_from_option_before_variable)
{
    char *without[] = { "hvdrun", "-np", "1", "true", NULL };
    char *with[] = { "hvdrun", "--start-timeout", "7", "-np", "1", "true", NULL };
    setenv("HOROVOD_START_TIMEOUT", "86400", 1);
    parse_well(without);
    ck_assert_int_eq(options.start_timeout_s, 86400);
    setenv("HOROVOD_START_TIMEOUT", "1.5", 1);
    ck_assert_int_eq(parse(without), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "$HOROVOD_START_TIMEOUT: not a number: '1.5'");
    parse_well(with);
    ck_assert_int_eq(options.start_timeout_s, 7);
    unsetenv("HOROVOD_START_TIMEOUT");
}
END_TEST

START_TEST(the_elastic_timeout_comes_from_option_before_variable)
{
    char *argv[] = {
        "hvdrun", "-np", "1", "--min-np", "1", "--elastic-timeout", "7", "true", NULL
    };
    char *without[] = { "hvdrun", "-np", "1", "--min-np", "1", "true", NULL };
    setenv("HOROVOD_ELASTIC_TIMEOUT", "90", 1);
    parse_well(without);
    ck_assert_int_eq(options.elastic_timeout_s, 90);
    parse_well(argv);
    ck_assert_int_eq(options.elastic_timeout_s, 7);
    unsetenv("HOROVOD_ELASTIC_TIMEOUT");
}
END_TEST

START_TEST(the_elastic_timeout_of_a_job_that_is_not_elastic_is_noted)
{
    char *argv[] = { "hvdrun", "-np", "1", "true", NULL };
    setenv("HOROVOD_ELASTIC_TIMEOUT", "90", 1);
    parse_well(argv);
    expect_list(&options.notes, "$HOROVOD_ELASTIC_TIMEOUT: for elastic jobs only (--min-np or "
                                "--host-discovery-script)");
    setenv("HOROVOD_ELASTIC_TIMEOUT", "", 1);
    parse_well(argv);
    ck_assert_uint_eq(options.notes.count, 0);
    unsetenv("HOROVOD_ELASTIC_TIMEOUT");
}
END_TEST

START_TEST(the_environment_gives_what_no_option_does)
{
    char *without[] = { "hvdrun", "-np", "1", "true", NULL };
    char *with[] = {
        "hvdrun",           "-np",  "1", "--remote-shell=b %h", "--network-interface=a=lo",
        "--port-range=2-2", "true", NULL
    };
    setenv("HVD_REMOTE_SHELL", "a %h", 1);
    setenv("HVD_NETWORK_INTERFACES", "lo", 1);
    setenv("HVD_PORT_RANGE", "1-1", 1);
    parse_well(without);
    ck_assert_str_eq(options.remote_shell, "a %h");
    ck_assert_str_eq(options.remote_shell_source, "$HVD_REMOTE_SHELL");
    expect_list(&options.interfaces, "lo");
    ck_assert_str_eq(options.interfaces_source, "$HVD_NETWORK_INTERFACES");
    ck_assert_int_eq(options.port_low, 1);
    parse_well(with);
    ck_assert_str_eq(options.remote_shell, "b %h");
    ck_assert_str_eq(options.remote_shell_source, "--remote-shell");
    expect_list(&options.interfaces, "a=lo");
    ck_assert_str_eq(options.interfaces_source, "--network-interface");
    expect_list(&options.set, "HVD_PORT_RANGE=2-2");
}
END_TEST

START_TEST(an_empty_variable_gives_nothing_to_us_and_to_the_ranks)
{
    char *argv[] = { "hvdrun", "-np", "1", "true", NULL };
    for (size_t i = 0; i < READ_BY_US; i++)
        setenv(variables[i], "", 1);
    parse_well(argv);
    ck_assert_int_eq(options.start_timeout_s, 30);
    ck_assert_ptr_null(options.remote_shell);
    expect_list(&options.interfaces, "");
    ck_assert_ptr_null(options.port_range);
    ck_assert_ptr_null(getenv("HVD_PORT_RANGE"));
}
END_TEST

START_TEST(interfaces_are_for_all_hosts_or_for_one)
{
    static const struct {
        const char *host, *choice;
    } cases[] = {
        { "a", "ib0,10.0.0.0/8" }, { "A", "ib0,10.0.0.0/8" }, { "b", "eth1" },
        { "::1", "fd00::/64" },    { "c", "eth0,lo" },        { "aa", "eth0,lo" },
    };
    char *argv[] = { "hvdrun",
                     "-np",
                     "1",
                     "--network-interfaces",
                     "eth0, a=ib0 ,b=eth1",
                     "--network-interface",
                     "[::1]=fd00::/64,a=10.0.0.0/8,lo",
                     "true",
                     NULL };
    parse_well(argv);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *choice = interface_option_for(&options.interfaces, cases[i].host);
        ck_assert_str_eq(choice, cases[i].choice);
        free(choice);
    }
    struct string_list hosts = { 0 };
    interface_option_hosts(&hosts, &options.interfaces);
    expect_list(&hosts, "a b ::1 a");
    string_list_fini(&hosts);
    argv[4] = "b=eth1";
    argv[6] = "b=lo";
    parse_well(argv);
    ck_assert_ptr_null(interface_option_for(&options.interfaces, "a"));
}
END_TEST

/* horovodrun takes it by this name only. */
START_TEST(the_agent_of_the_mpi_operator_is_known)
{
    char *argv[] = { "hvdrun", "-np", "1", "true", NULL };
    setenv("OMPI_MCA_plm_rsh_agent", "/usr/bin/rsh", 1);
    parse_well(argv);
    ck_assert_ptr_null(options.remote_shell);
    setenv("OMPI_MCA_plm_rsh_agent", "/etc/mpi/kubexec.sh", 1);
    parse_well(argv);
    ck_assert_ptr_nonnull(strstr(options.remote_shell, "/etc/mpi/kubexec.sh %h"));
    ck_assert_str_eq(options.remote_shell_source, "$OMPI_MCA_plm_rsh_agent");
    setenv("HVD_REMOTE_SHELL", "a %h", 1);
    parse_well(argv);
    ck_assert_str_eq(options.remote_shell, "a %h");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hvdrun_variables");
    TCase *lines = lines_of(suite);
    tcase_add_test(lines, tuning_flags_become_variables_of_the_ranks);
    tcase_add_test(lines, what_libhvd_does_not_read_is_noted);
    tcase_add_test(lines, autotuning_that_is_described_and_not_wanted_is_noted);
    tcase_add_test(lines, options_that_another_one_makes_idle_are_noted);
    tcase_add_test(lines, a_shutdown_time_without_a_stall_check_is_warned_of);
    tcase_add_test(lines, a_variable_that_makes_options_idle_is_named);
    tcase_add_test(lines, idle_keys_of_a_file_are_named_with_their_places);
    tcase_add_test(lines, variables_are_set_or_passed_on);
    tcase_add_test(lines, a_variable_that_an_option_overrides_is_noted);
    tcase_add_test(lines, a_variable_that_a_configuration_file_overrides_is_noted);
    tcase_add_test(lines, a_variable_that_nothing_reads_is_a_warning_once);
    tcase_add_test(lines, the_defaults_of_variables_in_the_help_are_those_of_the_library);
    tcase_add_test(lines, the_start_timeout_comes_from_option_before_variable);
    tcase_add_test(lines, the_elastic_timeout_comes_from_option_before_variable);
    tcase_add_test(lines, the_elastic_timeout_of_a_job_that_is_not_elastic_is_noted);
    tcase_add_test(lines, the_environment_gives_what_no_option_does);
    tcase_add_test(lines, an_empty_variable_gives_nothing_to_us_and_to_the_ranks);
    tcase_add_test(lines, interfaces_are_for_all_hosts_or_for_one);
    tcase_add_test(lines, the_agent_of_the_mpi_operator_is_known);
    return unit_run(suite);
}
