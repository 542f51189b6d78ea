/* SPDX-License-Identifier: Apache-2.0 */
/* A process set as this rank sees it: its links, and what comes over its tree.
 *
 *   want links, take them as they come; then move: hear children and parent, report, decide, settle,
 *   move data, until nothing moves any more.
 * A link that ends is reported as a symptom (move.c), unless the set has ended anyway. Fails with
 * HVD_ERR_PROTOCOL when a neighbour sends what it must not, HVD_ERR_NOMEM. */
#include "lib/engine/engine_impl.h"

#include "lib/engine/trace.h"
#include "lib/link/socket.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS_AHEAD = 2 }; /* decided by the top before earlier ones are done; more can be fused */

enum { TREE_CHANNEL, DATA_CHANNEL, CHANNELS_OF_A_SET };

static uint32_t channel_number(const struct process_set *set, int purpose)
{
    return set->serial * CHANNELS_OF_A_SET + (uint32_t)purpose;
}

static int rank_in_set(const int *ranks, int size, int rank)
{
    for (int i = 0; i < size; i++)
        if (ranks[i] == rank)
            return i;
    return -1;
}

static bool make_memory(struct process_set *set)
{
    size_t size = (size_t)set->size;
    set->channels = calloc(size, sizeof(struct channel *));
    set->peers = calloc(size, sizeof *set->peers);
    set->rows = calloc(size, sizeof *set->rows);
    set->store = operation_store_create();
    return set->channels && set->peers && set->rows && set->store;
}

static int make_member(struct process_set *set, struct err *err)
{
    const struct settings *settings = &set->engine->settings;
    size_t fusion = settings->fusion_threshold;
    const struct negotiation_settings agreement = {
        .fusion_threshold = fusion < FUSION_BUFFER_MAX ? fusion : FUSION_BUFFER_MAX,
        .inline_max = INLINE_MAX,
        .cache_capacity = settings->cache_capacity,
        .group_fusion = !settings->disable_group_fusion,
    };
    tree_position(&set->tree, set->rank, set->size);
    if (!make_memory(set))
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    set->negotiation = negotiation_create(set->rank, set->size, set->ranks, &agreement, err);
    if (!set->negotiation)
        return err->code;
    trace_observe(set);
    return HVD_OK;
}

struct process_set *set_create(struct engine *engine, int id, const int *ranks, int size,
                               struct err *err)
{
    struct process_set *set = calloc(1, sizeof *set);
    if (!set || !(set->ranks = calloc((size_t)size, sizeof *set->ranks))) {
        free(set);
        fail(err, HVD_ERR_NOMEM, "out of memory");
        return NULL;
    }
    set->engine = engine;
    set->id = id;
    set->serial = engine->next_serial++;
    set->size = size;
    memcpy(set->ranks, ranks, (size_t)size * sizeof *ranks);
    set->rank = rank_in_set(ranks, size, engine->rank);
    set->queue_end = &set->queue;
    if (set->rank < 0 || make_member(set, err) == HVD_OK)
        return set;
    set_destroy(set);
    return NULL;
}

static void close_channels(struct process_set *set)
{
    set_close_data(set);
    for (int i = 0; i < set->npeers; i++)
        free(set->channels[set->peers[i]]);
    free(set->channels);
    free(set->peers);
    free(set->rows);
}

void set_destroy(struct process_set *set)
{
    if (!set)
        return;
    tree_link_fini(&set->up);
    for (int i = 0; i < TREE_CHILDREN_MAX; i++)
        tree_link_fini(&set->down[i]);
    inspect_stop(set);
    runs_fini(set);
    close_channels(set);
    operation_store_destroy(set->store);
    negotiation_destroy(set->negotiation);
    wire_writer_fini(&set->body);
    free(set->ranks);
    free(set);
}

/* ---- links ---- */

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

static bool take_tree(struct process_set *set, struct tree_link *tree, int rank)
{
    if (tree->link)
        return true;
    struct link *link =
        linker_take(set->engine->linker, set->ranks[rank], channel_number(set, TREE_CHANNEL));
    if (link)
        tree_link_init(tree, link, set->ranks[rank]);
    return link;
}

