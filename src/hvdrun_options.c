/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of hvdrun:
 *   parse by table (options.c), then check what no single option can know.
 * Fails on what options.c refuses, on -H together with --hostfile, without -np, and without a
 * program. */
#include "src/hvdrun_options.h"

#include "launcher/bad_input.h"
#include "lib/base/env_names.h"
#include "lib/base/place.h"

#include <stddef.h>

#define USAGE "hvdrun -np N [OPTION]... COMMAND [ARGUMENT]..."
#define MEMBER(name) offsetof(struct hvdrun_options, name)

static const char job[] = "Ranks and hosts";
static const char output[] = "Output";
static const char time_limits[] = "Time limits";
static const char other[] = "Other";

enum { ROW_NP, ROW_HOSTS, ROW_HOSTFILE };

static const struct option_row rows[] = {
    [ROW_NP] = { .names = { "-np", "--num-proc" },
                 .metavar = "N",
                 .help = "how many ranks to start, 1 to 65536; required",
                 .kind = OPTION_INT,
                 .offset = MEMBER(np),
                 .min = 1,
                 .max = WORLD_SIZE_MAX,
                 .group = job },
    [ROW_HOSTS] = { .names = { "-H", "--hosts" },
                    .metavar = "HOST[:SLOTS],...",
                    .help = "where to start them, and how many at most on each host; without "
                            "SLOTS one. Without hosts all ranks start on this machine",
                    .kind = OPTION_TEXT,
                    .offset = MEMBER(hosts),
                    .group = job },
    [ROW_HOSTFILE] = { .names = { "-hostfile", "--hostfile" },
                       .metavar = "FILE",
                       .help =
                           "the same from a file: HOST slots=N or HOST:N in each line, # begins "
                           "a comment",
                       .kind = OPTION_TEXT,
                       .offset = MEMBER(hostfile),
                       .group = job },
    { .names = { "--dry-run" },
      .help = "print which rank would run where, and start nothing",
      .kind = OPTION_FLAG,
      .offset = MEMBER(dry_run),
      .group = job },
    { .names = { "--gloo" },
      .help = "accepted for horovodrun's sake; hvdrun has no other controller",
      .kind = OPTION_FLAG,
      .offset = MEMBER(gloo),
      .group = job },
    { .names = { "--output-filename" },
      .metavar = "DIR",
      .help = "write what rank N prints to DIR/rank.N/stdout and DIR/rank.N/stderr, too",
      .kind = OPTION_TEXT,
      .offset = MEMBER(output_filename),
      .group = output },
    { .names = { "-prefix-timestamp", "--prefix-output-with-timestamp" },
      .help = "begin every line of the ranks with the time",
      .kind = OPTION_FLAG,
      .offset = MEMBER(prefix_timestamp),
      .group = output },
    { .names = { "--verbose" },
      .help = "tell what is done",
      .kind = OPTION_FLAG,
      .offset = MEMBER(verbose),
      .group = output },
    { .names = { "--start-timeout" },
      .metavar = "SECONDS",
      .help = "how long hosts may take to be ready, and then ranks to follow the first that calls "
              "hvd_init, 1 to 86400; else $" ENV_START_TIMEOUT ", else 30",
      .kind = OPTION_INT,
      .offset = MEMBER(start_timeout_s),
      .min = 1,
      .max = 86400,
      .variable = ENV_START_TIMEOUT,
      .group = time_limits },
    { .names = { "--grace" },
      .metavar = "SECONDS",
      .help = "how long ranks that are stopped may take before they are killed, 0 to 3600; else 5",
      .kind = OPTION_INT,
      .offset = MEMBER(grace_s),
      .min = 0,
      .max = 3600,
      .group = time_limits },
    { .names = { "-h", "--help" },
      .help = "print this text",
      .kind = OPTION_FINAL,
      .offset = MEMBER(help),
      .group = other },
    { .names = { "-v", "--version" },
      .help = "print the version",
      .kind = OPTION_FINAL,
      .offset = MEMBER(version),
      .group = other },
};

#define REFUSED(reason, ...)                                                                       \
    {                                                                                              \
        .names = { __VA_ARGS__ }, .help = reason, .kind = OPTION_REFUSED                           \
    }

static const char no_elastic[] = "elastic jobs are not supported yet";
static const char no_remote[] = "other machines than this one are not supported yet";
static const char no_config[] = "configuration files are not supported yet";
static const char no_interface[] = "choosing network interfaces is not supported yet";
static const char no_tuning[] = "tuning is not supported yet";
static const char no_algorithm[] = "choosing an algorithm is not supported yet";
static const char no_autotune[] = "autotuning is not supported yet";
static const char no_timeline[] = "timelines are not supported yet";
static const char no_stall_check[] = "the stall check is not supported yet";
static const char no_log[] = "logs of the library are not supported yet";
static const char no_cache[] = "hvdrun keeps no cache";
static const char no_build_table[] = "hvdrun has no parts to choose from; see --version";
static const char no_mpi[] = "hvdrun has no MPI controller";
static const char no_jsrun[] = "hvdrun has no jsrun controller";
static const char no_nccl[] = "hvdrun has no NCCL operations";

