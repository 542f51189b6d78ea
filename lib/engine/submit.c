/* SPDX-License-Identifier: Apache-2.0 */
/* From a caller's request to tensors in flight: checked, named, and offered to the negotiation of
 * their process set (ready.c), all tensors of a group or none. Small data goes along with the offer.
 *
 * Fails with what request.h finds, when there is no such set or this rank is no member, a name is
 * in flight already, the set or the world has ended, or memory is short. */
#include "lib/engine/engine_impl.h"

#include "lib/link/socket.h"
#include "lib/reduce/reduce.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct process_set *engine_find_set(struct engine *engine, int id, const char *what,
                                    struct err *err)
{
    if (id >= 0 && id < engine->sets_count && engine->sets[id])
        return engine->sets[id];
    fail(err, HVD_ERR_INVALID, "%s: there is no process set %d", what, id);
    return NULL;
}

static const char *first_name(const struct submission *submission)
{
    return submission->tensors ? submission->tensors[0].name : NULL;
}

/* The set that is asked for, if this rank can use it. */
static struct process_set *usable_set(struct engine *engine, const struct submission *submission,
                                      struct err *err)
{
    char label[REQUEST_LABEL];
    int id = submission->options ? submission->options->process_set : 0;
    request_label(label, submission->kind, first_name(submission));
    struct process_set *set = engine_find_set(engine, id, label, err);
    if (!set)
        return NULL;
    if (set->rank < 0) {
        fail(err, HVD_ERR_INVALID, "%s: rank %d is not a member of process set %d", label,
             engine->rank, id);
        return NULL;
    }
    if (set->removing) {
        fail(err, HVD_ERR_INVALID, "%s: process set %d is being removed", label, id);
        return NULL;
    }
    if (set->ended.code == HVD_OK)
        return set;
    *err = set->ended;
    fail_context(err, "%s", label);
    return NULL;
}

/* What is checked and made before anything is in flight. */
struct prepared {
    struct process_set *set;
    int count;
    struct description *descriptions;
    char (*names)[HVD_NAME_MAX + 1];
    struct device **devices; /* held, until a tensor has them; NULL in host memory */
    struct description one_description;
    char one_name[1][HVD_NAME_MAX + 1];
    struct device *one_device;
};

static int make_room(struct prepared *prepared, int count, struct err *err)
{
    prepared->count = count;
    prepared->descriptions = &prepared->one_description;
    prepared->names = prepared->one_name;
    prepared->devices = &prepared->one_device;
    if (count < 2)
        return HVD_OK;
    prepared->descriptions = calloc((size_t)count, sizeof *prepared->descriptions);
    prepared->names = calloc((size_t)count, sizeof *prepared->names);
    prepared->devices = calloc((size_t)count, sizeof *prepared->devices);
    if (prepared->descriptions && prepared->names && prepared->devices)
        return HVD_OK;
    return fail(err, HVD_ERR_NOMEM, "out of memory");
}

static void forget(struct prepared *prepared)
{
    for (int i = 0; prepared->devices && i < prepared->count; i++)
        device_release(prepared->devices[i]);
    if (prepared->devices != &prepared->one_device)
        free(prepared->devices);
    if (prepared->descriptions != &prepared->one_description)
        free(prepared->descriptions);
    if (prepared->names != prepared->one_name)
        free(prepared->names);
}

/* What has to be copied needs pinned memory: there is none for nobody, or enough for all in turn. */
static int hold_device(struct prepared *prepared, int index, const struct hvd_tensor *tensor,
                       struct err *err)
{
    char label[REQUEST_LABEL];
    const struct description *description = &prepared->descriptions[index];
    if (tensor->device == 0)
        return HVD_OK;
    struct device *device = prepared->devices[index] = device_hold(tensor->device, err);
    int rc = device ? HVD_OK : err->code;
    if (device && description->memory == MEMORY_DEVICE)
        rc = device_reserve(device, err);
    if (rc < 0)
        fail_context(err, "%s", request_label(label, description->kind, tensor->name));
    return rc;
}

static int describe(struct prepared *prepared, const struct submission *submission, struct err *err)
{
    const struct process_set *set = prepared->set;
    const struct request_set where = { set->id, set->ranks, set->size, set->rank };
    if (!submission->tensors)
        return request_describe(prepared->descriptions, submission->kind, NULL, 0, 0,
                                submission->options, &where, err);
    for (int i = 0; i < submission->count; i++) {
        const struct hvd_tensor *tensor = &submission->tensors[i];
        int rc =
            request_describe(&prepared->descriptions[i], submission->kind, tensor, submission->op,
                             submission->root, submission->options, &where, err);
        if (rc == HVD_OK)
            rc = hold_device(prepared, i, tensor, err);
        if (rc < 0)
            return rc;
    }
    return submission->grouped ? request_group(prepared->descriptions, submission->tensors,
                                               submission->count, submission->kind, err)
                               : HVD_OK;
}

/* Sets are added and removed under one name, so that ranks which do it in another order disagree
 * instead of waiting for each other. */
