/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts that a discovery script prints: [USER@]HOST[:SLOTS] in each line. Blanks around a line,
 * blank lines and a line that repeats another are ignored. */
#ifndef LAUNCHER_HOSTS_HOST_LINES_H
#define LAUNCHER_HOSTS_HOST_LINES_H

#include "launcher/hosts/host_list.h"

/* `slots` is for lines without a number. Returns HVD_OK, maybe with no host at all; or
 * HVD_ERR_INVALID and one line that begins with "SOURCE:LINE:COLUMN: " or "SOURCE: ", and an empty
 * list: for what is no host, for a host that is there twice with different slots, for too many
 * hosts, and for a line of more than HOSTFILE_LINE_MAX bytes. */
int host_list_parse_lines(struct host_list *list, const char *text, size_t length, int slots,
                          const char *source, struct err *err);

#endif
