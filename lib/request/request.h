/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the request of a caller: this file finds every mistake of this rank itself, before
 * anything is submitted. Fails with HVD_ERR_INVALID, and a text that names call and tensor, the
 * argument and what was expected: "allreduce 'grad': dims[1] is -3, a dimension is 0 or more". */
#ifndef LIB_REQUEST_REQUEST_H
#define LIB_REQUEST_REQUEST_H

#include "lib/base/status.h"
#include "lib/hvd.h"
#include "lib/negotiation/description.h"

#include <stddef.h>
#include <stdint.h>

/* The process set of a request. */
struct request_set {
    int id;
    const int *ranks; /* of the world, ascending */
    int size;
    int rank;      /* of this process in the set */
    bool one_host; /* all ranks of the world are on this host */
};

/* Makes a description of a tensor; `op` and `root` (a rank of the world) are 0 where the kind has
 * none, `options` may be NULL. For kinds without a tensor only the options are checked, and
 * `tensor` may be NULL. Checks
 *   the name: UTF-8, 1 to HVD_NAME_MAX bytes, or NULL;
 *   the element type; ndims and dims, and that shape_fits(); that allgather, alltoall and
 *   reduce-scatter have a dimension 0;
 *   op: average of bool, Adasum of integers, reduce-scatter with other than sum and average are
 *   refused;
 *   that factors are finite, and that neither bool nor what is not reduced is scaled;
 *   that the root is in the set;
 *   that the device exists, and only tensors on one have `ready` and are without the library's
 *   memory for what is gathered;
 *   the kind's pointers: NULL is fine for an empty tensor, and for the output of allgather and
 *   alltoall;
 *   output_size of reduce-scatter, and of allgather as far as this rank's own part goes;
 *   that input and output do not overlap except as hvd.h allows. The own part of an allgather's
 *   output has a place that is not known yet: any row of the output is accepted, and code that learns
 *   the sizes must check again.
 * Without a world `set` is NULL: then only the arguments by themselves are checked, not the root's
 * membership, the device, or this rank's share of a reduce-scatter. */
int request_describe(struct description *description, enum collective_kind kind,
                     const struct hvd_tensor *tensor, enum hvd_op op, int root,
                     const struct hvd_options *options, const struct request_set *set,
                     struct err *err);

/* Finds mistakes in alltoall's splits that do not depend on the set: a negative split, or more than
 * dims[0] in all. The tensor has passed request_describe(). */
int request_check_splits(const int64_t *splits, int nsplits, const struct hvd_tensor *tensor,
                         struct err *err);

/* Checks alltoall's splits and fills in `filled`, one for each rank of the set, equal shares if
 * `splits` is NULL. The tensor has passed request_describe(). */
int request_splits(int64_t *filled, const int64_t *splits, int nsplits,
                   const struct hvd_tensor *tensor, const struct request_set *set, struct err *err);

/* Marks the descriptions of `count` tensors as one group (hash of the first's name, their number).
 * The group of nameless tensors is 1 until the caller has made names for them. Refuses empty groups
 * (`tensors`, `descriptions`: anything), two tensors of one name, and names for only some tensors;
 * after a failure the contents of the descriptions are undefined. */
int request_group(struct description *descriptions, const struct hvd_tensor *tensors, int count,
                  enum collective_kind kind, struct err *err);

/* The hash of a group's name; never 0, which means no group. */
uint64_t request_hash(const char *name);

/* True if two pieces of memory have a byte in common. */
bool request_overlap(const void *a, size_t a_size, const void *b, size_t b_size);

/* Sorts `count` ranks into `sorted` and checks that they differ and exist in a world of `size`
 * (INT_MAX: any world). The text names no call: the caller puts the call in front. */
int request_ranks(int *sorted, const int *ranks, int count, int size, struct err *err);

/* "allreduce 'grad'" for messages; returns `label`. A NULL name is left out. */
enum { REQUEST_LABEL = COLLECTIVE_LABEL };
char *request_label(char label[REQUEST_LABEL], enum collective_kind kind, const char *name);

#endif
