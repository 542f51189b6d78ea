/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of hvdrun:
 *   words by table (options.c), then the configuration file, then the environment and the defaults
 *   of the table; then what no single option can know, and what follows from several.
 * Fails on input that options.c and config_file.c refuse, on variables that the ranks would refuse,
 * without a program, with more than one, and when a stall shutdown comes before its warning. */
#include "src/hvdrun/hvdrun_options.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/number.h"
#include "launcher/base/xalloc.h"
#include "launcher/placement/rank_plan.h"
#include "launcher/tree/host_tree.h"
#include "lib/base/env_names.h"
#include "lib/base/rank_info.h"
#include "lib/base/settings.h"
#include "src/hvdrun/check_build.h"
#include "src/hvdrun/config_file.h"
#include "src/hvdrun/launcher_choice.h"
#include "src/hvdrun/overridden_variables.h"
#include "src/hvdrun/rank_settings.h"
#include "src/options/build_table.h"
#include "src/options/completion.h"

#include "src/options/option_checks.h"
#include "src/options/option_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *given(const struct options_seen *seen, const char *name)
{
    return options_given(&hvdrun_option_table, seen, name);
}

/* The script of the MPI operator runs "kubectl exec" without -i, so that nothing that we say would
 * reach the host: its text is run with the option. */
static const char kubexec[] =
    "/bin/sh -c 'script=$(sed \"s|kubectl exec |kubectl exec -i |\" \"$0\") && "
    "exec /bin/sh -c \"$script\" \"$0\" \"$@\"' /etc/mpi/kubexec.sh %h";

/* horovodrun takes the command of this variable instead of ssh, by this name only. --launcher has
 * precedence over variables. */
static int choose_remote_shell(struct hvdrun_options *options, const struct options_seen *seen,
                               struct err *err)
{
    static const char variable[] = "OMPI_MCA_plm_rsh_agent", agent[] = "/etc/mpi/kubexec.sh";
    const char *value = getenv(variable), *launcher = given(seen, "--launcher");
    if (options->launcher != LAUNCHER_AUTO && given(seen, "--remote-shell"))
        return bad_input(err, launcher, "not together with --remote-shell, which is one itself");
    if (options->launcher != LAUNCHER_AUTO) {
        options->remote_shell = NULL;
    } else if (options->remote_shell) {
        const char *name = given(seen, "--remote-shell");
        options->remote_shell_source = name ? name : "$" ENV_REMOTE_SHELL;
    } else if (value && strcmp(value, agent) == 0) {
        options->remote_shell = kubexec;
        options->remote_shell_source = "$OMPI_MCA_plm_rsh_agent";
    }
    return HVD_OK;
}

/* A width of 1 would be a chain, in which each host needs all before it. */
static int choose_tree_width(struct hvdrun_options *options, const struct options_seen *seen,
                             struct err *err)
{
    const char *name = given(seen, "--tree-width");
    options->tree_width_given = name;
    if (options->tree_width > 0 && options->tree_width < HOST_TREE_WIDTH_MIN)
        return bad_input(err, name, "out of range: '%d' (expected 0, or %d to %d)",
                         options->tree_width, HOST_TREE_WIDTH_MIN, HOST_TREE_WIDTH_MAX);
    return HVD_OK;
}

static void choose_interfaces(struct hvdrun_options *options, const struct options_seen *seen)
{
    const char *name = given(seen, "--network-interfaces");
    if (options->interfaces.count > 0)
        options->interfaces_source = name ? name : "$" ENV_NETWORK_INTERFACES;
}

/* The range has been checked. Without an option the variable may be set but empty, which hvdrun
 * ignores, but a rank that inherits the variable would fail. */
static void choose_ports(struct hvdrun_options *options)
{
    if (!options->port_range) {
        unsetenv(ENV_PORT_RANGE);
        return;
    }
    port_range_parse(&options->port_low, &options->port_high, options->port_range, "", NULL);
    variable_set(&options->set, ENV_PORT_RANGE, options->port_range);
}

/* After choose_ports(). */
static void note_setters(struct hvdrun_options *options, const struct options_seen *seen)
{
    for (int i = 0; i < hvdrun_option_table.count; i++) {
        const struct option_row *row = &hvdrun_option_table.rows[i];
        const char *name = row->sets ? row->sets : row->variable;
        if (seen->name[i] && name && string_list_variable(&options->set, name))
            variable_set(&options->set_by, name, seen->name[i]);
    }
}

