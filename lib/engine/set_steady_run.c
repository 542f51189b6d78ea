/* SPDX-License-Identifier: Apache-2.0 */
/* A blocking call in the steady state (set_steady.c), from start to end. When nothing else is
 * in flight and the call is what the schedule expects, it needs no handle, no tensor in flight and
 * no pass over everything. The calling thread holds the engine's lock, sends its data, and looks
 * for the data of the other ranks for about as long as a waiting thread would spin.
 *
 * When they do not come, or anything else does, the operation becomes a tensor in flight like any
 * other. Fails with HVD_ERR_NOMEM when there is no memory for it, and with the failures of
 * set_steady.c; these break the world. */
#include "lib/engine/set_steady_impl.h"

#include "lib/base/cpu_pause.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* RUN_NS: about the time of a wake-up. With more ranks than processors another rank needs this
 * processor after a few looks; much data come over sockets, where a look is a system call for each
 * rank, so that this rank yields after each look. RUN_EAGER: looks without a pause. */
#define RUN_NS 50000ull
enum { RUN_LOOKS_CROWDED = 8, RUN_YIELDS = 64, RUN_EAGER = 32, LOOKS_PER_CLOCK = 16 };

/* ---- is it such a call? ---- */

static bool is_one(double factor)
{
    return factor == 0 || factor == 1;
}

/* True if the options are those of a call without options. */
static bool has_defaults(const struct hvd_options *options)
{
    return !options ||
           (options->process_set == 0 && is_one(options->prescale) && is_one(options->postscale));
}

static bool steady_run_is_simple(const struct submission *submission)
{
    return !submission->grouped && has_defaults(submission->options) && submission->count == 1;
}

/* True if nothing else needs this thread, or sees what it does. */
static bool steady_run_is_alone(const struct engine *engine, const struct process_set *set)
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
    operation->tensor->splits = operation->splits;
    strcpy(operation->tensor->name, remembered->name);
    operation->is_made = true;
    return operation->tensor;
}

/* True if the caller's memory is what the kind of the operation needs; else the call takes the
 * long way, which says what is wrong. */
static bool has_memory(const struct process_set *set, const struct description *description,
                       const struct hvd_tensor *given)
{
    if (description->kind == COLLECTIVE_BROADCAST)
        return given->output != NULL;
    if (description->kind == COLLECTIVE_REDUCESCATTER) {
        int64_t rows = hvd_share(description->shape.dims[0], set->size, set->rank);
        size_t row = description_bytes(description) / (size_t)description->shape.dims[0];
        return given->input && given->output && given->output_size >= (size_t)rows * row &&
               !request_overlap(given->input, description_bytes(description), given->output,
                                (size_t)rows * row);
    }
    size_t nbytes = description_bytes(description);
    return given->input && given->output &&
           (given->input == given->output ||
            !request_overlap(given->input, nbytes, given->output, nbytes));
}

/* What request_describe() would make of the call. */
static bool is_described_by(const struct description *description,
                            const struct submission *submission)
{
    const struct shape *shape = &description->shape;
    const struct hvd_tensor *given = submission->tensors;
    bool is_reduction = description_is_reduction(description);
    return given->dtype == description->dtype &&
           (is_reduction ? submission->op == description->op
                         : submission->root == description->root) &&
           description->prescale == 1 && description->postscale == 1 &&
           given->ndims == shape->ndims && description_bytes(description) > 0 &&
           (shape->ndims == 0 ||
            (given->dims &&
             memcmp(given->dims, shape->dims, (size_t)shape->ndims * sizeof *given->dims) == 0));
}

/* True if the tensor of an operation is what the call is about, with rows of at most `most`
 * bytes. */
