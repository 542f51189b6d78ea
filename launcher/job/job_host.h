/* SPDX-License-Identifier: Apache-2.0 */
/* hvdrun's end of one agent: describes the job to it and turns its frames into calls.
 *
 *   closed -> connecting -> describing -> ready -> running -> done;  any from describing on -> lost
 *   connecting -> closed, if it cannot be reached
 *
 * An agent is not trusted: a frame that is malformed, out of turn, or about a rank of another host
 * loses the host. */
#ifndef LAUNCHER_JOB_JOB_HOST_H
#define LAUNCHER_JOB_JOB_HOST_H

#include "launcher/connect/host_connect.h"
#include "launcher/job/job.h"
#include "launcher/protocol/agent_protocol.h"
#include "launcher/protocol/clock_offset.h"
#include "launcher/protocol/frame_link.h"
#include "launcher/protocol/heartbeat_timeout.h"
#include "launcher/tree/host_tree.h"
#include "launcher/tree/tunnels.h"
#include "launcher/verdict/link_history.h"

enum host_phase {
    HOST_CLOSED,
    HOST_CONNECTING,
    HOST_DESCRIBING,
    HOST_READY,
    HOST_RUNNING,
    HOST_DONE,
    HOST_LOST
};

struct job_host_events {
    /* A step begins now. */
    void (*on_step)(void *context, int host, enum host_step step);

    /* Information for people; `important`: also without --verbose. */
    void (*on_note)(void *context, int host, bool important, const char *text);

    /* There will be no agent on the host; the host is closed. The exit status and the text give the
     * cause. */
    void (*on_connect_failed)(void *context, int host, int exit_status, const char *text);

    /* The host above could not connect to this one, which hvdrun does then. May be NULL. */
    void (*on_fall_back)(void *context, int host, const char *text);

    void (*on_ready)(void *context, int host);
    void (*on_failed)(void *context, int host, const struct agent_failed *failed);

    /* The host has answered job_host_send_heartbeat(): round_trip_us. May be NULL. */
    void (*on_alive)(void *context, int host);

    /* The processors to which a rank is bound, in a line; before the rank is started. */
    void (*on_bound)(void *context, int rank, const char *text);

    void (*on_started)(void *context, int rank, pid_t pid);

    /* `read_us`: when, by the agent's clock; see job_host_time(). */
    void (*on_output)(void *context, int rank, enum output_stream stream, uint64_t read_us,
                      const char *data, size_t length);
    void (*on_output_end)(void *context, int rank, enum output_stream stream);
    void (*on_stdin_credit)(void *context, uint32_t nbytes);
    void (*on_exited)(void *context, const struct agent_exited *exited);

    /* The end of job_host_exchange(): see job_callbacks. May be NULL. */
    void (*on_exchanged)(void *context, uint32_t id, int error, const void *answer, size_t length);

    /* A signal has stopped a rank. May be NULL. */
    void (*on_stopped)(void *context, int rank, const struct rank_end_how *how);

    /* One thread of a rank stands there; the agent has answered the question `id`. May be NULL. */
    void (*on_stack)(void *context, int rank, const char *where);
    void (*on_stacks_done)(void *context, int host, uint32_t id);

    /* Of an elastic job: SIGTERM has asked the agent to end; its ranks run on. May be NULL. */
    void (*on_drain)(void *context, int host);
    void (*on_done)(void *context, int host, int left);

    /* The link has ended before the host was done; see lost_reason and lost_status. */
    void (*on_lost)(void *context, int host);

    /* The local process that stands for the host, or else the stream, has ended: agent_ended.
     * Before or after on_done() or on_lost(). */
    void (*on_agent_end)(void *context, int host);
};

enum rank_phase { RANK_WAITING, RANK_RUNNING, RANK_ENDED };

/* The state of a rank, at hvdrun's end of the link. */
struct host_rank {
    enum rank_phase phase;
    uint32_t window[OUTPUT_STREAMS]; /* bytes that the agent may still send */
    bool output_ended[OUTPUT_STREAMS];
    bool stopped; /* by a signal, now */
    bool ends;    /* it was told to end, alone */
    int nstops;   /* how often it was */
};

/* The number of lists of connections, which keeps each list short: a rank has one connection, or a
 * few. */
enum { JOB_HOST_RELAY_LISTS = 256 };

