/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the names that this subtree has ready as a message up (message.h):
 *   names of the queue -> a bit each, if all is as before, else an item -> joins and the end of a
 *   retirement, when nothing is left in the queue.
 * Fails when out of memory, which the writer remembers. */
#include "lib/negotiation/contribution.h"
#include "lib/negotiation/message.h"
#include "lib/negotiation/negotiation_impl.h"

/* True if the name is reported by the bit of its slot, and the slot's payload. */
static bool is_bit(const struct negotiation *negotiation, const struct pending *entry)
{
    if (entry->variants || entry->given != negotiation->everybody)
        return false;
    const struct cache_slot *slot = &negotiation->cache.slots[entry->slot];
    return slot->complete == entry->complete &&
           (description_is_reduction(&slot->description) || contribution_total(entry) == 0);
}

/* The range of words with bits. */
struct span {
    size_t first, end;
};

static void set_bit(struct negotiation *negotiation, struct span *span, int slot)
{
    size_t word = (size_t)slot / 64;
    negotiation->bits[word] |= UINT64_C(1) << slot % 64;
    if (span->first >= span->end)
        *span = (struct span){ word, word + 1 };
    else if (word < span->first)
        span->first = word;
    else if (word >= span->end)
        span->end = word + 1;
}

/* Moves names from the queue to bits and `items`, as many as go into one message. Returns the
 * number of items. */
static uint32_t collect(struct negotiation *negotiation, struct span *span,
                        struct pending_queue *items)
{
    uint32_t nitems = 0;
    size_t nbytes = 0;
    while (negotiation->ready.first && nbytes < MESSAGE_ENOUGH) {
        struct pending *entry = pending_pop(&negotiation->ready);
        entry->state = PENDING_TOLD;
        if (is_bit(negotiation, entry)) {
            set_bit(negotiation, span, entry->slot);
            nbytes += negotiation->cache.slots[entry->slot].payload;
        } else {
            pending_push(items, entry);
            nbytes += 64 + entry->name_length + contribution_total(entry);
            nitems++;
        }
    }
    return nitems;
}

/* The next run of words with bits, at or after `from`; empty beyond the last. */
static struct span next_run(const uint64_t *bits, const struct span *span, size_t from)
{
    struct span run = { .first = from };
    while (run.first < span->end && bits[run.first] == 0)
        run.first++;
    run.end = run.first;
    while (run.end < span->end && bits[run.end] != 0)
        run.end++;
    return run;
}

static void put_words(struct wire_writer *body, const uint64_t *bits, const struct span *span)
{
    uint32_t nruns = 0;
    struct span run = next_run(bits, span, span->first);
    for (; run.first < run.end; run = next_run(bits, span, run.end))
        nruns++;
    wire_put_u32(body, nruns);
    run = next_run(bits, span, span->first);
    for (; run.first < run.end; run = next_run(bits, span, run.end)) {
        wire_put_u32(body, (uint32_t)run.first);
        wire_put_u32(body, (uint32_t)(run.end - run.first));
        for (size_t i = run.first; i < run.end; i++)
            wire_put_u64(body, bits[i]);
    }
}

static void put_payload(struct negotiation *negotiation, struct wire_writer *body, int at)
{
    const struct cache_slot *slot = &negotiation->cache.slots[at];
    if (slot->payload > 0)
        wire_put_bytes(body, contribution_reduce(slot->pending, &slot->description, 0, false),
                       slot->payload);
    pending_drop_parts(slot->pending, &negotiation->pool);
}

static void put_bits(struct negotiation *negotiation, struct wire_writer *body,
                     const struct span *span)
{
    put_words(body, negotiation->bits, span);
    for (size_t i = span->first; i < span->end; i++) {
        for (uint64_t word = negotiation->bits[i]; word != 0; word &= word - 1)
            put_payload(negotiation, body, (int)(i * 64) + __builtin_ctzll(word));
        negotiation->bits[i] = 0;
    }
}

static void put_contribution(struct negotiation *negotiation, struct wire_writer *body,
                             struct pending *entry, int flags)
{
    const struct description *description = negotiation_description(negotiation, entry);
    if (flags & ITEM_REDUCTION) {
        size_t nbytes = description_bytes(description);
        wire_put_u32(body, (uint32_t)nbytes);
        wire_put_bytes(body, contribution_reduce(entry, description, 0, false), nbytes);
    }
    if (flags & ITEM_LIST)
        contribution_put_list(
            body, entry, &negotiation->tree,
            contribution_list_most(description->kind, negotiation->size, flags & ITEM_COMPLETE));
}

