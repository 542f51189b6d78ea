/* SPDX-License-Identifier: Apache-2.0 */
/* A process that outlives hvdrun on this machine. It ends the processes started by commands that
 * connect to hosts (--remote-shell). The kernel sends SIGTERM to such a command when hvdrun dies,
 * but a process that the command has started need not be a descendant of ours any more. The guard
 * finds it by its environment. */
#ifndef LAUNCHER_CLEANUP_COMMAND_GUARD_H
#define LAUNCHER_CLEANUP_COMMAND_GUARD_H

struct command_guard {
    int hold; /* as long as this is open the guard does nothing */
    int process;
};

/* Forks; to be called before there is a thread, a handler or a loop. `job_id` is the value of
 * ENV_COMMAND_OF in the environment of the commands. Without processes or descriptors there is no
 * guard. */
void command_guard_start(struct command_guard *guard, const char *job_id);

/* All commands have ended: so does the guard. Also where there is none, all zero. */
void command_guard_end(struct command_guard *guard);

#endif
