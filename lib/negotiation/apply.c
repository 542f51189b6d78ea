/* SPDX-License-Identifier: Apache-2.0 */
/* Applies a message down (message.h), record by record, the same on all ranks: names leave the
 * table of names in flight, the cache changes, and records that concern this rank become decisions.
 * Fails (HVD_ERR_PROTOCOL) when the message is malformed, decides on a name that this rank has not
 * reported (or, unless this rank has joined, not submitted), or has an impossible decision
 * (decision_check.c); and with HVD_ERR_NOMEM. */
#include "lib/collective/piece.h"
#include "lib/negotiation/contribution.h"
#include "lib/negotiation/fusion_plan.h"
#include "lib/negotiation/message.h"
#include "lib/negotiation/negotiation_impl.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAST_TENSOR = 5, /* bytes in a message */
    AGREED_LEAST = 64 /* tensors that get room, once two have been fused */
};

/* A tensor of a record. */
struct tensor {
    int flags;
    uint32_t slot;
    struct wire_text name;
    uint64_t hash;
    struct pending *entry; /* NULL if no rank here has submitted the tensor */
    bool own;              /* this rank has */
};

static int cut_short(struct err *err)
{
    return fail(err, HVD_ERR_PROTOCOL, "a message of decisions is cut short");
}

int negotiation_apply(struct negotiation *negotiation, const void *body, size_t nbytes,
                      struct err *err)
{
    if (negotiation->applying)
        return fail(err, HVD_ERR_PROTOCOL, "decisions come before the last ones have been taken");
    wire_reader_init(&negotiation->down, body, nbytes);
    negotiation->applying = true;
    return HVD_OK;
}

static int get_slot(struct negotiation *negotiation, struct tensor *tensor, struct agreed *agreed,
                    struct err *err)
{
    const struct cache *cache = &negotiation->cache;
    if (tensor->slot >= (uint32_t)cache->count || !cache->slots[tensor->slot].active)
        return fail(err, HVD_ERR_PROTOCOL, "slot %u is decided on, which is not in use",
                    tensor->slot);
    const struct cache_slot *slot = &cache->slots[tensor->slot];
    tensor->name = (struct wire_text){ slot->name, slot->name_length };
    agreed->description = slot->description;
    return HVD_OK;
}

static int get_named(struct negotiation *negotiation, struct tensor *tensor, struct agreed *agreed,
                     struct err *err)
{
    tensor->name = message_get_name(&negotiation->down);
    tensor->hash = name_hash(tensor->name.data, tensor->name.length);
    if (negotiation->down.failed)
        return cut_short(err);
    return description_decode(&agreed->description, &negotiation->down, err);
}

static int get_tensor(struct negotiation *negotiation, struct tensor *tensor, struct agreed *agreed,
                      struct err *err)
{
    struct wire_reader *reader = &negotiation->down;
    int flags = wire_get_u8(reader), how = flags & (TENSOR_SLOT | TENSOR_ASSIGN);
    *tensor = (struct tensor){ .flags = flags };
    if (how != 0)
        tensor->slot = wire_get_u32(reader);
    if (reader->failed)
        return cut_short(err);
    if (flags & ~TENSOR_KNOWN || how == (TENSOR_SLOT | TENSOR_ASSIGN))
        return fail(err, HVD_ERR_PROTOCOL, "a tensor with flags 0x%x", (unsigned)flags);
    agreed->data = NULL;
    agreed->nbytes = 0;
    agreed->offsets = NULL;
    agreed->last_rank = -1;
    agreed->owner = NULL;
    agreed->absent = flags & TENSOR_ABSENT;
    int rc = how == TENSOR_SLOT ? get_slot(negotiation, tensor, agreed, err)
                                : get_named(negotiation, tensor, agreed, err);
    agreed->name = tensor->name.data;
    return rc;
}

