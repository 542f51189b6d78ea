/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of collectives in which ranks send each other operands and then results. Bytes in,
 * bytes out; no link, no thread.
 *
 * A rank has one exchange with each of its peers. Incoming operands are combined in the order of
 * the exchanges: those of the first exchange at once, those of the next as far as the earlier ones
 * have been combined. Operands that come in their turn are combined in place, or by way of the
 * staging memory. Operands that come early wait in the slot of their exchange, which has no other
 * use. The rules of an algorithm define the memory, and how to combine. */
#ifndef LIB_COLLECTIVE_EXCHANGE_FLOW_H
#define LIB_COLLECTIVE_EXCHANGE_FLOW_H

#include "lib/collective/operation.h"

#include <stdbool.h>
#include <stddef.h>

enum { EXCHANGE_CARRY = 8 }; /* the largest element */

/* Memory is borrowed. Sizes are bytes; fields that are not filled in are zero or NULL. */
struct exchange {
    int peer;

    /* Outgoing data. */
    const unsigned char *operands, *results;
    size_t operands_size, results_size;
    size_t sent, shown; /* of both, in the order of exchange_schedule.h */

    /* Incoming operands: [used, have) lie in the slot, at the same place, or in `carry` if they can
     * only be less than an element. */
    size_t awaited, have, used;
    unsigned char *slot; /* `awaited` bytes; NULL if the operands never come early */
    bool stays;          /* operands must lie in the slot even in their turn */
    bool staged;         /* space() has last returned the staging */
    unsigned char carry[EXCHANGE_CARRY];

    /* Incoming results. */
    unsigned char *place;
    size_t place_size, placed;
};

struct exchange_flow;

struct exchange_rules {
    /* How many bytes from the front of the operands, or results, of exchange `index` can be sent,
     * at least. */
    size_t (*operands_ready)(const struct exchange_flow *flow, int index);
    size_t (*results_ready)(const struct exchange_flow *flow, int index);

    /* How many bytes of the operands from exchange `index` could be combined, if they were
     * there. */
    size_t (*turn)(const struct exchange_flow *flow, int index);

    /* `nbytes` of `data`, whole elements, are the operands from exchange `index` at `offset`. */
    void (*combine)(struct exchange_flow *flow, int index, size_t offset, const unsigned char *data,
                    size_t nbytes);
};

struct exchange_flow {
    const struct exchange_rules *rules;
    struct exchange *exchanges;
    int count;
    size_t element_size;
    size_t piece;           /* of exchange_schedule.h */
    size_t block;           /* combined with all waiting operands, while in a cache */
    unsigned char *staging; /* OPERATION_STAGING bytes */
    bool waits_for_sent;    /* turn() of the last exchange depends on what was sent */
    size_t left;            /* bytes that are not sent, combined or placed yet */
};

/* Everything but `left` has been filled in. */
void exchange_flow_begin(struct exchange_flow *flow);

/* The exchange with `peer`; `likely` is a guess; -1 if there is none. */
int exchange_flow_find(const struct exchange_flow *flow, int peer, int likely);

/* Like the members of operation.h, for one exchange. `ahead` bytes of the data to send are on their
 * way already. */
const void *exchange_flow_output(struct exchange_flow *flow, int index, size_t ahead,
                                 size_t *nbytes);
void exchange_flow_sent(struct exchange_flow *flow, int index, size_t nbytes);
void *exchange_flow_space(struct exchange_flow *flow, int index, size_t *nbytes);
int exchange_flow_received(struct exchange_flow *flow, int index, size_t nbytes, struct err *err);
size_t exchange_flow_take(struct exchange_flow *flow, int index, const void *data, size_t nbytes);

/* More bytes of exchange `index` may be combined, for a reason outside of all exchanges. */
void exchange_flow_advance(struct exchange_flow *flow, int index);

bool exchange_flow_done(const struct exchange_flow *flow);

#endif
