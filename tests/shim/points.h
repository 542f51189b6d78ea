/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls are to fail, in which order. */
#ifndef TESTS_SHIM_POINTS_H
#define TESTS_SHIM_POINTS_H

#include "tests/shim/shim.h"

#include <stdbool.h>
#include <stddef.h>

struct points {
    uint32_t roles, faults; /* sets of those that were chosen; 0: all */
    uint64_t calls;
    int k;           /* -1: all */
    unsigned sample; /* 0: all */
    uint32_t counts[SHIM_NROLES][SHIM_NCALLS][SHIM_NFAULTS];
    /* Kinds, of a role, a call and a fault, in a row; where we are, and what fails there next. */
    int kind;
    uint32_t next_k;
    unsigned long total, step, at; /* for a sample */
    /* How many jobs in a row did not get to their k. */
    uint8_t missed[SHIM_NROLES * SHIM_NCALLS * SHIM_NFAULTS];
};

void points_init(struct points *points);

/* `what` is 'r', 'c' or 'f'. False if there is no such role, call or fault. */
bool points_choose(struct points *points, int what, const char *name);

/* After the first job. */
void points_count(struct points *points, const struct shim_board *board);

/* False when there is none left. */
bool points_next(struct points *points, struct shim_point *point);

/* How the job of `point` went. */
void points_tried(struct points *points, const struct shim_point *point, bool reached);

/* Prints how often each may fail. */
void points_list(const struct points *points);

/* "agent read EINTR 3" */
const char *point_name(const struct shim_point *point, char *text, size_t size);

#endif
