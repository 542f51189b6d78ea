/* SPDX-License-Identifier: Apache-2.0 */
/* At the root: names that are ready become records of a message down (message.h):
 *   done and failed names first, then names whose data is moved, fused where possible; then,
 *   when nothing else is left, that all ranks have joined; which cache slots are to be retired; and,
 *   when the last operations were rounds of a schedule, that the steady state begins.
 * Names get their cache slots here; a slot takes effect when the message is applied.
 * Fails when out of memory, which the writer remembers. */
#include "lib/collective/piece.h"
#include "lib/negotiation/contribution.h"
#include "lib/negotiation/fusion_plan.h"
#include "lib/negotiation/message.h"
#include "lib/negotiation/negotiation_impl.h"

#include <stdio.h>
#include <string.h>

/* A slot for a name that has none; -1 if no slot is free now. */
static int new_slot(struct negotiation_root *root, const struct description *description)
{
    bool worth_it = !description->nameless && description->kind != COLLECTIVE_ADD_SET &&
                    description->kind != COLLECTIVE_REMOVE_SET;
    int slot = worth_it && root->slots.capacity > 0 ? slot_book_take(&root->slots) : -1;
    root->retirement_wanted |= worth_it && root->slots.capacity > 0 && slot < 0;
    return slot;
}

/* How a message names a tensor: by its slot, by its name, or by its name and its new slot. */
struct reference {
    int flags;
    int slot;
};

static struct reference refer(struct negotiation *negotiation, const struct pending *entry)
{
    const struct description *description = negotiation_description(negotiation, entry);
    bool complete = entry->complete && !collective_has_own_rows(description->kind);
    int flags = complete ? TENSOR_COMPLETE : 0;
    if (entry->slot < 0) {
        int slot = new_slot(negotiation->root, description);
        return (struct reference){ slot < 0 ? 0 : TENSOR_ASSIGN | flags, slot };
    }
    const struct cache_slot *slot = &negotiation->cache.slots[entry->slot];
    slot_book_touch(&negotiation->root->slots, entry->slot);
    if (slot->complete == complete && (!entry->variants || cache_matches(slot, description)))
        flags = TENSOR_SLOT;
    else
        flags |= TENSOR_ASSIGN;
    return (struct reference){ flags, entry->slot };
}

static void put_tensor(struct negotiation *negotiation, struct wire_writer *body,
                       const struct pending *entry, int extra)
{
    struct reference reference = refer(negotiation, entry);
    wire_put_u8(body, (uint8_t)(reference.flags | extra));
    if (reference.flags & (TENSOR_SLOT | TENSOR_ASSIGN))
        wire_put_u32(body, (uint32_t)reference.slot);
    if (reference.flags & TENSOR_SLOT)
        return;
    message_put_name(body, entry->name, entry->name_length);
    description_encode(body, negotiation_description(negotiation, entry));
}

static void decide_finish(struct negotiation *negotiation, struct pending *entry)
{
    const struct negotiation_observer *observer = negotiation->observer;
    entry->state = PENDING_TOLD;
    negotiation->root->deciding++;
    pending_drop_parts(entry, &negotiation->pool);
    if (observer)
        observer->decided(observer->arg, entry->name, entry->kind);
}

static void put_list_tensor(struct negotiation *negotiation, struct wire_writer *body,
                            struct pending *entry)
{
    const struct description *description = negotiation_description(negotiation, entry);
    bool list = negotiation_data_flags(description, entry->complete) == TENSOR_LIST;
    bool absent =
        description->memory == MEMORY_DEVICE_REDUCES && negotiation_has_absent(negotiation, entry);
    put_tensor(negotiation, body, entry, (list ? TENSOR_LIST : 0) | (absent ? TENSOR_ABSENT : 0));
    if (list)
        contribution_put_list(
            body, entry, &negotiation->tree,
            contribution_list_most(description->kind, negotiation->size, entry->complete));
}

/* True if ranks that have learnt the schedule can do without the root's decision. */
static bool can_be_steady(const struct negotiation *negotiation, const struct pending *entry)
{
    const struct description *description = negotiation_description(negotiation, entry);
    return entry->slot >= 0 && !entry->variants && description->memory == MEMORY_HOST &&
           description->group == 0 && negotiation->joins.count == 0 &&
           description_can_be_steady(description);
}

static void decide_learn(struct negotiation *negotiation, const struct pending *entry,
                         struct schedule_choice choice)
{
    struct schedule_search *search = &negotiation->root->search;
    if (!negotiation->root->learns)
        return;
    bool pays = !negotiation->root->sent.is_all || choice.algorithm == SCHEDULED_SENT;
    if (pays && can_be_steady(negotiation, entry))
        schedule_add(search, entry->slot, choice);
    else
        schedule_interrupt(search);
}

