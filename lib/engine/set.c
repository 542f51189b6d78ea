/* SPDX-License-Identifier: Apache-2.0 */
/* A process set as this rank sees it, and one pass over it: read from children and parent, report,
 * decide, complete, move data. set_links.c has its links, set_tree.c and set_data.c the traffic on
 * them.
 * Fails with HVD_ERR_PROTOCOL when a neighbour sends what it must not, and HVD_ERR_NOMEM. */
#include "lib/engine/engine_impl.h"

#include "lib/base/rank_end_text.h"
#include "lib/engine/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank_in_set(const int *ranks, int size, int rank)
{
    for (int i = 0; i < size; i++)
        if (ranks[i] == rank)
            return i;
    return -1;
}

struct fusion_limits set_fusion_limits(const struct engine *engine)
{
    size_t most = engine->settings.fusion_threshold;
    return (struct fusion_limits){
        .together = most < FUSION_BUFFER_MAX ? most : FUSION_BUFFER_MAX,
        .each = engine->one_host ? FUSED_MAX_ON_ONE_HOST : FUSED_MAX,
    };
}

/* In a small set, the ranks that are neither parent nor child. */
static void set_find_across(struct process_set *set)
{
    struct set_tree *tree = &set->tree;
    if (set->size > TOPOLOGY_MESH_MAX || tree->position.parent < 0)
        return;
    for (int rank = 0; rank < set->size; rank++)
        if (rank != set->rank && rank != tree->position.parent)
            tree->across_ranks[tree->nacross++] = rank;
}

static int make_member(struct process_set *set, struct err *err)
{
    const struct settings *settings = &set->engine->settings;
    set->tree.star = set->id == 0 ? set->engine->star : address_exchange_star(set);
    if (set->tree.star < 0)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    const struct negotiation_settings agreement = {
        .fusion = set_fusion_limits(set->engine),
        .inline_max = INLINE_MAX,
        .star = set->tree.star,
        .cache_capacity = settings->cache_capacity,
        .group_fusion = !settings->disable_group_fusion,
    };
    tree_position(&set->tree.position, set->rank, set->size, set->tree.star);
    set_find_across(set);
    steady_init(&set->steady.state, set->rank, set->size);
    set->decided.rows = calloc((size_t)set->size, sizeof *set->decided.rows);
    if (!set->decided.rows)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    if (set_init_links(set, err) < 0 || batches_init(set, err) < 0)
        return err->code;
    set->negotiation = negotiation_create(set->rank, set->size, set->ranks, &agreement, err);
    if (!set->negotiation)
        return err->code;
    negotiation_choose_with(set->negotiation, address_exchange_choose, set);
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
    set->serial = engine->sets.next_serial++;
    set->size = size;
    memcpy(set->ranks, ranks, (size_t)size * sizeof *ranks);
    set->rank = rank_in_set(ranks, size, engine->rank);
    set->decided.cycle_time_us = engine->settings.cycle_time_us;
    if (set->rank < 0 || make_member(set, err) == HVD_OK)
        return set;
    set_destroy(set);
    return NULL;
}

void set_destroy(struct process_set *set)
{
    if (!set)
        return;
    struct tree_link *tree;
    for (int i = 0; (tree = set_tree_at(set, i)); i++)
        tree_link_fini(tree);
    set_steady_fini(set);
    inspect_stop(set);
    set_fini_links(set); /* before memory that other ranks may read */
    batches_fini(set);
    negotiation_destroy(set->negotiation);
    wire_writer_fini(&set->decided.body);
    free(set->decided.rows);
    placing_destroy(set->placing);
    free(set->ranks);
    free(set);
}

void set_report(struct process_set *set)
{
    while (set->tree.up.link && !set_is_steady(set) && negotiation_has_report(set->negotiation)) {
        size_t begin = tree_link_begin(&set->tree.up, TREE_REPORT);
        if (!negotiation_report(set->negotiation, &set->tree.up.out)) {
            set->tree.up.out.length = begin;
            return;
        }
        tree_link_end(&set->tree.up, begin);
    }
}

