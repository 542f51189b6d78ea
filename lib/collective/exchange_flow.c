/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of exchanges; see exchange_flow.h. */
#include "lib/collective/exchange_flow.h"

#include "lib/base/min.h"
#include "lib/collective/exchange_schedule.h"

#include <string.h>

enum {
    LEAST_OUTPUT = 32 * 1024, /* less is not shown before the stretch is complete */
    LEAST_STAGED = 16 * 1024  /* less is not worth keeping apart from early data */
};

void exchange_flow_begin(struct exchange_flow *flow)
{
    flow->left = 0;
    for (int i = 0; i < flow->count; i++) {
        const struct exchange *exchange = &flow->exchanges[i];
        flow->left += exchange->operands_size + exchange->results_size + exchange->awaited +
                      exchange->place_size;
    }
}

int exchange_flow_find(const struct exchange_flow *flow, int peer, int likely)
{
    if (likely >= 0 && likely < flow->count && flow->exchanges[likely].peer == peer)
        return likely;
    for (int i = 0; i < flow->count; i++)
        if (flow->exchanges[i].peer == peer)
            return i;
    return -1;
}

bool exchange_flow_done(const struct exchange_flow *flow)
{
    return flow->left == 0;
}

/* ---- sending ---- */

/* How many bytes of an outgoing stretch are ready. */
static size_t ready(const struct exchange_flow *flow, int index, const struct stretch *stretch)
{
    const struct exchange_rules *rules = flow->rules;
    size_t there = stretch->of_results ? rules->results_ready(flow, index)
                                       : rules->operands_ready(flow, index);
    return there > stretch->start ? size_min(there - stretch->start, stretch->nbytes) : 0;
}

const void *exchange_flow_output(struct exchange_flow *flow, int index, size_t ahead,
                                 size_t *nbytes)
{
    struct exchange *exchange = &flow->exchanges[index];
    size_t at = exchange->sent + ahead;
    struct stretch stretch =
        exchange_stretch(exchange->operands_size, exchange->results_size, flow->piece, at);
    size_t there = stretch.nbytes > 0 ? ready(flow, index, &stretch) : 0, end = at + there;
    bool enough = there == stretch.nbytes || end >= exchange->shown + LEAST_OUTPUT;
    if (enough && end > exchange->shown)
        exchange->shown = end;
    *nbytes = exchange->shown > at ? size_min(exchange->shown - at, there) : 0;
    if (*nbytes == 0)
        return NULL;
    return (stretch.of_results ? exchange->results : exchange->operands) + stretch.start;
}

/* ---- receiving ---- */

/* The next data from a peer. */
static struct stretch next_stretch(const struct exchange_flow *flow,
                                   const struct exchange *exchange)
{
    return exchange_stretch(exchange->awaited, exchange->place_size, flow->piece,
                            exchange->have + exchange->placed);
}

/* Whole elements. */
static size_t exchange_flow_turn(const struct exchange_flow *flow, int index)
{
    size_t nbytes = size_min(flow->rules->turn(flow, index), flow->exchanges[index].awaited);
    return nbytes - nbytes % flow->element_size;
}

/* The operands that have come and were not combined. */
static unsigned char *pending(struct exchange *exchange)
{
    return exchange->slot ? exchange->slot + exchange->used : exchange->carry;
}

static void exchange_flow_combine(struct exchange_flow *flow, int index, const unsigned char *data,
                                  size_t nbytes)
{
    struct exchange *exchange = &flow->exchanges[index];
    flow->rules->combine(flow, index, exchange->used, data, nbytes);
    exchange->used += nbytes;
    flow->left -= nbytes;
}

/* Combines a block of the operands in the slot, if it is their turn. */
static bool combine_pending(struct exchange_flow *flow, int index)
{
    struct exchange *exchange = &flow->exchanges[index];
    size_t whole = exchange->have - exchange->have % flow->element_size;
    size_t end = size_min(exchange_flow_turn(flow, index), whole);
    if (end <= exchange->used)
        return false;
    exchange_flow_combine(flow, index, pending(exchange),
                          size_min(end - exchange->used, flow->block));
    return true;
}

/* Operands of exchange `index` have been combined: so operands that waited for them may be, too. */
static void exchange_flow_pass_on(struct exchange_flow *flow, int index)
{
    while (++index < flow->count && combine_pending(flow, index))
        ;
}

void exchange_flow_advance(struct exchange_flow *flow, int index)
{
    while (combine_pending(flow, index))
        exchange_flow_pass_on(flow, index);
}

/* `data` are whole elements whose turn has come. */
static void combine_all(struct exchange_flow *flow, int index, const unsigned char *data,
                        size_t nbytes)
{
    for (size_t done = 0; done < nbytes;) {
        size_t block = size_min(nbytes - done, flow->block);
        exchange_flow_combine(flow, index, data + done, block);
        exchange_flow_pass_on(flow, index);
        done += block;
    }
}

