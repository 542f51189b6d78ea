/* SPDX-License-Identifier: Apache-2.0 */
/* A contributor, this rank or a child, contributes its data to a name:
 *   keep it; when all of the subtree have contributed, the name is queued for the parent, or ready
 *   at the root.
 * Fails (HVD_ERR_PROTOCOL) when the contributor has contributed already, or none was asked for. */
#include "lib/negotiation/contribution.h"
#include "lib/negotiation/negotiation_impl.h"

#include <string.h>

struct rank_range negotiation_range(const struct negotiation *negotiation, int contributor)
{
    const struct tree_position *tree = &negotiation->tree;
    if (contributor == 0)
        return (struct rank_range){ negotiation->rank, negotiation->rank + 1 };
    return (struct rank_range){ tree->children[contributor - 1],
                                tree_child_end(tree, contributor - 1) };
}

bool negotiation_has_absent(const struct negotiation *negotiation, const struct pending *entry)
{
    if (entry->variants)
        return entry->variants->ranks < negotiation->tree.end - negotiation->rank;
    return entry->given != negotiation->everybody;
}

void negotiation_forget(struct negotiation *negotiation, struct pending *entry)
{
    if (entry->slot >= 0)
        negotiation->cache.slots[entry->slot].pending = NULL;
    pending_remove(&negotiation->pending, &negotiation->pool, entry);
}

struct pending *negotiation_entry(struct negotiation *negotiation, const char *name, size_t length,
                                  uint64_t hash, uint64_t now_ns)
{
    int slot = cache_find(&negotiation->cache, name, length, hash);
    struct pending *entry = slot >= 0 ? negotiation->cache.slots[slot].pending
                                      : pending_find(&negotiation->pending, name, length, hash);
    if (entry)
        return entry;
    if (slot >= 0)
        name = negotiation->cache.slots[slot].name;
    entry = pending_add(&negotiation->pending, &negotiation->pool, name, length, hash);
    if (!entry)
        return NULL;
    entry->since_ns = now_ns;
    entry->slot = slot;
    if (slot >= 0) {
        negotiation->cache.slots[slot].pending = entry;
    } else if (!pending_own_name(entry, &negotiation->pool)) {
        negotiation_forget(negotiation, entry);
        return NULL;
    }
    return entry;
}

static void merge_range(struct variants *variants, const struct description *description,
                        struct rank_range range)
{
    struct variants one;
    variants_init(&one, description, range.first, range.end);
    variants_merge(variants, &one);
}

/* All contributors until now have submitted the slot's description. */
static void own_variants(const struct negotiation *negotiation, const struct pending *entry,
                         struct variants *variants)
{
    const struct description *description = &negotiation->cache.slots[entry->slot].description;
    bool first = true;
    for (int i = 0; i < CONTRIBUTORS_MAX; i++) {
        if (!(entry->given & 1u << i))
            continue;
        struct rank_range range = negotiation_range(negotiation, i);
        if (first)
            variants_init(variants, description, range.first, range.end);
        else
            merge_range(variants, description, range);
        first = false;
    }
}

bool negotiation_detach(struct negotiation *negotiation, struct pending *entry)
{
    if (entry->variants)
        return true;
    struct variants *variants = pool_get(&negotiation->pool, sizeof *variants);
    if (!variants)
        return false;
    own_variants(negotiation, entry, variants);
    entry->variants = variants;
    return true;
}

/* The first contributor sets the entry's description. */
static bool add_variants(struct negotiation *negotiation, struct pending *entry,
                         const struct variants *variants)
{
    if (entry->given == 0) {
        entry->variants = pool_get(&negotiation->pool, sizeof *entry->variants);
        if (entry->variants)
            *entry->variants = *variants;
        return entry->variants;
    }
    if (!negotiation_detach(negotiation, entry))
        return false;
    variants_merge(entry->variants, variants);
    return true;
}

static bool add_part(struct negotiation *negotiation, struct pending *entry,
                     const struct contribution *contribution)
{
    if (contribution->size == 0)
        return true;
    unsigned char *bytes = pool_get(&negotiation->pool, contribution->size);
    if (!bytes)
        return false;
    memcpy(bytes, contribution->bytes, contribution->size);
    entry->parts[contribution->contributor] =
        (struct part){ bytes, contribution->size, contribution->nbytes };
    entry->filled |= 1u << contribution->contributor;
    return true;
}

