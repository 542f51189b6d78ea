/* SPDX-License-Identifier: Apache-2.0 */
/* The messages over a process set's tree (tree_link.h): reports up, decisions down, ends of ranks
 * both ways.
 *
 * A link that ends is a symptom (breakage.c), unless the set has ended anyway. Fails with
 * HVD_ERR_PROTOCOL when a neighbour sends what it must not, and HVD_ERR_NOMEM. */
#include "lib/engine/engine_impl.h"

/* A link of the tree has failed: this is a symptom if the peer is gone. */
static int on_tree_error(struct process_set *set, struct tree_link *tree, struct err *err)
{
    struct rank_end end;
    if (err->code != HVD_ERR_PEER_LOST)
        return set_broke(set, tree->rank, err);
    set_lost_link(set, tree->rank, err, &end);
    link_close(tree->link);
    tree->link = NULL;
    if (set->ended.code == HVD_OK && !set_is_over(set))
        engine_symptom(set->engine, &end);
    return HVD_OK;
}

struct tree_link *set_tree_at(struct process_set *set, int index)
{
    struct set_tree *tree = &set->tree;
    int nchildren = tree->position.nchildren;
    if (index == 0)
        return &tree->up;
    if (index <= nchildren)
        return &tree->down[index - 1];
    return index <= nchildren + tree->nacross ? &tree->across[index - 1 - nchildren] : NULL;
}

bool set_tree_uses(struct process_set *set, enum transport transport)
{
    const struct tree_link *tree;
    for (int i = 0; (tree = set_tree_at(set, i)); i++)
        if (tree->link && tree->link->type->transport == transport)
            return true;
    return false;
}

int set_tree_rank(const struct process_set *set, int index)
{
    const struct set_tree *tree = &set->tree;
    int nchildren = tree->position.nchildren;
    if (index == 0)
        return tree->position.parent;
    return index <= nchildren ? tree->position.children[index - 1]
                              : tree->across_ranks[index - 1 - nchildren];
}

void set_put_down(struct process_set *set, enum tree_frame type, const void *body, size_t nbytes)
{
    for (int i = 0; i < set->tree.position.nchildren; i++)
        tree_link_put(&set->tree.down[i], type, body, nbytes);
}

void set_tell(struct process_set *set, enum tree_frame type, const struct rank_end *end)
{
    struct wire_writer body = { 0 };
    rank_end_encode(&body, end);
    if (!body.failed) {
        tree_link_put(&set->tree.up, type, body.data, body.length);
        set_put_down(set, type, body.data, body.length);
    }
    wire_writer_fini(&body);
}

/* Reads the rank that has left, or the end that has broken the world. */
static int decode_end(const struct process_set *set, struct rank_end *end,
                      const struct frame *frame, struct err *err)
{
    struct wire_reader reader;
    wire_reader_init(&reader, frame->body, frame->length);
    rank_end_decode(end, &reader);
    int size = set->engine->size, nlate = end->late.count;
    bool names_rank = frame->type == TREE_BROKEN || end->rank >= 0;
    if (!wire_reader_finished(&reader) || !names_rank || end->rank >= size ||
        end->because_of >= size || (nlate > 0 && end->late.rank[nlate - 1] >= size) ||
        end->status == HVD_OK)
        return fail(err, HVD_ERR_PROTOCOL, "a malformed farewell");
    return HVD_OK;
}

/* What the rank has committed to in a steady state can still be carried out. */
static void on_rank_left(struct process_set *set, const struct rank_end *end)
{
    if (set_is_steady(set))
        set_steady_keep_end(set, end->rank, end);
    else
        set_end(set, end->rank, end);
}

/* A rank below has left: the root tells all ranks, in order after the decisions. */
static int on_child_left(struct process_set *set, const struct frame *frame, struct err *err)
{
    struct rank_end end;
    int rc = decode_end(set, &end, frame, err);
    if (rc < 0)
        return rc;
    if (set->tree.position.parent >= 0) {
        tree_link_put(&set->tree.up, TREE_LEFT, frame->body, frame->length);
        return HVD_OK;
    }
    set_put_down(set, TREE_LEFT, frame->body, frame->length);
    on_rank_left(set, &end);
    return HVD_OK;
}

static int on_parent_left(struct process_set *set, const struct frame *frame, struct err *err)
{
    struct rank_end end;
    int rc = decode_end(set, &end, frame, err);
    if (rc < 0)
        return rc;
    set_put_down(set, TREE_LEFT, frame->body, frame->length);
    on_rank_left(set, &end);
    return HVD_OK;
}

static int on_set_tree_broken(struct process_set *set, const struct frame *frame, struct err *err)
{
    struct rank_end end;
    int rc = decode_end(set, &end, frame, err);
    if (rc == HVD_OK)
        failure_record(set->engine->failure, &end);
    return rc;
}

static int on_sockets(struct process_set *set, const struct frame *frame, struct err *err)
{
    if (frame->length > 0)
        return fail(err, HVD_ERR_PROTOCOL, "a malformed note about sockets");
    set_note_sockets(set);
    return HVD_OK;
}

