/* SPDX-License-Identifier: Apache-2.0 */
/* The transport that a rank uses to the other ranks of its host (HVD_TRANSPORT). Ranks on different
 * hosts use TCP. When two ranks want different transports they use the lesser one, unless one of
 * them insists on shared memory. Pure. */
#ifndef LIB_BASE_TRANSPORT_H
#define LIB_BASE_TRANSPORT_H

#include "lib/base/env_names.h"
#include "lib/base/status.h"

#include <stdbool.h>

enum transport {
    TRANSPORT_AUTO, /* the best that works */
    TRANSPORT_SHM,  /* shared memory, or the world fails */
    TRANSPORT_UNIX, /* a unix socket, without shared memory */
    TRANSPORT_TCP
};

/* "auto", "shm", "unix", "tcp", in any case; false if it is none of them. */
bool transport_parse(const char *text, enum transport *transport);

/* "shm"; for people. */
const char *transport_name(enum transport transport);

/* Reads HVD_TRANSPORT; TRANSPORT_AUTO if it is not set. HVD_ERR_ENVIRONMENT, naming the variable
 * and its value, if the value is unknown. */
int transport_read(enum transport *transport, environment_get_fn *get, struct err *err);

/* The verdict on a link to a rank of the same host that `is` shm, unix or tcp: fine; lesser than it
 * could be; refused, because the setting insists on another transport. */
enum transport_verdict { TRANSPORT_FINE, TRANSPORT_LESSER, TRANSPORT_REFUSED };

enum transport_verdict transport_judge(enum transport wanted, enum transport is);

#endif
