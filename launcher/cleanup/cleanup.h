/* SPDX-License-Identifier: Apache-2.0 */
/* Ending the processes that are left when the process that watched over them dies.
 *
 *   who died                    who kills                     how the processes are found
 *   --------------------------- ----------------------------- -----------------------------------
 *   hvdrun, or its link to the  the agent                     its descendants, its control group
 *   agent                       (launcher/agent/agent.c)
 *   an agent of another machine its supervisor                its descendants, and the agent's
 *                               (supervisor.h)                control group
 *   an agent of this machine    hvdrun                        its descendants, except those that
 *                               (launcher/job/job_lost.c)     no rank has started (adopted.h)
 *   an agent of another machine a second agent, for which     HVD_JOB_ID and HOROVOD_HOSTNAME in
 *   together with its           hvdrun connects once more     their environment (orphans.h)
 *   supervisor                  (launcher/agent/agent_sweep.c,
 *                               launcher/job/job_sweep.c)
 *   hvdrun, with hosts that a   a process that hvdrun has     HVD_COMMAND_OF in their environment
 *   command connects to, or     forked (command_guard.h)      (orphans.h)
 *   names
 *
 * The first case is an ordinary end that hvdrun did not ask for; stop_plan.h has its signals and
 * times. The others are the rows of a table in cleanup.c: how to search, whether SIGTERM comes
 * before SIGKILL, and when to stop. One check may miss a process that is created during the search,
 * or is about to execute its program, so the check is repeated.
 *
 * When the process that should kill dies as well (two rows at once), only PR_SET_PDEATHSIG ends the
 * processes that are left; hvd_faults(7), "NOT PROMISED". */
#ifndef LAUNCHER_CLEANUP_CLEANUP_H
#define LAUNCHER_CLEANUP_CLEANUP_H

#include "launcher/base/string_list.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The process that died. */
enum cleanup_case {
    CLEANUP_REMOTE_AGENT,
    CLEANUP_LOCAL_AGENT,
    CLEANUP_AGENT_AND_SUPERVISOR,
    CLEANUP_HVDRUN,
    CLEANUP_CASES
};

/* Time between two checks. */
enum { CLEANUP_CHECK_MS = 20 };

/* The processes to search for. Borrowed for the call. */
struct cleanup_search {
    const pid_t *spared; /* of descendants: these children, and all below them, are left out */
    int nspared;
    const struct string_list *variables; /* by environment: "NAME=VALUE"; a process must have all of
                                          * them */
};

/* One cleanup under way. */
struct cleanup {
    enum cleanup_case which;
    bool asked; /* SIGTERM was sent */
    uint64_t checked_ms, spent_ms;
    int clean_checks; /* consecutive checks that found nothing */
    int left;         /* processes that the last check found */
};

/* `now_ms`, here and below, comes from any clock that does not go back. */
void cleanup_start(struct cleanup *cleanup, enum cleanup_case which, uint64_t now_ms);

/* Searches for processes, and sends them the signal of the case. True: check again in
 * CLEANUP_CHECK_MS, or earlier. False: the cleanup is over. Time in which this process did not run
 * does not count. */
bool cleanup_check(struct cleanup *cleanup, const struct cleanup_search *search, uint64_t now_ms);

#endif
