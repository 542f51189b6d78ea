/* SPDX-License-Identifier: Apache-2.0 */
/* The line on a terminal that shows the progress of the hosts of a job, while hvdrun connects to
 * them. Pure. */
#ifndef LAUNCHER_JOB_JOB_STATUS_H
#define LAUNCHER_JOB_JOB_STATUS_H

#include "launcher/protocol/host_step.h"

#include <stddef.h>
#include <stdint.h>

/* A host that is connecting, or ready. */
struct job_status_host {
    const char *name;
    enum host_step step;
    uint64_t step_since_ms;
};

/* Writes "14 of 16 hosts ready, 15 connected; slowest: host7 (login, 2.1 s)". The slowest host is
 * the one at the earliest step, and of these the one that is longest there. */
void job_status_text(char *text, size_t size, const struct job_status_host *hosts, int nhosts,
                     uint64_t now_ms);

#endif