static bool has_data_to_decide(const struct process_set *set)
{
    return set->engine->exchange.directory && !set_is_steady(set) &&
           batches_under_way(set) < RUNS_AHEAD && negotiation_has_data(set->negotiation);
}

/* True if the root should let data be moved now, instead of waiting for more tensors to fuse. */
static bool may_move_data(struct process_set *set)
{
    if (!has_data_to_decide(set))
        return false;
    uint64_t wait_ns = set->decided.cycle_time_us * 1000;
    if (wait_ns == 0)
        return true;
    uint64_t now = monotonic_ns();
    if (set->decided.data_since_ns == 0)
        set->decided.data_since_ns = now;
    if (now - set->decided.data_since_ns < wait_ns)
        return false;
    set->decided.data_since_ns = 0;
    return true;
}

static int decide(struct process_set *set, struct err *err)
{
    int moved = 0;
    const struct progress *progress = &set->engine->progress;
    negotiation_learn(set->negotiation, set->steady.pays && !set_steady_is_observed(set));
    negotiation_awaited(set->negotiation, progress->blocking > 0 || progress->waiters > 0 ||
                                              progress->driver == A_CALLER);
    while (negotiation_decide(set->negotiation, may_move_data(set), &set->decided.body)) {
        if (set->decided.body.failed)
            return fail(err, HVD_ERR_NOMEM, "out of memory");
        timeline_mark_cycle(set->engine->timeline);
        set_put_down(set, TREE_DECISION, set->decided.body.data, set->decided.body.length);
        int rc = set_say(set, err);
        if (rc >= 0)
            rc = negotiation_apply(set->negotiation, set->decided.body.data,
                                   set->decided.body.length, err);
        if (rc >= 0)
            rc = decisions_take(set, err);
        set->decided.body.length = 0;
        if (rc < 0)
            return rc;
        moved = 1;
    }
    return moved;
}

/* The root decides, if there is anything to decide on; the other ranks report. */
static int agree(struct process_set *set, struct err *err)
{
    if (set->ended.code != HVD_OK || set_is_steady(set))
        return 0;
    if (set->tree.position.parent >= 0) {
        set_report(set);
        return 0;
    }
    if (!negotiation_has_decision(set->negotiation))
        return 0;
    int rc = set->engine->exchange.directory ? HVD_OK : address_exchange_ask(set, err);
    return rc < 0 ? rc : decide(set, err);
}

/* Notes the result of a step of a pass; false when the step has failed. */
static inline bool set_note(int *moved, int rc)
{
    *moved = rc < 0 ? rc : *moved | rc;
    return rc >= 0;
}

/* Sends own messages before it reads what may have come from the parent. */
int set_move(struct process_set *set, struct err *err)
{
    int moved = 0;
    if (set->tree.position.nchildren > 0 && !set_note(&moved, set_receive_from_children(set, err)))
        return moved;
    bool has_unoffered = set->ready.unmade.first || set->ready.postponed.first;
    if (has_unoffered && !set_note(&moved, ready_move(set, err)))
        return moved;
    if (!set_note(&moved, agree(set, err)) || !set_note(&moved, set_say(set, err)))
        return moved;
    if (set->tree.up.link && !set_note(&moved, set_receive_from_parent(set, err)))
        return moved;
    bool hears_across =
        set->tree.nacross > 0 && (set_is_steady(set) || set->engine->progress.check_all);
    if (hears_across && !set_note(&moved, set_receive_from_across(set, err)))
        return moved;
    if (set_is_steady(set) && !set_note(&moved, set_steady_move(set, err)))
        return moved;

    const struct operation_window *window = &set->batches.window;
    bool has_data = set->stages.count > 0 || set->batches.queue || window->first != window->end ||
                    set->engine->progress.check_all;
    if (has_data) {
        if (set->stages.count > 0 && !set_note(&moved, stage_move(set, err)))
            return moved;
        if (!set_note(&moved, batches_start(set, err)) ||
            !set_note(&moved, set_move_data(set, err)))
            return moved;
        moved |= batches_finish(set);
    }
    if (set->ended.code != HVD_OK && batches_under_way(set) == 0)
        set_close_data(set); /* a peer that still needs our data must not wait */
    return moved;
}

