/* SPDX-License-Identifier: Apache-2.0 */
/* Who is who among the processes of a trial.
 *
 *   this machine    launcher -> agent -> workers -> what they start
 *   another host    session of sshd -> supervisor -> agent -> workers
 *
 * Others than hvdrun have no supervisor; their agent, if there is one, goes by another name. */
#ifndef TESTS_CHAOS_MEMBERS_H
#define TESTS_CHAOS_MEMBERS_H

#include "tests/chaos/census.h"
#include "tests/chaos/launcher.h"

#include <stdio.h>

enum member_role {
    MEMBER_OTHER,
    MEMBER_LAUNCHER,
    MEMBER_AGENT,
    MEMBER_SUPERVISOR,
    MEMBER_SESSION, /* of sshd; it lingers a little, and is never counted as left */
    MEMBER_CLIENT,  /* the ssh that --remote-shell names */
    MEMBER_WORKER
};

/* By what a process is known to belong to a trial: the token, and being on one of the hosts, where
 * only one trial runs at a time. */
struct members {
    const struct census *census;
    const struct testbed *testbed;
    const struct launcher *launcher;
    unsigned long token;
    pid_t launcher_pid;
};

bool members_has(const struct members *members, const struct process *process);
enum member_role members_role(const struct members *members, const struct process *process);

/* The host that it is on, 0 if there is only this machine. */
int members_host(const struct members *members, const struct process *process);

/* Writes up to `max` processes of that role on host `host`, or on any if it is -1. */
int members_list(const struct members *members, enum member_role role, int host, pid_t *pids,
                 int max);

/* How many still live, without sessions. */
int members_left(const struct members *members);

/* Tells who they are, a line each. */
void members_show(const struct members *members, FILE *log);

/* Kills every one of them that is there now. */
void members_kill(const struct members *members);

#endif
