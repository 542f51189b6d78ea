/* SPDX-License-Identifier: Apache-2.0 */
/* Connects a channel of ssh and a descriptor of this process. Bytes go both ways, and stderr goes
 * to a callback. Each direction keeps at most 128 KiB: then the sender must wait.
 *
 *   descriptor ends  -> the channel's input ends; what the host sends is still passed on
 *   channel ends     -> ended, with the status of its program if that is not 0
 *   connection lost  -> what had come is passed on; ended, with the cause */
#ifndef LAUNCHER_SSH_SSH_PUMP_H
#define LAUNCHER_SSH_SSH_PUMP_H

#include "launcher/ssh/ssh_session.h"

struct ssh_pump;

struct ssh_pump_events {
    void (*on_stderr)(void *context, const char *data, size_t length);

    /* Called once. The descriptor is closed afterwards; the pump may be closed from here. `text` is
     * "exit status 3", "connection reset by peer" or the like; "" if the end was in order. `lost`:
     * the connection was lost. */
    void (*on_end)(void *context, const char *text, bool lost);
};

/* The window for opening a channel. */
enum { SSH_PUMP_WINDOW = 96 * 1024, SSH_PUMP_PACKET = 32 * 1024 };

/* Takes the descriptor, a non-blocking socket. The session and the channel are borrowed. */
struct ssh_pump *ssh_pump_start(uv_loop_t *loop, struct ssh_session *session,
                                LIBSSH2_CHANNEL *channel, int fd,
                                const struct ssh_pump_events *events, void *context);

/* Drops kept bytes and closes the descriptor; the operation of the session is stopped. NULL is
 * fine. */
void ssh_pump_close(struct ssh_pump *pump);

#endif
