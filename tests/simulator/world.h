/* SPDX-License-Identifier: Apache-2.0 */
/* One simulated job: its hosts, the launcher, its ranks, and what has become of them. Drawn from
 * the seed; the faults that befall it are in faults.h, what must hold in oracles.h. */
#ifndef TESTS_SIMULATOR_WORLD_H
#define TESTS_SIMULATOR_WORLD_H

#include "launcher/job/job.h"
#include "launcher/placement/rank_plan.h"
#include "launcher/protocol/host_step.h"
#include "lib/base/auth.h"
#include "rendezvous/server/rendezvous.h"
#include "tests/simulator/process.h"
#include "tests/simulator/stream.h"
#include "tests/simulator/uv.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIM_RANKS_MAX = 16 };

/* The most hosts of a job without a tree. */
enum { SIM_FLAT_HOSTS_MAX = 6 };

/* Seeds from here on are jobs with a tree of agents. */
#define SIM_TREE_SEEDS UINT64_C(1000000000000)

enum sim_transport { SIM_TRANSPORT_LOCAL, SIM_TRANSPORT_SSH, SIM_TRANSPORT_COMMAND };

/* hosts[0] is the launcher's own machine. */
struct sim_host {
    int index, slots;
    uint64_t clock_us; /* how far its clock is ahead */
    enum sim_transport transport;
    enum host_step fails_at; /* 0: nowhere */
    int fails_with;
    enum host_step hangs_at;
    int program_status; /* what the look for the program finds; 0: it is there */
    bool short_of_memory;
    bool unguarded;                       /* its agent and its supervisor were killed at once */
    bool away;                            /* for a while: what it is sent comes late */
    bool reached, failed, vanished, lost; /* lost: something has happened to it or its link */
    struct sim_process *supervisor, *agent, *stands; /* stands: the local process for it */
    struct sim_end *link;   /* the launcher's end; below another host, the end of its own agent */
    int stops, stops_heard; /* STOPs that hvdrun has given for it, and those that its agent got */
    struct sim_host *above; /* the host whose agent has connected to it; NULL: the launcher has */
};

/* What came out of hvdrun on stdout or stderr. */
struct sim_console {
    char *text;
    size_t length, room;
};

/* What hvdrun has decided, without words; see job_report. */
struct sim_verdict {
    int cause;      /* enum job_cause */
    int rank, host; /* -1: none is blamed */
};

struct sim_world {
    uint64_t seed, begun_us;
    int nhosts, nranks;
    int tree_width; /* 0: no tree of agents */
    struct sim_host hosts[SIM_HOSTS_MAX];
    struct sim_worker *ranks[SIM_RANKS_MAX]; /* NULL until it runs */

    struct sim_process *launcher;
    struct host_list list;
    struct rank_plan plan;
    struct job_options options;
    struct job_key key;
    struct job *job;
    struct job_rendezvous *rendezvous;
    struct sim_console consoles[2];
    bool reader_gone, output_dropped, slow_reader;
    int writers_without_thread; /* which a rank could use up */

    bool was_suspended, launcher_killed; /* hvdrun: by Ctrl-Z, by SIGKILL */
    bool slept;                          /* hvdrun, for some time */
    bool told_to_stop;                   /* the job, after the last Ctrl-Z */
    bool finished;
    int exit_status;
    uint64_t finished_us;
    struct sim_verdict verdict;
};

extern struct sim_world world;

/* host.c: the agent of a host begins, under its supervisor; `ends` is its stream, [1] its own.
 * Returns the process of the launcher's machine that stands for it, or NULL. */
struct sim_process *sim_host_begin(struct sim_host *host, struct sim_process *launcher,
                                   struct sim_end *ends[2]);

/* The command by which an agent connects to a host below its own; its word is the host's index. */
#define SIM_HOP "hop"

/* host.c: a command of the agent that runs now connects to a host below its own. `end` is stdin and
 * stdout of the command, and then the stream of the agent there. */
struct sim_process *sim_host_hop(struct sim_host *host, struct sim_end *end);

/* Is a path between the launcher and the host down, or one of those through the hosts above? */
bool sim_host_is_cut(const struct sim_host *host);

/* Is one of these paths down in the direction of the launcher? */
bool sim_host_is_unheard(const struct sim_host *host);

/* output.c: the last line of stderr, empty if there is none; from the pool. */
const char *sim_last_line(void);

/* rank_infos.c: is every rank planned where it belongs? */
void sim_rank_infos_check(bool by_node);

/* launcher.c: draws hosts and ranks; starts hvdrun. */
void sim_world_draw(uint64_t seed);
void sim_launcher_begin(void);
void sim_world_end(void);

/* Every process is gone, but for those of hosts that have vanished and the launcher. */
bool sim_all_gone(void);

#endif