static bool is_repeated_by(const struct process_set *set, struct tensor *tensor,
                           const struct submission *submission, size_t most)
{
    const struct description *description = &tensor->description;
    const struct hvd_tensor *given = submission->tensors;
    if (description->kind != submission->kind)
        return false;
    if (description->kind == COLLECTIVE_BARRIER)
        return true;
    if (!given->name || given->device != 0 || given->ready ||
        strcmp(given->name, tensor->name) != 0)
        return false;
    if (collective_has_own_rows(description->kind))
        return set_steady_rows_repeat(set, tensor, submission, most);
    return is_described_by(description, submission) && has_memory(set, description, given);
}

/* The tensor of the next operation, if the call repeats it; else NULL. */
static struct tensor *find_expected(struct process_set *set, const struct submission *submission)
{
    uint32_t at = set->steady.state.committed % (uint32_t)set->steady.count;
    struct steady_operation *operation = &set->steady.schedule[at];
    if (operation->what.choice.algorithm >= 0 || operation->what.count > 1)
        return NULL;
    struct tensor *tensor = make_tensor(set, operation);
    bool is_sent = operation->what.choice.algorithm == SCHEDULED_SENT;
    size_t most = is_sent ? (size_t)set->size * SENT_GREATEST : INLINE_MAX;
    if (!tensor || !is_repeated_by(set, tensor, submission, most))
        return NULL;
    if (submission->tensors) {
        tensor->input = submission->tensors->input;
        tensor->output = submission->tensors->output;
        tensor->output_size = submission->tensors->output_size;
    }
    return !is_sent || set_steady_can_send(set, tensor) ? tensor : NULL;
}

static bool steady_run_is_sent(const struct process_set *set, uint32_t number)
{
    return steady_operation_at(set, number)->what.choice.algorithm == SCHEDULED_SENT;
}

/* ---- the run ---- */

/* Looks at the links of ranks whose data have not come. 1 if all have, 0, or a status. */
static int steady_run_look(struct process_set *set, uint32_t number, struct err *err)
{
    const struct steady *state = &set->steady.state;
    bool all = true;
    const struct tree_link *tree;
    for (int i = 0; (tree = set_tree_at(set, i)); i++) {
        int rank = set_tree_rank(set, i);
        if (!tree_link_flushed(tree) && set_say(set, err) < 0)
            return err->code;
        if (rank < 0 || state->received[rank] > number)
            continue;
        int rc = set_receive_from(set, i, err);
        if (rc < 0)
            return rc;
        all &= state->received[rank] > number;
    }
    return all;
}

/* True if the thread has looked for long enough. */
static bool is_tired(const struct engine *engine, bool yields, int looks, uint64_t *until_ns)
{
    if (engine->progress.crowded)
        return looks >= (yields ? RUN_YIELDS : RUN_LOOKS_CROWDED);
    if (looks % LOOKS_PER_CLOCK != 0)
        return false;
    uint64_t now_ns = monotonic_ns();
    if (looks == LOOKS_PER_CLOCK)
        *until_ns = now_ns + RUN_NS;
    return looks > LOOKS_PER_CLOCK && now_ns >= *until_ns;
}

/* 1 if the operation is done, 0 if not, or a status. */
static int look_for_all(struct process_set *set, uint32_t number, struct err *err)
{
    struct engine *engine = set->engine;
    uint64_t until_ns = 0;
    bool yields = engine->progress.crowded && steady_run_is_sent(set, number);
    int rc = steady_run_look(set, number, err);
    for (int looks = 1; rc == 0 && !is_tired(engine, yields, looks, &until_ns); looks++) {
        if (set->steady.state.phase != STEADY_ON || engine->breakage.symptom.status != HVD_OK ||
            failure_is_there(engine->failure) || progress_is_entered(engine))
            break;
        if (yields)
            sched_yield();
        else if (looks > RUN_EAGER)
            cpu_pause();
        rc = steady_run_look(set, number, err);
    }
    return rc;
}

/* The data that this rank commits as the next operation; rows are put together where they are
 * kept. */
