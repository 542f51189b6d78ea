/* SPDX-License-Identifier: Apache-2.0 */
/* An operation is a collective that moves data: bytes to and from other ranks of its process set.
 * No link, no thread: the owner of the links asks which bytes can be sent to a rank, and reports
 * how many were sent; receiving works likewise. An interface; operation_start() chooses the
 * implementation.
 *
 * Fails with HVD_ERR_PROTOCOL when a peer sends impossible data, and with HVD_ERR_NOMEM. */
#ifndef LIB_COLLECTIVE_OPERATION_H
#define LIB_COLLECTIVE_OPERATION_H

#include "lib/base/status.h"
#include "lib/collective/placing.h"
#include "lib/hvd.h"
#include "lib/reduce/reduce.h"
#include "lib/reduce/thread_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum operation_kind {
    OPERATION_ALLREDUCE,
    OPERATION_ALLGATHER,
    OPERATION_BROADCAST,
    OPERATION_ALLTOALL,
    OPERATION_REDUCESCATTER,
    OPERATION_ADASUM
};

/* A frame of a channel, and in front of it a part of an element that waits for its rest. */
enum { OPERATION_STAGING = 512 * 1024 + 64 };

/* Whole pieces of what several ranks read from the same memory (linear_flow.h). Enough for all to
 * be busy, and little enough to stay in a cache: with 256 KiB, 16 ranks and more take longer. */
enum { OPERATION_SHARED = 512 * 1024 };

/* The task of an operation on one rank. All memory is borrowed until operation_fini(). */
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
    /* Allgather: rows of each rank, output has their sum; alltoall: rows that go to each rank, from
     * the input in order. */
    const int64_t *splits;
    const int64_t *received; /* alltoall: rows that come from each rank, if all ranks know that from
                                the start; NULL: the ranks tell each other */
    int algorithm;           /* enum algorithm, as the root has chosen */
    size_t piece;            /* of piece.h, as the root has chosen; 0: PIECE_MOST */
    const struct placing *placing; /* for ALGORITHM_TWO_LEVEL: the hosts of the set's ranks */
    void *staging; /* OPERATION_STAGING bytes, 64-byte aligned, for this operation alone */
    /* Broadcast, the root: OPERATION_SHARED bytes for this operation alone, in memory that other
     * ranks read in place; NULL: there is none. */
    unsigned char *shared;
    bool shared_far;          /* a processor that reads it shares no cache with this one */
    struct thread_pool *pool; /* helps with large reductions; NULL: no helpers */

    /* Alltoall: it is known how many rows come from each rank (`rows`, borrowed). Returns the
     * place of the rows, in order of rank, or NULL when out of memory (any value if there are no
     * rows). */
    void *(*place)(void *arg, const int64_t *rows);
    void *place_arg;
};

struct operation;

struct operation_type {
    const char *algorithm; /* "ring", "pairwise"; for the timeline */

    /* The first function returns the data to send to `peer` now, in one piece of memory, behind the
     * next `ahead` bytes, which the link has already but whose sending was not reported; `*nbytes`
     * 0 and NULL for nothing. The piece stays the same, or grows. Its bytes do not change until
     * sent() has been called, or data has come that the peer could not have made without them. The
     * second function reports sent bytes, of one such piece or several. A link may let the peer
     * read in place, so sent() may come after the peer has used the bytes: the peer's answer may
     * come before sent(). */
    const void *(*output)(struct operation *operation, int peer, size_t ahead, size_t *nbytes);
    void (*sent)(struct operation *operation, int peer, size_t nbytes);

    /* The first function returns the place of the next bytes from `peer`; `*nbytes` is 0 when
     * nothing can be taken now. The second function reports how many came.
     *
     * Operations share links, and an operation that does not take its data holds up the others. So
     * from its start an operation has space for everything that a peer may send, however far ahead
     * the peer is. Only an alltoall's rows may wait, for numbers that nothing can hold up
     * (channel.h). */
    void *(*space)(struct operation *operation, int peer, size_t *nbytes);
    int (*received)(struct operation *operation, int peer, size_t nbytes, struct err *err);

    /* The next `nbytes` from `peer` lie at `data`, during this call. Uses as many from the front as
     * it can without copying them first, and returns how many; 0: they have to go to space(); or a
     * negative status. Used bytes count as received. NULL: all bytes go to space(). */
    ssize_t (*take)(struct operation *operation, int peer, const void *data, size_t nbytes,
                    struct err *err);

    /* Everything has been sent and received, and the output is complete. */
    bool (*done)(const struct operation *operation);

    /* Frees what the operation has besides itself; only operation_fini() calls it. May be NULL. */
    void (*fini)(struct operation *operation);
};

/* The first member of each implementation. */
struct operation {
    const struct operation_type *type;
    size_t reduced; /* bytes of this rank's vector, if it is reduced; for links */
    size_t message; /* for links (link.h): bytes for each peer, on average; 0: nothing to measure */
    bool exchanged; /* for links (link.h): each rank sends to each other rank */
    bool spoiled;   /* take() got bytes that must not be trusted: never done */
};

/* Memory that operations are made of. It is kept between operations, so that repeated operations do
 * not allocate; the kept bytes are bounded. Creating returns NULL when out of memory. Every
 * operation must be freed before the store is destroyed; NULL is fine. */
struct operation_store;
struct operation_store *operation_store_create(void);
void operation_store_destroy(struct operation_store *store);

/* NULL and `err` when out of memory. operation_fini() may be called at any time, done or not; NULL
 * is fine. */
struct operation *operation_start(struct operation_store *store, const struct operation_task *task,
                                  struct err *err);
void operation_fini(struct operation_store *store, struct operation *operation);

/* The ranks that an operation exchanges data with, without duplicates: fills in `peers`, which has
 * room for all other ranks, and returns how many there are. Uses algorithm, rank, size, root and
 * placing of the task. */
int operation_peers(const struct operation_task *task, int *peers);

#endif
