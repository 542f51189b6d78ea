/* SPDX-License-Identifier: Apache-2.0 */
/* The messages for people when a host cannot be reached by ssh: one line that names the address.
 * The step, "connect" or "login", stands before it already. */
#ifndef LAUNCHER_SSH_SSH_UNREACHABLE_TEXT_H
#define LAUNCHER_SSH_SSH_UNREACHABLE_TEXT_H

#include "launcher/ssh/ssh_message.h"

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

/* The time is up. `connect`: the text of ssh_connect_describe(), for SSH_STAGE_CONNECT. */
void ssh_say_late(char *text, size_t size, const struct ssh_situation *situation,
                  const char *connect);

/* `name` is the name that the configuration has for `host`. */
void ssh_say_unresolved(char *text, size_t size, const char *host, const char *name,
                        const char *problem);

/* The step of banner and exchange of keys that has not happened yet. */
void ssh_say_no_handshake_yet(char *text, size_t size, const struct ssh_report *state);

/* Why banner and exchange of keys have failed, by the report SHAKEN, behind `peer`. */
void ssh_say_no_handshake(char *text, size_t size, const struct ssh_report *report,
                          const char *peer);

/* Is `user` the user of this process? */
bool ssh_is_own_user(const char *user);

#endif
