/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and handles in flight; see flight.h.
 *
 * A handle's number is its place in the table in the low bits and a count above them, so that an
 * old number is not mistaken for a new one. */
#include "lib/engine/flight.h"

#include <stdlib.h>

enum { PLACE_BITS = 24, TICKETS_FIRST = 64 };

static int place_of(int64_t number)
{
    return (int)(number & ((1 << PLACE_BITS) - 1));
}

static bool make_room(struct flight *flight)
{
    if (flight->tickets_count < flight->tickets_capacity)
        return true;
    int capacity = flight->tickets_capacity ? 2 * flight->tickets_capacity : TICKETS_FIRST;
    if (capacity > 1 << PLACE_BITS)
        return false;
    struct ticket **tickets =
        reallocarray(flight->tickets, (size_t)capacity, sizeof(struct ticket *));
    if (!tickets)
        return false;
    flight->tickets = tickets;
    flight->tickets_capacity = capacity;
    return true;
}

static void put_back(struct flight *flight, struct ticket *ticket, int place)
{
    ticket->number = place; /* without a generation: no handle */
    ticket->next = flight->free_tickets;
    flight->free_tickets = ticket;
}

struct ticket *flight_ticket(struct flight *flight, int count)
{
    struct ticket *ticket = flight->free_tickets;
    if (ticket) {
        flight->free_tickets = ticket->next;
    } else {
        if (!make_room(flight) || !(ticket = calloc(1, sizeof *ticket)))
            return NULL;
        ticket->number = flight->tickets_count;
        flight->tickets[flight->tickets_count++] = ticket;
    }
    int place = place_of(ticket->number);
    if (count > 1 && count > ticket->many_capacity) {
        struct hvd_result *many = reallocarray(ticket->many, (size_t)count, sizeof *many);
        if (!many) {
            put_back(flight, ticket, place);
            return NULL;
        }
        ticket->many = many;
        ticket->many_capacity = count;
    }
    ticket->number = (++flight->generation << PLACE_BITS) | place;
    ticket->missing = ticket->count = count;
    ticket->awaited = false;
    ticket->err.code = HVD_OK;
    ticket->results = count == 1 ? &ticket->one : ticket->many;
    for (int i = 0; i < count; i++)
        ticket->results[i] = (struct hvd_result){ .last_rank = -1 };
    return ticket;
}

void flight_release(struct flight *flight, struct ticket *ticket)
{
    put_back(flight, ticket, place_of(ticket->number));
}

struct ticket *flight_find(const struct flight *flight, int64_t number)
{
    if (number < 1 << PLACE_BITS || place_of(number) >= flight->tickets_count)
        return NULL;
    struct ticket *ticket = flight->tickets[place_of(number)];
    return ticket->number == number ? ticket : NULL;
}

struct tensor *flight_tensor(struct flight *flight)
{
    struct tensor *tensor = flight->free_tensors;
    if (tensor)
        flight->free_tensors = tensor->next;
    else if (!(tensor = calloc(1, sizeof *tensor)))
        return NULL;
    tensor->decided = tensor->failed = false;
    tensor->device = NULL;
    tensor->ready = NULL;
    tensor->parts = tensor->phase = 0;
    tensor->previous = NULL;
    tensor->next = flight->first;
    if (flight->first)
        flight->first->previous = tensor;
    flight->first = tensor;
    flight->in_flight++;
    return tensor;
}

/* Not in flight any more. */
static void take_out(struct flight *flight, struct tensor *tensor)
{
    if (tensor->previous)
        tensor->previous->next = tensor->next;
    else
        flight->first = tensor->next;
    if (tensor->next)
        tensor->next->previous = tensor->previous;
    flight->in_flight--;
}

static void keep(struct flight *flight, struct tensor *tensor)
{
    tensor->next = flight->free_tensors;
    flight->free_tensors = tensor;
}

void flight_drop(struct flight *flight, struct tensor *tensor)
{
    take_out(flight, tensor);
    keep(flight, tensor);
}

bool flight_done(struct flight *flight, struct tensor *tensor, bool well)
{
    take_out(flight, tensor);
    if (well && flight->last_done)
        keep(flight, flight->last_done);
    if (well)
        flight->last_done = tensor;
    else
        keep(flight, tensor);
    return --tensor->ticket->missing == 0;
}

void flight_fini(struct flight *flight)
{
    while (flight->first)
        flight_drop(flight, flight->first);
    if (flight->last_done)
        keep(flight, flight->last_done);
    for (struct tensor *next; flight->free_tensors; flight->free_tensors = next) {
        next = flight->free_tensors->next;
        free(flight->free_tensors->splits);
        free(flight->free_tensors);
    }
    for (int i = 0; i < flight->tickets_count; i++) {
        struct ticket *ticket = flight->tickets[i];
        bool is_handle = ticket->number >> PLACE_BITS;
        for (int k = 0; is_handle && k < ticket->count; k++)
            hvd_result_free(&ticket->results[k]);
        free(ticket->many);
        free(ticket);
    }
    free(flight->tickets);
    *flight = (struct flight){ 0 };
}
