/* SPDX-License-Identifier: Apache-2.0 */
/* The program hvdssh, which hvdrun runs once, and which makes a process for each host. Loading and
 * starting libssh2 takes some milliseconds; a fork does not.
 *
 *   start  u32 number, and three descriptors: socket, control, stream (ssh_serve.h)
 *   kill   u32 number, and no descriptor
 *   told   u32 number   u32 what: 0 the process has ended, 1 there is none   u32 wait status or errno
 *
 * All are packets of a SOCK_SEQPACKET socket, with integers of this machine. hvdssh ends when that
 * socket does, and kills the processes that are left; they also die with it. */
#ifndef LAUNCHER_SSH_SSH_HELPER_H
#define LAUNCHER_SSH_SSH_HELPER_H

#include "lib/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct children;
struct ssh_helper;

enum { SSH_HELPER_SOCKETS = 3 };

enum ssh_helper_what { SSH_HELPER_ENDED, SSH_HELPER_NOT_STARTED };

struct ssh_helper_told {
    uint32_t number, what, value;
};

/* The helper at `*shared`, which is started if there is none. Starting may fail: then using it
 * fails. `path` is that of hvdssh. Each call must be followed by ssh_helper_release(). */
struct ssh_helper *ssh_helper_use(void **shared, uv_loop_t *loop, struct children *children,
                                  const char *path);

/* The last user ends the helper: its `on_released` is called when all processes and the helper are
 * gone. That of every other user is called at once. */
void ssh_helper_release(struct ssh_helper *helper, void (*on_released)(void *context),
                        void *context);

#endif
