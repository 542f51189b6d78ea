/* SPDX-License-Identifier: Apache-2.0 */
/* Receiving through shared memory; see link_shm.h.
 *
 * Entries are taken in order: bytes from the ring, from a mapped segment, or from the memory of the
 * other process; a segment is mapped when its entry comes. A process without a descriptor or
 * address space left refuses the segment, and the peer will offer nothing from there. The receiver
 * reports after each piece how much of an offer it has fetched, and only then checks whether the
 * peer has given the offer up meanwhile. The receiver asks for bytes that it cannot read in the
 * other process (link_shm_fill.c).
 *
 * Fails with HVD_ERR_PEER_LOST when the peer has gone and all that it sent has been read, or when
 * the peer took back an offer; with HVD_ERR_PROTOCOL when an entry refers to memory that the peer
 * does not have; and as shm_ring.h, shm_imported.h and shm_fetch.h say. The caller first gets the
 * bytes that came before such an entry. */
#include "lib/link/link_shm_impl.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/min.h"
#include "lib/link/shm_fetch.h"

#include <assert.h>

enum {
    MAPPED_PIECE = 256 * 1024,  /* is shown at once: stays in a processor's cache */
    PRIVATE_PIECE = 512 * 1024, /* is fetched in one system call */
    CALL_MOST = 1024 * 1024     /* and so much in one call; then others may have their turn */
};

/* ---- opening an entry ---- */

/* The peer loads `refused` after `answered`. */
static void link_shm_receive_answer(struct shm_side *own, uint64_t slot, bool refused)
{
    uint64_t bit = UINT64_C(1) << slot;
    if (refused)
        atomic_fetch_or_explicit(&own->refused, bit, memory_order_relaxed);
    else
        atomic_fetch_and_explicit(&own->refused, ~bit, memory_order_relaxed);
    atomic_fetch_add_explicit(&own->answered, 1, memory_order_release);
}

/* Common to all links of this process. */
static void complain_once(const struct err *why)
{
    static atomic_flag has_complained = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&has_complained))
        log_line(LOG_INFO, -1,
                 "shared memory of a rank of this host cannot be mapped: %s; "
                 "what lies there is copied",
                 why->text);
}

static int map_segment(struct link_shm *shm)
{
    struct err why;
    const struct shm_reference *reference = &shm->in.reference;
    int rc = shm_imported_map(&shm->imported, reference->slot, reference->nbytes,
                              shm_doorbell_take(&shm->doorbell), &why);
    shm_reader_close(&shm->in);
    if (rc == HVD_ERR_SYSTEM)
        complain_once(&why);
    else if (rc < 0)
        return fail(&shm->failure, rc, "%s", why.text);
    link_shm_receive_answer(shm->doorbell.own, reference->slot, rc < 0);
    return HVD_OK;
}

/* The bytes of an offer lie in readable memory. */
static int check_offer(struct link_shm *shm)
{
    const struct shm_reference *reference = &shm->in.reference;
    bool is_mapped = shm->in.kind == SHM_MAPPED;
    shm->lies = is_mapped ? shm_imported_find(&shm->imported, reference->slot, reference->at,
                                              reference->nbytes)
                          : NULL;
    if (is_mapped ? shm->lies != NULL : shm->pid != 0 && reference->nbytes > 0)
        return 1;
    return fail(&shm->failure, HVD_ERR_PROTOCOL,
                "shared memory: %llu bytes at %llu of slot %llu, where there are none",
                (unsigned long long)reference->nbytes, (unsigned long long)reference->at,
                (unsigned long long)reference->slot);
}