static const char *internal_name(enum collective_kind kind)
{
    bool changes_sets = kind == COLLECTIVE_ADD_SET || kind == COLLECTIVE_REMOVE_SET;
    return changes_sets ? "process sets" : collective_name(kind);
}

/* Names the nameless by their number, and sees that all names are free. */
static int name_tensors(struct prepared *prepared, const struct submission *submission,
                        struct err *err)
{
    struct process_set *set = prepared->set;
    for (int i = 0; i < submission->count; i++) {
        const char *given = submission->tensors ? submission->tensors[i].name : "";
        char *name = prepared->names[i];
        if (given && *given)
            memcpy(name, given, strlen(given) + 1);
        else if (given)
            snprintf(name, HVD_NAME_MAX + 1, NAME_MARK "%s", internal_name(submission->kind));
        else
            snprintf(name, HVD_NAME_MAX + 1, NAME_MARK "%s.noname.%" PRIu64,
                     collective_name(submission->kind),
                     set->nameless[submission->kind] + (uint64_t)i);
        if (!negotiation_in_flight(set->negotiation, name) && !ready_has(set, name))
            continue;
        char label[REQUEST_LABEL];
        return fail(err, HVD_ERR_INVALID, "%s: a tensor of this name is in flight already",
                    request_label(label, submission->kind, name));
    }
    if (submission->grouped && !submission->tensors[0].name)
        for (int i = 0; i < submission->count; i++)
            prepared->descriptions[i].group = request_hash(prepared->names[0]);
    return HVD_OK;
}

static int prepare(struct prepared *prepared, const struct submission *submission, struct err *err)
{
    int rc = make_room(prepared, submission->count, err);
    if (rc == HVD_OK)
        rc = describe(prepared, submission, err);
    return rc < 0 ? rc : name_tensors(prepared, submission, err);
}

