/* SPDX-License-Identifier: Apache-2.0 */
/* One side of a link over shared memory: creation, sending, sleeping, closing; see link_shm.h.
 *
 * Bytes go through the ring (shm_ring.h). An offer is an entry with the place of the bytes. They
 * lie in a segment of the heap that the peer has mapped: this side passes a segment over the socket
 * and announces it by an entry, and the peer answers. Or they lie in any memory of this process, if
 * the peer has found that it can read this memory. Bytes in a segment that is not mapped, or cannot
 * be mapped, are copied, as are bytes that the peer turns out not to be able to read
 * (link_shm_fill.c).
 *
 * A side that closes first writes a word into shared memory, which also says whether it takes back
 * its offers. Only then may its caller change the offered bytes again. The peer stores how much it
 * has taken and then loads that word: a peer that does not see the word has read the bytes before
 * they changed.
 *
 * When the peer has gone, sending fails once this side has read all that the peer sent. Before
 * that, sent bytes are lost without an error, as over TCP. */
#include "lib/link/link_shm_impl.h"

#include "lib/base/clock.h"
#include "lib/link/link_shm.h"
#include "lib/link/shm_fetch.h"
#include "lib/memory/copy.h"
#include "lib/memory/shared_heap.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    CALL_MOST = 1024 * 1024 /* so much is copied in one call; then others may have their turn */
};

struct link_shm *link_shm_of(struct link *link)
{
    return (struct link_shm *)(void *)link;
}

bool link_shm_is_gone(const struct link_shm *shm)
{
    return shm->doorbell.dead || atomic_load(&shm->doorbell.other->ending) != SHM_OPEN;
}

int link_shm_failed(const struct link_shm *shm, struct err *err)
{
    if (err)
        *err = shm->failure;
    return shm->failure.code;
}

/* ---- sending ---- */

/* Returns the class of costs of the next `nbytes`, which their entry will have. */
static unsigned set_cost_class(struct link_shm *shm, size_t nbytes)
{
    unsigned cost_class = nbytes < SHM_COST_LEAST
                              ? SHM_COST_NONE
                              : shm_cost_class(shm->link.message, shm->link.exchanged);
    shm->out.cost_class = (uint8_t)cost_class;
    return cost_class;
}

static struct shm_costs *find_costs(struct link_shm *shm, unsigned cost_class)
{
    return cost_class == SHM_COST_NONE ? NULL : &shm->costs[cost_class];
}

/* Copies bytes into the next entry, and notes what that costs. */
static ssize_t put_entry(struct link_shm *shm, struct parts *rest)
{
    struct shm_costs *costs =
        find_costs(shm, set_cost_class(shm, parts_size(rest, SHM_COST_LEAST)));
    uint64_t start_ns = costs ? monotonic_ns() : 0;
    ssize_t put = shm_writer_put(&shm->out, rest, &shm->failure);
    if (costs && put >= SHM_COST_LEAST) {
        costs->put = shm_cost_sample(costs->put, monotonic_ns() - start_ns, (size_t)put);
        costs->moved += (size_t)put;
    }
    return put;
}

static ssize_t put_bytes(struct link_shm *shm, struct parts *rest)
{
    ssize_t sent = 0, put = 1;
    shm->out.streams = shm->streams && shm_distance_is_far(&shm->distance);
    shm->out.near = shm_distance_is_near(&shm->distance);
    while (rest->count > 0 && sent < CALL_MOST && put > 0) {
        put = put_entry(shm, rest);
        sent += put > 0 ? put : 0;
        if (put > 0)
            shm_doorbell_ring(&shm->doorbell, SHM_WAITS_FOR_ENTRIES);
    }
    shm->is_short = rest->count > 0;
    shm_distance_count(&shm->distance, (size_t)sent);
    return sent;
}

bool link_shm_has_bytes(const struct link_shm *shm)
{
    return shm_reader_has_entry(&shm->in) && !link_shm_waits_for_fill(shm);
}

static void attend(struct link_shm *shm)
{
    link_shm_wake(shm);
    link_shm_fill(shm);
}

/* In this order, so that bytes are counted that were taken before the peer went. */
static bool is_owed_in_vain(struct link_shm *shm)
{
    return link_shm_is_gone(shm) && atomic_load(&shm->doorbell.other->taken) != shm->offered;
}

