/* SPDX-License-Identifier: Apache-2.0 */
/* A group of ranks in which each member owns a share of a vector: the owner reduces the share over
 * all members, or sends it to all members, or both. Bytes in, bytes out; no link, no thread.
 *
 * A share is combined in the order of the members. So its bits are the same in every run, and the
 * bits of an element do not depend on the share's owner. Complete parts of a share go out while the
 * rest is being combined. */
#ifndef LIB_COLLECTIVE_DIRECT_FLOW_H
#define LIB_COLLECTIVE_DIRECT_FLOW_H

#include "lib/collective/direct_schedule.h"
#include "lib/collective/exchange.h"

/* The task of a group, for one of its members. Memory is borrowed until the flow is not used any
 * more, except this plan, `ranks` and `bounds`. */
struct direct_plan {
    int self, members;    /* at least 2 */
    const int *ranks;     /* of the members in the set; NULL if member m is rank m */
    const size_t *bounds; /* the share of member m is the bytes [bounds[m], bounds[m + 1]) */
    struct combiner combiner;
    unsigned char *staging; /* OPERATION_STAGING bytes */
    size_t piece;           /* as in struct operation_task */

    /* The data to reduce, and the place of the own share: the same place, or memory apart from the
     * input. `input` NULL: nothing is reduced, the own share lies in `result`. */
    const unsigned char *input;
    unsigned char *result;

    /* Where the other members' shares go, each to its own place; it may be the input. NULL: shares
     * are not sent to all. */
    unsigned char *output;

    /* The input becomes available as direct_flow_feed() reports, not from the start. */
    bool fed;

    /* The own share goes out as direct_flow_release() reports, not as it is reduced. */
    bool held;
};

struct direct_flow {
    struct exchange_flow flow; /* exchange direct_exchange(member, self) is with that member */
    struct combiner combiner;
    int self, members;
    const unsigned char *input; /* where the first share begins */
    const unsigned char *own;   /* operands of the own share */
    unsigned char *front;       /* where those of the members before are combined */
    unsigned char *result;
    bool held;       /* as planned */
    size_t fed;      /* bytes of the input */
    size_t released; /* bytes of the own share */
};

/* The size of the scratch memory: less than the whole vector. */
size_t direct_flow_scratch(const struct direct_plan *plan);

/* `exchanges` has room for members - 1; `scratch` is aligned like memory of operations. */
void direct_flow_begin(struct direct_flow *direct, const struct direct_plan *plan,
                       struct exchange *exchanges, void *scratch);

/* Reports that so many bytes of the input, from the first share on, are available; never less than
 * before. */
void direct_flow_feed(struct direct_flow *direct, size_t nbytes);

/* How many bytes from the front of the own share have been reduced. */
size_t direct_flow_reduced(const struct direct_flow *direct);

/* Reports that so many bytes from the front of the own share may go out; never less than before. */
void direct_flow_release(struct direct_flow *direct, size_t nbytes);

/* How many bytes of the result, from the first share on, are complete. */
size_t direct_flow_finished(const struct direct_flow *direct);

#endif
