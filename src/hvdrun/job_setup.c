/* SPDX-License-Identifier: Apache-2.0 */
/* Setting a job up; see job_setup.h. Fails on malformed hosts, on more ranks than slots, or than
 * ports on a host, on interfaces of hosts that the job does not have, or by which its ranks cannot
 * be reached, on a report in the way of other files; then when descriptors are short, the working
 * directory does not exist any more, or hvdagent is not found. */
#include <config.h>

#include "src/hvdrun/job_setup.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/descriptors.h"
#include "launcher/base/exit_status.h"
#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"
#include "launcher/connect/host_transport.h"
#include "launcher/hosts/host_environment.h"
#include "launcher/hosts/local_host.h"
#include "launcher/process/worker_environment.h"
#include "launcher/tree/host_tree.h"
#include "lib/base/env_names.h"
#include "src/hvdrun/host_interfaces.h"
#include "src/hvdrun/host_ports.h"
#include "src/hvdrun/install_path.h"
#include "src/hvdrun/rank_files.h"
#include "src/hvdrun/rank_settings.h"
#include "src/hvdrun/report_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* How long connecting to one host may take, not counting the time in which hvdagent is sent. */
enum { CONNECT_TIMEOUT_MS = 10000 };

/* Without -H and a hostfile, a batch system may name the hosts. */
static int read_given_hosts(struct job_setup *setup, struct err *err)
{
    const char *source;
    int found = host_list_from_environment(&setup->hosts, getenv, &source, err);
    if (found < 0)
        return found;
    if (found > 0) {
        setup->hosts.source = source;
        setup->hosts.is_allocation = true;
        return HVD_OK;
    }
    int rc = hvdrun_options_need_np(setup->options, err);
    if (rc == HVD_OK)
        host_list_make_local(&setup->hosts, setup->options->np);
    return rc;
}

static int read_hosts(struct job_setup *setup, struct err *err)
{
    const struct hvdrun_options *options = setup->options;
    if (options->discovery_script)
        return discovery_run_now(&setup->discovery, &setup->hosts, &setup->stopped_by, err);
    if (!options->hostfile && !options->hosts)
        return read_given_hosts(setup, err);
    int rc = options->hostfile
                 ? host_list_read_hostfile(&setup->hosts, options->hostfile, err)
                 : host_list_parse(&setup->hosts, options->hosts, strlen(options->hosts),
                                   options->hosts_source, err);
    setup->hosts.source = options->hostfile ? options->hostfile : options->hosts_source;
    return rc;
}

static uint64_t wall_clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static enum host_place find_host_place(void *context, const char *host)
{
    if (local_host_is(context, host))
        return HOST_HERE;
    return local_host_is_not(context, host) ? HOST_ELSEWHERE : HOST_UNKNOWN;
}

static int deal_out_interfaces(struct job_setup *setup, struct err *err)
{
    struct local_host self;
    if (setup->options->discovery_script) /* which may name other hosts later */
        return host_interfaces_choose(&setup->interfaces, &setup->options->interfaces, &setup->plan,
                                      err);
    int rc =
        host_interfaces_make(&setup->interfaces, &setup->options->interfaces, &setup->plan, err);
    if (rc < 0)
        return rc;
    local_host_init(&self);
    rc = host_interfaces_check(&setup->interfaces, &setup->plan, find_host_place, &self,
                               &setup->warnings, err);
    local_host_fini(&self);
    return rc;
}

/* --check-hosts writes neither report nor output files. */
static int check_report(const struct job_setup *setup, struct err *err)
{
    const struct hvdrun_options *options = setup->options;
    if (!options->report || !options->output_filename || options->check_hosts)
        return HVD_OK;
    return report_path_check(options->report, options->output_filename, setup->plan.size, err);
}

