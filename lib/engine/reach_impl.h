/* SPDX-License-Identifier: Apache-2.0 */
/* Where this rank is, and the others; and what is chosen by that: reach.c. */
#ifndef LIB_ENGINE_REACH_IMPL_H
#define LIB_ENGINE_REACH_IMPL_H

#include "lib/base/join_protocol.h"
#include "lib/base/topology.h"
#include "lib/base/wire.h"
#include "lib/collective/algorithm.h"
#include "lib/engine/directory.h"
#include "lib/engine/tree_link.h"
#include "lib/negotiation/description.h"

struct engine;
struct engine_options;
struct process_set;

struct reach {
    struct join_peer self;
    struct join_peer neighbours[NEIGHBOURS_MAX];
    int nneighbours;
    struct directory *directory; /* NULL: not known yet */

    bool asked;
    unsigned waiting; /* for these children, a bit each */
    struct wire_writer records[TREE_CHILDREN_MAX];
};

int reach_init(struct engine *engine, const struct engine_options *options, struct err *err);
void reach_fini(struct engine *engine);

/* This rank's record; the records of everybody, one behind the other. */
void reach_put_own(const struct engine *engine, struct wire_writer *writer);
int reach_learn(struct engine *engine, const void *records, size_t nbytes, struct err *err);

/* Where a rank of the world is; false if nobody has said that. */
bool reach_find(const struct engine *engine, int rank, struct join_peer *peer);

/* On top, if data is to be moved. Nothing happens if everybody knows, or has been asked already. */
int reach_ask(struct process_set *world, struct err *err);
int reach_receive(struct process_set *set, enum tree_frame type, int child,
                  const struct frame *frame, struct err *err);

/* Finds out on which hosts its ranks are. False if nobody knows, or when out of memory. */
bool reach_place(struct process_set *set);
enum algorithm reach_choose(void *set, const struct description *first, size_t nbytes);

#endif
