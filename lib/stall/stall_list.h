/* SPDX-License-Identifier: Apache-2.0 */
/* The names that a rank knows to have waited for too long, its own and those that children
 * reported: the oldest few. */
#ifndef LIB_STALL_STALL_OVERDUE_H
#define LIB_STALL_STALL_OVERDUE_H

#include "lib/stall/stall_message.h"

#include <stdbool.h>
#include <stdint.h>

/* Times are of this rank's clock. */
struct overdue {
    enum collective_kind kind;
    char name[HVD_NAME_MAX + 1];
    uint64_t since_ns; /* since when the name waits */
    uint64_t first_ns; /* when this rank came to know */
    uint64_t heard_ns; /* time of the last confirmation */
    uint64_t told_ns;  /* time of the last report to the parent; 0: never */
};

struct overdue_list {
    int count;
    struct overdue at[STALL_NAMES_MAX];
};

/* Enters a name or confirms it. If there are too many names, the youngest is dropped. */
void overdue_note(struct overdue_list *list, const char *name, enum collective_kind kind,
                  uint64_t since_ns, uint64_t now_ns);

/* NULL if the name is not in the list. */
struct overdue *overdue_find(struct overdue_list *list, const char *name);
void overdue_remove(struct overdue_list *list, struct overdue *overdue);

/* Removes names that have not been confirmed for so long. */
void overdue_expire(struct overdue_list *list, uint64_t now_ns, uint64_t after_ns);

/* When the oldest began to wait; UINT64_MAX if there is none. */
uint64_t overdue_oldest(const struct overdue_list *list);

/* When the first of them was entered; UINT64_MAX if there is none. */
uint64_t overdue_first(const struct overdue_list *list);

/* When to report to the parent; UINT64_MAX: never. A name is reported again after `interval_ns`, if
 * it was confirmed meanwhile. */
uint64_t overdue_tell_at(const struct overdue_list *list, uint64_t interval_ns);

/* The names to report now, which then count as reported. */
void overdue_tell(struct overdue_list *list, struct stall_names *names, uint64_t now_ns,
                  uint64_t interval_ns);

/* The names that have waited for `age_ns`, the oldest first. */
void overdue_names(const struct overdue_list *list, struct stall_names *names, uint64_t now_ns,
                   uint64_t age_ns);

#endif
