/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of several ranks in one thread, and between any two of them a wire that does what
 * links and channels may do at worst: it moves any number of bytes at any time, copied or read late
 * from where they lie, used in place or put into space, and says long afterwards that they were
 * sent.
 *
 * Checks on the way that memory which is read late has not changed, that there is space for all
 * that comes, and that nothing gets stuck. */
#ifndef TESTS_SUPPORT_OPERATION_NET_H
#define TESTS_SUPPORT_OPERATION_NET_H

#include "lib/collective/operation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NET_RANKS_MAX = 16, NET_PARTS_MAX = 8 };

typedef struct operation *operation_start_fn(struct operation_store *store,
                                             const struct operation_task *task, struct err *err);

/* Bytes under way, in one piece of memory. */
struct net_part {
    const unsigned char *data;
    unsigned char *copy; /* made when they were sent */
    size_t nbytes, read, paid;
    bool offered; /* read from `data`, and said to be sent when they were read */
};

struct net_wire {
    struct net_part parts[NET_PARTS_MAX];
    int count;
};

struct operation_net {
    int size;
    uint64_t random;
    size_t step; /* bytes that move at once, at most */
    struct operation_task tasks[NET_RANKS_MAX];
    struct operation_store *stores[NET_RANKS_MAX];
    struct operation *operations[NET_RANKS_MAX];
    struct net_wire wires[NET_RANKS_MAX][NET_RANKS_MAX]; /* by from, then to */
    size_t used_in_place, copied;
};

/* Memory for staging is shared by all nets: one runs at a time. */
void operation_net_init(struct operation_net *net, uint64_t seed);
void operation_net_fini(struct operation_net *net);

/* Starts tasks [0, size), which lack only rank, size and staging, moves until all are done, and
 * ends them. */
void operation_net_run(struct operation_net *net, int size, operation_start_fn *start);

/* The same in steps. Moving is one look at every wire; false if nothing moved. */
void operation_net_start(struct operation_net *net, int size, operation_start_fn *start);
bool operation_net_move(struct operation_net *net);
void operation_net_finish(struct operation_net *net);

#endif
