/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap of hvdagent (agent_bootstrap.h) on a stream: writes the script, reads the answers,
 * and sends hvdagent on request, without the parts of the file that are not needed to run
 * (program_image.h). */
#ifndef LAUNCHER_CONNECT_AGENT_BOOTSTRAP_RUN_H
#define LAUNCHER_CONNECT_AGENT_BOOTSTRAP_RUN_H

#include "lib/base/status.h"

#include <uv.h>

struct agent_bootstrap_run;

/* Not called from inside agent_bootstrap_run_start(). After the first two, one of the others is
 * called, once. */
struct agent_bootstrap_run_events {
    /* /bin/sh is there. */
    void (*on_answer)(void *context);

    /* hvdagent is being sent: how long that takes is up to the network. */
    void (*on_send)(void *context);

    /* The stream is hvdagent's. */
    void (*on_done)(void *context);

    void (*on_failed)(void *context, const char *text);

    /* It has ended before it was. Why is for whoever made the stream to know; `said` is what came on
     * it instead of an answer, "" for nothing. */
    void (*on_end)(void *context, const char *said);
};

/* `agent` is the path of hvdagent, here and there; borrowed, as the descriptors are, until
 * agent_bootstrap_run_stop(). They must be non-blocking. The process must ignore SIGPIPE. NULL if
 * there are no descriptors left. */
struct agent_bootstrap_run *
agent_bootstrap_run_start(uv_loop_t *loop, int input, int output, const char *agent,
                          const struct agent_bootstrap_run_events *events, void *context,
                          struct err *err);

/* Lets go of the descriptors at once; also from inside an event. The memory is freed later. NULL is
 * fine. */
void agent_bootstrap_run_stop(struct agent_bootstrap_run *run);

#endif
