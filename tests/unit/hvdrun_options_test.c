/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of hvdrun, row by row. */
#include "src/hvdrun_options.h"
#include "tests/support/unit.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { WORDS = 16 };

static struct hvdrun_options options;
static struct err err;

static int parse(char **argv)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    return hvdrun_options_parse(&options, argc, argv, &err);
}

static void parse_well(char **argv)
{
    int rc = parse(argv);
    ck_assert_msg(rc == HVD_OK, "%s", err.text);
}

static void without_variables(void)
{
    unsetenv("HOROVOD_START_TIMEOUT");
}

START_TEST(the_smallest_line_gets_the_defaults)
{
    char *argv[] = { "hvdrun", "-np", "2", "./train", "-np", "x", NULL };
    parse_well(argv);
    ck_assert_int_eq(options.np, 2);
    ck_assert_ptr_null(options.hosts);
    ck_assert_ptr_null(options.hosts_source);
    ck_assert_ptr_null(options.hostfile);
    ck_assert_ptr_null(options.output_filename);
    ck_assert_int_eq(options.start_timeout_s, 30);
    ck_assert_int_eq(options.grace_s, 5);
    ck_assert(!options.prefix_timestamp && !options.verbose && !options.dry_run);
    ck_assert(!options.gloo && !options.help && !options.version);
    ck_assert_ptr_eq(options.command, argv + 3);
}
END_TEST

START_TEST(every_option_sets_its_member)
{
    char *argv[] = { "hvdrun",
                     "--num-proc=3",
                     "--hosts",
                     "a:3",
                     "--output-filename",
                     "out",
                     "--verbose",
                     "--gloo",
                     "--prefix-output-with-timestamp",
                     "--dry-run",
                     "--grace=0",
                     "--",
                     "-x",
                     NULL };
    parse_well(argv);
    ck_assert_int_eq(options.np, 3);
    ck_assert_str_eq(options.hosts, "a:3");
    ck_assert_str_eq(options.hosts_source, "--hosts");
    ck_assert_str_eq(options.output_filename, "out");
    ck_assert(options.prefix_timestamp && options.verbose && options.dry_run && options.gloo);
    ck_assert_int_eq(options.grace_s, 0);
    ck_assert_str_eq(options.command[0], "-x");
}
END_TEST

START_TEST(hosts_remember_how_they_were_given)
{
    char *argv[] = { "hvdrun", "-Ha:1", "-np", "1", "true", NULL };
    parse_well(argv);
    ck_assert_str_eq(options.hosts, "a:1");
    ck_assert_str_eq(options.hosts_source, "-H");
}
END_TEST

START_TEST(both_spellings_of_hostfile_are_known)
{
    char *argv[] = { "hvdrun", "-np", "1", "-hostfile", "f", "true", NULL };
    parse_well(argv);
    ck_assert_str_eq(options.hostfile, "f");
    argv[3] = "--hostfile";
    parse_well(argv);
    ck_assert_str_eq(options.hostfile, "f");
}
END_TEST

START_TEST(the_command_is_untouched)
{
    char *argv[] = { "hvdrun", "-np", "1", "a\nb 'c' $(d)", "-H", "--", "", NULL };
    parse_well(argv);
    ck_assert_ptr_eq(options.command, argv + 3);
    ck_assert_str_eq(options.command[0], "a\nb 'c' $(d)");
    ck_assert_ptr_null(options.command[4]);
}
END_TEST

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

START_TEST(help_and_version_need_nothing_else)
{
    char *help[][3] = { { "hvdrun", "-h" }, { "hvdrun", "--help" } };
    char *version[][3] = { { "hvdrun", "-v" }, { "hvdrun", "--version" } };
    for (int i = 0; i < 2; i++) {
        parse_well(help[i]);
        ck_assert(options.help && !options.version);
        parse_well(version[i]);
        ck_assert(options.version && !options.help);
    }
}
END_TEST

#define USAGE "(usage: hvdrun -np N [OPTION]... COMMAND [ARGUMENT]...)"

struct bad_case {
    char *argv[WORDS]; /* without the program's name */
    const char *error;
};