static ssize_t shm_try_send(struct link *link, const struct iovec *parts, int count,
                            struct err *err)
{
    struct link_shm *shm = link_shm_of(link);
    struct parts rest = parts_begin(parts, count);
    attend(shm);
    shm_reader_mention(&shm->in);
    bool is_in_vain = link_shm_is_gone(shm) && !link_shm_has_bytes(shm);
    ssize_t sent = shm->failure.code || is_in_vain ? 0 : put_bytes(shm, &rest);
    bool is_lost = rest.count > 0 ? link_shm_is_gone(shm) : count == 0 && is_owed_in_vain(shm);
    if (sent == 0 && is_lost && !shm->failure.code)
        return shm_doorbell_lost(&shm->doorbell, err); /* it may still be heard */
    return shm->failure.code ? link_shm_failed(shm, err) : sent;
}

/* ---- offering ---- */

/* Tells the peer of a segment that it does not know, unless that is not possible now. */
static int export(struct link_shm *shm, const struct shared_place *place)
{
    int slot = shm_exported_choose(&shm->exported);
    struct shm_reference reference = { .slot = (uint64_t)slot, .nbytes = place->size };
    uint32_t answered = atomic_load_explicit(&shm->doorbell.other->answered, memory_order_relaxed);
    if (shm_exported_open(&shm->exported, answered) >= SHM_PASSED_MAX ||
        !shm_writer_has_room(&shm->out) || !shm_doorbell_pass(&shm->doorbell, place->fd))
        return HVD_OK;
    shm_exported_set(&shm->exported, slot, place->segment);
    int rc = shm_writer_refer(&shm->out, SHM_SEGMENT, &reference, &shm->failure);
    return rc < 0 ? rc : HVD_OK;
}

enum access { ACCESS_UNKNOWN, ACCESS_MAPPED, ACCESS_REFUSED };

/* The peer's answer about the segment in that slot. */
static enum access access_to(const struct link_shm *shm, int slot)
{
    const struct shm_side *other = shm->doorbell.other;
    uint32_t answered = atomic_load_explicit(&other->answered, memory_order_acquire);
    if (!shm_exported_is_answered(&shm->exported, slot, answered))
        return ACCESS_UNKNOWN;
    uint64_t refused = atomic_load_explicit(&other->refused, memory_order_relaxed);
    return refused >> slot & 1 ? ACCESS_REFUSED : ACCESS_MAPPED;
}

/* The way of the next bytes; `before` them came so many of the same vector. */
static enum shm_method choose_method(const struct link_shm *shm, bool mapped, size_t nbytes,
                                     size_t before)
{
    struct shm_method_case what = { .mapped = mapped,
                                    .far = shm_distance_is_far(&shm->distance),
                                    .streams = shm->streams,
                                    .ranks = shm->ranks,
                                    .nbytes = nbytes,
                                    .reduced = shm->link.reduced,
                                    .before = before };
    return shm_method_choose(&what);
}

static bool choose_by_costs(const struct link_shm *shm, struct shm_costs *costs,
                            unsigned cost_class)
{
    const struct shm_side_cost *other = &shm->doorbell.other->costs[cost_class];
    costs->get = atomic_load_explicit(&other->get, memory_order_relaxed);
    costs->fetch = atomic_load_explicit(&other->fetch, memory_order_relaxed);
    return shm_costs_choose_fetch(costs, cost_class);
}

/* A store takes the cache line from the peer. */
static void publish_choice(_Atomic uint32_t *published, uint32_t choice)
{
    if (atomic_load_explicit(published, memory_order_relaxed) != choice)
        atomic_store_explicit(published, choice, memory_order_relaxed);
}

/* Both sides of an exchange use the method that one of them has chosen. */
static bool choose_for_exchange(const struct link_shm *shm, struct shm_costs *costs,
                                unsigned cost_class)
{
    const struct shm_side_cost *other = &shm->doorbell.other->costs[cost_class];
    uint32_t published = atomic_load_explicit(&other->choice, memory_order_relaxed);
    if (!shm->decides && shm_costs_follow(costs, published))
        return shm_choice_is_fetch(published);
    bool is_fetch = choose_by_costs(shm, costs, cost_class);
    if (shm->decides)
        publish_choice(&shm->doorbell.own->costs[cost_class].choice,
                       shm_costs_publish(costs, is_fetch));
    return is_fetch;
}

/* True if the peer reads the next bytes sooner than both sides copy them. */
static bool is_fetched_sooner(struct link_shm *shm, unsigned cost_class)
{
    struct shm_costs *costs = find_costs(shm, cost_class);
    if (costs && shm_cost_is_exchange(cost_class))
        return choose_for_exchange(shm, costs, cost_class);
    return costs && choose_by_costs(shm, costs, cost_class);
}

