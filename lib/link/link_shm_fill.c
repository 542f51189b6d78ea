/* SPDX-License-Identifier: Apache-2.0 */
/* Offered memory that the receiver cannot read, or no longer can; see link_shm_impl.h.
 *
 *   receiver: asks for the next piece of an offer      sender: copies it to its fill, and says so
 *
 * Memory that was readable once may become unreadable: a process changes its user, or forbids
 * dumps; a page belongs to a device, or is secret. The first refusal ends the reading for good.
 * Existing offers keep their place in the order of bytes, and the owner of the memory copies them,
 * a piece at a time; nothing new is offered.
 *
 * `asked` and `filled` count pieces. Both sides know the bytes of a piece: from `taken`, which the
 * receiver stores before it asks, up to the end of the offer or of the fill.
 *
 * Fails with HVD_ERR_PROTOCOL when a side asks for bytes that were not offered. */
#include "lib/link/link_shm_impl.h"

#include "lib/base/log.h"
#include "lib/base/min.h"

#include <string.h>

/* ---- the sender ---- */

void link_shm_remember(struct link_shm *shm, const void *data, size_t nbytes)
{
    shm->offers[shm->noffers++ % SHM_OFFERS] = (struct shm_offer){ shm->offered, data, nbytes };
}

/* The bytes that come after the first `at` that were offered; NULL if they are not offered, or lie
 * in a mapped segment. */
static const unsigned char *find_offer(const struct link_shm *shm, uint64_t at, size_t *nbytes)
{
    for (unsigned i = 0; i < SHM_OFFERS; i++) {
        const struct shm_offer *offer = &shm->offers[i];
        if (at < offer->at || at - offer->at >= offer->nbytes)
            continue;
        *nbytes = offer->nbytes - (size_t)(at - offer->at);
        return offer->data + (at - offer->at);
    }
    return NULL;
}

bool link_shm_is_asked(const struct link_shm *shm)
{
    return shm->offered != shm->seen && atomic_load(&shm->doorbell.other->asked) != shm->filled;
}

/* In this order: a peer that has asked has stored `taken` before. */
void link_shm_fill(struct link_shm *shm)
{
    size_t nbytes;
    if (!link_shm_is_asked(shm) || shm->failure.code)
        return;
    uint32_t asked = atomic_load(&shm->doorbell.other->asked);
    const unsigned char *data = find_offer(shm, link_shm_read_taken(shm), &nbytes);
    if (!data) {
        fail(&shm->failure, HVD_ERR_PROTOCOL, "shared memory: asked for what was not offered");
        return;
    }
    memcpy(shm->out_fill, data, size_min(nbytes, SHM_FILL));
    shm->filled = asked;
    atomic_store(&shm->doorbell.own->filled, asked);
    shm_doorbell_ring(&shm->doorbell, SHM_WAITS_FOR_ENTRIES);
}

/* ---- the receiver ---- */

/* Common to all links of this process. */
static void complain_once(const struct err *why)
{
    static atomic_flag has_complained = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&has_complained))
        log_line(LOG_INFO, -1,
                 "memory of a rank of this host cannot be read: %s; it is copied from now on",
                 why->text);
}

static bool is_to_be_filled(const struct link_shm *shm)
{
    return shm->declines && shm->in.open && shm->in.kind == SHM_PRIVATE;
}

void link_shm_ask(struct link_shm *shm)
{
    if (!is_to_be_filled(shm) || shm->fill_at < shm->fill_end)
        return;
    shm->fill_at = 0;
    shm->fill_end = (size_t)size_min(shm->in.reference.nbytes, SHM_FILL);
    atomic_store(&shm->doorbell.own->asked, ++shm->asked);
    shm_doorbell_ring(&shm->doorbell, SHM_WAITS_FOR_ROOM);
}

void link_shm_decline(struct link_shm *shm, const struct err *why)
{
    complain_once(why);
    shm->declines = true;
    atomic_store(&shm->doorbell.own->can_fetch, SHM_CANNOT);
    link_shm_ask(shm);
}

bool link_shm_waits_for_fill(const struct link_shm *shm)
{
    return is_to_be_filled(shm) && atomic_load(&shm->doorbell.other->filled) != shm->asked;
}

const unsigned char *link_shm_find_fill(const struct link_shm *shm, size_t *nbytes)
{
    bool is_there = is_to_be_filled(shm) && !link_shm_waits_for_fill(shm);
    *nbytes = is_there ? shm->fill_end - shm->fill_at : 0;
    return is_there ? shm->in_fill + shm->fill_at : NULL;
}