static int on_frame_from_child(struct process_set *set, int index, const struct frame *frame,
                               struct err *err)
{
    uint64_t now = monotonic_tick_ns();
    switch (frame->type) {
    case TREE_REPORT:
        return negotiation_receive(set->negotiation, index, frame->body, frame->length, now, err);
    case TREE_LEFT:
        return on_child_left(set, frame, err);
    case TREE_ALERT:
    case TREE_PROBED:
        return inspect_receive(set, frame->type, index, frame, err);
    case TREE_BROKEN:
        return on_set_tree_broken(set, frame, err);
    case TREE_SOCKETS:
        return on_sockets(set, frame, err);
    case TREE_RECORDS:
        return address_exchange_receive(set, frame->type, index, frame, err);
    default:
        return fail(err, HVD_ERR_PROTOCOL, "frame of type %u from below", frame->type);
    }
}

static int on_frame_from_parent(struct process_set *set, const struct frame *frame, struct err *err)
{
    switch (frame->type) {
    case TREE_DECISION: {
        if (set->steady.state.phase == STEADY_ON)
            return fail(err, HVD_ERR_PROTOCOL, "a decision comes in a steady state");
        set_put_down(set, TREE_DECISION, frame->body, frame->length);
        int rc = set->tree.position.nchildren > 0 ? set_say(set, err) : HVD_OK;
        if (rc < 0 || set->ended.code != HVD_OK)
            return rc < 0 ? rc : HVD_OK;
        rc = negotiation_apply(set->negotiation, frame->body, frame->length, err);
        return rc < 0 ? rc : decisions_take(set, err);
    }
    case TREE_LEFT:
        return on_parent_left(set, frame, err);
    case TREE_PROBE:
        return inspect_receive(set, frame->type, 0, frame, err);
    case TREE_BROKEN:
        return on_set_tree_broken(set, frame, err);
    case TREE_WHERE:
    case TREE_DIRECTORY:
        return address_exchange_receive(set, frame->type, 0, frame, err);
    default:
        return fail(err, HVD_ERR_PROTOCOL, "frame of type %u from above", frame->type);
    }
}

static int on_frame(struct process_set *set, int index, const struct frame *frame, struct err *err)
{
    if (frame->type == TREE_STEADY || frame->type == TREE_UNSTEADY || frame->type == TREE_SENT)
        return set_steady_receive(set, set_tree_rank(set, index), frame, err);
    if (index == 0)
        return on_frame_from_parent(set, frame, err);
    if (index <= set->tree.position.nchildren)
        return on_frame_from_child(set, index - 1, frame, err);
    return fail(err, HVD_ERR_PROTOCOL,
                "frame of type %u from a rank that is no neighbour in the tree", frame->type);
}

int set_receive_from(struct process_set *set, int index, struct err *err)
{
    struct frame frame;
    struct tree_link *tree = set_tree_at(set, index);
    int moved = tree_link_receive(tree, err);
    if (moved < 0)
        return on_tree_error(set, tree, err);
    int rc = 0;
    while (moved && (rc = tree_link_next(tree, &frame, err)) > 0) {
        rc = on_frame(set, index, &frame, err);
        if (rc < 0)
            break;
    }
    if (rc < 0)
        return fail_context(err, "rank %d", tree->rank);
    return moved;
}

int set_receive_from_children(struct process_set *set, struct err *err)
{
    int moved = 0;
    for (int i = 1; moved >= 0 && i <= set->tree.position.nchildren; i++) {
        int rc = set_receive_from(set, i, err);
        moved = rc < 0 ? rc : moved | rc;
    }
    return moved;
}

int set_receive_from_across(struct process_set *set, struct err *err)
{
    int moved = 0, first = 1 + set->tree.position.nchildren;
    for (int i = first; moved >= 0 && i < first + set->tree.nacross; i++) {
        int rc = set_receive_from(set, i, err);
        moved = rc < 0 ? rc : moved | rc;
    }
    return moved;
}

/* Frames to pass on are sent at once, not in the next pass. */
int set_receive_from_parent(struct process_set *set, struct err *err)
{
    int moved = set_receive_from(set, 0, err);
    int rc = moved > 0 ? set_say(set, err) : 0;
    return rc < 0 ? rc : moved;
}

int set_say(struct process_set *set, struct err *err)
{
    int moved = 0;
    struct tree_link *tree;
    for (int i = 0; moved >= 0 && (tree = set_tree_at(set, i)); i++) {
        int rc = tree_link_flushed(tree) ? 0 : tree_link_send(tree, err);
        if (rc < 0)
            rc = on_tree_error(set, tree, err);
        moved = rc < 0 ? rc : moved | rc;
    }
    return moved;
}

bool set_is_flushed(struct process_set *set)
{
    bool flushed = true;
    struct tree_link *tree;
    for (int i = 0; (tree = set_tree_at(set, i)); i++)
        flushed &= tree_link_flushed(tree);
    return flushed;
}

void set_send_rest(struct process_set *set)
{
    struct err ignored;
    struct tree_link *tree;
    for (int i = 0; (tree = set_tree_at(set, i)); i++) {
        if (tree_link_send(tree, &ignored) < 0) { /* the peer cannot be told */
            wire_writer_fini(&tree->out);
            tree->sent = 0;
        }
    }
}
