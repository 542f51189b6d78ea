/* SPDX-License-Identifier: Apache-2.0 */
/* How runs on devices go on: who may be copied to the host now, what has come back, and what is left
 * to do when they have failed; see stage_impl.h. */
#include "lib/engine/engine_impl.h"

#include "lib/engine/trace.h"

#include <stddef.h>

#define DRAIN_NS 2000000000ull
#define LACKING_NS 10000000000ull

_Static_assert((int)DEVICE_BUFFERS_LEAST >= (int)STAGES_MAX, "what has a place has memory");

/* ---- lists ---- */

void run_list_append(struct run_list *list, struct run *run)
{
    run->next = NULL;
    if (list->last)
        list->last->next = run;
    else
        list->first = run;
    list->last = run;
}

struct run *run_list_take(struct run_list *list)
{
    struct run *run = list->first;
    list->first = run->next;
    if (!list->first)
        list->last = NULL;
    return run;
}

/* ---- the way to the host ---- */

static bool has_own(const struct run *run)
{
    for (int i = 0; i < run->count; i++)
        if (run->tensors[i].own)
            return true;
    return false;
}

bool stage_queue(struct process_set *set, struct run *run)
{
    set->stages.count++;
    run->stage.step = has_own(run) ? STAGE_QUEUED : STAGE_HERE;
    if (run->description.memory != MEMORY_DEVICE_REDUCES)
        return false;
    run_list_append(&set->stages.reducing, run);
    return true;
}

void stage_leave(struct process_set *set, struct run *run)
{
    set->stages.count--;
    set->stages.places -= run->stage.has_place;
    run->stage = (struct stage){ .step = STAGE_NONE };
}

int stage_context(const struct run *run, struct err *err)
{
    const struct tensor *own = NULL;
    for (int i = 0; i < run->count && !own; i++)
        own = run->tensors[i].own;
    return engine_context(run->description.kind, own ? own->name : NULL, err);
}

/* Nobody before it will give back memory that it lacks. */
static bool is_alone(const struct process_set *set, const struct run *run)
{
    return run == set->runs.queue && set->runs.window.first == set->runs.window.end &&
           !set->stages.returning.first;
}

static bool may_wait(const struct process_set *set, struct run *run)
{
    uint64_t now = monotonic_ns();
    if (run->stage.lacking_since_ns == 0)
        run->stage.lacking_since_ns = now;
    return !is_alone(set, run) && now - run->stage.lacking_since_ns < LACKING_NS;
}

static int come(struct process_set *set, struct run *run, struct err *err)
{
    int rc = 0;
    if (run->stage.step == STAGE_QUEUED) {
        rc = stage_begin_in(run, err);
        if (rc > 0)
            trace_stage(run, PHASE_IN);
    } else if (run->stage.step == STAGE_COMING) {
        rc = stage_move_in(run, err);
    }
    if (rc == HVD_ERR_NOMEM && may_wait(set, run))
        return 0;
    run->stage.lacking_since_ns = 0;
    return rc < 0 ? stage_context(run, err) : rc;
}

/* A place is given in order of the line, and before anything is waited for. */
static bool has_place(struct process_set *set, struct run *run)
{
    if (!run->stage.has_place && set->stages.places == STAGES_MAX)
        return false;
    set->stages.places += !run->stage.has_place;
    return run->stage.has_place = true;
}

static int come_all(struct process_set *set, struct err *err)
{
    int moved = 0;
    for (struct run *run = set->runs.queue; run; run = run->next) {
        if (run->stage.step == STAGE_NONE)
            continue;
        if (!has_place(set, run))
            break;
        int rc = come(set, run, err);
        if (rc < 0)
            return rc;
        moved |= rc;
    }
    return moved;
}

/* ---- the way back ---- */

/* Nothing uses its tensors' memory any more. */
static void finish(struct process_set *set, struct run *run, bool quiet)
{
    stage_free(run, quiet); /* who has no tensor in flight any more may unregister the device */
    for (int i = 0; i < run->count; i++)
        if (run->tensors[i].own)
            complete_part(run->tensors[i].own, run);
    run_release(set, run);
}

static bool is_over(struct run *run)
{
    return run->stage.step == STAGE_GOING ? stage_move_out(run) : stage_is_quiet(run);
}

static int return_all(struct process_set *set)
{
    struct run_list runs = set->stages.returning;
    int moved = 0;
    set->stages.returning = (struct run_list){ 0 };
    while (runs.first) {
        struct run *run = run_list_take(&runs);
        if (!is_over(run)) {
            run_list_append(&set->stages.returning, run);
            continue;
        }
        finish(set, run, true);
        moved = 1;
    }
    if (!set->stages.returning.first)
        set->stages.drain_until_ns = 0;
    return moved;
}

void stage_return(struct process_set *set, struct run *run)
{
    trace_stage(run, PHASE_OUT);
    run->stage.step = STAGE_GOING;
    if (stage_begin_out(run))
        finish(set, run, true);
    else
        run_list_append(&set->stages.returning, run);
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

static void doom(struct run *run, const struct err *reason)
{
    for (int i = 0; i < run->count; i++)
        if (run->tensors[i].own)
            complete_doomed(run->tensors[i].own, reason);
}

void stage_fail(struct process_set *set, struct run *run, const struct err *reason)
{
    doom(run, reason);
    if (stage_is_quiet(run)) {
        finish(set, run, true);
        return;
    }
    run->stage.step = STAGE_DOOMED;
    run_list_append(&set->stages.returning, run);
}

/* What is being copied back has succeeded, unless that takes too long. */
void stage_fail_all(struct process_set *set, const struct err *reason)
{
    while (set->stages.reducing.first)
        stage_fail(set, run_list_take(&set->stages.reducing), reason);
    if (set->stages.returning.first && set->stages.drain_until_ns == 0)
        set->stages.drain_until_ns = monotonic_ns() + DRAIN_NS;
}

/* The vendor may still use what it was given: that is left to it. */
static void give_up(struct process_set *set)
{
    while (set->stages.returning.first) {
        struct err reason;
        struct run *run = run_list_take(&set->stages.returning);
        fail(&reason, HVD_ERR_TIMEOUT, "the device does not finish copying");
        stage_context(run, &reason);
        doom(run, &reason);
        finish(set, run, false);
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
    give_up(set);
    return 1;
}

bool stage_is_draining(const struct process_set *set)
{
    return set->stages.returning.first;
}

/* ---- when to look again ---- */

uint64_t stage_deadline(const struct process_set *set)
{
    bool waits = set->stages.returning.first || set->stages.reducing.first;
    if (set->stages.count == 0)
        return UINT64_MAX;
    for (const struct run *run = set->runs.queue; run && !waits; run = run->next) {
        if (run->stage.step != STAGE_NONE && !run->stage.has_place)
            break; /* nor has anybody behind it */
        waits = run->stage.has_place && run->stage.step < STAGE_HERE;
    }
    return waits ? monotonic_ns() + STAGE_POLL_NS : UINT64_MAX;
}

/* Somebody could be given a place. */
bool stage_is_unsettled(const struct process_set *set)
{
    if (set->stages.count == 0 || set->stages.places == STAGES_MAX)
        return false;
    for (const struct run *run = set->runs.queue; run; run = run->next)
        if (run->stage.step != STAGE_NONE && !run->stage.has_place)
            return true;
    return false;
}
