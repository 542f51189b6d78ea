/* SPDX-License-Identifier: Apache-2.0 */
/* The links of a process set: to the neighbours in ring and tree from the start, to other ranks
 * when a collective needs them. The set asks the linker for a link and takes it when it has come.
 * Also the error of a link that has failed. */
#include "lib/engine/engine_impl.h"

#include "lib/link/link_striped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The streams of a data link are channels of their own. */
enum { TREE_CHANNEL, DATA_CHANNEL, CHANNELS_OF_A_SET = DATA_CHANNEL + STREAMS_MAX };

static uint32_t channel_number(const struct process_set *set, int purpose)
{
    return set->serial * CHANNELS_OF_A_SET + (uint32_t)purpose;
}

static bool is_on_this_host(const struct process_set *set, const struct join_peer *peer)
{
    return strcmp(peer->host, set->engine->exchange.self.host) == 0;
}

/* Between hosts one connection may not saturate the network, so a link has several streams. Both
 * sides compare the same names of hosts. */
static int streams_to(const struct process_set *set, const struct join_peer *peer)
{
    return is_on_this_host(set, peer) ? 1 : set->engine->settings.streams;
}

static int want(struct process_set *set, int rank, int purpose, struct err *err)
{
    int rc = HVD_OK;
    struct join_peer peer;
    if (!address_exchange_find(set->engine, set->ranks[rank], &peer))
        return fail(err, HVD_ERR_PROTOCOL, "nothing tells where rank %d is", set->ranks[rank]);
    int streams = purpose == DATA_CHANNEL ? streams_to(set, &peer) : 1;
    for (int i = 0; rc == HVD_OK && i < streams; i++)
        rc = linker_want(set->engine->linker, &peer, channel_number(set, purpose + i),
                         monotonic_ms(), err);
    return rc;
}

int set_init_links(struct process_set *set, struct err *err)
{
    size_t size = (size_t)set->size;
    struct set_links *links = &set->links;
    links->channels = calloc(size, sizeof(struct channel *));
    links->peers = calloc(size, sizeof *links->peers);
    links->awaited = calloc(size, sizeof *links->awaited);
    if (links->channels && links->peers && links->awaited)
        return HVD_OK;
    return fail(err, HVD_ERR_NOMEM, "out of memory");
}

void set_fini_links(struct process_set *set)
{
    struct set_links *links = &set->links;
    set_close_data(set);
    for (int i = 0; i < links->npeers; i++)
        free(links->channels[links->peers[i]]);
    free(links->channels);
    free(links->peers);
    free(links->awaited);
}

int set_want_links(struct process_set *set, struct err *err)
{
    int rc = HVD_OK, left = ring_left(set->rank, set->size),
        right = ring_right(set->rank, set->size);
    set->links.expected = true;
    if (set->size < 2)
        return HVD_OK;
    rc = want(set, left, DATA_CHANNEL, err);
    if (rc == HVD_OK && right != left)
        rc = want(set, right, DATA_CHANNEL, err);
    if (rc == HVD_OK && set->tree.position.parent >= 0)
        rc = want(set, set->tree.position.parent, TREE_CHANNEL, err);
    for (int i = 0; rc == HVD_OK && i < set->tree.position.nchildren; i++)
        rc = want(set, set->tree.position.children[i], TREE_CHANNEL, err);
    for (int i = 0; rc == HVD_OK && i < set->tree.nacross; i++)
        rc = want(set, set->tree.across_ranks[i], TREE_CHANNEL, err);
    return rc;
}

int set_want_data(struct process_set *set, const int *ranks, int count, struct err *err)
{
    int rc = HVD_OK;
    for (int i = 0; rc == HVD_OK && i < count; i++) {
        int rank = ranks[i];
        if (set->links.channels[rank] || set->links.awaited[rank])
            continue;
        set->links.expected = true;
        set->links.awaited[rank] = true;
        set->links.nawaited++;
        rc = want(set, rank, DATA_CHANNEL, err);
    }
    return rc;
}

