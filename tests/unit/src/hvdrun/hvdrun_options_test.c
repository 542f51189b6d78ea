/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of hvdrun, row by row. */
#include "src/hvdrun/hvdrun_options.h"

#include "launcher/placement/rank_plan.h"
#include "lib/base/settings.h"
#include "src/options/interface_option.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { WORDS = 16 };

static struct hvdrun_options options;
static struct err err;

static int parse(char **argv)
{
    int argc = 0;
    hvdrun_options_fini(&options);
    while (argv[argc])
        argc++;
    return hvdrun_options_parse(&options, argc, argv, &err);
}

static void parse_well(char **argv)
{
    int rc = parse(argv);
    ck_assert_msg(rc == HVD_OK, "%s", err.text);
}

/* Every variable that is read. */
static const char *const variables[] = {
    "HOROVOD_START_TIMEOUT",
    "HOROVOD_ELASTIC_TIMEOUT",
    "HVD_REMOTE_SHELL",
    "HVD_NETWORK_INTERFACES",
    "HVD_PORT_RANGE",
    "OMPI_MCA_plm_rsh_agent",
    "HVD_TEST_VARIABLE",
    "HOROVOD_STALL_CHECK_TIME_SECONDS",
    "HOROVOD_STALL_CHECK_DISABLE",
    "HOROVOD_AUTOTUNE",
};

enum { READ_BY_US = 6 }; /* of them; the rest is for the ranks */

static void without_variables(void)
{
    for (size_t i = 0; i < COUNT(variables); i++)
        unsetenv(variables[i]);
}

static void release(void)
{
    hvdrun_options_fini(&options);
}

