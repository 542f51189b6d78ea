/* SPDX-License-Identifier: Apache-2.0 */
/* From addresses to a process that has a session with a host that speaks ssh: connect, banner,
 * exchange of keys. A host that refuses, or hangs up before its banner, is tried again three times:
 * it may have too many connections.
 *
 * Fails when no address answers, the host does not speak ssh, or has no algorithm in common. Does
 * not end by itself while the host stays silent. */
#ifndef LAUNCHER_SSH_SSH_CONNECT_H
#define LAUNCHER_SSH_SSH_CONNECT_H

#include "launcher/base/string_list.h"
#include "launcher/ssh/ssh_process.h"

#include <netdb.h>
#include <stdint.h>
#include <uv.h>

struct ssh_connect;

/* All borrowed until the connection is closed. */
struct ssh_connect_request {
    struct ssh_helper *helper;
    const struct addrinfo *addresses;
    const struct string_list *known_types; /* of host keys; see ssh_host_key_order() */
    uint32_t heartbeat_timeout_ms;
};

/* The result of connecting: a process, which the receiver closes, and what it has reported. */
struct ssh_connected {
    struct ssh_process *process;     /* NULL if the host cannot be connected */
    const struct ssh_report *report; /* SHAKEN, with the host's key; borrowed for the call */
    const char *text;                /* its address as "198.51.100.11 port 22", or the cause */
    bool no_resource; /* the cause is that hvdssh, a process or a descriptor is missing */
    bool no_common;   /* the cause is that libssh2 and the host have no algorithm in common */
};

/* Called once, later. */
typedef void ssh_connect_fn(void *context, const struct ssh_connected *connected);

struct ssh_connect *ssh_connect_start(uv_loop_t *loop, const struct ssh_connect_request *request,
                                      ssh_connect_fn *on_end, void *context);

/* The step that is missing when the time is up: "198.51.100.11 port 22: no ssh banner". */
void ssh_connect_describe(const struct ssh_connect *connect, char *text, size_t size);

/* Cancels; allowed only before the callback. NULL is fine. */
void ssh_connect_cancel(struct ssh_connect *connect);

#endif
