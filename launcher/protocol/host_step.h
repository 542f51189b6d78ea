/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of connecting to a host, in their order, from its name to ranks that may run there: the
 * current step of a host that is not ready yet, or the step that failed. */
#ifndef LAUNCHER_PROTOCOL_HOST_STEP_H
#define LAUNCHER_PROTOCOL_HOST_STEP_H

enum host_step {
    STEP_WAITING,   /* for its turn: not too many hosts are reached at once */
    STEP_RESOLVE,   /* its name into addresses */
    STEP_CONNECT,   /* and the ssh protocol begins */
    STEP_HOST_KEY,  /* is it the host that it says it is? */
    STEP_LOGIN,     /* a key is accepted */
    STEP_AGENT,     /* hvdagent is found, or sent, and runs */
    STEP_DIRECTORY, /* the working directory is there */
    STEP_COMMAND,   /* the program is there */
    STEP_RESOURCES, /* descriptors, and the rendezvous on 127.0.0.1 */
    STEP_NETWORK,   /* the network interfaces asked for are there */
    STEP_BINDING,   /* and what ranks are bound to */
    STEP_READY,
    HOST_STEPS
};

/* "connect", "host key", ...: as messages and tables show it. */
const char *host_step_name(enum host_step step);

#endif
