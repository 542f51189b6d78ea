/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous of one job, which a rank serves: no I/O and no thread. Connections, bytes and time
 * go in; bytes to send, and connections to close, come out.
 *
 *   gathering   workers come with their ranks, and are pending until all are there
 *   then        membership (rendezvous/world/membership.h) decides what each is told
 *
 * What a launcher knows of processes is not known here: a rank whose connection ends without
 * GOODBYE is lost. Connections that have not proved the key are few, and end after some time. */
#ifndef LIB_SERVE_RANK_SERVER_H
#define LIB_SERVE_RANK_SERVER_H

#include "rendezvous/join/join_session.h"
#include "rendezvous/world/membership.h"
#include "rendezvous/world/pending_workers.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/* How long a connection may take to prove the key, and how many may try at once, beside those of
 * the ranks that are still expected. */
enum { RANK_SERVER_HELLO_MS = 30000, RANK_SERVER_UNPROVEN_MAX = 64 };

struct rank_server_connection {
    struct rank_server *server;
    int fd; /* the carrier's */
    struct join_session join;
    struct wire_writer out; /* to be sent; the carrier removes what it has sent */
    bool ending;            /* to be closed after `out` */
    int rank, worker;       /* -1: none; `worker`: the index among the pending workers */
    uint64_t hello_ms;      /* when HELLO must have come */
    TAILQ_ENTRY(rank_server_connection) link;
};

TAILQ_HEAD(rank_server_connections, rank_server_connection);

struct rank_server {
    int size;
    struct keyring keyring;
    struct rank_server_connections connections;
    int unproven;
    struct pending_workers pending;
    struct membership membership;          /* once all have come */
    bool placed;                           /* `membership` is there */
    struct rank_server_connection **ranks; /* `size`, NULL: none now; owned */
};

/* `job` is for texts, and borrowed. HVD_ERR_NOMEM. */
int rank_server_init(struct rank_server *server, const char *job, int size,
                     const struct job_key *key, uint64_t start_timeout_ms, struct err *err);

/* After the carrier has closed all connections. */
void rank_server_fini(struct rank_server *server);

/* A new connection; NULL when out of memory. May let another one end. */
struct rank_server_connection *rank_server_accept(struct rank_server *server, int fd,
                                                  uint64_t now_ms);

/* Bytes have come. */
void rank_server_receive(struct rank_server_connection *connection, const void *data, size_t length,
                         uint64_t now_ms);

/* The carrier has closed the connection, whose struct is freed. */
void rank_server_closed(struct rank_server_connection *connection, uint64_t now_ms);

/* Time has passed; when this is wanted next, or MEMBERSHIP_NEVER. */
void rank_server_tick(struct rank_server *server, uint64_t now_ms);
uint64_t rank_server_deadline(const struct rank_server *server);

/* Rank 0, which serves, leaves: tells all that are there, so that they do not take the end of their
 * connection for its death. Those that wait for others are refused. */
void rank_server_farewell(struct rank_server *server);

/* Rank 0's connection has ended, and nobody waits for an explanation of another's. */
bool rank_server_is_left(const struct rank_server *server);

#endif