/* The peer reads with a system call. */
static int offer_address(struct link_shm *shm, const void *data, size_t nbytes)
{
    struct shm_reference reference = { (uintptr_t)data, nbytes, 0 };
    size_t before = shm_runs_before(&shm->runs, data, nbytes);
    unsigned cost_class = set_cost_class(shm, nbytes);
    if (atomic_load_explicit(&shm->doorbell.other->can_fetch, memory_order_relaxed) != SHM_CAN ||
        (choose_method(shm, false, nbytes, before) != SHM_METHOD_FETCH &&
         !is_fetched_sooner(shm, cost_class)))
        return 0;
    int rc = shm_writer_refer(&shm->out, SHM_PRIVATE, &reference, &shm->failure);
    if (rc > 0)
        link_shm_remember(shm, data, nbytes);
    struct shm_costs *costs = find_costs(shm, cost_class);
    if (rc > 0 && costs)
        costs->moved += nbytes;
    return rc;
}

/* Like put_offer(), for bytes in a segment. */
static int offer_shared(struct link_shm *shm, const struct shared_place *place, const void *data,
                        size_t nbytes)
{
    int slot = shm_exported_find(&shm->exported, place->segment);
    enum access access = slot < 0 ? ACCESS_UNKNOWN : access_to(shm, slot);
    struct shm_reference reference = { place->offset, nbytes, (uint64_t)slot };
    if (slot < 0)
        return export(shm, place);
    if (access == ACCESS_MAPPED)
        return shm_writer_refer(&shm->out, SHM_MAPPED, &reference, &shm->failure);
    return access == ACCESS_REFUSED ? offer_address(shm, data, nbytes) : 0;
}

/* 1, 0 if the bytes should be copied, or a status. */
static int put_offer(struct link_shm *shm, const void *data, size_t nbytes)
{
    struct shared_place place;
    if (link_shm_is_gone(shm))
        return 0;
    if (choose_method(shm, true, nbytes, 0) == SHM_METHOD_EXPORT &&
        shared_heap_find(data, nbytes, &place))
        return offer_shared(shm, &place, data, nbytes);
    return offer_address(shm, data, nbytes);
}

static ssize_t shm_offer(struct link *link, const void *data, size_t nbytes, struct err *err)
{
    struct link_shm *shm = link_shm_of(link);
    attend(shm);
    int rc = shm->failure.code ? shm->failure.code : put_offer(shm, data, nbytes);
    if (rc < 0)
        return link_shm_failed(shm, err);
    if (rc == 0)
        return 0;
    shm->offered += nbytes;
    shm_distance_count(&shm->distance, nbytes);
    shm->is_short = false;
    shm_doorbell_ring(&shm->doorbell, SHM_WAITS_FOR_ENTRIES);
    return (ssize_t)nbytes;
}

static bool shm_is_far(const struct link *link)
{
    const struct link_shm *shm = (const struct link_shm *)(const void *)link;
    return shm->streams && shm_distance_is_far(&shm->distance);
}

static bool shm_may_be_near(const struct link *link)
{
    const struct link_shm *shm = (const struct link_shm *)(const void *)link;
    return !shm_distance_is_far(&shm->distance);
}

static uint64_t shm_taken(struct link *link)
{
    struct link_shm *shm = link_shm_of(link);
    link_shm_fill(shm);
    return shm->seen = link_shm_read_taken(shm);
}

/* ---- waiting ---- */

static int shm_pollable(const struct link *link)
{
    return ((const struct link_shm *)(const void *)link)->doorbell.fd;
}

/* When nothing is left to send, waits only for offered bytes to be taken. */
static bool is_there(const struct link_shm *shm, short wanted)
{
    bool waits_for_room = shm->is_short || shm->offered == shm->seen;
    if (shm->failure.code || link_shm_is_gone(shm))
        return true;
    if (wanted & POLLIN && link_shm_has_bytes(shm))
        return true;
    if (!(wanted & POLLOUT))
        return false;
    return (waits_for_room && shm_writer_has_room(&shm->out)) ||
           link_shm_read_taken(shm) != shm->seen || link_shm_is_asked(shm);
}

static bool shm_sleep(struct link *link, short wanted, short *events)
{
    struct link_shm *shm = link_shm_of(link);
    uint32_t waits = (wanted & POLLIN ? SHM_WAITS_FOR_ENTRIES : 0u) |
                     (wanted & POLLOUT ? SHM_WAITS_FOR_ROOM : 0u);
    *events = POLLIN;
    link_shm_wake(shm);
    if (shm_reader_tell(&shm->in, false))
        shm_doorbell_ring(&shm->doorbell, SHM_WAITS_FOR_ROOM);
    shm_doorbell_sleep(&shm->doorbell, waits);
    if (!is_there(shm, wanted))
        return true;
    shm_doorbell_wake(&shm->doorbell);
    return false;
}

