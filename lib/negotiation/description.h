/* SPDX-License-Identifier: Apache-2.0 */
/* The description of what a rank submits under a name: everything that the ranks of a set must
 * agree on. */
#ifndef LIB_NEGOTIATION_DESCRIPTION_H
#define LIB_NEGOTIATION_DESCRIPTION_H

#include "lib/base/collective_kind.h"
#include "lib/base/status.h"
#include "lib/base/wire.h"
#include "lib/collective/operation.h"
#include "lib/hvd.h"
#include "lib/reduce/reduce.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kind of memory of a tensor's input and output. Part of the wire format. */
enum memory_kind {
    MEMORY_HOST = 0,
    MEMORY_DEVICE,        /* copied to and from the host (lib/hvd_device.h) */
    MEMORY_DEVICE_REDUCES /* the devices can do it among themselves; not every kind of collective */
};
enum { MEMORY_KINDS = MEMORY_DEVICE_REDUCES + 1 };

/* Rows that one rank gives; those of all ranks fit into 63 bits. */
#define ROWS_MAX ((int64_t)1 << 46)

/* Sets of up to so many ranks agree on the rows of an alltoall together with the alltoall itself:
 * every rank learns all numbers, 2 KiB with 16 ranks. In larger sets each pair exchanges its own,
 * so that devices, which must know the rows beforehand, cannot do it. */
enum { LISTED_ROWS_RANKS = 16 };

struct shape {
    int ndims; /* 0 to HVD_DIMS_MAX */
    int64_t dims[HVD_DIMS_MAX];
};

/* Fields that a kind does not use are 0 (factors: 1). */
struct description {
    enum collective_kind kind;
    enum hvd_dtype dtype;
    enum hvd_op op;
    enum memory_kind memory;
    int root; /* a rank of the set */
    double prescale, postscale;
    struct shape shape;  /* of the input */
    uint64_t group;      /* hash of the group's name; 0 for no group */
    uint32_t group_size; /* tensors of the group; 0 for no group */
    uint64_t tag;
    bool nameless; /* matched by order; not worth a place in the cache */
};

/* The description of no tensor: unused fields are 0, but the dimensions are not written. */
static inline void description_init(struct description *description, enum collective_kind kind)
{
    description->kind = kind;
    description->dtype = 0;
    description->op = 0;
    description->memory = MEMORY_HOST;
    description->root = 0;
    description->prescale = description->postscale = 0;
    description->shape.ndims = 0;
    description->group = 0;
    description->group_size = 0;
    description->tag = 0;
    description->nameless = false;
}

/* True if the tensor's first dimension may differ between ranks. */
static inline bool collective_has_own_rows(enum collective_kind kind)
{
    return kind == COLLECTIVE_ALLGATHER || kind == COLLECTIVE_ALLTOALL;
}

/* True if contributions are reduced on the way up the tree; false if they are listed. */
static inline bool description_is_reduction(const struct description *description)
{
    return (description->kind == COLLECTIVE_ALLREDUCE && description->op != HVD_ADASUM) ||
           description->kind == COLLECTIVE_REDUCESCATTER;
}

/* The operation that moves the data of a kind that has a tensor. */
enum operation_kind description_operation(const struct description *description);

/* Names that the library gives begin with a byte that no UTF-8 text has, so that they never equal a
 * caller's name. For people the byte is left out. */
#define NAME_MARK "\xff"
const char *name_shown(const char *name);

/* Elements of a shape, bytes of a tensor (0 for a kind without one). They do not overflow for a
 * description of a tensor that has been checked (lib/request/request.h) or decoded. */
static inline size_t shape_count(const struct shape *shape)
{
    size_t count = 1;
    for (int i = 0; i < shape->ndims; i++)
        count *= (size_t)shape->dims[i];
    return count;
}

static inline size_t description_bytes(const struct description *description)
{
    return collective_has_tensor(description->kind)
               ? shape_count(&description->shape) * dtype_size((int)description->dtype)
               : 0;
}

/* Elements in one row: the product of all dimensions but the first. */
size_t shape_row_count(const struct shape *shape);

/* True if the size in bytes, and the size of one row even if there are no rows, stay within an
 * address space. No dimension is negative. */
#define TENSOR_BYTES_MAX (SIZE_MAX / 256)
bool shape_fits(const struct shape *shape, size_t element_size);

/* "[17, 17]", "[]" for a scalar; with `own_rows` "[*, 17]". Returns `text`. */
enum { SHAPE_TEXT = 56 };
char *shape_text(char text[SHAPE_TEXT], const struct shape *shape, bool own_rows);

/* Appends a description; reads one. The reader fails (HVD_ERR_PROTOCOL) on unknown enum values, a
 * memory kind that the collective cannot have, negative or too many dimensions, a negative root,
 * and a tensor that is too large (shape_fits). */
void description_encode(struct wire_writer *writer, const struct description *description);
int description_decode(struct description *description, struct wire_reader *reader,
                       struct err *err);

/* True if two ranks that submit these descriptions under one name mean the same collective. For
 * allgather and alltoall the first dimension may differ. */
bool description_agree(const struct description *a, const struct description *b);

/* Parts of description_agree(). */
bool shape_agree(const struct shape *a, const struct shape *b, enum collective_kind kind);
bool description_same_factors(const struct description *a, const struct description *b);

/* True if all fields are equal, first dimensions included: then a cache bit can replace the
 * description. */
bool description_equal(const struct description *a, const struct description *b);

#endif
