/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of the negotiation, and the submissions of this rank; see negotiation.h and
 * state.h. */
#include "lib/negotiation/negotiation.h"

#include "lib/base/min.h"
#include "lib/negotiation/contribution.h"
#include "lib/negotiation/negotiation_impl.h"
#include "lib/reduce/reduce.h"

#include <stdlib.h>
#include <string.h>

enum { INLINE_GREATEST = 1024 * 1024, LIST_GREATEST = 64 * 1024, OFFER_GREATEST = 1 << 30 };

static bool create_root_state(struct negotiation *negotiation, int capacity)
{
    negotiation->root = calloc(1, sizeof *negotiation->root);
    if (negotiation->root)
        schedule_search_init(&negotiation->root->search);
    return negotiation->root && slot_book_init(&negotiation->root->slots, capacity);
}

static bool create_tables(struct negotiation *negotiation, const int *world_ranks)
{
    size_t size = (size_t)negotiation->size;
    negotiation->world_ranks = malloc(size * sizeof *world_ranks);
    negotiation->offsets = malloc((size + 1) * sizeof *negotiation->offsets);
    negotiation->joins.has_joined = malloc(size * sizeof *negotiation->joins.has_joined);
    negotiation->joins.news = malloc(size * sizeof *negotiation->joins.news);
    negotiation->agreed = malloc(sizeof *negotiation->agreed);
    negotiation->nagreed = 1;
    if (!negotiation->world_ranks || !negotiation->offsets || !negotiation->joins.has_joined ||
        !negotiation->joins.news || !negotiation->agreed)
        return false;
    memcpy(negotiation->world_ranks, world_ranks, size * sizeof *world_ranks);
    return true;
}

static void adopt_settings(struct negotiation *negotiation,
                           const struct negotiation_settings *settings)
{
    struct negotiation_settings *own = &negotiation->settings;
    *own = *settings;
    if (own->inline_max > INLINE_GREATEST)
        own->inline_max = INLINE_GREATEST;
    if (own->cache_capacity < 0)
        own->cache_capacity = 0;
    if (own->cache_capacity > CACHE_SLOTS_MAX)
        own->cache_capacity = CACHE_SLOTS_MAX;
    negotiation->list_max = own->inline_max > LIST_GREATEST ? own->inline_max : LIST_GREATEST;
}

struct negotiation *negotiation_create(int rank, int size, const int *world_ranks,
                                       const struct negotiation_settings *settings, struct err *err)
{
    struct negotiation *negotiation = calloc(1, sizeof *negotiation);
    if (!negotiation)
        goto nomem;
    negotiation->rank = rank;
    negotiation->size = size;
    adopt_settings(negotiation, settings);
    tree_position(&negotiation->tree, rank, size, settings->star);
    negotiation->everybody = ~0u >> (CONTRIBUTORS_MAX - 1 - negotiation->tree.nchildren);
    negotiation->pending.contributors = 1 + negotiation->tree.nchildren;
    if (!create_tables(negotiation, world_ranks) ||
        (rank == 0 && !create_root_state(negotiation, negotiation->settings.cache_capacity)))
        goto nomem;
    negotiation_reset_joins(negotiation);
    return negotiation;

nomem:
    negotiation_destroy(negotiation);
    fail(err, HVD_ERR_NOMEM, "out of memory");
    return NULL;
}

static void destroy_root_state(struct negotiation *negotiation)
{
    struct pending_queue rest = { 0 };
    if (!negotiation->root)
        return;
    groups_end(&negotiation->root->groups, &negotiation->pool, &rest);
    slot_book_fini(&negotiation->root->slots);
    free(negotiation->root);
}

void negotiation_destroy(struct negotiation *negotiation)
{
    if (!negotiation)
        return;
    destroy_root_state(negotiation);
    pending_table_fini(&negotiation->pending, &negotiation->pool);
    cache_fini(&negotiation->cache, &negotiation->pool);
    pool_fini(&negotiation->pool);
    negotiation_free_held(negotiation->joins.held);
    free(negotiation->joins.has_joined);
    free(negotiation->joins.news);
    free(negotiation->world_ranks);
    free(negotiation->bits);
    free(negotiation->agreed);
    free(negotiation->offsets);
    free(negotiation);
}

bool negotiation_is_inline(const struct negotiation *negotiation,
                           const struct description *description)
{
    size_t most = description->memory == MEMORY_HOST ? negotiation->settings.inline_max : 0;
    return (description_is_reduction(description) || description->kind == COLLECTIVE_BROADCAST) &&
           description_bytes(description) <= most;
}

int negotiation_refuse_name(enum collective_kind kind, const char *name, struct err *err)
{
    char quoted[QUOTED_SIZE];
    const char *shown = name_shown(name);
    quote_token(quoted, sizeof quoted, shown, strlen(shown));
    return fail(err, HVD_ERR_INVALID, "%s '%s': a tensor of this name is in flight already",
                collective_name(kind), quoted);
}

