/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of a steady state (set_steady.c) whose data the agreement would let move over the data
 * links, after it. In a steady state each rank sends each other rank what is for that one, together
 * with the commitment:
 *
 *   allreduce, allgather: the whole input     broadcast: the root its tensor, others nothing
 *   reduce-scatter: the receiver's share      alltoall: the receiver's rows
 *
 * Data that come are kept until all ranks have committed. Own data are not copied: the input stays
 * the caller's until the operation is done, also if it is offered to the agreement after all. Sums
 * are made in order of rank.
 *
 * Fails with HVD_ERR_PROTOCOL when a frame is malformed, out of order, or was made for another
 * operation than this rank expects; and with HVD_ERR_NOMEM. */
#include "lib/engine/set_steady_impl.h"

#include "lib/base/min.h"
#include "lib/reduce/reduce.h"

#include <stdlib.h>
#include <string.h>

enum { SENT_HEAD = 20 }; /* of a TREE_SENT: epoch, number, digest, rows */
_Static_assert((int)SENT_HEAD == (int)FRAME_SUMMED_HEAD, "the head is summed");

/* ---- what this rank has for another one, or for itself ---- */

struct sent_part {
    const unsigned char *data;
    size_t nbytes;
    uint64_t rows; /* of an allgather or alltoall */
};

static struct sent_part share_for(const struct process_set *set, const struct tensor *tensor,
                                  int rank)
{
    int64_t all = tensor->description.shape.dims[0], before = 0;
    size_t row_size = tensor_row_size(tensor);
    for (int i = 0; i < rank; i++)
        before += hvd_share(all, set->size, i);
    return (struct sent_part){ (const unsigned char *)tensor->input + (size_t)before * row_size,
                               (size_t)hvd_share(all, set->size, rank) * row_size, 0 };
}

static struct sent_part rows_for(const struct tensor *tensor, int rank)
{
    int64_t before = 0;
    size_t row_size = tensor_row_size(tensor);
    for (int i = 0; i < rank; i++)
        before += tensor->splits[i];
    return (struct sent_part){ (const unsigned char *)tensor->input + (size_t)before * row_size,
                               (size_t)tensor->splits[rank] * row_size,
                               (uint64_t)tensor->splits[rank] };
}

static struct sent_part part_for(const struct process_set *set, const struct tensor *tensor,
                                 int rank)
{
    const struct description *description = &tensor->description;
    size_t nbytes = description_bytes(description);
    switch (description->kind) {
    case COLLECTIVE_BROADCAST:
        return (struct sent_part){ tensor->output, description->root == set->rank ? nbytes : 0, 0 };
    case COLLECTIVE_REDUCESCATTER:
        return share_for(set, tensor, rank);
    case COLLECTIVE_ALLTOALL:
        return rows_for(tensor, rank);
    case COLLECTIVE_ALLGATHER:
        return (struct sent_part){ tensor->input, nbytes, (uint64_t)description->shape.dims[0] };
    default:
        return (struct sent_part){ tensor->input, nbytes, 0 };
    }
}

bool set_steady_can_send(const struct process_set *set, const struct tensor *tensor)
{
    bool can = tensor->description.memory == MEMORY_HOST;
    for (int rank = 0; can && rank < set->size; rank++)
        can = rank == set->rank || part_for(set, tensor, rank).nbytes <= SENT_GREATEST;
    return can;
}

uint32_t set_steady_send(struct process_set *set, const struct tensor *tensor)
{
    struct tree_link *tree;
    uint32_t number = steady_commit(&set->steady.state);
    uint32_t digest = steady_operation_at(set, number)->digest;
    for (int i = 0; (tree = set_tree_at(set, i)); i++) {
        int rank = set_tree_rank(set, i);
        if (rank < 0)
            continue;
        struct sent_part part = part_for(set, tensor, rank);
        unsigned char head[SENT_HEAD];
        struct wire_writer writer = { .data = head, .capacity = sizeof head };
        steady_put_head(&writer, set->steady.state.epoch, number);
        wire_put_u32(&writer, digest);
        wire_put_u64(&writer, part.rows);
        tree_link_put_parts(tree, TREE_SENT, head, sizeof head, part.data, part.nbytes);
    }
    return number;
}

