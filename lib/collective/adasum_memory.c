/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of an Adasum; see adasum_impl.h. */
#include "lib/collective/adasum_impl.h"

static struct area whole(const struct adasum *adasum, const unsigned char *data)
{
    return (struct area){ (unsigned char *)data, adasum->count * adasum->element_size };
}

struct area adasum_part(const struct adasum *adasum, const unsigned char *vector, int rank,
                        int levels)
{
    struct adasum_piece piece = adasum_piece(adasum->count, rank, levels);
    return (struct area){ (unsigned char *)vector + piece.start * adasum->element_size,
                          piece.count * adasum->element_size };
}

/* The number of elements in the halves of the levels below `level`. */
static size_t halves_of_lower_levels(size_t count, int rank, int level)
{
    size_t sum = 0;
    for (int below = 0; below < level; below++)
        sum += adasum_piece(count, rank, below + 1).count;
    return sum;
}

struct area adasum_half(const struct adasum *adasum, int level)
{
    size_t below =
        halves_of_lower_levels(adasum->count, adasum->rank, level) * adasum->element_size;
    return (struct area){ adasum->halves + below,
                          adasum_part(adasum, adasum->halves, adasum->rank, level + 1).nbytes };
}

struct area adasum_outgoing(struct adasum *adasum)
{
    struct adasum_step step = adasum->step;
    bool extra = adasum_is_extra(adasum->rank, adasum->size);
    switch (step.phase) {
    case ADASUM_FOLD:
        return extra ? whole(adasum, adasum->input) : (struct area){ NULL, 0 };
    case ADASUM_HALVE:
        return adasum_part(adasum, adasum->vector, adasum_peer(step, adasum->rank, adasum->size),
                           step.level + 1);
    case ADASUM_SUM:
        return (struct area){ (unsigned char *)&adasum->sums, sizeof adasum->sums };
    case ADASUM_SPREAD:
        return adasum_part(adasum, adasum->output, adasum->rank, step.level + 1);
    case ADASUM_UNFOLD:
        return extra ? (struct area){ NULL, 0 } : whole(adasum, adasum->output);
    default:
        return (struct area){ NULL, 0 };
    }
}

struct adasum_sums *adasum_heard(const struct adasum *adasum, struct adasum_step step)
{
    return &adasum->heard[step.level * adasum->levels + step.round];
}

struct area adasum_awaited(const struct adasum *adasum, struct adasum_step step)
{
    bool extra = adasum_is_extra(adasum->rank, adasum->size);
    switch (step.phase) {
    case ADASUM_FOLD:
        return extra ? (struct area){ NULL, 0 } : whole(adasum, adasum->folded);
    case ADASUM_HALVE:
        return adasum_half(adasum, step.level);
    case ADASUM_SUM:
        return (struct area){ (unsigned char *)adasum_heard(adasum, step), sizeof *adasum->heard };
    case ADASUM_SPREAD:
        return adasum_part(adasum, adasum->output, adasum_peer(step, adasum->rank, adasum->size),
                           step.level + 1);
    case ADASUM_UNFOLD:
        return extra ? whole(adasum, adasum->output) : (struct area){ NULL, 0 };
    default:
        return (struct area){ NULL, 0 };
    }
}

/* How the block of memory is divided, in bytes. */
struct layout {
    size_t incoming, heard, halves, folded, end;
};

static struct layout lay_out(const struct operation_task *task)
{
    bool extra = adasum_is_extra(task->rank, task->size);
    bool is_given = !extra && task->rank + adasum_core_size(task->size) < task->size;
    size_t levels = (size_t)adasum_levels(task->size);
    size_t element_size = dtype_size((int)task->dtype);
    size_t halves = extra ? 0 : halves_of_lower_levels(task->count, task->rank, (int)levels);
    struct layout layout = { .incoming = operation_align(sizeof(struct adasum)) };
    layout.heard = layout.incoming + operation_align((levels + 1) * sizeof(struct incoming));
    layout.halves = layout.heard + operation_align(levels * levels * sizeof(struct adasum_sums));
    layout.folded = layout.halves + operation_align(halves * element_size);
    layout.end = layout.folded;
    if (is_given && task->input == task->output)
        layout.end += operation_align(task->count * element_size);
    return layout;
}

struct adasum *adasum_create(struct operation_store *store, const struct operation_task *task)
{
    const struct layout layout = lay_out(task);
    unsigned char *memory = operation_alloc(store, layout.end);
    if (!memory)
        return NULL;
    struct adasum *adasum = (void *)memory;
    *adasum = (struct adasum){
        .rank = task->rank,
        .size = task->size,
        .levels = adasum_levels(task->size),
        .count = task->count,
        .element_size = dtype_size((int)task->dtype),
        .math = adasum_math(task->dtype),
        .input = task->input,
        .output = task->output,
        .vector = task->input,
        .incoming = (void *)(memory + layout.incoming),
        .heard = (void *)(memory + layout.heard),
        .halves = memory + layout.halves,
        .folded = task->input == task->output ? memory + layout.folded : task->output,
    };
    return adasum;
}
