/* SPDX-License-Identifier: Apache-2.0 */
/* The agent of one host: starts the ranks of that host, carries their output, stdin, signals and
 * ends over its link to hvdrun, offers the rendezvous on 127.0.0.1, and leaves no process behind.
 *
 *   receiving -> ready -> running -> sweeping -> done;   any of them -> orphaned
 *
 * receiving: the job is being described. ready: looked at, nothing runs. running: some rank runs.
 * sweeping: all ranks have ended, what they left behind is being ended. done: telling hvdrun so,
 * then over. orphaned: the link ended too early; everything is being killed. */
#ifndef LAUNCHER_AGENT_H
#define LAUNCHER_AGENT_H

#include "launcher/agent_protocol.h"
#include "launcher/frame_link.h"
#include "launcher/stop_plan.h"
#include "launcher/string_list.h"

#include <sys/resource.h>
#include <uv.h>

/* What stubborn processes get between SIGTERM and SIGKILL when nobody waits for them any more. */
enum { AGENT_ORPHAN_GRACE_MS = 1000, AGENT_LEFTOVER_GRACE_MS = 500, AGENT_OUTPUT_WAIT_MS = 1000 };

enum agent_phase {
    AGENT_RECEIVING,
    AGENT_IS_READY,
    AGENT_RUNNING,
    AGENT_SWEEPING,
    AGENT_IS_DONE,
    AGENT_ORPHANED
};

struct agent;
struct agent_rank;

/* Carries one output stream of a rank to hvdrun, never more than hvdrun has given credit for. */
struct agent_pump {
    uv_pipe_t pipe;
    struct agent_rank *rank;
    uint8_t stream;
    uint32_t credit;           /* bytes that may still be sent */
    uint64_t last_progress_ms; /* last byte, or last credit after there was none */
    bool reading, ended;       /* ended: OUTPUT_END has been sent */
    bool expiring;             /* found idle for too long; if it is so again, it is ended */
};

struct agent_rank {
    struct agent *agent;
    int rank;
    struct string_list environment; /* what only this rank gets */
    pid_t pid;                      /* 0 before it is started */
    bool running;
    struct agent_pump pumps[OUTPUT_STREAMS];
};

/* stdin of rank 0, if it is on this host. */
struct agent_stdin {
    uv_pipe_t pipe;
    bool open;
    uint32_t credit; /* bytes that hvdrun may still send */
};

struct agent_relay {
    uv_tcp_t listener;
    int port;
    uint32_t next_id;
    int count;
    struct relay_connection *connections;
    bool paused; /* hvdrun does not keep up: nothing is read from the connections */
};

struct agent {
    uv_loop_t *loop;
    struct frame_link link;
    uv_signal_t signals[4];
    uv_timer_t tick; /* runs while something is being brought to an end */
    enum agent_phase phase;
    struct agent_job job;
    struct string_list arguments, environment;
    char *program; /* the path of arguments.items[0] */
    struct rlimit nofile;
    struct agent_rank **ranks; /* in order of rank */
    int nranks, nrunning;
    struct agent_stdin stdin_pipe;
    struct agent_relay relay;
    struct stop_plan stop;
    uint64_t started_ms, sweeping_since_ms;
};

/* Runs an agent on two descriptors until its link and all its processes have ended. Returns the
 * exit status. */
int agent_run(uv_loop_t *loop, int input, int output);

/* ---- between the agent's files ---- */

/* agent_setup.c: describe the job. Each takes the frame's body and returns a status that breaks the
 * link when negative. */
int agent_on_job(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_arguments(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_environment(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_rank(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_prepare(struct agent *agent, struct wire_reader *body, struct err *err);

/* agent_ranks.c: the ranks as processes. */
int agent_on_start(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_signal(struct agent *agent, struct wire_reader *body, struct err *err);
struct agent_rank *agent_find_rank(struct agent *agent, int rank);
void agent_signal_ranks(struct agent *agent, int signum);
void agent_signal_everything(struct agent *agent, int signum);

/* Waits for whatever has ended, reports ranks. False if this process has no child any more. */
bool agent_reap(struct agent *agent);

/* agent_streams.c: output and stdin. */
int agent_on_credit(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_stdin(struct agent *agent, struct wire_reader *body, struct err *err);
void agent_pump_start(struct agent_rank *rank, enum output_stream stream, int fd);
void agent_stdin_start(struct agent *agent, int fd);

/* Ends the pumps that wait for an end of file that does not come (a process that is none of ours
 * holds the pipe). False while some pump is still open. */
bool agent_pumps_settled(struct agent *agent, uint64_t now_ms);
void agent_streams_close(struct agent *agent);

/* agent_relay.c: the rendezvous, offered on 127.0.0.1. */
int agent_relay_open(struct agent *agent, struct err *err);
int agent_on_relay_data(struct agent *agent, struct wire_reader *body, struct err *err);
int agent_on_relay_end(struct agent *agent, struct wire_reader *body, struct err *err);
void agent_relay_resume(struct agent *agent);
void agent_relay_close(struct agent *agent);

/* Reports that something cannot be done on this host (rank -1) or for one rank. */
void agent_send_failed(struct agent *agent, int rank, int exit_status, const char *text);

#endif