struct job_host {
    int index;                    /* these five are set by the owner */
    int parent;                   /* the host above (host_tree.h), or HOST_TREE_ROOT */
    const struct rank_plan *plan; /* borrowed; by rank */
    struct rank_host where;       /* its host and ranks, borrowed */
    const char *interfaces;       /* its part of --network-interfaces; the owner's */
    enum host_phase phase;
    enum host_step step;
    uint64_t step_since_ms;
    bool stopping;  /* it was told to stop: some ranks may never have run */
    bool suspended; /* hvdrun is about to stop for a while */
    struct host_connect *connect;
    struct frame_link link;
    bool linked;          /* `link` is not closed yet */
    bool local;           /* the agent is a child of ours */
    bool srun;            /* srun has started it: its stream has ended before its cause is known */
    bool below;           /* the agent of `parent` connects to it */
    bool like_parent;     /* that agent has the description that this one gets */
    bool cut_off;         /* by the loss of that agent */
    pid_t agent;          /* the local process that stands for it; 0 if there is none */
    pid_t sweep_pid;      /* the process of the sweep (job_sweep.h); 0 for none */
    bool agent_ended;     /* `agent`, or else the stream */
    bool agent_killed;    /* by us, because it did not end */
    bool awaits_cause;    /* of an end that the agent did not cause: srun says it soon after */
    bool over;            /* nothing more comes: an elastic job closes it */
    uint64_t start_by_ms; /* of an elastic job: when its ranks should run, on the job's clock */
    uint64_t end_by_ms;   /* on the job's clock, ran_ms: when `agent`, or the stream, should have
                         * ended; or 0 */
    int agent_status;     /* of the process, as waitpid() gave it */
    struct tunnels tunnels;             /* to hosts below */
    struct link_history history;        /* on the clock of uv_now() */
    struct heartbeat_timeout heartbeat; /* since bytes have come, or queued bytes have left */
    uint64_t taken;                     /* bytes that had left for the agent at the last check */
    bool behind;                        /* more bytes were queued then */
    uint64_t acknowledged;              /* host_connect_acknowledged() at the last check */
    struct heartbeat_timeout gap;       /* since bytes have come, without a limit */
    uint64_t gap_ms;                    /* the length of the last long gap; 0: there was none */
    uint64_t gap_end_ms;                /* its end, by uv_now(): at STOP at the latest */
    uint64_t stopped_ms;                /* when it was told to stop first, by uv_now() */
    bool starved;                       /* silent for too long, excused, and reported */
    struct clock_offset clock;          /* the agent's uv_hrtime() */
    int nnotes;                         /* notes that it has sent */
    uint32_t stacks_id;                 /* of the question about stacks that is open; 0: none */
    int nstacks;                        /* answers to it */
    int unanswered;                     /* heartbeats since one was answered */
    uint64_t unanswered_us;             /* when the first of them was sent: uv_hrtime() */
    uint64_t round_trip_us;             /* of the last heartbeat; 0 if there was none */
    uint64_t ordered_us;                /* the last START, SIGNAL or STOP on this link, also in a
                                         * MULTICAST, was sent before then: uv_hrtime() */
    uint64_t echoed_us;                 /* when the last answered heartbeat was sent: uv_hrtime() */
    struct agent_ready facts;           /* valid once it is ready */
    char lost_reason[500];              /* why its link broke; "" for an end of file */
    int lost_status;                    /* hvdrun's status for it: an enum exit_status */
    uint32_t stdin_window;              /* bytes of stdin that may still be sent */
    struct host_rank *ranks;            /* by local_rank */
    const struct rendezvous_server *rendezvous;    /* borrowed */
    struct relayed *relayed[JOB_HOST_RELAY_LISTS]; /* connections of its clients, by number */
    uv_loop_t *loop;
    const struct job_options *options;
    const struct job_host_events *events;
    void *context;
    void (*on_closed)(void *context);
    void *closed_context;
};

/* Connects to the host and sends it everything up to PREPARE. Connections that come in through it
 * go to `rendezvous`. Does not call back before it returns. */
void job_host_open(struct job_host *host, struct connect_queue *pool, uv_loop_t *loop,
                   const struct job_options *options, const struct rendezvous_server *rendezvous,
                   const struct job_host_events *events, void *context);

/* For a host below another, and as long as it waits: connects to it through the agent of that host,
 * which is ready, or from here. */
void job_host_connect_through(struct job_host *host, struct job_host *above);
void job_host_connect_directly(struct job_host *host);

