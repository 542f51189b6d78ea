/* SPDX-License-Identifier: Apache-2.0 */
/* Links on demand; see linker.h.
 *
 * A link is wanted until it arrives, dialled or accepted, and lies among the arrived until it is
 * taken. One that was accepted without being wanted lies there likewise. */
#include "lib/link/linker.h"

#include "lib/link/descriptor.h"
#include "lib/link/link_accept.h"
#include "lib/link/link_dial.h"
#include "lib/link/link_tcp.h"
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

struct arrived {
    int rank;
    uint32_t channel;
    struct link *link;
};

struct linker {
    int rank;
    uint32_t epoch;
    struct job_key key;
    const struct network *network; /* or NULL */
    struct link_accept accept;
    struct want *wants; /* in the order in which they were wanted */
    int dials;          /* of them are connecting or greeting */
    struct arrived *arrived;
    int count, capacity; /* of arrived */
    bool came;           /* a wanted link has come, and linker_move() has not said so */
    bool out_of_memory;  /* an accepted link could not be kept */
};

static int out_of_memory(struct err *err)
{
    return fail(err, HVD_ERR_NOMEM, "out of memory");
}

static bool is_trying(const struct want *want)
{
    return want->dial.state == DIAL_TRYING;
}

static struct arrived *find_arrived(const struct linker *linker, int rank, uint32_t channel)
{
    for (int i = 0; i < linker->count; i++)
        if (linker->arrived[i].rank == rank && linker->arrived[i].channel == channel)
            return &linker->arrived[i];
    return NULL;
}

/* Where the want is linked in, so that it can be taken out; points to NULL if there is none. */
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

static struct arrived *add_arrived(struct linker *linker)
{
    if (linker->count == linker->capacity) {
        int capacity = linker->capacity ? 2 * linker->capacity : 8;
        struct arrived *arrived = realloc(linker->arrived, (size_t)capacity * sizeof *arrived);
        if (!arrived)
            return NULL;
        linker->arrived = arrived;
        linker->capacity = capacity;
    }
    return &linker->arrived[linker->count++];
}

static void remove_arrived(struct linker *linker, struct arrived *arrived)
{
    *arrived = linker->arrived[--linker->count];
}

/* Takes `fd` over. The newest link is kept: its dialler has given up the one before. */
static bool keep(struct linker *linker, int rank, uint32_t channel, int fd)
{
    struct link *link = link_tcp_create(fd);
    if (!link) {
        descriptor_close(fd);
        return false;
    }
    struct arrived *arrived = find_arrived(linker, rank, channel);
    if (arrived)
        link_close(arrived->link);
    else
        arrived = add_arrived(linker);
    if (arrived)
        *arrived = (struct arrived){ .rank = rank, .channel = channel, .link = link };
    else
        link_close(link);
    return arrived;
}

/* Only the lower rank of a pair dials. */
static void on_accepted(void *context, const struct link_identity *identity, int fd)
{
    struct linker *linker = context;
    if (identity->source >= (uint32_t)linker->rank) {
        descriptor_close(fd);
        return;
    }
    int rank = (int)identity->source;
    struct want **want = find_want(linker, rank, identity->channel);
    if (!*want && linker->count >= KEPT_MAX) {
        descriptor_close(fd);
        return;
    }
    if (!keep(linker, rank, identity->channel, fd)) {
        linker->out_of_memory = true;
        return;
    }
    if (*want) {
        remove_want(linker, want);
        linker->came = true;
    }
}

struct linker *linker_create(int listener, int rank, uint32_t epoch, const struct job_key *key,
                             const struct network *network, struct err *err)
{
    struct linker *linker = calloc(1, sizeof *linker);
    if (!linker) {
        out_of_memory(err);
        return NULL;
    }
    linker->rank = rank;
    linker->epoch = epoch;
    linker->key = *key;
    linker->network = network;
    link_accept_init(&linker->accept, listener, epoch, (uint32_t)rank, &linker->key, on_accepted,
                     linker);
    linker->accept.network = network;
    return linker;
}

void linker_destroy(struct linker *linker)
{
    if (!linker)
        return;
    while (linker->wants)
        remove_want(linker, &linker->wants);
    while (linker->count > 0)
        link_close(linker->arrived[--linker->count].link);
    free(linker->arrived);
    link_accept_fini(&linker->accept);
    descriptor_close(linker->accept.listener);
    job_key_wipe(&linker->key);
    free(linker);
}

