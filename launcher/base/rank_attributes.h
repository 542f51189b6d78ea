/* SPDX-License-Identifier: Apache-2.0 */
/* The attributes of each rank's process: the options of hvdrun that reach the ranks, and the
 * attributes that the ranks inherit from hvdrun itself. One struct travels all the way, from the
 * options to hvdrun's job, in JOB to the agents (agent_protocol.h), and to the process that becomes
 * the rank (spawn.h).
 *
 * To add an attribute: a member here, a line in rank_attributes_encode() and _decode(), the
 * option's row, and the place that acts on it. In a frame:
 *
 *   0 umask   2 ignore_hup   3 bind_to   4 report_bindings   5 torch_env   6 stack_traces   7 */
#ifndef LAUNCHER_BASE_RANK_ATTRIBUTES_H
#define LAUNCHER_BASE_RANK_ATTRIBUTES_H

#include "lib/base/status.h"
#include "lib/base/wire.h"

#include <stdbool.h>
#include <stdint.h>

/* The kind of processors to which each rank is bound, in the order of the words. OVERLOAD: bind
 * even when a core, socket or node gets more ranks than it has cores. */
enum bind_to {
    BIND_TO_NONE,
    BIND_TO_CORE,
    BIND_TO_SOCKET,
    BIND_TO_NUMA,
    BIND_TO_CORE_OVERLOAD,
    BIND_TO_SOCKET_OVERLOAD,
    BIND_TO_NUMA_OVERLOAD,
    BIND_TO_COUNT
};
#define BIND_TO_CHOICES                                                                            \
    "none core socket numa core:overload-allowed socket:overload-allowed numa:overload-allowed"

struct rank_attributes {
    uint16_t umask;       /* hvdrun's own */
    bool ignore_hup;      /* hvdrun was started under nohup */
    int bind_to;          /* enum bind_to */
    bool report_bindings; /* the agent reports what each rank is bound to */
    bool torch_env;       /* the variables of torchrun (process/torch_environment.h) */
    bool stack_traces;    /* the agent may look into the rank; HVD_STACK_TRACES is set */
};

/* Sets `umask` and `ignore_hup` to those of this process. */
void rank_attributes_inherit(struct rank_attributes *attributes);

/* HVD_ERR_PROTOCOL for a binding that does not exist; the reader remembers other failures. */
void rank_attributes_encode(struct wire_writer *writer, const struct rank_attributes *attributes);
int rank_attributes_decode(struct rank_attributes *attributes, struct wire_reader *reader,
                           struct err *err);

#endif
