/* SPDX-License-Identifier: Apache-2.0 */
/* The submission that a public call passes to the engine: a collective with its tensors and
 * options, as the caller wrote them. */
#ifndef LIB_REQUEST_SUBMISSION_H
#define LIB_REQUEST_SUBMISSION_H

#include "lib/hvd.h"
#include "lib/negotiation/description.h"

#include <stdbool.h>
#include <stdint.h>

/* See hvd.h for each kind. */
struct submission {
    enum collective_kind kind;
    const struct hvd_tensor *tensors; /* `count` of them; NULL and 1 for barrier and join */
    int count;
    bool grouped;
    enum hvd_op op;
    int root; /* of the world */
    const struct hvd_options *options;
    const int64_t *splits; /* alltoall */
    int nsplits;
    const int *ranks;  /* ADD_SET: borrowed until it is done */
    bool without_rows; /* allgather: the caller does not ask for the rows of each rank */
};

#endif
