/* SPDX-License-Identifier: Apache-2.0 */
/* Links on demand; see linker.h.
 *
 * A link is wanted until it arrives, dialled or accepted, and then waits among the arrivals until
 * the caller takes it. An accepted link that is not wanted yet waits there, too. When the host of
 * the peer is known, the link is judged: between ranks of one host it must be as good as this rank
 * wants. */
#include "lib/link/linker.h"

#include "lib/base/descriptor.h"
#include "lib/base/env_names.h"
#include "lib/base/log.h"
#include "lib/link/arrivals.h"
#include "lib/link/link_accept.h"
#include "lib/link/link_dial.h"
#include "lib/link/network.h"

#include <stdlib.h>

enum { KEPT_MAX = 1024, DIALS_MAX = 32 };

struct want {
    struct want *next;
    uint32_t channel;
    uint64_t deadline_ms;
    struct join_peer peer;
    struct link_dial dial; /* used when the peer's rank is higher */
};

struct linker {
    int rank;
    uint32_t streams;
    struct link_terms terms;
    struct rank_credentials credentials;
    const struct network *network; /* or NULL */
    struct listener listener;
    struct link_accept accept; /* on it */
    struct want *wants;        /* in the order in which they were wanted */
    int dials;                 /* of them are connecting or in the handshake */
    struct arrivals arrivals;
    bool has_told;     /* has logged that links are encrypted */
    bool came;         /* a wanted link has come, and linker_move() has not reported it */
    struct err failed; /* an accepted link could not be kept, or may not be */
};

static int out_of_memory(struct err *err)
{
    return fail(err, HVD_ERR_NOMEM, "out of memory");
}

static enum transport transport_of(const struct linker *linker)
{
    return linker->network ? linker->network->transport : TRANSPORT_AUTO;
}

static bool is_trying(const struct want *want)
{
    return want->dial.state == DIAL_TRYING;
}

/* The pointer to the want in the list, so that it can be taken out; points to NULL if there is
 * none. */
static struct want **find_want(struct linker *linker, int rank, uint32_t channel)
{
    struct want **at = &linker->wants;
    while (*at && ((*at)->peer.rank != rank || (*at)->channel != channel))
        at = &(*at)->next;
    return at;
}

static void remove_want(struct linker *linker, struct want **at)
{
    struct want *want = *at;
    *at = want->next;
    linker->dials -= is_trying(want);
    link_dial_fini(&want->dial);
    free(want);
}

/* A rank of this host that connects over TCP has a reason. */
static const char *why_accepted(const struct linker *linker,
                                const struct link_connection *connection)
{
    if (connection->is_unix)
        return link_connection_why(connection);
    return linker->accept.unix_listener < 0 ? "there is no unix socket here"
                                            : "it has not dialled the unix socket";
}

/* Only the lower rank of a pair dials, and only so many links are kept for later. */
static bool is_welcome(const struct linker *linker, const struct link_identity *identity,
                       bool wanted)
{
    return identity->source < (uint32_t)linker->rank &&
           (wanted || linker->arrivals.count < KEPT_MAX);
}

/* Otherwise one side would send over links that the peer does not read. */
static bool agrees(struct linker *linker, const struct link_identity *identity)
{
    if (identity->streams == linker->streams)
        return true;
    fail(&linker->failed, HVD_ERR_ENVIRONMENT, "%s is %u on rank %u and %u on rank %d", ENV_STREAMS,
         identity->streams, identity->source, linker->streams, linker->rank);
    return false;
}

/* Somebody who asks for encryption wants to see it. */
static void tell_cipher(struct linker *linker, const struct link_connection *connection)
{
    const struct link_handshake *handshake = &connection->handshake;
    if (handshake->verdict != LINK_ENCRYPTED || linker->has_told)
        return;
    linker->has_told = true;
    log_line(LOG_INFO, linker->rank, "rank %d encrypts links with %s, the first of them to rank %u",
             linker->rank, cipher_name(handshake->keys.cipher),
             connection->initiates ? handshake->identity.target : handshake->identity.source);
}

static void on_accepted(void *context, const struct link_identity *identity,
                        struct link_connection *connection)
{
    struct linker *linker = context;
    int rank = (int)identity->source;
    struct want **want = find_want(linker, rank, identity->channel);
    if (!is_welcome(linker, identity, *want) || !agrees(linker, identity) ||
        link_connection_check_terms(connection, &linker->failed) < 0) {
        link_connection_close(connection);
        return;
    }
    tell_cipher(linker, connection);
    struct link *link = link_connection_link(connection, &linker->failed);
    const struct arrival *arrival = NULL;
    if (link)
        arrival = arrivals_keep(&linker->arrivals, rank, identity->channel, link,
                                why_accepted(linker, connection), &linker->failed);
    if (!arrival || !*want)
        return;
    arrivals_judge(&linker->arrivals, &(*want)->peer, arrival, &linker->failed);
    remove_want(linker, want);
    linker->came = true;
}

