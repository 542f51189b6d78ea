/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous without a loop: connections, what they say, and whom that concerns. Time is an
 * argument; bytes come from and go to the carrier's streams (rendezvous.h).
 *
 * A connection begins as a stranger. Its first bytes tell its language; a proven HELLO makes it the
 * connection of a rank. Strangers have deadlines and are at most HUB_STRANGERS_MAX, besides one for
 * each rank that is still expected, because all of them may dial before the first says HELLO. When
 * there is no room the oldest that has not said OPEN makes some, or else the oldest of all; ranks
 * are never sent away for it.
 *
 *   unknown -> HTTP                    a stranger to the end
 *   unknown -> frames -> of a rank
 *
 * Everything may be called from inside the launcher's callbacks. What is closed meanwhile stays in
 * memory until the outermost call returns. */
#ifndef RENDEZVOUS_HUB_H
#define RENDEZVOUS_HUB_H

#include "rendezvous/http_session.h"
#include "rendezvous/join_session.h"
#include "rendezvous/membership.h"
#include "rendezvous/rendezvous.h"
#include "rendezvous/roll_call.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* Besides the ranks that are still expected. */
enum { HUB_STRANGERS_MAX = 256 };

/* For the first head or the proven HELLO, from rendezvous_accept() on. */
enum { HUB_STRANGER_MS = 5000 };

#define HUB_NEVER MEMBERSHIP_NEVER

enum hub_language { HUB_UNKNOWN, HUB_HTTP, HUB_FRAMES };

struct rendezvous_connection {
    struct hub *hub;
    struct rendezvous_stream *stream;        /* NULL once the connection is over */
    int rank;                                /* -1: a stranger */
    uint64_t deadline_ms;                    /* of a stranger */
    TAILQ_ENTRY(rendezvous_connection) link; /* among strangers or the dead */

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
    struct membership membership;
    struct roll_call roll_call;
    struct job_key key;
    struct rendezvous_events events;
    void *context;

    struct rendezvous_connection **ranks; /* of each rank, or NULL; owned, as all connections are */
    struct hub_connections strangers;     /* oldest first */
    int nstrangers;
    struct hub_connections dead; /* freed when the outermost call returns */
    int calls;                   /* that are under way, one inside the other */
    bool closed;
};

int hub_init(struct hub *hub, const struct rendezvous_options *options, struct err *err);

/* Ends all connections; from then on nothing is sent and no event reported. May be called inside a
 * callback, hub_fini() may not. */
void hub_close(struct hub *hub);
void hub_fini(struct hub *hub);

/* As their namesakes in rendezvous.h. */
struct rendezvous_connection *hub_accept(struct hub *hub, struct rendezvous_stream *stream,
                                         uint64_t now_ms);
void hub_receive(struct rendezvous_connection *connection, const void *data, size_t length,
                 uint64_t now_ms);
void hub_hangup(struct rendezvous_connection *connection, uint64_t now_ms);
void hub_rank_ended(struct hub *hub, int rank, const char *how, uint64_t now_ms);
int hub_ask(struct hub *hub, uint64_t now_ms, struct err *err);

/* When hub_tick() is wanted next, or HUB_NEVER. */
uint64_t hub_deadline(const struct hub *hub);
void hub_tick(struct hub *hub, uint64_t now_ms);

#endif
