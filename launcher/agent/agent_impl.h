/* SPDX-License-Identifier: Apache-2.0 */
/* The private interface of the agent, shared by agent.c (its life), agent_setup.c (the description
 * of the job), agent_environment.c, agent_binding.c, agent_ranks.c (processes), agent_rank_ends.c
 * (their ends), agent_streams.c (output and stdin), agent_rank_stop.c (ending one rank),
 * agent_exchange.c (requests to processes here), agent_stacks.c and agent_trace.h (where ranks
 * stand), agent_torch.c (the variables of torchrun), agent_relay.c and agent_relay_answer.c (the
 * rendezvous), agent_watch.c (heartbeats), agent_tunnel.c and agent_tunnel_frames.c (hosts below
 * this one) and agent_sweep.c (an agent that only cleans up). A struct below belongs to the file
 * that it names; the other files read it.
 *
 *   receiving -> ready -> running -> sweeping -> done;   receiving -> refused
 *   any of them -> orphaned
 *
 * receiving: hvdrun describes the job. ready: the host is checked, nothing runs. running: some rank
 * runs. sweeping: all ranks have ended, the agent ends the processes that they left behind. done:
 * the agent sends DONE and ends. refused: hvdrun speaks another version; the agent says so and
 * ends. orphaned: the link ended too early, or hvdrun fell silent; the agent kills everything. From
 * refused on, the agent ignores all frames. */
#ifndef LAUNCHER_AGENT_AGENT_IMPL_H
#define LAUNCHER_AGENT_AGENT_IMPL_H

#include "launcher/agent/agent.h"
#include "launcher/agent/agent_relay.h"
#include "launcher/base/string_list.h"
#include "launcher/placement/binding.h"
#include "launcher/process/cgroup.h"
#include "launcher/process/oom_counter.h"
#include "launcher/process/stop_plan.h"
#include "launcher/protocol/agent_protocol.h"
#include "launcher/protocol/frame_link.h"
#include "launcher/protocol/heartbeat_timeout.h"
#include "lib/base/interfaces.h"

#include <stdbool.h>
#include <sys/resource.h>

/* The grace times for processes that ignore SIGTERM when nobody waits for them any more. */
enum { AGENT_ORPHAN_GRACE_MS = 1000, AGENT_LEFTOVER_GRACE_MS = 500, AGENT_OUTPUT_WAIT_MS = 1000 };

enum agent_phase {
    AGENT_RECEIVING,
    AGENT_IS_READY,
    AGENT_RUNNING,
    AGENT_SWEEPING,
    AGENT_IS_DONE,
    AGENT_REFUSED,
    AGENT_ORPHANED
};

struct agent_rank;

/* Carries one output stream of a rank to hvdrun, never more than hvdrun's credit. */
struct agent_pump {
    uv_pipe_t pipe;
    struct agent_rank *rank;
    uint8_t stream;
    uint32_t credit;           /* bytes that may still be sent */
    uint64_t last_progress_ms; /* of a byte, or of a credit after there was none */
    bool reading, ended;       /* ended: OUTPUT_END has been sent */
    bool expiring;             /* idle for too long at one check; if idle at the next check too, the
                                * pump is ended */
};

struct agent_rank {
    struct agent *agent;
    int rank, local_rank;
    struct string_list environment; /* only for this rank */
    char **envp;                    /* all of it, while the rank is being started */
    pid_t pid;                      /* 0 before it is started */
    bool running;
    bool told_to_end; /* alone, by STOP_RANK, while it ran */
    bool ends_itself; /* it was already ending when STOP came */
    struct agent_pump pumps[OUTPUT_STREAMS];
};

/* stdin of rank 0, if it is on this host. */
struct agent_stdin {
    uv_pipe_t pipe;
    bool open;
    uint32_t credit; /* bytes that hvdrun may still send */
};

