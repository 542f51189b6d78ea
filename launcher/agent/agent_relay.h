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
    uv_timer_t stall; /* runs while some client reads too slowly */
    uv_idle_t turn;   /* runs while connections come */
    int port;
    int accepted; /* in this iteration of the loop */
    unsigned limit;
    unsigned counts[2]; /* of connections: of other users, and of the agent's own user */
    uint32_t last_id;
    struct relay_connection *connections;
    struct relay_connection **table; /* the same connections by number; NULL while the relay is
                                      * closed */
    struct socket_owner owner;
    uint32_t
        stall_ms; /* of agent_settings: the agent hangs up on a client that reads nothing for so
                   * long */
    bool paused;  /* hvdrun reads too slowly: nothing is read from the connections */
};

struct relay_connection {
    uv_tcp_t socket;
    struct agent *agent;
    uint32_t id;
    bool own;         /* the client belongs to the agent's user */
    bool said_end;    /* hvdrun was told that the client sends no more */
    bool reader_gone; /* the client reads no more; bytes it has sent before are still read */
    bool ending;      /* hvdrun sends no more */
    bool closing;
    bool behind; /* the client has unread bytes; nothing is read from it meanwhile */
    uint64_t given,
        taken; /* bytes for the client, and those of them that had left this process at the last
                * check */
    struct heartbeat_timeout unread;        /* while the client is behind: since it last read
                                             * something */
    struct relay_connection *next, **link;  /* list of all connections; link: the pointer to this
                                             * one */
    struct relay_connection *next_in_table; /* list of connections in the same bucket */
};

/* NULL if the connection has ended meanwhile. */
struct relay_connection *relay_connection_find(const struct agent *agent, uint32_t id);

/* Reads from the connection, except while the link is full or the client is behind. */
void relay_connection_listen(struct relay_connection *connection);

/* Ends the connection, and tells hvdrun unless that has been done. */
void relay_connection_end(struct relay_connection *connection);
void relay_connection_close(struct relay_connection *connection);

/* Call this when the relay is opened. */
void relay_answer_init(struct agent *agent);

#endif
