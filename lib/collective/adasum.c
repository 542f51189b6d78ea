/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of an Adasum; see adasum.h. Its state is the step of this rank, in which it sends
 * and after which it computes; and for each peer the step that it receives next, which may be later
 * than this rank's own. */
#include "lib/collective/adasum.h"

#include "lib/collective/adasum_impl.h"

#include <assert.h>

enum { DOT_BLOCK = 8192 }; /* elements */

static struct adasum *adasum_of(struct operation *operation)
{
    return (struct adasum *)(void *)operation;
}

/* Peers in the order of levels; the peer outside the core is the last, or the only one. */
static int npeers(const struct adasum *adasum)
{
    return adasum_is_extra(adasum->rank, adasum->size) ? 1 : adasum->levels + 1;
}

static struct incoming *find_incoming(const struct adasum *adasum, int peer)
{
    for (int i = 0; i < npeers(adasum); i++)
        if (adasum->incoming[i].peer == peer)
            return &adasum->incoming[i];
    return NULL;
}

/* Advances past the steps whose data have all come, and past steps without incoming data. */
static void skip_completed_steps(const struct adasum *adasum, struct incoming *incoming)
{
    while (incoming->step.phase != ADASUM_DONE &&
           incoming->done == adasum_awaited(adasum, incoming->step).nbytes) {
        incoming->step = adasum_next_step(incoming->step, adasum->rank, adasum->size);
        incoming->step =
            adasum_step_with(incoming->step, incoming->peer, adasum->rank, adasum->size);
        incoming->done = 0;
    }
}

/* How many of the bytes of this step have come. */
static size_t received(const struct adasum *adasum)
{
    int peer = adasum_peer(adasum->step, adasum->rank, adasum->size);
    const struct incoming *incoming = find_incoming(adasum, peer);
    return adasum_same_step(incoming->step, adasum->step)
               ? incoming->done
               : adasum_awaited(adasum, adasum->step).nbytes;
}

/* The two operands of a fold or a level, and the place of their combination. */
struct operands {
    const unsigned char *a, *b;
    unsigned char *out;
    size_t count;
};

static struct operands operands(const struct adasum *adasum)
{
    int level = adasum->step.level, rank = adasum->rank;
    if (adasum->step.phase == ADASUM_FOLD)
        return (struct operands){ adasum->input, adasum->folded, adasum->output, adasum->count };
    struct area own = adasum_part(adasum, adasum->vector, rank, level + 1);
    struct area others = adasum_half(adasum, level);
    bool low = adasum_is_low(rank, level);
    return (struct operands){ low ? own.data : others.data, low ? others.data : own.data,
                              adasum_part(adasum, adasum->output, rank, level + 1).data,
                              own.nbytes / adasum->element_size };
}

/* Computes the dot products of all blocks that have come completely. */
static void take_dots(struct adasum *adasum)
{
    const struct operands of = operands(adasum);
    size_t come = received(adasum) / adasum->element_size;
    while (adasum->dotted < of.count) {
        size_t missing = of.count - adasum->dotted;
        size_t n = missing < DOT_BLOCK ? missing : DOT_BLOCK;
        if (come < adasum->dotted + n)
            return;
        size_t offset = adasum->dotted * adasum->element_size;
        struct adasum_sums sums = adasum->math->dot(of.a + offset, of.b + offset, n);
        adasum->sums = adasum_add(&adasum->sums, &sums);
        adasum->dotted += n;
    }
}

static void adasum_combine_blocks(struct adasum *adasum)
{
    const struct operands of = operands(adasum);
    adasum->math->combine(of.out, of.a, of.b, of.count, adasum_factors(&adasum->sums));
    adasum->vector = adasum->output;
    adasum->sums = (struct adasum_sums){ 0, 0, 0 };
    adasum->dotted = 0;
}

/* The lower rank's numbers are the left operands, on both sides. */
static void add_sums(struct adasum *adasum)
{
    struct adasum_step step = adasum->step;
    const struct adasum_sums *heard = adasum_heard(adasum, step);
    bool low = adasum_is_low(adasum->rank, step.round);
    adasum->sums = low ? adasum_add(&adasum->sums, heard) : adasum_add(heard, &adasum->sums);
}

static bool takes_dots(const struct adasum *adasum)
{
    return adasum->step.phase == ADASUM_HALVE ||
           (adasum->step.phase == ADASUM_FOLD && !adasum_is_extra(adasum->rank, adasum->size));
}

