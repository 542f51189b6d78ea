/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of agreed names; see cache.h. */
#include "lib/negotiation/cache.h"

#include "lib/negotiation/contribution.h"

#include <stdlib.h>
#include <string.h>

static bool has_free_rows(const struct description *description)
{
    return (description->kind == COLLECTIVE_ALLGATHER ||
            description->kind == COLLECTIVE_ALLTOALL) &&
           description->shape.ndims > 0;
}

void cache_description(struct description *out, const struct description *description)
{
    *out = *description;
    if (has_free_rows(description))
        out->shape.dims[0] = 0;
}

bool cache_matches(const struct cache_slot *slot, const struct description *description)
{
    if (!has_free_rows(description))
        return description_equal(&slot->description, description);
    struct description remembered;
    cache_description(&remembered, description);
    return description_equal(&slot->description, &remembered);
}

static int *bucket_of(const struct cache *cache, uint64_t hash)
{
    return &cache->buckets[hash & (uint64_t)(cache->capacity - 1)];
}

int cache_find(const struct cache *cache, const char *name, size_t length, uint64_t hash)
{
    if (cache->count == 0)
        return -1;
    for (int i = *bucket_of(cache, hash); i >= 0; i = cache->slots[i].chain) {
        const struct cache_slot *slot = &cache->slots[i];
        if (slot->hash == hash && slot->name_length == length &&
            memcmp(slot->name, name, length) == 0)
            return i;
    }
    return -1;
}

static void enter(struct cache *cache, int slot)
{
    int *bucket = bucket_of(cache, cache->slots[slot].hash);
    cache->slots[slot].chain = *bucket;
    *bucket = slot;
}

/* Makes room for one more slot. */
static bool cache_grow(struct cache *cache)
{
    if (cache->count < cache->capacity)
        return true;
    size_t capacity = cache->capacity ? 2 * (size_t)cache->capacity : 64;
    struct cache_slot *slots = realloc(cache->slots, capacity * sizeof *slots);
    if (slots)
        cache->slots = slots;
    int *buckets = slots ? realloc(cache->buckets, capacity * sizeof *buckets) : NULL;
    if (!buckets)
        return false;
    cache->buckets = buckets;
    cache->capacity = (int)capacity;
    for (size_t i = 0; i < capacity; i++)
        buckets[i] = -1;
    for (int i = 0; i < cache->count; i++)
        if (slots[i].active)
            enter(cache, i);
    return true;
}

static int take_name(struct cache *cache, struct pool *pool, int at,
                     const struct cache_change *change, struct err *err)
{
    if (cache_find(cache, change->name, change->length, change->hash) >= 0)
        return fail(err, HVD_ERR_PROTOCOL, "slot %d is given to a name that has one", at);
    if (at == cache->count && !cache_grow(cache))
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    char *name = pool_get(pool, change->length + 1);
    if (!name)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    memcpy(name, change->name, change->length);
    name[change->length] = '\0';
    struct cache_slot *slot = &cache->slots[at];
    if (at == cache->count)
        cache->count++;
    else
        pool_put(pool, slot->name, slot->name_length + 1);
    *slot = (struct cache_slot){
        .name = name, .name_length = change->length, .hash = change->hash, .active = true
    };
    enter(cache, at);
    return HVD_OK;
}

int cache_assign(struct cache *cache, struct pool *pool, int at, const struct cache_change *change,
                 struct err *err)
{
    if (at < 0 || at > cache->count || at >= CACHE_SLOTS_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "slot %d is given out after %d", at, cache->count);
    bool active = at < cache->count && cache->slots[at].active;
    if (!active) {
        int rc = take_name(cache, pool, at, change, err);
        if (rc != HVD_OK)
            return rc;
    }
    struct cache_slot *slot = &cache->slots[at];
    if (active && (slot->name_length != change->length ||
                   memcmp(slot->name, change->name, change->length) != 0))
        return fail(err, HVD_ERR_PROTOCOL, "slot %d is given to two names", at);
    cache_description(&slot->description, change->description);
    slot->complete = change->complete;
    slot->payload = change->complete && description_is_reduction(change->description)
                        ? description_bytes(change->description)
                        : 0;
    return HVD_OK;
}

void cache_retire(struct cache *cache, int at)
{
    struct cache_slot *slot = &cache->slots[at];
    int *link = bucket_of(cache, slot->hash);
    while (*link != at)
        link = &cache->slots[*link].chain;
    *link = slot->chain;
    slot->active = false;
    slot->pending = NULL;
}

void cache_fini(struct cache *cache, struct pool *pool)
{
    for (int i = 0; i < cache->count; i++)
        pool_put(pool, cache->slots[i].name, cache->slots[i].name_length + 1);
    free(cache->slots);
    free(cache->buckets);
    *cache = (struct cache){ 0 };
}