void set_note_sockets(struct process_set *set)
{
    if (!set->links.sockets && set->tree.position.parent >= 0)
        tree_link_put(&set->tree.up, TREE_SOCKETS, NULL, 0);
    set->links.sockets = true;
}

static bool is_socket_on_host(const struct process_set *set, const struct link *link, int rank)
{
    struct join_peer peer;
    return link && link->type->transport != TRANSPORT_SHM &&
           address_exchange_find(set->engine, rank, &peer) && is_on_this_host(set, &peer);
}

static bool has_sockets_on_host(struct process_set *set)
{
    bool has = false;
    const struct tree_link *tree;
    for (int i = 0; !has && (tree = set_tree_at(set, i)); i++)
        has = is_socket_on_host(set, tree->link, tree->rank);
    for (int i = 0; !has && i < set->links.npeers; i++) {
        int rank = set->links.peers[i];
        has = is_socket_on_host(set, set->links.channels[rank]->link, set->ranks[rank]);
    }
    return has;
}

static bool take_tree(struct process_set *set, struct tree_link *tree, int rank)
{
    if (tree->link)
        return true;
    struct link *link =
        linker_take(set->engine->linker, set->ranks[rank], channel_number(set, TREE_CHANNEL));
    if (!link)
        return false;
    link->sent = &set->engine->bytes_sent;
    link_share(link, set->engine->local_size);
    tree_link_init(tree, link, set->ranks[rank]);
    return true;
}

static bool streams_are_there(const struct process_set *set, int rank, int streams)
{
    for (int i = 0; i < streams; i++)
        if (!linker_has(set->engine->linker, set->ranks[rank],
                        channel_number(set, DATA_CHANNEL + i)))
            return false;
    return true;
}

/* The data link to a rank of the set, once all its streams are there: 1, 0 if not yet, or a
 * negative status. The link counts the bytes that it sends. */
static int take_data(struct process_set *set, int rank, struct link **link, struct err *err)
{
    struct link *links[STREAMS_MAX];
    struct join_peer peer;
    if (!streams_are_there(set, rank, 1) ||
        !address_exchange_find(set->engine, set->ranks[rank], &peer))
        return 0;
    int streams = streams_to(set, &peer);
    if (!streams_are_there(set, rank, streams))
        return 0;
    for (int i = 0; i < streams; i++)
        links[i] = linker_take(set->engine->linker, set->ranks[rank],
                               channel_number(set, DATA_CHANNEL + i));
    *link = streams == 1 ? links[0] : link_striped_create(links, streams, err);
    for (int i = 0; !*link && i < streams; i++)
        link_close(links[i]);
    if (!*link)
        return err->code;
    (*link)->sent = &set->engine->bytes_sent;
    link_share(*link, set->engine->local_size);
    return 1;
}

/* 1 if the link is there, 0 if not, or a negative status. */
static int take_channel(struct process_set *set, int rank, struct err *err)
{
    struct link *link = NULL;
    if (set->links.channels[rank])
        return 1;
    int rc = take_data(set, rank, &link, err);
    if (rc <= 0)
        return rc;
    struct channel *channel = calloc(1, sizeof *channel);
    if (!channel) {
        link_close(link);
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    }
    channel_init(channel, link, rank);
    set->links.channels[rank] = channel;
    set->links.peers[set->links.npeers++] = rank;
    return 1;
}

/* Like take_channel(), for all neighbours. */
static int take_neighbours(struct process_set *set, struct err *err)
{
    int left = take_channel(set, ring_left(set->rank, set->size), err);
    int right = left < 0 ? left : take_channel(set, ring_right(set->rank, set->size), err);
    bool all = left > 0 && right > 0;
    if (set->tree.position.parent >= 0)
        all &= take_tree(set, &set->tree.up, set->tree.position.parent);
    for (int i = 0; i < set->tree.position.nchildren; i++)
        all &= take_tree(set, &set->tree.down[i], set->tree.position.children[i]);
    for (int i = 0; i < set->tree.nacross; i++)
        all &= take_tree(set, &set->tree.across[i], set->tree.across_ranks[i]);
    return right < 0 ? right : all;
}