START_TEST(what_is_wrong_is_said_in_one_line)
{
    static struct bad_case cases[] = {
        { { NULL }, "nothing to do " USAGE },
        { { "true" }, "-np: missing (how many ranks?)" },
        { { "-H", "a:2", "true" }, "-np: missing (how many ranks?)" },
        { { "-np", "2" }, "no program given " USAGE },
        { { "-np", "2", "--" }, "no program given " USAGE },
        { { "-np", "2", "" }, "command: empty program name: ''" },
        { { "-np", "0", "true" }, "-np: out of range (1 to 65536): '0'" },
        { { "-np", "-1", "true" }, "-np: out of range (1 to 65536): '-1'" },
        { { "-np", "65537", "true" }, "-np: out of range (1 to 65536): '65537'" },
        { { "-np", "x", "true" }, "-np: not a number: 'x'" },
        { { "-np" }, "-np: missing value (N)" },
        { { "-np", "2", "--np", "4" }, "unknown option: '--np' (did you mean '-np'?)" },
        { { "-np", "2", "--num-proc", "4" }, "--num-proc: given twice" },
        { { "--hosst", "a" }, "unknown option: '--hosst' (did you mean '--hosts'?)" },
        { { "--ho", "a" }, "ambiguous option: '--ho' ('--hosts', '--hostfile')" },
        { { "--hosts=a:1", "--hostfile", "f", "-np", "1", "true" },
          "--hostfile: not together with '--hosts'" },
        { { "-np", "1", "-H", "", "true" }, "-H: empty value: ''" },
        { { "--start-timeout", "0", "x" }, "--start-timeout: out of range (1 to 86400): '0'" },
        { { "--start-timeout", "-1", "x" }, "--start-timeout: out of range (1 to 86400): '-1'" },
        { { "--start-timeout", "1e9", "x" }, "--start-timeout: not a number: '1e9'" },
        { { "--start-timeout", "86401" }, "--start-timeout: out of range (1 to 86400): '86401'" },
        { { "--grace", "3601", "x" }, "--grace: out of range (0 to 3600): '3601'" },
        { { "--mpi", "true" }, "--mpi: hvdrun has no MPI controller" },
        { { "--min-np", "2" }, "--min-np: elastic jobs are not supported yet" },
        { { "-p", "22" }, "-p: other machines than this one are not supported yet" },
        { { "-cb" }, "-cb: hvdrun has no parts to choose from; see --version" },
        { { "--fusion-threshold-mb", "32" }, "--fusion-threshold-mb: tuning is not supported yet" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *argv[WORDS + 1] = { "hvdrun" };
        memcpy(argv + 1, cases[i].argv, sizeof cases[i].argv);
        ck_assert_msg(parse(argv) == HVD_ERR_INVALID, "accepted: %s", cases[i].error);
        ck_assert_str_eq(err.text, cases[i].error);
    }
}
END_TEST

START_TEST(an_empty_argv_is_no_crash)
{
    char *argv[] = { NULL };
    ck_assert_int_eq(hvdrun_options_parse(&options, 0, argv, &err), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "nothing to do " USAGE);
}
END_TEST

/* What `horovodrun --help` of 0.28.1 lists. */
static const char *const horovodrun_options[] = {
    "-v",
    "--version",
    "-np",
    "--num-proc",
    "-cb",
    "--check-build",
    "--disable-cache",
    "--start-timeout",
    "--network-interfaces",
    "--network-interface",
    "--output-filename",
    "--verbose",
    "--config-file",
    "-p",
    "--ssh-port",
    "-i",
    "--ssh-identity-file",
    "--fusion-threshold-mb",
    "--cycle-time-ms",
    "--cache-capacity",
    "--hierarchical-allreduce",
    "--no-hierarchical-allreduce",
    "--hierarchical-allgather",
    "--no-hierarchical-allgather",
    "--torus-allreduce",
    "--no-torus-allreduce",
    "--autotune",
    "--no-autotune",
    "--autotune-log-file",
    "--autotune-warmup-samples",
    "--autotune-steps-per-sample",
    "--autotune-bayes-opt-max-samples",
    "--autotune-gaussian-process-noise",
    "--min-np",
    "--min-num-proc",
    "--max-np",
    "--max-num-proc",
    "--slots-per-host",
    "--elastic-timeout",
    "--reset-limit",
    "--blacklist-cooldown-range",
    "--timeline-filename",
    "--timeline-mark-cycles",
    "--no-timeline-mark-cycles",
    "--no-stall-check",
    "--stall-check",
    "--stall-check-warning-time-seconds",
    "--stall-check-shutdown-time-seconds",
    "--mpi-threads-disable",
    "--no-mpi-threads-disable",
    "--mpi-args",
    "--tcp",
    "--binding-args",
    "--num-nccl-streams",
    "--thread-affinity",
    "--gloo-timeout-seconds",
    "--log-level",
    "--log-with-timestamp",
    "--log-without-timestamp",
    "--log-hide-timestamp",
    "--no-log-hide-timestamp",
    "-prefix-timestamp",
    "--prefix-output-with-timestamp",
    "-H",
    "--hosts",
    "-hostfile",
    "--hostfile",
    "--host-discovery-script",
    "--gloo",
    "--mpi",
    "--jsrun",
};

START_TEST(every_option_of_horovodrun_is_known_by_name)
{
    for (size_t i = 0; i < COUNT(horovodrun_options); i++) {
        char name[64];
        char *argv[] = { "hvdrun", strcpy(name, horovodrun_options[i]), NULL };
        if (parse(argv) == HVD_ERR_INVALID)
            ck_assert_msg(strncmp(err.text, "unknown", 7) && strncmp(err.text, "ambig", 5), "%s",
                          err.text);
    }
}
END_TEST

START_TEST(the_help_names_every_option_in_80_columns)
{
    char *help = hvdrun_options_help();
    for (int i = 0; i < hvdrun_option_table.count; i++)
        ck_assert_ptr_nonnull(strstr(help, hvdrun_option_table.rows[i].names[0]));
    ck_assert_ptr_null(strstr(help, "--mpi"));
    for (const char *at = help; *at; at += strcspn(at, "\n") + 1) {
        ck_assert_uint_le(strcspn(at, "\n"), 80);
        ck_assert_msg(strcspn(at, "\n") == 0 || at[strcspn(at, "\n") - 1] != ' ', "%.80s", at);
    }
    free(help);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("hvdrun_options");
    TCase *lines = tcase_create("lines");
    tcase_add_checked_fixture(lines, without_variables, NULL);
    tcase_add_test(lines, the_smallest_line_gets_the_defaults);
    tcase_add_test(lines, every_option_sets_its_member);
    tcase_add_test(lines, hosts_remember_how_they_were_given);
    tcase_add_test(lines, both_spellings_of_hostfile_are_known);
    tcase_add_test(lines, the_command_is_untouched);
    tcase_add_test(lines, the_start_timeout_comes_from_option_before_variable);
    tcase_add_test(lines, help_and_version_need_nothing_else);
    tcase_add_test(lines, what_is_wrong_is_said_in_one_line);
    tcase_add_test(lines, an_empty_argv_is_no_crash);
    tcase_add_test(lines, every_option_of_horovodrun_is_known_by_name);
    tcase_add_test(lines, the_help_names_every_option_in_80_columns);
    suite_add_tcase(suite, lines);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
