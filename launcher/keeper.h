/* SPDX-License-Identifier: Apache-2.0 */
/* Who stays behind when the agent of another machine dies, so that nothing of the job outlives it.
 *
 *   keeper (adopts orphans below it)        waits; kills what is left; ends as the agent has ended
 *     agent (gets SIGTERM when the keeper dies)
 *       ranks, and all that they start
 *
 * While the agent lives the keeper passes SIGTERM, SIGINT and SIGHUP on to it and watches stdin
 * without reading: an agent that lives on for long after that has been hung up hangs and is killed,
 * one that is stopped at once. Both of them killed at once leave what the kernel does not end with
 * them: that is for hvdrun to see to (job_sweep.h). */
#ifndef LAUNCHER_KEEPER_H
#define LAUNCHER_KEEPER_H

#include <stdint.h>

struct keeper_times {
    uint32_t hang_up_ms; /* from the end of stdin until an agent that runs is killed */
    uint32_t sweep_ms;   /* for killing what is left */
};

/* Forks. Returns -1 in the agent, which goes on; in the keeper the exit status of the process, once
 * everything is over. To be called before there is a thread, a handler or a child. The keeper gives
 * up stdout. */
int keeper_fork(const struct keeper_times *times);

#endif
