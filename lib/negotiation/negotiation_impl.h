/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of struct negotiation; only for the files that implement it.
 *
 *   submit, receive -> contribute.c: entry complete? -> below the root, a queue for report.c
 *                                              -> at the root, ready.c: queues for decide.c
 *   apply.c: takes decided entries out of the table, and changes the cache */
#ifndef LIB_NEGOTIATION_NEGOTIATION_IMPL_H
#define LIB_NEGOTIATION_NEGOTIATION_IMPL_H

#include "lib/negotiation/cache.h"
#include "lib/negotiation/groups.h"
#include "lib/negotiation/negotiation.h"
#include "lib/negotiation/slot_book.h"

/* A submission that waits until the earlier join is done. */
struct held {
    struct held *next;
    struct offer offer; /* name and data: owned */
    uint64_t since_ns;
};

struct joins {
    bool *has_joined; /* of each rank of the set, as far as is known here */
    int unjoined[TREE_CHILDREN_MAX];
    int count;
    int *news; /* to report to the parent */
    int nnews;
    bool own;
    char name[HVD_NAME_MAX + 1]; /* of the own join */
    void *owner;
    uint64_t since_ns;
    struct held *held;
};

/* The retirement that is under way, on any rank. */
struct retirement {
    uint32_t number;
    unsigned waiting; /* for these children, a bit each; this rank has carried it out */
    bool under_way;
    bool to_tell; /* to report to the parent: the subtree has carried it out */
};

/* State that only the root has. */
struct negotiation_root {
    struct slot_book slots;
    struct groups groups;
    struct pending_queue small; /* done or failed */
    struct pending_queue batch; /* data has to be moved */
    uint32_t retirements;
    bool retirement_wanted;
    bool all_joined;
    int last_joined;
    bool unapplied;  /* a message was made and is not applied yet */
    size_t deciding; /* names that the message which is being made decides on */
    bool learns;     /* schedules */
    struct schedule_sent sent;
    bool is_awaited; /* the program waits for tensors */
    struct schedule_search search;
    negotiation_choose_fn *choose; /* may be NULL */
    void *choose_arg;
};

struct negotiation {
    int rank, size;
    int *world_ranks;
    struct tree_position tree;
    struct negotiation_settings settings;
    size_t list_max; /* bytes of a list that come with DONE */

    unsigned everybody; /* a bit for each contributor there is, and for those still unjoined */
    unsigned needed;
    struct pool pool;
    struct pending_table pending;
    struct cache cache;
    uint64_t *bits; /* of a report, one for each slot; all 0 between reports */
    size_t nwords;
    struct joins joins;
    struct retirement retirement;
    struct pending_queue ready;    /* below the root: to be reported */
    struct negotiation_root *root; /* NULL below */

    struct wire_reader down; /* the rest of the message that is being applied */
    bool applying;
    struct schedule schedule; /* of the last DOWN_STEADY */
    struct agreed *agreed;
    size_t nagreed;
    size_t *offsets; /* size + 1 */
    char text[sizeof((struct err *)0)->text];

    const struct negotiation_observer *observer;
};

/* contribute.c: one contributor has submitted `entry`, with all ranks below it (`variants` NULL: as
 * in the entry's slot). Nothing is changed when it fails. */
struct contribution {
    int contributor;
    const struct variants *variants;
    bool complete;
    const void *bytes; /* copied */
    size_t size, nbytes;
};
int negotiation_contribute(struct negotiation *negotiation, struct pending *entry,
                           const struct contribution *contribution, struct err *err);

/* Finds or makes the entry of a name, or of a cache slot's. */
struct pending *negotiation_entry(struct negotiation *negotiation, const char *name, size_t length,
                                  uint64_t hash, uint64_t now_ns);

/* Takes an entry out of the table; it must not be in a queue. */
void negotiation_forget(struct negotiation *negotiation, struct pending *entry);

/* All of the subtree have contributed: the name is reported to the parent, or ready at the root. */
int negotiation_advance(struct negotiation *negotiation, struct pending *entry, struct err *err);

/* Ranks of the set behind a contributor. */
struct rank_range negotiation_range(const struct negotiation *negotiation, int contributor);

/* Gives an entry its own description, instead of that of a slot. False when out of memory. */
bool negotiation_detach(struct negotiation *negotiation, struct pending *entry);

/* The description that a contributor has submitted. */
static inline const struct description *
negotiation_description(const struct negotiation *negotiation, const struct pending *entry)
{
    return entry->variants ? &entry->variants->variant[0].description
                           : &negotiation->cache.slots[entry->slot].description;
}

/* True if not all ranks of this subtree have submitted the entry: the rest have joined. */
bool negotiation_has_absent(const struct negotiation *negotiation, const struct pending *entry);

/* join.c: a rank has joined; it may complete names. */
int negotiation_join(struct negotiation *negotiation, int rank, struct err *err);
/* The own offer of a join, or an offer after the join. */
int negotiation_submit_join(struct negotiation *negotiation, const struct offer *offer,
                            uint64_t now_ns, struct err *err);
int negotiation_hold(struct negotiation *negotiation, const struct offer *offer, uint64_t now_ns,
                     struct err *err);
bool negotiation_is_held(const struct negotiation *negotiation, const char *name);
/* All ranks have joined: ends the joins, and submits the held submissions. */
int negotiation_end_joins(struct negotiation *negotiation, struct err *err);
void negotiation_reset_joins(struct negotiation *negotiation);
void negotiation_free_held(struct held *held);

/* retire.c: the root's request, and the answers. */
int negotiation_retire(struct negotiation *negotiation, uint32_t number, struct wire_reader *slots,
                       struct err *err);
int negotiation_child_retired(struct negotiation *negotiation, int index, uint32_t number,
                              struct err *err);

/* decision_check.c: the data that come with a decision, as flags of a tensor (message.h); negative
 * if such a decision does not exist. */
int negotiation_data_flags(const struct description *description, bool done);
/* Checks that the data are those of the flags. */
int negotiation_check_data(const struct agreed *agreed, bool done, int flags, struct err *err);
/* Checks that all who have submitted `entry` here submitted what was agreed on. */
int negotiation_check_agreed(const struct negotiation *negotiation, const struct pending *entry,
                             const struct agreed *agreed, struct err *err);
/* Checks that these tensors can be fused, and carried out so. Only the root checks thresholds. */
int negotiation_check_run(struct algorithm_choice choice, const struct agreed *agreed, size_t count,
                          struct err *err);

/* ready.c, at the root: all ranks have submitted `entry`, or have joined. */
int negotiation_ready(struct negotiation *negotiation, struct pending *entry, struct err *err);
void negotiation_all_joined(struct negotiation *negotiation);
/* Blocks that negotiation_ready() may take, so that it cannot fail. */
bool negotiation_ready_reserve(struct negotiation *negotiation);

#endif
