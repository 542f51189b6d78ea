/* SPDX-License-Identifier: Apache-2.0 */
/* Combined contributions of ranks; see contribution.h. */
#include "lib/negotiation/contribution.h"

#include "lib/reduce/reduce.h"

#include <string.h>

bool description_can_join(const struct description *description)
{
    return (description->kind == COLLECTIVE_ALLREDUCE && description->op != HVD_ADASUM) ||
           description->kind == COLLECTIVE_BARRIER;
}

bool description_can_be_steady(const struct description *description)
{
    return description_is_reduction(description) || description->kind == COLLECTIVE_BROADCAST ||
           collective_has_own_rows(description->kind) || description->kind == COLLECTIVE_BARRIER;
}

size_t contribution_total(const struct pending *entry)
{
    size_t total = 0;
    for (unsigned filled = entry->filled; filled != 0; filled &= filled - 1)
        total += entry->parts[__builtin_ctz(filled)].nbytes;
    return total;
}

static uint32_t length_at(const unsigned char *lengths, size_t rank)
{
    const unsigned char *at = lengths + 4 * rank;
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

size_t contribution_rows_bytes(enum collective_kind kind, int size)
{
    if (kind == COLLECTIVE_ALLTOALL)
        return ROWS_BYTES * (size_t)size;
    return kind == COLLECTIVE_ALLGATHER ? ROWS_BYTES : 0;
}

size_t contribution_list_most(enum collective_kind kind, int size, bool complete)
{
    return complete || !collective_has_own_rows(kind) ? SIZE_MAX
                                                      : contribution_rows_bytes(kind, size);
}

static uint32_t contribution_cut(uint32_t length, size_t most)
{
    return length < most ? length : (uint32_t)most;
}

static void put_zeros(struct wire_writer *writer, size_t nranks)
{
    for (size_t i = 0; i < nranks; i++)
        wire_put_u32(writer, 0);
}

static void put_lengths(struct wire_writer *writer, struct part part, size_t nranks, size_t most)
{
    if (!part.bytes)
        put_zeros(writer, nranks);
    else if (most == SIZE_MAX)
        wire_put_bytes(writer, part.bytes, 4 * nranks);
    else
        for (size_t i = 0; i < nranks; i++)
            wire_put_u32(writer, contribution_cut(length_at(part.bytes, i), most));
}

static void put_bodies(struct wire_writer *writer, struct part part, size_t nranks, size_t most)
{
    if (!part.bytes)
        return;
    const unsigned char *body = part.bytes + 4 * nranks;
    if (most == SIZE_MAX) {
        wire_put_bytes(writer, body, part.nbytes);
        return;
    }
    for (size_t i = 0; i < nranks; i++) {
        wire_put_bytes(writer, body, contribution_cut(length_at(part.bytes, i), most));
        body += length_at(part.bytes, i);
    }
}

static size_t child_ranks(const struct tree_position *tree, int index)
{
    return (size_t)(tree_child_end(tree, index) - tree->children[index]);
}

/* A rank without bytes has no rows. */
static uint64_t rows_at(const unsigned char *bytes, size_t nbytes)
{
    struct wire_reader reader;
    wire_reader_init(&reader, bytes, nbytes);
    return nbytes < ROWS_BYTES ? 0 : wire_get_u64(&reader);
}

static uint64_t part_rows(struct part part, size_t nranks)
{
    uint64_t rows = 0;
    const unsigned char *body = part.bytes ? part.bytes + 4 * nranks : NULL;
    for (size_t i = 0; body && i < nranks; i++) {
        size_t nbytes = length_at(part.bytes, i);
        rows += rows_at(body, nbytes);
        body += nbytes;
    }
    return rows;
}

uint64_t contribution_rows(const struct pending *entry, const struct tree_position *tree)
{
    struct part own = pending_part(entry, 0);
    uint64_t rows = own.bytes ? rows_at(own.bytes, own.nbytes) : 0;
    for (int i = 0; i < tree->nchildren; i++)
        rows += part_rows(pending_part(entry, i + 1), child_ranks(tree, i));
    return rows;
}

/* The greatest of the numbers that begin a rank's contribution, which has `numbers` bytes of
 * them. */
static uint64_t most_rows_at(const unsigned char *bytes, size_t nbytes, size_t numbers)
{
    uint64_t most = 0;
    struct wire_reader reader;
    wire_reader_init(&reader, bytes, nbytes < numbers ? nbytes : numbers);
    while (reader.left >= ROWS_BYTES) {
        uint64_t rows = wire_get_u64(&reader);
        most = rows > most ? rows : most;
    }
    return most;
}

uint64_t contribution_most_rows(const struct pending *entry, const struct tree_position *tree,
                                enum collective_kind kind, int size)
{
    struct part own = pending_part(entry, 0);
    size_t numbers = contribution_rows_bytes(kind, size);
    uint64_t most = own.bytes ? most_rows_at(own.bytes, own.nbytes, numbers) : 0;
    for (int i = 0; i < tree->nchildren; i++) {
        struct part part = pending_part(entry, i + 1);
        size_t nranks = child_ranks(tree, i);
        const unsigned char *body = part.bytes ? part.bytes + 4 * nranks : NULL;
        for (size_t k = 0; body && k < nranks; k++) {
            size_t nbytes = length_at(part.bytes, k);
            uint64_t rows = most_rows_at(body, nbytes, numbers);
            most = rows > most ? rows : most;
            body += nbytes;
        }
    }
    return most;
}

void contribution_put_list(struct wire_writer *writer, const struct pending *entry,
                           const struct tree_position *tree, size_t most)
{
    struct part own = pending_part(entry, 0);
    uint32_t own_nbytes = contribution_cut((uint32_t)own.nbytes, most);
    wire_put_u32(writer, own_nbytes);
    for (int i = 0; i < tree->nchildren; i++)
        put_lengths(writer, pending_part(entry, i + 1), child_ranks(tree, i), most);
    wire_put_bytes(writer, own.bytes, own_nbytes);
    for (int i = 0; i < tree->nchildren; i++)
        put_bodies(writer, pending_part(entry, i + 1), child_ranks(tree, i), most);
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

/* Elements of a tensor of zeros, some at a time. */
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
    unsigned filled = entry->filled;
    if (filled == 0)
        return NULL;
    unsigned char *result = entry->parts[__builtin_ctz(filled)].bytes;
    reduce_fn *reduce = reduce_function(description->dtype, description->op);
    size_t count = shape_count(&description->shape);
    const struct part *last = NULL; /* not combined yet */
    for (filled &= filled - 1; filled != 0; filled &= filled - 1) {
        if (last)
            reduce(result, result, last->bytes, count);
        last = &entry->parts[__builtin_ctz(filled)];
    }
    if (size > 0 && description->op == HVD_AVERAGE)
        divide(result, last, description, size);
    else if (last)
        reduce(result, result, last->bytes, count);
    else if (size > 0)
        reduce_single(result, result, count, description->dtype);
    bool zeros_matter =
        description->op == HVD_MIN || description->op == HVD_MAX || description->op == HVD_PRODUCT;
    if (absent && size > 0 && zeros_matter)
        reduce_zeros(result, description);
    return result;
}
