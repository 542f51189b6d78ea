/* SPDX-License-Identifier: Apache-2.0 */
/* A caller's request becomes tensors in flight: check, name, and offer them to the negotiation of
 * their process set (ready.c, submit_offer.c), all tensors of a group or none.
 *
 * Fails when request.h finds a mistake, the set does not exist or this rank is no member, a name is
 * in flight already, the set or the world has ended, or memory is short. A device that fails here
 * breaks the world, as it does later: the other ranks wait for this one. */
#include "lib/engine/engine_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct process_set *engine_find_set(struct engine *engine, int id, const char *what,
                                    struct err *err)
{
    if (id >= 0 && id < engine->sets.count && engine->sets.at[id])
        return engine->sets.at[id];
    fail(err, HVD_ERR_INVALID, "%s: there is no process set %d", what, id);
    return NULL;
}

/* ---- the set of a submission ---- */

static int refuse_set(const struct process_set *set, const char *label, struct err *err)
{
    if (set->rank < 0)
        return fail(err, HVD_ERR_INVALID, "%s: rank %d is not a member of process set %d", label,
                    set->engine->rank, set->id);
    if (set->removing)
        return fail(err, HVD_ERR_INVALID, "%s: process set %d is being removed", label, set->id);
    *err = set->ended;
    return fail_context(err, "%s", label);
}

/* The set, if this rank can use it. */
static struct process_set *usable_set(struct engine *engine, const struct submission *submission,
                                      struct err *err)
{
    char label[REQUEST_LABEL];
    int id = submission->options ? submission->options->process_set : 0;
    struct process_set *set = id >= 0 && id < engine->sets.count ? engine->sets.at[id] : NULL;
    if (set && set->rank >= 0 && !set->removing && set->ended.code == HVD_OK)
        return set;
    request_label(label, submission->kind, submission->tensors ? submission->tensors->name : NULL);
    set = engine_find_set(engine, id, label, err);
    if (set && refuse_set(set, label, err) == HVD_ERR_PEER_LEFT)
        set_strand(set, submission->kind, submission->tensors ? submission->tensors->name : NULL);
    return NULL;
}

/* ---- tensors that are not offered yet ---- */

/* The state of a submission so far. */
struct pending {
    struct process_set *set;
    struct ticket *ticket;
    struct tensor *first, *last; /* by `behind` */
    int offered;                 /* before them */
};

static void drop_tensor(struct tensor *tensor)
{
    device_release(tensor->device);
    tensor->set->in_flight--;
    in_flight_drop(&tensor->set->engine->in_flight, tensor);
}

/* A tensor without name, description and device. */
static struct tensor *add_tensor(struct pending *pending, const struct submission *submission,
                                 int index, uint64_t now_ns, struct err *err)
{
    static const struct hvd_tensor none;
    const struct hvd_tensor *given = submission->tensors ? &submission->tensors[index] : &none;
    struct tensor *tensor = in_flight_tensor(&pending->set->engine->in_flight);
    if (!tensor) {
        fail(err, HVD_ERR_NOMEM, "out of memory");
        return NULL;
    }
    tensor->set = pending->set;
    tensor->ticket = pending->ticket;
    tensor->result = &pending->ticket->results[index];
    tensor->ready = given->ready;
    tensor->input = given->input;
    tensor->output = given->output;
    tensor->output_size = given->output_size;
    tensor->ranks = submission->ranks;
    tensor->without_rows = submission->without_rows;
    tensor->since_ns = now_ns;
    counters_submitted(&pending->set->engine->counters, tensor);
    tensor->behind = NULL;
    *(pending->first ? &pending->last->behind : &pending->first) = tensor;
    pending->last = tensor;
    pending->set->in_flight++;
    return tensor;
}

/* A tensor that has to be copied needs pinned memory: either the device has enough for all tensors
 * in turn, or none for any. */
static int hold_device(struct tensor *tensor, const struct description *description,
                       const struct hvd_tensor *given, struct err *err)
{
    char label[REQUEST_LABEL];
    tensor->device = device_hold(given->device, err);
    int rc = tensor->device ? HVD_OK : err->code;
    if (tensor->device && description->memory == MEMORY_DEVICE)
        rc = device_reserve(tensor->device, err);
    if (rc < 0)
        fail_context(err, "%s", request_label(label, description->kind, given->name));
    if (rc == HVD_ERR_SYSTEM)
        engine_fail(tensor->set->engine, err);
    return rc;
}

