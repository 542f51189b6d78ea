/* SPDX-License-Identifier: Apache-2.0 */
/* hvdrun's end of one agent: describes the job to it and turns its frames into calls.
 *
 *   closed -> connecting -> describing -> ready -> running -> done;   any from describing on -> lost
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
    /* A step is being taken now. */
    void (*on_step)(void *context, int host, enum host_step step);

    /* Something that people may want to know; `important`: in any case. */
    void (*on_note)(void *context, int host, bool important, const char *text);

    /* There will be no agent on it; the host is closed. The exit status and the text say why. */
    void (*on_connect_failed)(void *context, int host, int exit_status, const char *text);

    void (*on_ready)(void *context, int host);
    void (*on_failed)(void *context, int host, const struct agent_failed *failed);

    /* It has answered job_host_send_heartbeat(): round_trip_us. May be NULL. */
    void (*on_alive)(void *context, int host);

    /* What a rank is bound to, in a line; before it is started. */
    void (*on_bound)(void *context, int rank, const char *text);

    void (*on_started)(void *context, int rank, pid_t pid);
    void (*on_output)(void *context, int rank, enum output_stream stream, const char *data,
                      size_t length);
    void (*on_output_end)(void *context, int rank, enum output_stream stream);
    void (*on_stdin_credit)(void *context, uint32_t nbytes);
    void (*on_exited)(void *context, const struct agent_exited *exited);

    /* Somebody has stopped a rank. May be NULL. */
    void (*on_stopped)(void *context, int rank, int signum);
    void (*on_done)(void *context, int host, int left);

    /* The link has ended before the host was done; see lost_reason and lost_status. */
    void (*on_lost)(void *context, int host);

    /* What stood for the host, a local process or else the stream, has ended: agent_ended. Before
     * or after on_done() or on_lost(). */
    void (*on_agent_end)(void *context, int host);
};

enum rank_phase { RANK_WAITING, RANK_RUNNING, RANK_ENDED };

/* A rank as its host's end of the link knows it. */
struct host_rank {
    enum rank_phase phase;
    uint32_t window[OUTPUT_STREAMS]; /* bytes that the agent may still send */
    bool output_ended[OUTPUT_STREAMS];
    bool stopped; /* by somebody, now */
    int nstops;   /* so often it was */
};

/* As many lists of connections as keep each of them short; a rank has one connection, or a few. */
enum { JOB_HOST_RELAY_LISTS = 256 };

struct job_host {
    int index;
    const struct rank_host *where; /* borrowed from the plan */
    enum host_phase phase;
    enum host_step step;
    uint64_t step_since_ms;
    bool stopping;  /* it was told to stop: some ranks may never have run */
    bool suspended; /* hvdrun is about to stop for a while */
    struct host_connect *connect;
    struct frame_link link;
    bool linked;        /* `link` is not closed yet */
    bool local;         /* the agent is a child of ours */
    pid_t agent;        /* the local process that stands for it; 0 if there is none */
    pid_t sweep_pid;    /* the one that connects once more (job_sweep.h); 0 for none */
    bool agent_ended;   /* that process, or else the stream */
    bool agent_killed;  /* by us: it lived on when it should not */
    uint64_t end_by_ms; /* the job's: when the rest of it should have ended too, as ran_ms; or 0 */
    int agent_status;   /* of the process, as waitpid() gave it */
    struct link_history history; /* as uv_now() says it */
    struct heartbeat_timeout
        heartbeat;             /* since something came, or something that waited was taken */
    uint64_t taken;            /* bytes that had left for the agent at the last check */
    bool behind;               /* and more was waiting */
    uint64_t acknowledged;     /* as host_connect_acknowledged() had it at the last check */
    bool starved;              /* silent for too long, excused, and that was told */
    struct clock_offset clock; /* the agent's uv_hrtime() */
    int nnotes;                /* that it has sent */
    int unanswered;            /* heartbeats since one was answered */
    uint64_t unanswered_us;    /* the first of them was sent then: uv_hrtime() */
    uint64_t round_trip_us;    /* of the last heartbeat; 0 if there was none */
    uint64_t echoed_us;        /* the last one that was answered was sent then: uv_hrtime() */
    struct agent_ready facts;  /* once it is ready */
    char lost_reason[500];     /* why its link broke; "" for an end of file */
    int lost_status;           /* what that means for hvdrun: an enum exit_status */
    uint32_t stdin_window;     /* bytes of stdin that may still be sent */
    struct host_rank *ranks;   /* by local_rank */
    const struct rendezvous_server *rendezvous;    /* borrowed */
    struct relayed *relayed[JOB_HOST_RELAY_LISTS]; /* its connections, by number */
    uv_loop_t *loop;
    const struct job_options *options;
    const struct job_host_events *events;
    void *context;
    void (*on_closed)(void *context);
    void *closed_context;
};

