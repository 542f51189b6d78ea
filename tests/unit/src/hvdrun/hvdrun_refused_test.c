/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines that hvdrun refuses, and the names of options that it knows. */
#include "tests/support/hvdrun_options_fixture.h"

#define USAGE "(usage: hvdrun -np N [OPTION]... COMMAND [ARGUMENT]...)"

struct bad_case {
    char *argv[WORDS]; /* without the program's name */
    const char *error;
};

START_TEST(what_is_wrong_is_said_in_one_line)
{
    static struct bad_case cases[] = {
        { { NULL }, "nothing to do " USAGE },
        { { "-np", "2" }, "no program given " USAGE },
        { { "-np", "2", "--" }, "no program given " USAGE },
        { { "-np", "2", "" }, "command: empty program name: ''" },
        { { "-np", "0", "true" }, "-np: out of range (1 to 131072): '0'" },
        { { "-np", "-1", "true" }, "-np: out of range (1 to 131072): '-1'" },
        { { "-np", "131073", "true" }, "-np: out of range (1 to 131072): '131073'" },
        { { "-np", "x", "true" }, "-np: not a number: 'x'" },
        { { "-np" }, "-np: missing value (N)" },
        { { "-np", "2", "--np", "4" }, "unknown option: '--np' (did you mean '-np'?)" },
        { { "-np", "2", "--num-proc", "4" }, "--num-proc: given twice" },
        { { "--hosst", "a" }, "unknown option: '--hosst' (did you mean '--hosts'?)" },
        { { "--ho", "a" },
          "ambiguous option: '--ho' ('--hosts', '--hostfile', '--horovod', "
          "'--host-discovery-script')" },
        { { "--hosts=a:1", "--hostfile", "f", "-np", "1", "true" },
          "--hostfile: not together with '--hosts'" },
        { { "-np", "1", "-H", "", "true" }, "-H: empty value: ''" },
        { { "--start-timeout", "0", "x" }, "--start-timeout: out of range (1 to 86400): '0'" },
        { { "--start-timeout", "-1", "x" }, "--start-timeout: out of range (1 to 86400): '-1'" },
        { { "--start-timeout", "1e9", "x" }, "--start-timeout: not a number: '1e9'" },
        { { "--start-timeout", "86401" }, "--start-timeout: out of range (1 to 86400): '86401'" },
        { { "--grace", "3601", "x" }, "--grace: out of range (0 to 3600): '3601'" },
        { { "--mpi", "true" }, "--mpi: hvdrun has no MPI controller" },
        { { "--min-np", "4", "--max-np", "2", "x" }, "--min-np: 4 is more than 2 (--max-np)" },
        { { "--host-discovery-script", "x", "true" },
          "-np or --min-np: missing (how many ranks? --host-discovery-script needs one of them)" },
        { { "-p", "0" }, "-p: out of range (1 to 65535): '0'" },
        { { "--remote-shell", "ssh", "x" },
          "--remote-shell: no %h for the host: 'ssh' (expected a command such as 'ssh %h')" },
        { { "--autotune-steps-per-sample", "0" },
          "--autotune-steps-per-sample: out of range (1 to 10000): '0'" },
        { { "--stall-check", "--no-stall-check" },
          "--no-stall-check: not together with '--stall-check'" },
        { { "-np", "1", "--stall-check-shutdown-time-seconds", "59", "x" },
          "--stall-check-shutdown-time-seconds: 59 is less than 60 (the default of "
          "--stall-check-warning-time-seconds)" },
        { { "-np", "1", "--config-file", "/nosuch", "true" },
          "/nosuch: cannot open: No such file or directory" },
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

int main(void)
{
    Suite *suite = suite_create("hvdrun_refused");
    TCase *lines = lines_of(suite);
    tcase_add_test(lines, what_is_wrong_is_said_in_one_line);
    tcase_add_test(lines, an_empty_argv_is_no_crash);
    tcase_add_test(lines, every_option_of_horovodrun_is_known_by_name);
    tcase_add_test(lines, the_help_names_every_option_in_80_columns);
    return unit_run(suite);
}