static int keep_splits(struct tensor *tensor, const struct submission *submission, struct err *err)
{
    const struct process_set *set = tensor->set;
    const struct request_set where = { set->id, set->ranks, set->size, set->rank };
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

/* Data that goes with an offer. */
struct parcel {
    unsigned char bytes[8 + INLINE_MAX];
    struct wire_writer record;
};

static void offer_reduction(struct offer *offer, struct parcel *parcel, const struct tensor *tensor)
{
    const struct description *description = &tensor->description;
    offer->complete = negotiation_is_inline(tensor->set->negotiation, description);
    if (!offer->complete)
        return;
    offer->data = tensor->input;
    offer->nbytes = description_bytes(description);
    if (description->prescale == 1)
        return;
    scale_function(description->dtype)(parcel->bytes, tensor->input,
                                       shape_count(&description->shape), description->prescale);
    offer->data = parcel->bytes;
}

static void offer_rows(struct offer *offer, struct parcel *parcel, const struct tensor *tensor)
{
    struct wire_writer writer = { .data = parcel->bytes, .capacity = sizeof parcel->bytes };
    size_t nbytes = description_bytes(&tensor->description), most = tensor->device ? 0 : INLINE_MAX;
    wire_put_u64(&writer, (uint64_t)tensor->description.shape.dims[0]);
    offer->complete = nbytes <= most;
    if (offer->complete)
        wire_put_bytes(&writer, tensor->input, nbytes);
    offer->data = parcel->bytes;
    offer->nbytes = writer.length;
}

static void offer_broadcast(struct offer *offer, const struct tensor *tensor)
{
    offer->complete = negotiation_is_inline(tensor->set->negotiation, &tensor->description);
    if (!offer->complete || tensor->description.root != tensor->set->rank)
        return;
    offer->data = tensor->output;
    offer->nbytes = description_bytes(&tensor->description);
}

static void offer_record(struct offer *offer, struct parcel *parcel, struct engine *engine)
{
    sets_own_record(engine, &parcel->record);
    offer->data = parcel->record.data;
    offer->nbytes = parcel->record.length;
}

static void fill_offer(struct offer *offer, struct parcel *parcel, struct tensor *tensor)
{
    const struct description *description = &tensor->description;
    bool mesh = description->kind == COLLECTIVE_ALLTOALL || description->op == HVD_ADASUM;
    if (mesh && !tensor->set->mesh_known)
        offer_record(offer, parcel, tensor->set->engine);
    else if (mesh)
        offer->complete = false;
    else if (description->kind == COLLECTIVE_ALLREDUCE ||
             description->kind == COLLECTIVE_REDUCESCATTER)
        offer_reduction(offer, parcel, tensor);
    else if (description->kind == COLLECTIVE_ALLGATHER)
        offer_rows(offer, parcel, tensor);
    else if (description->kind == COLLECTIVE_BROADCAST)
        offer_broadcast(offer, tensor);
    else if (description->kind == COLLECTIVE_ADD_SET)
        offer_record(offer, parcel, tensor->set->engine);
    if (!mesh && description->kind >= COLLECTIVE_BARRIER)
        offer->complete = true;
}

int submit_offer(struct tensor *tensor, struct err *err)
{
    struct parcel parcel;
    parcel.record = (struct wire_writer){ 0 };
    struct offer offer = { .name = tensor->name,
                           .description = tensor->description,
                           .owner = tensor };
    fill_offer(&offer, &parcel, tensor);
    int rc = parcel.record.failed
                 ? fail(err, HVD_ERR_NOMEM, "out of memory")
                 : negotiation_submit(tensor->set->negotiation, &offer, tensor->since_ns, err);
    wire_writer_fini(&parcel.record);
    return rc;
}

/* It has not been offered. */
static void drop_tensor(struct tensor *tensor)
{
    device_release(tensor->device);
    tensor->set->in_flight--;
    flight_drop(&tensor->set->engine->flight, tensor);
}

static struct tensor *make_tensor(struct prepared *prepared, const struct submission *submission,
                                  struct ticket *ticket, int index, struct err *err)
{
    struct process_set *set = prepared->set;
    struct tensor *tensor = flight_tensor(&set->engine->flight, prepared->names[index]);
    if (!tensor) {
        fail(err, HVD_ERR_NOMEM, "out of memory");
        return NULL;
    }
    const struct hvd_tensor *given =
        submission->tensors ? &submission->tensors[index] : &(struct hvd_tensor){ 0 };
    tensor->set = set;
    tensor->ticket = ticket;
    tensor->result = &ticket->results[index];
    tensor->description = prepared->descriptions[index];
    tensor->device = prepared->devices[index];
    prepared->devices[index] = NULL;
    tensor->ready = given->ready;
    tensor->input = given->input;
    tensor->output = given->output;
    tensor->output_size = given->output_size;
    tensor->ranks = submission->ranks;
    tensor->without_rows = submission->without_rows;
    tensor->since_ns = monotonic_ns();
    set->in_flight++;
    if (submission->kind == COLLECTIVE_ALLTOALL && keep_splits(tensor, submission, err) < 0) {
        drop_tensor(tensor);
        return NULL;
    }
    return tensor;
}

/* A tensor that could not be offered; those before it are, and the others of the set wait for the
 * whole group: only memory can be short here, and that breaks the world. */
static int give_up(struct engine *engine, struct ticket *ticket, int made, struct err *err)
{
    int rc = err->code;
    if (made == 0) {
        flight_release(&engine->flight, ticket);
    } else {
        failure_record(engine->failure, rc, err->text);
        engine_move(engine);
    }
    return rc;
}

static int launch(struct engine *engine, struct prepared *prepared,
                  const struct submission *submission, int64_t *handle, struct err *err)
{
    struct ticket *ticket = flight_ticket(&engine->flight, submission->count);
    if (!ticket)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    for (int i = 0; i < submission->count; i++) {
        struct tensor *tensor = make_tensor(prepared, submission, ticket, i, err);
        if (!tensor)
            return give_up(engine, ticket, i, err);
        if (ready_offer(tensor, err) < 0) {
            drop_tensor(tensor);
            return give_up(engine, ticket, i, err);
        }
    }
    if (submission->tensors && !submission->tensors[0].name)
        prepared->set->nameless[submission->kind] += (uint64_t)submission->count;
    *handle = ticket->number;
    return HVD_OK;
}

static int may_submit(struct engine *engine, struct err *err)
{
    int rc = failure_check(engine->failure, err);
    if (rc == HVD_OK && engine->stopping)
        return fail(err, HVD_ERR_SHUT_DOWN, "hvd_shutdown has been called");
    return rc;
}

static int submit(struct engine *engine, const struct submission *submission, int64_t *handle,
                  struct err *err)
{
    int rc = may_submit(engine, err);
    if (rc < 0)
        return rc;
    struct prepared prepared = { .set = usable_set(engine, submission, err) };
    if (!prepared.set)
        return err->code;
    rc = prepare(&prepared, submission, err);
    if (rc == HVD_OK)
        rc = launch(engine, &prepared, submission, handle, err);
    forget(&prepared);
    return rc;
}

int engine_submit(struct engine *engine, const struct submission *submission, bool waits,
                  int64_t *handle, struct err *err)
{
    pthread_mutex_lock(&engine->lock);
    int rc = submit(engine, submission, handle, err);
    if (rc == HVD_OK) {
        engine_move(engine);
        if (!waits)
            drive_hand_over(engine);
        drive_wake(engine);
    }
    pthread_mutex_unlock(&engine->lock);
    return rc;
}

int submit_to_world(struct engine *engine, const struct description *description, const int *ranks,
                    int64_t *handle, struct err *err)
{
    struct submission submission = { .kind = description->kind, .count = 1, .ranks = ranks };
    struct prepared prepared = { .one_description = *description };
    int rc = may_submit(engine, err);
    if (rc < 0 || !(prepared.set = usable_set(engine, &submission, err)))
        return err->code;
    prepared.descriptions = &prepared.one_description;
    prepared.names = prepared.one_name;
    prepared.devices = &prepared.one_device;
    rc = name_tensors(&prepared, &submission, err);
    return rc < 0 ? rc : launch(engine, &prepared, &submission, handle, err);
}
