/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts and addresses of all ranks, and the choice of algorithms by them:
 * address_exchange.c. */
#ifndef LIB_ENGINE_ADDRESS_EXCHANGE_IMPL_H
#define LIB_ENGINE_ADDRESS_EXCHANGE_IMPL_H

#include "lib/base/join_protocol.h"
#include "lib/base/topology.h"
#include "lib/base/wire.h"
#include "lib/engine/directory.h"
#include "lib/engine/tree_link.h"
#include "lib/negotiation/description.h"
#include "lib/negotiation/negotiation.h"

struct engine;
struct engine_options;
struct process_set;

struct address_exchange {
    struct join_peer self;
    struct join_peer neighbours[NEIGHBOURS_MAX];
    int nneighbours;
    struct directory *directory; /* NULL: not known yet */

    bool asked;
    unsigned waiting; /* for these children, a bit each */
    struct wire_writer records[TREE_CHILDREN_MAX];
};

int address_exchange_init(struct engine *engine, const struct engine_options *options,
                          struct err *err);
void address_exchange_fini(struct engine *engine);

/* Writes this rank's record; writes the records of all ranks, one behind the other. */
void address_exchange_put_own(const struct engine *engine, struct wire_writer *writer);
int address_exchange_learn(struct engine *engine, const void *records, size_t nbytes,
                           struct err *err);

/* Finds the record of a rank of the world; false if it is not known. */
bool address_exchange_find(const struct engine *engine, int rank, struct join_peer *peer);

/* At the root, when data is to be moved: asks all ranks for their records. Does nothing if they are
 * known, or have been asked for already. */
int address_exchange_ask(struct process_set *world, struct err *err);
int address_exchange_receive(struct process_set *set, enum tree_frame type, int child,
                             const struct frame *frame, struct err *err);

/* The star of the tree of a set that is being added (topology.h): by the hosts of its ranks, which
 * are known then; 1 if the world is not crowded. -1 when out of memory. */
int address_exchange_star(const struct process_set *set);

/* Finds the hosts of the set's ranks. False if they are not known, or when out of memory. */
bool address_exchange_place(struct process_set *set);
struct algorithm_choice address_exchange_choose(void *set, const struct negotiation_work *work);

#endif
