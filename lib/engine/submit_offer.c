/* SPDX-License-Identifier: Apache-2.0 */
/* What this rank offers of a tensor that is ready: its description, its data if they are small, and
 * data that the negotiation itself needs: the rows of an allgather or alltoall, the members of a
 * new set.
 *
 * Fails as negotiation_submit() does, and with HVD_ERR_NOMEM. */
#include "lib/engine/engine_impl.h"

#include "lib/reduce/reduce.h"

/* The data that go with an offer. */
struct parcel {
    unsigned char bytes[8 * LISTED_ROWS_RANKS + INLINE_MAX];
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

/* The rows that go to each rank, then the rows, if they are small. */
static void offer_splits(struct offer *offer, struct parcel *parcel, const struct tensor *tensor)
{
    struct wire_writer writer = { .data = parcel->bytes, .capacity = sizeof parcel->bytes };
    size_t nbytes = 0, row_size = tensor_row_size(tensor);
    offer->complete = false;
    if (tensor->set->size > LISTED_ROWS_RANKS)
        return;
    for (int rank = 0; rank < tensor->set->size; rank++) {
        wire_put_u64(&writer, (uint64_t)tensor->splits[rank]);
        nbytes += (size_t)tensor->splits[rank] * row_size;
    }
    offer->complete =
        !tensor->device && nbytes <= INLINE_MAX && tensor->description.shape.dims[0] <= ROWS_MAX;
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
    address_exchange_put_own(engine, &parcel->record);
    offer->data = parcel->record.data;
    offer->nbytes = parcel->record.length;
}

/* To all ranks at once, if they expect it; else to the agreement. */
static int offer_to_ranks(struct process_set *set, const struct offer *offer, uint64_t since_ns,
                          struct err *err)
{
    if (set_is_steady(set) && set_steady_has(set, offer->name))
        return negotiation_refuse_name(offer->description.kind, offer->name, err);
    if (set_is_steady(set) && set_steady_offer(set, offer))
        return HVD_OK;
    return negotiation_submit(set->negotiation, offer, since_ns, err);
}

static int make_offer(struct offer *offer, struct parcel *parcel, struct tensor *tensor,
                      struct err *err)
{
    const struct description *description = &tensor->description;
    parcel->record = (struct wire_writer){ 0 };
    *offer = (struct offer){ .name = tensor->name, .description = *description, .owner = tensor };
    if (description_is_reduction(description))
        offer_reduction(offer, parcel, tensor);
    else if (description->kind == COLLECTIVE_ALLGATHER)
        offer_rows(offer, parcel, tensor);
    else if (description->kind == COLLECTIVE_ALLTOALL)
        offer_splits(offer, parcel, tensor);
    else if (description->kind == COLLECTIVE_BROADCAST)
        offer_broadcast(offer, tensor);
    else if (description->kind == COLLECTIVE_ADD_SET)
        offer_record(offer, parcel, tensor->set->engine);
    if (description->kind >= COLLECTIVE_BARRIER)
        offer->complete = true;
    return parcel->record.failed ? fail(err, HVD_ERR_NOMEM, "out of memory") : HVD_OK;
}

int submit_offer(struct tensor *tensor, struct err *err)
{
    struct parcel parcel;
    struct offer offer;
    int rc = make_offer(&offer, &parcel, tensor, err);
    if (rc == HVD_OK)
        rc = offer_to_ranks(tensor->set, &offer, tensor->since_ns, err);
    wire_writer_fini(&parcel.record);
    return rc;
}

bool submit_commit(struct tensor *tensor)
{
    struct parcel parcel;
    struct offer offer;
    struct err ignored;
    bool is_made = make_offer(&offer, &parcel, tensor, &ignored) == HVD_OK;
    if (!is_made)
        set_steady_leave(tensor->set);
    bool is_committed = is_made && set_steady_offer_next(tensor->set, &offer);
    wire_writer_fini(&parcel.record);
    return is_committed;
}
