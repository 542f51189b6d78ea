/* SPDX-License-Identifier: Apache-2.0 */
/* How a host is reached: something that runs hvdagent there and gives a byte stream to it. */
#ifndef LAUNCHER_REACH_H
#define LAUNCHER_REACH_H

#include "lib/base/status.h"

#include <sys/resource.h>
#include <sys/types.h>

struct reached {
    int input,
        output; /* descriptors of the stream; one and the same, or two. The caller's to close */
    pid_t pid;  /* of the local process that stands for the host, to be waited for; 0 for none */
};

/* On this machine: a child process on a socket pair, in a session of its own so that no terminal
 * signals it. `agent` is the path of hvdagent, `nofile` the limit on descriptors
 * that it and its ranks get. */
int reach_local(const char *agent, const struct rlimit *nofile, struct reached *reached,
                struct err *err);

#endif
