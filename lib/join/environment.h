/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment says about this process: its rank info, the rendezvous and the job's key.
 *
 * A launcher sets the rank info and HOROVOD_GLOO_RENDEZVOUS_ADDR and _PORT. A user who starts
 * workers by other means sets HVD_RENDEZVOUS, the address of a service that hands out ranks; the
 * variables of these workers say how many they are, and may say which rank each wants.
 *
 * Numbers are decimal digits and nothing else. Variables that need each other stand in a table.
 * Fails (HVD_ERR_ENVIRONMENT, naming the variable and its value, or both variables that do not fit;
 * only the key's value is never shown) and never falls back to a default for a value that is there
 * but wrong. */
#ifndef LIB_JOIN_ENVIRONMENT_H
#define LIB_JOIN_ENVIRONMENT_H

#include "lib/base/auth.h"
#include "lib/base/env_names.h"
#include "lib/base/interfaces.h"
#include "lib/base/join_protocol.h"
#include "lib/base/rank_info.h"
#include "lib/base/status.h"
#include "lib/base/transport.h"
#include "lib/join/bootstrap_choice.h"
#include "lib/link/listener.h"

#include <stdbool.h>

enum { JOIN_TIMEOUT_S = 30, JOIN_TIMEOUT_MAX_S = 86400 };

struct environment {
    environment_get_fn *get;           /* what was read */
    struct bootstrap_choice bootstrap; /* HVD_BOOTSTRAP */
    /* 1: HOROVOD_ELASTIC is 1 and there is a rendezvous; `rank_info` is only the launcher's
     * assumption when it started the process. */
    int elastic;
    int worker;     /* HVD_WORKER, or -1; the caller sets it to what the last world has told */
    uint32_t epoch; /* 0; the caller sets it to the first epoch that this process may join */
    struct rank_info
        rank_info;       /* sizes are 1 and ranks 0 by default; with `is_service` only the size
                          * and the rank count, and the rank is -1 if the worker wants none */
    bool has_rendezvous; /* if not, rank_info.size is 1 and host, port and key are empty */
    bool is_service;     /* the rendezvous is that of HVD_RENDEZVOUS */
    char rendezvous_host[JOIN_HOST_MAX]; /* a name or a numeric address, without brackets */
    int rendezvous_port;
    const struct join_peer *server; /* the rank that serves the rendezvous, at its addresses, not
                                        those above; NULL: none. Not from the environment */
    int join_timeout_s;             /* how long the worker dials */
    char job[JOB_ID_SIZE];          /* "": not set */
    int key_of; /* HVD_KEY_OF: the worker whose key it is; -1: the key of the job */
    struct job_key key;
    char host[JOIN_HOST_MAX];               /* HOROVOD_HOSTNAME, or the host's own name */
    char interfaces[INTERFACE_CHOICE_SIZE]; /* interfaces.h; "": all */
    struct port_range ports;
    enum transport transport; /* HVD_TRANSPORT */
};

int environment_read(struct environment *environment, environment_get_fn *get, struct err *err);

#endif
