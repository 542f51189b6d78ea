/* SPDX-License-Identifier: Apache-2.0 */
/* hvdrun's ends of the tunnels over the link of one agent, which runs a command for each of them:
 *
 *   open -> TUNNEL_DATA, TUNNEL_CREDIT, TUNNEL_ERRORS -> ended (on_end) -> closed
 *
 * A tunnel ends when the agent says so, and when the link is lost (tunnels_cut()). When our
 * descriptor ends first, the agent is told to end the command's stdin, and says when the command
 * has ended. The agent is not trusted: what it sends for a tunnel that does not exist, or too much,
 * is an error of the link. */
#ifndef LAUNCHER_TREE_TUNNELS_H
#define LAUNCHER_TREE_TUNNELS_H

#include "launcher/base/string_list.h"
#include "launcher/protocol/frame_link.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct tunnel;

/* The tunnels of one link. `link` is borrowed, and NULL once it is lost. */
struct tunnels {
    struct frame_link *link;
    struct tunnel **list; /* by number; NULL: closed */
    uint32_t count;
    int nopen; /* that have not ended */
};

struct tunnel_events {
    /* Bytes of the command's stderr. */
    void (*on_errors)(void *context, const char *data, size_t length);

    /* The tunnel has ended, once; `text` says why, "" if it is in order. Everything that has come
     * before goes to the descriptor, which is then closed. */
    void (*on_end)(void *context, const char *text);
};

/* Has the agent run a command, and carries its stdin and stdout. Takes `fd`, also on failure. NULL
 * and `err` if the link is lost or was used up. */
struct tunnel *tunnel_open(struct tunnels *tunnels, uv_loop_t *loop, int fd,
                           const struct string_list *words, const struct tunnel_events *events,
                           void *context, struct err *err);

/* Has the agent there write the script by which /bin/sh at the end of the tunnel becomes hvdagent
 * (agent_bootstrap_script()). */
void tunnel_script(struct tunnel *tunnel, const char *nonce, const char *agent, uint64_t size);

/* Has the agent there describe the job to the one that has been connected through the tunnel
 * (TUNNEL_DESCRIBE). Call it before anything else is sent to that agent. */
void tunnel_describe(struct tunnel *tunnel);

/* `given_up`: the command has not connected, and is ended. No event comes any more; `on_closed` is
 * called once, perhaps before this function returns. */
void tunnel_close(struct tunnel *tunnel, bool given_up, void (*on_closed)(void *context),
                  void *context);

/* Is it a frame of a tunnel, from the agent? Handles the body of one. */
bool tunnels_has_frame(int type);
int tunnels_on_frame(struct tunnels *tunnels, int type, struct wire_reader *body, struct err *err);

/* The link is about to be closed: nothing is sent any more. The tunnels do not end yet. */
void tunnels_mute(struct tunnels *tunnels);

/* The link is lost: every tunnel ends, because of `text`. */
void tunnels_cut(struct tunnels *tunnels, const char *text);

/* Frees the list. All tunnels must have been cut or closed. */
void tunnels_fini(struct tunnels *tunnels);

#endif