/* Reaches the host and sends it everything up to PREPARE. Connections that come in through it go to
 * `rendezvous`. Does not call back before it returns. */
void job_host_open(struct job_host *host, struct connect_pool *pool, uv_loop_t *loop,
                   const struct job_options *options, const struct rendezvous_server *rendezvous,
                   const struct job_host_events *events, void *context);

/* Starts its ranks. `own_address` is where other hosts see hvdrun's own, or "". */
void job_host_start(struct job_host *host, const char *own_address);

/* Asks for a sign of life. */
void job_host_send_heartbeat(struct job_host *host);

/* To be called every HEARTBEAT_CHECK_MS: a host that has been silent for too long, or does not read
 * what it is sent, is lost. Until it is ready, and again until its ranks run, it may be silent:
 * whoever waits for that has a limit. So it may while it reads what has piled up for it: its
 * heartbeats come behind.
 */
void job_host_heartbeat_check(struct job_host *host);

/* The first rank there that has not been started, or -1; was the host told to start them? */
int job_host_waiting_rank(const struct job_host *host);

/* Has somebody stopped it? */
bool job_host_rank_is_stopped(const struct job_host *host, int rank);

/* For how long nothing has come from a host whose ranks run; 0 if that is nothing unusual. */
uint64_t job_host_silent_ms(const struct job_host *host);
bool job_host_is_starting(const struct job_host *host);

/* Stops what runs there; a host that is still being reached is given up (on_connect_failed() with
 * status
 * 0, later). */
void job_host_stop(struct job_host *host, int signum, uint32_t grace_ms);

/* To the ranks, if they run. SIGSTOP also says that hvdrun is about to stop, and SIGCONT that it
 * goes on. */
void job_host_signal(struct job_host *host, int signum);
void job_host_credit(struct job_host *host, int rank, enum output_stream stream, uint32_t nbytes);
void job_host_stdin(struct job_host *host, const void *data, size_t length);

/* Tells the rendezvous that all connections that came in through the host are gone. */
void job_host_hang_up_relay(struct job_host *host);

/* The agent has ended: its link is hung up too. False if it had ended already. */
bool job_host_cut(struct job_host *host);

/* Ends what stands for a host that should have ended by itself: kills the process, and hangs up if
 * there is none or nothing more is to be heard of it. */
void job_host_end_agent(struct job_host *host);

/* When that was on our clock (uv_hrtime() / 1000) which the agent says on its own: never later than
 * now. Returns by how much that may be wrong. */
uint64_t job_host_time(const struct job_host *host, uint64_t agent_us, uint64_t *at_us);

/* Has the agent read all that was sent until then, if there is one? A heartbeat must have been sent
 * since. */
bool job_host_has_read(const struct job_host *host, uint64_t until_us);

/* Releases everything. No event comes any more; `on_closed` is called once `host` may be freed. */
void job_host_close(struct job_host *host, void (*on_closed)(void *context), void *context);

#endif
