/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller asks for, and whether it is acceptable in a world of a given size. */
#ifndef LIB_REQUEST_H
#define LIB_REQUEST_H

#include "lib/base/status.h"
#include "lib/fingerprint.h"
#include "lib/hvd.h"

#include <stddef.h>

struct request {
    enum collective_kind kind;
    const char *name;  /* "" for none */
    const void *input; /* broadcast: equal to output */
    void *output;
    size_t count; /* as given to the call: elements per rank */
    enum hvd_dtype dtype;
    enum hvd_op op; /* allreduce only; 0 otherwise */
    int root;       /* broadcast only; 0 otherwise */
};

/* HVD_ERR_INVALID and a text that names the call when an argument of `rank` is not acceptable. */
int request_check(const struct request *request, int rank, int size, struct err *err);

#endif