static int get_reduction(struct negotiation *negotiation, struct agreed *agreed, struct err *err)
{
    agreed->nbytes = wire_get_u32(&negotiation->down);
    agreed->data = wire_get_bytes(&negotiation->down, agreed->nbytes);
    if (negotiation->down.failed)
        return cut_short(err);
    if (agreed->nbytes != description_bytes(&agreed->description))
        return fail(err, HVD_ERR_PROTOCOL, "'%s' has a result of %zu bytes", agreed->name,
                    agreed->nbytes);
    return HVD_OK;
}

static int get_list(struct negotiation *negotiation, struct agreed *agreed, struct err *err)
{
    size_t size = (size_t)negotiation->size, *offsets = negotiation->offsets;
    const unsigned char *list = contribution_get_list(&negotiation->down, size, &agreed->nbytes);
    if (!list)
        return cut_short(err);
    struct wire_reader lengths;
    wire_reader_init(&lengths, list, 4 * size);
    offsets[0] = 0;
    for (size_t i = 0; i < size; i++)
        offsets[i + 1] = offsets[i] + wire_get_u32(&lengths);
    agreed->data = list + 4 * size;
    agreed->offsets = offsets;
    return HVD_OK;
}

static int get_data(struct negotiation *negotiation, const struct tensor *tensor, bool done,
                    struct agreed *agreed, struct err *err)
{
    int rc = negotiation_check_data(agreed, done, tensor->flags, err);
    if (rc != HVD_OK)
        return rc;
    if (tensor->flags & TENSOR_REDUCTION)
        return get_reduction(negotiation, agreed, err);
    return tensor->flags & TENSOR_LIST ? get_list(negotiation, agreed, err) : HVD_OK;
}

static int find_entry(const struct negotiation *negotiation, struct tensor *tensor,
                      const struct agreed *agreed, struct err *err)
{
    tensor->entry = tensor->flags & TENSOR_SLOT
                        ? negotiation->cache.slots[tensor->slot].pending
                        : pending_find(&negotiation->pending, tensor->name.data,
                                       tensor->name.length, tensor->hash);
    if (tensor->entry && tensor->entry->state != PENDING_TOLD)
        return fail(err, HVD_ERR_PROTOCOL, "'%s' is decided on, which was not reported",
                    agreed->name);
    tensor->own = tensor->entry && tensor->entry->given & 1;
    return HVD_OK;
}

/* A submission that matches its slot and is decided by slot needs no comparison. */
static int check_entry(const struct negotiation *negotiation, const struct tensor *tensor,
                       const struct agreed *agreed, struct err *err)
{
    const struct pending *entry = tensor->entry;
    if (!entry || (tensor->flags & TENSOR_SLOT && !entry->variants))
        return HVD_OK;
    return negotiation_check_agreed(negotiation, entry, agreed, err);
}

/* The name is not in flight any more. */
static void leave(struct negotiation *negotiation, const struct tensor *tensor,
                  struct agreed *agreed)
{
    if (tensor->own)
        agreed->owner = tensor->entry->owner;
    if (tensor->entry)
        negotiation_forget(negotiation, tensor->entry);
}

static int assign(struct negotiation *negotiation, const struct tensor *tensor,
                  const struct description *description, struct err *err)
{
    struct cache *cache = &negotiation->cache;
    struct cache_change change = { .name = tensor->name.data,
                                   .length = tensor->name.length,
                                   .hash = tensor->hash,
                                   .description = description,
                                   .complete = tensor->flags & TENSOR_COMPLETE };
    if (tensor->slot >= CACHE_SLOTS_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "slot %u is given out", tensor->slot);
    int rc = cache_assign(cache, &negotiation->pool, (int)tensor->slot, &change, err);
    if (rc != HVD_OK || cache->count <= (int)(negotiation->nwords * 64))
        return rc;
    size_t nwords = negotiation->nwords ? 2 * negotiation->nwords : 16;
    uint64_t *bits = realloc(negotiation->bits, nwords * sizeof *bits);
    if (!bits)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    memset(bits + negotiation->nwords, 0, (nwords - negotiation->nwords) * sizeof *bits);
    negotiation->bits = bits;
    negotiation->nwords = nwords;
    return HVD_OK;
}

