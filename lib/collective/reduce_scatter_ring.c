/* SPDX-License-Identifier: Apache-2.0 */
/* Reduce-scatter: partial results travel around the ring, and every rank adds its own operands to
 * each partial result that it receives; rank r ends up with its share of the rows.
 *
 * Partial results wait until they are passed on. In place, they wait in the input, and the result
 * is moved to the front at the end, because the front holds data to send before. Otherwise they
 * wait in scratch memory as large as the input, of which all but two chunks are touched. (Two
 * chunks in turn would suffice if the link could wait; see ring_flow.h.) Two ranks need no scratch
 * memory. */
#include "lib/collective/ring.h"
#include "lib/collective/ring_schedule.h"

static size_t own_size(const struct ring *ring, const struct operation_task *task)
{
    return ring->bounds[task->rank + 1] - ring->bounds[task->rank];
}

static void work_in_input(struct ring *ring, const struct operation_task *task)
{
    unsigned char *memory = task->output;
    ring->flow.memory = memory;
    ring_reduce(ring, task, memory ? memory + ring->bounds[task->rank] : NULL);
    if (task->rank == 0)
        return;
    ring->last_move =
        (struct last_move){ memory, ring->flow.reduction.result, own_size(ring, task) };
}

static int work_in_scratch(struct ring *ring, const struct operation_task *task, struct err *err)
{
    size_t nbytes = ring->bounds[task->size];
    if (task->size > 2 && !(ring->scratch = operation_alloc(ring->store, nbytes)))
        return fail(err, HVD_ERR_NOMEM, "no memory for %zu bytes of partial sums", nbytes);
    ring->flow.memory = ring->scratch;
    ring_reduce(ring, task, task->output);
    return HVD_OK;
}

struct operation *reduce_scatter_ring_start(struct operation_store *store,
                                            const struct operation_task *task, struct err *err)
{
    struct ring *ring = ring_create(store, task, task->size, err);
    if (!ring)
        return NULL;
    ring_cut(ring, (size_t)task->rows, task->row_count * dtype_size((int)task->dtype));
    if (task->output == task->input) {
        work_in_input(ring, task);
    } else if (work_in_scratch(ring, task, err) < 0) {
        operation_free(store, ring);
        return NULL;
    }
    return ring_begin(ring);
}
