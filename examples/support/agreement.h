/* SPDX-License-Identifier: Apache-2.0 */
/* What the ranks must agree on: whether one of them has a problem, so that all stop and the
 * reason is printed once; and whether all of them hold the same bytes. */
#ifndef EXAMPLES_SUPPORT_AGREEMENT_H
#define EXAMPLES_SUPPORT_AGREEMENT_H

#include <stddef.h>

#include "examples/support/problem.h"

/* Every rank calls it at the same place. Returns 0 on every rank if no rank has a problem.
 * Otherwise the lowest rank that has one prints it to stderr as "<program>: <text>", and every rank
 * gets its exit status, after it has been printed: a rank that ends is no reason for the launcher
 * to stop another before it has spoken. */
int agree_to_go_on(const char *program, const struct problem *problem);

/* 1 if `size` bytes at `data` are the same on every rank, 0 if not, -1 with a problem. */
int agree_on_bytes(const void *data, size_t size, struct problem *problem);

/* Turns the last failure of the library into a problem: "rank 1: <what>: <reason>". Returns -1. */
int problem_from_hvd(struct problem *problem, const char *what);

/* Likewise, and keeps the status that the library returned. */
int problem_from_hvd_status(struct problem *problem, int status, const char *what);

#endif
