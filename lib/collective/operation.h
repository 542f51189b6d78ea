/* SPDX-License-Identifier: Apache-2.0 */
/* A collective that moves data: bytes to and from other ranks of its process set. No link, no
 * thread: whoever has links asks what can be sent to a rank, says what was, and likewise for what
 * comes in. An interface; operation_start() chooses the implementation.
 *
 * Fails with HVD_ERR_PROTOCOL when a peer sends what cannot be, HVD_ERR_NOMEM. */
#ifndef LIB_COLLECTIVE_OPERATION_H
#define LIB_COLLECTIVE_OPERATION_H

#include "lib/base/status.h"
#include "lib/hvd.h"
#include "lib/reduce/reduce.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum operation_kind {
    OPERATION_ALLREDUCE,
    OPERATION_ALLGATHER,
    OPERATION_BROADCAST,
    OPERATION_ALLTOALL,
    OPERATION_REDUCESCATTER,
    OPERATION_ADASUM
};

enum { OPERATION_STAGING = 256 * 1024 };

/* What is to be done, by whom. All memory is borrowed until operation_fini(). */
struct operation_task {
    enum operation_kind kind;
    int rank, size; /* in the process set; size is at least 2 */
    int root;       /* broadcast */
    enum hvd_dtype dtype;
    enum hvd_op op;
    const void *input; /* broadcast: not used; may be equal to output but for alltoall; allgather:
                          may be the own part of output */
    void *output;      /* alltoall: not used, see place; reduce-scatter: own rows, or all if it is
                          equal to input, which is overwritten then */
    size_t count;      /* allreduce, broadcast, Adasum: elements */
    size_t row_count;  /* the others: elements in a row */
    int64_t rows;      /* reduce-scatter: rows of the input */
    const int64_t
        *splits;   /* allgather: rows of each rank, output has their sum; alltoall: rows that
                              go to each rank, from the input in order */
    void *staging; /* OPERATION_STAGING bytes, 64-byte aligned, for this operation alone */

    /* Alltoall: all ranks have said how many rows come from each (`rows`, borrowed): returns where
     * they go, in order of rank, or NULL when out of memory (with no rows: anything). */
    void *(*place)(void *arg, const int64_t *rows);
    void *place_arg;
};

struct operation;

struct operation_type {
    const char *algorithm; /* "ring", "pairwise"; for the timeline */

    /* What can be sent to `peer` now; `*nbytes` 0 and NULL for nothing. It stays the same, or grows,
     * until sent() has been called. Then: so much was sent. */
    const void *(*output)(struct operation *operation, int peer, size_t *nbytes);
    void (*sent)(struct operation *operation, int peer, size_t nbytes);

    /* Where what comes next from `peer` belongs; `*nbytes` is 0 when nothing can be taken now. Then:
     * so much has come.
     *
     * Operations share links, and what one does not take holds up the others. So from its start an
     * operation has space for all that a peer may send, however far ahead the peer is; only an
     * alltoall's rows may wait, for numbers that nothing can hold up (channel.h). */
    void *(*space)(struct operation *operation, int peer, size_t *nbytes);
    int (*received)(struct operation *operation, int peer, size_t nbytes, struct err *err);

    /* Everything has been sent and received, and the output is complete. */
    bool (*done)(const struct operation *operation);

    /* Gives back what it has besides itself; for operation_fini() alone. May be NULL. */
    void (*fini)(struct operation *operation);
};

/* The first member of each implementation. */
struct operation {
    const struct operation_type *type;
};

/* Memory that operations are made of, kept between them: what runs again and again does not
 * allocate. What is kept is bounded. Created: NULL when out of memory. Every operation has been
 * given back before the store is destroyed; NULL is fine. */
struct operation_store;
struct operation_store *operation_store_create(void);
void operation_store_destroy(struct operation_store *store);

/* NULL and `err` when out of memory. An operation can be given back at any time, done or not; NULL
 * is fine. */
struct operation *operation_start(struct operation_store *store, const struct operation_task *task,
                                  struct err *err);
void operation_fini(struct operation_store *store, struct operation *operation);

/* Does a kind need links beyond those to the ring's neighbours? */
bool operation_needs_mesh(enum operation_kind kind);

#endif
