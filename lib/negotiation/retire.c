/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of names that are not used any more get other names, once no message can refer to the old
 * names:
 *   RETIRE comes down, and each rank stops using the slots -> a subtree that has stopped reports it
 *   up, behind the reports that used them -> the root has the slots back.
 * Fails (HVD_ERR_PROTOCOL) when a slot is not in use, or no retirement is under way. */
#include "lib/negotiation/negotiation_impl.h"

static void retire_finish(struct negotiation *negotiation)
{
    struct retirement *retirement = &negotiation->retirement;
    if (retirement->waiting != 0)
        return;
    retirement->to_tell = !negotiation->root;
    if (negotiation->root) {
        retirement->under_way = false;
        slot_book_retired(&negotiation->root->slots);
    }
}

static int retire_slot(struct negotiation *negotiation, uint32_t slot, struct err *err)
{
    struct cache *cache = &negotiation->cache;
    if (slot >= (uint32_t)cache->count || !cache->slots[slot].active)
        return fail(err, HVD_ERR_PROTOCOL, "slot %u is retired, which is not in use", slot);
    struct pending *entry = cache->slots[slot].pending;
    if (entry) {
        if (!negotiation_detach(negotiation, entry) || !pending_own_name(entry, &negotiation->pool))
            return fail(err, HVD_ERR_NOMEM, "out of memory");
        entry->slot = -1;
    }
    cache_retire(cache, (int)slot);
    return HVD_OK;
}

int negotiation_retire(struct negotiation *negotiation, uint32_t number, struct wire_reader *slots,
                       struct err *err)
{
    struct retirement *retirement = &negotiation->retirement;
    if (retirement->under_way)
        return fail(err, HVD_ERR_PROTOCOL, "retirement %u begins before the last one ends", number);
    uint32_t count = wire_get_u32(slots);
    for (uint32_t i = 0; i < count && !slots->failed; i++) {
        uint32_t slot = wire_get_u32(slots);
        int rc = slots->failed ? HVD_OK : retire_slot(negotiation, slot, err);
        if (rc != HVD_OK)
            return rc;
    }
    *retirement = (struct retirement){ .number = number,
                                       .waiting = negotiation->everybody & ~1u,
                                       .under_way = true };
    retire_finish(negotiation);
    return HVD_OK;
}

int negotiation_child_retired(struct negotiation *negotiation, int index, uint32_t number,
                              struct err *err)
{
    struct retirement *retirement = &negotiation->retirement;
    unsigned bit = 1u << (index + 1);
    if (!(retirement->waiting & bit) || number != retirement->number)
        return fail(err, HVD_ERR_PROTOCOL, "retirement %u is confirmed, which was not asked for",
                    number);
    retirement->waiting &= ~bit;
    retire_finish(negotiation);
    return HVD_OK;
}