/* Notes that -x gives this value. If that replaces another value, the user has asked for two things
 * of which one does not happen. A value that no option has may be a secret, and is not shown. */
static void note_export(struct hvdrun_options *options, const char *name, const char *value)
{
    const char *old = string_list_variable(&options->set, name);
    const char *option = string_list_variable(&options->set_by, name);
    struct shown variable, shown, source;
    if (option && strcmp(old, value) == 0)
        return;
    show_token(&variable, name, strlen(name));
    if (option && *option)
        string_list_take(&options->warnings,
                         xasprintf("-x: %s: '%s' has precedence over %s", variable.text,
                                   show_token(&shown, value, strlen(value)),
                                   show_source(&source, option)));
    else if (option)
        string_list_take(&options->warnings,
                         xasprintf("-x: %s: has precedence over an earlier -x", variable.text));
    variable_set(&options->set_by, name, "");
}

/* -x has precedence over variables that other options set. As in mpirun, an unset variable does not
 * keep the job from starting. */
static void export_variables(struct hvdrun_options *options)
{
    for (size_t i = 0; i < options->exports.count; i++) {
        const char *text = options->exports.items[i];
        size_t length = strcspn(text, "=");
        char *name = xstrndup(text, length);
        const char *value = text[length] ? text + length + 1 : getenv(name);
        struct shown shown;
        if (value) {
            note_export(options, name, value);
            variable_set(&options->set, name, value);
        } else {
            string_list_take(&options->warnings, xasprintf("-x: no such variable: '%s'",
                                                           show_token(&shown, name, length)));
        }
        free(name);
    }
}

/* -x may set another range than the option, whose own range has been checked. */
static int check_exported_ports(const struct hvdrun_options *options, struct err *err)
{
    const char *ports = string_list_variable(&options->set, ENV_PORT_RANGE);
    return ports ? check_port_range(ports, "$" ENV_PORT_RANGE, err) : HVD_OK;
}

/* Notes requests that libhvd ignores. */
static void note_unsupported(struct hvdrun_options *options, const struct options_seen *seen)
{
    static const char *const unsupported[] = { "--gloo-timeout-seconds", "--num-nccl-streams",
                                               "--thread-affinity", "--tcp" };
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
        if (given(seen, unsupported[i]))
            string_list_take(
                &options->notes,
                xasprintf("%s: for Horovod and NCCL; libhvd does not read it", unsupported[i]));
}

/* The origin of the value of an option or of its variable. If the default applies, the option is
 * named. */
static const char *source_of(const struct options_seen *seen, const char *option,
                             const char *variable)
{
    const char *source = given(seen, option);
    if (source)
        return source;
    return getenv(variable + 1) ? variable : option;
}

static bool is_on(const struct hvdrun_options *options, const char *variable)
{
    const char *value = rank_settings_variable(&options->set, variable);
    return value && *value && strcmp(value, "0") != 0 && strcasecmp(value, "false") != 0;
}

/* rank_settings_check() would refuse this too, but name variables where options or keys were
 * given. */
static int check_stall_times(const struct hvdrun_options *options, const struct options_seen *seen,
                             struct err *err)
{
    static const char before[] = "--stall-check-warning-time-seconds";
    static const char after[] = "--stall-check-shutdown-time-seconds";
    const char *shutdown = rank_settings_variable(&options->set, ENV_STALL_SHUTDOWN_TIME);
    const char *warning = rank_settings_variable(&options->set, ENV_STALL_CHECK_TIME);
    bool is_off = is_on(options, ENV_STALL_CHECK_DISABLE);
    int shutdown_s = 0, warning_s = SETTINGS_STALL_CHECK_S;
    if (warning)
        number_parse(&warning_s, warning, strlen(warning), 1, 999999999);
    if ((!given(seen, before) && !given(seen, after)) || !shutdown || is_off ||
        number_parse(&shutdown_s, shutdown, strlen(shutdown), 1, warning_s - 1) != NUMBER_OK)
        return HVD_OK;
    struct shown shown;
    const char *warned = source_of(seen, before, "$" ENV_STALL_CHECK_TIME);
    return bad_input(err, source_of(seen, after, "$" ENV_STALL_SHUTDOWN_TIME),
                     "%d is less than %d (%s%s)", shutdown_s, warning_s,
                     warning ? "" : "the default of ", show_source(&shown, warned));
}

