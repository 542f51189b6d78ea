/* SPDX-License-Identifier: Apache-2.0 */
/* The exchange of all ranks' hosts and addresses (directory.h), once, over the world's tree:
 *
 *   the root wants data to be moved, and has no directory -> WHERE goes down -> each rank sends its
 *   record and those of the ranks below it (RECORDS) -> the root has all, and DIRECTORY goes down,
 *   in front of the decisions that rely on it.
 *
 * Until then the root decides on no data. A world that moves no data pays nothing. A world of up to
 * three ranks knows all addresses from the start. Adding a process set also spreads addresses
 * (sets.c), and may come first. With the directory the root chooses algorithms by the hosts of a
 * set's ranks, and in a crowded world all ranks choose the tree of a new set.
 *
 * Fails with HVD_ERR_PROTOCOL on frames that were not asked for or are impossible, and
 * HVD_ERR_NOMEM. */
#include "lib/engine/engine_impl.h"

#include "lib/collective/piece.h"
#include "lib/link/shm_method.h"
#include "lib/memory/shared_heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_WORLD = 3 }; /* all are neighbours of all */

void address_exchange_put_own(const struct engine *engine, struct wire_writer *writer)
{
    join_peer_encode(writer, &engine->exchange.self);
}

int address_exchange_learn(struct engine *engine, const void *records, size_t nbytes,
                           struct err *err)
{
    if (engine->exchange.directory)
        return HVD_OK;
    engine->exchange.directory = directory_create(records, nbytes, engine->size, err);
    return engine->exchange.directory ? HVD_OK : err->code;
}

int address_exchange_init(struct engine *engine, const struct engine_options *options,
                          struct err *err)
{
    struct address_exchange *exchange = &engine->exchange;
    const struct join_welcome *welcome = options->welcome;
    struct wire_writer records = { 0 };
    exchange->self.rank = engine->rank;
    snprintf(exchange->self.host, sizeof exchange->self.host, "%s", options->host);
    exchange->self.addresses = *options->addresses;
    exchange->nneighbours = welcome->nneighbours;
    memcpy(exchange->neighbours, welcome->neighbours, sizeof exchange->neighbours);
    if (engine->size > SMALL_WORLD)
        return HVD_OK;
    for (int rank = 0, i = 0; rank < engine->size; rank++)
        join_peer_encode(&records,
                         rank == engine->rank ? &exchange->self : &exchange->neighbours[i++]);
    int rc = records.failed ? fail(err, HVD_ERR_NOMEM, "out of memory")
                            : address_exchange_learn(engine, records.data, records.length, err);
    wire_writer_fini(&records);
    return rc;
}

static void forget_records(struct address_exchange *exchange)
{
    for (int i = 0; i < TREE_CHILDREN_MAX; i++)
        wire_writer_fini(&exchange->records[i]);
}

void address_exchange_fini(struct engine *engine)
{
    forget_records(&engine->exchange);
    directory_destroy(engine->exchange.directory);
}

bool address_exchange_find(const struct engine *engine, int rank, struct join_peer *peer)
{
    for (int i = 0; i < engine->exchange.nneighbours; i++)
        if (engine->exchange.neighbours[i].rank == rank) {
            *peer = engine->exchange.neighbours[i];
            return true;
        }
    if (engine->exchange.directory)
        directory_find(engine->exchange.directory, rank, peer);
    return engine->exchange.directory;
}

/* ---- asking ---- */

/* All children have sent their records. */
static int address_exchange_pass_on(struct process_set *world, struct wire_writer *all,
                                    struct err *err)
{
    struct engine *engine = world->engine;
    address_exchange_put_own(engine, all);
    for (int i = 0; i < world->tree.position.nchildren; i++)
        wire_put_bytes(all, engine->exchange.records[i].data, engine->exchange.records[i].length);
    forget_records(&engine->exchange);
    if (all->failed)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    if (world->tree.position.parent >= 0) {
        tree_link_put(&world->tree.up, TREE_RECORDS, all->data, all->length);
        return HVD_OK;
    }
    set_put_down(world, TREE_DIRECTORY, all->data, all->length);
    return address_exchange_learn(engine, all->data, all->length, err);
}

static int address_exchange_go_on(struct process_set *world, struct err *err)
{
    struct wire_writer all = { 0 };
    if (world->engine->exchange.waiting != 0)
        return HVD_OK;
    int rc = address_exchange_pass_on(world, &all, err);
    wire_writer_fini(&all);
    return rc;
}

static int address_exchange_ask_children(struct process_set *world, struct err *err)
{
    struct address_exchange *exchange = &world->engine->exchange;
    if (exchange->asked)
        return fail(err, HVD_ERR_PROTOCOL, "asks twice where ranks are");
    exchange->asked = true;
    exchange->waiting = (1u << world->tree.position.nchildren) - 1;
    set_put_down(world, TREE_WHERE, NULL, 0);
    return address_exchange_go_on(world, err);
}