/* Files of another machine can only be checked by rank 0. */
static void check_rank_files(struct job_setup *setup)
{
    const struct string_list *set = &setup->options->set;
    struct local_host self;
    if (setup->plan.size == 0 || setup->options->check_hosts || !rank_files_any(set))
        return;
    const struct host_slots *host = setup->plan.hosts[setup->plan.ranks[0].host].host;
    if (host->user)
        return;
    local_host_init(&self);
    if (local_host_is(&self, host->name))
        rank_files_check(set, &setup->options->set_by, &setup->warnings);
    local_host_fini(&self);
}

/* The first of the hosts that is another machine, or NULL. */
static const struct host_slots *other_machine_of(const struct host_slots *hosts, int count)
{
    const struct host_slots *found = NULL;
    struct local_host self;
    local_host_init(&self);
    for (int i = 0; i < count && !found; i++)
        if (hosts[i].user || !local_host_is(&self, hosts[i].name))
            found = &hosts[i];
    local_host_fini(&self);
    return found;
}

/* Hosts that have ranks are the first ones; an elastic job may use all of them. */
static const struct host_slots *other_machine(const struct job_setup *setup)
{
    int count = setup->options->elastic ? setup->hosts.count : setup->plan.host_count;
    return other_machine_of(setup->hosts.hosts, count);
}

/* Warns of variables that select accelerators of this machine: they are not sent to others, unless
 * -x names them. */
static void keep_devices(struct job_setup *setup)
{
    const struct host_slots *other = NULL;
    struct text_buffer names = { 0 };
    worker_environment_devices(&setup->devices, environ);
    for (size_t i = 0; i < setup->devices.count; i++) {
        char *entry = setup->devices.items[i], *name = xstrndup(entry, strcspn(entry, "="));
        struct shown shown;
        if (!string_list_variable(&setup->options->set, name))
            text_buffer_printf(&names, "%s%s", names.length > 0 ? ", " : "",
                               show_token(&shown, name, strlen(name)));
        free(name);
    }
    if (names.length > 0 && !setup->options->check_hosts)
        other = other_machine(setup);
    char *list = text_buffer_take(&names);
    struct shown shown;
    if (other)
        string_list_take(&setup->warnings,
                         xasprintf("%s: for ranks on this machine only, not on %s (-x passes it on "
                                   "to all)",
                                   list, show_token(&shown, other->name, strlen(other->name))));
    free(list);
}

/* ---- elastic jobs ---- */

static void describe_discovery(struct job_setup *setup)
{
    setup->discovery = (struct discovery_settings){
        .command = setup->options->discovery_script,
        .job_id = setup->id,
        .source = "--host-discovery-script",
        .slots = setup->options->slots_per_host,
        .nofile = &setup->nofile,
    };
    getrlimit(RLIMIT_NOFILE, &setup->nofile); /* it is raised later */
}

/* When the library warns of a stalled tensor, hvdrun warns of ranks that do not come; 0: never. */
static uint64_t stall_warning_ms(const struct hvdrun_options *options)
{
    struct settings settings;
    struct err err;
    if (rank_settings_read(&settings, &options->set, &err) < 0 || !settings.stall_check)
        return 0;
    return settings.stall_check_s * 1000;
}

/* A hostfile may change, and a script may name other hosts. */
static void describe_elastic(struct job_setup *setup)
{
    const struct hvdrun_options *options = setup->options;
    int slots = host_list_slots(&setup->hosts);
    int np = options->np > 0 ? options->np : slots < options->max_np ? slots : options->max_np;
    setup->elastic = (struct elastic_options){
        .np = np,
        .min = options->min_np,
        .max = options->max_np,
        .np_is_min = options->np_is_min,
        .min_is_np = options->min_is_np,
        .timeout_ms = (uint64_t)options->elastic_timeout_s * 1000,
        .warning_ms = stall_warning_ms(options),
        .reset_limit = options->reset_limit,
        .cooldown_low_ms = (uint64_t)options->cooldown_s[0] * 1000,
        .cooldown_high_ms = (uint64_t)options->cooldown_s[1] * 1000,
        .hosts_are_fixed = !options->discovery_script && !options->hostfile,
    };
    setup->job_elastic = (struct job_elastic){
        .size_max = options->max_np,
        .first_size = slots < options->max_np ? slots : options->max_np,
        .one_machine = setup->elastic.hosts_are_fixed && !other_machine(setup),
    };
}

