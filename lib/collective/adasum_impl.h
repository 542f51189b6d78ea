/* SPDX-License-Identifier: Apache-2.0 */
/* The state of an Adasum, and the places of its bytes. Everything is in one block of memory. */
#ifndef LIB_COLLECTIVE_ADASUM_IMPL_H
#define LIB_COLLECTIVE_ADASUM_IMPL_H

#include "lib/collective/adasum_math.h"
#include "lib/collective/adasum_schedule.h"
#include "lib/collective/operation_impl.h"

/* Bytes that go out, and are not written meanwhile, or memory for incoming bytes. */
struct area {
    unsigned char *data;
    size_t nbytes;
};

/* The next data from a peer. */
struct incoming {
    int peer;
    struct adasum_step step;
    size_t done;
};

struct adasum {
    struct operation operation; /* first */
    int rank, size, levels;
    size_t count, element_size;
    const struct adasum_math *math;
    const unsigned char *input;
    unsigned char *output;
    const unsigned char *vector; /* the group's vector so far: the input, then the output */
    struct adasum_step step;     /* moved by advance() only */
    size_t sent;                 /* of this step */
    size_t dotted;               /* elements of this step that are in `sums` */
    struct adasum_sums sums;     /* of this level, as far as this rank knows */

    /* The memory behind this struct, in the same block. */
    struct incoming *incoming; /* of each peer */
    struct adasum_sums *heard; /* by level and round */
    unsigned char *halves;     /* the peers' halves, those of level 0 first */
    unsigned char *folded;     /* the vector that is folded into this rank's */
};

/* Everything is zero or set from the task; NULL when out of memory. */
struct adasum *adasum_create(struct operation_store *store, const struct operation_task *task);

/* The part of `vector` that is the piece of `rank` after `levels` levels. */
struct area adasum_part(const struct adasum *adasum, const unsigned char *vector, int rank,
                        int levels);

/* The half that the peer of a level sends. */
struct area adasum_half(const struct adasum *adasum, int level);

/* The data that go out in this rank's step. */
struct area adasum_outgoing(struct adasum *adasum);

/* The place of the data that come in a step, now or later. The output has room for parts of the
 * result as soon as they can come: its old contents have been sent to the rank that sends these
 * parts. */
struct area adasum_awaited(const struct adasum *adasum, struct adasum_step step);

struct adasum_sums *adasum_heard(const struct adasum *adasum, struct adasum_step step);

#endif
