/* SPDX-License-Identifier: Apache-2.0 */
/* Setting a job up: its hosts, and the places of its ranks; see job_setup.h. The rest is in
 * job_setup_finish.c. Fails on malformed hosts, on more ranks than slots, or than ports on a host,
 * on interfaces of hosts that the job does not have, or by which its ranks cannot be reached, on a
 * report in the way of other files. */
#include <config.h>

#include "src/hvdrun/job_setup.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"
#include "launcher/hosts/host_environment.h"
#include "launcher/hosts/local_host.h"
#include "launcher/process/worker_environment.h"
#include "lib/base/env_names.h"
#include "src/hvdrun/host_interfaces.h"
#include "src/hvdrun/host_ports.h"
#include "src/hvdrun/rank_files.h"
#include "src/hvdrun/rank_settings.h"
#include "src/hvdrun/report_path.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

extern char **environ;

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

/* When the library warns of a stalled tensor, hvdrun warns of ranks that do not come; and it gives
 * them up when the library gives up those that do not submit the tensor. */
static void describe_elastic_stalls(struct elastic_options *elastic,
                                    const struct hvdrun_options *options)
{
    struct settings settings;
    struct err err;
    if (rank_settings_read(&settings, &options->set, &err) < 0 || !settings.stall_check)
        return;
    elastic->warning_ms = settings.stall_check_s * 1000;
    elastic->shutdown_ms = settings.stall_shutdown_s * 1000;
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
        .reset_limit = options->reset_limit,
        .cooldown_low_ms = (uint64_t)options->cooldown_s[0] * 1000,
        .cooldown_high_ms = (uint64_t)options->cooldown_s[1] * 1000,
        .hosts_are_fixed = !options->discovery_script && !options->hostfile,
    };
    describe_elastic_stalls(&setup->elastic, options);
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

bool job_setup_needs_command(const struct job_setup *setup)
{
    return setup->launcher.command && may_need_connections(setup);
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
