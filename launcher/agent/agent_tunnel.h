/* SPDX-License-Identifier: Apache-2.0 */
/* One command by which an agent connects to a host below it: its life is in agent_tunnel.c, and the
 * frames for it in agent_tunnel_frames.c. */
#ifndef LAUNCHER_AGENT_AGENT_TUNNEL_H
#define LAUNCHER_AGENT_AGENT_TUNNEL_H

#include "launcher/agent/agent_impl.h"
#include "launcher/process/spawn.h"
#include "launcher/tree/tunnel_end.h"
#include "launcher/tree/tunnel_multicast.h"

struct agent_tunnel {
    struct agent *agent;
    struct tunnel_end end;
    struct tunnel_multicast multicast; /* unused before TUNNEL_DESCRIBE */
    uv_timer_t timer;                  /* sends the end, then kills */
    uv_poll_t errors_poll;
    int errors; /* the command's stderr */
    size_t nerrors;
    struct spawned spawned;
    char name[61]; /* of the command, for messages */
    int wait_status;
    bool stream_over, process_over;
    bool told;                /* TUNNEL_END was sent */
    bool scripted, described; /* TUNNEL_SCRIPT, TUNNEL_DESCRIBE has come */
    bool hung_up;             /* by hvdrun, or because the link has ended */
    int open_handles;
    struct agent_tunnel *next;
};

/* Runs the command, which becomes tunnel `number`. TUNNEL_END says so if it cannot be started. */
void agent_tunnel_open(struct agent *agent, uint32_t number, const struct string_list *words);

/* hvdrun has given credit. HVD_ERR_PROTOCOL if that is more than was used. */
int agent_tunnel_credit(struct agent_tunnel *tunnel, uint32_t nbytes, struct err *err);

/* Writes nothing more into the tunnel. A command that is given up gets a signal, another one has
 * time to end by itself. */
void agent_tunnel_hang_up(struct agent_tunnel *tunnel, bool given_up);

/* Gives the command up, and says why in TUNNEL_END. */
void agent_tunnel_cut_off(struct agent_tunnel *tunnel, const char *why);

#endif
