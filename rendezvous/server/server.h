/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous without a loop: connections, what they say, and which job that concerns. Time is
 * an argument; bytes come from and go to the carrier's streams (rendezvous.h).
 *
 * A connection begins as an unauthenticated client. Its first bytes tell its language; a proven
 * HELLO makes it a worker's, a proven HTTP request a client's, as does HTTP on a socket of the
 * job's own user. Unauthenticated clients have deadlines and are at most
 * SERVER_UNAUTHENTICATED_MAX, besides one for each worker that is still expected, because all of
 * them may dial before the first says HELLO (but for WORLD_SIZE_MAX of them at most, however many
 * jobs wait). Where the carrier says how many connections there may be, unauthenticated clients
 * have what workers and clients leave, or SERVER_UNAUTHENTICATED_MIN. When there is no room the
 * oldest that has not said OPEN makes some, or else the oldest of all; workers and clients are
 * never sent away for it.
 *
 *   unauthenticated -> client      HTTP
 *   unauthenticated -> worker      frames; its place: struct server_place
 *   any of them -> dead
 *
 * Everything may be called from inside the launcher's callbacks. What is closed meanwhile stays in
 * memory until the outermost call returns. */
#ifndef RENDEZVOUS_SERVER_SERVER_H
#define RENDEZVOUS_SERVER_SERVER_H

#include "rendezvous/api/metrics.h"
#include "rendezvous/base/keyring.h"
#include "rendezvous/join/join_session.h"
#include "rendezvous/server/http_session.h"
#include "rendezvous/server/rendezvous.h"
#include "rendezvous/server/server_admission.h"
#include "rendezvous/world/job_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define SERVER_NEVER MEMBERSHIP_NEVER

enum server_language { SERVER_UNKNOWN, SERVER_HTTP, SERVER_FRAMES };

enum server_role {
    SERVER_UNAUTHENTICATED,
    SERVER_CLIENT,
    SERVER_WORKER,
    SERVER_DEAD,
    SERVER_ROLES
};

/* Where a worker is in its job. */
struct server_place {
    enum {
        SERVER_NOWHERE,   /* no worker, or one of a world that another has replaced */
        SERVER_PENDING,   /* pending worker `index` */
        SERVER_RANK,      /* rank `index` of the world */
        SERVER_NEXT_RANK, /* rank `index` of the epoch that gathers */
        SERVER_WAITING    /* worker `index` of an elastic job, which waits */
    } kind;
    int index;
};

struct rendezvous_connection {
    struct server *server;
    struct rendezvous_stream *stream; /* NULL once the connection is over */
    enum rendezvous_origin origin;
    enum server_role role;
    TAILQ_ENTRY(rendezvous_connection) link; /* among those of the same role */
    uint64_t deadline_ms;                    /* unless it is a worker's */

    struct rendezvous_job *job; /* of a worker */
    struct server_place place;

    unsigned char first[4]; /* until they tell the language */
    size_t nfirst;
    enum server_language language;
    union {
        struct http_session http;
        struct join_session join;
    };
};

TAILQ_HEAD(server_connections, rendezvous_connection);

struct server {
    struct http_service service;
    struct keyring keyring;
    struct job_table job_table;
    struct metrics metrics;
    struct rendezvous_events events; /* of a launcher's job; NULL functions in a service */
    void (*say)(void *context, const char *job, const char *text); /* of a service; or NULL */
    void *context;

    struct server_connections
        connections[SERVER_ROLES]; /* oldest first; the dead are freed later */
    int count[SERVER_ROLES];
    int connections_max; /* 0: not known */
    int rank_queries;    /* that are under way */
    uint64_t due_ms;     /* no deadline is earlier */
    uint64_t now_ms;     /* of the outermost call */
    int calls;           /* that are under way, one inside the other */
    bool trim;           /* a job is over: jobs may have to be forgotten */
    bool closed;
};

/* `epoch_ms`: since 1970, when `now_ms` was 0. */
int server_init(struct server *server, const struct rendezvous_options *options, uint64_t epoch_ms,
                uint64_t now_ms, struct err *err);
void server_init_service(struct server *server, const struct rendezvous_service_options *options,
                         uint64_t epoch_ms, uint64_t now_ms);

/* See rendezvous_change_key(). */
void server_change_key(struct server *server, const struct job_key *key);

/* Ends all connections; from then on nothing is sent and no event reported. May be called inside a
 * callback, server_fini() may not. */
void server_close(struct server *server);
void server_fini(struct server *server);

/* The calls of rendezvous.h. The last eight are for the job of a launcher. */
struct rendezvous_connection *server_accept(struct server *server, struct rendezvous_stream *stream,
                                            enum rendezvous_origin origin, uint64_t now_ms);
void server_receive(struct rendezvous_connection *connection, const void *data, size_t length,
                    uint64_t now_ms);
void server_hangup(struct rendezvous_connection *connection, uint64_t now_ms);
void server_rank_started(struct server *server, int rank, int pid);
void server_rank_ended(struct server *server, int rank, const struct rank_end_how *how,
                       uint64_t now_ms);
int server_ask(struct server *server, uint64_t now_ms, struct err *err);
int server_intend(struct server *server, const struct rendezvous_member *members, int count,
                  uint64_t now_ms, struct err *err);
void server_place_worker(struct server *server, int worker, const struct rank_info *place);
void server_remove(struct server *server, int worker, uint64_t now_ms);
void server_tell_end(struct server *server, int rank, const struct rendezvous_end *end,
                     uint64_t now_ms);
void server_tell_verdict(struct server *server, const struct rendezvous_verdict *verdict,
                         uint64_t now_ms);

/* When server_tick() must be called next, or SERVER_NEVER. With thousands of connections it may
 * be earlier than needed, or up to SERVER_COARSE_MS later. */
enum { SERVER_COARSE_MS = 32 };
uint64_t server_deadline(const struct server *server);
void server_tick(struct server *server, uint64_t now_ms);

#endif
