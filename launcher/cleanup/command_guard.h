/* SPDX-License-Identifier: Apache-2.0 */
/* A process that outlives hvdrun on this machine. It ends the processes started by commands that
 * connect to hosts (--remote-shell) or name them (--host-discovery-script). The kernel sends a
 * signal to such a command when hvdrun dies, but a process that the command has started need not be
 * a descendant of ours any more. The guard finds it by its environment. */
#ifndef LAUNCHER_CLEANUP_COMMAND_GUARD_H
#define LAUNCHER_CLEANUP_COMMAND_GUARD_H

struct command_guard {
    int hold; /* the guard does nothing as long as this is open */
    int process;
};

/* Forks; call this before there is a thread, a handler or a loop. `job_id` is the value of
 * ENV_COMMAND_OF in the environment of the commands. If processes or descriptors have run out,
 * there is no guard. */
void command_guard_start(struct command_guard *guard, const char *job_id);

/* Ends the guard, once all commands have ended. Fine if there is no guard (all zero). */
void command_guard_end(struct command_guard *guard);

#endif
