/* SPDX-License-Identifier: Apache-2.0 */
/* The motion of an Adasum; see adasum.h. */
#include "lib/collective/adasum.h"

#include "lib/collective/adasum_math.h"
#include "lib/collective/adasum_schedule.h"
#include "lib/collective/operation_impl.h"

#include <assert.h>

enum { DOT_BLOCK = 8192 }; /* elements */

/* One direction of a step. */
struct transfer {
    unsigned char *data; /* not written to when it goes out */
    size_t nbytes, done;
};

struct adasum {
    struct operation operation; /* first */
    int rank, size;
    size_t count, element_size;
    const struct adasum_math *math;
    const unsigned char *input;
    unsigned char *output;
    unsigned char *scratch;      /* the peer's part of a fold, or of a halving */
    const unsigned char *vector; /* what this rank's group has so far: the input, then the output */
    struct adasum_step step;     /* moved by advance() only */
    struct transfer out, in;     /* of this step */
    size_t dotted;               /* elements of `in` that are in `sums` */
    struct adasum_sums sums;     /* of the level, as far as this rank knows */
    struct adasum_sums from_peer; /* in a sum */
};

static struct transfer whole(const struct adasum *adasum, const unsigned char *data)
{
    return (struct transfer){ (unsigned char *)data, adasum->count * adasum->element_size, 0 };
}

/* What `rank` has after `levels` levels. */
static struct transfer part(const struct adasum *adasum, const unsigned char *vector, int rank,
                            int levels)
{
    struct adasum_piece piece = adasum_piece(adasum->count, rank, levels);
    return (struct transfer){ (unsigned char *)vector + piece.start * adasum->element_size,
                              piece.count * adasum->element_size, 0 };
}

static struct transfer numbers(struct adasum_sums *sums)
{
    return (struct transfer){ (unsigned char *)sums, sizeof *sums, 0 };
}

/* What the step sends, and where what it receives goes. */
static void begin_step(struct adasum *adasum)
{
    struct adasum_step step = adasum->step;
    bool extra = adasum_is_extra(adasum->rank, adasum->size);
    int peer = adasum_peer(step, adasum->rank, adasum->size), levels = step.level + 1;
    adasum->out = adasum->in = (struct transfer){ NULL, 0, 0 };
    switch (step.phase) {
    case ADASUM_FOLD:
        if (extra)
            adasum->out = whole(adasum, adasum->input);
        else
            adasum->in = whole(adasum, adasum->scratch);
        break;
    case ADASUM_HALVE:
        adasum->out = part(adasum, adasum->vector, peer, levels);
        adasum->in = part(adasum, adasum->vector, adasum->rank, levels);
        adasum->in.data = adasum->scratch;
        break;
    case ADASUM_SUM:
        adasum->out = numbers(&adasum->sums);
        adasum->in = numbers(&adasum->from_peer);
        break;
    case ADASUM_SPREAD:
        adasum->out = part(adasum, adasum->output, adasum->rank, levels);
        adasum->in = part(adasum, adasum->output, peer, levels);
        break;
    case ADASUM_UNFOLD:
        if (extra)
            adasum->in = whole(adasum, adasum->output);
        else
            adasum->out = whole(adasum, adasum->output);
        break;
    case ADASUM_DONE:
        break;
    }
}

/* The two operands of a fold or a level, and where their combination goes. */
struct operands {
    const unsigned char *a, *b;
    unsigned char *out;
    size_t count;
};

static struct operands operands(const struct adasum *adasum)
{
    struct adasum_step step = adasum->step;
    bool folding = step.phase == ADASUM_FOLD;
    struct adasum_piece piece =
        adasum_piece(adasum->count, adasum->rank, folding ? 0 : step.level + 1);
    size_t offset = piece.start * adasum->element_size;
    const unsigned char *own = adasum->vector + offset;
    bool low = folding || adasum_is_low(adasum->rank, step.level);
    return (struct operands){ low ? own : adasum->scratch, low ? adasum->scratch : own,
                              adasum->output + offset, piece.count };
}

/* Takes the dot products of all blocks that have come completely. */
static void take_dots(struct adasum *adasum)
{
    const struct operands of = operands(adasum);
    size_t received = adasum->in.done / adasum->element_size;
    while (adasum->dotted < of.count) {
        size_t missing = of.count - adasum->dotted;
        size_t n = missing < DOT_BLOCK ? missing : DOT_BLOCK;
        if (received < adasum->dotted + n)
            return;
        size_t offset = adasum->dotted * adasum->element_size;
        struct adasum_sums sums = adasum->math->dot(of.a + offset, of.b + offset, n);
        adasum->sums = adasum_add(&adasum->sums, &sums);
        adasum->dotted += n;
    }
}

static void combine(struct adasum *adasum)
{
    const struct operands of = operands(adasum);
    adasum->math->combine(of.out, of.a, of.b, of.count, adasum_factors(&adasum->sums));
    adasum->vector = adasum->output;
    adasum->sums = (struct adasum_sums){ 0, 0, 0 };
    adasum->dotted = 0;
}