static void drop_part(struct negotiation *negotiation, struct pending *entry, int contributor)
{
    struct part part = pending_part(entry, contributor);
    pool_put(&negotiation->pool, part.bytes, part.size);
    entry->filled &= ~(1u << contributor);
}

static bool contribute_add(struct negotiation *negotiation, struct pending *entry,
                           const struct contribution *contribution)
{
    if (!add_part(negotiation, entry, contribution))
        return false;
    bool added = true;
    if (contribution->variants)
        added = add_variants(negotiation, entry, contribution->variants);
    else if (entry->variants)
        merge_range(entry->variants, &negotiation->cache.slots[entry->slot].description,
                    negotiation_range(negotiation, contribution->contributor));
    if (!added)
        drop_part(negotiation, entry, contribution->contributor);
    return added;
}

/* Different descriptions will fail; an incomplete reduction has its data moved later. */
static void drop_useless(struct negotiation *negotiation, struct pending *entry)
{
    bool disagree = entry->variants && entry->variants->count > 1;
    if (disagree)
        entry->complete = false;
    if (!entry->complete &&
        (disagree || description_is_reduction(negotiation_description(negotiation, entry))))
        pending_drop_parts(entry, &negotiation->pool);
}

/* Tells the observer of the root. */
static void observe(const struct negotiation *negotiation, const struct pending *entry,
                    const struct contribution *contribution)
{
    const struct negotiation_observer *observer = negotiation->observer;
    struct rank_range range = negotiation_range(negotiation, contribution->contributor);
    if (!contribution->variants) {
        observer->ready(observer->arg, entry->name, entry->kind, range.first, range.end);
        return;
    }
    for (int i = 0; i < contribution->variants->count; i++) {
        const struct rank_ranges *ranks = &contribution->variants->variant[i].ranks;
        for (int j = 0; j < ranks->count; j++)
            observer->ready(observer->arg, entry->name, entry->kind, ranks->range[j].first,
                            ranks->range[j].end);
    }
}

int negotiation_advance(struct negotiation *negotiation, struct pending *entry, struct err *err)
{
    entry->state = PENDING_READY;
    if (negotiation->root)
        return negotiation_ready(negotiation, entry, err);
    pending_push(&negotiation->ready, entry);
    return HVD_OK;
}

static int contribute_take(struct negotiation *negotiation, struct pending *entry,
                           const struct contribution *contribution,
                           const struct description *description, struct err *err)
{
    bool plain = !entry->variants && !contribution->variants && description->group == 0;
    if (entry->state != PENDING_WAITING || entry->given & 1u << contribution->contributor)
        return fail(err, HVD_ERR_PROTOCOL, "%s '%s' comes twice from the ranks from %d on",
                    collective_name(description->kind), entry->name,
                    negotiation_range(negotiation, contribution->contributor).first);
    if ((negotiation->root && !plain && !negotiation_ready_reserve(negotiation)) ||
        !contribute_add(negotiation, entry, contribution))
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    return HVD_OK;
}

int negotiation_contribute(struct negotiation *negotiation, struct pending *entry,
                           const struct contribution *contribution, struct err *err)
{
    const struct description *description =
        contribution->variants ? &contribution->variants->variant[0].description
                               : &negotiation->cache.slots[entry->slot].description;
    int rc = contribute_take(negotiation, entry, contribution, description, err);
    if (rc != HVD_OK) {
        if (entry->given == 0)
            negotiation_forget(negotiation, entry);
        return rc;
    }
    if (entry->given == 0)
        entry->kind = description->kind;
    entry->given |= 1u << contribution->contributor;
    entry->complete &= contribution->complete;
    drop_useless(negotiation, entry);
    if (negotiation->observer)
        observe(negotiation, entry, contribution);
    if ((entry->given & negotiation->needed) != negotiation->needed)
        return HVD_OK;
    return negotiation_advance(negotiation, entry, err);
}
