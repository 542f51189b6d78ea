/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a job whose ranks are placed: its environment, the ways to its hosts, its limits;
 * see job_setup_finish(). Fails when descriptors are short, the working directory does not exist
 * any more, or hvdagent is not found. */
#include "src/hvdrun/job_setup.h"

#include "launcher/base/descriptors.h"
#include "launcher/base/exit_status.h"
#include "launcher/connect/host_transport.h"
#include "launcher/hosts/local_host.h"
#include "launcher/process/worker_environment.h"
#include "launcher/tree/host_tree.h"
#include "src/hvdrun/install_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* How long connecting to one host may take, not counting the time in which hvdagent is sent. */
enum { CONNECT_TIMEOUT_MS = 10000 };

/* Is some host connected through libssh2, or may a later one be? */
static bool needs_ssh(const struct job_setup *setup)
{
    return setup->launcher.launcher == LAUNCHER_SSH && job_setup_has_other_hosts(setup);
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

int job_setup_finish(struct job_setup *setup, struct running_agent *running, const bool closed[3],
                     struct err *err)
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
    setup->connect.running = running;
    describe_job(setup, closed);
    return 0;
}