/* The common part of RUN and DONE. A rank that has joined need not have submitted the name. */
static int take_tensor(struct negotiation *negotiation, struct tensor *tensor, bool done,
                       struct agreed *agreed, struct err *err)
{
    int rc = get_tensor(negotiation, tensor, agreed, err);
    if (rc == HVD_OK)
        rc = get_data(negotiation, tensor, done, agreed, err);
    if (rc == HVD_OK)
        rc = find_entry(negotiation, tensor, agreed, err);
    if (rc == HVD_OK)
        rc = check_entry(negotiation, tensor, agreed, err);
    if (rc != HVD_OK)
        return rc;
    leave(negotiation, tensor, agreed);
    if (tensor->flags & TENSOR_ASSIGN)
        rc = assign(negotiation, tensor, &agreed->description, err);
    bool joins = negotiation->joins.own && description_can_join(&agreed->description) &&
                 (agreed->description.memory != MEMORY_DEVICE_REDUCES || agreed->absent);
    if (rc == HVD_OK && !tensor->own && !joins)
        rc = fail(err, HVD_ERR_PROTOCOL, "%s '%s' is decided on, which this rank has not submitted",
                  collective_name(agreed->description.kind), agreed->name);
    return rc;
}

static bool grow_agreed(struct negotiation *negotiation, size_t count)
{
    if (count <= negotiation->nagreed)
        return true;
    size_t grown = count > AGREED_LEAST / 2 ? 2 * count : AGREED_LEAST;
    struct agreed *agreed = realloc(negotiation->agreed, grown * sizeof *agreed);
    if (!agreed)
        return false;
    negotiation->agreed = agreed;
    negotiation->nagreed = grown;
    return true;
}

static int next_run(struct negotiation *negotiation, struct decision *decision, struct err *err)
{
    struct algorithm_choice choice;
    choice.algorithm = (enum algorithm)wire_get_u8(&negotiation->down);
    choice.piece = piece_of_code(wire_get_u8(&negotiation->down));
    size_t count = wire_get_u32(&negotiation->down);
    if (count == 0 || count > negotiation->down.left / LEAST_TENSOR)
        return fail(err, HVD_ERR_PROTOCOL, "%zu tensors are to be run", count);
    if (!grow_agreed(negotiation, count))
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        struct tensor tensor;
        int rc = take_tensor(negotiation, &tensor, false, &negotiation->agreed[i], err);
        if (rc != HVD_OK)
            return rc;
    }
    *decision = (struct decision){ .kind = DECISION_BATCH,
                                   .count = (int)count,
                                   .choice = choice,
                                   .tensors = negotiation->agreed };
    int rc = negotiation_check_run(choice, negotiation->agreed, count, err);
    return rc < 0 ? rc : 1;
}

static int next_done(struct negotiation *negotiation, struct decision *decision, struct err *err)
{
    struct tensor tensor;
    int rc = take_tensor(negotiation, &tensor, true, negotiation->agreed, err);
    if (rc != HVD_OK)
        return rc;
    *decision =
        (struct decision){ .kind = DECISION_DONE, .count = 1, .tensors = negotiation->agreed };
    return tensor.own;
}

