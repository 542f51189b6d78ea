/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of batches on devices: which may be copied to the host now, which have come back,
 * and what is left to do when they have failed; see stage_impl.h. */
#include "lib/engine/engine_impl.h"

#include "lib/engine/trace.h"

#include <stddef.h>

uint64_t stage_drain_ns = 2000000000ull;

#define LACKING_NS 10000000000ull

_Static_assert((int)DEVICE_BUFFERS_LEAST >= (int)STAGES_MAX, "what has a place has memory");

/* ---- lists ---- */

void batch_list_append(struct batch_list *list, struct batch *batch)
{
    batch->next = NULL;
    if (list->last)
        list->last->next = batch;
    else
        list->first = batch;
    list->last = batch;
}

struct batch *batch_list_take(struct batch_list *list)
{
    struct batch *batch = list->first;
    list->first = batch->next;
    if (!list->first)
        list->last = NULL;
    return batch;
}

/* ---- copying to the host ---- */

static bool has_own(const struct batch *batch)
{
    for (int i = 0; i < batch->count; i++)
        if (batch->tensors[i].own)
            return true;
    return false;
}

bool stage_queue(struct process_set *set, struct batch *batch)
{
    set->stages.count++;
    batch->stage.step = has_own(batch) ? STAGE_QUEUED : STAGE_HERE;
    if (batch->description.memory != MEMORY_DEVICE_REDUCES)
        return false;
    batch_list_append(&set->stages.reducing, batch);
    return true;
}

void stage_leave(struct process_set *set, struct batch *batch)
{
    set->stages.count--;
    set->stages.places -= batch->stage.has_place;
    batch->stage = (struct stage){ .step = STAGE_NONE };
}

int stage_context(const struct batch *batch, struct err *err)
{
    const struct tensor *own = NULL;
    for (int i = 0; i < batch->count && !own; i++)
        own = batch->tensors[i].own;
    return engine_context(batch->description.kind, own ? own->name : NULL, err);
}

/* True if no batch before this one will give back memory that it needs. */
static bool is_alone(const struct process_set *set, const struct batch *batch)
{
    return batch == set->batches.queue && set->batches.window.first == set->batches.window.end &&
           !set->stages.returning.first;
}

static bool may_wait(const struct process_set *set, struct batch *batch)
{
    uint64_t now = monotonic_ns();
    if (batch->stage.lacking_since_ns == 0)
        batch->stage.lacking_since_ns = now;
    return !is_alone(set, batch) && now - batch->stage.lacking_since_ns < LACKING_NS;
}

static int come(struct process_set *set, struct batch *batch, struct err *err)
{
    int rc = 0;
    if (batch->stage.step == STAGE_QUEUED) {
        rc = stage_begin_in(batch, err);
        if (rc > 0)
            trace_stage(batch, PHASE_IN);
    } else if (batch->stage.step == STAGE_COMING) {
        rc = stage_move_in(batch, err);
    }
    if (rc == HVD_ERR_NOMEM && may_wait(set, batch))
        return 0;
    batch->stage.lacking_since_ns = 0;
    return rc < 0 ? stage_context(batch, err) : rc;
}

/* Batches get a place in order of the queue, before they wait for anything. */
static bool has_place(struct process_set *set, struct batch *batch)
{
    if (!batch->stage.has_place && set->stages.places == STAGES_MAX)
        return false;
    set->stages.places += !batch->stage.has_place;
    return batch->stage.has_place = true;
}

static int come_all(struct process_set *set, struct err *err)
{
    int moved = 0;
    for (struct batch *batch = set->batches.queue; batch; batch = batch->next) {
        if (batch->stage.step == STAGE_NONE)
            continue;
        if (!has_place(set, batch))
            break;
        int rc = come(set, batch, err);
        if (rc < 0)
            return rc;
        moved |= rc;
    }
    return moved;
}

/* ---- copying back ---- */

/* Nothing uses the batch's tensors any more. */
static void stage_finish(struct process_set *set, struct batch *batch, bool quiet)
{
    stage_free(batch, quiet); /* without tensors in flight the device may be unregistered */
    for (int i = 0; i < batch->count; i++)
        if (batch->tensors[i].own)
            complete_part(batch->tensors[i].own, batch);
    batch_release(set, batch);
}

