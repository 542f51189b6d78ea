/* SPDX-License-Identifier: Apache-2.0 */
/* The names that a rank knows to have waited for too long, its own and those that children
 * reported: the oldest few. */
#ifndef LIB_STALL_STALL_LIST_H
#define LIB_STALL_STALL_LIST_H

#include "lib/stall/stall_message.h"

#include <stdbool.h>
#include <stdint.h>

/* Times are of this rank's clock. */
struct stall_entry {
    enum collective_kind kind;
    char name[HVD_NAME_MAX + 1];
    uint64_t since_ns; /* since when the name waits */
    uint64_t first_ns; /* when this rank came to know */
    uint64_t heard_ns; /* time of the last confirmation */
    uint64_t told_ns;  /* time of the last report to the parent; 0: never */
};

struct stall_list {
    int count;
    struct stall_entry at[STALL_NAMES_MAX];
};

/* Enters a name or confirms it. If there are too many names, the youngest is dropped. */
void stall_list_note(struct stall_list *list, const char *name, enum collective_kind kind,
                     uint64_t since_ns, uint64_t now_ns);

/* NULL if the name is not in the list. */
struct stall_entry *stall_list_find(struct stall_list *list, const char *name);
void stall_list_remove(struct stall_list *list, struct stall_entry *overdue);

/* Removes names that have not been confirmed for so long. */
void stall_list_expire(struct stall_list *list, uint64_t now_ns, uint64_t after_ns);

/* When the oldest began to wait; UINT64_MAX if there is none. */
uint64_t stall_list_oldest(const struct stall_list *list);

/* When the first of them was entered; UINT64_MAX if there is none. */
uint64_t stall_list_first(const struct stall_list *list);

/* When to report to the parent; UINT64_MAX: never. A name is reported again after `interval_ns`, if
 * it was confirmed meanwhile. */
uint64_t stall_list_tell_at(const struct stall_list *list, uint64_t interval_ns);

/* The names to report now, which then count as reported. */
void stall_list_tell(struct stall_list *list, struct stall_names *names, uint64_t now_ns,
                     uint64_t interval_ns);

/* The names that have waited for `age_ns`, the oldest first. */
void stall_list_names(const struct stall_list *list, struct stall_names *names, uint64_t now_ns,
                      uint64_t age_ns);

#endif
