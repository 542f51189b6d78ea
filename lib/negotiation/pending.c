/* SPDX-License-Identifier: Apache-2.0 */
/* The names in flight; see pending.h. */
#include "lib/negotiation/pending.h"

#include <stdlib.h>
#include <string.h>

void pending_push(struct pending_queue *queue, struct pending *entry)
{
    entry->next = NULL;
    if (queue->first)
        queue->last->next = entry;
    else
        queue->first = entry;
    queue->last = entry;
}

struct pending *pending_pop(struct pending_queue *queue)
{
    struct pending *entry = queue->first;
    if (entry)
        queue->first = entry->next;
    return entry;
}

void pending_put_back(struct pending_queue *queue, struct pending_queue *first)
{
    if (!first->first)
        return;
    first->last->next = queue->first;
    queue->last = queue->first ? queue->last : first->last;
    queue->first = first->first;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

uint64_t name_hash(const char *name, size_t length)
{
    uint64_t hash = length, word = 0;
    if (length < sizeof word) {
        for (size_t i = 0; i < length; i++)
            word = word << 8 | (unsigned char)name[i];
        return mix(hash, word);
    }
    for (size_t at = 0; at < length - sizeof word; at += sizeof word) {
        memcpy(&word, name + at, sizeof word);
        hash = mix(hash, word);
    }
    memcpy(&word, name + length - sizeof word, sizeof word); /* some bytes for the second time */
    return mix(hash, word);
}

static struct pending **bucket_of(const struct pending_table *table, uint64_t hash)
{
    return &table->buckets[hash & (table->nbuckets - 1)];
}

struct pending *pending_find(const struct pending_table *table, const char *name, size_t length,
                             uint64_t hash)
{
    if (table->nbuckets == 0)
        return NULL;
    struct pending *entry = *bucket_of(table, hash);
    while (entry && (entry->hash != hash || entry->name_length != length ||
                     memcmp(entry->name, name, length) != 0))
        entry = entry->chain;
    return entry;
}

/* Makes room for one more name. */
static bool pending_grow(struct pending_table *table)
{
    if (table->count < table->nbuckets)
        return true;
    size_t nbuckets = table->nbuckets ? table->nbuckets * 2 : 64;
    struct pending **all = realloc(table->all, nbuckets * sizeof *all);
    if (all)
        table->all = all;
    struct pending **buckets = all ? calloc(nbuckets, sizeof *buckets) : NULL;
    if (!buckets)
        return false;
    free(table->buckets);
    table->buckets = buckets;
    table->nbuckets = nbuckets;
    for (size_t i = 0; i < table->count; i++) {
        struct pending **bucket = bucket_of(table, table->all[i]->hash);
        table->all[i]->chain = *bucket;
        *bucket = table->all[i];
    }
    return true;
}

static size_t pending_size(const struct pending_table *table)
{
    return sizeof(struct pending) + (size_t)table->contributors * sizeof(struct part);
}

struct pending *pending_add(struct pending_table *table, struct pool *pool, const char *name,
                            size_t length, uint64_t hash)
{
    struct pending *entry = pending_grow(table) ? pool_get(pool, pending_size(table)) : NULL;
    if (!entry)
        return NULL;
    struct pending **bucket = bucket_of(table, hash);
    entry->chain = *bucket;
    entry->next = NULL;
    entry->hash = hash;
    entry->name = name;
    entry->name_length = length;
    entry->has_name = false;
    entry->position = table->count;
    entry->kind = 0;
    entry->state = PENDING_WAITING;
    entry->failure = PENDING_GOOD;
    entry->given = entry->filled = 0;
    entry->complete = true;
    entry->owner = NULL;
    entry->since_ns = 0;
    entry->slot = -1;
    entry->variants = NULL;
    *bucket = entry;
    table->all[table->count++] = entry;
    return entry;
}

bool pending_own_name(struct pending *entry, struct pool *pool)
{
    char *copy = pool_get(pool, entry->name_length + 1);
    if (!copy)
        return false;
    memcpy(copy, entry->name, entry->name_length);
    copy[entry->name_length] = '\0';
    entry->name = copy;
    entry->has_name = true;
    return true;
}

void pending_drop_parts(struct pending *entry, struct pool *pool)
{
    for (; entry->filled != 0; entry->filled &= entry->filled - 1) {
        struct part *part = &entry->parts[__builtin_ctz(entry->filled)];
        pool_put(pool, part->bytes, part->size);
    }
}

static void pending_release(const struct pending_table *table, struct pool *pool,
                            struct pending *entry)
{
    pending_drop_parts(entry, pool);
    pool_put(pool, entry->variants, sizeof *entry->variants);
    if (entry->has_name)
        pool_put(pool, (char *)entry->name, entry->name_length + 1);
    pool_put(pool, entry, pending_size(table));
}

void pending_remove(struct pending_table *table, struct pool *pool, struct pending *entry)
{
    struct pending **link = bucket_of(table, entry->hash);
    while (*link != entry)
        link = &(*link)->chain;
    *link = entry->chain;
    struct pending *last = table->all[--table->count];
    table->all[entry->position] = last;
    last->position = entry->position;
    pending_release(table, pool, entry);
}

void pending_table_fini(struct pending_table *table, struct pool *pool)
{
    for (size_t i = 0; i < table->count; i++)
        pending_release(table, pool, table->all[i]);
    free(table->all);
    free(table->buckets);
    *table = (struct pending_table){ 0 };
}