/* What gave a variable its value: an option, a key of a file, or "$NAME", also for -x. */
static const char *setter_of(const struct hvdrun_options *options, const char *variable)
{
    const char *by = string_list_variable(&options->set_by, variable + 1);
    return by && *by ? by : variable;
}

/* Adds "OPTION: WHY" to warnings or notes if the option was given. */
static void note_idle(struct string_list *lines, const struct options_seen *seen,
                      const char *option, const char *why)
{
    const char *source = given(seen, option);
    struct shown shown;
    if (source)
        string_list_take(lines, xasprintf("%s: %s", show_source(&shown, source), why));
}

/* Was a value given on the command line, not in the configuration file? */
static bool is_on_command_line(const struct hvdrun_options *options, const char *source)
{
    for (size_t i = 0; source && i < options->sources.count; i++)
        if (options->sources.items[i] == source)
            return false;
    return source;
}

/* A user who asks for an end after some seconds waits for it, so this is a warning. Configuration
 * files of horovodrun have both times even if the check is off. */
static void note_idle_stalls(struct hvdrun_options *options, const struct options_seen *seen)
{
    static const char before[] = "--stall-check-warning-time-seconds";
    static const char after[] = "--stall-check-shutdown-time-seconds";
    const char *setter = setter_of(options, "$" ENV_STALL_CHECK_DISABLE);
    const char *shutdown = rank_settings_variable(&options->set, ENV_STALL_SHUTDOWN_TIME);
    char why[sizeof(struct shown) + 40];
    struct shown shown;
    snprintf(why, sizeof why, "with %s nothing is checked", show_source(&shown, setter));
    note_idle(&options->notes, seen, before, why);
    bool expected = is_on_command_line(options, given(seen, after)) && strcmp(shutdown, "0") != 0;
    note_idle(expected ? &options->warnings : &options->notes, seen, after, why);
}

/* Options that have no effect without another one, or without a GPU; hvdrun does not know which
 * hosts have one that the program uses. Configuration files have all of these keys, even if
 * autotune, the timeline or the stall check is off. */
static void note_idle_options(struct hvdrun_options *options, const struct options_seen *seen)
{
    static const char *const tuning[] = { "--autotune-log-file", "--autotune-warmup-samples",
                                          "--autotune-steps-per-sample",
                                          "--autotune-bayes-opt-max-samples",
                                          "--autotune-gaussian-process-noise" };
    const char *timeline = rank_settings_variable(&options->set, ENV_TIMELINE);
    if (!is_on(options, ENV_AUTOTUNE))
        for (size_t i = 0; i < sizeof tuning / sizeof *tuning; i++)
            note_idle(&options->notes, seen, tuning[i], "without --autotune nothing is tuned");
    if (is_on(options, ENV_STALL_CHECK_DISABLE))
        note_idle_stalls(options, seen);
    if (!timeline || !*timeline)
        note_idle(&options->notes, seen, "--timeline-mark-cycles",
                  "without --timeline-filename nothing is marked");
    if (is_on(options, ENV_HIERARCHICAL_ALLREDUCE))
        note_idle(&options->notes, seen, "--hierarchical-allreduce",
                  "has no effect on tensors in host memory, only on those of GPUs");
}

/* "a : -np 1 b" means two programs for mpirun. A ':' without an option behind it, or behind "--",
 * may well be an argument. */
static int check_one_program(const struct hvdrun_options *options, const struct options_seen *seen,
                             struct err *err)
{
    struct shown shown;
    for (char **at = options->command; *at && at[1] && !seen->marked; at++)
        if (strcmp(*at, ":") == 0 && options_know(&hvdrun_option_table, at[1]))
            return bad_input(err, "command",
                             "':' before '%s': a job has one program, not several (MPMD); a script "
                             "may look at HOROVOD_RANK",
                             show_token(&shown, at[1], strlen(at[1])));
    return HVD_OK;
}

