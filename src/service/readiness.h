/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the process that started us that we are ready, and that we live: a newline on a descriptor
 * (s6 and others), or datagrams to $NOTIFY_SOCKET (sd_notify(3)). A missing reader is reported
 * once, and the service works without it. */
#ifndef SRC_SERVICE_READINESS_H
#define SRC_SERVICE_READINESS_H

#include "lib/base/status.h"

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct readiness {
    int ready_fd;            /* -1: none, or done */
    int notify_socket;       /* -1: nobody wants messages */
    const char *notify_name; /* $NOTIFY_SOCKET; NULL: not set, or empty */
    struct sockaddr_un address;
    socklen_t address_length;
    uint64_t watchdog_ms; /* how often readiness_alive() must be called; 0: not at all */
};

/* Reads the environment. `ready_fd` is -1 for none. HVD_ERR_INVALID and one line: "--ready-fd: not
 * open for writing: '7'". */
int readiness_init(struct readiness *readiness, int ready_fd, struct err *err);

/* Reports that the service listens; `status` is one line about it. HVD_ERR_SYSTEM and one line that
 * begins with $NOTIFY_SOCKET if the message could not be sent there. */
int readiness_ready(struct readiness *readiness, const char *status, struct err *err);

void readiness_alive(const struct readiness *readiness);
void readiness_stopping(const struct readiness *readiness);

void readiness_fini(struct readiness *readiness);

#endif
