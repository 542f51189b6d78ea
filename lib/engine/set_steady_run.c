/* SPDX-License-Identifier: Apache-2.0 */
/* A blocking call in the steady state (set_steady.c), from start to end: when nothing else is in
 * flight and the call is what the schedule expects, it needs no handle, no tensor in flight and no
 * pass over everything. The calling thread holds the engine's lock, sends its data, and looks for
 * the data of the other ranks for about as long as a waiting thread would spin.
 *
 * When they do not come, or anything else does, the operation becomes a tensor in flight like any
 * other. Fails with HVD_ERR_NOMEM when there is no memory for it, and with the failures of
 * set_steady.c; these break the world. */
#include "lib/engine/engine_impl.h"

#include "lib/base/cpu_pause.h"

#include <stdlib.h>
#include <string.h>

/* RUN_LOOKS: some 50 microseconds. With more ranks than processors another rank needs this one
 * first. RUN_EAGER: looks without a pause. */
enum { RUN_LOOKS = 2000, RUN_LOOKS_CROWDED = 8, RUN_EAGER = 32 };

/* ---- is it such a call? ---- */

static bool is_simple(const struct submission *submission)
{
    return submission->kind == COLLECTIVE_ALLREDUCE && !submission->grouped &&
           !submission->options && submission->count == 1;
}

/* True if nothing else needs this thread, or sees what it does. */
static bool is_alone(const struct engine *engine, const struct process_set *set)
{
    return engine->in_flight.count == 0 && engine->progress.driver == NOBODY &&
           engine->progress.waiters == 0 && !engine->progress.stopping &&
           !engine->breakage.broken && !failure_is_there(engine->failure) &&
           engine->settings.check_numerics == SETTINGS_CHECK_NONE && !set_steady_is_observed(set);
}

/* The name and description of an operation, as a tensor. NULL when out of memory. */
static struct tensor *make_tensor(struct process_set *set, struct steady_operation *operation)
{
    if (operation->is_made)
        return operation->tensor;
    const struct remembered *remembered = &operation->remembered;
    if (!operation->tensor)
        operation->tensor = calloc(1, sizeof *operation->tensor);
    if (!operation->tensor)
        return NULL;
    operation->tensor->set = set;
    operation->tensor->description = *remembered->description;
    strcpy(operation->tensor->name, remembered->name);
    operation->is_made = true;
    return operation->tensor;
}

/* What request_describe() would make of the call. */
static bool is_described_by(const struct description *description, const struct hvd_tensor *given,
                            enum hvd_op op)
{
    const struct shape *shape = &description->shape;
    return description->kind == COLLECTIVE_ALLREDUCE && given->dtype == description->dtype &&
           op == description->op && description->prescale == 1 && description->postscale == 1 &&
           given->ndims == shape->ndims &&
           memcmp(given->dims, shape->dims, (size_t)shape->ndims * sizeof *given->dims) == 0;
}

/* The tensor of the next operation, if the call repeats it; else NULL. */
static struct tensor *find_expected(struct process_set *set, const struct submission *submission)
{
    const struct hvd_tensor *given = submission->tensors;
    uint32_t at = set->steady.state.committed % (uint32_t)set->steady.count;
    struct steady_operation *operation = &set->steady.schedule[at];
    if (operation->what.algorithm >= 0)
        return NULL;
    struct tensor *tensor = make_tensor(set, operation);
    if (!tensor || !given->name || !given->input || !given->output || given->device != 0 ||
        given->ready || strcmp(given->name, tensor->name) != 0 ||
        !is_described_by(&tensor->description, given, submission->op))
        return NULL;
    tensor->input = given->input;
    tensor->output = given->output;
    return tensor;
}

/* ---- the run ---- */

/* Looks at the links of ranks whose data have not come. 1 if all have, 0, or a status. */
static int look(struct process_set *set, uint32_t number, struct err *err)
{
    const struct steady *state = &set->steady.state;
    bool all = true;
    for (int i = 0; set_tree_at(set, i); i++) {
        int rank = set_tree_rank(set, i);
        if (rank < 0 || state->received[rank] > number)
            continue;
        int rc = set_receive_from(set, i, err);
        if (rc < 0)
            return rc;
        all &= state->received[rank] > number;
    }
    return all;
}