static void put_done(struct negotiation *negotiation, struct wire_writer *body,
                     struct pending *entry)
{
    const struct description *description = negotiation_description(negotiation, entry);
    wire_put_u8(body, DOWN_DONE);
    if (!description_is_reduction(description)) {
        put_list_tensor(negotiation, body, entry);
        return;
    }
    size_t nbytes = description_bytes(description);
    put_tensor(negotiation, body, entry, TENSOR_REDUCTION);
    wire_put_u32(body, (uint32_t)nbytes);
    wire_put_bytes(body,
                   contribution_reduce(entry, description, negotiation->size,
                                       negotiation_has_absent(negotiation, entry)),
                   nbytes);
}

/* "rank 2 has", "ranks 0-1 have" */
static void joined_text(const struct negotiation *negotiation, char *text, size_t size)
{
    struct rank_ranges joined = { 0 };
    char ranks[120];
    for (int rank = 0; rank < negotiation->size; rank++)
        if (negotiation->joins.has_joined[rank])
            rank_ranges_add(&joined, rank, rank + 1);
    rank_ranges_text(ranks, sizeof ranks, &joined, negotiation->world_ranks);
    snprintf(text, size, "%s %s", ranks, negotiation->joins.count > 1 ? "have" : "has");
}

static void failure_text(const struct negotiation *negotiation, const struct pending *entry,
                         struct err *err)
{
    const char *kind = collective_name(entry->kind);
    char name[QUOTED_SIZE], ranks[128];
    const char *shown = name_shown(entry->name);
    quote_token(name, sizeof name, shown, strlen(shown));
    if (entry->failure == PENDING_MISMATCH) {
        variants_check(entry->variants, entry->name, negotiation->world_ranks, err);
    } else if (entry->failure == PENDING_JOINED) {
        joined_text(negotiation, ranks, sizeof ranks);
        fail(err, HVD_ERR_MISMATCH, "%s '%s': not possible while %s joined", kind, name, ranks);
    } else {
        fail(err, HVD_ERR_MISMATCH, "%s '%s': all ranks have joined, and its group is not complete",
             kind, name);
    }
}

static void put_failed(struct negotiation *negotiation, struct wire_writer *body,
                       const struct pending *entry)
{
    struct err err = { 0 };
    failure_text(negotiation, entry, &err);
    wire_put_u8(body, DOWN_FAILED);
    message_put_name(body, entry->name, entry->name_length);
    wire_put_i32(body, err.code);
    wire_put_string(body, err.text);
}

static void decide_small(struct negotiation *negotiation, struct wire_writer *body)
{
    struct pending *entry = pending_pop(&negotiation->root->small);
    decide_learn(negotiation, entry, (struct schedule_choice){ SCHEDULED_INLINE, 0 });
    if (entry->failure == PENDING_GOOD)
        put_done(negotiation, body, entry);
    else
        put_failed(negotiation, body, entry);
    decide_finish(negotiation, entry);
}

/* Moves the tensors that are fused with the plan's first out of the queue. Returns how many. */
static uint32_t fuse(struct negotiation *negotiation, struct fusion_plan *plan,
                     struct pending_queue *fused)
{
    struct pending_queue *batch = &negotiation->root->batch, rest = { 0 };
    uint32_t count = 1;
    for (int i = 0; i < FUSION_LOOK_AHEAD && batch->first && fusion_plan_is_open(plan); i++) {
        struct pending *entry = pending_pop(batch);
        bool added = fusion_plan_add(plan, negotiation_description(negotiation, entry));
        pending_push(added ? fused : &rest, entry);
        count += added;
    }
    pending_put_back(batch, &rest);
    return count;
}

/* For an allgather the output counts; an impossible number of rows does no harm. */
static size_t bytes_to_move(const struct negotiation *negotiation, const struct pending *first,
                            const struct fusion_plan *plan)
{
    const struct description *description = plan->first;
    size_t row = shape_row_count(&description->shape) * dtype_size((int)description->dtype);
    return description->kind == COLLECTIVE_ALLGATHER
               ? (size_t)contribution_rows(first, &negotiation->tree) * row
               : plan->nbytes;
}

