/* SPDX-License-Identifier: Apache-2.0 */
/* The exit statuses of hvdrun itself. 1 to 125 are the first failing rank's, 128 + n is death or
 * stop by signal n. hvdrun(1) documents them. */
#ifndef LAUNCHER_BASE_EXIT_STATUS_H
#define LAUNCHER_BASE_EXIT_STATUS_H

enum exit_status {
    STATUS_USAGE = 2,            /* options, hosts, environment; nothing was started */
    STATUS_HOST_LOST = 68,       /* a host or its agent was lost during the run */
    STATUS_UNREACHABLE = 69,     /* a host cannot be reached, or hvdagent cannot run there */
    STATUS_INTERNAL = 70,        /* a bug of ours */
    STATUS_RESOURCE = 71,        /* descriptors, memory or processes have run out */
    STATUS_CANNOT_CREATE = 73,   /* an output file cannot be created */
    STATUS_OUTPUT_LOST = 74,     /* output could not be written */
    STATUS_TIMEOUT = 75,         /* the job did not start in time */
    STATUS_PROTOCOL = 76,        /* an agent or a worker violated the protocol */
    STATUS_REFUSED = 77,         /* ssh: the host's key, or every key of the user, was refused */
    STATUS_JOB_TIMEOUT = 124,    /* the job took longer than --timeout; as in timeout(1) */
    STATUS_NOT_EXECUTABLE = 126, /* as in a shell */
    STATUS_NOT_FOUND = 127,
    STATUS_SIGNAL = 128 /* plus the signal's number */
};

#endif