static const void *own_data(struct process_set *set, const struct tensor *tensor, uint32_t number,
                            size_t *nbytes)
{
    const struct description *description = &tensor->description;
    if (collective_has_own_rows(description->kind)) {
        void *place = set_steady_place(set, number);
        *nbytes = set_steady_rows_put(set, tensor, place);
        return place;
    }
    bool is_broadcast = description->kind == COLLECTIVE_BROADCAST;
    bool has_data = description->kind != COLLECTIVE_BARRIER &&
                    (!is_broadcast || description->root == set->rank);
    *nbytes = has_data ? description_bytes(description) : 0;
    return !has_data ? NULL : is_broadcast ? tensor->output : tensor->input;
}

/* Copies this rank's rows of the sum. */
static void take_share(struct process_set *set, const struct tensor *tensor, uint32_t number)
{
    const struct description *description = &tensor->description;
    int64_t rows = hvd_share(description->shape.dims[0], set->size, set->rank);
    size_t nbytes = (size_t)rows * tensor_row_size(tensor);
    set_steady_reduce(set, description, shape_count(&description->shape), number, tensor->input,
                      set->steady.gathered);
    if (nbytes > 0)
        memcpy(tensor->output, set->steady.gathered + complete_share_begin(tensor), nbytes);
}

static int take_result(struct process_set *set, const struct tensor *tensor, uint32_t number,
                       struct err *err)
{
    const struct description *description = &tensor->description;
    bool is_reduction = description_is_reduction(description);
    size_t nbytes = description_bytes(description);
    if (steady_run_is_sent(set, number)) {
        if (set_steady_check_sent(set, tensor, number, err) < 0)
            return err->code;
        set_steady_take_sent(set, tensor, number, tensor->output);
        return HVD_OK;
    }
    int rc = set_steady_check(set, number, is_reduction ? nbytes : SIZE_MAX, err);
    if (rc < 0)
        return rc;
    if (description->kind == COLLECTIVE_ALLREDUCE)
        set_steady_reduce(set, description, shape_count(&description->shape), number, tensor->input,
                          tensor->output);
    else if (description->kind == COLLECTIVE_REDUCESCATTER)
        take_share(set, tensor, number);
    else if (description->kind == COLLECTIVE_BROADCAST && description->root != set->rank)
        rc = set_steady_copy(set, description->root, number, tensor->output, nbytes, err);
    else if (collective_has_own_rows(description->kind))
        set_steady_rows_take(set, tensor, number);
    return rc;
}

static int steady_run_finish(struct process_set *set, struct tensor *tensor, uint32_t number,
                             struct err *err)
{
    struct engine *engine = set->engine;
    int rc = take_result(set, tensor, number, err);
    if (rc < 0)
        return rc;
    set_steady_own(set, number, NULL);
    set->decided.count++;
    counters_done(&engine->counters, tensor, engine->progress.driven_ns);
    in_flight_note(&engine->in_flight, tensor);
    engine->in_flight.last_done_ns = engine->progress.driven_ns;
    return HVD_OK;
}

/* False when out of memory. */
static bool copy_splits(struct tensor *to, const struct tensor *from, int size)
{
    if (from->description.kind != COLLECTIVE_ALLTOALL)
        return true;
    if (to->splits_capacity < size) {
        int64_t *splits = reallocarray(to->splits, (size_t)size, sizeof *splits);
        if (!splits)
            return false;
        to->splits = splits;
        to->splits_capacity = size;
    }
    memcpy(to->splits, from->splits, (size_t)size * sizeof *to->splits);
    return true;
}