static bool is_over(struct batch *batch)
{
    return batch->stage.step == STAGE_GOING ? stage_move_out(batch) : stage_is_quiet(batch);
}

static int return_all(struct process_set *set)
{
    struct batch_list batches = set->stages.returning;
    int moved = 0;
    set->stages.returning = (struct batch_list){ 0 };
    while (batches.first) {
        struct batch *batch = batch_list_take(&batches);
        if (!is_over(batch)) {
            batch_list_append(&set->stages.returning, batch);
            continue;
        }
        stage_finish(set, batch, true);
        moved = 1;
    }
    if (!set->stages.returning.first)
        set->stages.drain_until_ns = 0;
    return moved;
}

void stage_return(struct process_set *set, struct batch *batch)
{
    trace_stage(batch, PHASE_OUT);
    batch->stage.step = STAGE_GOING;
    if (stage_begin_out(batch))
        stage_finish(set, batch, true);
    else
        batch_list_append(&set->stages.returning, batch);
}

int stage_move(struct process_set *set, struct err *err)
{
    if (set->stages.count == 0)
        return 0;
    int moved = come_all(set, err);
    int rc = moved < 0 ? moved : stage_reduce(set, err);
    if (rc < 0)
        return rc;
    return moved | rc | stage_drain(set);
}

/* ---- the end ---- */

static void doom(struct batch *batch, const struct err *reason)
{
    for (int i = 0; i < batch->count; i++)
        if (batch->tensors[i].own)
            complete_doomed(batch->tensors[i].own, reason);
}

void stage_fail(struct process_set *set, struct batch *batch, const struct err *reason)
{
    doom(batch, reason);
    if (stage_is_quiet(batch)) {
        stage_finish(set, batch, true);
        return;
    }
    batch->stage.step = STAGE_DOOMED;
    batch_list_append(&set->stages.returning, batch);
}

/* Batches that are being copied back still succeed, unless copying takes too long. */
void stage_fail_all(struct process_set *set, const struct err *reason)
{
    while (set->stages.reducing.first)
        stage_fail(set, batch_list_take(&set->stages.reducing), reason);
    if (set->stages.returning.first && set->stages.drain_until_ns == 0)
        set->stages.drain_until_ns = monotonic_ns() + stage_drain_ns;
}

/* The vendor may still use its memory, so this memory stays with the vendor. */
static void stage_give_up(struct process_set *set)
{
    while (set->stages.returning.first) {
        struct err reason;
        struct batch *batch = batch_list_take(&set->stages.returning);
        fail(&reason, HVD_ERR_TIMEOUT, "the device does not finish copying");
        stage_context(batch, &reason);
        doom(batch, &reason);
        stage_finish(set, batch, false);
    }
    set->stages.drain_until_ns = 0;
}

int stage_drain(struct process_set *set)
{
    if (!set->stages.returning.first)
        return 0;
    int moved = return_all(set);
    if (set->stages.drain_until_ns == 0 || monotonic_ns() < set->stages.drain_until_ns)
        return moved;
    stage_give_up(set);
    return 1;
}

bool stage_is_draining(const struct process_set *set)
{
    return set->stages.returning.first;
}

/* ---- when to check again ---- */

uint64_t stage_deadline(const struct process_set *set)
{
    bool waits = set->stages.returning.first || set->stages.reducing.first;
    if (set->stages.count == 0)
        return UINT64_MAX;
    for (const struct batch *batch = set->batches.queue; batch && !waits; batch = batch->next) {
        if (batch->stage.step != STAGE_NONE && !batch->stage.has_place)
            break; /* nor has any batch behind it */
        waits = batch->stage.has_place && batch->stage.step < STAGE_HERE;
    }
    return waits ? monotonic_ns() + STAGE_POLL_NS : UINT64_MAX;
}

/* True if a batch could get a place. */
bool stage_has_work(const struct process_set *set)
{
    if (set->stages.count == 0 || set->stages.places == STAGES_MAX)
        return false;
    for (const struct batch *batch = set->batches.queue; batch; batch = batch->next)
        if (batch->stage.step != STAGE_NONE && !batch->stage.has_place)
            return true;
    return false;
}