/* ---- what the other ranks have for this one ---- */

static bool keep_sent(struct steady_kept *kept, const void *data, size_t nbytes)
{
    if (nbytes > kept->room) {
        unsigned char *sent = realloc(kept->sent, nbytes);
        if (!sent)
            return false;
        kept->sent = sent;
        kept->room = nbytes;
    }
    kept->nbytes = (uint32_t)nbytes;
    kept->is_sent = true;
    if (nbytes > 0)
        memcpy(kept->sent, data, nbytes);
    return true;
}

int set_steady_receive_sent(struct process_set *set, int from, const struct frame *frame,
                            struct err *err)
{
    struct wire_reader reader;
    wire_reader_init(&reader, frame->body, frame->length);
    uint32_t epoch = wire_get_u32(&reader), number = wire_get_u32(&reader);
    uint32_t digest = wire_get_u32(&reader);
    uint64_t rows = wire_get_u64(&reader);
    if (reader.failed || reader.left > SENT_GREATEST)
        return fail(err, HVD_ERR_PROTOCOL, "a frame of a steady state has a wrong length");
    int rc = steady_receive(&set->steady.state, from, epoch, number, err);
    if (rc == HVD_OK)
        rc = set_steady_make_kept(set, err);
    if (rc < 0)
        return rc;
    struct steady_kept *kept = steady_kept_at(set, from, number);
    kept->digest = digest;
    kept->rows = rows;
    return keep_sent(kept, reader.at, reader.left) ? HVD_OK
                                                   : fail(err, HVD_ERR_NOMEM, "out of memory");
}

/* True if a rank has sent what it must have, or rows of an allgather or alltoall. */
static bool is_right(const struct process_set *set, const struct tensor *tensor, int rank,
                     const struct steady_kept *kept)
{
    const struct description *description = &tensor->description;
    if (collective_has_own_rows(description->kind)) {
        size_t row_size = tensor_row_size(tensor);
        return row_size == 0
                   ? kept->nbytes == 0 && kept->rows <= (uint64_t)ROWS_MAX
                   : kept->nbytes % row_size == 0 && kept->nbytes / row_size == kept->rows;
    }
    size_t nbytes = part_for(set, tensor, set->rank).nbytes;
    if (description->kind == COLLECTIVE_BROADCAST)
        nbytes = description->root == rank ? description_bytes(description) : 0;
    return kept->nbytes == nbytes && kept->rows == 0;
}

int set_steady_check_sent(const struct process_set *set, const struct tensor *tensor,
                          uint32_t number, struct err *err)
{
    uint32_t digest = steady_operation_at(set, number)->digest;
    for (int rank = 0; rank < set->size; rank++) {
        const struct steady_kept *kept = steady_kept_at(set, rank, number);
        if (rank != set->rank &&
            (!kept->is_sent || kept->digest != digest || !is_right(set, tensor, rank, kept)))
            return fail(err, HVD_ERR_PROTOCOL,
                        "rank %d takes operation %u of a steady state for another one",
                        set->ranks[rank], number);
    }
    return HVD_OK;
}

/* What a rank has sent to this one. */
static struct sent_part part_from(const struct process_set *set, const struct tensor *tensor,
                                  int rank, uint32_t number)
{
    const struct steady_kept *kept = steady_kept_at(set, rank, number);
    return rank == set->rank ? part_for(set, tensor, rank)
                             : (struct sent_part){ kept->sent, kept->nbytes, kept->rows };
}

/* ---- results ---- */

size_t set_steady_sent_bytes(const struct process_set *set, const struct tensor *tensor,
                             uint32_t number)
{
    size_t total = 0;
    if (!collective_has_own_rows(tensor->description.kind))
        return tensor->description.kind == COLLECTIVE_REDUCESCATTER
                   ? part_for(set, tensor, set->rank).nbytes
                   : description_bytes(&tensor->description);
    for (int rank = 0; rank < set->size; rank++)
        total += part_from(set, tensor, rank, number).nbytes;
    return total;
}