/* Would a MULTICAST that hvdrun sends to `above` now, the parent of this host, reach this host, and
 * overtake no START, SIGNAL or STOP that hvdrun has sent to this host itself? True also for a host
 * that is done, because it needs none, below a host that passes the MULTICAST on or is done. */
bool job_host_hears_multicast(const struct job_host *host, const struct job_host *above);

/* Starts its ranks. `start` is what hvdrun's own host gets; others get it without own_address. Here
 * and below, `cast` says how the frame gets to the host (host_tree.h). */
void job_host_start(struct job_host *host, const struct agent_start *start, enum host_cast cast);

/* Has the agent send a request to a process that listens on its host; see job_exchange(). */
void job_host_exchange(struct job_host *host, uint32_t id, uint32_t ip, uint16_t port,
                       const void *request, size_t length);

/* Asks where the ranks stand; on_stack() and on_stacks_done() follow. */
void job_host_ask_stacks(struct job_host *host, uint32_t id);

/* Asks for a heartbeat. */
void job_host_send_heartbeat(struct job_host *host);

/* Call this every HEARTBEAT_CHECK_MS: a host that has been silent for too long, or does not read,
 * is lost. Until the host is ready, and again until its ranks run, it may be silent, because the
 * start has a limit of its own. The host may also be silent while it reads queued bytes: its
 * heartbeats come behind them. `hidden`: a host above is silent, or lost, so this one is not
 * lost by the heartbeat timeout. */
void job_host_heartbeat_check(struct job_host *host, bool hidden);

/* Is the host lost, or has nothing come from it for an unusual time, or need nothing come? */
bool job_host_is_quiet(const struct job_host *host);

/* The first rank there that has not been started, or -1. */
int job_host_waiting_rank(const struct job_host *host);

/* Is the rank stopped by a signal? */
bool job_host_rank_is_stopped(const struct job_host *host, int rank);

/* For how long nothing has come from a host whose ranks run; 0 if that time is not unusual. */
uint64_t job_host_silent_ms(const struct job_host *host);

/* For how long nothing had come from the host, until shortly before hvdrun began to stop the job at
 * `stop_ms` by uv_now(), or until then: so long that a host below may have ended because of that.
 * Else 0, and if `stop_ms` is 0: the job does not stop. */
uint64_t job_host_gap_before_ms(const struct job_host *host, uint64_t stop_ms);

/* Was the host told to start its ranks, and does some rank not run yet? */
bool job_host_is_starting(const struct job_host *host);

/* Stops the ranks there. A host that is still connecting is given up (on_connect_failed() with
 * status 0, later). */
void job_host_stop(struct job_host *host, int signum, uint32_t grace_ms, enum host_cast cast);

/* Stops one rank there. A rank that does not run yet is stopped as soon as it does, and a host that
 * has no other ranks is stopped instead. Of a rank that has ended, what it has left behind is. */
void job_host_stop_rank(struct job_host *host, int rank, int signum, uint32_t grace_ms);

/* Sends a signal to the ranks, if they run. SIGSTOP also announces that hvdrun is about to stop,
 * and SIGCONT that it goes on. */
void job_host_signal(struct job_host *host, int signum, enum host_cast cast);
void job_host_credit(struct job_host *host, int rank, enum output_stream stream, uint32_t nbytes);
void job_host_stdin(struct job_host *host, const void *data, size_t length);

/* Tells the rendezvous that all connections of the host have ended. */
void job_host_hang_up_relay(struct job_host *host);

/* The agent has ended: hangs up its link too. False if the link had ended already. */
bool job_host_cut(struct job_host *host);

/* Ends the agent of a host that should have ended by itself: kills the local process, and hangs up
 * if there is none or if nothing more is expected of it. */
void job_host_end_agent(struct job_host *host);

/* Converts a time on the agent's clock to ours (uv_hrtime() / 1000): never later than now. Returns
 * the possible error. */
uint64_t job_host_time(const struct job_host *host, uint64_t agent_us, uint64_t *at_us);

/* Has the agent, if there is one, read all that was sent until then? A heartbeat must have been
 * sent since. */
bool job_host_has_read(const struct job_host *host, uint64_t until_us);

/* Releases everything. No event comes any more; `on_closed` is called once `host` may be freed. */
void job_host_close(struct job_host *host, void (*on_closed)(void *context), void *context);

#endif