/* All flags except the one for the slot. */
static int item_flags(const struct negotiation *negotiation, const struct pending *entry)
{
    const struct description *description = negotiation_description(negotiation, entry);
    size_t total = contribution_total(entry);
    bool fits = !collective_has_own_rows(description->kind) || total <= negotiation->list_max;
    int flags = entry->complete && fits ? ITEM_COMPLETE : 0;
    if (description_is_reduction(description))
        return flags | (entry->complete ? ITEM_REDUCTION : 0);
    return flags | (total > 0 ? ITEM_LIST : 0);
}

static void put_item(struct negotiation *negotiation, struct wire_writer *body,
                     struct pending *entry)
{
    int flags = item_flags(negotiation, entry);
    if (entry->given != negotiation->everybody && !negotiation_detach(negotiation, entry)) {
        body->failed = true;
        return;
    }
    if (!entry->variants) {
        wire_put_u8(body, (uint8_t)(flags | ITEM_SLOT));
        wire_put_u32(body, (uint32_t)entry->slot);
    } else {
        wire_put_u8(body, (uint8_t)flags);
        message_put_name(body, entry->name, entry->name_length);
        variants_encode(body, entry->variants);
    }
    put_contribution(negotiation, body, entry, flags);
    pending_drop_parts(entry, &negotiation->pool);
}

static void put_joins(struct wire_writer *body, struct joins *joins)
{
    wire_put_u32(body, (uint32_t)joins->nnews);
    for (int i = 0; i < joins->nnews; i++)
        wire_put_u32(body, (uint32_t)joins->news[i]);
    joins->nnews = 0;
}

static void put_sections(struct negotiation *negotiation, struct wire_writer *body,
                         const struct span *span, struct pending_queue *items, uint32_t nitems,
                         int flags)
{
    wire_put_u8(body, (uint8_t)flags);
    if (flags & UP_BITS)
        put_bits(negotiation, body, span);
    if (flags & UP_ITEMS)
        wire_put_u32(body, nitems);
    for (struct pending *entry; (entry = pending_pop(items));)
        put_item(negotiation, body, entry);
    if (flags & UP_JOINS)
        put_joins(body, &negotiation->joins);
    if (flags & UP_RETIRED) {
        wire_put_u32(body, negotiation->retirement.number);
        negotiation->retirement.to_tell = negotiation->retirement.under_way = false;
    }
}

bool negotiation_has_report(const struct negotiation *negotiation)
{
    return negotiation->ready.first || negotiation->joins.nnews > 0 ||
           negotiation->retirement.to_tell;
}

/* A message with one known name and nothing else: the usual message of a rank that waits for each
 * tensor. */
static bool is_one_bit(const struct negotiation *negotiation)
{
    const struct pending *only = negotiation->ready.first;
    return only && !only->next && negotiation->joins.nnews == 0 &&
           !negotiation->retirement.to_tell && is_bit(negotiation, only);
}

static void put_one_bit(struct negotiation *negotiation, struct wire_writer *body)
{
    struct pending *only = pending_pop(&negotiation->ready);
    only->state = PENDING_TOLD;
    wire_put_u8(body, UP_BITS);
    wire_put_u32(body, 1);
    wire_put_u32(body, (uint32_t)only->slot / 64);
    wire_put_u32(body, 1);
    wire_put_u64(body, UINT64_C(1) << only->slot % 64);
    put_payload(negotiation, body, only->slot);
}

bool negotiation_report(struct negotiation *negotiation, struct wire_writer *body)
{
    if (is_one_bit(negotiation)) {
        put_one_bit(negotiation, body);
        return true;
    }
    struct span span = { 0 };
    struct pending_queue items = { 0 };
    uint32_t nitems = collect(negotiation, &span, &items);
    int flags = (span.end > 0 ? UP_BITS : 0) | (nitems > 0 ? UP_ITEMS : 0);
    if (!negotiation->ready.first)
        flags |= (negotiation->joins.nnews > 0 ? UP_JOINS : 0) |
                 (negotiation->retirement.to_tell ? UP_RETIRED : 0);
    if (flags != 0)
        put_sections(negotiation, body, &span, &items, nitems, flags);
    return flags != 0;
}
