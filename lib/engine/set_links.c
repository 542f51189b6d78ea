/* SPDX-License-Identifier: Apache-2.0 */
/* The links of a process set: to the ring's and the tree's neighbours from the start, to all members
 * once a collective needs that; wanted from the linker, taken as they come. And what is said of one
 * that has failed. */
#include "lib/engine/engine_impl.h"

#include "lib/link/socket.h"

#include <stdlib.h>

enum { TREE_CHANNEL, DATA_CHANNEL, CHANNELS_OF_A_SET };

static uint32_t channel_number(const struct process_set *set, int purpose)
{
    return set->serial * CHANNELS_OF_A_SET + (uint32_t)purpose;
}

static const struct join_peer *find_peer(const struct join_peer *peers, int npeers, int rank)
{
    for (int i = 0; i < npeers; i++)
        if (peers[i].rank == rank)
            return &peers[i];
    return NULL;
}

static int want(struct process_set *set, const struct join_peer *peers, int npeers, int rank,
                int purpose, struct err *err)
{
    const struct join_peer *peer = find_peer(peers, npeers, set->ranks[rank]);
    if (!peer)
        return fail(err, HVD_ERR_PROTOCOL, "nothing tells where rank %d is", set->ranks[rank]);
    return linker_want(set->engine->linker, peer, channel_number(set, purpose), monotonic_ms(),
                       err);
}

int set_want_links(struct process_set *set, const struct join_peer *peers, int npeers,
                   struct err *err)
{
    int rc = HVD_OK, left = ring_left(set->rank, set->size),
        right = ring_right(set->rank, set->size);
    set->expects_links = true;
    if (set->size < 2)
        return HVD_OK;
    rc = want(set, peers, npeers, left, DATA_CHANNEL, err);
    if (rc == HVD_OK && right != left)
        rc = want(set, peers, npeers, right, DATA_CHANNEL, err);
    if (rc == HVD_OK && set->tree.parent >= 0)
        rc = want(set, peers, npeers, set->tree.parent, TREE_CHANNEL, err);
    for (int i = 0; rc == HVD_OK && i < set->tree.nchildren; i++)
        rc = want(set, peers, npeers, set->tree.children[i], TREE_CHANNEL, err);
    return rc;
}

int set_want_mesh(struct process_set *set, struct err *err)
{
    struct engine *engine = set->engine;
    set->meshing = set->expects_links = true;
    for (int rank = 0; rank < set->size; rank++) {
        if (rank == set->rank || set->channels[rank])
            continue;
        int rc = want(set, engine->peers, engine->size, rank, DATA_CHANNEL, err);
        if (rc < 0)
            return rc;
    }
    return HVD_OK;
}

/* A link to a rank of the set, if it is there; what it sends is counted. */
static struct link *take_link(struct process_set *set, int rank, int channel)
{
    struct link *link =
        linker_take(set->engine->linker, set->ranks[rank], channel_number(set, channel));
    if (link)
        link->sent = &set->engine->bytes_sent;
    return link;
}

static bool take_tree(struct process_set *set, struct tree_link *tree, int rank)
{
    if (tree->link)
        return true;
    struct link *link = take_link(set, rank, TREE_CHANNEL);
    if (link)
        tree_link_init(tree, link, set->ranks[rank]);
    return link;
}

/* 1 if it is there, 0 if not, or HVD_ERR_NOMEM. */
static int take_channel(struct process_set *set, int rank, struct err *err)
{
    if (set->channels[rank])
        return 1;
    struct link *link = take_link(set, rank, DATA_CHANNEL);
    if (!link)
        return 0;
    struct channel *channel = calloc(1, sizeof *channel);
    if (!channel) {
        link_close(link);
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    }
    channel_init(channel, link, rank);
    set->channels[rank] = channel;
    set->peers[set->npeers++] = rank;
    return 1;
}

/* As take_channel(), for all neighbours. */
static int take_neighbours(struct process_set *set, struct err *err)
{
    int left = take_channel(set, ring_left(set->rank, set->size), err);
    int right = left < 0 ? left : take_channel(set, ring_right(set->rank, set->size), err);
    bool all = left > 0 && right > 0;
    if (set->tree.parent >= 0)
        all &= take_tree(set, &set->up, set->tree.parent);
    for (int i = 0; i < set->tree.nchildren; i++)
        all &= take_tree(set, &set->down[i], set->tree.children[i]);
    return right < 0 ? right : all;
}

static int take_mesh(struct process_set *set, struct err *err)
{
    int all = 1;
    for (int rank = 0; rank < set->size; rank++) {
        int rc = rank == set->rank ? 1 : take_channel(set, rank, err);
        if (rc < 0)
            return rc;
        all &= rc;
    }
    set->meshed = all;
    return HVD_OK;
}

int set_take_links(struct process_set *set, struct err *err)
{
    set->expects_links = false;
    set->engine->unwatched = true;
    if (set->state == SET_LINKING && set->rank >= 0) {
        int rc = set->size < 2 ? 1 : take_neighbours(set, err);
        if (rc < 0)
            return rc;
        if (rc > 0) {
            set->state = SET_READY;
            rc = inspect_start(set, err);
            if (rc < 0)
                return rc;
        }
        if (set->state == SET_READY && set->adding) {
            struct tensor *tensor = set->adding;
            set->adding = NULL;
            settle_tensor(tensor, &(struct err){ .code = HVD_OK });
        }
    }
    return set->meshing && !set->meshed ? take_mesh(set, err) : HVD_OK;
}

void set_forget_links(struct process_set *set)
{
    for (int purpose = 0; purpose < CHANNELS_OF_A_SET; purpose++)
        linker_forget(set->engine->linker, channel_number(set, purpose));
}

/* All members have done what they wanted in it, and some have heard before us that it is removed. */
bool set_is_over(const struct process_set *set)
{
    return set->removing && set->in_flight == 0;
}

/* Names the link that has failed. */
int set_broke(struct process_set *set, int rank, struct err *err)
{
    const struct engine *engine = set->engine;
    const struct join_peer *peer = find_peer(engine->neighbours, engine->nneighbours, rank);
    if (!peer)
        peer = find_peer(engine->peers, engine->peers ? engine->size : 0, rank);
    set->wounded = !set_is_over(set);
    return fail_context(err, "connection to rank %d on %s broke", rank, peer ? peer->host : "?");
}

static int check(struct process_set *set, struct link *link, int rank, struct err *err)
{
    if (!link || link_check(link, err) == HVD_OK)
        return HVD_OK;
    return set_broke(set, rank, err);
}

int set_check_links(struct process_set *set, struct err *err)
{
    int rc = check(set, set->up.link, set->up.rank, err);
    for (int i = 0; rc == HVD_OK && i < set->tree.nchildren; i++)
        rc = check(set, set->down[i].link, set->down[i].rank, err);
    for (int i = 0; rc == HVD_OK && i < set->npeers; i++) {
        const struct channel *channel = set->channels[set->peers[i]];
        rc = check(set, channel->link, set->ranks[channel->peer], err);
    }
    return rc;
}
