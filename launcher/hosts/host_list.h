/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts of a job and how many ranks each may get, as the user wrote them.
 *
 *   -H text      [USER@]HOST[:SLOTS],...        blanks around an entry are ignored
 *   hostfile     [USER@]HOST[:SLOTS]            one per line
 *                [USER@]HOST [slots=N] [max_slots=M]
 *                # comment, also behind an entry; blank lines; CRLF and a UTF-8 BOM are fine
 *
 * HOST is a DNS name, an IPv4 address or an IPv6 address in brackets. A host without a count has
 * one slot. The list keeps the user's order, and ranks are placed in this order.
 *
 * Every function that can fail returns HVD_OK, or HVD_ERR_INVALID and one line that begins with its
 * source ("-H: ", "hosts.txt:3:7: ") and quotes the bad text; the list is then empty. */
#ifndef LAUNCHER_HOSTS_HOST_LIST_H
#define LAUNCHER_HOSTS_HOST_LIST_H

#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    HOST_COUNT_MAX = 16384,
    HOST_SLOTS_MAX = 65536,
    HOSTFILE_SIZE_MAX = 16 << 20,
    HOSTFILE_LINE_MAX = 4096,
    HOSTFILE_WAIT_MS = 5000 /* for a hostfile that is a FIFO */
};

struct host_slots {
    char *name;       /* owned; as written, without user; an IPv6 address without its brackets */
    char *user;       /* owned; NULL if none was written */
    int slots;        /* 1..HOST_SLOTS_MAX */
    int line, column; /* position in the source, from 1; line 1 for a list on the command line */
};

struct host_list {
    struct host_slots *hosts; /* owned; no two have the same name, whatever their case */
    int count;                /* 1..HOST_COUNT_MAX once parsed */
    const char *source;       /* borrowed; the option, file or "$VARIABLE" for messages, or NULL */
    bool is_allocation;       /* the hosts are those of a batch system */
};

/* Parses the value of -H. `text` need not be terminated. `source` is the option as the user wrote
 * it. */
int host_list_parse(struct host_list *list, const char *text, size_t length, const char *source,
                    struct err *err);

/* Parses the contents of a hostfile; `path` is only for messages. */
int host_list_parse_hostfile(struct host_list *list, const char *text, size_t length,
                             const char *path, struct err *err);

/* Opens and reads a hostfile, once, and parses it. Blocks until the end of the file, or, for a
 * FIFO, for at most HOSTFILE_WAIT_MS. Directories, devices and sockets are refused. */
int host_list_read_hostfile(struct host_list *list, const char *path, struct err *err);

/* The hosts of a job that names none: "localhost" with `slots` slots. */
void host_list_make_local(struct host_list *list, int slots);

/* The sum of all slots; fits, because both limits do. */
int host_list_slots(const struct host_list *list);

void host_list_fini(struct host_list *list);

#endif
