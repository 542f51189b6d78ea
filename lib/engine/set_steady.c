/* SPDX-License-Identifier: Apache-2.0 */
/* The steady state of a set (lib/negotiation/steady.h), with data: collectives that come in a
 * learnt order. Each rank sends what it would have offered to the root to all other ranks.
 *
 *   all tensors of the operation that the schedule expects -> a frame to every rank -> when all
 *   frames are there:
 *     small: reduced in order of rank, as the root does, or put together, and done
 *     large: its data are moved, with the algorithm of the schedule (batch_queue.c)
 *   a tensor of the schedule whose turn has not come -> held (steady_round.h)
 *
 * This rank leaves the steady state when
 *   its program submits anything that the schedule does not have;
 *   its program waits for a tensor that is held until the program submits others;
 *   something that this rank has submitted is undecided when the schedule begins;
 *   a timeline or the autotuner is to see agreements;
 *   a tensor has waited for STEADY_PATIENCE_NS: the agreement can tell which rank is missing;
 *   another rank has left.
 * Tensors that are not done when all have left are offered to the agreement.
 *
 * Fails with HVD_ERR_PROTOCOL when a frame is malformed, out of order, or was made for another
 * operation than this rank expects; and with HVD_ERR_NOMEM. */
#include "lib/engine/engine_impl.h"

#include "lib/base/checksum.h"
#include "lib/base/log.h"
#include "lib/negotiation/contribution.h"
#include "lib/reduce/reduce.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define STEADY_PATIENCE_NS 1000000000ull

/* A program that asks again and again about a tensor that has been held for so long waits for it. */
#define STEADY_POLLED_NS 1000000ull

enum { STEADY_HEAD = 12 }; /* of a TREE_STEADY: epoch, number, digest */

_Static_assert((int)STEADY_RANKS_MAX <= (int)LISTED_ROWS_RANKS,
               "ranks offer the numbers of an alltoall");

/* What a rank has committed to. Its size is no power of 2, so that equal places of two of them do
 * not share a place in a cache. */
struct steady_kept {
    uint32_t digest, nbytes;
    alignas(64) unsigned char data[STEADY_DATA_MAX];
};

/* A rank sends to all others, not to the root alone. With more ranks than processors, the system
 * calls of so many sockets cost more than the way to the root and back. */
bool set_steady_pays(struct process_set *set)
{
    bool all_shared = true;
    const struct tree_link *tree;
    for (int i = 0; (tree = set_tree_at(set, i)); i++)
        all_shared &= !tree->link || tree->link->type->transport == TRANSPORT_SHM;
    return set->engine->settings.steady && set->size >= 2 && set->size <= STEADY_RANKS_MAX &&
           (set->size == 2 || all_shared || !set->engine->progress.crowded);
}

/* ---- the schedule ---- */

static const struct steady_operation *operation_at(const struct process_set *set, uint32_t number)
{
    return &set->steady.schedule[number % (uint32_t)set->steady.count];
}

static struct steady_kept *kept_at(const struct process_set *set, int rank, uint32_t number)
{
    return &set->steady.kept[(size_t)rank * STEADY_KEPT + number % STEADY_KEPT];
}

static int steady_no_memory(struct err *err)
{
    return fail(err, HVD_ERR_NOMEM, "out of memory");
}