static int next_failed(struct negotiation *negotiation, struct decision *decision, struct err *err)
{
    struct agreed *agreed = negotiation->agreed;
    struct tensor tensor = { .name = message_get_name(&negotiation->down) };
    int status = wire_get_i32(&negotiation->down);
    wire_get_string(&negotiation->down, negotiation->text, sizeof negotiation->text);
    if (negotiation->down.failed)
        return cut_short(err);
    if (status >= 0)
        return fail(err, HVD_ERR_PROTOCOL, "'%s' fails with status %d", tensor.name.data, status);
    *agreed = (struct agreed){ .name = tensor.name.data, .last_rank = -1 };
    tensor.hash = name_hash(tensor.name.data, tensor.name.length);
    int rc = find_entry(negotiation, &tensor, agreed, err);
    if (rc != HVD_OK)
        return rc;
    if (tensor.entry)
        agreed->description = *negotiation_description(negotiation, tensor.entry);
    leave(negotiation, &tensor, agreed);
    *decision = (struct decision){ .kind = DECISION_FAILED,
                                   .count = 1,
                                   .tensors = agreed,
                                   .status = status,
                                   .text = negotiation->text };
    return tensor.own;
}

static int next_joined(struct negotiation *negotiation, struct decision *decision, struct err *err)
{
    uint32_t last = wire_get_u32(&negotiation->down);
    if (negotiation->down.failed)
        return cut_short(err);
    if (last >= (uint32_t)negotiation->size)
        return fail(err, HVD_ERR_PROTOCOL, "rank %u has joined last", last);
    strcpy(negotiation->text, negotiation->joins.name);
    *negotiation->agreed = (struct agreed){
        .owner = negotiation->joins.owner,
        .name = negotiation->text,
        .description = { .kind = COLLECTIVE_JOIN, .prescale = 1, .postscale = 1, .nameless = true },
        .last_rank = (int)last
    };
    *decision =
        (struct decision){ .kind = DECISION_DONE, .count = 1, .tensors = negotiation->agreed };
    int rc = negotiation_end_joins(negotiation, err);
    return rc < 0 ? rc : 1;
}

static int next_retirement(struct negotiation *negotiation, struct err *err)
{
    uint32_t number = wire_get_u32(&negotiation->down);
    int rc = negotiation_retire(negotiation, number, &negotiation->down, err);
    return rc == HVD_OK && negotiation->down.failed ? cut_short(err) : rc;
}

bool negotiation_can_send(const struct description *description, int size)
{
    size_t nbytes = description_bytes(description);
    if (description->prescale != 1 || description->postscale != 1)
        return false;
    if (collective_has_own_rows(description->kind))
        return true;
    return (description_is_reduction(description) || description->kind == COLLECTIVE_BROADCAST) &&
           nbytes <= (size_t)size * SENT_GREATEST;
}

/* A slot that is in use, with what a rank can carry out without a decision. */
static bool is_schedulable(const struct negotiation *negotiation, uint32_t slot, int algorithm)
{
    const struct cache *cache = &negotiation->cache;
    if (slot >= (uint32_t)cache->count || !cache->slots[slot].active)
        return false;
    const struct description *description = &cache->slots[slot].description;
    bool is_inline = algorithm == SCHEDULED_INLINE;
    if (!description_can_be_steady(description) || description->memory != MEMORY_HOST ||
        description->group != 0)
        return false;
    if (algorithm == SCHEDULED_SENT)
        return negotiation_can_send(description, negotiation->size);
    return is_inline ? negotiation_is_inline(negotiation, description) ||
                           collective_has_own_rows(description->kind) ||
                           description->kind == COLLECTIVE_BARRIER
                     : algorithm_can(algorithm, description_operation(description));
}

/* Allreduces that can be fused, each once. */
static bool is_fusible(const struct negotiation *negotiation, const int *slots, int count,
                       int algorithm)
{
    static const struct fusion_limits none = { SIZE_MAX, SIZE_MAX };
    const struct cache_slot *remembered = negotiation->cache.slots;
    struct fusion_plan plan;
    fusion_plan_init(&plan, &remembered[slots[0]].description, none, true);
    for (int i = 1; i < count; i++) {
        if (!fusion_plan_is_open(&plan) ||
            !fusion_plan_add(&plan, &remembered[slots[i]].description))
            return false;
        for (int k = 0; k < i; k++)
            if (slots[k] == slots[i])
                return false;
    }
    return algorithm >= 0 ||
           (algorithm == SCHEDULED_INLINE && plan.nbytes <= negotiation->settings.inline_max);
}