/* Fills in `description`, which need not be the tensor's own. */
static int submit_describe(struct tensor *tensor, struct description *description,
                           const struct submission *submission, int index, struct err *err)
{
    const struct process_set *set = tensor->set;
    const struct request_set where = { set->id, set->ranks, set->size, set->rank,
                                       set->engine->one_host };
    const struct hvd_tensor *given = submission->tensors ? &submission->tensors[index] : NULL;
    int rc = request_describe(description, submission->kind, given, given ? submission->op : 0,
                              submission->root, submission->options, &where, err);
    return rc == HVD_OK && given && given->device != 0
               ? hold_device(tensor, description, given, err)
               : rc;
}

/* Contiguous descriptions, for request_group(); the memory is reused. */
static struct description *group_room(struct engine *engine, int count)
{
    if (count <= engine->group.capacity)
        return engine->group.descriptions;
    struct description *group =
        reallocarray(engine->group.descriptions, (size_t)count, sizeof *group);
    if (!group)
        return NULL;
    engine->group.descriptions = group;
    engine->group.capacity = count;
    return group;
}

static int add_group(struct pending *pending, const struct submission *submission, struct err *err)
{
    uint64_t now_ns = monotonic_tick_ns();
    struct description *group = group_room(pending->set->engine, submission->count);
    if (!group)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    for (int i = 0; i < submission->count; i++) {
        struct tensor *tensor = add_tensor(pending, submission, i, now_ns, err);
        if (!tensor || submit_describe(tensor, &group[i], submission, i, err) < 0)
            return err->code;
    }
    int rc = request_group(group, submission->tensors, submission->count, submission->kind, err);
    for (struct tensor *tensor = pending->first; tensor; tensor = tensor->behind)
        tensor->description = *group++;
    return rc;
}

/* ---- names ---- */

/* Adding and removing sets uses one name, so that ranks that do it in another order disagree
 * instead of waiting for each other. */
static const char *internal_name(enum collective_kind kind)
{
    bool changes_sets = kind == COLLECTIVE_ADD_SET || kind == COLLECTIVE_REMOVE_SET;
    return changes_sets ? "process sets" : collective_name(kind);
}

static void nameless_name(struct tensor *tensor, enum collective_kind kind, int index)
{
    const struct process_set *set = tensor->set;
    uint64_t number = set->nameless[kind] + (uint64_t)index;
    if (set->joins == 0)
        snprintf(tensor->name, sizeof tensor->name, NAME_MARK "%s.noname.%" PRIu64,
                 collective_name(kind), number);
    else
        snprintf(tensor->name, sizeof tensor->name, NAME_MARK "%s.noname.%" PRIu64 ".%" PRIu64,
                 collective_name(kind), set->joins, number);
}

/* Tensors without a name get a number as name. Ranks may have submitted different numbers of them
 * when they join, so the numbers begin again after each join. */
static void name_tensor(struct tensor *tensor, const struct submission *submission, int index)
{
    const char *given = submission->tensors ? submission->tensors[index].name : "";
    if (given && *given)
        memcpy(tensor->name, given, strlen(given) + 1);
    else if (given)
        snprintf(tensor->name, sizeof tensor->name, NAME_MARK "%s",
                 internal_name(submission->kind));
    else
        nameless_name(tensor, submission->kind, index);
}

/* True if the tensor can be offered without waiting (ready.c). */
static bool is_offered_at_once(const struct tensor *tensor)
{
    const struct set_ready *ready = &tensor->set->ready;
    bool is_join = tensor->description.kind == COLLECTIVE_JOIN;
    return !tensor->ready && !ready->unmade.first && !ready->postponed.first &&
           !(is_join && set_is_steady(tensor->set));
}

static int check_free(const struct tensor *tensor, enum collective_kind kind, struct err *err)
{
    const struct process_set *set = tensor->set;
    if (!negotiation_in_flight(set->negotiation, tensor->name) && !ready_has(set, tensor->name) &&
        !set_steady_has(set, tensor->name))
        return HVD_OK;
    return negotiation_refuse_name(kind, tensor->name, err);
}

/* Checks that all names are free. */
static int name_tensors(struct pending *pending, const struct submission *submission,
                        struct err *err)
{
    int index = 0, rc = HVD_OK;
    /* For a tensor that is offered alone and at once, the negotiation itself checks the name. */
    bool later =
        submission->count == 1 && submission->tensors && is_offered_at_once(pending->first);
    for (struct tensor *tensor = pending->first; tensor && rc == HVD_OK; tensor = tensor->behind) {
        name_tensor(tensor, submission, index++);
        if (!later)
            rc = check_free(tensor, submission->kind, err);
    }
    if (rc < 0 || !submission->grouped || submission->tensors[0].name)
        return rc;
    for (struct tensor *tensor = pending->first; tensor; tensor = tensor->behind)
        tensor->description.group = request_hash(pending->first->name);
    return HVD_OK;
}

/* ---- the offer ---- */