static struct want *want_create(const struct linker *linker, const struct join_peer *peer,
                                uint32_t channel, uint64_t now_ms)
{
    struct want *want = malloc(sizeof *want);
    if (!want)
        return NULL;
    struct link_identity identity = { .epoch = linker->epoch,
                                      .source = (uint32_t)linker->rank,
                                      .target = (uint32_t)peer->rank,
                                      .channel = channel };
    want->next = NULL;
    want->channel = channel;
    bool is_dialled = peer->rank > linker->rank;
    want->deadline_ms = now_ms + LINKER_TIMEOUT_MS + (is_dialled ? 0 : LINKER_GRACE_MS);
    want->peer = *peer;
    if (linker->network)
        network_order(linker->network, &want->peer);
    link_dial_init(&want->dial, &want->peer, &identity, &linker->key);
    return want;
}

int linker_want(struct linker *linker, const struct join_peer *peer, uint32_t channel,
                uint64_t now_ms, struct err *err)
{
    if (peer->rank == linker->rank)
        return fail(err, HVD_ERR_PROTOCOL, "rank %d is to be its own neighbour", peer->rank);
    if (find_arrived(linker, peer->rank, channel)) {
        linker->came = true;
        return HVD_OK;
    }
    struct want **at = find_want(linker, peer->rank, channel);
    if (*at)
        return HVD_OK;
    *at = want_create(linker, peer, channel, now_ms);
    return *at ? HVD_OK : out_of_memory(err);
}

struct link *linker_take(struct linker *linker, int rank, uint32_t channel)
{
    struct arrived *arrived = find_arrived(linker, rank, channel);
    if (!arrived)
        return NULL;
    struct link *link = arrived->link;
    remove_arrived(linker, arrived);
    return link;
}

void linker_forget(struct linker *linker, uint32_t channel)
{
    for (struct want **at = &linker->wants; *at;)
        if ((*at)->channel == channel)
            remove_want(linker, at);
        else
            at = &(*at)->next;
    for (int i = linker->count - 1; i >= 0; i--) {
        if (linker->arrived[i].channel != channel)
            continue;
        link_close(linker->arrived[i].link);
        remove_arrived(linker, &linker->arrived[i]);
    }
}

static bool is_dialled(const struct linker *linker, const struct want *want)
{
    return want->peer.rank > linker->rank;
}

/* 1 when the link is there, 0 if not yet, or a negative status. A dialler without a descriptor
 * comes before strangers at our own door. */
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
        return fail_context(err, "link to rank %d on %s", want->peer.rank, want->peer.host);
    if (rc == 0)
        return 0;
    int fd = link_dial_take(&want->dial);
    return keep(linker, want->peer.rank, want->channel, fd) ? 1 : out_of_memory(err);
}

static int timed_out(const struct linker *linker, const struct want *want, struct err *err)
{
    int rank = want->peer.rank, seconds = LINKER_TIMEOUT_MS / 1000;
    const char *host = want->peer.host;
    char causes[DIAL_CAUSES_SIZE];
    if (is_dialled(linker, want)) {
        link_dial_causes(&want->dial, causes);
        fail(err, HVD_ERR_TIMEOUT, "%s", causes);
        return fail_context(err, "no link to rank %d on %s within %d s", rank, host, seconds);
    }
    seconds += LINKER_GRACE_MS / 1000;
    if (linker->accept.error)
        return fail_errno(err, HVD_ERR_TIMEOUT, linker->accept.error,
                          "no link from rank %d on %s within %d s: accept", rank, host, seconds);
    return fail(err, HVD_ERR_TIMEOUT, "no link from rank %d on %s within %d s", rank, host,
                seconds);
}

static int move_wants(struct linker *linker, uint64_t now_ms, struct err *err)
{
    for (struct want **at = &linker->wants; *at;) {
        int rc = is_dialled(linker, *at) ? dial(linker, *at, now_ms, err) : 0;
        if (rc == 0 && now_ms >= (*at)->deadline_ms)
            rc = timed_out(linker, *at, err);
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
    if (linker->out_of_memory)
        return out_of_memory(err);
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
