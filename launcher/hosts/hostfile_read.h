/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a file that names hosts, within bounds of size and time (host_list.h). */
#ifndef LAUNCHER_HOSTS_HOSTFILE_READ_H
#define LAUNCHER_HOSTS_HOSTFILE_READ_H

#include "launcher/base/text_buffer.h"
#include "lib/base/status.h"

/* Appends the contents. Blocks until the end of the file, or, for a FIFO, for at most
 * HOSTFILE_WAIT_MS. Returns HVD_OK, or HVD_ERR_INVALID and one line that begins with `name`. */
int hostfile_read(struct text_buffer *text, const char *path, const char *name, struct err *err);

#endif