/* Opens the next entry that has bytes, unless one is open: 1, 0 if none has come, or a status. */
static int open_entry(struct link_shm *shm)
{
    while (!shm->in.open) {
        int rc = shm_reader_open(&shm->in, &shm->failure);
        if (rc <= 0)
            return rc;
        if (shm->in.kind == SHM_BYTES)
            return 1;
        if (shm->in.kind != SHM_SEGMENT) {
            rc = check_offer(shm);
            if (rc > 0)
                link_shm_ask(shm);
            return rc;
        }
        if ((rc = map_segment(shm)) < 0)
            return rc;
    }
    return 1;
}

/* ---- using it ---- */

/* Reports how far we have read, when it is much, or everything. */
static void link_shm_receive_tell(struct link_shm *shm, bool only_much)
{
    if (shm_reader_tell(&shm->in, only_much))
        shm_doorbell_ring(&shm->doorbell, SHM_WAITS_FOR_ROOM);
}

static bool is_given_up(const struct link_shm *shm)
{
    return atomic_load(&shm->doorbell.other->ending) == SHM_GIVEN_UP;
}

/* So many bytes of the open offer have been read. Checks that they were the offered bytes. */
static int link_shm_receive_take(struct link_shm *shm, size_t nbytes)
{
    struct shm_side *own = shm->doorbell.own;
    shm->in.reference.at += nbytes;
    shm->in.reference.nbytes -= nbytes;
    shm->lies = shm->lies ? shm->lies + nbytes : NULL;
    shm->fetched += nbytes;
    shm_distance_count(&shm->distance, nbytes);
    if (shm->in.reference.nbytes == 0)
        shm_reader_close(&shm->in);
    shm_reader_tell(&shm->in, true);
    atomic_store(&own->taken, shm->fetched);
    shm->fill_at += shm->fill_at < shm->fill_end ? nbytes : 0;
    link_shm_ask(shm);
    shm_doorbell_ring(&shm->doorbell, SHM_WAITS_FOR_ROOM);
    if (is_given_up(shm))
        return fail(&shm->failure, HVD_ERR_PEER_LOST, "given up by the other side");
    return HVD_OK;
}

static void skip(struct link_shm *shm, size_t nbytes)
{
    shm_reader_skip(&shm->in, nbytes);
    shm_distance_count(&shm->distance, nbytes);
    link_shm_receive_tell(shm, true);
}

/* The next bytes that lie in one piece; NULL: only a system call gets them, or the peer was asked
 * for them. */
static const unsigned char *link_shm_receive_look(const struct link_shm *shm, size_t *nbytes)
{
    if (shm->in.kind == SHM_BYTES)
        return shm_reader_look(&shm->in, nbytes);
    if (shm->in.kind == SHM_PRIVATE)
        return link_shm_find_fill(shm, nbytes);
    *nbytes = shm->lies ? (size_t)size_min(shm->in.reference.nbytes, MAPPED_PIECE) : 0;
    return shm->lies;
}

static int use(struct link_shm *shm, size_t nbytes)
{
    if (shm->in.kind != SHM_BYTES)
        return link_shm_receive_take(shm, nbytes);
    skip(shm, nbytes);
    return HVD_OK;
}

const void *link_shm_peek(struct link *link, size_t *nbytes)
{
    struct link_shm *shm = link_shm_of(link);
    link_shm_wake(shm);
    *nbytes = 0;
    if (!shm->failure.code && open_entry(shm) > 0)
        return shm->in.kind != SHM_BYTES && is_given_up(shm) ? NULL
                                                             : link_shm_receive_look(shm, nbytes);
    link_shm_receive_tell(shm, false);
    return NULL;
}

int link_shm_consume(struct link *link, size_t nbytes, struct err *err)
{
    struct link_shm *shm = link_shm_of(link);
    assert(shm->in.open);
    return use(shm, nbytes) < 0 ? link_shm_failed(shm, err) : HVD_OK;
}

/* ---- copying ---- */

/* The costs that the next `nbytes` of the open entry count for, by which the peer chooses; NULL:
 * none, or the peer has written a class that does not exist. */
