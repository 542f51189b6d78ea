/* SPDX-License-Identifier: Apache-2.0 */
/* Wires between operations; see operation_net.h. */
#include "tests/support/operation_net.h"

#include "tests/support/elements.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* No assertion where bytes move: Check keeps a record of each that holds. */
enum { IDLE_MAX = 200 };

static size_t size_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool chance(struct operation_net *net, size_t one_in)
{
    return random_less_than(&net->random, one_in) == 0;
}

/* At least 1 and at most `limit`, which is not 0; often all that may move. */
static size_t some(struct operation_net *net, size_t limit)
{
    size_t most = size_min(limit, net->step);
    return chance(net, 3) ? most : 1 + random_less_than(&net->random, most);
}

void operation_net_init(struct operation_net *net, uint64_t seed)
{
    *net = (struct operation_net){ .random = seed, .step = 1000 };
    for (int rank = 0; rank < NET_RANKS_MAX; rank++)
        net->stores[rank] = operation_store_create();
}

void operation_net_fini(struct operation_net *net)
{
    for (int rank = 0; rank < NET_RANKS_MAX; rank++)
        operation_store_destroy(net->stores[rank]);
}

/* ---- a wire ---- */

/* Bytes that the operation has not heard of that they were sent. */
static size_t owed(const struct net_wire *wire)
{
    size_t nbytes = 0;
    for (int i = 0; i < wire->count; i++)
        nbytes += wire->parts[i].nbytes - wire->parts[i].paid;
    return nbytes;
}

/* Parts that have been read, and are heard of, are gone. */
static void forget(struct net_wire *wire)
{
    while (wire->count > 0 && wire->parts[0].read == wire->parts[0].nbytes &&
           wire->parts[0].paid == wire->parts[0].nbytes) {
        free(wire->parts[0].copy);
        memmove(wire->parts, wire->parts + 1, (size_t)--wire->count * sizeof *wire->parts);
    }
}

/* Reports some of the bytes that may count as sent, of one part or of several. */
static bool pay(struct operation_net *net, int from, int to)
{
    struct net_wire *wire = &net->wires[from][to];
    size_t sum = 0;
    for (int i = 0; i < wire->count; i++) {
        struct net_part *part = &wire->parts[i];
        size_t payable = (part->offered ? part->read : part->nbytes) - part->paid;
        size_t nbytes = payable > 0 ? some(net, payable) : 0;
        part->paid += nbytes;
        sum += nbytes;
        if (part->paid < part->nbytes)
            break;
    }
    if (sum > 0)
        net->operations[from]->type->sent(net->operations[from], to, sum);
    forget(wire);
    return sum > 0;
}

static bool put(struct operation_net *net, int from, int to)
{
    struct net_wire *wire = &net->wires[from][to];
    size_t nbytes = 0;
    if (wire->count == NET_PARTS_MAX)
        return false;
    const unsigned char *data =
        net->operations[from]->type->output(net->operations[from], to, owed(wire), &nbytes);
    if (nbytes == 0)
        return false;
    struct net_part part = { .data = data, .nbytes = some(net, nbytes), .offered = chance(net, 2) };
    part.copy = malloc(part.nbytes);
    memcpy(part.copy, data, part.nbytes);
    wire->parts[wire->count++] = part;
    return true;
}

/* Lets the operation use `nbytes`, which lie in memory of exactly that size, or copies as many as
 * there is room for. Returns how many. */
static size_t deliver(struct operation_net *net, int from, int to, const unsigned char *data,
                      size_t nbytes)
{
    struct operation *operation = net->operations[to];
    struct err err = { .code = HVD_OK };
    size_t room = 0;
    unsigned char *space = operation->type->space(operation, from, &room);
    if (room == 0)
        ck_abort_msg("rank %d lets rank %d wait", to, from);
    ssize_t used = chance(net, 2) && operation->type->take
                       ? operation->type->take(operation, from, data, nbytes, &err)
                       : 0;
    if (used < 0 || (size_t)used > nbytes)
        ck_abort_msg("rank %d used %zd of %zu bytes", to, used, nbytes);
    net->used_in_place += (size_t)used;
    if (used > 0)
        return (size_t)used;
    nbytes = size_min(nbytes, room);
    memcpy(space, data, nbytes);
    if (operation->type->received(operation, from, nbytes, &err) < 0)
        ck_abort_msg("%s", err.text);
    net->copied += nbytes;
    return nbytes;
}

static bool get(struct operation_net *net, int from, int to)
{
    struct net_wire *wire = &net->wires[from][to];
    struct net_part *part = wire->parts;
    while (part < wire->parts + wire->count && part->read == part->nbytes)
        part++;
    if (part == wire->parts + wire->count)
        return false;
    size_t nbytes = some(net, part->nbytes - part->read);
    const unsigned char *copy = part->copy + part->read;
    unsigned char *data = malloc(nbytes);
    memcpy(data, part->offered ? part->data + part->read : copy, nbytes);
    if (memcmp(data, copy, nbytes) != 0)
        ck_abort_msg("what rank %d gave rank %d has changed", from, to);
    part->read += deliver(net, from, to, data, nbytes);
    free(data);
    forget(wire);
    return true;
}

/* ---- all ---- */

void operation_net_start(struct operation_net *net, int size, operation_start_fn *start)
{
    static _Alignas(64) unsigned char staging[NET_RANKS_MAX][OPERATION_STAGING];
    net->size = size;
    for (int rank = 0; rank < size; rank++) {
        struct err err = { .code = HVD_OK };
        net->tasks[rank].rank = rank;
        net->tasks[rank].size = size;
        net->tasks[rank].staging = staging[rank];
        net->operations[rank] = start(net->stores[rank], &net->tasks[rank], &err);
        ck_assert_msg(net->operations[rank], "%s", err.text);
    }
}

bool operation_net_move(struct operation_net *net)
{
    int pairs = net->size * net->size;
    int first = (int)random_less_than(&net->random, (size_t)pairs);
    bool moved = false;
    for (int i = 0; i < pairs; i++) {
        int from = (first + i) % pairs / net->size, to = (first + i) % pairs % net->size;
        if (from == to)
            continue;
        moved |= !chance(net, 4) && put(net, from, to);
        moved |= !chance(net, 4) && get(net, from, to);
        moved |= chance(net, 4) && pay(net, from, to);
    }
    return moved;
}

static bool all_done(const struct operation_net *net)
{
    for (int rank = 0; rank < net->size; rank++)
        if (!net->operations[rank]->type->done(net->operations[rank]))
            return false;
    return true;
}

void operation_net_finish(struct operation_net *net)
{
    for (int from = 0; from < net->size; from++)
        for (int to = 0; to < net->size; to++) {
            struct net_wire *wire = &net->wires[from][to];
            for (int i = 0; i < wire->count; i++)
                free(wire->parts[i].copy);
            wire->count = 0;
        }
    for (int rank = 0; rank < net->size; rank++)
        operation_fini(net->stores[rank], net->operations[rank]);
}

void operation_net_run(struct operation_net *net, int size, operation_start_fn *start)
{
    operation_net_start(net, size, start);
    for (int idle = 0; !all_done(net); idle++) {
        if (idle == IDLE_MAX)
            ck_abort_msg("%s of %d ranks is stuck", net->operations[0]->type->algorithm, size);
        if (operation_net_move(net))
            idle = 0;
    }
    for (int from = 0; from < size; from++)
        for (int to = 0; to < size; to++)
            if (net->wires[from][to].count > 0)
                ck_abort_msg("bytes from rank %d to rank %d are left", from, to);
    operation_net_finish(net);
}
