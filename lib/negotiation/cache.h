/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of names that were agreed on before, with their descriptions, by the number of their
 * slot. The cache is the same on all ranks: only messages from the root to all ranks change it.
 *
 *   empty -> active -> retired -> active (another name) -> ...
 *
 * A retired slot is not used for new submissions; its name and description stay known until the
 * root gives the slot to another name, since reports that are under way may still refer to them.
 * Fails when out of memory, and with HVD_ERR_PROTOCOL when a message of the root is impossible. */
#ifndef LIB_NEGOTIATION_CACHE_H
#define LIB_NEGOTIATION_CACHE_H

#include "lib/base/status.h"
#include "lib/negotiation/pending.h"
#include "lib/negotiation/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CACHE_SLOTS_MAX = 1 << 20 };

struct cache_slot {
    char *name; /* terminated; NULL: empty */
    size_t name_length;
    uint64_t hash;
    int chain; /* next active slot of the bucket, -1 for none */
    bool active;
    bool complete;           /* ranks give all there is to give */
    size_t payload;          /* bytes that come with its bit: of a reduction that is complete */
    struct pending *pending; /* of this name, while active; NULL if it is not in flight */
    struct description description; /* of allgather and alltoall, dims[0] is 0 */
};

struct cache {
    struct cache_slot *slots;
    int count, capacity;
    int *buckets; /* as many as capacity */
};

/* The part of a description that the cache remembers: all but dims[0] of allgather and alltoall. */
void cache_description(struct description *out, const struct description *description);

/* True if a submission repeats the description of the slot. */
bool cache_matches(const struct cache_slot *slot, const struct description *description);

/* The active slot of a name, or -1. */
int cache_find(const struct cache *cache, const char *name, size_t length, uint64_t hash);

/* Assigns a slot to a name, or another description to a name that has this slot already. `slot` is
 * at most `count`. */
struct cache_change {
    const char *name;
    size_t length;
    uint64_t hash;
    const struct description *description;
    bool complete;
};
int cache_assign(struct cache *cache, struct pool *pool, int slot,
                 const struct cache_change *change, struct err *err);

void cache_retire(struct cache *cache, int slot);

void cache_fini(struct cache *cache, struct pool *pool);

#endif