static struct shm_side_cost *find_side_cost(struct link_shm *shm, size_t nbytes)
{
    unsigned cost_class = shm->in.cost_class;
    if (nbytes < SHM_COST_LEAST || cost_class == SHM_COST_NONE || cost_class >= SHM_COST_CLASSES)
        return NULL;
    return &shm->doorbell.own->costs[cost_class];
}

static void note_cost(_Atomic uint32_t *cost, uint64_t start_ns, size_t nbytes)
{
    uint32_t before = atomic_load_explicit(cost, memory_order_relaxed);
    uint32_t after = shm_cost_sample(before, monotonic_ns() - start_ns, nbytes);
    if (shm_cost_differs(before, after))
        atomic_store_explicit(cost, after, memory_order_relaxed);
}

/* A pid becomes free for other processes only after the socket of its process has been closed. */
static ssize_t fetch_private(struct link_shm *shm, struct parts *rest)
{
    const struct shm_reference *reference = &shm->in.reference;
    size_t most = (size_t)size_min(reference->nbytes, PRIVATE_PIECE);
    uint64_t start_ns = monotonic_ns();
    struct err reason;
    ssize_t got = shm_fetch(shm->pid, reference->at, rest, most, &reason);
    if (shm_doorbell_check(&shm->doorbell))
        return shm_doorbell_lost(&shm->doorbell, &shm->failure);
    if (got < 0 && is_given_up(shm)) /* it may have given its memory back by now */
        return fail(&shm->failure, HVD_ERR_PEER_LOST, "given up by the other side");
    if (got == HVD_ERR_SYSTEM) {
        link_shm_decline(shm, &reason);
        return 0;
    }
    if (got < 0) {
        shm->failure = reason;
        return got;
    }
    struct shm_side_cost *cost = find_side_cost(shm, (size_t)got);
    if (cost)
        note_cost(&cost->fetch, start_ns, (size_t)got);
    int rc = link_shm_receive_take(shm, (size_t)got);
    return rc < 0 ? rc : got;
}

static ssize_t copy_piece(struct link_shm *shm, struct parts *rest)
{
    size_t nbytes;
    const unsigned char *piece = link_shm_receive_look(shm, &nbytes);
    if (!piece)
        return shm->declines ? 0 : fetch_private(shm, rest);
    nbytes = parts_size(rest, nbytes);
    struct shm_side_cost *cost = shm->in.kind == SHM_BYTES ? find_side_cost(shm, nbytes) : NULL;
    uint64_t start_ns = cost ? monotonic_ns() : 0;
    parts_scatter_by(rest, piece, nbytes,
                     shm_distance_is_near(&shm->distance) ? copy_cached : parts_copy);
    if (cost)
        note_cost(&cost->get, start_ns, nbytes);
    int rc = use(shm, nbytes);
    return rc < 0 ? rc : (ssize_t)nbytes;
}

/* Nothing was there. Something may have come before the peer ended, and after the check. */
static ssize_t find_nothing(struct link_shm *shm, struct err *err)
{
    link_shm_receive_tell(shm, false);
    shm_distance_measure(&shm->distance);
    if (!link_shm_is_gone(shm) || link_shm_has_bytes(shm))
        return 0;
    shm_doorbell_lost(&shm->doorbell, &shm->failure);
    return link_shm_failed(shm, err);
}

ssize_t link_shm_try_receive(struct link *link, const struct iovec *parts, int count,
                             struct err *err)
{
    struct link_shm *shm = link_shm_of(link);
    struct parts rest = parts_begin(parts, count);
    ssize_t received = 0, piece = 1;
    link_shm_wake(shm);
    while (rest.count > 0 && received < CALL_MOST && !shm->failure.code && open_entry(shm) > 0 &&
           (piece = copy_piece(shm, &rest)) > 0)
        received += piece;
    if (received > 0)
        return received;
    return shm->failure.code ? link_shm_failed(shm, err) : find_nothing(shm, err);
}