/* 1 if the operation is done, 0 if not, or a status. */
static int look_for_all(struct process_set *set, uint32_t number, struct err *err)
{
    struct engine *engine = set->engine;
    int looks = engine->progress.crowded ? RUN_LOOKS_CROWDED : RUN_LOOKS, rc = 0;
    for (int i = 0; rc == 0 && i < looks; i++) {
        rc = look(set, number, err);
        if (set->steady.state.phase != STEADY_ON || engine->breakage.symptom.status != HVD_OK ||
            failure_is_there(engine->failure) || progress_is_entered(engine))
            break;
        if (i > RUN_EAGER)
            cpu_pause();
    }
    return rc;
}

static int finish(struct process_set *set, struct tensor *tensor, uint32_t number, struct err *err)
{
    struct engine *engine = set->engine;
    const struct description *description = &tensor->description;
    int rc = set_steady_check(set, number, description_bytes(description), err);
    if (rc < 0)
        return rc;
    set_steady_reduce(set, description, number, tensor->input, tensor->output);
    set->decided.count++;
    uint64_t now_ns = monotonic_tick_ns();
    counters_done(&engine->counters, tensor, now_ns);
    in_flight_note(&engine->in_flight, tensor);
    engine->in_flight.last_done_ns = engine->progress.driven_ns = now_ns;
    return HVD_OK;
}

/* The operation becomes a tensor in flight. NULL when out of memory. */
static struct ticket *put_in_flight(struct process_set *set, const struct tensor *tensor,
                                    uint32_t number)
{
    struct in_flight *in_flight = &set->engine->in_flight;
    struct ticket *ticket = in_flight_ticket(in_flight, 1);
    struct tensor *own = ticket ? in_flight_tensor(in_flight) : NULL;
    if (!own)
        return NULL;
    own->set = set;
    own->ticket = ticket;
    own->result = &ticket->one;
    own->description = tensor->description;
    strcpy(own->name, tensor->name);
    own->input = tensor->input;
    own->output = tensor->output;
    own->since_ns = tensor->since_ns;
    own->timed = tensor->timed;
    own->timed_ns = tensor->timed_ns;
    set->in_flight++;
    set->steady.own[number % STEADY_AHEAD] = own;
    set_steady_keep(set, number, own->input, description_bytes(&own->description));
    return ticket;
}

static enum steady_run run(struct process_set *set, struct tensor *tensor, struct ticket **ticket,
                           struct err *err)
{
    struct engine *engine = set->engine;
    engine->progress.submissions++;
    tensor->since_ns = monotonic_tick_ns();
    counters_submitted(&engine->counters, tensor);
    uint32_t number =
        set_steady_commit(set, tensor->input, description_bytes(&tensor->description));
    int rc = set_say(set, err);
    if (rc >= 0)
        rc = look_for_all(set, number, err);
    if (rc > 0 && steady_next(&set->steady.state))
        rc = finish(set, tensor, number, err);
    else if (rc >= 0)
        rc = (*ticket = put_in_flight(set, tensor, number))
                 ? 1
                 : fail(err, HVD_ERR_NOMEM, "out of memory");
    if (rc < 0) {
        set_steady_abandon(set);
        engine_fail(engine, err);
        *ticket = NULL;
    }
    return rc == HVD_OK ? STEADY_RUN_DONE : STEADY_RUN_WAITS;
}

enum steady_run set_steady_run(struct engine *engine, const struct submission *submission,
                               struct ticket **ticket, struct err *err)
{
    struct process_set *set = engine->sets.at[0];
    if (!is_simple(submission) || set->steady.state.phase != STEADY_ON || !is_alone(engine, set))
        return STEADY_RUN_NOT;
    struct tensor *tensor = find_expected(set, submission);
    if (!tensor)
        return STEADY_RUN_NOT;
    enum steady_run result = run(set, tensor, ticket, err);
    if (result == STEADY_RUN_DONE)
        progress_leave(engine);
    return result;
}