/* The lower rank's numbers are the left ones, on both sides. */
static void add_sums(struct adasum *adasum)
{
    bool low = adasum_is_low(adasum->rank, adasum->step.round);
    adasum->sums = low ? adasum_add(&adasum->sums, &adasum->from_peer)
                       : adasum_add(&adasum->from_peer, &adasum->sums);
}

/* What a step gives once everything has been sent and received. */
static void finish_step(struct adasum *adasum)
{
    if (adasum->step.phase == ADASUM_SUM)
        add_sums(adasum);
    bool summed = adasum->step.phase == ADASUM_SUM && adasum->step.round == adasum->step.level;
    bool folded = adasum->step.phase == ADASUM_FOLD && adasum->scratch;
    if (summed || folded)
        combine(adasum);
}

static bool step_over(const struct adasum *adasum)
{
    return adasum->out.done == adasum->out.nbytes && adasum->in.done == adasum->in.nbytes;
}

static void advance(struct adasum *adasum)
{
    while (adasum->step.phase != ADASUM_DONE && step_over(adasum)) {
        finish_step(adasum);
        adasum->step = adasum_next_step(adasum->step, adasum->rank, adasum->size);
        begin_step(adasum);
    }
}

static bool is_peer(const struct adasum *adasum, int peer)
{
    return peer == adasum_peer(adasum->step, adasum->rank, adasum->size);
}

/* What is left of a transfer. */
static void *rest(const struct adasum *adasum, const struct transfer *transfer, int peer,
                  size_t *nbytes)
{
    *nbytes = is_peer(adasum, peer) ? transfer->nbytes - transfer->done : 0;
    return *nbytes > 0 ? transfer->data + transfer->done : NULL;
}

static const void *adasum_output(struct operation *operation, int peer, size_t *nbytes)
{
    const struct adasum *adasum = (const struct adasum *)operation;
    return rest(adasum, &adasum->out, peer, nbytes);
}

static void adasum_sent(struct operation *operation, int peer, size_t nbytes)
{
    struct adasum *adasum = (struct adasum *)operation;
    assert(is_peer(adasum, peer) && nbytes <= adasum->out.nbytes - adasum->out.done);
    (void)peer;
    adasum->out.done += nbytes;
    advance(adasum);
}

static void *adasum_space(struct operation *operation, int peer, size_t *nbytes)
{
    const struct adasum *adasum = (const struct adasum *)operation;
    return rest(adasum, &adasum->in, peer, nbytes);
}

static int adasum_received(struct operation *operation, int peer, size_t nbytes, struct err *err)
{
    struct adasum *adasum = (struct adasum *)operation;
    if (!is_peer(adasum, peer) || nbytes > adasum->in.nbytes - adasum->in.done)
        return fail(err, HVD_ERR_PROTOCOL, "%zu bytes of an Adasum that are not its turn", nbytes);
    adasum->in.done += nbytes;
    if (adasum->step.phase == ADASUM_FOLD || adasum->step.phase == ADASUM_HALVE)
        take_dots(adasum);
    advance(adasum);
    return HVD_OK;
}

static bool adasum_done(const struct operation *operation)
{
    return ((const struct adasum *)operation)->step.phase == ADASUM_DONE;
}

static const struct operation_type adasum_type = {
    .algorithm = "recursive halving",
    .output = adasum_output,
    .sent = adasum_sent,
    .space = adasum_space,
    .received = adasum_received,
    .done = adasum_done,
};

/* In elements. */
static size_t scratch_count(const struct operation_task *task, struct adasum_step first)
{
    if (adasum_is_extra(task->rank, task->size))
        return 0;
    return first.phase == ADASUM_FOLD ? task->count
                                      : adasum_piece(task->count, task->rank, 1).count;
}

enum {
    HEAD = (sizeof(struct adasum) + OPERATION_ALIGNMENT - 1) / OPERATION_ALIGNMENT *
           OPERATION_ALIGNMENT
};

struct operation *adasum_start(struct operation_store *store, const struct operation_task *task,
                               struct err *err)
{
    const struct adasum_step first = adasum_first_step(task->rank, task->size);
    const size_t element_size = dtype_size((int)task->dtype);
    const size_t nbytes = scratch_count(task, first) * element_size;
    struct adasum *adasum = operation_alloc(store, HEAD + nbytes);
    if (!adasum) {
        fail(err, HVD_ERR_NOMEM, "out of memory for an Adasum of %zu elements", task->count);
        return NULL;
    }
    *adasum = (struct adasum){ .operation.type = &adasum_type,
                               .rank = task->rank,
                               .size = task->size,
                               .count = task->count,
                               .element_size = element_size,
                               .math = adasum_math(task->dtype),
                               .input = task->input,
                               .output = task->output,
                               .vector = task->input,
                               .step = first };
    if (!adasum_is_extra(task->rank, task->size))
        adasum->scratch = (unsigned char *)adasum + HEAD;
    begin_step(adasum);
    advance(adasum);
    return &adasum->operation;
}