static int next_operation(struct negotiation *negotiation, struct schedule *schedule,
                          struct err *err)
{
    int algorithm = wire_get_i32(&negotiation->down);
    int code = wire_get_u8(&negotiation->down);
    size_t piece = piece_of_code(code);
    uint32_t count = wire_get_u32(&negotiation->down);
    int *slots = schedule->slots + schedule->ntensors;
    if (!negotiation->down.failed &&
        (count == 0 || count > (uint32_t)(SCHEDULE_MAX - schedule->ntensors)))
        return fail(err, HVD_ERR_PROTOCOL, "an operation of %u tensors in a schedule", count);
    for (uint32_t i = 0; i < count && !negotiation->down.failed; i++) {
        uint32_t slot = wire_get_u32(&negotiation->down);
        if (!negotiation->down.failed && !is_schedulable(negotiation, slot, algorithm))
            return fail(err, HVD_ERR_PROTOCOL, "a schedule with slot %u and algorithm %d", slot,
                        algorithm);
        slots[i] = (int)slot;
    }
    if (negotiation->down.failed)
        return cut_short(err);
    if (algorithm >= 0 ? piece == 0 : code != 0)
        return fail(err, HVD_ERR_PROTOCOL, "a schedule with algorithm %d and pieces of code %d",
                    algorithm, code);
    if (count > 1 && !is_fusible(negotiation, slots, (int)count, algorithm))
        return fail(err, HVD_ERR_PROTOCOL, "a schedule that fuses slot %d with others", slots[0]);
    schedule->operations[schedule->count++] =
        (struct schedule_operation){ schedule->ntensors, (int)count, { algorithm, piece } };
    schedule->ntensors += (int)count;
    return HVD_OK;
}

static int next_steady(struct negotiation *negotiation, struct decision *decision, struct err *err)
{
    struct schedule *schedule = &negotiation->schedule;
    uint32_t count = wire_get_u32(&negotiation->down);
    if (count == 0 || count > SCHEDULE_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "a schedule of %u operations", count);
    schedule->count = schedule->ntensors = 0;
    for (uint32_t i = 0; i < count; i++) {
        int rc = next_operation(negotiation, schedule, err);
        if (rc < 0)
            return rc;
    }
    if (negotiation->down.left > 0)
        return fail(err, HVD_ERR_PROTOCOL, "a schedule is not the last decision");
    *decision = (struct decision){ .kind = DECISION_STEADY, .schedule = schedule };
    return 1;
}

/* 1 with a decision, 0 if the record has none for this rank. */
static int next_record(struct negotiation *negotiation, struct decision *decision, struct err *err)
{
    int type = wire_get_u8(&negotiation->down);
    switch (type) {
    case DOWN_RUN:
        return next_run(negotiation, decision, err);
    case DOWN_DONE:
        return next_done(negotiation, decision, err);
    case DOWN_FAILED:
        return next_failed(negotiation, decision, err);
    case DOWN_RETIRE:
        return next_retirement(negotiation, err);
    case DOWN_JOINED:
        return next_joined(negotiation, decision, err);
    case DOWN_STEADY:
        return next_steady(negotiation, decision, err);
    default:
        return fail(err, HVD_ERR_PROTOCOL, "a decision of type %d", type);
    }
}

int negotiation_next(struct negotiation *negotiation, struct decision *decision, struct err *err)
{
    while (negotiation->applying && negotiation->down.left > 0) {
        int rc = next_record(negotiation, decision, err);
        if (rc != 0)
            return rc;
    }
    negotiation->applying = false;
    if (negotiation->root)
        negotiation->root->unapplied = false;
    return 0;
}
