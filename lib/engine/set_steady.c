/* SPDX-License-Identifier: Apache-2.0 */
/* The steady state of a set (lib/negotiation/steady.h), with data: collectives that come in a
 * learnt order. Each rank sends what it would have offered to the root to all other ranks.
 *
 *   all tensors of the operation that the schedule expects -> a frame to every rank
 *     (set_steady_commit.c) -> when all frames are there (set_steady_kept.c):
 *       small: reduced in order of rank, as the root does, or put together, and done
 *       sent: larger data, which have come with the frames, too (set_steady_sent.c)
 *       large: its data are moved, with the algorithm of the schedule (batch_queue.c)
 *     (set_steady_done.c)
 *   a tensor of the schedule whose turn has not come -> held (steady_round.h)
 *
 * This file: the beginning and the end. This rank leaves the steady state when
 *   its program submits anything that the schedule does not have;
 *   its program waits for a tensor that is held until the program submits others;
 *   something that this rank has submitted is undecided when the schedule begins;
 *   a timeline or the autotuner is to see agreements;
 *   a tensor has waited for long (set_steady_wait.c): the agreement can tell which rank is missing;
 *   it has committed to as many operations as can be numbered;
 *   another rank has left.
 * Tensors that are not done when all have left are offered to the agreement.
 *
 * Fails with HVD_ERR_PROTOCOL when a frame is malformed, out of order, or was made for another
 * operation than this rank expects; and with HVD_ERR_NOMEM. */
#include "lib/engine/set_steady_impl.h"

#include "lib/base/checksum.h"
#include "lib/base/log.h"

#include <stdlib.h>
#include <string.h>

/* ---- the schedule ---- */

static int steady_no_memory(struct err *err)
{
    return fail(err, HVD_ERR_NOMEM, "out of memory");
}

/* Room for the operations and tensors of a schedule. What there is stays. */
static int make_schedule(struct process_set *set, const struct schedule *schedule, struct err *err)
{
    struct set_steady *steady = &set->steady;
    if (!steady->round)
        steady->round = malloc(sizeof *steady->round);
    if (!steady->agreed)
        steady->agreed = calloc(SCHEDULE_MAX, sizeof *steady->agreed);
    if (!steady->round || !steady->agreed)
        return steady_no_memory(err);
    if (schedule->count <= steady->capacity)
        return HVD_OK;
    struct steady_operation *operations =
        reallocarray(steady->schedule, (size_t)schedule->count, sizeof *operations);
    if (!operations)
        return steady_no_memory(err);
    memset(operations + steady->capacity, 0,
           (size_t)(schedule->count - steady->capacity) * sizeof *operations);
    steady->schedule = operations;
    steady->capacity = schedule->count;
    return HVD_OK;
}

/* Ranks have the same digest if they remember the same names and descriptions in the slots, and
 * move the data alike. */
static int make_operation(struct process_set *set, struct steady_operation *operation,
                          const struct schedule_operation *what, const int *slots, struct err *err)
{
    struct wire_writer writer = { 0 };
    operation->what = *what;
    operation->remembered = negotiation_remembered(set->negotiation, slots[0]);
    operation->is_made = false;
    wire_put_i32(&writer, what->choice.algorithm);
    wire_put_u64(&writer, what->choice.piece);
    for (int i = 0; i < what->count; i++) {
        struct remembered remembered = negotiation_remembered(set->negotiation, slots[i]);
        wire_put_string(&writer, remembered.name);
        description_encode(&writer, remembered.description);
    }
    bool failed = writer.failed;
    if (!failed)
        operation->digest = checksum_bytes(writer.data, writer.length);
    wire_writer_fini(&writer);
    return failed ? steady_no_memory(err) : HVD_OK;
}

bool set_steady_is_observed(const struct process_set *set)
{
    return set->engine->timeline || set->engine->tune;
}

/* True if this rank has submitted something that the ranks have not agreed on. */
static bool has_undecided(const struct process_set *set)
{
    const struct tensor *tensor = set->in_flight > 0 ? set->engine->in_flight.first : NULL;
    for (; tensor; tensor = tensor->next)
        if (tensor->set == set && !tensor->decided)
            return true;
    return false;
}

