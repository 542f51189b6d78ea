/* SPDX-License-Identifier: Apache-2.0 */
/* The relay of the rendezvous and one client of it, shared by the relay's files: agent_relay.c
 * reads what the client sends, agent_relay_answer.c writes the answer to the client. */
#ifndef LAUNCHER_AGENT_AGENT_RELAY_H
#define LAUNCHER_AGENT_AGENT_RELAY_H

#include "launcher/process/socket_owner.h"
#include "launcher/protocol/heartbeat_timeout.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct agent;
struct relay_connection;

struct agent_relay {
    uv_tcp_t listener;
    uv_timer_t stall; /* runs while some client does not keep up */
    uv_idle_t turn;   /* runs while connections come */
    int port;
    int accepted; /* in this turn */
    unsigned limit;
    unsigned counts[2]; /* of connections: others', and those of the agent's own user */
    uint32_t last_id;
    struct relay_connection *connections;
    struct relay_connection **table; /* the same by number; NULL while the relay is closed */
    struct socket_owner owner;
    uint32_t
        stall_ms; /* given to agent_open(): a client that reads nothing for so long is hung up on */
    bool paused;  /* hvdrun does not keep up: nothing is read from the connections */
};

struct relay_connection {
    uv_tcp_t socket;
    struct agent *agent;
    uint32_t id;
    bool own;         /* its other end belongs to the agent's user */
    bool said_end;    /* to hvdrun: the client sends no more */
    bool reader_gone; /* the client reads no more; what it has said before is still read */
    bool ending;      /* hvdrun has said its own last word */
    bool closing;
    bool behind; /* it has not read all that it was sent, and nothing is read from it */
    uint64_t given,
        taken; /* bytes for it, and what of them had left this process at the last check */
    struct heartbeat_timeout unread;        /* while it is behind: since it has read something */
    struct relay_connection *next, **link;  /* of all; link: what points at this one */
    struct relay_connection *next_in_table; /* of those with the same remainder */
};

/* NULL if it has ended meanwhile. */
struct relay_connection *relay_connection_find(const struct agent *agent, uint32_t id);

/* Reads from it, or does not: while the link is full, and while it is behind. */
void relay_connection_listen(struct relay_connection *connection);

/* Ends it, and tells hvdrun unless that has been done. */
void relay_connection_end(struct relay_connection *connection);
void relay_connection_close(struct relay_connection *connection);

/* To be called when the relay is opened. */
void relay_answer_init(struct agent *agent);

#endif
