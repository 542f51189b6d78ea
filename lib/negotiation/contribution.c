/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks gave, put together; see contribution.h. */
#include "lib/negotiation/contribution.h"

#include "lib/reduce/reduce.h"

#include <string.h>

bool description_is_reduction(const struct description *description)
{
    return (description->kind == COLLECTIVE_ALLREDUCE && description->op != HVD_ADASUM) ||
           description->kind == COLLECTIVE_REDUCESCATTER;
}

bool description_can_join(const struct description *description)
{
    return (description->kind == COLLECTIVE_ALLREDUCE && description->op != HVD_ADASUM) ||
           description->kind == COLLECTIVE_BARRIER;
}

size_t contribution_total(const struct pending *entry)
{
    size_t total = 0;
    for (int i = 0; i < CONTRIBUTORS_MAX; i++)
        total += entry->parts[i].nbytes;
    return total;
}

static uint32_t length_at(const unsigned char *lengths, size_t rank)
{
    const unsigned char *at = lengths + 4 * rank;
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t cut(uint32_t length, bool whole)
{
    return whole || length < ROWS_BYTES ? length : ROWS_BYTES;
}

static void put_zeros(struct wire_writer *writer, size_t nranks)
{
    for (size_t i = 0; i < nranks; i++)
        wire_put_u32(writer, 0);
}

static void put_lengths(struct wire_writer *writer, const struct part *part, size_t nranks,
                        bool whole)
{
    if (!part->bytes)
        put_zeros(writer, nranks);
    else if (whole)
        wire_put_bytes(writer, part->bytes, 4 * nranks);
    else
        for (size_t i = 0; i < nranks; i++)
            wire_put_u32(writer, cut(length_at(part->bytes, i), false));
}

static void put_bodies(struct wire_writer *writer, const struct part *part, size_t nranks,
                       bool whole)
{
    if (!part->bytes)
        return;
    const unsigned char *body = part->bytes + 4 * nranks;
    if (whole) {
        wire_put_bytes(writer, body, part->nbytes);
        return;
    }
    for (size_t i = 0; i < nranks; i++) {
        wire_put_bytes(writer, body, cut(length_at(part->bytes, i), false));
        body += length_at(part->bytes, i);
    }
}

static size_t child_ranks(const struct tree_position *tree, int index)
{
    return (size_t)(tree_child_end(tree, index) - tree->children[index]);
}

void contribution_put_list(struct wire_writer *writer, const struct pending *entry,
                           const struct tree_position *tree, bool whole)
{
    uint32_t own = cut((uint32_t)entry->parts[0].nbytes, whole);
    wire_put_u32(writer, own);
    for (int i = 0; i < tree->nchildren; i++)
        put_lengths(writer, &entry->parts[i + 1], child_ranks(tree, i), whole);
    wire_put_bytes(writer, entry->parts[0].bytes, own);
    for (int i = 0; i < tree->nchildren; i++)
        put_bodies(writer, &entry->parts[i + 1], child_ranks(tree, i), whole);
}

const unsigned char *contribution_get_list(struct wire_reader *reader, size_t nranks,
                                           size_t *nbytes)
{
    uint64_t total = 0;
    const unsigned char *lengths = wire_get_bytes(reader, 4 * nranks);
    for (size_t i = 0; lengths && i < nranks; i++)
        total += length_at(lengths, i);
    *nbytes = (size_t)total;
    return lengths && wire_get_bytes(reader, *nbytes) ? lengths : NULL;
}

/* Elements of a tensor with its zeros, some at a time. */
static const unsigned char zeros[1024];

static void reduce_zeros(unsigned char *bytes, const struct description *description)
{
    reduce_fn *reduce = reduce_function(description->dtype, description->op);
    size_t size = dtype_size((int)description->dtype), count = shape_count(&description->shape);
    for (size_t chunk; count > 0; count -= chunk, bytes += chunk * size) {
        chunk = count < sizeof zeros / size ? count : sizeof zeros / size;
        reduce(bytes, bytes, zeros, chunk);
    }
}

static void divide(unsigned char *bytes, const struct part *last,
                   const struct description *description, int divisor)
{
    divide_fn *divide_all = divide_function(description->dtype);
    size_t size = dtype_size((int)description->dtype), count = shape_count(&description->shape);
    if (last) {
        divide_all(bytes, bytes, last->bytes, count, divisor);
        return;
    }
    for (size_t chunk; count > 0; count -= chunk, bytes += chunk * size) {
        chunk = count < sizeof zeros / size ? count : sizeof zeros / size;
        divide_all(bytes, bytes, zeros, chunk, divisor);
    }
}

const unsigned char *contribution_reduce(struct pending *entry,
                                         const struct description *description, int size,
                                         bool absent)
{
    bool average = size > 0 && description->op == HVD_AVERAGE;
    reduce_fn *reduce = reduce_function(description->dtype, description->op);
    size_t count = shape_count(&description->shape);
    unsigned char *result = NULL;
    const struct part *last = NULL; /* not combined yet */
    for (int i = 0; i < CONTRIBUTORS_MAX; i++) {
        const struct part *part = &entry->parts[i];
        if (!part->bytes)
            continue;
        if (last)
            reduce(result, result, last->bytes, count);
        last = result ? part : NULL;
        result = result ? result : part->bytes;
    }
    if (result && average)
        divide(result, last, description, size);
    else if (result && last)
        reduce(result, result, last->bytes, count);
    bool zeros_matter =
        description->op == HVD_MIN || description->op == HVD_MAX || description->op == HVD_PRODUCT;
    if (result && absent && size > 0 && zeros_matter)
        reduce_zeros(result, description);
    return result;
}
