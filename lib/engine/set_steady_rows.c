/* SPDX-License-Identifier: Apache-2.0 */
/* Small rows of an allgather or alltoall in a blocking call of the steady state
 * (set_steady_run.c): a rank's contribution is its numbers of rows and then the rows, as it would
 * be offered to the agreement (submit_offer.c).
 *
 * What other ranks contribute is checked before anything is written. Contributions that are
 * malformed, or do not fit into the caller's memory, are left to the long way, which says what is
 * wrong (decisions.c). */
#include "lib/engine/set_steady_impl.h"

#include "lib/base/wire.h"
#include "lib/negotiation/contribution.h"

#include <string.h>

/* ---- is it such a call? ---- */

/* All that the cache remembers of the description; the numbers of rows may differ from call to
 * call. */
static bool has_such_rows(const struct description *description, const struct hvd_tensor *given)
{
    const struct shape *shape = &description->shape;
    return given->dtype == description->dtype && given->ndims == shape->ndims && given->dims &&
           memcmp(given->dims + 1, shape->dims + 1,
                  (size_t)(shape->ndims - 1) * sizeof *given->dims) == 0;
}

/* The bytes of all rows of the input; 0 if there are none, or more than `most`. */
static size_t rows_bytes(const struct tensor *tensor, const struct hvd_tensor *given, size_t most)
{
    size_t row_size = tensor_row_size(tensor);
    bool are_few =
        row_size > 0 && given->dims[0] > 0 && (uint64_t)given->dims[0] <= most / row_size;
    return are_few ? (size_t)given->dims[0] * row_size : 0;
}

bool set_steady_rows_repeat(const struct process_set *set, struct tensor *tensor,
                            const struct submission *submission, size_t most)
{
    const struct hvd_tensor *given = submission->tensors;
    const struct request_set where = { set->id, set->ranks, set->size, set->rank,
                                       set->engine->one_host };
    struct err ignored;
    if (!has_such_rows(&tensor->description, given))
        return false;
    size_t nbytes = rows_bytes(tensor, given, most);
    if (nbytes == 0 || !given->input || !given->output ||
        request_overlap(given->input, nbytes, given->output, given->output_size))
        return false;
    tensor->description.shape.dims[0] = given->dims[0];
    return tensor->description.kind == COLLECTIVE_ALLGATHER ||
           request_splits(tensor->splits, submission->splits, submission->nsplits, given, &where,
                          &ignored) == HVD_OK;
}

/* ---- this rank's contribution ---- */

size_t set_steady_rows_put(const struct process_set *set, const struct tensor *tensor, void *to)
{
    struct wire_writer writer = { .data = to, .capacity = STEADY_DATA_MAX };
    bool is_gather = tensor->description.kind == COLLECTIVE_ALLGATHER;
    int64_t rows = is_gather ? tensor->description.shape.dims[0] : 0;
    if (is_gather)
        wire_put_u64(&writer, (uint64_t)rows);
    for (int rank = 0; !is_gather && rank < set->size; rank++) {
        wire_put_u64(&writer, (uint64_t)tensor->splits[rank]);
        rows += tensor->splits[rank];
    }
    wire_put_bytes(&writer, tensor->input, (size_t)rows * tensor_row_size(tensor));
    return writer.length;
}

/* ---- the contributions of all ranks ---- */

/* The contribution of one rank, for decision_rows.h, as that of rank 0. */
static void take_one(const struct process_set *set, int rank, uint32_t number,
                     struct agreed *agreed, size_t offsets[2])
{
    agreed->data = set_steady_kept(set, rank, number, &agreed->nbytes);
    offsets[0] = 0;
    offsets[1] = agreed->nbytes;
    agreed->offsets = offsets;
}

/* The rows that come from a rank; -1 if its contribution is malformed. */
static int64_t rows_from(const struct process_set *set, const struct tensor *tensor,
                         const struct agreed *agreed)
{
    size_t row_size = tensor_row_size(tensor);
    if (tensor->description.kind == COLLECTIVE_ALLGATHER)
        return decision_rows_came(agreed, 0, row_size) ? decision_rows(agreed, 0) : -1;
    return decision_splits_came(agreed, set->size, 0, row_size)
               ? decision_split(agreed, set->size, 0, set->rank)
               : -1;
}

bool set_steady_rows_fit(const struct process_set *set, const struct tensor *tensor,
                         uint32_t number)
{
    struct agreed agreed;
    size_t offsets[2], room = tensor->output_size, row_size = tensor_row_size(tensor);
    for (int rank = 0; rank < set->size; rank++) {
        take_one(set, rank, number, &agreed, offsets);
        bool is_inline = !steady_kept_at(set, rank, number)->is_sent;
        int64_t rows = is_inline ? rows_from(set, tensor, &agreed) : -1;
        if (rows < 0 || (size_t)rows * row_size > room)
            return false;
        room -= (size_t)rows * row_size;
    }
    return true;
}

void set_steady_rows_take(const struct process_set *set, const struct tensor *tensor,
                          uint32_t number)
{
    struct agreed agreed;
    size_t offsets[2], row_size = tensor_row_size(tensor);
    size_t head = contribution_rows_bytes(tensor->description.kind, set->size);
    bool is_gather = tensor->description.kind == COLLECTIVE_ALLGATHER;
    unsigned char *at = tensor->output;
    for (int rank = 0; rank < set->size; rank++) {
        take_one(set, rank, number, &agreed, offsets);
        int64_t before = is_gather ? 0 : decision_splits_before(&agreed, set->size, 0, set->rank);
        size_t nbytes = (size_t)rows_from(set, tensor, &agreed) * row_size;
        memcpy(at, agreed.data + head + (size_t)before * row_size, nbytes);
        at += nbytes;
    }
}
