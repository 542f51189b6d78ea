/* SPDX-License-Identifier: Apache-2.0 */
/* How a worker learns its rank info: an interface and its implementations. bootstrap_choice.h says
 * which is used:
 *   service, hvdrun    the environment names a rendezvous: sends HELLO, waits for the whole world,
 *                      and gets the rank that it asks for, or any
 *   pmix, pmi2, pmi1   a process manager knows the rank: rank 0 serves the rendezvous itself
 *                      (manager_join.c), and the rest is the same
 *   alone              a world of size 1 */
#ifndef LIB_JOIN_BOOTSTRAP_H
#define LIB_JOIN_BOOTSTRAP_H

#include "lib/base/auth.h"
#include "lib/base/join_protocol.h"
#include "lib/base/rank_credentials.h"
#include "lib/join/environment.h"
#include "lib/join/join_client.h"
#include "lib/link/network.h"
#include "lib/serve/rendezvous_thread.h"

#include <stdbool.h>

/* The rank of a process in a world, and the resources that belong to it. */
struct rank_assignment {
    struct join_welcome welcome; /* without neighbours in a world of one */
    struct job_key key;
    struct rank_credentials credentials; /* its own key only: WELCOME has the rest */
    struct join_connection connection;   /* fd -1 when no rendezvous watches over this world */
    struct listener listener;            /* where other ranks dial; each fd -1 if there is none */
    struct join_addresses addresses;     /* the addresses of `listener` */
    struct network network;
    int processors;                       /* that HELLO tells */
    struct rendezvous_thread *rendezvous; /* that rank 0 serves itself; NULL: none */
    struct join_peer server;              /* the rank that serves it, if one does */
    char server_name[JOIN_HOST_MAX + 16];
};

struct bootstrap {
    enum bootstrap_kind kind;

    /* Joins; may block until all ranks have come. Fills in an assignment that is empty; the caller
     * calls rank_assignment_fini() even after a failure. */
    int (*join)(struct rank_assignment *assignment, const struct environment *environment,
                struct err *err);
};

/* `processors` are those that the ranks of this host share. */
int bootstrap_join(struct rank_assignment *assignment, const struct environment *environment,
                   int processors, struct err *err);

/* Implementations, also for others: a world of one, and the world of environment's rendezvous. */
int bootstrap_join_alone(struct rank_assignment *assignment, const struct environment *environment,
                         struct err *err);
int bootstrap_join_rendezvous(struct rank_assignment *assignment,
                              const struct environment *environment, struct err *err);

/* Closes everything that has not been taken over (set to -1). */
void rank_assignment_fini(struct rank_assignment *assignment);

#endif
