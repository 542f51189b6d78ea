/* SPDX-License-Identifier: Apache-2.0 */
/* Takes from a process of hvdssh what a session with a host does not need, before it reads the
 * host's first byte: no file is opened, no program run, no process made, no socket made or
 * connected, no signal sent to another process, no memory made executable, no more than
 * SSH_CONFINE_DATA_BYTES of memory used. The process can still abort(). */
#ifndef LAUNCHER_SSH_SSH_CONFINE_H
#define LAUNCHER_SSH_SSH_CONFINE_H

#include <stdbool.h>

/* A session holds up to SSH_MEMORY_MAX; libcrypto and libuv some MiB more. */
enum { SSH_CONFINE_DATA_BYTES = 64 * 1024 * 1024, SSH_CONFINE_DESCRIPTORS = 64 };

/* From now on, for ever. False if the kernel filters no system calls, or a sanitizer is built in:
 * then only the limits hold. */
bool ssh_confine(void);

#endif