void exchange_flow_sent(struct exchange_flow *flow, int index, size_t nbytes)
{
    flow->exchanges[index].sent += nbytes;
    flow->left -= nbytes;
    if (flow->waits_for_sent)
        exchange_flow_advance(flow, flow->count - 1);
}

/* How many bytes can come into the staging, behind the part of an element that waits; 0 if the next
 * data are early. */
static size_t staging_room(const struct exchange_flow *flow, int index, size_t left)
{
    const struct exchange *exchange = &flow->exchanges[index];
    size_t until = exchange->stays ? 0 : exchange_flow_turn(flow, index);
    size_t room = until > exchange->have ? size_min(until - exchange->have, left) : 0;
    if (room < left && room < LEAST_STAGED)
        return 0;
    return size_min(room, OPERATION_STAGING - EXCHANGE_CARRY);
}

void *exchange_flow_space(struct exchange_flow *flow, int index, size_t *nbytes)
{
    struct exchange *exchange = &flow->exchanges[index];
    struct stretch stretch = next_stretch(flow, exchange);
    *nbytes = stretch.nbytes;
    if (stretch.nbytes == 0)
        return NULL;
    if (stretch.of_results)
        return exchange->place + stretch.start;
    size_t room = staging_room(flow, index, stretch.nbytes);
    exchange->staged = room > 0;
    if (!exchange->staged)
        return exchange->slot + exchange->have;
    size_t waiting = exchange->have - exchange->used;
    memcpy(flow->staging, pending(exchange), waiting);
    *nbytes = room;
    return flow->staging + waiting;
}

/* The staging now holds so many bytes, including those that were there before. */
static void use_staged(struct exchange_flow *flow, int index, size_t nbytes)
{
    size_t rest = nbytes % flow->element_size;
    combine_all(flow, index, flow->staging, nbytes - rest);
    memcpy(pending(&flow->exchanges[index]), flow->staging + nbytes - rest, rest);
}

int exchange_flow_received(struct exchange_flow *flow, int index, size_t nbytes, struct err *err)
{
    struct exchange *exchange = &flow->exchanges[index];
    struct stretch stretch = next_stretch(flow, exchange);
    if (nbytes > stretch.nbytes)
        return fail(err, HVD_ERR_PROTOCOL, "rank %d of the set sends %zu bytes where %zu fit",
                    exchange->peer, nbytes, stretch.nbytes);
    if (stretch.of_results) {
        exchange->placed += nbytes;
        flow->left -= nbytes;
        return HVD_OK;
    }
    size_t waiting = exchange->have - exchange->used;
    exchange->have += nbytes;
    if (exchange->staged)
        use_staged(flow, index, waiting + nbytes);
    else
        exchange_flow_advance(flow, index);
    return HVD_OK;
}

/* Keeps a part of an element until the rest of it comes. */
static size_t exchange_flow_keep(struct exchange *exchange, const unsigned char *data,
                                 size_t nbytes)
{
    if (nbytes > 0)
        memcpy(pending(exchange) + exchange->have - exchange->used, data, nbytes);
    exchange->have += nbytes;
    return nbytes;
}

/* Completes an element of which a part has come. Returns how many bytes of `data` this takes. */
static size_t exchange_flow_complete(struct exchange_flow *flow, int index,
                                     const unsigned char *data, size_t nbytes)
{
    struct exchange *exchange = &flow->exchanges[index];
    size_t waiting = exchange->have - exchange->used;
    if (waiting == 0)
        return 0;
    size_t kept =
        exchange_flow_keep(exchange, data, size_min(flow->element_size - waiting, nbytes));
    if (waiting + kept == flow->element_size)
        combine_all(flow, index, pending(exchange), flow->element_size);
    return kept;
}

size_t exchange_flow_take(struct exchange_flow *flow, int index, const void *data, size_t nbytes)
{
    struct exchange *exchange = &flow->exchanges[index];
    struct stretch stretch = next_stretch(flow, exchange);
    if (stretch.of_results || stretch.nbytes == 0)
        return 0;
    size_t until = exchange_flow_turn(flow, index);
    if (until <= exchange->have)
        return 0;
    nbytes = size_min(size_min(nbytes, stretch.nbytes), until - exchange->have);
    const unsigned char *bytes = data;
    size_t taken = exchange_flow_complete(flow, index, bytes, nbytes);
    size_t rest = (nbytes - taken) % flow->element_size, whole = nbytes - taken - rest;
    exchange->have += whole;
    combine_all(flow, index, bytes + taken, whole);
    return taken + whole + exchange_flow_keep(exchange, bytes + taken + whole, rest);
}