struct linker *linker_create(const struct linker_options *options, struct err *err)
{
    struct linker *linker = calloc(1, sizeof *linker);
    if (!linker) {
        out_of_memory(err);
        return NULL;
    }
    linker->rank = (int)options->credentials->rank;
    linker->streams = (uint32_t)options->streams;
    linker->terms =
        (struct link_terms){ .encryption = options->encryption, .ciphers = cipher_supported() };
    linker->credentials = *options->credentials;
    linker->network = options->network;
    linker->arrivals = (struct arrivals){ .rank = linker->rank, .network = options->network };
    linker->listener = options->listener;
    link_accept_init(&linker->accept, options->listener.fd, &linker->credentials, on_accepted,
                     linker);
    linker->accept.others = linker->listener.others;
    linker->accept.nothers = linker->listener.nothers;
    linker->accept.unix_listener = options->listener.unix_fd;
    linker->accept.network = options->network;
    linker->accept.transport = transport_of(linker);
    linker->accept.terms = linker->terms;
    return linker;
}

void linker_destroy(struct linker *linker)
{
    if (!linker)
        return;
    while (linker->wants)
        remove_want(linker, &linker->wants);
    arrivals_fini(&linker->arrivals);
    link_accept_fini(&linker->accept);
    listener_close(&linker->listener);
    rank_credentials_wipe(&linker->credentials);
    free(linker);
}

static struct want *want_create(struct linker *linker, const struct join_peer *peer,
                                uint32_t channel, uint64_t now_ms)
{
    struct want *want = malloc(sizeof *want);
    if (!want)
        return NULL;
    struct link_identity identity = { .epoch = linker->credentials.epoch,
                                      .source = (uint32_t)linker->rank,
                                      .target = (uint32_t)peer->rank,
                                      .channel = channel,
                                      .streams = linker->streams };
    want->next = NULL;
    want->channel = channel;
    bool is_dialled = peer->rank > linker->rank;
    want->deadline_ms = now_ms + LINKER_TIMEOUT_MS + (is_dialled ? 0 : LINKER_GRACE_MS);
    want->peer = *peer;
    if (linker->network)
        network_order(linker->network, &want->peer);
    link_dial_init(&want->dial, &want->peer, &identity, &linker->credentials);
    want->dial.transport = transport_of(linker);
    want->dial.terms = linker->terms;
    want->dial.terms.between_hosts =
        !linker->network || !network_is_same_host(linker->network, peer);
    return want;
}

/* A rank that insists on shared memory, and cannot even ask for it. */
static int check_reachable(const struct linker *linker, const struct want *want, struct err *err)
{
    if (want->peer.addresses.count > 0 || want->peer.rank < linker->rank ||
        transport_of(linker) != TRANSPORT_SHM ||
        !network_is_same_host(linker->network, &want->peer))
        return HVD_OK;
    return fail(err, HVD_ERR_ENVIRONMENT,
                "%s is shm: no shared memory with rank %d on %s: it listens at no unix socket",
                ENV_TRANSPORT, want->peer.rank, want->peer.host);
}

int linker_want(struct linker *linker, const struct join_peer *peer, uint32_t channel,
                uint64_t now_ms, struct err *err)
{
    if (peer->rank == linker->rank)
        return fail(err, HVD_ERR_PROTOCOL, "rank %d is to be its own neighbour", peer->rank);
    const struct arrival *arrival = arrivals_find(&linker->arrivals, peer->rank, channel);
    if (arrival) {
        linker->came = true;
        return arrivals_judge(&linker->arrivals, peer, arrival, err);
    }
    struct want **at = find_want(linker, peer->rank, channel);
    if (*at)
        return HVD_OK;
    *at = want_create(linker, peer, channel, now_ms);
    return *at ? check_reachable(linker, *at, err) : out_of_memory(err);
}

bool linker_has(const struct linker *linker, int rank, uint32_t channel)
{
    return arrivals_find(&linker->arrivals, rank, channel);
}

struct link *linker_take(struct linker *linker, int rank, uint32_t channel)
{
    return arrivals_take(&linker->arrivals, rank, channel);
}

void linker_forget(struct linker *linker, uint32_t channel)
{
    for (struct want **at = &linker->wants; *at;)
        if ((*at)->channel == channel)
            remove_want(linker, at);
        else
            at = &(*at)->next;
    arrivals_forget(&linker->arrivals, channel);
}

bool linker_keeps_links(const struct linker *linker)
{
    return linker->arrivals.count > 0;
}

static bool is_dialled(const struct linker *linker, const struct want *want)
{
    return want->peer.rank > linker->rank;
}

/* 1, or a negative status. */
static int take_dialled(struct linker *linker, struct want *want, struct err *err)
{
    struct arrivals *arrivals = &linker->arrivals;
    tell_cipher(linker, &want->dial.made);
    struct link *link = link_dial_take(&want->dial, err);
    if (!link)
        return err->code;
    const struct arrival *arrival = arrivals_keep(arrivals, want->peer.rank, want->channel, link,
                                                  link_dial_why(&want->dial), err);
    if (!arrival)
        return HVD_ERR_NOMEM;
    int rc = arrivals_judge(arrivals, &want->peer, arrival, err);
    return rc < 0 ? rc : 1;
}

