/* SPDX-License-Identifier: Apache-2.0 */
/* The operations that are measured: the call, its input and output, and the part of the data that
 * must pass a rank's link.
 *
 * Sizes are those of nccl-tests: the data of one rank for allreduce, broadcast and alltoall, all
 * ranks' parts together for allgather and reducescatter. The count is that of the call: of one
 * part, where there are parts. */
#ifndef SRC_TOOLS_BANDWIDTH_OPERATIONS_H
#define SRC_TOOLS_BANDWIDTH_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "hvd.h"
#include "src/tools/bandwidth_data.h"

enum { OPERATION_COUNT = 6 };

/* The destination of the result. */
enum place { OUT_OF_PLACE, IN_PLACE, PLACES };

/* The data of one call. */
struct transfer {
    struct data data;
    size_t count; /* elements; of a part, where there are parts */
    int root;     /* of a broadcast */
    int rank;
    int device; /* whose memory input and output are; 0: the host's */
};

struct operation {
    const char *name;
    const char *busbw; /* the factor from algbw to busbw, in words */
    double (*factor)(int ranks);
    bool reduces; /* has an op */
    bool rooted;
    bool in_parts;       /* `count` is that of a part, and there are as many as ranks */
    bool places[PLACES]; /* the places that the library supports */
    bool moves;          /* any data: all operations but barrier */

    /* With parts: are all parts given in, or come out? Else one part. */
    bool takes_all, gives_all;

    /* Makes one call and waits for its end. Returns the library's status. In place, `input` is the
     * part of `output` in which the operation expects it. */
    int (*call)(const struct transfer *transfer, const void *input, void *output);
};

/* OPERATION_COUNT of them. */
extern const struct operation operations[];

/* Can the operation reduce this? True for an operation that does not reduce. */
bool operation_can(const struct operation *operation, enum hvd_dtype dtype, enum hvd_op op);

/* Elements of this rank's input and output. */
size_t operation_input_count(const struct operation *operation, const struct transfer *transfer);
size_t operation_output_count(const struct operation *operation, const struct transfer *transfer);

/* Bytes as nccl-tests count them. */
size_t operation_size(const struct operation *operation, const struct transfer *transfer);

/* The count of a call of at most `size` bytes: whole elements, in equal parts, and at least one
 * each. */
size_t operation_count(const struct operation *operation, const struct data *data, size_t size);

/* The address of the input inside `output` when the operation works in place. */
void *operation_input_in(const struct operation *operation, const struct transfer *transfer,
                         void *output);

#endif
