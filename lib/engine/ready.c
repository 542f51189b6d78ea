/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose input a device is still making (hvd_tensor.ready). The engine offers them to the
 * negotiation only after their event has passed on this rank. So the input of every agreed tensor
 * exists, and no tensor is fused with, or queued behind, one whose input does not.
 *
 *   submitted -> (its event has passed) -> offered;   any -> failed with its set
 *
 * A join means that this rank submits nothing more: a join waits for all tensors submitted before
 * it, also for the end of a steady state, which offers its tensors again. Tensors submitted later
 * wait for the join. Devices send no signal when an event has
 * passed, so the thread that moves the set polls the events, LOOKS_MAX at a time, in turn.
 *
 * Fails when an event reports that its device has failed (HVD_ERR_SYSTEM), and when memory is
 * short; both break the world. */
#include "lib/engine/engine_impl.h"

#include "lib/engine/trace.h"

#include <string.h>

enum { LOOKS_MAX = 64 };

static void ready_append(struct tensor_list *list, struct tensor *tensor)
{
    tensor->behind = NULL;
    if (list->last)
        list->last->behind = tensor;
    else
        list->first = tensor;
    list->last = tensor;
    list->count++;
}

static struct tensor *ready_take(struct tensor_list *list)
{
    struct tensor *tensor = list->first;
    list->first = tensor->behind;
    if (!list->first)
        list->last = NULL;
    list->count--;
    return tensor;
}

/* 1 when the input is ready, 0 when not yet, or a negative status. */
static int is_made(struct tensor *tensor, struct err *err)
{
    int rc =
        tensor->ready ? device_passed(tensor->device, tensor->ready, "make the input", err) : 1;
    if (rc > 0)
        tensor->ready = NULL;
    return rc;
}

int ready_offer(struct tensor *tensor, struct err *err)
{
    struct err later;
    struct process_set *set = tensor->set;
    bool is_join = tensor->description.kind == COLLECTIVE_JOIN;
    if (is_join)
        set_steady_leave(set);
    if (set->ready.postponed.first ||
        (is_join && (set->ready.unmade.first || set_is_steady(set)))) {
        ready_append(&set->ready.postponed, tensor);
        return HVD_OK;
    }
    if (is_made(tensor, &later) > 0)
        return submit_offer(tensor, err);
    trace_waits(tensor); /* a failure is seen at the next pass, which breaks the world */
    ready_append(&set->ready.unmade, tensor);
    return HVD_OK;
}

static int ready_look(struct tensor *tensor, struct err *err)
{
    int rc = is_made(tensor, err);
    if (rc < 0)
        return engine_context(tensor->description.kind, tensor->name, err);
    if (rc == 0) {
        ready_append(&tensor->set->ready.unmade, tensor);
        return 0;
    }
    trace_made(tensor);
    rc = submit_offer(tensor, err);
    return rc < 0 ? rc : 1;
}

/* Offers a join, and the tensors behind it. */
static int offer_postponed(struct process_set *set, struct err *err)
{
    struct tensor_list list = set->ready.postponed;
    set->ready.postponed = (struct tensor_list){ 0 };
    while (list.first) {
        int rc = ready_offer(ready_take(&list), err);
        if (rc < 0)
            return rc;
    }
    return 1;
}

int ready_move(struct process_set *set, struct err *err)
{
    int moved = 0,
        looks = set->ready.unmade.count < LOOKS_MAX ? set->ready.unmade.count : LOOKS_MAX;
    for (; looks > 0; looks--) {
        int rc = ready_look(ready_take(&set->ready.unmade), err);
        if (rc < 0)
            return rc;
        moved |= rc;
    }
    return ready_has_work(set) ? offer_postponed(set, err) : moved;
}

bool ready_has_work(const struct process_set *set)
{
    return set->ready.postponed.first && !set->ready.unmade.first && !set_is_steady(set);
}

void ready_forget(struct process_set *set)
{
    set->ready.unmade = set->ready.postponed = (struct tensor_list){ 0 };
}

uint64_t ready_deadline(const struct process_set *set)
{
    return set->ready.unmade.first && set->state == SET_READY ? monotonic_ns() + STAGE_POLL_NS
                                                              : UINT64_MAX;
}

int ready_waiting_count(const struct process_set *set)
{
    return set->ready.unmade.count + set->ready.postponed.count;
}

int ready_waiting(const struct process_set *set, int index, struct waiting *waiting)
{
    bool unmade = index < set->ready.unmade.count;
    const struct tensor *tensor = unmade ? set->ready.unmade.first : set->ready.postponed.first;
    for (index -= unmade ? 0 : set->ready.unmade.count; tensor && index > 0; index--)
        tensor = tensor->behind;
    if (!tensor)
        return 0;
    *waiting = (struct waiting){ .name = tensor->name,
                                 .kind = tensor->description.kind,
                                 .since_ns = tensor->since_ns };
    rank_ranges_add(&waiting->missing, set->rank, set->rank + 1);
    return 1;
}

static bool has(const struct tensor_list *list, const char *name)
{
    const struct tensor *tensor = list->first;
    while (tensor && strcmp(tensor->name, name) != 0)
        tensor = tensor->behind;
    return tensor;
}

bool ready_has(const struct process_set *set, const char *name)
{
    return has(&set->ready.unmade, name) || has(&set->ready.postponed, name);
}