static int take_awaited(struct process_set *set, struct err *err)
{
    for (int rank = 0; rank < set->size && set->links.nawaited > 0; rank++) {
        int rc = set->links.awaited[rank] ? take_channel(set, rank, err) : 0;
        if (rc < 0)
            return rc;
        set->links.awaited[rank] &= rc == 0;
        set->links.nawaited -= rc;
    }
    return HVD_OK;
}

int set_take_links(struct process_set *set, struct err *err)
{
    set->links.expected = false;
    set->engine->progress.sleep.unwatched = true;
    if (set->state == SET_LINKING && set->rank >= 0) {
        int rc = set->size < 2 ? 1 : take_neighbours(set, err);
        if (rc < 0)
            return rc;
        if (rc > 0) {
            set->state = SET_READY;
            set_steady_limit(set);
            rc = inspect_start(set, err);
            if (rc < 0)
                return rc;
        }
        if (set->state == SET_READY && set->adding) {
            struct tensor *tensor = set->adding;
            set->adding = NULL;
            complete_tensor(tensor, &(struct err){ .code = HVD_OK });
        }
    }
    int rc = take_awaited(set, err);
    if (set->state == SET_READY && has_sockets_on_host(set))
        set_note_sockets(set);
    return rc;
}

void set_forget_links(struct process_set *set)
{
    for (int purpose = 0; purpose < CHANNELS_OF_A_SET; purpose++)
        linker_forget(set->engine->linker, channel_number(set, purpose));
}

/* All members have done their part in the set, and some have learnt before us that it is
 * removed. */
bool set_is_over(const struct process_set *set)
{
    return set->removing && set->in_flight == 0;
}

/* Names the link that has failed. If the failure is this rank's own (a failed call, no memory),
 * engine_fail() names the rank. */
int set_broke(struct process_set *set, int rank, struct err *err)
{
    struct join_peer peer;
    if (err->code == HVD_ERR_SYSTEM || err->code == HVD_ERR_NOMEM)
        return err->code;
    if (!address_exchange_find(set->engine, rank, &peer))
        strcpy(peer.host, "?");
    set->links.broken = !set_is_over(set);
    return fail_context(err, "connection to rank %d on %s broke", rank, peer.host);
}

void set_lost_link(struct process_set *set, int rank, const struct err *err, struct rank_end *end)
{
    struct join_peer peer;
    *end = rank_end_none();
    end->how.kind = RANK_END_UNREACHABLE;
    end->status = err->code;
    end->rank = rank;
    if (address_exchange_find(set->engine, rank, &peer))
        memcpy(end->host, peer.host, sizeof end->host);
    snprintf(end->words, sizeof end->words, "%s", err->text);
    set->links.broken = !set_is_over(set);
}

static int set_links_check(struct process_set *set, struct link *link, int rank,
                           struct rank_end *end)
{
    struct err err;
    if (!link || link_check(link, &err) == HVD_OK)
        return HVD_OK;
    set_lost_link(set, rank, &err, end);
    return err.code;
}

int set_check_links(struct process_set *set, struct rank_end *end)
{
    int rc = HVD_OK;
    const struct tree_link *tree;
    for (int i = 0; rc == HVD_OK && (tree = set_tree_at(set, i)); i++)
        rc = set_links_check(set, tree->link, tree->rank, end);
    for (int i = 0; rc == HVD_OK && i < set->links.npeers; i++) {
        const struct channel *channel = set->links.channels[set->links.peers[i]];
        rc = set_links_check(set, channel->link, set->ranks[channel->peer], end);
    }
    return rc;
}