/* try_receive() reports that the peer's process has ended, after the bytes that it sent. */
static int shm_check(struct link *link, struct err *err)
{
    (void)err;
    shm_doorbell_check(&link_shm_of(link)->doorbell);
    return HVD_OK;
}

static void shm_share(struct link *link, int ranks)
{
    struct link_shm *shm = link_shm_of(link);
    shm->ranks = ranks;
    size_t nbytes = shm_method_ring_bytes(ranks, shm_method_own_cache());
    shm_writer_limit(&shm->out, nbytes);
    shm_reader_limit(&shm->in, nbytes);
}

/* ---- the end ---- */

/* The peer sees that we have given up before it sees what the caller does with its memory: the
 * system calls that follow lie in between. */
static void shm_close(struct link *link)
{
    struct link_shm *shm = link_shm_of(link);
    bool all_taken = link_shm_read_taken(shm) == shm->offered;
    atomic_store(&shm->doorbell.own->ending, all_taken ? SHM_CLOSED : SHM_GIVEN_UP);
    shm_doorbell_fini(&shm->doorbell);
    shm_imported_fini(&shm->imported);
    segment_close(&shm->segment);
    shm_distance_pair_put(shm->distance.pair);
    free(shm);
}

/* ---- the beginning ---- */

static const struct link_type link_shm_type = {
    .transport = TRANSPORT_SHM,
    .try_send = shm_try_send,
    .try_receive = link_shm_try_receive,
    .pollable = shm_pollable,
    .offer = shm_offer,
    .is_far = shm_is_far,
    .may_be_near = shm_may_be_near,
    .taken = shm_taken,
    .peek = link_shm_peek,
    .consume = link_shm_consume,
    .sleep = shm_sleep,
    .check = shm_check,
    .share = shm_share,
    .close = shm_close,
};

size_t link_shm_size(void)
{
    return sizeof(struct shm_memory);
}

int link_shm_populate(const struct segment *segment, struct err *err)
{
    enum { RINGS = offsetof(struct shm_memory, rings), FILLS = offsetof(struct shm_memory, fills) };
    static const size_t parts[][2] = { { 0, RINGS + SHM_RING_FIRST },
                                       { RINGS + sizeof(struct shm_ring), SHM_RING_FIRST },
                                       { FILLS, sizeof(struct shm_memory) - FILLS } };
    int rc = HVD_OK;
    if (!segment_is_promised())
        return HVD_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && rc == HVD_OK; i++)
        rc = segment_populate(segment, parts[i][0], parts[i][1], err);
    return rc;
}

/* A forked child has no link, and must not keep its memory. */
static void take_segment(struct link_shm *shm, struct segment *segment)
{
    madvise(segment->memory, segment->size, MADV_DONTFORK);
    if (segment->fd >= 0)
        close(segment->fd);
    shm->segment = (struct segment){ -1, segment->memory, segment->size };
    *segment = (struct segment){ .fd = -1 };
}

struct link *link_shm_create(int fd, struct segment *segment, bool first,
                             const struct shm_peer *peer, struct err *err)
{
    if (segment->size < sizeof(struct shm_memory)) {
        fail(err, HVD_ERR_PROTOCOL, "shared memory of %zu bytes is too small", segment->size);
        return NULL;
    }
    struct link_shm *shm = calloc(1, sizeof *shm);
    struct shm_distance_pair *pair = shm ? shm_distance_pair_get(peer->pid) : NULL;
    if (!pair) {
        free(shm);
        fail(err, HVD_ERR_NOMEM, "out of memory");
        return NULL;
    }
    struct shm_memory *memory = (struct shm_memory *)(void *)segment->memory;
    struct shm_side *own = &memory->sides[first ? 0 : 1], *other = &memory->sides[first ? 1 : 0];
    take_segment(shm, segment);
    shm->link.type = &link_shm_type;
    shm->out_fill = memory->fills[first ? 0 : 1];
    shm->in_fill = memory->fills[first ? 1 : 0];
    shm_doorbell_init(&shm->doorbell, fd, own, other);
    shm_writer_init(&shm->out, &memory->rings[first ? 0 : 1], &other->read);
    if (segment_is_promised())
        shm_writer_populates(&shm->out);
    shm_distance_init(&shm->distance, pair, &memory->distance, first);
    shm->streams = copy_can_stream();
    shm->decides = first;
    shm_reader_init(&shm->in, &memory->rings[first ? 1 : 0], &own->read);
    shm->pid = shm_fetch_probe(peer) ? peer->pid : 0;
    atomic_store(&own->can_fetch, shm->pid ? SHM_CAN : SHM_CANNOT);
    return &shm->link;
}
