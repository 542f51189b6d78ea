/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank itself reports about a stall, made from its own view (struct stall_view). */
#ifndef LIB_STALL_STALL_SELF_H
#define LIB_STALL_STALL_SELF_H

#include "lib/stall/stall.h"
#include "lib/stall/stall_list.h"
#include "lib/stall/stall_message.h"

/* A bit of a probe's id. */
#define STALL_ASKS_WHO_IS_NOT_STUCK 0x80000000u
#define STALL_ASKED_BY_PERSON 0x40000000u

bool stall_self_is_stuck(const struct stall_view *view);

/* How long a name waits before it is checked. */
uint64_t stall_self_patience_ns(const struct stall_options *options);

/* No wait counts from a time before `counted_ns`.
 *
 * Enters the names that have waited for the check time, or for the shorter time if this rank is
 * stuck. Returns when to check again: when one more would be overdue, or overdue names should be
 * confirmed. */
uint64_t stall_self_check(const struct stall_options *options, uint64_t counted_ns,
                          struct stall_list *overdue, uint64_t now_ns);

/* The answer to a probe, of this rank alone. */
void stall_self_answer(const struct stall_options *options, uint64_t counted_ns,
                       const struct stall_probe *probe, struct stall_answer *answer,
                       uint64_t now_ns);

#endif
