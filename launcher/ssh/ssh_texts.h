/* SPDX-License-Identifier: Apache-2.0 */
/* The messages for people when a host cannot be reached by ssh: one line that names the address.
 * The step, "connect" or "login", stands before it already. */
#ifndef LAUNCHER_SSH_SSH_TEXTS_H
#define LAUNCHER_SSH_SSH_TEXTS_H

#include "launcher/ssh/ssh_session.h"

#include <stdint.h>

enum ssh_stage {
    SSH_STAGE_CONFIG,
    SSH_STAGE_RESOLVE,
    SSH_STAGE_CONNECT,
    SSH_STAGE_LOGIN,
    SSH_STAGE_CHANNEL
};

struct ssh_situation {
    enum ssh_stage stage;
    const char *host, *user, *peer; /* `peer` as "198.51.100.11 port 22" */
    uint32_t timeout_ms;
};

/* The time is up. `connect`: what ssh_connect_describe() says, for SSH_STAGE_CONNECT. */
void ssh_say_late(char *text, size_t size, const struct ssh_situation *situation,
                  const char *connect);

/* `name` is what `host` stands for in the configuration. */
void ssh_say_unresolved(char *text, size_t size, const char *host, const char *name,
                        const char *problem);

/* What is missing of banner and exchange of keys while they are waited for. */
void ssh_say_no_handshake_yet(char *text, size_t size, const struct ssh_session *session);

/* Why banner and exchange of keys have failed with that code of libssh2, behind `peer`. */
void ssh_say_no_handshake(char *text, size_t size, const struct ssh_session *session,
                          const char *peer, int rc);

/* Is it the user who runs this? */
bool ssh_is_own_user(const char *user);

#endif
