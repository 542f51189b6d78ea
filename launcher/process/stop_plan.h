/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that bring processes to an end: ask, insist, kill. Decides only; time and the number of
 * processes are arguments.
 *
 *   idle -> asking -> insisting -> killing -> given up
 *
 * asking: the signal that was passed on, for the grace period. insisting: SIGTERM, for a second,
 * unless that was the signal already (a background job of a shell ignores SIGINT). killing:
 * SIGKILL, again and again, because a process may fork meanwhile. given up: the processes that are
 * left cannot be killed (they wait inside the kernel). */
#ifndef LAUNCHER_PROCESS_STOP_PLAN_H
#define LAUNCHER_PROCESS_STOP_PLAN_H

#include <stdint.h>

enum stop_phase { STOP_IDLE, STOP_ASKING, STOP_INSISTING, STOP_KILLING, STOP_GIVEN_UP };

/* The default of --grace, in seconds, as --help prints it. */
#define STOP_GRACE_DEFAULT_S "5"

enum { STOP_INSIST_MS = 1000, STOP_KILL_MS = 2000, STOP_KILL_AGAIN_MS = 20 };

struct stop_plan {
    enum stop_phase phase;
    int asked_with;
    uint64_t phase_ends_ms;
};

/* Begins to end the processes with `signum` (SIGKILL: kills at once). A later, harsher request
 * shortens the current steps; a milder one changes nothing. Returns the signal to send to all
 * processes now, or 0. */
int stop_plan_ask(struct stop_plan *plan, int signum, uint64_t grace_ms, uint64_t now_ms);

/* Call this when time has passed. Returns the signal to send to all processes now, or 0. */
int stop_plan_advance(struct stop_plan *plan, uint64_t now_ms);

#endif