static int keep_splits(struct tensor *tensor, const struct submission *submission, struct err *err)
{
    const struct process_set *set = tensor->set;
    const struct request_set where = { set->id, set->ranks, set->size, set->rank,
                                       set->engine->one_host };
    if (tensor->splits_capacity < set->size) {
        int64_t *splits = reallocarray(tensor->splits, (size_t)set->size, sizeof *splits);
        if (!splits)
            return fail(err, HVD_ERR_NOMEM, "out of memory");
        tensor->splits = splits;
        tensor->splits_capacity = set->size;
    }
    return request_splits(tensor->splits, submission->splits, submission->nsplits,
                          submission->tensors, &where, err);
}

/* Offered tensors already wait on other ranks for the rest of their group. Only memory can be short
 * by now, and that breaks the world. A refusal by numerics.h, or a device that has failed, has
 * broken the world already. */
static int submit_give_up(struct pending *pending, struct err *err)
{
    int rc = err->code;
    struct engine *engine = pending->set->engine;
    for (struct tensor *next; pending->first; pending->first = next) {
        next = pending->first->behind;
        drop_tensor(pending->first);
    }
    if (pending->offered == 0)
        in_flight_release(&engine->in_flight, pending->ticket);
    else
        engine_fail(engine, err);
    if (failure_is_there(engine->failure))
        engine_move(engine);
    return rc;
}

/* A submission without tensors, if this rank can submit in that set now. */
static int begin_submission(struct pending *pending, struct engine *engine,
                            const struct submission *submission, struct err *err)
{
    *pending = (struct pending){ .set = NULL };
    if (failure_check(engine->failure, err) < 0)
        return err->code;
    if (engine->progress.stopping)
        return fail(err, HVD_ERR_SHUT_DOWN, "hvd_shutdown has been called");
    struct process_set *set = usable_set(engine, submission, err);
    if (!set)
        return err->code;
    pending->ticket = in_flight_ticket(&engine->in_flight, submission->count);
    if (!pending->ticket)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    pending->set = set;
    return HVD_OK;
}

/* Names, checks and offers the tensors that were made. */
static int submit_launch(struct pending *pending, const struct submission *submission,
                         int64_t *handle, struct err *err)
{
    int rc = name_tensors(pending, submission, err);
    if (rc == HVD_OK && submission->kind == COLLECTIVE_ALLTOALL)
        rc = keep_splits(pending->first, submission, err);
    if (pending->set->engine->settings.check_numerics != SETTINGS_CHECK_NONE)
        for (struct tensor *own = pending->first; own && rc == HVD_OK; own = own->behind)
            rc = numerics_check(own, err);
    while (rc == HVD_OK && pending->first) {
        struct tensor *tensor = pending->first;
        pending->first = tensor->behind;
        rc = is_offered_at_once(tensor) ? submit_offer(tensor, err) : ready_offer(tensor, err);
        if (rc < 0)
            drop_tensor(tensor);
        else
            pending->offered++;
    }
    if (rc < 0)
        return rc;
    if (submission->tensors && !submission->tensors[0].name)
        pending->set->nameless[submission->kind] += (uint64_t)submission->count;
    if (submission->kind == COLLECTIVE_JOIN) {
        memset(pending->set->nameless, 0, sizeof pending->set->nameless);
        pending->set->joins++;
    }
    *handle = pending->ticket->number;
    return HVD_OK;
}

int submit(struct engine *engine, const struct submission *submission, int64_t *handle,
           struct err *err)
{
    struct pending pending;
    engine->progress.submissions++;
    int rc = begin_submission(&pending, engine, submission, err);
    if (rc < 0)
        return rc;
    if (submission->grouped) {
        rc = add_group(&pending, submission, err);
    } else {
        struct tensor *tensor = add_tensor(&pending, submission, 0, monotonic_tick_ns(), err);
        rc = tensor ? submit_describe(tensor, &tensor->description, submission, 0, err) : err->code;
    }
    if (rc == HVD_OK)
        rc = submit_launch(&pending, submission, handle, err);
    if (rc < 0)
        return submit_give_up(&pending, err);
    engine_move(engine);
    return HVD_OK;
}

int submit_to_world(struct engine *engine, const struct description *description, const int *ranks,
                    int64_t *handle, struct err *err)
{
    struct pending pending;
    struct submission submission = { .kind = description->kind, .count = 1, .ranks = ranks };
    int rc = begin_submission(&pending, engine, &submission, err);
    if (rc < 0)
        return rc;
    struct tensor *tensor = add_tensor(&pending, &submission, 0, monotonic_tick_ns(), err);
    rc = tensor ? HVD_OK : err->code;
    if (tensor) {
        tensor->description = *description;
        rc = submit_launch(&pending, &submission, handle, err);
    }
    return rc < 0 ? submit_give_up(&pending, err) : rc;
}