/* The number of ranks if it stands behind the command, as "-np" or "--num-proc=4", or NULL. */
static const char *late_np(const struct hvdrun_options *options)
{
    static const char *const names[] = { "-np", "--num-proc" };
    for (char **at = options->command; *at && at[1]; at++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            size_t length = strlen(names[i]);
            if (strncmp(at[1], names[i], length) == 0 && (!at[1][length] || at[1][length] == '='))
                return at[1];
        }
    return NULL;
}

/* "'-np' stands behind the command './train', ...": the word may be meant for hvdrun. */
static int fail_late_np(const struct hvdrun_options *options, const char *late, struct err *err)
{
    struct shown word, command;
    return bad_input(err, "-np",
                     "missing ('%s' stands behind the command '%s'; options of hvdrun come first)",
                     show_token(&word, late, strlen(late)),
                     show_token(&command, options->command[0], strlen(options->command[0])));
}

/* With hosts there are ranks all the same, and the word may be meant for the command. */
static void warn_late_np(struct hvdrun_options *options)
{
    const char *late = options->np == 0 ? late_np(options) : NULL;
    struct shown shown;
    if (late && (options->hosts || options->hostfile))
        string_list_take(&options->warnings,
                         xasprintf("'%s' stands behind the command and is passed to it; options of "
                                   "hvdrun come first",
                                   show_token(&shown, late, strlen(late))));
}

/* ---- elastic jobs ---- */

static const char elastic_only[] = "for elastic jobs only (--min-np or --host-discovery-script)";

/* A variable is often set for all jobs of a user. */
static void note_idle_elastic_timeout(struct hvdrun_options *options)
{
    const char *value = getenv(ENV_ELASTIC_TIMEOUT);
    if (value && *value)
        string_list_take(&options->notes, xasprintf("$" ENV_ELASTIC_TIMEOUT ": %s", elastic_only));
}

