/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of hvdrun: what each option sets, and the questions that are answered. */
#include "launcher/placement/rank_plan.h"
#include "tests/support/hvdrun_options_fixture.h"

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

START_TEST(a_report_to_a_dash_is_for_standard_output)
{
    char *dash[] = { "hvdrun", "-np", "1", "--report", "-", "true", NULL };
    parse_well(dash);
    ck_assert_str_eq(options.report, "/dev/stdout");
    char *file[] = { "hvdrun", "-np", "1", "--report", "./-", "true", NULL };
    parse_well(file);
    ck_assert_str_eq(options.report, "./-");
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
    ck_assert(options.np_is_min);
    ck_assert(!options.min_is_np);
    ck_assert_int_eq(options.max_np, WORLD_SIZE_MAX);
    ck_assert_int_eq(options.slots_per_host, 1);
    ck_assert_int_eq(options.elastic_timeout_s, 600);
    ck_assert_int_eq(options.reset_limit, 0);
    ck_assert_int_eq(options.cooldown_s[0], 0);
    parse_well(np_alone);
    ck_assert_int_eq(options.min_np, 3);
    ck_assert(!options.np_is_min);
    ck_assert(options.min_is_np);
    parse_well(hosts);
    ck_assert(options.elastic);
    ck_assert_int_eq(options.np, 0);
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

int main(void)
{
    Suite *suite = suite_create("hvdrun_options");
    TCase *lines = lines_of(suite);
    tcase_add_test(lines, the_smallest_line_gets_the_defaults);
    tcase_add_test(lines, a_report_to_a_dash_is_for_standard_output);
    tcase_add_test(lines, every_option_sets_its_member);
    tcase_add_test(lines, hosts_remember_how_they_were_given);
    tcase_add_test(lines, both_spellings_of_hostfile_are_known);
    tcase_add_test(lines, the_command_is_untouched);
    tcase_add_test(lines, options_of_elastic_jobs_set_their_members);
    tcase_add_test(lines, an_elastic_job_has_defaults);
    tcase_add_test(lines, questions_need_nothing_else);
    tcase_add_test(lines, the_build_is_told_in_the_form_of_horovodrun);
    tcase_add_test(lines, a_number_of_ranks_may_come_from_the_hosts);
    tcase_add_test(lines, a_number_of_ranks_may_come_from_a_batch_system);
    return unit_run(suite);
}
