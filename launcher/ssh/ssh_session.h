/* SPDX-License-Identifier: Apache-2.0 */
/* libssh2 on a uv_poll handle: one operation at a time, tried again whenever bytes have come.
 *
 * A send of libssh2 never waits: bytes that the socket does not take are kept here and follow
 * later, so that no operation of libssh2 stops in the middle of a packet. Before sending much, a
 * caller asks ssh_session_unsent().
 *
 * The connection is lost when the host closes or resets it, when the host acknowledges nothing for
 * too long (the socket's own clocks), or does not read the requests. Bytes received before are
 * still delivered. More than 64 KiB without an ssh banner are an error of the exchange of keys. */
#ifndef LAUNCHER_SSH_SSH_SESSION_H
#define LAUNCHER_SSH_SSH_SESSION_H

#include <libssh2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct ssh_session;

/* Returns the result of libssh2. LIBSSH2_ERROR_EAGAIN: try again when bytes have come; SSH_WAIT:
 * try again when ssh_session_again() is called. */
typedef int ssh_try_fn(void *context, LIBSSH2_SESSION *ssh);
enum { SSH_WAIT = 1 };

/* The operation is done; if it has failed because the connection was lost, ssh_session_lost() gives
 * the cause. The session may be closed from here. */
typedef void ssh_done_fn(void *context, int rc);

/* Initialises libssh2, which takes some milliseconds. Call it once, before the first session. */
void ssh_session_prepare(void);

/* Takes the descriptor of a connected socket. */
struct ssh_session *ssh_session_create(uv_loop_t *loop, int fd);
LIBSSH2_SESSION *ssh_session_libssh2(const struct ssh_session *session);

/* Memory that libssh2 will release itself; NULL if the session has reached its limit. */
void *ssh_session_allocate(struct ssh_session *session, size_t size);

/* For libssh2_session_handshake(). */
int ssh_session_socket(const struct ssh_session *session);

/* Begins an operation, which may be done before this returns. */
void ssh_session_run(struct ssh_session *session, ssh_try_fn *try, ssh_done_fn *done,
                     void *context);

/* Tries again now, because the event other than bytes of the host has happened. */
void ssh_session_again(struct ssh_session *session);

/* Stops trying the operation. */
void ssh_session_stop(struct ssh_session *session);

/* The channel that is closed with the session. */
void ssh_session_set_channel(struct ssh_session *session, LIBSSH2_CHANNEL *channel);

/* Why the connection is lost ("closed by the host"); NULL while it is not. */
const char *ssh_session_lost(const struct ssh_session *session);

/* Did the host end the connection with a message ("Too many authentication failures")? */
bool ssh_session_dismissed(const struct ssh_session *session);

/* libssh2's text about its last failure. */
const char *ssh_session_problem(const struct ssh_session *session);

/* Has the host sent an ssh banner? ssh_session_noise(): the first line that it has sent
 * instead, or its first bytes, "" if nothing. */
bool ssh_session_has_banner(const struct ssh_session *session);
const char *ssh_session_noise(const struct ssh_session *session);

/* Received bytes, as they were on the wire: an operation on one stream of a channel may receive
 * bytes of another. */
uint64_t ssh_session_received(const struct ssh_session *session);

/* Bytes that the socket has not accepted yet. */
size_t ssh_session_unsent(const struct ssh_session *session);

/* Hangs up without waiting for the host. The current operation is tried once more, so that libssh2
 * frees its state, and is not reported as done. NULL is fine. */
void ssh_session_close(struct ssh_session *session);

#endif