/* Options that would have no effect are refused, since the user expects one. */
static int check_elastic_needed(const struct options_seen *seen, struct err *err)
{
    static const char *const names[] = { "--max-np", "--slots-per-host", "--elastic-timeout",
                                         "--reset-limit", "--blacklist-cooldown-range" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (given(seen, names[i]))
            return bad_input(err, given(seen, names[i]), "%s", elastic_only);
    return HVD_OK;
}

/* Fails if the first is more than the second; 0: not known. */
static int check_not_more(int less, const char *less_name, int more, const char *more_name,
                          struct err *err)
{
    if (less > 0 && more > 0 && less > more)
        return bad_input(err, less_name, "%d is more than %d (%s)", less, more, more_name);
    return HVD_OK;
}

static int check_elastic_sizes(const struct hvdrun_options *options, struct err *err)
{
    static const char np[] = "-np", min_np[] = "--min-np", max_np[] = "--max-np";
    int rc;
    if ((rc = check_not_more(options->min_np, min_np, options->max_np, max_np, err)) < 0 ||
        (rc = check_not_more(options->min_np, min_np, options->np, np, err)) < 0)
        return rc;
    return check_not_more(options->np, np, options->max_np, max_np, err);
}

/* With a script the first world has at least the minimum; other hosts are counted first. */
static int complete_elastic(struct hvdrun_options *options, const struct options_seen *seen,
                            struct err *err)
{
    int rc;
    options->elastic = options->min_np > 0 || options->discovery_script;
    if (!options->elastic) {
        note_idle_elastic_timeout(options);
        return check_elastic_needed(seen, err);
    }
    if ((rc = check_elastic_sizes(options, err)) < 0)
        return rc;
    if (options->map_by != RANKS_BY_SLOT)
        return bad_input(err, given(seen, "--map-by"),
                         "not in an elastic job, which fills one host after the other");
    if (options->attributes.torch_env)
        return bad_input(err, given(seen, "--torch-env"),
                         "not in an elastic job, whose ranks and size change while it runs");
    if (given(seen, "--slots-per-host") && !options->discovery_script)
        return bad_input(err, given(seen, "--slots-per-host"),
                         "only with --host-discovery-script; -H and a hostfile say the slots");
    options->np_is_min = options->discovery_script && options->np == 0;
    if (options->np_is_min)
        options->np = options->min_np;
    options->min_is_np = options->min_np == 0;
    if (options->min_is_np)
        options->min_np = options->np;
    if (options->max_np == 0)
        options->max_np = WORLD_SIZE_MAX;
    return options->discovery_script && !options->check_hosts ? hvdrun_options_need_np(options, err)
                                                              : HVD_OK;
}

static int check_command(const struct hvdrun_options *options, struct err *err)
{
    if (!options->command[0])
        return options->check_hosts
                   ? HVD_OK
                   : bad_input(err, NULL, "no program given (usage: " HVDRUN_USAGE ")");
    if (!options->command[0][0])
        return bad_input(err, "command", "empty program name: ''");
    return HVD_OK;
}

int hvdrun_options_need_np(const struct hvdrun_options *options, struct err *err)
{
    const char *late = late_np(options);
    if (options->np > 0)
        return HVD_OK;
    if (late)
        return fail_late_np(options, late, err);
    if (options->discovery_script)
        return bad_input(err, "-np or --min-np",
                         "missing (how many ranks? --host-discovery-script needs one of them)");
    return bad_input(err, "-np",
                     "missing (how many ranks? or -H HOST:SLOTS,... for a rank in every slot)");
}

/* "-" is standard output, as for most programs. */
static void choose_report(struct hvdrun_options *options)
{
    if (options->report && strcmp(options->report, "-") == 0)
        options->report = "/dev/stdout";
}

/* All steps after the words of the command line. */
static int hvdrun_options_complete(struct hvdrun_options *options, struct options_seen *seen,
                                   struct err *err)
{
    int rc;
    if ((rc = config_file_apply(options, seen, err)) < 0 ||
        (rc = options_complete(&hvdrun_option_table, options, seen, err)) < 0)
        return rc;
    options->hosts_source = options->hosts ? given(seen, "--hosts") : NULL;
    options->command = seen->rest;
    if ((rc = complete_elastic(options, seen, err)) < 0)
        return rc;
    if (options->check_hosts && options->np == 0)
        options->np = 1;
    if ((rc = choose_remote_shell(options, seen, err)) < 0)
        return rc;
    overridden_variables_note(options, seen);
    choose_interfaces(options, seen);
    choose_ports(options);
    choose_report(options);
    if ((rc = choose_tree_width(options, seen, err)) < 0)
        return rc;
    note_setters(options, seen);
    export_variables(options);
    rank_settings_warn(&options->warnings, &options->set);
    note_unsupported(options, seen);
    note_idle_options(options, seen);
    warn_late_np(options);
    if ((rc = check_stall_times(options, seen, err)) < 0 ||
        (rc = check_exported_ports(options, err)) < 0)
        return rc;
    if ((rc = rank_settings_check(&options->set, err)) < 0)
        return rc;
    if ((rc = check_command(options, err)) < 0)
        return rc;
    return check_one_program(options, seen, err);
}

int hvdrun_options_parse(struct hvdrun_options *options, int argc, char **argv, struct err *err)
{
    struct options_seen seen;
    *options = (struct hvdrun_options){ 0 };
    if (argc < 2)
        return bad_input(err, NULL, "nothing to do (usage: " HVDRUN_USAGE ")");
    int rc = options_parse_words(&hvdrun_option_table, options, &seen, argv + 1, err);
    if (rc == HVD_OK && !seen.final && !options->completion)
        rc = hvdrun_options_complete(options, &seen, err);
    if (rc < 0 || seen.final || options->completion)
        hvdrun_options_fini(options);
    return rc;
}

void hvdrun_options_fini(struct hvdrun_options *options)
{
    string_list_fini(&options->identity_files);
    string_list_fini(&options->interfaces);
    string_list_fini(&options->set);
    string_list_fini(&options->set_by);
    string_list_fini(&options->exports);
    string_list_fini(&options->warnings);
    string_list_fini(&options->notes);
    string_list_fini(&options->sources);
}

char *hvdrun_options_answer(const struct hvdrun_options *options)
{
    if (options->help)
        return hvdrun_options_help();
    if (options->version)
        return build_version();
    if (options->check_build)
        return check_build();
    return options->completion ? completion_script(&hvdrun_option_table, options->completion)
                               : NULL;
}

char *hvdrun_options_help(void)
{
    return options_help(&hvdrun_option_table);
}