/* The operation becomes a tensor in flight. NULL when out of memory. */
static struct ticket *put_in_flight(struct process_set *set, const struct tensor *tensor,
                                    uint32_t number)
{
    struct in_flight *in_flight = &set->engine->in_flight;
    struct ticket *ticket = in_flight_ticket(in_flight, 1);
    struct tensor *own = ticket ? in_flight_tensor(in_flight) : NULL;
    size_t nbytes;
    if (!own || !copy_splits(own, tensor, set->size)) {
        if (own)
            in_flight_drop(in_flight, own);
        if (ticket)
            in_flight_release(in_flight, ticket);
        return NULL;
    }
    own->set = set;
    own->ticket = ticket;
    own->result = &ticket->one;
    own->description = tensor->description;
    strcpy(own->name, tensor->name);
    own->input = tensor->input;
    own->output = tensor->output;
    own->output_size = tensor->output_size;
    own->without_rows = true; /* nobody asks for the result but the caller's memory */
    own->since_ns = tensor->since_ns;
    own->timed = tensor->timed;
    own->timed_ns = tensor->timed_ns;
    set->in_flight++;
    set_steady_own(set, number, own);
    if (steady_run_is_sent(set, number))
        return ticket;
    const void *data = own_data(set, own, number, &nbytes);
    set_steady_keep(set, number, data, nbytes);
    return ticket;
}

static uint32_t steady_run_commit(struct process_set *set, const struct tensor *tensor)
{
    size_t nbytes;
    if (steady_run_is_sent(set, set->steady.state.committed))
        return set_steady_send(set, tensor);
    const void *data = own_data(set, tensor, set->steady.state.committed, &nbytes);
    uint32_t number = set_steady_commit(set, data, nbytes);
    if (collective_has_own_rows(tensor->description.kind))
        set_steady_keep(set, number, data, nbytes);
    return number;
}

/* True if the caller's memory has room for the rows that have come. */
static bool result_fits(const struct process_set *set, const struct tensor *tensor, uint32_t number)
{
    if (!collective_has_own_rows(tensor->description.kind))
        return true;
    return steady_run_is_sent(set, number)
               ? set_steady_sent_bytes(set, tensor, number) <= tensor->output_size
               : set_steady_rows_fit(set, tensor, number);
}

static enum steady_run steady_run_start(struct process_set *set, struct tensor *tensor,
                                        struct ticket **ticket, struct err *err)
{
    struct engine *engine = set->engine;
    engine->progress.submissions++;
    tensor->since_ns = monotonic_tick_ns();
    counters_submitted(&engine->counters, tensor);
    uint32_t number = steady_run_commit(set, tensor);
    set_steady_own(set, number, tensor); /* what comes meanwhile may ask about it */
    counters_wait(&engine->counters, tensor->since_ns);
    int rc = set_say(set, err);
    if (rc >= 0)
        rc = look_for_all(set, number, err);
    counters_waited(&engine->counters, engine->progress.driven_ns = monotonic_tick_ns());
    bool fits = rc > 0 && result_fits(set, tensor, number);
    if (fits && steady_next(&set->steady.state))
        rc = steady_run_finish(set, tensor, number, err);
    else if (rc >= 0)
        rc = (*ticket = put_in_flight(set, tensor, number))
                 ? 1
                 : fail(err, HVD_ERR_NOMEM, "out of memory");
    if (rc < 0) {
        set_steady_abandon(set);
        engine_fail(engine, err);
        engine_move(engine);
        *ticket = NULL;
    }
    return rc == HVD_OK ? STEADY_RUN_DONE : STEADY_RUN_WAITS;
}

enum steady_run set_steady_run(struct engine *engine, const struct submission *submission,
                               struct ticket **ticket, struct err *err)
{
    struct process_set *set = engine->sets.at[0];
    const struct steady *state = &set->steady.state;
    if (!steady_run_is_simple(submission) || state->phase != STEADY_ON ||
        steady_is_exhausted(state) || !steady_run_is_alone(engine, set))
        return STEADY_RUN_NOT;
    struct tensor *tensor = find_expected(set, submission);
    if (!tensor)
        return STEADY_RUN_NOT;
    enum steady_run result = steady_run_start(set, tensor, ticket, err);
    if (result == STEADY_RUN_DONE)
        progress_leave(engine);
    return result;
}