/* Computes the result of a step once everything has been sent and received. */
static void finish_step(struct adasum *adasum)
{
    struct adasum_step step = adasum->step;
    if (step.phase == ADASUM_SUM)
        add_sums(adasum);
    bool summed = step.phase == ADASUM_SUM && step.round == step.level;
    bool folded = step.phase == ADASUM_FOLD && takes_dots(adasum);
    if (summed || folded)
        adasum_combine_blocks(adasum);
}

static bool step_is_over(struct adasum *adasum)
{
    return adasum->sent == adasum_outgoing(adasum).nbytes &&
           received(adasum) == adasum_awaited(adasum, adasum->step).nbytes;
}

/* Does all work that received data permit. */
static void adasum_advance(struct adasum *adasum)
{
    while (adasum->step.phase != ADASUM_DONE) {
        if (takes_dots(adasum))
            take_dots(adasum);
        if (!step_is_over(adasum))
            return;
        finish_step(adasum);
        adasum->step = adasum_next_step(adasum->step, adasum->rank, adasum->size);
        adasum->sent = 0;
    }
}

static const void *adasum_output(struct operation *operation, int peer, size_t ahead,
                                 size_t *nbytes)
{
    struct adasum *adasum = adasum_of(operation);
    bool its_turn = peer == adasum_peer(adasum->step, adasum->rank, adasum->size);
    struct area area = adasum_outgoing(adasum);
    *nbytes = its_turn ? area.nbytes - adasum->sent - ahead : 0;
    return *nbytes > 0 ? area.data + adasum->sent + ahead : NULL;
}

static void adasum_sent(struct operation *operation, int peer, size_t nbytes)
{
    struct adasum *adasum = adasum_of(operation);
    assert(peer == adasum_peer(adasum->step, adasum->rank, adasum->size));
    (void)peer;
    adasum->sent += nbytes;
    adasum_advance(adasum);
}

static void *adasum_space(struct operation *operation, int peer, size_t *nbytes)
{
    const struct adasum *adasum = adasum_of(operation);
    const struct incoming *incoming = find_incoming(adasum, peer);
    *nbytes = 0;
    if (!incoming)
        return NULL;
    struct area area = adasum_awaited(adasum, incoming->step);
    *nbytes = area.nbytes - incoming->done;
    return *nbytes > 0 ? area.data + incoming->done : NULL;
}

static int adasum_received(struct operation *operation, int peer, size_t nbytes, struct err *err)
{
    struct adasum *adasum = adasum_of(operation);
    struct incoming *incoming = find_incoming(adasum, peer);
    if (!incoming || nbytes > adasum_awaited(adasum, incoming->step).nbytes - incoming->done)
        return fail(err, HVD_ERR_PROTOCOL, "%zu bytes too many of an Adasum", nbytes);
    incoming->done += nbytes;
    skip_completed_steps(adasum, incoming);
    adasum_advance(adasum);
    return HVD_OK;
}

static bool adasum_done(const struct operation *operation)
{
    const struct adasum *adasum = (const struct adasum *)(const void *)operation;
    return adasum->step.phase == ADASUM_DONE;
}

static const struct operation_type adasum_type = {
    .algorithm = "recursive halving",
    .output = adasum_output,
    .sent = adasum_sent,
    .space = adasum_space,
    .received = adasum_received,
    .done = adasum_done,
};

static void await_peers(struct adasum *adasum)
{
    struct adasum_step first = adasum->step;
    int rank = adasum->rank, size = adasum->size, core = adasum_core_size(size);
    for (int i = 0; i < npeers(adasum); i++) {
        int peer = i < adasum->levels ? rank ^ 1 << i : rank + core;
        if (adasum_is_extra(rank, size))
            peer = rank - core;
        adasum->incoming[i] =
            (struct incoming){ peer, adasum_step_with(first, peer, rank, size), 0 };
        skip_completed_steps(adasum, &adasum->incoming[i]);
    }
}

struct operation *adasum_start(struct operation_store *store, const struct operation_task *task,
                               struct err *err)
{
    struct adasum *adasum = adasum_create(store, task);
    if (!adasum) {
        fail(err, HVD_ERR_NOMEM, "no memory for an Adasum of %zu elements", task->count);
        return NULL;
    }
    adasum->operation.type = &adasum_type;
    adasum->step = adasum_first_step(task->rank, task->size);
    await_peers(adasum);
    adasum_advance(adasum);
    return &adasum->operation;
}
