/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap of hvdagent (agent_bootstrap.h) on a stream: writes the script, or has the agent at
 * the other end of a tunnel write it, reads the answers, and sends hvdagent on request, without the
 * parts of the file that are not needed to run (program_image.h). */
#ifndef LAUNCHER_CONNECT_AGENT_BOOTSTRAP_RUN_H
#define LAUNCHER_CONNECT_AGENT_BOOTSTRAP_RUN_H

#include "lib/base/status.h"

#include <uv.h>

struct agent_bootstrap_run;
struct tunnel;

/* Not called from inside agent_bootstrap_run_start(). After the first two, exactly one of the
 * others is called. */
struct agent_bootstrap_run_events {
    /* /bin/sh has answered. */
    void (*on_answer)(void *context);

    /* hvdagent is being sent: the network decides how long that takes. */
    void (*on_send)(void *context);

    /* The stream belongs to hvdagent. */
    void (*on_done)(void *context);

    void (*on_failed)(void *context, const char *text);

    /* The stream has ended too early. The owner of the stream knows the cause; `said` is the first
     * line that came instead of an answer, "" for nothing. */
    void (*on_end)(void *context, const char *said);
};

/* `tunnel`: the stream goes through it; or NULL. `agent` is the path of hvdagent, here and there.
 * The path, the tunnel and the descriptors, which must be
 * non-blocking, are borrowed until agent_bootstrap_run_stop(). The process must ignore SIGPIPE.
 * NULL if there are no descriptors left. */
struct agent_bootstrap_run *
agent_bootstrap_run_start(uv_loop_t *loop, int input, int output, struct tunnel *tunnel,
                          const char *agent, const struct agent_bootstrap_run_events *events,
                          void *context, struct err *err);

/* Stops using the descriptors at once; also from inside an event. The memory is freed later. NULL
 * is fine. */
void agent_bootstrap_run_stop(struct agent_bootstrap_run *run);

#endif
