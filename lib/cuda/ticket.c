/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to a group and their events; see reducer.h.
 *
 *   put: a ticket in the queue of the group -> its thread launches it, or fails -> the event is
 *     recorded behind it, also when the event comes first
 *   query: has it been launched? passed, or failed: the ticket goes
 *
 * Fails with HVD_ERR_NOMEM, and with what the group's thread says. */
#include "lib/cuda/reducer_impl.h"

#include <stdlib.h>

/* ---- requests ---- */

/* A ticket with room for rows, which is not queued yet; NULL and `err` on failure. */
static struct cuda_ticket *ticket_create(struct cuda_reducer *reducer, int set, int nrows,
                                         struct err *err)
{
    struct cuda_group *group = cuda_reducer_group(reducer, set, err);
    struct cuda_ticket *ticket =
        group ? calloc(1, sizeof *ticket + (size_t)nrows * sizeof *ticket->rows) : NULL;
    if (ticket) {
        ticket->group = group;
    } else if (group) {
        cuda_reducer_let(reducer, group);
        fail(err, HVD_ERR_NOMEM, "out of memory");
    }
    return ticket;
}

static void ticket_queue(struct cuda_reducer *reducer, struct cuda_ticket *ticket)
{
    struct cuda_group *group = ticket->group;
    pthread_mutex_lock(&reducer->lock);
    ticket->next = reducer->tickets;
    reducer->tickets = reducer->newest = ticket;
    *group->last = ticket;
    group->last = &ticket->next_queued;
    pthread_cond_signal(&group->wanted);
    pthread_mutex_unlock(&reducer->lock);
}

int cuda_reducer_put(struct cuda_reducer *reducer, const struct hvd_device_allreduce *allreduce,
                     struct err *err)
{
    struct cuda_ticket *ticket = ticket_create(reducer, allreduce->process_set, 0, err);
    if (!ticket)
        return err->code;
    ticket->allreduce = *allreduce;
    ticket_queue(reducer, ticket);
    return HVD_OK;
}

int cuda_reducer_put_collective(struct cuda_reducer *reducer,
                                const struct hvd_device_collective *collective, struct err *err)
{
    int nrows = collective->rows ? collective->size : 0;
    int nsplits = collective->splits ? collective->size : 0;
    struct cuda_ticket *ticket =
        ticket_create(reducer, collective->process_set, nrows + nsplits, err);
    if (!ticket)
        return err->code;
    ticket->is_collective = true;
    ticket->collective = *collective;
    ticket->collective.rows = ticket->rows;
    ticket->collective.splits = ticket->rows + nrows;
    for (int rank = 0; rank < nrows; rank++)
        ticket->rows[rank] = collective->rows[rank];
    for (int rank = 0; rank < nsplits; rank++)
        ticket->rows[nrows + rank] = collective->splits[rank];
    ticket_queue(reducer, ticket);
    return HVD_OK;
}

/* Called under the lock. */
static void ticket_free(struct cuda_reducer *reducer, struct cuda_ticket *ticket)
{
    struct cuda_ticket **link = &reducer->tickets;
    while (*link != ticket)
        link = &(*link)->next;
    *link = ticket->next;
    free(ticket);
}

static int ticket_record(struct cuda_ticket *ticket, struct err *err)
{
    const struct cuda_device *device = ticket->group->reducer->device;
    int rc = cuda_device_enter(device, err);
    if (rc < 0)
        return rc;
    int result = device->driver->event_record(ticket->event, ticket->group->stream);
    cuda_device_leave(device);
    return result == CUDA_OK ? HVD_OK
                             : cuda_driver_fail(device->driver, result, "cuEventRecord", err);
}