/* Hosts that a script names may still be too few. */
static int check_elastic_slots(const struct job_setup *setup, struct err *err)
{
    int slots = host_list_slots(&setup->hosts), min = setup->options->min_np;
    if (setup->options->discovery_script || min <= slots)
        return HVD_OK;
    return rank_plan_too_few_slots(&setup->hosts, "--min-np", min, err);
}

/* The ranks of the first world, as far as there are slots for them now. */
static int plan_elastic(struct job_setup *setup, struct err *err)
{
    const struct hvdrun_options *options = setup->options;
    int slots = host_list_slots(&setup->hosts);
    int rc = check_elastic_slots(setup, err);
    if (rc == HVD_OK && !options->discovery_script && options->np > slots)
        return rank_plan_make(&setup->plan, &setup->hosts, options->np, RANKS_BY_SLOT, err);
    describe_elastic(setup);
    if (rc < 0 || slots == 0)
        return rc;
    return rank_plan_make(&setup->plan, &setup->hosts,
                          slots < options->max_np ? slots : options->max_np, RANKS_BY_SLOT, err);
}

static int plan_ranks(struct job_setup *setup, struct err *err)
{
    const struct hvdrun_options *options = setup->options;
    if (options->elastic && !options->check_hosts)
        return plan_elastic(setup, err);
    if (setup->hosts.count == 0) /* other sources always name one */
        return bad_input(err, "--host-discovery-script", "no hosts now that could be checked");
    return rank_plan_make(&setup->plan, &setup->hosts, options->check_hosts ? 0 : options->np,
                          (enum rank_order)options->map_by, err);
}

/* A program under --torch-env may use the range for the port of rank 0 alone. */
static int check_ports(const struct job_setup *setup, struct err *err)
{
    const struct hvdrun_options *options = setup->options;
    const char *range = string_list_variable(&options->set, ENV_PORT_RANGE);
    const char *source = string_list_variable(&options->set_by, ENV_PORT_RANGE);
    if (!range || options->check_hosts || options->attributes.torch_env)
        return HVD_OK;
    return host_ports_check(range, source && *source ? source : "$" ENV_PORT_RANGE, &setup->plan,
                            err);
}

static int choose_launcher(struct job_setup *setup, struct err *err)
{
    const struct hvdrun_options *options = setup->options;
    const struct launcher_facts facts = {
        .asked = (enum launcher)options->launcher,
        .command = options->remote_shell,
        .command_source = options->remote_shell_source,
        .has_ssh_options =
            options->ssh_port != 0 || options->identity_files.count > 0 || options->ssh_accept_new,
        .dry_run = options->dry_run,
        .hosts = &setup->hosts,
        .get = getenv,
    };
    return launcher_choose(&setup->launcher, &facts, err);
}

int job_setup_begin(struct job_setup *setup, const struct hvdrun_options *options, struct err *err)
{
    setup->options = options;
    setup->epoch_ms = wall_clock_ms();
    if (auth_init(err) < 0)
        return err->code;
    job_id_generate(setup->id);
    describe_discovery(setup);
    return HVD_OK;
}

int job_setup_plan(struct job_setup *setup, struct err *err)
{
    int rc = read_hosts(setup, err);
    if (rc < 0)
        return rc;
    if ((rc = plan_ranks(setup, err)) < 0)
        return rc;
    if ((rc = check_ports(setup, err)) < 0)
        return rc;
    if ((rc = deal_out_interfaces(setup, err)) < 0)
        return rc;
    if ((rc = choose_launcher(setup, err)) < 0)
        return rc;
    check_rank_files(setup);
    keep_devices(setup);
    return check_report(setup, err);
}

