/* SPDX-License-Identifier: Apache-2.0 */
/* What the ranks of a set have committed to in a steady state (set_steady.c): it is kept until the
 * operation is done on this rank. Small data are reduced in order of rank, as contribution_reduce()
 * does, so all ranks have the same bits.
 *
 * Fails with HVD_ERR_PROTOCOL when a frame is malformed, out of order, or was made for another
 * operation than this rank expects; and with HVD_ERR_NOMEM. */
#include "lib/engine/set_steady_impl.h"

#include "lib/memory/copy.h"
#include "lib/reduce/reduce.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int set_steady_make_kept(struct process_set *set, struct err *err)
{
    struct set_steady *steady = &set->steady;
    size_t size = (size_t)set->size;
    if (!steady->kept) {
        steady->kept = aligned_alloc(64, size * STEADY_KEPT * sizeof *steady->kept);
        for (size_t i = 0; steady->kept && i < size * STEADY_KEPT; i++)
            memset(&steady->kept[i], 0, offsetof(struct steady_kept, data));
    }
    if (!steady->gathered)
        steady->gathered = aligned_alloc(64, size * sizeof *steady->kept);
    return steady->kept && steady->gathered ? HVD_OK : fail(err, HVD_ERR_NOMEM, "out of memory");
}

void set_steady_forget_sent(struct process_set *set)
{
    struct set_steady *steady = &set->steady;
    for (int i = 0; steady->kept && i < set->size * STEADY_KEPT; i++) {
        free(steady->kept[i].sent);
        steady->kept[i].sent = NULL;
        steady->kept[i].room = 0;
    }
}

void set_steady_free_kept(struct process_set *set)
{
    set_steady_forget_sent(set);
    free(set->steady.kept);
    set->steady.kept = NULL;
}

void set_steady_keep(struct process_set *set, uint32_t number, const void *data, size_t nbytes)
{
    struct steady_kept *kept = steady_kept_at(set, set->rank, number);
    kept->digest = steady_operation_at(set, number)->digest;
    kept->nbytes = (uint32_t)nbytes;
    if (nbytes > 0 && data != kept->data)
        copy_cached(kept->data, data, nbytes);
}

const unsigned char *set_steady_kept(const struct process_set *set, int rank, uint32_t number,
                                     size_t *nbytes)
{
    const struct steady_kept *kept = steady_kept_at(set, rank, number);
    *nbytes = kept->nbytes;
    return kept->data;
}

void *set_steady_place(struct process_set *set, uint32_t number)
{
    return steady_kept_at(set, set->rank, number)->data;
}

/* ---- receiving ---- */

/* A frame may come before this rank has the schedule: the frame is compared with the schedule when
 * the operation is done. */
static int receive_commitment(struct process_set *set, int from, struct wire_reader *reader,
                              struct err *err)
{
    uint32_t epoch = wire_get_u32(reader), number = wire_get_u32(reader);
    uint32_t digest = wire_get_u32(reader);
    size_t nbytes = reader->left;
    if (reader->failed || nbytes > STEADY_DATA_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "a frame of a steady state has a wrong length");
    int rc = steady_receive(&set->steady.state, from, epoch, number, err);
    if (rc == HVD_OK)
        rc = set_steady_make_kept(set, err);
    if (rc < 0)
        return rc;
    struct steady_kept *kept = steady_kept_at(set, from, number);
    kept->digest = digest;
    kept->nbytes = (uint32_t)nbytes;
    kept->is_sent = false;
    copy_cached(kept->data, wire_get_bytes(reader, nbytes), nbytes);
    return HVD_OK;
}

int set_steady_receive(struct process_set *set, int from, const struct frame *frame,
                       struct err *err)
{
    struct wire_reader reader;
    if (set->ended.code != HVD_OK)
        return HVD_OK;
    if (set->size > STEADY_RANKS_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "a set of %d ranks has no steady state", set->size);
    if (frame->type == TREE_SENT)
        return set_steady_receive_sent(set, from, frame, err);
    wire_reader_init(&reader, frame->body, frame->length);
    if (frame->type == TREE_STEADY)
        return receive_commitment(set, from, &reader, err);
    uint32_t epoch = wire_get_u32(&reader), number = wire_get_u32(&reader);
    if (!wire_reader_finished(&reader))
        return fail(err, HVD_ERR_PROTOCOL, "a frame of a steady state has a wrong length");
    int rc = steady_receive_leave(&set->steady.state, from, epoch, number, err);
    if (rc > 0)
        set_steady_leave(set);
    return rc < 0 ? rc : HVD_OK;
}

/* ---- when all ranks have committed ---- */

int set_steady_check(const struct process_set *set, uint32_t number, size_t nbytes, struct err *err)
{
    uint32_t digest = steady_operation_at(set, number)->digest;
    for (int rank = 0; rank < set->size; rank++) {
        const struct steady_kept *kept = steady_kept_at(set, rank, number);
        if (rank != set->rank && (kept->is_sent || kept->digest != digest ||
                                  (nbytes != SIZE_MAX && kept->nbytes != nbytes)))
            return fail(err, HVD_ERR_PROTOCOL,
                        "rank %d takes operation %u of a steady state for another one",
                        set->ranks[rank], number);
    }
    return HVD_OK;
}

int set_steady_copy(const struct process_set *set, int rank, uint32_t number, void *out,
                    size_t nbytes, struct err *err)
{
    const struct steady_kept *kept = steady_kept_at(set, rank, number);
    if (kept->nbytes != nbytes)
        return fail(err, HVD_ERR_PROTOCOL, "rank %d gave %u bytes, not %zu", set->ranks[rank],
                    kept->nbytes, nbytes);
    copy_cached(out, kept->data, nbytes);
    return HVD_OK;
}

/* In order of rank, as contribution_reduce() does. Only the last step writes to `out`, after the
 * own data has been read. */
void set_steady_reduce(const struct process_set *set, const struct description *description,
                       size_t count, uint32_t number, const void *own, void *out)
{
    reduce_fn *reduce = reduce_function(description->dtype, description->op);
    alignas(64) unsigned char sum[INLINE_MAX];
    const void *left = set->rank == 0 ? own : steady_kept_at(set, 0, number)->data;
    for (int rank = 1; rank < set->size; rank++) {
        const void *data = rank == set->rank ? own : steady_kept_at(set, rank, number)->data;
        void *to = rank == set->size - 1 ? out : sum;
        if (to == out && description->op == HVD_AVERAGE)
            divide_function(description->dtype)(to, left, data, count, set->size);
        else
            reduce(to, left, data, count);
        left = to;
    }
}
