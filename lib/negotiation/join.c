/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that have joined count as ready for names that they have not submitted, until all have
 * joined:
 *   own join -> reported up rank by rank, behind all earlier submissions -> the root knows of all
 *   -> JOINED comes down, and nobody has joined any more.
 * Submissions of a rank behind its own join are held back until then.
 * Fails (HVD_ERR_PROTOCOL) when a rank joins twice. */
#include "lib/negotiation/negotiation_impl.h"

#include <stdlib.h>
#include <string.h>

static int child_of(const struct negotiation *negotiation, int rank)
{
    int index = 0;
    while (tree_child_end(&negotiation->tree, index) <= rank)
        index++;
    return index;
}

/* Names that waited for no other rank. Meanwhile no name is added, and none is removed. */
static int complete_all(struct negotiation *negotiation, struct err *err)
{
    for (size_t i = 0; i < negotiation->pending.count; i++) {
        struct pending *entry = negotiation->pending.all[i];
        if (entry->state != PENDING_WAITING ||
            (entry->given & negotiation->needed) != negotiation->needed)
            continue;
        int rc = negotiation_advance(negotiation, entry, err);
        if (rc != HVD_OK)
            return rc;
    }
    return HVD_OK;
}

static void mark(struct negotiation *negotiation, int rank)
{
    struct joins *joins = &negotiation->joins;
    joins->has_joined[rank] = true;
    joins->count++;
    joins->news[joins->nnews] = rank;
    joins->nnews += negotiation->root ? 0 : 1;
    if (rank == negotiation->rank) {
        negotiation->needed &= ~1u;
        return;
    }
    int child = child_of(negotiation, rank);
    if (--joins->unjoined[child] == 0)
        negotiation->needed &= ~(1u << (child + 1));
}

int negotiation_join(struct negotiation *negotiation, int rank, struct err *err)
{
    if (negotiation->joins.has_joined[rank])
        return fail(err, HVD_ERR_PROTOCOL, "rank %d joins twice", rank);
    mark(negotiation, rank);
    int rc = complete_all(negotiation, err);
    if (rc != HVD_OK || !negotiation->root || negotiation->joins.count < negotiation->size)
        return rc;
    negotiation->root->last_joined = rank;
    negotiation_all_joined(negotiation);
    return HVD_OK;
}

int negotiation_submit_join(struct negotiation *negotiation, const struct offer *offer,
                            uint64_t now_ns, struct err *err)
{
    struct joins *joins = &negotiation->joins;
    strcpy(joins->name, offer->name);
    joins->own = true;
    joins->owner = offer->owner;
    joins->since_ns = now_ns;
    return negotiation_join(negotiation, negotiation->rank, err);
}

static void free_one(struct held *held)
{
    free((char *)held->offer.name);
    free((void *)held->offer.data);
    free(held);
}

int negotiation_hold(struct negotiation *negotiation, const struct offer *offer, uint64_t now_ns,
                     struct err *err)
{
    struct held *held = malloc(sizeof *held), **end = &negotiation->joins.held;
    if (!held)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    *held = (struct held){ .offer = *offer, .since_ns = now_ns };
    held->offer.name = strdup(offer->name);
    void *data = malloc(offer->nbytes + 1);
    held->offer.data = data;
    if (!held->offer.name || !data) {
        free_one(held);
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    }
    if (offer->nbytes > 0)
        memcpy(data, offer->data, offer->nbytes);
    while (*end)
        end = &(*end)->next;
    *end = held;
    return HVD_OK;
}

bool negotiation_is_held(const struct negotiation *negotiation, const char *name)
{
    const struct joins *joins = &negotiation->joins;
    if (joins->own && strcmp(joins->name, name) == 0)
        return true;
    for (const struct held *held = joins->held; held; held = held->next)
        if (strcmp(held->offer.name, name) == 0)
            return true;
    return false;
}

void negotiation_free_held(struct held *held)
{
    while (held) {
        struct held *next = held->next;
        free_one(held);
        held = next;
    }
}

static int submit_held(struct negotiation *negotiation, struct held *held, struct err *err)
{
    int rc = HVD_OK;
    for (; held && rc == HVD_OK;) {
        struct held *next = held->next;
        rc = negotiation_submit(negotiation, &held->offer, held->since_ns, err);
        free_one(held);
        held = next;
    }
    negotiation_free_held(held);
    return rc;
}

void negotiation_reset_joins(struct negotiation *negotiation)
{
    struct joins *joins = &negotiation->joins;
    const struct tree_position *tree = &negotiation->tree;
    memset(joins->has_joined, 0, (size_t)negotiation->size * sizeof *joins->has_joined);
    for (int i = 0; i < tree->nchildren; i++)
        joins->unjoined[i] = tree_child_end(tree, i) - tree->children[i];
    joins->count = joins->nnews = 0;
    joins->own = false;
    negotiation->needed = negotiation->everybody;
    if (negotiation->root)
        negotiation->root->all_joined = false;
}

int negotiation_end_joins(struct negotiation *negotiation, struct err *err)
{
    struct held *held = negotiation->joins.held;
    if (negotiation->needed != 0 || negotiation->joins.nnews > 0 || negotiation->pending.count > 0)
        return fail(err, HVD_ERR_PROTOCOL, "all are said to have joined, which is not so");
    negotiation->joins.held = NULL;
    negotiation_reset_joins(negotiation);
    return submit_held(negotiation, held, err);
}