void cuda_ticket_done(struct cuda_ticket *ticket, int rc, const struct err *err)
{
    struct cuda_reducer *reducer = ticket->group->reducer;
    pthread_mutex_lock(&reducer->lock);
    if (rc < 0)
        ticket->err = *err;
    else if (ticket->event)
        rc = ticket_record(ticket, &ticket->err);
    ticket->state = rc < 0 ? TICKET_FAILED : TICKET_LAUNCHED;
    ticket->group->pending--;
    if (ticket->forgotten)
        ticket_free(reducer, ticket);
    pthread_mutex_unlock(&reducer->lock);
}

int cuda_reducer_record(struct cuda_reducer *reducer, struct cuda_event *event, struct err *err)
{
    int rc = HVD_OK;
    pthread_mutex_lock(&reducer->lock);
    struct cuda_ticket *ticket = reducer->newest;
    reducer->newest = NULL;
    if (!ticket) {
        rc = fail(err, HVD_ERR_INVALID, "nothing was put on the queue");
    } else {
        ticket->event = event;
        if (ticket->state == TICKET_LAUNCHED)
            rc = ticket_record(ticket, err);
    }
    pthread_mutex_unlock(&reducer->lock);
    return rc;
}

/* ---- events ---- */

/* Called under the lock: the ticket of an event, or NULL. */
static struct cuda_ticket *ticket_of(const struct cuda_reducer *reducer,
                                     const struct cuda_event *event)
{
    struct cuda_ticket *ticket = reducer->tickets;
    while (ticket && (ticket->event != event || ticket->forgotten))
        ticket = ticket->next;
    return ticket;
}

/* The ticket goes when it has failed, or `passed`. */
static int reducer_answer(struct cuda_reducer *reducer, struct cuda_event *event, bool passed,
                          struct err *err)
{
    int rc = 1;
    pthread_mutex_lock(&reducer->lock);
    struct cuda_ticket *ticket = ticket_of(reducer, event);
    if (ticket && ticket->state == TICKET_WAITING) {
        rc = 0;
    } else if (ticket) {
        bool failed = ticket->state == TICKET_FAILED;
        if (failed)
            rc = (*err = ticket->err).code;
        if (failed || passed)
            ticket_free(reducer, ticket);
    }
    pthread_mutex_unlock(&reducer->lock);
    return rc;
}

int cuda_reducer_query(struct cuda_reducer *reducer, struct cuda_event *event, struct err *err)
{
    return reducer_answer(reducer, event, false, err);
}

int cuda_reducer_passed(struct cuda_reducer *reducer, struct cuda_event *event, struct err *err)
{
    return reducer_answer(reducer, event, true, err);
}

void cuda_tickets_drop(const struct cuda_group *group)
{
    struct cuda_reducer *reducer = group->reducer;
    pthread_mutex_lock(&reducer->lock);
    for (struct cuda_ticket *next, *ticket = reducer->tickets; ticket; ticket = next) {
        next = ticket->next;
        if (ticket->group == group)
            ticket_free(reducer, ticket);
    }
    pthread_mutex_unlock(&reducer->lock);
}

void cuda_tickets_fail(struct cuda_group *group, const struct err *why)
{
    struct cuda_reducer *reducer = group->reducer;
    pthread_mutex_lock(&reducer->lock);
    for (struct cuda_ticket *ticket = reducer->tickets; ticket; ticket = ticket->next) {
        if (ticket->group != group || ticket->state != TICKET_LAUNCHED)
            continue;
        ticket->state = TICKET_FAILED;
        if (why)
            ticket->err = *why;
        else
            fail(&ticket->err, HVD_ERR_SYSTEM, "the world ended before NCCL was done");
    }
    pthread_mutex_unlock(&reducer->lock);
}

void cuda_reducer_forget(struct cuda_reducer *reducer, struct cuda_event *event)
{
    pthread_mutex_lock(&reducer->lock);
    struct cuda_ticket *ticket = ticket_of(reducer, event);
    if (ticket && ticket->state != TICKET_WAITING) {
        ticket_free(reducer, ticket);
    } else if (ticket) {
        ticket->event = NULL;
        ticket->forgotten = true;
    }
    pthread_mutex_unlock(&reducer->lock);
}
