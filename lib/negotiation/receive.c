/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a child's message up (message.h), field by field; every field is checked.
 * Fails (HVD_ERR_PROTOCOL) when the message is malformed, names slots that do not exist or ranks
 * that are not below the child, or repeats something; and with HVD_ERR_NOMEM. */
#include "lib/negotiation/contribution.h"
#include "lib/negotiation/message.h"
#include "lib/negotiation/negotiation_impl.h"
#include "lib/reduce/reduce.h"

/* The message, and the child that sent it. */
struct source {
    struct negotiation *negotiation;
    struct wire_reader reader;
    int index;
    struct rank_range ranks; /* below the child */
    uint64_t now_ns;
};

static int cut_short(struct err *err)
{
    return fail(err, HVD_ERR_PROTOCOL, "a report is cut short");
}

/* A bit of a slot. A slot that is retired here, but not yet at the child, still has its
 * description. */
static int give_slot(struct source *source, int at, struct contribution *contribution,
                     struct err *err)
{
    struct negotiation *negotiation = source->negotiation;
    const struct cache_slot *slot = &negotiation->cache.slots[at];
    struct variants variants;
    struct pending *entry = slot->active ? slot->pending : NULL;
    if (!entry)
        entry = negotiation_entry(negotiation, slot->name, slot->name_length, slot->hash,
                                  source->now_ns);
    if (!entry)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    if (!slot->active) {
        variants_init(&variants, &slot->description, source->ranks.first, source->ranks.end);
        contribution->variants = &variants;
    }
    return negotiation_contribute(negotiation, entry, contribution, err);
}

static int receive_bit(struct source *source, size_t at, struct err *err)
{
    const struct cache *cache = &source->negotiation->cache;
    if (at >= (size_t)cache->count)
        return fail(err, HVD_ERR_PROTOCOL, "slot %zu is reported, of %d", at, cache->count);
    const struct cache_slot *slot = &cache->slots[at];
    struct contribution contribution = { .contributor = source->index + 1,
                                         .complete = slot->complete,
                                         .size = slot->payload,
                                         .nbytes = slot->payload };
    contribution.bytes = wire_get_bytes(&source->reader, slot->payload);
    if (source->reader.failed)
        return cut_short(err);
    return give_slot(source, (int)at, &contribution, err);
}

static int receive_run(struct source *source, struct wire_reader *words, struct err *err)
{
    size_t first = wire_get_u32(words), count = wire_get_u32(words);
    int rc = HVD_OK;
    for (size_t i = 0; i < count && rc == HVD_OK; i++)
        for (uint64_t word = wire_get_u64(words); word != 0 && rc == HVD_OK; word &= word - 1)
            rc = receive_bit(source, (first + i) * 64 + (size_t)__builtin_ctzll(word), err);
    return rc;
}

/* The payloads begin behind the words. */
static int receive_bits(struct source *source, struct err *err)
{
    struct wire_reader words = source->reader;
    uint32_t nruns = wire_get_u32(&source->reader);
    for (uint32_t i = 0; i < nruns && !source->reader.failed; i++) {
        wire_get_u32(&source->reader);
        wire_get_bytes(&source->reader, 8 * (size_t)wire_get_u32(&source->reader));
    }
    if (source->reader.failed)
        return cut_short(err);
    int rc = HVD_OK;
    wire_get_u32(&words);
    for (uint32_t i = 0; i < nruns && rc == HVD_OK; i++)
        rc = receive_run(source, &words, err);
    return rc;
}

/* A contribution that can be reduced, with the size in its description. */
static bool fits_reduction(const struct variants *variants, const struct description *description,
                           size_t nbytes)
{
    return description_is_reduction(description) && nbytes == description_bytes(description) &&
           (!variants || variants->count == 1) &&
           reduce_function(description->dtype, description->op);
}

static int get_contribution(struct source *source, int flags, const struct description *description,
                            struct contribution *contribution, struct err *err)
{
    struct wire_reader *reader = &source->reader;
    if (flags & ITEM_REDUCTION) {
        contribution->size = contribution->nbytes = wire_get_u32(reader);
        contribution->bytes = wire_get_bytes(reader, contribution->size);
        if (!fits_reduction(contribution->variants, description, contribution->size))
            return fail(err, HVD_ERR_PROTOCOL, "%zu bytes to be reduced are not what was described",
                        contribution->size);
    }
    if (flags & ITEM_LIST) {
        size_t nranks = (size_t)(source->ranks.end - source->ranks.first);
        contribution->bytes = contribution_get_list(reader, nranks, &contribution->nbytes);
        contribution->size = 4 * nranks + contribution->nbytes;
    }
    if (reader->failed)
        return cut_short(err);
    bool reduction = description_is_reduction(description);
    bool wrong = reduction
                     ? flags & ITEM_LIST || !(flags & ITEM_REDUCTION) != !(flags & ITEM_COMPLETE)
                     : flags & ITEM_REDUCTION;
    if (wrong)
        return fail(err, HVD_ERR_PROTOCOL, "a %s comes with flags 0x%x",
                    collective_name(description->kind), (unsigned)flags);
    return HVD_OK;
}

