/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of connecting to a host, in their order, from its name to ranks that may run there: the
 * current step of a host that is not ready yet, or the step that failed. */
#ifndef LAUNCHER_PROTOCOL_HOST_STEP_H
#define LAUNCHER_PROTOCOL_HOST_STEP_H

enum host_step {
    STEP_WAITING,   /* for its turn: the number of simultaneous connections is limited */
    STEP_RESOLVE,   /* resolve its name */
    STEP_CONNECT,   /* connect, and begin the ssh protocol */
    STEP_HOST_KEY,  /* verify the host's identity */
    STEP_LOGIN,     /* a key is accepted */
    STEP_AGENT,     /* hvdagent is found, or sent, and runs */
    STEP_DIRECTORY, /* the working directory exists */
    STEP_COMMAND,   /* the program exists */
    STEP_RESOURCES, /* descriptors, and the rendezvous on 127.0.0.1 */
    STEP_NETWORK,   /* the requested network interfaces exist */
    STEP_BINDING,   /* the requested binding is possible */
    STEP_READY,
    HOST_STEPS
};

/* "connect", "host key", ...: the name in messages and tables. */
const char *host_step_name(enum host_step step);

#endif
