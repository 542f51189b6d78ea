/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule that a program repeats, found in the sequence of its operations. Pure: operations
 * in, a schedule out.
 *
 * A schedule is found when the last operations are SCHEDULE_REPEATS rounds of it, and at least
 * SCHEDULE_LEAST operations. The search takes place now and then: after a failure, and after a
 * steady state that was short, twice as many operations must come first. */
#ifndef LIB_NEGOTIATION_SCHEDULE_H
#define LIB_NEGOTIATION_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SCHEDULE_MAX = 32, /* operations of a schedule */
    SCHEDULE_REPEATS = 3,
    SCHEDULE_LEAST = 16,
    SCHEDULE_HISTORY = 128, /* a power of 2 */
    SCHEDULE_PAUSE_MAX = 65536
};

/* An operation of one tensor. */
struct scheduled {
    int slot;      /* of the cache */
    int algorithm; /* enum algorithm; -1: the data come with the commitment */
};

struct schedule {
    int count;
    struct scheduled operations[SCHEDULE_MAX]; /* in order */
};

struct schedule_search {
    struct scheduled history[SCHEDULE_HISTORY];
    uint32_t seen;     /* operations since the last interruption */
    uint32_t searched; /* how many there were at the last search */
    uint32_t pause;    /* at least so many must come before the next search */
};

void schedule_search_init(struct schedule_search *search);

/* An operation has been carried out. */
void schedule_add(struct schedule_search *search, struct scheduled operation);

/* Something came that no schedule can contain: the sequence begins anew. */
void schedule_interrupt(struct schedule_search *search);

/* A steady state is over, after `done` operations. */
void schedule_ended(struct schedule_search *search, uint32_t done);

/* True and a schedule, the next operation first, if it is time to search and there is one. */
bool schedule_find(struct schedule_search *search, struct schedule *schedule);

#endif
