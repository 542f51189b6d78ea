/* SPDX-License-Identifier: Apache-2.0 */
/* How many unauthenticated clients the server keeps, and which one makes room for a new one; see
 * server_admission.h for the limits. */
#include "rendezvous/server/server_impl.h"

static bool has_said_open(const struct rendezvous_connection *unauthenticated)
{
    return unauthenticated->language == SERVER_FRAMES &&
           unauthenticated->join.state == JOIN_SESSION_CHALLENGED;
}

/* The oldest client that has not sent OPEN, or else the oldest. A client that has sent OPEN is
 * probably a worker whose HELLO is on its way. */
static struct rendezvous_connection *least_wanted(struct server *server)
{
    struct rendezvous_connection *at;
    TAILQ_FOREACH(at, &server->connections[SERVER_UNAUTHENTICATED], link)
    if (!has_said_open(at))
        return at;
    return TAILQ_FIRST(&server->connections[SERVER_UNAUTHENTICATED]);
}

/* The number of workers that jobs still wait for, at most WORLD_SIZE_MAX: a client that declares
 * jobs must not make more room than that for unauthenticated clients. */
static int expected(const struct server *server)
{
    int64_t workers = 0;
    const struct rendezvous_job *at;
    TAILQ_FOREACH(at, &server->job_table.list, link)
    workers += rendezvous_job_expects(at);
    return workers < WORLD_SIZE_MAX ? (int)workers : WORLD_SIZE_MAX;
}

/* The limit on unauthenticated clients. */
static int room(const struct server *server)
{
    int wanted = SERVER_UNAUTHENTICATED_MAX;
    int left =
        server->connections_max - server->count[SERVER_CLIENT] - server->count[SERVER_WORKER];
    if (server->count[SERVER_UNAUTHENTICATED] >= SERVER_UNAUTHENTICATED_MAX)
        wanted += expected(server);
    if (server->connections_max == 0 || left >= wanted)
        return wanted;
    return left > SERVER_UNAUTHENTICATED_MIN ? left : SERVER_UNAUTHENTICATED_MIN;
}

void server_make_room(struct server *server)
{
    if (server->count[SERVER_UNAUTHENTICATED] < SERVER_UNAUTHENTICATED_MIN)
        return;
    for (int most = room(server); server->count[SERVER_UNAUTHENTICATED] >= most;) {
        server->metrics.turned_away++;
        server_end(least_wanted(server));
    }
}