/* agent_ending.c */
struct agent_ending {
    uv_signal_t signals[4];
    uv_timer_t tick; /* runs while processes are being ended */
    struct stop_plan stop;
    uint64_t sweeping_since_ms;
    pid_t parent;   /* the supervisor, or hvdrun */
    bool drains;    /* DRAIN was sent */
    bool unstarted; /* a signal has told the agent to end before START came */
};

/* agent_rank_stop.c: ranks that are being ended while others run on. */
struct agent_rank_stops {
    uv_timer_t tick; /* runs while there are some */
    struct agent_rank_stop *first;
};

/* agent_stacks.c: one question where the ranks stand. */
struct agent_stacks {
    uv_timer_t limit; /* runs while a question is being answered */
    bool asked;
    uint32_t id;    /* of the question */
    int next;       /* index of the rank to look at next */
    bool advancing; /* in agent_stacks.c: stacks_advance() runs */
    int ntraces;    /* ranks that are being looked at */
    struct agent_trace *first;
};

/* agent_setup.c: the description by hvdrun, and the results of checking it. */
struct agent_setup {
    struct agent_job job;
    struct agent_host host;
    struct wire_writer description; /* frames JOB, ARGUMENTS and ENVIRONMENT: TUNNEL_DESCRIBE */
    struct string_list arguments;
    char *program; /* the path of arguments.items[0] */
    struct rlimit nofile;
};

/* agent_environment.c: the part that is common to all ranks. */
struct agent_environment {
    struct string_list common;           /* for all ranks */
    char interface[INTERFACE_NAME_SIZE]; /* chosen for the ranks if the user chose none; else "" */
    char caller[AGENT_ADDRESS_SIZE];     /* as in READY */
    char address[AGENT_ADDRESS_SIZE];    /* likewise */
};

/* agent_torch.c: the port that is kept for rank 0. */
struct agent_torch {
    int fd;
    uint16_t port; /* 0: none */
};

/* agent_ranks.c: processes. */
struct agent_ranks {
    struct agent_rank **list; /* in order of rank, which is that of local_rank */
    int count, running;
    uint64_t started_ms;
    struct cgroup cgroup;
    struct oom_counter oom;
    bool library_told;              /* a missing library was reported, or none was found missing */
    bool suspended;                 /* the ranks are stopped because hvdrun is */
    struct stopped_process *halted; /* processes that the ranks have started: process_tree_stop() */
    int nhalted;
};

/* agent_streams.c: output streams are in the ranks' pumps. */
struct agent_streams {
    bool paused; /* hvdrun does not keep up: no output is read */
    int open;    /* pumps that have not ended */
    struct agent_stdin stdin_pipe;
};

/* agent_watch.c: does hvdrun still answer? */
struct agent_watch {
    uv_timer_t timer; /* runs while hvdrun must not be silent */
    struct heartbeat_timeout heartbeat;
};

/* agent_tunnel.c: the commands that connect to hosts below this one. */
struct agent_tunnels {
    struct agent_tunnel *first;
    int count;       /* that are not over */
    uint32_t opened; /* in all: the number of the next */
};

struct agent {
    uv_loop_t *loop;
    struct frame_link link;
    enum agent_phase phase;
    struct agent_setup setup;
    struct agent_environment environment;
    struct agent_torch torch;
    binding_places_fn *find_places; /* NULL: this agent binds no ranks */
    struct binding_places places;   /* to which ranks are bound; none if ranks are not bound */
    struct agent_ranks ranks;
    struct agent_streams streams;
    struct agent_relay relay;
    struct agent_watch watch;
    struct agent_ending ending;
    struct agent_rank_stops rank_stops;
    struct agent_exchange *exchanges;
    struct agent_stacks stacks;
    struct agent_tunnels tunnels;
};

/* agent_setup.c: the description of the job. Each function decodes the frame's body and returns a
 * status; a negative status breaks the link. */
