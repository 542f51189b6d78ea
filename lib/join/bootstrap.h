/* SPDX-License-Identifier: Apache-2.0 */
/* How a worker learns its rank info: an interface and its implementations. The first that applies
 * is used:
 *   rendezvous   the environment names one: sends HELLO, waits for the whole world, and gets the
 *                rank that it asks for, or any
 *   alone        a world of size 1 */
#ifndef LIB_JOIN_BOOTSTRAP_H
#define LIB_JOIN_BOOTSTRAP_H

#include "lib/base/auth.h"
#include "lib/base/join_protocol.h"
#include "lib/join/environment.h"
#include "lib/join/join_client.h"
#include "lib/link/network.h"

#include <stdbool.h>

/* A place in a world, and what is needed to take it. */
struct rank_assignment {
    struct join_welcome welcome; /* without neighbours in a world of one */
    struct job_key key;
    struct join_connection connection; /* fd -1 when no rendezvous watches over this world */
    struct listener listener;          /* where other ranks dial; each fd -1 if there is none */
    struct join_addresses addresses;   /* where that is */
    struct network network;
};

struct bootstrap {
    const char *name;

    /* Does the environment speak of this way? */
    bool (*applies)(const struct environment *environment);

    /* Takes part; may block until all ranks have come. Fills in an assignment that is empty and
     * leaves it to rank_assignment_fini() even when it fails. */
    int (*join)(struct rank_assignment *assignment, const struct environment *environment,
                struct err *err);
};

int bootstrap_join(struct rank_assignment *assignment, const struct environment *environment,
                   struct err *err);

/* Closes what has not been taken over (set to -1). */
void rank_assignment_fini(struct rank_assignment *assignment);

#endif
