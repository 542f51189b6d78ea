/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are held until an event: each request is in the list of its event, and
 * then in the list of requests that continue. A request that is woken too early waits again. */
#ifndef RENDEZVOUS_BASE_WAIT_LIST_H
#define RENDEZVOUS_BASE_WAIT_LIST_H

#include <stddef.h>
#include <sys/queue.h>

TAILQ_HEAD(wait_list, waiter);

/* Embedded in what waits; zeroed before its first use. */
struct waiter {
    struct wait_list *in; /* NULL: waits for nothing */
    TAILQ_ENTRY(waiter) link;
};

static inline void waiter_leave(struct waiter *waiter)
{
    if (waiter->in)
        TAILQ_REMOVE(waiter->in, waiter, link);
    waiter->in = NULL;
}

static inline void waiter_join(struct waiter *waiter, struct wait_list *list)
{
    waiter_leave(waiter);
    waiter->in = list;
    TAILQ_INSERT_TAIL(list, waiter, link);
}

/* All that wait in `from` go to `to`. */
static inline void wait_list_wake(struct wait_list *from, struct wait_list *to)
{
    struct waiter *waiter;
    while ((waiter = TAILQ_FIRST(from)))
        waiter_join(waiter, to);
}

#endif
