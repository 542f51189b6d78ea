/* SPDX-License-Identifier: Apache-2.0 */
/* The private interface shared by host_connect.c (one host) and connect_queue.c (all hosts). */
#ifndef LAUNCHER_CONNECT_HOST_CONNECT_IMPL_H
#define LAUNCHER_CONNECT_HOST_CONNECT_IMPL_H

#include "launcher/connect/agent_bootstrap_run.h"
#include "launcher/connect/connect_stderr.h"
#include "launcher/connect/host_transport.h"
#include "launcher/hosts/local_host.h"

/* The most hosts that have a turn at the same time. */
enum { CONNECT_AT_ONCE = 64 };

/* waiting -> opening -> bootstrap -> done;   any of them -> failed;   all of them -> closing
 * opening, bootstrap -> waiting, once, for a host below another */
enum connect_phase {
    CONNECT_WAITING,   /* for its turn, or for the host above it */
    CONNECT_OPENING,   /* a transport is being opened, or closed for another */
    CONNECT_BOOTSTRAP, /* /bin/sh runs there */
    CONNECT_DONE,
    CONNECT_FAILED,
    CONNECT_CLOSING
};

struct host_connect {
    struct connect_queue *pool;
    struct connect_target target;
    struct host_transport_job job;
    struct connect_events events;
    void *context;
    enum connect_phase phase;
    enum host_step step;
    bool has_turn;
    bool retries; /* it waits for its transport to be closed, and is then queued */
    const struct host_transport *transport; /* NULL while there is none */
    const struct host_transport *next;      /* to be opened once `transport` is closed */
    void *transport_state;
    uv_timer_t turn;     /* closes the transport, outside the transport's own calls */
    uv_timer_t deadline; /* by which the host must be connected */
    char *command;       /* owned; of host_transport_needs_command() */
    struct host_stream stream;
    bool owns_stream; /* the descriptors in `stream` are still ours */
    bool handed_over; /* on_connected() was called */
    struct agent_bootstrap_run *bootstrap;
    bool job_ends; /* `end_text` says why the batch system ends the job */
    bool stream_ended, transport_ended, process_ended;
    int process_status;
    struct connect_stderr said;
    int nlines; /* lines of stderr that were passed on */
    char end_text[CONNECT_STDERR_TAIL_SIZE + 200];
    char answer[80]; /* first line that came on the stream instead of an answer */
    void (*on_closed)(void *context);
    void *closed_context;
    int open_timers;
    struct host_connect *next_waiting;
    struct host_connect **waiting_at; /* the pointer to it in the queue; NULL: it does not wait */
};

struct connect_queue {
    uv_loop_t *loop;
    const struct connect_settings *settings;
    struct children *children;
    struct local_host self;
    void *shared;                                         /* host_transport_shared(); owned */
    int nturns;                                           /* hosts that have their turn */
    int nopen;                                            /* hosts that are not freed */
    struct host_connect *first_waiting, **end_of_waiting; /* waiting for their turn, in order */
};

/* ---- connect_queue.c ---- */

/* Gives the host its turn, or queues it. */
void connect_queue_add(struct connect_queue *pool, struct host_connect *connect);

/* The host needs its turn no more; the next host gets one. */
void connect_queue_turn_over(struct connect_queue *pool, struct host_connect *connect);

/* The first transport to try. */
const struct host_transport *connect_queue_choose(struct connect_queue *pool,
                                                  const struct connect_target *target);

/* ---- host_connect.c ---- */

/* The host's turn has come. */
void host_connect_begin(struct host_connect *connect);

#endif
