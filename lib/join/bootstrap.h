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

/* The rank of a process in a world, and the resources that belong to it. */
struct rank_assignment {
    struct join_welcome welcome; /* without neighbours in a world of one */
    struct job_key key;
    struct join_connection connection; /* fd -1 when no rendezvous watches over this world */
    struct listener listener;          /* where other ranks dial; each fd -1 if there is none */
    struct join_addresses addresses;   /* the addresses of `listener` */
    struct network network;
    int processors; /* that HELLO tells */
};

struct bootstrap {
    const char *name;

    /* True if the environment selects this implementation. */
    bool (*applies)(const struct environment *environment);

    /* Joins; may block until all ranks have come. Fills in an assignment that is empty; the caller
     * calls rank_assignment_fini() even after a failure. */
    int (*join)(struct rank_assignment *assignment, const struct environment *environment,
                struct err *err);
};

/* `processors` are those that the ranks of this host share. */
int bootstrap_join(struct rank_assignment *assignment, const struct environment *environment,
                   int processors, struct err *err);

/* Closes everything that has not been taken over (set to -1). */
void rank_assignment_fini(struct rank_assignment *assignment);

#endif
