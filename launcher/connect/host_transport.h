/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between host_connect.c (one host), connect_queue.c (which transport, in which turn)
 * and the transports: transport_local.c, transport_ssh.c, transport_command.c,
 * transport_tunnel.c and transport_srun.c.
 *
 * A transport to another machine runs /bin/sh there, with three byte streams: two go through a pair
 * of descriptors that host_connect.c reads and writes, stderr comes in pieces. A transport knows
 * nothing of the bootstrap that turns /bin/sh into hvdagent (agent_bootstrap.h). */
#ifndef LAUNCHER_CONNECT_HOST_TRANSPORT_H
#define LAUNCHER_CONNECT_HOST_TRANSPORT_H

#include "launcher/connect/host_connect.h"

/* The request to a transport; borrowed until the transport is closed. */
struct host_transport_job {
    uv_loop_t *loop;
    const struct connect_settings *settings;
    const struct connect_target *target;
    struct children *children;
    struct host_connect *connect; /* for the calls below */
};

struct host_transport {
    const char *name;

    /* Begins. Does not call back before it returns. Returns the transport's own state, never
     * NULL. */
    void *(*open)(const struct host_transport_job *job);

    /* Gives up or hangs up, frees the state, and calls host_transport_closed() in a later iteration
     * of the loop, as the last call. Called once for each open(), also when the transport has
     * failed or ended, and never from inside one of the calls below. */
    void (*close)(void *transport);

    /* After host_transport_opened(): bytes that the kernel of the host has acknowledged so far.
     * NULL if the transport does not know. */
    uint64_t (*acknowledged)(const void *transport);
};

extern const struct host_transport transport_local, transport_ssh, transport_command,
    transport_srun, transport_tunnel;

/* ---- what a transport reports to host_connect.c ---- */

void host_transport_step(struct host_connect *connect, enum host_step step);
void host_transport_note(struct host_connect *connect, bool important, const char *text);

/* /bin/sh runs there; or, for the local transport, hvdagent itself. host_connect.c takes the
 * descriptors of the stream, which are non-blocking. */
void host_transport_opened(struct host_connect *connect, const struct host_stream *stream);

/* Before host_transport_opened(): the transport cannot be opened. */
void host_transport_failed(struct host_connect *connect, int exit_status, const char *text);

/* Some bytes of the host's stderr. */
void host_transport_stderr(struct host_connect *connect, const char *data, size_t length);

/* After host_transport_opened(): the transport has ended and its end of the descriptors is
 * closed, or is about to be. `text` is the cause for host_connect_end_text(); "" if the end was
 * in order. */
void host_transport_ended(struct host_connect *connect, const char *text);

/* The cause for host_connect_end_text(), which is known before the stream has ended, or after.
 * `ends_job`: the batch system ends all hosts. */
void host_transport_explain(struct host_connect *connect, const char *text, bool ends_job);

/* The local process that host_transport_opened() named has ended; or, for srun, all that it says
 * about the host's end has come. */
void host_transport_process_end(struct host_connect *connect, int wait_status);

/* host_transport_is_local(): the host is this machine after all (an address of ours), so the local
 * transport must open it. host_transport_needs_command(): only this command can connect to the host
 * ("ssh %h"); `why` is shown to people. The transport is then closed. */
void host_transport_is_local(struct host_connect *connect);
void host_transport_needs_command(struct host_connect *connect, const char *command,
                                  const char *why);

void host_transport_closed(struct host_connect *connect);

/* The command that connects to the host: the command of host_transport_needs_command(), which is
 * then not the user's own; else settings->remote_shell, which may be NULL. */
const char *host_transport_command_text(const struct host_connect *connect, bool *users_own);

/* Is the host connected? Then its owner watches the local process that stands for it. */
bool host_transport_is_connected(const struct host_connect *connect);

/* A pointer that all hosts of the queue share, for a transport that starts several at once: NULL to
 * begin with, and freed with the queue. */
void **host_transport_shared(struct host_connect *connect);

/* Is this an address of this machine? For a transport that has resolved a name. */
bool host_transport_is_own_address(struct host_connect *connect, const struct sockaddr *address);

#endif
