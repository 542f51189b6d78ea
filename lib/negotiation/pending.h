/* SPDX-License-Identifier: Apache-2.0 */
/* The names in flight, as one rank knows them: which ranks of its subtree have submitted what, and
 * their contributions. A hash table by name, whose memory is reused. Fails when out of memory. */
#ifndef LIB_NEGOTIATION_PENDING_H
#define LIB_NEGOTIATION_PENDING_H

#include "lib/base/topology.h"
#include "lib/negotiation/pool.h"
#include "lib/negotiation/variants.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* waiting -> ready -> told; gone with the decision */
enum pending_state {
    PENDING_WAITING, /* for a rank of this subtree */
    PENDING_READY,   /* queued for the report to the parent, or at the root, decided */
    PENDING_TOLD
};

/* At the root: why the name has failed. */
enum pending_failure { PENDING_GOOD, PENDING_MISMATCH, PENDING_JOINED, PENDING_GROUP };

/* Who contributes: this rank is number 0, child i number i + 1; each is a bit of an unsigned. */
enum { CONTRIBUTORS_MAX = 1 + TREE_CHILDREN_MAX };
_Static_assert((int)CONTRIBUTORS_MAX == 32, "a bit for each contributor");

/* The contribution of one contributor. For a reduction, or from this rank: `nbytes` bytes. For a
 * list from a child: a u32 for each rank below, little-endian, its number of bytes, and then the
 * bytes, `nbytes` in all. */
struct part {
    unsigned char *bytes; /* NULL for nothing */
    size_t size;          /* allocated bytes */
    size_t nbytes;
};

struct pending {
    struct pending *chain; /* in the table */
    struct pending *next;  /* in a queue */
    uint64_t hash;
    const char *name; /* terminated; its own, or borrowed from its slot of the cache */
    size_t name_length;
    bool has_name;             /* `name` is its own */
    size_t position;           /* in the table's list of all */
    enum collective_kind kind; /* of the first submission */
    enum pending_state state;
    enum pending_failure failure;
    unsigned given; /* a bit for each contributor that has submitted it */
    bool complete;  /* so far, by all of them */
    void *owner;    /* of the own offer */
    uint64_t since_ns;
    int slot;                  /* of the cache, -1 for none */
    struct variants *variants; /* NULL: all submissions agree with the slot */
    unsigned filled;           /* a bit for each part that is not empty; the rest holds anything */
    struct part parts[];       /* one for each contributor of the table */
};

static inline struct part pending_part(const struct pending *entry, int contributor)
{
    return entry->filled & 1u << contributor ? entry->parts[contributor] : (struct part){ 0 };
}

struct pending_queue {
    struct pending *first, *last;
};
void pending_push(struct pending_queue *queue, struct pending *entry);
struct pending *pending_pop(struct pending_queue *queue); /* NULL when empty */
void pending_put_back(struct pending_queue *queue, struct pending_queue *first); /* before it */

struct pending_table {
    struct pending **buckets, **all;
    size_t nbuckets; /* a power of two, or 0 */
    size_t count;    /* of all; both lists have room for nbuckets */
    int contributors;
};

uint64_t name_hash(const char *name, size_t length);

struct pending *pending_find(const struct pending_table *table, const char *name, size_t length,
                             uint64_t hash);

/* A new name, which no rank has submitted yet; NULL when out of memory. `name` is borrowed;
 * pending_own_name() copies it, and returns false when out of memory. */
struct pending *pending_add(struct pending_table *table, struct pool *pool, const char *name,
                            size_t length, uint64_t hash);
bool pending_own_name(struct pending *entry, struct pool *pool);

/* The entry must not be in a queue. */
void pending_remove(struct pending_table *table, struct pool *pool, struct pending *entry);

/* Frees the contributions, and nothing else. */
void pending_drop_parts(struct pending *entry, struct pool *pool);

void pending_table_fini(struct pending_table *table, struct pool *pool);

#endif