/* 1 if it is there, 0 if not, or HVD_ERR_NOMEM. */
static int take_channel(struct process_set *set, int rank, struct err *err)
{
    if (set->channels[rank])
        return 1;
    struct link *link =
        linker_take(set->engine->linker, set->ranks[rank], channel_number(set, DATA_CHANNEL));
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

/* ---- the tree ---- */

/* All members have done what they wanted in it, and some have heard before us that it is removed. */
static bool is_over(const struct process_set *set)
{
    return set->removing && set->in_flight == 0;
}

/* Names the link that has failed. */
static int broke(struct process_set *set, int rank, struct err *err)
{
    const struct engine *engine = set->engine;
    const struct join_peer *peer = find_peer(engine->neighbours, engine->nneighbours, rank);
    if (!peer)
        peer = find_peer(engine->peers, engine->peers ? engine->size : 0, rank);
    set->wounded = !is_over(set);
    return fail_context(err, "connection to rank %d on %s broke", rank, peer ? peer->host : "?");
}

/* A link of the tree has failed: a symptom if the other side is gone. */
static int on_tree_error(struct process_set *set, struct tree_link *tree, struct err *err)
{
    broke(set, tree->rank, err);
    if (err->code != HVD_ERR_PEER_LOST)
        return err->code;
    link_close(tree->link);
    tree->link = NULL;
    if (set->ended.code == HVD_OK && !is_over(set))
        engine_symptom(set->engine, err);
    return HVD_OK;
}

void set_put_down(struct process_set *set, enum tree_frame type, const void *body, size_t nbytes)
{
    for (int i = 0; i < set->tree.nchildren; i++)
        tree_link_put(&set->down[i], type, body, nbytes);
}

static void encode_reason(struct wire_writer *writer, const struct err *reason)
{
    wire_put_i32(writer, reason->code);
    wire_put_string(writer, reason->text);
}

void set_tell(struct process_set *set, enum tree_frame type, const struct err *reason)
{
    struct wire_writer body = { 0 };
    encode_reason(&body, reason);
    if (!body.failed) {
        tree_link_put(&set->up, type, body.data, body.length);
        set_put_down(set, type, body.data, body.length);
    }
    wire_writer_fini(&body);
}

static int decode_reason(struct err *reason, const struct frame *frame, struct err *err)
{
    struct wire_reader reader;
    char text[sizeof reason->text];
    wire_reader_init(&reader, frame->body, frame->length);
    int code = wire_get_i32(&reader);
    wire_get_string(&reader, text, sizeof text);
    if (!wire_reader_finished(&reader) || code >= 0 || code < HVD_ERR_FORKED)
        return fail(err, HVD_ERR_PROTOCOL, "a malformed farewell");
    fail(reason, code, "%s", text);
    return HVD_OK;
}

/* A rank below has left: everybody is told, in order after what has been decided, from the top. */
static int on_left_below(struct process_set *set, const struct frame *frame, struct err *err)
{
    struct err reason;
    int rc = decode_reason(&reason, frame, err);
    if (rc < 0)
        return rc;
    if (set->tree.parent >= 0) {
        tree_link_put(&set->up, TREE_LEFT, frame->body, frame->length);
        return HVD_OK;
    }
    set_put_down(set, TREE_LEFT, frame->body, frame->length);
    set_end(set, &reason);
    return HVD_OK;
}

static int on_left_above(struct process_set *set, const struct frame *frame, struct err *err)
{
    struct err reason;
    int rc = decode_reason(&reason, frame, err);
    if (rc < 0)
        return rc;
    set_put_down(set, TREE_LEFT, frame->body, frame->length);
    set_end(set, &reason);
    return HVD_OK;
}

static int on_broken(struct process_set *set, const struct frame *frame, struct err *err)
{
    struct err reason;
    int rc = decode_reason(&reason, frame, err);
    if (rc == HVD_OK)
        failure_record(set->engine->failure, reason.code, reason.text);
    return rc;
}

static int on_frame_from_child(struct process_set *set, int index, const struct frame *frame,
                               struct err *err)
{
    uint64_t now = monotonic_ns();
    switch (frame->type) {
    case TREE_REPORT:
        return negotiation_receive(set->negotiation, index, frame->body, frame->length, now, err);
    case TREE_LEFT:
        return on_left_below(set, frame, err);
    case TREE_ALERT:
    case TREE_PROBED:
        return inspect_receive(set, frame->type, index, frame, err);
    case TREE_BROKEN:
        return on_broken(set, frame, err);
    default:
        return fail(err, HVD_ERR_PROTOCOL, "frame of type %u from below", frame->type);
    }
}

static int on_frame_from_parent(struct process_set *set, const struct frame *frame, struct err *err)
{
    switch (frame->type) {
    case TREE_DECISION: {
        set_put_down(set, TREE_DECISION, frame->body, frame->length);
        if (set->ended.code != HVD_OK)
            return HVD_OK;
        int rc = negotiation_apply(set->negotiation, frame->body, frame->length, err);
        return rc < 0 ? rc : set_settle(set, err);
    }
    case TREE_LEFT:
        return on_left_above(set, frame, err);
    case TREE_PROBE:
        return inspect_receive(set, frame->type, 0, frame, err);
    case TREE_BROKEN:
        return on_broken(set, frame, err);
    default:
        return fail(err, HVD_ERR_PROTOCOL, "frame of type %u from above", frame->type);
    }
}

/* Everything that has come over one link; `index` -1 for the parent's. 1, 0 or a status. */
static int hear(struct process_set *set, struct tree_link *tree, int index, struct err *err)
{
    struct frame frame;
    int moved = tree_link_receive(tree, err);
    if (moved < 0)
        return on_tree_error(set, tree, err);
    int rc = 0;
    while (moved && (rc = tree_link_next(tree, &frame, err)) > 0) {
        rc = index < 0 ? on_frame_from_parent(set, &frame, err)
                       : on_frame_from_child(set, index, &frame, err);
        if (rc < 0)
            break;
    }
    if (rc < 0)
        return fail_context(err, "rank %d", tree->rank);
    return moved;
}

static int say(struct process_set *set, struct tree_link *tree, struct err *err)
{
    int moved = tree_link_send(tree, err);
    return moved < 0 ? on_tree_error(set, tree, err) : moved;
}

static int hear_all(struct process_set *set, struct err *err)
{
    int moved = hear(set, &set->up, -1, err);
    for (int i = 0; moved >= 0 && i < set->tree.nchildren; i++) {
        int rc = hear(set, &set->down[i], i, err);
        moved = rc < 0 ? rc : moved | rc;
    }
    return moved;
}

static int say_all(struct process_set *set, struct err *err)
{
    int moved = say(set, &set->up, err);
    for (int i = 0; moved >= 0 && i < set->tree.nchildren; i++) {
        int rc = say(set, &set->down[i], err);
        moved = rc < 0 ? rc : moved | rc;
    }
    return moved;
}

/* ---- agreement ---- */

static void report(struct process_set *set)
{
    for (;;) {
        size_t begin = frame_begin(&set->up.out, TREE_REPORT);
        if (!negotiation_report(set->negotiation, &set->up.out)) {
            set->up.out.length = begin;
            return;
        }
        frame_end(&set->up.out, begin);
    }
}

static bool has_data_to_decide(const struct process_set *set)
{
    return runs_under_way(set) < RUNS_AHEAD && negotiation_has_data(set->negotiation);
}

/* Should the top let data be moved now, or wait for more to be fused with it? */
static bool may_move_data(struct process_set *set)
{
    if (!has_data_to_decide(set))
        return false;
    uint64_t wait_ns = set->engine->settings.cycle_time_us * 1000;
    if (wait_ns == 0)
        return true;
    uint64_t now = monotonic_ns();
    if (set->data_since_ns == 0)
        set->data_since_ns = now;
    if (now - set->data_since_ns < wait_ns)
        return false;
    set->data_since_ns = 0;
    return true;
}

static int decide(struct process_set *set, struct err *err)
{
    int moved = 0;
    while (negotiation_decide(set->negotiation, may_move_data(set), &set->body)) {
        if (set->body.failed)
            return fail(err, HVD_ERR_NOMEM, "out of memory");
        timeline_mark_cycle(set->engine->timeline);
        set_put_down(set, TREE_DECISION, set->body.data, set->body.length);
        int rc = say_all(set, err);
        if (rc >= 0)
            rc = negotiation_apply(set->negotiation, set->body.data, set->body.length, err);
        if (rc >= 0)
            rc = set_settle(set, err);
        set->body.length = 0;
        if (rc < 0)
            return rc;
        moved = 1;
    }
    return moved;
}

static int agree(struct process_set *set, struct err *err)
{
    if (set->ended.code != HVD_OK)
        return 0;
    if (set->tree.parent < 0)
        return decide(set, err);
    if (set->up.link)
        report(set);
    return 0;
}

/* ---- data ---- */

/* The other side may have ended because it has done its part: that matters once something is wanted
 * from it. */
static int on_channel_error(struct process_set *set, struct channel *channel, struct err *err)
{
    if (err->code == HVD_ERR_SYSTEM)
        return fail_context(err, "rank %d on %s", set->engine->rank, set->engine->self.host);
    if (err->code != HVD_ERR_PEER_LOST)
        return broke(set, set->ranks[channel->peer], err);
    link_close(channel->link);
    channel->link = NULL;
    set->lacks_channels = true;
    return 1;
}

static bool wants(struct operation *operation, int peer)
{
    size_t nbytes;
    operation->type->space(operation, peer, &nbytes);
    if (nbytes == 0)
        operation->type->output(operation, peer, &nbytes);
    return nbytes > 0;
}

/* The first rank whose channel has ended and that an operation wants something from; -1 if there is
 * none. */
static int missed_peer(const struct process_set *set)
{
    for (int i = 0; i < set->npeers; i++) {
        int peer = set->peers[i];
        if (set->channels[peer]->link)
            continue;
        for (uint32_t n = set->window.first; n != set->window.end; n++) {
            struct operation *operation = set->window.at[n % WINDOW_SIZE];
            if (operation && wants(operation, peer))
                return peer;
        }
    }
    return -1;
}

static void see_missing_channels(struct process_set *set)
{
    struct err err;
    int peer = missed_peer(set);
    if (peer < 0 || is_over(set))
        return;
    if (set->ended.code != HVD_OK) {
        runs_fail(set, &set->ended);
        return;
    }
    fail(&err, HVD_ERR_PEER_LOST, "closed by the other side");
    broke(set, set->ranks[peer], &err);
    engine_symptom(set->engine, &err);
}

/* Whether nothing is under way, so that there is no hurry to see what the channels say. */
static bool is_quiet(const struct process_set *set)
{
    return set->window.first == set->window.end && !set->engine->thorough;
}

static int move_data(struct process_set *set, struct err *err)
{
    int moved = 0;
    if (is_quiet(set))
        return 0;
    for (int i = 0; i < set->npeers; i++) {
        struct channel *channel = set->channels[set->peers[i]];
        if (!channel->link)
            continue;
        int rc = channel_move(channel, &set->window, err);
        if (rc < 0)
            rc = on_channel_error(set, channel, err);
        if (rc < 0)
            return rc;
        moved |= rc;
    }
    if (set->lacks_channels)
        see_missing_channels(set);
    return moved;
}

int set_move(struct process_set *set, struct err *err)
{
    int moved = hear_all(set, err);
    int rc = moved < 0 ? moved : agree(set, err);
    if (rc >= 0) {
        moved |= rc;
        rc = say_all(set, err);
    }
    if (rc >= 0) {
        moved |= rc;
        rc = runs_start(set, err);
    }
    if (rc >= 0) {
        moved |= rc;
        rc = move_data(set, err);
    }
    if (rc < 0)
        return rc;
    moved |= rc | runs_finish(set);
    if (set->ended.code != HVD_OK && runs_under_way(set) == 0)
        set_close_data(set); /* who still wants something from us must not wait */
    return moved;
}

/* ---- the end ---- */

bool set_is_flushed(const struct process_set *set)
{
    bool flushed = tree_link_flushed(&set->up);
    for (int i = 0; i < set->tree.nchildren; i++)
        flushed &= tree_link_flushed(&set->down[i]);
    return flushed;
}

void set_close_data(struct process_set *set)
{
    for (int i = 0; i < set->npeers; i++) {
        struct channel *channel = set->channels[set->peers[i]];
        link_close(channel->link);
        channel->link = NULL;
    }
}

bool set_has_data_to_send(const struct process_set *set)
{
    for (int i = 0; i < set->npeers; i++) {
        const struct channel *channel = set->channels[set->peers[i]];
        if (channel->link && channel_events(channel, &set->window) & POLLOUT)
            return true;
    }
    return false;
}

/* Data that waits to be fused has a deadline (set_deadline()). */
bool set_is_unsettled(const struct process_set *set)
{
    if (set->ended.code != HVD_OK)
        return false;
    return runs_can_start(set) || (set->data_since_ns == 0 && has_data_to_decide(set));
}

void set_send_rest(struct process_set *set)
{
    struct err ignored;
    for (int i = -1; i < set->tree.nchildren; i++) {
        struct tree_link *tree = i < 0 ? &set->up : &set->down[i];
        if (tree_link_send(tree, &ignored) < 0)
            tree->out.length = tree->sent = 0; /* nobody hears it */
    }
}

static void fail_tensors(struct process_set *set, const struct err *reason, bool decided_too)
{
    struct tensor *next;
    for (struct tensor *tensor = set->engine->flight.first; tensor; tensor = next) {
        next = tensor->next;
        if (tensor->set == set && (decided_too || !tensor->decided))
            settle_tensor(tensor, reason);
    }
}

static void forget_links(struct process_set *set)
{
    for (int purpose = 0; purpose < CHANNELS_OF_A_SET; purpose++)
        linker_forget(set->engine->linker, channel_number(set, purpose));
}

/* The rank that has left may be the one they wait for. */
static void end_unlinked_sets(struct engine *engine, const struct err *reason)
{
    for (int id = 1; id < engine->sets_count; id++)
        if (engine->sets[id] && engine->sets[id]->rank >= 0 &&
            engine->sets[id]->state == SET_LINKING)
            set_end(engine->sets[id], reason);
}

void set_end(struct process_set *set, const struct err *reason)
{
    if (set->ended.code != HVD_OK)
        return;
    set->ended = *reason;
    set->data_since_ns = 0;
    forget_links(set);
    fail_tensors(set, reason, false);
    if (set->adding)
        settle_tensor(set->adding, reason);
    set->adding = NULL;
    if (set->id == 0)
        end_unlinked_sets(set->engine, reason);
    if (set->meshing && !set->meshed)
        runs_fail(set, reason); /* what waits for links will not get them */
}

void set_fail_all(struct process_set *set, const struct err *reason)
{
    if (set->ended.code == HVD_OK)
        set->ended = *reason;
    set->data_since_ns = 0;
    runs_fail(set, reason);
    fail_tensors(set, reason, true);
    set->adding = NULL;
}

uint64_t set_deadline(const struct process_set *set)
{
    uint64_t stall = inspect_deadline(set);
    uint64_t data = set->data_since_ns
                        ? set->data_since_ns + set->engine->settings.cycle_time_us * 1000
                        : UINT64_MAX;
    return stall < data ? stall : data;
}

static int check(struct process_set *set, struct link *link, int rank, struct err *err)
{
    if (!link || link_check(link, err) == HVD_OK)
        return HVD_OK;
    return broke(set, rank, err);
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
