/* SPDX-License-Identifier: Apache-2.0 */
/* The data links of a process set. A link that ends matters only when an operation needs it,
 * because a rank that has done its part may leave. Then the end is a symptom (breakage.c); in a set
 * that has ended, its operations fail. A failure of this rank itself (HVD_ERR_SYSTEM) breaks the
 * world. */
#include "lib/engine/engine_impl.h"

/* The peer may have ended because it has done its part: its end matters once an operation needs
 * data from it. */
static int on_channel_error(struct process_set *set, struct channel *channel, struct err *err)
{
    if (err->code != HVD_ERR_PEER_LOST)
        return set_broke(set, set->ranks[channel->peer], err);
    link_close(channel->link);
    channel->link = NULL;
    set->links.lacking = true;
    return 1;
}

static bool wants(struct operation *operation, int peer)
{
    size_t nbytes;
    if (operation->spoiled)
        return true;
    operation->type->space(operation, peer, &nbytes);
    if (nbytes == 0)
        operation->type->output(operation, peer, 0, &nbytes);
    return nbytes > 0;
}

/* The first rank whose channel has ended and that an operation still needs; -1 if there is none. */
static int missed_peer(const struct process_set *set)
{
    for (int i = 0; i < set->links.npeers; i++) {
        int peer = set->links.peers[i];
        if (set->links.channels[peer]->link)
            continue;
        for (uint32_t n = set->batches.window.first; n != set->batches.window.end; n++) {
            struct operation *operation = set->batches.window.at[n % WINDOW_SIZE];
            if (operation && wants(operation, peer))
                return peer;
        }
    }
    return -1;
}

static void see_missing_channels(struct process_set *set)
{
    struct err err;
    struct rank_end end;
    int peer = missed_peer(set);
    if (peer < 0 || set_is_over(set))
        return;
    if (set->ended.code != HVD_OK) {
        batches_fail(set, &set->ended);
        return;
    }
    fail(&err, HVD_ERR_PEER_LOST, "closed by the other side");
    set_lost_link(set, set->ranks[peer], &err, &end);
    engine_symptom(set->engine, &end);
}

int set_move_data(struct process_set *set, struct err *err)
{
    int moved = 0;
    if (set->batches.window.first == set->batches.window.end && !set->engine->progress.check_all)
        return 0; /* nothing is under way: reading the channels is not urgent */
    for (int i = 0; i < set->links.npeers; i++) {
        struct channel *channel = set->links.channels[set->links.peers[i]];
        if (!channel->link)
            continue;
        int rc = channel_move(channel, &set->batches.window, err);
        if (rc < 0)
            rc = on_channel_error(set, channel, err);
        if (rc < 0)
            return rc;
        moved |= rc;
    }
    if (set->links.lacking)
        see_missing_channels(set);
    return moved;
}

void set_close_data(struct process_set *set)
{
    for (int i = 0; i < set->links.npeers; i++) {
        struct channel *channel = set->links.channels[set->links.peers[i]];
        link_close(channel->link);
        channel->link = NULL;
    }
}

bool set_has_data_to_send(const struct process_set *set)
{
    for (int i = 0; i < set->links.npeers; i++) {
        const struct channel *channel = set->links.channels[set->links.peers[i]];
        if (channel->link && channel_has_output(channel, &set->batches.window))
            return true;
    }
    return false;
}