static int dial_context(const struct linker *linker, const struct want *want, int rc,
                        struct err *err)
{
    int rank = want->peer.rank;
    const char *host = want->peer.host;
    if (rc == HVD_ERR_ENVIRONMENT && transport_of(linker) == TRANSPORT_SHM)
        return fail_context(err, "%s is shm: no shared memory with rank %d on %s", ENV_TRANSPORT,
                            rank, host);
    return fail_context(err, "link to rank %d on %s", rank, host);
}

/* 1 when the link is there, 0 if not yet, or a negative status. A dialler without a descriptor has
 * priority over unauthenticated peers at our own port. */
static int dial(struct linker *linker, struct want *want, uint64_t now_ms, struct err *err)
{
    bool tried = is_trying(want);
    if (!tried && linker->dials >= DIALS_MAX)
        return 0;
    int rc = link_dial_move(&want->dial, now_ms, err);
    linker->dials += is_trying(want) - tried;
    if (rc == HVD_ERR_SYSTEM && (link_accept_shed(&linker->accept) || linker->accept.count > 0))
        return 0; /* tried again */
    if (rc < 0)
        return dial_context(linker, want, rc, err);
    return rc == 0 ? 0 : take_dialled(linker, want, err);
}

/* Names both ends: the line may stand alone in the log of one rank. */
static int timed_out(const struct linker *linker, const struct want *want, struct err *err)
{
    const struct join_peer *peer = &want->peer;
    const char *on = linker->network ? " on " : "",
               *here = linker->network ? linker->network->host : "";
    int seconds = LINKER_TIMEOUT_MS / 1000;
    char causes[DIAL_CAUSES_SIZE];
    if (is_dialled(linker, want)) {
        link_dial_causes(&want->dial, causes);
        fail(err, HVD_ERR_TIMEOUT, "%s", causes);
        return fail_context(err, "no link from rank %d%s%s to rank %d on %s within %d s",
                            linker->rank, on, here, peer->rank, peer->host, seconds);
    }
    seconds += LINKER_GRACE_MS / 1000;
    return fail(err, HVD_ERR_TIMEOUT, "no link from rank %d on %s to rank %d%s%s within %d s",
                peer->rank, peer->host, linker->rank, on, here, seconds);
}

/* For so long there was no descriptor for a waiting connection. The missing link may be this very
 * connection, whose rank does not know the reason; so this rank reports it first. */
static bool is_shut(const struct linker *linker, const struct want *want, uint64_t now_ms)
{
    return !is_dialled(linker, want) && linker->accept.error &&
           now_ms >= linker->accept.shut_ms + LINKER_SHUT_MS;
}

static int move_want(struct linker *linker, struct want *want, uint64_t now_ms, struct err *err)
{
    if (is_shut(linker, want, now_ms))
        return fail_errno(err, HVD_ERR_SYSTEM, linker->accept.error,
                          "no link from rank %d on %s: accept", want->peer.rank, want->peer.host);
    int rc = is_dialled(linker, want) ? dial(linker, want, now_ms, err) : 0;
    return rc == 0 && now_ms >= want->deadline_ms ? timed_out(linker, want, err) : rc;
}

static int move_wants(struct linker *linker, uint64_t now_ms, struct err *err)
{
    for (struct want **at = &linker->wants; *at;) {
        int rc = move_want(linker, *at, now_ms, err);
        if (rc < 0)
            return rc;
        if (rc == 0) {
            at = &(*at)->next;
            continue;
        }
        remove_want(linker, at);
        linker->came = true;
    }
    return HVD_OK;
}

int linker_move(struct linker *linker, uint64_t now_ms, struct err *err)
{
    int rc = link_accept_move(&linker->accept, now_ms, err);
    if (rc == HVD_OK && linker->failed.code != HVD_OK)
        rc = fail(err, linker->failed.code, "%s", linker->failed.text);
    if (rc == HVD_OK)
        rc = move_wants(linker, now_ms, err);
    if (rc < 0)
        return rc;
    bool came = linker->came;
    linker->came = false;
    return came;
}

/* Until when nothing happens to this want unless its descriptor is ready. */
static uint64_t want_until(const struct linker *linker, const struct want *want)
{
    bool waits =
        !is_dialled(linker, want) || (want->dial.state == DIAL_IDLE && linker->dials >= DIALS_MAX);
    uint64_t until_ms = waits ? UINT64_MAX : link_dial_until(&want->dial);
    return until_ms < want->deadline_ms ? until_ms : want->deadline_ms;
}

int linker_pollfds(const struct linker *linker, struct pollfd *fds, int capacity,
                   uint64_t *until_ms)
{
    int count = link_accept_pollfds(&linker->accept, fds, capacity, until_ms);
    if (linker->came)
        *until_ms = 0;
    for (const struct want *want = linker->wants; want; want = want->next) {
        uint64_t until = want_until(linker, want);
        if (until < *until_ms)
            *until_ms = until;
        int room = count < capacity ? capacity - count : 0;
        count += link_dial_pollfds(&want->dial, room ? fds + count : NULL, room);
    }
    return count;
}

bool linker_busy(const struct linker *linker)
{
    return linker->wants;
}