static int receive_slot(struct source *source, int flags, struct err *err)
{
    const struct cache *cache = &source->negotiation->cache;
    uint32_t at = wire_get_u32(&source->reader);
    struct contribution contribution = { .contributor = source->index + 1,
                                         .complete = flags & ITEM_COMPLETE };
    if (source->reader.failed)
        return cut_short(err);
    if (at >= (uint32_t)cache->count)
        return fail(err, HVD_ERR_PROTOCOL, "slot %u is reported, of %d", at, cache->count);
    int rc = get_contribution(source, flags, &cache->slots[at].description, &contribution, err);
    return rc < 0 ? rc : give_slot(source, (int)at, &contribution, err);
}

static int check_variants(const struct source *source, const struct variants *variants,
                          struct err *err)
{
    if (variants->ranks > source->ranks.end - source->ranks.first)
        return fail(err, HVD_ERR_PROTOCOL, "%d ranks report, of [%d, %d)", variants->ranks,
                    source->ranks.first, source->ranks.end);
    for (int i = 0; i < variants->count; i++) {
        const struct rank_ranges *ranks = &variants->variant[i].ranks;
        enum collective_kind kind = variants->variant[i].description.kind;
        if (kind == COLLECTIVE_JOIN)
            return fail(err, HVD_ERR_PROTOCOL, "a %s is no tensor", collective_name(kind));
        if (ranks->range[0].first < source->ranks.first ||
            ranks->range[ranks->count - 1].end > source->ranks.end)
            return fail(err, HVD_ERR_PROTOCOL, "ranks beyond [%d, %d) report", source->ranks.first,
                        source->ranks.end);
    }
    return HVD_OK;
}

static int receive_named(struct source *source, int flags, struct err *err)
{
    struct negotiation *negotiation = source->negotiation;
    struct wire_text name = message_get_name(&source->reader);
    struct variants variants;
    if (source->reader.failed)
        return cut_short(err);
    int rc = variants_decode(&variants, negotiation->size, &source->reader, err);
    if (rc == HVD_OK)
        rc = check_variants(source, &variants, err);
    if (rc != HVD_OK)
        return rc;
    struct contribution contribution = { .contributor = source->index + 1,
                                         .variants = &variants,
                                         .complete = flags & ITEM_COMPLETE };
    rc = get_contribution(source, flags, &variants.variant[0].description, &contribution, err);
    if (rc != HVD_OK)
        return rc;
    struct pending *entry = negotiation_entry(negotiation, name.data, name.length,
                                              name_hash(name.data, name.length), source->now_ns);
    if (!entry)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    return negotiation_contribute(negotiation, entry, &contribution, err);
}

static int receive_items(struct source *source, struct err *err)
{
    uint32_t count = wire_get_u32(&source->reader);
    int rc = HVD_OK;
    for (uint32_t i = 0; i < count && rc == HVD_OK; i++) {
        int flags = wire_get_u8(&source->reader);
        if (source->reader.failed)
            return cut_short(err);
        if (flags & ~ITEM_KNOWN)
            return fail(err, HVD_ERR_PROTOCOL, "an item with flags 0x%x", (unsigned)flags);
        rc = flags & ITEM_SLOT ? receive_slot(source, flags, err)
                               : receive_named(source, flags, err);
    }
    return rc;
}

static int receive_joins(struct source *source, struct err *err)
{
    uint32_t count = wire_get_u32(&source->reader);
    int rc = HVD_OK;
    for (uint32_t i = 0; i < count && rc == HVD_OK; i++) {
        uint32_t rank = wire_get_u32(&source->reader);
        if (source->reader.failed)
            return cut_short(err);
        if (rank < (uint32_t)source->ranks.first || rank >= (uint32_t)source->ranks.end)
            return fail(err, HVD_ERR_PROTOCOL, "rank %u joins, which is not in [%d, %d)", rank,
                        source->ranks.first, source->ranks.end);
        rc = negotiation_join(source->negotiation, (int)rank, err);
    }
    return rc;
}

static int receive_sections(struct source *source, struct err *err)
{
    int flags = wire_get_u8(&source->reader), rc = HVD_OK;
    if (flags == 0 || flags & ~UP_KNOWN)
        return fail(err, HVD_ERR_PROTOCOL, "a report with flags 0x%x", (unsigned)flags);
    if (flags & UP_BITS)
        rc = receive_bits(source, err);
    if (rc == HVD_OK && flags & UP_ITEMS)
        rc = receive_items(source, err);
    if (rc == HVD_OK && flags & UP_JOINS)
        rc = receive_joins(source, err);
    if (rc == HVD_OK && flags & UP_RETIRED) {
        uint32_t number = wire_get_u32(&source->reader);
        rc = negotiation_child_retired(source->negotiation, source->index, number, err);
    }
    if (rc == HVD_OK && !wire_reader_finished(&source->reader))
        return fail(err, HVD_ERR_PROTOCOL, "a report of the wrong length");
    return rc;
}

int negotiation_receive(struct negotiation *negotiation, int index, const void *body, size_t nbytes,
                        uint64_t now_ns, struct err *err)
{
    struct source source = { .negotiation = negotiation,
                             .index = index,
                             .ranks = negotiation_range(negotiation, index + 1),
                             .now_ns = now_ns };
    wire_reader_init(&source.reader, body, nbytes);
    int rc = receive_sections(&source, err);
    if (rc != HVD_OK)
        return fail_context(err, "report of rank %d", source.ranks.first), rc;
    return HVD_OK;
}