/* A steady state may have ended behind the report or the decision of a pass. */
static bool has_to_report(const struct process_set *set)
{
    if (set_is_steady(set))
        return false;
    if (set->tree.position.parent >= 0)
        return set->tree.up.link && negotiation_has_report(set->negotiation);
    return negotiation_has_decision(set->negotiation) && !negotiation_has_data(set->negotiation);
}

/* Data that waits for fusion has a deadline (set_deadline()). */
bool set_has_work(struct process_set *set)
{
    if (set->ended.code != HVD_OK)
        return false;
    return batches_can_start(set) || stage_has_work(set) || ready_has_work(set) ||
           has_to_report(set) || (set->decided.data_since_ns == 0 && has_data_to_decide(set));
}

static void fail_tensors(struct process_set *set, const struct err *reason, bool decided_too)
{
    struct tensor *next;
    ready_forget(set);
    for (struct tensor *tensor = set->engine->in_flight.first; tensor; tensor = next) {
        next = tensor->next;
        if (tensor->set == set && (decided_too || !tensor->decided) && tensor->parts == 0)
            complete_tensor(tensor, reason);
    }
}

static bool is_member(const struct process_set *set, int rank)
{
    for (int i = 0; i < set->size; i++)
        if (set->ranks[i] == rank)
            return true;
    return false;
}

/* The rank that has left may be the rank that these tensors wait for. */
static void end_unlinked_sets(struct engine *engine, int who, const struct rank_end *end)
{
    for (int id = 1; id < engine->sets.count; id++) {
        struct process_set *set = engine->sets.at[id];
        if (set && set->rank >= 0 && set->state == SET_LINKING && (who < 0 || is_member(set, who)))
            set_end(set, who, end);
    }
}

void set_end(struct process_set *set, int who, const struct rank_end *end)
{
    if (set->ended.code != HVD_OK)
        return;
    rank_end_fail(&set->ended, end);
    set->end = *end;
    atomic_store(&set->engine->sets.any_has_ended, true);
    set_steady_abandon(set);
    set->decided.data_since_ns = 0;
    set_forget_links(set);
    fail_tensors(set, &set->ended, false);
    if (set->adding) /* all ranks have agreed on the set: it has its number on all of them */
        complete_tensor(set->adding, &(struct err){ .code = HVD_OK });
    set->adding = NULL;
    if (set->id == 0)
        end_unlinked_sets(set->engine, who, end);
    batches_fail_unlinked(set, &set->ended);
}

void set_strand(struct process_set *set, enum collective_kind kind, const char *name)
{
    struct rank_end end = set->end;
    end.collective = kind;
    if (name && collective_has_tensor(kind))
        snprintf(end.tensor, sizeof end.tensor, "%s", name_shown(name));
    failure_strand(set->engine->failure, &end);
}

void set_fail_all(struct process_set *set, const struct err *reason)
{
    if (set->ended.code == HVD_OK)
        set->ended = *reason;
    set_steady_abandon(set);
    set->decided.data_since_ns = 0;
    batches_fail(set, reason);
    fail_tensors(set, reason, true);
    set->adding = NULL;
}

uint64_t set_deadline(const struct process_set *set)
{
    uint64_t stall = inspect_deadline(set);
    uint64_t data = set->decided.data_since_ns
                        ? set->decided.data_since_ns + set->decided.cycle_time_us * 1000
                        : UINT64_MAX;
    uint64_t steady = set_steady_deadline(set);
    return earlier(earlier(earlier(stall, steady), data),
                   earlier(ready_deadline(set), stage_deadline(set)));
}
