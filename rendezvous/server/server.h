/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous without a loop: connections, what they say, and which job that concerns. Time is
 * an argument; bytes come from and go to the carrier's streams (rendezvous.h).
 *
 * A connection begins as a stranger. Its first bytes tell its language; a proven HELLO makes it a
 * worker's, a proven HTTP request a client's, as does HTTP on a socket of the job's own user.
 * Strangers have deadlines and are at most HUB_STRANGERS_MAX, besides one for each worker that is
 * still expected, because all of them may dial before the first says HELLO (but for WORLD_SIZE_MAX
 * of them at most, however many jobs wait). Where the carrier says how many connections there may
 * be, strangers have what workers and clients leave, or HUB_STRANGERS_MIN. When there is no room
 * the oldest that has not said OPEN makes some, or else the oldest of all; workers and clients are
 * never sent away for it.
 *
 *   stranger -> client      HTTP
 *   stranger -> worker      frames; in the lobby of its job, then of a rank
 *   any of them -> dead
 *
 * Everything may be called from inside the launcher's callbacks. What is closed meanwhile stays in
 * memory until the outermost call returns. */
#ifndef RENDEZVOUS_SERVER_HUB_H
#define RENDEZVOUS_SERVER_HUB_H

#include "rendezvous/api/metrics.h"
#include "rendezvous/base/keyring.h"
#include "rendezvous/join/join_session.h"
#include "rendezvous/server/http_session.h"
#include "rendezvous/server/rendezvous.h"
#include "rendezvous/world/job_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* Besides the workers that are still expected; and of HTTP clients. */
enum { HUB_STRANGERS_MAX = 256, HUB_STRANGERS_MIN = 64, HUB_CLIENTS_MAX = 16384 };

/* While there are more strangers than that, because workers are expected, none keeps more of a head
 * of HTTP than this that is not whole. */
enum { HUB_CROWDED_HEAD_MAX = 1024 };

/* For the first head or the proven HELLO, from rendezvous_accept() on. */
enum { HUB_STRANGER_MS = 5000 };

#define HUB_NEVER MEMBERSHIP_NEVER

enum hub_language { HUB_UNKNOWN, HUB_HTTP, HUB_FRAMES };

enum hub_standing { HUB_STRANGER, HUB_CLIENT, HUB_WORKER, HUB_DEAD, HUB_STANDINGS };

struct rendezvous_connection {
    struct hub *hub;
    struct rendezvous_stream *stream; /* NULL once the connection is over */
    enum rendezvous_origin origin;
    enum hub_standing standing;
    TAILQ_ENTRY(rendezvous_connection) link; /* among those of the same standing */
    uint64_t deadline_ms;                    /* unless it is a worker's */

    struct meeting *meeting; /* of a worker */
    int rank;                /* -1: in the lobby, or no worker */
    int guest;               /* in the lobby; -1 otherwise */

    unsigned char first[4]; /* until they tell the language */
    size_t nfirst;
    enum hub_language language;
    union {
        struct http_session http;
        struct join_session join;
    };
};

TAILQ_HEAD(hub_connections, rendezvous_connection);

struct hub {
    struct http_service service;
    struct keyring keyring;
    struct meetings meetings;
    struct metrics metrics;
    struct rendezvous_events events; /* of a launcher's job; NULL functions in a service */
    void (*say)(void *context, const char *job, const char *text); /* of a service; or NULL */
    void *context;

    struct hub_connections connections[HUB_STANDINGS]; /* oldest first; the dead are freed later */
    int count[HUB_STANDINGS];
    int connections_max; /* 0: not known */
    int roll_calls;      /* that are under way */
    uint64_t due_ms;     /* no deadline is earlier */
    uint64_t now_ms;     /* of the outermost call */
    int calls;           /* that are under way, one inside the other */
    bool trim;           /* a job is over: jobs may have to be forgotten */
    bool closed;
};

/* `epoch_ms`: since 1970, when `now_ms` was 0. */
int hub_init(struct hub *hub, const struct rendezvous_options *options, uint64_t epoch_ms,
             uint64_t now_ms, struct err *err);
void hub_init_service(struct hub *hub, const struct rendezvous_service_options *options,
                      uint64_t epoch_ms, uint64_t now_ms);

/* Ends all connections; from then on nothing is sent and no event reported. May be called inside a
 * callback, hub_fini() may not. */
void hub_close(struct hub *hub);
void hub_fini(struct hub *hub);

/* As their namesakes in rendezvous.h; the last five for the one job of a launcher's. */
struct rendezvous_connection *hub_accept(struct hub *hub, struct rendezvous_stream *stream,
                                         enum rendezvous_origin origin, uint64_t now_ms);
void hub_receive(struct rendezvous_connection *connection, const void *data, size_t length,
                 uint64_t now_ms);
void hub_hangup(struct rendezvous_connection *connection, uint64_t now_ms);
void hub_rank_started(struct hub *hub, int rank, int pid);
void hub_rank_ended(struct hub *hub, int rank, const struct rank_end_how *how, uint64_t now_ms);
int hub_ask(struct hub *hub, uint64_t now_ms, struct err *err);
void hub_tell_end(struct hub *hub, int rank, const struct rendezvous_end *end, uint64_t now_ms);
void hub_tell_verdict(struct hub *hub, const struct rendezvous_verdict *verdict, uint64_t now_ms);

/* When hub_tick() is wanted next, or HUB_NEVER. In a crowd maybe earlier than needed, and by up to
 * HUB_COARSE_MS later. */
enum { HUB_COARSE_MS = 32 };
uint64_t hub_deadline(const struct hub *hub);
void hub_tick(struct hub *hub, uint64_t now_ms);

#endif
