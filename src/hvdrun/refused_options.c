/* SPDX-License-Identifier: Apache-2.0 */
/* What other launchers have and hvdrun has not: options of horovodrun, with the reason, and of
 * mpirun, mpiexec and torchrun, with what to write instead. */
#include "src/hvdrun/refused_options.h"

#define REFUSED(reason, ...)                                                                       \
    {                                                                                              \
        .names = { __VA_ARGS__ }, .help = reason, .kind = OPTION_REFUSED                           \
    }

/* As long as it is written in full, so that it makes nothing of ours ambiguous. */
#define FOREIGN_OF(launcher, instead, ...)                                                         \
    {                                                                                              \
        .names = { __VA_ARGS__ }, .kind = OPTION_FOREIGN,                                          \
        .help = "not an option of hvdrun: " instead " (see COMING FROM " launcher " in hvdrun(1))" \
    }

#define FOREIGN(instead, ...) FOREIGN_OF("MPIRUN", instead, __VA_ARGS__)
#define OF_TORCHRUN(instead, ...) FOREIGN_OF("TORCHRUN", instead, __VA_ARGS__)

static const char no_elastic[] = "elastic jobs are not supported yet";
static const char no_algorithm[] = "libhvd chooses the algorithm itself";
static const char no_mpi[] = "hvdrun has no MPI controller";
static const char no_jsrun[] = "hvdrun has no jsrun controller";

const struct option_row refused_options[] = {
    REFUSED(no_elastic, "--min-np", "--min-num-proc"),
    REFUSED(no_elastic, "--max-np", "--max-num-proc"),
    REFUSED(no_elastic, "--slots-per-host"),
    REFUSED(no_elastic, "--elastic-timeout"),
    REFUSED(no_elastic, "--reset-limit"),
    REFUSED(no_elastic, "--blacklist-cooldown-range"),
    REFUSED(no_elastic, "--host-discovery-script"),
    REFUSED(no_algorithm, "--hierarchical-allreduce"),
    REFUSED(no_algorithm, "--hierarchical-allgather"),
    REFUSED(no_algorithm, "--torus-allreduce"),
    REFUSED(no_mpi, "--mpi"),
    REFUSED(no_mpi, "--mpi-args"),
    REFUSED(no_mpi, "--mpi-threads-disable"),
    REFUSED(no_mpi, "--binding-args"),
    REFUSED(no_jsrun, "--jsrun"),
    FOREIGN("use -np", "-c"),
    FOREIGN("use -H", "-host", "--host", "-hosts"),
    FOREIGN("use --hostfile", "-f", "-machinefile", "--machinefile", "--default-hostfile"),
    FOREIGN("use -H HOST:N, with N ranks for each host", "-ppn", "-N", "--npernode", "-npernode"),
    FOREIGN("use -H HOST:N, with N ranks for each host", "--ppn", "-perhost", "--pernode",
            "-pernode"),
    FOREIGN("ranks are numbered as --map-by places them", "--rank-by", "-rank-by"),
    FOREIGN("use --map-by node", "--bynode", "-bynode"),
    FOREIGN("use --map-by slot", "--byslot", "-byslot"),
    FOREIGN("the order of the hosts is that of the ranks", "--rankfile", "-rankfile", "-rf"),
    FOREIGN("use --bind-to core", "--bind-to-core", "-bind-to-core"),
    FOREIGN("use --bind-to socket", "--bind-to-socket", "-bind-to-socket"),
    FOREIGN("use --bind-to none", "--bind-to-none", "-bind-to-none"),
    FOREIGN("--bind-to binds; the command may use taskset(1)", "--cpu-set", "-cpu-set"),
    FOREIGN("not needed: slots are what -H says they are", "--use-hwthread-cpus"),
    FOREIGN("slots are what -H says they are", "--nooversubscribe", "-nooversubscribe"),
    FOREIGN("use --dry-run", "--display-map", "-display-map", "--display-allocation"),
    FOREIGN("use -x NAME=VALUE", "-genv", "--genv", "-env", "--env"),
    FOREIGN("not needed: the environment is passed on", "-genvall", "-genvlist", "-envall",
            "-envlist"),
    FOREIGN("the environment is passed on", "-genvnone", "-envnone"),
    FOREIGN("change to the directory before, all hosts follow", "-wdir", "--wdir", "-wd", "--wd"),
    FOREIGN("not needed: hvdagent is found or sent, PATH and LD_LIBRARY_PATH are passed on",
            "-prefix", "--prefix"),
    FOREIGN("the program must be on every host", "--preload-binary", "-preload-binary"),
    FOREIGN("not needed: every line has a prefix", "-l", "-prepend-rank", "--prepend-rank"),
    FOREIGN("use -prefix-timestamp", "--timestamp-output", "-timestamp-output"),
    FOREIGN("use --output-filename", "-output-filename", "-outfile-pattern", "-errfile-pattern"),
    FOREIGN("not needed: rank 0 alone reads the standard input", "--stdin", "-stdin", "-s"),
    FOREIGN("--remote-shell, --network-interfaces and --port-range are what is there of it",
            "--mca", "-mca", "--gmca", "-gmca"),
    FOREIGN("use --remote-shell", "-launcher", "-launcher-exec", "-bootstrap", "-bootstrap-exec"),
    FOREIGN("use --network-interfaces", "-iface", "--iface"),
    FOREIGN("use --timeout", "-timeout"),
    FOREIGN("use --verbose", "-verbose"),
    FOREIGN("use --version", "-V"),
    FOREIGN("there is one command; it may look at HOROVOD_RANK", "--app", "-app", "-configfile"),
    OF_TORCHRUN("use -np N; on several hosts -H HOST:N,...", "--nproc_per_node",
                "--nproc-per-node"),
    OF_TORCHRUN("use -H HOST:N,... or --hostfile, which name the hosts", "--nnodes"),
    OF_TORCHRUN("not needed: hvdrun is started once and reaches all hosts", "--node_rank",
                "--node-rank"),
    OF_TORCHRUN("not needed: without -H all ranks run on this machine", "--standalone"),
    OF_TORCHRUN("not needed: ranks find each other through hvdrun", "--rdzv_backend",
                "--rdzv-backend", "--rdzv_endpoint", "--rdzv-endpoint"),
    OF_TORCHRUN("not needed: ranks find each other through hvdrun", "--rdzv_id", "--rdzv-id",
                "--rdzv_conf", "--rdzv-conf"),
    OF_TORCHRUN("not needed: ranks find each other through hvdrun", "--master_addr",
                "--master-addr", "--master_port", "--master-port"),
    OF_TORCHRUN("use --network-interfaces", "--local_addr", "--local-addr"),
    OF_TORCHRUN("write python -m MODULE as the command", "-m", "--module"),
    OF_TORCHRUN("not needed: the command is a program of any kind", "--no_python", "--no-python"),
    OF_TORCHRUN("a job that has failed is not started again", "--max_restarts", "--max-restarts"),
    OF_TORCHRUN("not needed: hvdrun hears of the end of a rank at once", "--monitor_interval",
                "--monitor-interval", "--start_method", "--start-method"),
    OF_TORCHRUN("use --output-filename", "--log_dir", "--log-dir", "-r", "--redirects"),
    OF_TORCHRUN("not needed: every line is shown, with a prefix", "-t", "--tee"),
    OF_TORCHRUN("ranks have numbers only", "--role"),
};

_Static_assert(sizeof refused_options / sizeof *refused_options == REFUSED_OPTIONS,
               "another number of options in refused_options.h");