/* The own part goes first: it may lie where the others' parts go to. */
static void put_together(const struct process_set *set, const struct tensor *tensor,
                         uint32_t number, unsigned char *out)
{
    struct sent_part own = part_for(set, tensor, set->rank);
    size_t before = 0;
    for (int rank = 0; rank < set->rank; rank++)
        before += part_from(set, tensor, rank, number).nbytes;
    if (own.nbytes > 0)
        memmove(out + before, own.data, own.nbytes);
    for (int rank = 0; rank < set->size; rank++) {
        struct sent_part part = part_from(set, tensor, rank, number);
        if (rank != set->rank && part.nbytes > 0)
            memcpy(out, part.data, part.nbytes);
        out += part.nbytes;
    }
}

/* Reduces a part of all ranks' data, in order of rank; only the last step writes to `out`. */
static void reduce_some(const struct process_set *set, const struct tensor *tensor, uint32_t number,
                        size_t at, size_t nbytes, unsigned char *out)
{
    const struct description *description = &tensor->description;
    alignas(64) unsigned char sum[INLINE_MAX];
    size_t count = nbytes / dtype_size((int)description->dtype);
    const unsigned char *left = part_from(set, tensor, 0, number).data + at;
    for (int rank = 1; rank < set->size; rank++) {
        const unsigned char *data = part_from(set, tensor, rank, number).data + at;
        unsigned char *to = rank == set->size - 1 ? out + at : sum;
        if (rank == set->size - 1 && description->op == HVD_AVERAGE)
            divide_function(description->dtype)(to, left, data, count, set->size);
        else
            reduce_function(description->dtype, description->op)(to, left, data, count);
        left = to;
    }
}

static void reduce_sent(const struct process_set *set, const struct tensor *tensor, uint32_t number,
                        unsigned char *out)
{
    size_t nbytes = part_for(set, tensor, set->rank).nbytes;
    size_t most = set->size == 2 ? nbytes : INLINE_MAX; /* of two, there are no sums in between */
    for (size_t at = 0; at < nbytes; at += most)
        reduce_some(set, tensor, number, at, size_min(most, nbytes - at), out);
}

void set_steady_take_sent(const struct process_set *set, const struct tensor *tensor,
                          uint32_t number, void *out)
{
    const struct description *description = &tensor->description;
    if (collective_has_own_rows(description->kind)) {
        put_together(set, tensor, number, out);
    } else if (description_is_reduction(description)) {
        reduce_sent(set, tensor, number, out);
    } else if (description->root != set->rank) {
        struct sent_part part = part_from(set, tensor, description->root, number);
        if (part.nbytes > 0)
            memcpy(out, part.data, part.nbytes);
    }
}

static int complete_sent_rows(struct process_set *set, struct tensor *tensor, uint32_t number,
                              struct err *err)
{
    void *memory, *data;
    data = complete_place(tensor, set_steady_sent_bytes(set, tensor, number), &memory);
    if (!data)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    set_steady_take_sent(set, tensor, number, data);
    for (int rank = 0; rank < set->size; rank++)
        set->decided.rows[rank] = (int64_t)part_from(set, tensor, rank, number).rows;
    complete_rows(tensor, set->decided.rows, set->size, data, memory);
    return HVD_OK;
}

int set_steady_complete_sent(struct process_set *set, struct tensor *tensor, uint32_t number,
                             struct err *err)
{
    int rc = set_steady_check_sent(set, tensor, number, err);
    if (rc < 0)
        return rc;
    if (collective_has_own_rows(tensor->description.kind))
        return complete_sent_rows(set, tensor, number, err);
    set_steady_take_sent(set, tensor, number, tensor->output);
    if (tensor->description.kind == COLLECTIVE_REDUCESCATTER)
        complete_share(tensor, NULL);
    else
        complete_whole(tensor, tensor->output);
    return HVD_OK;
}