/* What horovodrun has and hvdrun has not, so that it is refused by name. */
static const struct option_row refused[] = {
    REFUSED(no_elastic, "--min-np", "--min-num-proc"),
    REFUSED(no_elastic, "--max-np", "--max-num-proc"),
    REFUSED(no_elastic, "--slots-per-host"),
    REFUSED(no_elastic, "--elastic-timeout"),
    REFUSED(no_elastic, "--reset-limit"),
    REFUSED(no_elastic, "--blacklist-cooldown-range"),
    REFUSED(no_elastic, "--host-discovery-script"),
    REFUSED(no_remote, "-p", "--ssh-port"),
    REFUSED(no_remote, "-i", "--ssh-identity-file"),
    REFUSED(no_interface, "--network-interfaces", "--network-interface"),
    REFUSED(no_config, "--config-file"),
    REFUSED(no_tuning, "--fusion-threshold-mb"),
    REFUSED(no_tuning, "--cycle-time-ms"),
    REFUSED(no_tuning, "--cache-capacity"),
    REFUSED(no_tuning, "--thread-affinity"),
    REFUSED(no_tuning, "--gloo-timeout-seconds"),
    REFUSED(no_algorithm, "--hierarchical-allreduce", "--no-hierarchical-allreduce"),
    REFUSED(no_algorithm, "--hierarchical-allgather", "--no-hierarchical-allgather"),
    REFUSED(no_algorithm, "--torus-allreduce", "--no-torus-allreduce"),
    REFUSED(no_autotune, "--autotune", "--no-autotune"),
    REFUSED(no_autotune, "--autotune-log-file"),
    REFUSED(no_autotune, "--autotune-warmup-samples"),
    REFUSED(no_autotune, "--autotune-steps-per-sample"),
    REFUSED(no_autotune, "--autotune-bayes-opt-max-samples"),
    REFUSED(no_autotune, "--autotune-gaussian-process-noise"),
    REFUSED(no_timeline, "--timeline-filename"),
    REFUSED(no_timeline, "--timeline-mark-cycles", "--no-timeline-mark-cycles"),
    REFUSED(no_stall_check, "--no-stall-check", "--stall-check"),
    REFUSED(no_stall_check, "--stall-check-warning-time-seconds"),
    REFUSED(no_stall_check, "--stall-check-shutdown-time-seconds"),
    REFUSED(no_log, "--log-level"),
    REFUSED(no_log, "--log-with-timestamp", "--log-without-timestamp", "--log-hide-timestamp",
            "--no-log-hide-timestamp"),
    REFUSED(no_cache, "--disable-cache"),
    REFUSED(no_build_table, "-cb", "--check-build"),
    REFUSED(no_mpi, "--mpi"),
    REFUSED(no_mpi, "--mpi-args"),
    REFUSED(no_mpi, "--mpi-threads-disable", "--no-mpi-threads-disable"),
    REFUSED(no_mpi, "--binding-args"),
    REFUSED(no_mpi, "--tcp"),
    REFUSED(no_jsrun, "--jsrun"),
    REFUSED(no_nccl, "--num-nccl-streams"),
};

const struct option_table hvdrun_option_table = {
    .usage = USAGE,
    .before = "Starts COMMAND N times, as ranks 0 to N-1 of one job, and waits for all of them. "
              "What they print appears line by line behind a prefix that names rank and stream. "
              "If one fails, the others are stopped.",
    .after = "Options end at the first word that is none, or at --; the rest is the command. See "
             "hvdrun(1) for exit statuses and the environment of the ranks.",
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .refused = refused,
    .refused_count = sizeof refused / sizeof *refused,
};

_Static_assert(sizeof rows / sizeof *rows <= OPTION_ROWS_MAX, "more options than can be noted");

static int check_together(const struct hvdrun_options *options, const struct options_seen *seen,
                          struct err *err)
{
    if (options->hosts && options->hostfile)
        return bad_input(err, seen->name[ROW_HOSTFILE], "not together with '%s'",
                         seen->name[ROW_HOSTS]);
    if (!seen->name[ROW_NP])
        return bad_input(err, "-np", "missing (how many ranks?)");
    if (!options->command[0])
        return bad_input(err, NULL, "no program given (usage: " USAGE ")");
    if (!options->command[0][0])
        return bad_input(err, "command", "empty program name: ''");
    return HVD_OK;
}

int hvdrun_options_parse(struct hvdrun_options *options, int argc, char **argv, struct err *err)
{
    struct options_seen seen;
    *options = (struct hvdrun_options){ .start_timeout_s = 30, .grace_s = 5 };
    if (argc < 2)
        return bad_input(err, NULL, "nothing to do (usage: " USAGE ")");
    int rc = options_parse(&hvdrun_option_table, options, &seen, argv + 1, err);
    if (rc < 0 || seen.final)
        return rc;
    options->hosts_source = seen.name[ROW_HOSTS];
    options->command = seen.rest;
    return check_together(options, &seen, err);
}

char *hvdrun_options_help(void)
{
    return options_help(&hvdrun_option_table);
}
