/* SPDX-License-Identifier: Apache-2.0 */
/* Options that other launchers have and hvdrun does not: options of horovodrun, with the reason,
 * and of mpirun, mpiexec and torchrun, with the replacement. */
#include "src/hvdrun/refused_options.h"

#define REFUSED(reason, ...)                                                                       \
    {                                                                                              \
        .names = { __VA_ARGS__ }, .help = reason, .kind = OPTION_REFUSED                           \
    }

/* Matches only the full name, so that it makes no option of ours ambiguous. */
#define OF_PROGRAM(launcher, instead, ...)                                                         \
    {                                                                                              \
        .names = { __VA_ARGS__ }, .kind = OPTION_OTHER_PROGRAM,                                    \
        .help = "not an option of hvdrun: " instead " (see COMING FROM " launcher " in hvdrun(1))" \
    }

#define OF_MPIRUN(instead, ...) OF_PROGRAM("MPIRUN", instead, __VA_ARGS__)
#define OF_TORCHRUN(instead, ...) OF_PROGRAM("TORCHRUN", instead, __VA_ARGS__)

static const char no_algorithm[] = "libhvd chooses the algorithm itself";
static const char no_mpi[] = "hvdrun has no MPI controller";
static const char no_jsrun[] = "hvdrun has no jsrun controller";

const struct option_row refused_options[] = {
    REFUSED(no_algorithm, "--hierarchical-allgather"),
    REFUSED(no_algorithm, "--torus-allreduce"),
    REFUSED(no_mpi, "--mpi"),
    REFUSED(no_mpi, "--mpi-args"),
    REFUSED(no_mpi, "--mpi-threads-disable"),
    REFUSED(no_mpi, "--binding-args"),
    REFUSED(no_jsrun, "--jsrun"),
    OF_MPIRUN("use -np", "-c"),
    OF_MPIRUN("use -H", "-host", "--host", "-hosts"),
    OF_MPIRUN("use --hostfile", "-f", "-machinefile", "--machinefile", "--default-hostfile"),
    OF_MPIRUN("use -H HOST:N, with N ranks for each host", "-ppn", "-N", "--npernode", "-npernode"),
    OF_MPIRUN("use -H HOST:N, with N ranks for each host", "--ppn", "-perhost", "--pernode",
              "-pernode"),
    OF_MPIRUN("ranks are numbered as --map-by places them", "--rank-by", "-rank-by"),
    OF_MPIRUN("use --map-by node", "--bynode", "-bynode"),
    OF_MPIRUN("use --map-by slot", "--byslot", "-byslot"),
    OF_MPIRUN("the order of the hosts is that of the ranks", "--rankfile", "-rankfile", "-rf"),
    OF_MPIRUN("use --bind-to core", "--bind-to-core", "-bind-to-core"),
    OF_MPIRUN("use --bind-to socket", "--bind-to-socket", "-bind-to-socket"),
    OF_MPIRUN("use --bind-to none", "--bind-to-none", "-bind-to-none"),
    OF_MPIRUN("--bind-to binds; the command may use taskset(1)", "--cpu-set", "-cpu-set"),
    OF_MPIRUN("not needed: slots are what -H says they are", "--use-hwthread-cpus"),
    OF_MPIRUN("slots are what -H says they are", "--nooversubscribe", "-nooversubscribe"),
    OF_MPIRUN("use --dry-run", "--display-map", "-display-map", "--display-allocation"),
    OF_MPIRUN("use -x NAME=VALUE", "-genv", "--genv", "-env", "--env"),
    OF_MPIRUN("not needed: the environment is passed on", "-genvall", "-genvlist", "-envall",
              "-envlist"),
    OF_MPIRUN("the environment is passed on", "-genvnone", "-envnone"),
    OF_MPIRUN("change to the directory before, all hosts follow", "-wdir", "--wdir", "-wd", "--wd"),
    OF_MPIRUN("not needed: hvdagent is found or sent, PATH and LD_LIBRARY_PATH are passed on",
              "-prefix", "--prefix"),
    OF_MPIRUN("the program must be on every host", "--preload-binary", "-preload-binary"),
    OF_MPIRUN("not needed: every line has a prefix", "-l", "-prepend-rank", "--prepend-rank"),
    OF_MPIRUN("use -prefix-timestamp", "--timestamp-output", "-timestamp-output"),
    OF_MPIRUN("use --output-filename", "-output-filename", "-outfile-pattern", "-errfile-pattern"),
    OF_MPIRUN("not needed: rank 0 alone reads the standard input", "--stdin", "-stdin", "-s"),
    OF_MPIRUN("use --remote-shell, --network-interfaces or --port-range", "--mca", "-mca", "--gmca",
              "-gmca"),
    OF_MPIRUN("use --remote-shell", "-launcher", "-launcher-exec", "-bootstrap", "-bootstrap-exec"),
    OF_MPIRUN("use --network-interfaces", "-iface", "--iface"),
    OF_MPIRUN("use --timeout", "-timeout"),
    OF_MPIRUN("use --verbose", "-verbose"),
    OF_MPIRUN("use --version", "-V"),
    OF_MPIRUN("there is one command; it may look at HOROVOD_RANK", "--app", "-app", "-configfile"),
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