/* A script or a hostfile may name another machine later. */
static bool may_need_connections(const struct job_setup *setup)
{
    const struct hvdrun_options *options = setup->options;
    return other_machine(setup) || (options->elastic && !options->check_hosts &&
                                    (options->discovery_script || options->hostfile));
}

bool job_setup_has_other_hosts(const struct job_setup *setup)
{
    return may_need_connections(setup);
}

/* Is some host connected through libssh2, or may a later one be? */
static bool needs_ssh(const struct job_setup *setup)
{
    return setup->launcher.launcher == LAUNCHER_SSH && may_need_connections(setup);
}

bool job_setup_needs_command(const struct job_setup *setup)
{
    return setup->launcher.command && may_need_connections(setup);
}

/* What the agents on this machine need at least, each by itself; 0 without any. Their limit is
 * ours. */
static unsigned long descriptors_of_own_agents(const struct job_setup *setup)
{
    int most = 0;
    struct local_host self;
    local_host_init(&self);
    for (int i = 0; i < setup->plan.host_count; i++) {
        const struct rank_host *host = &setup->plan.hosts[i];
        if (host->local_size > most && !host->host->user && local_host_is(&self, host->host->name))
            most = host->local_size;
    }
    local_host_fini(&self);
    return most > 0 ? descriptors_of_agent(most) : 0;
}

/* Our own descriptors, links to each host, and the files of --output-filename; or more, if an agent
 * on this machine would fail with those. */
static unsigned long descriptors_needed(const struct job_setup *setup)
{
    enum { OWN = 64, PER_HOST = 8, MORE_HOSTS = 16 };
    unsigned long files = setup->options->output_filename ? 2 * (unsigned long)setup->plan.size : 0;
    unsigned long hosts = (unsigned long)setup->plan.host_count;
    if (setup->options->elastic)
        hosts = 2 * hosts + MORE_HOSTS;
    unsigned long own = OWN + PER_HOST * hosts + files;
    unsigned long of_agents = descriptors_of_own_agents(setup);
    return own > of_agents ? own : of_agents;
}

/* Requested variables come behind inherited ones, and so replace them. */
static void describe_environment(struct job_setup *setup)
{
    const struct string_list *set = &setup->options->set;
    worker_environment_common(&setup->environment, environ);
    for (size_t i = 0; i < set->count; i++)
        string_list_add(&setup->environment, set->items[i], strlen(set->items[i]));
}

/* A --start-timeout of more than the default of 30 s means that hosts are slow. */
static uint32_t connect_timeout_ms(const struct hvdrun_options *options)
{
    uint32_t third_ms = (uint32_t)options->start_timeout_s * 1000 / 3;
    return third_ms > CONNECT_TIMEOUT_MS ? third_ms : CONNECT_TIMEOUT_MS;
}

static void describe_ways(struct job_setup *setup)
{
    const struct hvdrun_options *options = setup->options;
    setup->srun = (struct srun_settings){ options->port_low, options->port_high };
    setup->connect = (struct connect_settings){
        .agent = setup->agent,
        .ssh = &transport_ssh,
        .ssh_program = setup->ssh_program,
        .nofile = &setup->nofile,
        .remote_shell = setup->launcher.command,
        .remote_shell_source = setup->launcher.command_source,
        .remote_shell_missing = *setup->launcher.missing ? setup->launcher.missing : NULL,
        .remote_shell_program = setup->launcher.program,
        .srun = setup->launcher.launcher == LAUNCHER_SLURM ? &setup->srun : NULL,
        .job_id = setup->id,
        .ssh_port = options->ssh_port,
        .identity_files = (const char *const *)options->identity_files.items,
        .accept_new = options->ssh_accept_new,
        .timeout_ms = connect_timeout_ms(options),
        .heartbeat_timeout_ms = (uint32_t)options->heartbeat_timeout_s * 1000,
    };
}