int set_steady_begin(struct process_set *set, const struct schedule *schedule, struct err *err)
{
    struct set_steady *steady = &set->steady;
    if (set->size < 2 || set->size > STEADY_RANKS_MAX || set_is_steady(set))
        return fail(err, HVD_ERR_PROTOCOL, "a steady state begins, which is not possible");
    if (set_steady_make_kept(set, err) < 0 || make_schedule(set, schedule, err) < 0)
        return err->code;
    steady->count = schedule->count;
    for (int i = 0; i < schedule->count; i++) {
        const struct schedule_operation *what = &schedule->operations[i];
        if (make_operation(set, &steady->schedule[i], what, schedule->slots + what->first, err) < 0)
            return err->code;
    }
    steady_round_begin(steady->round, schedule);
    bool must_leave = steady_begin(&steady->state);
    log_line(LOG_DEBUG, set->engine->rank,
             "process set %d: steady state %u begins, with rounds of %d operations of %d tensors",
             set->id, steady->state.epoch, steady->count, schedule->ntensors);
    if (must_leave || has_undecided(set) || set_steady_is_observed(set) ||
        !set->engine->settings.steady)
        set_steady_leave(set);
    return HVD_OK;
}

/* ---- leaving ---- */

/* Tells all other ranks that this rank leaves an epoch after `number` operations. */
static void put_leave(struct process_set *set, uint32_t epoch, uint32_t number)
{
    struct tree_link *tree;
    for (int i = 0; (tree = set_tree_at(set, i)); i++) {
        if (!tree->link || tree->is_mute)
            continue;
        size_t begin = tree_link_begin(tree, TREE_UNSTEADY);
        steady_put_head(&tree->out, epoch, number);
        tree_link_end(tree, begin);
    }
}

void set_steady_leave(struct process_set *set)
{
    struct steady *state = &set->steady.state;
    if (state->phase != STEADY_ON)
        return;
    steady_leave(state);
    put_leave(set, state->epoch, state->committed);
}

void set_steady_decline(struct process_set *set)
{
    const struct steady *state = &set->steady.state;
    if (set->state == SET_READY && set->ended.code == HVD_OK && set->size >= 2 &&
        set->size <= STEADY_RANKS_MAX && state->phase == STEADY_OFF)
        put_leave(set, steady_decline(state), 0);
}

/* ---- the end of the steady state ---- */

static int offer_again(struct process_set *set, struct err *err)
{
    struct set_steady *steady = &set->steady;
    struct tensor *own;
    int rc = HVD_OK;
    steady->state.committed = steady->state.done;
    while (rc == HVD_OK && (own = steady_round_take(steady->round)))
        rc = submit_offer(own, err);
    return rc;
}

static int end_steady_state(struct process_set *set, struct err *err)
{
    struct set_steady *steady = &set->steady;
    log_line(LOG_DEBUG, set->engine->rank,
             "process set %d: steady state %u ends after %u operations", set->id,
             steady->state.epoch, steady->state.done);
    negotiation_steady_ended(set->negotiation,
                             steady_round_tensors(steady->round, steady->state.done));
    set_steady_forget_sent(set);
    int rc = offer_again(set, err);
    if (rc == HVD_OK && steady->has_end)
        set_end(set, steady->who, &steady->end);
    return rc < 0 ? rc : 1;
}

int set_steady_move(struct process_set *set, struct err *err)
{
    struct steady *state = &set->steady.state;
    int moved = 0;
    while (steady_next(state)) {
        int rc = set_steady_complete(set, state->done - 1, err);
        if (rc < 0)
            return rc;
        moved = 1;
    }
    if (moved && state->phase == STEADY_ON)
        set_steady_commit_complete(set);
    return steady_finish(state) ? end_steady_state(set, err) : moved;
}

void set_steady_keep_end(struct process_set *set, int who, const struct rank_end *end)
{
    if (set->steady.has_end)
        return;
    set->steady.has_end = true;
    set->steady.who = who;
    set->steady.end = *end;
}

void set_steady_abandon(struct process_set *set)
{
    set_steady_leave(set);
    set->steady.state.phase = STEADY_OFF;
    set->steady.state.committed = set->steady.state.done;
    if (set->steady.round)
        steady_round_forget(set->steady.round);
}

void set_steady_fini(struct process_set *set)
{
    set_steady_free_kept(set);
    free(set->steady.gathered);
    free(set->steady.round);
    free(set->steady.agreed);
    for (int i = 0; i < set->steady.capacity; i++)
        free(set->steady.schedule[i].tensor);
    free(set->steady.schedule);
}
