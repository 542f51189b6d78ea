/* SPDX-License-Identifier: Apache-2.0 */
/* The process that outlives the agent of another machine, so that no process of the job outlives
 * the agent.
 *
 *   supervisor (adopts orphans below it)    waits; kills what is left; ends as the agent has ended
 *     agent (gets SIGTERM when the supervisor dies)
 *       ranks, and all that they start
 *
 * While the agent lives, the supervisor passes SIGTERM, SIGINT and SIGHUP on to it and watches
 * stdin without reading. When stdin has ended, the agent must end: the supervisor kills a stopped
 * agent at once, and a running agent after some time. If supervisor and agent are killed together,
 * hvdrun starts a second agent (launcher/job/job_sweep.h). */
#ifndef LAUNCHER_CLEANUP_SUPERVISOR_H
#define LAUNCHER_CLEANUP_SUPERVISOR_H

#include <stdint.h>

/* Time from the end of stdin until the supervisor kills an agent that still runs. */
enum { SUPERVISOR_HANG_UP_MS = 15000 };

/* Forks. Returns -1 in the agent, which goes on. Returns the exit status of the process in the
 * supervisor, once everything is over. Call this before there is a thread, a handler or a child.
 * The supervisor gives up stdout. `hang_up_ms` is SUPERVISOR_HANG_UP_MS, except in tests. */
int supervisor_fork(uint32_t hang_up_ms);

#endif