/* True on terminals, unless the user has disabled colours. */
static bool has_colour(void)
{
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDERR_FILENO) && !(none && *none) && term && strcmp(term, "dumb") != 0;
}

/* Agents start agents from a number of hosts on, or if the user wants it; Slurm has a tree of its
 * own. */
static int tree_width(const struct job_setup *setup)
{
    const struct hvdrun_options *options = setup->options;
    if (options->elastic || setup->launcher.launcher == LAUNCHER_SLURM)
        return 0;
    if (options->tree_width_given)
        return options->tree_width;
    return setup->plan.host_count >= HOST_TREE_FROM ? HOST_TREE_WIDTH : 0;
}

static void describe_job(struct job_setup *setup, const bool closed[3])
{
    const struct hvdrun_options *options = setup->options;
    setup->job = (struct job_options){
        .plan = &setup->plan,
        .elastic = options->elastic ? &setup->job_elastic : NULL,
        .connect = &setup->connect,
        .interfaces = (const char *const *)setup->interfaces.items,
        .cwd = setup->cwd,
        .command = options->command,
        .environment = setup->environment.items,
        .own_environment = setup->devices.items,
        .id = setup->id,
        .key = &setup->key,
        .output_directory = options->output_filename,
        .python_path = setup->python_path,
        .attributes = options->attributes,
        .timestamps = options->prefix_timestamp,
        .verbose = options->verbose,
        .status_line = isatty(STDERR_FILENO) && !options->verbose,
        .colour = has_colour(),
        .stdin_closed = closed[0],
        .stdout_closed = closed[1],
        .stderr_closed = closed[2],
        .grace_ms = (uint32_t)options->grace_s * 1000,
        .start_timeout_ms = (uint32_t)options->start_timeout_s * 1000,
        .tree_width = tree_width(setup),
        .heartbeat_timeout_ms = (uint32_t)options->heartbeat_timeout_s * 1000,
        .timeout_ms = (uint64_t)options->timeout_s * 1000,
        .epoch_ms = setup->epoch_ms,
        .stopped_fails = options->stopped == STOPPED_FAIL,
        .keep_lines = options->report,
    };
    rank_attributes_inherit(&setup->job.attributes);
}

int job_setup_finish(struct job_setup *setup, const bool closed[3], struct err *err)
{
    if (descriptors_allow(descriptors_needed(setup), &setup->nofile, err) < 0)
        return STATUS_RESOURCE;
    if (!getcwd(setup->cwd, sizeof setup->cwd)) {
        fail_errno(err, HVD_ERR_SYSTEM, errno, "working directory");
        return STATUS_NOT_FOUND;
    }
    if (!(setup->agent = agent_path_find())) {
        fail(err, HVD_ERR_SYSTEM, "hvdagent is neither beside hvdrun nor in " AGENT_DIRECTORY);
        return STATUS_INTERNAL;
    }
    if (!(setup->ssh_program = ssh_program_find()) && needs_ssh(setup)) {
        fail(err, HVD_ERR_SYSTEM, "hvdssh is neither beside hvdrun nor in " AGENT_DIRECTORY);
        return STATUS_INTERNAL;
    }
    if (setup->options->horovod == HOROVOD_LIBHVD)
        setup->python_path = python_path_find();
    job_key_generate(&setup->key);
    describe_environment(setup);
    describe_ways(setup);
    describe_job(setup, closed);
    return 0;
}

void job_setup_fini(struct job_setup *setup)
{
    job_key_wipe(&setup->key);
    string_list_fini(&setup->environment);
    string_list_fini(&setup->devices);
    string_list_fini(&setup->interfaces);
    string_list_fini(&setup->warnings);
    free(setup->agent);
    free(setup->ssh_program);
    free(setup->python_path);
    rank_plan_fini(&setup->plan);
    host_list_fini(&setup->hosts);
}
