/* SPDX-License-Identifier: Apache-2.0 */
/* An exchange_flow as an operation (operation.h): the base of direct and doubling collectives. Each
 * collective fills in its exchanges and rules; this file has the common rest. */
#ifndef LIB_COLLECTIVE_EXCHANGE_H
#define LIB_COLLECTIVE_EXCHANGE_H

#include "lib/collective/exchange_flow.h"
#include "lib/collective/operation_impl.h"

struct exchange_operation {
    struct operation operation;
    struct operation_store *store;
    struct exchange_flow *flow;
    int rank;
    void *scratch; /* of the store, or NULL */

    struct last_move last_move;
};

/* Members of an operation_type, and the common operation_type.fini. */
const void *exchange_output(struct operation *operation, int peer, size_t ahead, size_t *nbytes);
void exchange_sent(struct operation *operation, int peer, size_t nbytes);
void *exchange_space(struct operation *operation, int peer, size_t *nbytes);
int exchange_received(struct operation *operation, int peer, size_t nbytes, struct err *err);
ssize_t exchange_take(struct operation *operation, int peer, const void *data, size_t nbytes,
                      struct err *err);
bool exchange_done(const struct operation *operation);
void exchange_fini(struct operation *operation);

#define EXCHANGE_OPERATION_TYPE(name)                                                              \
    {                                                                                              \
        .algorithm = (name), .output = exchange_output, .sent = exchange_sent,                     \
        .space = exchange_space, .received = exchange_received, .take = exchange_take,             \
        .done = exchange_done, .fini = exchange_fini,                                              \
    }

/* How elements are combined. */
struct combiner {
    reduce_fn *reduce;
    divide_fn *divide; /* the last time, by `divisor`; NULL unless an average */
    int divisor;
    size_t element_size;
    struct thread_pool *pool; /* may be NULL */
};

/* The combiner of a task of all ranks. */
struct combiner combiner_of(const struct operation_task *task);

/* out = left op right, for `nbytes` of whole elements. Divides only if `last`. */
void combiner_apply(const struct combiner *combiner, unsigned char *out, const unsigned char *left,
                    const unsigned char *right, size_t nbytes, bool last);

/* The best number of bytes to combine at once. */
size_t combiner_block(const struct combiner *combiner);

#endif
