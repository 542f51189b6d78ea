/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment says about this process: its place, the rendezvous and the job's key.
 *
 * Numbers are decimal digits and nothing else. Variables that need each other stand in a table.
 * Fails (HVD_ERR_ENVIRONMENT, naming the variable and its value, or both variables that do not fit;
 * only the key's value is never shown) and never falls back to a default for a value that is there
 * but wrong. */
#ifndef LIB_JOIN_ENVIRONMENT_H
#define LIB_JOIN_ENVIRONMENT_H

#include "lib/base/auth.h"
#include "lib/base/interfaces.h"
#include "lib/base/join_protocol.h"
#include "lib/base/place.h"
#include "lib/base/status.h"
#include "lib/link/listener.h"

#include <stdbool.h>

struct environment {
    struct place place;  /* sizes 1 and ranks 0 where nothing is said */
    bool has_rendezvous; /* if not, the three below are empty and place.size is 1 */
    char rendezvous_host[JOIN_HOST_MAX];
    int rendezvous_port;
    struct job_key key;
    char host[JOIN_HOST_MAX];               /* HOROVOD_HOSTNAME, or the host's own name */
    char interfaces[INTERFACE_CHOICE_SIZE]; /* interfaces.h; "": all */
    struct port_range ports;
};

/* getenv(), or a test's own. */
typedef const char *environment_get_fn(const char *name);

int environment_read(struct environment *environment, environment_get_fn *get, struct err *err);

#endif