int address_exchange_ask(struct process_set *set, struct err *err)
{
    const struct engine *engine = set->engine;
    bool wanted = !engine->exchange.directory && !engine->exchange.asked;
    return wanted && negotiation_has_data(set->negotiation)
               ? address_exchange_ask_children(set, err)
               : HVD_OK;
}

static int on_records(struct process_set *world, int child, const struct frame *frame,
                      struct err *err)
{
    struct address_exchange *exchange = &world->engine->exchange;
    int first = world->tree.position.children[child],
        end = tree_child_end(&world->tree.position, child);
    if (!(exchange->waiting & 1u << child))
        return fail(err, HVD_ERR_PROTOCOL, "says where it is, which was not asked");
    int rc = directory_check(frame->body, frame->length, first, end, err);
    if (rc < 0)
        return rc;
    wire_put_bytes(&exchange->records[child], frame->body, frame->length);
    exchange->waiting &= ~(1u << child);
    if (exchange->records[child].failed)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    return address_exchange_go_on(world, err);
}

int address_exchange_receive(struct process_set *set, enum tree_frame type, int child,
                             const struct frame *frame, struct err *err)
{
    if (set->id != 0)
        return fail(err, HVD_ERR_PROTOCOL, "frame of type %u in process set %d", type, set->id);
    if (type == TREE_WHERE)
        return address_exchange_ask_children(set, err);
    if (type == TREE_RECORDS)
        return on_records(set, child, frame, err);
    set_put_down(set, TREE_DIRECTORY, frame->body, frame->length);
    return address_exchange_learn(set->engine, frame->body, frame->length, err);
}

/* ---- choosing ---- */

int address_exchange_star(const struct process_set *set)
{
    const struct engine *engine = set->engine;
    if (engine->star <= 1)
        return 1;
    int *hosts = calloc((size_t)set->size, sizeof *hosts);
    for (int rank = 0; hosts && rank < set->size; rank++)
        hosts[rank] = directory_host(engine->exchange.directory, set->ranks[rank]);
    int star = hosts ? tree_star(hosts, set->size) : -1;
    free(hosts);
    return star;
}

bool address_exchange_place(struct process_set *set)
{
    const struct engine *engine = set->engine;
    if (set->placing)
        return true;
    int *places = engine->exchange.directory ? calloc((size_t)set->size, sizeof *places) : NULL;
    if (!places)
        return false;
    for (int rank = 0; rank < set->size; rank++)
        places[rank] = directory_host(engine->exchange.directory, set->ranks[rank]);
    set->placing = placing_create(places, set->size, engine->size);
    free(places);
    return set->placing;
}

static struct algorithm_case describe_case(struct process_set *set,
                                           const struct negotiation_work *work)
{
    const struct engine *engine = set->engine;
    bool cut = work->first->memory != MEMORY_HOST && work->nbytes > DEVICE_CHUNK;
    struct algorithm_case what = { .kind = description_operation(work->first),
                                   .nbytes = cut ? DEVICE_CHUNK : work->nbytes,
                                   .size = set->size,
                                   .processors = engine->progress.processors,
                                   .tcp = set_tree_uses(set, TRANSPORT_TCP),
                                   .shared = !set->links.sockets };
    if (address_exchange_place(set)) {
        what.hosts = set->placing->nhosts;
        what.slots = set->placing->slots;
        what.anywhere = directory_is_everywhere(engine->exchange.directory);
    }
    return what;
}

/* True if other ranks may read the data of the work in place. The root knows only its own memory;
 * the other ranks run the same program. Fused tensors are in a buffer (batch_prepare.c). A root
 * without a tensor of its own, which has joined or learns a schedule, does not know. */
static bool may_be_exported(const struct negotiation_work *work)
{
    struct shared_place place;
    const struct tensor *own = work->owner;
    return work->count > 1 || !own ||
           (shared_heap_find(own->input, work->nbytes, &place) &&
            shared_heap_find(own->output, work->nbytes, &place));
}

/* The rings through which the two ranks of a set copy the data, if they are near (shm_method.h). */
static size_t rings_of_pair(const struct process_set *set, const struct algorithm_case *what,
                            const struct negotiation_work *work)
{
    const struct channel *channel = set->size == 2 ? set->links.channels[1 - set->rank] : NULL;
    bool is_near = channel && channel->link && link_may_be_near(channel->link);
    if (what->kind != OPERATION_ALLREDUCE || what->hosts != 1 || what->tcp || !what->shared ||
        !is_near || may_be_exported(work))
        return 0;
    return shm_method_ring_bytes(set->engine->local_size, set->engine->own_cache);
}

struct algorithm_choice address_exchange_choose(void *arg, const struct negotiation_work *work)
{
    struct process_set *set = arg;
    const struct engine *engine = set->engine;
    struct algorithm_case what = describe_case(set, work);
    struct piece_case pieces = { .ranks = set->size,
                                 .ring = rings_of_pair(set, &what, work),
                                 .own_cache = engine->own_cache };
    return (struct algorithm_choice){ algorithm_choose(&what, &engine->thresholds,
                                                       engine->settings.algorithm),
                                      piece_choose(&pieces) };
}
