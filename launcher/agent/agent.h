/* SPDX-License-Identifier: Apache-2.0 */
/* The agent of one host: starts the ranks of that host, carries their output, stdin, signals and
 * exits over its link to hvdrun, offers the rendezvous on 127.0.0.1, and leaves no process
 * behind. */
#ifndef LAUNCHER_AGENT_AGENT_H
#define LAUNCHER_AGENT_AGENT_H

#include "launcher/placement/binding.h"
#include "lib/base/status.h"

#include <stdint.h>
#include <uv.h>

struct agent;

/* Limits on the bytes queued for the link in this process. Above the first limit no output is read,
 * so that the exit of a rank or a heartbeat's echo waits behind no more (and one read). Above the
 * other limits, nothing is read from relayed connections, and heartbeats go unanswered. */
enum {
    AGENT_LINK_QUEUE_MAX = 256 * 1024,
    AGENT_RELAY_QUEUE_MAX = 512 * 1024,
    AGENT_ECHO_QUEUE_MAX = 1024 * 1024
};

/* How long a client of the rendezvous may read nothing of its answer. */
enum { AGENT_RELAY_STALL_MS = 15000 };

/* An agent's surroundings. */
struct agent_settings {
    uint32_t relay_stall_ms;        /* AGENT_RELAY_STALL_MS, except in tests */
    binding_places_fn *find_places; /* binding_places_read(); NULL for an agent that binds no ranks,
                                     * whose program then needs no hwloc */
};

/* The agent as a program: its link is stdin and stdout, in whose place it puts /dev/null. Returns
 * the exit status of the process when the link and all processes of the agent have ended. */
int agent_serve(binding_places_fn *find_places);

/* Runs an agent on two descriptors until its link and all its processes have ended. Returns the
 * exit status. */
int agent_run(uv_loop_t *loop, int input, int output, const struct agent_settings *settings);

/* agent_run() in two steps, for a loop that the caller runs. agent_open() sets `err` if the link
 * could not be opened. agent_release() may be called once nothing is active on the loop any
 * more. */
struct agent *agent_open(uv_loop_t *loop, int input, int output,
                         const struct agent_settings *settings, struct err *err);
void agent_release(struct agent *agent);

#endif
