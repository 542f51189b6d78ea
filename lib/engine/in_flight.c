/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and handles in flight; see in_flight.h.
 *
 * A handle's number is its place in the table in the low bits and a count above them, so that an
 * old number is not mistaken for a new one. The count goes on from one world of the process to the
 * next. */
#include "lib/engine/in_flight.h"

#include <stdlib.h>

enum { PLACE_BITS = 24, TICKETS_FIRST = 64 };

static int ticket_index(int64_t number)
{
    return (int)(number & ((1 << PLACE_BITS) - 1));
}

static bool in_flight_make_room(struct in_flight *in_flight)
{
    if (in_flight->tickets_count < in_flight->tickets_capacity)
        return true;
    int capacity = in_flight->tickets_capacity ? 2 * in_flight->tickets_capacity : TICKETS_FIRST;
    if (capacity > 1 << PLACE_BITS)
        return false;
    struct ticket **tickets =
        reallocarray(in_flight->tickets, (size_t)capacity, sizeof(struct ticket *));
    if (!tickets)
        return false;
    in_flight->tickets = tickets;
    in_flight->tickets_capacity = capacity;
    return true;
}

static void put_back(struct in_flight *in_flight, struct ticket *ticket, int place)
{
    ticket->number = place; /* without a generation: no handle */
    ticket->next = in_flight->free_tickets;
    in_flight->free_tickets = ticket;
}

struct ticket *in_flight_ticket(struct in_flight *in_flight, int count)
{
    struct ticket *ticket = in_flight->free_tickets;
    if (ticket) {
        in_flight->free_tickets = ticket->next;
    } else {
        if (!in_flight_make_room(in_flight) || !(ticket = calloc(1, sizeof *ticket)))
            return NULL;
        ticket->number = in_flight->tickets_count;
        in_flight->tickets[in_flight->tickets_count++] = ticket;
    }
    int place = ticket_index(ticket->number);
    if (count > 1 && count > ticket->many_capacity) {
        struct hvd_result *many = reallocarray(ticket->many, (size_t)count, sizeof *many);
        if (!many) {
            put_back(in_flight, ticket, place);
            return NULL;
        }
        ticket->many = many;
        ticket->many_capacity = count;
    }
    ticket->number = (++in_flight->generation << PLACE_BITS) | place;
    ticket->missing = ticket->count = count;
    ticket->awaited = false;
    ticket->err.code = HVD_OK;
    ticket->results = count == 1 ? &ticket->one : ticket->many;
    for (int i = 0; i < count; i++)
        ticket->results[i] = (struct hvd_result){ .last_rank = -1 };
    return ticket;
}

void in_flight_release(struct in_flight *in_flight, struct ticket *ticket)
{
    put_back(in_flight, ticket, ticket_index(ticket->number));
}

bool in_flight_is_stale(const struct in_flight *in_flight, int64_t number)
{
    int64_t generation = number >> PLACE_BITS;
    return generation > 0 && generation <= in_flight->first_generation;
}

struct ticket *in_flight_find(const struct in_flight *in_flight, int64_t number)
{
    if (number < 1 << PLACE_BITS || ticket_index(number) >= in_flight->tickets_count)
        return NULL;
    struct ticket *ticket = in_flight->tickets[ticket_index(number)];
    return ticket->number == number ? ticket : NULL;
}

struct tensor *in_flight_tensor(struct in_flight *in_flight)
{
    struct tensor *tensor = in_flight->free_tensors;
    if (tensor)
        in_flight->free_tensors = tensor->next;
    else if (!(tensor = calloc(1, sizeof *tensor)))
        return NULL;
    tensor->decided = tensor->failed = false;
    tensor->device = NULL;
    tensor->ready = NULL;
    tensor->parts = tensor->phase = 0;
    tensor->previous = NULL;
    tensor->next = in_flight->first;
    if (in_flight->first)
        in_flight->first->previous = tensor;
    in_flight->first = tensor;
    in_flight->count++;
    return tensor;
}

/* Takes a tensor out of the list in flight. */
static void take_out(struct in_flight *in_flight, struct tensor *tensor)
{
    if (tensor->previous)
        tensor->previous->next = tensor->next;
    else
        in_flight->first = tensor->next;
    if (tensor->next)
        tensor->next->previous = tensor->previous;
    in_flight->count--;
}

static void in_flight_keep(struct in_flight *in_flight, struct tensor *tensor)
{
    tensor->next = in_flight->free_tensors;
    in_flight->free_tensors = tensor;
}

void in_flight_drop(struct in_flight *in_flight, struct tensor *tensor)
{
    take_out(in_flight, tensor);
    in_flight_keep(in_flight, tensor);
}

static void replace_last_done(struct in_flight *in_flight, struct tensor *tensor, bool is_borrowed)
{
    if (in_flight->last_done && !in_flight->last_is_borrowed)
        in_flight_keep(in_flight, in_flight->last_done);
    in_flight->last_done = tensor;
    in_flight->last_is_borrowed = is_borrowed;
}

void in_flight_note(struct in_flight *in_flight, struct tensor *tensor)
{
    if (in_flight->last_done != tensor)
        replace_last_done(in_flight, tensor, true);
}

bool in_flight_done(struct in_flight *in_flight, struct tensor *tensor, bool well)
{
    take_out(in_flight, tensor);
    if (well)
        replace_last_done(in_flight, tensor, false);
    else
        in_flight_keep(in_flight, tensor);
    return --tensor->ticket->missing == 0;
}

void in_flight_init(struct in_flight *in_flight, int64_t generation)
{
    *in_flight = (struct in_flight){ .generation = generation, .first_generation = generation };
}

void in_flight_fini(struct in_flight *in_flight)
{
    while (in_flight->first)
        in_flight_drop(in_flight, in_flight->first);
    replace_last_done(in_flight, NULL, false);
    for (struct tensor *next; in_flight->free_tensors; in_flight->free_tensors = next) {
        next = in_flight->free_tensors->next;
        free(in_flight->free_tensors->splits);
        free(in_flight->free_tensors);
    }
    for (int i = 0; i < in_flight->tickets_count; i++) {
        struct ticket *ticket = in_flight->tickets[i];
        bool is_handle = ticket->number >> PLACE_BITS;
        for (int k = 0; is_handle && k < ticket->count; k++)
            hvd_result_free(&ticket->results[k]);
        free(ticket->many);
        free(ticket);
    }
    free(in_flight->tickets);
    *in_flight = (struct in_flight){ 0 };
}