static int make_kept(struct process_set *set, struct err *err)
{
    struct set_steady *steady = &set->steady;
    size_t size = (size_t)set->size;
    if (!steady->kept)
        steady->kept = aligned_alloc(64, size * STEADY_KEPT * sizeof *steady->kept);
    if (!steady->gathered)
        steady->gathered = aligned_alloc(64, size * sizeof *steady->kept);
    return steady->kept && steady->gathered ? HVD_OK : steady_no_memory(err);
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
    wire_put_i32(&writer, what->algorithm);
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
    if (make_kept(set, err) < 0 || make_schedule(set, schedule, err) < 0)
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

/* ---- sending ---- */

static void put_header(struct wire_writer *out, uint32_t epoch, uint32_t number)
{
    wire_put_u32(out, epoch);
    wire_put_u32(out, number);
}

uint32_t set_steady_commit(struct process_set *set, const void *data, size_t nbytes)
{
    struct tree_link *tree;
    unsigned char head[STEADY_HEAD];
    struct wire_writer writer = { .data = head, .capacity = sizeof head };
    uint32_t number = steady_commit(&set->steady.state);
    put_header(&writer, set->steady.state.epoch, number);
    wire_put_u32(&writer, operation_at(set, number)->digest);
    for (int i = 0; (tree = set_tree_at(set, i)); i++)
        tree_link_put_parts(tree, TREE_STEADY, head, sizeof head, data, nbytes);
    return number;
}

void set_steady_keep(struct process_set *set, uint32_t number, const void *data, size_t nbytes)
{
    struct steady_kept *kept = kept_at(set, set->rank, number);
    kept->digest = operation_at(set, number)->digest;
    kept->nbytes = (uint32_t)nbytes;
    if (nbytes > 0 && data != kept->data)
        memcpy(kept->data, data, nbytes);
}

const unsigned char *set_steady_kept(const struct process_set *set, int rank, uint32_t number,
                                     size_t *nbytes)
{
    const struct steady_kept *kept = kept_at(set, rank, number);
    *nbytes = kept->nbytes;
    return kept->data;
}

void *set_steady_place(struct process_set *set, uint32_t number)
{
    return kept_at(set, set->rank, number)->data;
}

void set_steady_own(struct process_set *set, uint32_t number, struct tensor *tensor)
{
    struct steady_round *round = set->steady.round;
    const struct schedule_operation *operation = steady_round_operation(round, number);
    if (!tensor) {
        steady_round_done(round, number);
        return;
    }
    if (!round->owners[operation->first]) {
        steady_round_put(round, operation->first, tensor);
        steady_round_commit(round, number);
    }
    round->owners[operation->first] = tensor;
}

/* Tells all other ranks that this rank leaves an epoch after `number` operations. */
static void put_leave(struct process_set *set, uint32_t epoch, uint32_t number)
{
    struct tree_link *tree;
    for (int i = 0; (tree = set_tree_at(set, i)); i++) {
        if (!tree->link || tree->is_mute)
            continue;
        size_t begin = tree_link_begin(tree, TREE_UNSTEADY);
        put_header(&tree->out, epoch, number);
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

/* How much of an offer's data goes with the commitment: all, or what goes with a decision to move
 * data. */
static size_t bytes_to_send(const struct process_set *set, const struct steady_operation *operation,
                            const struct offer *offer)
{
    if (operation->what.algorithm < 0)
        return offer->nbytes;
    return contribution_rows_bytes(operation->remembered.description->kind, set->size);
}

/* True if the data of the offer come as the schedule says. */
static bool is_expected(const struct steady_operation *operation, const struct offer *offer)
{
    bool is_inline = operation->what.algorithm < 0;
    return !is_inline || (offer->complete && offer->nbytes <= STEADY_DATA_MAX);
}

int set_steady_offer_next(struct process_set *set, const struct offer *offer)
{
    const struct steady_operation *operation = operation_at(set, set->steady.state.committed);
    if (!is_expected(operation, offer)) {
        set_steady_leave(set);
        return 0;
    }
    size_t nbytes = bytes_to_send(set, operation, offer);
    uint32_t number = set_steady_commit(set, offer->data, nbytes);
    set_steady_keep(set, number, offer->data, nbytes);
    steady_round_commit(set->steady.round, number);
    return 1;
}

/* Puts the inputs of fused tensors one behind the other. Returns the number of bytes. */
static size_t pack_inputs(const struct steady_operation *operation, void *const *owners,
                          unsigned char *out)
{
    size_t total = 0;
    for (int i = 0; i < operation->what.count; i++) {
        const struct tensor *own = owners[operation->what.first + i];
        const struct description *description = &own->description;
        size_t nbytes = description_bytes(description);
        if (description->prescale != 1)
            scale_function(description->dtype)(
                out + total, own->input, shape_count(&description->shape), description->prescale);
        else if (nbytes > 0)
            memcpy(out + total, own->input, nbytes);
        total += nbytes;
    }
    return total;
}

static void commit_fused(struct process_set *set)
{
    struct set_steady *steady = &set->steady;
    uint32_t number = steady->state.committed;
    const struct steady_operation *operation = operation_at(set, number);
    struct steady_kept *kept = kept_at(set, set->rank, number);
    bool is_inline = operation->what.algorithm < 0;
    kept->digest = operation->digest;
    kept->nbytes =
        is_inline ? (uint32_t)pack_inputs(operation, steady->round->owners, kept->data) : 0;
    set_steady_commit(set, kept->data, kept->nbytes);
    steady_round_commit(steady->round, number);
}

/* True if the program waits for a tensor that is held until it submits others. */
static bool is_stuck_with(const struct process_set *set, const struct ticket *ticket,
                          uint64_t since_ns)
{
    const struct set_steady *steady = &set->steady;
    uint32_t number;
    const struct tensor *own;
    if (steady->state.phase != STEADY_ON ||
        !steady_round_is_stuck(steady->round, steady->state.committed, steady->state.done))
        return false;
    for (int i = 0; (own = steady_round_at(steady->round, i, steady->state.done, &number)); i++)
        if (number - steady->state.done >= steady->state.committed - steady->state.done &&
            (ticket ? own->ticket == ticket : own->ticket->awaited) && own->since_ns <= since_ns)
            return true;
    return false;
}

/* Commits to all operations that are complete, as far as a rank may be ahead. */
static int commit_complete(struct process_set *set, struct err *err)
{
    struct steady *state = &set->steady.state;
    struct steady_round *round = set->steady.round;
    int moved = 0, rc = 1;
    while (rc > 0 && steady_may_commit(state) &&
           steady_round_is_complete(round, state->committed, state->done)) {
        const struct schedule_operation *operation =
            steady_round_operation(round, state->committed);
        if (operation->count == 1)
            rc = submit_commit(round->owners[operation->first], err);
        else
            commit_fused(set);
        moved = 1;
    }
    if (moved && is_stuck_with(set, NULL, UINT64_MAX))
        set_steady_leave(set);
    return rc < 0 ? rc : moved;
}

/* The place of an offer in the schedule, -1 if it has none. */
static int find_place(const struct process_set *set, const struct offer *offer)
{
    int slot = negotiation_slot(set->negotiation, offer->name);
    if (slot < 0 || !negotiation_repeats(set->negotiation, slot, offer->name, &offer->description))
        return -1;
    return steady_round_find(set->steady.round, slot, set->steady.state.committed);
}

int set_steady_offer(struct process_set *set, const struct offer *offer, struct err *err)
{
    struct set_steady *steady = &set->steady;
    if (steady->state.phase != STEADY_ON)
        return 0;
    int place = set_steady_is_observed(set) ? -1 : find_place(set, offer);
    if (place < 0) {
        set_steady_leave(set);
        return 0;
    }
    const struct steady_operation *next = operation_at(set, steady->state.committed);
    steady_round_put(steady->round, place, offer->owner);
    if (next->what.first != place || next->what.count > 1 || !steady_may_commit(&steady->state)) {
        int rc = commit_complete(set, err);
        return rc < 0 ? rc : 1;
    }
    set_steady_offer_next(set, offer); /* if it leaves, the tensor is offered again */
    int rc = commit_complete(set, err);
    return rc < 0 ? rc : 1;
}

void set_steady_await(struct engine *engine, const struct ticket *ticket)
{
    for (int id = 0; id < engine->sets.count; id++)
        if (engine->sets.at[id] && is_stuck_with(engine->sets.at[id], ticket, UINT64_MAX)) {
            set_steady_leave(engine->sets.at[id]);
            progress_wake(engine);
        }
}

void set_steady_poll(struct engine *engine, const struct ticket *ticket)
{
    for (int id = 0; id < engine->sets.count; id++)
        if (engine->sets.at[id] && engine->sets.at[id]->steady.state.phase == STEADY_ON &&
            is_stuck_with(engine->sets.at[id], ticket, monotonic_ns() - STEADY_POLLED_NS))
            set_steady_leave(engine->sets.at[id]);
}

bool set_steady_has(const struct process_set *set, const char *name)
{
    const struct set_steady *steady = &set->steady;
    int slot = set_is_steady(set) ? negotiation_slot(set->negotiation, name) : -1;
    for (int i = 0; slot >= 0 && i < steady->round->schedule.ntensors; i++)
        if (steady->round->schedule.slots[i] == slot && steady->round->owners[i])
            return true;
    return false;
}

/* ---- receiving ---- */

/* A frame may come before this rank has the schedule: the frame is compared with the schedule when
 * the operation is done. */
static int receive_commitment(struct process_set *set, int from, struct wire_reader *reader,
                              struct err *err)
{
    uint32_t epoch = wire_get_u32(reader), number = wire_get_u32(reader);
    uint32_t digest = wire_get_u32(reader);
    size_t nbytes = reader->left;
    if (reader->failed || nbytes > STEADY_DATA_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "a frame of a steady state has a wrong length");
    int rc = steady_receive(&set->steady.state, from, epoch, number, err);
    if (rc == HVD_OK)
        rc = make_kept(set, err);
    if (rc < 0)
        return rc;
    struct steady_kept *kept = kept_at(set, from, number);
    kept->digest = digest;
    kept->nbytes = (uint32_t)nbytes;
    memcpy(kept->data, wire_get_bytes(reader, nbytes), nbytes);
    return HVD_OK;
}

int set_steady_receive(struct process_set *set, int from, const struct frame *frame,
                       struct err *err)
{
    struct wire_reader reader;
    if (set->ended.code != HVD_OK)
        return HVD_OK;
    if (set->size > STEADY_RANKS_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "a set of %d ranks has no steady state", set->size);
    wire_reader_init(&reader, frame->body, frame->length);
    if (frame->type == TREE_STEADY)
        return receive_commitment(set, from, &reader, err);
    uint32_t epoch = wire_get_u32(&reader), number = wire_get_u32(&reader);
    if (!wire_reader_finished(&reader))
        return fail(err, HVD_ERR_PROTOCOL, "a frame of a steady state has a wrong length");
    int rc = steady_receive_leave(&set->steady.state, from, epoch, number, err);
    if (rc > 0)
        set_steady_leave(set);
    return rc < 0 ? rc : HVD_OK;
}

/* ---- the end of an operation ---- */

int set_steady_check(const struct process_set *set, uint32_t number, size_t nbytes, struct err *err)
{
    uint32_t digest = operation_at(set, number)->digest;
    for (int rank = 0; rank < set->size; rank++) {
        const struct steady_kept *kept = kept_at(set, rank, number);
        if (rank != set->rank &&
            (kept->digest != digest || (nbytes != SIZE_MAX && kept->nbytes != nbytes)))
            return fail(err, HVD_ERR_PROTOCOL,
                        "rank %d takes operation %u of a steady state for another one",
                        set->ranks[rank], number);
    }
    return HVD_OK;
}

int set_steady_copy(const struct process_set *set, int rank, uint32_t number, void *out,
                    size_t nbytes, struct err *err)
{
    const struct steady_kept *kept = kept_at(set, rank, number);
    if (kept->nbytes != nbytes)
        return fail(err, HVD_ERR_PROTOCOL, "rank %d gave %u bytes, not %zu", set->ranks[rank],
                    kept->nbytes, nbytes);
    memcpy(out, kept->data, nbytes);
    return HVD_OK;
}

/* In order of rank, as contribution_reduce() does. Only the last step writes to `out`, after the
 * own data has been read. */
static void reduce_kept(const struct process_set *set, const struct description *description,
                        size_t count, uint32_t number, const void *own, void *out)
{
    reduce_fn *reduce = reduce_function(description->dtype, description->op);
    alignas(64) unsigned char sum[INLINE_MAX];
    const void *left = set->rank == 0 ? own : kept_at(set, 0, number)->data;
    for (int rank = 1; rank < set->size; rank++) {
        const void *data = rank == set->rank ? own : kept_at(set, rank, number)->data;
        void *to = rank == set->size - 1 ? out : sum;
        if (to == out && description->op == HVD_AVERAGE)
            divide_function(description->dtype)(to, left, data, count, set->size);
        else
            reduce(to, left, data, count);
        left = to;
    }
}

void set_steady_reduce(const struct process_set *set, const struct description *description,
                       uint32_t number, const void *own, void *out)
{
    reduce_kept(set, description, shape_count(&description->shape), number, own, out);
}

/* Puts the data of all ranks together, in order of rank. */
static void gather_kept(struct process_set *set, uint32_t number, struct agreed *agreed)
{
    size_t *offsets = set->steady.offsets;
    offsets[0] = 0;
    for (int rank = 0; rank < set->size; rank++) {
        const struct steady_kept *kept = kept_at(set, rank, number);
        memcpy(set->steady.gathered + offsets[rank], kept->data, kept->nbytes);
        offsets[rank + 1] = offsets[rank] + kept->nbytes;
    }
    agreed->data = set->steady.gathered;
    agreed->nbytes = offsets[set->size];
    agreed->offsets = offsets;
}

/* Bytes of all tensors of an operation. */
static size_t bytes_together(const struct agreed *agreed, int count)
{
    size_t nbytes = 0;
    for (int i = 0; i < count; i++)
        nbytes += description_bytes(&agreed[i].description);
    return nbytes;
}

/* What comes with the root's decision otherwise. */
static int fill_agreed(struct process_set *set, const struct steady_operation *operation,
                       uint32_t number, struct agreed *agreed, struct err *err)
{
    const struct description *description = &agreed->description;
    int ntensors = operation->what.count;
    bool is_inline = operation->what.algorithm < 0, is_sum = description_is_reduction(description);
    size_t nbytes = is_sum ? is_inline ? bytes_together(agreed, ntensors) : 0 : SIZE_MAX;
    int rc = set_steady_check(set, number, nbytes, err);
    if (rc < 0)
        return rc;
    if (is_sum && is_inline) {
        const unsigned char *at = set->steady.gathered;
        reduce_kept(set, description, nbytes / dtype_size((int)description->dtype), number,
                    kept_at(set, set->rank, number)->data, set->steady.gathered);
        for (int i = 0; i < ntensors; i++) {
            agreed[i].data = at;
            agreed[i].nbytes = description_bytes(&agreed[i].description);
            at += agreed[i].nbytes;
        }
    } else if (!is_sum && (is_inline || collective_has_own_rows(description->kind))) {
        gather_kept(set, number, agreed);
    }
    return HVD_OK;
}

static void take_owners(struct process_set *set, const struct steady_operation *operation,
                        uint32_t number)
{
    struct set_steady *steady = &set->steady;
    for (int i = 0; i < operation->what.count; i++) {
        struct tensor *own = steady->round->owners[operation->what.first + i];
        steady->agreed[i] = (struct agreed){
            .owner = own, .name = own->name, .description = own->description, .last_rank = -1
        };
    }
    steady_round_done(steady->round, number);
}

static int complete_operation(struct process_set *set, uint32_t number, struct err *err)
{
    const struct steady_operation *operation = operation_at(set, number);
    bool is_inline = operation->what.algorithm < 0;
    struct decision decision = { .kind = is_inline ? DECISION_DONE : DECISION_BATCH,
                                 .count = is_inline ? 1 : operation->what.count,
                                 .algorithm = (enum algorithm)operation->what.algorithm };
    take_owners(set, operation, number);
    int rc = fill_agreed(set, operation, number, set->steady.agreed, err);
    set->decided.count++;
    for (int i = 0; rc >= 0 && i < operation->what.count; i += decision.count) {
        decision.tensors = &set->steady.agreed[i];
        rc = decision_take(set, &decision, err);
    }
    return rc;
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
    negotiation_steady_ended(set->negotiation, steady->state.done);
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
        int rc = complete_operation(set, state->done - 1, err);
        if (rc < 0)
            return rc;
        moved = 1;
    }
    if (moved && state->phase == STEADY_ON) {
        int rc = commit_complete(set, err);
        if (rc < 0)
            return rc;
    }
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
    free(set->steady.kept);
    free(set->steady.gathered);
    free(set->steady.round);
    free(set->steady.agreed);
    for (int i = 0; i < set->steady.capacity; i++)
        free(set->steady.schedule[i].tensor);
    free(set->steady.schedule);
}

/* ---- waiting ---- */

/* When the youngest tensor came that is committed to and not done, or held while nothing is. */
static uint64_t steady_waits_since(const struct process_set *set)
{
    const struct steady *state = &set->steady.state;
    uint64_t since_ns = 0;
    const struct tensor *own;
    uint32_t number;
    for (int i = 0; (own = steady_round_at(set->steady.round, i, state->done, &number)); i++)
        if ((number == state->done || state->committed == state->done) && own->since_ns > since_ns)
            since_ns = own->since_ns;
    return since_ns;
}

uint64_t set_steady_deadline(const struct process_set *set)
{
    const struct steady *state = &set->steady.state;
    if (state->phase != STEADY_ON ||
        (state->committed == state->done && set->steady.round->held == 0))
        return UINT64_MAX;
    return steady_waits_since(set) + STEADY_PATIENCE_NS;
}

void set_steady_tick(struct process_set *set, uint64_t now_ns)
{
    if (now_ns >= set_steady_deadline(set))
        set_steady_leave(set);
}

int set_steady_waiting_count(const struct process_set *set)
{
    const struct set_steady *steady = &set->steady;
    int count = set_is_steady(set) ? steady->round->held : 0;
    for (uint32_t number = steady->state.done; number != steady->state.committed; number++)
        count += steady_round_operation(steady->round, number)->count;
    return count;
}

int set_steady_waiting(const struct process_set *set, int index, struct waiting *waiting)
{
    const struct steady *state = &set->steady.state;
    uint32_t number;
    const struct tensor *own =
        set_is_steady(set) ? steady_round_at(set->steady.round, index, state->done, &number) : NULL;
    if (!own)
        return 0;
    *waiting = (struct waiting){
        .name = own->name, .kind = own->description.kind, .since_ns = own->since_ns, .own = true
    };
    /* A rank that has left may have submitted the tensor since, and so may a rank that has not
     * committed to an operation of many tensors. */
    bool is_sure = state->phase == STEADY_ON && number == state->done &&
                   state->committed != state->done && operation_at(set, number)->what.count == 1;
    struct rank_ranges *ranks = is_sure ? &waiting->missing : &waiting->unsure;
    for (int rank = 0; rank < set->size; rank++)
        if (state->received[rank] <= number && rank != set->rank)
            rank_ranges_add(ranks, rank, rank + 1);
    return 1;
}