static struct algorithm_choice choose(const struct negotiation *negotiation,
                                      const struct negotiation_work *work)
{
    const struct negotiation_root *root = negotiation->root;
    const struct algorithm_case unknown = { .kind = description_operation(work->first),
                                            .nbytes = work->nbytes,
                                            .size = negotiation->size };
    const struct piece_case pieces = { .ranks = negotiation->size };
    if (root->choose)
        return root->choose(root->choose_arg, work);
    return (struct algorithm_choice){ algorithm_choose(&unknown, &algorithm_defaults, -1),
                                      piece_choose(&pieces) };
}

/* The most bytes that a rank sends to another one, if the ranks send each other what is for each;
 * SIZE_MAX: too many. */
static size_t bytes_to_one(const struct negotiation *negotiation, const struct pending *entry,
                           const struct description *description)
{
    size_t row = shape_row_count(&description->shape) * dtype_size((int)description->dtype);
    uint64_t rows = 1;
    if (description->kind == COLLECTIVE_ALLREDUCE || description->kind == COLLECTIVE_BROADCAST)
        return description_bytes(description);
    if (description->kind == COLLECTIVE_REDUCESCATTER)
        rows = ((uint64_t)description->shape.dims[0] + (uint64_t)negotiation->size - 1) /
               (uint64_t)negotiation->size;
    else
        rows =
            contribution_most_rows(entry, &negotiation->tree, description->kind, negotiation->size);
    return row > 0 && rows > SENT_GREATEST / row ? SIZE_MAX : (size_t)rows * row;
}

/* How a tensor whose data are moved is carried out in a steady state. Sums are made in order of
 * rank there, so that sums of floating point numbers stay the same only if the algorithm has this
 * order, too; the sum of two numbers has one order. */
static struct schedule_choice schedule_choose(const struct negotiation *negotiation,
                                              const struct pending *entry,
                                              struct algorithm_choice choice)
{
    const struct description *description = negotiation_description(negotiation, entry);
    const struct schedule_sent *sent = &negotiation->root->sent;
    bool is_same = !description_is_reduction(description) || negotiation->size == 2 ||
                   choice.algorithm == ALGORITHM_DIRECT;
    bool is_sent = is_same && sent->most[description->kind] > 0 &&
                   negotiation_can_send(description, negotiation->size) &&
                   bytes_to_one(negotiation, entry, description) <= sent->most[description->kind];
    return is_sent ? (struct schedule_choice){ SCHEDULED_SENT, 0 }
                   : (struct schedule_choice){ (int)choice.algorithm, choice.piece };
}

static void decide_run(struct negotiation *negotiation, struct wire_writer *body)
{
    const struct negotiation_settings *settings = &negotiation->settings;
    struct pending *first = pending_pop(&negotiation->root->batch);
    const struct description *description = negotiation_description(negotiation, first);
    struct pending_queue fused = { 0 };
    struct fusion_plan plan;
    fusion_plan_init(&plan, description, settings->fusion, settings->group_fusion);
    uint32_t count = fuse(negotiation, &plan, &fused);
    struct algorithm_choice choice =
        choose(negotiation, &(struct negotiation_work){ description, (int)count,
                                                        bytes_to_move(negotiation, first, &plan),
                                                        first->given & 1u ? first->owner : NULL });
    wire_put_u8(body, DOWN_RUN);
    wire_put_u8(body, (uint8_t)choice.algorithm);
    wire_put_u8(body, piece_code(choice.piece));
    wire_put_u32(body, count);
    for (struct pending *entry = first; entry; entry = pending_pop(&fused)) {
        decide_learn(negotiation, entry,
                     count == 1 ? schedule_choose(negotiation, entry, choice)
                                : (struct schedule_choice){ SCHEDULED_FUSED, 0 });
        put_list_tensor(negotiation, body, entry);
        decide_finish(negotiation, entry);
    }
}

static bool is_busy(void *arg, int slot)
{
    const struct cache *cache = arg;
    return slot >= cache->count || !cache->slots[slot].active || cache->slots[slot].pending;
}

static bool decide_retirement(struct negotiation *negotiation, struct wire_writer *body)
{
    struct negotiation_root *root = negotiation->root;
    if (!root->retirement_wanted || negotiation->retirement.under_way)
        return false;
    root->retirement_wanted = false;
    int count = slot_book_retire(&root->slots, is_busy, &negotiation->cache);
    if (count == 0)
        return false;
    schedule_interrupt(&root->search);
    wire_put_u8(body, DOWN_RETIRE);
    wire_put_u32(body, ++root->retirements);
    wire_put_u32(body, (uint32_t)count);
    for (int i = 0; i < count; i++)
        wire_put_u32(body, (uint32_t)root->slots.retiring[i]);
    return true;
}