/* The items with blanks between. */
static void expect_list(const struct string_list *list, const char *wanted)
{
    char text[1024] = "";
    for (size_t i = 0; i < list->count; i++) {
        strcat(text, i ? " " : "");
        strcat(text, list->items[i]);
    }
    ck_assert_str_eq(text, wanted);
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
    ck_assert_int_eq(options.heartbeat_timeout_s, 5);
    ck_assert_int_eq(options.ssh_port, 0);
    ck_assert_int_eq(options.port_low, 0);
    ck_assert_ptr_null(options.remote_shell);
    ck_assert_ptr_null(options.remote_shell_source);
    ck_assert_ptr_null(options.interfaces_source);
    ck_assert_uint_eq(options.set.count, 0);
    ck_assert_uint_eq(options.identity_files.count, 0);
    ck_assert_ptr_null(hvdrun_options_answer(&options));
    ck_assert(!options.ssh_accept_new && !options.check_hosts && !options.check_build);
    ck_assert(!options.prefix_timestamp && !options.verbose && !options.dry_run);
    ck_assert(!options.gloo && !options.help && !options.version &&
              !options.attributes.report_bindings);
    ck_assert_int_eq(options.map_by, RANKS_BY_SLOT);
    ck_assert_int_eq(options.stopped, STOPPED_WARN);
    ck_assert_int_eq(options.attributes.bind_to, BIND_TO_NONE);
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
                     "--ssh-port=2222",
                     "--ssh-accept-new",
                     "--remote-shell=ssh -q %h",
                     "--heartbeat-timeout=60",
                     "--port-range=40000-40999",
                     "--map-by=node",
                     "-bind-to",
                     "Core:Overload-Allowed",
                     "--stopped=fail",
                     "--report-bindings",
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
    ck_assert_int_eq(options.ssh_port, 2222);
    ck_assert(options.ssh_accept_new);
    ck_assert_str_eq(options.remote_shell, "ssh -q %h");
    ck_assert_str_eq(options.remote_shell_source, "--remote-shell");
    ck_assert_int_eq(options.heartbeat_timeout_s, 60);
    ck_assert_int_eq(options.map_by, RANKS_BY_NODE);
    ck_assert_int_eq(options.stopped, STOPPED_FAIL);
    ck_assert_int_eq(options.attributes.bind_to, BIND_TO_CORE_OVERLOAD);
    ck_assert(options.attributes.report_bindings);
    ck_assert_int_eq(options.port_low, 40000);
    ck_assert_int_eq(options.port_high, 40999);
    expect_list(&options.set, "HVD_PORT_RANGE=40000-40999");
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

START_TEST(options_of_elastic_jobs_set_their_members)
{
    char *argv[] = { "hvdrun",
                     "-np",
                     "4",
                     "--min-num-proc=2",
                     "--max-num-proc",
                     "8",
                     "--host-discovery-script",
                     "./hosts.sh --zone x",
                     "--slots=3",
                     "--elastic-timeout=60",
                     "--reset-limit",
                     "7",
                     "--blacklist-cooldown-range",
                     "10",
                     "300",
                     "true",
                     NULL };
    parse_well(argv);
    ck_assert(options.elastic);
    ck_assert_int_eq(options.min_np, 2);
    ck_assert_int_eq(options.max_np, 8);
    ck_assert_str_eq(options.discovery_script, "./hosts.sh --zone x");
    ck_assert_int_eq(options.slots_per_host, 3);
    ck_assert_int_eq(options.elastic_timeout_s, 60);
    ck_assert_int_eq(options.reset_limit, 7);
    ck_assert_int_eq(options.cooldown_s[0], 10);
    ck_assert_int_eq(options.cooldown_s[1], 300);
    ck_assert_str_eq(options.command[0], "true");
}
END_TEST

START_TEST(an_elastic_job_has_defaults)
{
    char *script[] = { "hvdrun", "--min-np", "2", "--host-discovery-script", "x", "true", NULL };
    char *np_alone[] = { "hvdrun", "-np", "3", "--host-discovery-script", "x", "true", NULL };
    char *hosts[] = { "hvdrun", "--min-np", "1", "-H", "a:4", "true", NULL };
    parse_well(script);
    ck_assert_int_eq(options.np, 2);
    ck_assert_int_eq(options.max_np, WORLD_SIZE_MAX);
    ck_assert_int_eq(options.slots_per_host, 1);
    ck_assert_int_eq(options.elastic_timeout_s, 600);
    ck_assert_int_eq(options.reset_limit, 0);
    ck_assert_int_eq(options.cooldown_s[0], 0);
    parse_well(np_alone);
    ck_assert_int_eq(options.min_np, 3);
    parse_well(hosts);
    ck_assert(options.elastic);
    ck_assert_int_eq(options.np, 0);
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

/* What is asked instead of a job, and how the answer begins. */
START_TEST(questions_need_nothing_else)
{
    static const struct {
        const char *option, *answer;
    } cases[] = {
        { "-h", "usage: hvdrun -np N" },
        { "--help", "usage: hvdrun -np N" },
        { "-v", "hvdrun 0." },
        { "--version", "hvdrun 0." },
        { "-cb", "hvdrun v0." },
        { "--check-build", "hvdrun v0." },
        { "--completion=bash", "# Completion of hvdrun(1) for bash" },
        { "--completion=zsh", "#compdef hvdrun" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char option[32];
        char *argv[] = { "hvdrun", strcpy(option, cases[i].option), NULL };
        parse_well(argv);
        char *answer = hvdrun_options_answer(&options);
        ck_assert_ptr_nonnull(answer);
        ck_assert_msg(strncmp(answer, cases[i].answer, strlen(cases[i].answer)) == 0, "%.80s",
                      answer);
        free(answer);
    }
}
END_TEST

/* As scripts look for it. */
START_TEST(the_build_is_told_in_the_form_of_horovodrun)
{
    char *argv[] = { "hvdrun", "-cb", NULL };
    parse_well(argv);
    char *answer = hvdrun_options_answer(&options);
    ck_assert_ptr_nonnull(strstr(answer, "\n\nAvailable Frameworks:\n    [X] TensorFlow\n"));
    ck_assert_ptr_nonnull(
        strstr(answer, "\n\nAvailable Controllers:\n    [ ] MPI\n    [X] Gloo\n\n"));
    ck_assert_ptr_nonnull(strstr(answer, "\n\nAvailable Tensor Operations:\n    [ ] NCCL\n"));
    ck_assert_ptr_nonnull(strstr(answer, "\n    libssh2 1."));
    free(answer);
}
END_TEST

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
        char *argv[WORDS + 4] = { "hvdrun", "-np", "1" };
        memcpy(argv + 3, cases[i].argv, sizeof cases[i].argv);
        int end = 3;
        while (argv[end])
            end++;
        argv[end] = "true";
        parse_well(argv);
        expect_list(&options.set, cases[i].set);
        expect_list(&options.warnings, cases[i].warnings);
    }
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

START_TEST(a_number_of_ranks_may_come_from_the_hosts)
{
    char *list[] = { "hvdrun", "-H", "a:2,b:2", "true", NULL };
    char *file[] = { "hvdrun", "--hostfile", "hosts", "true", NULL };
    parse_well(list);
    ck_assert_int_eq(options.np, 0);
    parse_well(file);
    ck_assert_int_eq(options.np, 0);
}
END_TEST

START_TEST(a_number_of_ranks_may_come_from_a_batch_system)
{
    char *argv[] = { "hvdrun", "true", NULL };
    parse_well(argv);
    ck_assert_int_eq(options.np, 0);
    ck_assert_int_eq(hvdrun_options_need_np(&options, &err), HVD_ERR_INVALID);
    ck_assert_str_eq(
        err.text, "-np: missing (how many ranks? or -H HOST:SLOTS,... for a rank in every slot)");
    char *check[] = { "hvdrun", "--check-hosts", "-H", "a,b", NULL };
    parse_well(check);
    ck_assert_int_eq(options.np, 1);
    ck_assert_ptr_null(options.command[0]);
    ck_assert_int_eq(hvdrun_options_need_np(&options, &err), HVD_OK);
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
        { { "-p", "0" }, "-p: out of range (1 to 65535): '0'" },
        { { "--remote-shell", "ssh", "x" },
          "--remote-shell: no %h for the host: 'ssh' (expected a command such as 'ssh %h')" },
        { { "--autotune-steps-per-sample", "0" },
          "--autotune-steps-per-sample: out of range (1 to 10000): '0'" },
        { { "--stall-check", "--no-stall-check" },
          "--no-stall-check: not together with '--stall-check'" },
        { { "-np", "1", "--stall-check-shutdown-time-seconds", "59", "x" },
          "--stall-check-shutdown-time-seconds: is 59, less than 60 of "
          "--stall-check-warning-time-seconds" },
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

static Suite *suite(void)
{
    Suite *suite = suite_create("hvdrun_options");
    TCase *lines = tcase_create("lines");
    tcase_add_checked_fixture(lines, without_variables, release);
    tcase_add_test(lines, the_smallest_line_gets_the_defaults);
    tcase_add_test(lines, the_defaults_of_variables_in_the_help_are_those_of_the_library);
    tcase_add_test(lines, every_option_sets_its_member);
    tcase_add_test(lines, hosts_remember_how_they_were_given);
    tcase_add_test(lines, both_spellings_of_hostfile_are_known);
    tcase_add_test(lines, the_command_is_untouched);
    tcase_add_test(lines, the_start_timeout_comes_from_option_before_variable);
    tcase_add_test(lines, options_of_elastic_jobs_set_their_members);
    tcase_add_test(lines, an_elastic_job_has_defaults);
    tcase_add_test(lines, the_elastic_timeout_comes_from_option_before_variable);
    tcase_add_test(lines, questions_need_nothing_else);
    tcase_add_test(lines, the_build_is_told_in_the_form_of_horovodrun);
    tcase_add_test(lines, tuning_flags_become_variables_of_the_ranks);
    tcase_add_test(lines, what_libhvd_does_not_read_is_noted);
    tcase_add_test(lines, autotuning_that_is_described_and_not_wanted_is_noted);
    tcase_add_test(lines, variables_are_set_or_passed_on);
    tcase_add_test(lines, the_environment_gives_what_no_option_does);
    tcase_add_test(lines, an_empty_variable_gives_nothing_to_us_and_to_the_ranks);
    tcase_add_test(lines, interfaces_are_for_all_hosts_or_for_one);
    tcase_add_test(lines, the_agent_of_the_mpi_operator_is_known);
    tcase_add_test(lines, a_number_of_ranks_may_come_from_the_hosts);
    tcase_add_test(lines, a_number_of_ranks_may_come_from_a_batch_system);
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
