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
    uint64_t hash = length, word;
    for (; length >= sizeof word; length -= sizeof word, name += sizeof word) {
        memcpy(&word, name, sizeof word);
        hash = mix(hash, word);
    }
    word = 0;
    memcpy(&word, name, length);
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

/* Room for one more name. */
static bool grow(struct pending_table *table)
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

struct pending *pending_add(struct pending_table *table, struct pool *pool, const char *name,
                            size_t length, uint64_t hash)
{
    struct pending *entry = grow(table) ? pool_get(pool, sizeof *entry) : NULL;
    char *copy = entry ? pool_get(pool, length + 1) : NULL;
    if (!copy) {
        pool_put(pool, entry, sizeof *entry);
        return NULL;
    }
    memcpy(copy, name, length);
    copy[length] = '\0';
    struct pending **bucket = bucket_of(table, hash);
    *entry = (struct pending){ .chain = *bucket,
                               .hash = hash,
                               .name = copy,
                               .name_length = length,
                               .position = table->count,
                               .complete = true,
                               .slot = -1 };
    *bucket = entry;
    table->all[table->count++] = entry;
    return entry;
}

void pending_drop_parts(struct pending *entry, struct pool *pool)
{
    for (int i = 0; i < CONTRIBUTORS_MAX; i++) {
        if (entry->parts[i].bytes)
            pool_put(pool, entry->parts[i].bytes, entry->parts[i].size);
        entry->parts[i] = (struct part){ 0 };
    }
}

static void release(struct pending *entry, struct pool *pool)
{
    pending_drop_parts(entry, pool);
    pool_put(pool, entry->variants, sizeof *entry->variants);
    pool_put(pool, entry->name, entry->name_length + 1);
    pool_put(pool, entry, sizeof *entry);
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
    release(entry, pool);
}

void pending_table_fini(struct pending_table *table, struct pool *pool)
{
    for (size_t i = 0; i < table->count; i++)
        release(table->all[i], pool);
    free(table->all);
    free(table->buckets);
    *table = (struct pending_table){ 0 };
}
