/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors that are in flight on this rank, and the handles that callers hold for them. Memory
 * is kept for reuse, so that a step like the previous one allocates nothing. Not thread-safe:
 * callers hold the engine's lock. */
#ifndef LIB_ENGINE_IN_FLIGHT_H
#define LIB_ENGINE_IN_FLIGHT_H

#include "lib/base/status.h"
#include "lib/hvd.h"
#include "lib/negotiation/description.h"

#include <stdbool.h>
#include <stdint.h>

struct device;
struct process_set;

/* A handle is pending until `missing` is 0, then done until a thread has waited for it. */
struct ticket {
    int64_t number;             /* the caller's handle; 0 while the ticket is unused */
    int missing;                /* tensors that are not done */
    bool awaited;               /* a thread is waiting for it */
    int count;                  /* tensors */
    struct err err;             /* of the first tensor that failed */
    struct hvd_result *results; /* `count` of them: `one`, or `many` of a group */
    struct hvd_result one;
    struct hvd_result *many; /* kept; room for `many_capacity` */
    int many_capacity;
    struct ticket *next; /* while not in use */
};

/* One tensor, from its submission until completion. */
struct tensor {
    struct process_set *set;
    struct ticket *ticket;
    struct hvd_result *result; /* of the ticket */
    struct description description;
    char name[HVD_NAME_MAX + 1];
    const void *input;
    void *output;
    size_t output_size;
    int64_t *splits; /* alltoall: owned, `splits_capacity` of them */
    int splits_capacity;
    const int *ranks;      /* ADD_SET: borrowed from the waiting caller */
    bool without_rows;     /* as in struct submission */
    uint64_t since_ns;     /* a tick of the clock */
    uint32_t timed;        /* for counters.h: how many tensors its latency counts for; 0: not
                            * timed */
    uint64_t timed_ns;     /* the precise time of its submission */
    bool decided;          /* its data is being moved, or waits to be moved */
    struct device *device; /* held while this is in flight; NULL: in host memory */
    void *ready;           /* device: an event that has not passed yet; NULL: none */
    int parts;             /* device: parts that are decided on and not done */
    bool failed;           /* its ticket has the reason; ends with the last part */
    int phase;             /* for the timeline: trace.c */
    struct tensor *behind; /* in a list of tensors that are not offered yet */
    struct tensor *previous, *next; /* in flight, or unused */
};

struct in_flight {
    struct ticket **tickets; /* by the low bits of their number */
    int tickets_count, tickets_capacity;
    struct ticket *free_tickets;
    int64_t generation, first_generation; /* of the last handle; of the last of earlier worlds */
    struct tensor *first, *free_tensors;  /* in flight, oldest last; unused */
    struct tensor *last_done;             /* for reports: its name and kind; NULL: none yet */
    bool last_is_borrowed;                /* it is none of these */
    uint64_t last_done_ns;
    int count;
};

/* Handles are numbered after those of `generation`. */
void in_flight_init(struct in_flight *in_flight, int64_t generation);
void in_flight_fini(struct in_flight *in_flight);

/* A ticket for `count` tensors, none of which exists yet; NULL when out of memory. */
struct ticket *in_flight_ticket(struct in_flight *in_flight, int count);

/* Gives a ticket back; the caller has dealt with its results before. */
void in_flight_release(struct in_flight *in_flight, struct ticket *ticket);

/* A handle that an earlier world of this process gave out. */
bool in_flight_is_stale(const struct in_flight *in_flight, int64_t number);

/* NULL if the number is no handle (any more). */
struct ticket *in_flight_find(const struct in_flight *in_flight, int64_t number);

/* A tensor in flight; the caller fills in its name, description and memory. NULL when out of
 * memory. */
struct tensor *in_flight_tensor(struct in_flight *in_flight);
void in_flight_drop(struct in_flight *in_flight, struct tensor *tensor);

/* A tensor has completed that was never in flight. Borrowed until the next one has completed. */
void in_flight_note(struct in_flight *in_flight, struct tensor *tensor);

/* Removes a tensor that has completed, successfully or not. True if its ticket is done with it. */
bool in_flight_done(struct in_flight *in_flight, struct tensor *tensor, bool well);

#endif
