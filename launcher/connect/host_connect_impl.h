/* SPDX-License-Identifier: Apache-2.0 */
/* Reaching hosts from inside: what reach.c (one host) and reach_pool.c (all of them) share. */
#ifndef LAUNCHER_CONNECT_REACH_IMPL_H
#define LAUNCHER_CONNECT_REACH_IMPL_H

#include "launcher/connect/agent_bootstrap_run.h"
#include "launcher/connect/connect_stderr.h"
#include "launcher/connect/host_transport.h"
#include "launcher/hosts/local_host.h"

/* Between their turn and reached, at once. */
enum { REACH_AT_ONCE = 64 };

/* waiting -> opening -> greeting -> reached;   any of them -> failed;   all of them -> closing */
enum reach_phase {
    REACH_WAITING,  /* for its turn */
    REACH_OPENING,  /* a way is on it, or is being closed for another */
    REACH_GREETING, /* /bin/sh runs there */
    REACH_REACHED,
    REACH_FAILED,
    REACH_CLOSING
};

struct reach {
    struct reach_pool *pool;
    struct reach_target target;
    struct reach_job job;
    struct reach_events events;
    void *context;
    enum reach_phase phase;
    enum host_step step;
    bool has_turn;
    const struct reach_way *way;  /* NULL while there is none */
    const struct reach_way *next; /* to be opened once `way` is closed */
    void *way_state;
    uv_timer_t turn;     /* closes the way, never from inside its own calls */
    uv_timer_t deadline; /* until it must be reached */
    char *command;       /* owned; of reach_way_needs_command() */
    struct reached reached;
    bool owns_stream; /* the descriptors in `reached` are still ours */
    bool handed_over; /* on_reached() was called */
    struct greeting_run *greeting;
    bool stream_ended, way_ended, process_ended;
    int process_status;
    struct reach_stderr said;
    int nlines; /* of what is said that were told */
    char end_text[700];
    char answer[80]; /* what came on the stream instead of one */
    void (*on_closed)(void *context);
    void *closed_context;
    int open_timers;
    struct reach *next_waiting;
};

struct reach_pool {
    uv_loop_t *loop;
    const struct reach_settings *settings;
    struct children *children;
    struct local_host self;
    int nturns;                                    /* hosts that have their turn */
    int nopen;                                     /* that are not freed */
    struct reach *first_waiting, **end_of_waiting; /* for their turn, in order */
};

/* ---- reach_pool.c ---- */

/* Gives the host its turn, or lets it wait. */
void reach_pool_add(struct reach_pool *pool, struct reach *reach);

/* It needs its turn no more; the next host gets one. */
void reach_pool_turn_over(struct reach_pool *pool, struct reach *reach);

/* How a host is reached to begin with. */
const struct reach_way *reach_pool_choose(struct reach_pool *pool,
                                          const struct reach_target *target);

/* ---- reach.c ---- */

/* Its turn has come. */
void reach_begin(struct reach *reach);

#endif