int agent_on_job(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_arguments(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_host(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_prepare(struct agent *agent, struct wire_reader *body, struct err *err);
void agent_setup_fini(struct agent *agent);

/* Keeps a frame that is the same for all hosts. The body has not been read. */
void agent_keep_description(struct agent *agent, int type, const struct wire_reader *body);

/* Appends the texts of a body to `list`. */
int agent_take_texts(struct string_list *list, struct wire_reader *body, int type, struct err *err);

/* agent_environment.c: the environment of the ranks. The first function handles a frame. The others
 * run at PREPARE, in this order, and return 0, or an exit status and `err`. */
int agent_on_environment(struct agent *agent, struct wire_reader *body, struct err *err);
void agent_environment_inherit(struct agent *agent);
int agent_environment_choose_network(struct agent *agent, struct err *err);
int agent_environment_python(struct agent *agent, struct err *err);
int agent_environment_finish(struct agent *agent, struct err *err);

/* The variables of one rank, when its frame has come. */
void agent_environment_rank(const struct agent *agent, struct agent_rank *rank,
                            const struct agent_worker *worker);

/* True if a shared library of the program is not found here; `text` names the library, the file
 * that needs it, and a remedy. Blocks for a moment. */
bool agent_library_missing(struct agent *agent, char *text, size_t size);

/* Called at START, with the `address` of that frame, or "". */
void agent_environment_name_network(struct agent *agent, const char *address);
void agent_environment_fini(struct agent *agent);

/* agent_torch.c: the variables of torchrun. The first function runs at PREPARE: 0, or an exit
 * status and `err`; the second at START, before the ranks start. */
int agent_torch_reserve(struct agent *agent, struct err *err);
void agent_torch_environment(struct agent *agent, const struct agent_start *start);
void agent_torch_release(struct agent *agent);

/* agent_binding.c: the binding of ranks. 0, or an exit status and `err`. */
int agent_binding_plan(struct agent *agent, struct err *err);

/* NULL if ranks are not bound. */
const struct binding_place *agent_binding_of(const struct agent_rank *rank);

/* Sends BOUND, if hvdrun wants it. */
void agent_binding_report(const struct agent_rank *rank);

/* agent_watch.c: heartbeats. */
void agent_watch_init(struct agent *agent);
void agent_watch_start(struct agent *agent);            /* the job is described */
void agent_watch_heard(void *agent);                    /* bytes have come */
void agent_watch_told(struct agent *agent, int signum); /* SIGSTOP: hvdrun stops too; SIGCONT:
                                                         * hvdrun goes on */
int agent_on_heartbeat(struct agent *agent, struct wire_reader *body, struct err *err);
void agent_watch_close(struct agent *agent);

/* agent_ranks.c: the ranks as processes. */
int agent_on_rank(struct agent *agent, struct wire_reader *body, struct err *err);
void agent_ranks_fini(struct agent *agent);
void agent_ranks_prepare(struct agent *agent); /* what need not wait for START */
int agent_on_start(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_signal(struct agent *agent, struct wire_reader *body, struct err *err);
struct agent_rank *agent_find_rank(struct agent *agent, int rank);
void agent_signal_ranks(struct agent *agent, int signum);
void agent_signal_everything(struct agent *agent, int signum);

/* agent_rank_ends.c. Reports each process that lives on after SIGKILL, up to this number. */
enum { AGENT_STUCK_TOLD = 8 };
void agent_tell_stuck(struct agent *agent);

/* Reaps every child that has ended, or was stopped, and reports ranks. False if this process has no
 * child any more. */
bool agent_reap(struct agent *agent);

/* agent_streams.c: output and stdin. */
int agent_on_credit(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_stdin(struct agent *agent, struct wire_reader *body, struct err *err);
void agent_pump_start(struct agent_rank *rank, enum output_stream stream, int fd);
void agent_stdin_start(struct agent *agent, int fd);

/* Ends the pumps that wait for an end of file that does not come (a process of another job holds
 * the pipe). False while some pump is still open. */
bool agent_pumps_ended(struct agent *agent, uint64_t now_ms);
void agent_pumps_give_up(struct agent *agent); /* the pumps of ranks that cannot be killed */
void agent_pumps_resume(struct agent *agent);  /* the link has room again */

/* Passes on what the ranks have written to stderr and was not read yet, as far as there is credit:
 * what a rank said before another rank failed must come before the report of that failure. */
void agent_streams_take_stderr(struct agent *agent);
void agent_streams_close(struct agent *agent);

/* agent_relay.c: the rendezvous on 127.0.0.1. The limit applies to connections of the agent's own
 * user, and separately to those of other users. */
unsigned agent_relay_limit(const struct agent *agent);
int agent_relay_open(struct agent *agent, struct err *err);
int agent_on_relay_data(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_relay_end(struct agent *agent, struct wire_reader *body, struct err *err);
void agent_relay_resume(struct agent *agent);

/* Passes on the bytes that have come and were not read yet: what a rank sent before its exit must
 * come before the report of the exit. */
void agent_relay_take_rest(struct agent *agent);
void agent_relay_close(struct agent *agent);

/* agent_exchange.c: handles EXCHANGE. */
int agent_on_exchange(struct agent *agent, struct wire_reader *body, struct err *err);
void agent_exchanges_close(struct agent *agent);

/* agent_stacks.c: handles STACKS; a child that is neither a rank nor of a tunnel was waited for. */
void agent_stacks_init(struct agent *agent);
int agent_on_stacks(struct agent *agent, struct wire_reader *body, struct err *err);
void agent_stacks_reaped(struct agent *agent, pid_t pid);
void agent_stacks_close(struct agent *agent);

/* agent_rank_stop.c: handles STOP_RANK by ending one rank and what it has started. */
void agent_rank_stops_init(struct agent *agent);
int agent_on_stop_rank(struct agent *agent, struct wire_reader *body, struct err *err);
void agent_rank_stops_close(struct agent *agent);

/* agent_sweep.c: handles SWEEP by ending the processes of an earlier agent; DONE follows. */
int agent_on_sweep(struct agent *agent, struct wire_reader *body, struct err *err);

/* agent_tunnel_frames.c: handles TUNNEL_OPEN and the frames that follow, and MULTICAST. */
int agent_on_tunnel_open(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_tunnel_data(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_tunnel_credit(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_tunnel_script(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_tunnel_describe(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_tunnel_close(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_multicast(struct agent *agent, struct wire_reader *body, struct err *err);

/* agent_tunnel.c: for all tunnels. */
void agent_tunnels_resume(struct agent *agent);  /* the link has room again */
void agent_tunnels_hang_up(struct agent *agent); /* the link has ended */
void agent_tunnels_close(struct agent *agent);

/* A child of this process has ended, or was stopped: true if it is the command of a tunnel. */
bool agent_tunnel_reaped(struct agent *agent, pid_t pid, int wait_status);

/* The commands that run; allocates `*pids`. Returns their number. */
int agent_tunnels_pids(const struct agent *agent, pid_t **pids);

/* Has this process children besides these commands? */
bool agent_has_other_children(const struct agent *agent);

/* agent_ending.c: the command of a tunnel, or the output of a rank, has ended, which the end of the
 * agent may wait for. */
void agent_tunnel_is_over(struct agent *agent);
void agent_output_is_over(struct agent *agent);

/* agent.c: handles the body of a frame, unless it is out of turn. */
int agent_handle_frame(struct agent *agent, int type, struct wire_reader *body, struct err *err);

/* agent.c: reports a failure of this host (rank -1) or of one rank. */
void agent_send_failed(struct agent *agent, int rank, enum host_step step, int exit_status,
                       const char *text);

/* agent_ending.c: the timer and the signals; then STOP. agent_orphan() ends everything because the
 * link has ended. agent_close_everything() lets the loop run out. */
void agent_ending_init(struct agent *agent);
int agent_on_stop(struct agent *agent, struct wire_reader *body, struct err *err);
void agent_orphan(struct agent *agent);
void agent_close_everything(struct agent *agent);

/* agent_ending.c: hvdrun seems to be gone. Sends a last report in case hvdrun is there, and ends as
 * if the link had ended. */
void agent_give_up(struct agent *agent, const char *text);

#endif