/* How many bytes of an offer are kept. The data of an incomplete reduction is useless, and so is
 * the data of an allgather or alltoall that is too large for the messages. */
static int bound(const struct negotiation *negotiation, const struct offer *offer,
                 struct contribution *contribution, struct err *err)
{
    const struct description *description = &offer->description;
    bool reduction = description_is_reduction(description);
    contribution->complete = offer->complete;
    contribution->nbytes = reduction && !offer->complete ? 0 : offer->nbytes;
    if (collective_has_own_rows(description->kind) && offer->nbytes > negotiation->list_max) {
        contribution->nbytes =
            size_min(offer->nbytes, contribution_rows_bytes(description->kind, negotiation->size));
        contribution->complete = false;
    }
    contribution->size = contribution->nbytes;
    if (contribution->nbytes > OFFER_GREATEST)
        return fail(err, HVD_ERR_INVALID, "%s: %zu bytes are too many to agree on",
                    collective_name(description->kind), contribution->nbytes);
    if (reduction && offer->complete &&
        (offer->nbytes != description_bytes(description) ||
         !reduce_function(description->dtype, description->op)))
        return fail(err, HVD_ERR_INVALID, "%s: %zu bytes cannot be reduced",
                    collective_name(description->kind), offer->nbytes);
    return HVD_OK;
}

static int submit_tensor(struct negotiation *negotiation, const struct offer *offer,
                         uint64_t now_ns, struct err *err)
{
    struct variants variants;
    struct contribution contribution = { .bytes = offer->data };
    size_t length = strlen(offer->name);
    int rc = bound(negotiation, offer, &contribution, err);
    if (rc != HVD_OK)
        return rc;
    struct pending *entry =
        negotiation_entry(negotiation, offer->name, length, name_hash(offer->name, length), now_ns);
    if (!entry)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    if (entry->given & 1)
        return negotiation_refuse_name(offer->description.kind, offer->name, err);
    if (entry->slot < 0 ||
        !cache_matches(&negotiation->cache.slots[entry->slot], &offer->description)) {
        variants_init(&variants, &offer->description, negotiation->rank, negotiation->rank + 1);
        contribution.variants = &variants;
    }
    entry->owner = offer->owner;
    return negotiation_contribute(negotiation, entry, &contribution, err);
}

int negotiation_submit(struct negotiation *negotiation, const struct offer *offer, uint64_t now_ns,
                       struct err *err)
{
    const struct joins *joins = &negotiation->joins;
    if (joins->own && negotiation_in_flight(negotiation, offer->name))
        return negotiation_refuse_name(offer->description.kind, offer->name, err);
    if (joins->own)
        return negotiation_hold(negotiation, offer, now_ns, err);
    if (offer->description.kind == COLLECTIVE_JOIN)
        return negotiation_submit_join(negotiation, offer, now_ns, err);
    return submit_tensor(negotiation, offer, now_ns, err);
}

bool negotiation_in_flight(const struct negotiation *negotiation, const char *name)
{
    size_t length = strlen(name);
    const struct pending *entry =
        pending_find(&negotiation->pending, name, length, name_hash(name, length));
    return (entry && entry->given & 1) || negotiation_is_held(negotiation, name);
}

void negotiation_limit_fusion(struct negotiation *negotiation, struct fusion_limits limits)
{
    negotiation->settings.fusion = limits;
}

void negotiation_choose_with(struct negotiation *negotiation, negotiation_choose_fn *choose,
                             void *arg)
{
    if (!negotiation->root)
        return;
    negotiation->root->choose = choose;
    negotiation->root->choose_arg = arg;
}

void negotiation_observe(struct negotiation *negotiation,
                         const struct negotiation_observer *observer)
{
    negotiation->observer = observer;
}

struct remembered negotiation_remembered(const struct negotiation *negotiation, int slot)
{
    const struct cache_slot *at = &negotiation->cache.slots[slot];
    return (struct remembered){ at->name, &at->description };
}

int negotiation_slot(const struct negotiation *negotiation, const char *name)
{
    size_t length = strlen(name);
    return cache_find(&negotiation->cache, name, length, name_hash(name, length));
}

bool negotiation_repeats(const struct negotiation *negotiation, int slot, const char *name,
                         const struct description *description)
{
    const struct cache_slot *at = &negotiation->cache.slots[slot];
    return strcmp(at->name, name) == 0 && cache_matches(at, description);
}

void negotiation_learn(struct negotiation *negotiation, bool learns)
{
    if (negotiation->root)
        negotiation->root->learns = learns;
}

void negotiation_send_up_to(struct negotiation *negotiation, const struct schedule_sent *sent)
{
    if (negotiation->root)
        negotiation->root->sent = *sent;
}

void negotiation_awaited(struct negotiation *negotiation, bool is_awaited)
{
    if (negotiation->root)
        negotiation->root->is_awaited = is_awaited;
}

void negotiation_steady_ended(struct negotiation *negotiation, uint64_t done)
{
    if (negotiation->root)
        schedule_ended(&negotiation->root->search, done);
}
