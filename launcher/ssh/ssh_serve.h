/* SPDX-License-Identifier: Apache-2.0 */
/* One process of hvdssh: a session with one host. It does what hvdrun orders (ssh_message.h) and
 * reports what became of it; it decides nothing, opens nothing, and knows no secret but a private
 * key that it is to log in with. It ends when hvdrun closes the descriptor of the orders. */
#ifndef LAUNCHER_SSH_SSH_SERVE_H
#define LAUNCHER_SSH_SSH_SERVE_H

#include "launcher/ssh/ssh_message.h"
#include "launcher/ssh/ssh_session.h"

struct ssh_serve_request {
    int socket;  /* connected to the host */
    int control; /* orders and reports */
    int stream;  /* what /bin/sh reads and writes */
    bool is_confined;
};

/* Takes the descriptors. Returns the exit status of the process. */
int ssh_serve(const struct ssh_serve_request *request);

/* What libssh2 and the session tell after `rc`, libssh2's result. The type, the bytes and
 * is_confined are left to the caller. */
struct ssh_report ssh_serve_describe(const struct ssh_session *session, int rc);

#endif
