/* SPDX-License-Identifier: Apache-2.0 */
/* What reach.c (which host, which way, in which turn) and the ways to a host share: reach_local.c,
 * reach_ssh.c and reach_command.c.
 *
 * A way to another machine has /bin/sh run there, with three byte streams: two go through a pair of
 * descriptors that reach.c reads and writes, stderr comes in pieces. What /bin/sh is told, so that
 * it becomes hvdagent, is not the way's business (greeting.h). */
#ifndef LAUNCHER_CONNECT_REACH_WAY_H
#define LAUNCHER_CONNECT_REACH_WAY_H

#include "launcher/connect/host_connect.h"

/* What a way is asked for; borrowed until it is closed. */
struct reach_job {
    uv_loop_t *loop;
    const struct reach_settings *settings;
    const struct reach_target *target;
    struct children *children;
    struct reach *reach; /* for the calls below */
};

struct reach_way {
    const char *name;

    /* Begins. Does not call back before it returns. The way's own state, never NULL. */
    void *(*open)(const struct reach_job *job);

    /* Gives up or hangs up, frees the state, and calls reach_way_closed() in a later turn of the
     * loop: the last call that is made. Called once for each open(), also when the way has failed or
     * ended, and never from inside one of the calls below. */
    void (*close)(void *way);

    /* After reach_way_opened(): bytes that the kernel of the host has acknowledged so far. NULL: it
     * does not know. */
    uint64_t (*acknowledged)(const void *way);
};

extern const struct reach_way reach_local_way, reach_ssh_way, reach_command_way;

/* ---- what a way tells reach.c ---- */

void reach_way_step(struct reach *reach, enum host_step step);
void reach_way_note(struct reach *reach, bool important, const char *text);

/* /bin/sh runs there; or, for the local way, hvdagent itself. The descriptors in `reached` go over
 * to reach.c, and are non-blocking. */
void reach_way_opened(struct reach *reach, const struct reached *reached);

/* Before that: it cannot be done. */
void reach_way_failed(struct reach *reach, int exit_status, const char *text);

/* Some of what the host says on stderr. */
void reach_way_stderr(struct reach *reach, const char *data, size_t length);

/* After reach_way_opened(): the way has ended and its end of the descriptors is closed, or is about
 * to be. `text` says why, as reach_end_text() will; "" if that was in order. */
void reach_way_ended(struct reach *reach, const char *text);

/* The local process that was named in reach_way_opened() has ended. */
void reach_way_process_end(struct reach *reach, int wait_status);

/* This host is this machine after all (an address of ours): open it by that way. Or: it can only be
 * reached through a command, this one ("ssh %h"); `why` is said to people. The way
 * is then closed. */
void reach_way_is_local(struct reach *reach);
void reach_way_needs_command(struct reach *reach, const char *command, const char *why);

void reach_way_closed(struct reach *reach);

/* The command with which a host is reached: what reach_way_needs_command() said, which is then not
 * the user's own; else settings->remote_shell. */
const char *reach_way_command(const struct reach *reach, bool *users_own);

/* Has the host been reached? Then a local process that stands for it is somebody else's. */
bool reach_way_is_reached(const struct reach *reach);

/* Is the address one of this machine's? For a way that has resolved a name. */
bool reach_way_is_own_address(struct reach *reach, const struct sockaddr *address);

#endif