/* A name that runs without a joined rank must not come behind the end of the join. */
static bool decide_joined(struct negotiation *negotiation, struct wire_writer *body)
{
    struct negotiation_root *root = negotiation->root;
    if (!root->all_joined || root->small.first || root->batch.first)
        return false;
    wire_put_u8(body, DOWN_JOINED);
    wire_put_u32(body, (uint32_t)root->last_joined);
    return true;
}

static size_t decide_bytes(const struct negotiation *negotiation, const struct schedule *schedule,
                           const struct schedule_operation *operation)
{
    size_t nbytes = 0;
    for (int i = 0; i < operation->count; i++) {
        int slot = schedule->slots[operation->first + i];
        nbytes += description_bytes(&negotiation->cache.slots[slot].description);
    }
    return nbytes;
}

/* How the fused tensors of an operation are carried out. */
static struct schedule_choice choose_fused(const struct negotiation *negotiation,
                                           const struct schedule *schedule,
                                           const struct schedule_operation *operation)
{
    int slot = schedule->slots[operation->first];
    struct algorithm_choice choice = choose(
        negotiation,
        &(struct negotiation_work){ &negotiation->cache.slots[slot].description, operation->count,
                                    decide_bytes(negotiation, schedule, operation), NULL });
    return (struct schedule_choice){ (int)choice.algorithm, choice.piece };
}

/* Fuses tensors of the round, and chooses how fused ones are carried out. */
static void plan_schedule(const struct negotiation *negotiation, const struct schedule_round *round,
                          struct schedule *schedule)
{
    const struct cache_slot *slots = negotiation->cache.slots;
    const struct description *descriptions[SCHEDULE_MAX];
    for (int i = 0; i < round->count; i++)
        descriptions[i] = &slots[round->tensors[i].slot].description;
    schedule_plan(schedule, round, descriptions, negotiation->settings.fusion,
                  negotiation->settings.inline_max);
    for (int i = 0; i < schedule->count; i++) {
        struct schedule_operation *operation = &schedule->operations[i];
        if (operation->choice.algorithm == SCHEDULED_FUSED)
            operation->choice = choose_fused(negotiation, schedule, operation);
    }
}

static void put_schedule(struct wire_writer *body, const struct schedule *schedule)
{
    wire_put_u8(body, DOWN_STEADY);
    wire_put_u32(body, (uint32_t)schedule->count);
    for (int i = 0; i < schedule->count; i++) {
        const struct schedule_operation *operation = &schedule->operations[i];
        wire_put_i32(body, operation->choice.algorithm);
        wire_put_u8(body, piece_code(operation->choice.piece));
        wire_put_u32(body, (uint32_t)operation->count);
        for (int k = 0; k < operation->count; k++)
            wire_put_u32(body, (uint32_t)schedule->slots[operation->first + k]);
    }
}

/* Nothing is in flight, as far as the root knows. Other ranks may have submitted something
 * meanwhile: then they leave at once. */
static void decide_steady(struct negotiation *negotiation, struct wire_writer *body)
{
    struct schedule_round round;
    struct schedule schedule;
    struct negotiation_root *root = negotiation->root;
    if (!root->learns || negotiation->pending.count > root->deciding)
        return;
    if (root->is_awaited)
        schedule_waited(&root->search);
    if (negotiation->retirement.under_way || !schedule_find(&root->search, &round))
        return;
    plan_schedule(negotiation, &round, &schedule);
    put_schedule(body, &schedule);
}

bool negotiation_decide(struct negotiation *negotiation, bool data, struct wire_writer *body)
{
    struct negotiation_root *root = negotiation->root;
    size_t start = body->length;
    bool made = false;
    if (!root || root->unapplied)
        return false;
    root->deciding = 0;
    for (; root->small.first && body->length - start < MESSAGE_ENOUGH; made = true)
        decide_small(negotiation, body);
    for (; data && root->batch.first && body->length - start < MESSAGE_ENOUGH; made = true)
        decide_run(negotiation, body);
    made |= decide_retirement(negotiation, body);
    made |= decide_joined(negotiation, body);
    if (made)
        decide_steady(negotiation, body);
    return root->unapplied = made;
}

bool negotiation_has_decision(const struct negotiation *negotiation)
{
    const struct negotiation_root *root = negotiation->root;
    return root &&
           (root->small.first || root->batch.first || root->retirement_wanted || root->all_joined);
}

bool negotiation_has_data(const struct negotiation *negotiation)
{
    return negotiation->root && negotiation->root->batch.first;
}
