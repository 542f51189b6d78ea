/* SPDX-License-Identifier: Apache-2.0 */
/* The table of --check-hosts. Pure. */
#ifndef LAUNCHER_JOB_HOST_CHECK_TABLE_H
#define LAUNCHER_JOB_HOST_CHECK_TABLE_H

#include "launcher/protocol/agent_protocol.h"
#include "launcher/protocol/host_step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The result of one host. */
struct host_check_row {
    const char *name;
    bool local;
    bool ok;
    enum host_step step;      /* the failed step, if the check failed */
    const char *text;         /* the cause */
    struct agent_ready facts; /* these and the following if the host is ok */
    int64_t clock_ms;         /* how far its clock is ahead of ours */
    uint64_t round_trip_us;
};

/* A line per host: each step "ok", "FAILED" or "-", then round-trip time, clock, cores; behind
 * them a line per host that failed, and one for all hosts that have the same of CUDA.
 * `with_command`: the check looked for a program. The caller
 * frees it. */
char *host_check_table(const struct host_check_row *rows, int nrows, bool with_command);

#endif
